/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "memory.h"
#include "record_read.h"
#include "trace_input.h"

/* A line that is longer is none of ours. */
enum { BUFFER_SIZE = 1 << 20 };

struct trace {
	const struct trace_reader *reader;
	struct trace_stats *stats;
	uint64_t first_broken;	/* the number of its line; 0 = none is */
	bool cut;		/* there was no newline behind the last line */
	bool skipping;		/* the rest of a line that is too long */
	char *buffer;
	size_t len;
};

static void note_broken(struct trace *t)
{
	t->stats->broken++;
	if (!t->first_broken)
		t->first_broken = t->stats->lines;
}

static void take_line(struct trace *t, const char *line, size_t len)
{
	struct record_copy copy;
	json_t *json;

	t->stats->lines++;
	/* text of a key that nobody here knows may have one */
	json = json_loadb(line, len, JSON_ALLOW_NUL, NULL);
	if (!json) {
		note_broken(t);
	} else if (!record_read(json, &copy)) {
		t->stats->others++;
	} else {
		t->stats->records++;
		t->reader->record(&copy.record, t->reader->context);
	}
	json_decref(json);
}

static void take_too_long(struct trace *t)
{
	t->stats->lines++;
	note_broken(t);
	t->skipping = true;
	t->len = 0;
}

/* All whole lines; what is behind them stays in the buffer. */
static void take_lines(struct trace *t)
{
	char *line = t->buffer, *newline, *end = t->buffer + t->len;

	for (; (newline = memchr(line, '\n', (size_t)(end - line)));
	     line = newline + 1) {
		if (!t->skipping)
			take_line(t, line, (size_t)(newline - line));
		t->skipping = false;
	}
	t->len = (size_t)(end - line);
	memmove(t->buffer, line, t->len);
	if (t->skipping)
		t->len = 0;
	else if (t->len == BUFFER_SIZE)
		take_too_long(t);
}

/* A line may be whole without its newline. */
static void take_rest(struct trace *t)
{
	const uint64_t broken = t->stats->broken;

	if (!t->len)
		return;
	take_line(t, t->buffer, t->len);
	t->cut = t->stats->broken > broken;
}

/* Negative: errno says why. */
static ssize_t read_piece(struct trace *t, int fd,
			  const volatile sig_atomic_t *stop)
{
	ssize_t n;

	do {
		if (*stop)
			return 0;
		n = read(fd, t->buffer + t->len, BUFFER_SIZE - t->len);
	} while (n < 0 && errno == EINTR);
	if (n <= 0)
		return n;
	t->len += (size_t)n;
	t->stats->bytes += (uint64_t)n;
	if (t->reader->progress)
		t->reader->progress(t->stats, t->reader->context);
	return n;
}

static bool say_end(const struct trace *t, const char *name, ssize_t result,
		    char error[TRACE_ERROR_MAX])
{
	if (result < 0)
		snprintf(error, TRACE_ERROR_MAX, "%s: %s", name,
			 strerror(errno));
	else if (t->cut && t->stats->broken == 1)
		snprintf(error, TRACE_ERROR_MAX, "%s: it is cut in its last line, after %" PRIu64 " whole ones",
			 name, t->stats->lines - 1);
	else if (t->stats->broken)
		snprintf(error, TRACE_ERROR_MAX, "%s: %" PRIu64 " line%s no JSON, the first is line %" PRIu64,
			 name, t->stats->broken,
			 t->stats->broken == 1 ? " is" : "s are",
			 t->first_broken);
	else if (!t->stats->records)
		snprintf(error, TRACE_ERROR_MAX, "%s: there is no record of osmsnoop in it",
			 name);
	else
		return true;
	return false;
}

bool trace_read(int fd, const char *name, const void *head, size_t head_len,
		const struct trace_reader *reader,
		const volatile sig_atomic_t *stop, struct trace_stats *stats,
		char error[TRACE_ERROR_MAX])
{
	struct trace t = {
		.reader = reader,
		.stats = stats,
		.buffer = memory_get(1, BUFFER_SIZE),
		.len = head_len,
	};
	ssize_t n;

	memset(stats, 0, sizeof(*stats));
	memcpy(t.buffer, head, head_len);
	stats->bytes = head_len;
	while ((n = read_piece(&t, fd, stop)) > 0)
		take_lines(&t);
	if (!*stop)
		take_rest(&t);
	free(t.buffer);
	return *stop || say_end(&t, name, n, error);
}
