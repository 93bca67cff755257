/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * The transaction table, fed with captures made here. Each record it emits is
 * written as JSON and read again by libjansson before a test looks at it.
 */
#include <check.h>
#include <errno.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "attributes.h"
#include "transaction.h"
#include "../run.h"

#define COUNT(table) (sizeof(table) / sizeof((table)[0]))
#define MS UINT64_C(1000000)
#define SECOND (1000 * MS)
#define GUID UINT64_C(0x0002c903000e0b72)

enum {
	GET_RESP = METHOD_GET | METHOD_RESPONSE,
	TABLE_RESP = METHOD_GET_TABLE | METHOD_RESPONSE,
	DELETE_RESP = METHOD_DELETE | METHOD_RESPONSE,
	MULTI_RESP = METHOD_GET_MULTI | METHOD_RESPONSE,
	REPORT_RESP = METHOD_REPORT | METHOD_RESPONSE,

	GOT_MAX = 64,
	MESSAGE_MAX = 4096,
	TID = 0x1234,
};

/* The last records, oldest first, as far as they are not taken yet. */
struct got {
	enum record_type type;
	uint64_t time_ns;
	struct sa_record sa;
	uint64_t tid;
	uint8_t method;
	uint16_t lid;
	bool sent;
	bool repressed;
	size_t notice_len;
	uint8_t notice[64];
};

static struct got got[GOT_MAX];
static size_t n_got, total_got;
/* Of SA responses: how many records there are, and may be room for. */
static uint64_t response_records, answers_covered;
static bool quiet;		/* count records only */

static struct transactions *table;
static struct mad_capture cap;
static uint8_t data[MESSAGE_MAX];
static uint64_t now;

static uint64_t random_state = 1;

static uint32_t next_random(void)
{
	random_state = random_state * UINT64_C(6364136223846793005) + 1;
	return (uint32_t)(random_state >> 33);
}

/* Check tells its parent of each assertion passed: too slow in long loops. */
#define check(condition) do { if (!(condition)) ck_abort_msg(#condition); } \
	while (0)

static void check_readable(const struct record *r)
{
	static char buf[RECORD_JSON_MAX + 2], line[RECORD_LINE_MAX];
	json_error_t error;
	json_t *value;
	size_t len;

	buf[0] = '{';
	len = record_json(r, buf + 1, RECORD_JSON_MAX);
	check(len > 0);
	buf[len + 1] = '}';
	value = json_loadb(buf, len + 2, JSON_REJECT_DUPLICATES, &error);
	if (!value)
		ck_abort_msg("%s in %.*s", error.text, (int)len + 2, buf);
	json_decref(value);

	len = record_line(r, line, sizeof(line));
	check(len > 0 && len < sizeof(line) && strlen(line) == len);
	while (len--)
		check((uint8_t)line[len] >= 0x20 && line[len] != 0x7f);
}

static void keep(const struct record *r, void *context)
{
	struct got *g = &got[n_got];
	const uint8_t *mad = NULL;

	check(context == &table);
	total_got++;
	if (r->type == RECORD_MAD &&
	    r->mad.capture->data[MAD_CLASS] == CLASS_SUBN_ADM &&
	    r->mad.capture->data[MAD_METHOD] & METHOD_RESPONSE)
		response_records++;
	if (r->type == RECORD_SA && r->sa.outcome == SA_ANSWERED)
		answers_covered += 1 + r->sa.retries;
	if (r->type == RECORD_SA && r->sa.outcome == SA_FAILED)
		answers_covered++;
	if (quiet)
		return;
	check_readable(r);
	if (n_got == GOT_MAX)
		return;
	memset(g, 0, sizeof(*g));
	g->type = r->type;
	g->time_ns = r->time_ns;
	switch (r->type) {
	case RECORD_SA:
		g->sa = r->sa;
		g->lid = r->sa.requester.addr.lid;
		mad = r->sa.mad;
		break;
	case RECORD_MAD:
	case RECORD_SEND_ERROR:
		g->lid = r->mad.peer.addr.lid;
		g->sent = r->mad.capture->sent;
		mad = r->mad.capture->data;
		break;
	case RECORD_TRAP:
		g->repressed = r->trap.repressed;
		g->lid = r->trap.from.addr.lid;
		g->notice_len = r->trap.len;
		memcpy(g->notice, r->trap.notice, r->trap.len);
		break;
	default:
		ck_abort_msg("record type %d", r->type);
	}
	if (mad) {
		g->tid = mad_get64(mad + MAD_TID);
		g->method = mad[MAD_METHOD];
	}
	n_got++;
}

static void resolve(struct requester *who, void *context)
{
	check(context == &table);
	who->port_guid = GUID;
	who->name = "node012";
}

static void open_table(size_t max)
{
	const struct transactions_options opts = {
		.max = max,
		.keep_attr = ATTR_MCMEMBER_RECORD,
		.emit = keep,
		.resolve = resolve,
		.context = &table,
	};

	table = transactions_new(&opts);
	ck_assert_ptr_nonnull(table);
}

enum { RECEIVER = 1, SENDER = 2 };	/* OpenSM's threads */

/* Sends are done at once, but for a test that says otherwise. */
static bool sends_hang;

static void setup(void)
{
	now = 100 * SECOND;
	n_got = total_got = 0;
	response_records = answers_covered = 0;
	sends_hang = false;
	quiet = false;
	open_table(16);
}

static void teardown(void)
{
	transactions_free(table);
	table = NULL;
}

/* A capture that put() takes; tests change it in between. */
static void make(uint8_t mgmt_class, uint8_t method, uint16_t attr_id,
		 uint64_t tid, bool sent)
{
	int i;

	memset(data, 0, MAD_SIZE);
	data[MAD_BASE_VERSION] = 1;
	data[MAD_CLASS] = mgmt_class;
	data[MAD_METHOD] = method;
	for (i = 0; i < 8; i++)
		data[MAD_TID + i] = (uint8_t)(tid >> (56 - 8 * i));
	data[MAD_ATTR_ID] = (uint8_t)(attr_id >> 8);
	data[MAD_ATTR_ID + 1] = (uint8_t)attr_id;

	memset(&cap, 0, sizeof(cap));
	cap.data = data;
	cap.len = cap.size = MAD_SIZE;
	cap.sent = sent;
	cap.peer.lid = 7;
	cap.peer.qpn = 1;
	if (sent || method & METHOD_RESPONSE)
		return;
	cap.above_rmpp = true;
	cap.condition.known = true;
	cap.condition.sm_state = 3;
	cap.condition.multipath = true;
}

static void put(void)
{
	if (!sends_hang)
		transactions_sends_done(table, now);
	cap.mono_ns = now;
	cap.time_ns = now + 1000 * SECOND;
	cap.thread = cap.sent ? SENDER : RECEIVER;
	transactions_put(table, &cap);
}

static void put_request(uint8_t method, uint16_t attr_id, uint64_t tid)
{
	make(CLASS_SUBN_ADM, method, attr_id, tid, false);
	put();
}

static void put_response(uint8_t method, uint16_t attr_id, uint64_t tid)
{
	make(CLASS_SUBN_ADM, method, attr_id, tid, true);
	put();
}

static void put_failure(uint8_t method, uint16_t attr_id, uint64_t tid)
{
	make(CLASS_SUBN_ADM, method, attr_id, tid, true);
	cap.completion = MAD_ERROR;
	put();
}

static void get(uint64_t tid)
{
	put_request(METHOD_GET, ATTR_PATH_RECORD, tid);
}

static void get_resp(uint64_t tid)
{
	put_response(GET_RESP, ATTR_PATH_RECORD, tid);
}

static void tick(uint64_t passed)
{
	now += passed;
	if (!sends_hang)
		transactions_sends_done(table, now);
	transactions_tick(table, now);
}

static const struct got *take(enum record_type type)
{
	static struct got first;

	ck_assert_uint_gt(n_got, 0);
	first = got[0];
	memmove(got, got + 1, --n_got * sizeof(got[0]));
	ck_assert_int_eq(first.type, type);
	return &first;
}

static void check_nothing(void)
{
	ck_assert_uint_eq(n_got, 0);
}

static const struct got *take_sa(enum sa_outcome outcome,
				 enum sa_reason reason, uint32_t retries)
{
	const struct got *g = take(RECORD_SA);

	ck_assert_int_eq(g->sa.outcome, outcome);
	ck_assert_int_eq(g->sa.reason, reason);
	ck_assert_uint_eq(g->sa.retries, retries);
	ck_assert_int_eq(g->sa.has_response, outcome == SA_ANSWERED);
	ck_assert_str_eq(g->sa.requester.name, "node012");
	ck_assert(g->sa.requester.port_guid == GUID);
	return g;
}

static const struct got *take_answered(uint32_t retries)
{
	return take_sa(SA_ANSWERED, SA_REASON_NONE, retries);
}

static size_t outstanding(void)
{
	struct transactions_stats stats;

	transactions_get_stats(table, &stats);
	return stats.outstanding;
}

/* The same table again, as if nothing had been before. */
static void start_over(void)
{
	teardown();
	setup();
}

/*
 * Invalid input
 */

/* Let AddressSanitizer's calloc fail as libc's does. */
__attribute__((visibility("default")))
const char *__asan_default_options(void);

const char *__asan_default_options(void)
{
	return "allocator_may_return_null=1";
}

START_TEST(test_no_memory)
{
	const struct transactions_options opts = { .max = SIZE_MAX / 2 };

	errno = 0;
	ck_assert_ptr_null(transactions_new(&opts));
	ck_assert_int_eq(errno, ENOMEM);
	transactions_free(NULL);
}
END_TEST

START_TEST(test_captures_shorter_than_a_header)
{
	size_t len;

	for (len = 0; len < MAD_HDR_SIZE; len++) {
		uint8_t *exact = malloc(len ? len : 1);

		make(CLASS_SUBN_ADM, METHOD_GET, ATTR_PATH_RECORD, TID, false);
		memcpy(exact, data, len);
		cap.data = exact;
		cap.len = len;
		put();
		free(exact);
	}
	transactions_flush(table);
	check_nothing();
}
END_TEST

static void put_cut(size_t len)
{
	uint8_t *exact = malloc(len);

	memcpy(exact, data, len);
	cap.data = exact;
	cap.len = len;
	put();
	free(exact);
}

/* About one attribute, and no more than a MAD of it. */
START_TEST(test_kept_answers)
{
	put_request(METHOD_SET, ATTR_MCMEMBER_RECORD, TID);
	put_response(METHOD_GET | METHOD_RESPONSE, ATTR_MCMEMBER_RECORD, TID);
	tick(SECOND);
	ck_assert_uint_eq(take_answered(0)->sa.answer_len, MAD_SIZE);

	put_request(METHOD_SET, ATTR_SERVICE_RECORD, TID);
	put_response(METHOD_GET | METHOD_RESPONSE, ATTR_SERVICE_RECORD, TID);
	tick(SECOND);
	ck_assert_uint_eq(take_answered(0)->sa.answer_len, 0);

	put_request(METHOD_GET_TABLE, ATTR_MCMEMBER_RECORD, TID);
	make(CLASS_SUBN_ADM, METHOD_GET_TABLE | METHOD_RESPONSE,
	     ATTR_MCMEMBER_RECORD, TID, true);
	cap.len = cap.size = MAD_SIZE + 1;
	cap.above_rmpp = true;
	put();
	tick(SECOND);
	ck_assert_uint_eq(take_answered(0)->sa.answer_len, 0);
}
END_TEST

START_TEST(test_captures_cut_anywhere)
{
	size_t len;

	for (len = MAD_HDR_SIZE; len < MAD_SIZE; len++) {
		make(CLASS_SUBN_ADM, METHOD_GET_TABLE, ATTR_PATH_RECORD, TID,
		     false);
		put_cut(len);
		make(CLASS_SUBN_ADM, TABLE_RESP, ATTR_PATH_RECORD, TID, true);
		data[RMPP_TYPE] = 1;
		data[RMPP_FLAGS] = RMPP_FLAG_ACTIVE | RMPP_FLAG_FIRST;
		data[RMPP_PAYLOAD] = 1;
		data[SA_ATTR_OFFSET + 1] = 8;
		put_cut(len);
		transactions_flush(table);
		ck_assert_uint_eq(take_answered(0)->sa.len, len);

		make(CLASS_SUBN_DIR, METHOD_TRAP, ATTR_NOTICE, TID, false);
		put_cut(len);
		transactions_flush(table);
		ck_assert_uint_eq(take(RECORD_TRAP)->notice_len,
				  len < 64 ? 0 : len < 128 ? len - 64 : 64);
		make(CLASS_SUBN_DIR, METHOD_GET, 0x11, TID, true);
		data[SMP_HOP_COUNT] = 63;
		put_cut(len);
		take(RECORD_MAD);
	}
}
END_TEST

static void make_hostile(void)
{
	static const uint8_t classes[] = { 0x03, 0x03, 0x03, 0x01, 0x81, 4 };
	static const uint8_t methods[] = {
		0x01, 0x02, 0x05, 0x06, 0x07, 0x12, 0x13, 0x14, 0x15, 0x81,
		0x82, 0x86, 0x92, 0x93, 0x94, 0x95, 0x87, 0xff, 0x00,
	};
	static const uint16_t attrs[] = { 2, 0x35, 0x3a, 0x38, 0xfff1 };
	static const uint16_t sizes[] = { 24, 120, 256, 256, 4096 };
	size_t i;

	make(classes[next_random() % COUNT(classes)],
	     methods[next_random() % COUNT(methods)],
	     attrs[next_random() % COUNT(attrs)],
	     next_random() % 40 ? next_random() % 8 : next_random(),
	     next_random() % 2);
	for (i = MAD_HDR_SIZE; i < SA_DATA; i++)
		if (next_random() % 2)
			data[i] = (uint8_t)next_random();
	if (next_random() % 8 == 0)
		for (i = SA_DATA; i < MAD_SIZE; i++)
			data[i] = (uint8_t)next_random();
	cap.peer.lid = (uint16_t)(next_random() % 4);
	cap.peer.qpn = next_random() % 3 ? 1 : next_random();
	cap.peer.has_gid = next_random() % 4 == 0;
	cap.size = sizes[next_random() % COUNT(sizes)];
	cap.len = cap.size < MAD_SIZE ? cap.size : MAD_SIZE;
	if (next_random() % 4 == 0)
		cap.len = MAD_HDR_SIZE +
			next_random() % (cap.len - MAD_HDR_SIZE + 1);
	if (next_random() % 16 == 0)
		cap.size = SIZE_MAX;
	if (cap.sent && next_random() % 4 == 0)
		cap.completion = next_random() % 4;
	cap.above_rmpp = cap.condition.known = next_random() % 2;
	cap.condition.sm_state = next_random() % 8 ? 3 : 2;
	cap.condition.first_sweep = next_random() % 8 == 0;
}

static bool is_response(void)
{
	return data[MAD_CLASS] == CLASS_SUBN_ADM &&
	       data[MAD_METHOD] & METHOD_RESPONSE &&
	       (!cap.sent || cap.completion == MAD_OK);
}

START_TEST(test_hostile_captures)
{
	struct transactions_stats stats;
	uint64_t responses = 0;
	int i;

	start_over();
	for (i = 0; i < 200000; i++) {
		make_hostile();
		responses += is_response();
		switch (next_random() % 64) {
		case 0:
			now += next_random() % SECOND;
			break;
		case 1:		/* threads, or a clock that is none */
			now -= next_random() % (SECOND / 10);
			break;
		default:
			now += next_random() % MS;
		}
		quiet = next_random() % 8;
		if (cap.len < MAD_SIZE)
			put_cut(cap.len);
		else
			put();
		if (next_random() % 1000 == 0)
			tick(0);
		n_got = 0;
	}
	transactions_flush(table);
	transactions_get_stats(table, &stats);
	ck_assert_uint_eq(stats.outstanding, 0);
	/* each request but a retry is reported exactly once */
	ck_assert_uint_eq(stats.requests - stats.retries, stats.answered +
			  stats.unanswered + stats.failed);
	ck_assert_uint_gt(stats.answered, 0);
	ck_assert_uint_gt(stats.unanswered, 0);
	ck_assert_uint_gt(stats.failed, 0);
	ck_assert_uint_gt(stats.evicted, 0);
	ck_assert_uint_gt(stats.retries, 0);
	ck_assert_uint_gt(total_got, 100000);
	/* and each response is part of one of these, or a record */
	ck_assert_uint_le(response_records, responses);
	ck_assert_uint_ge(response_records + answers_covered, responses);
}
END_TEST

/*
 * Requests and responses
 */

START_TEST(test_request_and_response)
{
	const struct got *g;
	struct transactions_stats stats;

	get(TID);
	ck_assert_uint_eq(outstanding(), 1);
	now += 84999;
	make(CLASS_SUBN_ADM, GET_RESP, ATTR_PATH_RECORD, TID, true);
	data[MAD_STATUS] = 3;
	cap.size = 120;
	put();
	ck_assert_uint_eq(outstanding(), 0);
	tick(100 * MS);
	g = take_answered(0);
	ck_assert_uint_eq(g->tid, TID);
	ck_assert_uint_eq(g->lid, 7);
	ck_assert_uint_eq(g->time_ns, 1100 * SECOND);	/* the request's */
	ck_assert_uint_eq(g->sa.latency_ns, 84999);
	ck_assert_uint_eq(g->sa.status, 0x0300);
	ck_assert_uint_eq(g->sa.bytes, 120);
	ck_assert_uint_eq(g->sa.records, 0);
	check_nothing();

	transactions_get_stats(table, &stats);
	ck_assert_uint_eq(stats.requests, 1);
	ck_assert_uint_eq(stats.retries, 0);
	ck_assert_uint_eq(stats.answered, 1);
	ck_assert_uint_eq(stats.unanswered, 0);
	ck_assert_uint_eq(stats.failed, 0);
}
END_TEST

START_TEST(test_each_method_has_its_response)
{
	static const uint8_t methods[][2] = {
		{ METHOD_GET, GET_RESP }, { METHOD_SET, GET_RESP },
		{ METHOD_GET_TABLE, TABLE_RESP },
		{ METHOD_DELETE, DELETE_RESP },
		{ METHOD_GET_MULTI, MULTI_RESP },
		{ METHOD_GET_TRACE_TABLE, 0x93 }, { METHOD_REPORT, 0x86 },
		{ METHOD_TRAP, 0x85 }, { 0x7e, 0xfe },
	};
	size_t i, k;

	for (i = 0; i < COUNT(methods); i++) {
		for (k = 0; k < COUNT(methods); k++) {
			start_over();
			put_request(methods[i][0], 0x38, TID);
			put_response(methods[k][1], 0x38, TID);
			if (methods[k][1] != methods[i][1]) {
				take(RECORD_MAD);
				check_nothing();
				continue;
			}
			tick(100 * MS);
			ck_assert_uint_eq(take_answered(0)->method,
					  methods[i][0]);
		}
	}
}
END_TEST

START_TEST(test_multipath_is_answered_with_paths)
{
	put_request(METHOD_GET_MULTI, ATTR_MULTIPATH_RECORD, 1);
	put_response(MULTI_RESP, ATTR_PATH_RECORD, 1);
	put_request(METHOD_GET_MULTI, ATTR_MULTIPATH_RECORD, 2);
	put_response(MULTI_RESP, ATTR_MULTIPATH_RECORD, 2);	/* an error */
	tick(100 * MS);
	ck_assert_uint_eq(take_answered(0)->tid, 1);
	ck_assert_uint_eq(take_answered(0)->tid, 2);

	/* the attribute counts for every other method */
	put_request(METHOD_GET, ATTR_MULTIPATH_RECORD, 3);
	put_response(GET_RESP, ATTR_PATH_RECORD, 3);
	take(RECORD_MAD);
}
END_TEST

START_TEST(test_what_tells_transactions_apart)
{
	int what;

	for (what = 0; what < 7; what++) {
		start_over();
		get(TID);
		make(CLASS_SUBN_ADM, GET_RESP, ATTR_PATH_RECORD, TID, true);
		switch (what) {
		case 0:
			cap.peer.lid = 8;
			break;
		case 1:
			cap.peer.qpn = 2;
			break;
		case 2:
			cap.peer.has_gid = true;
			break;
		case 3:
			data[MAD_TID] = 0x80;	/* the highest bit */
			break;
		case 4:
			data[MAD_TID + 7] ^= 1;
			break;
		case 5:
			data[MAD_ATTR_ID + 1] = 0x38;
			break;
		case 6:
			cap.sent = false;
			break;
		}
		put();
		take(RECORD_MAD);
		get_resp(TID);
		tick(100 * MS);
		take_answered(0);
		check_nothing();
	}
}
END_TEST

START_TEST(test_gids_tell_requesters_apart)
{
	int i;

	for (i = 1; i <= 2; i++) {
		make(CLASS_SUBN_ADM, METHOD_GET, ATTR_PATH_RECORD, TID, false);
		cap.peer.has_gid = true;
		cap.peer.gid[15] = (uint8_t)i;
		put();
	}
	ck_assert_uint_eq(outstanding(), 2);
	make(CLASS_SUBN_ADM, GET_RESP, ATTR_PATH_RECORD, TID, true);
	cap.peer.has_gid = true;
	cap.peer.gid[15] = 2;
	put();
	tick(100 * MS);
	ck_assert_uint_eq(take_answered(0)->sa.requester.addr.gid[15], 2);
	ck_assert_uint_eq(outstanding(), 1);
}
END_TEST

/* All of the key the same but the method: two transactions, in order. */
START_TEST(test_get_and_set_with_one_key)
{
	get(TID);
	now++;
	put_request(METHOD_SET, ATTR_PATH_RECORD, TID);
	ck_assert_uint_eq(outstanding(), 2);
	get_resp(TID);
	get_resp(TID);
	tick(100 * MS);
	ck_assert_uint_eq(take_answered(0)->method, METHOD_GET);
	ck_assert_uint_eq(take_answered(0)->method, METHOD_SET);
	check_nothing();
}
END_TEST

START_TEST(test_response_before_its_request)
{
	get_resp(TID);
	ck_assert_uint_eq(take(RECORD_MAD)->method, GET_RESP);
	get(TID);
	transactions_flush(table);
	take_sa(SA_UNANSWERED, SA_REASON_UNKNOWN, 0);
	check_nothing();
}
END_TEST

START_TEST(test_second_response_to_one_request)
{
	get(TID);
	get_resp(TID);
	get_resp(TID);
	take_answered(0);
	take(RECORD_MAD);
	tick(100 * MS);
	get_resp(TID);
	take(RECORD_MAD);
	check_nothing();
}
END_TEST

START_TEST(test_what_is_no_transaction)
{
	/* received TrapRepress and responses, sent requests but Reports */
	put_request(METHOD_TRAP_REPRESS, ATTR_NOTICE, TID);
	take(RECORD_MAD);
	make(CLASS_SUBN_ADM, REPORT_RESP, ATTR_NOTICE, TID, false);
	put();
	take(RECORD_MAD);
	make(CLASS_SUBN_ADM, METHOD_GET, ATTR_PATH_RECORD, TID, true);
	put();
	take(RECORD_MAD);
	make(CLASS_SUBN_ADM, METHOD_REPORT, ATTR_INFORM_INFO, TID, true);
	put();
	take(RECORD_MAD);

	/* other classes */
	make(CLASS_SUBN_DIR, METHOD_GET, 0x11, TID, true);
	put();
	take(RECORD_MAD);
	make(CLASS_SUBN_DIR, GET_RESP, 0x11, TID, false);
	put();
	take(RECORD_MAD);
	make(0x04, METHOD_GET, 0x12, TID, false);
	put();
	take(RECORD_MAD);
	ck_assert_uint_eq(outstanding(), 0);
	check_nothing();
}
END_TEST

START_TEST(test_sends_that_fail)
{
	static const uint8_t classes[] = { 0x01, 0x81, 0x03, 0x04 };
	size_t i;

	for (i = 0; i < COUNT(classes); i++) {
		make(classes[i], METHOD_GET, 0x15, TID, true);
		cap.completion = MAD_TIMEOUT;
		put();
		ck_assert_uint_eq(take(RECORD_SEND_ERROR)->lid, 7);
	}
	check_nothing();
}
END_TEST

/*
 * Records and bytes
 */

static uint32_t records_of(uint8_t request, uint8_t response, size_t size,
			   uint16_t attr_offset, uint8_t rmpp_flags,
			   uint32_t payload_len)
{
	start_over();
	put_request(request, 0x11, TID);
	make(CLASS_SUBN_ADM, response, 0x11, TID, true);
	cap.size = size;
	data[SA_ATTR_OFFSET] = (uint8_t)(attr_offset >> 8);
	data[SA_ATTR_OFFSET + 1] = (uint8_t)attr_offset;
	data[RMPP_TYPE] = 1;
	data[RMPP_FLAGS] = rmpp_flags;
	data[RMPP_PAYLOAD] = (uint8_t)(payload_len >> 24);
	data[RMPP_PAYLOAD + 1] = (uint8_t)(payload_len >> 16);
	data[RMPP_PAYLOAD + 2] = (uint8_t)(payload_len >> 8);
	data[RMPP_PAYLOAD + 3] = (uint8_t)payload_len;
	put();
	transactions_flush(table);
	return take_answered(0)->sa.records;
}

START_TEST(test_records_of_a_response)
{
	const uint8_t first = RMPP_FLAG_ACTIVE | RMPP_FLAG_FIRST;
	const uint8_t only = RMPP_FLAG_ACTIVE | RMPP_FLAG_FIRST |
		RMPP_FLAG_LAST;

	/* one, whatever the offset says */
	ck_assert_uint_eq(records_of(METHOD_GET, GET_RESP, 256, 8, 0, 0), 1);
	ck_assert_uint_eq(records_of(METHOD_SET, GET_RESP, 256, 0, 0, 0), 1);
	ck_assert_uint_eq(records_of(METHOD_DELETE, DELETE_RESP, 256, 7, 0, 0),
			  1);
	/* above RMPP: 512 NodeRecords in one message */
	ck_assert_uint_eq(records_of(METHOD_GET_TABLE, TABLE_RESP,
				     56 + 512 * 112, 14, RMPP_FLAG_ACTIVE, 0),
			  512);
	ck_assert_uint_eq(records_of(METHOD_GET_TABLE, TABLE_RESP, 56, 0,
				     RMPP_FLAG_ACTIVE, 0), 0);
	ck_assert_uint_eq(records_of(METHOD_GET_TABLE, TABLE_RESP, 256, 0,
				     only, 220), 0);
	/* the wire's single MAD, padded to its size */
	ck_assert_uint_eq(records_of(METHOD_GET_TABLE, TABLE_RESP, 256, 14,
				     only, 20 + 112), 1);
	ck_assert_uint_eq(records_of(METHOD_GET_TABLE, TABLE_RESP, 256, 14,
				     only, 20), 0);
	/* its first segment: 512 NodeRecords are 287 segments */
	ck_assert_uint_eq(records_of(METHOD_GET_TABLE, TABLE_RESP, 256, 14,
				     first, 287 * 20 + 512 * 112), 512);
	/* without a PayloadLength: what is in it */
	ck_assert_uint_eq(records_of(METHOD_GET_TABLE, TABLE_RESP, 256, 8,
				     first, 0), 3);
	/* a lie in one that is the only one, and the greatest there is */
	ck_assert_uint_eq(records_of(METHOD_GET_TABLE, TABLE_RESP, 256, 8,
				     only, UINT32_MAX), 3);
	ck_assert_uint_lt(records_of(METHOD_GET_TABLE, TABLE_RESP, 256, 1,
				     first, UINT32_MAX), UINT32_MAX / 8);
	ck_assert_uint_eq(records_of(METHOD_GET_TABLE, TABLE_RESP, 256, 1,
				     first, 1), 0);
	ck_assert_uint_eq(records_of(METHOD_GET_TABLE, TABLE_RESP, 24, 1,
				     first, 0), 0);
	ck_assert_uint_eq(records_of(METHOD_GET_TABLE, TABLE_RESP, SIZE_MAX, 1,
				     first, 0), UINT32_MAX);
}
END_TEST

/* On the wire an ACK of a GetTableResp has the method GetTable. */
START_TEST(test_rmpp_parts_are_no_requests_or_responses)
{
	make(CLASS_SUBN_ADM, METHOD_GET_TABLE, 0x11, TID, false);
	cap.above_rmpp = cap.condition.known = false;
	put();
	make(CLASS_SUBN_ADM, TABLE_RESP, 0x11, TID, true);
	data[RMPP_TYPE] = 1;
	data[RMPP_FLAGS] = RMPP_FLAG_ACTIVE;
	data[RMPP_SEGMENT + 3] = 2;
	put();
	take(RECORD_MAD);
	data[RMPP_FLAGS] |= RMPP_FLAG_FIRST;
	data[RMPP_SEGMENT + 3] = 1;
	put();
	make(CLASS_SUBN_ADM, METHOD_GET_TABLE, 0x11, TID, false);
	cap.above_rmpp = cap.condition.known = false;
	data[RMPP_TYPE] = 2;
	data[RMPP_FLAGS] = RMPP_FLAG_ACTIVE;
	put();
	take(RECORD_MAD);
	tick(100 * MS);
	take_answered(0);
	check_nothing();

	/* whoever gets such a thing to OpenSM does not hide behind it */
	make(CLASS_SUBN_ADM, METHOD_GET_TABLE, 0x11, TID, false);
	data[RMPP_TYPE] = 2;
	data[RMPP_FLAGS] = RMPP_FLAG_ACTIVE;
	put();
	make(CLASS_SUBN_ADM, TABLE_RESP, 0x11, TID, true);
	data[RMPP_TYPE] = 2;
	data[RMPP_FLAGS] = RMPP_FLAG_ACTIVE;
	put();
	tick(100 * MS);
	take_answered(0);
	check_nothing();
}
END_TEST

/*
 * Held responses
 */

START_TEST(test_an_answer_is_held_until_it_is_sent)
{
	get(1);
	get_resp(1);
	check_nothing();
	sends_hang = true;
	now += 500 * MS;
	get(2);			/* delayed by nothing */
	tick(MS);
	check_nothing();

	/* done, but its failure may be among the captures that come first */
	transactions_sends_done(table, now + MS);
	tick(MS - 1);
	check_nothing();
	tick(1);
	ck_assert_uint_eq(take_answered(0)->tid, 1);
	check_nothing();

	/* in the order of the responses, not of the requests */
	get(3);
	get_resp(3);
	get_resp(2);
	ck_assert_uint_eq(take_answered(0)->tid, 3);
	sends_hang = false;
	tick(2 * MS);
	ck_assert_uint_eq(take_answered(0)->tid, 2);

	get(4);
	get_resp(4);
	transactions_flush(table);
	ck_assert_uint_eq(take_answered(0)->tid, 4);
	check_nothing();
}
END_TEST

/* The next capture of the thread that sent it tells that it was sent. */
START_TEST(test_an_answer_is_held_until_its_thread_goes_on)
{
	sends_hang = true;
	get(1);
	get_resp(1);
	get(2);			/* another thread's */
	check_nothing();
	get_resp(2);
	ck_assert_uint_eq(take_answered(0)->tid, 1);
	put_failure(GET_RESP, ATTR_PATH_RECORD, 2);
	ck_assert_uint_eq(take_sa(SA_FAILED, SA_REASON_SEND_ERROR, 0)->tid,
			  2);
	check_nothing();
}
END_TEST

START_TEST(test_an_answer_is_held_for_a_second_at_most)
{
	get(1);
	get_resp(1);
	sends_hang = true;
	tick(SECOND - 1);
	check_nothing();
	tick(1);
	ck_assert_uint_eq(take_answered(0)->tid, 1);
	check_nothing();
}
END_TEST

START_TEST(test_a_response_that_could_not_be_sent)
{
	struct transactions_stats stats;
	const struct got *g;

	get(1);
	get(2);
	get_resp(2);
	get_resp(1);
	ck_assert_uint_eq(take_answered(0)->tid, 2);
	sends_hang = true;	/* and the thread is not let run for long */
	now += 500 * MS;
	put_failure(GET_RESP, ATTR_PATH_RECORD, 1);
	sends_hang = false;
	g = take_sa(SA_FAILED, SA_REASON_SEND_ERROR, 0);
	ck_assert_uint_eq(g->tid, 1);
	ck_assert_uint_eq(g->sa.status, 0);
	ck_assert_uint_eq(g->sa.records, 0);
	check_nothing();

	/* too late to be told of the transaction, but not lost */
	put_failure(GET_RESP, ATTR_PATH_RECORD, 2);
	take(RECORD_SEND_ERROR);

	/* its first capture was lost */
	get(3);
	put_failure(GET_RESP, ATTR_PATH_RECORD, 3);
	take_sa(SA_FAILED, SA_REASON_SEND_ERROR, 0);
	get_resp(3);		/* none is owed any more */
	take(RECORD_MAD);

	/* of nothing */
	put_failure(GET_RESP, ATTR_PATH_RECORD, 4);
	take(RECORD_SEND_ERROR);
	check_nothing();
	transactions_get_stats(table, &stats);
	ck_assert_uint_eq(stats.failed, 2);
	ck_assert_uint_eq(stats.answered, 1);
}
END_TEST

/*
 * Retries
 */

START_TEST(test_retries_count_from_the_first_copy)
{
	struct transactions_stats stats;
	const struct got *g;

	get(TID);
	now += SECOND;
	get(TID);
	now += SECOND;
	get(TID);
	ck_assert_uint_eq(outstanding(), 1);
	now += 10 * MS;
	get_resp(TID);
	tick(100 * MS);
	g = take_answered(2);
	ck_assert_uint_eq(g->sa.latency_ns, 2010 * MS);
	ck_assert_uint_eq(g->time_ns, 1100 * SECOND);
	transactions_get_stats(table, &stats);
	ck_assert_uint_eq(stats.requests, 3);
	ck_assert_uint_eq(stats.retries, 2);

	/* the other two are answered as well; a fourth answer is none */
	get_resp(TID);
	get_resp(TID);
	check_nothing();
	get_resp(TID);
	take(RECORD_MAD);
	check_nothing();
}
END_TEST

/* Clients that use one TID for query after query: each is one record. */
START_TEST(test_the_same_request_right_after_its_answer)
{
	get(TID);
	get_resp(TID);
	now += MS;
	get(TID);
	take_answered(0);
	get_resp(TID);
	tick(100 * MS);
	take_answered(0);
	get_resp(TID);
	take(RECORD_MAD);
	check_nothing();
}
END_TEST

START_TEST(test_answers_are_owed_only_so_long)
{
	get(TID);
	now += SECOND;
	get(TID);
	get_resp(TID);
	tick(100 * MS);
	take_answered(1);
	now += 5 * SECOND - 100 * MS - 1;
	get_resp(TID);		/* just in time */
	check_nothing();
	get_resp(TID);
	take(RECORD_MAD);

	get(TID);
	get(TID);
	get_resp(TID);
	tick(100 * MS);
	take_answered(1);
	now += 5 * SECOND - 100 * MS;
	get_resp(TID);		/* just too late, whether a tick came or not */
	take(RECORD_MAD);
	check_nothing();
}
END_TEST

START_TEST(test_a_new_request_after_copies)
{
	get(TID);
	get(TID);
	get_resp(TID);
	tick(100 * MS);
	take_answered(1);

	get(TID);		/* a new one, while one answer is owed */
	ck_assert_uint_eq(outstanding(), 1);
	now += MS;
	get_resp(TID);		/* the first is for who waits */
	ck_assert_uint_eq(outstanding(), 0);
	tick(100 * MS);
	ck_assert_uint_eq(take_answered(0)->sa.latency_ns, MS);
	get_resp(TID);		/* then there is one for the copy */
	check_nothing();
	get_resp(TID);
	take(RECORD_MAD);
	check_nothing();
}
END_TEST

static void put_status(uint16_t status)
{
	make(CLASS_SUBN_ADM, DELETE_RESP, ATTR_SERVICE_RECORD, TID, true);
	data[MAD_STATUS] = (uint8_t)(status >> 8);
	data[MAD_STATUS + 1] = (uint8_t)status;
	put();
}

/*
 * A client deletes what somebody sets between its copies: what the second was
 * told is news, and belongs in the audit.
 */
START_TEST(test_copies_that_are_answered_otherwise)
{
	static const uint16_t no_records = 0x0300;
	const struct got *g;
	int i;

	for (i = 0; i < 4; i++)
		put_request(METHOD_DELETE, ATTR_SERVICE_RECORD, TID);
	now += MS;
	put_status(no_records);
	tick(100 * MS);
	ck_assert_uint_eq(take_answered(3)->sa.status, no_records);
	put_status(0);
	g = take_answered(3);
	ck_assert_uint_eq(g->sa.status, 0);
	ck_assert_uint_eq(g->sa.records, 1);
	ck_assert_uint_eq(g->sa.latency_ns, 101 * MS);
	put_status(0);		/* as was told last */
	check_nothing();
	put_status(no_records);
	take_answered(3);
	check_nothing();
}
END_TEST

static void delete(void)
{
	put_request(METHOD_DELETE, ATTR_SERVICE_RECORD, TID);
}

/* The same with a new request in between, which was told the same, or not. */
START_TEST(test_old_copies_that_are_answered_otherwise)
{
	static const uint16_t no_records = 0x0300;
	const struct got *g;

	delete();
	now += SECOND;
	delete();
	put_status(no_records);
	tick(100 * MS);
	take_answered(1);
	delete();
	put_status(_i ? 0 : no_records);
	tick(100 * MS);
	ck_assert_uint_eq(take_answered(0)->time_ns, 1101 * SECOND + 100 * MS);
	put_status(0);
	if (!_i) {
		/* with the time and the copies of the one that it is for */
		g = take_answered(1);
		ck_assert_uint_eq(g->time_ns, 1100 * SECOND);
		ck_assert_uint_eq(g->sa.latency_ns, 1200 * MS);
	}
	check_nothing();
}
END_TEST

/* It was another thread's answer that could not be sent. */
START_TEST(test_a_failure_is_its_threads)
{
	static const uint16_t no_records = 0x0300;

	sends_hang = true;
	delete();
	put_status(no_records);
	delete();		/* so the first is told */
	ck_assert_uint_eq(take_answered(0)->sa.status, no_records);
	put_status(0);
	check_nothing();	/* held */
	make(CLASS_SUBN_ADM, DELETE_RESP, ATTR_SERVICE_RECORD, TID, true);
	cap.completion = MAD_ERROR;
	cap.mono_ns = now;
	cap.thread = SENDER + 1;
	transactions_put(table, &cap);
	take(RECORD_SEND_ERROR);
	tick(SECOND);
	ck_assert_uint_eq(take_answered(0)->sa.status, 0);
	check_nothing();
}
END_TEST

/* The first copy came in the first sweep: no answer to it is owed. */
START_TEST(test_copies_that_were_dropped_owe_nothing)
{
	make(CLASS_SUBN_ADM, METHOD_GET, ATTR_PATH_RECORD, TID, false);
	cap.condition.first_sweep = true;
	put();
	get(TID);
	get_resp(TID);
	tick(100 * MS);
	take_answered(1);
	get(TID);
	get_resp(TID);
	tick(100 * MS);
	take_answered(0);
	check_nothing();
}
END_TEST

START_TEST(test_requests_with_everything_equal)
{
	int i;

	for (i = 0; i < 1000; i++)
		get(TID);
	ck_assert_uint_eq(outstanding(), 1);
	for (i = 0; i < 1000; i++)
		get_resp(TID);
	tick(100 * MS);
	take_answered(999);
	check_nothing();
	get_resp(TID);
	take(RECORD_MAD);
}
END_TEST

/*
 * Time-outs
 */

START_TEST(test_unanswered)
{
	struct transactions_stats stats;

	get(1);
	now += SECOND;
	get(2);
	tick(4 * SECOND - 1);
	check_nothing();
	tick(1);
	ck_assert_uint_eq(take_sa(SA_UNANSWERED, SA_REASON_UNKNOWN, 0)->tid,
			  1);
	check_nothing();
	now += SECOND;		/* without a tick */
	get(3);
	ck_assert_uint_eq(take_sa(SA_UNANSWERED, SA_REASON_UNKNOWN, 0)->tid,
			  2);
	transactions_get_stats(table, &stats);
	ck_assert_uint_eq(stats.unanswered, 2);
	ck_assert_uint_eq(stats.outstanding, 1);

	/* a late answer is one to nothing */
	get_resp(1);
	take(RECORD_MAD);
	check_nothing();
}
END_TEST

START_TEST(test_an_answer_that_races_the_time_out)
{
	get(TID);
	now += 5 * SECOND + MS;
	get_resp(TID);		/* no tick came in between */
	tick(100 * MS);
	take_answered(0);

	get(TID);
	now += 5 * SECOND - 1;
	get_resp(TID);
	sends_hang = true;
	tick(1);		/* held, no longer outstanding */
	check_nothing();
	sends_hang = false;
	tick(100 * MS);
	take_answered(0);

	/* a copy after the time is a new request, tick or not */
	get(TID);
	now += 5 * SECOND;
	get(TID);
	take_sa(SA_UNANSWERED, SA_REASON_UNKNOWN, 0);
	get_resp(TID);
	tick(100 * MS);
	take_answered(0);
	check_nothing();

	check_nothing();
}
END_TEST

static void put_twice(void)
{
	get(TID);
	now += 3 * SECOND;
	get(TID);
}

/* Each answer that no reported answer covers has a record of its own. */
START_TEST(test_late_answers_are_not_swallowed)
{
	int i;

	put_twice();
	tick(2 * SECOND);
	take_sa(SA_UNANSWERED, SA_REASON_UNKNOWN, 1);
	for (i = 0; i < 3; i++) {	/* two copies, and one too many */
		get_resp(TID);
		ck_assert_uint_eq(take(RECORD_MAD)->tid, TID);
		check_nothing();
	}

	/* the same when it failed */
	start_over();
	put_twice();
	get_resp(TID);
	put_failure(GET_RESP, ATTR_PATH_RECORD, TID);
	take_sa(SA_FAILED, SA_REASON_SEND_ERROR, 1);
	for (i = 0; i < 2; i++) {
		get_resp(TID);
		take(RECORD_MAD);
		check_nothing();
	}

	/* the late ones come after that of the next transaction */
	start_over();
	put_twice();
	tick(2 * SECOND);
	take_sa(SA_UNANSWERED, SA_REASON_UNKNOWN, 1);
	get(TID);
	now += MS;
	get_resp(TID);
	tick(100 * MS);
	ck_assert_uint_eq(take_answered(0)->sa.latency_ns, MS);
	for (i = 0; i < 3; i++) {
		now += MS;
		get_resp(TID);
		take(RECORD_MAD);
		check_nothing();
	}

	/* it gets its answer though the copies before got none at all */
	start_over();
	for (i = 0; i < 3; i++) {
		get(TID);
		now += 3 * SECOND;
	}
	take_sa(SA_UNANSWERED, SA_REASON_UNKNOWN, 1);
	get_resp(TID);
	tick(100 * MS);
	take_answered(0);
	check_nothing();

	/* an answer, too, whose entry had to make room */
	start_over();
	put_twice();
	tick(2 * SECOND);
	take_sa(SA_UNANSWERED, SA_REASON_UNKNOWN, 1);
	for (i = 1; i <= 16; i++)
		get(TID + (uint64_t)i);
	check_nothing();
	get_resp(TID);
	take(RECORD_MAD);
	check_nothing();
}
END_TEST

/* An SA request with a mark in its record, or behind what it has. */
static void put_marked(uint8_t method, uint16_t attr_id, size_t offset,
		       uint8_t mark, bool dropped)
{
	make(CLASS_SUBN_ADM, method, attr_id, TID, false);
	data[offset] = mark;
	if (dropped)
		data[SA_SM_KEY] = 1;
	put();
}

/* One TID does not make two requests one: each is a record. */
START_TEST(test_what_differs_is_no_copy)
{
	uint8_t marks;
	int i;

	put_marked(METHOD_SET, ATTR_MCMEMBER_RECORD, SA_DATA, 1, false);
	put_marked(METHOD_SET, ATTR_MCMEMBER_RECORD, SA_DATA, 2, false);
	ck_assert_uint_eq(outstanding(), 2);
	for (i = 0; i < 2; i++) {
		put_response(GET_RESP, ATTR_MCMEMBER_RECORD, TID);
		tick(100 * MS);
		ck_assert_uint_eq(take_answered(0)->sa.retries, 0);
	}
	check_nothing();

	/* another SM_Key, or component mask */
	start_over();
	put_marked(METHOD_SET, ATTR_MCMEMBER_RECORD, SA_COMPONENT_MASK, 1,
		   false);
	put_marked(METHOD_SET, ATTR_MCMEMBER_RECORD, SA_COMPONENT_MASK, 2,
		   false);
	ck_assert_uint_eq(outstanding(), 2);

	/* what lies behind the record is nobody's */
	start_over();
	put_marked(METHOD_SET, ATTR_MCMEMBER_RECORD, SA_DATA + 60, 1, false);
	put_marked(METHOD_SET, ATTR_MCMEMBER_RECORD, SA_DATA + 60, 2, false);
	ck_assert_uint_eq(outstanding(), 1);
	put_marked(METHOD_GET, ATTR_PATH_RECORD, 230, 1, false);
	put_marked(METHOD_GET, ATTR_PATH_RECORD, 230, 2, false);
	ck_assert_uint_eq(outstanding(), 2);
	/* but who knows where an attribute ends that is not known? */
	put_marked(METHOD_GET, 0xff10, 255, 1, false);
	put_marked(METHOD_GET, 0xff10, 255, 2, false);
	ck_assert_uint_eq(outstanding(), 4);

	/* nobody makes a long list of them */
	start_over();
	for (marks = 1; marks <= 40; marks++)
		put_marked(METHOD_GET, ATTR_PATH_RECORD, SA_DATA + 8, marks,
			   false);
	ck_assert_uint_eq(outstanding(), 16);
	for (i = 0; i < 40 - 16; i++)
		take_sa(SA_UNANSWERED, SA_REASON_UNKNOWN, 0);
	check_nothing();
}
END_TEST

/* The kernel drops it: no transaction of OpenSM's, but no secret either. */
START_TEST(test_another_base_version)
{
	make(CLASS_SUBN_ADM, METHOD_SET, ATTR_MCMEMBER_RECORD, TID, false);
	data[MAD_BASE_VERSION] = 7;
	cap.above_rmpp = false;
	put();
	take(RECORD_MAD);
	check_nothing();
	ck_assert_uint_eq(outstanding(), 0);
	/* what OpenSM got is one, whatever it says */
	cap.above_rmpp = true;
	put();
	ck_assert_uint_eq(outstanding(), 1);
}
END_TEST

/* The answer is not for whom OpenSM drops. */
START_TEST(test_answers_are_for_who_is_not_dropped)
{
	put_marked(METHOD_SET, ATTR_MCMEMBER_RECORD, SA_DATA, 1, true);
	now += 20 * MS;
	put_marked(METHOD_SET, ATTR_MCMEMBER_RECORD, SA_DATA, 2, false);
	now += MS;
	put_response(GET_RESP, ATTR_MCMEMBER_RECORD, TID);
	tick(100 * MS);
	ck_assert_uint_eq(take_answered(0)->sa.latency_ns, MS);
	tick(5 * SECOND);
	take_sa(SA_UNANSWERED, SA_REASON_SM_KEY, 0);
	check_nothing();

	/* if there is nobody else it was answered after all */
	start_over();
	put_marked(METHOD_SET, ATTR_MCMEMBER_RECORD, SA_DATA, 1, true);
	put_response(GET_RESP, ATTR_MCMEMBER_RECORD, TID);
	tick(100 * MS);
	take_answered(0);
	check_nothing();

	/* nor is its failure */
	start_over();
	put_marked(METHOD_SET, ATTR_MCMEMBER_RECORD, SA_DATA, 1, true);
	put_marked(METHOD_SET, ATTR_MCMEMBER_RECORD, SA_DATA, 2, false);
	put_failure(GET_RESP, ATTR_MCMEMBER_RECORD, TID);
	ck_assert_uint_eq(take_sa(SA_FAILED, SA_REASON_SEND_ERROR, 0)->tid,
			  TID);
	ck_assert_uint_eq(outstanding(), 1);
}
END_TEST

/* The time in which OpenSM dropped it is not OpenSM's latency. */
START_TEST(test_latency_begins_when_it_is_heard)
{
	int i;

	for (i = 0; i < 2; i++) {
		make(CLASS_SUBN_ADM, METHOD_GET, ATTR_PATH_RECORD, TID, false);
		cap.condition.first_sweep = true;
		put();
		now += SECOND;
	}
	get(TID);
	now += MS;
	get(TID);	/* too early a retry: it was heard before */
	now += MS;
	get_resp(TID);
	tick(100 * MS);
	ck_assert_uint_eq(take_answered(3)->sa.latency_ns, 2 * MS);
}
END_TEST

/* Copies in the first sweep get no answer; what comes is the Set's. */
START_TEST(test_dropped_copies_take_no_answer_of_another)
{
	int i;

	for (i = 0; i < 2; i++) {
		make(CLASS_SUBN_ADM, METHOD_GET, ATTR_PATH_RECORD, TID, false);
		cap.condition.first_sweep = true;
		put();
		now += 2 * SECOND;
	}
	tick(SECOND);
	take_sa(SA_UNANSWERED, SA_REASON_FIRST_SWEEP, 1);
	put_request(METHOD_SET, ATTR_PATH_RECORD, TID);
	get_resp(TID);
	tick(100 * MS);
	ck_assert_uint_eq(take_answered(0)->method, METHOD_SET);
	check_nothing();
}
END_TEST

/* Two threads answer two copies, and the first cannot send. */
START_TEST(test_a_second_answer_while_one_is_held)
{
	sends_hang = true;
	get(TID);
	get(TID);
	get_resp(TID);
	check_nothing();
	make(CLASS_SUBN_ADM, GET_RESP, ATTR_PATH_RECORD, TID, true);
	cap.mono_ns = now;
	cap.thread = SENDER + 1;
	transactions_put(table, &cap);
	take_answered(1);
	check_nothing();
	put_failure(GET_RESP, ATTR_PATH_RECORD, TID);
	take(RECORD_SEND_ERROR);
	get_resp(TID);
	take(RECORD_MAD);
	check_nothing();
}
END_TEST

START_TEST(test_the_reason_is_the_last_copys)
{
	make(CLASS_SUBN_ADM, METHOD_GET, ATTR_PATH_RECORD, TID, false);
	cap.condition.sm_state = 2;
	put();
	make(CLASS_SUBN_ADM, METHOD_GET, ATTR_PATH_RECORD, TID, false);
	cap.condition.first_sweep = true;
	put();
	tick(5 * SECOND);
	take_sa(SA_UNANSWERED, SA_REASON_FIRST_SWEEP, 1);

	/* and no reason at all when it is answered all the same */
	make(CLASS_SUBN_ADM, METHOD_GET, ATTR_PATH_RECORD, TID, false);
	cap.condition.sm_state = 2;
	put();
	get_resp(TID);
	transactions_flush(table);
	take_answered(0);
}
END_TEST

START_TEST(test_lost_captures_are_a_reason_too)
{
	get(1);
	now += MS;
	transactions_note_loss(table, now);
	now += MS;
	get(2);
	transactions_flush(table);
	ck_assert(take_sa(SA_UNANSWERED, SA_REASON_UNKNOWN, 0)
		  ->sa.capture_lost);
	ck_assert(!take_sa(SA_UNANSWERED, SA_REASON_UNKNOWN, 0)
		  ->sa.capture_lost);
}
END_TEST

/* What OpenSM has dropped gets no answer behind the end either. */
START_TEST(test_cut)
{
	get(1);
	make(CLASS_SUBN_ADM, METHOD_GET, ATTR_PATH_RECORD, 2, false);
	cap.condition.first_sweep = true;
	put();
	transactions_cut(table);
	transactions_flush(table);
	ck_assert(take_sa(SA_UNANSWERED, SA_REASON_UNKNOWN, 0)
		  ->sa.capture_lost);
	ck_assert(!take_sa(SA_UNANSWERED, SA_REASON_FIRST_SWEEP, 0)
		  ->sa.capture_lost);
	/* another stream begins */
	get(3);
	tick(5 * SECOND);
	ck_assert(!take_sa(SA_UNANSWERED, SA_REASON_UNKNOWN, 0)
		  ->sa.capture_lost);
}
END_TEST

START_TEST(test_flush)
{
	put_request(METHOD_GET, ATTR_PATH_RECORD, 1);
	put_request(METHOD_GET_TRACE_TABLE, 0x39, 2);
	get(3);
	get_resp(3);
	make(CLASS_SUBN_LID, METHOD_TRAP, ATTR_NOTICE, 4, false);
	put();
	transactions_flush(table);
	ck_assert_uint_eq(take_answered(0)->tid, 3);
	ck_assert(take_sa(SA_UNANSWERED, SA_REASON_UNKNOWN, 0)->sa.ended);
	take_sa(SA_UNANSWERED, SA_REASON_UNSUPPORTED_METHOD, 0);
	ck_assert(!take(RECORD_TRAP)->repressed);
	check_nothing();
	transactions_flush(table);
	check_nothing();

	/* and it can be used again */
	get(1);
	get_resp(1);
	tick(2 * MS);
	take_answered(0);
}
END_TEST

START_TEST(test_eviction)
{
	struct transactions_stats stats;
	uint64_t tid;

	for (tid = 1; tid <= 18; tid++)
		get(tid);
	ck_assert_uint_eq(take_sa(SA_UNANSWERED, SA_REASON_UNKNOWN, 0)->tid,
			  1);
	ck_assert_uint_eq(take_sa(SA_UNANSWERED, SA_REASON_UNKNOWN, 0)->tid,
			  2);
	check_nothing();
	transactions_get_stats(table, &stats);
	ck_assert_uint_eq(stats.evicted, 2);
	ck_assert_uint_eq(stats.outstanding, 16);
	get_resp(1);
	take(RECORD_MAD);
	get_resp(3);
	tick(2 * MS);
	ck_assert_uint_eq(take_answered(0)->tid, 3);

	/* what is reported already goes first: a copy's entry */
	get(4);
	get_resp(4);
	tick(2 * MS);
	take_answered(1);
	get(20);
	get(21);
	check_nothing();
	get_resp(4);
	take(RECORD_MAD);
	transactions_get_stats(table, &stats);
	ck_assert_uint_eq(stats.evicted, 2);
}
END_TEST

START_TEST(test_a_table_of_one)
{
	teardown();
	open_table(1);
	get(1);
	get(2);
	ck_assert_uint_eq(take_sa(SA_UNANSWERED, SA_REASON_UNKNOWN, 0)->tid,
			  1);
	get_resp(2);
	get(3);			/* what is held has to go */
	ck_assert_uint_eq(take_answered(0)->tid, 2);
	make(CLASS_SUBN_LID, METHOD_TRAP, ATTR_NOTICE, 4, false);
	put();
	ck_assert_uint_eq(take_sa(SA_UNANSWERED, SA_REASON_UNKNOWN, 0)->tid,
			  3);
	get(5);
	ck_assert(!take(RECORD_TRAP)->repressed);
	check_nothing();
}
END_TEST

/*
 * Reports: OpenSM asks
 */

static void report(uint64_t tid)
{
	make(CLASS_SUBN_ADM, METHOD_REPORT, ATTR_NOTICE, tid, true);
	put();
}

START_TEST(test_reports)
{
	const struct got *g;

	report(1);
	ck_assert_uint_eq(outstanding(), 1);
	now += 84000;
	make(CLASS_SUBN_ADM, REPORT_RESP, ATTR_NOTICE, 1, false);
	put();			/* a received response is never held */
	g = take_answered(0);
	ck_assert_uint_eq(g->method, METHOD_REPORT);
	ck_assert(g->sa.sent);
	ck_assert_uint_eq(g->sa.latency_ns, 84000);
	put();
	take(RECORD_MAD);

	/* a Report that a client sent has nothing to do with it */
	report(2);
	put_request(METHOD_REPORT, ATTR_NOTICE, 2);
	ck_assert_uint_eq(outstanding(), 2);
	transactions_flush(table);
	ck_assert(take_sa(SA_UNANSWERED, SA_REASON_UNKNOWN, 0)->sa.sent);
	ck_assert(!take_sa(SA_UNANSWERED, SA_REASON_UNSUPPORTED_METHOD, 0)
		  ->sa.sent);

	report(3);
	make(CLASS_SUBN_ADM, METHOD_REPORT, ATTR_NOTICE, 3, true);
	cap.completion = MAD_TIMEOUT;
	put();
	take(RECORD_SEND_ERROR);
	take_sa(SA_FAILED, SA_REASON_SEND_ERROR, 0);
	put();			/* of nothing */
	take(RECORD_SEND_ERROR);
	check_nothing();
}
END_TEST

/*
 * Traps
 */

static void trap(uint64_t tid, uint8_t mark)
{
	make(CLASS_SUBN_LID, METHOD_TRAP, ATTR_NOTICE, tid, false);
	data[SMP_DATA] = 0x81;
	data[SMP_DATA + 63] = mark;
	put();
}

static void trap_repress(uint64_t tid)
{
	make(CLASS_SUBN_LID, METHOD_TRAP_REPRESS, ATTR_NOTICE, tid, true);
	put();
}

START_TEST(test_traps)
{
	const struct got *g;

	trap(1, 0xaa);
	check_nothing();
	now += MS;
	trap_repress(1);
	g = take(RECORD_TRAP);
	ck_assert(g->repressed);
	ck_assert_uint_eq(g->lid, 7);
	ck_assert_uint_eq(g->time_ns, 1100 * SECOND);
	ck_assert_uint_eq(g->notice_len, 64);
	ck_assert_uint_eq(g->notice[0], 0x81);
	ck_assert_uint_eq(g->notice[63], 0xaa);
	ck_assert_uint_eq(take(RECORD_MAD)->method, METHOD_TRAP_REPRESS);

	trap(2, 0);
	tick(SECOND - 1);
	check_nothing();
	tick(1);
	ck_assert(!take(RECORD_TRAP)->repressed);
	trap_repress(2);	/* too late */
	take(RECORD_MAD);

	/* sent again: it was not repressed in time */
	trap(3, 1);
	trap(3, 2);
	g = take(RECORD_TRAP);
	ck_assert(!g->repressed);
	ck_assert_uint_eq(g->notice[63], 1);
	trap_repress(3);
	g = take(RECORD_TRAP);
	ck_assert(g->repressed);
	ck_assert_uint_eq(g->notice[63], 2);
	take(RECORD_MAD);
	check_nothing();
}
END_TEST

START_TEST(test_what_represses_no_trap)
{
	trap(1, 0);
	trap_repress(2);
	take(RECORD_MAD);
	make(CLASS_SUBN_LID, METHOD_TRAP_REPRESS, ATTR_NOTICE, 1, true);
	cap.peer.lid = 8;
	put();
	take(RECORD_MAD);
	make(CLASS_SUBN_LID, METHOD_TRAP_REPRESS, ATTR_NOTICE, 1, false);
	put();
	take(RECORD_MAD);
	make(CLASS_SUBN_LID, METHOD_TRAP_REPRESS, ATTR_NOTICE, 1, true);
	cap.completion = MAD_ERROR;
	put();
	take(RECORD_SEND_ERROR);
	check_nothing();
	trap_repress(1);
	ck_assert(take(RECORD_TRAP)->repressed);
	take(RECORD_MAD);

	/* traps that OpenSM sends, and such with another attribute */
	make(CLASS_SUBN_LID, METHOD_TRAP, ATTR_NOTICE, 1, true);
	put();
	take(RECORD_MAD);
	make(CLASS_SUBN_LID, METHOD_TRAP, 0x11, 1, false);
	put();
	take(RECORD_MAD);
	check_nothing();
}
END_TEST

START_TEST(test_a_storm_of_traps_leaves_the_requests)
{
	uint64_t tid;

	get(1);
	for (tid = 1; tid <= 1000; tid++) {
		trap(tid, 0);
		n_got = 0;
	}
	get_resp(1);
	tick(2 * MS);
	ck_assert_uint_eq(take_answered(0)->tid, 1);
	check_nothing();
	transactions_flush(table);
	ck_assert(!take(RECORD_TRAP)->repressed);
	ck_assert(!take(RECORD_TRAP)->repressed);
	check_nothing();	/* 2 of 16 entries are for traps */
}
END_TEST

/*
 * Why there is no answer
 */

static enum sa_reason silence(void)
{
	return sa_silence(&cap.condition, data, cap.len);
}

static void make_sa(uint8_t method, uint16_t attr_id)
{
	make(CLASS_SUBN_ADM, method, attr_id, TID, false);
}

START_TEST(test_silence_is_not_guessed)
{
	make_sa(0x7e, 0xfff1);
	cap.condition.known = false;
	cap.condition.sm_state = 0;
	ck_assert_int_eq(silence(), SA_REASON_NONE);
	cap.condition.known = true;
	cap.len = 0;
	ck_assert_int_eq(silence(), SA_REASON_NONE);
}
END_TEST

/* Everything is wrong, then one thing after the other is put right. */
START_TEST(test_silence_in_opensms_order)
{
	make_sa(0x7e, 0xfff1);
	data[SA_SM_KEY] = 1;
	cap.condition = (struct sa_condition){
		.known = true, .sm_state = 2, .first_sweep = true,
		.queued = 2, .queue_time_ms = 11, .queue_limit_ms = 10,
	};
	ck_assert_int_eq(silence(), SA_REASON_SM_NOT_MASTER);
	cap.condition.sm_state = 3;
	ck_assert_int_eq(silence(), SA_REASON_FIRST_SWEEP);
	cap.condition.first_sweep = false;
	ck_assert_int_eq(silence(), SA_REASON_SM_KEY);
	cap.condition.sa_key = UINT64_C(1) << 56;
	ck_assert_int_eq(silence(), SA_REASON_UNSUPPORTED_METHOD);
	data[MAD_METHOD] = METHOD_GET;
	ck_assert_int_eq(silence(), SA_REASON_OVERLOAD);
	cap.condition.queue_time_ms = 10;
	ck_assert_int_eq(silence(), SA_REASON_UNSUPPORTED_ATTRIBUTE);
	data[MAD_ATTR_ID] = 0;
	data[MAD_ATTR_ID + 1] = ATTR_PATH_RECORD;
	ck_assert_int_eq(silence(), SA_REASON_NONE);
}
END_TEST

START_TEST(test_silence_for_a_wrong_sm_key)
{
	make_sa(METHOD_GET, ATTR_PATH_RECORD);
	cap.condition.sa_key = 5;
	ck_assert_int_eq(silence(), SA_REASON_NONE);	/* zero is well */
	data[SA_SM_KEY + 7] = 5;
	ck_assert_int_eq(silence(), SA_REASON_NONE);
	data[SA_SM_KEY] = 5;
	ck_assert_int_eq(silence(), SA_REASON_SM_KEY);
	cap.len = SA_SM_KEY + 7;			/* cut: not known */
	ck_assert_int_eq(silence(), SA_REASON_NONE);
}
END_TEST

START_TEST(test_silence_for_methods)
{
	int method;

	for (method = 0; method < 0x80; method++) {
		bool known = method == METHOD_GET || method == METHOD_SET ||
			method == METHOD_GET_TABLE ||
			method == METHOD_DELETE || method == METHOD_GET_MULTI;

		make_sa((uint8_t)method, ATTR_PATH_RECORD);
		ck_assert_int_eq(silence(), known ? SA_REASON_NONE :
				 SA_REASON_UNSUPPORTED_METHOD);
	}
}
END_TEST

/* Without dual-sided RMPP OpenSM's dispatch has neither. */
START_TEST(test_silence_for_multipath)
{
	static const struct {
		uint8_t method;
		uint16_t attr_id;
		enum sa_reason with, without;
	} cases[] = {
		{ METHOD_GET_MULTI, ATTR_MULTIPATH_RECORD, SA_REASON_NONE,
		  SA_REASON_UNSUPPORTED_METHOD },
		{ METHOD_GET_MULTI, ATTR_PATH_RECORD, SA_REASON_NONE,
		  SA_REASON_UNSUPPORTED_METHOD },
		{ METHOD_GET, ATTR_MULTIPATH_RECORD, SA_REASON_NONE,
		  SA_REASON_UNSUPPORTED_ATTRIBUTE },
		{ METHOD_GET, ATTR_PATH_RECORD, SA_REASON_NONE,
		  SA_REASON_NONE },
	};
	size_t i;

	for (i = 0; i < COUNT(cases); i++) {
		make_sa(cases[i].method, cases[i].attr_id);
		ck_assert_int_eq(silence(), cases[i].with);
		cap.condition.multipath = false;
		ck_assert_int_eq(silence(), cases[i].without);
	}

	/* its methods come before overload, its attributes after it */
	make_sa(METHOD_GET_MULTI, ATTR_MULTIPATH_RECORD);
	cap.condition.multipath = false;
	cap.condition.queued = 2;
	cap.condition.queue_limit_ms = 10;
	cap.condition.queue_time_ms = 11;
	ck_assert_int_eq(silence(), SA_REASON_UNSUPPORTED_METHOD);
	data[MAD_METHOD] = METHOD_GET;
	ck_assert_int_eq(silence(), SA_REASON_OVERLOAD);
}
END_TEST

START_TEST(test_silence_for_overload)
{
	static const struct {
		uint8_t method;
		bool own_queue;	/* where there is a Set dispatcher */
	} methods[] = {
		{ METHOD_GET, false }, { METHOD_GET_TABLE, false },
		{ METHOD_GET_MULTI, false }, { METHOD_SET, true },
		{ METHOD_DELETE, true },
	};
	struct sa_condition *cond = &cap.condition;
	size_t i;

	for (i = 0; i < COUNT(methods); i++) {
		make_sa(methods[i].method, ATTR_MCMEMBER_RECORD);
		cond->queued = 2;
		cond->queue_limit_ms = 10;
		cond->queue_time_ms = 11;
		ck_assert_int_eq(silence(), SA_REASON_OVERLOAD);
		cond->set_dispatcher = true;
		ck_assert_int_eq(silence(), methods[i].own_queue ?
				 SA_REASON_NONE : SA_REASON_OVERLOAD);
		cond->set_dispatcher = false;
		cond->queued = 1;
		ck_assert_int_eq(silence(), SA_REASON_NONE);
		cond->queued = 2;
		cond->queue_time_ms = 10;
		ck_assert_int_eq(silence(), SA_REASON_NONE);
		cond->queue_time_ms = 11;
		cond->queue_limit_ms = 0;
		ck_assert_int_eq(silence(), SA_REASON_NONE);
	}
}
END_TEST

START_TEST(test_silence_for_attributes)
{
	const struct sa_attribute *attr;
	int id;

	for (id = 0; id < 0x10000; id++) {
		make_sa(METHOD_GET, (uint16_t)id);
		attr = sa_attribute_find((uint16_t)id);
		check(silence() == (attr && attr->opensm ? SA_REASON_NONE :
				    SA_REASON_UNSUPPORTED_ATTRIBUTE));
	}
	make_sa(METHOD_GET, 0x39);	/* in the table, not in OpenSM */
	ck_assert_int_eq(silence(), SA_REASON_UNSUPPORTED_ATTRIBUTE);

	/* the Set dispatcher has handlers of four attributes only */
	make_sa(METHOD_SET, ATTR_PATH_RECORD);
	ck_assert_int_eq(silence(), SA_REASON_NONE);
	cap.condition.set_dispatcher = true;
	ck_assert_int_eq(silence(), SA_REASON_UNSUPPORTED_METHOD);
	make_sa(METHOD_DELETE, ATTR_SERVICE_RECORD);
	cap.condition.set_dispatcher = true;
	ck_assert_int_eq(silence(), SA_REASON_NONE);
}
END_TEST

/*
 * What it costs
 */

static size_t resident_bytes(void)
{
	unsigned long pages = 0;
	FILE *f = fopen("/proc/self/statm", "r");

	ck_assert_ptr_nonnull(f);
	ck_assert_int_eq(fscanf(f, "%*u %lu", &pages), 1);
	fclose(f);
	return pages * (size_t)sysconf(_SC_PAGESIZE);
}

static uint64_t cpu_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &ts);
	return (uint64_t)ts.tv_sec * SECOND + (uint64_t)ts.tv_nsec;
}

START_TEST(test_memory_of_the_default_table)
{
	const size_t mib = 1024 * 1024;
	struct transactions_stats stats;
	size_t before, empty;
	uint64_t tid;

	teardown();
	quiet = true;
	before = resident_bytes();
	open_table(0);
	empty = resident_bytes();
	ck_assert_uint_lt(empty - before, 8 * mib);	/* sanitizers' shadow */

	for (tid = 0; tid < 65536; tid++)
		get(tid);
	ck_assert_uint_lt(resident_bytes() - before, 64 * mib);
	transactions_get_stats(table, &stats);
	ck_assert_uint_eq(stats.outstanding, 65536);
	ck_assert_uint_eq(stats.evicted, 0);
	for (; tid < 200000; tid++)
		get(tid);
	ck_assert_uint_lt(resident_bytes() - before, 64 * mib);
	transactions_get_stats(table, &stats);
	ck_assert_uint_eq(stats.outstanding, 65536);
	ck_assert_uint_eq(stats.evicted, 200000 - 65536);
}
END_TEST

/* CPU time of 2,000 transactions beside `others` outstanding ones. */
static uint64_t cost_beside(uint64_t others)
{
	uint64_t best = UINT64_MAX, start, tid;
	int round;

	transactions_flush(table);
	for (tid = 0; tid < others; tid++)
		get(tid);
	for (round = 0; round < 10; round++) {
		start = cpu_ns();
		for (tid = 100000; tid < 102000; tid++) {
			get(tid);
			get_resp(tid);
			now += 1000;
		}
		start = cpu_ns() - start;
		if (start < best)
			best = start;
		tick(2 * MS);
	}
	return best;
}

START_TEST(test_cost_is_flat)
{
	uint64_t few, many;

	teardown();
	quiet = true;
	open_table(0);
	cost_beside(60000);	/* touches the memory */
	few = cost_beside(100);
	many = cost_beside(60000);
	/* a search through all would be 600 times as long */
	ck_assert_msg(many < 10 * few + MS, "%llu ns beside 100 requests, "
		      "%llu ns beside 60000", (unsigned long long)few,
		      (unsigned long long)many);
	if (getenv("TEST_VERBOSE"))
		printf("2000 transactions: %llu ns beside 100 requests, "
		       "%llu ns beside 60000\n", (unsigned long long)few,
		       (unsigned long long)many);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("transaction");
	TCase *tcase = tcase_create("transaction");

	tcase_set_timeout(tcase, 120);
	tcase_add_checked_fixture(tcase, setup, teardown);
	tcase_add_test(tcase, test_no_memory);
	tcase_add_test(tcase, test_captures_shorter_than_a_header);
	tcase_add_test(tcase, test_kept_answers);
	tcase_add_test(tcase, test_captures_cut_anywhere);
	tcase_add_test(tcase, test_hostile_captures);
	tcase_add_test(tcase, test_response_before_its_request);
	tcase_add_test(tcase, test_second_response_to_one_request);
	tcase_add_test(tcase, test_request_and_response);
	tcase_add_test(tcase, test_each_method_has_its_response);
	tcase_add_test(tcase, test_multipath_is_answered_with_paths);
	tcase_add_test(tcase, test_what_tells_transactions_apart);
	tcase_add_test(tcase, test_gids_tell_requesters_apart);
	tcase_add_test(tcase, test_get_and_set_with_one_key);
	tcase_add_test(tcase, test_what_is_no_transaction);
	tcase_add_test(tcase, test_sends_that_fail);
	tcase_add_test(tcase, test_records_of_a_response);
	tcase_add_test(tcase, test_rmpp_parts_are_no_requests_or_responses);
	tcase_add_test(tcase, test_an_answer_is_held_until_it_is_sent);
	tcase_add_test(tcase, test_an_answer_is_held_until_its_thread_goes_on);
	tcase_add_test(tcase, test_an_answer_is_held_for_a_second_at_most);
	tcase_add_test(tcase, test_a_response_that_could_not_be_sent);
	tcase_add_test(tcase, test_retries_count_from_the_first_copy);
	tcase_add_test(tcase, test_the_same_request_right_after_its_answer);
	tcase_add_test(tcase, test_answers_are_owed_only_so_long);
	tcase_add_test(tcase, test_a_new_request_after_copies);
	tcase_add_test(tcase, test_copies_that_are_answered_otherwise);
	tcase_add_loop_test(tcase, test_old_copies_that_are_answered_otherwise,
			    0, 2);
	tcase_add_test(tcase, test_a_failure_is_its_threads);
	tcase_add_test(tcase, test_copies_that_were_dropped_owe_nothing);
	tcase_add_test(tcase, test_requests_with_everything_equal);
	tcase_add_test(tcase, test_unanswered);
	tcase_add_test(tcase, test_an_answer_that_races_the_time_out);
	tcase_add_test(tcase, test_late_answers_are_not_swallowed);
	tcase_add_test(tcase, test_what_differs_is_no_copy);
	tcase_add_test(tcase, test_another_base_version);
	tcase_add_test(tcase, test_answers_are_for_who_is_not_dropped);
	tcase_add_test(tcase, test_latency_begins_when_it_is_heard);
	tcase_add_test(tcase, test_dropped_copies_take_no_answer_of_another);
	tcase_add_test(tcase, test_a_second_answer_while_one_is_held);
	tcase_add_test(tcase, test_the_reason_is_the_last_copys);
	tcase_add_test(tcase, test_lost_captures_are_a_reason_too);
	tcase_add_test(tcase, test_cut);
	tcase_add_test(tcase, test_flush);
	tcase_add_test(tcase, test_eviction);
	tcase_add_test(tcase, test_a_table_of_one);
	tcase_add_test(tcase, test_reports);
	tcase_add_test(tcase, test_traps);
	tcase_add_test(tcase, test_what_represses_no_trap);
	tcase_add_test(tcase, test_a_storm_of_traps_leaves_the_requests);
	tcase_add_test(tcase, test_silence_is_not_guessed);
	tcase_add_test(tcase, test_silence_in_opensms_order);
	tcase_add_test(tcase, test_silence_for_a_wrong_sm_key);
	tcase_add_test(tcase, test_silence_for_methods);
	tcase_add_test(tcase, test_silence_for_multipath);
	tcase_add_test(tcase, test_silence_for_overload);
	tcase_add_test(tcase, test_silence_for_attributes);
	tcase_add_test(tcase, test_memory_of_the_default_table);
	tcase_add_test(tcase, test_cost_is_flat);
	suite_add_tcase(suite, tcase);
	return run_suite(suite);
}
