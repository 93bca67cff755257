/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* The watcher violations: who used which wrong key, and never which M_Key. */
#include "smps.h"
#include "../run.h"

static uint8_t *const details = smp + SMP_DATA + 10;

static void setup(void)
{
	watched_begin(&watch_violations);
}

static void teardown(void)
{
	watched_resolves = true;
	watched_host.find = watched_find;
	watched_end();
}

/* Traps 257 and 258, from LID 5. */
static void pair_begin(uint16_t number, uint16_t lid1, uint16_t lid2,
		       uint32_t key)
{
	trap_begin(5, number);
	put16(details + 2, lid1);
	put16(details + 4, lid2);
	put32(details + 6, key);
	put32(details + 10, 0x30abcdef);
	put32(details + 14, 0x00fedcba);
	put64(details + 18, 0xfe80000000000000);
	put64(details + 26, 0x700);
	put64(details + 34, 0xfe80000000000000);
	put64(details + 42, 0x800);
}

static void pair(uint16_t number, uint16_t lid1, uint16_t lid2, uint32_t key,
		 uint64_t mono_ns)
{
	pair_begin(number, lid1, lid2, key);
	trap_put(mono_ns);
}

static void m_key_begin(uint16_t lid, const char *path)
{
	char *end;

	trap_begin(5, 256);
	put16(details + 2, lid);
	put16(details + 4, 0xffff);
	details[6] = METHOD_SET;
	put16(details + 8, 0x15);
	put32(details + 10, 0x42);
	put64(details + 14, 0x1122334455667788);
	if (!path)
		return;
	for (; *path; path = *end ? end + 1 : end)
		details[24 + (details[23]++)] =
			(uint8_t)strtoul(path, &end, 10);
	details[23] |= 0x80;
}

START_TEST(test_p_key)
{
	pair(257, 7, 8, 0x8123, start);
	check_said(1, "pkey_violation", "begin");
	ck_assert_str_eq(last_alert.severity, "warning");
	ck_assert_str_eq(last_alert.subject, "LID 7");
	ck_assert_uint_eq(last_alert.lid, 7);
	ck_assert_str_eq(evidence_text("p_key"), "0x8123");
	ck_assert_uint_eq(evidence_number("lid1"), 7);
	ck_assert_uint_eq(evidence_number("lid2"), 8);
	ck_assert_str_eq(evidence_text("name1"), "node7");
	ck_assert_str_eq(evidence_text("name2"), "node8");
	ck_assert_str_eq(evidence_text("gid1"), "fe80::700");
	ck_assert_str_eq(evidence_text("gid2"), "fe80::800");
	ck_assert_uint_eq(evidence_number("qp1"), 0xabcdef);
	ck_assert_uint_eq(evidence_number("qp2"), 0xfedcba);
	ck_assert_uint_eq(evidence_number("sl"), 3);
	ck_assert_uint_eq(evidence_number("trap_number"), 257);
	ck_assert_uint_eq(evidence_number("reporter_lid"), 5);
	ck_assert_str_eq(evidence_text("reporter_name"), "node5");
	ck_assert_ptr_null(evidence_text("switch_lid"));
	ck_assert_str_eq(last_alert.text, "begin: LID 7 \"node7\" (0x0000000000000700) QP 0xabcdef sent to LID 8 \"node8\" (0x0000000000000800) QP 0xfedcba (SL 3), once, with P_Key 0x8123, which the second does not have: put both into that partition in partitions.conf, or stop what the first sends");
	/* more than a P_Key is shown, too */
	pair(257, 7, 8, 0x10008123, start);
	ck_assert_str_eq(evidence_text("p_key"), "0x10008123");
}
END_TEST

START_TEST(test_q_key)
{
	pair(258, 7, 8, 0x123, start);
	check_said(1, "qkey_violation", "begin");
	ck_assert_str_eq(evidence_text("q_key"), "0x00000123");
	ck_assert_ptr_null(evidence_text("p_key"));
	ck_assert_uint_eq(evidence_number("qp1"), 0xabcdef);
	ck_assert_ptr_nonnull(strstr(last_alert.text,
				     "with Q_Key 0x00000123, which is not"));
}
END_TEST

START_TEST(test_switch)
{
	trap_begin(5, 259);
	put16(details, 0x00ff);
	put16(details + 2, 7);
	put16(details + 4, 8);
	put16(details + 6, 0x7fff);
	put32(details + 8, 0x40000011);
	put32(details + 12, 0x00000022);
	put64(details + 24, 0x700);
	put64(details + 40, 0x800);
	put16(details + 48, 9);
	details[50] = 17;
	trap_put(start);
	check_said(1, "pkey_violation", "begin");
	ck_assert_str_eq(evidence_text("p_key"), "0x7fff");
	ck_assert_uint_eq(evidence_number("switch_lid"), 9);
	ck_assert_str_eq(evidence_text("switch_name"), "node9");
	ck_assert_uint_eq(evidence_number("port"), 17);
	ck_assert_uint_eq(evidence_number("data_valid"), 0xff);
	ck_assert_uint_eq(evidence_number("sl"), 4);
	ck_assert_uint_eq(evidence_number("qp1"), 0x11);
	ck_assert_uint_eq(evidence_number("qp2"), 0x22);
	ck_assert_str_eq(evidence_text("gid2"), "::800");
	ck_assert_ptr_nonnull(strstr(last_alert.text,
				     "which switch LID 9 \"node9\""));
}
END_TEST

/* Nothing of the M_Key is in what is said. */
static void check_no_m_key(void)
{
	size_t i;

	ck_assert_ptr_null(strstr(last_alert.text, "55667788"));
	for (i = 0; i < last_alert.n_evidence; i++) {
		ck_assert_ptr_null(strstr(last_alert.evidence[i].text,
					  "55667788"));
		ck_assert_uint_ne(last_alert.evidence[i].number,
				  0x1122334455667788);
	}
}

START_TEST(test_m_key)
{
	m_key_begin(7, "1,20,3");
	trap_put(start);
	check_said(1, "mkey_violation", "begin");
	ck_assert_str_eq(last_alert.severity, "critical");
	ck_assert_uint_eq(last_alert.lid, 7);
	ck_assert_uint_eq(evidence_number("lid"), 7);
	ck_assert_str_eq(evidence_text("name"), "node7");
	ck_assert_str_eq(evidence_text("method"), "Set");
	ck_assert_str_eq(evidence_text("attribute"), "PortInfo");
	ck_assert_str_eq(evidence_text("attribute_modifier"), "0x00000042");
	ck_assert_uint_eq(evidence_number("dr_slid"), 0xffff);
	ck_assert_str_eq(evidence_text("return_path"), "1,20,3");
	ck_assert_uint_eq(evidence_number("hops"), 3);
	ck_assert_uint_eq(evidence_number("reporter_lid"), 5);
	check_no_m_key();
	/* by another path, and by its LID, it is another one */
	m_key_begin(7, "1,20,4");
	trap_put(start);
	check_said(2, "mkey_violation", "begin");
	m_key_begin(7, NULL);
	trap_put(start);
	check_said(3, "mkey_violation", "begin");
	ck_assert_ptr_null(evidence_text("return_path"));
	/* with another M_Key it is not */
	m_key_begin(7, NULL);
	put64(details + 14, 1);
	details[6] = 0x33;
	trap_put(start);
	check_said(4, "mkey_violation", "begin");
	ck_assert_str_eq(evidence_text("method"), "0x33");
	put64(details + 14, 2);
	trap_put(start);
	ck_assert_uint_eq(n_alerts, 4);
}
END_TEST

START_TEST(test_begin_update_end)
{
	unsigned i;

	for (i = 0; i <= 60; i++)
		pair(257, 7, 8, 0x8123, start + i * SECOND);
	check_said(2, "pkey_violation", "update");
	ck_assert_uint_eq(evidence_number("count"), 61);
	ck_assert_ptr_nonnull(strstr(last_alert.text, ", 61 times, "));
	pair(257, 7, 8, 0x8123, start + 61 * SECOND);
	tick(start + 120 * SECOND);
	check_said(3, "pkey_violation", "update");
	tick(start + 121 * SECOND);
	ck_assert_uint_eq(n_alerts, 3);
	tick(start + 121 * SECOND + 1);
	check_said(4, "pkey_violation", "end");
	ck_assert_uint_eq(evidence_number("count"), 62);
	tick(start + 300 * SECOND);
	ck_assert_uint_eq(n_alerts, 4);
	pair(257, 7, 8, 0x8123, start + 400 * SECOND);
	check_said(5, "pkey_violation", "begin");
	/* no tick between two */
	pair(257, 7, 8, 0x8123, start + 500 * SECOND);
	check_said(7, "pkey_violation", "begin");
	watched->flush(watched_state, start + 501 * SECOND);
	check_said(8, "pkey_violation", "end");
	watched->flush(watched_state, start + 501 * SECOND);
	ck_assert_uint_eq(n_alerts, 8);
}
END_TEST

START_TEST(test_apart)
{
	pair(257, 7, 8, 1, start);
	pair(258, 7, 8, 1, start);
	pair(257, 8, 7, 1, start);
	pair(257, 7, 8, 2, start);
	pair_begin(257, 7, 8, 1);
	details[13]++;
	trap_put(start);
	pair_begin(257, 7, 8, 1);
	details[17]++;
	trap_put(start);
	ck_assert_uint_eq(n_alerts, 6);
	/* SL, GIDs and who says so make no other one */
	pair_begin(257, 7, 8, 1);
	details[10] = 0;
	details[33]++;
	smp_cap.peer.lid = 6;
	trap_put(start);
	ck_assert_uint_eq(n_alerts, 6);
}
END_TEST

/* By GID, when there is no LID, or nobody is known to have it. */
START_TEST(test_gids)
{
	pair(257, 0, 0, 0x8123, start);
	ck_assert_uint_eq(last_alert.lid, 7);
	ck_assert_str_eq(evidence_text("name1"), "node7");
	ck_assert_str_eq(evidence_text("name2"), "node8");
	pair_begin(257, 0, 0, 0x8124);
	memset(details + 18, 0, 32);
	trap_put(start);
	check_said(2, "pkey_violation", "begin");
	ck_assert_ptr_null(evidence_text("gid1"));
	ck_assert_ptr_nonnull(strstr(last_alert.text, "GID (not told)"));
	pair_begin(257, 0xffff, 0xc001, 0x8125);
	memset(details + 18, 0xff, 32);
	trap_put(start);
	check_said(3, "pkey_violation", "begin");
	ck_assert_uint_eq(evidence_number("lid1"), 0xffff);
}
END_TEST

START_TEST(test_hostile)
{
	struct record r = {
		.type = RECORD_TRAP,
		.trap = { .notice = notice, .len = NOTICE_SIZE },
	};
	size_t len, i;

	pair_begin(257, 7, 8, 1);
	for (len = 0; len < NOTICE_SMP_SIZE; len++)
		trap_put_cut(start, len);
	watch_violations.record(watched_state, &r, start);
	notice[0] = 4;		/* a vendor's */
	trap_put(start);
	pair(255, 7, 8, 1, start);
	pair(260, 7, 8, 1, start);
	ck_assert_uint_eq(n_alerts, 0);
	srandom(1);
	for (i = 0; i < 10000; i++) {
		trap_begin((uint16_t)random(), (uint16_t)(256 + i % 4));
		for (len = 0; len < 54; len++)
			details[len] = (uint8_t)random();
		trap_put(start + i);
	}
	ck_assert_uint_eq(n_alerts, 4096);
}
END_TEST

START_TEST(test_bounds)
{
	uint32_t i;

	for (i = 0; i < 4096; i++)
		pair(258, 7, 8, i, start);
	check_said(4096, "qkey_violation", "begin");
	/* one more does not begin, nor does it end another */
	pair(258, 7, 8, 0, start);
	pair(258, 7, 8, i, start);
	ck_assert_uint_eq(n_alerts, 4096);
	tick(start + 61 * SECOND);
	check_said(2 * 4096, "qkey_violation", "end");
	pair(258, 7, 8, i, start + 62 * SECOND);
	check_said(2 * 4096 + 1, "qkey_violation", "begin");
}
END_TEST

START_TEST(test_nobody_knows)
{
	watched_end();
	watched_resolves = false;
	watched_host.find = NULL;
	setup();
	pair(257, 7, 0, 0x8123, start);
	check_said(1, "pkey_violation", "begin");
	ck_assert_ptr_null(evidence_text("name1"));
	ck_assert_ptr_nonnull(strstr(last_alert.text,
				     "sent to GID fe80::800 QP"));
	m_key_begin(0, NULL);
	trap_put(start);
	check_said(2, "mkey_violation", "begin");
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("violations");
	TCase *tcase = tcase_create("violations");

	tcase_add_checked_fixture(tcase, setup, teardown);
	tcase_add_test(tcase, test_p_key);
	tcase_add_test(tcase, test_q_key);
	tcase_add_test(tcase, test_switch);
	tcase_add_test(tcase, test_m_key);
	tcase_add_test(tcase, test_begin_update_end);
	tcase_add_test(tcase, test_apart);
	tcase_add_test(tcase, test_gids);
	tcase_add_test(tcase, test_hostile);
	tcase_add_test(tcase, test_bounds);
	tcase_add_test(tcase, test_nobody_knows);
	suite_add_tcase(suite, tcase);
	return run_suite(suite);
}
