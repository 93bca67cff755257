/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * The format of an audit: numbered JSON lines, chained (chain.h). The chain
 * goes on from the last record that is in a file, whatever became of those put
 * behind it. The sidecar PATH.chain names that record. It is written after it,
 * so after a crash it may name an earlier one, of a flush before, but never one
 * that is not there: where it does, the file's end was cut off.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "file_lines.h"

enum { SIDE_PATH_MAX = PATH_MAX + 16 };

/* The sidecar */

static void side_name(const struct file *f, char name[SIDE_PATH_MAX])
{
	snprintf(name, SIDE_PATH_MAX, "%s.chain", f->path);
}

static void side_fails(struct file *f, const char *why)
{
	if (!f->chain.side_failed)
		file_note(f, "5D2A",
			  "%s.chain: %s -- that the end of %s was cut off cannot be told without it",
			  f->path, why, f->path);
	f->chain.side_failed = true;
}

/* Its size, or -1 when it is somebody else's file. */
static off_t side_size(int fd)
{
	char text[CHAIN_MARK];
	struct chain_mark mark;
	struct stat st;

	if (fstat(fd, &st) || !S_ISREG(st.st_mode))
		return -1;
	if (!st.st_size)
		return 0;
	if (st.st_size != CHAIN_MARK ||
	    pread(fd, text, sizeof(text), 0) != (ssize_t)sizeof(text) ||
	    !chain_read_mark(text, sizeof(text), &mark))
		return -1;
	return st.st_size;
}

/* Whoever may read the file may read this. Not worth more than a try. */
static void side_like_file(const struct file *f, int side)
{
	struct stat st;

	if (fstat(f->fd, &st))
		return;
	if (fchown(side, st.st_uid, st.st_gid))
		errno = 0;
	if (fchmod(side, st.st_mode & 0666))
		errno = 0;
}

static void side_close(struct file *f)
{
	if (f->chain.side >= 0)
		close(f->chain.side);
	f->chain.side = -1;
}

/* It is open, and where it belongs. */
static bool side_is_ready(struct file *f)
{
	char name[SIDE_PATH_MAX];
	bool created;

	side_name(f, name);
	if (f->chain.side >= 0 && !file_is_elsewhere(f->chain.side, name))
		return true;
	side_close(f);
	f->chain.side = file_open_or_create(name, &created);
	if (f->chain.side < 0) {
		side_fails(f, errno == ELOOP ? "is a symbolic link" :
					       strerror(errno));
		return false;
	}
	/* opened to append, where pwrite() does not care for the place */
	if (side_size(f->chain.side) < 0 ||
	    fcntl(f->chain.side, F_SETFL, 0)) {
		side_fails(f, "is not empty, and no file of osmsnoop");
		side_close(f);
		return false;
	}
	side_like_file(f, f->chain.side);
	return true;
}

static void side_write(struct file *f, const struct chain_mark *mark)
{
	char text[CHAIN_MARK];
	ssize_t n;

	if (!side_is_ready(f))
		return;
	chain_write_mark(mark, text);
	n = file_write_calmly(f->chain.side, text, sizeof(text), 0);
	if (n == (ssize_t)sizeof(text))
		f->chain.side_failed = false;
	else
		side_fails(f, n < 0 ? strerror(errno) : "is cut short");
}

/* False: there is none, or none that can be read. */
static bool side_read(const struct file *f, struct chain_mark *mark)
{
	char name[SIDE_PATH_MAX], text[CHAIN_MARK + 1];
	ssize_t n;
	int fd;

	side_name(f, name);
	fd = open(name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);
	if (fd < 0)
		return false;
	n = read(fd, text, sizeof(text));
	close(fd);
	return n > 0 && chain_read_mark(text, (size_t)n, mark);
}

/*
 * Where a file ends. All flushes are shorter than what is read of it, so that
 * the record that the sidecar names is in there after a crash, or is the one
 * that the file's first record goes on from.
 */

static bool names_this(const struct chain_mark *mark, const char *text,
		       size_t len)
{
	char hex[CHAIN_HEX];

	chain_hex(mark->value, hex);
	return memmem(text, len, hex, sizeof(hex));
}

/* The end of what was rotated while nobody wrote; reads over the buffer. */
static bool read_previous(struct file *f, const struct chain_mark *mark,
			  struct chain_line *last)
{
	char name[SIDE_PATH_MAX];
	size_t len, n = 0;
	const char *line;
	struct stat st;
	ssize_t got;
	off_t from;
	int fd;

	file_rotated_name(f, 1, name, sizeof(name));
	fd = open(name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);
	if (fd < 0)
		return false;
	if (!fstat(fd, &st) && S_ISREG(st.st_mode)) {
		from = st.st_size > (off_t)sizeof(f->buffer) ?
			       st.st_size - (off_t)sizeof(f->buffer) : 0;
		got = pread(fd, f->buffer, sizeof(f->buffer), from);
		n = got > 0 ? (size_t)got : 0;
	}
	close(fd);
	while (n && f->buffer[n - 1] != '\n')
		n--;
	line = lines_last(f->buffer, n, &len);
	return line && chain_read(line, len - 1, last) && last->chained &&
	       (!mark || names_this(mark, f->buffer, n));
}

/*
 * A new file goes on from the one that was written last: of this process, or
 * by the sidecar, or what is found beside it where the sidecar is behind.
 */
static void begin(struct file *f)
{
	struct file_chain *c = &f->chain;
	struct chain_mark mark;
	struct chain_line last;
	bool marked;

	if (c->known)
		return;
	memset(c->written, 0, sizeof(c->written));
	marked = side_read(f, &mark);
	if (read_previous(f, marked ? &mark : NULL, &last))
		memcpy(c->written, last.value, sizeof(c->written));
	else if (marked)
		memcpy(c->written, mark.value, sizeof(c->written));
}

/* Was its end cut off while nobody wrote it? */
static void compare(struct file *f, const struct lines_tail *tail)
{
	struct chain_mark mark;

	if (f->chain.known || !side_read(f, &mark) || !mark.seq ||
	    names_this(&mark, tail->text, tail->len))
		return;
	if (mark.seq > f->last)
		f->cut_off = mark.seq - f->last;
	file_note(f, "5D29",
		  "%s: its end is not as it was left: record %" PRIu64 ", which %s.chain names, is not there; it ends with record %" PRIu64,
		  f->path, mark.seq, f->path, f->last);
}

/* A line without a chain is of an older version: the chain begins behind it. */
static bool find_end(struct file *f, uint64_t *end)
{
	struct file_chain *c = &f->chain;
	struct lines_tail tail;
	struct chain_line last;

	if (!lines_find_tail(f, &tail))
		return false;
	*end = tail.end;
	c->begun = tail.line &&
		   chain_read(tail.line, tail.line_len - 1, &last) &&
		   last.chained;
	if (c->begun)
		memcpy(c->written, last.value, sizeof(c->written));
	else if (tail.line)
		memset(c->written, 0, sizeof(c->written));
	if (tail.line)
		compare(f, &tail);
	else
		begin(f);
	memcpy(c->value, c->written, sizeof(c->value));
	return true;
}

/* The sidecar takes its room before the disk is full. */
static void opened(struct file *f)
{
	struct chain_mark mark = { .seq = f->chain.begun ? f->last : 0 };

	f->chain.known = true;
	memcpy(mark.value, f->chain.written, sizeof(mark.value));
	if (side_is_ready(f) && !side_size(f->chain.side))
		side_write(f, &mark);
}

/* Records */

static size_t put_from(char *to, const uint8_t value[CHAIN_SIZE])
{
	memcpy(to, "\"chain_from\":\"", 14);
	chain_hex(value, to + 14);
	memcpy(to + 14 + CHAIN_HEX, "\",", 2);
	return CHAIN_FROM_MEMBER;
}

/* The end of a line, of which there are so many bytes. */
static size_t seal(struct file_chain *c, char *line, size_t len)
{
	char *to = line + len;

	chain_step(c->value, line, len);
	memcpy(to, ",\"chain\":\"", 10);
	chain_hex(c->value, to + 10);
	memcpy(to + 10 + CHAIN_HEX, "\"}\n", 3);
	c->begun = true;
	return len + CHAIN_MEMBER + 2;
}

static size_t put(struct file *f, char *to, uint64_t number,
		  const char *members, size_t len)
{
	size_t n = lines_put_number(to, number);

	if (!f->chain.begun)
		n += put_from(to + n, f->chain.value);
	/* renumber() has them in the same buffer */
	memmove(to + n, members, len);
	return seal(&f->chain, to, n + len);
}

/*
 * The first one gets longer by its chain_from, for which each record leaves
 * room; so from the end of the buffer to its beginning.
 */
static void renumber(struct file *f)
{
	char *end = f->buffer + sizeof(f->buffer), *from = end - f->used;
	char *to = f->buffer, *members, *behind;
	struct chain_line line;
	uint64_t number = 0;

	memmove(from, f->buffer, f->used);
	memcpy(f->chain.value, f->chain.written, sizeof(f->chain.value));
	f->chain.begun = false;
	for (; from < end; from = behind) {
		behind = from + lines_next(from, (size_t)(end - from));
		chain_read(from, (size_t)(behind - from) - 1, &line);
		members = (char *)memchr(from, ',', line.body) + 1 +
			  (line.begins ? CHAIN_FROM_MEMBER : 0);
		to += put(f, to, ++number, members,
			  (size_t)(from + line.body - members));
	}
	f->used = (size_t)(to - f->buffer);
}

static void wrote(struct file *f, size_t len)
{
	struct file_chain *c = &f->chain;
	struct chain_line last;
	struct chain_mark mark;
	size_t line_len;
	const char *line = lines_last(f->buffer, len, &line_len);

	if (line && chain_read(line, line_len - 1, &last)) {
		mark.seq = last.seq;
		memcpy(mark.value, last.value, sizeof(mark.value));
		memcpy(c->written, last.value, sizeof(c->written));
		side_write(f, &mark);
	}
	memcpy(c->value, c->written, sizeof(c->value));
}

const struct file_format file_chain = {
	.half = "half a line",
	.rest = LINE_REST + CHAIN_MEMBER + CHAIN_FROM_MEMBER,
	.start = lines_start,
	.find_end = find_end,
	.may_end = lines_may_end,
	.put = put,
	.next = lines_next,
	.renumber = renumber,
	.opened = opened,
	.wrote = wrote,
	.closed = side_close,
};
