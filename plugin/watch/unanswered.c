/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * The alert sa_unanswered: more than N SA requests in S seconds without an
 * answer for one reason (the option `drops`, N/S).
 *
 * A request counts when it is known that it gets no answer, so `unanswered`
 * seconds after it came. One of which it is not known (no reason, and its
 * answer may have been lost, or it had no time to come) does not count. How they
 * are counted, and when it begins and ends, rate.h says.
 *
 * Who asked is worked out of the last 4096 requests of the reason, when
 * something is said. 600 kB in all.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "rate.h"
#include "words.h"

enum { REASONS = SA_REASON_UNKNOWN + 1, RECENT = 4096 };

struct drop {
	uint64_t mono_ns;
	uint16_t lid;
};

struct drops {
	struct rate rate;
	uint64_t most;		/* in S seconds, of this episode */
	uint64_t n;		/* of all time */
	struct drop recent[RECENT];	/* by their number */
};

struct unanswered {
	const struct watch_host *host;
	struct rate_limit limit;
	struct drops drops[REASONS];
	uint16_t lids[RECENT];	/* while something is said */
};

/* Of the requests that were looked at. */
struct askers {
	uint32_t requests;
	uint32_t requesters;
	uint16_t top_lid;
	uint32_t top_requests;
};

/* What it means and what to do next. */
static const char *const advice[REASONS] = {
	[SA_REASON_SM_NOT_MASTER] =
		"this OpenSM is not the master: its clients ask a standby SM, so look which SM LID their ports have, and whether there is a master",
	[SA_REASON_FIRST_SWEEP] =
		"OpenSM answers nobody before its first sweep is over: clients have to ask again, and it should come to SUBNET UP",
	[SA_REASON_SM_KEY] =
		"they have a wrong SM_Key: see the alerts sm_key_mismatch",
	[SA_REASON_UNSUPPORTED_ATTRIBUTE] =
		"OpenSM does not have what they ask for: the trace has the attributes; ask whoever runs that software",
	[SA_REASON_UNSUPPORTED_METHOD] =
		"OpenSM does not have this method: the trace has them; ask whoever runs that software",
	[SA_REASON_OVERLOAD] =
		"OpenSM's queue is full, requests wait longer than max_msg_fifo_timeout there: find out who floods (sa_storm, osmsnoop top), or raise it",
	[SA_REASON_SEND_ERROR] =
		"the answers could not be sent: look at the port that OpenSM uses and at ERR 5430 in its log",
	[SA_REASON_UNKNOWN] =
		"OpenSM took them and said nothing: look for errors in its log, and whether it hangs",
};

static bool unanswered_open(const struct watch_host *host, void **state)
{
	struct unanswered *u = calloc(1, sizeof(*u));

	if (!u)
		return false;
	u->host = host;
	u->limit = rate_limit(&host->options->drops);
	*state = u;
	return true;
}

static void unanswered_close(void *state)
{
	free(state);
}

static int by_lid(const void *a, const void *b)
{
	return *(const uint16_t *)a - *(const uint16_t *)b;
}

/* Those since the window before the episode began. */
static size_t find_recent(struct unanswered *u, const struct drops *d)
{
	const uint64_t began_ns = d->rate.episode.began_mono_ns;
	const uint64_t since = began_ns > u->limit.window_ns ?
			       began_ns - u->limit.window_ns : 0;
	const uint64_t kept = d->n < RECENT ? d->n : RECENT;
	const struct drop *drop;
	size_t n = 0;
	uint64_t i;

	for (i = d->n - kept; i < d->n; i++) {
		drop = &d->recent[i % RECENT];
		if (drop->mono_ns >= since)
			u->lids[n++] = drop->lid;
	}
	return n;
}

static struct askers find_askers(struct unanswered *u, const struct drops *d)
{
	const size_t n = find_recent(u, d);
	struct askers a = { .requests = (uint32_t)n };
	size_t i, first = 0;

	qsort(u->lids, n, sizeof(u->lids[0]), by_lid);
	for (i = 1; i <= n; i++) {
		if (i < n && u->lids[i] == u->lids[first])
			continue;
		a.requesters++;
		if (i - first > a.top_requests) {
			a.top_requests = (uint32_t)(i - first);
			a.top_lid = u->lids[first];
		}
		first = i;
	}
	return a;
}

static void add_evidence(struct alert *a, const struct unanswered *u,
			 const struct drops *d, const struct askers *askers)
{
	alert_number(a, "requests", d->most);
	alert_number(a, "limit_requests", u->limit.n);
	alert_number(a, "limit_seconds", u->limit.seconds);
	alert_number(a, "requesters", askers->requesters);
	alert_number(a, "top_requests", askers->top_requests);
	alert_number(a, "looked_at", askers->requests);
}

static void say(struct unanswered *u, enum sa_reason reason,
		enum alert_phase phase, uint64_t mono_ns)
{
	struct drops *d = &u->drops[reason];
	const struct askers askers = find_askers(u, d);
	const char *name = sa_reason_name(reason);
	char top[ALERT_WHO_MAX];
	struct requester who;
	struct alert a;

	who_at(&who, u->host, askers.top_lid, 1);
	alert_init(&a, u->host, "sa_unanswered", reason == SA_REASON_OVERLOAD ?
		   "critical" : "warning");
	alert_about(&a, &who);
	alert_subject(&a, "%s", name);
	alert_text(&a, "%" PRIu64 " SA requests without an answer, %s, up to %" PRIu64
		   " in %" PRIu32 " s (limit %" PRIu32 "); of the last %" PRIu32
		   ", from %" PRIu32 " requester%s, %" PRIu32 " are from %s; %s",
		   d->rate.episode.count, name, d->most, u->limit.seconds,
		   u->limit.n, askers.requests, askers.requesters,
		   askers.requesters == 1 ? "" : "s", askers.top_requests,
		   alert_who(top, &who), advice[reason]);
	alert_string(&a, "reason", name);
	add_evidence(&a, u, d, &askers);
	alert_string(&a, "top_requester", top);
	alert_say(&a, phase, &d->rate.episode, mono_ns);
}

static void end(struct unanswered *u, enum sa_reason reason, uint64_t mono_ns)
{
	struct drops *d = &u->drops[reason];

	say(u, reason, ALERT_END, mono_ns);
	d->rate.episode = (struct episode){ 0 };
	d->most = 0;
}

/* Without a reason, when there may be an answer all the same, it is none. */
static bool is_drop(const struct record *r)
{
	const struct sa_record *sa = &r->sa;

	if (r->type != RECORD_SA || sa->sent || sa->outcome == SA_ANSWERED ||
	    sa->reason == SA_REASON_NONE || sa->reason > SA_REASON_UNKNOWN)
		return false;
	return sa->reason != SA_REASON_UNKNOWN ||
	       !(sa->capture_lost || sa->evicted || sa->ended);
}

static void unanswered_record(void *state, const struct record *r,
			      uint64_t mono_ns)
{
	struct unanswered *u = state;
	const enum sa_reason reason = r->type == RECORD_SA ? r->sa.reason : 0;
	struct drops *d;
	bool begins;

	if (!is_drop(r))
		return;
	d = &u->drops[reason];
	if (rate_pass(&d->rate, &u->limit, mono_ns) == ALERT_END)
		end(u, reason, mono_ns);
	d->recent[d->n++ % RECENT] = (struct drop){
		mono_ns, r->sa.requester.addr.lid,
	};
	begins = rate_add(&d->rate, &u->limit, r->time_ns, mono_ns) ==
		 ALERT_BEGIN;
	if (d->rate.episode.count && d->rate.total > d->most)
		d->most = d->rate.total;
	if (begins)
		say(u, reason, ALERT_BEGIN, mono_ns);
}

static void unanswered_tick(void *state, uint64_t mono_ns)
{
	struct unanswered *u = state;
	enum alert_phase phase;
	struct rate *rate;
	int i;

	for (i = 0; i < REASONS; i++) {
		rate = &u->drops[i].rate;
		phase = rate_pass(rate, &u->limit, mono_ns);
		if (phase == ALERT_END)
			end(u, i, mono_ns);
		else if (phase == ALERT_UPDATE && rate->episode.more)
			say(u, i, phase, mono_ns);
	}
}

static void unanswered_flush(void *state, uint64_t mono_ns)
{
	struct unanswered *u = state;
	int i;

	for (i = 0; i < REASONS; i++)
		if (u->drops[i].rate.episode.count)
			end(u, i, mono_ns);
}

const struct watcher watch_unanswered = {
	.open = unanswered_open,
	.record = unanswered_record,
	.tick = unanswered_tick,
	.flush = unanswered_flush,
	.close = unanswered_close,
};
