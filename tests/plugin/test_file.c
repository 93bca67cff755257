/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * plugin/file.c, and the sinks above it: what they refuse, what is in the
 * files after a kill, a full disk, a rotation, and how many lines are missing.
 * Full disks are real ones (a small tmpfs), so are size limits and killed
 * writers; the OpenSM log is libopensm's, in a file.
 */
#include <check.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <opensm/osm_config.h>
#include <opensm/osm_log.h>

#include "file.h"
#include "sink.h"

#define SECOND UINT64_C(1000000000)

static char dir[64], path[96], log_path[96];
static struct file *file;
static uint64_t lost;
static osm_log_t log_object;
static struct options options;

static const char *beside(const char *suffix)
{
	static char buf[128];

	snprintf(buf, sizeof(buf), "%s%s", path, suffix);
	return buf;
}

static void setup(void)
{
	strcpy(dir, "/tmp/osmsnoop-file-XXXXXX");
	ck_assert_ptr_nonnull(mkdtemp(dir));
	snprintf(path, sizeof(path), "%s/t.jsonl", dir);
	snprintf(log_path, sizeof(log_path), "%s.log", dir);
	file = malloc(sizeof(*file));
	ck_assert_ptr_nonnull(file);
	file_init(file, path, 1 << 30, 8);
	lost = 0;

	osm_log_construct(&log_object);
	ck_assert_int_eq(osm_log_init_v2(&log_object, TRUE, OSM_LOG_ALL,
					 log_path, 0, FALSE), IB_SUCCESS);
	options_default(&options);
	options.log = LOG_NONE;
}

static void empty_dir(void)
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

static void teardown(void)
{
	file_close(file);
	free(file);
	osm_log_destroy(&log_object);
	empty_dir();
	umount2(dir, MNT_DETACH);
	empty_dir();
	rmdir(dir);
	unlink(log_path);
}

/* The whole of a file, as a string, until the next call. */
static const char *content(const char *name)
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

static unsigned count(const char *text, const char *what)
{
	unsigned n = 0;

	for (; (text = strstr(text, what)); text += strlen(what))
		n++;
	return n;
}

static unsigned logged(const char *what)
{
	return count(content(log_path), what);
}

static void write_file(const char *name, const char *text)
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
static uint64_t check_lines(const char *name, uint64_t first)
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

static bool put(const char *text)
{
	char line[70000];
	int len;

	if (!file_turn(file, strlen(text) + 32, &lost))
		return false;
	len = snprintf(line, sizeof(line), "{\"seq\":%" PRIu64 ",%s}\n",
		       file->last_line + 1, text);
	return file_put(file, line, (size_t)len, &lost);
}

static mode_t mode_of(const char *name)
{
	struct stat st;

	ck_assert_int_eq(lstat(name, &st), 0);
	return st.st_mode & 07777;
}

static void check_refused(const char *reason)
{
	ck_assert(!file_open(file));
	ck_assert(!file_is_open(file));
	ck_assert_msg(strstr(file->reason, reason) &&
		      strstr(file->reason, path),
		      "'%s' in '%s'", reason, file->reason);
}

START_TEST(test_not_a_file)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	int s = socket(AF_UNIX, SOCK_STREAM, 0);

	/* a link is not followed, whether it leads somewhere or not */
	write_file(beside(".real"), "");
	ck_assert_int_eq(symlink(beside(".real"), path), 0);
	check_refused("is a symbolic link");
	ck_assert_str_eq(content(beside(".real")), "");
	unlink(beside(".real"));
	check_refused("is a symbolic link");
	ck_assert_int_eq(access(beside(".real"), F_OK), -1);
	unlink(path);

	/* with nobody at the other end; check stops a test that blocks */
	ck_assert_int_eq(mkfifo(path, 0600), 0);
	check_refused("no regular file");
	unlink(path);

	ck_assert_int_eq(mkdir(path, 0700), 0);
	check_refused("directory");
	rmdir(path);

	strcpy(address.sun_path, path);
	ck_assert_int_eq(bind(s, (struct sockaddr *)&address, sizeof(address)),
			 0);
	check_refused("No such device");
	close(s);
	unlink(path);

	file_init(file, "/dev/null", 1 << 20, 1);
	ck_assert(!file_open(file));
	ck_assert_ptr_nonnull(strstr(file->reason, "no regular file"));

	snprintf(path, sizeof(path), "%s/no/t.jsonl", dir);
	file_init(file, path, 1 << 20, 1);
	check_refused("No such file or directory");
	snprintf(path, sizeof(path), "%s.log/t.jsonl", dir);
	file_init(file, path, 1 << 20, 1);
	check_refused("Not a directory");
}
END_TEST

/* A path that was mistaken must not cost somebody else's file its end. */
START_TEST(test_foreign_file)
{
	static const char *const texts[] = {
		"hello", "hello\n", "hello\nworld", "\n", "{}\n",
		"{\"a\":1,\"seq\":5}\n", "{\"seq", "{\"seq\":",
		"x{\"seq\":1}\n",
	};
	size_t i;

	for (i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		write_file(path, texts[i]);
		if (!strncmp(texts[i], "{\"seq", 5)) {
			/* the beginning of a line of ours */
			ck_assert(file_open(file));
			file_close(file);
			ck_assert_str_eq(content(path), "");
			continue;
		}
		check_refused("no file of osmsnoop");
		ck_assert_str_eq(content(path), texts[i]);
	}
}
END_TEST

START_TEST(test_second_writer)
{
	struct file *second = malloc(sizeof(*second));
	int status;
	pid_t pid;

	ck_assert(file_open(file));
	file_init(second, path, 1 << 20, 1);
	ck_assert(!file_open(second));
	ck_assert_ptr_nonnull(strstr(second->reason,
				     "written by another process"));
	free(second);

	/* and from another process */
	pid = fork();
	if (!pid) {
		file->fd = -1;
		_exit(file_open(file) ? 1 : 0);
	}
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	ck_assert_int_eq(status, 0);

	ck_assert(put("\"a\":1"));
	ck_assert(file_flush(file, &lost));
	ck_assert_uint_eq(check_lines(path, 1), 1);
	ck_assert_uint_eq(lost, 0);
}
END_TEST

START_TEST(test_mode)
{
	static const mode_t masks[] = { 0, 022, 027, 077, 0777 };
	size_t i;

	for (i = 0; i < sizeof(masks) / sizeof(masks[0]); i++) {
		umask(masks[i]);
		ck_assert(file_open(file));
		file_close(file);
		umask(022);
		ck_assert_uint_eq(mode_of(path), 0640);
		unlink(path);
	}

	/* what somebody made for us, logrotate say, stays as it was made */
	write_file(path, "");
	ck_assert_int_eq(chmod(path, 0600), 0);
	ck_assert(file_open(file));
	ck_assert_uint_eq(mode_of(path), 0600);
}
END_TEST

START_TEST(test_continue)
{
	char *big = malloc(66000);
	FILE *f;
	int i;

	for (i = 1; i <= 3; i++) {
		ck_assert(file_open(file));
		ck_assert_uint_eq(file->last_line, 2u * (unsigned)i - 2);
		ck_assert(!file->torn);
		ck_assert(put("\"a\":1"));
		ck_assert(put("\"b\":\"\\\"seq\\\":99\""));
		ck_assert(file_flush(file, &lost));
		file_close(file);
	}
	ck_assert_uint_eq(check_lines(path, 1), 6);

	/* the longest line there may be */
	memset(big, 'x', 65540);
	big[0] = big[65539] = '"';
	big[65540] = '\0';
	ck_assert(file_open(file));
	ck_assert(put(big));
	ck_assert(file_flush(file, &lost));
	ck_assert(file_open(file));
	ck_assert_uint_eq(file->last_line, 7);
	file_close(file);
	free(big);

	/* what an administrator noted there is no line of ours */
	f = fopen(path, "a");
	fputs("# moved to the other rack\n", f);
	fclose(f);
	ck_assert(file_open(file));
	ck_assert_uint_eq(file->last_line, 7);
	ck_assert_uint_eq(lost, 0);
}
END_TEST

START_TEST(test_torn_line)
{
	static const char whole[] =
		"{\"seq\":1,\"a\":1}\n{\"seq\":2,\"a\":1}\n";
	static const char *const torn[] = {
		"{", "{\"seq\":3,\"a\"", "{\"seq\":3,\"a\":1}", "\\x00",
	};
	char text[128];
	size_t i;

	for (i = 0; i < sizeof(torn) / sizeof(torn[0]); i++) {
		snprintf(text, sizeof(text), "%s%s", whole, torn[i]);
		write_file(path, text);
		ck_assert(file_open(file));
		ck_assert(file->torn);
		ck_assert_uint_eq(file->last_line, 2);
		ck_assert_uint_eq(file->size, strlen(whole));
		ck_assert(put("\"b\":2"));
		ck_assert(file_flush(file, &lost));
		file_close(file);
		ck_assert_uint_eq(check_lines(path, 1), 3);
	}
	/* zeroes, as some file systems leave them after a power failure */
	write_file(path, whole);
	ck_assert_int_eq(truncate(path, 4096), 0);
	ck_assert(file_open(file));
	ck_assert(file->torn);
	ck_assert_uint_eq(file->last_line, 2);
	ck_assert_str_eq(content(path), whole);
}
END_TEST

/* kill -9 while it writes: the next one goes on behind the last whole line. */
START_TEST(test_killed)
{
	uint64_t last;
	int i, status;
	pid_t pid;

	file_init(file, path, 1 << 20, 2);
	for (i = 0; i < 20; i++) {
		pid = fork();
		if (!pid) {
			if (!file_open(file))
				_exit(1);
			for (;;)
				if (!put("\"a\":\"of one that is killed\"") ||
				    !file_flush(file, &lost))
					_exit(2);
		}
		usleep(5000 + 700 * (unsigned)i);
		kill(pid, SIGKILL);
		ck_assert_int_eq(waitpid(pid, &status, 0), pid);
		ck_assert(WIFSIGNALED(status));
		if (access(path, F_OK))
			continue;
		ck_assert(file_open(file));
		last = file->last_line;
		file_close(file);
		ck_assert_uint_eq(check_lines(path, 1), last);
	}
}
END_TEST

static void check_rotation(uint32_t max_files, unsigned lines)
{
	char text[4000], name[16];
	uint32_t i;

	memset(text, 'x', sizeof(text));
	text[0] = text[sizeof(text) - 2] = '"';
	text[sizeof(text) - 1] = '\0';
	file_init(file, path, 64 * 1024, max_files);
	ck_assert(file_open(file));
	while (lines--)
		ck_assert(put(text));
	ck_assert(file_flush(file, &lost));
	file_close(file);
	ck_assert_uint_eq(lost, 0);

	/* 16 lines of 4 KB each are one file, and each begins with 1 */
	ck_assert_uint_ge(check_lines(path, 1), 1);
	for (i = 1; i < max_files; i++) {
		snprintf(name, sizeof(name), ".%u", i);
		ck_assert_uint_eq(check_lines(beside(name), 1), 16);
		ck_assert_uint_eq(mode_of(beside(name)), 0640);
	}
	snprintf(name, sizeof(name), ".%u", max_files);
	ck_assert_int_eq(access(beside(name), F_OK), -1);
	empty_dir();
}

START_TEST(test_rotation)
{
	check_rotation(1, 40);
	check_rotation(2, 40);
	check_rotation(8, 200);
	/* a file stays within its size, one line that is larger excepted */
	check_rotation(2, 33);
}
END_TEST

#define LONG_LINE "\"a\":\"0123456789012345678901234567890123456789\""

/* Rather too long a file than none, or than one of somebody else's gone. */
START_TEST(test_rotation_fails)
{
	file_init(file, path, 64, 3);
	ck_assert(file_open(file));
	ck_assert(put(LONG_LINE));
	write_file(beside(".2"), "precious\n");
	ck_assert(put(LONG_LINE));
	ck_assert(file->not_turned);
	ck_assert_ptr_nonnull(strstr(file->reason, ".2: is no file of"));
	ck_assert_uint_eq(lost, 0);
	ck_assert_str_eq(content(beside(".2")), "precious\n");

	/* nor can a folder be replaced; nothing has moved meanwhile */
	unlink(beside(".2"));
	ck_assert_int_eq(mkdir(beside(".2"), 0700), 0);
	file->not_turned = false;
	ck_assert(put(LONG_LINE));
	ck_assert(file->not_turned);
	ck_assert(file_flush(file, &lost));
	ck_assert_uint_eq(check_lines(path, 1), 3);
	ck_assert_int_eq(access(beside(".1"), F_OK), -1);

	/* it is tried again when the file has grown as much again */
	rmdir(beside(".2"));
	ck_assert(put(LONG_LINE));
	ck_assert_uint_eq(file->last_line, 1);
	ck_assert_uint_eq(check_lines(beside(".1"), 1), 3);
	ck_assert_uint_eq(lost, 0);
}
END_TEST

/* copytruncate: the emptied file is a new one. */
START_TEST(test_emptied_in_its_place)
{
	file_init(file, path, 1 << 20, 2);
	ck_assert(file_open(file));
	ck_assert(put("\"a\":1"));
	ck_assert(put("\"a\":2"));
	ck_assert(file_flush(file, &lost));
	ck_assert_int_eq(truncate(path, 0), 0);
	ck_assert(file_follow(file, &lost));
	ck_assert(put("\"a\":3"));
	ck_assert(file_flush(file, &lost));
	ck_assert_uint_eq(file->last_line, 1);
	ck_assert_uint_eq(check_lines(path, 1), 1);
}
END_TEST

START_TEST(test_moved_and_removed)
{
	ck_assert(file_open(file));
	ck_assert(put("\"a\":1"));
	/* as logrotate does it: what is in the buffer belongs to the old one */
	ck_assert_int_eq(rename(path, beside("-old")), 0);
	ck_assert(file_follow(file, &lost));
	ck_assert_uint_eq(file->last_line, 0);
	ck_assert(put("\"a\":2"));
	ck_assert(file_flush(file, &lost));
	ck_assert_uint_eq(check_lines(beside("-old"), 1), 1);
	ck_assert_uint_eq(check_lines(path, 1), 1);

	/* "create": a new one stands there already */
	ck_assert_int_eq(rename(path, beside("-old")), 0);
	write_file(path, "");
	ck_assert(file_follow(file, &lost));
	ck_assert(put("\"a\":3"));
	ck_assert(file_flush(file, &lost));
	ck_assert_uint_eq(check_lines(path, 1), 1);

	unlink(path);
	ck_assert(file_follow(file, &lost));
	ck_assert(put("\"a\":4"));
	ck_assert(file_flush(file, &lost));
	ck_assert_uint_eq(check_lines(path, 1), 1);

	/* nothing happened */
	ck_assert(file_follow(file, &lost));
	ck_assert_uint_eq(file->last_line, 1);
	ck_assert_uint_eq(lost, 0);

	/* full in the moment after it was moved: that one is not touched */
	file->max_bytes = file->turn_at = 32;
	ck_assert_int_eq(rename(path, beside(".1")), 0);
	ck_assert(put("\"a\":5"));
	ck_assert_uint_eq(file->last_line, 1);
	ck_assert_ptr_nonnull(strstr(content(beside(".1")), "\"a\":4"));
	ck_assert_int_eq(access(beside(".2"), F_OK), -1);
}
END_TEST

/*
 * Files may grow to so many bytes, those of check and of the OpenSM log too:
 * nothing may be asserted under a limit. Its signal has its default, which is
 * to end the process.
 */
static void limit_size(rlim_t bytes)
{
	struct rlimit limit;

	signal(SIGXFSZ, SIG_DFL);
	getrlimit(RLIMIT_FSIZE, &limit);
	limit.rlim_cur = bytes;
	if (setrlimit(RLIMIT_FSIZE, &limit))
		abort();
}

static bool flush_within(rlim_t bytes)
{
	bool well;

	limit_size(bytes);
	well = file_flush(file, &lost);
	limit_size(RLIM_INFINITY);
	return well;
}

START_TEST(test_size_limit)
{
	const uint64_t line = strlen("{\"seq\":1,\"a\":1}\n");
	sigset_t pending;
	int i;

	ck_assert(file_open(file));
	for (i = 0; i < 9; i++)
		ck_assert(put("\"a\":1"));
	/* five lines and a half */
	ck_assert(!flush_within(5 * line + 7));
	ck_assert(!file_is_open(file));
	ck_assert_ptr_nonnull(strstr(file->reason, "File too large"));
	ck_assert_uint_eq(lost, 4);
	ck_assert_uint_eq(file->last_line, 5);
	ck_assert_uint_eq(check_lines(path, 1), 5);
	sigpending(&pending);
	ck_assert(!sigismember(&pending, SIGXFSZ));

	/* none at all */
	ck_assert(file_open(file));
	ck_assert(!file->torn);
	ck_assert(put("\"a\":1"));
	ck_assert(!flush_within(5 * line));
	ck_assert_uint_eq(lost, 5);
	ck_assert_uint_eq(check_lines(path, 1), 5);

	ck_assert(file_open(file));
	ck_assert(put("\"a\":1"));
	ck_assert(file_flush(file, &lost));
	ck_assert_uint_eq(check_lines(path, 1), 6);
	ck_assert_uint_eq(lost, 5);
}
END_TEST

/* Somebody emptied it under us (logrotate's copytruncate), then it is full. */
START_TEST(test_emptied)
{
	const uint64_t line = strlen("{\"seq\":1,\"a\":1}\n");
	int i;

	ck_assert(file_open(file));
	for (i = 0; i < 4; i++)
		ck_assert(put("\"a\":1"));
	ck_assert(file_flush(file, &lost));
	ck_assert_int_eq(truncate(path, 0), 0);
	for (i = 0; i < 4; i++)
		ck_assert(put("\"a\":1"));
	ck_assert(!flush_within(2 * line + 3));
	ck_assert_uint_eq(lost, 2);
	ck_assert_uint_eq(check_lines(path, 5), 6);
}
END_TEST

static bool write_proc(const char *name, const char *text)
{
	FILE *f = fopen(name, "w");

	if (!f)
		return false;
	fputs(text, f);
	return !fclose(f);
}

/* Whoever is not root needs a user namespace, and stays the same user in it. */
static bool own_namespace(void)
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
static bool mount_small(void)
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

START_TEST(test_full_disk)
{
	uint64_t last, n = 0;

	if (!mount_small())
		return;
	ck_assert(file_open(file));
	while (put("\"text\":\"0123456789\"")) {
		n++;
		ck_assert_uint_lt(n, 20000);
	}
	/* the buffer was full: what was in it is written or lost */
	n++;
	lost++;
	ck_assert_ptr_nonnull(strstr(file->reason, "No space left"));
	last = check_lines(path, 1);
	ck_assert_uint_gt(last, 100);
	ck_assert_uint_eq(last + lost, n);
	ck_assert_uint_eq(last, file->last_line);

	/* room again */
	unlink(path);
	ck_assert(file_open(file));
	ck_assert(put("\"a\":1"));
	ck_assert(file_flush(file, &lost));
	ck_assert_uint_eq(check_lines(path, 1), 1);
}
END_TEST

/* The sinks */

static struct sinks *sinks;

static void sinks_begin(void)
{
	sinks = sinks_open(&options, &log_object);
	ck_assert_ptr_nonnull(sinks);
}

static void put_state(void)
{
	struct record r = {
		.type = RECORD_STATE,
		.time_ns = SECOND,
		.state = { .state = "sweep_done", .sm_state = "master" },
	};

	sinks_put(sinks, &r);
}

/* An SA request by this method from this LID, answered. */
static void put_sa(uint8_t method, uint16_t lid)
{
	uint8_t mad[MAD_SIZE] = {
		[MAD_BASE_VERSION] = 1, [MAD_CLASS] = CLASS_SUBN_ADM,
		[MAD_CLASS_VERSION] = 2, [MAD_METHOD] = method,
		[MAD_ATTR_ID + 1] = 0x35,
	};
	struct record r = {
		.type = RECORD_SA,
		.time_ns = SECOND,
		.sa = { .requester = { .addr = { .lid = lid, .qpn = 1 } },
			.mad = mad, .len = sizeof(mad),
			.outcome = SA_ANSWERED, .has_response = true },
	};

	sinks_put(sinks, &r);
}

static void put_capture(enum record_type type)
{
	uint8_t mad[MAD_SIZE] = { [MAD_CLASS] = 4, [MAD_METHOD] = 1 };
	struct mad_capture capture = { .data = mad, .len = MAD_SIZE,
				       .size = MAD_SIZE };
	struct record r = { .type = type, .mad = { .capture = &capture } };

	sinks_put(sinks, &r);
}

START_TEST(test_audit_is_a_part)
{
	const char *text;

	strcpy(options.trace, path);
	strcpy(options.audit, beside(".audit"));
	sinks_begin();
	put_state();
	put_sa(METHOD_GET, 7);
	put_sa(METHOD_SET, 7);
	put_sa(METHOD_DELETE, 7);
	put_sa(METHOD_GET_TABLE, 7);
	put_capture(RECORD_MAD);
	put_capture(RECORD_SEND_ERROR);
	sinks_flush(sinks, SECOND);
	ck_assert_uint_eq(check_lines(path, 1), 7);
	ck_assert_uint_eq(check_lines(beside(".audit"), 1), 3);
	text = content(beside(".audit"));
	ck_assert_uint_eq(count(text, "\"type\":\"state\""), 1);
	ck_assert_uint_eq(count(text, "\"method\":\"Set\""), 1);
	ck_assert_uint_eq(count(text, "\"method\":\"Delete\""), 1);
	sinks_close(sinks);
	ck_assert_uint_eq(logged("ERR"), 0);
}
END_TEST

static void check_loss(const char *name, uint64_t seq, uint64_t n,
		       uint64_t total)
{
	char start[64], what[128];
	const char *line;

	snprintf(start, sizeof(start), "{\"seq\":%" PRIu64 ",", seq);
	snprintf(what, sizeof(what),
		 "\"type\":\"loss\",\"where\":\"file\",\"lost\":%" PRIu64
		 ",\"total\":%" PRIu64 "}\n", n, total);
	line = strstr(content(name), start);
	ck_assert_ptr_nonnull(line);
	ck_assert_msg(strstr(line, what) == strchr(line, '\n') + 1 -
		      strlen(what), "%s is not in %.300s", what, line);
}

/* OpenSM runs before there is a folder for the trace, or a right to it. */
START_TEST(test_cannot_open)
{
	strcpy(options.trace, path);
	ck_assert_int_eq(mkdir(path, 0700), 0);
	sinks_begin();
	ck_assert_uint_eq(logged("ERR 5D20"), 1);
	put_state();
	put_sa(METHOD_GET, 7);
	sinks_flush(sinks, SECOND);
	put_sa(METHOD_GET, 7);
	sinks_flush(sinks, SECOND + SECOND / 2);
	sinks_flush(sinks, 3 * SECOND);
	/* said once */
	ck_assert_uint_eq(logged("ERR"), 1);

	rmdir(path);
	sinks_flush(sinks, 3 * SECOND + SECOND / 2);	/* too early */
	ck_assert_int_eq(access(path, F_OK), -1);
	sinks_flush(sinks, 4 * SECOND);
	put_state();
	sinks_close(sinks);
	ck_assert_uint_eq(check_lines(path, 1), 2);
	check_loss(path, 1, 3, 3);
	ck_assert_uint_eq(logged("ERR 5D21"), 1);
	ck_assert_ptr_nonnull(strstr(content(log_path),
				     "3 records are missing"));
	ck_assert_uint_eq(logged("ERR"), 2);
}
END_TEST

START_TEST(test_never_opens)
{
	strcpy(options.trace, path);
	ck_assert_int_eq(mkdir(path, 0700), 0);
	sinks_begin();
	put_state();
	put_state();
	sinks_close(sinks);
	ck_assert_ptr_nonnull(strstr(content(log_path),
				     "ERR 5D22: "));
	ck_assert_ptr_nonnull(strstr(content(log_path),
				     "ends without 2 records"));
}
END_TEST

enum { PAD = 200 };

/* The trace is longer than the OpenSM log, which is to be within its limit. */
static off_t begin_padded(void)
{
	struct stat st;
	int i;

	strcpy(options.trace, path);
	sinks_begin();
	for (i = 0; i < PAD; i++)
		put_state();
	sinks_flush(sinks, SECOND);
	ck_assert_int_eq(stat(path, &st), 0);
	return st.st_size;
}

static void sinks_flush_within(off_t bytes, uint64_t mono_ns)
{
	limit_size((rlim_t)bytes);
	sinks_flush(sinks, mono_ns);
	limit_size(RLIM_INFINITY);
}

/* Fail and resume twice: numbers without a gap, counts exact. */
START_TEST(test_fail_and_resume)
{
	const off_t size = begin_padded(), line = size / PAD;
	struct stat st;
	int i;

	/* room for two and a half more, of five */
	for (i = 0; i < 5; i++)
		put_state();
	sinks_flush_within(size + 5 * line / 2, 2 * SECOND);
	ck_assert_uint_eq(check_lines(path, 1), PAD + 2);
	put_state();
	/* the retry has no room for the loss record either */
	sinks_flush_within(size + 5 * line / 2, 3 * SECOND);
	sinks_flush_within(size + 5 * line / 2, 4 * SECOND);
	put_state();
	ck_assert_uint_eq(check_lines(path, 1), PAD + 2);
	ck_assert_uint_eq(logged("ERR"), 1);
	sinks_flush(sinks, 5 * SECOND);
	put_state();
	sinks_flush(sinks, 6 * SECOND);
	ck_assert_uint_eq(check_lines(path, 1), PAD + 4);
	check_loss(path, PAD + 3, 5, 5);

	/* again, and this time to the end; total is since the start */
	ck_assert_int_eq(stat(path, &st), 0);
	put_state();
	sinks_flush_within(st.st_size + 1, 7 * SECOND);
	put_state();
	sinks_close(sinks);
	ck_assert_uint_eq(check_lines(path, 1), PAD + 5);
	check_loss(path, PAD + 5, 2, 7);
	ck_assert_uint_eq(logged("ERR 5D20"), 2);
	ck_assert_uint_eq(logged("ERR 5D21"), 2);
}
END_TEST

/* OpenSM's own thread writes the rest, and lives. */
START_TEST(test_close_at_the_limit)
{
	const off_t size = begin_padded();

	put_state();
	limit_size((rlim_t)size);
	sinks_close(sinks);
	limit_size(RLIM_INFINITY);
	ck_assert_uint_eq(check_lines(path, 1), PAD);
	ck_assert_ptr_nonnull(strstr(content(log_path),
				     "ends without 1 records"));
}
END_TEST

START_TEST(test_torn_is_a_loss)
{
	const off_t size = begin_padded();

	sinks_close(sinks);
	ck_assert_int_eq(truncate(path, size - 3), 0);

	/* the line is gone although there is no room to say so: remembered */
	limit_size((rlim_t)(size - size / PAD + 10));
	sinks = sinks_open(&options, &log_object);
	limit_size(RLIM_INFINITY);
	ck_assert_ptr_nonnull(sinks);
	ck_assert_uint_eq(check_lines(path, 1), PAD - 1);
	sinks_flush(sinks, SECOND);
	put_state();
	sinks_close(sinks);
	ck_assert_uint_eq(check_lines(path, 1), PAD + 1);
	check_loss(path, PAD, 1, 1);
}
END_TEST

/* A record that is too long for a line is told as soon as there is room. */
START_TEST(test_too_long)
{
	char *text = malloc(100000);
	struct record r = {
		.type = RECORD_STATE,
		.state = { .state = "x", .text = text },
	};

	memset(text, 'x', 99999);
	text[99999] = '\0';
	strcpy(options.trace, path);
	sinks_begin();
	put_state();
	sinks_put(sinks, &r);
	free(text);
	sinks_flush(sinks, SECOND);
	put_state();
	sinks_close(sinks);
	ck_assert_uint_eq(check_lines(path, 1), 3);
	check_loss(path, 2, 1, 1);
	ck_assert_uint_eq(logged("ERR 5D24"), 1);
}
END_TEST

START_TEST(test_full_disk_for_all)
{
	uint64_t told = 0, last, n;
	const char *text;
	int i;

	if (!mount_small())
		return;
	strcpy(options.trace, path);
	sinks_begin();
	for (i = 1; i <= 50; i++) {
		for (n = 0; n < 10; n++)
			put_sa(METHOD_GET, 7);
		sinks_flush(sinks, (uint64_t)i * SECOND);
	}
	sinks_close(sinks);
	last = check_lines(path, 1);
	ck_assert_uint_gt(last, 3);
	for (text = content(path); (text = strstr(text, "\"lost\":")); text++)
		told += strtoull(text + 7, NULL, 10);
	n = count(content(path), "\"type\":\"sa\"");
	text = strstr(content(log_path), "ends without ");
	ck_assert_ptr_nonnull(text);
	told += strtoull(text + 13, NULL, 10);
	ck_assert_uint_eq(n + told, 500);
}
END_TEST

START_TEST(test_moved_under_the_sink)
{
	strcpy(options.trace, path);
	sinks_begin();
	put_state();
	sinks_flush(sinks, SECOND);
	put_state();
	ck_assert_int_eq(rename(path, beside("-old")), 0);
	sinks_flush(sinks, 2 * SECOND);
	put_state();
	sinks_close(sinks);
	ck_assert_uint_eq(check_lines(beside("-old"), 1), 2);
	ck_assert_uint_eq(check_lines(path, 1), 1);
	ck_assert_uint_eq(logged("ERR"), 0);
}
END_TEST

/* The OpenSM log: ten lines a second, requester and kind. */

START_TEST(test_log_none)
{
	sinks_begin();
	put_state();
	put_sa(METHOD_SET, 7);
	sinks_flush(sinks, SECOND);
	sinks_close(sinks);
	ck_assert_uint_eq(logged("SNOOP"), 0);
}
END_TEST

START_TEST(test_log_audit)
{
	options.log = LOG_AUDIT;
	sinks_begin();
	put_sa(METHOD_GET, 7);
	put_capture(RECORD_MAD);
	put_sa(METHOD_SET, 7);
	put_state();
	sinks_close(sinks);
	ck_assert_uint_eq(logged("SNOOP: "), 2);
	ck_assert_uint_eq(logged("SNOOP: Set PathRecord from LID 7"), 1);
	ck_assert_uint_eq(logged("SNOOP: state sweep_done"), 1);
}
END_TEST

START_TEST(test_log_levels)
{
	options.log = LOG_ALL;
	osm_log_set_level(&log_object, OSM_LOG_ERROR | OSM_LOG_INFO);
	sinks_begin();
	put_sa(METHOD_GET, 7);
	put_sa(METHOD_SET, 7);
	sinks_close(sinks);
	ck_assert_uint_eq(logged("SNOOP: "), 1);
	osm_log_set_level(&log_object, OSM_LOG_ALL);
	sinks_begin();
	put_sa(METHOD_GET, 7);
	sinks_close(sinks);
	ck_assert_uint_eq(logged("SNOOP: Get PathRecord"), 1);
}
END_TEST

START_TEST(test_log_rate)
{
	unsigned i;

	options.log = LOG_ALL;
	sinks_begin();
	sinks_flush(sinks, 100 * SECOND);
	for (i = 0; i < 25; i++) {
		put_sa(METHOD_SET, 7);
		put_sa(METHOD_SET, 8);
		put_state();	/* of another kind */
	}
	ck_assert_uint_eq(logged("Set PathRecord from LID 7"), 10);
	ck_assert_uint_eq(logged("Set PathRecord from LID 8"), 10);
	ck_assert_uint_eq(logged("state sweep_done"), 10);
	for (i = 1; i < 10; i++)
		sinks_flush(sinks, 100 * SECOND + i * SECOND / 10);
	put_sa(METHOD_SET, 7);
	ck_assert_uint_eq(logged("held back"), 0);
	sinks_flush(sinks, 101 * SECOND);
	ck_assert_uint_eq(logged("16 more lines (sa) of LID 7 were"), 1);
	ck_assert_uint_eq(logged("15 more lines (sa) of LID 8 were"), 1);
	ck_assert_uint_eq(logged("15 more lines (state)"), 1);
	ck_assert_uint_eq(logged("held back"), 3);

	/* a new second */
	for (i = 0; i < 11; i++)
		put_sa(METHOD_SET, 7);
	ck_assert_uint_eq(logged("Set PathRecord from LID 7"), 20);
	sinks_close(sinks);
	ck_assert_uint_eq(logged("1 more lines (sa) of LID 7"), 1);
	ck_assert_uint_eq(logged("held back"), 4);
}
END_TEST

/* Whoever has many LIDs cannot fill the log, nor begin others' second anew. */
START_TEST(test_log_many)
{
	const unsigned rounds = 12, lids = 5000;
	uint64_t lines, held = 0;
	const char *text;
	unsigned i, lid;

	options.log = LOG_ALL;
	sinks_begin();
	sinks_flush(sinks, 100 * SECOND);
	for (i = 0; i < rounds; i++)
		for (lid = 1; lid <= lids; lid++)
			put_sa(METHOD_SET, (uint16_t)lid);
	sinks_close(sinks);
	text = content(log_path);
	lines = count(text, "SNOOP: Set PathRecord");
	ck_assert_uint_le(lines, 1024 * 10);
	ck_assert_uint_eq(count(text, "Set PathRecord from LID 1:") +
			  count(text, "Set PathRecord from LID 1 "), 10);
	while ((text = strstr(text, "SNOOP: "))) {
		text += strlen("SNOOP: ");
		held += strtoull(text, NULL, 10);
	}
	ck_assert_uint_eq(lines + held, rounds * lids);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("file");
	TCase *refuse = tcase_create("refused"), *files = tcase_create("file");
	TCase *json = tcase_create("json"), *log = tcase_create("log");
	SRunner *runner = srunner_create(suite);
	int failed;

	tcase_add_checked_fixture(refuse, setup, teardown);
	tcase_add_test(refuse, test_not_a_file);
	tcase_add_test(refuse, test_foreign_file);
	tcase_add_test(refuse, test_second_writer);
	suite_add_tcase(suite, refuse);

	tcase_add_checked_fixture(files, setup, teardown);
	tcase_add_test(files, test_mode);
	tcase_add_test(files, test_continue);
	tcase_add_test(files, test_torn_line);
	tcase_add_test(files, test_killed);
	tcase_add_test(files, test_rotation);
	tcase_add_test(files, test_rotation_fails);
	tcase_add_test(files, test_moved_and_removed);
	tcase_add_test(files, test_size_limit);
	tcase_add_test(files, test_emptied_in_its_place);
	tcase_add_test(files, test_emptied);
	tcase_add_test(files, test_full_disk);
	suite_add_tcase(suite, files);

	tcase_add_checked_fixture(json, setup, teardown);
	tcase_add_test(json, test_audit_is_a_part);
	tcase_add_test(json, test_cannot_open);
	tcase_add_test(json, test_never_opens);
	tcase_add_test(json, test_fail_and_resume);
	tcase_add_test(json, test_close_at_the_limit);
	tcase_add_test(json, test_torn_is_a_loss);
	tcase_add_test(json, test_too_long);
	tcase_add_test(json, test_full_disk_for_all);
	tcase_add_test(json, test_moved_under_the_sink);
	suite_add_tcase(suite, json);

	tcase_add_checked_fixture(log, setup, teardown);
	tcase_add_test(log, test_log_none);
	tcase_add_test(log, test_log_audit);
	tcase_add_test(log, test_log_levels);
	tcase_add_test(log, test_log_rate);
	tcase_add_test(log, test_log_many);
	tcase_set_timeout(log, 20);
	suite_add_tcase(suite, log);

	srunner_run_all(runner, CK_ENV);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
