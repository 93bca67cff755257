/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
#include <stdlib.h>
#include <string.h>

#include "memory.h"
#include "query.h"
#include "siphash.h"
#include "summary.h"
#include "trap.h"

#define SECOND UINT64_C(1000000000)

enum {
	/* 36 hours of them; what is older makes room */
	SECONDS = 1 << 17,

	/* The queries that are remembered: of each set the oldest goes. */
	QUERY_SETS = 1 << 18,
	QUERY_WAYS = 4,
};

struct summary_second {
	uint64_t second;
	uint64_t requests;
};

struct summary_query {
	uint64_t time_ns;	/* when it was last asked; 0 = free */
	uint32_t query;		/* the rest of its hash is the set */
	uint32_t tid;		/* its halves together */
};

/*
 * Keys
 */

/* SUMMARY_KEYS when there is no room for another. */
static size_t find_row(struct summary_keys *k, uint8_t mgmt_class,
		       uint8_t method, uint16_t attr_id)
{
	const uint32_t key = (uint32_t)mgmt_class << 24 |
			     (uint32_t)method << 16 | attr_id;
	const uint64_t word = key;
	const size_t n_slots = sizeof(k->slots) / sizeof(k->slots[0]);
	size_t slot = siphash_words(k->seed, &word, 1) % n_slots;

	for (; k->slots[slot]; slot = (slot + 1) % n_slots)
		if (k->keys[k->slots[slot] - 1] == key)
			return k->slots[slot] - 1u;
	if (k->n == SUMMARY_KEYS)
		return SUMMARY_KEYS;
	k->keys[k->n++] = key;
	k->slots[slot] = (uint16_t)k->n;
	return k->n - 1;
}

/*
 * Repeats
 */

static bool is_near(const struct summary *s, uint64_t a, uint64_t b)
{
	return (a > b ? a - b : b - a) <= s->repeat_ns;
}

/* Where a query is looked for, which takes its time to come from memory. */
static struct summary_query *find_set(const struct summary *s, uint64_t hash)
{
	struct summary_query *set = &s->queries[hash % QUERY_SETS * QUERY_WAYS];

	__builtin_prefetch(set, 1);
	return set;
}

/* Records come by the end of their transactions, not quite in order. */
static bool is_repeat(struct summary *s, struct summary_query *set,
		      uint32_t query, const struct record *r)
{
	const uint64_t tids = mad_get64(r->sa.mad + MAD_TID);
	const uint32_t tid = (uint32_t)(tids ^ tids >> 32);
	struct summary_query *q, *oldest = set;
	uint64_t was;

	for (q = set; q < set + QUERY_WAYS; q++) {
		if (q->time_ns && q->query == query) {
			was = q->time_ns;
			if (r->time_ns > was)
				q->time_ns = r->time_ns;
			if (q->tid == tid)
				return false;
			q->tid = tid;
			return is_near(s, was, r->time_ns);
		}
		if (q->time_ns < oldest->time_ns)
			oldest = q;
	}
	if (oldest->time_ns && is_near(s, oldest->time_ns, r->time_ns))
		s->repeats_at_least = true;
	*oldest = (struct summary_query){ r->time_ns, query, tid };
	return false;
}

/*
 * Rates
 */

static void count_second(struct summary *s, uint64_t time_ns)
{
	const uint64_t second = time_ns / SECOND;
	struct summary_second *slot = &s->seconds[second % SECONDS];

	if (slot->second != second)
		*slot = (struct summary_second){ .second = second };
	if (++slot->requests > s->peak) {
		s->peak = slot->requests;
		s->peak_second = second;
	}
	if (!s->asked_first_ns || time_ns < s->asked_first_ns)
		s->asked_first_ns = time_ns;
	if (time_ns > s->asked_last_ns)
		s->asked_last_ns = time_ns;
}

double summary_rate(const struct summary *s)
{
	const uint64_t ns = s->asked_last_ns - s->asked_first_ns;

	/* in less than a second the rate of a second is not known */
	return (double)s->all.requests /
	       (ns > SECOND ? (double)ns / (double)SECOND : 1);
}

/*
 * Records
 */

static void count_sa(struct summary_row *row, const struct sa_record *sa)
{
	row->requests++;
	row->outcomes[sa->outcome]++;
	row->retries += sa->retries;
	if (!sa->has_response)
		return;
	row->errors += sa->status != 0;
	row->records += sa->records;
	if (!latency_add(&row->latency, sa->latency_ns / 1000))
		memory_gone();
}

static struct summary_requester *get_requester(struct summary *s,
					       const struct requester *who)
{
	struct summary_requester *row = s->requesters[who->addr.lid];

	if (!row) {
		row = memory_get(1, sizeof(*row));
		row->lid = who->addr.lid;
		s->requesters[who->addr.lid] = row;
	}
	if (who->port_guid)
		row->port_guid = who->port_guid;
	if (who->name && strncmp(row->name, who->name, sizeof(row->name) - 1))
		strncpy(row->name, who->name, sizeof(row->name) - 1);
	return row;
}

static void count_repeat(struct summary *s, struct summary_query *set,
			 uint32_t query, const struct record *r,
			 struct summary_row *attribute,
			 struct summary_row *requester)
{
	if (!is_repeat(s, set, query, r))
		return;
	s->all.repeats++;
	attribute->repeats++;
	requester->repeats++;
}

static void add_request(struct summary *s, const struct record *r)
{
	const struct sa_record *sa = &r->sa;
	struct summary_row *attribute, *requester;
	struct summary_query *set;
	uint64_t hash = 0;
	bool has_query;

	has_query = query_hash(s->attribute_keys.seed, sa->requester.addr.lid,
			       sa->mad, sa->len, &hash);
	set = find_set(s, hash);
	requester = &get_requester(s, &sa->requester)->row;
	attribute = &s->attributes[find_row(&s->attribute_keys, CLASS_SUBN_ADM,
					    sa->mad[MAD_METHOD],
					    mad_get16(sa->mad + MAD_ATTR_ID))];
	count_sa(&s->all, sa);
	count_sa(attribute, sa);
	count_sa(requester, sa);
	count_second(s, r->time_ns);
	s->capture_lost += sa->capture_lost;
	if (sa->has_response)
		s->statuses[sa->status]++;
	else
		s->reasons[sa->reason]++;
	if (has_query)
		count_repeat(s, set, (uint32_t)(hash >> 32), r, attribute,
			     requester);
}

/* When OpenSM asks, its requester is who was asked. */
static void add_sa(struct summary *s, const struct record *r)
{
	if (r->sa.sent)
		count_sa(&s->reports, &r->sa);
	else
		add_request(s, r);
}

static void add_mad(struct summary *s, const struct record *r)
{
	const struct mad_capture *cap = r->mad.capture;
	const uint8_t *mad = cap->data;
	struct summary_mads *row;

	row = &s->mads[find_row(&s->mad_keys, mad[MAD_CLASS], mad[MAD_METHOD],
				mad_get16(mad + MAD_ATTR_ID))];
	if (!cap->sent)
		row->received++;
	else if (r->type == RECORD_SEND_ERROR)
		row->errors++;
	else
		row->sent++;
}

static void add_trap(struct summary *s, const struct trap_record *trap)
{
	int number = trap_number(trap->notice, trap->len);

	if (number < 0)
		s->vendor_traps++;
	else
		s->traps[number]++;
}

void summary_add(struct summary *s, const struct record *r)
{
	s->records++;
	s->types[r->type]++;
	if (!s->first_ns || r->time_ns < s->first_ns)
		s->first_ns = r->time_ns;
	if (r->time_ns > s->last_ns)
		s->last_ns = r->time_ns;
	switch (r->type) {
	case RECORD_SA:
		add_sa(s, r);
		break;
	case RECORD_MAD:
	case RECORD_SEND_ERROR:
		add_mad(s, r);
		break;
	case RECORD_TRAP:
		add_trap(s, &r->trap);
		break;
	case RECORD_LOSS:
		s->lost += r->loss.lost;
		break;
	default:
		break;
	}
}

/*
 * Order
 */

static int by_count(const void *a, const void *b)
{
	const struct summary_count *x = a, *y = b;

	if (x->count != y->count)
		return x->count < y->count ? 1 : -1;
	return (x->key > y->key) - (x->key < y->key);
}

static size_t add_count(struct summary_count *order, size_t n, size_t number,
			uint32_t key, uint64_t count)
{
	if (count)
		order[n++] = (struct summary_count){
			count, key, (uint16_t)number,
		};
	return n;
}

/* The row of those without a key comes last. */
static uint32_t key_of(const struct summary_keys *k, size_t row)
{
	return row < SUMMARY_KEYS ? k->keys[row] : UINT32_MAX;
}

static size_t sort(struct summary_count *order, size_t n)
{
	qsort(order, n, sizeof(*order), by_count);
	return n;
}

size_t summary_requesters(const struct summary *s,
			  struct summary_count order[SUMMARY_NUMBERS])
{
	size_t i, n = 0;

	for (i = 0; i < SUMMARY_NUMBERS; i++)
		if (s->requesters[i])
			n = add_count(order, n, i, (uint32_t)i,
				      s->requesters[i]->row.requests);
	return sort(order, n);
}

size_t summary_attributes(const struct summary *s,
			  struct summary_count order[SUMMARY_NUMBERS])
{
	size_t i, n = 0;

	for (i = 0; i <= SUMMARY_KEYS; i++)
		n = add_count(order, n, i, key_of(&s->attribute_keys, i),
			      s->attributes[i].requests);
	return sort(order, n);
}

size_t summary_mads(const struct summary *s,
		    struct summary_count order[SUMMARY_NUMBERS])
{
	const struct summary_mads *m;
	size_t i, n = 0;

	for (i = 0; i <= SUMMARY_KEYS; i++) {
		m = &s->mads[i];
		n = add_count(order, n, i, key_of(&s->mad_keys, i),
			      m->received + m->sent + m->errors);
	}
	return sort(order, n);
}

size_t summary_numbers(const uint64_t counts[SUMMARY_NUMBERS],
		       struct summary_count order[SUMMARY_NUMBERS])
{
	size_t i, n = 0;

	for (i = 0; i < SUMMARY_NUMBERS; i++)
		n = add_count(order, n, i, (uint32_t)i, counts[i]);
	return sort(order, n);
}

/*
 * Life
 */

struct summary *summary_new(uint64_t repeat_ns)
{
	struct summary *s = memory_get(1, sizeof(*s));

	s->repeat_ns = repeat_ns;
	s->seconds = memory_get(SECONDS, sizeof(*s->seconds));
	s->queries = memory_get((size_t)QUERY_SETS * QUERY_WAYS,
				sizeof(*s->queries));
	siphash_seed(s->attribute_keys.seed);
	siphash_seed(s->mad_keys.seed);
	return s;
}

void summary_free(struct summary *s)
{
	size_t i;

	if (!s)
		return;
	for (i = 0; i < SUMMARY_NUMBERS; i++) {
		if (s->requesters[i])
			latency_clear(&s->requesters[i]->row.latency);
		free(s->requesters[i]);
	}
	for (i = 0; i <= SUMMARY_KEYS; i++)
		latency_clear(&s->attributes[i].latency);
	latency_clear(&s->all.latency);
	latency_clear(&s->reports.latency);
	free(s->seconds);
	free(s->queries);
	free(s);
}
