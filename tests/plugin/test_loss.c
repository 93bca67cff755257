/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* The watcher loss: one alert for each place. */
#include "sa_records.h"
#include "../run.h"

static void lose(const char *where, uint64_t lost, uint64_t total,
		 uint64_t mono_ns)
{
	struct record r = {
		.type = RECORD_LOSS,
		.loss = { .where = where, .lost = lost, .total = total },
	};

	sa_say(&r, mono_ns);
}

static void setup(void)
{
	watched_begin(&watch_loss);
}

static void check_loss(unsigned n, const char *phase, const char *where,
		       uint64_t lost, uint64_t total)
{
	check_said(n, "capture_loss", phase);
	ck_assert_str_eq(last_alert.severity, "warning");
	ck_assert_str_eq(last_alert.subject, where);
	ck_assert_str_eq(evidence_text("where"), where);
	ck_assert_uint_eq(evidence_number("lost"), lost);
	ck_assert_uint_eq(evidence_number("count"), lost);
	ck_assert_uint_eq(evidence_number("total"), total);
	ck_assert_uint_eq(last_alert.lid, 0xffff);
}

START_TEST(test_what_is_no_loss)
{
	struct record r = sa_request(7, METHOD_GET, ATTR_PATH_RECORD, 0);

	sa_say_others(&r, start);
	lose("ring", 0, 10, start);
	sa_tick(start + 100 * SECOND);
	watch_loss.flush(watched_state, start + 101 * SECOND);
	ck_assert_uint_eq(n_alerts, 0);
}
END_TEST

START_TEST(test_begin_update_end)
{
	lose("ring", 3, 10, start);
	check_loss(1, "begin", "ring", 3, 10);
	ck_assert_str_eq(last_alert.text, "begin: 3 captures lost (ring, 10 since the start): the tap's ring was full; raise ring=, or capture less by filter=");
	lose("ring", 4, 14, start + SECOND);
	lose("kernel", 1, 1, start + SECOND);
	check_loss(2, "begin", "kernel", 1, 1);
	sa_tick(start + 59 * SECOND);
	ck_assert_uint_eq(n_alerts, 2);
	sa_tick(start + 60 * SECOND);
	check_loss(3, "update", "ring", 7, 14);
	/* 60 s after the last one it goes on, and then it is over */
	lose("ring", 1, 15, start + 61 * SECOND);
	sa_tick(start + 61 * SECOND);
	ck_assert_uint_eq(n_alerts, 3);
	sa_tick(start + 61 * SECOND + 1);
	check_loss(4, "end", "kernel", 1, 1);
	sa_tick(start + 121 * SECOND);
	check_loss(5, "update", "ring", 8, 15);
	sa_tick(start + 121 * SECOND + 1);
	check_loss(6, "end", "ring", 8, 15);
	sa_tick(start + 300 * SECOND);
	ck_assert_uint_eq(n_alerts, 6);
	/* another one counts from nothing, the total does not */
	lose("ring", 2, 17, start + 301 * SECOND);
	check_loss(7, "begin", "ring", 2, 17);
}
END_TEST

START_TEST(test_end_without_a_tick)
{
	lose("ring", 3, 3, start);
	lose("ring", 1, 4, start + 61 * SECOND);
	check_loss(3, "begin", "ring", 1, 4);
	watch_loss.flush(watched_state, start + 62 * SECOND);
	check_loss(4, "end", "ring", 1, 4);
	watch_loss.flush(watched_state, start + 62 * SECOND);
	ck_assert_uint_eq(n_alerts, 4);
}
END_TEST

/* More places than there are, and one with a long name. */
START_TEST(test_places)
{
	char where[64];
	unsigned i;

	lose("a place with a name that is long", 1, 1, start);
	check_loss(1, "begin", "a place with a ", 1, 1);
	for (i = 1; i < 100; i++) {
		snprintf(where, sizeof(where), "place%u", i);
		lose(where, i, i, start);
	}
	check_loss(16, "begin", "place15", 15, 15);
	lose("place7", 1, 8, start + 60 * SECOND);
	check_loss(17, "update", "place7", 8, 8);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("loss");
	TCase *tcase = tcase_create("loss");

	tcase_add_checked_fixture(tcase, setup, watched_end);
	tcase_add_test(tcase, test_what_is_no_loss);
	tcase_add_test(tcase, test_begin_update_end);
	tcase_add_test(tcase, test_end_without_a_tick);
	tcase_add_test(tcase, test_places);
	suite_add_tcase(suite, tcase);
	return run_suite(suite);
}
