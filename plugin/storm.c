/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "storm.h"

enum { LIDS = 49152, STEPS = 16, UPDATE_SECONDS = 60 };

#define SECOND_NS UINT64_C(1000000000)

struct count {
	uint64_t step;		/* number of the newest */
	uint64_t requests;	/* in all of them */
	uint64_t total;		/* since the storm began */
	uint64_t began_ns;
	uint64_t over_ns;	/* when one was over the limit last */
	uint64_t said_ns;
	uint32_t qpn;		/* of the last request */
	uint32_t steps[STEPS];	/* requests, by the step's number */
	bool storm;
};

_Static_assert(sizeof(struct count) <= 128, "storm.h says what they take");

struct storm {
	struct storm_options options;
	uint64_t window_ns;
	uint64_t step_ns;
	uint64_t looked_ns;	/* when storm_tick last went through them */
	unsigned storms;	/* going on now */
	struct count *counts;
};

struct storm *storm_new(const struct storm_options *options)
{
	struct storm *s = calloc(1, sizeof(*s));

	if (!s)
		return NULL;
	s->options = *options;
	s->window_ns = options->seconds * SECOND_NS;
	/* a second has a whole number of them in ns, so nothing is cut off */
	s->step_ns = s->window_ns / STEPS;
	s->counts = mmap(NULL, LIDS * sizeof(*s->counts),
			 PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
			 -1, 0);
	if (s->counts == MAP_FAILED) {
		free(s);
		return NULL;
	}
	return s;
}

void storm_free(struct storm *s)
{
	if (!s)
		return;
	munmap(s->counts, LIDS * sizeof(*s->counts));
	free(s);
}

/* Makes this step the newest: what is no longer within STEPS is forgotten. */
static void advance(struct count *c, uint64_t step)
{
	uint32_t *old;

	if (step - c->step >= STEPS) {
		memset(c->steps, 0, sizeof(c->steps));
		c->requests = 0;
		c->step = step;
		return;
	}
	while (c->step < step) {
		old = &c->steps[++c->step % STEPS];
		c->requests -= *old;
		*old = 0;
	}
}

/* Counts one request: whether it is over the limit. */
static bool add(const struct storm *s, struct count *c, uint64_t mono_ns)
{
	uint64_t step = mono_ns / s->step_ns;

	if (step > c->step)
		advance(c, step);
	else if (c->step - step >= STEPS)
		return false;
	c->steps[step % STEPS]++;
	c->requests++;
	return c->requests > s->options.requests;
}

static void say(struct storm *s, uint16_t lid, struct count *c,
		const char *phase, uint64_t mono_ns)
{
	struct requester who = { .addr = { .lid = lid, .qpn = c->qpn } };
	struct evidence evidence[] = {
		{ "phase", phase, 0 },
		{ "requests", NULL, c->total },
		{ "seconds", NULL, mono_ns < c->began_ns ? 0 :
		  (mono_ns - c->began_ns) / SECOND_NS },
		{ "limit_requests", NULL, s->options.requests },
		{ "limit_seconds", NULL, s->options.seconds },
	};
	char subject[32], text[192];
	struct record r = {
		.type = RECORD_ALERT,
		.alert = {
			.alert = "sa_storm",
			.severity = "warning",
			.subject = subject,
			.text = text,
			.who = &who,
			.evidence = evidence,
			.n_evidence = sizeof(evidence) / sizeof(evidence[0]),
		},
	};

	if (s->options.resolve)
		s->options.resolve(&who, s->options.context);
	snprintf(subject, sizeof(subject), "LID %u", lid);
	snprintf(text, sizeof(text),
		 "%s: %" PRIu64 " SA requests from LID %u (limit %" PRIu32
		 " in %" PRIu32 " s)",
		 phase, c->total, lid, s->options.requests,
		 s->options.seconds);
	c->said_ns = mono_ns;
	s->options.emit(&r, s->options.context);
}

static bool is_over(const struct storm *s, const struct count *c,
		    uint64_t mono_ns)
{
	return mono_ns > c->over_ns + s->window_ns;
}

static void end(struct storm *s, uint16_t lid, struct count *c,
		uint64_t mono_ns)
{
	c->storm = false;
	s->storms--;
	say(s, lid, c, "end", mono_ns);
}

void storm_request(struct storm *s, const struct mad_peer *peer,
		   uint64_t mono_ns)
{
	uint16_t lid = peer->lid;
	struct count *c;
	bool over;

	if (lid >= LIDS)
		return;
	c = &s->counts[lid];
	c->qpn = peer->qpn;
	/* if it begins another storm, storm_tick would not see this end */
	if (c->storm && is_over(s, c, mono_ns))
		end(s, lid, c, mono_ns);
	over = add(s, c, mono_ns);
	if (over && mono_ns > c->over_ns)
		c->over_ns = mono_ns;
	if (c->storm) {
		c->total++;
		return;
	}
	if (!over)
		return;
	c->storm = true;
	c->total = c->requests;
	c->began_ns = mono_ns;
	s->storms++;
	say(s, lid, c, "begin", mono_ns);
}

void storm_flush(struct storm *s, uint64_t mono_ns)
{
	uint32_t lid;

	for (lid = 0; s->storms && lid < LIDS; lid++)
		if (s->counts[lid].storm)
			end(s, (uint16_t)lid, &s->counts[lid], mono_ns);
}

void storm_tick(struct storm *s, uint64_t mono_ns)
{
	unsigned left = s->storms;
	struct count *c;
	uint32_t lid;

	if (!left || mono_ns < s->looked_ns + SECOND_NS)
		return;
	s->looked_ns = mono_ns;
	for (lid = 0; left && lid < LIDS; lid++) {
		c = &s->counts[lid];
		if (!c->storm)
			continue;
		left--;
		if (is_over(s, c, mono_ns))
			end(s, (uint16_t)lid, c, mono_ns);
		else if (mono_ns >= c->said_ns + UPDATE_SECONDS * SECOND_NS)
			say(s, (uint16_t)lid, c, "update", mono_ns);
	}
}
