/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* umad_filter_match: the rules of the snoop filter (filter_rows.h). */
#include "filter_rows.h"
#include "../run.h"

START_TEST(null_pointers)
{
	const umad_filter_t any = ANY, all = { 3, 2, 0x35, 1, { 1, 2, 3 } };
	const uint8_t mad[MAD_SIZE] = { 1, CLASS_SUBN_ADM };

	ck_assert(!umad_filter_match(NULL, NULL, 0, RECV, 0));
	ck_assert(!umad_filter_match(NULL, NULL, MAD_SIZE, SENT, IB_ERROR));
	ck_assert(!umad_filter_match(NULL, mad, sizeof(mad), RECV, 0));
	ck_assert(!umad_filter_match(&any, NULL, 0, RECV, 0));
	ck_assert(!umad_filter_match(&any, NULL, MAD_SIZE, RECV, 0));
	ck_assert(!umad_filter_match(&all, NULL, MAD_SIZE, SENT, IB_ERROR));
}
END_TEST

START_TEST(rule)
{
	const struct row *row = &rows[_i];
	umad_filter_t filter = row->filter;
	uint8_t *mad = row_mad(row);
	bool passes;

	passes = umad_filter_match(&filter, mad, row->len, row->sent,
				   row->completion);
	ck_assert_msg(passes == row->passes, "%s: %s, and should%s", row->rule,
		      passes ? "passes" : "does not pass",
		      row->passes ? "" : " not");
	/* no side effect */
	ck_assert_mem_eq(&filter, &row->filter, sizeof(filter));
	free(mad);
}
END_TEST

START_TEST(layout)
{
	ck_assert_uint_eq(sizeof(umad_filter_t), 8);
	ck_assert_uint_eq(offsetof(umad_filter_t, mgmt_class), 0);
	ck_assert_uint_eq(offsetof(umad_filter_t, mgmt_version), 1);
	ck_assert_uint_eq(offsetof(umad_filter_t, attr_id), 2);
	ck_assert_uint_eq(offsetof(umad_filter_t, errors), 4);
	ck_assert_uint_eq(offsetof(umad_filter_t, oui), 5);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("filter");
	TCase *tc = tcase_create("filter");

	tcase_add_test(tc, null_pointers);
	tcase_add_loop_test(tc, rule, 0, N_ROWS);
	tcase_add_test(tc, layout);
	suite_add_tcase(suite, tc);
	return run_suite(suite);
}
