/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * A small file that is written as a whole, again and again: whoever reads it
 * finds one text or the next. It is written beside, as FILE.tmp, and renamed.
 * Nothing is written through a symbolic link or over what is not of our own,
 * and the file has a lock, so that two processes do not write it in turns. One
 * thread at a time; it may be blocked by the disk.
 */
#ifndef OSMSNOOP_REPLACE_H
#define OSMSNOOP_REPLACE_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>

/* What is behind the name of the file that is being written. */
#define REPLACE_SUFFIX ".tmp"

struct replace {
	const char *mark;	/* what each text begins with */
	int fd;			/* of the last one, with the lock; -1 = none */
	char path[PATH_MAX];
	char beside[PATH_MAX + sizeof(REPLACE_SUFFIX)];
	char reason[PATH_MAX + 128];	/* why it failed, with the path */
};

/* `path` is absolute. */
void replace_init(struct replace *r, const char *path, const char *mark);
/* False, with a reason: the file is as it was. */
bool replace_write(struct replace *r, const char *text, size_t len);
void replace_close(struct replace *r);

#endif /* OSMSNOOP_REPLACE_H */
