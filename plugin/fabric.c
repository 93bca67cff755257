/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "fabric.h"

enum { NAME_MAX_BYTES = 128 };

struct port {
	uint64_t guid;
	uint32_t name;		/* where in names; 0 = none */
};

struct fabric {
	size_t n_lids;
	struct port *ports;	/* by LID */
	char *names;		/* one after the other, the first is empty */
	size_t names_used, names_size;
	/* ports of one node share its name */
	const void *last_desc;
	uint32_t last_name;
};

void fabric_free(struct fabric *fabric)
{
	if (!fabric)
		return;
	free(fabric->ports);
	free(fabric->names);
	free(fabric);
}

static struct fabric *fabric_new(size_t n_lids, size_t names_size)
{
	struct fabric *f = calloc(1, sizeof(*f));

	if (!f)
		return NULL;
	f->n_lids = n_lids;
	f->names_size = names_size;
	f->names_used = 1;
	f->ports = calloc(n_lids + 1, sizeof(*f->ports));
	f->names = calloc(1, names_size);
	if (f->ports && f->names)
		return f;
	fabric_free(f);
	return NULL;
}

static uint32_t keep_name(struct fabric *f, const char *desc)
{
	size_t len;

	if (!desc)
		return 0;
	if (desc == f->last_desc)
		return f->last_name;
	len = strnlen(desc, NAME_MAX_BYTES - 1);
	if (f->names_used + len + 1 > f->names_size)
		return 0;
	memcpy(f->names + f->names_used, desc, len);
	f->last_desc = desc;
	f->last_name = (uint32_t)f->names_used;
	f->names_used += len + 1;
	return f->last_name;
}

/* With OpenSM's lock held: copy, nothing else. */
static void copy(struct fabric *f, const osm_subn_t *subn)
{
	size_t lid, n = cl_ptr_vector_get_size(&subn->port_lid_tbl);
	const osm_port_t *p_port;

	for (lid = 1; lid < n && lid < f->n_lids; lid++) {
		p_port = cl_ptr_vector_get(&subn->port_lid_tbl, lid);
		if (!p_port)
			continue;
		f->ports[lid].guid = cl_ntoh64(p_port->guid);
		f->ports[lid].name = keep_name(f, p_port->p_node ?
						  p_port->p_node->print_desc :
						  NULL);
	}
}

struct fabric *fabric_snapshot(osm_opensm_t *osm)
{
	pthread_rwlock_t *lock = &osm->lock.lock;
	size_t n_lids, n_ports;
	struct fabric *f;

	/* the size first, so that no memory is asked for under the lock */
	if (pthread_rwlock_tryrdlock(lock))
		goto busy;
	n_lids = cl_ptr_vector_get_size(&osm->subn.port_lid_tbl);
	n_ports = cl_qmap_count(&osm->subn.port_guid_tbl);
	pthread_rwlock_unlock(lock);

	/* room for some that come meanwhile; the next snapshot has the rest */
	f = fabric_new(n_lids + 64, (n_ports + 64) * NAME_MAX_BYTES);
	if (!f) {
		errno = ENOMEM;
		return NULL;
	}
	if (pthread_rwlock_tryrdlock(lock)) {
		fabric_free(f);
		goto busy;
	}
	copy(f, &osm->subn);
	pthread_rwlock_unlock(lock);
	return f;
busy:
	errno = EBUSY;
	return NULL;
}

void fabric_resolve(const struct fabric *fabric, struct requester *requester)
{
	uint16_t lid = requester->addr.lid;
	const struct port *port;

	requester->port_guid = 0;
	requester->name = NULL;
	if (!fabric || lid >= fabric->n_lids)
		return;
	port = &fabric->ports[lid];
	requester->port_guid = port->guid;
	if (port->name)
		requester->name = fabric->names + port->name;
}
