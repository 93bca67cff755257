/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * The alert sa_storm: one requester sends more than N requests in S seconds
 * (the option `storm`, N/S).
 *
 * How they are counted, and when a storm begins and ends, rate.h says.
 *
 * One count for each unicast LID, in 8 MB of address space (160 bytes each)
 * that are memory only where there are requesters. LID 0 (a port that has
 * none yet) counts like any other; 49152 and up are nobody's and are not
 * counted.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <sys/mman.h>

#include "rate.h"

enum { LIDS = 49152 };

struct count {
	struct rate rate;
	uint32_t qpn;		/* of the last request */
};

_Static_assert(sizeof(struct count) <= 160, "as said above");

struct storm {
	const struct watch_host *host;
	struct rate_limit limit;
	unsigned storms;	/* going on now */
	struct count *counts;
};

static bool storm_open(const struct watch_host *host, void **state)
{
	struct storm *s = calloc(1, sizeof(*s));

	if (!s)
		return false;
	s->host = host;
	s->limit = rate_limit(&host->options->storm);
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

static void say(struct storm *s, uint16_t lid, struct count *c,
		enum alert_phase phase, uint64_t mono_ns)
{
	struct requester who = { .addr = { .lid = lid, .qpn = c->qpn } };
	struct episode *e = &c->rate.episode;
	char name[ALERT_WHO_MAX];
	struct alert a;

	if (s->host->resolve)
		s->host->resolve(&who, s->host->context);
	alert_init(&a, s->host, "sa_storm", "warning");
	alert_about(&a, &who);
	alert_subject(&a, "LID %u", lid);
	alert_text(&a, "%" PRIu64 " SA requests from %s in %" PRIu64
		   " s (limit %" PRIu32 " in %" PRIu32 " s): look what runs there, and what it asks for (osmsnoop top)",
		   e->count, alert_who(name, &who),
		   rate_seconds(&c->rate), s->limit.n,
		   s->limit.seconds);
	alert_number(&a, "requests", e->count);
	alert_number(&a, "seconds", rate_seconds(&c->rate));
	alert_number(&a, "limit_requests", s->limit.n);
	alert_number(&a, "limit_seconds", s->limit.seconds);
	alert_say(&a, phase, e, mono_ns);
}

static void end(struct storm *s, uint16_t lid, struct count *c,
		uint64_t mono_ns)
{
	say(s, lid, c, ALERT_END, mono_ns);
	c->rate.episode = (struct episode){ 0 };
	s->storms--;
}

static void storm_request(void *state, const struct mad_capture *cap)
{
	const uint64_t mono_ns = cap->mono_ns;
	const uint16_t lid = cap->peer.lid;
	struct storm *s = state;
	struct count *c;

	if (lid >= LIDS)
		return;
	c = &s->counts[lid];
	c->qpn = cap->peer.qpn;
	/* if it begins another storm, storm_tick would not see this end */
	if (rate_pass(&c->rate, &s->limit, mono_ns) == ALERT_END)
		end(s, lid, c, mono_ns);
	if (rate_add(&c->rate, &s->limit, cap->time_ns, mono_ns) !=
	    ALERT_BEGIN)
		return;
	s->storms++;
	say(s, lid, c, ALERT_BEGIN, mono_ns);
}

static void storm_flush(void *state, uint64_t mono_ns)
{
	struct storm *s = state;
	uint32_t lid;

	for (lid = 0; s->storms && lid < LIDS; lid++)
		if (s->counts[lid].rate.episode.count)
			end(s, (uint16_t)lid, &s->counts[lid], mono_ns);
}

static void storm_tick(void *state, uint64_t mono_ns)
{
	struct storm *s = state;
	unsigned left = s->storms;
	enum alert_phase phase;
	struct count *c;
	uint32_t lid;

	for (lid = 0; left && lid < LIDS; lid++) {
		c = &s->counts[lid];
		if (!c->rate.episode.count)
			continue;
		left--;
		phase = rate_pass(&c->rate, &s->limit, mono_ns);
		if (phase == ALERT_END)
			end(s, (uint16_t)lid, c, mono_ns);
		else if (phase == ALERT_UPDATE)
			say(s, (uint16_t)lid, c, phase, mono_ns);
	}
}

const struct watcher watch_storm = {
	.open = storm_open,
	.request = storm_request,
	.tick = storm_tick,
	.flush = storm_flush,
	.close = storm_close,
};
