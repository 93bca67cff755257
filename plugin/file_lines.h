/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* What numbered JSON lines have in common, chained or not (file_format.h). */
#ifndef OSMSNOOP_FILE_LINES_H
#define OSMSNOOP_FILE_LINES_H

#include "file_format.h"

/* Bytes of a line beside the members: number, braces, newline. */
enum { LINE_REST = 32 };

/* The end of a file, in f->buffer. */
struct lines_tail {
	uint64_t end;		/* of the last whole line */
	const char *text;
	size_t len;		/* in whole lines, of the text */
	const char *line;	/* the last of ours; NULL = there is none */
	size_t line_len;
};

/* The last line of ours in whole lines; a note behind it does no harm. */
const char *lines_last(const char *text, size_t len, size_t *line_len);

/* Sets f->last. False with a reason: it is no file of ours. */
bool lines_find_tail(struct file *f, struct lines_tail *tail);

size_t lines_start(char bytes[FILE_START_MAX]);
bool lines_may_end(int fd, uint64_t size);
size_t lines_next(const char *line, size_t len);

/* {"seq":N, which is LINE_REST bytes at most. */
size_t lines_put_number(char *to, uint64_t number);

#endif /* OSMSNOOP_FILE_LINES_H */
