/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Text from the wire, character by character: what is UTF-8, and what may be
 * seen. The one place where both are decided, for JSON and for log lines.
 */
#ifndef OSMSNOOP_TEXT_H
#define OSMSNOOP_TEXT_H

#include <stddef.h>
#include <stdint.h>

enum text_kind {
	TEXT_PRINTABLE,
	TEXT_CONTROL,	/* does something rather than be seen: escape it */
	TEXT_INVALID,	/* no UTF-8 */
};

struct text_char {
	enum text_kind kind;
	size_t len;	/* bytes it has; of invalid ones, to be taken as one */
	uint32_t code;	/* in Unicode; 0 when invalid */
};

/* The character at `p`, of which `left` bytes (1 at least) are there. */
struct text_char text_next(const uint8_t *p, size_t left);

#endif /* OSMSNOOP_TEXT_H */
