/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * The alert sa_storm: one requester sends more than N requests in S seconds
 * (the option `storm`, N/S).
 *
 * A request is over the limit when more than N have come in the S seconds up
 * to it. A storm begins with such a request, and ends when more than S
 * seconds have passed since the last one.
 *
 * The S seconds slide in steps of S/16: what is counted is the step that has
 * begun and the 15 before it. That is never more than S seconds, so no alert
 * is false. It may be up to S/16 less, so more than N requests in S seconds
 * are missed when those of the first sixteenth are what makes them too many;
 * more than N in 15/16 of S never are. Requests may come out of order; one
 * that is older than all of the steps adds to a storm's total alone.
 *
 * One count for each unicast LID, in 6 MB of address space (128 bytes each)
 * that are memory only where there are requesters. LID 0 (a port that has
 * none yet) counts like any other; 49152 and up are nobody's and are not
 * counted.
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
void storm_request(struct storm *s, const struct mad_peer *peer,
		   uint64_t mono_ns);

/* The end: storms that go on are said to end. */
void storm_flush(struct storm *s, uint64_t mono_ns);

/* Time passes: storms that are over are said, others again each minute. */
void storm_tick(struct storm *s, uint64_t mono_ns);

#endif /* OSMSNOOP_STORM_H */
