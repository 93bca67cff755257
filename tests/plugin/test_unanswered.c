/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* The watcher unanswered: each reason has its limit, its end and its askers. */
#include "sa_records.h"
#include "../run.h"

static struct record drop(uint16_t lid, enum sa_reason reason)
{
	struct record r = sa_request(lid, METHOD_GET, ATTR_PATH_RECORD, 0);

	r.sa.has_response = false;
	r.sa.outcome = SA_UNANSWERED;
	r.sa.reason = reason;
	return r;
}

static void drops(uint16_t lid, enum sa_reason reason, unsigned n,
		  uint64_t mono_ns)
{
	struct record r = drop(lid, reason);

	while (n--)
		sa_say(&r, mono_ns);
}

static void restart(uint32_t limit, uint32_t seconds)
{
	watched_end();
	watched_options.drops.n = limit;
	watched_options.drops.seconds = seconds;
	watched_begin(&watch_unanswered);
}

static void setup(void)
{
	restart(10, 2);
}

static void check_drops(unsigned n, const char *phase, const char *reason,
			uint64_t requests, uint64_t count)
{
	check_said(n, "sa_unanswered", phase);
	ck_assert_str_eq(last_alert.subject, reason);
	ck_assert_str_eq(evidence_text("reason"), reason);
	ck_assert_uint_eq(evidence_number("requests"), requests);
	ck_assert_uint_eq(evidence_number("count"), count);
	ck_assert_uint_eq(evidence_number("limit_requests"),
			  watched_options.drops.n);
	ck_assert_uint_eq(evidence_number("limit_seconds"),
			  watched_options.drops.seconds);
}

static void check_askers(uint16_t top, uint64_t top_requests,
			 uint64_t requesters, uint64_t looked_at)
{
	ck_assert_uint_eq(last_alert.lid, top);
	ck_assert_uint_eq(evidence_number("top_requests"), top_requests);
	ck_assert_uint_eq(evidence_number("requesters"), requesters);
	ck_assert_uint_eq(evidence_number("looked_at"), looked_at);
}

static void many(struct record *r)
{
	unsigned i;

	for (i = 0; i < 100; i++)
		sa_say(r, start);
}

START_TEST(test_what_is_none)
{
	struct record r = drop(7, SA_REASON_UNKNOWN);
	unsigned i;

	for (i = 0; i < 100; i++)
		sa_say_others(&r, start);
	/* there may be an answer, or there was no time for it */
	r.sa.capture_lost = true;
	many(&r);
	r.sa.capture_lost = false;
	r.sa.evicted = true;
	many(&r);
	r.sa.evicted = false;
	r.sa.ended = true;
	many(&r);
	/* answered, and reasons that there are not */
	r = sa_request(7, METHOD_GET, ATTR_PATH_RECORD, 0);
	many(&r);
	r = drop(7, SA_REASON_NONE);
	many(&r);
	r = drop(7, SA_REASON_UNKNOWN + 1);
	many(&r);
	sa_tick(start + 100 * SECOND);
	watch_unanswered.flush(watched_state, start + 101 * SECOND);
	ck_assert_uint_eq(n_alerts, 0);

	/* with a reason it is sure, whatever was lost */
	r = drop(7, SA_REASON_OVERLOAD);
	r.sa.capture_lost = r.sa.evicted = r.sa.ended = true;
	many(&r);
	ck_assert_uint_eq(n_alerts, 1);
}
END_TEST

START_TEST(test_each_reason)
{
	static const char *const severities[] = {
		[SA_REASON_OVERLOAD] = "critical",
		[SA_REASON_UNKNOWN] = NULL,
	};
	struct record r;
	unsigned reason, i;

	for (reason = 1; reason <= SA_REASON_UNKNOWN; reason++) {
		r = drop(7, reason);
		if (reason == SA_REASON_SEND_ERROR)
			r.sa.outcome = SA_FAILED;
		for (i = 0; i < 10; i++)
			sa_say(&r, start);
		ck_assert_uint_eq(n_alerts, reason - 1);
		sa_say(&r, start);
		check_drops(reason, "begin", sa_reason_name(reason), 11, 11);
		check_askers(7, 11, 1, 11);
		ck_assert_str_eq(last_alert.severity, severities[reason] ?
				 severities[reason] : "warning");
		ck_assert_ptr_null(strstr(last_alert.text, "(null)"));
	}
	sa_tick(start + 2 * SECOND);
	ck_assert_uint_eq(n_alerts, SA_REASON_UNKNOWN);
	watch_unanswered.flush(watched_state, start + 2 * SECOND);
	ck_assert_uint_eq(n_alerts, 2 * SA_REASON_UNKNOWN);
}
END_TEST

START_TEST(test_within_the_limit)
{
	unsigned i;

	for (i = 0; i < 100; i++) {
		drops(7, SA_REASON_OVERLOAD, 10, start + i * 2 * SECOND);
		drops(7, SA_REASON_UNKNOWN, 10, start + i * 2 * SECOND);
		sa_tick(start + i * 2 * SECOND + SECOND);
	}
	ck_assert_uint_eq(n_alerts, 0);
}
END_TEST

START_TEST(test_begin_update_end)
{
	unsigned i;

	/* one that is too old to be among those that are told of */
	drops(6, SA_REASON_OVERLOAD, 9, start - 3 * SECOND);
	for (i = 0; i <= 31; i++) {
		drops(7, SA_REASON_OVERLOAD, 4, start + i * 2 * SECOND);
		drops(8, SA_REASON_OVERLOAD, 6, start + i * 2 * SECOND);
		drops(9, SA_REASON_OVERLOAD, 1, start + i * 2 * SECOND);
		if (i == 0) {
			check_drops(1, "begin", "overload", 11, 11);
			check_askers(8, 6, 3, 11);
			ck_assert_str_eq(last_alert.name, "node8");
			ck_assert_str_eq(evidence_text("top_requester"),
				"LID 8 \"node8\" (0x0000000000000800)");
			ck_assert_ptr_nonnull(strstr(last_alert.text, "begin: 11 SA requests without an answer, overload, up to 11 in 2 s (limit 10); of the last 11, from 3 requesters, 6 are from LID 8"));
			ck_assert_ptr_nonnull(strstr(last_alert.text,
						     "max_msg_fifo_timeout"));
		}
		sa_tick(start + i * 2 * SECOND + SECOND);
		if (i == 29)
			ck_assert_uint_eq(n_alerts, 1);
	}
	check_drops(2, "update", "overload", 11, 11 * 31);
	check_askers(8, 6 * 31, 3, 11 * 31);
	/* within the limit it does not go on, and still counts */
	drops(7, SA_REASON_OVERLOAD, 9, start + 64 * SECOND);
	sa_tick(start + 64 * SECOND);
	ck_assert_uint_eq(n_alerts, 2);
	sa_tick(start + 64 * SECOND + 1);
	check_drops(3, "end", "overload", 11, 11 * 32 + 9);
	sa_tick(start + 200 * SECOND);
	ck_assert_uint_eq(n_alerts, 3);
	drops(5, SA_REASON_OVERLOAD, 11, start + 200 * SECOND);
	check_drops(4, "begin", "overload", 11, 11);
	check_askers(5, 11, 1, 11);
}
END_TEST

START_TEST(test_end_without_a_tick)
{
	drops(7, SA_REASON_SM_KEY, 15, start);
	drops(7, SA_REASON_SM_KEY, 1, start + 3 * SECOND);
	check_drops(2, "end", "sm_key", 15, 15);
	drops(7, SA_REASON_SM_KEY, 10, start + 3 * SECOND);
	check_drops(3, "begin", "sm_key", 11, 11);
}
END_TEST

/* An episode of more than is kept, from all LIDs and from one. */
START_TEST(test_bounds)
{
	uint32_t lid;

	restart(1000000000, 3600);
	for (lid = 0; lid < 65536; lid++)
		drops((uint16_t)lid, SA_REASON_OVERLOAD, 2, start);
	ck_assert_uint_eq(n_alerts, 0);
	restart(50000, 10);
	for (lid = 0; lid < 65536; lid++)
		drops((uint16_t)lid, SA_REASON_OVERLOAD, 1, start);
	check_drops(1, "begin", "overload", 50001, 50001);
	check_askers(50001 - 4096, 1, 4096, 4096);
	drops(7, SA_REASON_OVERLOAD, 5000, start + SECOND);
	sa_tick(start + 60 * SECOND);
	check_drops(2, "end", "overload", 70536, 70536);
	check_askers(7, 4096, 1, 4096);
}
END_TEST

START_TEST(test_out_of_order)
{
	drops(7, SA_REASON_OVERLOAD, 10, start + 2 * SECOND);
	/* older than the window: counts for nothing */
	drops(7, SA_REASON_OVERLOAD, 10, start - SECOND);
	ck_assert_uint_eq(n_alerts, 0);
	drops(7, SA_REASON_OVERLOAD, 1, start + 2 * SECOND - 1);
	check_drops(1, "begin", "overload", 11, 11);
	/* as on a machine that has just started */
	drops(7, SA_REASON_UNKNOWN, 11, 0);
	check_drops(2, "begin", "unknown", 11, 11);
}
END_TEST

START_TEST(test_nobody_resolves)
{
	watched_resolves = false;
	setup();
	watched_resolves = true;
	drops(7, SA_REASON_OVERLOAD, 11, start);
	check_drops(1, "begin", "overload", 11, 11);
	ck_assert_str_eq(last_alert.name, "");
	ck_assert_str_eq(evidence_text("top_requester"), "LID 7");
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("unanswered");
	TCase *tcase = tcase_create("unanswered");

	tcase_add_checked_fixture(tcase, setup, watched_end);
	tcase_add_test(tcase, test_what_is_none);
	tcase_add_test(tcase, test_each_reason);
	tcase_add_test(tcase, test_within_the_limit);
	tcase_add_test(tcase, test_begin_update_end);
	tcase_add_test(tcase, test_end_without_a_tick);
	tcase_add_test(tcase, test_bounds);
	tcase_add_test(tcase, test_out_of_order);
	tcase_add_test(tcase, test_nobody_resolves);
	suite_add_tcase(suite, tcase);
	return run_suite(suite);
}
