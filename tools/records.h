/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * The records of files, whatever they are: traces hold them, and of captures
 * they are worked out. What a file is, its first bytes say.
 */
#ifndef OSMSNOOP_RECORDS_H
#define OSMSNOOP_RECORDS_H

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>

#include "record.h"

struct records;

enum { RECORDS_ERROR_MAX = 1024 };

struct records_options {
	const char *node_name_map;	/* for captures; may be NULL */
	const volatile sig_atomic_t *stop;	/* ends the reading */
	void (*record)(const struct record *r, void *context);
	/* How far a file is read, of `size` (0 = not known). May be NULL. */
	void (*progress)(uint64_t bytes, uint64_t size, void *context);
	void *context;
};

/* What was read, of one file or of all. */
struct records_stats {
	uint64_t traces, captures;	/* files */
	uint64_t bytes;
	uint64_t lines;		/* of traces */
	uint64_t packets, mads;	/* of captures */
	uint64_t others;	/* lines and packets that are something else */
	uint64_t broken;	/* lines and packets */
	uint64_t broken_off;	/* RMPP messages that never were whole */
};

/* NULL: `error` says why. The options are copied, not what they point to. */
struct records *records_new(const struct records_options *options,
			    char error[RECORDS_ERROR_MAX]);

/*
 * Read a file; "-" is standard input. A capture may go on where the one
 * before has ended. False: not all of it could be read.
 */
bool records_read(struct records *r, const char *path,
		  char error[RECORDS_ERROR_MAX]);

/* The end: the last records. */
void records_end(struct records *r);

/* RMPP messages and transactions count when they are over. */
void records_get_stats(const struct records *r, struct records_stats *stats);
void records_free(struct records *r);		/* NULL is well */

#endif /* OSMSNOOP_RECORDS_H */
