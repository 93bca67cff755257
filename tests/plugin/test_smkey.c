/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* The watcher smkey: who used a wrong SM_Key, and never which. */
#include "sa_records.h"
#include "../run.h"

#define KEY UINT64_C(0xbadc0ffee0ddf00d)

static struct record wrong(uint16_t lid, uint8_t method, uint16_t attr_id)
{
	struct record r = sa_request(lid, method, attr_id, 0);

	sa_put64(sa_mad + SA_SM_KEY, KEY);
	r.sa.has_response = false;
	r.sa.outcome = SA_UNANSWERED;
	r.sa.reason = SA_REASON_SM_KEY;
	return r;
}

static void say_wrong(uint16_t lid, uint64_t mono_ns)
{
	struct record r = wrong(lid, METHOD_GET_TABLE, ATTR_PATH_RECORD);

	sa_say(&r, mono_ns);
}

static void setup(void)
{
	watched_begin(&watch_smkey);
}

static void check_no_key(void)
{
	size_t i;

	for (i = 0; i < last_alert.n_evidence; i++) {
		ck_assert_uint_ne(last_alert.evidence[i].number, KEY);
		ck_assert_ptr_null(strcasestr(last_alert.evidence[i].text,
					      "badc0ffee"));
	}
	ck_assert_ptr_null(strcasestr(last_alert.text, "badc0ffee"));
	ck_assert_ptr_null(strstr(last_alert.text, "13464654573299691533"));
}

static void check_mismatch(unsigned n, const char *phase, uint16_t lid,
			   uint64_t count)
{
	check_said(n, "sm_key_mismatch", phase);
	ck_assert_str_eq(last_alert.severity, "critical");
	ck_assert_uint_eq(last_alert.lid, lid);
	ck_assert_uint_eq(evidence_number("count"), count);
	check_no_key();
}

START_TEST(test_what_is_none)
{
	struct record r = wrong(7, METHOD_GET, ATTR_PATH_RECORD);
	unsigned reason;

	sa_say_others(&r, start);
	for (reason = 0; reason <= SA_REASON_UNKNOWN; reason++) {
		if (reason == SA_REASON_SM_KEY)
			continue;
		r.sa.reason = reason;
		sa_say(&r, start);
	}
	r = sa_request(7, METHOD_GET, ATTR_PATH_RECORD, 0);
	sa_say(&r, start);
	sa_tick(start + 100 * SECOND);
	ck_assert_uint_eq(n_alerts, 0);
}
END_TEST

START_TEST(test_begin_update_end)
{
	struct record r;

	say_wrong(7, start);
	check_mismatch(1, "begin", 7, 1);
	ck_assert_str_eq(last_alert.name, "node7");
	ck_assert_str_eq(last_alert.subject, "LID 7");
	ck_assert_str_eq(evidence_text("method"), "GetTable");
	ck_assert_str_eq(evidence_text("attribute"), "PathRecord");
	ck_assert_ptr_nonnull(strstr(last_alert.text,
		"begin: LID 7 \"node7\" (0x0000000000000700) used a wrong SM_Key, OpenSM dropped 1 of its SA requests, the last one GetTable PathRecord; "));
	say_wrong(8, start + 10 * SECOND);
	check_mismatch(2, "begin", 8, 1);
	r = wrong(7, METHOD_SET, ATTR_SERVICE_RECORD);
	r.sa.retries = 2;
	sa_say(&r, start + 59 * SECOND);
	ck_assert_uint_eq(n_alerts, 2);
	sa_tick(start + 60 * SECOND);
	check_mismatch(3, "update", 7, 2);
	ck_assert_str_eq(evidence_text("method"), "Set");
	ck_assert_str_eq(evidence_text("attribute"), "ServiceRecord");
	ck_assert_uint_eq(evidence_number("copies"), 4);
	sa_tick(start + 70 * SECOND);
	ck_assert_uint_eq(n_alerts, 3);
	sa_tick(start + 70 * SECOND + 1);
	check_mismatch(4, "end", 8, 1);
	sa_tick(start + 119 * SECOND + 1);
	check_mismatch(5, "end", 7, 2);
	say_wrong(7, start + 200 * SECOND);
	check_mismatch(6, "begin", 7, 1);
	ck_assert_uint_eq(evidence_number("copies"), 1);
	/* no tick in between */
	say_wrong(7, start + 300 * SECOND);
	check_mismatch(8, "begin", 7, 1);
	watch_smkey.flush(watched_state, start + 301 * SECOND);
	check_mismatch(9, "end", 7, 1);
}
END_TEST

/* Whatever is in a MAD that OpenSM drops. */
START_TEST(test_hostile)
{
	struct record r = wrong(0xffff, 0x7f, 0xbeef);

	r.sa.len = MAD_HDR_SIZE;
	sa_say(&r, start);
	check_mismatch(1, "begin", 0xffff, 1);
	ck_assert_str_eq(evidence_text("method"), "0x7f");
	ck_assert_str_eq(evidence_text("attribute"), "0xbeef");
}
END_TEST

/* Of 2000 at once 1024 are told of, and then others. */
START_TEST(test_bounds)
{
	uint16_t lid;

	for (lid = 1; lid <= 2000; lid++)
		say_wrong(lid, start);
	check_mismatch(1024, "begin", 1024, 1);
	sa_tick(start + 61 * SECOND);
	check_mismatch(2048, "end", 1024, 1);
	say_wrong(2000, start + 62 * SECOND);
	check_mismatch(2049, "begin", 2000, 1);
}
END_TEST

START_TEST(test_nobody_resolves)
{
	watched_end();
	watched_resolves = false;
	setup();
	watched_resolves = true;
	say_wrong(7, start);
	check_mismatch(1, "begin", 7, 1);
	ck_assert_str_eq(last_alert.name, "");
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("smkey");
	TCase *tcase = tcase_create("smkey");

	tcase_add_checked_fixture(tcase, setup, watched_end);
	tcase_add_test(tcase, test_what_is_none);
	tcase_add_test(tcase, test_begin_update_end);
	tcase_add_test(tcase, test_hostile);
	tcase_add_test(tcase, test_bounds);
	tcase_add_test(tcase, test_nobody_resolves);
	suite_add_tcase(suite, tcase);
	return run_suite(suite);
}
