/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * RMPP reassembly, fed with segments made here. Each rule has a test; then
 * random messages are cut by a segmenter of this file's own, mixed, repeated
 * and lost, and compared with what came out.
 */
#include <check.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "rmpp.h"
#include "../run.h"

#define COUNT(table) (sizeof(table) / sizeof((table)[0]))
#define MS UINT64_C(1000000)
#define SECOND (1000 * MS)
#define REALTIME (1000000 * SECOND)

/* Check tells its parent of each assertion passed: too slow in long loops. */
#define check(condition) do { if (!(condition)) \
	ck_abort_msg("%s", #condition); } \
	while (0)

enum {
	FIRST = RMPP_FLAG_FIRST,
	LAST = RMPP_FLAG_LAST,
	GET_TABLE = METHOD_GET_TABLE,
	TABLE_RESP = METHOD_GET_TABLE | METHOD_RESPONSE,
	MULTI = METHOD_GET_MULTI,
	MULTI_RESP = METHOD_GET_MULTI | METHOD_RESPONSE,
	VENDOR_CLASS = 0x31,
	TID = 0x1234,
	SEGMENT = 200,		/* data of an SA segment */
	GONE_MAX = 64,
};

static struct rmpp *reassembler;
static struct rmpp_gone gone[GONE_MAX];
static size_t n_gone;
static uint64_t now;

/* What put() gives to rmpp_put(), and what comes back. */
static uint8_t mad[MAD_SIZE];
static struct mad_capture cap, whole;
static uint32_t segments;

static void note_gone(const struct rmpp_gone *g, void *context)
{
	check(context == &reassembler);
	if (n_gone < GONE_MAX)
		gone[n_gone] = *g;
	n_gone++;
}

static void open_with(struct rmpp_options opts)
{
	opts.gone = note_gone;
	opts.context = &reassembler;
	rmpp_free(reassembler);
	reassembler = rmpp_new(&opts);
	ck_assert_ptr_nonnull(reassembler);
	n_gone = 0;
}

static void setup(void)
{
	now = 100 * SECOND;
	reassembler = NULL;
	open_with((struct rmpp_options){ .max_transfers = 64 });
}

static struct rmpp_stats get_stats(void)
{
	struct rmpp_stats stats;

	rmpp_get_stats(reassembler, &stats);
	return stats;
}

static void check_sums(void)
{
	struct rmpp_stats s = get_stats();
	uint64_t ended = s.whole;
	int i;

	for (i = 0; i < RMPP_REASONS; i++)
		if (i != RMPP_MALFORMED)
			ended += s.gone[i];
	check(s.transfers == ended + s.active);
	check(s.bytes <= s.bytes_max);
}

static void teardown(void)
{
	check_sums();
	rmpp_flush(reassembler);
	check_sums();
	ck_assert_uint_eq(get_stats().bytes, 0);
	ck_assert_uint_eq(get_stats().active, 0);
	rmpp_free(reassembler);
	reassembler = NULL;
}

static void put16(uint8_t *p, uint16_t value)
{
	p[0] = (uint8_t)(value >> 8);
	p[1] = (uint8_t)value;
}

static void put32(uint8_t *p, uint32_t value)
{
	put16(p, (uint16_t)(value >> 16));
	put16(p + 2, (uint16_t)value);
}

static void put64(uint8_t *p, uint64_t value)
{
	put32(p, (uint32_t)(value >> 32));
	put32(p + 4, (uint32_t)value);
}

/* A MAD of a GetTableResp; tests change it before put(). */
static void make(bool sent, uint8_t method, uint64_t tid)
{
	memset(mad, 0, sizeof(mad));
	mad[MAD_BASE_VERSION] = 1;
	mad[MAD_CLASS] = CLASS_SUBN_ADM;
	mad[MAD_CLASS_VERSION] = 2;
	mad[MAD_METHOD] = method;
	put64(mad + MAD_TID, tid);
	put16(mad + MAD_ATTR_ID, ATTR_PATH_RECORD);
	mad[RMPP_VERSION] = 1;
	mad[RMPP_TYPE] = RMPP_DATA;
	mad[RMPP_FLAGS] = RMPP_FLAG_ACTIVE | 0x70;

	memset(&cap, 0, sizeof(cap));
	cap.len = cap.size = MAD_SIZE;
	cap.sent = sent;
	cap.peer.lid = 7;
	cap.peer.qpn = 1;
}

/* What a test segment has at a place, the same in all copies of it. */
static uint8_t byte_of(uint32_t number, size_t at)
{
	return (uint8_t)(number * 31 + at * 7 + (at >> 8) + 1);
}

static void make_data(bool sent, uint8_t method, uint64_t tid, uint32_t number,
		      uint8_t flags, uint32_t payload)
{
	size_t i;

	make(sent, method, tid);
	mad[RMPP_FLAGS] |= flags;
	put32(mad + RMPP_SEGMENT, number);
	put32(mad + RMPP_PAYLOAD, payload);
	for (i = RMPP_DATA_OFFSET; i < MAD_SIZE; i++)
		mad[i] = byte_of(number, i);
}

/* A copy of exactly what was captured, so that ASan sees what is read. */
static enum rmpp_result put(void)
{
	static uint8_t *copy;
	enum rmpp_result result;

	now += MS;
	cap.mono_ns = now;
	cap.time_ns = now + REALTIME;
	free(copy);
	copy = malloc(cap.len ? cap.len : 1);
	check(copy);
	memcpy(copy, mad, cap.len < MAD_SIZE ? cap.len : MAD_SIZE);
	cap.data = copy;
	memset(&whole, 0, sizeof(whole));
	segments = 0;
	result = rmpp_put(reassembler, &cap, &whole, &segments);
	check((result == RMPP_WHOLE) == (whole.data != NULL));
	return result;
}

static enum rmpp_result put_data(bool sent, uint64_t tid, uint32_t number,
				 uint8_t flags, uint32_t payload)
{
	make_data(sent, TABLE_RESP, tid, number, flags, payload);
	return put();
}

/* Segments 1 to n - 1 of n, all full. */
static void put_all_but_last(bool sent, uint64_t tid, uint32_t n)
{
	uint32_t i;

	for (i = 1; i < n; i++)
		check(put_data(sent, tid, i, i == 1 ? FIRST : 0,
			       i == 1 ? n * 220 : 0) == RMPP_PART);
}

/* An answer to a message: it goes in the other direction. */
static void make_control(bool message_sent, uint8_t message_method,
			 uint64_t tid, uint8_t type)
{
	make(!message_sent, message_method ^ METHOD_RESPONSE, tid);
	mad[RMPP_TYPE] = type;
}

static void put_ack(bool message_sent, uint64_t tid, uint32_t number)
{
	make_control(message_sent, TABLE_RESP, tid, RMPP_ACK);
	put32(mad + RMPP_SEGMENT, number);
	put32(mad + RMPP_PAYLOAD, number + 64);
	check(put() == RMPP_PART);
}

static void tick(uint64_t passed)
{
	now += passed;
	rmpp_tick(reassembler, now);
}

static void check_gone(enum rmpp_reason reason)
{
	ck_assert_uint_eq(n_gone, 1);
	ck_assert_str_eq(rmpp_reason_name(gone[0].reason),
			 rmpp_reason_name(reason));
	ck_assert_uint_eq(get_stats().gone[reason], 1);
	n_gone = 0;
}

/* The message of full segments but for the last one, offset as for SA. */
static void check_whole(uint32_t n, uint32_t last_payload)
{
	size_t size = 36 + (n - 1) * SEGMENT + last_payload;
	size_t i;

	ck_assert_uint_eq(segments, n);
	ck_assert_uint_eq(whole.size, size);
	ck_assert_uint_eq(whole.len, size);
	ck_assert_uint_eq(mad_get32(whole.data + RMPP_SEGMENT), 1);
	for (i = RMPP_DATA_OFFSET; i < SA_DATA && i < size; i++)
		check(whole.data[i] == byte_of(1, i));
	for (i = SA_DATA; i < size; i++)
		check(whole.data[i] ==
		      byte_of((uint32_t)((i - SA_DATA) / SEGMENT) + 1,
			      SA_DATA + (i - SA_DATA) % SEGMENT));
}

/*
 * What is no RMPP, and what is broken
 */

START_TEST(test_not_rmpp)
{
	static const uint8_t classes[] = {
		CLASS_SUBN_LID, CLASS_SUBN_DIR, 0x04, 0x05, 0x07, 0x08, 0x09,
		0x0f, 0x20, 0x21, 0x2f, 0x50, 0xff, 0,
	};
	static const size_t lens[] = { 0, 23, 24, 26, 27 };
	size_t i;

	for (i = 0; i < COUNT(classes); i++) {
		make_data(false, TABLE_RESP, TID, 1, FIRST, 440);
		mad[MAD_CLASS] = classes[i];
		ck_assert_int_eq(put(), RMPP_NONE);
	}
	make_data(false, GET_TABLE, TID, 1, FIRST | LAST, 220);
	mad[RMPP_FLAGS] &= (uint8_t)~RMPP_FLAG_ACTIVE;
	ck_assert_int_eq(put(), RMPP_NONE);
	memset(mad + RMPP_VERSION, 0xff, 12);
	mad[RMPP_FLAGS] = 0xfe;
	ck_assert_int_eq(put(), RMPP_NONE);

	/* no single MAD: above RMPP already, or of another link */
	make_data(false, TABLE_RESP, TID, 1, FIRST, 440);
	cap.size = 2000;
	ck_assert_int_eq(put(), RMPP_NONE);
	cap.size = 100;
	cap.len = 100;
	ck_assert_int_eq(put(), RMPP_NONE);
	cap.size = MAD_SIZE;
	cap.len = MAD_SIZE + 1;
	ck_assert_int_eq(put(), RMPP_NONE);
	/* cut where RMPP begins: nothing can be said */
	for (i = 0; i < COUNT(lens); i++) {
		make_data(false, TABLE_RESP, TID, 1, FIRST, 440);
		cap.len = lens[i];
		ck_assert_int_eq(put(), RMPP_NONE);
	}
	ck_assert_uint_eq(n_gone, 0);
	ck_assert_uint_eq(get_stats().transfers, 0);
}
END_TEST

START_TEST(test_malformed)
{
	static const struct {
		uint8_t version, type, status, flags;
		uint32_t number;
		uint8_t answer;		/* of the kernel */
	} table[] = {
		{ 0, RMPP_DATA, 0, FIRST, 1, RMPP_STATUS_UNV },
		{ 2, RMPP_DATA, 0, FIRST, 1, RMPP_STATUS_UNV },
		{ 2, RMPP_ABORT, 0, 0, 0, RMPP_STATUS_UNV },
		{ 1, 0, 0, FIRST, 1, RMPP_STATUS_BADT },
		{ 1, 5, 0, FIRST, 1, RMPP_STATUS_BADT },
		{ 1, 255, 0, FIRST, 1, RMPP_STATUS_BADT },
		{ 1, RMPP_DATA, 1, FIRST, 1, RMPP_STATUS_BAD_STATUS },
		{ 1, RMPP_DATA, 255, 0, 2, RMPP_STATUS_BAD_STATUS },
		{ 1, RMPP_DATA, 0, 0, 0, RMPP_STATUS_BAD_SEG },
		{ 1, RMPP_DATA, 0, FIRST, 0, RMPP_STATUS_BAD_SEG },
		{ 1, RMPP_DATA, 0, FIRST, 2, RMPP_STATUS_BAD_SEG },
		{ 1, RMPP_DATA, 0, FIRST | LAST, 3, RMPP_STATUS_BAD_SEG },
		{ 1, RMPP_DATA, 0, 0, 1, RMPP_STATUS_BAD_SEG },
		{ 1, RMPP_DATA, 0, LAST, 1, RMPP_STATUS_BAD_SEG },
	};
	size_t i;

	put_all_but_last(false, TID, 3);
	for (i = 0; i < COUNT(table); i++) {
		make_data(false, TABLE_RESP, TID, table[i].number,
			  table[i].flags, 100);
		mad[RMPP_VERSION] = table[i].version;
		mad[RMPP_TYPE] = table[i].type;
		mad[RMPP_STATUS] = table[i].status;
		ck_assert(rmpp_is_malformed(mad, MAD_SIZE));
		ck_assert_int_eq(put(), RMPP_PART);
		ck_assert_uint_eq(n_gone, 1);
		ck_assert_int_eq(gone[0].reason, RMPP_MALFORMED);
		ck_assert_uint_eq(gone[0].rmpp_status, table[i].answer);
		ck_assert_uint_eq(gone[0].tid, TID);
		ck_assert_uint_eq(gone[0].peer.lid, 7);
		n_gone = 0;
	}
	/* the transfer has not suffered */
	ck_assert_int_eq(put_data(false, TID, 3, LAST, 100), RMPP_WHOLE);
	ck_assert(!rmpp_is_malformed(mad, MAD_SIZE));
	check_whole(3, 100);
	ck_assert_uint_eq(get_stats().gone[RMPP_MALFORMED], COUNT(table));
}
END_TEST

/*
 * Whole messages
 */

/* By class: header and data of a MAD, as ib_get_mad_data_offset. */
static const struct {
	uint8_t mgmt_class;
	size_t offset;
} offsets[] = {
	{ CLASS_SUBN_ADM, 56 }, { 0x06, 64 }, { 0x10, 64 }, { 0x12, 64 },
	{ 0x30, 40 }, { VENDOR_CLASS, 40 }, { 0x4f, 40 },
};

START_TEST(test_one_segment)
{
	static const uint32_t payloads[] = { 20, 28, 84, 219, 220 };
	size_t i, j;
	int sent;

	for (i = 0; i < COUNT(offsets); i++)
		for (j = 0; j < COUNT(payloads); j++)
			for (sent = 0; sent < 2; sent++) {
				make_data(sent, TABLE_RESP, i << 8 | j, 1,
					  FIRST | LAST, payloads[j]);
				mad[MAD_CLASS] = offsets[i].mgmt_class;
				ck_assert_int_eq(put(), RMPP_WHOLE);
				ck_assert_uint_eq(segments, 1);
				ck_assert_uint_eq(whole.size,
						  36 + payloads[j]);
				ck_assert_uint_eq(whole.len, whole.size);
				ck_assert_mem_eq(whole.data, mad, whole.len);
				ck_assert_uint_eq(whole.mono_ns, now);
				ck_assert_uint_eq(whole.peer.lid, 7);
				ck_assert_int_eq(whole.sent, sent);
			}
	ck_assert_uint_eq(get_stats().bytes_max, 0);
	ck_assert_uint_eq(n_gone, 0);
}
END_TEST

START_TEST(test_every_class)
{
	size_t i, j, data, size;
	uint8_t first[MAD_SIZE], second[MAD_SIZE], third[MAD_SIZE];

	for (i = 0; i < COUNT(offsets); i++) {
		data = MAD_SIZE - offsets[i].offset;
		make_data(true, TABLE_RESP, TID, 1, FIRST, 2 * 220 + 100);
		mad[MAD_CLASS] = offsets[i].mgmt_class;
		memcpy(first, mad, MAD_SIZE);
		ck_assert_int_eq(put(), RMPP_PART);
		make_data(true, TABLE_RESP, TID, 2, 0, 0);
		mad[MAD_CLASS] = offsets[i].mgmt_class;
		memcpy(second, mad, MAD_SIZE);
		ck_assert_int_eq(put(), RMPP_PART);
		make_data(true, TABLE_RESP, TID, 3, LAST, 100);
		mad[MAD_CLASS] = offsets[i].mgmt_class;
		memcpy(third, mad, MAD_SIZE);
		ck_assert_int_eq(put(), RMPP_WHOLE);

		size = offsets[i].offset + 3 * data - 120;
		ck_assert_uint_eq(whole.size, size);
		ck_assert_uint_eq(segments, 3);
		ck_assert_mem_eq(whole.data, first, MAD_SIZE);
		ck_assert_mem_eq(whole.data + MAD_SIZE,
				 second + offsets[i].offset, data);
		j = MAD_SIZE + data;
		ck_assert_mem_eq(whole.data + j, third + offsets[i].offset,
				 size - j);
	}
	ck_assert_uint_eq(get_stats().lied, 0);
	ck_assert_uint_eq(get_stats().whole, COUNT(offsets));
}
END_TEST

/* What else a capture says: of the one that completes it. */
START_TEST(test_rest_of_capture)
{
	put_all_but_last(false, TID, 2);
	make_data(false, TABLE_RESP, TID, 2, LAST, 50);
	cap.peer.has_gid = false;
	cap.thread = 77;
	cap.condition.known = true;
	ck_assert_int_eq(put(), RMPP_WHOLE);
	check_whole(2, 50);
	ck_assert_uint_eq(whole.thread, 77);
	ck_assert(whole.condition.known);
	ck_assert_int_eq(whole.completion, MAD_OK);
	/* it is held until the next call */
	ck_assert_uint_ge(get_stats().bytes, whole.size);
	tick(0);
	ck_assert_uint_eq(get_stats().bytes, 0);
}
END_TEST

/* The tap's moments: a receive when it is whole, a send when it begins. */
START_TEST(test_times)
{
	uint64_t begun;
	int sent;

	for (sent = 0; sent < 2; sent++) {
		ck_assert_int_eq(put_data(sent, TID, 1, FIRST, 0), RMPP_PART);
		begun = now;
		now += SECOND;
		ck_assert_int_eq(put_data(sent, TID, 2, 0, 0), RMPP_PART);
		now += SECOND;
		ck_assert_int_eq(put_data(sent, TID, 3, LAST, 220),
				 RMPP_WHOLE);
		ck_assert_uint_eq(whole.mono_ns, sent ? begun : now);
		ck_assert_uint_eq(whole.time_ns,
				  (sent ? begun : now) + REALTIME);
	}
}
END_TEST

START_TEST(test_long_message)
{
	const uint32_t n = 5000;

	put_all_but_last(true, TID, n);
	ck_assert_int_eq(put_data(true, TID, n, LAST, 21), RMPP_WHOLE);
	check_whole(n, 21);
	/* a buffer that doubles, and nothing beside it */
	ck_assert_uint_lt(get_stats().bytes_max, 2 * whole.size);
}
END_TEST

/*
 * Order
 */

START_TEST(test_any_order)
{
	uint32_t order[4], used;
	int i, j, k, permutation, rest;
	enum rmpp_result result = RMPP_NONE;
	unsigned received = 0;
	bool sent;

	for (permutation = 0; permutation < 24; permutation++) {
		rest = permutation;
		used = 0;
		for (i = 0; i < 4; i++) {
			k = rest % (4 - i);
			rest /= 4 - i;
			for (j = 0; used & 1u << j || k--; j++)
				;
			used |= 1u << j;
			order[i] = (uint32_t)j + 1;
		}
		/* the kernel begins a receive with segment 1 */
		sent = order[0] != 1;
		received += !sent;
		for (i = 0; i < 4; i++) {
			result = put_data(sent, TID + (unsigned)permutation,
					  order[i], order[i] == 1 ? FIRST :
					  order[i] == 4 ? LAST : 0,
					  order[i] == 4 ? 33 : 0);
			ck_assert_int_eq(result == RMPP_WHOLE, i == 3);
		}
		check_whole(4, 33);
		if (!sent)
			ck_assert_uint_eq(whole.mono_ns, now);
	}
	ck_assert_uint_eq(received, 6);
	ck_assert_uint_eq(get_stats().segments, 4 * 24);
	ck_assert_uint_eq(n_gone, 0);
	tick(0);
	ck_assert_uint_eq(get_stats().bytes, 0);
}
END_TEST

/* The copy that came first counts (find_seg_location drops others). */
START_TEST(test_duplicates)
{
	int sent;

	for (sent = 0; sent < 2; sent++) {
		put_all_but_last(sent, TID, 3);
		make_data(sent, TABLE_RESP, TID, 2, 0, 0);
		memset(mad + SA_DATA, 0xee, SEGMENT);
		ck_assert_int_eq(put(), RMPP_PART);
		put_all_but_last(sent, TID, 3);
		/* early ones too */
		ck_assert_int_eq(put_data(sent, TID, 4, LAST, 99), RMPP_PART);
		ck_assert_int_eq(put_data(sent, TID, 4, LAST, 99), RMPP_PART);
		ck_assert_int_eq(put_data(sent, TID, 3, 0, 0), RMPP_WHOLE);
		check_whole(4, 99);
		ck_assert_uint_eq(get_stats().duplicates,
				  4 * ((unsigned)sent + 1));
		ck_assert_uint_eq(get_stats().segments,
				  4 * ((unsigned)sent + 1));
	}
	ck_assert_uint_eq(n_gone, 0);
}
END_TEST

/* A received first segment is a duplicate until 10 s after the end. */
START_TEST(test_received_again)
{
	uint64_t end;
	int n;

	for (n = 1; n < 3; n++) {
		if (n == 2)
			ck_assert_int_eq(put_data(false, TID + 2, 1, FIRST,
						  440), RMPP_PART);
		ck_assert_int_eq(put_data(false, TID + n, n,
					  n == 1 ? FIRST | LAST : LAST, 220),
				 RMPP_WHOLE);
		end = now;
		make_data(false, TABLE_RESP, TID + n, 1,
			  n == 1 ? FIRST | LAST : FIRST, 100);
		ck_assert_int_eq(put(), RMPP_PART);
		now = end + 9999 * MS - MS;
		ck_assert_int_eq(put(), RMPP_PART);
		/* and the copies do not make it longer */
		now = end + 10000 * MS - MS;
		ck_assert_int_eq(put(), n == 1 ? RMPP_WHOLE : RMPP_PART);
		ck_assert_uint_eq(get_stats().active, n == 1 ? 0 : 1);
	}
	ck_assert_uint_eq(get_stats().duplicates, 4);
	ck_assert_uint_eq(n_gone, 0);
	/* underway it is one too, whatever it has in it, as for the kernel */
	make_data(false, TABLE_RESP, TID + 2, 1, FIRST, 1000);
	ck_assert_int_eq(put(), RMPP_PART);
	ck_assert_uint_eq(get_stats().duplicates, 5);
	ck_assert_int_eq(put_data(false, TID + 2, 2, LAST, 220), RMPP_WHOLE);
}
END_TEST

/* A sent one is another message when it cannot be a retransmission. */
START_TEST(test_sent_again)
{
	/* neither acknowledged nor long ago, and the same */
	ck_assert_int_eq(put_data(true, TID, 1, FIRST | LAST, 84), RMPP_WHOLE);
	now += 2 * SECOND;
	ck_assert_int_eq(put_data(true, TID, 1, FIRST | LAST, 84), RMPP_PART);
	now += 2 * SECOND;
	ck_assert_int_eq(put_data(true, TID, 1, FIRST | LAST, 84), RMPP_PART);
	/* acknowledged */
	put_ack(true, TID, 1);
	ck_assert_int_eq(put_data(true, TID, 1, FIRST | LAST, 84), RMPP_WHOLE);
	/* too long ago to be sent again */
	now += 3 * SECOND;
	ck_assert_int_eq(put_data(true, TID, 1, FIRST | LAST, 84), RMPP_WHOLE);
	/* another one */
	ck_assert_int_eq(put_data(true, TID, 1, FIRST | LAST, 85), RMPP_WHOLE);
	/* captured in part, it is told by that part */
	make_data(true, TABLE_RESP, TID, 1, FIRST | LAST, 86);
	cap.len = 100;
	ck_assert_int_eq(put(), RMPP_WHOLE);
	ck_assert_int_eq(put(), RMPP_PART);
	mad[99]++;
	ck_assert_int_eq(put(), RMPP_WHOLE);
	ck_assert_uint_eq(n_gone, 0);
}
END_TEST

START_TEST(test_sent_again_unfinished)
{
	/* no ACK: the kernel sends its window again */
	put_all_but_last(true, TID, 4);
	now += 2 * SECOND;
	put_all_but_last(true, TID, 4);
	ck_assert_uint_eq(n_gone, 0);
	put_ack(true, TID, 3);
	/* from 4 on, if it was the same message */
	ck_assert_int_eq(put_data(true, TID, 1, FIRST, 880), RMPP_PART);
	ck_assert_uint_eq(gone[0].segments, 3);
	ck_assert_uint_eq(gone[0].missing, 4);
	check_gone(RMPP_REPLACED);
	ck_assert_int_eq(put_data(true, TID, 2, LAST, 30), RMPP_WHOLE);
	check_whole(2, 30);
	ck_assert_uint_eq(get_stats().lied, 1);
}
END_TEST

/*
 * ACK, STOP and ABORT
 */

START_TEST(test_acks)
{
	int sent;

	for (sent = 0; sent < 2; sent++) {
		/* before anything, and of others */
		put_ack(sent, TID, 1);
		ck_assert_int_eq(put_data(sent, TID, 1, FIRST, 660),
				 RMPP_PART);
		put_ack(sent, TID, 1);
		put_ack(!sent, TID, 3);
		put_ack(sent, TID + 1, 3);
		ck_assert_int_eq(put_data(sent, TID, 2, 0, 0), RMPP_PART);
		put_ack(sent, TID, 0);
		put_ack(sent, TID, 2);
		ck_assert_int_eq(put_data(sent, TID, 3, LAST, 220),
				 RMPP_WHOLE);
		put_ack(sent, TID, 3);
		put_ack(sent, TID, 3);
	}
	tick(9 * SECOND);
	ck_assert_uint_eq(n_gone, 0);
	ck_assert_uint_eq(get_stats().transfers, 2);
	ck_assert_uint_eq(get_stats().controls, 16);
	ck_assert_uint_eq(get_stats().duplicates, 0);
}
END_TEST

/* The receiver has what we have not: it will hardly come again. */
START_TEST(test_acked_but_not_captured)
{
	int sent;

	for (sent = 0; sent < 2; sent++) {
		/* out of order for a moment */
		ck_assert_int_eq(put_data(sent, TID, 1, FIRST, 0), RMPP_PART);
		ck_assert_int_eq(put_data(sent, TID, 3, LAST, 220),
				 RMPP_PART);
		put_ack(sent, TID, 3);
		tick(900 * MS);
		ck_assert_int_eq(put_data(sent, TID, 2, 0, 0), RMPP_WHOLE);
		check_whole(3, 220);

		/* filled in, and then idle as any other */
		ck_assert_int_eq(put_data(sent, TID + 2, 1, FIRST, 0),
				 RMPP_PART);
		put_ack(sent, TID + 2, 2);
		ck_assert_int_eq(put_data(sent, TID + 2, 2, 0, 0), RMPP_PART);
		tick(30 * SECOND);
		ck_assert_uint_eq(n_gone, 0);
		ck_assert_int_eq(put_data(sent, TID + 2, 3, LAST, 220),
				 RMPP_WHOLE);

		/* lost; neither old ACKs nor more of them change that */
		ck_assert_int_eq(put_data(sent, TID + 1, 1, FIRST, 0),
				 RMPP_PART);
		now += 2 * SECOND;
		put_ack(sent, TID + 1, 4);
		put_ack(sent, TID + 1, 1);
		ck_assert_int_eq(put_data(sent, TID + 1, 3, 0, 0),
				 RMPP_PART);
		tick(900 * MS);
		put_ack(sent, TID + 1, 4);
		ck_assert_uint_eq(n_gone, 0);
		tick(100 * MS);
		ck_assert_uint_eq(n_gone, 1);
		ck_assert_int_eq(gone[0].reason, RMPP_MISSED);
		ck_assert_uint_eq(gone[0].missing, 2);
		ck_assert_uint_eq(gone[0].segments, 2);
		ck_assert_uint_eq(gone[0].tid, TID + 1);
		n_gone = 0;

		/* only some of it filled in */
		ck_assert_int_eq(put_data(sent, TID + 3, 1, FIRST, 0),
				 RMPP_PART);
		put_ack(sent, TID + 3, 3);
		put_ack(sent, TID + 3, 1);
		ck_assert_int_eq(put_data(sent, TID + 3, 2, 0, 0), RMPP_PART);
		tick(SECOND);
		ck_assert_uint_eq(n_gone, 1);
		ck_assert_int_eq(gone[0].reason, RMPP_MISSED);
		n_gone = 0;
	}
}
END_TEST

static void put_fill(uint64_t tid, uint32_t number, uint8_t flags, int fill)
{
	make_data(false, TABLE_RESP, tid, number, flags, 220);
	memset(mad + SA_DATA, fill, SEGMENT);
	put();
}

/* Segment `number` of what was delivered. */
static int get_fill(uint32_t number)
{
	return whole.data[SA_DATA + (number - 1) * SEGMENT];
}

/*
 * continue_rmpp drops what is beyond the window, which opens with the first
 * segment and whenever it is full. put_ack()'s is 64.
 */
START_TEST(test_window)
{
	uint32_t i;

	put_fill(TID, 1, FIRST, 1);
	/* before the ACK is captured, and after */
	put_fill(TID, 70, LAST, 'A');
	put_ack(false, TID, 1);
	put_fill(TID, 66, 0, 'A');
	put_fill(TID, 0x80000000, 0, 'A');
	put_fill(TID, 0xffffffff, LAST, 'A');
	ck_assert_uint_eq(get_stats().beyond, 3);
	put_fill(TID, 65, 0, 65);
	for (i = 2; i < 65; i++)
		put_fill(TID, i, 0, (int)i);
	put_fill(TID, 129, 0, 129);
	put_fill(TID, 130, 0, 'A');
	ck_assert_uint_eq(get_stats().beyond, 4);
	for (i = 66; i < 70; i++)
		put_fill(TID, i, 0, (int)i);
	ck_assert_ptr_null(whole.data);
	ck_assert_uint_eq(get_stats().beyond, 5);
	put_fill(TID, 70, LAST, 'B');
	ck_assert_uint_eq(segments, 70);
	for (i = 1; i < 70; i++)
		ck_assert_int_eq(get_fill(i), i);
	ck_assert_int_eq(get_fill(70), 'B');

	/* known from then on; none is taken before the first */
	put_fill(TID + 1, 2, LAST, 'A');
	put_fill(TID + 1, 1, FIRST, 1);
	ck_assert_ptr_null(whole.data);
	put_fill(TID + 1, 66, LAST, 'A');
	put_fill(TID + 1, 2, LAST, 'B');
	ck_assert_uint_eq(segments, 2);
	ck_assert_int_eq(get_fill(2), 'B');
	ck_assert_uint_eq(get_stats().beyond, 7);
	/* two copies before the first, both dropped */
	put_fill(TID + 2, 2, LAST, 'A');
	put_fill(TID + 2, 2, LAST, 'B');
	put_fill(TID + 2, 1, FIRST, 1);
	ck_assert_ptr_null(whole.data);
	put_fill(TID + 2, 2, LAST, 'C');
	ck_assert_int_eq(get_fill(2), 'C');
	ck_assert_uint_eq(get_stats().beyond, 9);

	/* a program of its own window: for its own transfer alone */
	put_fill(TID + 4, 1, FIRST, 1);
	put_ack(false, TID + 4, 1);
	put_fill(TID + 5, 1, FIRST, 1);
	make_control(false, TABLE_RESP, TID + 5, RMPP_ACK);
	put32(mad + RMPP_SEGMENT, 1);
	put32(mad + RMPP_PAYLOAD, 2);
	put();
	put_fill(TID + 4, 65, LAST, 1);
	ck_assert_uint_eq(get_stats().beyond, 9);
	for (i = 2; i < 65; i++)
		put_fill(TID + 4, i, 0, 1);
	ck_assert_uint_eq(segments, 65);
	put_fill(TID + 5, 3, LAST, 1);
	ck_assert_uint_eq(get_stats().beyond, 10);
	put_fill(TID + 5, 2, LAST, 1);
	ck_assert_uint_eq(segments, 2);

	/* how far it is when we missed some, the kernel's ACK tells */
	put_fill(TID + 3, 1, FIRST, 1);
	put_ack(false, TID + 3, 1);
	put_ack(false, TID + 3, 65);
	put_fill(TID + 3, 129, 0, 1);
	ck_assert_uint_eq(get_stats().beyond, 10);
	put_fill(TID + 3, 130, 0, 1);
	ck_assert_uint_eq(get_stats().beyond, 11);
	tick(SECOND);
	ck_assert_uint_eq(gone[0].segments, 2);
	check_gone(RMPP_MISSED);
}
END_TEST

/* Without ACKs there is no window, and what is sent is the kernel's. */
START_TEST(test_window_not_known)
{
	uint32_t i;
	int sent;

	/* the ACK of a message of one says nothing (start_rmpp) */
	put_fill(TID + 1, 1, FIRST | LAST, 1);
	make_control(false, TABLE_RESP, TID + 1, RMPP_ACK);
	put32(mad + RMPP_SEGMENT, 1);
	put32(mad + RMPP_PAYLOAD, 1);
	ck_assert_int_eq(put(), RMPP_PART);
	for (sent = 0; sent < 2; sent++) {
		put_all_but_last(sent, TID, 69);
		ck_assert_int_eq(put_data(sent, TID, 70, LAST, 220),
				 RMPP_PART);
		/* nor does one of the peer, or of a later segment */
		put_ack(true, TID, 1);
		put_ack(false, TID, 2);
		ck_assert_int_eq(put_data(sent, TID, 69, 0, 0), RMPP_WHOLE);
		check_whole(70, 220);
	}
	ck_assert_uint_eq(get_stats().beyond, 0);
	/* negative for the kernel; it does not cost the transfer */
	put_fill(TID + 2, 1, FIRST, 1);
	put_fill(TID + 2, 0x80000000, 0, 1);
	ck_assert_uint_eq(get_stats().beyond, 1);
	for (i = 2; i < 5; i++)
		put_fill(TID + 2, i, i == 4 ? LAST : 0, 1);
	ck_assert_uint_eq(segments, 4);
	ck_assert_uint_eq(n_gone, 0);
}
END_TEST

/* The kernel gives up a send for an ACK that it refuses (process_rmpp_ack). */
START_TEST(test_bad_acks)
{
	/* of nothing */
	make_control(true, TABLE_RESP, TID, RMPP_ACK);
	mad[RMPP_STATUS] = 1;
	ck_assert_int_eq(put(), RMPP_PART);

	ck_assert_int_eq(put_data(true, TID, 1, FIRST, 0), RMPP_PART);
	make_control(true, TABLE_RESP, TID, RMPP_ACK);
	put32(mad + RMPP_SEGMENT, 5);
	put32(mad + RMPP_PAYLOAD, 4);
	ck_assert_int_eq(put(), RMPP_PART);
	ck_assert_uint_eq(gone[0].rmpp_status, RMPP_STATUS_W2S);
	ck_assert(gone[0].sent && !gone[0].by_peer);
	check_gone(RMPP_ABORTED);
	ck_assert_int_eq(put_data(true, TID, 1, FIRST, 0), RMPP_PART);
	make_control(true, TABLE_RESP, TID, RMPP_ACK);
	put32(mad + RMPP_PAYLOAD, 5);
	mad[RMPP_STATUS] = 1;
	ck_assert_int_eq(put(), RMPP_PART);
	ck_assert_uint_eq(n_gone, 1);
	ck_assert_uint_eq(gone[0].rmpp_status, RMPP_STATUS_BAD_STATUS);
	n_gone = 0;
	/* once */
	ck_assert_int_eq(put(), RMPP_PART);
	/* not of what the other side sends */
	ck_assert_int_eq(put_data(false, TID, 1, FIRST | LAST, 0), RMPP_WHOLE);
	make_control(false, TABLE_RESP, TID, RMPP_ACK);
	mad[RMPP_STATUS] = 1;
	ck_assert_int_eq(put(), RMPP_PART);
	tick(10 * SECOND);

	/* cut, it says nothing */
	ck_assert_int_eq(put_data(true, TID, 1, FIRST, 0), RMPP_PART);
	make_control(true, TABLE_RESP, TID, RMPP_ACK);
	put32(mad + RMPP_SEGMENT, 5);
	put32(mad + RMPP_PAYLOAD, 5);
	cap.len = 35;
	ck_assert_int_eq(put(), RMPP_PART);
	/* of ours, one that did not go out */
	ck_assert_int_eq(put_data(false, TID, 1, FIRST, 0), RMPP_PART);
	make_control(false, TABLE_RESP, TID, RMPP_ACK);
	put32(mad + RMPP_SEGMENT, 5);
	put32(mad + RMPP_PAYLOAD, 5);
	cap.completion = MAD_ERROR;
	ck_assert_int_eq(put(), RMPP_PART);
	mad[RMPP_TYPE] = RMPP_ABORT;
	ck_assert_int_eq(put(), RMPP_PART);
	tick(10 * SECOND);
	ck_assert_uint_eq(n_gone, 0);
	ck_assert_uint_eq(get_stats().active, 2);
}
END_TEST

static void put_end(uint8_t type, uint8_t status, bool sent, uint8_t method)
{
	make(sent, method, TID);
	mad[RMPP_TYPE] = type;
	mad[RMPP_STATUS] = status;
	ck_assert_int_eq(put(), RMPP_PART);
}

/* An ABORT or STOP that ends one of many. */
static void check_end(uint8_t type, uint8_t status, bool sent, bool end_sent)
{
	const uint8_t method = sent == end_sent ? TABLE_RESP : GET_TABLE;

	put_all_but_last(sent, TID, 3);
	put_all_but_last(sent, TID + 1, 3);
	put_all_but_last(!sent, TID, 3);
	put_end(type, status, end_sent, method);

	ck_assert_uint_eq(n_gone, 1);
	ck_assert_int_eq(gone[0].reason, type == RMPP_STOP ? RMPP_STOPPED :
			 RMPP_ABORTED);
	ck_assert_uint_eq(gone[0].rmpp_status, status);
	ck_assert_int_eq(gone[0].by_peer, !end_sent);
	ck_assert_int_eq(gone[0].sent, sent);
	ck_assert_uint_eq(gone[0].tid, TID);
	ck_assert_uint_eq(gone[0].mgmt_class, CLASS_SUBN_ADM);
	ck_assert_uint_eq(gone[0].method, TABLE_RESP);
	ck_assert_uint_eq(gone[0].attr_id, ATTR_PATH_RECORD);
	ck_assert_uint_eq(gone[0].peer.lid, 7);
	ck_assert_uint_eq(gone[0].peer.qpn, 1);
	ck_assert_uint_eq(gone[0].segments, 2);
	ck_assert_uint_eq(gone[0].missing, 3);
	ck_assert_uint_eq(gone[0].bytes, 512);
	n_gone = 0;

	/* what was underway is late, once more it ends nothing */
	ck_assert_int_eq(put_data(sent, TID, 3, LAST, 220), RMPP_PART);
	put_end(type, status, end_sent, method);
	/* the others go on */
	ck_assert_int_eq(put_data(sent, TID + 1, 3, LAST, 220), RMPP_WHOLE);
	ck_assert_int_eq(put_data(!sent, TID, 3, LAST, 220), RMPP_WHOLE);
	/* a whole message has no end */
	put_end(type, status, !end_sent, method);
	ck_assert_uint_eq(n_gone, 0);
	ck_assert_uint_eq(get_stats().late, 1);

	/* it may begin again at once */
	put_all_but_last(sent, TID, 3);
	ck_assert_int_eq(put_data(sent, TID, 3, LAST, 220), RMPP_WHOLE);
	check_whole(3, 220);
}

/* What the kernel does with what it receives, and says in what it sends. */
static const struct {
	uint8_t type, status;
	bool sent;		/* the data */
	bool end_sent;		/* the ABORT or STOP */
} ends[] = {
	/* process_rmpp_stop, process_rmpp_abort: whatever the status */
	{ RMPP_STOP, RMPP_STATUS_RESX, true, false },
	{ RMPP_STOP, 0, true, false },
	{ RMPP_ABORT, RMPP_STATUS_T2L, true, false },
	{ RMPP_ABORT, RMPP_STATUS_BAD_SEG, true, false },
	{ RMPP_ABORT, 0, true, false },
	/* recv_timeout_handler */
	{ RMPP_ABORT, RMPP_STATUS_T2L, false, true },
	/* ib_process_rmpp_recv_wc, process_rmpp_ack: abort_send, nack_recv */
	{ RMPP_ABORT, RMPP_STATUS_UNV, true, true },
	{ RMPP_ABORT, RMPP_STATUS_BADT, true, true },
	{ RMPP_ABORT, RMPP_STATUS_W2S, true, true },
	{ RMPP_ABORT, RMPP_STATUS_S2B, true, true },
};

START_TEST(test_stop_and_abort)
{
	check_end(ends[_i].type, ends[_i].status, ends[_i].sent,
		  ends[_i].end_sent);
}
END_TEST

/* The kernel's receive goes on after all that comes in: abort_send alone. */
START_TEST(test_receive_goes_on)
{
	static const uint8_t statuses[] = {
		0, RMPP_STATUS_RESX, RMPP_STATUS_T2L, RMPP_STATUS_BAD_SEG,
		RMPP_STATUS_TMR, 255,
	};
	size_t i;

	put_all_but_last(false, TID, 3);
	for (i = 0; i < COUNT(statuses); i++) {
		put_end(RMPP_ABORT, statuses[i], false, TABLE_RESP);
		put_end(RMPP_STOP, statuses[i], false, TABLE_RESP);
		put_end(RMPP_ABORT, statuses[i], false, GET_TABLE);
		put_end(RMPP_STOP, statuses[i], false, GET_TABLE);
	}
	/* a bad segment: process_rmpp_data answers it and drops it */
	ck_assert_int_eq(put_data(false, TID, 3, FIRST | LAST, 0), RMPP_PART);
	check_gone(RMPP_MALFORMED);
	put_end(RMPP_ABORT, RMPP_STATUS_BAD_SEG, true, GET_TABLE);
	put_end(RMPP_ABORT, RMPP_STATUS_BAD_STATUS, true, GET_TABLE);
	/* of what we send, not of this */
	put_end(RMPP_ABORT, RMPP_STATUS_UNV, true, GET_TABLE);
	put_end(RMPP_ABORT, RMPP_STATUS_T2L, true, TABLE_RESP);
	ck_assert_uint_eq(n_gone, 0);
	ck_assert_int_eq(put_data(false, TID, 3, LAST, 220), RMPP_WHOLE);
	check_whole(3, 220);
}
END_TEST

/* So does a send after what the kernel says of a receive. */
START_TEST(test_send_goes_on)
{
	put_all_but_last(true, TID, 3);
	put_end(RMPP_ABORT, RMPP_STATUS_T2L, true, TABLE_RESP);
	put_end(RMPP_ABORT, RMPP_STATUS_BAD_SEG, true, TABLE_RESP);
	put_end(RMPP_ABORT, RMPP_STATUS_BAD_STATUS, true, TABLE_RESP);
	put_end(RMPP_ABORT, RMPP_STATUS_T2L, true, GET_TABLE);
	/* a response is no answer to a response (rcv_has_same_gid) */
	put_end(RMPP_ABORT, RMPP_STATUS_T2L, false, TABLE_RESP);
	ck_assert_int_eq(put_data(true, TID, 3, LAST, 220), RMPP_WHOLE);
	ck_assert_uint_eq(n_gone, 0);
}
END_TEST

/* What the kernel drops before segment 1 is not in the message. */
START_TEST(test_nothing_before_the_first)
{
	ck_assert_int_eq(put_data(false, TID, 2, LAST, 220), RMPP_PART);
	memset(mad + SA_DATA, 0xee, 200);
	ck_assert_int_eq(put_data(false, TID, 1, FIRST, 0), RMPP_PART);
	ck_assert_int_eq(put_data(false, TID, 2, LAST, 220), RMPP_WHOLE);
	check_whole(2, 220);
	ck_assert_uint_eq(get_stats().beyond, 1);
}
END_TEST

/* Nobody hides half a request by a GRH: the kernel does not look at it. */
START_TEST(test_a_grh_in_the_middle)
{
	make_data(false, MULTI, TID, 1, FIRST, 0);
	ck_assert_int_eq(put(), RMPP_PART);
	make_data(false, MULTI, TID, 2, LAST, 220);
	cap.peer.has_gid = true;
	cap.peer.gid[0] = 0xfe;
	ck_assert_int_eq(put(), RMPP_WHOLE);
	ck_assert_uint_eq(n_gone, 0);
}
END_TEST

START_TEST(test_abort_of_nothing)
{
	make_control(true, TABLE_RESP, TID, RMPP_ABORT);
	ck_assert_int_eq(put(), RMPP_PART);
	make_control(true, TABLE_RESP, TID, RMPP_STOP);
	cap.len = RMPP_STATUS + 1;
	ck_assert_int_eq(put(), RMPP_PART);
	ck_assert_uint_eq(n_gone, 0);
	ck_assert_uint_eq(get_stats().transfers, 0);
}
END_TEST

/*
 * Lengths that lie, segments that contradict, captures that are cut
 */

START_TEST(test_lengths)
{
	static const struct {
		uint32_t n, first, last;	/* PayloadLength */
		size_t size;			/* get_mad_len */
		bool lied;
	} table[] = {
		{ 1, 0, 220, 256, false },
		{ 1, 0, 20, 56, false },
		{ 1, 0, 19, 55, true },
		{ 1, 0, 0, 36, true },
		{ 1, 0, 221, 256, true },
		{ 1, 0, 0xffffffff, 256, true },
		{ 3, 660, 220, 656, false },
		{ 3, 0, 220, 656, false },
		{ 3, 540, 100, 536, false },
		{ 3, 541, 100, 536, true },
		{ 3, 100, 100, 536, true },
		{ 3, 0xffffffff, 100, 536, true },
		{ 3, 2, 100, 536, true },
		{ 3, 440, 0, 436, true },
		{ 3, 661, 221, 656, true },
		{ 3, 660, 0xffffffff, 656, true },
		{ 3, 660, 0x80000000, 656, true },
	};
	uint64_t lied = 0;
	size_t i;

	for (i = 0; i < COUNT(table); i++) {
		uint32_t n = table[i].n;

		if (n > 1) {
			put_data(false, i, 1, FIRST, table[i].first);
			put_data(false, i, 2, 0, 0x12345678);
		}
		make_data(false, TABLE_RESP, i, n,
			  n > 1 ? LAST : FIRST | LAST, table[i].last);
		ck_assert_int_eq(put(), RMPP_WHOLE);
		ck_assert_uint_eq(whole.size, table[i].size);
		ck_assert_uint_eq(whole.len, table[i].size);
		lied += table[i].lied;
		ck_assert_uint_eq(get_stats().lied, lied);
	}
	ck_assert_uint_eq(n_gone, 0);
}
END_TEST

START_TEST(test_conflicts)
{
	/* behind the last */
	ck_assert_int_eq(put_data(true, 1, 1, FIRST, 0), RMPP_PART);
	ck_assert_int_eq(put_data(true, 1, 3, LAST, 100), RMPP_PART);
	ck_assert_int_eq(put_data(true, 1, 4, 0, 0), RMPP_PART);
	check_gone(RMPP_CONFLICT);
	/* the last before one that was there */
	ck_assert_int_eq(put_data(true, 2, 1, FIRST, 0), RMPP_PART);
	ck_assert_int_eq(put_data(true, 2, 4, 0, 0), RMPP_PART);
	ck_assert_int_eq(put_data(true, 2, 3, LAST, 100), RMPP_PART);
	ck_assert_uint_eq(n_gone, 1);
	/* two last ones */
	ck_assert_int_eq(put_data(true, 3, 1, FIRST, 0), RMPP_PART);
	ck_assert_int_eq(put_data(true, 3, 3, LAST, 100), RMPP_PART);
	ck_assert_int_eq(put_data(true, 3, 2, LAST, 100), RMPP_PART);
	ck_assert_uint_eq(n_gone, 2);
	/* a message of one, where more was there: it begins */
	ck_assert_int_eq(put_data(true, 4, 2, 0, 0), RMPP_PART);
	ck_assert_int_eq(put_data(true, 4, 1, FIRST | LAST, 100), RMPP_WHOLE);
	ck_assert_uint_eq(n_gone, 3);
	ck_assert_uint_eq(get_stats().gone[RMPP_CONFLICT], 4);
	/* a copy is no contradiction, whatever its flags */
	ck_assert_int_eq(put_data(true, 5, 1, FIRST, 0), RMPP_PART);
	ck_assert_int_eq(put_data(true, 5, 2, 0, 0), RMPP_PART);
	ck_assert_int_eq(put_data(true, 5, 2, LAST, 9), RMPP_PART);
	ck_assert_int_eq(put_data(true, 5, 3, LAST, 220), RMPP_WHOLE);
	check_whole(3, 220);
	ck_assert_uint_eq(n_gone, 3);
}
END_TEST

/* Last counts where the kernel has to stop: continue_rmpp, update_seg_num. */
START_TEST(test_last_of_received)
{
	/* not where one follows that is there, last or not */
	ck_assert_int_eq(put_data(false, 1, 1, FIRST, 0), RMPP_PART);
	ck_assert_int_eq(put_data(false, 1, 3, LAST, 100), RMPP_PART);
	ck_assert_int_eq(put_data(false, 1, 2, LAST, 50), RMPP_WHOLE);
	check_whole(3, 100);
	ck_assert_int_eq(put_data(false, 2, 1, FIRST, 0), RMPP_PART);
	ck_assert_int_eq(put_data(false, 2, 3, 0, 0), RMPP_PART);
	ck_assert_int_eq(put_data(false, 2, 2, LAST, 50), RMPP_PART);
	ck_assert_int_eq(put_data(false, 2, 4, LAST, 60), RMPP_WHOLE);
	check_whole(4, 60);
	ck_assert_int_eq(put_data(false, 3, 1, FIRST, 0), RMPP_PART);
	ck_assert_int_eq(put_data(false, 3, 3, LAST, 100), RMPP_PART);
	ck_assert_int_eq(put_data(false, 3, 4, 0, 0), RMPP_PART);
	ck_assert_int_eq(put_data(false, 3, 2, 0, 0), RMPP_PART);
	ck_assert_int_eq(put_data(false, 3, 5, LAST, 220), RMPP_WHOLE);
	check_whole(5, 220);
	/* but where there is a gap: get_mad_len counts up to there */
	ck_assert_int_eq(put_data(false, 4, 1, FIRST, 0), RMPP_PART);
	ck_assert_int_eq(put_data(false, 4, 4, LAST, 99), RMPP_PART);
	ck_assert_int_eq(put_data(false, 4, 2, LAST, 50), RMPP_WHOLE);
	check_whole(2, 50);
	/* and in segment 1 at once (start_rmpp) */
	ck_assert_int_eq(put_data(false, 5, 2, 0, 0), RMPP_PART);
	ck_assert_int_eq(put_data(false, 5, 1, FIRST | LAST, 70), RMPP_WHOLE);
	check_whole(1, 70);
	ck_assert_uint_eq(n_gone, 0);
	/* what was behind the end is not held */
	tick(0);
	ck_assert_uint_eq(get_stats().bytes, 0);
}
END_TEST

START_TEST(test_cut_captures)
{
	static const size_t lens[] = { 28, 35, 36, 56, 200, 255 };
	size_t i;

	for (i = 0; i < COUNT(lens); i++) {
		ck_assert_int_eq(put_data(false, i, 1, FIRST, 0), RMPP_PART);
		make_data(false, TABLE_RESP, i, 2, 0, 0);
		cap.len = lens[i];
		ck_assert_int_eq(put(), RMPP_PART);
		ck_assert_uint_eq(n_gone, 1);
		ck_assert_int_eq(gone[0].reason, RMPP_CUT);
		ck_assert_uint_eq(gone[0].segments, 2);
		/* said once */
		make_data(false, TABLE_RESP, i, 3, LAST, 220);
		cap.len = lens[i];
		ck_assert_int_eq(put(), RMPP_PART);
		ck_assert_int_eq(put_data(false, i, 4, LAST, 220), RMPP_PART);
		ck_assert_uint_eq(n_gone, 1);
		n_gone = 0;

		/* the first one */
		make_data(true, TABLE_RESP, i, 1, FIRST, 0);
		cap.len = lens[i];
		ck_assert_int_eq(put(), RMPP_PART);
		ck_assert_uint_eq(n_gone, 1);
		ck_assert_int_eq(gone[0].reason, RMPP_CUT);
		n_gone = 0;

		/* one of one is what it is: a capture with a length */
		make_data(false, TABLE_RESP, 100 + i, 1, FIRST | LAST, 84);
		cap.len = lens[i];
		if (lens[i] < 36) {
			ck_assert_int_eq(put(), RMPP_PART);
			n_gone = 0;
			continue;
		}
		ck_assert_int_eq(put(), RMPP_WHOLE);
		ck_assert_uint_eq(whole.size, 120);
		ck_assert_uint_eq(whole.len, lens[i] < 120 ? lens[i] : 120);
		ck_assert_mem_eq(whole.data, mad, whole.len);
	}
}
END_TEST

/*
 * Who is who
 */

/* GetMulti: the request in segments, then the answer, each with its ACKs. */
START_TEST(test_double_sided)
{
	const bool received = false, sent = true;

	make_data(received, MULTI, TID, 1, FIRST, 320);
	ck_assert_int_eq(put(), RMPP_PART);
	make_control(received, MULTI, TID, RMPP_ACK);
	put32(mad + RMPP_SEGMENT, 1);
	put32(mad + RMPP_PAYLOAD, 65);
	ck_assert_int_eq(put(), RMPP_PART);
	/* the answer begins before the last of the request is captured */
	make_data(sent, MULTI_RESP, TID, 1, FIRST, 500);
	ck_assert_int_eq(put(), RMPP_PART);
	make_data(received, MULTI, TID, 2, LAST, 100);
	ck_assert_int_eq(put(), RMPP_WHOLE);
	check_whole(2, 100);
	ck_assert_uint_eq(whole.data[MAD_METHOD], MULTI);
	ck_assert(!whole.sent);
	make_control(received, MULTI, TID, RMPP_ACK);
	put32(mad + RMPP_SEGMENT, 2);
	put32(mad + RMPP_PAYLOAD, 66);
	ck_assert_int_eq(put(), RMPP_PART);
	/* the requester's ACK of the ACK opens its window (ack_ds_ack) */
	make(received, MULTI, TID);
	mad[RMPP_TYPE] = RMPP_ACK;
	put32(mad + RMPP_PAYLOAD, 1);
	ck_assert_int_eq(put(), RMPP_PART);

	make_data(sent, MULTI_RESP, TID, 2, 0, 0);
	ck_assert_int_eq(put(), RMPP_PART);
	make_control(sent, MULTI_RESP, TID, RMPP_ACK);
	put32(mad + RMPP_SEGMENT, 2);
	put32(mad + RMPP_PAYLOAD, 64);
	ck_assert_int_eq(put(), RMPP_PART);
	make_data(sent, MULTI_RESP, TID, 3, LAST, 60);
	ck_assert_int_eq(put(), RMPP_WHOLE);
	check_whole(3, 60);
	ck_assert_uint_eq(whole.data[MAD_METHOD], MULTI_RESP);
	ck_assert(whole.sent);
	ck_assert_uint_eq(n_gone, 0);
	ck_assert_uint_eq(get_stats().lied, 0);
	ck_assert_uint_eq(get_stats().transfers, 2);
}
END_TEST

/* An ABORT by the requester: of the answer, not of its own request. */
START_TEST(test_abort_both_sides)
{
	make_data(false, MULTI, TID, 1, FIRST, 320);
	ck_assert_int_eq(put(), RMPP_PART);
	make_data(true, MULTI_RESP, TID, 1, FIRST, 320);
	ck_assert_int_eq(put(), RMPP_PART);
	make(false, MULTI, TID);
	mad[RMPP_TYPE] = RMPP_ABORT;
	mad[RMPP_STATUS] = RMPP_STATUS_TMR;
	ck_assert_int_eq(put(), RMPP_PART);
	ck_assert(gone[0].sent && gone[0].by_peer);
	check_gone(RMPP_ABORTED);
	make_data(false, MULTI, TID, 2, LAST, 100);
	ck_assert_int_eq(put(), RMPP_WHOLE);
}
END_TEST

enum { VARIANTS = 10 };

/* Captures that differ in one thing are of different transfers. */
static void vary(int variant)
{
	static const uint8_t gid[16] = { 0xfe, 0x80, [15] = 9 };

	switch (variant) {
	case 0:
		break;
	case 1:
		put64(mad + MAD_TID, TID + (UINT64_C(1) << 32));
		break;
	case 2:
		cap.peer.lid = 8;
		break;
	case 3:
		cap.peer.qpn = 2;
		break;
	case 4:		/* the kernel does not look at who sends by a GID */
		cap.peer.qpn = 4;
		break;
	case 5:
		cap.sent = true;
		cap.peer.has_gid = true;
		memcpy(cap.peer.gid, gid, 16);
		break;
	case 6:
		mad[MAD_CLASS_VERSION] = 1;
		break;
	case 7:
		mad[MAD_METHOD] = MULTI_RESP;
		break;
	case 8:
		cap.sent = true;
		break;
	case 9:
		mad[MAD_METHOD] = GET_TABLE;
		break;
	}
}

START_TEST(test_interleaved)
{
	uint32_t number;
	int i;

	for (number = 1; number <= 4; number++)
		for (i = 0; i < VARIANTS; i++) {
			make_data(false, TABLE_RESP, TID, number,
				  number == 1 ? FIRST : number == 4 ? LAST : 0,
				  number == 4 ? 100 : 0);
			mad[SA_DATA] = (uint8_t)i;
			vary(i);
			ck_assert_int_eq(put(), number == 4 ? RMPP_WHOLE :
					 RMPP_PART);
			if (number < 4)
				continue;
			ck_assert_uint_eq(whole.size, 36 + 3 * 200 + 100);
			ck_assert_uint_eq(whole.data[SA_DATA], i);
			ck_assert_uint_eq(whole.data[MAD_SIZE], i);
			ck_assert_mem_eq(whole.data, mad, RMPP_FLAGS);
		}
	ck_assert_uint_eq(get_stats().transfers, VARIANTS);
	ck_assert_uint_eq(n_gone, 0);

	/* a GID that is not said to be there is none */
	make_data(false, TABLE_RESP, TID, 2, 0, 0);
	memset(cap.peer.gid, 0xff, 16);
	ck_assert_int_eq(put(), RMPP_PART);
	ck_assert_uint_eq(get_stats().duplicates, 1);
}
END_TEST

/*
 * Time
 */

/* What is received, in all: the kernel has 40 s from the first segment. */
START_TEST(test_receive_times_out)
{
	uint64_t begun;
	uint32_t i;

	ck_assert_int_eq(put_data(false, TID, 1, FIRST, 0), RMPP_PART);
	begun = now;
	for (i = 2; i <= 45; i++) {
		ck_assert_int_eq(put_data(false, TID, i, 0, 0), RMPP_PART);
		now = begun + (i - 1) * SECOND;
	}
	now = begun + 45 * SECOND - 2 * MS;
	ck_assert_int_eq(put_data(false, TID, 46, 0, 0), RMPP_PART);
	ck_assert_uint_eq(n_gone, 0);
	ck_assert_int_eq(put_data(false, TID, 47, LAST, 220), RMPP_PART);
	ck_assert_uint_eq(gone[0].time_ns, begun + REALTIME);
	ck_assert_uint_eq(gone[0].segments, 46);
	check_gone(RMPP_TIMED_OUT);
	/* and silence, which copies do not break */
	ck_assert_int_eq(put_data(false, TID + 1, 1, FIRST, 0), RMPP_PART);
	tick(30 * SECOND);
	ck_assert_int_eq(put_data(false, TID + 1, 1, FIRST, 0), RMPP_PART);
	tick(15 * SECOND - 2 * MS);
	ck_assert_uint_eq(n_gone, 0);
	tick(MS);
	ck_assert_uint_eq(n_gone, 1);
	ck_assert_uint_eq(get_stats().bytes, 0);
}
END_TEST

/* The 40 s are no shorter or longer for segments that came in between. */
START_TEST(test_silent_receive_times_out)
{
	uint64_t begun;

	ck_assert_int_eq(put_data(false, TID, 1, FIRST, 0), RMPP_PART);
	begun = now;
	now += 44 * SECOND;
	ck_assert_int_eq(put_data(false, TID, 2, 0, 0), RMPP_PART);
	/* one that began later and was silent since is not in the way */
	ck_assert_int_eq(put_data(false, TID + 1, 1, FIRST, 0), RMPP_PART);
	rmpp_tick(reassembler, begun + 45 * SECOND - 1);
	ck_assert_uint_eq(n_gone, 0);
	rmpp_tick(reassembler, begun + 45 * SECOND);
	ck_assert_uint_eq(gone[0].tid, TID);
	check_gone(RMPP_TIMED_OUT);

	/* start_rmpp begins them with segment 1, not with one that is lost */
	ck_assert_int_eq(put_data(false, TID + 2, 3, LAST, 220), RMPP_PART);
	now += 40 * SECOND;
	ck_assert_int_eq(put_data(false, TID + 2, 1, FIRST, 0), RMPP_PART);
	ck_assert_int_eq(put_data(false, TID + 2, 3, LAST, 220), RMPP_PART);
	now += 40 * SECOND;
	ck_assert_int_eq(put_data(false, TID + 2, 2, 0, 0), RMPP_WHOLE);
	check_whole(3, 220);
}
END_TEST

START_TEST(test_send_times_out)
{
	int i;

	ck_assert_int_eq(put_data(true, TID, 1, FIRST, 0), RMPP_PART);
	for (i = 2; i <= 10; i++) {
		now += 44 * SECOND;
		ck_assert_int_eq(put_data(true, TID, (uint32_t)i, 0, 0),
				 RMPP_PART);
	}
	/* so are retransmissions a sign of life */
	now += 44 * SECOND;
	ck_assert_int_eq(put_data(true, TID, 10, 0, 0), RMPP_PART);
	tick(45 * SECOND - MS);
	ck_assert_uint_eq(n_gone, 0);
	tick(MS);
	ck_assert_uint_eq(gone[0].segments, 10);
	check_gone(RMPP_TIMED_OUT);
}
END_TEST

START_TEST(test_own_timeout)
{
	open_with((struct rmpp_options){ .timeout_ns = SECOND });
	ck_assert_int_eq(put_data(false, TID, 1, FIRST, 0), RMPP_PART);
	ck_assert_int_eq(put_data(true, TID, 2, 0, 0), RMPP_PART);
	/* a clock that goes back does no harm */
	rmpp_tick(reassembler, 0);
	ck_assert_uint_eq(n_gone, 0);
	tick(SECOND);
	ck_assert_uint_eq(n_gone, 2);
	/* the segment that never came is the first */
	ck_assert_uint_eq(gone[0].missing, 2);
	ck_assert_uint_eq(gone[1].missing, 1);
}
END_TEST

/* What is late for what was given up is swallowed, as long as it comes. */
START_TEST(test_late_segments)
{
	uint32_t i;

	open_with((struct rmpp_options){ .timeout_ns = SECOND });
	put_all_but_last(false, TID, 3);
	tick(SECOND);
	check_gone(RMPP_TIMED_OUT);
	for (i = 0; i < 10; i++) {
		ck_assert_int_eq(put_data(false, TID, 3 + i, 0, 0),
				 RMPP_PART);
		now += 5 * SECOND;
	}
	ck_assert_uint_eq(get_stats().late, 10);
	ck_assert_uint_eq(get_stats().transfers, 1);
	ck_assert_uint_eq(get_stats().bytes, 0);
	/* forgotten */
	tick(10 * SECOND);
	ck_assert_int_eq(put_data(false, TID, 3, 0, 0), RMPP_PART);
	ck_assert_uint_eq(get_stats().transfers, 2);
}
END_TEST

START_TEST(test_send_errors)
{
	uint32_t i;

	/* of a message underway */
	put_all_but_last(true, TID, 4);
	make_data(true, TABLE_RESP, TID, 4, LAST, 220);
	cap.completion = MAD_ERROR;
	ck_assert_int_eq(put(), RMPP_NONE);
	ck_assert_uint_eq(gone[0].segments, 3);
	check_gone(RMPP_SEND_ERROR);
	/* of one, and of one that is whole */
	make_data(true, TABLE_RESP, TID + 1, 1, FIRST | LAST, 220);
	cap.completion = MAD_CANCELED;
	ck_assert_int_eq(put(), RMPP_NONE);
	cap.completion = MAD_OK;
	ck_assert_int_eq(put(), RMPP_WHOLE);
	cap.completion = MAD_ERROR;
	ck_assert_int_eq(put(), RMPP_NONE);
	ck_assert_uint_eq(n_gone, 0);
	ck_assert_uint_eq(get_stats().transfers, 2);
	/* all segments of one are one failure, and so they are again */
	for (i = 0; i < 8; i++) {
		make_data(true, TABLE_RESP, TID + 2, 1 + i % 4,
			  i % 4 ? 0 : FIRST, 220);
		cap.completion = MAD_TIMEOUT;
		ck_assert_int_eq(put(), i % 4 ? RMPP_PART : RMPP_NONE);
	}
	/* another one's */
	make_data(true, TABLE_RESP, TID + 3, 5, LAST, 220);
	cap.completion = MAD_TIMEOUT;
	ck_assert_int_eq(put(), RMPP_NONE);
	ck_assert_uint_eq(get_stats().transfers, 2);
}
END_TEST

/*
 * Bounds
 */

START_TEST(test_too_long)
{
	int i;

	open_with((struct rmpp_options){ .max_message = 656 });
	/* just so */
	put_all_but_last(false, 1, 3);
	ck_assert_int_eq(put_data(false, 1, 3, LAST, 220), RMPP_WHOLE);
	ck_assert_uint_eq(whole.size, 656);
	ck_assert_uint_eq(get_stats().bytes_max, 656);
	/* one that is not the last has one behind it */
	put_all_but_last(false, 2, 3);
	ck_assert_int_eq(put_data(false, 2, 3, 0, 0), RMPP_PART);
	ck_assert_uint_eq(gone[0].missing, 3);
	check_gone(RMPP_TOO_LONG);
	for (i = 4; i < 100; i++)
		ck_assert_int_eq(put_data(false, 2, (uint32_t)i, 0, 0),
				 RMPP_PART);
	ck_assert_int_eq(put_data(false, 2, 100, LAST, 220), RMPP_PART);
	ck_assert_uint_eq(n_gone, 0);
	ck_assert_uint_eq(get_stats().late, 97);
	/* numbers as high as they get */
	ck_assert_int_eq(put_data(false, 3, 0xffffffff, 0, 0), RMPP_PART);
	ck_assert_int_eq(put_data(false, 4, 0xffffffff, LAST, 0), RMPP_PART);
	ck_assert_int_eq(put_data(false, 5, 0x80000000, 0, 0), RMPP_PART);
	ck_assert_uint_eq(n_gone, 3);
	ck_assert_uint_eq(get_stats().gone[RMPP_TOO_LONG], 4);
	ck_assert_uint_eq(get_stats().bytes, 0);

	/* the least is one MAD */
	open_with((struct rmpp_options){ .max_message = 1 });
	ck_assert_int_eq(put_data(true, 1, 1, FIRST | LAST, 220),
			 RMPP_WHOLE);
	ck_assert_int_eq(put_data(true, 2, 1, FIRST, 0), RMPP_PART);
	check_gone(RMPP_TOO_LONG);
}
END_TEST

START_TEST(test_longest_by_default)
{
	/* 16 MiB in segments of 200 bytes */
	const uint32_t n = ((16 << 20) - 56) / 200;

	put_all_but_last(true, TID, n);
	ck_assert_int_eq(put_data(true, TID, n, LAST, 220), RMPP_WHOLE);
	check_whole(n, 220);
	ck_assert_uint_le(get_stats().bytes_max, 32 << 20);
	put_ack(true, TID, n);
	put_all_but_last(true, TID, n + 1);
	ck_assert_int_eq(put_data(true, TID, n + 1, 0, 0), RMPP_PART);
	check_gone(RMPP_TOO_LONG);
}
END_TEST

/* What a header says allocates nothing. */
START_TEST(test_forged_lengths)
{
	uint64_t i;

	open_with((struct rmpp_options){ 0 });
	for (i = 0; i < 100; i++) {
		ck_assert_int_eq(put_data(false, i, 1, FIRST, 0xffffffff),
				 RMPP_PART);
		ck_assert_int_eq(put_data(false, i, 80000, LAST, 0xffffffff),
				 RMPP_PART);
	}
	ck_assert_uint_le(get_stats().bytes, 100 * 3 * MAD_SIZE);
	ck_assert_uint_eq(n_gone, 0);
}
END_TEST

/* The total: who was idle for longest makes room for who is not. */
START_TEST(test_no_room)
{
	const size_t total = 60000;
	uint64_t tid;
	uint32_t i;

	open_with((struct rmpp_options){ .max_total = total });
	for (tid = 0; tid < 1000; tid++) {
		ck_assert_int_eq(put_data(false, tid, 1, FIRST, 0),
				 RMPP_PART);
		ck_assert_int_eq(put_data(false, tid, 3, 0, 0), RMPP_PART);
		/* an old one that goes on stays */
		ck_assert_int_eq(put_data(true, 5000, (uint32_t)tid + 1,
					  tid ? 0 : FIRST, 0), RMPP_PART);
		check(get_stats().bytes <= total);
		check_sums();
		if (get_stats().gone[RMPP_NO_ROOM])
			break;
	}
	ck_assert_uint_ge(tid, total / 1024);
	ck_assert_uint_eq(gone[0].tid, 0);
	ck_assert_int_eq(gone[0].reason, RMPP_NO_ROOM);

	/* alone it may have it all, but no more */
	for (i = (uint32_t)tid + 2; get_stats().bytes; i++) {
		ck_assert_int_eq(put_data(true, 5000, i, 0, 0), RMPP_PART);
		check(get_stats().bytes <= total);
		check_sums();
	}
	ck_assert_uint_gt(i, (total - SA_DATA) / SEGMENT - 1);
	ck_assert_uint_eq(get_stats().active, 0);
	ck_assert_uint_eq(get_stats().gone[RMPP_NO_ROOM],
			  get_stats().transfers);
	/* less than one MAD: nothing goes, nothing breaks */
	open_with((struct rmpp_options){ .max_total = 100 });
	ck_assert_int_eq(put_data(true, 1, 1, FIRST, 0), RMPP_PART);
	check_gone(RMPP_NO_ROOM);
	ck_assert_int_eq(put_data(true, 2, 2, 0, 0), RMPP_PART);
	ck_assert_uint_eq(n_gone, 1);
	ck_assert_int_eq(put_data(true, 3, 1, FIRST | LAST, 220), RMPP_WHOLE);
}
END_TEST

/* Many early segments of one message, from behind: none is searched for. */
START_TEST(test_sparse_numbers)
{
	const uint32_t n = 80000;
	struct timespec begun, ended;
	double seconds;
	uint32_t i;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &begun);
	check(put_data(false, TID, 1, FIRST, 0) == RMPP_PART);
	for (i = n; i > 2; i--) {
		check(put_data(false, TID, i, i == n ? LAST : 0, 220) ==
		      RMPP_PART);
		now -= MS;
	}
	ck_assert_uint_lt(get_stats().bytes, (size_t)n * 300);
	check(put_data(false, TID, 2, 0, 0) == RMPP_WHOLE);
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &ended);
	check_whole(n, 220);
	seconds = (double)(ended.tv_sec - begun.tv_sec) +
		(double)(ended.tv_nsec - begun.tv_nsec) / 1e9;
	/* a list would take minutes */
	ck_assert_double_lt(seconds, 20);
}
END_TEST

START_TEST(test_table_full)
{
	uint64_t tid;

	/* 64 of them: 32 whole ones and 32 underway */
	for (tid = 0; tid < 64; tid++)
		put_data(false, tid, 1, tid & 1 ? FIRST : FIRST | LAST, 220);
	ck_assert_uint_eq(get_stats().active, 32);
	/* what is over goes first */
	for (; tid < 96; tid++)
		ck_assert_int_eq(put_data(false, tid, 1, FIRST, 0),
				 RMPP_PART);
	ck_assert_uint_eq(n_gone, 0);
	ck_assert_uint_eq(get_stats().active, 64);
	/* then what seems to be lost, then who was idle for longest */
	put_ack(false, 95, 5);
	ck_assert_int_eq(put_data(false, 1, 2, 0, 0), RMPP_PART);
	for (; tid < 99; tid++)
		ck_assert_int_eq(put_data(false, tid, 1, FIRST, 0),
				 RMPP_PART);
	ck_assert_uint_eq(n_gone, 3);
	ck_assert_uint_eq(gone[0].tid, 95);
	ck_assert_uint_eq(gone[1].tid, 3);
	ck_assert_uint_eq(gone[2].tid, 5);
	ck_assert_uint_eq(get_stats().gone[RMPP_TABLE_FULL], 3);
	ck_assert_int_eq(put_data(false, 1, 3, LAST, 220), RMPP_WHOLE);

	/* one at a time */
	open_with((struct rmpp_options){ .max_transfers = 1 });
	for (tid = 0; tid < 10; tid++) {
		ck_assert_int_eq(put_data(false, tid, 1, FIRST, 0),
				 RMPP_PART);
		ck_assert_int_eq(put_data(false, tid, 3, LAST, 220),
				 RMPP_PART);
	}
	ck_assert_uint_eq(n_gone, 9);
	ck_assert_int_eq(put_data(false, 9, 2, 0, 0), RMPP_WHOLE);
}
END_TEST

START_TEST(test_flush)
{
	struct rmpp *without;
	const struct rmpp_options quiet = { 0 };

	put_all_but_last(false, 1, 3);
	put_all_but_last(true, 2, 3);
	put_ack(true, 2, 9);
	put_data(false, 3, 1, FIRST | LAST, 220);
	rmpp_flush(reassembler);
	ck_assert_uint_eq(n_gone, 2);
	ck_assert_int_eq(gone[0].reason, RMPP_FLUSHED);
	ck_assert_uint_eq(get_stats().active, 0);
	ck_assert_uint_eq(get_stats().bytes, 0);
	/* nothing is remembered */
	ck_assert_int_eq(put_data(false, 3, 1, FIRST | LAST, 220),
			 RMPP_WHOLE);
	ck_assert_uint_eq(get_stats().duplicates, 0);

	/* freed with all that it holds, and nobody told */
	without = rmpp_new(&quiet);
	ck_assert_ptr_nonnull(without);
	make_data(false, TABLE_RESP, TID, 1, FIRST, 0);
	cap.data = mad;
	ck_assert_int_eq(rmpp_put(without, &cap, &whole, &segments),
			 RMPP_PART);
	put32(mad + RMPP_SEGMENT, 3);
	mad[RMPP_FLAGS] = RMPP_FLAG_ACTIVE;
	ck_assert_int_eq(rmpp_put(without, &cap, &whole, &segments),
			 RMPP_PART);
	rmpp_flush(without);
	ck_assert_int_eq(rmpp_put(without, &cap, &whole, &segments),
			 RMPP_PART);
	rmpp_free(without);
	rmpp_free(NULL);
}
END_TEST

/* Let AddressSanitizer's calloc fail as libc's does. */
__attribute__((visibility("default")))
const char *__asan_default_options(void);

const char *__asan_default_options(void)
{
	return "allocator_may_return_null=1";
}

START_TEST(test_no_memory)
{
	const struct rmpp_options huge = { .max_transfers = SIZE_MAX / 2 };

	errno = 0;
	ck_assert_ptr_null(rmpp_new(&huge));
	ck_assert_int_eq(errno, ENOMEM);
}
END_TEST

START_TEST(test_names)
{
	int i, j;

	for (i = 0; i < RMPP_REASONS; i++) {
		ck_assert_ptr_nonnull(rmpp_reason_name((enum rmpp_reason)i));
		for (j = 0; j < i; j++)
			ck_assert_str_ne(rmpp_reason_name((enum rmpp_reason)i),
					 rmpp_reason_name((enum rmpp_reason)j));
	}
	ck_assert_ptr_null(rmpp_reason_name(RMPP_REASONS));
	ck_assert_ptr_null(rmpp_reason_name((enum rmpp_reason)-1));
}
END_TEST

/*
 * Random messages
 */

static uint64_t random_state;

static uint32_t next_random(uint32_t below)
{
	random_state = random_state * UINT64_C(6364136223846793005) + 1;
	return (uint32_t)((random_state >> 33) % below);
}

enum {
	MESSAGES = 300,
	AT_ONCE = 12,
	MESSAGE_MAX = 12000,
	WINDOW = 8,
};

enum fate { WHOLE, LOSES_ONE, IS_ABORTED };

/* One message: what the sender gave away, and how far it got. */
struct message {
	size_t offset;		/* length of the header */
	size_t size;
	uint8_t *bytes;
	bool sent;
	enum fate fate;
	struct mad_peer peer;
	uint32_t n;		/* segments */
	uint32_t lost;		/* by LOSES_ONE */
	uint32_t *plan;		/* numbers in their order; 0 = an ACK */
	uint32_t steps, step;
	bool *out;		/* which are out, by number */
	bool delivered, gone;
};

static struct message messages[MESSAGES];

/* As the kernel cuts it, but written without it (IBA 13.6.2). */
static void cut_segment(const struct message *m, uint32_t number)
{
	const size_t each = MAD_SIZE - m->offset;
	const size_t from = m->offset + (number - 1) * each;
	const size_t rest = m->size - from;
	const size_t shared = m->offset - RMPP_DATA_OFFSET;
	uint32_t payload = 0;

	memset(mad, 0, MAD_SIZE);
	memcpy(mad, m->bytes, m->offset);
	memcpy(mad + m->offset, m->bytes + from, rest < each ? rest : each);
	mad[RMPP_VERSION] = 1;
	mad[RMPP_TYPE] = RMPP_DATA;
	mad[RMPP_FLAGS] = RMPP_FLAG_ACTIVE;
	if (number == 1) {
		mad[RMPP_FLAGS] |= FIRST;
		payload = (uint32_t)(m->size - m->offset + m->n * shared);
	}
	if (number == m->n) {
		mad[RMPP_FLAGS] |= LAST;
		payload = (uint32_t)(rest + shared);
	}
	put32(mad + RMPP_SEGMENT, number);
	put32(mad + RMPP_PAYLOAD, payload);
}

static void add_step(struct message *m, uint32_t number)
{
	m->plan[m->steps++] = number;
}

/* The kernel goes back behind the last ACK, and no further. */
static void plan_send(struct message *m)
{
	uint32_t next = 1, acked = 0, budget = m->n * 2 + 8;

	while (next <= m->n) {
		add_step(m, next++);
		if (budget && !next_random(6)) {
			budget--;
			next = acked + 1;
		} else if (!next_random(4)) {
			add_step(m, 0);
			acked = next - 1;
		}
	}
	if (next_random(2))
		add_step(m, 0);
}

/* What comes over a fabric: shuffled, repeated, dropped and sent again. */
static void plan_receive(struct message *m)
{
	uint32_t i, j, swap;

	for (i = 1; i <= m->n; i++) {
		add_step(m, i);
		if (!next_random(8))
			add_step(m, i);
	}
	for (i = 0; i < m->steps; i++) {
		j = i + next_random(WINDOW);
		if (j >= m->steps)
			continue;
		swap = m->plan[i];
		m->plan[i] = m->plan[j];
		m->plan[j] = swap;
	}
	/* nobody sends more before the first one is acknowledged */
	for (i = 0; m->plan[i] != 1; i++)
		;
	m->plan[i] = m->plan[0];
	m->plan[0] = 1;
	/* dropped, hence later once more */
	for (i = 0; i < m->n / 10; i++) {
		j = 1 + next_random(m->steps - 1);
		add_step(m, m->plan[j]);
		m->plan[j] = 0;
	}
	add_step(m, 0);
}

static void make_message(struct message *m, uint64_t i)
{
	size_t k;

	memset(m, 0, sizeof(*m));
	k = next_random(COUNT(offsets));
	m->offset = offsets[k].offset;
	m->size = m->offset + next_random(next_random(2) ? 600 : MESSAGE_MAX);
	m->bytes = malloc(m->size);
	check(m->bytes);
	for (k = 0; k < m->size; k++)
		m->bytes[k] = (uint8_t)next_random(256);
	memset(m->bytes, 0, RMPP_DATA_OFFSET);
	m->bytes[MAD_BASE_VERSION] = 1;
	for (k = 0; offsets[k].offset != m->offset; k++)
		;
	m->bytes[MAD_CLASS] = offsets[k].mgmt_class;
	m->bytes[MAD_CLASS_VERSION] = 2;
	m->bytes[MAD_METHOD] = next_random(2) ? TABLE_RESP : MULTI;
	m->sent = next_random(2);
	m->peer.lid = (uint16_t)i;
	m->peer.qpn = 1;
	/* three in turn share all but one thing */
	put64(m->bytes + MAD_TID, TID);
	switch (i % 3) {
	case 0:
		break;
	case 1:
		m->peer.lid--;
		/* the kernel looks at the GID of what it sends alone */
		m->peer.qpn = m->sent ? 1 : 2;
		m->peer.has_gid = m->sent;
		m->peer.gid[15] = 1;
		break;
	case 2:
		m->peer.lid = (uint16_t)(i - 2);
		put64(m->bytes + MAD_TID, TID + 1);
		break;
	}
	m->n = (uint32_t)((m->size - m->offset + MAD_SIZE - m->offset - 1) /
			  (MAD_SIZE - m->offset));
	if (!m->n)
		m->n = 1;
	m->fate = WHOLE;
	if (m->n > 1 && !next_random(5))
		m->fate = next_random(2) ? LOSES_ONE : IS_ABORTED;
	if (m->fate == LOSES_ONE)
		m->lost = 1 + next_random(m->n);

	m->plan = calloc(m->n * 40 + 400, sizeof(*m->plan));
	m->out = calloc(m->n + 2, sizeof(*m->out));
	check(m->plan && m->out);
	if (m->sent)
		plan_send(m);
	else
		plan_receive(m);
	check(m->steps <= m->n * 40 + 400);
}

static void free_message(struct message *m)
{
	free(m->bytes);
	free(m->plan);
	free(m->out);
}

static struct message *find_message(bool sent, const struct mad_peer *peer,
				    uint64_t tid, uint8_t method)
{
	struct message *m;

	for (m = messages; m < messages + MESSAGES; m++)
		if (m->sent == sent && m->peer.lid == peer->lid &&
		    m->peer.has_gid == peer->has_gid &&
		    m->peer.qpn == peer->qpn &&
		    mad_get64(m->bytes + MAD_TID) == tid &&
		    m->bytes[MAD_METHOD] == method)
			return m;
	ck_abort_msg("of no message");
}

static void message_gone(const struct rmpp_gone *g, void *context)
{
	struct message *m = find_message(g->sent, &g->peer, g->tid, g->method);

	check(context == &reassembler);
	n_gone++;
	check(!m->delivered && !m->gone);
	check(m->fate != WHOLE);
	if (m->fate == IS_ABORTED)
		check(g->reason == RMPP_ABORTED);
	else
		check(g->reason == RMPP_MISSED || g->reason == RMPP_TIMED_OUT);
	m->gone = true;
}

static void message_whole(struct message *expected)
{
	const size_t offset = expected->offset;

	check(!expected->delivered && !expected->gone);
	check(expected->fate == WHOLE);
	expected->delivered = true;
	check(segments == expected->n);
	check(whole.size == expected->size && whole.len == whole.size);
	check(whole.sent == expected->sent);
	check(!memcmp(whole.data, expected->bytes, RMPP_VERSION));
	check(!memcmp(whole.data + RMPP_DATA_OFFSET,
		      expected->bytes + RMPP_DATA_OFFSET,
		      offset - RMPP_DATA_OFFSET));
	check(!memcmp(whole.data + offset, expected->bytes + offset,
		      expected->size - offset));
}

/* The next MAD of a message; false when there is none any more. */
static bool step(struct message *m)
{
	uint32_t number, i;
	bool all;

	if (m->step == m->steps)
		return false;
	number = m->plan[m->step++];
	memset(&cap, 0, sizeof(cap));
	cap.peer = m->peer;
	cap.len = cap.size = MAD_SIZE;
	if (number && number != m->lost) {
		m->out[number] = true;
		cut_segment(m, number);
		cap.sent = m->sent;
		if (put() == RMPP_WHOLE)
			message_whole(m);
	} else if (!number) {
		/* an ACK tells the truth */
		for (i = 1; m->out[i] || i == m->lost; i++)
			;
		memset(mad, 0, MAD_SIZE);
		memcpy(mad, m->bytes, m->offset);
		mad[MAD_METHOD] ^= METHOD_RESPONSE;
		mad[RMPP_VERSION] = 1;
		mad[RMPP_TYPE] = RMPP_ACK;
		mad[RMPP_FLAGS] = RMPP_FLAG_ACTIVE;
		put32(mad + RMPP_SEGMENT, i - 1);
		put32(mad + RMPP_PAYLOAD, i < 3 ? 65 : i + 64);
		cap.sent = !m->sent;
		check(put() == RMPP_PART);
	}
	/* aborted before the end, by the receiver */
	all = true;
	for (i = 1; i < m->n; i++)
		all = all && m->out[i];
	if (m->fate == IS_ABORTED && !m->gone &&
	    (!next_random(m->n) || all || m->out[m->n])) {
		if (get_stats().active == 0 || !m->out[number])
			return true;
		memset(mad, 0, MAD_SIZE);
		memcpy(mad, m->bytes, m->offset);
		mad[RMPP_VERSION] = 1;
		mad[RMPP_TYPE] = RMPP_ABORT;
		mad[RMPP_FLAGS] = RMPP_FLAG_ACTIVE;
		mad[RMPP_STATUS] = RMPP_STATUS_T2L;
		cap.sent = !m->sent;
		mad[MAD_METHOD] ^= METHOD_RESPONSE;
		check(put() == RMPP_PART);
		check(m->gone);
		m->step = m->steps;
	}
	return true;
}

START_TEST(test_random_messages)
{
	struct message *active[AT_ONCE];
	size_t n_active = 0, next = 0, k;
	size_t fates[2] = { 0, 0 };
	struct rmpp_options opts = {
		.gone = message_gone,
		.context = &reassembler,
		.max_transfers = 4096,
	};

	printf("random_messages: seed %d\n", _i);
	random_state = (uint64_t)_i * 1000003 + 17;
	rmpp_free(reassembler);
	reassembler = rmpp_new(&opts);
	ck_assert_ptr_nonnull(reassembler);
	for (k = 0; k < MESSAGES; k++)
		make_message(&messages[k], k);
	while (next < MESSAGES || n_active) {
		while (n_active < AT_ONCE && next < MESSAGES)
			active[n_active++] = &messages[next++];
		k = next_random((uint32_t)n_active);
		if (!step(active[k]))
			active[k] = active[--n_active];
		now -= 990000;	/* 10 us a MAD */
	}
	tick(46 * SECOND);
	for (k = 0; k < MESSAGES; k++) {
		check(messages[k].delivered != messages[k].gone);
		check(messages[k].delivered == (messages[k].fate == WHOLE));
		fates[messages[k].gone]++;
	}
	ck_assert_uint_gt(fates[0], MESSAGES / 2);
	ck_assert_uint_gt(fates[1], 5);
	ck_assert_uint_eq(get_stats().whole, fates[0]);
	ck_assert_uint_eq(get_stats().lied, 0);
	ck_assert_uint_eq(get_stats().bytes, 0);
	check_sums();
	for (k = 0; k < MESSAGES; k++)
		free_message(&messages[k]);
	memset(messages, 0, sizeof(messages));
	open_with((struct rmpp_options){ 0 });
}
END_TEST

/* The kernel's side of one transfer: what it holds, and how far it is. */
struct receiver {
	struct {
		bool held, is_last;
		uint8_t fill;
	} segment[64];
	uint32_t window, size;
	uint32_t reached;
};

/* True when it delivers; `ack` when it answers. */
static bool receive(struct receiver *k, uint32_t number, uint8_t fill,
		    bool is_last, bool *ack)
{
	*ack = false;
	if (k->reached ? number > k->window : number != 1)
		return false;
	if (number <= k->reached) {
		*ack = true;
		return false;
	}
	if (k->segment[number].held)
		return false;
	k->segment[number].held = true;
	k->segment[number].is_last = is_last;
	k->segment[number].fill = fill;
	if (number != k->reached + 1)
		return false;
	while (k->segment[k->reached + 1].held)
		k->reached++;
	if (k->segment[k->reached].is_last) {
		*ack = true;
		return true;
	}
	*ack = k->reached == k->window;
	if (*ack)
		k->window += k->size;
	return false;
}

/* A peer that sends what it likes: the same comes out as from the kernel. */
START_TEST(test_same_as_kernel)
{
	struct receiver k;
	bool delivers, is_last, ack;
	uint32_t number, i;
	uint8_t fill;
	int tid, steps, n_whole = 0;

	printf("same_as_kernel: seed %d\n", _i);
	random_state = (uint64_t)_i * 65537 + 5;
	for (tid = 0; tid < 400; tid++) {
		memset(&k, 0, sizeof(k));
		k.size = (uint32_t)_i;
		k.window = 1;
		delivers = false;
		for (steps = 0; steps < 200 && !delivers; steps++) {
			number = 1 + k.reached + next_random(2 * k.size + 2);
			if (!next_random(4))
				number = 1 + next_random(k.reached + 1);
			if (number > 60)
				break;
			fill = (uint8_t)next_random(256);
			is_last = !next_random(8);
			delivers = receive(&k, number, fill, is_last, &ack);
			put_fill((uint64_t)tid, number,
				 (uint8_t)((number == 1 ? FIRST : 0) |
					   (is_last ? LAST : 0)), fill);
			check(delivers == (whole.data != NULL));
			if (delivers) {
				n_whole++;
				check(segments == k.reached);
			}
			for (i = 1; delivers && i <= segments; i++)
				check(get_fill(i) == k.segment[i].fill);
			/* but for the first, some are not captured */
			if (!ack || (k.reached > 1 && next_random(2)))
				continue;
			make_control(false, TABLE_RESP, (uint64_t)tid,
				     RMPP_ACK);
			put32(mad + RMPP_SEGMENT, k.reached);
			put32(mad + RMPP_PAYLOAD, k.window);
			check(put() == RMPP_PART);
		}
		now -= (uint64_t)steps * MS;
	}
	check(n_whole > 100);
	for (i = 0; i < n_gone && i < GONE_MAX; i++)
		check(gone[i].reason == RMPP_TABLE_FULL);
	check(get_stats().beyond > 100);
}
END_TEST

/* Anything at all, mostly nearly right. */
START_TEST(test_hostile)
{
	/* one limit or the other is what is met */
	const size_t total = _i & 1 ? 64 << 10 : 1 << 20;
	const size_t max = _i & 1 ? 4096 : 64;
	struct rmpp_stats s;
	uint64_t sum = 0;
	uint32_t i;
	size_t k;

	printf("hostile: seed %d\n", _i);
	random_state = (uint64_t)_i * 7919 + 3;
	open_with((struct rmpp_options){
		.max_message = 32 << 10, .max_total = total,
		.max_transfers = max, .timeout_ns = SECOND,
	});
	for (i = 0; i < 200000; i++) {
		make_data(next_random(2), next_random(2) ? TABLE_RESP :
			  GET_TABLE, next_random(next_random(2) ? 8 : 5000),
			  1 + next_random(next_random(2) ? 4 : 600),
			  0, next_random(400));
		if (mad_get32(mad + RMPP_SEGMENT) == 1)
			mad[RMPP_FLAGS] |= FIRST;
		if (!next_random(30))
			mad[RMPP_FLAGS] |= LAST;
		if (!next_random(10))
			mad[RMPP_TYPE] = (uint8_t)next_random(6);
		if (!next_random(50))
			cap.len = next_random(MAD_SIZE + 1);
		if (!next_random(50))
			cap.completion = MAD_ERROR;
		for (k = next_random(20) ? 0 : 1 + next_random(4); k; k--)
			mad[next_random(40)] = (uint8_t)next_random(256);
		if (put() == RMPP_WHOLE) {
			check(whole.len <= whole.size);
			check(whole.size >= RMPP_DATA_OFFSET);
			check(whole.size <= 32 << 10);
			for (k = 0; k < whole.len; k++)
				sum += whole.data[k];
		}
		if (!next_random(1000))
			tick(next_random(2000) * MS);
		s = get_stats();
		check(s.bytes <= total && s.active <= max);
		check_sums();
	}
	s = get_stats();
	check(sum && s.bytes_max <= total);
	/* they all happened, but for where the table is full before */
	check(s.lied && s.duplicates && s.late && s.controls && s.beyond);
	check(_i & 1 || s.gone[RMPP_TABLE_FULL]);
	for (k = 0; k < RMPP_REASONS && _i & 1; k++)
		if (k != RMPP_FLUSHED && k != RMPP_TABLE_FULL && !s.gone[k])
			ck_abort_msg("%s", rmpp_reason_name(
				     (enum rmpp_reason)k));
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("rmpp");
	TCase *rules = tcase_create("rules");
	TCase *random = tcase_create("random");

	tcase_add_checked_fixture(rules, setup, teardown);
	tcase_add_test(rules, test_not_rmpp);
	tcase_add_test(rules, test_malformed);
	tcase_add_test(rules, test_one_segment);
	tcase_add_test(rules, test_every_class);
	tcase_add_test(rules, test_rest_of_capture);
	tcase_add_test(rules, test_times);
	tcase_add_test(rules, test_long_message);
	tcase_add_test(rules, test_any_order);
	tcase_add_test(rules, test_duplicates);
	tcase_add_test(rules, test_received_again);
	tcase_add_test(rules, test_sent_again);
	tcase_add_test(rules, test_sent_again_unfinished);
	tcase_add_test(rules, test_acks);
	tcase_add_test(rules, test_acked_but_not_captured);
	tcase_add_test(rules, test_window);
	tcase_add_test(rules, test_window_not_known);
	tcase_add_test(rules, test_bad_acks);
	tcase_add_loop_test(rules, test_stop_and_abort, 0, COUNT(ends));
	tcase_add_test(rules, test_receive_goes_on);
	tcase_add_test(rules, test_send_goes_on);
	tcase_add_test(rules, test_nothing_before_the_first);
	tcase_add_test(rules, test_a_grh_in_the_middle);
	tcase_add_test(rules, test_abort_of_nothing);
	tcase_add_test(rules, test_lengths);
	tcase_add_test(rules, test_conflicts);
	tcase_add_test(rules, test_last_of_received);
	tcase_add_test(rules, test_cut_captures);
	tcase_add_test(rules, test_double_sided);
	tcase_add_test(rules, test_abort_both_sides);
	tcase_add_test(rules, test_interleaved);
	tcase_add_test(rules, test_receive_times_out);
	tcase_add_test(rules, test_silent_receive_times_out);
	tcase_add_test(rules, test_send_times_out);
	tcase_add_test(rules, test_own_timeout);
	tcase_add_test(rules, test_late_segments);
	tcase_add_test(rules, test_send_errors);
	tcase_add_test(rules, test_too_long);
	tcase_add_test(rules, test_longest_by_default);
	tcase_add_test(rules, test_forged_lengths);
	tcase_add_test(rules, test_no_room);
	tcase_add_test(rules, test_sparse_numbers);
	tcase_add_test(rules, test_table_full);
	tcase_add_test(rules, test_flush);
	tcase_add_test(rules, test_no_memory);
	tcase_add_test(rules, test_names);
	suite_add_tcase(suite, rules);
	tcase_add_checked_fixture(random, setup, teardown);
	tcase_add_loop_test(random, test_random_messages, 1, 13);
	tcase_add_loop_test(random, test_same_as_kernel, 1, 9);
	tcase_add_loop_test(random, test_hostile, 1, 5);
	suite_add_tcase(suite, random);
	return run_suite(suite);
}
