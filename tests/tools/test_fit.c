/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Texts and numbers in few columns: what is cut, rounded and escaped. */
#include <locale.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include <check.h>

#include "fit.h"
#include "../run.h"

#define COUNT(rows) ((int)(sizeof(rows) / sizeof((rows)[0])))

static const struct {
	const char *text;
	unsigned width;
	bool utf8;
	const char *shown;
	unsigned taken;
} texts[] = {
	{ "", 5, true, "", 0 },
	{ "node07", 6, true, "node07", 6 },
	{ "node07", 5, true, "node…", 5 },
	{ "node07", 5, false, "node~", 5 },
	{ "node07", 1, true, "…", 1 },
	{ "node07", 0, true, "", 0 },
	/* what a terminal obeys, what is not seen, what is no UTF-8 */
	{ "a\033[2Jb", 20, true, "a\\u001b[2Jb", 11 },
	{ "a\033[2Jb", 5, true, "a…", 2 },
	{ "a\tb\n", 20, true, "a\\u0009b\\u000a", 14 },
	{ "\xe2\x80\xaex", 20, true, "\\u202ex", 7 },
	{ "\xff\xfe", 20, true, "\\xff\\xfe", 8 },
	{ "\xc2", 20, true, "\\xc2", 4 },
	/* by how wide it is, not how long */
	{ "日本", 4, true, "日本", 4 },
	{ "日本", 3, true, "日…", 3 },
	{ "日本", 2, true, "…", 1 },
	{ "e\xcc\x81" "e\xcc\x81", 2, true, "e\xcc\x81" "e\xcc\x81", 2 },
	{ "knöt", 4, true, "knöt", 4 },
	{ "knöt", 20, false, "kn\\u00f6t", 9 },
};

START_TEST(texts_fit)
{
	char buf[FIT_MAX];

	ck_assert_uint_eq(fit_text(buf, texts[_i].text, texts[_i].width,
				   texts[_i].utf8), texts[_i].taken);
	ck_assert_str_eq(buf, texts[_i].shown);
}
END_TEST

/* As many bytes as there may be: nothing runs over. */
START_TEST(long_texts_fit)
{
	char text[4 * FIT_MAX], buf[FIT_MAX];

	memset(text, _i ? 0xff : 'x', sizeof(text) - 1);
	text[sizeof(text) - 1] = '\0';
	ck_assert_uint_lt(fit_text(buf, text, 4 * FIT_MAX, true), FIT_MAX);
	ck_assert_uint_lt(strlen(buf), FIT_MAX);
}
END_TEST

static const struct {
	uint64_t n;
	unsigned width;
	const char *shown;
} counts[] = {
	{ 0, 4, "0" },
	{ 9999, 4, "9999" },
	{ 10000, 4, "10k" },
	{ 10000, 5, "10000" },
	{ 99999, 4, "100k" },
	{ 999499, 5, "999k" },
	{ 999500, 5, "1.0M" },
	{ 1234567, 5, "1.2M" },
	{ 1234567, 9, "1234567" },
	{ 9949999, 5, "9.9M" },
	{ 9950000, 5, "10M" },
	{ UINT64_MAX, 5, "18E" },
};

START_TEST(counts_fit)
{
	char buf[FIT_MAX];

	ck_assert_uint_eq(fit_count(buf, counts[_i].n, counts[_i].width),
			  strlen(counts[_i].shown));
	ck_assert_str_eq(buf, counts[_i].shown);
	ck_assert_uint_le(strlen(buf), counts[_i].width);
}
END_TEST

START_TEST(rates_fit)
{
	static const struct {
		double rate;
		const char *shown;
	} rates[] = {
		{ 0, "0" }, { 0.17, "0.2" }, { 9.94, "9.9" }, { 9.96, "10" },
		{ 812.4, "812" }, { 123456, "123k" },
	};
	char buf[FIT_MAX];
	size_t i;

	for (i = 0; i < COUNT(rates); i++) {
		fit_rate(buf, rates[i].rate, 5);
		ck_assert_str_eq(buf, rates[i].shown);
	}
}
END_TEST

START_TEST(shares_fit)
{
	static const struct {
		double share;
		const char *shown;
	} shares[] = {
		{ NAN, "-" }, { 0, "0%" }, { 0.003, "0.3%" },
		{ 0.0996, "10%" }, { 0.994, "99%" }, { 1, "100%" },
	};
	char buf[FIT_MAX];
	size_t i;

	for (i = 0; i < COUNT(shares); i++) {
		fit_share(buf, shares[i].share);
		ck_assert_str_eq(buf, shares[i].shown);
	}
}
END_TEST

START_TEST(latencies_fit)
{
	static const struct {
		uint64_t us;
		const char *shown;
	} latencies[] = {
		{ 0, "<1us" }, { 1, "1us" }, { 999, "999us" },
		{ 1000, "1.0ms" }, { 9960, "10ms" }, { 999499, "999ms" },
		{ 999500, "1.0s" }, { 12000000, "12s" },
	};
	char buf[FIT_MAX];
	size_t i;

	for (i = 0; i < COUNT(latencies); i++) {
		ck_assert_uint_le(fit_latency(buf, latencies[i].us), 5);
		ck_assert_str_eq(buf, latencies[i].shown);
	}
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("fit");
	TCase *tc = tcase_create("fit");

	setlocale(LC_CTYPE, "C.UTF-8");
	tcase_add_loop_test(tc, texts_fit, 0, COUNT(texts));
	tcase_add_loop_test(tc, long_texts_fit, 0, 2);
	tcase_add_loop_test(tc, counts_fit, 0, COUNT(counts));
	tcase_add_test(tc, rates_fit);
	tcase_add_test(tc, shares_fit);
	tcase_add_test(tc, latencies_fit);
	suite_add_tcase(suite, tc);
	return run_suite(suite);
}
