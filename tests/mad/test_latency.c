/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Percentiles of counted latencies against those of sorted ones. */
#include <stdlib.h>

#include <check.h>

#include "latency.h"
#include "../run.h"

enum { VALUES = 20000 };

static uint64_t values[VALUES];
static struct latency latency;

static void tear_down(void)
{
	latency_clear(&latency);
}

static int compare(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

static void check_percentiles(size_t n)
{
	uint64_t exact, got;
	unsigned percent;

	qsort(values, n, sizeof(*values), compare);
	for (percent = 1; percent <= 100; percent++) {
		exact = values[(n * percent + 99) / 100 - 1];
		got = latency_percentile(&latency, percent);
		ck_assert_uint_ge(got, exact);
		ck_assert_msg((double)got <= (double)exact *
			      (1 + LATENCY_ERROR),
			      "%u %%: %llu for %llu", percent,
			      (unsigned long long)got,
			      (unsigned long long)exact);
		if (exact < LATENCY_STEPS)
			ck_assert_uint_eq(got, exact);
	}
	ck_assert_uint_eq(latency.n, n);
	ck_assert_uint_eq(latency.max, values[n - 1]);
	ck_assert_uint_eq(latency_percentile(&latency, 100), values[n - 1]);
}

/* Of so many bits, each length of them as often as any other. */
START_TEST(percentiles_are_near)
{
	size_t i;

	srand(_i + 1);
	for (i = 0; i < VALUES; i++) {
		values[i] = ((uint64_t)rand() << 31 | (uint64_t)rand()) >>
			    (62 - rand() % (_i + 1));
		latency_add(&latency, values[i]);
	}
	check_percentiles(VALUES);
}
END_TEST

START_TEST(few_are_exact_enough)
{
	size_t i;

	ck_assert_uint_eq(latency_percentile(&latency, 50), 0);
	for (i = 0; i < 40; i++) {
		values[i] = i * i;
		latency_add(&latency, i * i);
		check_percentiles(i + 1);
	}
}
END_TEST

/* They are in the last step, and the maximum is exact. */
START_TEST(those_beyond_count)
{
	latency_add(&latency, 1);
	latency_add(&latency, UINT64_MAX);
	ck_assert_uint_eq(latency_percentile(&latency, 50), 1);
	ck_assert_uint_eq(latency.max, UINT64_MAX);
	ck_assert_uint_ge(latency_percentile(&latency, 99),
			  UINT64_C(1) << 35);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("latency");
	TCase *c = tcase_create("latency");

	tcase_add_checked_fixture(c, NULL, tear_down);
	tcase_add_loop_test(c, percentiles_are_near, 4, 36);
	tcase_add_test(c, few_are_exact_enough);
	tcase_add_test(c, those_beyond_count);
	suite_add_tcase(suite, c);
	return run_suite(suite);
}
