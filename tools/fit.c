/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <wchar.h>

#include "fit.h"
#include "text.h"

enum { PIECE_MAX = 40 };	/* of an escaped character, three bytes of none */

/* A character as it is shown. */
struct piece {
	char text[PIECE_MAX];
	size_t len;
	unsigned width;
};

static void escape(struct piece *piece, const struct text_char *c,
		   const uint8_t *p)
{
	size_t i;

	piece->len = 0;
	if (c->kind != TEXT_INVALID)
		piece->len = (size_t)sprintf(piece->text, c->code > 0xffff ?
					     "\\U%08x" : "\\u%04x",
					     (unsigned)c->code);
	else
		for (i = 0; i < c->len; i++)
			piece->len += (size_t)sprintf(piece->text + piece->len,
						      "\\x%02x", p[i]);
	piece->width = (unsigned)piece->len;
}

/* Returns how many bytes of the text it is. */
static size_t next_piece(struct piece *piece, const uint8_t *p, size_t left,
			 bool utf8)
{
	struct text_char c = text_next(p, left);
	int width = 1;

	if (c.code >= 0x80)
		width = utf8 ? wcwidth((wchar_t)c.code) : -1;
	if (c.kind != TEXT_PRINTABLE || width < 0) {
		escape(piece, &c, p);
		return c.len;
	}
	memcpy(piece->text, p, c.len);
	piece->len = c.len;
	piece->width = (unsigned)width;
	return c.len;
}

unsigned fit_text(char buf[FIT_MAX], const char *text, unsigned width,
		  bool utf8)
{
	const char *mark = utf8 ? "\xe2\x80\xa6" : "~";
	const uint8_t *p = (const uint8_t *)text;
	size_t left = strlen(text), len = 0, cut_len = 0, n;
	unsigned used = 0, cut_used = 0;
	struct piece piece;

	for (; left; p += n, left -= n) {
		n = next_piece(&piece, p, left, utf8);
		if (used + piece.width > width ||
		    len + piece.len + sizeof("...") > FIT_MAX)
			break;
		memcpy(buf + len, piece.text, piece.len);
		len += piece.len;
		used += piece.width;
		if (used < width) {	/* a mark fits behind it */
			cut_len = len;
			cut_used = used;
		}
	}
	buf[len] = '\0';
	if (!left || !width)
		return used;
	strcpy(buf + cut_len, mark);
	return cut_used + 1;
}

/* With a unit, of which each is a thousand of the one before. */
static unsigned fit_units(char buf[FIT_MAX], double n, const char *units)
{
	for (; n >= 999.5 && units[1]; units++)
		n /= 1000;
	return (unsigned)sprintf(buf, n < 9.95 ? "%.1f%c" : "%.0f%c", n,
				 *units);
}

unsigned fit_count(char buf[FIT_MAX], uint64_t n, unsigned width)
{
	int len = snprintf(buf, FIT_MAX, "%" PRIu64, n);

	if ((unsigned)len <= width)
		return (unsigned)len;
	return fit_units(buf, (double)n / 1000, "kMGTPE");
}

unsigned fit_rate(char buf[FIT_MAX], double rate, unsigned width)
{
	if (rate > 0 && rate < 9.95)
		return (unsigned)sprintf(buf, "%.1f", rate);
	return fit_count(buf, (uint64_t)(rate + 0.5), width);
}

unsigned fit_share(char buf[FIT_MAX], double share)
{
	double percent = 100 * share;

	if (isnan(share))
		return (unsigned)sprintf(buf, "-");
	return (unsigned)sprintf(buf, percent > 0 && percent < 9.95 ?
				 "%.1f%%" : "%.0f%%", percent);
}

unsigned fit_latency(char buf[FIT_MAX], uint64_t us)
{
	double n = (double)us;

	if (!us)
		return (unsigned)sprintf(buf, "<1us");
	if (n < 999.5)
		return (unsigned)sprintf(buf, "%.0fus", n);
	if (n < 999.5e3)
		return (unsigned)sprintf(buf, n < 9.95e3 ? "%.1fms" :
					 "%.0fms", n / 1e3);
	return (unsigned)sprintf(buf, n < 9.95e6 ? "%.1fs" : "%.0fs",
				 n / 1e6);
}
