/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Records from what the plugin has written: JSON lines, of its options trace
 * and audit, or of osmsnoop -j.
 */
#ifndef OSMSNOOP_TRACE_INPUT_H
#define OSMSNOOP_TRACE_INPUT_H

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "record.h"

enum { TRACE_ERROR_MAX = 1024 };

struct trace_stats {
	uint64_t lines;
	uint64_t records;
	uint64_t others;	/* lines of JSON that are no records */
	uint64_t broken;	/* lines that are no JSON */
	uint64_t bytes;
};

struct trace_reader {
	void (*record)(const struct record *r, void *context);
	void (*progress)(const struct trace_stats *stats, void *context);
	void *context;
};

/*
 * Read to the end, or until `stop`. `head` is what was read of it before. False:
 * some of it could not be read, and `error` says why; all else was read.
 */
bool trace_read(int fd, const char *name, const void *head, size_t head_len,
		const struct trace_reader *reader,
		const volatile sig_atomic_t *stop, struct trace_stats *stats,
		char error[TRACE_ERROR_MAX]);

#endif /* OSMSNOOP_TRACE_INPUT_H */
