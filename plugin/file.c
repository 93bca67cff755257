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
#include "file_format.h"

enum { FILE_MODE = 0640, OPEN_TRIES = 8 };

bool file_fail(struct file *f, const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	vsnprintf(f->reason, sizeof(f->reason), fmt, args);
	va_end(args);
	return false;
}

void file_note(struct file *f, const char *code, const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	vsnprintf(f->note.text, sizeof(f->note.text), fmt, args);
	va_end(args);
	f->note.code = code;
}

void file_init(struct file *f, const struct file_format *format,
	       const char *path, uint64_t max_bytes, uint32_t max_files)
{
	memset(f, 0, offsetof(struct file, buffer));
	f->format = format;
	snprintf(f->path, sizeof(f->path), "%s", path);
	f->max_bytes = max_bytes;
	f->max_files = max_files;
	f->turn_at = max_bytes;
	f->fd = -1;
	f->chain.side = -1;
}

void file_close(struct file *f)
{
	if (f->fd >= 0)
		close(f->fd);
	f->fd = -1;
	if (f->format->closed)
		f->format->closed(f);
}

bool file_is_elsewhere(int fd, const char *path)
{
	struct stat here, there;

	return !fstat(fd, &here) &&
	       (lstat(path, &there) || here.st_ino != there.st_ino ||
		here.st_dev != there.st_dev);
}

/* Was it moved away (logrotate) or removed? */
static bool file_moved(const struct file *f)
{
	return f->fd >= 0 && file_is_elsewhere(f->fd, f->path);
}

bool file_read(struct file *f, uint64_t from, size_t len)
{
	ssize_t n = pread(f->fd, f->buffer, len, (off_t)from);

	if (n < 0 || (size_t)n != len)
		return file_fail(f, "%s: cannot be read: %s", f->path,
				 n < 0 ? strerror(errno) : "it shrinks");
	return true;
}

/*
 * Where the file ends: a process that was killed may have left half a record,
 * which is none and is taken away. A file that is not of our format is
 * somebody else's: hands off.
 */
static bool read_end(struct file *f)
{
	uint64_t end;

	f->missing = f->cut_off = 0;
	if (!f->format->find_end(f, &end))
		return false;
	if (end < f->size) {
		if (ftruncate(f->fd, (off_t)end))
			return file_fail(f, "%s: %s cannot be taken away: %s",
					 f->path, f->format->half,
					 strerror(errno));
		/* what there is of a header alone was no record */
		f->missing = !f->half && end >= f->format->header;
		f->size = end;
	}
	f->half = false;
	return true;
}

/* Somebody cut it while we wrote: how many records is it short of? */
static void count_cut(struct file *f)
{
	struct stat st;

	if (f->cut_last > f->last && !fstat(f->fd, &st) &&
	    st.st_ino == f->cut_ino)
		f->missing = f->cut_last - f->last;
	f->cut_last = 0;
}

int file_open_or_create(const char *path, bool *created)
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

	f->fd = file_open_or_create(f->path, &created);
	if (f->fd < 0)
		return file_fail(f, "%s: %s", f->path,
				 errno == ELOOP ? "is a symbolic link" :
						  strerror(errno));
	if (fstat(f->fd, &st))
		return file_fail(f, "%s: %s", f->path, strerror(errno));
	if (!S_ISREG(st.st_mode))
		return file_fail(f, "%s: is no regular file", f->path);
	if (flock(f->fd, LOCK_EX | LOCK_NB))
		return file_fail(f, "%s: %s", f->path,
				 errno == EWOULDBLOCK ?
					 "is written by another process, or for another option" :
					 strerror(errno));
	/* a new file has the mode whatever the umask; an old one keeps its */
	if (created && fchmod(f->fd, FILE_MODE))
		return file_fail(f, "%s: %s", f->path, strerror(errno));
	/* only now, with the lock, does it stay as it is */
	if (fstat(f->fd, &st))
		return file_fail(f, "%s: %s", f->path, strerror(errno));
	f->size = (uint64_t)st.st_size;
	return true;
}

ssize_t file_write_calmly(int fd, const char *data, size_t len, off_t at)
{
	const struct timespec now = { 0 };
	sigset_t limit, before;
	ssize_t n;
	int error;

	sigemptyset(&limit);
	sigaddset(&limit, SIGXFSZ);
	pthread_sigmask(SIG_BLOCK, &limit, &before);
	n = at < 0 ? write(fd, data, len) : pwrite(fd, data, len, at);
	error = errno;
	if (n < 0 && error == EFBIG)
		sigtimedwait(&limit, NULL, &now);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	errno = error;
	return n;
}

/* The last `len` bytes are no whole record. */
static void cut_back(struct file *f, size_t len)
{
	struct stat st;

	/* not by f->size: somebody may have emptied the file meanwhile */
	if (fstat(f->fd, &st) || (uint64_t)st.st_size < len)
		return;
	/* should this fail, file_open() takes it away */
	f->half = ftruncate(f->fd, st.st_size - (off_t)len) != 0;
}

/* Returns how many of the bytes were written, all or with errno. */
static size_t write_all(int fd, const char *data, size_t len)
{
	size_t done = 0;
	ssize_t n;

	while (done < len) {
		n = file_write_calmly(fd, data + done, len - done, -1);
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			break;
		done += (size_t)n;
	}
	return done;
}

/* The file has nothing: then it gets its header. */
static bool begin(struct file *f)
{
	char header[FILE_START_MAX];
	size_t done, len = f->format->header;

	if (!len)
		return true;
	f->format->start(header);
	done = write_all(f->fd, header, len);
	if (done == len) {
		f->size = len;
		return true;
	}
	file_fail(f, "%s: %s", f->path, strerror(errno));
	if (done)
		cut_back(f, done);
	return false;
}

bool file_open(struct file *f)
{
	int tries = OPEN_TRIES;
	bool moved;

	f->used = 0;
	f->turn_at = f->max_bytes;
	do {
		file_close(f);
		if (!open_and_lock(f))
			goto close;
		/* whoever had the lock may have rotated it meanwhile */
		moved = file_moved(f);
	} while (moved && --tries);
	if (moved)
		file_fail(f, "%s: is moved all the time", f->path);
	else if (read_end(f) && (f->size || begin(f))) {
		count_cut(f);
		if (f->cut_off > f->missing)
			f->missing = f->cut_off;
		if (f->format->opened)
			f->format->opened(f);
		f->begun++;
		return true;
	}
close:
	file_close(f);
	return false;
}

/* Whole records among the first `len` bytes of the buffer. */
struct run {
	size_t bytes;
	uint64_t records;
	uint64_t loss;		/* what is missing without them */
};

static struct run whole_records(const struct file *f, size_t from, size_t len)
{
	const char *bytes = f->buffer + from;
	struct run r = { 0 };
	size_t n;

	while ((n = f->format->next(bytes + r.bytes, len - r.bytes))) {
		r.records++;
		r.loss += file_loss(f->format, bytes + r.bytes, n);
		r.bytes += n;
	}
	return r;
}

/* The buffer is lost from this byte on. */
static void give_up(struct file *f, size_t from, uint64_t *lost)
{
	struct run r = whole_records(f, from, f->used - from);

	*lost += r.loss;
	f->last -= r.records;
	if (f->format->wrote)
		f->format->wrote(f, from);
	f->used = 0;
	file_close(f);
}

/* Somebody emptied the file: what is in the buffer is the first in it. */
static bool begin_again(struct file *f)
{
	f->emptied = true;
	f->begun++;
	f->size = 0;
	f->walk.ino = 0;
	f->last = whole_records(f, 0, f->used).records;
	if (f->format->renumber)
		f->format->renumber(f);
	return begin(f);
}

/*
 * Emptied in its place (logrotate's copytruncate): it begins again. One that
 * was changed otherwise may end with half a record: it is opened anew, and how
 * many are missing is known then.
 */
static bool notice_emptied(struct file *f, uint64_t *lost)
{
	struct stat st;
	uint64_t size;

	if (f->fd < 0 || fstat(f->fd, &st) || (uint64_t)st.st_size == f->size)
		return true;
	size = (uint64_t)st.st_size;
	if (size > f->size && f->format->may_end &&
	    f->format->may_end(f->fd, size)) {
		f->size = size;
		return true;
	}
	if (!size && begin_again(f))
		return true;
	if (size)
		file_fail(f, "%s: somebody changed it from %" PRIu64 " to %" PRIu64 " bytes",
			  f->path, f->size, size);
	give_up(f, 0, lost);
	f->walk.ino = 0;
	f->cut_last = f->last;
	f->cut_ino = st.st_ino;
	return false;
}

/* Returns how many bytes of the buffer were written, all or with a reason. */
static size_t write_buffer(struct file *f)
{
	size_t done = write_all(f->fd, f->buffer, f->used);

	if (done < f->used)
		file_fail(f, "%s: %s", f->path, strerror(errno));
	return done;
}

/*
 * Emptied between the look and the write: the file has nothing but what was
 * just written, which belongs behind the beginning of one.
 */
static bool was_emptied_meanwhile(struct file *f, size_t written)
{
	struct stat st;

	return f->size && !fstat(f->fd, &st) &&
	       (uint64_t)st.st_size == written && !ftruncate(f->fd, 0);
}

bool file_flush(struct file *f, uint64_t *lost)
{
	size_t done, whole;

	if (!notice_emptied(f, lost))
		return false;
	if (!f->used)
		return true;
	done = write_buffer(f);
	if (was_emptied_meanwhile(f, done))
		done = begin_again(f) ? write_buffer(f) : 0;
	if (done == f->used) {
		f->size += f->used;
		if (f->format->wrote)
			f->format->wrote(f, f->used);
		f->used = 0;
		return true;
	}
	whole = whole_records(f, 0, done).bytes;
	if (whole < done)
		cut_back(f, done - whole);
	give_up(f, whole, lost);
	return false;
}

/*
 * May `path` be renamed over? What is not of our format is somebody else's.
 */
static bool may_replace(struct file *f, const char *path)
{
	char start[FILE_START_MAX], found[FILE_START_MAX];
	size_t want = f->format->start(start);
	struct stat st;
	ssize_t n = -1;
	int fd;

	fd = open(path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);
	if (fd < 0)
		return errno == ENOENT ||
		       file_fail(f, "%s: %s, so %s is not rotated", path,
				 strerror(errno), f->path);
	if (flock(fd, LOCK_EX | LOCK_NB) && errno == EWOULDBLOCK) {
		close(fd);
		return file_fail(f, "%s: is written by another process, or for another option, so %s is not rotated",
				 path, f->path);
	}
	if (!fstat(fd, &st) && S_ISREG(st.st_mode))
		n = read(fd, found, want);
	close(fd);
	return !n || (n == (ssize_t)want && !memcmp(found, start, want)) ||
	       file_fail(f, "%s: is no file of osmsnoop, so %s is not rotated",
			 path, f->path);
}

void file_rotated_name(const struct file *f, uint32_t number, char *name,
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
		file_rotated_name(f, i, path, sizeof(path));
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
		file_rotated_name(f, i, name, sizeof(name));
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
		       file_fail(f, "%s: cannot be removed: %s", f->path,
				 strerror(errno));
	for (i = first_gap(f); i > 0; i--) {
		file_rotated_name(f, i, to, sizeof(to));
		file_rotated_name(f, i - 1, from, sizeof(from));
		if (rename(from, to) && errno != ENOENT)
			return file_fail(f, "%s: cannot be renamed to %s: %s",
					 from, to, strerror(errno));
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
	if (f->size + f->used + len <= f->turn_at || !f->last)
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

bool file_put(struct file *f, const char *record, size_t len, uint64_t *lost)
{
	size_t most = len + f->format->rest;

	/* its number is the next of the file that it comes to lie in */
	if (!turn(f, most, lost))
		return false;
	if (f->used + most > sizeof(f->buffer) && !file_flush(f, lost))
		return false;
	f->used += f->format->put(f, f->buffer + f->used, ++f->last, record,
				  len);
	return true;
}
