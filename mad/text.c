/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
#include "text.h"

#include <stdbool.h>

/*
 * What a terminal obeys, what ends a line, what changes the direction of
 * writing, and what is not seen and so makes two names look the same: Unicode
 * 15's Default_Ignorable_Code_Point, controls and separators.
 */
static const struct {
	uint32_t first, last;
} controls[] = {
	{ 0x0000, 0x001f },	/* C0 */
	{ 0x007f, 0x009f },	/* DEL and C1 */
	{ 0x00ad, 0x00ad },	/* soft hyphen */
	{ 0x034f, 0x034f },	/* combining grapheme joiner */
	{ 0x061c, 0x061c },	/* Arabic letter mark */
	{ 0x115f, 0x1160 },	/* Hangul fillers */
	{ 0x17b4, 0x17b5 },	/* Khmer inherent vowels */
	{ 0x180b, 0x180f },	/* Mongolian selectors, vowel separator */
	{ 0x200b, 0x200f },	/* no width; left-to-right, right-to-left */
	{ 0x2028, 0x202e },	/* line and paragraph ends; embeddings */
	{ 0x2060, 0x206f },	/* joiners, isolates, digit shapes */
	{ 0x3164, 0x3164 },	/* Hangul filler */
	{ 0xfe00, 0xfe0f },	/* variation selectors */
	{ 0xfeff, 0xfeff },	/* byte order mark */
	{ 0xffa0, 0xffa0 },	/* halfwidth Hangul filler */
	{ 0xfff0, 0xfffb },	/* unassigned; annotations */
	{ 0x1bca0, 0x1bca3 },	/* shorthand format controls */
	{ 0x1d173, 0x1d17a },	/* musical format controls */
	{ 0xe0000, 0xe0fff },	/* tags, variation selectors */
};

static bool is_control(uint32_t code)
{
	size_t i;

	for (i = 0; i < sizeof(controls) / sizeof(controls[0]); i++)
		if (code >= controls[i].first && code <= controls[i].last)
			return true;
	return false;
}

/*
 * The length of the UTF-8 sequence at `p`: nothing overlong, no surrogates,
 * U+10FFFF at most (Unicode 15, table 3-7, which lists what may follow a first
 * byte). 0 when there is none; `bad` is then how many bytes are to be replaced
 * as one.
 */
static size_t sequence(const uint8_t *p, size_t left, size_t *bad)
{
	uint8_t low = 0x80, high = 0xbf;
	size_t len, i;

	*bad = 1;
	if (p[0] < 0x80)
		return 1;
	if (p[0] < 0xc2 || p[0] > 0xf4)
		return 0;
	len = p[0] < 0xe0 ? 2 : p[0] < 0xf0 ? 3 : 4;
	switch (p[0]) {
	case 0xe0:
		low = 0xa0;
		break;
	case 0xed:
		high = 0x9f;
		break;
	case 0xf0:
		low = 0x90;
		break;
	case 0xf4:
		high = 0x8f;
		break;
	}
	for (i = 1; i < len; i++) {
		if (i == left || p[i] < low || p[i] > high) {
			*bad = i;
			return 0;
		}
		low = 0x80;
		high = 0xbf;
	}
	return len;
}

struct text_char text_next(const uint8_t *p, size_t left)
{
	struct text_char c = { .kind = TEXT_INVALID };
	size_t bad, len = sequence(p, left, &bad), i;

	if (!len) {
		c.len = bad;
		return c;
	}
	c.len = len;
	c.code = len == 1 ? p[0] : p[0] & (0x7fu >> len);
	for (i = 1; i < len; i++)
		c.code = c.code << 6 | (p[i] & 0x3fu);
	c.kind = is_control(c.code) ? TEXT_CONTROL : TEXT_PRINTABLE;
	return c;
}
