/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* The watcher slow: windows of ten seconds, and what is said of slow ones. */
#include "sa_records.h"
#include "../run.h"

#define MS UINT64_C(1000000)

static void answer(uint16_t lid, uint16_t attr_id, uint64_t latency_ns,
		   uint64_t mono_ns)
{
	struct record r = sa_request(lid, METHOD_GET, attr_id, 0);

	r.sa.latency_ns = latency_ns;
	sa_say(&r, mono_ns);
}

/* `n` of 1 ms and `slow` of just more than the limit. */
static void answers(unsigned n, unsigned slow, uint64_t mono_ns)
{
	while (n--)
		answer(8, ATTR_PATH_RECORD, MS, mono_ns);
	while (slow--)
		answer(7, ATTR_SERVICE_RECORD, 100 * MS + 1, mono_ns);
}

static void setup(void)
{
	watched_options.slow_ms = 100;
	watched_options.slow_answers = 100;
	watched_begin(&watch_slow);
}

static void check_slow(unsigned n, const char *phase, uint64_t answers_n,
		       uint64_t slow, uint64_t count)
{
	check_said(n, "sa_slow", phase);
	ck_assert_str_eq(last_alert.severity, "warning");
	ck_assert_uint_eq(evidence_number("answers"), answers_n);
	ck_assert_uint_eq(evidence_number("slow"), slow);
	ck_assert_uint_eq(evidence_number("count"), count);
	ck_assert_uint_eq(evidence_number("limit_ms"), 100);
}

START_TEST(test_what_is_not_slow)
{
	struct record r = sa_request(7, METHOD_GET, ATTR_PATH_RECORD, 0);
	unsigned i;

	/* one in a hundred, or too few */
	answers(198, 2, start);
	answers(0, 99, start + 10 * SECOND);
	/* as long as the limit */
	for (i = 0; i < 200; i++)
		answer(7, ATTR_PATH_RECORD, 100 * MS, start + 20 * SECOND);
	/* no answers */
	r.sa.latency_ns = 1000 * MS;
	for (i = 0; i < 200; i++)
		sa_say_others(&r, start + 30 * SECOND);
	r.sa.has_response = false;
	r.sa.outcome = SA_UNANSWERED;
	for (i = 0; i < 200; i++)
		sa_say(&r, start + 30 * SECOND);
	sa_tick(start + 40 * SECOND);
	watch_slow.flush(watched_state, start + 41 * SECOND);
	ck_assert_uint_eq(n_alerts, 0);
}
END_TEST

START_TEST(test_one_more_than_one_in_a_hundred)
{
	answers(197, 3, start);
	sa_tick(start + 9 * SECOND);
	ck_assert_uint_eq(n_alerts, 0);
	sa_tick(start + 10 * SECOND);
	check_slow(1, "begin", 200, 3, 3);
	ck_assert_uint_eq(last_alert.lid, 7);
	ck_assert_str_eq(last_alert.name, "node7");
	ck_assert_str_eq(evidence_text("attribute"), "ServiceRecord");
	ck_assert_str_eq(evidence_text("top_requester"),
			 "LID 7 \"node7\" (0x0000000000000700)");
	ck_assert_uint_eq(evidence_number("top_slow"), 3);
	ck_assert_uint_ge(evidence_number("p50_us"), 1000);
	ck_assert_uint_le(evidence_number("p50_us"), 1032);
	ck_assert_uint_eq(evidence_number("p99_us"), 100000);
	ck_assert_uint_eq(evidence_number("max_us"), 100000);
	ck_assert_str_eq(evidence_text("first"),
			 "2025-12-11T13:22:08.000000000Z");
}
END_TEST

/* The fewest answers, and one in a hundred of an odd number. */
START_TEST(test_few)
{
	answers(99, 1, start);
	sa_tick(start + 10 * SECOND);
	ck_assert_uint_eq(n_alerts, 0);
	answers(98, 2, start + 10 * SECOND);
	sa_tick(start + 20 * SECOND);
	check_slow(1, "begin", 100, 2, 2);
	watched_end();
	watched_options.slow_answers = 1;
	watched_begin(&watch_slow);
	answers(0, 1, start);
	sa_tick(start + 10 * SECOND);
	check_slow(1, "begin", 1, 1, 1);
}
END_TEST

START_TEST(test_begin_update_end)
{
	unsigned i;

	for (i = 0; i < 8; i++) {
		answers(0, 100, start + i * 10 * SECOND);
		ck_assert_uint_eq(n_alerts, (i > 0) + (i > 6));
	}
	check_slow(2, "update", 100, 100, 700);
	/* the next is slow, too; then one that is not */
	answers(100, 0, start + 80 * SECOND);
	sa_tick(start + 90 * SECOND - 1);
	ck_assert_uint_eq(n_alerts, 2);
	sa_tick(start + 90 * SECOND);
	check_slow(3, "end", 100, 100, 800);
	sa_tick(start + 200 * SECOND);
	ck_assert_uint_eq(n_alerts, 3);
	answers(0, 100, start + 200 * SECOND);
	sa_tick(start + 210 * SECOND);
	check_slow(4, "begin", 100, 100, 100);
}
END_TEST

/* When nobody asks any more, and when OpenSM ends. */
START_TEST(test_end)
{
	answers(0, 100, start);
	sa_tick(start + 10 * SECOND);
	sa_tick(start + 20 * SECOND);
	check_slow(2, "end", 100, 100, 100);
	answers(0, 100, start + 20 * SECOND);
	/* no tick until another one */
	answers(0, 1, start + 50 * SECOND);
	check_slow(4, "end", 100, 100, 100);
	answers(0, 99, start + 50 * SECOND);
	sa_tick(start + 60 * SECOND);
	check_slow(5, "begin", 100, 100, 100);
	watch_slow.flush(watched_state, start + 61 * SECOND);
	check_slow(6, "end", 100, 100, 100);
	watch_slow.flush(watched_state, start + 61 * SECOND);
	ck_assert_uint_eq(n_alerts, 6);
}
END_TEST

/* All LIDs, more attributes than there is room for, and times out of order. */
START_TEST(test_bounds)
{
	uint32_t i;

	for (i = 0; i < 65536; i++)
		answer((uint16_t)i, (uint16_t)i, UINT64_MAX, start + SECOND);
	for (i = 0; i < 3; i++)
		answer(0xffff, 0, 200 * MS, start - i);
	sa_tick(start + 10 * SECOND);
	check_slow(1, "begin", 65539, 65539, 65539);
	ck_assert_uint_eq(evidence_number("top_slow"), 4);
	ck_assert_uint_eq(last_alert.lid, 0xffff);
	ck_assert_uint_eq(evidence_number("max_us"), UINT64_MAX / 1000);
	/* the next window is as new */
	answers(98, 2, start + 10 * SECOND);
	sa_tick(start + 20 * SECOND);
	sa_tick(start + 30 * SECOND);
	check_slow(2, "end", 100, 2, 65541);
	ck_assert_uint_eq(evidence_number("top_slow"), 2);
}
END_TEST

START_TEST(test_nobody_resolves)
{
	watched_end();
	watched_resolves = false;
	setup();
	watched_resolves = true;
	answers(0, 100, start);
	sa_tick(start + 10 * SECOND);
	check_slow(1, "begin", 100, 100, 100);
	ck_assert_str_eq(last_alert.name, "");
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("slow");
	TCase *tcase = tcase_create("slow");

	tcase_add_checked_fixture(tcase, setup, watched_end);
	tcase_add_test(tcase, test_what_is_not_slow);
	tcase_add_test(tcase, test_one_more_than_one_in_a_hundred);
	tcase_add_test(tcase, test_few);
	tcase_add_test(tcase, test_begin_update_end);
	tcase_add_test(tcase, test_end);
	tcase_add_test(tcase, test_bounds);
	tcase_add_test(tcase, test_nobody_resolves);
	suite_add_tcase(suite, tcase);
	return run_suite(suite);
}
