/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* The watcher smp: by which path SMPs get no answer, and how far they get. */
#include "smps.h"
#include "../run.h"

static void setup(void)
{
	watched_options.timeouts = (struct limit){ 3, 16 };
	watched_begin(&watch_smp);
}

static void teardown(void)
{
	watched_resolves = true;
	watched_host.find = watched_find;
	watched_end();
}

static void answer(const char *path, uint16_t attr_id, uint64_t port_guid,
		   uint64_t mono_ns)
{
	smp_begin(0, METHOD_GET | METHOD_RESPONSE, attr_id);
	smp_path(path);
	if (attr_id == ATTR_NODE_INFO) {
		put64(smp + SMP_DATA + NODE_INFO_NODE_GUID, port_guid + 1);
		put64(smp + SMP_DATA + NODE_INFO_PORT_GUID, port_guid);
	}
	smp_put(mono_ns);
}

static void time_out(uint16_t lid, const char *path, uint64_t mono_ns)
{
	smp_begin(lid, METHOD_GET, 0x15);
	smp_path(path);
	smp_cap.sent = true;
	smp_cap.completion = MAD_TIMEOUT;
	smp_put(mono_ns);
}

static void time_outs(uint16_t lid, const char *path, unsigned n,
		      uint64_t mono_ns)
{
	while (n--)
		time_out(lid, path, mono_ns);
}

START_TEST(test_at_the_limit)
{
	answer("", ATTR_NODE_INFO, 0x300, start - 3 * SECOND);
	answer("1", ATTR_NODE_INFO, 0x400, start - 2 * SECOND);
	answer("1,10,2", ATTR_NODE_INFO, 0x500, start - SECOND);
	time_outs(0, "1,10,2", 3, start);
	ck_assert_uint_eq(n_alerts, 0);
	time_out(0, "1,10,2", start);
	check_said(1, "smp_timeouts", "begin");
	ck_assert_str_eq(last_alert.severity, "warning");
	ck_assert_str_eq(last_alert.subject, "path 0,1,10,2");
	ck_assert_uint_eq(last_alert.lid, 5);
	ck_assert_str_eq(evidence_text("path"), "0,1,10,2");
	ck_assert_str_eq(evidence_text("node_guid"), "0x0000000000000501");
	ck_assert_str_eq(evidence_text("name"), "node5");
	ck_assert_uint_eq(evidence_number("timeouts"), 4);
	ck_assert_str_eq(evidence_text("last_attribute"), "PortInfo");
	ck_assert_str_eq(evidence_text("answered_path"), "0,1");
	ck_assert_str_eq(evidence_text("answered_node_guid"),
			 "0x0000000000000401");
	ck_assert_str_eq(evidence_text("answered_name"), "node4");
	ck_assert_uint_eq(evidence_number("answered_port"), 10);
	ck_assert_uint_eq(evidence_number("answered_seconds"), 2);
	ck_assert_str_eq(last_alert.text, "begin: 4 SMPs to path 0,1,10,2 (LID 5 \"node5\" (0x0000000000000500)) got no answer in 0 s (limit 3 in 16 s), the last a PortInfo: path 0,1 (LID 4 \"node4\" (0x0000000000000400)) answered 2 s ago, look at the link at its port 10 and at what is behind");
}
END_TEST

START_TEST(test_apart)
{
	time_outs(0, "1", 3, start);
	time_outs(0, "1,1", 3, start);
	time_outs(0, "1,2", 3, start);
	time_outs(0, "", 3, start);
	time_outs(7, "", 3, start);
	time_outs(8, "", 3, start);
	time_outs(7, "", 3, start + 16 * SECOND);
	ck_assert_uint_eq(n_alerts, 0);
}
END_TEST

START_TEST(test_lid)
{
	time_outs(7, "", 4, start);
	check_said(1, "smp_timeouts", "begin");
	ck_assert_str_eq(last_alert.subject, "LID 7");
	ck_assert_uint_eq(last_alert.lid, 7);
	ck_assert_uint_eq(evidence_number("lid"), 7);
	ck_assert_str_eq(evidence_text("name"), "node7");
	ck_assert_ptr_null(evidence_text("path"));
	ck_assert_ptr_null(evidence_text("answered_path"));
}
END_TEST

/* What fails itself is not what answers; once it does again, it is. */
START_TEST(test_how_far)
{
	answer("1", 0x15, 0, start);
	answer("1,2", 0x15, 0, start);
	time_out(0, "1,2", start + SECOND);
	time_outs(0, "1,2,3", 4, start + SECOND);
	check_said(1, "smp_timeouts", "begin");
	ck_assert_str_eq(evidence_text("answered_path"), "0,1");
	/* nobody has told whose it is */
	ck_assert_ptr_null(evidence_text("answered_node_guid"));
	answer("1,2", 0x15, 0, start + 2 * SECOND);
	tick(start + 18 * SECOND);
	check_said(2, "smp_timeouts", "end");
	ck_assert_str_eq(evidence_text("answered_path"), "0,1,2");
	/* nor does anything answer by another way */
	time_outs(0, "2,2", 4, start + 20 * SECOND);
	check_said(3, "smp_timeouts", "begin");
	ck_assert_ptr_null(evidence_text("answered_path"));
}
END_TEST

START_TEST(test_begin_update_end)
{
	unsigned i;

	for (i = 0; i < 70; i++) {
		time_out(0, "1", start + i * SECOND);
		tick(start + i * SECOND);
	}
	check_said(2, "smp_timeouts", "update");
	ck_assert_uint_eq(evidence_number("timeouts"), 64);
	tick(start + 85 * SECOND);
	ck_assert_uint_eq(n_alerts, 2);
	tick(start + 86 * SECOND);
	check_said(3, "smp_timeouts", "end");
	ck_assert_uint_eq(evidence_number("timeouts"), 70);
	time_outs(0, "1", 4, start + 100 * SECOND);
	check_said(4, "smp_timeouts", "begin");
	time_out(0, "1", start + 200 * SECOND);
	check_said(5, "smp_timeouts", "end");
	time_outs(0, "1", 3, start + 200 * SECOND);
	check_said(6, "smp_timeouts", "begin");
	watched->flush(watched_state, start + 201 * SECOND);
	check_said(7, "smp_timeouts", "end");
}
END_TEST

/* Only time-outs of SMPs count, and what was captured whole. */
START_TEST(test_hostile)
{
	static const uint16_t lens[] = {
		MAD_HDR_SIZE, SMP_DATA, SMP_INITIAL_PATH, SMP_INITIAL_PATH + 2,
	};
	unsigned i, n;

	for (n = 0; n < 10; n++) {
		for (i = 0; i < sizeof(lens) / sizeof(lens[0]); i++) {
			smp_begin(0, METHOD_GET, 0x15);
			smp_path("1,2");
			smp_cap.sent = true;
			smp_cap.completion = MAD_TIMEOUT;
			smp_cap.len = lens[i];
			smp_put(start);
			answer("1", ATTR_NODE_INFO, 0x100, start);
			smp_cap.len = lens[i];
			smp_put(start);
		}
		smp_cap.len = MAD_SIZE;
		smp[SMP_HOP_COUNT] = 64;
		smp_put(start);
		smp_cap.completion = MAD_TIMEOUT;
		smp_put(start);
		smp[SMP_HOP_COUNT] = 255;
		smp_put(start);
		time_out(0, "1", start - 100 * SECOND);
		smp_cap.completion = MAD_ERROR;
		smp_put(start);
		smp_cap.completion = MAD_CANCELED;
		smp_put(start);
		smp_cap.completion = MAD_TIMEOUT;
		smp[MAD_CLASS] = CLASS_SUBN_ADM;
		smp_put(start);
		if (n == 2)
			ck_assert_uint_eq(n_alerts, 0);
	}
	/* of "1" alone, long ago */
	ck_assert_uint_eq(n_alerts, 1);
}
END_TEST

START_TEST(test_longest_path)
{
	char path[SMP_MAX_HOPS * 4] = "255";
	unsigned i;

	for (i = 1; i < SMP_MAX_HOPS; i++)
		strcat(path, ",255");
	answer("255,255", 0x15, 0, start);
	time_outs(0, path, 4, start);
	check_said(1, "smp_timeouts", "begin");
	ck_assert_uint_eq(strlen(evidence_text("answered_path")), 9);
}
END_TEST

START_TEST(test_eviction)
{
	char path[32];
	unsigned i;

	time_outs(0, "9,9", 4, start);
	check_said(1, "smp_timeouts", "begin");
	for (i = 0; i < 4095; i++) {
		snprintf(path, sizeof(path), "1,%u,%u", i / 64, i % 64);
		time_out(0, path, start);
	}
	ck_assert_uint_eq(n_alerts, 1);
	time_out(0, "8,8", start);
	check_said(2, "smp_timeouts", "end");
	ck_assert_str_eq(last_alert.subject, "path 0,9,9");
	/* of 70,000 that answered the first ones are forgotten */
	for (i = 0; i < 70000; i++) {
		snprintf(path, sizeof(path), "%u,%u,%u", i >> 12, i >> 6 & 63,
			 i & 63);
		answer(path, ATTR_NODE_INFO, 0x100, start);
	}
	time_outs(0, "0,0,0,1", 4, start);
	ck_assert_ptr_null(evidence_text("answered_path"));
	snprintf(path, sizeof(path), "%u,%u,%u,1", 69999u >> 12,
		 69999u >> 6 & 63, 69999u & 63);
	time_outs(0, path, 4, start);
	ck_assert_str_eq(evidence_text("answered_name"), "node1");
}
END_TEST

START_TEST(test_nobody_knows)
{
	watched_end();
	watched_resolves = false;
	watched_host.find = NULL;
	setup();
	answer("1", ATTR_NODE_INFO, 0x400, start);
	answer("1,2", ATTR_NODE_INFO, 0x500, start);
	time_outs(0, "1,2", 4, start);
	check_said(1, "smp_timeouts", "begin");
	ck_assert_uint_eq(last_alert.lid, 0xffff);
	ck_assert_str_eq(evidence_text("answered_node_guid"),
			 "0x0000000000000401");
	ck_assert_ptr_nonnull(strstr(last_alert.text,
				     "(port GUID 0x0000000000000400)"));
	time_outs(7, "", 4, start);
	check_said(2, "smp_timeouts", "begin");
	ck_assert_ptr_null(evidence_text("name"));
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("smp");
	TCase *tcase = tcase_create("smp");

	tcase_add_checked_fixture(tcase, setup, teardown);
	tcase_add_test(tcase, test_at_the_limit);
	tcase_add_test(tcase, test_apart);
	tcase_add_test(tcase, test_lid);
	tcase_add_test(tcase, test_how_far);
	tcase_add_test(tcase, test_begin_update_end);
	tcase_add_test(tcase, test_hostile);
	tcase_add_test(tcase, test_longest_path);
	tcase_add_test(tcase, test_eviction);
	tcase_add_test(tcase, test_nobody_knows);
	suite_add_tcase(suite, tcase);
	return run_suite(suite);
}
