/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* The watcher sm: who else is an SM, and who was master and is no more. */
#include "smps.h"
#include "../run.h"

static void setup(void)
{
	watched_options.n_sm_allow = 1;
	watched_options.sm_allow[0] = 0x800;
	watched_begin(&watch_sm);
}

static void teardown(void)
{
	watched_resolves = true;
	watched_host.find = watched_find;
	watched_host.subnet = watched_tell_subnet;
	watched_end();
}

static void info_begin(uint8_t method, uint64_t guid, uint8_t priority,
		       uint8_t state)
{
	smp_begin(0, method, ATTR_SM_INFO);
	put64(smp + SMP_DATA, guid);
	put64(smp + SMP_DATA + 8, 0x1122334455667788);	/* SM_Key */
	smp[SMP_DATA + 20] = (uint8_t)(priority << 4 | state);
}

/* An answer to OpenSM, which asked by the path. */
static void info(uint64_t guid, uint8_t priority, uint8_t state,
		 uint64_t mono_ns)
{
	info_begin(METHOD_GET | METHOD_RESPONSE, guid, priority, state);
	smp_path("1,10");
	smp_put(mono_ns);
}

static void control(bool sent, uint32_t modifier, uint64_t guid,
		    uint64_t mono_ns)
{
	info_begin(METHOD_SET, guid, 1, SM_STATE_MASTER);
	put32(smp + MAD_ATTR_MOD, modifier);
	smp_path("1,10");
	/* the way back, were it one that came in */
	smp[SMP_RETURN_PATH + 1] = 10;
	smp[SMP_RETURN_PATH + 2] = 1;
	smp_cap.sent = sent;
	smp_put(mono_ns);
}

static void state(const char *name, uint64_t mono_ns)
{
	const struct record r = {
		.type = RECORD_STATE,
		.state = { .state = "sm_state", .sm_state = name },
	};

	watch_sm.record(watched_state, &r, mono_ns);
}

START_TEST(test_begin)
{
	info(0x700, 3, SM_STATE_STANDBY, start);
	check_said(1, "foreign_sm", "begin");
	ck_assert_str_eq(last_alert.severity, "warning");
	ck_assert_str_eq(last_alert.subject, "SM 0x0000000000000700");
	ck_assert_uint_eq(last_alert.lid, 7);
	ck_assert_str_eq(evidence_text("sm_guid"), "0x0000000000000700");
	ck_assert_uint_eq(evidence_number("priority"), 3);
	ck_assert_str_eq(evidence_text("state"), "standby");
	ck_assert_uint_eq(evidence_number("lid"), 7);
	ck_assert_str_eq(evidence_text("allowed"), "no");
	ck_assert_str_eq(last_alert.text, "begin: SM LID 7 \"node7\" (0x0000000000000700), priority 3, state standby, is on this fabric and not in sm_allow: stop it, or add 0x0000000000000700 to sm_allow");

	info(0x800, 3, SM_STATE_STANDBY, start);
	check_said(2, "foreign_sm", "begin");
	ck_assert_str_eq(last_alert.severity, "info");
	ck_assert_str_eq(evidence_text("allowed"), "yes");
	ck_assert_ptr_nonnull(strstr(last_alert.text, "sm_allow has it"));
}
END_TEST

/* What says nothing of another SM. */
START_TEST(test_nobody)
{
	size_t len;

	info(0, 1, SM_STATE_MASTER, start);
	info(0x100, 1, SM_STATE_MASTER, start);	/* our own */
	info_begin(METHOD_GET | METHOD_RESPONSE, 0x700, 1, SM_STATE_MASTER);
	smp_cap.sent = true;
	smp_put(start);
	smp_cap.sent = false;
	put16(smp + MAD_STATUS, 0x801c);
	smp_put(start);
	put16(smp + MAD_STATUS, 0x8000);
	for (len = MAD_HDR_SIZE; len < SMP_DATA + SMP_DATA_SIZE; len++) {
		smp_cap.len = len;
		smp_put(start);
	}
	smp_cap.len = MAD_SIZE;
	smp[MAD_CLASS] = CLASS_SUBN_ADM;
	smp_put(start);
	smp[MAD_CLASS] = CLASS_SUBN_DIR;
	smp_cap.completion = MAD_TIMEOUT;
	smp_put(start);
	smp_cap.completion = MAD_OK;
	put16(smp + MAD_ATTR_ID, ATTR_NODE_INFO);
	smp_put(start);
	smp_begin(9, METHOD_GET, ATTR_SM_INFO);	/* a tool that asks */
	smp_put(start);
	ck_assert_uint_eq(n_alerts, 0);
}
END_TEST

START_TEST(test_changes)
{
	info(0x700, 3, SM_STATE_STANDBY, start);
	info(0x700, 3, SM_STATE_STANDBY, start + 10 * SECOND);
	ck_assert_uint_eq(n_alerts, 1);
	info(0x700, 4, SM_STATE_STANDBY, start + 20 * SECOND);
	check_said(2, "foreign_sm", "update");
	ck_assert_uint_eq(evidence_number("priority"), 4);
	/* not more often than once a second, and not forgotten */
	info(0x700, 4, SM_STATE_MASTER, start + 20 * SECOND + 1);
	info(0x700, 4, SM_STATE_DISCOVERING, start + 20 * SECOND + 2);
	ck_assert_uint_eq(n_alerts, 2);
	tick(start + 21 * SECOND);
	check_said(3, "foreign_sm", "update");
	ck_assert_str_eq(evidence_text("state"), "discovering");
	tick(start + 30 * SECOND);
	ck_assert_uint_eq(n_alerts, 3);
	info(0x700, 4, 0, start + 31 * SECOND);
	ck_assert_str_eq(evidence_text("state"), "notactive");
	info(0x700, 4, 9, start + 33 * SECOND);
	ck_assert_str_eq(evidence_text("state"), "9");
}
END_TEST

START_TEST(test_update_and_end)
{
	unsigned i;

	/* that it is still there is nothing new */
	for (i = 0; i <= 5; i++)
		info(0x700, 3, SM_STATE_STANDBY, start + i * 10 * SECOND);
	check_said(1, "foreign_sm", "begin");
	info(0x700, 4, SM_STATE_STANDBY, start + 60 * SECOND);
	check_said(2, "foreign_sm", "update");
	tick(start + 120 * SECOND);
	ck_assert_uint_eq(n_alerts, 2);
	tick(start + 120 * SECOND + 1);
	check_said(3, "foreign_sm", "end");
	ck_assert_uint_eq(evidence_number("count"), 7);
	ck_assert_ptr_nonnull(strstr(last_alert.text, "no longer for 60 s"));
	tick(start + 500 * SECOND);
	ck_assert_uint_eq(n_alerts, 3);
	info(0x700, 3, SM_STATE_STANDBY, start + 600 * SECOND);
	check_said(4, "foreign_sm", "begin");
	watched->flush(watched_state, start + 601 * SECOND);
	check_said(5, "foreign_sm", "end");
	ck_assert_ptr_null(strstr(last_alert.text, "no longer"));
	watched->flush(watched_state, start + 601 * SECOND);
	ck_assert_uint_eq(n_alerts, 5);
}
END_TEST

/* A standby that asks keeps itself known, by way or by LID. */
START_TEST(test_requests)
{
	unsigned i;

	info(0x700, 3, SM_STATE_STANDBY, start);
	info_begin(METHOD_GET | METHOD_RESPONSE, 0x800, 1, SM_STATE_STANDBY);
	smp[MAD_CLASS] = CLASS_SUBN_LID;
	smp_cap.peer.lid = 8;
	smp_put(start);
	for (i = 1; i <= 12; i++) {
		smp_begin(0, METHOD_GET, ATTR_SM_INFO);
		smp[SMP_HOP_COUNT] = 2;
		smp[SMP_RETURN_PATH + 1] = 10;
		smp[SMP_RETURN_PATH + 2] = 1;
		smp_put(start + i * 10 * SECOND);
		smp_begin(8, METHOD_GET, ATTR_SM_INFO);
		smp_put(start + i * 10 * SECOND);
		/* our own requests are no sign of them */
		tick(start + i * 10 * SECOND);
	}
	check_said(6, "foreign_sm", "update");
	for (i = 13; i <= 19; i++) {
		smp_begin(8, METHOD_GET, ATTR_SM_INFO);
		smp_cap.sent = true;
		smp_put(start + i * 10 * SECOND);
		smp_begin(0, METHOD_GET, ATTR_SM_INFO);
		smp[SMP_HOP_COUNT] = 2;
		smp[SMP_RETURN_PATH + 1] = 11;
		smp[SMP_RETURN_PATH + 2] = 1;
		smp_put(start + i * 10 * SECOND);
		tick(start + i * 10 * SECOND);
	}
	check_said(8, "foreign_sm", "end");
}
END_TEST

START_TEST(test_two_masters)
{
	state("master", start);
	info(0x800, 3, SM_STATE_MASTER, start);
	check_said(1, "foreign_sm", "begin");
	ck_assert_str_eq(last_alert.severity, "critical");
	ck_assert_ptr_nonnull(strstr(last_alert.text,
				     "is master while this SM is master"));
	info(0x800, 3, SM_STATE_STANDBY, start + 2 * SECOND);
	check_said(2, "foreign_sm", "update");
	ck_assert_str_eq(last_alert.severity, "info");
	info(0x800, 3, SM_STATE_MASTER, start + 4 * SECOND);
	ck_assert_str_eq(last_alert.severity, "critical");
	/* ours gives way */
	state("standby", start + 6 * SECOND);
	tick(start + 7 * SECOND);
	check_said(5, "foreign_sm", "update");
	ck_assert_str_eq(last_alert.severity, "info");
	/* what was heard before ours became master may be over */
	state("master", start + 8 * SECOND);
	tick(start + 9 * SECOND);
	check_said(6, "sm_handover", "once");
	info(0x800, 3, SM_STATE_MASTER, start + 10 * SECOND);
	check_said(7, "foreign_sm", "update");
	ck_assert_str_eq(last_alert.severity, "critical");
}
END_TEST

START_TEST(test_states)
{
	state("discovering", start);
	state("master", start);
	state("master", start);
	state(NULL, start);
	state("nonsense", start);
	ck_assert_uint_eq(n_alerts, 0);
	state("standby", start + SECOND);
	check_said(1, "sm_handover", "once");
	ck_assert_str_eq(last_alert.severity, "warning");
	ck_assert_str_eq(evidence_text("event"), "state");
	ck_assert_str_eq(evidence_text("from"), "master");
	ck_assert_str_eq(evidence_text("to"), "standby");
	ck_assert_ptr_null(evidence_text("sm_guid"));
	ck_assert_str_eq(last_alert.text, "this SM was master and is standby now: see that the master is the SM that should be");
	/* by way of discovering */
	info(0x900, 9, SM_STATE_STANDBY, start + 2 * SECOND);
	info(0x700, 3, SM_STATE_MASTER, start + SECOND);
	state("discovering", start + 3 * SECOND);
	ck_assert_uint_eq(n_alerts, 3);
	state("master", start + 4 * SECOND);
	check_said(4, "sm_handover", "once");
	ck_assert_str_eq(evidence_text("from"), "standby");
	ck_assert_str_eq(evidence_text("sm_guid"), "0x0000000000000700");
	ck_assert_uint_eq(last_alert.lid, 7);
	state("discovering", start + 5 * SECOND);
	check_said(5, "sm_handover", "once");
	ck_assert_str_eq(evidence_text("to"), "discovering");
}
END_TEST

START_TEST(test_standby_that_begins)
{
	state("discovering", start);
	state("standby", start);
	ck_assert_uint_eq(n_alerts, 0);
	state("discovering", start);
	state("standby", start);
	ck_assert_uint_eq(n_alerts, 0);
	state("master", start);
	check_said(1, "sm_handover", "once");
}
END_TEST

START_TEST(test_controls)
{
	static const char *const names[] = {
		NULL, "handover", "acknowledge", "disable", "standby",
		"discover",
	};
	uint32_t i;

	control(false, 0, 0x700, start);
	control(false, 6, 0x700, start);
	control(false, UINT32_MAX, 0x700, start);
	check_said(1, "foreign_sm", "begin");
	for (i = 1; i <= 5; i++) {
		control(false, i, 0x700, start);
		check_said(1 + i, "sm_handover", "once");
		ck_assert_str_eq(evidence_text("event"), "control");
		ck_assert_str_eq(evidence_text("control"), names[i]);
		ck_assert_str_eq(evidence_text("direction"), "received");
		ck_assert_str_eq(evidence_text("sm_guid"),
				 "0x0000000000000700");
	}
	/* sent by the way that it is known by; the data is our own */
	control(true, 1, 0x100, start);
	check_said(7, "sm_handover", "once");
	ck_assert_str_eq(evidence_text("direction"), "sent");
	ck_assert_str_eq(evidence_text("sm_guid"), "0x0000000000000700");
	ck_assert_ptr_nonnull(strstr(last_alert.text,
				     "this SM sends the control handover to SM LID 7"));
	/* who is told of is the one of the last control */
	info(0x900, 9, SM_STATE_MASTER, start);
	state("master", start);
	state("standby", start);
	check_said(9, "sm_handover", "once");
	ck_assert_str_eq(evidence_text("sm_guid"), "0x0000000000000700");
}
END_TEST

START_TEST(test_controls_again)
{
	unsigned i;

	for (i = 0; i < 600; i++)
		control(false, 3, 0x700, start + i * SECOND / 10);
	check_said(2, "sm_handover", "once");
	control(false, 3, 0x700, start + 60 * SECOND);
	ck_assert_uint_eq(evidence_number("repeats"), 599);
	/* of many, one a second */
	n_alerts = 0;
	for (i = 0; i < 50; i++)
		control(false, 2, 0x10000 + i, start + 60 * SECOND);
	ck_assert_uint_eq(n_alerts, 50 + 1);
	/* to one that nobody knows */
	smp_begin(9, METHOD_SET, ATTR_SM_INFO);
	smp_cap.sent = true;
	put32(smp + MAD_ATTR_MOD, 4);
	smp_put(start + 60 * SECOND);
	ck_assert_ptr_null(evidence_text("sm_guid"));
}
END_TEST

START_TEST(test_eviction)
{
	unsigned i;

	/* the first one is allowed, and never makes room */
	watched_options.sm_allow[0] = 0x10001;
	watched_options.n_sm_allow = 1;
	for (i = 0; i < 64; i++)
		info(0x10001 + i, 1, SM_STATE_STANDBY, start + i);
	check_said(64, "foreign_sm", "begin");
	ck_assert_ptr_nonnull(strstr(last_alert.text,
				     "port GUID 0x0000000000010040"));
	/* all of them were heard of a moment ago */
	info(0x20000, 1, SM_STATE_STANDBY, start + 101);
	ck_assert_uint_eq(n_alerts, 64);
	info(0x20000, 1, SM_STATE_STANDBY, start + 16 * SECOND);
	check_said(66, "foreign_sm", "begin");
	watched->flush(watched_state, start + 17 * SECOND);
	check_said(66 + 64, "foreign_sm", "end");
	/* 0x10002 was told to end: it is none of those that end now */
	info(0x10002, 1, SM_STATE_STANDBY, start + 18 * SECOND);
	check_said(66 + 65, "foreign_sm", "begin");
	watched_options.n_sm_allow = 0;
}
END_TEST

START_TEST(test_nobody_knows)
{
	watched_end();
	watched_resolves = false;
	watched_host.find = NULL;
	watched_host.subnet = NULL;
	setup();
	info(0x700, 1, SM_STATE_STANDBY, start);
	check_said(1, "foreign_sm", "begin");
	ck_assert_uint_eq(last_alert.lid, 0xffff);
	info_begin(METHOD_GET | METHOD_RESPONSE, 0x800, 1, SM_STATE_STANDBY);
	smp[MAD_CLASS] = CLASS_SUBN_LID;
	smp_cap.peer.lid = 8;
	smp_put(start);
	ck_assert_uint_eq(evidence_number("lid"), 8);
	smp_cap.peer.lid = 0xffff;
	put64(smp + SMP_DATA, 0x900);
	smp_put(start);
	ck_assert_uint_eq(last_alert.lid, 0xffff);
	control(true, 1, 0, start);
	state("master", start);
	state("standby", start);
	ck_assert_uint_eq(n_alerts, 5);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("sm");
	TCase *tcase = tcase_create("sm");

	tcase_add_checked_fixture(tcase, setup, teardown);
	tcase_add_test(tcase, test_begin);
	tcase_add_test(tcase, test_nobody);
	tcase_add_test(tcase, test_changes);
	tcase_add_test(tcase, test_update_and_end);
	tcase_add_test(tcase, test_requests);
	tcase_add_test(tcase, test_two_masters);
	tcase_add_test(tcase, test_states);
	tcase_add_test(tcase, test_standby_that_begins);
	tcase_add_test(tcase, test_controls);
	tcase_add_test(tcase, test_controls_again);
	tcase_add_test(tcase, test_eviction);
	tcase_add_test(tcase, test_nobody_knows);
	suite_add_tcase(suite, tcase);
	return run_suite(suite);
}
