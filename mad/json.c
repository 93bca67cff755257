/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * JSON text into a fixed buffer. One record is written for each transaction
 * on a busy SM, so nothing here goes through printf.
 */
#include <arpa/inet.h>
#include <string.h>

#include "json.h"
#include "layout.h"
#include "text.h"

static const char hex_digits[] = "0123456789abcdef";

/* All that is written goes through here: whole pieces or nothing. */
static void put(struct json *j, const char *text, size_t len)
{
	if (j->full || len > j->size - j->len) {
		j->full = true;
		return;
	}
	if (!len)
		return;
	memcpy(j->buf + j->len, text, len);
	j->len += len;
}

static void put_char(struct json *j, char c)
{
	if (j->full || j->len == j->size) {
		j->full = true;
		return;
	}
	j->buf[j->len++] = c;
}

/* What stands before any value: the comma and, in an object, the key. */
static void begin(struct json *j, const char *key)
{
	if (j->comma)
		put_char(j, ',');
	j->comma = true;
	if (!key)
		return;
	put_char(j, '"');
	put(j, key, strlen(key));
	put(j, "\":", 2);
}

void jw_init(struct json *j, char *buf, size_t size)
{
	j->buf = buf;
	j->size = size;
	j->len = 0;
	j->comma = false;
	j->full = false;
}

void jw_object(struct json *j, const char *key)
{
	begin(j, key);
	put_char(j, '{');
	j->comma = false;
}

void jw_object_end(struct json *j)
{
	put_char(j, '}');
	j->comma = true;
}

void jw_array(struct json *j, const char *key)
{
	begin(j, key);
	put_char(j, '[');
	j->comma = false;
}

void jw_array_end(struct json *j)
{
	put_char(j, ']');
	j->comma = true;
}

void jw_null(struct json *j, const char *key)
{
	begin(j, key);
	put(j, "null", 4);
}

void jw_bool(struct json *j, const char *key, bool value)
{
	begin(j, key);
	put(j, value ? "true" : "false", value ? 4 : 5);
}

static void put_uint(struct json *j, uint64_t value)
{
	char digits[20];
	size_t at = sizeof(digits);

	do {
		digits[--at] = (char)('0' + value % 10);
		value /= 10;
	} while (value);
	put(j, digits + at, sizeof(digits) - at);
}

void jw_uint(struct json *j, const char *key, uint64_t value)
{
	begin(j, key);
	put_uint(j, value);
}

void jw_thousandths(struct json *j, const char *key, uint64_t value)
{
	char part[4] = ".000";

	part[1] = (char)('0' + value / 100 % 10);
	part[2] = (char)('0' + value / 10 % 10);
	part[3] = (char)('0' + value % 10);
	begin(j, key);
	put_uint(j, value / 1000);
	put(j, part, sizeof(part));
}

/* What JSON and a terminal take as it is; everything else needs a look. */
static bool is_plain(uint8_t c)
{
	return c >= 0x20 && c < 0x7f && c != '"' && c != '\\';
}

static void put_escape(struct json *j, uint32_t code)
{
	char text[6] = "\\u";
	int i;

	if (code > 0xffff) {	/* a pair of surrogates */
		put_escape(j, 0xd7c0 + (code >> 10));
		code = 0xdc00 | (code & 0x3ff);
	}
	for (i = 0; i < 4; i++)
		text[2 + i] = hex_digits[code >> (12 - 4 * i) & 15];
	put(j, text, sizeof(text));
}

/* One character that is not plain; returns how many bytes it took. */
static size_t put_special(struct json *j, const uint8_t *p, size_t left)
{
	struct text_char c = text_next(p, left);

	switch (c.kind) {
	case TEXT_INVALID:
		put(j, "\xef\xbf\xbd", 3);
		break;
	case TEXT_CONTROL:
		put_escape(j, c.code);
		break;
	case TEXT_PRINTABLE:
		if (c.code == '"' || c.code == '\\')
			put_char(j, '\\');
		put(j, (const char *)p, c.len);
		break;
	}
	return c.len;
}

void jw_text(struct json *j, const char *key, const void *text, size_t len)
{
	const uint8_t *p = text;
	size_t at = 0, run;

	if (!text) {
		jw_null(j, key);
		return;
	}
	begin(j, key);
	put_char(j, '"');
	while (at < len && p[at] && !j->full) {
		for (run = at; run < len && is_plain(p[run]); run++)
			;
		put(j, (const char *)p + at, run - at);
		at = run;
		if (at < len && p[at])
			at += put_special(j, p + at, len - at);
	}
	put_char(j, '"');
}

void jw_string(struct json *j, const char *key, const char *value)
{
	jw_text(j, key, value, value ? strlen(value) : 0);
}

void jw_hex(struct json *j, const char *key, uint64_t value, int digits)
{
	char text[20] = "\"0x";
	int i;

	if (digits < 1)
		digits = 1;
	if (digits > 16)
		digits = 16;
	for (i = digits - 1; i >= 0; i--) {
		text[3 + i] = hex_digits[value & 15];
		value >>= 4;
	}
	text[3 + digits] = '"';
	begin(j, key);
	put(j, text, 4 + (size_t)digits);
}

/* The longest run of zero words, the first of equals; none below two. */
static void find_zeros(const uint16_t words[8], int *start, int *len)
{
	int i, from = 0;

	*start = -1;
	*len = 1;
	for (i = 0; i < 8; i++) {
		if (words[i]) {
			from = i + 1;
			continue;
		}
		if (i + 1 - from > *len) {
			*start = from;
			*len = i + 1 - from;
		}
	}
}

static size_t write_word(char *at, uint16_t word)
{
	int shift = word > 0xfff ? 12 : word > 0xff ? 8 : word > 0xf ? 4 : 0;
	size_t len = 0;

	for (; shift >= 0; shift -= 4)
		at[len++] = hex_digits[word >> shift & 15];
	return len;
}

void jw_gid(struct json *j, const char *key, const uint8_t gid[16])
{
	char text[INET6_ADDRSTRLEN];
	uint16_t words[8];
	int i, zeros, n_zeros;
	size_t len = 0;

	for (i = 0; i < 8; i++)
		words[i] = mad_get16(gid + 2 * i);

	begin(j, key);
	put_char(j, '"');
	if (!(words[0] | words[1] | words[2] | words[3] | words[4])) {
		/* rare, and may hold an IPv4 address: as libc writes those */
		if (inet_ntop(AF_INET6, gid, text, sizeof(text)))
			len = strlen(text);
	} else {
		find_zeros(words, &zeros, &n_zeros);
		for (i = 0; i < 8; i++) {
			if (i == zeros) {
				text[len++] = ':';
				if (!i)
					text[len++] = ':';
				i += n_zeros - 1;
				continue;
			}
			len += write_word(text + len, words[i]);
			if (i < 7)
				text[len++] = ':';
		}
	}
	put(j, text, len);
	put_char(j, '"');
}

static void write_decimal(char *at, uint32_t value, int digits)
{
	while (digits--) {
		at[digits] = (char)('0' + value % 10);
		value /= 10;
	}
}

/*
 * Days since 1970 to a date of the Gregorian calendar, counted in eras of
 * 400 years from 1 March 0000, so that a leap day is a year's last one.
 * 64 bits of nanoseconds end in 2554: nothing is negative here.
 */
static void write_date(char *at, uint32_t days)
{
	uint32_t era, day, year, month;

	days += 719468;
	era = days / 146097;
	day = days % 146097;
	year = (day - day / 1460 + day / 36524 - day / 146096) / 365;
	day -= 365 * year + year / 4 - year / 100;
	month = (5 * day + 2) / 153;
	day -= (153 * month + 2) / 5;
	month = month < 10 ? month + 3 : month - 9;
	year += 400 * era + (month <= 2);

	write_decimal(at, year, 4);
	write_decimal(at + 5, month, 2);
	write_decimal(at + 8, day + 1, 2);
}

void jw_time(struct json *j, const char *key, uint64_t time_ns)
{
	char text[] = "\"0000-00-00T00:00:00.000000000Z\"";
	uint64_t seconds = time_ns / 1000000000;
	uint32_t second = (uint32_t)(seconds % 86400);

	write_date(text + 1, (uint32_t)(seconds / 86400));
	write_decimal(text + 12, second / 3600, 2);
	write_decimal(text + 15, second / 60 % 60, 2);
	write_decimal(text + 18, second % 60, 2);
	write_decimal(text + 21, (uint32_t)(time_ns % 1000000000), 9);
	begin(j, key);
	put(j, text, sizeof(text) - 1);
}
