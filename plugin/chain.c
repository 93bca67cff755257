/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include <nettle/sha2.h>

#include "chain.h"

_Static_assert((int)CHAIN_SIZE == SHA256_DIGEST_SIZE, "the size of SHA-256");

static const char line_start[] = "{\"seq\":";
static const char member_start[] = ",\"chain\":\"";
static const char from_start[] = "\"chain_from\":\"";
static const char digits[] = "0123456789abcdef";

enum {
	MEMBER_START = sizeof(member_start) - 1,
	FROM_START = sizeof(from_start) - 1,
	SEQ_DIGITS = 20,
};

void chain_hex(const uint8_t value[CHAIN_SIZE], char hex[CHAIN_HEX])
{
	size_t i;

	for (i = 0; i < CHAIN_SIZE; i++) {
		*hex++ = digits[value[i] >> 4];
		*hex++ = digits[value[i] & 15];
	}
}

/* Small letters alone: another digit is another byte in the file. */
static bool read_hex(const char *hex, uint8_t value[CHAIN_SIZE])
{
	const char *digit;
	size_t i;

	memset(value, 0, CHAIN_SIZE);
	for (i = 0; i < CHAIN_HEX; i++) {
		digit = memchr(digits, hex[i], sizeof(digits) - 1);
		if (!digit)
			return false;
		value[i / 2] = (uint8_t)(value[i / 2] << 4 |
					 (digit - digits));
	}
	return true;
}

void chain_step(uint8_t value[CHAIN_SIZE], const char *body, size_t len)
{
	struct sha256_ctx hash;

	sha256_init(&hash);
	sha256_update(&hash, CHAIN_SIZE, value);
	sha256_update(&hash, len, (const uint8_t *)body);
	sha256_update(&hash, 1, (const uint8_t *)"}");
	sha256_digest(&hash, CHAIN_SIZE, value);
}

/* Digits up to `end`; returns where they end, NULL when they are no number. */
static const char *read_seq(const char *text, const char *end, uint64_t *seq)
{
	const char *start = text;

	*seq = 0;
	for (; text < end && *text >= '0' && *text <= '9'; text++)
		if (__builtin_mul_overflow(*seq, 10, seq) ||
		    __builtin_add_overflow(*seq, (unsigned)(*text - '0'), seq))
			return NULL;
	return text > start ? text : NULL;
}

static void read_member(const char *line, size_t len, struct chain_line *read)
{
	const char *member;

	if (len <= CHAIN_MEMBER)
		return;
	member = line + len - 1 - CHAIN_MEMBER;
	read->chained = !memcmp(member, member_start, MEMBER_START) &&
			read_hex(member + MEMBER_START, read->value) &&
			member[CHAIN_MEMBER - 1] == '"';
	if (read->chained)
		read->body -= CHAIN_MEMBER;
}

bool chain_read(const char *line, size_t len, struct chain_line *read)
{
	const size_t start = sizeof(line_start) - 1;
	const char *end = line + len, *rest;

	memset(read, 0, sizeof(*read));
	if (len <= start || memcmp(line, line_start, start) ||
	    end[-1] != '}')
		return false;
	rest = read_seq(line + start, end, &read->seq);
	if (!rest || *rest != ',' || !read->seq)
		return false;
	read->body = len - 1;
	read_member(line, len, read);
	rest++;
	read->begins = read->chained && end - rest > CHAIN_FROM_MEMBER &&
		       !memcmp(rest, from_start, FROM_START) &&
		       read_hex(rest + FROM_START, read->from) &&
		       !memcmp(rest + FROM_START + CHAIN_HEX, "\",", 2);
	return true;
}

void chain_write_mark(const struct chain_mark *mark, char text[CHAIN_MARK])
{
	char number[SEQ_DIGITS + 2];

	snprintf(number, sizeof(number), "%020" PRIu64 " ", mark->seq);
	memcpy(text, number, SEQ_DIGITS + 1);
	chain_hex(mark->value, text + SEQ_DIGITS + 1);
	text[CHAIN_MARK - 1] = '\n';
}

bool chain_read_mark(const char *text, size_t len, struct chain_mark *mark)
{
	const char *rest;

	if (len != CHAIN_MARK || text[len - 1] != '\n')
		return false;
	rest = read_seq(text, text + SEQ_DIGITS, &mark->seq);
	return rest == text + SEQ_DIGITS && *rest == ' ' &&
	       read_hex(rest + 1, mark->value);
}
