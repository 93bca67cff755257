/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * The alert sa_storm: one requester sends more requests than the option
 * `storm` allows in one window. Windows begin at the first request of all and
 * do not slide. A storm ends when a whole window stayed within the limit.
 *
 * One count for each unicast LID, in 2 MB that are touched only where there
 * are requesters. LID 0 (a port that has none yet) counts like any other;
 * 49152 and up are nobody's and are not counted.
 */
#ifndef OSMSNOOP_STORM_H
#define OSMSNOOP_STORM_H

#include <stdbool.h>
#include <stdint.h>

#include "record.h"

struct storm;

struct storm_options {
	uint32_t requests;	/* more than these ... */
	uint32_t seconds;	/* ... in so many seconds */

	/* the record is valid until it returns; time_ns is the caller's */
	void (*emit)(struct record *record, void *context);
	void (*resolve)(struct requester *requester, void *context);
	void *context;
};

struct storm *storm_new(const struct storm_options *options);
void storm_free(struct storm *s);

/* One SA request of this requester came in. */
void storm_request(struct storm *s, uint16_t lid, uint64_t mono_ns);

/* Time passes: storms that are over are said, others again each minute. */
void storm_tick(struct storm *s, uint64_t mono_ns);

#endif /* OSMSNOOP_STORM_H */
