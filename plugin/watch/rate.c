/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
#include <string.h>

#include "rate.h"

#define SECOND_NS UINT64_C(1000000000)

struct rate_limit rate_limit(const struct limit *limit)
{
	const uint64_t window_ns = limit->seconds * SECOND_NS;

	return (struct rate_limit){
		.n = limit->n,
		.seconds = limit->seconds,
		.window_ns = window_ns,
		/* a second has a whole number of them, so nothing is cut off */
		.step_ns = window_ns / RATE_STEPS,
	};
}

/* Makes this step the newest: what is no longer among them is forgotten. */
static void advance(struct rate *r, uint64_t step)
{
	uint32_t *old;

	if (step - r->step >= RATE_STEPS) {
		memset(r->steps, 0, sizeof(r->steps));
		r->total = 0;
		r->step = step;
		return;
	}
	while (r->step < step) {
		old = &r->steps[++r->step % RATE_STEPS];
		r->total -= *old;
		*old = 0;
	}
}

/* Counts one: whether it is over the limit. */
static bool count(struct rate *r, const struct rate_limit *limit,
		  uint64_t mono_ns)
{
	const uint64_t step = mono_ns / limit->step_ns;

	if (step > r->step)
		advance(r, step);
	else if (r->step - step >= RATE_STEPS)
		return false;
	r->steps[step % RATE_STEPS]++;
	r->total++;
	return r->total > limit->n;
}

enum alert_phase rate_add(struct rate *r, const struct rate_limit *limit,
			  uint64_t time_ns, uint64_t mono_ns)
{
	struct episode *e = &r->episode;
	const bool over = count(r, limit, mono_ns);

	if (over && mono_ns > r->over_ns)
		r->over_ns = mono_ns;
	if (e->count) {
		const uint64_t last_mono_ns = e->last_mono_ns;

		/* nothing is due: what goes on is said elsewhere */
		episode_add(e, time_ns, e->said_mono_ns);
		e->last_mono_ns = mono_ns > last_mono_ns ? mono_ns :
							   last_mono_ns;
		return ALERT_NONE;
	}
	if (!over)
		return ALERT_NONE;
	episode_add(e, time_ns, mono_ns);
	e->count = r->total;
	return ALERT_BEGIN;
}

enum alert_phase rate_pass(const struct rate *r,
			   const struct rate_limit *limit, uint64_t mono_ns)
{
	if (!r->episode.count)
		return ALERT_NONE;
	if (mono_ns > r->over_ns + limit->window_ns)
		return ALERT_END;
	return mono_ns >= r->episode.said_mono_ns + ALERT_UPDATE_NS ?
		ALERT_UPDATE : ALERT_NONE;
}

uint64_t rate_seconds(const struct rate *r)
{
	const struct episode *e = &r->episode;

	return (e->last_mono_ns - e->began_mono_ns) / SECOND_NS;
}
