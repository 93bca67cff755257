/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * A file of records that lasts: appended to, rotated by size, opened again
 * when somebody moved it, mended when a record was torn, and patient with a
 * disk that is full. What a record is, its format says: a numbered JSON line
 * or a packet. One thread at a time.
 */
#ifndef OSMSNOOP_FILE_H
#define OSMSNOOP_FILE_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <time.h>

#include "chain.h"

enum { FILE_BUFFER = 256 * 1024, FILE_RECORD_MAX = 128 * 1024 };

/* A trace: {"seq":N,<members>}, numbered from 1 in each file. */
extern const struct file_format file_lines;
/* An audit: the same, and chained (chain.h), with a sidecar PATH.chain. */
extern const struct file_format file_chain;
/* Capture files: packets as erf_encode() makes them. */
extern const struct file_format file_pcap;

/* How far a file of packets is known to be one. */
struct file_walk {
	dev_t dev;
	ino_t ino;		/* 0 = none */
	uint64_t end;
	uint64_t packets;
	bool damaged;		/* from there on, */
	struct timespec when;	/* since it was changed then */
	uint64_t size;		/* to this */
};

/* Where a chained file is in its chain. */
struct file_chain {
	bool known;		/* one was opened: the next goes on from it */
	bool begun;		/* file or buffer have a record that is chained */
	uint8_t value[CHAIN_SIZE];	/* of the last one put, */
	uint8_t written[CHAIN_SIZE];	/* and of the last one in a file */
	int side;		/* the sidecar; -1 = not open */
	bool side_failed;	/* which was said */
};

/* Something for the OpenSM log. */
struct file_note {
	const char *code;	/* NULL = nothing; the caller clears it */
	char text[512];
};

struct file {
	const struct file_format *format;
	char path[PATH_MAX];
	uint64_t max_bytes;
	uint32_t max_files;

	uint64_t turn_at;	/* the size at which the next one is begun */
	bool not_turned;	/* it could not be; the caller clears this */
	bool emptied;		/* by somebody else; the caller clears this */

	int fd;			/* -1 = not open */
	uint64_t size;		/* what the file has, without the buffer */
	uint64_t begun;		/* times that it was opened, or emptied */
	uint64_t last;		/* number that its last record has */
	uint64_t missing;	/* records that file_open() found missing */
	bool half;		/* a torn one is left, counted as lost */
	uint64_t cut_last;	/* the last one when somebody cut the file */
	ino_t cut_ino;		/* ... which was this one */
	uint64_t cut_off;	/* records that the file is found to lack */
	struct file_walk walk;
	struct file_chain chain;
	struct file_note note;
	size_t used;		/* bytes in the buffer, whole records */
	char reason[512];	/* why the last call failed */
	char buffer[FILE_BUFFER];
};

/* `path` is absolute. Opens nothing yet. */
void file_init(struct file *f, const struct file_format *format,
	       const char *path, uint64_t max_bytes, uint32_t max_files);

/*
 * Open or create it (mode 0640, never through a symbolic link, never one that
 * another process writes or that is not of this format). Sets `last` to the
 * number of the record at its end, 0 for a new file, which gets its header,
 * and missing: a torn record, which it takes away, and records that somebody
 * cut away while we wrote. False with a reason.
 */
bool file_open(struct file *f);

/*
 * Put one record into the buffer: members without a newline, FILE_RECORD_MAX
 * bytes at most, or a packet. Where they would be too many, the next file is
 * begun before, from 1 again; or not_turned is set with a reason, where the
 * rotated files cannot be renamed or are not ours, and this one goes on. False
 * when the file cannot be written: it is then closed. May empty the buffer
 * (see file_flush).
 */
bool file_put(struct file *f, const char *record, size_t len, uint64_t *lost);

/*
 * Begin the next file, too, when this one was moved away (logrotate) or
 * removed. One that was emptied in its place begins again with 1, what is in
 * the buffer included, and `emptied` is set.
 */
bool file_follow(struct file *f, uint64_t *lost);

/*
 * Write the buffer. On failure the file is cut back to the last whole record
 * that it got, closed, and *lost grows by the records that it did not get, and
 * by what they say to be lost; `last` is the last one that is there.
 */
bool file_flush(struct file *f, uint64_t *lost);

void file_close(struct file *f);

#endif /* OSMSNOOP_FILE_H */
