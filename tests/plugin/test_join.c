/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* The watcher join: why OpenSM refuses a join, by its rules; episodes. */
#include "joined.h"
#include "../run.h"

#define BIT(n) (UINT64_C(1) << (n))
#define JOIN (BIT(0) | BIT(1) | BIT(16))
#define CREATE (JOIN | BIT(2) | BIT(6) | BIT(7) | BIT(12) | BIT(13))
#define MTU (BIT(4) | BIT(5))
#define RATE (BIT(8) | BIT(9))

enum { GREATER = 0x00, LESS = 0x40, EXACTLY = 0x80, LARGEST = 0xc0 };

static uint8_t *const rec = request + SA_DATA;

static void setup(void)
{
	watched_begin(&watch_join);
}

static void teardown(void)
{
	watched_end();
}

/* Of LID 7 and the group 1, with what the test then changes. */
static void join(uint64_t mask)
{
	put_member(METHOD_SET, 7, 1, mask);
}

/* The next refusal; each has a moment of its own, so that none goes on. */
static void check_cause(uint16_t status, const char *cause, const char *words)
{
	static uint64_t now = start;
	unsigned before;

	now += 1000 * SECOND;
	watch_join.tick(watched_state, now);
	before = n_alerts;
	transact(7, status, now);
	check_said(before + 1, "join_failed", "begin");
	ck_assert_str_eq(evidence_text("cause"), cause);
	if (!strstr(last_alert.text, words))
		ck_abort_msg("'%s' lacks '%s'", last_alert.text, words);
}

/* Group 1 is there, with P_Key 0xffff, 2048 bytes and 40 Gb/s exactly. */
static void create(void)
{
	join(CREATE);
	rec[38] = EXACTLY | 4;
	rec[42] = EXACTLY | 7;
	put_answer();
	transact(7, OK, start);
}

START_TEST(test_alert)
{
	join(JOIN);
	transact(7, INSUFFICIENT, start);
	check_said(1, "join_failed", "begin");
	ck_assert_str_eq(last_alert.severity, "warning");
	ck_assert_str_eq(last_alert.subject, "LID 7");
	ck_assert_str_eq(last_alert.name, "node7");
	ck_assert_str_eq(evidence_text("mgid"), "ff15:a01b::1");
	ck_assert_str_eq(evidence_text("missing"),
			 "q_key, tclass, p_key, sl, flow_label");
	ck_assert_str_eq(evidence_text("status"),
			 "ERR_REQ_INSUFFICIENT_COMPONENTS");
	ck_assert_ptr_null(evidence_text("pkey"));
	ck_assert_uint_eq(evidence_number("join_state"), 1);
	ck_assert_str_eq(last_alert.text,
			 "begin: LID 7 \"node7\" (0x0000000000000700) cannot join ff15:a01b::1: there is no such group, and to create it the join lacks q_key, tclass, p_key, sl, flow_label (1 time); create it in partitions.conf, or start a full member first");
}
END_TEST

START_TEST(test_missing)
{
	join(JOIN);
	check_cause(INSUFFICIENT, "no_such_group", "lacks q_key, tclass");
	join(CREATE & ~BIT(12));
	check_cause(INSUFFICIENT, "missing_components", "it lacks sl");
	ck_assert_str_eq(evidence_text("missing"), "sl");
	ck_assert_str_eq(evidence_text("pkey"), "0xffff");
	join(CREATE & ~BIT(0) & ~BIT(16));
	check_cause(INSUFFICIENT, "missing_components", "mgid, join_state");
	/* nothing is missing: another OpenSM has other rules */
	join(CREATE);
	check_cause(INSUFFICIENT, "unknown", "reason not known: status ERR_");
}
END_TEST

START_TEST(test_other_statuses)
{
	join(CREATE);
	check_cause(INVALID_GID, "port_gid", "0xfe80000000000000");
	watched_subnet.mlids = 1023;
	watched_subnet.mlids_max = 1024;
	check_cause(NO_RESOURCES, "no_resources", "no multicast LID, MGID");
	watched_subnet.mlids = 1024;
	check_cause(NO_RESOURCES, "no_mlid", "all 1024 multicast LIDs");
	check_cause(NO_RECORDS, "unknown", "status ERR_NO_RECORDS");
	check_cause(0x0700, "unknown", "status ERR_REQ_DENIED");
	check_cause(0xff00, "unknown", "status 0xff00");
	watched_subnet.mlids = watched_subnet.mlids_max = 0;
}
END_TEST

START_TEST(test_no_value)
{
	join(CREATE | MTU | RATE);
	rec[38] = EXACTLY | 6;
	rec[42] = EXACTLY | 7;
	check_cause(REQ_INVALID, "mtu", "there is no MTU of code 6");
	rec[38] = EXACTLY | 4;
	rec[42] = LARGEST | 1;
	check_cause(REQ_INVALID, "rate", "there is no rate of code 1");
	rec[42] = EXACTLY | 23;
	check_cause(REQ_INVALID, "rate", "code 23");
	/* the least there is */
	rec[38] = LESS | 1;
	rec[42] = EXACTLY | 7;
	check_cause(REQ_INVALID, "mtu", "less than 256 bytes is asked for");
	rec[38] = EXACTLY | 4;
	rec[42] = LESS | 2;
	check_cause(REQ_INVALID, "rate", "less than 2.5 Gb/s");
}
END_TEST

START_TEST(test_not_realizable)
{
	join(CREATE | MTU | RATE);
	rec[38] = EXACTLY | 5;
	rec[42] = EXACTLY | 7;
	check_cause(REQ_INVALID, "mtu",
		    "MTU 4096 bytes is asked for, the port has 2048 bytes");
	ck_assert_str_eq(evidence_text("asked"), "4096 bytes");
	ck_assert_str_eq(evidence_text("can"), "2048 bytes");
	rec[38] = GREATER | 4;
	check_cause(REQ_INVALID, "mtu", "more than 2048 bytes");
	/* 2.5 to 600 Gb/s are not in the order of their codes */
	rec[38] = GREATER | 3;
	rec[42] = EXACTLY | 12;
	check_cause(REQ_INVALID, "rate", "rate 56 Gb/s is asked for, the port has 40 Gb/s");
	rec[42] = EXACTLY | 15;
	check_cause(REQ_INVALID, "unknown", "reason not known");
	/* what the selector leaves to OpenSM or the mask does not name */
	rec[42] = LARGEST | 12;
	check_cause(REQ_INVALID, "unknown", "reason not known");
	join(CREATE | BIT(9));
	rec[42] = EXACTLY | 12;
	check_cause(REQ_INVALID, "unknown", "reason not known");
}
END_TEST

START_TEST(test_port)
{
	join(CREATE);
	put(rec + 24, 8, 0x701);
	check_cause(REQ_INVALID, "port_gid", "no port with the GUID 0x0000000000000701");
	put(rec + 24, 8, 0x800);
	check_cause(REQ_INVALID, "foreign_port", "another port, 0x0000000000000800");
}
END_TEST

START_TEST(test_p_key_and_state)
{
	join(CREATE);
	put(rec + 40, 2, 0x8000);
	check_cause(REQ_INVALID, "p_key", "0x8000 is no P_Key");
	put(rec + 40, 2, 0x8123);
	check_cause(REQ_INVALID, "p_key", "partition of P_Key 0x8123");
	ck_assert_str_eq(evidence_text("pkey"), "0x8123");
	rec[48] = 0x50;
	check_cause(REQ_INVALID, "join_state", "its join state is 0");
	rec[48] = 0x54;
	check_cause(REQ_INVALID, "no_such_group", "(join state 4) cannot");
	/* a send-only full member can */
	rec[48] = 0x58;
	check_cause(REQ_INVALID, "p_key", "partition of P_Key 0x8123");
	/* all ports have the default one, so that it is something else */
	put(rec + 40, 2, 0x7fff);
	check_cause(REQ_INVALID, "unknown", "reason not known");
}
END_TEST

START_TEST(test_mgid)
{
	join(CREATE);
	rec[0] = 0xfe;
	check_cause(REQ_INVALID, "mgid", "begin with ff");
	rec[0] = 0xff;
	rec[1] = 0x35;
	check_cause(REQ_INVALID, "mgid", "reserved flags set (0x3)");
	rec[1] = 0x12;
	check_cause(REQ_INVALID, "mgid", "OpenSM's to make");
	/* IPoIB's are not looked at, but at their broadcast group */
	rec[1] = 0xf2;
	rec[2] = 0x40;
	check_cause(REQ_INVALID, "unknown", "reason not known");
	/* OpenSM makes one */
	memset(rec, 0, 16);
	check_cause(REQ_INVALID, "unknown", "reason not known");
}
END_TEST

START_TEST(test_broadcast_group)
{
	join(CREATE);
	put(rec, 8, 0xff12401b81230000);
	put(rec + 8, 8, 0xffffffff);
	put(rec + 40, 2, 0x8123);
	put_answer();
	transact(7, OK, start);
	put(rec + 8, 8, 0xfb);
	put(rec + 32, 4, 0xb1c);
	answer_len = 0;
	check_cause(REQ_INVALID, "differs_from_group",
		    "q_key is not as the broadcast group has it");
	ck_assert_ptr_null(evidence_text("missing"));
	/* IPv6, another P_Key */
	put(rec, 8, 0xff12601b81240000);
	check_cause(REQ_INVALID, "unknown", "reason not known");
}
END_TEST

START_TEST(test_group_that_is_there)
{
	create();
	join(CREATE | BIT(14));
	put(rec + 32, 4, 1);
	rec[39] = 1;
	put(rec + 44, 4, 0x20000105);
	check_cause(REQ_INVALID, "differs_from_group",
		    "q_key, tclass, sl, flow_label, hop_limit is not as the group has it");
	join(JOIN | BIT(7));
	put(rec + 40, 2, 0x8123);
	check_cause(REQ_INVALID, "differs_from_group", "p_key is not");
	join(JOIN | RATE | MTU);
	rec[38] = EXACTLY | 3;
	rec[42] = LESS | 8;
	check_cause(REQ_INVALID, "mtu", "MTU 1024 bytes is asked for, the group has 2048 bytes");
	rec[38] = EXACTLY | 4;
	rec[42] = GREATER | 7;
	check_cause(REQ_INVALID, "rate", "more than 40 Gb/s is asked for, the group has 40 Gb/s");
	/* a limited member of a group of full ones is well */
	join(JOIN | BIT(7));
	put(rec + 40, 2, 0x7fff);
	check_cause(REQ_INVALID, "p_key", "partition of P_Key 0xffff");
}
END_TEST

START_TEST(test_port_below_its_group)
{
	create();
	watched_port_can = (struct watch_port){ .mtu = 4, .rate = 6 };
	join(JOIN);
	check_cause(REQ_INVALID, "rate", "rate 40 Gb/s is the group's, the port has 20 Gb/s");
	watched_port_can = (struct watch_port){ .mtu = 3, .rate = 7 };
	check_cause(REQ_INVALID, "mtu", "the port has 1024 bytes");
	/* not known: then it may be this or the P_Key */
	watched_port_can = (struct watch_port){ .mtu = 4 };
	check_cause(REQ_INVALID, "unknown", "reason not known");
	watched_port_can = (struct watch_port){ .mtu = 4, .rate = 7 };
	check_cause(REQ_INVALID, "p_key", "partition");
}
END_TEST

START_TEST(test_group_that_went)
{
	create();
	trap(67, 0xff15a01b00000000, 2, start);
	join(JOIN);
	rec[48] = 0x52;
	check_cause(REQ_INVALID, "p_key", "partition");
	trap(67, 0xff15a01b00000000, 1, start);
	check_cause(REQ_INVALID, "no_such_group",
		    "no such group is known here");
}
END_TEST

START_TEST(test_episodes)
{
	unsigned i;

	join(JOIN);
	for (i = 0; i < 90; i++) {
		transact(7, INSUFFICIENT, start + i * SECOND);
		watch_join.tick(watched_state, start + i * SECOND);
	}
	check_said(2, "join_failed", "update");
	ck_assert_uint_eq(evidence_number("count"), 61);
	/* others: another cause, LID, group */
	join(CREATE & ~BIT(2));
	transact(7, INSUFFICIENT, start + 90 * SECOND);
	check_said(3, "join_failed", "begin");
	join(JOIN);
	transact(8, INSUFFICIENT, start + 90 * SECOND);
	check_said(4, "join_failed", "begin");
	rec[15] = 2;
	transact(8, INSUFFICIENT, start + 90 * SECOND);
	check_said(5, "join_failed", "begin");
	/* 60 seconds and no more */
	watch_join.tick(watched_state, start + 149 * SECOND);
	check_said(6, "join_failed", "update");
	watch_join.tick(watched_state, start + 149 * SECOND + 1);
	check_said(7, "join_failed", "end");
	ck_assert_uint_eq(evidence_number("count"), 90);
	watch_join.flush(watched_state, start + 150 * SECOND);
	check_said(10, "join_failed", "end");
	watch_join.flush(watched_state, start + 150 * SECOND);
	ck_assert_uint_eq(n_alerts, 10);
}
END_TEST

START_TEST(test_what_is_no_refusal)
{
	struct record r = { .type = RECORD_STATE };

	join(JOIN);
	transact(7, OK, start);
	put_member(METHOD_DELETE, 7, 1, JOIN);
	transact(7, REQ_INVALID, start);
	put_member(METHOD_GET, 7, 1, JOIN);
	transact(7, REQ_INVALID, start);
	put_header(METHOD_SET, ATTR_SERVICE_RECORD, JOIN);
	transact(7, REQ_INVALID, start);
	watch_join.record(watched_state, &r, start);
	ck_assert_uint_eq(n_alerts, 0);
}
END_TEST

/* Cut anywhere, with any bytes. */
START_TEST(test_hostile)
{
	static const uint16_t statuses[] = {
		NO_RESOURCES, REQ_INVALID, INVALID_GID, INSUFFICIENT, 0xffff,
	};
	unsigned i;
	size_t n;

	join(CREATE);
	for (request_len = MAD_HDR_SIZE; request_len < SA_DATA + 52;
	     request_len++)
		check_cause(REQ_INVALID, "unknown", "reason not known");
	request_len = MAD_SIZE;
	srandom(1);
	for (i = 0; i < 100000; i++) {
		for (n = 0; n < sizeof(request); n++)
			request[n] = (uint8_t)random();
		request[MAD_METHOD] = METHOD_SET;
		put(request + MAD_ATTR_ID, 2, ATTR_MCMEMBER_RECORD);
		if (i % 2)
			put(rec + 24, 8, 0x700);
		if (i % 4 == 0)
			put_answer();
		else
			answer_len = 0;
		transact((uint16_t)random(), i % 8 ? statuses[i % 5] : OK,
			 start + i * SECOND / 1000);
	}
	/* who makes room is said to end */
	watch_join.flush(watched_state, start + 200 * SECOND);
	check_said(n_alerts, "join_failed", "end");
	n_alerts = 0;
	watch_join.flush(watched_state, start + 200 * SECOND);
	ck_assert_uint_eq(n_alerts, 0);
}
END_TEST

START_TEST(test_nobody_knows)
{
	watched_end();
	watched_resolves = false;
	watched_host.port = NULL;
	watched_host.subnet = NULL;
	watched_begin(&watch_join);
	join(CREATE);
	put(rec + 24, 8, 0x701);
	put(rec + 40, 2, 0x8123);
	check_cause(REQ_INVALID, "unknown", "LID 7 cannot join");
	check_cause(NO_RESOURCES, "no_resources", "LID 7 cannot");
	watched_resolves = true;
	watched_host.port = watched_port;
	watched_host.subnet = watched_tell_subnet;
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("join");
	TCase *tcase = tcase_create("join");

	tcase_add_checked_fixture(tcase, setup, teardown);
	tcase_add_test(tcase, test_alert);
	tcase_add_test(tcase, test_missing);
	tcase_add_test(tcase, test_other_statuses);
	tcase_add_test(tcase, test_no_value);
	tcase_add_test(tcase, test_not_realizable);
	tcase_add_test(tcase, test_port);
	tcase_add_test(tcase, test_p_key_and_state);
	tcase_add_test(tcase, test_mgid);
	tcase_add_test(tcase, test_broadcast_group);
	tcase_add_test(tcase, test_group_that_is_there);
	tcase_add_test(tcase, test_port_below_its_group);
	tcase_add_test(tcase, test_group_that_went);
	tcase_add_test(tcase, test_episodes);
	tcase_add_test(tcase, test_what_is_no_refusal);
	tcase_add_test(tcase, test_hostile);
	tcase_add_test(tcase, test_nobody_knows);
	suite_add_tcase(suite, tcase);
	return run_suite(suite);
}
