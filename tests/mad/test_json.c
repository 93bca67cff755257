/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* What mad/json.c writes, read again by libjansson, libc and inet_ntop. */
#include <jansson.h>

#include <arpa/inet.h>
#include <check.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "json.h"
#include "../run.h"

#define COUNT(table) (sizeof(table) / sizeof((table)[0]))

static char buf[4096];

static uint64_t random_state = 1;

static uint32_t next_random(void)
{
	random_state = random_state * UINT64_C(6364136223846793005) + 1;
	return (uint32_t)(random_state >> 33);
}

/* Check tells its parent of each assertion passed: too slow in long loops. */
#define check(condition) do { if (!(condition)) ck_abort_msg(#condition); } \
	while (0)

static json_t *parse(const struct json *j)
{
	json_error_t error;
	json_t *value;

	check(!j->full);
	value = json_loadb(j->buf, j->len, JSON_REJECT_DUPLICATES |
			   JSON_DECODE_ANY, &error);
	if (!value)
		ck_abort_msg("%s in %.*s", error.text, (int)j->len, j->buf);
	return value;
}

static void start(struct json *j)
{
	memset(buf, 'X', sizeof(buf));
	jw_init(j, buf, sizeof(buf));
}

static void check_written(const struct json *j, const char *expected)
{
	check(!j->full);
	if (j->len != strlen(expected) || memcmp(j->buf, expected, j->len))
		ck_abort_msg("%.*s, expected %s", (int)j->len, j->buf,
			     expected);
}

/* What a reader gets for these bytes as jw_text(). */
static void check_text(const void *text, size_t len, const char *expected)
{
	json_t *value;
	struct json j;
	size_t i;

	start(&j);
	jw_text(&j, NULL, text, len);
	for (i = 0; i < j.len; i++)
		check((uint8_t)buf[i] >= 0x20);
	value = parse(&j);
	ck_assert_str_eq(json_string_value(value), expected);
	json_decref(value);
}

START_TEST(test_bytes_that_are_not_utf8)
{
	static const struct {
		const char *bytes;
		const char *text;
	} cases[] = {
		{ "\x80", "\ufffd" },			/* no first byte */
		{ "\xbf" "a", "\ufffd" "a" },
		{ "\xff\xfe", "\ufffd\ufffd" },
		{ "\xc0\x80", "\ufffd\ufffd" },		/* overlong NUL */
		{ "\xc1\xbf", "\ufffd\ufffd" },
		{ "\xe0\x80\x80", "\ufffd\ufffd\ufffd" },
		{ "\xe0\x9f\xbf", "\ufffd\ufffd\ufffd" },
		{ "\xf0\x8f\xbf\xbf", "\ufffd\ufffd\ufffd\ufffd" },
		{ "\xed\xa0\x80", "\ufffd\ufffd\ufffd" },	/* D800 */
		{ "\xed\xbf\xbf", "\ufffd\ufffd\ufffd" },	/* DFFF */
		{ "\xf4\x90\x80\x80", "\ufffd\ufffd\ufffd\ufffd" },
		{ "\xf5\x80\x80\x80", "\ufffd\ufffd\ufffd\ufffd" },
		{ "\xc3", "\ufffd" },			/* ends early */
		{ "\xe2\x82", "\ufffd" },
		{ "\xf0\x9f\x98", "\ufffd" },
		{ "\xe2\x82" "a", "\ufffd" "a" },
		{ "\xc3\"", "\ufffd\"" },
		{ "\xf0\x9f\\", "\ufffd\\" },
		{ "\xc3\xc3\xa4", "\ufffd\u00e4" },
	};
	size_t i;

	for (i = 0; i < COUNT(cases); i++)
		check_text(cases[i].bytes, strlen(cases[i].bytes),
			   cases[i].text);
	/* the sequence goes on behind the end of the text */
	check_text("\xe2\x82\xac", 2, "\ufffd");
}
END_TEST

START_TEST(test_text_that_is_utf8)
{
	check_text("", 0, "");
	check_text("node012 HCA-1", 13, "node012 HCA-1");
	check_text("a\0b", 3, "a");
	check_text("abc", 2, "ab");
	check_text("\"\\/", 3, "\"\\/");
	check_text("\u00a0\u07ff\u0800\ud7ff\ue000\uffff", 17,
		   "\u00a0\u07ff\u0800\ud7ff\ue000\uffff");
	check_text("\U00010000\U0010ffff", 8, "\U00010000\U0010ffff");
}
END_TEST

START_TEST(test_controls_are_escaped)
{
	char expected[16], text[3];
	struct json j;
	int c;

	for (c = 1; c < 0xa0; c++) {
		if (c >= 0x20 && c < 0x7f)
			continue;
		if (c < 0x80)
			snprintf(text, sizeof(text), "%c", c);
		else
			snprintf(text, sizeof(text), "\xc2%c", c);
		snprintf(expected, sizeof(expected), "\"\\u%04x\"", c);
		start(&j);
		jw_string(&j, NULL, text);
		check_written(&j, expected);
		json_decref(parse(&j));
	}

	/* text.h has them all; here is one of each length */
	start(&j);
	jw_string(&j, NULL, "\u061c|\u202e|\u2028|\U000e0001|\U000e0fff");
	check_written(&j, "\"\\u061c|\\u202e|\\u2028|\\udb40\\udc01|"
		      "\\udb43\\udfff\"");
	check_text("\u202e\U000e0fff", 7, "\u202e\U000e0fff");
}
END_TEST

START_TEST(test_any_bytes_are_readable)
{
	static const uint8_t nasty[] = {
		0x80, 0xbf, 0xc2, 0xe0, 0xed, 0xef, 0xf0, 0xf4, 0x9f, 0xa0,
		'"', '\\', 0x1b, 'a', 0x7f, 0x90,
	};
	uint8_t text[64];
	struct json j;
	size_t i, n;
	int round;

	for (round = 0; round < 100000; round++) {
		n = next_random() % sizeof(text);
		for (i = 0; i < n; i++)
			text[i] = round % 2 ? (uint8_t)next_random() :
				nasty[next_random() % COUNT(nasty)];
		start(&j);
		jw_text(&j, NULL, text, n);
		for (i = 0; i < j.len; i++)
			check((uint8_t)buf[i] >= 0x20 && buf[i] != 0x7f);
		json_decref(parse(&j));
	}
}
END_TEST

static void write_everything(struct json *j)
{
	static const uint8_t gid[16] = { 0xfe, 0x80, [15] = 1 };

	jw_object(j, NULL);
	jw_object(j, "empty");
	jw_object_end(j);
	jw_array(j, "list");
	jw_array(j, NULL);
	jw_array_end(j);
	jw_object(j, NULL);
	jw_null(j, "a");
	jw_object_end(j);
	jw_bool(j, NULL, true);
	jw_uint(j, NULL, 10);
	jw_string(j, NULL, NULL);
	jw_array_end(j);
	jw_bool(j, "b", false);
	jw_uint(j, "c", 12);
	jw_string(j, "d", "x\ny\xff\u00e4\xc2\x85");
	jw_hex(j, "e", 0xab, 4);
	jw_gid(j, "f", gid);
	jw_time(j, "g", 0);
	jw_text(j, "h", NULL, 5);
	jw_object_end(j);
}

static const char everything[] =
	"{\"empty\":{},\"list\":[[],{\"a\":null},true,10,null],\"b\":false,"
	"\"c\":12,\"d\":\"x\\u000ay\ufffd\u00e4\\u0085\",\"e\":\"0x00ab\","
	"\"f\":\"fe80::1\",\"g\":\"1970-01-01T00:00:00.000000000Z\","
	"\"h\":null}";

START_TEST(test_too_small_a_buffer)
{
	struct json j;
	size_t size, i;

	for (size = 0; size < strlen(everything); size++) {
		char *exact = malloc(size ? size : 1);

		memset(buf, 'X', sizeof(buf));
		jw_init(&j, buf, size);
		write_everything(&j);
		ck_assert(j.full);
		ck_assert_uint_le(j.len, size);
		for (i = size; i < sizeof(buf); i++)
			check(buf[i] == 'X');

		/* a sanitizer watches this one's end */
		jw_init(&j, exact, size);
		write_everything(&j);
		ck_assert(j.full);
		free(exact);
	}
	jw_init(&j, NULL, 0);
	write_everything(&j);
	ck_assert(j.full);
	ck_assert_uint_eq(j.len, 0);
}
END_TEST

START_TEST(test_commas_and_nesting)
{
	struct json j;

	start(&j);
	write_everything(&j);
	check_written(&j, everything);
	json_decref(parse(&j));

	jw_init(&j, buf, strlen(everything));
	write_everything(&j);
	ck_assert(!j.full);

	/* members without braces, as record_json() has them */
	start(&j);
	jw_uint(&j, "a", 1);
	jw_uint(&j, "b", 2);
	check_written(&j, "\"a\":1,\"b\":2");
}
END_TEST

START_TEST(test_numbers)
{
	char expected[32];
	uint64_t value;
	struct json j;
	int i;

	for (i = 0; i < 10000; i++) {
		value = (uint64_t)next_random() << 33 ^ next_random();
		value >>= next_random() % 64;
		start(&j);
		jw_uint(&j, NULL, value);
		snprintf(expected, sizeof(expected), "%" PRIu64, value);
		check_written(&j, expected);
	}
	start(&j);
	jw_uint(&j, NULL, UINT64_MAX);
	check_written(&j, "18446744073709551615");
	start(&j);
	jw_uint(&j, NULL, 0);
	check_written(&j, "0");

	for (i = 0; i < 12000; i++) {
		start(&j);
		jw_thousandths(&j, NULL, (uint64_t)i);
		snprintf(expected, sizeof(expected), "%d.%03d", i / 1000,
			 i % 1000);
		check_written(&j, expected);
	}
}
END_TEST

START_TEST(test_hex)
{
	static const uint64_t value = UINT64_C(0xfedcba9876543210);
	char expected[32];
	struct json j;
	int digits;

	for (digits = 1; digits <= 16; digits++) {
		start(&j);
		jw_hex(&j, NULL, value, digits);
		snprintf(expected, sizeof(expected), "\"0x%0*" PRIx64 "\"",
			 digits, digits == 16 ? value :
			 value & ((UINT64_C(1) << 4 * digits) - 1));
		check_written(&j, expected);
	}
	start(&j);
	jw_hex(&j, NULL, 1, 0);
	check_written(&j, "\"0x1\"");
	start(&j);
	jw_hex(&j, NULL, 1, 99);
	check_written(&j, "\"0x0000000000000001\"");
}
END_TEST

static void check_gid(const uint8_t gid[16])
{
	char text[INET6_ADDRSTRLEN], expected[INET6_ADDRSTRLEN + 2];
	struct json j;

	inet_ntop(AF_INET6, gid, text, sizeof(text));
	snprintf(expected, sizeof(expected), "\"%s\"", text);
	start(&j);
	jw_gid(&j, NULL, gid);
	check_written(&j, expected);
}

START_TEST(test_gids_as_inet_ntop_writes_them)
{
	uint8_t gid[16];
	int i, k, zeros;

	/* every pattern of zero words, with words of one to four digits */
	for (zeros = 0; zeros < 256; zeros++) {
		for (i = 0; i < 8; i++) {
			uint16_t word = (uint16_t)(0x9abc >> i % 4 * 4);

			if (zeros >> i & 1)
				word = 0;
			gid[2 * i] = (uint8_t)(word >> 8);
			gid[2 * i + 1] = (uint8_t)word;
		}
		check_gid(gid);
		memset(gid + 10, 0xff, 2);	/* perhaps IPv4-mapped */
		check_gid(gid);
	}
	for (k = 0; k < 100000; k++) {
		for (i = 0; i < 16; i++)
			gid[i] = next_random() % 3 ? 0 :
				(uint8_t)next_random();
		check_gid(gid);
	}
}
END_TEST

static void check_time(uint64_t time_ns)
{
	time_t seconds = (time_t)(time_ns / 1000000000);
	char date[32], expected[64];
	struct json j;
	struct tm tm;

	gmtime_r(&seconds, &tm);
	strftime(date, sizeof(date), "%Y-%m-%dT%H:%M:%S", &tm);
	snprintf(expected, sizeof(expected), "\"%s.%09uZ\"", date,
		 (unsigned int)(time_ns % 1000000000));
	start(&j);
	jw_time(&j, NULL, time_ns);
	check_written(&j, expected);
}

START_TEST(test_times_as_gmtime_has_them)
{
	const uint64_t day = UINT64_C(86400) * 1000000000;
	uint64_t t;
	struct json j;
	int i;

	/* the first and the last instant of each day that 64 bits can name */
	for (t = 0; t < UINT64_MAX - day; t += day) {
		check_time(t);
		check_time(t + day - 1);
	}
	check_time(UINT64_MAX);
	for (i = 0; i < 10000; i++)
		check_time((uint64_t)next_random() << 33 ^ next_random());

	start(&j);
	jw_time(&j, NULL, UINT64_C(1795994128187258123));
	check_written(&j, "\"2026-11-29T23:15:28.187258123Z\"");
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("json");
	TCase *tcase = tcase_create("json");

	tcase_set_timeout(tcase, 120);
	tcase_add_test(tcase, test_bytes_that_are_not_utf8);
	tcase_add_test(tcase, test_too_small_a_buffer);
	tcase_add_test(tcase, test_controls_are_escaped);
	tcase_add_test(tcase, test_any_bytes_are_readable);
	tcase_add_test(tcase, test_text_that_is_utf8);
	tcase_add_test(tcase, test_commas_and_nesting);
	tcase_add_test(tcase, test_numbers);
	tcase_add_test(tcase, test_hex);
	tcase_add_test(tcase, test_gids_as_inet_ntop_writes_them);
	tcase_add_test(tcase, test_times_as_gmtime_has_them);
	suite_add_tcase(suite, tcase);
	return run_suite(suite);
}
