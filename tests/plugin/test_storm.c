/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* plugin/storm.c: who is reported, when, how often, and when it is over. */
#include <check.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "storm.h"

#define SECOND UINT64_C(1000000000)

/* A moment as a machine has it some days after its start. */
static const uint64_t start = 1000000 * SECOND;

static struct storm *storm;
static struct storm_options options;

/* What was emitted last, and how much. */
static unsigned n_alerts, n_resolved;
static uint16_t last_lid;
static char last_phase[16], last_subject[64], last_text[256], last_name[16];
static uint64_t last_requests, last_seconds, last_limit, last_limit_seconds;

static uint64_t *number_of(const char *key)
{
	if (!strcmp(key, "requests"))
		return &last_requests;
	if (!strcmp(key, "seconds"))
		return &last_seconds;
	if (!strcmp(key, "limit_requests"))
		return &last_limit;
	if (!strcmp(key, "limit_seconds"))
		return &last_limit_seconds;
	ck_abort_msg("evidence '%s'", key);
	return NULL;
}

static void emit(struct record *r, void *context)
{
	size_t i;

	ck_assert_ptr_eq(context, &options);
	ck_assert_int_eq(r->type, RECORD_ALERT);
	ck_assert_str_eq(r->alert.alert, "sa_storm");
	ck_assert_str_eq(r->alert.severity, "warning");
	n_alerts++;
	last_lid = r->alert.who->addr.lid;
	snprintf(last_name, sizeof(last_name), "%s",
		 r->alert.who->name ? r->alert.who->name : "");
	snprintf(last_subject, sizeof(last_subject), "%s", r->alert.subject);
	snprintf(last_text, sizeof(last_text), "%s", r->alert.text);
	ck_assert_uint_eq(r->alert.n_evidence, 5);
	ck_assert_str_eq(r->alert.evidence[0].key, "phase");
	snprintf(last_phase, sizeof(last_phase), "%s",
		 r->alert.evidence[0].text);
	for (i = 1; i < r->alert.n_evidence; i++)
		*number_of(r->alert.evidence[i].key) =
			r->alert.evidence[i].number;
}

static void resolve(struct requester *who, void *context)
{
	ck_assert_ptr_eq(context, &options);
	n_resolved++;
	who->name = "node7";
}

static void setup(void)
{
	options = (struct storm_options){
		.requests = 10, .seconds = 2, .emit = emit,
		.resolve = resolve, .context = &options,
	};
	storm = storm_new(&options);
	ck_assert_ptr_nonnull(storm);
	n_alerts = 0;
	n_resolved = 0;
}

static void teardown(void)
{
	storm_free(storm);
}

static void requests(uint16_t lid, unsigned n, uint64_t mono_ns)
{
	while (n--)
		storm_request(storm, lid, mono_ns);
}

static void check_alert(unsigned n, const char *phase, uint16_t lid,
			uint64_t total, uint64_t seconds)
{
	ck_assert_uint_eq(n_alerts, n);
	ck_assert_str_eq(last_phase, phase);
	ck_assert_uint_eq(last_lid, lid);
	ck_assert_uint_eq(last_requests, total);
	ck_assert_uint_eq(last_seconds, seconds);
	ck_assert_uint_eq(last_limit, options.requests);
	ck_assert_uint_eq(last_limit_seconds, options.seconds);
}

START_TEST(test_what_is_no_lid)
{
	/* multicast LIDs and the permissive one send nothing */
	requests(49152, 1000, start);
	requests(0xfffe, 1000, start);
	requests(0xffff, 1000, start);
	storm_tick(storm, start + 10 * SECOND);
	ck_assert_uint_eq(n_alerts, 0);

	/* a port without a LID, and the last that one can have */
	requests(0, 11, start);
	check_alert(1, "begin", 0, 11, 0);
	requests(49151, 11, start);
	check_alert(2, "begin", 49151, 11, 0);
	storm_free(NULL);
}
END_TEST

START_TEST(test_within_the_limit)
{
	unsigned i;

	for (i = 0; i < 100; i++) {
		requests(7, 10, start + i * 2 * SECOND);
		requests(8, 10, start + i * 2 * SECOND);
		storm_tick(storm, start + i * 2 * SECOND + SECOND / 2);
	}
	ck_assert_uint_eq(n_alerts, 0);
	ck_assert_uint_eq(n_resolved, 0);
}
END_TEST

START_TEST(test_windows_do_not_slide)
{
	/* ten at the end of one, ten at the beginning of the next */
	requests(7, 1, start);
	requests(7, 9, start + 2 * SECOND - 1);
	requests(7, 10, start + 2 * SECOND);
	ck_assert_uint_eq(n_alerts, 0);
	storm_request(storm, 7, start + 4 * SECOND - 1);
	check_alert(1, "begin", 7, 11, 0);
	ck_assert_str_eq(last_name, "node7");
	ck_assert_str_eq(last_subject, "LID 7");
	ck_assert_str_eq(last_text,
			 "begin: 11 SA requests from LID 7 (limit 10 in 2 s)");
	ck_assert_uint_eq(n_resolved, 1);
}
END_TEST

START_TEST(test_begin_update_end)
{
	unsigned i;

	/* 11 a window, so just above it, for two minutes and a bit */
	for (i = 0; i <= 61; i++) {
		requests(7, 11, start + i * 2 * SECOND);
		storm_tick(storm, start + i * 2 * SECOND);
		storm_tick(storm, start + i * 2 * SECOND + SECOND);
		if (i == 0)
			check_alert(1, "begin", 7, 11, 0);
		if (i == 29)
			ck_assert_uint_eq(n_alerts, 1);
		if (i == 30)
			check_alert(2, "update", 7, 31 * 11, 60);
		if (i == 60)
			check_alert(3, "update", 7, 61 * 11, 120);
	}
	/* the last window was one of the storm; the next is empty */
	storm_tick(storm, start + 124 * SECOND);
	ck_assert_uint_eq(n_alerts, 3);
	storm_tick(storm, start + 126 * SECOND);
	check_alert(4, "end", 7, 62 * 11, 126);
	storm_tick(storm, start + 200 * SECOND);
	ck_assert_uint_eq(n_alerts, 4);

	/* and another one is another one */
	requests(7, 11, start + 300 * SECOND);
	check_alert(5, "begin", 7, 11, 0);
}
END_TEST

/* Also when no tick falls between one window and the first of the next. */
START_TEST(test_end_with_requests)
{
	unsigned i;

	requests(7, 20, start);
	check_alert(1, "begin", 7, 11, 0);
	for (i = 1; i < 10; i++) {
		requests(7, 5, start + i * 2 * SECOND);
		storm_tick(storm, start + i * 2 * SECOND + SECOND / 10);
	}
	/* window 1 had 5, so it is over at the first request of window 2 */
	check_alert(2, "end", 7, 25, 4);
}
END_TEST

/* A window of an hour does not keep a storm from being told each minute. */
START_TEST(test_long_window)
{
	unsigned i;

	storm_free(storm);
	options.seconds = 3600;
	storm = storm_new(&options);
	requests(7, 11, start);
	for (i = 1; i <= 602; i++)
		storm_tick(storm, start + i * SECOND / 2);
	check_alert(6, "update", 7, 11, 300);
}
END_TEST

START_TEST(test_one_of_many)
{
	uint32_t lid;

	for (lid = 1; lid < 49152; lid++)
		requests((uint16_t)lid, 10, start);
	ck_assert_uint_eq(n_alerts, 0);
	for (lid = 1; lid < 49152; lid++)
		storm_request(storm, (uint16_t)lid, start + SECOND);
	ck_assert_uint_eq(n_alerts, 49151);
	storm_tick(storm, start + 4 * SECOND);
	ck_assert_uint_eq(n_alerts, 2 * 49151);
	check_alert(2 * 49151, "end", 49151, 11, 3);
}
END_TEST

/* Captures of two threads may come in a little out of order. */
START_TEST(test_out_of_order)
{
	requests(7, 10, start + 2 * SECOND);
	storm_request(storm, 7, start + SECOND);
	storm_request(storm, 7, start);
	check_alert(1, "begin", 7, 11, 0);
	storm_tick(storm, start);
	ck_assert_uint_eq(n_alerts, 1);
	storm_tick(storm, start + 8 * SECOND);
	ck_assert_uint_eq(n_alerts, 2);
	ck_assert_str_eq(last_phase, "end");
}
END_TEST

START_TEST(test_nobody_resolves)
{
	storm_free(storm);
	options.resolve = NULL;
	storm = storm_new(&options);
	requests(7, 11, start);
	check_alert(1, "begin", 7, 11, 0);
	ck_assert_str_eq(last_name, "");
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("storm");
	TCase *tcase = tcase_create("storm");
	SRunner *runner = srunner_create(suite);
	int failed;

	tcase_add_checked_fixture(tcase, setup, teardown);
	tcase_add_test(tcase, test_what_is_no_lid);
	tcase_add_test(tcase, test_within_the_limit);
	tcase_add_test(tcase, test_windows_do_not_slide);
	tcase_add_test(tcase, test_begin_update_end);
	tcase_add_test(tcase, test_end_with_requests);
	tcase_add_test(tcase, test_long_window);
	tcase_add_test(tcase, test_one_of_many);
	tcase_add_test(tcase, test_out_of_order);
	tcase_add_test(tcase, test_nobody_resolves);
	suite_add_tcase(suite, tcase);

	srunner_run_all(runner, CK_ENV);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
