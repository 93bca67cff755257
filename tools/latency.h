/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * How long answers take, as percentiles: a histogram in steps of 1/8 of a
 * power of two, from 1 us to a minute. What it tells is at most 12.5 % too
 * high, and it takes the same memory whatever comes.
 */
#ifndef OSMSNOOP_LATENCY_H
#define OSMSNOOP_LATENCY_H

#include <stdint.h>

enum { LATENCY_OCTAVE = 8, LATENCY_STEPS = 24 * LATENCY_OCTAVE };

/* All zeroes is an empty one. */
struct latency {
	uint64_t max;		/* exact */
	uint32_t n;		/* the sum of all counts */
	uint32_t counts[LATENCY_STEPS];
};

void latency_add(struct latency *l, uint64_t us);

/* Microseconds that `percent` of all do not exceed; 0 when there is none. */
uint64_t latency_percentile(const struct latency *l, unsigned percent);

/* Makes it an empty one. */
void latency_clear(struct latency *l);

#endif /* OSMSNOOP_LATENCY_H */
