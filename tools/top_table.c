/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "latency.h"
#include "memory.h"
#include "top_table.h"

enum {
	/* the whole ones, and the one that is now */
	RATE_SLOTS = TOP_RATE_SECONDS + 1,
	PAST_SLOTS = TOP_SECONDS + 1,
	/* More than the SA has. Who asks for others, too, gets the counts of the
	 * most frequent ones too high (Metwally's space-saving counters). */
	ATTRIBUTE_SLOTS = 40,
};

static const uint64_t second_ns = 1000000000;

/* The counts of one requester, and of all together. */
struct counts {
	char name[ERF_NAME_MAX + 1];
	uint64_t requests, answered, unanswered, failed, errors, duplicates;
	uint64_t second;		/* the last one that is in `recent` */
	uint32_t recent[RATE_SLOTS];	/* by second */
	struct top_attribute attributes[ATTRIBUTE_SLOTS];
	struct latency latency;
};

struct top_table {
	struct counts *by_lid[TOP_LIDS];
	size_t requesters;
	struct counts total;
	uint64_t lost;
	uint64_t begin_ns, now_ns;	/* begin: 0 = nothing has come */
	uint64_t second;		/* the last one that is in `past` */
	uint64_t past[PAST_SLOTS];	/* by second */
};

/*
 * Counting
 */

static void count_now(struct counts *c, uint64_t second, uint32_t n)
{
	uint64_t i;

	if (second - c->second >= RATE_SLOTS)
		memset(c->recent, 0, sizeof(c->recent));
	else
		for (i = c->second + 1; i <= second; i++)
			c->recent[i % RATE_SLOTS] = 0;
	c->second = second;
	c->recent[second % RATE_SLOTS] += n;
}

static void count_past(struct top_table *t, uint64_t second, uint32_t n)
{
	uint64_t i;

	if (second - t->second >= PAST_SLOTS)
		memset(t->past, 0, sizeof(t->past));
	else
		for (i = t->second + 1; i <= second; i++)
			t->past[i % PAST_SLOTS] = 0;
	t->second = second;
	t->past[second % PAST_SLOTS] += n;
}

static void count_attribute(struct counts *c, uint16_t id)
{
	struct top_attribute *least = c->attributes, *a;

	for (a = c->attributes; a < c->attributes + ATTRIBUTE_SLOTS; a++) {
		if (a->count && a->id == id) {
			a->count++;
			return;
		}
		if (a->count < least->count)
			least = a;
	}
	least->id = id;
	least->count++;
}

static void count(struct counts *c, const struct sa_record *sa,
		  uint64_t second)
{
	c->requests++;
	c->duplicates += sa->retries;
	switch (sa->outcome) {
	case SA_ANSWERED:
		c->answered++;
		break;
	case SA_UNANSWERED:
		/* else there may have been an answer that nobody saw */
		c->unanswered += !sa->capture_lost ||
				 sa->reason != SA_REASON_UNKNOWN;
		break;
	case SA_FAILED:
		c->failed++;
		break;
	}
	if (sa->outcome == SA_ANSWERED && sa->status)
		c->errors++;
	if (sa->has_response &&
	    !latency_add(&c->latency, sa->latency_ns / 1000))
		memory_gone();
	count_attribute(c, mad_get16(sa->mad + MAD_ATTR_ID));
	count_now(c, second, 1 + sa->retries);
}

static void set_name(struct counts *c, const char *name)
{
	if (name)
		strncpy(c->name, name, ERF_NAME_MAX);
}

static struct counts *requester(struct top_table *t, uint16_t lid)
{
	if (!t->by_lid[lid]) {
		t->by_lid[lid] = calloc(1, sizeof(struct counts));
		t->requesters += t->by_lid[lid] != NULL;
	}
	return t->by_lid[lid];
}

static void put_sa(struct top_table *t, const struct sa_record *sa)
{
	uint64_t second = t->now_ns / second_ns;
	struct counts *c = requester(t, sa->requester.addr.lid);

	count(&t->total, sa, second);
	count_past(t, second, 1 + sa->retries);
	if (!c)		/* no memory: it is in the total alone */
		return;
	set_name(c, sa->requester.name);
	count(c, sa, second);
}

static void set_clock(struct top_table *t, uint64_t now_ns)
{
	if (now_ns > t->now_ns)
		t->now_ns = now_ns;
	if (!t->begin_ns)
		t->begin_ns = t->now_ns;
}

void top_table_put(struct top_table *t, const struct record *r,
		   uint64_t now_ns)
{
	set_clock(t, now_ns);
	if (r->type == RECORD_LOSS)
		t->lost += r->loss.lost;
	/* a Report that OpenSM sent was asked by nobody */
	if (r->type == RECORD_SA && !r->sa.sent)
		put_sa(t, &r->sa);
}

/*
 * Looking
 */

/* Requests a second; of what was counted so far when that is less. */
static double rate_of(const struct counts *c, uint64_t begin_ns,
		      uint64_t now_ns)
{
	uint64_t second = now_ns / second_ns, i, n = 0;
	uint64_t window_ns = now_ns - begin_ns;
	const uint64_t whole_ns = TOP_RATE_SECONDS * second_ns +
				  now_ns % second_ns;

	for (i = 0; i < RATE_SLOTS; i++)
		if (c->second >= i && second < c->second - i + RATE_SLOTS)
			n += c->recent[(c->second - i) % RATE_SLOTS];
	if (window_ns > whole_ns)
		window_ns = whole_ns;
	if (window_ns < second_ns)
		window_ns = second_ns;
	return (double)n * (double)second_ns / (double)window_ns;
}

/* Insertion into what is in order already: there are three. */
static void add_attribute(struct top_attribute *most,
			  const struct top_attribute *new)
{
	size_t i = TOP_ATTRIBUTES;

	for (; i && new->count > most[i - 1].count; i--)
		if (i < TOP_ATTRIBUTES)
			most[i] = most[i - 1];
	if (i < TOP_ATTRIBUTES)
		most[i] = *new;
}

static void look_at(struct top_row *row, const struct counts *c,
		    const struct top_table *t, uint64_t now_ns)
{
	size_t i;

	*row = (struct top_row){
		.requests = c->requests,
		.answered = c->answered,
		.unanswered = c->unanswered,
		.failed = c->failed,
		.errors = c->errors,
		.duplicates = c->duplicates,
		.rate = rate_of(c, t->begin_ns, now_ns),
		.share = t->total.requests ? (double)c->requests /
			(double)t->total.requests : NAN,
		.timed = c->latency.n,
		.p50_us = latency_percentile(&c->latency, 50),
		.p99_us = latency_percentile(&c->latency, 99),
	};
	strcpy(row->name, c->name);
	for (i = 0; i < ATTRIBUTE_SLOTS; i++)
		add_attribute(row->attributes, &c->attributes[i]);
}

static void look_back(const struct top_table *t, uint64_t now_ns,
		      uint64_t seconds[TOP_SECONDS])
{
	uint64_t second = now_ns / second_ns, i, at;

	for (i = 0; i < TOP_SECONDS; i++) {
		at = second - TOP_SECONDS + i;
		seconds[i] = at <= t->second && t->second - at < PAST_SLOTS ?
			     t->past[at % PAST_SLOTS] : 0;
	}
}

static bool make_room(struct top_snapshot *s, size_t n)
{
	struct top_row *rows;

	if (n <= s->room)
		return true;
	rows = realloc(s->rows, 2 * n * sizeof(*rows));
	if (!rows)
		return false;
	s->rows = rows;
	s->room = 2 * n;
	return true;
}

bool top_table_look(const struct top_table *t, uint64_t now_ns,
		    struct top_snapshot *s)
{
	size_t lid;

	if (!make_room(s, t->requesters))
		return false;
	if (now_ns < t->now_ns)
		now_ns = t->now_ns;
	s->n = 0;
	for (lid = 0; lid < TOP_LIDS; lid++) {
		if (!t->by_lid[lid])
			continue;
		look_at(&s->rows[s->n], t->by_lid[lid], t, now_ns);
		s->rows[s->n++].lid = (uint16_t)lid;
	}
	look_at(&s->total, &t->total, t, now_ns);
	look_back(t, now_ns, s->seconds);
	s->lost = t->lost;
	return true;
}

void top_snapshot_free(struct top_snapshot *s)
{
	free(s->rows);
	*s = (struct top_snapshot){ .rows = NULL };
}

/*
 * Life
 */

struct top_table *top_table_new(void)
{
	return calloc(1, sizeof(struct top_table));
}

static void forget(struct top_table *t)
{
	size_t lid;

	for (lid = 0; lid < TOP_LIDS; lid++) {
		if (t->by_lid[lid])
			latency_clear(&t->by_lid[lid]->latency);
		free(t->by_lid[lid]);
	}
	latency_clear(&t->total.latency);
}

void top_table_clear(struct top_table *t, uint64_t now_ns)
{
	if (now_ns < t->now_ns)
		now_ns = t->now_ns;
	forget(t);
	*t = (struct top_table){ .begin_ns = now_ns, .now_ns = now_ns };
}

void top_table_free(struct top_table *t)
{
	if (!t)
		return;
	forget(t);
	free(t);
}
