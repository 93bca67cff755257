/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Between the grammar (expression.y), its words (expression.l) and what they
 * do (expression.c). An expression is a program for a small stack, so nothing
 * recurses, however long it is.
 */
#ifndef OSMSNOOP_EXPRESSION_CODE_H
#define OSMSNOOP_EXPRESSION_CODE_H

#include <stdint.h>

#include "expression.h"

enum { EXPRESSION_DEPTH_MAX = 64 };

enum end { END_ANY, END_SOURCE, END_DESTINATION };

enum test {
	TEST_AND,		/* the first three work on the stack */
	TEST_OR,
	TEST_NOT,
	TEST_CLASS,
	TEST_METHOD,
	TEST_ATTRIBUTE,
	TEST_LID,
	TEST_GUID,
	TEST_GID,
	TEST_NAME,
	TEST_TID,
	TEST_STATUS_ERROR,
	TEST_STATUS_NAME,
	TEST_STATUS_CODE,
	TEST_SENT,
	TEST_RECEIVED,
	TEST_ERROR,
	TEST_RECORDS,
};

struct step {
	enum test test;
	enum end end;			/* of TEST_LID */
	union {
		uint64_t number;
		struct { uint64_t first, last; } range;
		uint8_t gid[16];
		const char *status;	/* as sa_status_name() has it */
		char *pattern;
		int32_t *attributes;	/* by class; -1: it has none */
	};
};

struct expression {
	struct step *steps;
	size_t n, max;
	size_t depth;			/* of the stack behind the last */
};

/* A piece of the text, in bytes from its start. */
struct place {
	size_t from, to;
};

/* A word in the text, not ended by a NUL. */
struct word {
	const char *text;
	size_t len;
};

/* What parsing works on. */
struct parsing {
	const char *text;
	size_t at;			/* of the scanner */
	struct expression *e;
	char *error;			/* empty until there is one */
};

/* Append a step; false when there was an error, which is told. */
bool code_step(struct parsing *p, const struct place *place,
	       const struct step *step);
bool code_word(struct parsing *p, const struct place *place, enum test test,
	       enum end end, const struct word *word);
bool code_status(struct parsing *p, const struct place *place,
		 const struct word *word);
bool code_records(struct parsing *p, const struct place *place,
		  const struct word *how, const struct word *number);

/* The first error counts. `accepted` (may be NULL) is what may stand there. */
void code_error(struct parsing *p, const struct place *place,
		const char *accepted, const char *format, ...)
	__attribute__((format(printf, 4, 5)));

#endif /* OSMSNOOP_EXPRESSION_CODE_H */
