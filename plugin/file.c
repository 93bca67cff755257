/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "file.h"

enum { FILE_MODE = 0640, TAIL = 64 * 1024 };

static bool fail(struct file *f, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

static bool fail(struct file *f, const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	vsnprintf(f->reason, sizeof(f->reason), fmt, args);
	va_end(args);
	return false;
}

void file_init(struct file *f, const char *path, uint64_t max_bytes,
	       uint32_t max_files)
{
	memset(f, 0, offsetof(struct file, buffer));
	snprintf(f->path, sizeof(f->path), "%s", path);
	f->max_bytes = max_bytes;
	f->max_files = max_files;
	f->fd = -1;
}

bool file_is_open(const struct file *f)
{
	return f->fd >= 0;
}

void file_close(struct file *f)
{
	if (f->fd >= 0)
		close(f->fd);
	f->fd = -1;
}

/*
 * Where the file ends: a process that was killed may have left half a line,
 * which is no record and is taken away; the last whole one has the sequence
 * number. Lines that are not ours count as none.
 */
static bool read_end(struct file *f)
{
	size_t want = f->size < TAIL ? (size_t)f->size : TAIL;
	char *tail = f->buffer;	/* empty now, and larger */
	char *last, *newline, *seq;
	ssize_t n;

	f->last_line = 0;
	f->torn = false;
	if (!want)
		return true;
	n = pread(f->fd, tail, want, (off_t)(f->size - want));
	if (n < 0 || (size_t)n != want)
		return fail(f, "%s: its end cannot be read: %s", f->path,
			    n < 0 ? strerror(errno) : "it shrinks");
	newline = memrchr(tail, '\n', want);
	if (!newline || newline != tail + want - 1) {
		f->torn = true;
		want = newline ? (size_t)(newline + 1 - tail) : 0;
		if (!want && f->size > TAIL)
			return fail(f, "%s: not a file of lines", f->path);
		f->size -= (size_t)n - want;
		if (ftruncate(f->fd, (off_t)f->size))
			return fail(f, "%s: half a line cannot be taken away: %s",
				    f->path, strerror(errno));
		if (!want)
			return true;
	}
	last = want > 1 ? memrchr(tail, '\n', want - 1) : NULL;
	last = last ? last + 1 : tail;
	tail[want - 1] = '\0';
	seq = strstr(last, "\"seq\":");
	if (seq)
		f->last_line = strtoull(seq + strlen("\"seq\":"), NULL, 10);
	return true;
}

bool file_open(struct file *f)
{
	/* not blocking: it may be a pipe that nobody reads */
	const int flags = O_RDWR | O_CREAT | O_APPEND | O_NOFOLLOW |
			  O_CLOEXEC | O_NONBLOCK | O_NOCTTY;
	struct stat st;

	file_close(f);
	f->used = 0;
	f->buffered = 0;
	f->fd = open(f->path, flags, FILE_MODE);
	if (f->fd < 0)
		return fail(f, "%s: %s", f->path,
			    errno == ELOOP ? "is a symbolic link" :
					     strerror(errno));
	if (fstat(f->fd, &st)) {
		fail(f, "%s: %s", f->path, strerror(errno));
		goto close;
	}
	if (!S_ISREG(st.st_mode)) {
		fail(f, "%s: is no regular file", f->path);
		goto close;
	}
	if (flock(f->fd, LOCK_EX | LOCK_NB)) {
		fail(f, "%s: is written by another process", f->path);
		goto close;
	}
	/* a new file has the mode whatever the umask; an old one keeps its */
	if (!st.st_size && (st.st_mode & 07777) != FILE_MODE &&
	    st.st_uid == geteuid())
		(void)!fchmod(f->fd, FILE_MODE);
	f->size = (uint64_t)st.st_size;
	if (read_end(f))
		return true;
close:
	file_close(f);
	return false;
}

bool file_moved(const struct file *f)
{
	struct stat here, there;

	if (f->fd < 0 || fstat(f->fd, &here))
		return false;
	return lstat(f->path, &there) || here.st_ino != there.st_ino ||
	       here.st_dev != there.st_dev;
}

/* Lines in the first `len` bytes. */
static uint64_t lines(const char *text, size_t len)
{
	const char *end = text + len;
	uint64_t n = 0;

	while ((text = memchr(text, '\n', (size_t)(end - text)))) {
		text++;
		n++;
	}
	return n;
}

bool file_flush(struct file *f, uint64_t *lost)
{
	size_t done = 0, whole;
	const char *newline;
	uint64_t written;
	ssize_t n;

	while (done < f->used) {
		n = write(f->fd, f->buffer + done, f->used - done);
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			break;
		done += (size_t)n;
	}
	if (done == f->used) {
		f->size += f->used;
		f->used = 0;
		f->buffered = 0;
		return true;
	}

	fail(f, "%s: %s", f->path, strerror(errno ? errno : ENOSPC));
	newline = done ? memrchr(f->buffer, '\n', done) : NULL;
	whole = newline ? (size_t)(newline + 1 - f->buffer) : 0;
	if (whole < done)
		(void)!ftruncate(f->fd, (off_t)(f->size + whole));
	written = lines(f->buffer, whole);
	*lost += f->buffered - written;
	f->last_line -= f->buffered - written;
	f->used = 0;
	f->buffered = 0;
	file_close(f);
	return false;
}

/* path -> path.1 -> path.2 ..., the oldest goes. */
static bool rotate(struct file *f)
{
	char from[PATH_MAX + 16], to[PATH_MAX + 16];
	uint32_t i;

	if (f->max_files == 1)
		return !unlink(f->path) ||
		       fail(f, "%s: cannot be removed: %s", f->path,
			    strerror(errno));
	for (i = f->max_files - 1; i > 0; i--) {
		snprintf(to, sizeof(to), "%s.%" PRIu32, f->path, i);
		if (i > 1)
			snprintf(from, sizeof(from), "%s.%" PRIu32, f->path,
				 i - 1);
		else
			snprintf(from, sizeof(from), "%s", f->path);
		if (rename(from, to) && errno != ENOENT)
			return fail(f, "%s: cannot be renamed to %s: %s", from,
				    to, strerror(errno));
	}
	return true;
}

bool file_turn(struct file *f, size_t len, uint64_t *lost)
{
	bool moved = file_moved(f);
	bool full = f->size + f->used + len > f->max_bytes &&
		    f->size + f->used > 0;

	if (!moved && !full)
		return true;
	if (!file_flush(f, lost))
		return false;
	if (!moved && !rotate(f)) {
		file_close(f);
		return false;
	}
	return file_open(f);
}

bool file_put(struct file *f, const char *line, size_t len, uint64_t *lost)
{
	if (f->used + len > sizeof(f->buffer) && !file_flush(f, lost))
		return false;
	memcpy(f->buffer + f->used, line, len);
	f->used += len;
	f->buffered++;
	f->last_line++;
	return true;
}
