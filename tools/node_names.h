/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Who a LID is: port GUIDs and node names, by what packets tell and by a node
 * name map in OpenSM's format, which goes first. OpenSM's maps have the GUIDs
 * of nodes and packets mostly those of ports; NodeInfo and NodeRecords that
 * pass tell which belongs to which.
 */
#ifndef OSMSNOOP_NODE_NAMES_H
#define OSMSNOOP_NODE_NAMES_H

#include "erf.h"
#include "record.h"

struct node_names;

struct node_names *node_names_new(void);	/* NULL: no memory */
void node_names_free(struct node_names *n);	/* NULL is well */

/* Before anything is learned. False: errno says why; EIO: another format. */
bool node_names_read_map(struct node_names *n, const char *path);

/* A name that came with a capture, of its peer. */
void node_names_tell(struct node_names *n, const struct mad_peer *peer,
		     const struct erf_name *name);

/* What a MAD or whole message says of who is who. */
void node_names_learn(struct node_names *n, const struct mad_capture *cap);

/* Fill in what is known; the name is valid until the next call above. */
void node_names_resolve(const struct node_names *n, struct requester *who);

#endif /* OSMSNOOP_NODE_NAMES_H */
