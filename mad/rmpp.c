/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * RMPP reassembly, by the rules of the kernel: drivers/infiniband/core/
 * mad_rmpp.c, whose functions are named where a rule follows them.
 *
 * The data of a transfer that came in order is in one buffer, which grows by
 * doubling and becomes the message. A segment that came too early is by itself
 * in a hash of all such segments, so that any number costs the same, and
 * a number that is far off costs no more memory than the segment has.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>

#include "rmpp.h"
#include "siphash.h"

#define SECOND UINT64_C(1000000000)
#define MIB ((size_t)1 << 20)

enum {
	DEFAULT_TRANSFERS = 65536,
	KEY_WORDS = 5,
	PAYLOAD_MAX = MAD_SIZE - RMPP_DATA_OFFSET,
	DATA_MAX = MAD_SIZE - VENDOR_DATA,	/* of a later segment */
	EARLY_BUCKETS_MAX = 1 << 20,
};

static const size_t default_message = 16 * MIB;
static const size_t default_total = 256 * MIB;
static const uint64_t default_timeout_ns = 45 * SECOND;

/*
 * How long a transfer that is over is remembered. The kernel takes what comes
 * for a received message within 10 s of its end for duplicates, a first
 * segment included (complete_rmpp, recv_cleanup_handler).
 */
static const uint64_t linger_ns = 10 * SECOND;

/*
 * Segments that the receiver has and we have not may still be underway to us
 * when captures are a little out of order.
 */
static const uint64_t missed_ns = SECOND;

/*
 * What is not acknowledged the kernel sends again after at most 2 s
 * (send_next_seg). A first segment that comes after more is another message.
 */
static const uint64_t resend_ns = 3 * SECOND;

/* Who sends what to whom: as find_rmpp_recv, and the GID and direction. */
struct key {
	uint64_t word[KEY_WORDS];
};

enum state {
	ACTIVE,
	DAMAGED,	/* active, but some of it seems to be lost for us */
	OVER,		/* whole or given up; more of it may still come */
	STATES,
};

struct transfer;

/* A segment that came before one with a lower number. */
struct early {
	LIST_ENTRY(early) in_bucket;
	LIST_ENTRY(early) in_transfer;
	const struct transfer *transfer;
	uint32_t number;
	uint32_t payload;
	uint32_t reached;	/* by the transfer when it came */
	bool is_last;
	uint8_t data[DATA_MAX];
};

LIST_HEAD(early_list, early);

struct transfer {
	TAILQ_ENTRY(transfer) in_list;	/* of the state, or free */
	TAILQ_ENTRY(transfer) in_receives;	/* received, and not over */
	LIST_ENTRY(transfer) in_bucket;
	struct key key;
	struct mad_peer peer;
	uint64_t tid;
	enum state state;
	bool sent;
	bool delivered;		/* OVER because it was whole */
	uint8_t mgmt_class;
	uint8_t method;
	uint16_t attr_id;

	uint64_t begun_ns;	/* the kernel's 40 s; CLOCK_MONOTONIC */
	uint64_t begun_time_ns;	/* the first capture; CLOCK_REALTIME */
	uint64_t last_ns;	/* the last one that counts for time-outs */
	uint64_t time_ns;	/* of segment 1 */
	uint64_t mono_ns;
	uint64_t first_hash;	/* of segment 1, if sent */

	uint32_t in_order;	/* segments 1 to this one are in `data` */
	bool is_end;		/* that one says that it is the last */
	uint32_t end_payload;	/* and its PayloadLength */
	uint32_t highest;	/* number seen */
	uint32_t last;		/* number of the last one; 0 = not seen */
	uint32_t acked;		/* what the receiver has at least */
	uint32_t window;	/* of the kernel, by its ACK; 0 = not known */
	uint32_t segments;	/* seen */
	uint32_t first_payload;	/* PayloadLength of segment 1 */
	size_t cut;		/* bytes known up to the first cut; 0 = none */

	uint8_t *data;
	size_t len;
	size_t room;		/* at `data` */
	struct early_list early;
};

TAILQ_HEAD(transfer_list, transfer);
LIST_HEAD(bucket, transfer);

struct rmpp {
	struct rmpp_options opts;
	struct rmpp_stats stats;
	uint64_t seed[2];
	uint32_t window;	/* by the last ACK that said it; 0 = none did */
	struct transfer *transfers;
	size_t used;		/* transfers[used] and up were never touched */
	struct bucket *buckets;
	size_t bucket_mask;
	struct early_list *early_buckets;
	size_t early_mask;
	struct transfer_list free;
	/* By enum state; in each the one that was idle for longest is first. */
	struct transfer_list lists[STATES];
	struct transfer_list receives;	/* the one begun first is first */
	uint8_t *whole;		/* the message that was handed out last */
	size_t whole_room;
	struct key failed;	/* whose segment failed last, */
	uint32_t failed_number;	/* and which; 0 = none did */
};

/* What a DATA capture says of itself. */
struct segment {
	const struct mad_capture *cap;
	uint32_t number;
	uint32_t payload;
	bool is_last;
	size_t offset;		/* where data begins */
};

/* Captures may be a little out of order. */
static uint64_t elapsed(uint64_t now, uint64_t then)
{
	return now > then ? now - then : 0;
}

/*
 * MADs
 */

/* ib_get_mad_data_offset */
size_t rmpp_data_offset(uint8_t mgmt_class)
{
	switch (mgmt_class) {
	case CLASS_SUBN_ADM:
		return SA_DATA;
	case CLASS_DEV_MGMT:
	case CLASS_DEV_ADM:
	case CLASS_BIS:
		return DEVICE_DATA;
	default:
		if (mgmt_class < CLASS_VENDOR2_FIRST ||
		    mgmt_class > CLASS_VENDOR2_LAST)
			return 0;
		return VENDOR_DATA;
	}
}

/* One MAD with RMPP, as far as it was captured? */
static bool is_rmpp(const uint8_t *mad, size_t len)
{
	return len > RMPP_STATUS && len <= MAD_SIZE &&
	       rmpp_data_offset(mad[MAD_CLASS]) &&
	       mad[RMPP_FLAGS] & RMPP_FLAG_ACTIVE;
}

/*
 * The RMPPStatus by which the kernel refuses it, in the order of
 * ib_process_rmpp_recv_wc and process_rmpp_data; 0 when it does not.
 */
static uint8_t refusal_of(const uint8_t *mad, size_t len)
{
	uint32_t number;

	if (mad[RMPP_VERSION] != 1)
		return RMPP_STATUS_UNV;
	if (mad[RMPP_TYPE] < RMPP_DATA || mad[RMPP_TYPE] > RMPP_ABORT)
		return RMPP_STATUS_BADT;
	if (mad[RMPP_TYPE] != RMPP_DATA)
		return 0;
	if (mad[RMPP_STATUS])
		return RMPP_STATUS_BAD_STATUS;
	if (len < RMPP_DATA_OFFSET)
		return 0;
	number = mad_get32(mad + RMPP_SEGMENT);
	if (!number || (number == 1) != !!(mad[RMPP_FLAGS] & RMPP_FLAG_FIRST))
		return RMPP_STATUS_BAD_SEG;
	return 0;
}

static uint8_t flags_of(const struct mad_capture *cap)
{
	return cap->data[RMPP_FLAGS];
}

/* The length of a message, header included (get_mad_len). */
static uint64_t message_size(size_t offset, uint32_t segments,
			     uint32_t last_payload)
{
	uint64_t size = offset + (uint64_t)segments * (MAD_SIZE - offset);

	if (last_payload <= PAYLOAD_MAX)
		size -= PAYLOAD_MAX - last_payload;
	return size;
}

/*
 * Do the lengths fit what came? PayloadLength counts all behind the RMPP
 * header, in the first segment of all segments (send_next_seg), or is zero
 * there when the sender does not know yet.
 */
static bool lengths_lie(size_t offset, uint32_t segments,
			uint32_t first_payload, uint32_t last_payload)
{
	uint64_t all = (uint64_t)(segments - 1) * PAYLOAD_MAX + last_payload;

	if (last_payload > PAYLOAD_MAX ||
	    last_payload < offset - RMPP_DATA_OFFSET)
		return true;
	return first_payload && first_payload != all;
}

static void make_key(struct key *key, const struct mad_capture *cap, bool sent,
		     uint8_t method)
{
	const struct mad_peer *peer = &cap->peer;

	memset(key, 0, sizeof(*key));
	memcpy(key->word, cap->data + MAD_TID, 8);
	/* find_rmpp_recv does not look at it: nobody hides a segment by one */
	if (peer->has_gid && sent)
		memcpy(key->word + 1, peer->gid, 16);
	key->word[3] = (uint64_t)peer->lid << 32 | peer->qpn;
	key->word[4] = (uint64_t)sent << 32 |
		(uint64_t)(peer->has_gid && sent) << 24 |
		(uint32_t)cap->data[MAD_CLASS] << 16 |
		(uint32_t)cap->data[MAD_CLASS_VERSION] << 8 | method;
}

static uint64_t hash_mad(const struct rmpp *r, const struct mad_capture *cap)
{
	uint64_t words[MAD_SIZE / 8] = { 0 };

	memcpy(words, cap->data, cap->len);
	return siphash_words(r->seed, words, MAD_SIZE / 8);
}

/*
 * Segments that came early
 */

static struct early_list *find_early_bucket(const struct rmpp *r,
					    const struct transfer *t,
					    uint32_t number)
{
	uint64_t words[2] = { (uintptr_t)t, number };

	return &r->early_buckets[siphash_words(r->seed, words, 2) &
				 r->early_mask];
}

static struct early *find_early(const struct rmpp *r, const struct transfer *t,
				uint32_t number)
{
	struct early *e;

	if (LIST_EMPTY(&t->early))
		return NULL;
	LIST_FOREACH(e, find_early_bucket(r, t, number), in_bucket)
		if (e->transfer == t && e->number == number)
			return e;
	return NULL;
}

static void free_early(struct rmpp *r, struct early *e)
{
	LIST_REMOVE(e, in_bucket);
	LIST_REMOVE(e, in_transfer);
	r->stats.bytes -= sizeof(*e);
	free(e);
}

/*
 * The window
 */

/* How far the receiver is, as far as we know. */
static uint32_t get_reached(const struct transfer *t)
{
	return t->acked > t->in_order ? t->acked : t->in_order;
}

/*
 * Has the kernel dropped a segment with this number, other than the first, when
 * it was as far as that? It takes none before the first, and then up to the end
 * of a window that opens with the first one and by the same size again whenever
 * it is full (start_rmpp, continue_rmpp). So the size is all that is to know.
 * It is the same for all (window_size), but a program may do RMPP by itself:
 * what the ACK of this transfer said comes first.
 */
static bool is_beyond(const struct rmpp *r, const struct transfer *t,
		      uint32_t number, uint32_t reached)
{
	const uint64_t size = t->window ? t->window : r->window;

	if (t->sent)
		return false;
	/* The kernel begins with segment 1, and drops what comes before it. */
	if (!reached)
		return true;
	/* To the kernel it is negative, and behind what it has. */
	if (number > INT32_MAX)
		return true;
	return size && number > 1 + size * (1 + (reached - 1) / size);
}

static void drop_beyond(struct rmpp *r, struct transfer *t, struct early *e)
{
	free_early(r, e);
	t->segments--;
	r->stats.beyond++;
}

/* The ACK of a first segment that is not the last one says the size. */
static void learn_window(struct rmpp *r, struct transfer *t, uint32_t number,
			 uint32_t new_window_last)
{
	if (t->sent || number != 1 || new_window_last == 1)
		return;
	t->window = r->window = new_window_last - 1;
}

/*
 * The table
 */

static struct bucket *find_bucket(const struct rmpp *r, const struct key *key)
{
	uint64_t hash = siphash_words(r->seed, key->word, KEY_WORDS);

	return &r->buckets[hash & r->bucket_mask];
}

static struct transfer *find(const struct rmpp *r, const struct key *key)
{
	struct transfer *t;

	LIST_FOREACH(t, find_bucket(r, key), in_bucket)
		if (!memcmp(t->key.word, key->word, sizeof(key->word)))
			return t;
	return NULL;
}

/* Also to the end of the list that it is in. */
static void move_to(struct rmpp *r, struct transfer *t, enum state state)
{
	TAILQ_REMOVE(&r->lists[t->state], t, in_list);
	TAILQ_INSERT_TAIL(&r->lists[state], t, in_list);
	t->state = state;
}

static void touch(struct rmpp *r, struct transfer *t, uint64_t now)
{
	t->last_ns = now;
	move_to(r, t, t->state);
}

static void drop_data(struct rmpp *r, struct transfer *t)
{
	while (!LIST_EMPTY(&t->early))
		free_early(r, LIST_FIRST(&t->early));
	r->stats.bytes -= t->room;
	free(t->data);
	t->data = NULL;
	t->len = t->room = 0;
}

/* Only what is over. */
static void release(struct rmpp *r, struct transfer *t)
{
	TAILQ_REMOVE(&r->lists[t->state], t, in_list);
	LIST_REMOVE(t, in_bucket);
	TAILQ_INSERT_HEAD(&r->free, t, in_list);
}

static void end(struct rmpp *r, struct transfer *t, bool delivered,
		uint64_t now)
{
	if (!t->sent)
		TAILQ_REMOVE(&r->receives, t, in_receives);
	t->delivered = delivered;
	t->last_ns = now;
	move_to(r, t, OVER);
	r->stats.active--;
}

static void report(struct rmpp *r, const struct rmpp_gone *gone)
{
	r->stats.gone[gone->reason]++;
	if (r->opts.gone)
		r->opts.gone(gone, r->opts.context);
}

static void give_up_for(struct rmpp *r, struct transfer *t, uint64_t now,
			enum rmpp_reason reason, uint8_t status, bool by_peer)
{
	struct rmpp_gone gone = {
		.reason = reason,
		.rmpp_status = status,
		.by_peer = by_peer,
		.sent = t->sent,
		.peer = t->peer,
		.tid = t->tid,
		.mgmt_class = t->mgmt_class,
		.method = t->method,
		.attr_id = t->attr_id,
		.segments = t->segments,
		.missing = t->in_order + 1,
		.bytes = (uint64_t)t->segments * MAD_SIZE,
		.time_ns = t->begun_time_ns,
	};

	drop_data(r, t);
	end(r, t, false, now);
	report(r, &gone);
}

static void give_up(struct rmpp *r, struct transfer *t, uint64_t now,
		    enum rmpp_reason reason)
{
	give_up_for(r, t, now, reason, 0, false);
}

/* Whom to give up for another: first who will hardly become whole. */
static struct transfer *find_victim(const struct rmpp *r,
				    const struct transfer *other_than)
{
	const enum state order[] = { DAMAGED, ACTIVE };
	struct transfer *t;
	int i;

	for (i = 0; i < 2; i++) {
		t = TAILQ_FIRST(&r->lists[order[i]]);
		if (t && t == other_than)
			t = TAILQ_NEXT(t, in_list);
		if (t)
			return t;
	}
	return NULL;
}

static struct transfer *get_free(struct rmpp *r, uint64_t now)
{
	struct transfer *t = TAILQ_FIRST(&r->free);

	if (!t && r->used < r->opts.max_transfers)
		return &r->transfers[r->used++];
	if (!t) {
		t = TAILQ_FIRST(&r->lists[OVER]);
		if (!t) {
			t = find_victim(r, NULL);
			give_up(r, t, now, RMPP_TABLE_FULL);
		}
		release(r, t);
	}
	TAILQ_REMOVE(&r->free, t, in_list);
	return t;
}

static struct transfer *begin(struct rmpp *r, const struct key *key,
			      const struct mad_capture *cap)
{
	struct transfer *t = get_free(r, cap->mono_ns);

	memset(t, 0, sizeof(*t));
	t->key = *key;
	t->peer = cap->peer;
	t->tid = mad_get64(cap->data + MAD_TID);
	t->sent = cap->sent;
	t->mgmt_class = cap->data[MAD_CLASS];
	t->method = cap->data[MAD_METHOD];
	t->attr_id = mad_get16(cap->data + MAD_ATTR_ID);
	t->begun_ns = t->last_ns = cap->mono_ns;
	t->begun_time_ns = cap->time_ns;
	LIST_INIT(&t->early);
	t->state = ACTIVE;
	LIST_INSERT_HEAD(find_bucket(r, key), t, in_bucket);
	TAILQ_INSERT_TAIL(&r->lists[ACTIVE], t, in_list);
	if (!t->sent)
		TAILQ_INSERT_TAIL(&r->receives, t, in_receives);
	r->stats.transfers++;
	r->stats.active++;
	return t;
}

/*
 * Memory
 */

static void add_bytes(struct rmpp *r, size_t bytes)
{
	r->stats.bytes += bytes;
	if (r->stats.bytes > r->stats.bytes_max)
		r->stats.bytes_max = r->stats.bytes;
}

/* Room for as many bytes more, for which others may have to go. */
static bool make_room(struct rmpp *r, const struct transfer *t, size_t bytes,
		      uint64_t now)
{
	struct transfer *victim;

	if (bytes > r->opts.max_total)
		return false;
	while (r->stats.bytes > r->opts.max_total - bytes) {
		victim = find_victim(r, t);
		if (!victim)
			return false;
		give_up(r, victim, now, RMPP_NO_ROOM);
	}
	return true;
}

/* Twice as large, or where that is too much, as large as it must be. */
static bool grow(struct rmpp *r, struct transfer *t, size_t need, uint64_t now)
{
	size_t room = t->room * 2;
	uint8_t *data;

	if (room > r->opts.max_message)
		room = r->opts.max_message;
	if (room < need || r->stats.bytes + room - t->room > r->opts.max_total)
		room = need;
	if (!make_room(r, t, room - t->room, now))
		return false;
	data = realloc(t->data, room);
	if (!data)
		return false;
	add_bytes(r, room - t->room);
	t->data = data;
	t->room = room;
	return true;
}

static bool append(struct rmpp *r, struct transfer *t, const uint8_t *data,
		   size_t len, uint64_t now)
{
	if (t->len + len > t->room && !grow(r, t, t->len + len, now))
		return false;
	memcpy(t->data + t->len, data, len);
	t->len += len;
	return true;
}

static void advance(struct transfer *t, bool is_last, uint32_t payload)
{
	t->in_order++;
	t->is_end = is_last;
	t->end_payload = payload;
}

static bool keep_early(struct rmpp *r, struct transfer *t,
		       const struct segment *s)
{
	struct early *e;

	if (!make_room(r, t, sizeof(*e), s->cap->mono_ns))
		return false;
	e = malloc(sizeof(*e));
	if (!e)
		return false;
	add_bytes(r, sizeof(*e));
	e->transfer = t;
	e->number = s->number;
	e->payload = s->payload;
	e->reached = get_reached(t);
	e->is_last = s->is_last;
	memcpy(e->data, s->cap->data + s->offset, MAD_SIZE - s->offset);
	LIST_INSERT_HEAD(find_early_bucket(r, t, s->number), e, in_bucket);
	LIST_INSERT_HEAD(&t->early, e, in_transfer);
	return true;
}

/*
 * A last segment before another that is there is none: the kernel looks at the
 * one where it has to stop (update_seg_num, then get_last_flag).
 */
static bool take_early(struct rmpp *r, struct transfer *t, size_t offset,
		       uint64_t now)
{
	struct early *e;

	while ((e = find_early(r, t, t->in_order + 1))) {
		if (is_beyond(r, t, e->number, e->reached)) {
			drop_beyond(r, t, e);
			break;
		}
		if (!append(r, t, e->data, MAD_SIZE - offset, now))
			return false;
		advance(t, e->is_last, e->payload);
		free_early(r, e);
	}
	return true;
}

static bool store(struct rmpp *r, struct transfer *t, const struct segment *s)
{
	const struct mad_capture *cap = s->cap;
	size_t offset = s->number == 1 ? 0 : s->offset;

	if (s->number != t->in_order + 1)
		return keep_early(r, t, s);
	if (!append(r, t, cap->data + offset, MAD_SIZE - offset, cap->mono_ns))
		return false;
	advance(t, s->is_last, s->payload);
	return take_early(r, t, s->offset, cap->mono_ns);
}

/*
 * DATA
 */

static void refuse(struct rmpp *r, const struct mad_capture *cap,
		   uint8_t status)
{
	struct rmpp_gone gone = {
		.reason = RMPP_MALFORMED,
		.rmpp_status = status,
		.sent = cap->sent,
		.peer = cap->peer,
		.tid = mad_get64(cap->data + MAD_TID),
		.mgmt_class = cap->data[MAD_CLASS],
		.method = cap->data[MAD_METHOD],
		.attr_id = mad_get16(cap->data + MAD_ATTR_ID),
		.segments = 1,
		.bytes = MAD_SIZE,
		.time_ns = cap->time_ns,
	};

	report(r, &gone);
}

/*
 * Is this first segment that of another message with the key of `t`? Of what
 * is received the kernel takes it for a duplicate until the message is
 * delivered and 10 s more (insert_rmpp_recv). What is sent it sends again from
 * behind what was acknowledged on, the same bytes, and soon (ib_retry_rmpp).
 */
static bool is_new(const struct rmpp *r, const struct transfer *t,
		   const struct segment *s)
{
	const struct mad_capture *cap = s->cap;

	if (t->state == OVER && !t->delivered)
		return true;
	if (!t->sent || !t->in_order)
		return false;
	return t->acked || hash_mad(r, cap) != t->first_hash ||
	       elapsed(cap->mono_ns, t->last_ns) >= resend_ns;
}

/* The kernel's 40 s begin with the first segment (start_rmpp). */
static void begin_again(struct rmpp *r, struct transfer *t, uint64_t now)
{
	t->begun_ns = now;
	TAILQ_REMOVE(&r->receives, t, in_receives);
	TAILQ_INSERT_TAIL(&r->receives, t, in_receives);
}

/* The copy that came first counts, but for one that the kernel has dropped. */
static bool has_segment(struct rmpp *r, struct transfer *t, uint32_t number)
{
	struct early *e;

	if (number <= t->in_order)
		return true;
	e = find_early(r, t, number);
	if (!e)
		return false;
	if (!is_beyond(r, t, number, e->reached))
		return true;
	drop_beyond(r, t, e);
	return false;
}

/*
 * Of what the kernel sends, when another message was begun and not captured.
 * A peer may contradict itself: see take_early().
 */
static bool contradicts(const struct transfer *t, const struct segment *s)
{
	if (!t->sent)
		return false;
	if (t->last && s->number > t->last)
		return true;
	return s->is_last && s->number < t->highest;
}

static bool is_too_long(const struct rmpp *r, const struct segment *s)
{
	/* There is at least one byte behind one that is not the last. */
	if (!s->is_last)
		return message_size(s->offset, s->number, PAYLOAD_MAX) >=
			r->opts.max_message;
	return message_size(s->offset, s->number, s->payload) >
		r->opts.max_message;
}

static enum rmpp_result deliver(struct rmpp *r, struct transfer *t,
				const struct segment *s,
				struct mad_capture *whole, uint32_t *segments)
{
	const struct mad_capture *cap = s->cap;

	*whole = *cap;
	*segments = t->in_order;
	whole->size = (size_t)message_size(s->offset, t->in_order,
					   t->end_payload);
	whole->len = whole->size;
	if (t->data) {
		r->whole = t->data;
		r->whole_room = t->room;
		t->data = NULL;
		t->len = t->room = 0;
		whole->data = r->whole;
	} else if (cap->len < whole->len) {
		whole->len = cap->len;
	}
	if (t->cut && t->cut < whole->len)
		whole->len = t->cut;
	if (t->sent) {
		whole->time_ns = t->time_ns;
		whole->mono_ns = t->mono_ns;
	}
	if (lengths_lie(s->offset, t->in_order, t->first_payload,
			t->end_payload))
		r->stats.lied++;
	r->stats.whole++;
	drop_data(r, t);	/* early ones behind the end */
	end(r, t, true, cap->mono_ns);
	return RMPP_WHOLE;
}

/* Where in the message the bytes end that were captured of this segment. */
static void note_cut(struct transfer *t, const struct segment *s)
{
	size_t len = s->cap->len, end = len;

	if (s->number > 1 && len < s->offset)
		len = s->offset;
	if (s->number > 1)
		end = len + (size_t)(s->number - 1) * (MAD_SIZE - s->offset);
	if (!t->cut || end < t->cut)
		t->cut = end;
}

static enum rmpp_result take(struct rmpp *r, struct transfer *t,
			     const struct segment *s,
			     struct mad_capture *whole, uint32_t *segments)
{
	const struct mad_capture *cap = s->cap;
	bool is_only = s->number == 1 && s->is_last;

	r->stats.segments++;
	t->segments++;
	if (s->number > t->highest)
		t->highest = s->number;
	if (s->number == 1) {
		t->first_payload = s->payload;
		t->time_ns = cap->time_ns;
		t->mono_ns = cap->mono_ns;
		if (t->sent)
			t->first_hash = hash_mad(r, cap);
		else
			begin_again(r, t, cap->mono_ns);
	}
	if (s->is_last)
		t->last = s->number;
	if (is_only) {
		advance(t, true, s->payload);
		return deliver(r, t, s, whole, segments);
	}

	if (cap->len < MAD_SIZE) {
		give_up(r, t, cap->mono_ns, RMPP_CUT);
		return RMPP_PART;
	}
	if (is_too_long(r, s)) {
		give_up(r, t, cap->mono_ns, RMPP_TOO_LONG);
		return RMPP_PART;
	}
	if (!store(r, t, s)) {
		give_up(r, t, cap->mono_ns, RMPP_NO_ROOM);
		return RMPP_PART;
	}
	if (t->is_end)
		return deliver(r, t, s, whole, segments);
	if (t->state == DAMAGED && t->acked <= t->in_order)
		move_to(r, t, ACTIVE);
	touch(r, t, cap->mono_ns);
	return RMPP_PART;
}

/* What is behind the cut is zero, and nobody will see it: see deliver(). */
static enum rmpp_result take_cut(struct rmpp *r, struct transfer *t,
				 const struct segment *s,
				 struct mad_capture *whole, uint32_t *segments)
{
	struct mad_capture cap = *s->cap;
	struct segment padded = *s;
	uint8_t mad[MAD_SIZE] = { 0 };

	note_cut(t, s);
	memcpy(mad, cap.data, cap.len);
	cap.data = mad;
	cap.len = MAD_SIZE;
	padded.cap = &cap;
	return take(r, t, &padded, whole, segments);
}

/* More of a message that is whole or given up already. */
static void take_late(struct rmpp *r, struct transfer *t, uint64_t now)
{
	if (t->delivered)
		r->stats.duplicates++;
	else
		r->stats.late++;
	/* The kernel's 10 s for what is received begin at its end. */
	if (t->sent || !t->delivered)
		touch(r, t, now);
}

/*
 * A segment that did not go out: the kernel gives up the message. With it fail
 * those behind it that are underway; each is part of the same failure.
 */
static enum rmpp_result fail(struct rmpp *r, const struct mad_capture *cap)
{
	uint32_t number = 0;
	struct transfer *t;
	struct key key;
	bool again;

	make_key(&key, cap, true, cap->data[MAD_METHOD]);
	t = find(r, &key);
	if (t && t->state != OVER)
		give_up(r, t, cap->mono_ns, RMPP_SEND_ERROR);
	if (cap->len >= RMPP_DATA_OFFSET)
		number = mad_get32(cap->data + RMPP_SEGMENT);
	again = r->failed_number && number > r->failed_number &&
		!memcmp(r->failed.word, key.word, sizeof(key.word));
	r->failed = key;
	r->failed_number = number;
	return again ? RMPP_PART : RMPP_NONE;
}

/* The number is not among what was captured. */
static void take_headless(struct rmpp *r, const struct mad_capture *cap)
{
	struct transfer *t;
	struct key key;

	make_key(&key, cap, cap->sent, cap->data[MAD_METHOD]);
	t = find(r, &key);
	if (t && t->state == OVER) {
		take_late(r, t, cap->mono_ns);
		return;
	}
	if (!t)
		t = begin(r, &key, cap);
	t->segments++;
	r->stats.segments++;
	give_up(r, t, cap->mono_ns, RMPP_CUT);
}

static enum rmpp_result put_data(struct rmpp *r, const struct mad_capture *cap,
				 struct mad_capture *whole, uint32_t *segments)
{
	struct segment s = { .cap = cap };
	struct transfer *t;
	struct key key;

	if (cap->len < RMPP_DATA_OFFSET) {
		take_headless(r, cap);
		return RMPP_PART;
	}
	s.number = mad_get32(cap->data + RMPP_SEGMENT);
	s.payload = mad_get32(cap->data + RMPP_PAYLOAD);
	s.is_last = flags_of(cap) & RMPP_FLAG_LAST;
	s.offset = rmpp_data_offset(cap->data[MAD_CLASS]);

	make_key(&key, cap, cap->sent, cap->data[MAD_METHOD]);
	t = find(r, &key);
	if (t && s.number == 1 && is_new(r, t, &s)) {
		if (t->state != OVER)
			give_up(r, t, cap->mono_ns, RMPP_REPLACED);
		release(r, t);
		t = NULL;
	}
	if (t && t->state == OVER) {
		take_late(r, t, cap->mono_ns);
		return RMPP_PART;
	}
	/* Before the first one it is kept, to tell of a first that is lost. */
	if (t && get_reached(t) &&
	    is_beyond(r, t, s.number, get_reached(t))) {
		r->stats.beyond++;
		return RMPP_PART;
	}
	if (t && has_segment(r, t, s.number)) {
		r->stats.duplicates++;
		/* A peer's duplicates keep nothing alive. */
		if (t->sent)
			touch(r, t, cap->mono_ns);
		return RMPP_PART;
	}
	if (t && contradicts(t, &s)) {
		give_up(r, t, cap->mono_ns, RMPP_CONFLICT);
		if (s.number != 1)
			return RMPP_PART;
		release(r, t);
		t = NULL;
	}
	if (!t)
		t = begin(r, &key, cap);
	if (cap->len < MAD_SIZE && r->opts.keep_cut &&
	    !(s.number == 1 && s.is_last))
		return take_cut(r, t, &s, whole, segments);
	return take(r, t, &s, whole, segments);
}

/*
 * ACK, STOP and ABORT. Who answers a segment gives the answer the segment's
 * header with the R bit of the method turned over (format_ack, nack_recv).
 */

static struct transfer *find_answered(const struct rmpp *r,
				      const struct mad_capture *cap)
{
	struct key key;

	make_key(&key, cap, !cap->sent,
		 cap->data[MAD_METHOD] ^ METHOD_RESPONSE);
	return find(r, &key);
}

/* One that the kernel takes for the end of its send (process_rmpp_ack). */
static void put_bad_ack(struct rmpp *r, struct transfer *t,
			const struct mad_capture *cap)
{
	if (t->sent && t->state != OVER)
		give_up_for(r, t, cap->mono_ns, RMPP_ABORTED,
			    cap->data[RMPP_STATUS] ? RMPP_STATUS_BAD_STATUS :
			    RMPP_STATUS_W2S, false);
}

static void put_ack(struct rmpp *r, const struct mad_capture *cap)
{
	struct transfer *t;
	uint32_t number, new_window_last;

	if (cap->len < RMPP_DATA_OFFSET)
		return;
	t = find_answered(r, cap);
	if (!t)
		return;
	number = mad_get32(cap->data + RMPP_SEGMENT);
	new_window_last = mad_get32(cap->data + RMPP_PAYLOAD);
	if (cap->data[RMPP_STATUS] || new_window_last < number) {
		put_bad_ack(r, t, cap);
		return;
	}
	learn_window(r, t, number, new_window_last);
	if (number > t->acked)
		t->acked = number;
	if (t->state != ACTIVE || t->acked <= t->in_order)
		return;
	t->last_ns = cap->mono_ns;
	move_to(r, t, DAMAGED);
}

/*
 * What a STOP or ABORT ends; often nothing. One that comes in ends what we
 * send (process_rmpp_stop, process_rmpp_abort: abort_send alone). A receive
 * goes on after it, also when the data's sender says it.
 *
 * One that goes out says what the kernel has done. A receive ends by the
 * kernel's 40 s alone (recv_timeout_handler); a bad segment is answered with
 * an ABORT, but costs nothing else (process_rmpp_data). What we send is over
 * when the kernel refuses an answer to it. BAD_STATUS is no such sign, because
 * the kernel says it of DATA too; but see put_bad_ack().
 */
static struct transfer *find_ended(const struct rmpp *r,
				   const struct mad_capture *cap)
{
	struct key key;

	if (!cap->sent)
		return find_answered(r, cap);
	switch (cap->data[RMPP_STATUS]) {
	case RMPP_STATUS_T2L:
		return find_answered(r, cap);
	case RMPP_STATUS_BADT:
	case RMPP_STATUS_W2S:
	case RMPP_STATUS_S2B:
	case RMPP_STATUS_UNV:
		make_key(&key, cap, true, cap->data[MAD_METHOD]);
		return find(r, &key);
	default:
		return NULL;
	}
}

static void put_end(struct rmpp *r, const struct mad_capture *cap)
{
	struct transfer *t = find_ended(r, cap);

	if (t && t->state != OVER)
		give_up_for(r, t, cap->mono_ns,
			    cap->data[RMPP_TYPE] == RMPP_STOP ?
			    RMPP_STOPPED : RMPP_ABORTED,
			    cap->data[RMPP_STATUS], !cap->sent);
}

static void put_control(struct rmpp *r, const struct mad_capture *cap)
{
	r->stats.controls++;
	if (cap->sent && cap->completion != MAD_OK)
		return;		/* did not go out */
	if (cap->data[RMPP_TYPE] == RMPP_ACK)
		put_ack(r, cap);
	else
		put_end(r, cap);
}

/*
 * Time
 */

static void drop_whole(struct rmpp *r)
{
	free(r->whole);
	r->whole = NULL;
	r->stats.bytes -= r->whole_room;
	r->whole_room = 0;
}

static void expire(struct rmpp *r, uint64_t now)
{
	struct transfer *t;

	while ((t = TAILQ_FIRST(&r->lists[DAMAGED])) &&
	       elapsed(now, t->last_ns) >= missed_ns)
		give_up(r, t, now, RMPP_MISSED);
	while ((t = TAILQ_FIRST(&r->receives)) &&
	       elapsed(now, t->begun_ns) >= r->opts.timeout_ns)
		give_up(r, t, now, RMPP_TIMED_OUT);
	/* One that is received was touched after it began: it is gone. */
	while ((t = TAILQ_FIRST(&r->lists[ACTIVE])) &&
	       elapsed(now, t->last_ns) >= r->opts.timeout_ns)
		give_up(r, t, now, RMPP_TIMED_OUT);
	while ((t = TAILQ_FIRST(&r->lists[OVER])) &&
	       elapsed(now, t->last_ns) >= linger_ns)
		release(r, t);
}

void rmpp_tick(struct rmpp *r, uint64_t mono_ns)
{
	drop_whole(r);
	expire(r, mono_ns);
}

void rmpp_flush(struct rmpp *r)
{
	struct transfer *t;

	drop_whole(r);
	while ((t = find_victim(r, NULL)))
		give_up(r, t, t->last_ns, RMPP_FLUSHED);
	while ((t = TAILQ_FIRST(&r->lists[OVER])))
		release(r, t);
}

enum rmpp_result rmpp_put(struct rmpp *r, const struct mad_capture *cap,
			  struct mad_capture *whole, uint32_t *segments)
{
	uint8_t refusal;

	drop_whole(r);
	expire(r, cap->mono_ns);

	if (cap->size != MAD_SIZE || !is_rmpp(cap->data, cap->len))
		return RMPP_NONE;
	if (cap->sent && cap->completion != MAD_OK &&
	    cap->data[RMPP_TYPE] == RMPP_DATA)
		return fail(r, cap);
	refusal = refusal_of(cap->data, cap->len);
	if (refusal) {
		refuse(r, cap, refusal);
		return RMPP_PART;
	}
	if (cap->data[RMPP_TYPE] == RMPP_DATA)
		return put_data(r, cap, whole, segments);
	put_control(r, cap);
	return RMPP_PART;
}

bool rmpp_is_control(const uint8_t *mad, size_t len)
{
	return is_rmpp(mad, len) && mad[RMPP_TYPE] >= RMPP_ACK &&
	       mad[RMPP_TYPE] <= RMPP_ABORT;
}

bool rmpp_is_malformed(const uint8_t *mad, size_t len)
{
	return is_rmpp(mad, len) && refusal_of(mad, len);
}

void rmpp_get_stats(const struct rmpp *r, struct rmpp_stats *stats)
{
	*stats = r->stats;
}

const char *rmpp_reason_name(enum rmpp_reason reason)
{
	static const char *const names[RMPP_REASONS] = {
		[RMPP_ABORTED] = "aborted",
		[RMPP_STOPPED] = "stopped",
		[RMPP_TIMED_OUT] = "timed_out",
		[RMPP_MISSED] = "missed",
		[RMPP_REPLACED] = "replaced",
		[RMPP_TOO_LONG] = "too_long",
		[RMPP_NO_ROOM] = "no_room",
		[RMPP_TABLE_FULL] = "table_full",
		[RMPP_CONFLICT] = "conflict",
		[RMPP_CUT] = "cut",
		[RMPP_MALFORMED] = "malformed",
		[RMPP_SEND_ERROR] = "send_error",
		[RMPP_FLUSHED] = "flushed",
	};

	return (unsigned)reason < RMPP_REASONS ? names[reason] : NULL;
}

/*
 * Life
 */

static size_t power_of_two(size_t at_least)
{
	size_t n = 1;

	while (n < at_least)
		n *= 2;
	return n;
}

static void set_options(struct rmpp *r, const struct rmpp_options *opts)
{
	r->opts = *opts;
	if (!r->opts.max_message)
		r->opts.max_message = default_message;
	if (r->opts.max_message < MAD_SIZE)
		r->opts.max_message = MAD_SIZE;
	if (!r->opts.max_total)
		r->opts.max_total = default_total;
	if (!r->opts.max_transfers)
		r->opts.max_transfers = DEFAULT_TRANSFERS;
	if (!r->opts.timeout_ns)
		r->opts.timeout_ns = default_timeout_ns;
}

struct rmpp *rmpp_new(const struct rmpp_options *opts)
{
	struct rmpp *r;
	size_t n;
	int i;

	r = calloc(1, sizeof(*r));
	if (!r)
		return NULL;
	set_options(r, opts);
	siphash_seed(r->seed);

	/* All fresh from the kernel: costs nothing until it is used. */
	r->transfers = calloc(r->opts.max_transfers, sizeof(*r->transfers));
	if (!r->transfers)
		goto fail;
	n = power_of_two(r->opts.max_transfers);
	r->buckets = calloc(n, sizeof(*r->buckets));
	if (!r->buckets)
		goto fail;
	r->bucket_mask = n - 1;
	n = r->opts.max_total / sizeof(struct early) / 2;
	n = power_of_two(n < EARLY_BUCKETS_MAX ? n : EARLY_BUCKETS_MAX);
	r->early_buckets = calloc(n, sizeof(*r->early_buckets));
	if (!r->early_buckets)
		goto fail;
	r->early_mask = n - 1;

	TAILQ_INIT(&r->free);
	TAILQ_INIT(&r->receives);
	for (i = 0; i < STATES; i++)
		TAILQ_INIT(&r->lists[i]);
	return r;

fail:
	rmpp_free(r);
	errno = ENOMEM;
	return NULL;
}

void rmpp_free(struct rmpp *r)
{
	size_t i;

	if (!r)
		return;
	drop_whole(r);
	for (i = 0; i < r->used; i++)
		drop_data(r, &r->transfers[i]);
	free(r->early_buckets);
	free(r->buckets);
	free(r->transfers);
	free(r);
}
