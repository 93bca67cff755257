/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * A folder of its own for each test, and disks that do not play along: a
 * small tmpfs and size limits are real ones.
 */
#ifndef OSMSNOOP_TEST_DISK_H
#define OSMSNOOP_TEST_DISK_H

#include <check.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#define SECOND UINT64_C(1000000000)

/* The folder, and the file in it that the test is about. */
static char dir[64], path[96];

static inline const char *beside(const char *suffix)
{
	static char buf[128];

	snprintf(buf, sizeof(buf), "%s%s", path, suffix);
	return buf;
}

static inline void disk_setup(void)
{
	strcpy(dir, "/tmp/osmsnoop-file-XXXXXX");
	ck_assert_ptr_nonnull(mkdtemp(dir));
	snprintf(path, sizeof(path), "%s/t.jsonl", dir);
}

static inline void empty_dir(void)
{
	DIR *d = opendir(dir);
	struct dirent *entry;
	char name[512];

	ck_assert_ptr_nonnull(d);
	while ((entry = readdir(d))) {
		snprintf(name, sizeof(name), "%s/%s", dir, entry->d_name);
		if (entry->d_name[0] == '.')
			continue;
		if (unlink(name))
			rmdir(name);
	}
	closedir(d);
}

static inline void disk_teardown(void)
{
	empty_dir();
	umount2(dir, MNT_DETACH);
	empty_dir();
	rmdir(dir);
}

/* The whole of a file, as a string, until the next call. */
static inline const char *content(const char *name)
{
	static char *text;
	struct stat st;
	int fd = open(name, O_RDONLY);

	if (fd < 0)
		ck_abort_msg("%s: %s", name, strerror(errno));
	fstat(fd, &st);
	free(text);
	text = calloc(1, (size_t)st.st_size + 1);
	ck_assert_int_eq(read(fd, text, (size_t)st.st_size), st.st_size);
	close(fd);
	return text;
}

static inline unsigned count(const char *text, const char *what)
{
	unsigned n = 0;

	for (; (text = strstr(text, what)); text += strlen(what))
		n++;
	return n;
}

static inline void write_file(const char *name, const char *text)
{
	FILE *f = fopen(name, "w");

	ck_assert_ptr_nonnull(f);
	fputs(text, f);
	fclose(f);
}

/*
 * Whole lines of ours alone, numbered from `first` without a gap. Returns the
 * last number. (Check tells its parent of each assertion that passes: one a
 * line would be too slow.)
 */
static inline uint64_t check_lines(const char *name, uint64_t first)
{
	const char *line = content(name), *end;
	char start[64];

	for (; *line; line = end + 1) {
		end = strchr(line, '\n');
		if (!end)
			ck_abort_msg("%s: half a line: %s", name, line);
		snprintf(start, sizeof(start), "{\"seq\":%" PRIu64 ",", first);
		if (strncmp(line, start, strlen(start)) || end[-1] != '}')
			ck_abort_msg("%s: not line %" PRIu64 ": %.60s", name,
				     first, line);
		first++;
	}
	return first - 1;
}

/*
 * Files may grow to so many bytes, those of check and of the OpenSM log too:
 * nothing may be asserted under a limit. Its signal has its default, which is
 * to end the process.
 */
static inline void limit_size(rlim_t bytes)
{
	struct rlimit limit;

	signal(SIGXFSZ, SIG_DFL);
	getrlimit(RLIMIT_FSIZE, &limit);
	limit.rlim_cur = bytes;
	if (setrlimit(RLIMIT_FSIZE, &limit))
		abort();
}

static inline bool write_proc(const char *name, const char *text)
{
	FILE *f = fopen(name, "w");

	if (!f)
		return false;
	fputs(text, f);
	return !fclose(f);
}

/* Whoever is not root needs a user namespace, and stays the same user in it. */
static inline bool own_namespace(void)
{
	char uid_map[64], gid_map[64];

	if (!geteuid())
		return !unshare(CLONE_NEWNS);
	snprintf(uid_map, sizeof(uid_map), "%u %u 1\n", geteuid(), geteuid());
	snprintf(gid_map, sizeof(gid_map), "%u %u 1\n", getegid(), getegid());
	return !unshare(CLONE_NEWUSER | CLONE_NEWNS) &&
	       write_proc("/proc/self/setgroups", "deny") &&
	       write_proc("/proc/self/uid_map", uid_map) &&
	       write_proc("/proc/self/gid_map", gid_map);
}

/*
 * A tmpfs of two pages at dir, in a mount namespace of this process alone.
 * False where this is not allowed: then the test cannot be done.
 */
static inline bool mount_small(void)
{
	if (own_namespace() &&
	    !mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) &&
	    !mount("tmpfs", dir, "tmpfs", 0, "size=8k"))
		return true;
	printf("%s: a tmpfs cannot be mounted here: %s\n",
	       getenv("CI") ? "failed" : "skipped", strerror(errno));
	ck_assert_msg(!getenv("CI") || strcmp(getenv("CI"), "true"),
		      "in CI this test has to run");
	return false;
}

#endif /* OSMSNOOP_TEST_DISK_H */
