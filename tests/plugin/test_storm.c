/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* The watcher storm: who is reported, when, how often, when it is over. */
#include "watched.h"
#include "../run.h"

static void request(uint16_t lid, uint64_t mono_ns)
{
	const struct mad_capture cap = {
		.peer = { .lid = lid, .qpn = 0x123 },
		.mono_ns = mono_ns, .time_ns = epoch + mono_ns,
	};

	watch_storm.request(watched_state, &cap);
}

static void storm_tick(uint64_t mono_ns)
{
	watch_storm.tick(watched_state, mono_ns);
}

static void restart(uint32_t limit, uint32_t seconds)
{
	watched_end();
	watched_options.storm.n = limit;
	watched_options.storm.seconds = seconds;
	watched_begin(&watch_storm);
}

static void setup(void)
{
	restart(10, 2);
}

static void teardown(void)
{
	watched_end();
}

static void requests(uint16_t lid, unsigned n, uint64_t mono_ns)
{
	while (n--)
		request(lid, mono_ns);
}

static void check_alert(unsigned n, const char *phase, uint16_t lid,
			uint64_t total, uint64_t seconds)
{
	check_said(n, "sa_storm", phase);
	ck_assert_str_eq(last_alert.severity, "warning");
	ck_assert_uint_eq(last_alert.lid, lid);
	ck_assert_uint_eq(evidence_number("requests"), total);
	ck_assert_uint_eq(evidence_number("seconds"), seconds);
	ck_assert_uint_eq(evidence_number("limit_requests"),
			  watched_options.storm.n);
	ck_assert_uint_eq(evidence_number("limit_seconds"),
			  watched_options.storm.seconds);
}

START_TEST(test_what_is_no_lid)
{
	/* multicast LIDs and the permissive one send nothing */
	requests(49152, 1000, start);
	requests(0xfffe, 1000, start);
	requests(0xffff, 1000, start);
	storm_tick(start + 10 * SECOND);
	ck_assert_uint_eq(n_alerts, 0);

	/* a port without a LID, and the last that one can have */
	requests(0, 11, start);
	check_alert(1, "begin", 0, 11, 0);
	requests(49151, 11, start);
	check_alert(2, "begin", 49151, 11, 0);
}
END_TEST

START_TEST(test_within_the_limit)
{
	unsigned i;

	for (i = 0; i < 100; i++) {
		requests(7, 10, start + i * 2 * SECOND);
		requests(8, 10, start + i * 2 * SECOND);
		storm_tick(start + i * 2 * SECOND + SECOND / 2);
	}
	ck_assert_uint_eq(n_alerts, 0);
}
END_TEST

START_TEST(test_begin)
{
	/* nine at the end of one two seconds, the rest in the next */
	requests(7, 1, start);
	requests(7, 9, start + 2 * SECOND - 1);
	request(7, start + 2 * SECOND);
	ck_assert_uint_eq(n_alerts, 0);
	request(7, start + 2 * SECOND);
	check_alert(1, "begin", 7, 11, 0);
	ck_assert_str_eq(last_alert.name, "node7");
	ck_assert_str_eq(last_alert.subject, "LID 7");
	ck_assert_str_eq(last_alert.text,
			 "begin: 11 SA requests from LID 7 \"node7\" (0x0000000000000700) in 0 s (limit 10 in 2 s): look what runs there, and what it asks for (osmsnoop top)");
	ck_assert_str_eq(evidence_text("first"),
			 "2025-12-11T13:22:10.000000000Z");
}
END_TEST

/* Wherever in a step the burst begins, and however its N + 1 are spread. */
START_TEST(test_no_border_hides_a_burst)
{
	static const uint32_t windows[] = { 1, 2, 7, 10, 3600 };
	uint64_t window, at;
	unsigned i, n, where;

	for (i = 0; i < sizeof(windows) / sizeof(windows[0]); i++) {
		window = windows[i] * SECOND;
		for (where = 0; where < 64; where++) {
			restart(100, windows[i]);
			at = start + where * window / 32 + where;
			/* 101 in 15/16 of the window */
			for (n = 0; n <= 100; n++)
				request(7, at + n *
					      (window / 16 * 15 / 100));
			check_alert(1, "begin", 7, 101, 0);
		}
	}
}
END_TEST

/* The other way: 100 in any window, one more just as it has passed. */
START_TEST(test_no_alert_is_false)
{
	static const uint32_t windows[] = { 1, 2, 7, 10, 3600 };
	uint64_t window, at;
	unsigned i, n, where;

	for (i = 0; i < sizeof(windows) / sizeof(windows[0]); i++) {
		window = windows[i] * SECOND;
		for (where = 0; where < 64; where++) {
			restart(100, windows[i]);
			at = start + where * window / 32 + where;
			for (n = 0; n < 10; n++)
				requests(7, 100, at + n * window);
			for (n = 0; n < 1000; n++)
				request(8, at + n *
					      (window / 100));
			ck_assert_uint_eq(n_alerts, 0);
		}
	}
}
END_TEST

/* How many of the times (in order up to `n`) are in (from, to]. */
static unsigned between(const uint64_t *times, unsigned n, uint64_t from,
			uint64_t to)
{
	unsigned i, count = 0;

	for (i = n; i > 0 && times[i - 1] > from; i--)
		count += times[i - 1] <= to;
	return count;
}

/* Beside a count of each moment that was, over gaps of all lengths. */
START_TEST(test_beside_an_exact_count)
{
	enum { N = 20000, LIMIT = 20 };
	static uint64_t times[N];
	const uint64_t window = 3 * SECOND;
	uint64_t at = start + 12345, over = 0;
	unsigned i, begun = 0;
	bool begins;

	srandom(1);
	restart(LIMIT, 3);
	for (i = 0; i < N; i++) {
		at += (uint64_t)random() % (random() % 50 ? 300000000 :
					    8000000000);
		times[i] = at;
		n_alerts = 0;
		request(7, at);
		begins = n_alerts && !strcmp(evidence_text("phase"), "begin");
		if (begins)
			begun++;
		if (begins)
			ck_assert_uint_gt(between(times, i + 1, at - window,
						  at), LIMIT);
		if (between(times, i + 1, at - window / 16 * 15, at) > LIMIT) {
			/* it began by now, and goes on */
			ck_assert(begun);
			if (n_alerts)
				ck_assert_str_eq(evidence_text("phase"), "begin");
			over = at;
		} else if (n_alerts && !begins) {
			ck_assert_uint_gt(at, over + window);
		}
	}
	ck_assert_uint_gt(begun, 10);
}
END_TEST

/* The largest limit, and a million that are counted one by one. */
START_TEST(test_large_limits)
{
	restart(1000000000, 3600);
	requests(7, 1000000, start);
	requests(7, 1000000, start + 3599 * SECOND);
	ck_assert_uint_eq(n_alerts, 0);

	restart(1000000, 3600);
	requests(7, 500000, start);
	requests(7, 500000, start + 3300 * SECOND);
	ck_assert_uint_eq(n_alerts, 0);
	request(7, start + 3300 * SECOND);
	check_alert(1, "begin", 7, 1000001, 0);
}
END_TEST

START_TEST(test_begin_update_end)
{
	unsigned i;

	/* 11 in two seconds, so just above it, for two minutes and a bit */
	for (i = 0; i <= 61; i++) {
		requests(7, 11, start + i * 2 * SECOND);
		storm_tick(start + i * 2 * SECOND);
		storm_tick(start + i * 2 * SECOND + SECOND);
		if (i == 0)
			check_alert(1, "begin", 7, 11, 0);
		if (i == 29)
			ck_assert_uint_eq(n_alerts, 1);
		if (i == 30)
			check_alert(2, "update", 7, 31 * 11, 60);
		if (i == 60)
			check_alert(3, "update", 7, 61 * 11, 120);
	}
	/* two seconds and no longer since one was over the limit */
	storm_tick(start + 124 * SECOND);
	ck_assert_uint_eq(n_alerts, 3);
	storm_tick(start + 125 * SECOND);
	check_alert(4, "end", 7, 62 * 11, 122);
	storm_tick(start + 200 * SECOND);
	ck_assert_uint_eq(n_alerts, 4);

	/* and another one is another one */
	requests(7, 11, start + 300 * SECOND);
	check_alert(5, "begin", 7, 11, 0);
}
END_TEST

/* A rate near the limit is one storm, not one for each step. */
START_TEST(test_near_the_limit)
{
	unsigned i;

	restart(100, 10);
	/* 103 in ten seconds for two hours */
	for (i = 0; i < 720 * 103; i++) {
		request(7, start + i * (10 * SECOND / 103));
		ck_assert(!n_alerts || !strcmp(evidence_text("phase"), "begin"));
	}
	ck_assert_uint_eq(n_alerts, 1);
}
END_TEST

/* Requests within the limit do not keep a storm going. */
START_TEST(test_end_amid_requests)
{
	unsigned i;

	requests(7, 20, start);
	check_alert(1, "begin", 7, 11, 0);
	for (i = 1; i < 10; i++) {
		requests(7, 5, start + i * 2 * SECOND);
		storm_tick(start + i * 2 * SECOND + SECOND / 10);
	}
	check_alert(2, "end", 7, 25, 2);
}
END_TEST

/* Also when no tick falls between one storm and the next. */
START_TEST(test_end_without_a_tick)
{
	requests(7, 20, start);
	requests(7, 10, start + 3 * SECOND);
	check_alert(2, "end", 7, 20, 0);
	request(7, start + 3 * SECOND);
	check_alert(3, "begin", 7, 11, 0);
}
END_TEST

/* A window of an hour does not keep a storm from being told each minute. */
START_TEST(test_long_window)
{
	unsigned i;

	restart(10, 3600);
	requests(7, 11, start);
	for (i = 1; i <= 602; i++)
		storm_tick(start + i * SECOND / 2);
	check_alert(6, "update", 7, 11, 0);
}
END_TEST

START_TEST(test_one_of_many)
{
	uint32_t lid;

	for (lid = 1; lid < 49152; lid++)
		requests((uint16_t)lid, 10, start);
	ck_assert_uint_eq(n_alerts, 0);
	for (lid = 1; lid < 49152; lid++)
		request((uint16_t)lid, start + SECOND);
	ck_assert_uint_eq(n_alerts, 49151);
	storm_tick(start + 4 * SECOND);
	ck_assert_uint_eq(n_alerts, 2 * 49151);
	check_alert(2 * 49151, "end", 49151, 11, 0);
}
END_TEST

/* Captures of two threads may come in a little out of order. */
START_TEST(test_out_of_order)
{
	requests(7, 9, start + 2 * SECOND);
	/* within the two seconds, and not */
	request(7, start + SECOND);
	requests(7, 100, start);
	ck_assert_uint_eq(n_alerts, 0);
	request(7, start + 2 * SECOND - 1);
	check_alert(1, "begin", 7, 11, 0);
	storm_tick(start);
	ck_assert_uint_eq(n_alerts, 1);
	/* the total has all of them */
	request(7, start - SECOND);
	storm_tick(start + 8 * SECOND);
	check_alert(2, "end", 7, 12, 0);

	/* the first of all may be the latest */
	requests(8, 10, start + SECOND);
	request(8, start);
	check_alert(3, "begin", 8, 11, 0);
	/* as on a machine that has just started */
	requests(0, 10, 1);
	ck_assert_uint_eq(n_alerts, 3);
	request(0, 0);
	check_alert(4, "begin", 0, 11, 0);
}
END_TEST

START_TEST(test_nobody_resolves)
{
	watched_resolves = false;
	restart(10, 2);
	requests(7, 11, start);
	check_alert(1, "begin", 7, 11, 0);
	ck_assert_str_eq(last_alert.name, "");
	watched_resolves = true;
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("storm");
	TCase *tcase = tcase_create("storm");

	tcase_add_checked_fixture(tcase, setup, teardown);
	tcase_add_test(tcase, test_what_is_no_lid);
	tcase_add_test(tcase, test_within_the_limit);
	tcase_add_test(tcase, test_begin);
	tcase_add_test(tcase, test_no_border_hides_a_burst);
	tcase_add_test(tcase, test_no_alert_is_false);
	tcase_add_test(tcase, test_beside_an_exact_count);
	tcase_add_test(tcase, test_large_limits);
	tcase_add_test(tcase, test_begin_update_end);
	tcase_add_test(tcase, test_near_the_limit);
	tcase_add_test(tcase, test_end_amid_requests);
	tcase_add_test(tcase, test_end_without_a_tick);
	tcase_add_test(tcase, test_long_window);
	tcase_add_test(tcase, test_one_of_many);
	tcase_add_test(tcase, test_out_of_order);
	tcase_add_test(tcase, test_nobody_resolves);
	suite_add_tcase(suite, tcase);
	return run_suite(suite);
}
