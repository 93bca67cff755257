/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* The watcher duplicates: whose queries are mostly ones it has asked before. */
#include "sa_records.h"
#include "../run.h"

#define LIDS_MASK UINT64_C(0x30)	/* dlid, slid of a PathRecord */

static uint32_t tid;

/* A path to `dlid`, sent `retries` times more. */
static void path(uint16_t lid, uint16_t dlid, uint32_t retries,
		 uint64_t mono_ns)
{
	struct record r = sa_request(lid, METHOD_GET, ATTR_PATH_RECORD,
				     LIDS_MASK);

	sa_put64(sa_mad + MAD_TID, ++tid);
	sa_put16(sa_mad + SA_DATA + 40, dlid);
	/* no component that is named */
	sa_put16(sa_mad + SA_DATA + 60, (uint16_t)tid);
	r.sa.retries = retries;
	sa_say(&r, mono_ns);
}

/* `n` that are new, and `same` that are not. */
static void paths(uint16_t lid, unsigned n, unsigned same, uint64_t mono_ns)
{
	unsigned i;

	for (i = 0; i < n; i++)
		path(lid, (uint16_t)(i + 1), 0, mono_ns);
	for (i = 0; i < same; i++)
		path(lid, 1, 0, mono_ns);
}

static void restart(uint32_t percent, uint32_t queries)
{
	watched_end();
	watched_options.duplicates_percent = percent;
	watched_options.duplicates_queries = queries;
	watched_begin(&watch_duplicates);
}

static void setup(void)
{
	restart(50, 100);
}

static void check_duplicates(unsigned n, const char *phase, uint16_t lid,
			     uint64_t queries, uint64_t repeated)
{
	check_said(n, "duplicate_queries", phase);
	ck_assert_str_eq(last_alert.severity, "info");
	ck_assert_uint_eq(last_alert.lid, lid);
	ck_assert_uint_eq(evidence_number("queries"), queries);
	ck_assert_uint_eq(evidence_number("repeated"), repeated);
	ck_assert_uint_eq(evidence_number("percent"),
			  100 * repeated / queries);
	ck_assert_uint_eq(evidence_number("limit_percent"),
			  watched_options.duplicates_percent);
	ck_assert_uint_eq(evidence_number("limit_queries"),
			  watched_options.duplicates_queries);
}

START_TEST(test_what_is_none)
{
	struct record r = sa_request(7, METHOD_GET, ATTR_PATH_RECORD,
				     LIDS_MASK);
	unsigned i;

	for (i = 0; i < 1000; i++) {
		sa_say_others(&r, start);
		/* not the same, as far as one can see */
		r.sa.len = SA_DATA + 42;
		sa_say(&r, start);
		r.sa.len = MAD_HDR_SIZE;
		sa_say(&r, start);
		sa_put16(sa_mad + MAD_ATTR_ID, 0xbeef);
		r.sa.len = MAD_SIZE;
		sa_say(&r, start);
		sa_put16(sa_mad + MAD_ATTR_ID, ATTR_PATH_RECORD);
		/* nobody's LID */
		r.sa.requester.addr.lid = 0xc000;
		sa_say(&r, start);
		r.sa.requester.addr.lid = 7;
	}
	ck_assert_uint_eq(n_alerts, 0);
}
END_TEST

/* Half of them, and one more; too few, and enough. */
START_TEST(test_limits)
{
	paths(7, 100, 100, start);
	ck_assert_uint_eq(n_alerts, 0);
	path(7, 1, 0, start);
	check_duplicates(1, "begin", 7, 201, 101);
	ck_assert_str_eq(last_alert.name, "node7");
	ck_assert_str_eq(evidence_text("attribute"), "PathRecord");
	ck_assert_uint_eq(evidence_number("retries"), 0);

	paths(8, 1, 98, start);
	ck_assert_uint_eq(n_alerts, 1);
	path(8, 1, 0, start);
	check_duplicates(2, "begin", 8, 100, 99);
}
END_TEST

START_TEST(test_retries)
{
	unsigned i;

	for (i = 0; i < 24; i++)
		path(7, (uint16_t)(i + 1), 3, start);
	ck_assert_uint_eq(n_alerts, 0);
	path(7, 25, 3, start);
	check_duplicates(1, "begin", 7, 100, 75);
	ck_assert_uint_eq(evidence_number("retries"), 75);
}
END_TEST

START_TEST(test_what_differs)
{
	struct record r;
	unsigned i;

	/* method, attribute, mask, components and requester */
	for (i = 0; i < 100; i++) {
		r = sa_request((uint16_t)(i + 1), METHOD_GET, ATTR_PATH_RECORD,
			       LIDS_MASK);
		sa_say(&r, start);
	}
	for (i = 0; i < 300; i++) {
		r = sa_request(200, i % 2 ? METHOD_GET : METHOD_GET_TABLE,
			       ATTR_PATH_RECORD, i % 3 ? LIDS_MASK : 0x10);
		sa_put16(sa_mad + SA_DATA + 40, (uint16_t)(i / 2));
		sa_put16(sa_mad + SA_DATA + 42, (uint16_t)(i / 2));
		sa_say(&r, start);
	}
	ck_assert_uint_eq(n_alerts, 0);
}
END_TEST

/* The minute of a requester begins with its first query. */
START_TEST(test_minutes)
{
	paths(7, 1, 98, start);
	/* as old as a minute is, and older: then it is a new one */
	path(7, 1, 0, start + 60 * SECOND);
	check_duplicates(1, "begin", 7, 100, 99);
	paths(8, 1, 98, start);
	path(8, 1, 0, start + 60 * SECOND + 1);
	ck_assert_uint_eq(n_alerts, 1);
	paths(8, 0, 98, start + 61 * SECOND);
	ck_assert_uint_eq(n_alerts, 1);
	path(8, 1, 0, start + 61 * SECOND);
	check_duplicates(2, "begin", 8, 100, 99);
}
END_TEST

START_TEST(test_begin_update_end)
{
	unsigned i;

	/* just so many in each minute: the last one is over the limit */
	for (i = 0; i < 4; i++) {
		paths(7, 1, 98, start + i * 61 * SECOND);
		path(7, 1, 0, start + i * 61 * SECOND + 50 * SECOND);
		sa_tick(start + i * 61 * SECOND + 51 * SECOND);
	}
	/* said at 50 s, 111, 172 and 233 */
	check_duplicates(4, "update", 7, 100, 99);
	ck_assert_uint_eq(evidence_number("count"), 4);
	sa_tick(start + 353 * SECOND);
	ck_assert_uint_eq(n_alerts, 4);
	sa_tick(start + 353 * SECOND + 1);
	check_duplicates(5, "end", 7, 100, 99);
	sa_tick(start + 500 * SECOND);
	ck_assert_uint_eq(n_alerts, 5);
	paths(7, 1, 99, start + 500 * SECOND);
	check_duplicates(6, "begin", 7, 100, 99);
	/* no tick in between */
	paths(7, 1, 199, start + 700 * SECOND);
	check_duplicates(8, "begin", 7, 100, 99);
	watch_duplicates.flush(watched_state, start + 701 * SECOND);
	check_duplicates(9, "end", 7, 200, 199);
}
END_TEST

START_TEST(test_attributes)
{
	static const uint16_t ids[] = {
		0x11, 0x12, 0x13, 0x14, 0x15, ATTR_SERVICE_RECORD, 0x17, 0x18,
	};
	struct record r;
	unsigned i, k;

	/* more of them than are counted; one is most of all */
	for (i = 0; i < 40; i++)
		for (k = 0; k < 8; k++) {
			r = sa_request(7, METHOD_GET_TABLE, ids[k], 0);
			r.sa.retries = k == 5 ? 60 : 0;
			sa_say(&r, start);
		}
	watch_duplicates.flush(watched_state, start);
	ck_assert_str_eq(evidence_text("attribute"), "ServiceRecord");
}
END_TEST

/* It is named when it is more than half of them alone. */
START_TEST(test_no_attribute)
{
	struct record r;
	unsigned i;

	for (i = 0; i < 400; i++) {
		r = sa_request(7, METHOD_GET_TABLE, (uint16_t)(0x11 + i % 8), 0);
		sa_say(&r, start);
	}
	watch_duplicates.flush(watched_state, start);
	ck_assert_ptr_null(evidence_text("attribute"));
	ck_assert(strstr(last_alert.text, "of several attributes"));
}
END_TEST

/* Of all LIDs at once 1024 are told of, and then others. */
START_TEST(test_bounds)
{
	uint32_t lid;

	restart(1, 2);
	for (lid = 0; lid < 49152; lid++)
		paths((uint16_t)lid, 1, 1, start);
	check_duplicates(1024, "begin", 1023, 2, 1);
	sa_tick(start + 121 * SECOND);
	check_duplicates(2048, "end", 1023, 2, 1);
	paths(49151, 1, 1, start + 122 * SECOND);
	check_duplicates(2049, "begin", 49151, 2, 1);
}
END_TEST

/* More queries than are remembered are no repeats. */
START_TEST(test_many_queries)
{
	struct record r;
	uint32_t i;

	restart(1, 1);
	for (i = 0; i < 1 << 20; i++) {
		r = sa_request(7, METHOD_GET, ATTR_PATH_RECORD, 4);
		sa_put64(sa_mad + SA_DATA + 8, i);
		sa_say(&r, start);
	}
	ck_assert_uint_eq(n_alerts, 0);
}
END_TEST

START_TEST(test_off)
{
	restart(100, 1);
	ck_assert_ptr_null(watched_state);
}
END_TEST

START_TEST(test_nobody_resolves)
{
	watched_resolves = false;
	setup();
	watched_resolves = true;
	paths(7, 1, 99, start);
	check_duplicates(1, "begin", 7, 100, 99);
	ck_assert_str_eq(last_alert.name, "");
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("duplicates");
	TCase *tcase = tcase_create("duplicates");

	tcase_add_checked_fixture(tcase, setup, watched_end);
	tcase_add_test(tcase, test_what_is_none);
	tcase_add_test(tcase, test_limits);
	tcase_add_test(tcase, test_retries);
	tcase_add_test(tcase, test_what_differs);
	tcase_add_test(tcase, test_minutes);
	tcase_add_test(tcase, test_begin_update_end);
	tcase_add_test(tcase, test_attributes);
	tcase_add_test(tcase, test_no_attribute);
	tcase_add_test(tcase, test_bounds);
	tcase_add_test(tcase, test_many_queries);
	tcase_add_test(tcase, test_off);
	tcase_add_test(tcase, test_nobody_resolves);
	suite_add_tcase(suite, tcase);
	return run_suite(suite);
}
