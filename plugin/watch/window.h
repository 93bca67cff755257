/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * How many there were in the last S seconds. They slide in steps of S/16: what
 * is counted is the step that has begun and the 15 before it. That is never
 * more than S seconds, and may be up to S/16 less.
 */
#ifndef OSMSNOOP_WATCH_WINDOW_H
#define OSMSNOOP_WATCH_WINDOW_H

#include <stdbool.h>
#include <stdint.h>

enum { WINDOW_STEPS = 16 };

/* Zeroed: none. */
struct window {
	uint64_t step;		/* number of the newest */
	uint64_t total;		/* in all of them */
	uint32_t steps[WINDOW_STEPS];	/* by the step's number */
};

/* A second has a whole number of steps in ns, so nothing is cut off. */
static inline uint64_t window_step(uint64_t window_ns)
{
	return window_ns / WINDOW_STEPS;
}

/* Counts one. False, and it is not counted: it is older than all steps. */
bool window_add(struct window *w, uint64_t step_ns, uint64_t mono_ns);

#endif /* OSMSNOOP_WATCH_WINDOW_H */
