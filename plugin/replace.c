/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "replace.h"

enum { FILE_MODE = 0644, MARK_MAX = 64 };

static bool fail(struct replace *r, const char *path, const char *why)
{
	snprintf(r->reason, sizeof(r->reason), "%s: %s", path, why);
	return false;
}

void replace_init(struct replace *r, const char *path, const char *mark)
{
	r->mark = mark;
	r->fd = -1;
	r->reason[0] = '\0';
	snprintf(r->path, sizeof(r->path), "%s", path);
	snprintf(r->beside, sizeof(r->beside), "%s" REPLACE_SUFFIX, r->path);
}

void replace_close(struct replace *r)
{
	if (r->fd >= 0)
		close(r->fd);
	r->fd = -1;
}

static bool is_same(const struct stat *a, const struct stat *b)
{
	return a->st_dev == b->st_dev && a->st_ino == b->st_ino;
}

/* Is it the one that we have written last, and that we hold the lock of? */
static bool is_last(const struct replace *r, const struct stat *there)
{
	struct stat last;

	return r->fd >= 0 && !fstat(r->fd, &last) && is_same(&last, there);
}

/* NULL, or why it may not be taken away. */
static const char *look_at(const struct replace *r, int fd, bool any)
{
	const size_t len = strlen(r->mark);
	char found[MARK_MAX];
	struct stat st;

	if (fstat(fd, &st))
		return strerror(errno);
	if (!S_ISREG(st.st_mode))
		return "is no regular file";
	if (is_last(r, &st))
		return NULL;
	if (flock(fd, LOCK_EX | LOCK_NB))
		return errno == EWOULDBLOCK ?
			"is written by another process" : strerror(errno);
	if (any || !st.st_size ||
	    (pread(fd, found, len, 0) == (ssize_t)len &&
	     !memcmp(found, r->mark, len)))
		return NULL;
	return "is no file of osmsnoop's metrics";
}

/*
 * May what is there be replaced? `any`: whatever it says, as half a text of a
 * process that was killed.
 */
static bool may_go(struct replace *r, const char *path, bool any)
{
	/* not blocking: it may be a pipe */
	int fd = open(path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK |
				    O_NOCTTY);
	const char *why;

	if (fd < 0 && errno == ENOENT)
		return true;
	if (fd < 0)
		return fail(r, path, errno == ELOOP ? "is a symbolic link" :
						      strerror(errno));
	why = look_at(r, fd, any);
	close(fd);
	return !why || fail(r, path, why);
}

static bool write_all(int fd, const char *text, size_t len)
{
	ssize_t n;

	while (len) {
		n = write(fd, text, len);
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return false;
		text += n;
		len -= (size_t)n;
	}
	return true;
}

/* Another process that began at the same moment may have made it anew. */
static bool is_ours(const struct replace *r, int fd)
{
	struct stat here, there;

	errno = EBUSY;
	return !fstat(fd, &here) && !lstat(r->beside, &there) &&
	       is_same(&here, &there);
}

bool replace_write(struct replace *r, const char *text, size_t len)
{
	int fd;

	if (!may_go(r, r->path, false) || !may_go(r, r->beside, true))
		return false;
	if (unlink(r->beside) && errno != ENOENT)
		return fail(r, r->beside, strerror(errno));
	fd = open(r->beside, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC,
		  FILE_MODE);
	if (fd < 0)
		return fail(r, r->beside, strerror(errno));
	/* the mode is that whatever the umask */
	if (!flock(fd, LOCK_EX | LOCK_NB) && !fchmod(fd, FILE_MODE) &&
	    write_all(fd, text, len) && is_ours(r, fd) &&
	    !rename(r->beside, r->path)) {
		replace_close(r);
		r->fd = fd;
		return true;
	}
	fail(r, r->path, strerror(errno));
	unlink(r->beside);
	close(fd);
	return false;
}
