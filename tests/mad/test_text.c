/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * What is UTF-8 and what may be seen: the rules of mad/text.h, then that JSON
 * and log lines both keep to them. libc's own UTF-8 decoder is the measure.
 */
#include <check.h>
#include <jansson.h>
#include <locale.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <wchar.h>
#include <wctype.h>

#include "field.h"
#include "json.h"
#include "text.h"
#include "../run.h"

#define COUNT(table) (sizeof(table) / sizeof((table)[0]))

/* Check tells its parent of each assertion passed: too slow in long loops. */
#define check(condition) do { if (!(condition)) ck_abort_msg(#condition); } \
	while (0)

static size_t encode(uint8_t p[4], uint32_t code)
{
	if (code < 0x80) {
		p[0] = (uint8_t)code;
		return 1;
	}
	if (code < 0x800) {
		p[0] = (uint8_t)(0xc0 | code >> 6);
		p[1] = (uint8_t)(0x80 | (code & 0x3f));
		return 2;
	}
	if (code < 0x10000) {
		p[0] = (uint8_t)(0xe0 | code >> 12);
		p[1] = (uint8_t)(0x80 | (code >> 6 & 0x3f));
		p[2] = (uint8_t)(0x80 | (code & 0x3f));
		return 3;
	}
	p[0] = (uint8_t)(0xf0 | code >> 18);
	p[1] = (uint8_t)(0x80 | (code >> 12 & 0x3f));
	p[2] = (uint8_t)(0x80 | (code >> 6 & 0x3f));
	p[3] = (uint8_t)(0x80 | (code & 0x3f));
	return 4;
}

START_TEST(test_bytes_that_are_not_utf8)
{
	static const struct {
		const char *bytes;
		size_t len;	/* to be taken as one */
	} cases[] = {
		{ "\x80", 1 }, { "\xbf", 1 }, { "\xfe", 1 }, { "\xff", 1 },
		{ "\xc0\x80", 1 }, { "\xc1\xbf", 1 },	/* overlong */
		{ "\xe0\x80\x80", 1 }, { "\xe0\x9f\xbf", 1 },
		{ "\xf0\x80\x80\x80", 1 }, { "\xf0\x8f\xbf\xbf", 1 },
		{ "\xed\xa0\x80", 1 }, { "\xed\xbf\xbf", 1 },	/* surrogates */
		{ "\xf4\x90\x80\x80", 1 }, { "\xf5\x80\x80\x80", 1 },
		{ "\xc3", 1 }, { "\xe2\x82", 2 }, { "\xf0\x9f\x98", 3 },
		{ "\xc3" "a", 1 }, { "\xe2\x82" "a", 2 },
		{ "\xf0\x9f\x98" "a", 3 },
	};
	struct text_char c;
	size_t i, len;

	for (i = 0; i < COUNT(cases); i++) {
		/* a sanitizer watches this one's end */
		uint8_t *exact;

		len = strlen(cases[i].bytes);
		exact = malloc(len);
		memcpy(exact, cases[i].bytes, len);
		c = text_next(exact, len);
		ck_assert_int_eq(c.kind, TEXT_INVALID);
		ck_assert_uint_eq(c.len, cases[i].len);
		ck_assert_uint_eq(c.code, 0);
		free(exact);
	}
	/* the character goes on behind what is there */
	c = text_next((const uint8_t *)"\xe2\x82\xac", 2);
	ck_assert_int_eq(c.kind, TEXT_INVALID);
	ck_assert_uint_eq(c.len, 2);
}
END_TEST

/* All that three bytes can be, and libc says the same of each. */
START_TEST(test_utf8_as_libc_has_it)
{
	uint8_t bytes[4];
	uint32_t n;

	ck_assert_ptr_nonnull(setlocale(LC_CTYPE, "C.UTF-8"));
	for (n = 0; n < 0x1000000; n++) {
		mbstate_t state = { 0 };
		struct text_char c;
		size_t len, left = 3;
		wchar_t wide = 0;

		/* of ASCII first bytes one of each is enough */
		if (n >> 16 < 0x80 && (n & 0xffff))
			continue;
		bytes[0] = (uint8_t)(n >> 16);
		bytes[1] = (uint8_t)(n >> 8);
		bytes[2] = (uint8_t)n;
		bytes[3] = 0xbf;
		if (bytes[0] >= 0xf0)
			left = 4;
		c = text_next(bytes, left);
		len = mbrtowc(&wide, (const char *)bytes, left, &state);
		/* libc goes beyond Unicode */
		if (len > 4 || wide > 0x10ffff) {
			check(c.kind == TEXT_INVALID && c.len >= 1 &&
			      c.len <= 3);
			continue;
		}
		check(c.kind != TEXT_INVALID);
		check(c.len == (len ? len : 1));
		check(c.code == (uint32_t)wide);
	}
}
END_TEST

static bool is_control(uint32_t code)
{
	uint8_t bytes[4];
	size_t len = encode(bytes, code);
	struct text_char c = text_next(bytes, len);

	check(c.len == len && c.code == code);
	return c.kind == TEXT_CONTROL;
}

START_TEST(test_what_is_a_control)
{
	static const uint32_t controls[] = {
		0x00, 0x07, 0x0a, 0x1b, 0x1f, 0x7f, 0x80, 0x85, 0x9b, 0x9f,
		0xad, 0x061c, 0x180e, 0x200b, 0x200e, 0x200f, 0x2028, 0x2029,
		0x034f, 0x115f, 0x17b4, 0x180b, 0x3164, 0xfe0f, 0xffa0, 0x1bca0,
		0x1d173, 0x202a, 0x202e, 0x2060, 0x2066, 0x2069, 0xfeff, 0xfff9,
		0xe0001, 0xe007f,
	};
	static const uint32_t printable[] = {
		' ', '"', '\\', '~', 0xa0, 0xac, 0xae, 0xe4, 0x07ff, 0x0800,
		0x200a, 0x2010, 0x2027, 0x202f, 0x20ac, 0x2070, 0xd7ff,
		0xe000, 0xfffc, 0xfffd, 0x10000, 0x1f600, 0x10ffff,
	};
	uint32_t code;
	size_t i;

	for (i = 0; i < COUNT(controls); i++)
		ck_assert(is_control(controls[i]));
	for (i = 0; i < COUNT(printable); i++)
		ck_assert(!is_control(printable[i]));
	/* nothing that libc takes for a control is let through */
	ck_assert_ptr_nonnull(setlocale(LC_CTYPE, "C.UTF-8"));
	for (code = 1; code < 0x110000; code++)
		if ((code < 0xd800 || code > 0xdfff) &&
		    iswcntrl((wint_t)code))
			check(is_control(code));
}
END_TEST

/* Every character there is: in JSON and in a line the same ones as they are. */
START_TEST(test_json_and_lines_agree)
{
	char json[64], line[64], escape[16];
	uint32_t code;

	for (code = 1; code < 0x110000; code++) {
		uint8_t text[5] = { 0 };
		size_t len = encode(text, code);
		struct words w;
		struct json j;
		bool plain;

		if (code >= 0xd800 && code <= 0xdfff)
			continue;
		plain = text_next(text, len).kind == TEXT_PRINTABLE;
		jw_init(&j, json, sizeof(json));
		jw_text(&j, NULL, text, len);
		words_init(&w, line, sizeof(line));
		words_text(&w, text, len, false);
		check(!j.full && !w.full);
		check(plain == !strcmp(line, (const char *)text));
		if (code == '"' || code == '\\')
			continue;
		check(plain == (j.len == len + 2 &&
				!memcmp(json + 1, text, len)));
		if (plain)
			continue;
		snprintf(escape, sizeof(escape), code > 0xffff ? "\\U%08x" :
			 "\\u%04x", (unsigned int)code);
		check(!strcmp(line, escape));
		if (code <= 0xffff)
			check(j.len == 8 && !memcmp(json + 1, escape, 6));
		else
			check(j.len == 14);
	}
}
END_TEST

static void check_both(const char *text, const char *line,
		       const char *quoted, const char *read)
{
	char buf[128];
	struct words w;
	struct json j;
	json_t *value;

	words_init(&w, buf, sizeof(buf));
	words_text(&w, text, strlen(text), false);
	ck_assert_str_eq(buf, line);
	words_init(&w, buf, sizeof(buf));
	words_text(&w, text, strlen(text), true);
	ck_assert_str_eq(buf, quoted);

	jw_init(&j, buf, sizeof(buf));
	jw_string(&j, NULL, text);
	value = json_loadb(buf, j.len, JSON_DECODE_ANY, NULL);
	ck_assert_str_eq(json_string_value(value), read);
	json_decref(value);
}

START_TEST(test_text_in_both)
{
	check_both("", "", "", "");
	check_both("node012 \u00e4\U0001f600", "node012 \u00e4\U0001f600",
		   "node012 \u00e4\U0001f600", "node012 \u00e4\U0001f600");
	check_both("a\"b\\", "a\"b\\", "a\\\"b\\\\", "a\"b\\");
	check_both("\x1b[2J\r\n", "\\u001b[2J\\u000d\\u000a",
		   "\\u001b[2J\\u000d\\u000a", "\x1b[2J\r\n");
	check_both("x\u202ey\u2028\xc2\x9b", "x\\u202ey\\u2028\\u009b",
		   "x\\u202ey\\u2028\\u009b", "x\u202ey\u2028\xc2\x9b");
	check_both("\xff\xe2\x82z\xc0", "\\xff\\xe2\\x82z\\xc0",
		   "\\xff\\xe2\\x82z\\xc0", "\ufffd\ufffdz\ufffd");
	check_both("\U000e0041", "\\U000e0041", "\\U000e0041", "\U000e0041");
}
END_TEST

START_TEST(test_no_escape_is_cut)
{
	static const char text[] = "\x1b\"\xff\u202e";
	static const char whole[] = "\\u001b\\\"\\xff\\u202e";
	size_t size;

	for (size = 1; size <= sizeof(whole); size++) {
		char *buf = malloc(size);
		size_t len;
		struct words w;

		words_init(&w, buf, size);
		words_text(&w, text, strlen(text), true);
		len = strlen(buf);
		ck_assert_uint_eq(w.len, len);
		ck_assert(!strncmp(buf, whole, len));
		ck_assert(len == 0 || len == 6 || len == 8 || len == 12 ||
			  len == 18);
		free(buf);
	}
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("text");
	TCase *tcase = tcase_create("text");

	tcase_set_timeout(tcase, 120);
	tcase_add_test(tcase, test_bytes_that_are_not_utf8);
	tcase_add_test(tcase, test_utf8_as_libc_has_it);
	tcase_add_test(tcase, test_what_is_a_control);
	tcase_add_test(tcase, test_json_and_lines_agree);
	tcase_add_test(tcase, test_text_in_both);
	tcase_add_test(tcase, test_no_escape_is_cut);
	suite_add_tcase(suite, tcase);
	return run_suite(suite);
}
