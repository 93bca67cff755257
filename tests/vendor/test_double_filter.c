/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * The filter of the kernel's double, which was written from seed 000 alone,
 * against the table that umad_filter_match is held against (filter_rows.h).
 */
#include "double_filter.h"
#include "filter_rows.h"
#include "../run.h"

/* QP0 has the two subnet classes alone. */
static uint8_t qpn_of(uint8_t mgmt_class)
{
	return mgmt_class != CLASS_SUBN_LID && mgmt_class != CLASS_SUBN_DIR;
}

START_TEST(other_qp)
{
	static const umad_filter_t any = ANY;
	uint8_t mad[MAD_SIZE] = { 1 };
	unsigned i;

	/* no class on QP0 passes nothing, and no agent gets the other QP's */
	for (i = 0; i < 256; i++) {
		const umad_filter_t filter = CLASS((uint8_t)i);
		uint8_t qpn = qpn_of((uint8_t)i);

		mad[MAD_CLASS] = (uint8_t)i;
		ck_assert(!double_passes(&any, 0, mad, LEN, RECV, 0));
		ck_assert(!double_passes(&filter, !qpn, mad, LEN, SENT, 0));
		ck_assert(i == 0 ||
			  double_passes(&filter, qpn, mad, LEN, SENT, 0));
	}
}
END_TEST

START_TEST(rule)
{
	const struct row *row = &rows[_i];
	uint8_t *mad = row_mad(row);
	bool passes;

	passes = double_passes(&row->filter, qpn_of(row->filter.mgmt_class),
			       mad, row->len, row->sent,
			       wc_status(row->completion));
	/* what is no MAD no kernel ever has */
	if (row->len >= MAD_HDR_SIZE)
		ck_assert_msg(passes == row->passes, "%s: %s, and should%s",
			      row->rule, passes ? "passes" : "does not pass",
			      row->passes ? "" : " not");
	free(mad);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("double_filter");
	TCase *tc = tcase_create("double_filter");

	tcase_add_test(tc, other_qp);
	tcase_add_loop_test(tc, rule, 0, N_ROWS);
	suite_add_tcase(suite, tc);
	return run_suite(suite);
}
