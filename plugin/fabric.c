/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fabric.h"

enum {
	NAME_MAX_BYTES = 128,
	/* and what tells it from another node's */
	GUID_BYTES = sizeof(" 0x0011223344556677") - 1,
};

struct node {
	uint64_t guid;
	uint32_t name;		/* where in names; 0 = none */
};

struct port {
	uint64_t guid;		/* 0 = none has this LID */
	uint32_t node;		/* in nodes; 0 = not known */
	uint8_t mtu, rate;	/* codes; 0 = not known */
};

struct guid_lid {
	uint64_t guid;
	uint16_t lid;
};

struct fabric {
	size_t n_lids;
	struct port *ports;	/* by LID */
	size_t n_nodes, max_nodes;
	struct node *nodes;	/* the first is none */
	size_t n_guids;
	struct guid_lid *guids;	/* by GUID, then LID */
	char *names;		/* one after the other, the first is empty */
	size_t names_used, names_size;
	const osm_node_t *p_last;	/* its ports are next to each other */
};

void fabric_free(struct fabric *fabric)
{
	if (!fabric)
		return;
	free(fabric->ports);
	free(fabric->nodes);
	free(fabric->guids);
	free(fabric->names);
	free(fabric);
}

static struct fabric *fabric_new(size_t n_lids, size_t n_ports)
{
	struct fabric *f = calloc(1, sizeof(*f));

	if (!f)
		return NULL;
	f->n_lids = n_lids;
	f->n_nodes = 1;
	f->max_nodes = n_ports + 1;
	f->names_size = n_ports * (NAME_MAX_BYTES + GUID_BYTES);
	f->names_used = 1;
	f->ports = calloc(n_lids + 1, sizeof(*f->ports));
	f->nodes = calloc(f->max_nodes, sizeof(*f->nodes));
	f->guids = calloc(n_lids + 1, sizeof(*f->guids));
	f->names = calloc(1, f->names_size);
	if (f->ports && f->nodes && f->guids && f->names)
		return f;
	fabric_free(f);
	return NULL;
}

/* 0: there is no room. */
static uint32_t keep_name(struct fabric *f, const char *name, size_t len)
{
	uint32_t at = (uint32_t)f->names_used;

	if (f->names_used + len + 1 > f->names_size)
		return 0;
	memcpy(f->names + at, name, len);
	f->names_used += len + 1;
	return at;
}

static uint32_t keep_node(struct fabric *f, const osm_node_t *p_node)
{
	const char *desc = p_node->print_desc;
	struct node *node;

	if (p_node == f->p_last)
		return (uint32_t)f->n_nodes - 1;
	if (f->n_nodes == f->max_nodes)
		return 0;
	f->p_last = p_node;
	node = &f->nodes[f->n_nodes];
	node->guid = cl_ntoh64(p_node->node_info.node_guid);
	if (desc)
		node->name = keep_name(f, desc,
				       strnlen(desc, NAME_MAX_BYTES - 1));
	return (uint32_t)f->n_nodes++;
}

static void count_mlids(const osm_subn_t *subn, uint32_t *used, uint32_t *max)
{
	size_t i, n;

	*used = *max = 0;
	if (subn->max_mcast_lid_ho < IB_LID_MCAST_START_HO)
		return;
	n = subn->max_mcast_lid_ho - IB_LID_MCAST_START_HO + 1u;
	if (n > sizeof(subn->mboxes) / sizeof(subn->mboxes[0]))
		n = sizeof(subn->mboxes) / sizeof(subn->mboxes[0]);
	for (i = 0; i < n; i++)
		*used += subn->mboxes[i] != NULL;
	*max = (uint32_t)n;
}

bool fabric_count_mlids(osm_opensm_t *osm, uint32_t *used, uint32_t *max)
{
	pthread_rwlock_t *lock = &osm->lock.lock;

	if (pthread_rwlock_tryrdlock(lock))
		return false;
	count_mlids(&osm->subn, used, max);
	pthread_rwlock_unlock(lock);
	return true;
}

static void copy_abilities(struct port *port, const osm_port_t *p_port)
{
	const ib_port_info_t *p_pi;

	if (!p_port->p_physp)
		return;
	p_pi = &p_port->p_physp->port_info;
	port->mtu = ib_port_info_get_neighbor_mtu(p_pi);
	port->rate = ib_port_info_compute_rate(p_pi, p_pi->capability_mask &
					       IB_PORT_CAP_HAS_EXT_SPEEDS);
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
		copy_abilities(&f->ports[lid], p_port);
		if (p_port->p_node)
			f->ports[lid].node = keep_node(f, p_port->p_node);
	}
}

static const char *name_of(const struct fabric *f, const struct node *node)
{
	return f->names + node->name;
}

static int by_name(const void *a, const void *b, void *context)
{
	const struct fabric *f = context;
	const struct node *x = &f->nodes[*(const uint32_t *)a];
	const struct node *y = &f->nodes[*(const uint32_t *)b];
	int order = strcmp(name_of(f, x), name_of(f, y));

	return order ? order : (x->guid > y->guid) - (x->guid < y->guid);
}

static uint32_t tell_apart(struct fabric *f, const struct node *node)
{
	char name[NAME_MAX_BYTES + GUID_BYTES];
	int len = snprintf(name, sizeof(name), "%s 0x%016" PRIx64,
			   name_of(f, node), node->guid);
	uint32_t at = keep_name(f, name, (size_t)len);

	return at ? at : node->name;
}

/* From `i` on, in order of names: the first node with another one. */
static size_t end_of_name(const struct fabric *f, const uint32_t *order,
			  size_t n, size_t i)
{
	const char *name = name_of(f, &f->nodes[order[i]]);

	while (++i < n && !strcmp(name_of(f, &f->nodes[order[i]]), name))
		;
	return i;
}

/* A node may be there more than once; of one name, GUIDs are in order. */
static void tell_all_apart(struct fabric *f, const uint32_t *order, size_t n)
{
	size_t i, end;

	for (i = 0; i < n; i = end) {
		end = end_of_name(f, order, n, i);
		if (!f->nodes[order[i]].name ||
		    f->nodes[order[i]].guid == f->nodes[order[end - 1]].guid)
			continue;
		for (; i < end; i++)
			f->nodes[order[i]].name =
				tell_apart(f, &f->nodes[order[i]]);
	}
}

/* Without memory for it the names stay as they are. */
static void find_shared_names(struct fabric *f)
{
	uint32_t *order = calloc(f->n_nodes, sizeof(*order));
	size_t i;

	if (!order)
		return;
	for (i = 1; i < f->n_nodes; i++)
		order[i - 1] = (uint32_t)i;
	qsort_r(order, f->n_nodes - 1, sizeof(*order), by_name, f);
	tell_all_apart(f, order, f->n_nodes - 1);
	free(order);
}

static int by_guid(const void *a, const void *b)
{
	const struct guid_lid *x = a, *y = b;

	if (x->guid != y->guid)
		return x->guid > y->guid ? 1 : -1;
	return x->lid - y->lid;
}

static void sort_guids(struct fabric *f)
{
	size_t lid;

	for (lid = 1; lid < f->n_lids; lid++)
		if (f->ports[lid].guid)
			f->guids[f->n_guids++] = (struct guid_lid){
				f->ports[lid].guid, (uint16_t)lid,
			};
	qsort(f->guids, f->n_guids, sizeof(*f->guids), by_guid);
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
	f = fabric_new(n_lids + 64, n_ports + 64);
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
	find_shared_names(f);
	sort_guids(f);
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
	if (fabric->nodes[port->node].name)
		requester->name = name_of(fabric, &fabric->nodes[port->node]);
}

bool fabric_find(const struct fabric *fabric, struct requester *requester,
		 uint64_t port_guid)
{
	size_t from = 0, to = fabric ? fabric->n_guids : 0, middle;

	/* the first that is not less */
	while (from < to) {
		middle = (from + to) / 2;
		if (fabric->guids[middle].guid < port_guid)
			from = middle + 1;
		else
			to = middle;
	}
	if (!fabric || from == fabric->n_guids ||
	    fabric->guids[from].guid != port_guid)
		return false;
	requester->addr.lid = fabric->guids[from].lid;
	fabric_resolve(fabric, requester);
	return true;
}

bool fabric_abilities(const struct fabric *fabric, uint64_t port_guid,
		      uint8_t *mtu, uint8_t *rate)
{
	struct requester who = { .port_guid = port_guid };

	if (!fabric_find(fabric, &who, port_guid))
		return false;
	*mtu = fabric->ports[who.addr.lid].mtu;
	*rate = fabric->ports[who.addr.lid].rate;
	return true;
}
