/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * A thread that writes records to one file (journal.h). Who puts them never
 * waits for the disk: where it is too slow or hangs, records are counted, and
 * the file says how many. At the end the thread has until a deadline; one
 * that hangs is left behind.
 */
#ifndef OSMSNOOP_WRITER_H
#define OSMSNOOP_WRITER_H

#include <stddef.h>
#include <stdint.h>

#include <opensm/osm_log.h>

struct writer;

/* `path` is absolute. NULL: no memory, or no thread. */
struct writer *writer_open(const char *path, uint64_t max_bytes,
			   uint32_t max_files, osm_log_t *p_log);

/*
 * Put the members of one record, as record_json() has them; copied. NULL
 * counts a record that could not be made. One thread at a time, also below.
 */
void writer_put(struct writer *w, const char *members, size_t len);

/* About ten times a second: what was put is to be written now. */
void writer_flush(struct writer *w);

/*
 * Write what there is and end. Returns at the deadline (CLOCK_MONOTONIC) or
 * soon after, whatever the disk does; if it still hangs then, the OpenSM log
 * gets a line.
 */
void writer_close(struct writer *w, uint64_t deadline_ns);

#endif /* OSMSNOOP_WRITER_H */
