/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* The format of trace and audit: numbered JSON lines, {"seq":N,<members>}. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "file_format.h"

/* How each line of ours begins. */
static const char line_start[] = "{\"seq\":";

/* Bytes of a line beside the members: number, braces, newline. */
enum { LINE_REST = 32 };

static size_t start(char bytes[FILE_START_MAX])
{
	memcpy(bytes, line_start, sizeof(line_start) - 1);
	return sizeof(line_start) - 1;
}

static bool is_ours(const char *line, size_t len)
{
	size_t n = sizeof(line_start) - 1;

	return len && !memcmp(line, line_start, len < n ? len : n);
}

/*
 * The sequence number of the last line of ours in whole lines, or 0. What an
 * administrator noted behind it does no harm.
 */
static uint64_t last_number(const char *text, size_t len)
{
	const char *line, *newline;

	while (len) {
		newline = memrchr(text, '\n', len - 1);
		line = newline ? newline + 1 : text;
		if (is_ours(line, (size_t)(text + len - line)))
			return strtoull(line + sizeof(line_start) - 1, NULL,
					10);
		len = (size_t)(line - text);
	}
	return 0;
}

/* The last line has its number: no line is longer than what is looked at. */
static bool find_end(struct file *f, uint64_t *end)
{
	char *tail = f->buffer;
	size_t want = f->size < sizeof(f->buffer) - 1 ?
			      (size_t)f->size : sizeof(f->buffer) - 1;
	const char *newline;
	size_t whole;

	f->last = 0;
	*end = f->size;
	if (!want)
		return true;
	if (!file_read(f, f->size - want, want))
		return false;
	tail[want] = '\0';
	newline = memrchr(tail, '\n', want);
	whole = newline ? (size_t)(newline + 1 - tail) : 0;
	f->last = last_number(tail, whole);
	if (!f->last && (whole || want < f->size || !is_ours(tail, want)))
		return file_fail(f, "%s: is not empty, and no file of osmsnoop",
				 f->path);
	*end -= want - whole;
	return true;
}

/* A line that somebody noted there does no harm. */
static bool may_end(int fd, uint64_t size)
{
	char last;

	return pread(fd, &last, 1, (off_t)size - 1) == 1 && last == '\n';
}

static size_t put(char *to, uint64_t number, const char *members, size_t len)
{
	int n = snprintf(to, LINE_REST, "%s%" PRIu64 ",", line_start, number);

	memcpy(to + n, members, len);
	memcpy(to + n + len, "}\n", 2);
	return (size_t)n + len + 2;
}

static size_t next(const char *line, size_t len)
{
	const char *newline = memchr(line, '\n', len);

	return newline ? (size_t)(newline + 1 - line) : 0;
}

/* No number gets longer. */
static void renumber(struct file *f)
{
	char *from = f->buffer, *to = f->buffer, *end = f->buffer + f->used;
	char number[LINE_REST], *rest, *behind;
	uint64_t line = 0;
	int n;

	while (from < end) {
		rest = memchr(from, ',', (size_t)(end - from));
		behind = from + next(from, (size_t)(end - from));
		n = snprintf(number, sizeof(number), "%s%" PRIu64, line_start,
			     ++line);
		memcpy(to, number, (size_t)n);
		memmove(to + n, rest, (size_t)(behind - rest));
		to += n + (behind - rest);
		from = behind;
	}
	f->used = (size_t)(to - f->buffer);
}

const struct file_format file_lines = {
	.half = "half a line",
	.rest = LINE_REST,
	.start = start,
	.find_end = find_end,
	.may_end = may_end,
	.put = put,
	.next = next,
	.renumber = renumber,
};
