/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * How far a long reading is, for who waits at a terminal: one line on standard
 * error, which is wiped in the end. Elsewhere there is nothing.
 */
#ifndef OSMSNOOP_PROGRESS_H
#define OSMSNOOP_PROGRESS_H

#include <stdbool.h>
#include <stdint.h>

struct progress {
	bool on;		/* standard error is a terminal */
	bool shown;
	const char *name;	/* of the file */
	uint64_t begun_ns, shown_ns;	/* CLOCK_MONOTONIC */
};

/* Another file. `name` has to live as long as that is read. */
void progress_begin(struct progress *p, const char *name);

/* So much is read, of `size` (0 = not known). */
void progress_show(struct progress *p, uint64_t bytes, uint64_t size);

/* Wipe the line. */
void progress_end(struct progress *p);

#endif /* OSMSNOOP_PROGRESS_H */
