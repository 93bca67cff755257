/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * The alert sa_slow: of the answers of ten seconds, N at least, more than one
 * in a hundred takes longer than MS (the option `slow`, MS/N).
 *
 * Windows of ten seconds follow each other. It begins with a slow one, and ends
 * with the first that is not, or has too few answers. What is said is of the
 * last slow one; the count is of answers that took longer than MS.
 *
 * One window is kept: 270 kB.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "alert.h"
#include "latency.h"
#include "words.h"

enum { LIDS = 65536, ATTRIBUTES = 64 };

#define WINDOW_NS UINT64_C(10000000000)
#define MS_NS UINT64_C(1000000)

struct attribute_time {
	uint16_t id;
	uint64_t ns;
};

/* What is counted of the window that goes on. */
struct counted {
	uint64_t slow;		/* answers that took longer than MS */
	uint64_t first_ns, last_ns;	/* their CLOCK_REALTIME */
	uint16_t top_lid;	/* who got most of them */
	uint32_t top_slow;
	uint32_t top_qpn;
	size_t n_attributes;
	struct attribute_time attributes[ATTRIBUTES];
};

/* What is said of a slow window. */
struct said {
	uint64_t answers, slow, p50_us, p99_us, max_us;
	uint16_t attr_id;
	uint16_t lid;
	uint32_t qpn;
	uint32_t lid_slow;
};

struct slow {
	const struct watch_host *host;
	uint64_t limit_ns;
	uint32_t answers_min;
	uint64_t window;	/* number of the one that goes on */
	struct counted now;
	struct latency latency;
	struct episode episode;
	struct said said;
	uint32_t steps[LATENCY_OCTAVES][LATENCY_STEPS];	/* of latency */
	uint32_t by_lid[LIDS];	/* slow answers */
};

static void clear(struct slow *s)
{
	size_t i;

	if (s->now.slow)
		memset(s->by_lid, 0, sizeof(s->by_lid));
	if (s->latency.n)
		memset(s->steps, 0, sizeof(s->steps));
	memset(&s->now, 0, sizeof(s->now));
	s->latency = (struct latency){ 0 };
	for (i = 0; i < LATENCY_OCTAVES; i++)
		s->latency.octaves[i] = s->steps[i];
}

static bool slow_open(const struct watch_host *host, void **state)
{
	struct slow *s = calloc(1, sizeof(*s));

	if (!s)
		return false;
	s->host = host;
	s->limit_ns = host->options->slow_ms * MS_NS;
	s->answers_min = host->options->slow_answers;
	clear(s);
	*state = s;
	return true;
}

static void slow_close(void *state)
{
	free(state);
}

static void say(struct slow *s, enum alert_phase phase, uint64_t mono_ns)
{
	const struct said *w = &s->said;
	char name[ALERT_WHO_MAX], word[WORD_MAX];
	const char *attribute = word_attribute(word, w->attr_id);
	struct requester who;
	struct alert a;

	who_at(&who, s->host, w->lid, w->qpn);
	alert_init(&a, s->host, "sa_slow", "warning");
	alert_about(&a, &who);
	alert_subject(&a, "SA");
	alert_text(&a, "OpenSM's SA is slow: of %" PRIu64 " answers in 10 s %" PRIu64
		   " took longer than %" PRIu64 " ms, the longest %" PRIu64
		   " ms (half of them %" PRIu64 " us at most); %s took the most time, %s got the most slow answers (%" PRIu32
		   "); look at OpenSM's load, for sweeps at that time, and who asks for large tables (osmsnoop top)",
		   w->answers, w->slow, s->limit_ns / MS_NS, w->max_us / 1000,
		   w->p50_us, attribute, alert_who(name, &who), w->lid_slow);
	alert_number(&a, "answers", w->answers);
	alert_number(&a, "slow", w->slow);
	alert_number(&a, "p50_us", w->p50_us);
	alert_number(&a, "p99_us", w->p99_us);
	alert_number(&a, "max_us", w->max_us);
	alert_number(&a, "limit_ms", s->limit_ns / MS_NS);
	alert_number(&a, "limit_answers", s->answers_min);
	alert_string(&a, "attribute", attribute);
	alert_string(&a, "top_requester", name);
	alert_number(&a, "top_slow", w->lid_slow);
	alert_say(&a, phase, &s->episode, mono_ns);
}

static void end(struct slow *s, uint64_t mono_ns)
{
	if (!s->episode.count)
		return;
	say(s, ALERT_END, mono_ns);
	s->episode = (struct episode){ 0 };
}

static uint16_t find_attribute(const struct counted *now)
{
	const struct attribute_time *a, *most = now->attributes;

	for (a = most; a < now->attributes + now->n_attributes; a++)
		if (a->ns > most->ns)
			most = a;
	return most->id;
}

/* It is over and was slow. */
static void take_slow(struct slow *s, uint64_t mono_ns)
{
	const struct counted *now = &s->now;
	struct episode *e = &s->episode;
	enum alert_phase phase;

	s->said = (struct said){
		.answers = s->latency.n, .slow = now->slow,
		.p50_us = latency_percentile(&s->latency, 50),
		.p99_us = latency_percentile(&s->latency, 99),
		.max_us = s->latency.max,
		.attr_id = find_attribute(now),
		.lid = now->top_lid, .qpn = now->top_qpn,
		.lid_slow = now->top_slow,
	};
	phase = episode_add(e, now->first_ns, mono_ns);
	e->count += now->slow - 1;
	e->last_ns = now->last_ns;
	if (phase != ALERT_NONE)
		say(s, phase, mono_ns);
}

static void pass(struct slow *s, uint64_t mono_ns)
{
	const uint64_t window = mono_ns / WINDOW_NS;
	const uint64_t n = s->latency.n;

	if (window <= s->window)
		return;
	/* more than one in a hundred: then p99 is above the limit */
	if (n && n >= s->answers_min && s->now.slow > n / 100)
		take_slow(s, mono_ns);
	else
		end(s, mono_ns);
	/* whole ones without an answer have passed */
	if (window > s->window + 1)
		end(s, mono_ns);
	s->window = window;
	clear(s);
}

static void add_attribute(struct counted *now, uint16_t id, uint64_t ns)
{
	size_t i;

	for (i = 0; i < now->n_attributes; i++)
		if (now->attributes[i].id == id)
			break;
	if (i == ATTRIBUTES)
		return;
	if (i == now->n_attributes)
		now->attributes[now->n_attributes++].id = id;
	now->attributes[i].ns += ns;
}

static void add_slow(struct slow *s, const struct requester *who,
		     uint64_t time_ns)
{
	struct counted *now = &s->now;
	const uint32_t n = ++s->by_lid[who->addr.lid];

	if (!now->slow++ || time_ns < now->first_ns)
		now->first_ns = time_ns;
	if (time_ns > now->last_ns)
		now->last_ns = time_ns;
	if (n <= now->top_slow)
		return;
	now->top_slow = n;
	now->top_lid = who->addr.lid;
	now->top_qpn = who->addr.qpn;
}

static void slow_record(void *state, const struct record *r, uint64_t mono_ns)
{
	const struct sa_record *sa = &r->sa;
	struct slow *s = state;

	pass(s, mono_ns);
	if (r->type != RECORD_SA || sa->sent || !sa->has_response)
		return;
	latency_add(&s->latency, sa->latency_ns / 1000);
	add_attribute(&s->now, mad_get16(sa->mad + MAD_ATTR_ID),
		      sa->latency_ns);
	if (sa->latency_ns > s->limit_ns)
		add_slow(s, &sa->requester, r->time_ns);
}

static void slow_flush(void *state, uint64_t mono_ns)
{
	end(state, mono_ns);
}

static void slow_tick(void *state, uint64_t mono_ns)
{
	pass(state, mono_ns);
}

const struct watcher watch_slow = {
	.open = slow_open,
	.record = slow_record,
	.tick = slow_tick,
	.flush = slow_flush,
	.close = slow_close,
};
