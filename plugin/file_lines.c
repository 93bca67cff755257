/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* The format of a trace: numbered JSON lines, {"seq":N,<members>}. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "file_lines.h"

/* How each line of ours begins. */
static const char line_start[] = "{\"seq\":";

size_t lines_start(char bytes[FILE_START_MAX])
{
	memcpy(bytes, line_start, sizeof(line_start) - 1);
	return sizeof(line_start) - 1;
}

static bool is_ours(const char *line, size_t len)
{
	size_t n = sizeof(line_start) - 1;

	return len && !memcmp(line, line_start, len < n ? len : n);
}

const char *lines_last(const char *text, size_t len, size_t *line_len)
{
	const char *line, *newline;

	while (len) {
		newline = memrchr(text, '\n', len - 1);
		line = newline ? newline + 1 : text;
		*line_len = (size_t)(text + len - line);
		if (is_ours(line, *line_len))
			return line;
		len = (size_t)(line - text);
	}
	return NULL;
}

/* The last line has its number: no line is longer than what is looked at. */
bool lines_find_tail(struct file *f, struct lines_tail *tail)
{
	size_t want = f->size < sizeof(f->buffer) - 1 ?
			      (size_t)f->size : sizeof(f->buffer) - 1;
	const char *newline;

	f->last = 0;
	*tail = (struct lines_tail){ .end = f->size, .text = f->buffer };
	if (!want)
		return true;
	if (!file_read(f, f->size - want, want))
		return false;
	f->buffer[want] = '\0';
	newline = memrchr(f->buffer, '\n', want);
	tail->len = newline ? (size_t)(newline + 1 - f->buffer) : 0;
	tail->line = lines_last(f->buffer, tail->len, &tail->line_len);
	if (tail->line)
		f->last = strtoull(tail->line + sizeof(line_start) - 1, NULL,
				   10);
	if (!f->last &&
	    (tail->len || want < f->size || !is_ours(f->buffer, want)))
		return file_fail(f, "%s: is not empty, and no file of osmsnoop",
				 f->path);
	tail->end -= want - tail->len;
	return true;
}

static bool find_end(struct file *f, uint64_t *end)
{
	struct lines_tail tail;

	if (!lines_find_tail(f, &tail))
		return false;
	*end = tail.end;
	return true;
}

/* A line that somebody noted there does no harm. */
bool lines_may_end(int fd, uint64_t size)
{
	char last;

	return pread(fd, &last, 1, (off_t)size - 1) == 1 && last == '\n';
}

size_t lines_put_number(char *to, uint64_t number)
{
	char text[LINE_REST];
	int n = snprintf(text, sizeof(text), "%s%" PRIu64 ",", line_start,
			 number);

	memcpy(to, text, (size_t)n);
	return (size_t)n;
}

static size_t put(struct file *f, char *to, uint64_t number,
		  const char *members, size_t len)
{
	size_t n = lines_put_number(to, number);

	(void)f;
	memcpy(to + n, members, len);
	memcpy(to + n + len, "}\n", 2);
	return n + len + 2;
}

size_t lines_next(const char *line, size_t len)
{
	const char *newline = memchr(line, '\n', len);

	return newline ? (size_t)(newline + 1 - line) : 0;
}

/* No number gets longer. */
static void renumber(struct file *f)
{
	char *from = f->buffer, *to = f->buffer, *end = f->buffer + f->used;
	char *rest, *behind;
	uint64_t line = 0;

	while (from < end) {
		rest = memchr(from, ',', (size_t)(end - from)) + 1;
		behind = from + lines_next(from, (size_t)(end - from));
		to += lines_put_number(to, ++line);
		memmove(to, rest, (size_t)(behind - rest));
		to += behind - rest;
		from = behind;
	}
	f->used = (size_t)(to - f->buffer);
}

const struct file_format file_lines = {
	.half = "half a line",
	.rest = LINE_REST,
	.start = lines_start,
	.find_end = find_end,
	.may_end = lines_may_end,
	.put = put,
	.next = lines_next,
	.renumber = renumber,
};
