/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * How many took how long: counts in steps of 1/32 of a power of two, so that
 * memory does not grow with what is counted, and every percentile is as exact
 * as any other. Only powers of two that occur take memory; who lets `octaves`
 * point to LATENCY_STEPS zeroes each beforehand has none taken.
 */
#ifndef OSMSNOOP_LATENCY_H
#define OSMSNOOP_LATENCY_H

#include <stdbool.h>
#include <stdint.h>

enum {
	LATENCY_STEPS_BITS = 5,
	LATENCY_STEPS = 1 << LATENCY_STEPS_BITS,
	LATENCY_OCTAVES = 32,	/* up to 2^36 us, which is 19 hours */
};

/* What a percentile is off at most, and then it is too high. */
#define LATENCY_ERROR (1.0 / LATENCY_STEPS)

/* All zeroes is an empty one. */
struct latency {
	uint64_t n;
	uint64_t max;		/* exact */
	uint32_t *octaves[LATENCY_OCTAVES];
};

/* False: no memory, and nothing is added. */
bool latency_add(struct latency *l, uint64_t us);

/* The least value that `percent` of all do not exceed; 0 when there is none. */
uint64_t latency_percentile(const struct latency *l, unsigned percent);

/* Makes it an empty one. */
void latency_clear(struct latency *l);

#endif /* OSMSNOOP_LATENCY_H */
