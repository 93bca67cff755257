/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include <infiniband/complib/cl_nodenamemap.h>

#include "node_names.h"

enum {
	LIDS = 65536,
	PORTS_MAX = 1 << 18,	/* more than a subnet has; files may be made up */

	ATTR_NODE_RECORD = 0x0011,

	/* NodeInfo (IBA 14.2.5.3), in bytes; behind LID and padding in a
	 * NodeRecord (15.2.5.2), where the NodeDescription follows */
	NODE_INFO_SIZE = 40,
	NODE_RECORD_INFO = 4,
	NODE_RECORD_SIZE = NODE_RECORD_INFO + NODE_INFO_SIZE + ERF_NAME_MAX,
};

struct port {
	cl_map_item_t item;	/* by port GUID */
	uint64_t node_guid;	/* 0: not known */
	const char *mapped;	/* of the map; NULL: it has none */
	char name[ERF_NAME_MAX + 1];
};

struct node_names {
	cl_qmap_t map;		/* of name_map_item_t, by GUID */
	cl_qmap_t ports;
	struct port *by_lid[LIDS];
};

/*
 * The map
 */

/* The parser hands over what follows the GUID, quotes and all. */
static char *copy_mapped(const char *name)
{
	size_t len = strlen(name);

	if (len > 1 && name[0] == '"' && name[len - 1] == '"')
		return strndup(name + 1, len - 2);
	return strdup(name);
}

static int add_mapped(void *context, uint64_t guid, char *name)
{
	struct node_names *n = context;
	name_map_item_t *new = calloc(1, sizeof(*new)), *old;

	if (!new || !(new->name = copy_mapped(name))) {
		free(new);
		return -1;
	}
	new->guid = guid;
	old = (name_map_item_t *)cl_qmap_insert(&n->map, guid, &new->item);
	if (old == new)
		return 0;
	/* as OpenSM: the last one counts */
	free(old->name);
	old->name = new->name;
	free(new);
	return 0;
}

bool node_names_read_map(struct node_names *n, const char *path)
{
	struct stat st;

	/* of which the parser says that nothing is in it */
	if (!stat(path, &st) && S_ISDIR(st.st_mode)) {
		errno = EISDIR;
		return false;
	}
	/* it leaves errno alone for a line that it cannot read */
	errno = EIO;
	return parse_node_map(path, add_mapped, n) == 0;
}

static const char *find_mapped(const struct node_names *n, uint64_t guid)
{
	const cl_map_item_t *item = cl_qmap_get(&n->map, guid);

	if (!guid || item == cl_qmap_end(&n->map))
		return NULL;
	return ((const name_map_item_t *)item)->name;
}

/*
 * Ports
 */

static struct port *find_port(const struct node_names *n, uint64_t guid)
{
	cl_map_item_t *item = cl_qmap_get(&n->ports, guid);

	return item == cl_qmap_end(&n->ports) ? NULL : (struct port *)item;
}

static struct port *get_port(struct node_names *n, uint64_t guid)
{
	struct port *port = find_port(n, guid);

	if (port || !guid || cl_qmap_count(&n->ports) >= PORTS_MAX)
		return port;
	port = calloc(1, sizeof(*port));
	if (!port)
		return NULL;
	port->mapped = find_mapped(n, guid);
	cl_qmap_insert(&n->ports, guid, &port->item);
	return port;
}

static void set_name(struct port *port, const void *text, size_t len)
{
	if (len > ERF_NAME_MAX)
		len = ERF_NAME_MAX;
	memcpy(port->name, text, len);
	port->name[len] = '\0';
}

static struct port *set_guids(struct node_names *n, const uint8_t *node_info)
{
	struct port *port =
		get_port(n, mad_get64(node_info + NODE_INFO_PORT_GUID));

	if (!port)
		return NULL;
	port->node_guid = mad_get64(node_info + NODE_INFO_NODE_GUID);
	if (!port->mapped)
		port->mapped = find_mapped(n, port->node_guid);
	return port;
}

/*
 * What passes
 */

void node_names_tell(struct node_names *n, const struct mad_peer *peer,
		     const struct erf_name *name)
{
	struct port *port = get_port(n, name->port_guid);

	if (!port)
		return;
	n->by_lid[peer->lid] = port;
	set_name(port, name->name, name->len);
}

/* The lower half of a GID is a GUID of the port. */
static void learn_gid(struct node_names *n, const struct mad_peer *peer)
{
	uint64_t guid = mad_get64(peer->gid + 8);
	struct port *port = n->by_lid[peer->lid];

	/* it may be another one than the first, which is known already */
	if (!port && (port = get_port(n, guid)))
		n->by_lid[peer->lid] = port;
}

static void learn_node_records(struct node_names *n,
			       const struct mad_capture *cap)
{
	size_t at, stride = 8u * mad_get16(cap->data + SA_ATTR_OFFSET);
	const uint8_t *rec;
	struct port *port;

	if (stride < NODE_RECORD_SIZE)
		stride = NODE_RECORD_SIZE;
	for (at = SA_DATA; at + NODE_RECORD_SIZE <= cap->len; at += stride) {
		rec = cap->data + at;
		port = set_guids(n, rec + NODE_RECORD_INFO);
		if (!port)
			continue;
		n->by_lid[mad_get16(rec)] = port;
		set_name(port, rec + NODE_RECORD_INFO + NODE_INFO_SIZE,
			 ERF_NAME_MAX);
	}
}

void node_names_learn(struct node_names *n, const struct mad_capture *cap)
{
	const uint8_t *mad = cap->data;
	uint16_t id = mad_get16(mad + MAD_ATTR_ID);

	if (cap->peer.has_gid)
		learn_gid(n, &cap->peer);
	if (!(mad[MAD_METHOD] & METHOD_RESPONSE) || mad_status(mad))
		return;
	if (mad_is_smp(mad[MAD_CLASS])) {
		if (id == ATTR_NODE_INFO &&
		    cap->len >= SMP_DATA + NODE_INFO_SIZE)
			set_guids(n, mad + SMP_DATA);
	} else if (mad[MAD_CLASS] == CLASS_SUBN_ADM &&
		   id == ATTR_NODE_RECORD && cap->len >= SA_DATA) {
		learn_node_records(n, cap);
	}
}

void node_names_resolve(const struct node_names *n, struct requester *who)
{
	const struct port *port = n->by_lid[who->addr.lid];

	if (!port)
		return;
	who->port_guid = port->item.key;
	who->name = port->mapped ? port->mapped :
		    *port->name ? port->name : NULL;
}

/*
 * Life
 */

struct node_names *node_names_new(void)
{
	struct node_names *n = calloc(1, sizeof(*n));

	if (!n)
		return NULL;
	cl_qmap_init(&n->map);
	cl_qmap_init(&n->ports);
	return n;
}

void node_names_free(struct node_names *n)
{
	cl_map_item_t *item;

	if (!n)
		return;
	while ((item = cl_qmap_head(&n->map)) != cl_qmap_end(&n->map)) {
		cl_qmap_remove_item(&n->map, item);
		free(((name_map_item_t *)item)->name);
		free(item);
	}
	while ((item = cl_qmap_head(&n->ports)) != cl_qmap_end(&n->ports)) {
		cl_qmap_remove_item(&n->ports, item);
		free(item);
	}
	free(n);
}
