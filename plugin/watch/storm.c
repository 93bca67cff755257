/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * The alert sa_storm: one requester sends more than N requests in S seconds
 * (the option `storm`, N/S).
 *
 * A request is over the limit when more than N have come in the S seconds up
 * to it. A storm begins with such a request, and ends when more than S
 * seconds have passed since the last one.
 *
 * The S seconds slide by sixteenths (window.h), so no alert is false, and more
 * than N in 15/16 of S are never missed. Requests may come out of order; one
 * that is older than S adds to a storm's total alone.
 *
 * One count for each unicast LID, in 8 MB of address space (160 bytes each)
 * that are memory only where there are requesters. LID 0 (a port that has
 * none yet) counts like any other; 49152 and up are nobody's and are not
 * counted.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "alert.h"
#include "window.h"

enum { LIDS = 49152 };

#define SECOND_NS UINT64_C(1000000000)

struct count {
	struct window window;
	struct episode storm;
	uint64_t over_ns;	/* when one was over the limit last */
	uint32_t qpn;		/* of the last request */
};

_Static_assert(sizeof(struct count) <= 160, "as said above");

struct storm {
	const struct watch_host *host;
	uint32_t limit;
	uint64_t window_ns;
	uint64_t step_ns;
	unsigned storms;	/* going on now */
	struct count *counts;
};

static bool storm_open(const struct watch_host *host, void **state)
{
	struct storm *s = calloc(1, sizeof(*s));

	if (!s)
		return false;
	s->host = host;
	s->limit = host->options->storm.n;
	s->window_ns = host->options->storm.seconds * SECOND_NS;
	s->step_ns = window_step(s->window_ns);
	s->counts = mmap(NULL, LIDS * sizeof(*s->counts),
			 PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
			 -1, 0);
	if (s->counts == MAP_FAILED) {
		free(s);
		return false;
	}
	*state = s;
	return true;
}

static void storm_close(void *state)
{
	struct storm *s = state;

	munmap(s->counts, LIDS * sizeof(*s->counts));
	free(s);
}

/* Counts one request: whether it is over the limit. */
static bool add(const struct storm *s, struct count *c, uint64_t mono_ns)
{
	return window_add(&c->window, s->step_ns, mono_ns) &&
	       c->window.total > s->limit;
}

static void say(struct storm *s, uint16_t lid, struct count *c,
		enum alert_phase phase, uint64_t mono_ns)
{
	struct requester who = { .addr = { .lid = lid, .qpn = c->qpn } };
	const uint64_t began_ns = c->storm.began_mono_ns;
	const uint64_t seconds = s->window_ns / SECOND_NS;
	struct alert a;

	if (s->host->resolve)
		s->host->resolve(&who, s->host->context);
	alert_init(&a, s->host, "sa_storm", "warning");
	alert_about(&a, &who);
	alert_subject(&a, "LID %u", lid);
	alert_text(&a, "%" PRIu64 " SA requests from LID %u (limit %" PRIu32
		   " in %" PRIu64 " s)", c->storm.count, lid, s->limit,
		   seconds);
	alert_number(&a, "requests", c->storm.count);
	alert_number(&a, "seconds", mono_ns < began_ns ? 0 :
		     (mono_ns - began_ns) / SECOND_NS);
	alert_number(&a, "limit_requests", s->limit);
	alert_number(&a, "limit_seconds", seconds);
	alert_say(&a, phase, &c->storm, mono_ns);
}

static bool is_over(const struct storm *s, const struct count *c,
		    uint64_t mono_ns)
{
	return mono_ns > c->over_ns + s->window_ns;
}

static void end(struct storm *s, uint16_t lid, struct count *c,
		uint64_t mono_ns)
{
	say(s, lid, c, ALERT_END, mono_ns);
	c->storm = (struct episode){ 0 };
	s->storms--;
}

static void storm_request(void *state, const struct mad_capture *cap)
{
	const uint64_t mono_ns = cap->mono_ns;
	const uint16_t lid = cap->peer.lid;
	struct storm *s = state;
	struct count *c;
	bool over;

	if (lid >= LIDS)
		return;
	c = &s->counts[lid];
	c->qpn = cap->peer.qpn;
	/* if it begins another storm, storm_tick would not see this end */
	if (c->storm.count && is_over(s, c, mono_ns))
		end(s, lid, c, mono_ns);
	over = add(s, c, mono_ns);
	if (over && mono_ns > c->over_ns)
		c->over_ns = mono_ns;
	if (c->storm.count) {
		/* it is said by the clock, whatever the rate */
		episode_add(&c->storm, cap->time_ns, c->storm.said_mono_ns);
		return;
	}
	if (!over)
		return;
	s->storms++;
	episode_add(&c->storm, cap->time_ns, mono_ns);
	c->storm.count = c->window.total;
	say(s, lid, c, ALERT_BEGIN, mono_ns);
}

static void storm_flush(void *state, uint64_t mono_ns)
{
	struct storm *s = state;
	uint32_t lid;

	for (lid = 0; s->storms && lid < LIDS; lid++)
		if (s->counts[lid].storm.count)
			end(s, (uint16_t)lid, &s->counts[lid], mono_ns);
}

static void storm_tick(void *state, uint64_t mono_ns)
{
	struct storm *s = state;
	unsigned left = s->storms;
	struct count *c;
	uint32_t lid;

	for (lid = 0; left && lid < LIDS; lid++) {
		c = &s->counts[lid];
		if (!c->storm.count)
			continue;
		left--;
		if (is_over(s, c, mono_ns))
			end(s, (uint16_t)lid, c, mono_ns);
		else if (mono_ns >= c->storm.said_mono_ns + ALERT_UPDATE_NS)
			say(s, (uint16_t)lid, c, ALERT_UPDATE, mono_ns);
	}
}

const struct watcher watch_storm = {
	.open = storm_open,
	.request = storm_request,
	.tick = storm_tick,
	.flush = storm_flush,
	.close = storm_close,
};
