/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Who is behind a LID: a snapshot of OpenSM's subnet database. It is taken
 * under OpenSM's lock, shared and only when it is free at once, and is looked
 * at without it. Nodes that share a name are told apart by their GUID behind it.
 */
#ifndef OSMSNOOP_FABRIC_H
#define OSMSNOOP_FABRIC_H

#include <opensm/osm_config.h>
#include <opensm/osm_opensm.h>

#include "record.h"

struct fabric;

/*
 * A new snapshot, or NULL with errno: EBUSY when somebody changes the
 * database now (try again later), ENOMEM. Never waits, never on a thread of
 * OpenSM's.
 */
struct fabric *fabric_snapshot(osm_opensm_t *osm);
void fabric_free(struct fabric *fabric);

/*
 * Fill in port_guid and name for addr.lid; `fabric` may be NULL (nothing is
 * known yet). The name lives as long as the snapshot.
 */
void fabric_resolve(const struct fabric *fabric, struct requester *requester);

/*
 * Fill in addr.lid (the first of several), port_guid and name by a port GUID in
 * host byte order. False, and nothing is filled in: there is no such port.
 */
bool fabric_find(const struct fabric *fabric, struct requester *requester,
		 uint64_t port_guid);

/*
 * The codes of MTU (to its neighbour) and rate of a port, 0 where they are not
 * known. False: there is no such port.
 */
bool fabric_abilities(const struct fabric *fabric, uint64_t port_guid,
		      uint8_t *mtu, uint8_t *rate);

/*
 * Multicast LIDs in use now, and how many the switches have. False: somebody
 * changes the database.
 */
bool fabric_count_mlids(osm_opensm_t *osm, uint32_t *used, uint32_t *max);

#endif /* OSMSNOOP_FABRIC_H */
