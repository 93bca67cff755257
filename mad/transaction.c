/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * The transaction table. Who sends requests chooses LID, GID, QP and TID, so
 * nothing here may grow, search or add up by what they choose: the hash has a
 * secret key, the entries are bounded, each list is looked at by its head.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>

#include "attributes.h"
#include "siphash.h"
#include "transaction.h"
#include "trap.h"

#define SECOND UINT64_C(1000000000)

enum {
	DEFAULT_MAX = 65536,
	/* Traps wait for their repress in the same entries, but a storm of
	 * them must not drive out the requests. */
	TRAPS_SHARE = 8,
	TRAPS_MAX = 1024,

	/* Requests under one TID that are no copies of each other. */
	SAME_KEY_MAX = 16,

	KEY_WORDS = 5,
	SA_HDR_REST = SA_DATA - RMPP_DATA_OFFSET,
};

static const uint64_t default_unanswered_ns = 5 * SECOND;
/* When a thread neither goes on nor is known to have sent. */
static const uint64_t hold_max_ns = SECOND;
static const uint64_t trap_wait_ns = SECOND;

/*
 * What a request and its response have in common: TID, GID, LID, QP, the
 * response's method and attribute, and who of the two OpenSM is.
 */
struct key {
	uint64_t word[KEY_WORDS];
};

enum kind { KIND_RECEIVED = 1, KIND_SENT = 2, KIND_TRAP = 3 };

enum state {
	OUTSTANDING,	/* a request that waits for its response */
	HELD,		/* answered; its failure may follow right after */
	LINGERING,	/* reported; answers to its copies may come */
	TRAPPED,	/* a trap that waits for its TrapRepress */
};

/* What an SA response says. */
struct answer {
	uint16_t status;
	uint32_t records;
	uint32_t bytes;
};

/* What was said of a transaction that is over: answers may still come. */
struct told {
	bool answered;
	struct answer answer;	/* the last one told */
	uint64_t time_ns;
	uint64_t asked_ns;
	uint32_t retries;
};

struct entry {
	TAILQ_ENTRY(entry) in_list;	/* of the entry's state, or free */
	LIST_ENTRY(entry) in_bucket;
	struct key key;
	struct mad_peer peer;
	enum state state;
	bool sent;		/* a Report of OpenSM's */
	bool above_rmpp;	/* as its first copy was captured */

	uint64_t time_ns;	/* of the first copy */
	uint64_t first_ns;	/* the same and the others: CLOCK_MONOTONIC */
	uint64_t asked_ns;	/* of the first that OpenSM does not drop */
	uint64_t last_ns;	/* of the last copy */
	uint64_t answer_ns;
	uint64_t answer_thread;
	bool sm_key_hidden;
	enum sa_reason silence;	/* by the condition of the last copy */
	uint32_t retries;
	uint32_t owed;		/* copies without an answer yet */
	uint32_t silent;	/* of all copies: predicted to get none */
	bool answered;		/* and reported so */
	bool evicted;

	/* Of the transactions that were here before: answers may still come. */
	uint32_t old_owed;
	uint64_t old_last_ns;
	struct told old;

	struct answer answer;
	uint8_t *kept;		/* its MAD, with keep_answers; else NULL */
	size_t kept_len;

	uint16_t local_lid;
	uint16_t len;
	uint8_t mad[MAD_SIZE];
};

TAILQ_HEAD(entry_list, entry);
LIST_HEAD(bucket, entry);

struct transactions {
	struct transactions_options opts;
	struct transactions_stats stats;
	struct entry *entries;
	size_t used;		/* entries[used] and up were never touched */
	struct bucket *buckets;
	size_t bucket_mask;
	uint64_t seed[2];
	struct entry_list free;
	struct entry_list lists[4];	/* by enum state */
	size_t traps, traps_max;
	uint64_t loss_ns;	/* when captures were last lost; 0 = never */
	bool cut;		/* see transactions_cut() */
	uint64_t sends_done_ns;	/* responses from before are out, or failed */
	bool ending;		/* what is outstanding now is not waited for */
};

/* Captures of several threads may be a little out of order. */
static uint64_t elapsed(uint64_t now, uint64_t then)
{
	return now > then ? now - then : 0;
}

/*
 * The table
 */

static struct bucket *find_bucket(const struct transactions *t,
				  const struct key *key)
{
	uint64_t hash = siphash_words(t->seed, key->word, KEY_WORDS);

	return &t->buckets[hash & t->bucket_mask];
}

static bool same_key(const struct key *a, const struct key *b)
{
	return !memcmp(a->word, b->word, sizeof(a->word));
}

static void make_key(struct key *key, const struct mad_capture *cap,
		     enum kind kind, uint8_t method, uint16_t attr_id)
{
	const struct mad_peer *peer = &cap->peer;

	memset(key, 0, sizeof(*key));
	memcpy(key->word, cap->data + MAD_TID, 8);
	if (peer->has_gid)
		memcpy(key->word + 1, peer->gid, 16);
	key->word[3] = (uint64_t)peer->lid << 32 | peer->qpn;
	key->word[4] = (uint64_t)kind << 32 | peer->has_gid << 24 |
		(uint32_t)method << 16 | attr_id;
}

/* The key of an SA transaction, by its request or by its response. */
static void make_sa_key(struct key *key, const struct mad_capture *cap)
{
	uint8_t method = mad_response_method(cap->data[MAD_METHOD]);
	uint16_t attr_id = mad_get16(cap->data + MAD_ATTR_ID);
	bool is_response = cap->data[MAD_METHOD] & METHOD_RESPONSE;

	/* A MultiPathRecord request is answered with PathRecords, but in an
	 * error with what was asked for. */
	if (method == (METHOD_GET_MULTI | METHOD_RESPONSE) &&
	    attr_id == ATTR_MULTIPATH_RECORD)
		attr_id = ATTR_PATH_RECORD;
	make_key(key, cap, cap->sent == is_response ? KIND_RECEIVED :
		 KIND_SENT, method, attr_id);
}

static void move_to(struct transactions *t, struct entry *e, enum state state)
{
	TAILQ_REMOVE(&t->lists[e->state], e, in_list);
	TAILQ_INSERT_TAIL(&t->lists[state], e, in_list);
	if (e->state == OUTSTANDING)
		t->stats.outstanding--;
	if (state == OUTSTANDING)
		t->stats.outstanding++;
	e->state = state;
}

static void drop_answer(struct entry *e)
{
	free(e->kept);
	e->kept = NULL;
	e->kept_len = 0;
}

static void release(struct transactions *t, struct entry *e)
{
	drop_answer(e);
	TAILQ_REMOVE(&t->lists[e->state], e, in_list);
	LIST_REMOVE(e, in_bucket);
	if (e->state == OUTSTANDING)
		t->stats.outstanding--;
	if (e->state == TRAPPED)
		t->traps--;
	TAILQ_INSERT_HEAD(&t->free, e, in_list);
}

/*
 * Records out
 */

static void set_requester(const struct transactions *t,
			  struct requester *who, const struct mad_peer *peer)
{
	who->addr = *peer;
	if (t->opts.resolve)
		t->opts.resolve(who, t->opts.context);
}

static void emit(const struct transactions *t, struct record *r)
{
	r->show_keys = t->opts.show_keys;
	t->opts.emit(r, t->opts.context);
}

static void emit_mad(const struct transactions *t, enum record_type type,
		     const struct mad_capture *cap)
{
	struct record r = { .type = type, .time_ns = cap->time_ns };

	r.mad.capture = cap;
	set_requester(t, &r.mad.peer, &cap->peer);
	emit(t, &r);
}

static void emit_capture(const struct transactions *t,
			 const struct mad_capture *cap)
{
	emit_mad(t, cap->sent && cap->completion != MAD_OK ?
		 RECORD_SEND_ERROR : RECORD_MAD, cap);
}

static void emit_sa(struct transactions *t, const struct entry *e,
		    enum sa_outcome outcome, enum sa_reason reason)
{
	struct record r = { .type = RECORD_SA, .time_ns = e->time_ns };
	struct sa_record *sa = &r.sa;

	sa->sent = e->sent;
	sa->mad = e->mad;
	sa->len = e->len;
	sa->local_lid = e->local_lid;
	sa->sm_key_hidden = e->sm_key_hidden;
	sa->outcome = outcome;
	sa->reason = reason;
	sa->retries = e->retries;
	if (outcome == SA_ANSWERED) {
		sa->has_response = true;
		sa->status = e->answer.status;
		sa->records = e->answer.records;
		sa->bytes = e->answer.bytes;
		sa->latency_ns = elapsed(e->answer_ns, e->asked_ns);
		sa->answer = e->kept;
		sa->answer_len = e->kept_len;
		t->stats.answered++;
	} else if (outcome == SA_UNANSWERED) {
		sa->capture_lost = (t->cut && reason == SA_REASON_UNKNOWN) ||
				   (t->loss_ns && t->loss_ns >= e->first_ns);
		sa->evicted = e->evicted;
		sa->ended = t->ending;
		t->stats.unanswered++;
	} else {
		t->stats.failed++;
	}
	set_requester(t, &sa->requester, &e->peer);
	emit(t, &r);
}

/* How many answers may still come: copies that OpenSM drops get none. */
static uint32_t answers_owed(const struct entry *e)
{
	return e->owed > e->silent ? e->owed - e->silent : 0;
}

static bool may_be_answered(const struct transactions *t, const struct entry *e,
			    uint64_t now)
{
	return (answers_owed(e) &&
		elapsed(now, e->last_ns) < t->opts.unanswered_ns) ||
	       (e->old_owed &&
		elapsed(now, e->old_last_ns) < t->opts.unanswered_ns);
}

/* Report the transaction; its entry stays while answers may still come. */
static void finish(struct transactions *t, struct entry *e,
		   enum sa_outcome outcome, enum sa_reason reason,
		   uint64_t now)
{
	emit_sa(t, e, outcome, reason);
	drop_answer(e);
	e->answered = outcome == SA_ANSWERED;
	if (may_be_answered(t, e, now))
		move_to(t, e, LINGERING);
	else
		release(t, e);
}

static enum sa_reason silence_of(const struct entry *e)
{
	return e->silence == SA_REASON_NONE ? SA_REASON_UNKNOWN : e->silence;
}

static void finish_unanswered(struct transactions *t, struct entry *e,
			      uint64_t now)
{
	finish(t, e, SA_UNANSWERED, silence_of(e), now);
}

static void finish_held(struct transactions *t, struct entry *e, uint64_t now)
{
	finish(t, e, SA_ANSWERED, SA_REASON_NONE, now);
}

static void finish_trap(struct transactions *t, struct entry *e,
			bool repressed)
{
	struct record r = { .type = RECORD_TRAP, .time_ns = e->time_ns };

	r.trap.notice = e->mad + SMP_DATA;
	if (e->len > SMP_DATA)
		r.trap.len = (size_t)e->len - SMP_DATA;
	if (r.trap.len > NOTICE_SMP_SIZE)
		r.trap.len = NOTICE_SMP_SIZE;
	r.trap.repressed = repressed;
	r.trap.mad = e->mad;
	r.trap.mad_len = e->len;
	r.trap.local_lid = e->local_lid;
	set_requester(t, &r.trap.from, &e->peer);
	emit(t, &r);
	release(t, e);
}

/*
 * Entries
 */

static void evict_entry(struct transactions *t, struct entry *e)
{
	switch (e->state) {
	case LINGERING:
		break;
	case HELD:
		emit_sa(t, e, SA_ANSWERED, SA_REASON_NONE);
		break;
	case OUTSTANDING:
		t->stats.evicted++;
		e->evicted = true;
		emit_sa(t, e, SA_UNANSWERED, silence_of(e));
		break;
	case TRAPPED:
		finish_trap(t, e, false);
		return;
	}
	release(t, e);
}

/* Make room: what is reported, then what is answered, then the oldest. */
static void evict(struct transactions *t)
{
	static const enum state order[] = {
		LINGERING, HELD, OUTSTANDING, TRAPPED,
	};
	struct entry *e = NULL;
	size_t i;

	for (i = 0; !e; i++)
		e = TAILQ_FIRST(&t->lists[order[i]]);
	evict_entry(t, e);
}

/* What a first copy leaves in an entry, new or lingering. */
static void fill(struct entry *e, const struct mad_capture *cap)
{
	e->peer = cap->peer;
	e->local_lid = cap->route.local_lid;
	e->sent = cap->sent;
	e->above_rmpp = cap->above_rmpp;
	e->time_ns = cap->time_ns;
	e->first_ns = e->last_ns = cap->mono_ns;
	e->retries = 0;
	e->owed = 0;
	e->silent = 0;
	e->answered = false;
	e->evicted = false;
	e->old_owed = 0;
	e->old.answered = false;
	e->len = cap->len < MAD_SIZE ? (uint16_t)cap->len : MAD_SIZE;
	memcpy(e->mad, cap->data, e->len);
	e->sm_key_hidden = cap->sm_key_hidden;
}

static struct entry *add(struct transactions *t, struct bucket *bucket,
			 const struct key *key, enum state state,
			 const struct mad_capture *cap)
{
	struct entry *e;

	if (TAILQ_EMPTY(&t->free) && t->used == t->opts.max)
		evict(t);
	e = TAILQ_FIRST(&t->free);
	if (e)
		TAILQ_REMOVE(&t->free, e, in_list);
	else
		e = &t->entries[t->used++];
	e->key = *key;
	e->state = state;
	fill(e, cap);
	LIST_INSERT_HEAD(bucket, e, in_bucket);
	TAILQ_INSERT_TAIL(&t->lists[state], e, in_list);
	if (state == OUTSTANDING)
		t->stats.outstanding++;
	return e;
}

/*
 * Does RMPP alone have use for it? A later segment of a message, or an ACK,
 * STOP or ABORT, which the kernel gives the method of the other direction
 * (mad_rmpp.c, format_ack): an ACK of a GetTableResp looks like a GetTable.
 */
static bool is_rmpp_part(const struct mad_capture *cap)
{
	if (cap->size != MAD_SIZE || cap->len < RMPP_PAYLOAD ||
	    !(cap->data[RMPP_FLAGS] & RMPP_FLAG_ACTIVE))
		return false;
	switch (cap->data[RMPP_TYPE]) {
	case RMPP_DATA:
		return !(cap->data[RMPP_FLAGS] & RMPP_FLAG_FIRST) &&
			mad_get32(cap->data + RMPP_SEGMENT) > 1;
	case RMPP_ACK:
	case RMPP_STOP:
	case RMPP_ABORT:
		return true;
	default:
		return false;
	}
}

/*
 * SA requests
 */

/*
 * What makes two requests with one TID copies of each other: the SA header and
 * the record, as far as the attribute has components. What lies behind is
 * nobody's (libumad2sim.so leaves other bytes there each time).
 */
static size_t request_size(const uint8_t *mad, size_t len)
{
	size_t size = SA_DATA + sa_attribute_size(mad_get16(mad + MAD_ATTR_ID));

	return size > SA_DATA && size < len ? size : len;
}

static bool is_copy(const struct entry *e, const struct mad_capture *cap)
{
	size_t len = cap->len < MAD_SIZE ? cap->len : MAD_SIZE;

	/* Get and Set share the key of their response. */
	if (e->len != len || e->mad[MAD_METHOD] != cap->data[MAD_METHOD] ||
	    mad_get16(e->mad + MAD_ATTR_ID) !=
	    mad_get16(cap->data + MAD_ATTR_ID))
		return false;
	len = request_size(cap->data, len);
	return !memcmp(e->mad + MAD_HDR_SIZE, cap->data + MAD_HDR_SIZE,
		       len - MAD_HDR_SIZE);
}

/*
 * The entry of which this is a copy. Whoever sends many requests that differ
 * under one TID gets no list to be searched: the oldest makes room.
 */
static struct entry *find_request(struct transactions *t,
				  const struct bucket *bucket,
				  const struct key *key,
				  const struct mad_capture *cap)
{
	struct entry *e, *oldest = NULL;
	int n = 0;

	LIST_FOREACH(e, bucket, in_bucket) {
		if (!same_key(&e->key, key))
			continue;
		if (is_copy(e, cap))
			return e;
		oldest = e;	/* new ones come first */
		n++;
	}
	if (n >= SAME_KEY_MAX)
		evict_entry(t, oldest);
	return NULL;
}

/* A new transaction in the entry of one that answers are still owed to. */
static void start_again(struct transactions *t, struct entry *e,
			const struct mad_capture *cap)
{
	uint32_t owed = answers_owed(e) + e->old_owed;
	uint64_t last_ns = e->last_ns;
	struct told old = {
		.answered = e->answered && (!e->old_owed || e->old.answered),
		.answer = e->answer,
		.time_ns = e->time_ns,
		.asked_ns = e->asked_ns,
		.retries = e->retries,
	};

	fill(e, cap);
	e->old_owed = owed;
	e->old_last_ns = last_ns;
	e->old = old;
	move_to(t, e, OUTSTANDING);
}

static void put_request(struct transactions *t, const struct mad_capture *cap)
{
	struct bucket *bucket;
	struct entry *e;
	struct key key;

	make_sa_key(&key, cap);
	bucket = find_bucket(t, &key);
	e = find_request(t, bucket, &key, cap);
	t->stats.requests++;

	/*
	 * What is over makes room for a new one: answered, or waiting for too
	 * long, whether a tick came before this copy or not.
	 */
	if (e && e->state == HELD) {
		finish_held(t, e, cap->mono_ns);
		e = find_request(t, bucket, &key, cap);
	} else if (e && e->state == OUTSTANDING &&
		   elapsed(cap->mono_ns, e->first_ns) >=
		   t->opts.unanswered_ns) {
		finish_unanswered(t, e, cap->mono_ns);
		e = find_request(t, bucket, &key, cap);
	}

	if (!e) {
		e = add(t, bucket, &key, OUTSTANDING, cap);
	} else if (e->state == LINGERING) {
		start_again(t, e, cap);
	} else {
		e->retries++;
		t->stats.retries++;
		e->last_ns = cap->mono_ns;
	}
	e->silence = SA_REASON_NONE;
	if (!cap->sent)
		e->silence = sa_silence(&cap->condition, cap->data, cap->len);
	/* the time before belongs to the client, who was waiting in vain */
	if (e->owed == e->silent)
		e->asked_ns = cap->mono_ns;
	e->owed++;
	if (e->silence != SA_REASON_NONE)
		e->silent++;
}

/*
 * SA responses
 */

/*
 * The bytes of SA records in a response. A message above RMPP has its size.
 * The first segment of many is always one MAD and has the whole message's
 * PayloadLength, which counts the rest of the SA header in each segment
 * (IBA 13.6.2 and 15.2.1).
 */
static uint64_t payload(const struct mad_capture *cap)
{
	const uint8_t first = RMPP_FLAG_ACTIVE | RMPP_FLAG_FIRST;
	uint64_t bytes = cap->size > SA_DATA ? cap->size - SA_DATA : 0;
	uint64_t len, segments;

	if (cap->size != MAD_SIZE || cap->len < RMPP_PAYLOAD + 4 ||
	    cap->data[RMPP_TYPE] != RMPP_DATA ||
	    (cap->data[RMPP_FLAGS] & first) != first)
		return bytes;
	len = mad_get32(cap->data + RMPP_PAYLOAD);
	if (!len)		/* the sender does not tell */
		return bytes;
	if (cap->data[RMPP_FLAGS] & RMPP_FLAG_LAST &&
	    len > MAD_SIZE - RMPP_DATA_OFFSET)
		return bytes;	/* more than there can be */
	segments = (len + MAD_SIZE - RMPP_DATA_OFFSET - 1) /
		(MAD_SIZE - RMPP_DATA_OFFSET);
	return len > segments * SA_HDR_REST ? len - segments * SA_HDR_REST : 0;
}

static uint32_t count_records(const struct mad_capture *cap, uint16_t status)
{
	uint8_t method = cap->data[MAD_METHOD];
	uint64_t records;
	uint16_t offset;

	if (status)
		return 0;
	if (!mad_is_table_method(method))
		return mad_has_record(method);
	if (cap->len < SA_ATTR_OFFSET + 2)
		return 0;
	offset = mad_get16(cap->data + SA_ATTR_OFFSET);
	if (!offset)
		return 0;
	records = payload(cap) / (8u * offset);
	return records < UINT32_MAX ? (uint32_t)records : UINT32_MAX;
}

/*
 * How well an answer fits: it is for who waits for one, as the client would
 * say, who knows no more than TID, method and attribute; but not for whom
 * OpenSM drops, as long as there is another.
 */
static int fitness(const struct transactions *t, const struct entry *e,
		   const struct mad_capture *cap)
{
	if (!e->above_rmpp && is_rmpp_part(cap))
		return 0;
	if (e->state == OUTSTANDING)
		return answers_owed(e) ? 3 : 1;
	return may_be_answered(t, e, cap->mono_ns) ? 2 : 0;
}

/* Of several that fit alike the oldest, since the SA answers in order. */
static struct entry *find_expecting(const struct transactions *t,
				    const struct key *key,
				    const struct mad_capture *cap)
{
	struct entry *e, *found = NULL;
	int fits, best = 0;

	LIST_FOREACH(e, find_bucket(t, key), in_bucket) {
		if (!same_key(&e->key, key))
			continue;
		fits = fitness(t, e, cap);
		if (fits > best || (found && fits == best &&
				    e->first_ns < found->first_ns)) {
			found = e;
			best = fits;
		}
	}
	return found;
}

/*
 * What the vendor layer is given: SA header and records. A MAD from the wire is
 * padded to 256 bytes.
 */
static uint32_t count_bytes(const struct mad_capture *cap, uint16_t status,
			    uint32_t records)
{
	uint64_t bytes = cap->size;

	if (bytes == MAD_SIZE && !status && cap->len >= SA_ATTR_OFFSET + 2)
		bytes = SA_DATA + UINT64_C(8) * records *
				  mad_get16(cap->data + SA_ATTR_OFFSET);
	if (bytes > cap->size || bytes == SA_DATA)
		bytes = cap->size;
	return bytes < UINT32_MAX ? (uint32_t)bytes : UINT32_MAX;
}

static struct answer answer_of(const struct mad_capture *cap)
{
	struct answer a = { .status = mad_get16(cap->data + MAD_STATUS) };

	a.records = count_records(cap, a.status);
	a.bytes = count_bytes(cap, a.status, a.records);
	return a;
}

static bool same_answer(const struct answer *a, const struct answer *b)
{
	return a->status == b->status && a->records == b->records &&
	       a->bytes == b->bytes;
}

/* Without memory for it there is a record without it. */
static void keep_answer(const struct transactions *t, struct entry *e,
			const struct mad_capture *cap)
{
	drop_answer(e);
	if (!t->opts.keep_answers && (!t->opts.keep_attr ||
	    mad_get16(cap->data + MAD_ATTR_ID) != t->opts.keep_attr ||
	    cap->len > MAD_SIZE))
		return;
	e->kept = malloc(cap->len);
	if (!e->kept)
		return;
	memcpy(e->kept, cap->data, cap->len);
	e->kept_len = cap->len;
}

/*
 * Every response is in some record. Answers to the copies that a transaction
 * counts are part of it when it was reported as answered, and the same was
 * answered. A copy of a Delete may be told something else: that is reported as
 * the first was. When it was reported otherwise they are not part of it: each
 * has a record of its own.
 */
static void take_further(struct transactions *t, struct entry *e,
			 const struct mad_capture *cap)
{
	struct answer answer = answer_of(cap);

	if (!e->answered) {
		emit_mad(t, RECORD_MAD, cap);
	} else if (!same_answer(&answer, &e->answer)) {
		e->answer = answer;
		e->answer_ns = cap->mono_ns;
		keep_answer(t, e, cap);
		emit_sa(t, e, SA_ANSWERED, SA_REASON_NONE);
	}
}

/* The same for who was here before, unless both were told the same. */
static void take_old_answer(struct transactions *t, struct entry *e,
			    const struct mad_capture *cap)
{
	struct answer answer = answer_of(cap);
	struct entry before;

	if (e->old.answered && e->answered &&
	    same_answer(&answer, &e->answer))
		return;
	before = *e;
	before.answered = e->old.answered;
	before.answer = e->old.answer;
	before.time_ns = e->old.time_ns;
	before.asked_ns = e->old.asked_ns;
	before.retries = e->old.retries;
	before.kept = NULL;
	take_further(t, &before, cap);
	e->old.answer = before.answer;
	drop_answer(&before);
}

static void take_late_answer(struct transactions *t, struct entry *e,
			     const struct mad_capture *cap)
{
	if (answers_owed(e)) {
		e->owed--;
		take_further(t, e, cap);
	} else {
		e->old_owed--;
		take_old_answer(t, e, cap);
	}
	if (!may_be_answered(t, e, cap->mono_ns))
		release(t, e);
}

static void take_answer(struct transactions *t, struct entry *e,
			const struct mad_capture *cap)
{
	if (e->state == LINGERING) {
		take_late_answer(t, e, cap);
		return;
	}
	e->owed--;
	e->answer_ns = cap->mono_ns;
	e->answer_thread = cap->thread;
	e->answer = answer_of(cap);
	keep_answer(t, e, cap);
	if (cap->sent && cap->thread)
		move_to(t, e, HELD);
	else
		finish_held(t, e, cap->mono_ns);
}

/*
 * A response that could not be sent. The tap had published it before, so it
 * is held, with the thread that sent it, where that is known; outstanding it
 * is only where that capture was lost.
 */
static void fail_response(struct transactions *t, const struct key *key,
			  const struct mad_capture *cap)
{
	struct entry *e, *found = NULL;
	int fits, best = 0;

	LIST_FOREACH(e, find_bucket(t, key), in_bucket) {
		if (!same_key(&e->key, key))
			continue;
		fits = e->state == OUTSTANDING ? answers_owed(e) > 0 :
		       e->state != HELD ? 0 :
		       e->answer_thread == cap->thread ? 3 :
		       !cap->thread ? 2 : 0;
		if (fits > best) {
			found = e;
			best = fits;
		}
	}
	if (!found) {
		emit_mad(t, RECORD_SEND_ERROR, cap);
		return;
	}
	if (found->state == OUTSTANDING)
		found->owed--;
	finish(t, found, SA_FAILED, SA_REASON_SEND_ERROR, cap->mono_ns);
}

static void put_response(struct transactions *t,
			 const struct mad_capture *cap)
{
	struct entry *e;
	struct key key;

	make_sa_key(&key, cap);
	if (cap->sent && cap->completion != MAD_OK) {
		fail_response(t, &key, cap);
		return;
	}
	e = find_expecting(t, &key, cap);
	/*
	 * Another thread answers a copy: whether the first answer can be sent
	 * or not, there is one.
	 */
	if (e && e->state == HELD) {
		finish_held(t, e, cap->mono_ns);
		e = find_expecting(t, &key, cap);
	}
	if (e)
		take_answer(t, e, cap);
	else
		emit_mad(t, RECORD_MAD, cap);
}

/* A Report of OpenSM's that got no ReportResp, or could not be sent. */
static void fail_request(struct transactions *t,
			 const struct mad_capture *cap)
{
	struct entry *e;
	struct key key;

	emit_mad(t, RECORD_SEND_ERROR, cap);
	make_sa_key(&key, cap);
	e = find_request(t, find_bucket(t, &key), &key, cap);
	if (!e || e->state != OUTSTANDING)
		return;
	e->owed--;
	finish(t, e, SA_FAILED, SA_REASON_SEND_ERROR, cap->mono_ns);
}

static bool is_report(const struct mad_capture *cap)
{
	return cap->data[MAD_METHOD] == METHOD_REPORT &&
	       mad_get16(cap->data + MAD_ATTR_ID) == ATTR_NOTICE;
}

static bool is_request(const struct mad_capture *cap)
{
	if (cap->sent)
		return is_report(cap);
	if (!cap->above_rmpp && is_rmpp_part(cap))
		return false;
	return cap->data[MAD_METHOD] != METHOD_TRAP_REPRESS;
}

static void put_sa(struct transactions *t, const struct mad_capture *cap)
{
	if (cap->data[MAD_METHOD] & METHOD_RESPONSE)
		put_response(t, cap);
	else if (cap->sent && is_report(cap) && cap->completion != MAD_OK)
		fail_request(t, cap);
	else if (is_request(cap))
		put_request(t, cap);
	else
		emit_capture(t, cap);
}

/*
 * Traps
 */

static void make_trap_key(struct key *key, const struct mad_capture *cap)
{
	make_key(key, cap, KIND_TRAP, METHOD_TRAP, ATTR_NOTICE);
}

static struct entry *find_trap(const struct bucket *bucket,
			       const struct key *key)
{
	struct entry *e;

	LIST_FOREACH(e, bucket, in_bucket)
		if (same_key(&e->key, key))
			return e;
	return NULL;
}

static void put_trap(struct transactions *t, const struct mad_capture *cap)
{
	struct bucket *bucket;
	struct entry *e;
	struct key key;

	make_trap_key(&key, cap);
	bucket = find_bucket(t, &key);
	e = find_trap(bucket, &key);
	/* Who sends a trap again was not told to stop. */
	if (e)
		finish_trap(t, e, false);
	else if (t->traps == t->traps_max)
		finish_trap(t, TAILQ_FIRST(&t->lists[TRAPPED]), false);
	add(t, bucket, &key, TRAPPED, cap);
	t->traps++;
}

static void repress(struct transactions *t, const struct mad_capture *cap)
{
	struct entry *e;
	struct key key;

	make_trap_key(&key, cap);
	e = find_trap(find_bucket(t, &key), &key);
	if (e)
		finish_trap(t, e, true);
}

static void put_smp(struct transactions *t, const struct mad_capture *cap)
{
	uint8_t method = cap->data[MAD_METHOD];

	if (!cap->sent && method == METHOD_TRAP &&
	    mad_get16(cap->data + MAD_ATTR_ID) == ATTR_NOTICE) {
		put_trap(t, cap);
		return;
	}
	if (cap->sent && method == METHOD_TRAP_REPRESS &&
	    cap->completion == MAD_OK)
		repress(t, cap);
	emit_capture(t, cap);
}

/*
 * Time
 */

/*
 * An answer is reported when it is known that it was sent: all sends from its
 * time are done, and captures up to then, with the failures, were handled.
 */
static void release_held(struct transactions *t, uint64_t now)
{
	struct entry *e;

	while ((e = TAILQ_FIRST(&t->lists[HELD])) &&
	       ((e->answer_ns < t->sends_done_ns && now >= t->sends_done_ns) ||
		elapsed(now, e->answer_ns) >= hold_max_ns))
		finish_held(t, e, now);
}

/*
 * A thread that goes on has sent what it had to send. So there is no more than
 * one held for each of OpenSM's threads.
 */
static void release_held_of(struct transactions *t,
			    const struct mad_capture *cap)
{
	struct entry *e, *next;

	if (!cap->thread || cap->thread == MAD_THREAD_UNKNOWN ||
	    (cap->sent && cap->completion != MAD_OK))
		return;
	for (e = TAILQ_FIRST(&t->lists[HELD]); e; e = next) {
		next = TAILQ_NEXT(e, in_list);
		if (e->answer_thread == cap->thread)
			finish_held(t, e, cap->mono_ns);
	}
}

static void expire(struct transactions *t, uint64_t now)
{
	struct entry *e;

	while ((e = TAILQ_FIRST(&t->lists[OUTSTANDING])) &&
	       elapsed(now, e->first_ns) >= t->opts.unanswered_ns)
		finish_unanswered(t, e, now);
	while ((e = TAILQ_FIRST(&t->lists[TRAPPED])) &&
	       elapsed(now, e->first_ns) >= trap_wait_ns)
		finish_trap(t, e, false);
	while ((e = TAILQ_FIRST(&t->lists[LINGERING])) &&
	       elapsed(now, e->last_ns) >= t->opts.unanswered_ns)
		release(t, e);
}

void transactions_put(struct transactions *t, const struct mad_capture *cap)
{
	if (cap->len < MAD_HDR_SIZE)
		return;
	if (!cap->above_rmpp && mad_is_dropped(cap->data, cap->sent)) {
		emit_capture(t, cap);
		return;
	}
	release_held(t, cap->mono_ns);
	release_held_of(t, cap);
	switch (cap->data[MAD_CLASS]) {
	case CLASS_SUBN_ADM:
		put_sa(t, cap);
		break;
	case CLASS_SUBN_LID:
	case CLASS_SUBN_DIR:
		put_smp(t, cap);
		break;
	default:
		emit_capture(t, cap);
		break;
	}
	/* Afterwards: an answer that is here was not too late. */
	expire(t, cap->mono_ns);
}

void transactions_tick(struct transactions *t, uint64_t mono_ns)
{
	release_held(t, mono_ns);
	expire(t, mono_ns);
}

void transactions_sends_done(struct transactions *t, uint64_t mono_ns)
{
	if (mono_ns > t->sends_done_ns)
		t->sends_done_ns = mono_ns;
}

void transactions_note_loss(struct transactions *t, uint64_t mono_ns)
{
	if (mono_ns > t->loss_ns)
		t->loss_ns = mono_ns;
}

void transactions_cut(struct transactions *t)
{
	t->cut = true;
}

void transactions_flush(struct transactions *t)
{
	struct entry *e;

	t->ending = true;
	while ((e = TAILQ_FIRST(&t->lists[HELD]))) {
		emit_sa(t, e, SA_ANSWERED, SA_REASON_NONE);
		release(t, e);
	}
	while ((e = TAILQ_FIRST(&t->lists[OUTSTANDING]))) {
		emit_sa(t, e, SA_UNANSWERED, silence_of(e));
		release(t, e);
	}
	while ((e = TAILQ_FIRST(&t->lists[TRAPPED])))
		finish_trap(t, e, false);
	while ((e = TAILQ_FIRST(&t->lists[LINGERING])))
		release(t, e);
	t->ending = false;
	t->cut = false;
}

void transactions_get_stats(const struct transactions *t,
			    struct transactions_stats *stats)
{
	*stats = t->stats;
}

/*
 * Life
 */

struct transactions *transactions_new(const struct transactions_options *opts)
{
	struct transactions *t;
	size_t n = 1;
	int i;

	t = calloc(1, sizeof(*t));
	if (!t)
		return NULL;
	t->opts = *opts;
	if (!t->opts.max)
		t->opts.max = DEFAULT_MAX;
	if (!t->opts.unanswered_ns)
		t->opts.unanswered_ns = default_unanswered_ns;
	t->traps_max = t->opts.max / TRAPS_SHARE;
	if (t->traps_max < 1)
		t->traps_max = 1;
	if (t->traps_max > TRAPS_MAX)
		t->traps_max = TRAPS_MAX;
	siphash_seed(t->seed);

	/* Both fresh from the kernel: costs nothing until it is used. */
	t->entries = calloc(t->opts.max, sizeof(*t->entries));
	if (!t->entries)
		goto fail;
	while (n < t->opts.max)
		n *= 2;
	t->bucket_mask = n - 1;
	t->buckets = calloc(n, sizeof(*t->buckets));
	if (!t->buckets)
		goto fail;

	TAILQ_INIT(&t->free);
	for (i = 0; i < 4; i++)
		TAILQ_INIT(&t->lists[i]);
	return t;

fail:
	transactions_free(t);
	errno = ENOMEM;
	return NULL;
}

void transactions_free(struct transactions *t)
{
	size_t i;

	if (!t)
		return;
	for (i = 0; i < t->used; i++)
		free(t->entries[i].kept);
	free(t->buckets);
	free(t->entries);
	free(t);
}

/*
 * OpenSM's rules: osm_sa_mad_ctrl.c, sa_mad_ctrl_rcv_callback() and
 * sa_mad_ctrl_process()
 */

/* Does the request go to the dispatcher whose queue has a limit? */
static bool is_queued(const struct sa_condition *cond, uint8_t method)
{
	if (method != METHOD_SET && method != METHOD_DELETE)
		return true;
	return !cond->set_dispatcher;
}

/*
 * Only these register with the dispatcher for Set and Delete where there is
 * one; what is posted there for another attribute is dropped (ERR 1A02).
 */
static bool has_handler(const struct sa_condition *cond, uint8_t method,
			uint16_t attr_id)
{
	if (is_queued(cond, method))
		return true;
	return attr_id == ATTR_MCMEMBER_RECORD ||
	       attr_id == ATTR_SERVICE_RECORD ||
	       attr_id == ATTR_INFORM_INFO || attr_id == ATTR_GUIDINFO_RECORD;
}

enum sa_reason sa_silence(const struct sa_condition *cond, const uint8_t *mad,
			  size_t len)
{
	const struct sa_attribute *attr;
	uint64_t sm_key;

	if (cond->judged)
		return (enum sa_reason)cond->silence;
	if (!cond->known || len < MAD_HDR_SIZE)
		return SA_REASON_NONE;
	if (cond->sm_state != SM_STATE_MASTER)
		return SA_REASON_SM_NOT_MASTER;
	if (cond->first_sweep)
		return SA_REASON_FIRST_SWEEP;
	if (len < SA_SM_KEY + 8)
		return SA_REASON_NONE;	/* cut before what is looked at next */
	sm_key = mad_get64(mad + SA_SM_KEY);
	if (sm_key && sm_key != cond->sa_key)
		return SA_REASON_SM_KEY;

	switch (mad[MAD_METHOD]) {
	case METHOD_GET:
	case METHOD_GET_TABLE:
	case METHOD_SET:
	case METHOD_DELETE:
		break;
	case METHOD_GET_MULTI:
		if (cond->multipath)
			break;
		return SA_REASON_UNSUPPORTED_METHOD;
	default:
		return SA_REASON_UNSUPPORTED_METHOD;
	}
	if (is_queued(cond, mad[MAD_METHOD]) && cond->queued > 1 &&
	    cond->queue_limit_ms && cond->queue_time_ms > cond->queue_limit_ms)
		return SA_REASON_OVERLOAD;

	attr = sa_attribute_find(mad_get16(mad + MAD_ATTR_ID));
	if (!attr || !attr->opensm)
		return SA_REASON_UNSUPPORTED_ATTRIBUTE;
	if (attr->id == ATTR_MULTIPATH_RECORD && !cond->multipath)
		return SA_REASON_UNSUPPORTED_ATTRIBUTE;
	if (!has_handler(cond, mad[MAD_METHOD], attr->id))
		return SA_REASON_UNSUPPORTED_METHOD;
	return SA_REASON_NONE;
}
