/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * libFuzzer on traces: lines of JSON become records, which can be written
 * again and be summed up. scripts/fuzz builds and runs it.
 *
 * build: tools/trace_input.c tools/record_read.c tools/summary.c
 * build: -ljansson
 */
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "summary.h"
#include "trace_input.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static struct summary *summary;

static void on_record(const struct record *r, void *context)
{
	static char text[RECORD_JSON_MAX];

	(void)context;
	summary_add(summary, r);
	if (r->type > RECORD_TRAP)
		return;
	record_line(r, text, RECORD_LINE_MAX);
	if (!record_json(r, text, sizeof(text)))
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const struct trace_reader reader = { .record = on_record };
	static volatile sig_atomic_t stop;
	char error[TRACE_ERROR_MAX] = "";
	struct trace_stats stats;
	int fd = memfd_create("trace", MFD_CLOEXEC);
	bool whole;

	if (!summary)
		summary = summary_new(1000000000);
	if (fd < 0 || write(fd, data, size) != (ssize_t)size ||
	    lseek(fd, 0, SEEK_SET))
		abort();
	whole = trace_read(fd, "trace", "", 0, &reader, &stop, &stats, error);
	close(fd);
	if (whole == !!*error || stats.bytes != size ||
	    stats.lines != stats.records + stats.others + stats.broken)
		abort();
	return 0;
}
