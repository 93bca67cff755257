/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* The watcher stranger: changes in another port's name, and what may be none. */
#include "sa_records.h"
#include "../run.h"

enum { MC_PORT_GID = 16, SERVICE_GID = 8 };

#define MC_MASK (1u << 0 | 1u << 1 | 1u << 16)
#define SERVICE_MASK 7u

/* A join by `lid` for the port with this GUID. */
static struct record join(uint16_t lid, uint8_t method, uint64_t guid)
{
	struct record r = sa_request(lid, method, ATTR_MCMEMBER_RECORD,
				     MC_MASK);

	sa_put64(sa_mad + SA_DATA + MC_PORT_GID,
		 UINT64_C(0xfe80000000000000));
	sa_put64(sa_mad + SA_DATA + MC_PORT_GID + 8, guid);
	return r;
}

static void setup(void)
{
	watched_begin(&watch_stranger);
}

static void check_stranger(unsigned n, const char *phase, uint16_t lid,
			   uint16_t owner, uint64_t count)
{
	check_said(n, "set_by_stranger", phase);
	ck_assert_str_eq(last_alert.severity, "warning");
	ck_assert_uint_eq(last_alert.lid, lid);
	ck_assert_uint_eq(evidence_number("owner_lid"), owner);
	ck_assert_uint_eq(evidence_number("count"), count);
}

/* Nothing that may be the requester's own. */
START_TEST(test_what_is_none)
{
	struct record r = join(7, METHOD_SET, 0x800);

	sa_say_others(&r, start);
	/* its own port, by GUID and by the GRH, and no port at all */
	r = join(7, METHOD_SET, 0x700);
	sa_say(&r, start);
	r = join(7, METHOD_SET, 0x800);
	r.sa.requester.addr.has_gid = true;
	sa_put64(r.sa.requester.addr.gid + 8, 0x800);
	sa_say(&r, start);
	r = join(7, METHOD_SET, 0);
	sa_say(&r, start);
	/* an alias that the subnet does not have as a port */
	r = join(7, METHOD_SET, 0x801);
	sa_say(&r, start);
	/* who asks is not known, or changed its GUID a moment ago */
	r = join(7, METHOD_SET, 0x800);
	r.sa.requester.port_guid = 0;
	sa_say(&r, start);
	r = join(7, METHOD_SET, 0x700);
	r.sa.requester.port_guid = 0x701;
	sa_say(&r, start);
	/* no change */
	r = join(7, METHOD_GET, 0x800);
	sa_say(&r, start);
	r = join(7, METHOD_GET_TABLE, 0x800);
	sa_say(&r, start);
	ck_assert_uint_eq(n_alerts, 0);
}
END_TEST

START_TEST(test_what_names_none)
{
	struct record r = join(7, METHOD_SET, 0x800);

	/* the mask does not name the GID */
	sa_put64(sa_mad + SA_COMPONENT_MASK, MC_MASK & ~2u);
	sa_say(&r, start);
	/* cut within it, and within the header */
	r = join(7, METHOD_SET, 0x800);
	r.sa.len = SA_DATA + MC_PORT_GID + 15;
	sa_say(&r, start);
	r.sa.len = MAD_HDR_SIZE;
	sa_say(&r, start);
	/* another attribute, one without a GID, one that is not known */
	r = join(7, METHOD_SET, 0x800);
	sa_put16(sa_mad + MAD_ATTR_ID, ATTR_PATH_RECORD);
	sa_say(&r, start);
	sa_put16(sa_mad + MAD_ATTR_ID, ATTR_GUIDINFO_RECORD);
	sa_say(&r, start);
	sa_put16(sa_mad + MAD_ATTR_ID, 0xbeef);
	sa_say(&r, start);
	ck_assert_uint_eq(n_alerts, 0);
	r = join(7, METHOD_SET, 0x800);
	r.sa.len = SA_DATA + MC_PORT_GID + 16;
	sa_say(&r, start);
	check_stranger(1, "begin", 7, 8, 1);
}
END_TEST

START_TEST(test_begin_update_end)
{
	struct record r = join(7, METHOD_SET, 0x800);

	sa_say(&r, start);
	check_stranger(1, "begin", 7, 8, 1);
	ck_assert_str_eq(last_alert.name, "node7");
	ck_assert_str_eq(evidence_text("method"), "Set");
	ck_assert_str_eq(evidence_text("attribute"), "MCMemberRecord");
	ck_assert_str_eq(evidence_text("status"), "OK");
	ck_assert_str_eq(evidence_text("gid"), "fe80::800");
	ck_assert_str_eq(evidence_text("owner"),
			 "LID 8 \"node8\" (0x0000000000000800)");
	ck_assert_ptr_nonnull(strstr(last_alert.text, "begin: LID 7 \"node7\" (0x0000000000000700) sent 1 change in the name of LID 8 \"node8\" (0x0000000000000800), GID fe80::800, the last one Set MCMemberRecord (OK, OpenSM did so)"));

	r = join(7, METHOD_DELETE, 0x800);
	r.sa.status = 0x0700;
	sa_say(&r, start + 30 * SECOND);
	ck_assert_uint_eq(n_alerts, 1);
	sa_tick(start + 60 * SECOND);
	check_stranger(2, "update", 7, 8, 2);
	ck_assert_str_eq(evidence_text("method"), "Delete");
	ck_assert_str_eq(evidence_text("status"), "ERR_REQ_DENIED");
	sa_tick(start + 90 * SECOND);
	ck_assert_uint_eq(n_alerts, 2);
	sa_tick(start + 90 * SECOND + 1);
	check_stranger(3, "end", 7, 8, 2);
	/* no tick in between */
	sa_say(&r, start + 100 * SECOND);
	sa_say(&r, start + 200 * SECOND);
	check_stranger(6, "begin", 7, 8, 1);
	watch_stranger.flush(watched_state, start + 201 * SECOND);
	check_stranger(7, "end", 7, 8, 1);
}
END_TEST

START_TEST(test_each_pair)
{
	struct record r = join(7, METHOD_SET, 0x800);

	sa_say(&r, start);
	r = join(7, METHOD_SET, 0x900);
	r.sa.has_response = false;
	r.sa.outcome = SA_UNANSWERED;
	sa_say(&r, start);
	check_stranger(2, "begin", 7, 9, 1);
	ck_assert_str_eq(evidence_text("status"), "unanswered");
	ck_assert_ptr_nonnull(strstr(last_alert.text, "no answer"));
	r = join(9, METHOD_SET, 0x700);
	sa_say(&r, start);
	check_stranger(3, "begin", 9, 7, 1);
}
END_TEST

START_TEST(test_other_attributes)
{
	struct record r = sa_request(7, METHOD_DELETE, ATTR_SERVICE_RECORD,
				     SERVICE_MASK);

	sa_put64(sa_mad + SA_DATA + SERVICE_GID + 8, 0x800);
	sa_say(&r, start);
	check_stranger(1, "begin", 7, 8, 1);
	ck_assert_str_eq(evidence_text("attribute"), "ServiceRecord");
	r = sa_request(7, METHOD_SET, ATTR_INFORM_INFO_RECORD, 1);
	sa_put64(sa_mad + SA_DATA + 8, 0x900);
	sa_say(&r, start);
	check_stranger(2, "begin", 7, 9, 1);
	ck_assert_str_eq(evidence_text("attribute"), "InformInfoRecord");
}
END_TEST

START_TEST(test_bounds)
{
	struct record r;
	unsigned i, lid;

	/* nobody takes the room of all others */
	for (i = 0; i < 2000; i++) {
		r = join(7, METHOD_SET, 0x800 + 0x100 * i);
		sa_say(&r, start);
	}
	check_stranger(16, "begin", 7, 23, 1);
	for (lid = 100; lid < 200; lid++)
		for (i = 0; i < 16; i++) {
			r = join((uint16_t)lid, METHOD_SET, 0x800 + 0x100 * i);
			sa_say(&r, start);
		}
	check_stranger(1024, "begin", 162, 23, 1);
	sa_tick(start + 61 * SECOND);
	check_stranger(2048, "end", 162, 23, 1);
	sa_say(&r, start + 62 * SECOND);
	check_stranger(2049, "begin", 199, 23, 1);
}
END_TEST

START_TEST(test_nobody_knows)
{
	struct record r = join(7, METHOD_SET, 0x800);

	watched_end();
	watched_resolves = false;
	setup();
	watched_resolves = true;
	sa_say(&r, start);
	check_stranger(1, "begin", 7, 8, 1);
	ck_assert_str_eq(last_alert.name, "");

	/* nobody can say whose a GID is: then nothing is watched */
	watched_end();
	watched_host.find = NULL;
	setup();
	watched_host.find = watched_find;
	ck_assert_ptr_null(watched_state);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("stranger");
	TCase *tcase = tcase_create("stranger");

	tcase_add_checked_fixture(tcase, setup, watched_end);
	tcase_add_test(tcase, test_what_is_none);
	tcase_add_test(tcase, test_what_names_none);
	tcase_add_test(tcase, test_begin_update_end);
	tcase_add_test(tcase, test_each_pair);
	tcase_add_test(tcase, test_other_attributes);
	tcase_add_test(tcase, test_bounds);
	tcase_add_test(tcase, test_nobody_knows);
	suite_add_tcase(suite, tcase);
	return run_suite(suite);
}
