/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * The alert duplicate_queries: more than P percent of what a requester asks in
 * a minute, N at least, it has asked in that minute already (the option
 * `duplicates`, P/N), under another TID or as a retry. mad/query.h says what the
 * same query is. A request of which that is not known is none here.
 *
 * A requester's minute begins with its first query and is over after 60
 * seconds; the next query begins another one. The alert begins with the query
 * that is too many, and ends when for two minutes none was: with N queries in
 * each minute the last of each is the one.
 *
 * Queries are remembered by a hash, in 262,144 places of 8 bytes: 2 MB. When
 * requesters ask more in a minute, the oldest of four makes room, so that
 * repeats may be missed, never made up. Counts are by LID, 64 bytes each: 3 MB
 * of address space, memory where there are requesters. 1024 alerts can go on at
 * a time (200 kB); more do not begin.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "alert.h"
#include "query.h"
#include "siphash.h"
#include "table.h"
#include "words.h"

enum {
	LIDS = 49152,
	SETS = 1 << 16,
	WAYS = 4,
	ATTRIBUTES = 3,
	ALERTS = 1024,
};

#define SECOND_NS UINT64_C(1000000000)
#define MINUTE_NS (60 * SECOND_NS)
#define QUIET_NS (2 * MINUTE_NS)

struct query {
	uint32_t hash;		/* its rest is the set */
	uint32_t second;	/* when it was asked last; 0 = free */
};

/* The most repeated ones: of more than three the least makes room. */
struct attribute_count {
	uint16_t id;
	uint32_t n;		/* with those of the one that made room */
	uint32_t others;	/* so many at most are these */
};

/* A requester's minute. */
struct minute {
	uint64_t began_ns;
	uint32_t number;	/* part of the hash; 0 = none yet */
	uint32_t queries;
	uint32_t repeated;	/* with retries */
	uint32_t retries;
	struct attribute_count attributes[ATTRIBUTES];
	bool alert;		/* there is one of this LID */
};

_Static_assert(sizeof(struct minute) <= 64, "as said above");

struct duplicate {
	struct table_entry entry;
	struct episode episode;
	struct minute minute;	/* as it was when a query was too many */
	uint32_t qpn;
};

struct duplicates {
	const struct watch_host *host;
	uint32_t percent, queries_min;
	uint64_t seed[2];
	struct query *queries;
	struct minute *minutes;	/* by LID */
	struct table *alerts;
	uint64_t mono_ns;	/* of the tick or flush that goes on */
};

static void *get_zeroes(size_t bytes)
{
	void *zeroes = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
			    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	return zeroes == MAP_FAILED ? NULL : zeroes;
}

static void duplicates_close(void *state)
{
	struct duplicates *d = state;

	if (d->queries)
		munmap(d->queries, SETS * WAYS * sizeof(*d->queries));
	if (d->minutes)
		munmap(d->minutes, LIDS * sizeof(*d->minutes));
	table_free(d->alerts);
	free(d);
}

static bool duplicates_open(const struct watch_host *host, void **state)
{
	struct duplicates *d;

	/* there are never more */
	if (host->options->duplicates_percent == 100)
		return true;
	d = calloc(1, sizeof(*d));
	if (!d)
		return false;
	d->host = host;
	d->percent = host->options->duplicates_percent;
	d->queries_min = host->options->duplicates_queries;
	siphash_seed(d->seed);
	d->queries = get_zeroes(SETS * WAYS * sizeof(*d->queries));
	d->minutes = get_zeroes(LIDS * sizeof(*d->minutes));
	d->alerts = table_new(ALERTS, sizeof(struct duplicate), NULL, NULL);
	if (d->queries && d->minutes && d->alerts) {
		*state = d;
		return true;
	}
	duplicates_close(d);
	return false;
}

static struct table_key key_of(uint16_t lid)
{
	return (struct table_key){ { lid } };
}

/* What is surely more than half of all; NULL: nothing is. */
static const struct attribute_count *find_attribute(const struct minute *m)
{
	const struct attribute_count *a;

	for (a = m->attributes; a < m->attributes + ATTRIBUTES; a++)
		if (a->n - a->others > m->repeated / 2)
			return a;
	return NULL;
}

static void say(const struct duplicates *d, struct duplicate *dup,
		enum alert_phase phase, uint64_t mono_ns)
{
	const struct minute *m = &dup->minute;
	const uint16_t lid = (uint16_t)dup->entry.key.word[0];
	const uint64_t percent = UINT64_C(100) * m->repeated / m->queries;
	const struct attribute_count *most = find_attribute(m);
	char name[ALERT_WHO_MAX], word[WORD_MAX];
	const char *attribute = most ? word_attribute(word, most->id) :
				       "of several attributes";
	struct requester who;
	struct alert a;

	who_at(&who, d->host, lid, dup->qpn);
	alert_init(&a, d->host, "duplicate_queries", "info");
	alert_about(&a, &who);
	alert_subject(&a, "LID %u", lid);
	alert_text(&a, "%s repeated %" PRIu32 " of %" PRIu32
		   " SA queries (%" PRIu64 " %%) within a minute, %" PRIu32
		   " as retries, %s%s (limit %" PRIu32 " %% of %" PRIu32
		   " or more); its software should keep answers (ibacm, the cache of its MPI), and ask again later when none comes",
		   alert_who(name, &who), m->repeated, m->queries, percent,
		   m->retries, most ? "most of them " : "", attribute, d->percent, d->queries_min);
	alert_number(&a, "queries", m->queries);
	alert_number(&a, "repeated", m->repeated);
	alert_number(&a, "retries", m->retries);
	alert_number(&a, "percent", percent);
	if (most)
		alert_string(&a, "attribute", attribute);
	alert_number(&a, "limit_percent", d->percent);
	alert_number(&a, "limit_queries", d->queries_min);
	alert_say(&a, phase, &dup->episode, mono_ns);
}

/* Also when it is there: the time is when it was asked last. */
static bool remember(struct duplicates *d, uint64_t hash, uint64_t mono_ns)
{
	struct query *set = &d->queries[hash % SETS * WAYS], *q, *oldest = set;
	const uint32_t rest = (uint32_t)(hash >> 32);
	const uint32_t second = (uint32_t)(mono_ns / SECOND_NS) + 1;

	for (q = set; q < set + WAYS; q++) {
		if (q->second && q->hash == rest) {
			q->second = second;
			return true;
		}
		if (q->second < oldest->second)
			oldest = q;
	}
	*oldest = (struct query){ rest, second };
	return false;
}

static void count_attribute(struct minute *m, uint16_t id, uint32_t n)
{
	struct attribute_count *a, *least = m->attributes;

	for (a = least; a < m->attributes + ATTRIBUTES; a++) {
		if (a->n && a->id == id) {
			a->n += n;
			return;
		}
		if (a->n < least->n)
			least = a;
	}
	least->id = id;
	least->others = least->n;
	least->n += n;
}

/* Counts what this record has of queries: false when it has none. */
static bool count(struct duplicates *d, struct minute *m,
		  const struct sa_record *sa, uint64_t mono_ns)
{
	const uint16_t lid = sa->requester.addr.lid;
	uint32_t repeated = sa->retries;
	uint64_t hash, who;

	if (!m->number || mono_ns > m->began_ns + MINUTE_NS)
		*m = (struct minute){
			.began_ns = mono_ns, .number = m->number + 1,
			.alert = m->alert,
		};
	who = (uint64_t)m->number << 16 | lid;
	if (!query_hash(d->seed, who, sa->mad, sa->len, &hash))
		return false;
	repeated += remember(d, hash, mono_ns);
	m->queries += 1 + sa->retries;
	m->repeated += repeated;
	m->retries += sa->retries;
	if (repeated)
		count_attribute(m, mad_get16(sa->mad + MAD_ATTR_ID), repeated);
	return true;
}

static bool is_too_many(const struct duplicates *d, const struct minute *m)
{
	return m->queries >= d->queries_min &&
	       UINT64_C(100) * m->repeated > (uint64_t)d->percent * m->queries;
}

/* NULL: there is no room for another. */
static struct duplicate *get_alert(struct duplicates *d, uint16_t lid)
{
	const struct table_key key = key_of(lid);
	struct table_entry *e = table_find(d->alerts, &key);

	if (!e && table_count(d->alerts) < ALERTS)
		e = table_get(d->alerts, &key);
	return (struct duplicate *)e;
}

static void end(struct duplicates *d, struct duplicate *dup, uint64_t mono_ns)
{
	say(d, dup, ALERT_END, mono_ns);
	d->minutes[dup->entry.key.word[0]].alert = false;
	table_remove(d->alerts, &dup->entry);
}

/* If it begins another one, the tick would not see this end. */
static void end_late(struct duplicates *d, uint16_t lid, uint64_t mono_ns)
{
	struct duplicate *dup = get_alert(d, lid);

	if (episode_pass(&dup->episode, QUIET_NS, mono_ns) == ALERT_END)
		end(d, dup, mono_ns);
}

static void duplicates_record(void *state, const struct record *r,
			      uint64_t mono_ns)
{
	const struct sa_record *sa = &r->sa;
	const uint16_t lid = r->type == RECORD_SA ? sa->requester.addr.lid : 0;
	struct duplicates *d = state;
	struct duplicate *dup;
	enum alert_phase phase;
	struct minute *m;

	if (r->type != RECORD_SA || sa->sent || lid >= LIDS)
		return;
	m = &d->minutes[lid];
	if (!count(d, m, sa, mono_ns) || !is_too_many(d, m))
		return;
	if (m->alert)
		end_late(d, lid, mono_ns);
	dup = get_alert(d, lid);
	if (!dup)
		return;
	m->alert = true;
	phase = episode_add(&dup->episode, r->time_ns, mono_ns);
	dup->minute = *m;
	dup->qpn = sa->requester.addr.qpn;
	if (phase != ALERT_NONE)
		say(d, dup, phase, mono_ns);
}

static void tick_one(struct table_entry *e, void *context)
{
	struct duplicate *dup = (struct duplicate *)e;
	struct duplicates *d = context;
	enum alert_phase phase;

	phase = episode_pass(&dup->episode, QUIET_NS, d->mono_ns);
	if (phase == ALERT_END)
		end(d, dup, d->mono_ns);
	else if (phase != ALERT_NONE)
		say(d, dup, phase, d->mono_ns);
}

static void end_one(struct table_entry *e, void *context)
{
	struct duplicates *d = context;

	end(d, (struct duplicate *)e, d->mono_ns);
}

static void duplicates_tick(void *state, uint64_t mono_ns)
{
	struct duplicates *d = state;

	d->mono_ns = mono_ns;
	table_each(d->alerts, tick_one, d);
}

static void duplicates_flush(void *state, uint64_t mono_ns)
{
	struct duplicates *d = state;

	d->mono_ns = mono_ns;
	table_each(d->alerts, end_one, d);
}

const struct watcher watch_duplicates = {
	.open = duplicates_open,
	.record = duplicates_record,
	.tick = duplicates_tick,
	.flush = duplicates_flush,
	.close = duplicates_close,
};
