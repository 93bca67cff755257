/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * A file of records (file.h) that says itself what it lacks: records that
 * could not be written are counted, writing is tried again every second, and
 * where they are missing a loss record stands, or the next packet says it. One
 * thread at a time; it may be blocked by the disk.
 */
#ifndef OSMSNOOP_JOURNAL_H
#define OSMSNOOP_JOURNAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "file.h"

struct journal {
	/* Has something for the OpenSM log: "5D20", one line. */
	void (*say)(void *context, const char *code, const char *text);
	void *context;

	bool failing;		/* trying again */
	bool said;		/* that it fails, and not yet that it goes on */
	uint64_t said_lost;	/* told in the file since */
	uint64_t well_ns;	/* monotonic, since when it goes on */
	uint64_t now_ns;	/* of the last flush */
	uint64_t retry_at;
	uint64_t lost;		/* not told in the file yet */
	uint64_t total;
	struct file file;
};

/* Set all of it; opens nothing yet. `path` is absolute. */
void journal_init(struct journal *j, const struct file_format *format,
		  const char *path, uint64_t max_bytes, uint32_t max_files,
		  void (*say)(void *context, const char *code,
			      const char *text),
		  void *context);

/* One that cannot be opened is said and tried again. */
void journal_open(struct journal *j, uint64_t mono_ns);

/* One record, as file_put() wants it. */
void journal_put(struct journal *j, const char *record, size_t len);

/* So many records are missing between the last one and the next. */
void journal_lose(struct journal *j, uint64_t lost);

/* Write what is buffered, follow a file that was moved, or try again. */
void journal_flush(struct journal *j, uint64_t mono_ns);

/*
 * With a last try for what was lost. What no packet came after to tell, the
 * file does not have; the OpenSM log does.
 */
void journal_close(struct journal *j);

#endif /* OSMSNOOP_JOURNAL_H */
