/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * The alert trap_storm: one LID sends more than N traps of one number about one
 * port in S seconds (the option `trap_storm`, N/S). A trap that is sent again
 * since nobody repressed it counts again. Traps of vendors count by their
 * DeviceID. How they are counted, rate.h says.
 *
 * Up to 8,192 of such counts, 216 bytes each: 2 MB at most. When there are
 * more, what had no trap for the longest time makes room.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "rate.h"
#include "table.h"
#include "trap.h"

enum { COUNTS = 8192 };

struct traps {
	const struct watch_host *host;
	struct rate_limit limit;
	unsigned storms;	/* going on now */
	uint64_t mono_ns;	/* of this call */
	struct table *counts;
};

struct count {
	struct table_entry entry;
	struct rate rate;
	uint16_t lid;
	uint16_t number;	/* DeviceID of a vendor's */
	uint8_t port;
	bool has_port;
	bool is_generic;
};

_Static_assert(sizeof(struct count) <= 216, "as said above");

/* What to do about it, by the trap's number. */
static const char *advice(const struct count *c)
{
	if (!c->is_generic)
		return "see what its vendor says of it";
	switch (c->number) {
	case 128:
		return "look for a link of that switch that goes up and down";
	case 129:
	case 130:
	case 131:
		return "look at cable and error counters of that port";
	case 144:
	case 145:
		return "look at what changes there again and again";
	case 256:
	case 257:
	case 258:
	case 259:
		return "see the alert of the bad key";
	default:
		return "look at what that node complains of";
	}
}

/* "traps 129 (link integrity threshold reached)" */
static void add_trap(char *text, size_t size, const struct count *c)
{
	const char *name = c->is_generic ? trap_name(c->number) : NULL;

	if (!c->is_generic)
		snprintf(text, size, "traps 0x%04x of a vendor", c->number);
	else if (name)
		snprintf(text, size, "traps %u (%s)", c->number, name);
	else
		snprintf(text, size, "traps %u", c->number);
}

static void add_evidence(struct alert *a, const struct traps *t,
			 const struct count *c)
{
	const char *name = c->is_generic ? trap_name(c->number) : NULL;

	alert_number(a, c->is_generic ? "trap_number" : "device_id",
		     c->number);
	if (name)
		alert_string(a, "trap_name", name);
	if (c->has_port)
		alert_number(a, "port", c->port);
	alert_number(a, "traps", c->rate.episode.count);
	alert_number(a, "seconds", rate_seconds(&c->rate));
	alert_number(a, "limit_traps", t->limit.n);
	alert_number(a, "limit_seconds", t->limit.seconds);
}

static void say(struct traps *t, struct count *c, enum alert_phase phase)
{
	struct requester who = { .addr = { .lid = c->lid } };
	char from[ALERT_WHO_MAX], what[80], port[16] = "";
	struct alert a;

	if (t->host->resolve)
		t->host->resolve(&who, t->host->context);
	if (c->has_port)
		snprintf(port, sizeof(port), " port %u", c->port);
	add_trap(what, sizeof(what), c);
	alert_init(&a, t->host, "trap_storm", "warning");
	alert_about(&a, &who);
	alert_subject(&a, "LID %u%s", c->lid, port);
	alert_text(&a, "%" PRIu64 " %s from %s%s in %" PRIu64
		   " s (limit %" PRIu32 " in %" PRIu32 " s): %s",
		   c->rate.episode.count, what, alert_who(from, &who), port,
		   rate_seconds(&c->rate), t->limit.n,
		   t->limit.seconds, advice(c));
	add_evidence(&a, t, c);
	alert_say(&a, phase, &c->rate.episode, t->mono_ns);
}

static void end(struct traps *t, struct count *c)
{
	say(t, c, ALERT_END);
	c->rate.episode = (struct episode){ 0 };
	t->storms--;
}

static void evict(struct table_entry *e, void *context)
{
	struct count *c = (struct count *)e;

	if (c->rate.episode.count)
		end(context, c);
}

static bool traps_open(const struct watch_host *host, void **state)
{
	struct traps *t = calloc(1, sizeof(*t));

	if (!t)
		return false;
	t->host = host;
	t->limit = rate_limit(&host->options->trap_storm);
	t->counts = table_new(COUNTS, sizeof(struct count), evict, t);
	if (!t->counts) {
		free(t);
		return false;
	}
	*state = t;
	return true;
}

static void traps_close(void *state)
{
	struct traps *t = state;

	table_free(t->counts);
	free(t);
}

/* Who sent it; what has no LID of its own (64 to 67) OpenSM says itself. */
static struct count *find_count(struct traps *t, const struct trap_record *r)
{
	const int number = trap_number(r->notice, r->len);
	struct count c = {
		.lid = r->from.addr.lid,
		.is_generic = number >= 0,
		.number = mad_get16(r->notice + NOTICE_NUMBER),
	}, *found;
	struct table_key key = { { 0 } };
	uint64_t port;

	c.has_port = trap_detail(r->notice, r->len, "port", &port);
	c.port = c.has_port ? (uint8_t)port : 0;
	key.word[0] = (uint64_t)c.lid << 48 | (uint64_t)c.number << 32 |
		      (uint64_t)c.port << 8 | (uint64_t)c.has_port << 1 |
		      c.is_generic;
	found = (struct count *)table_get(t->counts, &key);
	found->lid = c.lid;
	found->number = c.number;
	found->port = c.port;
	found->has_port = c.has_port;
	found->is_generic = c.is_generic;
	return found;
}

static void traps_record(void *state, const struct record *r, uint64_t mono_ns)
{
	struct traps *t = state;
	struct count *c;

	if (r->type != RECORD_TRAP || !r->trap.mad ||
	    r->trap.len < NOTICE_NUMBER + 2)
		return;
	t->mono_ns = mono_ns;
	c = find_count(t, &r->trap);
	if (rate_pass(&c->rate, &t->limit, mono_ns) == ALERT_END)
		end(t, c);
	if (rate_add(&c->rate, &t->limit, r->time_ns, mono_ns) != ALERT_BEGIN)
		return;
	t->storms++;
	say(t, c, ALERT_BEGIN);
}

static void pass(struct table_entry *e, void *context)
{
	struct count *c = (struct count *)e;
	struct traps *t = context;
	const enum alert_phase phase = rate_pass(&c->rate, &t->limit,
						 t->mono_ns);

	if (phase == ALERT_END)
		end(t, c);
	else if (phase == ALERT_UPDATE)
		say(t, c, phase);
}

static void traps_tick(void *state, uint64_t mono_ns)
{
	struct traps *t = state;

	t->mono_ns = mono_ns;
	if (t->storms)
		table_each(t->counts, pass, t);
}

static void traps_flush(void *state, uint64_t mono_ns)
{
	struct traps *t = state;

	t->mono_ns = mono_ns;
	if (t->storms)
		table_each(t->counts, evict, t);
}

const struct watcher watch_traps = {
	.open = traps_open,
	.record = traps_record,
	.tick = traps_tick,
	.flush = traps_flush,
	.close = traps_close,
};
