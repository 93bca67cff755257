/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Who is behind a LID: a snapshot of OpenSM's subnet database. It is taken
 * under OpenSM's lock, shared and only when it is free at once, and is looked
 * at without it.
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

#endif /* OSMSNOOP_FABRIC_H */
