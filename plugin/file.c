/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "file.h"

enum { FILE_MODE = 0640, OPEN_TRIES = 8 };

/* How each line of ours begins. */
static const char line_start[] = "{\"seq\":";

/* Bytes of a line beside the members: number, braces, newline. */
enum { LINE_REST = 32 };

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
	f->turn_at = max_bytes;
	f->fd = -1;
}

void file_close(struct file *f)
{
	if (f->fd >= 0)
		close(f->fd);
	f->fd = -1;
}

/* Was it moved away (logrotate) or removed? */
static bool file_moved(const struct file *f)
{
	struct stat here, there;

	if (f->fd < 0 || fstat(f->fd, &here))
		return false;
	return lstat(f->path, &there) || here.st_ino != there.st_ino ||
	       here.st_dev != there.st_dev;
}

static bool is_ours(const char *line, size_t len)
{
	size_t n = sizeof(line_start) - 1;

	return len && !memcmp(line, line_start, len < n ? len : n);
}

/*
 * The sequence number of the last line of ours in whole lines, or 0. What an
 * administrator noted behind it does no harm.
 */
static uint64_t last_number(const char *text, size_t len)
{
	const char *line, *newline;

	while (len) {
		newline = memrchr(text, '\n', len - 1);
		line = newline ? newline + 1 : text;
		if (is_ours(line, (size_t)(text + len - line)))
			return strtoull(line + sizeof(line_start) - 1, NULL,
					10);
		len = (size_t)(line - text);
	}
	return 0;
}

/*
 * Where the file ends: a process that was killed may have left half a line,
 * which is no record and is taken away; the last whole one has the sequence
 * number. A file that is not of our lines is somebody else's: hands off.
 */
static bool read_end(struct file *f)
{
	char *tail = f->buffer;	/* empty now, and longer than any line */
	size_t want = f->size < sizeof(f->buffer) - 1 ?
			      (size_t)f->size : sizeof(f->buffer) - 1;
	const char *newline;
	size_t whole;
	ssize_t n;

	f->last_line = 0;
	f->missing = 0;
	if (!want)
		return true;
	n = pread(f->fd, tail, want, (off_t)(f->size - want));
	if (n < 0 || (size_t)n != want)
		return fail(f, "%s: its end cannot be read: %s", f->path,
			    n < 0 ? strerror(errno) : "it shrinks");
	tail[want] = '\0';
	newline = memrchr(tail, '\n', want);
	whole = newline ? (size_t)(newline + 1 - tail) : 0;
	f->last_line = last_number(tail, whole);
	if (!f->last_line &&
	    (whole || want < f->size || !is_ours(tail, want)))
		return fail(f, "%s: is not empty, and no file of osmsnoop",
			    f->path);
	if (whole == want)
		return true;
	f->missing = !f->half;
	f->half = false;
	f->size -= want - whole;
	if (ftruncate(f->fd, (off_t)f->size))
		return fail(f, "%s: half a line cannot be taken away: %s",
			    f->path, strerror(errno));
	return true;
}

/* Somebody cut it while we wrote: how many lines is it short of? */
static void count_cut(struct file *f)
{
	struct stat st;

	if (f->cut_line > f->last_line && !fstat(f->fd, &st) &&
	    st.st_ino == f->cut_ino)
		f->missing = f->cut_line - f->last_line;
	f->cut_line = 0;
}

/* Open it, and say whether it is new. */
static int open_or_create(const char *path, bool *created)
{
	/* not blocking: it may be a pipe that nobody reads */
	const int flags = O_RDWR | O_APPEND | O_NOFOLLOW | O_CLOEXEC |
			  O_NONBLOCK | O_NOCTTY;
	int fd, tries;

	for (tries = 0; tries < OPEN_TRIES; tries++) {
		*created = false;
		fd = open(path, flags);
		if (fd >= 0 || errno != ENOENT)
			break;
		*created = true;
		fd = open(path, flags | O_CREAT | O_EXCL, FILE_MODE);
		if (fd >= 0 || errno != EEXIST)
			break;
	}
	return fd;
}

static bool open_and_lock(struct file *f)
{
	struct stat st;
	bool created;

	f->fd = open_or_create(f->path, &created);
	if (f->fd < 0)
		return fail(f, "%s: %s", f->path,
			    errno == ELOOP ? "is a symbolic link" :
					     strerror(errno));
	if (fstat(f->fd, &st))
		return fail(f, "%s: %s", f->path, strerror(errno));
	if (!S_ISREG(st.st_mode))
		return fail(f, "%s: is no regular file", f->path);
	if (flock(f->fd, LOCK_EX | LOCK_NB))
		return fail(f, "%s: %s", f->path,
			    errno == EWOULDBLOCK ?
				    "is written by another process, or for another option" :
				    strerror(errno));
	/* a new file has the mode whatever the umask; an old one keeps its */
	if (created && fchmod(f->fd, FILE_MODE))
		return fail(f, "%s: %s", f->path, strerror(errno));
	/* only now, with the lock, does it stay as it is */
	if (fstat(f->fd, &st))
		return fail(f, "%s: %s", f->path, strerror(errno));
	f->size = (uint64_t)st.st_size;
	return true;
}

bool file_open(struct file *f)
{
	int tries = OPEN_TRIES;
	bool moved;

	f->used = 0;
	f->buffered = 0;
	f->turn_at = f->max_bytes;
	do {
		file_close(f);
		if (!open_and_lock(f))
			goto close;
		/* whoever had the lock may have rotated it meanwhile */
		moved = file_moved(f);
	} while (moved && --tries);
	if (moved)
		fail(f, "%s: is moved all the time", f->path);
	else if (read_end(f)) {
		count_cut(f);
		return true;
	}
close:
	file_close(f);
	return false;
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

/*
 * write(), where a file size limit (ulimit -f) is an error like any other:
 * its signal would end OpenSM, on whose threads we write at start and end.
 */
static ssize_t write_calmly(int fd, const char *data, size_t len)
{
	const struct timespec now = { 0 };
	sigset_t limit, before;
	ssize_t n;
	int error;

	sigemptyset(&limit);
	sigaddset(&limit, SIGXFSZ);
	pthread_sigmask(SIG_BLOCK, &limit, &before);
	n = write(fd, data, len);
	error = errno;
	if (n < 0 && error == EFBIG)
		sigtimedwait(&limit, NULL, &now);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	errno = error;
	return n;
}

/* The lines in the buffer are the first of a file; no number gets longer. */
static void renumber(struct file *f)
{
	char *from = f->buffer, *to = f->buffer, *end = f->buffer + f->used;
	char number[LINE_REST], *rest, *next;
	int n;

	f->last_line = 0;
	while (from < end) {
		rest = memchr(from, ',', (size_t)(end - from));
		next = (char *)memchr(from, '\n', (size_t)(end - from)) + 1;
		n = snprintf(number, sizeof(number), "%s%" PRIu64, line_start,
			     ++f->last_line);
		memcpy(to, number, (size_t)n);
		memmove(to + n, rest, (size_t)(next - rest));
		to += n + (next - rest);
		from = next;
	}
	f->used = (size_t)(to - f->buffer);
}

static void drop_buffer(struct file *f, uint64_t *lost)
{
	*lost += f->buffered;
	f->used = 0;
	f->buffered = 0;
}

/*
 * Emptied in its place (logrotate's copytruncate): it begins again. One that
 * was changed otherwise may end with half a line: it is opened anew, and how
 * many lines are missing is known then.
 */
static bool notice_emptied(struct file *f, uint64_t *lost)
{
	struct stat st;

	char last;

	if (f->fd < 0 || fstat(f->fd, &st) || (uint64_t)st.st_size == f->size)
		return true;
	/* somebody added a line: no harm */
	if ((uint64_t)st.st_size > f->size &&
	    pread(f->fd, &last, 1, st.st_size - 1) == 1 && last == '\n') {
		f->size = (uint64_t)st.st_size;
		return true;
	}
	if (!st.st_size) {
		f->emptied = true;
		f->size = 0;
		renumber(f);
		return true;
	}
	fail(f, "%s: somebody changed it from %" PRIu64 " to %" PRIu64 " bytes",
	     f->path, f->size, (uint64_t)st.st_size);
	f->last_line -= f->buffered;
	f->cut_line = f->last_line;
	f->cut_ino = st.st_ino;
	drop_buffer(f, lost);
	file_close(f);
	return false;
}

/* The last `len` bytes are half a line. */
static void cut_back(struct file *f, size_t len)
{
	struct stat st;

	/* not by f->size: somebody may have emptied the file meanwhile */
	if (fstat(f->fd, &st) || (uint64_t)st.st_size < len)
		return;
	/* should this fail, file_open() takes it away */
	f->half = ftruncate(f->fd, st.st_size - (off_t)len) != 0;
}

/* Returns how many bytes of the buffer were written. */
static size_t write_buffer(struct file *f)
{
	size_t done = 0;
	ssize_t n;

	while (done < f->used) {
		n = write_calmly(f->fd, f->buffer + done, f->used - done);
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			break;
		done += (size_t)n;
	}
	return done;
}

/*
 * Emptied between the look and the write: the file has nothing but what was
 * just written, with the numbers of the one before. It begins again.
 */
static bool was_emptied_meanwhile(struct file *f)
{
	struct stat st;

	if (!f->size || fstat(f->fd, &st) || (uint64_t)st.st_size != f->used ||
	    ftruncate(f->fd, 0))
		return false;
	f->emptied = true;
	f->size = 0;
	renumber(f);
	return true;
}

bool file_flush(struct file *f, uint64_t *lost)
{
	const char *newline;
	size_t done, whole;
	uint64_t written;

	if (!notice_emptied(f, lost))
		return false;
	if (!f->used)
		return true;
	done = write_buffer(f);
	if (done == f->used && was_emptied_meanwhile(f))
		done = write_buffer(f);
	if (done == f->used) {
		f->size += f->used;
		f->used = 0;
		f->buffered = 0;
		return true;
	}

	fail(f, "%s: %s", f->path, strerror(errno));
	newline = done ? memrchr(f->buffer, '\n', done) : NULL;
	whole = newline ? (size_t)(newline + 1 - f->buffer) : 0;
	if (whole < done)
		cut_back(f, done - whole);
	written = lines(f->buffer, whole);
	*lost += f->buffered - written;
	f->last_line -= f->buffered - written;
	f->used = 0;
	f->buffered = 0;
	file_close(f);
	return false;
}

/*
 * May `path` be renamed over? What is not of our lines is somebody else's.
 */
static bool may_replace(struct file *f, const char *path)
{
	char start[sizeof(line_start) - 1];
	struct stat st;
	ssize_t n = -1;
	int fd;

	fd = open(path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);
	if (fd < 0)
		return errno == ENOENT ||
		       fail(f, "%s: %s, so %s is not rotated", path,
			    strerror(errno), f->path);
	if (flock(fd, LOCK_EX | LOCK_NB) && errno == EWOULDBLOCK) {
		close(fd);
		return fail(f, "%s: is written by another process, or for another option, so %s is not rotated",
			    path, f->path);
	}
	if (!fstat(fd, &st) && S_ISREG(st.st_mode))
		n = read(fd, start, sizeof(start));
	close(fd);
	return !n || (n == (ssize_t)sizeof(start) &&
		      is_ours(start, sizeof(start))) ||
	       fail(f, "%s: is no file of osmsnoop, so %s is not rotated",
		    path, f->path);
}

static void rotated_name(const struct file *f, uint32_t number, char *name,
			 size_t size)
{
	if (number)
		snprintf(name, size, "%s.%" PRIu32, f->path, number);
	else
		snprintf(name, size, "%s", f->path);
}

static bool may_rotate(struct file *f)
{
	char path[PATH_MAX + 16];
	uint32_t i;

	for (i = 1; i < f->max_files; i++) {
		rotated_name(f, i, path, sizeof(path));
		if (!may_replace(f, path))
			return false;
	}
	return true;
}

/* The first number that is free, or the last, whose file is to go. */
static uint32_t first_gap(const struct file *f)
{
	char name[PATH_MAX + 16];
	struct stat st;
	uint32_t i;

	for (i = 1; i < f->max_files - 1; i++) {
		rotated_name(f, i, name, sizeof(name));
		if (lstat(name, &st) && errno == ENOENT)
			break;
	}
	return i;
}

/*
 * path -> path.1 -> path.2 ..., the oldest goes. Where one of them cannot be
 * renamed, it is tried again and again: what is behind the gap that it left
 * the first time stays where it is.
 */
static bool rotate(struct file *f)
{
	char from[PATH_MAX + 16], to[PATH_MAX + 16];
	uint32_t i;

	if (!may_rotate(f))
		return false;
	if (f->max_files == 1)
		return !unlink(f->path) ||
		       fail(f, "%s: cannot be removed: %s", f->path,
			    strerror(errno));
	for (i = first_gap(f); i > 0; i--) {
		rotated_name(f, i, to, sizeof(to));
		rotated_name(f, i - 1, from, sizeof(from));
		if (rename(from, to) && errno != ENOENT)
			return fail(f, "%s: cannot be renamed to %s: %s", from,
				    to, strerror(errno));
	}
	return true;
}

static bool file_next(struct file *f, uint64_t *lost)
{
	if (!file_open(f))
		return false;
	*lost += f->missing;
	return true;
}

/*
 * Would `len` more bytes be too many? Then the next file is begun, where that
 * can be done. False when the file cannot be written.
 */
static bool turn(struct file *f, size_t len, uint64_t *lost)
{
	if (f->size + f->used + len <= f->turn_at || !(f->size + f->used))
		return true;
	if (!file_flush(f, lost))
		return false;
	/* what was moved away is not ours to rename, nor is what came then */
	if (!file_moved(f) && !rotate(f)) {
		/* rather too long a file than none; tried again later */
		f->turn_at = f->size + f->max_bytes;
		f->not_turned = true;
		return true;
	}
	return file_next(f, lost);
}

bool file_follow(struct file *f, uint64_t *lost)
{
	if (!file_moved(f))
		return notice_emptied(f, lost);
	return file_flush(f, lost) && file_next(f, lost);
}

bool file_put(struct file *f, const char *members, size_t len, uint64_t *lost)
{
	char *line;
	int n;

	/* the number is that of the file's next line, so it comes after these */
	if (!turn(f, len + LINE_REST, lost))
		return false;
	if (f->used + len + LINE_REST > sizeof(f->buffer) &&
	    !file_flush(f, lost))
		return false;
	line = f->buffer + f->used;
	n = snprintf(line, LINE_REST, "%s%" PRIu64 ",", line_start,
		     ++f->last_line);
	memcpy(line + n, members, len);
	memcpy(line + n + len, "}\n", 2);
	f->used += (size_t)n + len + 2;
	f->buffered++;
	return true;
}
