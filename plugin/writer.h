/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * A thread that writes records to one file (journal.h). Who puts them never
 * waits for the disk: where it is too slow or hangs, records are counted, and
 * the file says how many. At the end the thread has until a deadline; one
 * that hangs is left behind.
 */
#ifndef OSMSNOOP_WRITER_H
#define OSMSNOOP_WRITER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <opensm/osm_log.h>

#include "file.h"

struct writer;
struct forward;

/*
 * `path` is absolute. With `failure`, which outlives it, syslog gets a line, too,
 * when the file cannot be written and when it is written again. NULL: no
 * memory, or no thread.
 */
struct writer *writer_open(const struct file_format *format, const char *path,
			   uint64_t max_bytes, uint32_t max_files,
			   osm_log_t *p_log, struct forward *failure);

/*
 * Put one record, as file_put() wants it; copied. NULL counts one that could
 * not be made. False: it is lost, and counted. One thread at a time, also
 * below.
 */
bool writer_put(struct writer *w, const char *record, size_t len);

/* Count so many that could not be made. */
void writer_lose(struct writer *w, uint64_t lost);

/*
 * How often a file was begun, or gone on with after a failure. What was put
 * before this last grew need not be in the file that is written now; what is
 * put from then on comes to lie in it, or in a later one, or is lost and makes
 * this grow again.
 */
uint64_t writer_begun(const struct writer *w);

/* About ten times a second: what was put is to be written now. */
void writer_flush(struct writer *w);

/*
 * Write what there is and end. Returns at the deadline (CLOCK_MONOTONIC) or
 * soon after, whatever the disk does; if it still hangs then, the OpenSM log
 * gets a line.
 */
void writer_close(struct writer *w, uint64_t deadline_ns);

#endif /* OSMSNOOP_WRITER_H */
