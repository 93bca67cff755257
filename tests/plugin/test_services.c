/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* The watcher services: what it says, what it never says, how much. */
#include "joined.h"
#include "../run.h"

enum { ID = 0x3, P_KEY = 0x4, LEASE = 0x10, KEY = 0x20, NAME = 0x40 };

static uint8_t *const rec = request + SA_DATA;

static void setup(void)
{
	watched_begin(&watch_services);
}

static void teardown(void)
{
	watched_end();
}

static void put_service(uint8_t method, uint64_t mask)
{
	put_header(method, ATTR_SERVICE_RECORD, mask);
	put(rec, 8, 0x1000000000000001);
	put(rec + 8, 8, PREFIX);
	put(rec + 16, 8, 0x700);
	put(rec + 24, 2, 0x8123);
	put(rec + 28, 4, 60);
	memset(rec + 32, 0x5a, 16);
	strcpy((char *)rec + 48, "storage");
}

/* From LID 7, once for each. */
static void many(uint8_t method, unsigned n, uint64_t mono_ns)
{
	put_service(method, ID | NAME);
	while (n--)
		transact(7, OK, mono_ns);
}

START_TEST(test_registered)
{
	put_service(METHOD_SET, ID | P_KEY | LEASE | KEY | NAME);
	transact(7, OK, start);
	check_said(1, "service_registered", "once");
	ck_assert_str_eq(last_alert.severity, "info");
	ck_assert_uint_eq(last_alert.lid, 7);
	ck_assert_str_eq(last_alert.subject, "service 0x1000000000000001");
	ck_assert_str_eq(evidence_text("service_name"), "storage");
	ck_assert_str_eq(evidence_text("service_id"), "0x1000000000000001");
	ck_assert_uint_eq(evidence_number("lease_seconds"), 60);
	ck_assert_str_eq(evidence_text("pkey"), "0x8123");
	ck_assert_str_eq(evidence_text("service_gid"), "fe80::700");
	ck_assert_str_eq(last_alert.text,
			 "LID 7 \"node7\" (0x0000000000000700) registered service \"storage\" (0x1000000000000001) of fe80::700 for 60 s; nothing to do if it may");
	ck_assert_uint_eq(last_alert.n_evidence, 6);
}
END_TEST

START_TEST(test_defaults)
{
	put_service(METHOD_SET, ID);
	transact(7, OK, start);
	ck_assert_uint_eq(evidence_number("lease_seconds"), 0xffffffff);
	ck_assert_str_eq(evidence_text("pkey"), "0xffff");
	ck_assert_str_eq(evidence_text("service_name"), "");
	ck_assert_ptr_nonnull(strstr(last_alert.text, "fe80::700 for ever;"));
	put_service(METHOD_SET, ID | LEASE);
	put(rec + 28, 4, 0xffffffff);
	transact(7, OK, start);
	ck_assert_ptr_nonnull(strstr(last_alert.text, "for ever;"));
}
END_TEST

START_TEST(test_removed)
{
	put_service(METHOD_DELETE, ID | NAME);
	transact(7, OK, start);
	check_said(1, "service_removed", "once");
	ck_assert_ptr_nonnull(strstr(last_alert.text, "removed service"));
	ck_assert_ptr_nonnull(strstr(last_alert.text, "fe80::700;"));
	ck_assert_ptr_null(evidence_text("lease_seconds"));
}
END_TEST

START_TEST(test_what_is_none)
{
	struct record r = { .type = RECORD_STATE };

	put_service(METHOD_SET, ID);
	transact(7, REQ_INVALID, start);
	put_service(METHOD_DELETE, ID);
	transact(7, NO_RECORDS, start);
	put_service(METHOD_GET, ID);
	transact(7, OK, start);
	put_member(METHOD_SET, 7, 1, ID);
	transact(7, OK, start);
	watch_services.record(watched_state, &r, start);
	put_service(METHOD_SET, ID);
	for (request_len = MAD_HDR_SIZE; request_len < SA_DATA + 112;
	     request_len++)
		transact(7, OK, start);
	request_len = MAD_SIZE;
	ck_assert_uint_eq(n_alerts, 0);
}
END_TEST

/* A name that fills its field, has what a terminal must not get, and quotes. */
START_TEST(test_hostile_names)
{
	put_service(METHOD_SET, ID | NAME);
	memset(rec + 48, 'x', 64);
	rec[112] = '!';
	transact(7, OK, start);
	ck_assert_uint_eq(strlen(evidence_text("service_name")), 64);
	strcpy((char *)rec + 48, "a\"b\033[2J\n\xff");
	transact(7, OK, start);
	ck_assert_str_eq(evidence_text("service_name"),
			 "a\"b\033[2J\n\xff");
	ck_assert_ptr_nonnull(strstr(last_alert.text,
				     "\"a\\\"b\\u001b[2J\\u000a\\xff\""));
	memset(rec + 48, 0x1b, 64);
	transact(7, OK, start);
	ck_assert_ptr_null(strchr(last_alert.text, 0x1b));
	ck_assert_ptr_nonnull(strstr(last_alert.text, "nothing to do"));
}
END_TEST

START_TEST(test_sums)
{
	many(METHOD_SET, 60, start);
	many(METHOD_DELETE, 40, start + SECOND);
	check_said(100, "service_removed", "once");
	many(METHOD_DELETE, 3, start + 2 * SECOND);
	many(METHOD_SET, 5, start + 59 * SECOND);
	watch_services.tick(watched_state, start + 60 * SECOND - 1);
	ck_assert_uint_eq(n_alerts, 100);
	watch_services.tick(watched_state, start + 60 * SECOND);
	check_said(101, "service_registered", "once");
	ck_assert_uint_eq(evidence_number("registered"), 5);
	ck_assert_uint_eq(evidence_number("removed"), 3);
	ck_assert_str_eq(last_alert.text,
			 "LID 7 \"node7\" (0x0000000000000700) registered 5 more services and removed 3 more in a minute; look which program on it does so");
	watch_services.tick(watched_state, start + 200 * SECOND);
	ck_assert_uint_eq(n_alerts, 101);

	/* another minute; no tick between the two */
	many(METHOD_DELETE, 101, start + 300 * SECOND);
	many(METHOD_DELETE, 1, start + 360 * SECOND);
	check_said(203, "service_removed", "once");
	ck_assert_str_eq(evidence_text("service_name"), "storage");
	/* and the last one of all */
	many(METHOD_SET, 100, start + 361 * SECOND);
	watch_services.flush(watched_state, start + 362 * SECOND);
	check_said(303, "service_registered", "once");
	ck_assert_uint_eq(evidence_number("registered"), 1);
}
END_TEST

START_TEST(test_many_requesters)
{
	uint32_t lid;

	many(METHOD_SET, 101, start);
	put_service(METHOD_SET, ID);
	for (lid = 1000; lid < 1000 + 1023; lid++)
		transact((uint16_t)lid, OK, start);
	ck_assert_uint_eq(n_alerts, 100 + 1023);
	/* LID 7 makes room */
	transact(5000, OK, start);
	ck_assert_uint_eq(n_alerts, 100 + 1023 + 2);
	watch_services.tick(watched_state, start + 60 * SECOND);
	ck_assert_uint_eq(n_alerts, 100 + 1023 + 2);
}
END_TEST

START_TEST(test_nobody_resolves)
{
	watched_end();
	watched_resolves = false;
	watched_begin(&watch_services);
	many(METHOD_SET, 101, start);
	ck_assert_str_eq(last_alert.name, "");
	watch_services.flush(watched_state, start);
	check_said(101, "service_registered", "once");
	watched_resolves = true;
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("services");
	TCase *tcase = tcase_create("services");

	tcase_add_checked_fixture(tcase, setup, teardown);
	tcase_add_test(tcase, test_registered);
	tcase_add_test(tcase, test_defaults);
	tcase_add_test(tcase, test_removed);
	tcase_add_test(tcase, test_what_is_none);
	tcase_add_test(tcase, test_hostile_names);
	tcase_add_test(tcase, test_sums);
	tcase_add_test(tcase, test_many_requesters);
	tcase_add_test(tcase, test_nobody_resolves);
	suite_add_tcase(suite, tcase);
	return run_suite(suite);
}
