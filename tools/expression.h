/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Expressions: which transactions to show, which packets to write. The
 * language is that of osmsnoop(1), section EXPRESSIONS.
 *
 * An expression speaks of records: of an SA transaction with request and
 * answer together, whose source is who asked. A packet is judged by what it
 * has. What only the rest of its transaction can tell (of a request: the
 * status and number of records of its answer) is then not known, and a packet
 * matches unless it is known not to. So what is written holds all that the
 * same expression shows of it.
 */
#ifndef OSMSNOOP_EXPRESSION_H
#define OSMSNOOP_EXPRESSION_H

#include <stdbool.h>
#include <stddef.h>

#include "record.h"

struct expression;

enum { EXPRESSION_ERROR_MAX = 8192 };

/*
 * NULL when the text is no expression: `error` then holds lines that name the
 * word, point at it and say what is accepted there. An empty text is an
 * expression that everything matches.
 */
struct expression *expression_new(const char *text,
				  char error[EXPRESSION_ERROR_MAX]);
/*
 * The same of the words of a command line, a NULL after the last. The shell has
 * taken away the quotes around a name, which it needs where blanks are in it.
 */
struct expression *expression_of_words(char **words,
				       char error[EXPRESSION_ERROR_MAX]);
void expression_free(struct expression *e);	/* NULL is well */

/* Records of losses match always. */
bool expression_matches(const struct expression *e, const struct record *r);

/* One MAD as it was captured; `peer` is its other end. */
bool expression_may_match(const struct expression *e,
			  const struct mad_capture *cap,
			  const struct requester *peer);

#endif /* OSMSNOOP_EXPRESSION_H */
