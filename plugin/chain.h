/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * The hash chain of an audit file. Each line is
 * {"seq":N,<members>,"chain":"<64 hex digits>"}: the SHA-256 over the chain
 * value before it (32 bytes) and the bytes of the object without that member,
 * {"seq":N,<members>}. The first one in a file has "chain_from" behind "seq":
 * the value that the chain goes on from, the last of the file before, or zeroes
 * where there was none.
 *
 * Who can write all the files can make all of it anew: it tells what was
 * changed, cut or lost, and by whom it was, somebody else's copy.
 */
#ifndef OSMSNOOP_CHAIN_H
#define OSMSNOOP_CHAIN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
	CHAIN_SIZE = 32,
	CHAIN_HEX = 2 * CHAIN_SIZE,
	/* ,"chain":"..." and "chain_from":"...", */
	CHAIN_MEMBER = sizeof(",\"chain\":\"\"") - 1 + CHAIN_HEX,
	CHAIN_FROM_MEMBER = sizeof("\"chain_from\":\"\",") - 1 + CHAIN_HEX,
	/* the sidecar: number in 20 digits, blank, value, newline */
	CHAIN_MARK = 20 + 1 + CHAIN_HEX + 1,
};

/* A line of ours, without its newline. */
struct chain_line {
	uint64_t seq;
	size_t body;		/* bytes before ,"chain": or last brace */
	bool chained;		/* it has a chain value, */
	uint8_t value[CHAIN_SIZE];
	bool begins;		/* and a chain_from */
	uint8_t from[CHAIN_SIZE];
};

/* What the sidecar names: the last record that was written. */
struct chain_mark {
	uint64_t seq;		/* 0 = none was */
	uint8_t value[CHAIN_SIZE];
};

/* False: it is no line of ours, which begins with {"seq":N, and ends with }. */
bool chain_read(const char *line, size_t len, struct chain_line *read);

/* The next value: `body` is the object without its last brace. */
void chain_step(uint8_t value[CHAIN_SIZE], const char *body, size_t len);

/* Digits as text, without a NUL. */
void chain_hex(const uint8_t value[CHAIN_SIZE], char hex[CHAIN_HEX]);

void chain_write_mark(const struct chain_mark *mark, char text[CHAIN_MARK]);
/* False: the text is none. */
bool chain_read_mark(const char *text, size_t len, struct chain_mark *mark);

#endif /* OSMSNOOP_CHAIN_H */
