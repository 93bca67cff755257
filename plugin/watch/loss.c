/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * The alert capture_loss: something was lost on its way to the records. One for
 * each place. Begins with a loss, and ends 60 seconds after the last. The count
 * is of what was lost. 2 kB.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "alert.h"

enum { PLACES = 16 };

#define QUIET_NS UINT64_C(60000000000)

/* What is lost, why, and what to do next, by place. */
static const struct known {
	const char *where;
	const char *what;
	const char *advice;
} known[] = {
	{ "ring", "captures",
	  "the tap's ring was full; raise ring=, or capture less by filter=" },
	{ "memory", "captures",
	  "there was no memory for them; look at the memory of OpenSM's host" },
	{ "shutdown", "captures",
	  "OpenSM ended and did not wait for them; a faster disk for trace=, audit= and capture= helps" },
	{ "short", "captures",
	  "they had less than a MAD's header; look at the port and its driver" },
	{ "port", "spans of time",
	  "the port of source=kernel went away; look at the device and its driver" },
	{ "rmpp", "messages",
	  "some of their segments did not come; look for other losses and at the links" },
	{ "kernel", "MADs",
	  "the kernel's queue was full; capture less by filter=, or use source=tap" },
	{ "events", "events",
	  "OpenSM reported them faster than they were read, states and traps may be missing; look at the load of OpenSM's host" },
	{ "file", "records",
	  "the disk of a file is full, slow or gone; see ERR 5D20 and ERR 5D27 in the OpenSM log" },
};

enum { KNOWN = sizeof(known) / sizeof(known[0]) };

struct place {
	char where[16];		/* "" = free */
	uint64_t lost;		/* of this episode */
	uint64_t total;
	struct episode episode;
};

struct loss {
	const struct watch_host *host;
	struct place places[PLACES];
};

static bool loss_open(const struct watch_host *host, void **state)
{
	struct loss *l = calloc(1, sizeof(*l));

	if (!l)
		return false;
	l->host = host;
	*state = l;
	return true;
}

static void loss_close(void *state)
{
	free(state);
}

static const struct known *find_known(const char *where)
{
	static const struct known other = {
		"", "captures", "what passed there is not in the records",
	};
	size_t i;

	for (i = 0; i < KNOWN; i++)
		if (!strcmp(known[i].where, where))
			return &known[i];
	return &other;
}

static void say(const struct loss *l, struct place *p, enum alert_phase phase,
		uint64_t mono_ns)
{
	const struct known *k = find_known(p->where);
	struct alert a;

	alert_init(&a, l->host, "capture_loss", "warning");
	alert_subject(&a, "%s", p->where);
	alert_text(&a, "%" PRIu64 " %s lost (%s, %" PRIu64 " since the start): %s",
		   p->lost, k->what, p->where, p->total, k->advice);
	alert_string(&a, "where", p->where);
	alert_number(&a, "lost", p->lost);
	alert_number(&a, "total", p->total);
	alert_say(&a, phase, &p->episode, mono_ns);
}

static void end(struct loss *l, struct place *p, uint64_t mono_ns)
{
	say(l, p, ALERT_END, mono_ns);
	p->episode = (struct episode){ 0 };
	p->lost = 0;
}

static void pass(struct loss *l, struct place *p, uint64_t mono_ns)
{
	const enum alert_phase phase = episode_pass(&p->episode, QUIET_NS,
						    mono_ns);

	if (phase == ALERT_END)
		end(l, p, mono_ns);
	else if (phase != ALERT_NONE)
		say(l, p, phase, mono_ns);
}

/* NULL: there are more places than anybody knows. */
static struct place *find_place(struct loss *l, const char *where)
{
	struct place *p;

	for (p = l->places; p < l->places + PLACES; p++) {
		if (!p->where[0])
			strncpy(p->where, where, sizeof(p->where) - 1);
		if (!strncmp(p->where, where, sizeof(p->where) - 1))
			return p;
	}
	return NULL;
}

static void loss_record(void *state, const struct record *r, uint64_t mono_ns)
{
	struct loss *l = state;
	enum alert_phase phase;
	struct place *p;

	if (r->type != RECORD_LOSS || !r->loss.lost)
		return;
	p = find_place(l, r->loss.where);
	if (!p)
		return;
	/* if another one begins, the tick would not see this end */
	pass(l, p, mono_ns);
	p->lost += r->loss.lost;
	p->total = r->loss.total;
	phase = episode_add(&p->episode, r->time_ns, mono_ns);
	p->episode.count = p->lost;
	if (phase != ALERT_NONE)
		say(l, p, phase, mono_ns);
}

static void loss_tick(void *state, uint64_t mono_ns)
{
	struct loss *l = state;
	size_t i;

	for (i = 0; i < PLACES; i++)
		pass(l, &l->places[i], mono_ns);
}

static void loss_flush(void *state, uint64_t mono_ns)
{
	struct loss *l = state;
	size_t i;

	for (i = 0; i < PLACES; i++)
		if (l->places[i].episode.count)
			end(l, &l->places[i], mono_ns);
}

const struct watcher watch_loss = {
	.open = loss_open,
	.record = loss_record,
	.tick = loss_tick,
	.flush = loss_flush,
	.close = loss_close,
};
