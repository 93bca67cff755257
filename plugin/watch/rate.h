/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * More than N in S seconds, and the episode that this begins.
 *
 * An event is over the limit when more than N have come in the S seconds up to
 * it. An episode begins with such an event, and ends when more than S seconds
 * have passed since the last one.
 *
 * The S seconds slide in steps of S/16: what is counted is the step that has
 * begun and the 15 before it. That is never more than S seconds, so no alert
 * is false. It may be up to S/16 less, so more than N events in S seconds are
 * missed when those of the first sixteenth are what makes them too many; more
 * than N in 15/16 of S never are. Events may come out of order; one that is
 * older than all of the steps adds to an episode's total alone.
 */
#ifndef OSMSNOOP_RATE_H
#define OSMSNOOP_RATE_H

#include <stdint.h>

#include "alert.h"

enum { RATE_STEPS = 16 };

struct rate_limit {
	uint32_t n;
	uint32_t seconds;
	uint64_t window_ns, step_ns;
};

/* Zeroed: nothing was counted. */
struct rate {
	struct episode episode;	/* its count has those of the first S seconds */
	uint64_t over_ns;	/* when one was over the limit last */
	uint64_t step;		/* number of the newest */
	uint32_t total;		/* in all of the steps */
	uint32_t steps[RATE_STEPS];	/* events, by the step's number */
};

struct rate_limit rate_limit(const struct limit *limit);

/*
 * One event, after rate_pass() of this moment. What is to be said: begin or
 * none. What goes on is said by the clock, whatever the rate.
 */
enum alert_phase rate_add(struct rate *r, const struct rate_limit *limit,
			  uint64_t time_ns, uint64_t mono_ns);

/*
 * Time passes. What is to be said: end (then forget the episode), update (each
 * minute) or none.
 */
enum alert_phase rate_pass(const struct rate *r,
			   const struct rate_limit *limit, uint64_t mono_ns);

/* From the episode's begin to its last event. */
uint64_t rate_seconds(const struct rate *r);

#endif /* OSMSNOOP_RATE_H */
