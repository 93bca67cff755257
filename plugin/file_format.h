/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * How records lie in a file (file.h): all that is different from one format
 * to another. A file is a header, if the format has one, and then records,
 * one behind the other.
 */
#ifndef OSMSNOOP_FILE_FORMAT_H
#define OSMSNOOP_FILE_FORMAT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "file.h"

enum { FILE_START_MAX = 32 };

struct file_format {
	const char *half;	/* a torn record, in words */
	size_t header;		/* bytes of the start that are no record */
	size_t rest;		/* bytes that put() adds to a record, at most */

	/*
	 * What every file begins with: the header, or how its first record
	 * does. Returns how many bytes, FILE_START_MAX at most.
	 */
	size_t (*start)(char start[FILE_START_MAX]);

	/*
	 * Where the last whole record ends in the f->size bytes of the file;
	 * sets f->last, and may use f->buffer. False with a reason: it is not
	 * to be written on.
	 */
	bool (*find_end)(struct file *f, uint64_t *end);

	/* May somebody have added what ends at `size`? NULL: nobody may. */
	bool (*may_end)(int fd, uint64_t size);

	/* Put record `number` at `to`. Returns how long it is there. */
	size_t (*put)(struct file *f, char *to, uint64_t number,
		      const char *record, size_t len);

	/* The length of the record at `bytes`, 0 when it is not whole. */
	size_t (*next)(const char *bytes, size_t len);

	/* What is in the buffer comes first in a file. NULL: no matter. */
	void (*renumber)(struct file *f);

	/*
	 * It is open; so much of the buffer is in the file now, in whole
	 * records, and the rest will not be; it is closed. NULL: no matter.
	 */
	void (*opened)(struct file *f);
	void (*wrote)(struct file *f, size_t len);
	void (*closed)(struct file *f);

	/*
	 * Where a record says itself what was lost before it: how many, and
	 * add to it (there is room for what it takes; returns the new length).
	 * NULL: losses are records of their own.
	 */
	uint64_t (*get_lost)(const char *record, size_t len);
	size_t (*add_lost)(char *record, size_t len, uint64_t lost);
};

/* What is missing when this record is: it, and what it says to be lost. */
static inline uint64_t file_loss(const struct file_format *format,
				 const char *record, size_t len)
{
	return 1 + (format->get_lost ? format->get_lost(record, len) : 0);
}

/* Set f->reason; returns false. */
bool file_fail(struct file *f, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

/* For the OpenSM log. */
void file_note(struct file *f, const char *code, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

/* PATH for number 0, or PATH.1, PATH.2, ... */
void file_rotated_name(const struct file *f, uint32_t number, char *name,
		       size_t size);

/* Is what is open another file than what `path` names now? */
bool file_is_elsewhere(int fd, const char *path);

/* Open it for reading and writing, never through a link; is it new? */
int file_open_or_create(const char *path, bool *created);

/*
 * write() at the end or, with `at` of 0 or more, pwrite(), where a file size
 * limit (ulimit -f) is an error like any other: its signal would end OpenSM, on
 * whose threads we write at start and end.
 */
ssize_t file_write_calmly(int fd, const char *data, size_t len, off_t at);

/* Read so many bytes at `from` into f->buffer, all of them or fail. */
bool file_read(struct file *f, uint64_t from, size_t len);

#endif /* OSMSNOOP_FILE_FORMAT_H */
