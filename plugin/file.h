/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * A file of numbered JSON lines that lasts: appended to, rotated by size,
 * opened again when somebody moved it, mended when a line was torn, and
 * patient with a disk that is full. One thread at a time.
 */
#ifndef OSMSNOOP_FILE_H
#define OSMSNOOP_FILE_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

enum { FILE_BUFFER = 256 * 1024, FILE_LINE_MAX = 128 * 1024 };

struct file {
	char path[PATH_MAX];
	uint64_t max_bytes;
	uint32_t max_files;

	uint64_t turn_at;	/* the size at which the next one is begun */
	bool not_turned;	/* it could not be; the caller clears this */
	bool emptied;		/* by somebody else; the caller clears this */

	int fd;			/* -1 = not open */
	uint64_t size;		/* what the file has, without the buffer */
	uint64_t last_line;	/* sequence number that its last line has */
	uint64_t missing;	/* lines that file_open() found missing */
	bool half;		/* half a line is left, counted as lost */
	uint64_t cut_line;	/* the last line when somebody cut the file */
	ino_t cut_ino;		/* ... which was this one */
	size_t used;		/* bytes in the buffer, whole lines */
	uint64_t buffered;	/* lines in the buffer */
	char reason[512];	/* why the last call failed */
	char buffer[FILE_BUFFER];
};

/* `path` is absolute. Opens nothing yet. */
void file_init(struct file *f, const char *path, uint64_t max_bytes,
	       uint32_t max_files);

/*
 * Open or create it (mode 0640, never through a symbolic link, never one that
 * another process writes or that is not of our lines). Sets last_line to the
 * sequence number at its end, 0 for a new file, and missing: half a line, which
 * it takes away, and lines that somebody cut away while we wrote. False with a
 * reason.
 */
bool file_open(struct file *f);

/*
 * Put one line into the buffer: {"seq":N,<members>}, the next number of this
 * file. `members` has no newline and at most FILE_LINE_MAX bytes. Where they
 * would be too many, the next file is begun before, from 1 again; or
 * not_turned is set with a reason, where the rotated files cannot be renamed
 * or are not ours, and this one goes on. False when the file cannot be
 * written: it is then closed. May empty the buffer (see file_flush).
 */
bool file_put(struct file *f, const char *members, size_t len,
	      uint64_t *lost);

/*
 * Begin the next file, too, when this one was moved away (logrotate) or
 * removed. One that was emptied in its place begins again with 1, what is in
 * the buffer included, and `emptied` is set.
 */
bool file_follow(struct file *f, uint64_t *lost);

/*
 * Write the buffer. On failure the file is cut back to the last whole line
 * that it got, closed, and *lost grows by the lines that it did not get;
 * last_line is that of the last line that is there.
 */
bool file_flush(struct file *f, uint64_t *lost);

void file_close(struct file *f);

#endif /* OSMSNOOP_FILE_H */
