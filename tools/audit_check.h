/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Does an audit hold? Its files are read once, each line is checked (JSON, its
 * number, its chain value: plugin/chain.h), and then how one file goes on from
 * another, and where the sidecar says that the last one ends. Memory does not
 * depend on the files' sizes.
 */
#ifndef OSMSNOOP_AUDIT_CHECK_H
#define OSMSNOOP_AUDIT_CHECK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "chain.h"

enum { AUDIT_TIME_MAX = 32, AUDIT_WHAT_MAX = 512 };

struct audit_fault {
	const char *path;	/* NULL = of all of them */
	uint64_t line;		/* 0 = of the file */
	uint64_t seq;		/* as the line has it; 0 = it has none */
	char what[AUDIT_WHAT_MAX];
};

struct audit_file {
	char *path;
	int fd;
	dev_t dev;
	ino_t ino;
	uint64_t size;		/* when it was opened */

	uint64_t records;
	uint64_t seq;		/* of the last */
	uint64_t lost;		/* by its loss records of place "file" */
	uint64_t chained_from;	/* the number of the first; 0 = none is */
	uint8_t from[CHAIN_SIZE];
	uint8_t last[CHAIN_SIZE];	/* its last value */
	char first_time[AUDIT_TIME_MAX], last_time[AUDIT_TIME_MAX];
	bool torn;		/* it ends with half a line */
	bool marked;		/* it has what the sidecar names */
	struct audit_fault fault;	/* the first; what[0] = none */

	bool follows;		/* the one before in the order */
	bool placed;
};

struct audit {
	struct audit_file *files;	/* in their order, once checked */
	size_t n;
	char *side;		/* path of the sidecar */
	bool side_there;
	bool side_well;		/* it says something */
	struct chain_mark mark;
	uint64_t behind;	/* records behind the one that it names */
	struct audit_fault *faults;
	size_t n_faults;
};

/*
 * Open them all, the sidecar first: what is written meanwhile is behind it. One
 * path alone brings its rotated files. Two of one file are one.
 */
void audit_open(struct audit *a, char **paths);
void audit_close(struct audit *a);

/* Read all; `progress` (may be NULL) ends it by returning false. */
bool audit_check(struct audit *a,
		 bool (*progress)(const struct audit_file *file, uint64_t bytes,
				  void *context),
		 void *context);

/*
 * For tests: check the whole lines among these bytes, as those that are next in
 * the file. Returns how many bytes they are.
 */
size_t audit_check_lines(const struct audit *a, struct audit_file *f,
			 const char *bytes, size_t len);

#endif /* OSMSNOOP_AUDIT_CHECK_H */
