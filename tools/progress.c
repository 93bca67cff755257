/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "clock.h"
#include "field.h"
#include "progress.h"

enum { NAME_WIDTH = 40 };

/* What is done before that needs no progress; and how often it changes. */
static const uint64_t quiet_ns = 500000000;
static const uint64_t every_ns = 200000000;

void progress_begin(struct progress *p, const char *name)
{
	p->on = isatty(STDERR_FILENO);
	p->name = name;
	p->begun_ns = p->shown_ns = clock_ns(CLOCK_MONOTONIC);
}

/* A file's name may hold anything. */
static void show_name(const char *name)
{
	char text[4 * NAME_WIDTH];
	struct words w;

	words_init(&w, text, sizeof(text));
	words_text(&w, name, strnlen(name, NAME_WIDTH), false);
	fprintf(stderr, "\r%s: ", text);
}

static void show(const struct progress *p, uint64_t bytes, uint64_t size,
		 uint64_t ns)
{
	const double rate = (double)bytes / ((double)ns / 1e9);

	show_name(p->name);
	if (size)
		fprintf(stderr, "%u %%, ", (unsigned)(100 * bytes / size));
	else
		fprintf(stderr, "%" PRIu64 " MB, ", bytes / 1000000);
	fprintf(stderr, "%.0f MB/s", rate / 1e6);
	if (size > bytes && rate > 0)
		fprintf(stderr, ", %.0f s left", (double)(size - bytes) / rate);
	fputs("\033[K", stderr);
	fflush(stderr);
}

void progress_show(struct progress *p, uint64_t bytes, uint64_t size)
{
	uint64_t now;

	if (!p->on)
		return;
	now = clock_ns(CLOCK_MONOTONIC);
	if (now - p->begun_ns < quiet_ns || now - p->shown_ns < every_ns)
		return;
	p->shown_ns = now;
	p->shown = true;
	/* one that grows has no end to be told */
	show(p, bytes, size < bytes ? 0 : size, now - p->begun_ns);
}

void progress_end(struct progress *p)
{
	if (p->shown)
		fputs("\r\033[K", stderr);
	p->shown = false;
}
