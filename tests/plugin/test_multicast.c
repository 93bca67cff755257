/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * The watcher multicast: what the ledger has, both limits, and what the three
 * watchers of groups and services take of memory.
 */
#include <unistd.h>

#include "joined.h"
#include "../run.h"

#define MEMBER 0x10003

static void restart(uint32_t port, uint32_t percent)
{
	watched_end();
	watched_options.groups_port = port;
	watched_options.groups_percent = percent;
	watched_subnet.mlids = watched_subnet.mlids_max = 0;
	watched_begin(&watch_multicast);
}

static void setup(void)
{
	restart(10, 90);
}

static void teardown(void)
{
	watched_end();
}

static void join(uint16_t lid, uint32_t group, uint64_t mono_ns)
{
	put_member(METHOD_SET, lid, group, MEMBER);
	transact(lid, OK, mono_ns);
}

static void leave(uint16_t lid, uint32_t group, uint64_t mono_ns)
{
	put_member(METHOD_DELETE, lid, group, MEMBER);
	transact(lid, OK, mono_ns);
}

static void join_many(uint16_t lid, uint32_t n)
{
	uint32_t i;

	for (i = 1; i <= n; i++)
		join(lid, i, start);
}

START_TEST(test_port)
{
	join_many(7, 10);
	join_many(7, 10);
	ck_assert_uint_eq(n_alerts, 0);
	join(7, 11, start);
	check_said(1, "multicast_leak", "begin");
	ck_assert_str_eq(last_alert.severity, "warning");
	ck_assert_str_eq(last_alert.subject, "port 0x0000000000000700");
	ck_assert_uint_eq(last_alert.lid, 7);
	ck_assert_uint_eq(evidence_number("groups"), 11);
	ck_assert_uint_eq(evidence_number("limit_groups"), 10);
	ck_assert_uint_eq(evidence_number("overflow"), 0);
	ck_assert_str_eq(evidence_text("mgid"), "ff15:a01b::b");
	ck_assert_str_eq(evidence_text("since"),
			 "2025-12-11T13:22:08.000000000Z");
	ck_assert_str_eq(last_alert.text,
			 "begin: LID 7 \"node7\" (0x0000000000000700) is in 11 multicast groups that it joined (limit 10), ff15:a01b::b last; look which program on it joins and does not leave");

	/* it ends at nine, and begins again above ten */
	leave(7, 11, start);
	ck_assert_uint_eq(n_alerts, 1);
	leave(7, 1, start);
	check_said(2, "multicast_leak", "end");
	ck_assert_uint_eq(evidence_number("groups"), 9);
	join(7, 1, start);
	ck_assert_uint_eq(n_alerts, 2);
	join(7, 11, start);
	check_said(3, "multicast_leak", "begin");
}
END_TEST

START_TEST(test_update)
{
	unsigned i;

	join_many(7, 11);
	join(7, 12, start);
	for (i = 0; i < 60; i++)
		watch_multicast.tick(watched_state, start + i * SECOND);
	check_said(1, "multicast_leak", "begin");
	watch_multicast.tick(watched_state, start + 60 * SECOND);
	check_said(2, "multicast_leak", "update");
	/* nothing more, nothing said; it goes on however long */
	watch_multicast.tick(watched_state, start + 1000000 * SECOND);
	ck_assert_uint_eq(n_alerts, 2);
	join(7, 13, start + 1000001 * SECOND);
	watch_multicast.tick(watched_state, start + 1000002 * SECOND);
	check_said(3, "multicast_leak", "update");
	ck_assert_uint_eq(evidence_number("count"), 3);
	watch_multicast.flush(watched_state, start + 1000003 * SECOND);
	check_said(4, "multicast_leak", "end");
}
END_TEST

START_TEST(test_states)
{
	join_many(7, 10);
	/* by another join state too: left when both are */
	put_member(METHOD_SET, 7, 1, MEMBER);
	request[SA_DATA + 48] = 0x54;
	transact(7, OK, start);
	leave(7, 1, start);
	join(7, 11, start);
	check_said(1, "multicast_leak", "begin");
	put_member(METHOD_DELETE, 7, 1, MEMBER);
	request[SA_DATA + 48] = 0x54;
	transact(7, OK, start);
	leave(7, 2, start);
	check_said(2, "multicast_leak", "end");

	/* the answer knows it better */
	restart(1, 90);
	join_many(7, 2);
	check_said(1, "multicast_leak", "begin");
	put_member(METHOD_DELETE, 7, 1, MEMBER);
	put_answer();
	transact(7, OK, start);
	leave(7, 2, start);
	ck_assert_uint_eq(n_alerts, 1);
	put_member(METHOD_DELETE, 7, 1, MEMBER);
	put_answer();
	answer[SA_DATA + 48] = 0x50;
	transact(7, OK, start);
	check_said(2, "multicast_leak", "end");
}
END_TEST

/* Which group it is says the answer where the request leaves it to OpenSM. */
START_TEST(test_made_up_groups)
{
	unsigned i;

	for (i = 1; i <= 11; i++) {
		put_member(METHOD_SET, 7, i, MEMBER);
		put_answer();
		memset(request + SA_DATA, 0, 16);
		transact(7, OK, start);
	}
	check_said(1, "multicast_leak", "begin");
	ck_assert_str_eq(evidence_text("mgid"), "ff15:a01b::b");
	leave(7, 1, start);
	leave(7, 2, start);
	check_said(2, "multicast_leak", "end");
}
END_TEST

START_TEST(test_what_counts)
{
	struct record r = { .type = RECORD_STATE,
			    .state = { .state = "sweep_done" } };

	join_many(7, 10);
	put_member(METHOD_SET, 7, 11, MEMBER);
	transact(7, REQ_INVALID, start);
	put_member(METHOD_GET, 7, 12, MEMBER);
	transact(7, OK, start);
	request_len = SA_DATA + 51;
	join(7, 13, start);
	request_len = MAD_SIZE;
	leave(7, 99, start);
	leave(8, 1, start);
	watch_multicast.record(watched_state, &r, start);
	ck_assert_uint_eq(n_alerts, 0);
	/* another port, by proxy: it is this port that joins */
	put_member(METHOD_SET, 7, 14, MEMBER);
	transact(8, OK, start);
	check_said(1, "multicast_leak", "begin");
	ck_assert_uint_eq(last_alert.lid, 7);
	put_member(METHOD_DELETE, 7, 14, MEMBER);
	transact(7, REQ_INVALID, start);
	ck_assert_uint_eq(n_alerts, 1);
}
END_TEST

START_TEST(test_port_goes)
{
	uint8_t notice[80] = { 0x84, 0, 0, 0, 0, 65 };
	struct record forged = {
		.type = RECORD_TRAP,
		.trap = { .notice = notice, .len = sizeof(notice),
			  .mad = request, .mad_len = sizeof(request) },
	};

	join_many(7, 11);
	join_many(8, 10);
	check_said(1, "multicast_leak", "begin");
	/* from the wire, of another number, of another port */
	put(notice + 24, 8, 0x700);
	watch_multicast.record(watched_state, &forged, start);
	trap(64, PREFIX, 0x700, start);
	trap(65, PREFIX, 0x900, start);
	trap(65, PREFIX, 0x800, start);
	ck_assert_uint_eq(n_alerts, 1);
	trap(65, PREFIX, 0x700, start);
	check_said(2, "multicast_leak", "end");
	ck_assert_uint_eq(evidence_number("groups"), 0);
	join_many(7, 10);
	join_many(8, 10);
	ck_assert_uint_eq(n_alerts, 2);
}
END_TEST

START_TEST(test_other_master)
{
	struct record r = {
		.type = RECORD_STATE, .time_ns = epoch + start + SECOND,
		.state = { .state = "sm_state", .sm_state = "standby" },
	};

	join_many(7, 11);
	join_many(8, 10);
	watch_multicast.record(watched_state, &r, start + SECOND);
	check_said(2, "multicast_leak", "end");
	join_many(7, 11);
	check_said(3, "multicast_leak", "begin");
	ck_assert_str_eq(evidence_text("since"),
			 "2025-12-11T13:22:09.000000000Z");
}
END_TEST

START_TEST(test_fabric)
{
	restart(100, 90);
	join_many(7, 3);
	join_many(8, 12);
	join_many(9, 5);
	watched_subnet.mlids = 900;
	watched_subnet.mlids_max = 1000;
	watch_multicast.tick(watched_state, start);
	ck_assert_uint_eq(n_alerts, 0);
	watched_subnet.mlids = 901;
	watch_multicast.tick(watched_state, start + SECOND);
	check_said(1, "multicast_leak", "begin");
	ck_assert_str_eq(last_alert.subject, "fabric");
	ck_assert_uint_eq(last_alert.lid, 0xffff);
	ck_assert_uint_eq(evidence_number("mlids"), 901);
	ck_assert_uint_eq(evidence_number("mlids_max"), 1000);
	ck_assert_uint_eq(evidence_number("limit_percent"), 90);
	ck_assert_str_eq(evidence_text("joiners"),
			 "node8: 12, node9: 5, node7: 3");
	ck_assert_str_eq(evidence_text("mgid"), "ff15:a01b::5");
	watch_multicast.tick(watched_state, start + 60 * SECOND);
	ck_assert_uint_eq(n_alerts, 1);
	/* nothing new */
	watch_multicast.tick(watched_state, start + 61 * SECOND);
	ck_assert_uint_eq(n_alerts, 1);
	watched_subnet.mlids = 902;
	watch_multicast.tick(watched_state, start + 62 * SECOND);
	check_said(2, "multicast_leak", "update");
	ck_assert_uint_eq(evidence_number("count"), 2);
	/* 90 percent of 90 */
	watched_subnet.mlids = 811;
	watch_multicast.tick(watched_state, start + 200 * SECOND);
	ck_assert_uint_eq(n_alerts, 2);
	watched_subnet.mlids = 810;
	watch_multicast.tick(watched_state, start + 201 * SECOND);
	check_said(3, "multicast_leak", "end");
	watched_subnet.mlids = 1000;
	watch_multicast.tick(watched_state, start + 202 * SECOND);
	check_said(4, "multicast_leak", "begin");
	watch_multicast.flush(watched_state, start + 203 * SECOND);
	check_said(5, "multicast_leak", "end");
}
END_TEST

START_TEST(test_ten_busiest)
{
	static const char wanted[] =
		"node15: 15, node14: 14, node13: 13, node12: 12, node11: 11, node10: 10, node9: 9, node8: 8, node7: 7, node6: 6";
	uint16_t lid;

	restart(100, 50);
	for (lid = 1; lid <= 15; lid++)
		join_many(lid, lid);
	watched_subnet.mlids = watched_subnet.mlids_max = 1;
	watch_multicast.tick(watched_state, start);
	ck_assert_str_eq(evidence_text("joiners"), wanted);
	/* an alias GUID has no LID and no name */
	put_member(METHOD_SET, 1, 1, MEMBER);
	put(request + SA_DATA + 24, 8, 0x123);
	transact(1, OK, start);
	for (lid = 1; lid <= 15; lid++)
		trap(65, PREFIX, lid * 0x100u, start);
	watch_multicast.flush(watched_state, start);
	ck_assert_str_eq(evidence_text("joiners"), "0x0000000000000123: 1");
}
END_TEST

/* Full: counted, nobody is pushed out, and what is left makes room. */
START_TEST(test_overflow)
{
	uint32_t i;

	restart(300000, 90);
	for (i = 0; i < 229376 + 5; i++)
		join(7, i, start);
	watched_subnet.mlids = watched_subnet.mlids_max = 1;
	watch_multicast.tick(watched_state, start);
	check_said(1, "multicast_leak", "begin");
	ck_assert_uint_eq(evidence_number("overflow"), 5);
	ck_assert_str_eq(evidence_text("joiners"), "node7: 229376");
	join(8, 1, start);
	leave(7, 0, start);
	join(8, 1, start);
	watch_multicast.flush(watched_state, start);
	ck_assert_uint_eq(evidence_number("overflow"), 6);
	ck_assert_str_eq(evidence_text("joiners"), "node7: 229375, node8: 1");
}
END_TEST

/* More ports over the limit than there are episodes, and than ports. */
START_TEST(test_many_ports)
{
	uint32_t lid;

	restart(1, 90);
	for (lid = 1; lid <= 49151; lid++)
		join_many((uint16_t)lid, 2);
	check_said(512, "multicast_leak", "begin");
	for (lid = 1; lid <= 49151; lid++)
		leave((uint16_t)lid, 1, start);
	for (lid = 1; lid <= 49151; lid++)
		leave((uint16_t)lid, 2, start);
	check_said(1024, "multicast_leak", "end");
	for (lid = 0; lid < 100000; lid++) {
		put_member(METHOD_SET, 1, 1, MEMBER);
		put(request + SA_DATA + 24, 8, lid);
		transact(1, OK, start);
	}
	watched_subnet.mlids = watched_subnet.mlids_max = 1;
	watch_multicast.tick(watched_state, start);
	ck_assert_uint_eq(evidence_number("overflow"), 100000 - 49152);
}
END_TEST

/* Joins, leaves and traps at random beside a simple table, of ten ports. */
START_TEST(test_beside_a_table)
{
	static uint8_t in[11][64];
	char text[32], joiners[170];
	unsigned i, count, group;
	uint16_t lid;

	srandom(1);
	restart(1000, 1);
	for (i = 0; i < 200000; i++) {
		lid = (uint16_t)(1 + random() % 10);
		group = (unsigned)random() % 64;
		if (random() % 100 == 0) {
			trap(65, PREFIX, lid * 0x100u, start);
			memset(in[lid], 0, sizeof(in[lid]));
		} else if (random() % 2) {
			join(lid, group, start);
			in[lid][group] = 1;
		} else {
			leave(lid, group, start);
			in[lid][group] = 0;
		}
	}
	watched_subnet.mlids = watched_subnet.mlids_max = 1;
	watch_multicast.tick(watched_state, start);
	snprintf(joiners, sizeof(joiners), "%s,", evidence_text("joiners"));
	for (lid = 1; lid <= 10; lid++) {
		for (count = group = 0; group < 64; group++)
			count += in[lid][group];
		snprintf(text, sizeof(text), "node%u: %u,", lid, count);
		ck_assert(!count || strstr(joiners, text));
	}
}
END_TEST

START_TEST(test_nobody_knows)
{
	watched_host.find = NULL;
	watched_host.subnet = NULL;
	restart(1, 90);
	join_many(7, 2);
	check_said(1, "multicast_leak", "begin");
	ck_assert_uint_eq(last_alert.lid, 0);
	watch_multicast.tick(watched_state, start);
	watch_multicast.flush(watched_state, start);
	check_said(2, "multicast_leak", "end");
	watched_host.find = watched_find;
	watched_host.subnet = watched_tell_subnet;
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("multicast");
	TCase *tcase = tcase_create("multicast");

	tcase_add_checked_fixture(tcase, setup, teardown);
	tcase_add_test(tcase, test_port);
	tcase_add_test(tcase, test_update);
	tcase_add_test(tcase, test_states);
	tcase_add_test(tcase, test_made_up_groups);
	tcase_add_test(tcase, test_what_counts);
	tcase_add_test(tcase, test_port_goes);
	tcase_add_test(tcase, test_other_master);
	tcase_add_test(tcase, test_fabric);
	tcase_add_test(tcase, test_ten_busiest);
	tcase_add_test(tcase, test_overflow);
	tcase_add_test(tcase, test_many_ports);
	tcase_add_test(tcase, test_beside_a_table);
	tcase_add_test(tcase, test_nobody_knows);
	suite_add_tcase(suite, tcase);
	return run_suite(suite);
}
