/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* The watcher traps: which port's traps of which number are a storm. */
#include "smps.h"
#include "../run.h"

static void setup(void)
{
	watched_options.trap_storm = (struct limit){ 5, 16 };
	watched_begin(&watch_traps);
}

static void teardown(void)
{
	watched_resolves = true;
	watched_end();
}

static void traps(uint16_t lid, uint16_t number, uint8_t port, unsigned n,
		  uint64_t mono_ns)
{
	while (n--) {
		trap_begin(lid, number);
		notice[10 + 4] = port;
		trap_put(mono_ns);
	}
}

START_TEST(test_at_the_limit)
{
	traps(7, 129, 1, 5, start);
	ck_assert_uint_eq(n_alerts, 0);
	traps(7, 129, 1, 1, start + SECOND);
	check_said(1, "trap_storm", "begin");
	ck_assert_str_eq(last_alert.severity, "warning");
	ck_assert_str_eq(last_alert.subject, "LID 7 port 1");
	ck_assert_str_eq(last_alert.name, "node7");
	ck_assert_uint_eq(evidence_number("trap_number"), 129);
	ck_assert_str_eq(evidence_text("trap_name"),
			 "link integrity threshold reached");
	ck_assert_uint_eq(evidence_number("port"), 1);
	ck_assert_uint_eq(evidence_number("traps"), 6);
	ck_assert_uint_eq(evidence_number("limit_traps"), 5);
	ck_assert_uint_eq(evidence_number("limit_seconds"), 16);
	ck_assert_str_eq(last_alert.text, "begin: 6 traps 129 (link integrity threshold reached) from LID 7 \"node7\" (0x0000000000000700) port 1 in 0 s (limit 5 in 16 s): look at cable and error counters of that port");
}
END_TEST

START_TEST(test_apart)
{
	/* other LIDs, ports and numbers are others' */
	traps(7, 129, 1, 5, start);
	traps(7, 129, 2, 5, start);
	traps(7, 130, 1, 5, start);
	traps(8, 129, 1, 5, start);
	/* and what is no longer within the 16 seconds does not count */
	traps(7, 129, 1, 5, start + 16 * SECOND);
	ck_assert_uint_eq(n_alerts, 0);
}
END_TEST

START_TEST(test_begin_update_end)
{
	unsigned i;

	for (i = 0; i < 70; i++) {
		traps(7, 144, 0, 1, start + i * SECOND);
		tick(start + i * SECOND);
	}
	check_said(2, "trap_storm", "update");
	ck_assert_uint_eq(evidence_number("traps"), 66);
	ck_assert_uint_eq(evidence_number("seconds"), 60);
	ck_assert_ptr_null(evidence_text("port"));
	tick(start + 85 * SECOND);
	ck_assert_uint_eq(n_alerts, 2);
	tick(start + 86 * SECOND);
	check_said(3, "trap_storm", "end");
	ck_assert_uint_eq(evidence_number("traps"), 70);
	traps(7, 144, 0, 6, start + 100 * SECOND);
	check_said(4, "trap_storm", "begin");
	/* no tick between two of them */
	traps(7, 144, 0, 5, start + 200 * SECOND);
	check_said(5, "trap_storm", "end");
	traps(7, 144, 0, 1, start + 200 * SECOND);
	check_said(6, "trap_storm", "begin");
	watched->flush(watched_state, start + 201 * SECOND);
	check_said(7, "trap_storm", "end");
	watched->flush(watched_state, start + 201 * SECOND);
	ck_assert_uint_eq(n_alerts, 7);
}
END_TEST

START_TEST(test_vendor_and_unknown)
{
	unsigned i;

	for (i = 0; i < 6; i++) {
		trap_begin(7, 129);
		notice[0] = 4;
		trap_put(start);
	}
	check_said(1, "trap_storm", "begin");
	ck_assert_uint_eq(evidence_number("device_id"), 129);
	ck_assert_ptr_null(evidence_text("trap_name"));
	traps(7, 0xffff, 0, 6, start);
	check_said(2, "trap_storm", "begin");
	ck_assert_uint_eq(evidence_number("trap_number"), 0xffff);
	ck_assert_ptr_null(evidence_text("trap_name"));
}
END_TEST

/* Cut ones count where their number is there; OpenSM's own do not. */
START_TEST(test_hostile)
{
	struct record r = {
		.type = RECORD_TRAP,
		.trap = { .notice = notice, .len = NOTICE_SIZE },
	};
	unsigned i;
	size_t len;

	trap_begin(7, 129);
	for (len = 0; len < NOTICE_NUMBER + 2; len++)
		for (i = 0; i < 10; i++)
			trap_put_cut(start, len);
	ck_assert_uint_eq(n_alerts, 0);
	for (i = 0; i < 10; i++)
		trap_put_cut(start, NOTICE_NUMBER + 2);
	check_said(1, "trap_storm", "begin");
	ck_assert_ptr_null(evidence_text("port"));
	trap_begin(0, 65);
	for (i = 0; i < 10; i++)
		watch_traps.record(watched_state, &r, start);
	r.type = RECORD_STATE;
	watch_traps.record(watched_state, &r, start);
	ck_assert_uint_eq(n_alerts, 1);
}
END_TEST

START_TEST(test_eviction)
{
	uint32_t lid;

	traps(7, 129, 1, 6, start);
	check_said(1, "trap_storm", "begin");
	for (lid = 0; lid < 8191; lid++)
		traps((uint16_t)(100 + lid), 129, 1, 1, start);
	ck_assert_uint_eq(n_alerts, 1);
	traps(50, 129, 1, 1, start + SECOND);
	check_said(2, "trap_storm", "end");
	ck_assert_uint_eq(last_alert.lid, 7);
	/* it is forgotten, whole */
	tick(start + 20 * SECOND);
	ck_assert_uint_eq(n_alerts, 2);
	traps(7, 129, 1, 5, start + 20 * SECOND);
	ck_assert_uint_eq(n_alerts, 2);
}
END_TEST

START_TEST(test_nobody_resolves)
{
	watched_end();
	watched_resolves = false;
	setup();
	traps(7, 128, 0, 6, start);
	check_said(1, "trap_storm", "begin");
	ck_assert_str_eq(last_alert.name, "");
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("traps");
	TCase *tcase = tcase_create("traps");

	tcase_add_checked_fixture(tcase, setup, teardown);
	tcase_add_test(tcase, test_at_the_limit);
	tcase_add_test(tcase, test_apart);
	tcase_add_test(tcase, test_begin_update_end);
	tcase_add_test(tcase, test_vendor_and_unknown);
	tcase_add_test(tcase, test_hostile);
	tcase_add_test(tcase, test_eviction);
	tcase_add_test(tcase, test_nobody_resolves);
	suite_add_tcase(suite, tcase);
	return run_suite(suite);
}
