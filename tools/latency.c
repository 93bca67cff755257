/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
#include <stddef.h>
#include <string.h>

#include "latency.h"

/* Below LATENCY_OCTAVE each microsecond is a step. */
static size_t step_of(uint64_t us)
{
	size_t octave, step;

	if (us < LATENCY_OCTAVE)
		return (size_t)us;
	octave = 63 - (size_t)__builtin_clzll(us);
	step = (octave - 2) * LATENCY_OCTAVE +
	       ((us >> (octave - 3)) & (LATENCY_OCTAVE - 1));
	return step < LATENCY_STEPS ? step : LATENCY_STEPS - 1;
}

/* The last microsecond of a step. */
static uint64_t end_of(size_t step)
{
	size_t octave = step / LATENCY_OCTAVE + 2;

	if (step < LATENCY_OCTAVE)
		return step;
	return ((uint64_t)(LATENCY_OCTAVE + step % LATENCY_OCTAVE + 1)
		<< (octave - 3)) - 1;
}

/* Before a count runs over: old ones then weigh half of new ones. */
static void halve(struct latency *l)
{
	size_t i;

	l->n = 0;
	for (i = 0; i < LATENCY_STEPS; i++) {
		l->counts[i] /= 2;
		l->n += l->counts[i];
	}
}

void latency_add(struct latency *l, uint64_t us)
{
	if (l->n == UINT32_MAX)
		halve(l);
	l->counts[step_of(us)]++;
	l->n++;
	if (us > l->max)
		l->max = us;
}

uint64_t latency_percentile(const struct latency *l, unsigned percent)
{
	uint64_t rank = ((uint64_t)l->n * percent + 99) / 100, seen = 0, end;
	size_t i;

	/* the last step has no end */
	for (i = 0; i < LATENCY_STEPS - 1; i++) {
		seen += l->counts[i];
		if (!seen || seen < rank)
			continue;
		end = end_of(i);
		return end < l->max ? end : l->max;
	}
	return l->max;
}

void latency_clear(struct latency *l)
{
	memset(l, 0, sizeof(*l));
}
