/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
#include <stdlib.h>
#include <string.h>

#include "latency.h"

/* Values below LATENCY_STEPS are exact: they are the first octave. */
static unsigned octave_of(uint64_t us)
{
	if (us < LATENCY_STEPS)
		return 0;
	return 64 - LATENCY_STEPS_BITS - (unsigned)__builtin_clzll(us);
}

static unsigned shift_of(unsigned octave)
{
	return octave ? octave - 1 : 0;
}

bool latency_add(struct latency *l, uint64_t us)
{
	unsigned octave = octave_of(us);
	unsigned step = us >> shift_of(octave) & (LATENCY_STEPS - 1);

	if (octave >= LATENCY_OCTAVES) {
		octave = LATENCY_OCTAVES - 1;
		step = LATENCY_STEPS - 1;
	}
	if (!l->octaves[octave])
		l->octaves[octave] = calloc(LATENCY_STEPS, sizeof(uint32_t));
	if (!l->octaves[octave])
		return false;
	l->octaves[octave][step]++;
	l->n++;
	if (us > l->max)
		l->max = us;
	return true;
}

/* The highest value that falls into a step. */
static uint64_t end_of(unsigned octave, unsigned step)
{
	uint64_t first = step;

	if (octave)
		first += LATENCY_STEPS;
	return ((first + 1) << shift_of(octave)) - 1;
}

uint64_t latency_percentile(const struct latency *l, unsigned percent)
{
	uint64_t rank = (l->n * percent + 99) / 100, seen = 0, end;
	unsigned octave, step;

	for (octave = 0; octave < LATENCY_OCTAVES; octave++) {
		if (!l->octaves[octave])
			continue;
		for (step = 0; step < LATENCY_STEPS; step++) {
			seen += l->octaves[octave][step];
			if (!seen || seen < rank)
				continue;
			end = end_of(octave, step);
			return end < l->max ? end : l->max;
		}
	}
	return l->max;
}

void latency_clear(struct latency *l)
{
	unsigned octave;

	for (octave = 0; octave < LATENCY_OCTAVES; octave++)
		free(l->octaves[octave]);
	memset(l, 0, sizeof(*l));
}
