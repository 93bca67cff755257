/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * plugin/file.c: what it refuses, what is in the files after a kill, a full
 * disk, a rotation, and how many lines are missing.
 */
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>

#include "disk.h"
#include "file.h"
#include "../run.h"

static struct file *file;
static uint64_t lost;

static void setup(void)
{
	disk_setup();
	file = malloc(sizeof(*file));
	ck_assert_ptr_nonnull(file);
	file_init(file, path, 1 << 30, 8);
	lost = 0;
}

static void teardown(void)
{
	file_close(file);
	free(file);
	disk_teardown();
}

static bool put(const char *text)
{
	return file_put(file, text, strlen(text), &lost);
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
	ck_assert_int_lt(file->fd, 0);
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

	write_file(beside(".file"), "");
	snprintf(path, sizeof(path), "%s/no/t.jsonl", dir);
	file_init(file, path, 1 << 20, 1);
	check_refused("No such file or directory");
	snprintf(path, sizeof(path), "%s/t.jsonl.file/t.jsonl", dir);
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
		ck_assert_uint_eq(file->missing, 0);
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
		ck_assert_uint_eq(file->missing, 1);
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
	ck_assert_uint_eq(file->missing, 1);
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

/* Of a file that may not be renamed, as after chattr +a. */
static const char *fixed_name;

int __real_rename(const char *from, const char *to);
int __wrap_rename(const char *from, const char *to);

int __wrap_rename(const char *from, const char *to)
{
	if (!fixed_name || strcmp(from, fixed_name))
		return __real_rename(from, to);
	errno = EPERM;
	return -1;
}

/* However often it is tried, no more is gone than a rotation takes. */
START_TEST(test_rotation_that_cannot_finish)
{
	static const char *const fixed[] = { "", ".1", ".3" };
	char name[16], text[64], fixed_path[128];
	unsigned i, there = 0;

	file_init(file, path, 64, 6);
	for (i = 1; i < 6; i++) {
		snprintf(name, sizeof(name), ".%u", i);
		snprintf(text, sizeof(text), "{\"seq\":1,\"n\":%u}\n", i);
		write_file(beside(name), text);
	}
	ck_assert(file_open(file));
	snprintf(fixed_path, sizeof(fixed_path), "%s", beside(fixed[_i]));
	fixed_name = fixed_path;
	for (i = 0; i < 20; i++) {
		file->not_turned = false;
		file->turn_at = 64;
		ck_assert(put(LONG_LINE));
		ck_assert(!i || file->not_turned);
	}
	fixed_name = NULL;
	for (i = 1; i < 6; i++) {
		snprintf(name, sizeof(name), ".%u", i);
		there += !access(beside(name), F_OK);
	}
	ck_assert_uint_eq(there, 4);
	ck_assert_uint_eq(lost, 0);
	/* and then all goes on */
	file->turn_at = 64;
	ck_assert(put(LONG_LINE));
	ck_assert_uint_eq(file->last_line, 1);
	ck_assert(file_flush(file, &lost));
	check_lines(beside(".1"), 1);
}
END_TEST

/* A rotated name that somebody writes, this process included, is not taken. */
START_TEST(test_rotation_over_a_live_file)
{
	struct file *other = malloc(sizeof(*other));

	ck_assert_ptr_nonnull(other);
	file_init(other, beside(".1"), 1 << 20, 2);
	ck_assert(file_open(other));
	file_init(file, path, 64, 2);
	ck_assert(file_open(file));
	ck_assert(put(LONG_LINE));
	ck_assert(put(LONG_LINE));
	ck_assert(file->not_turned);
	ck_assert_ptr_nonnull(strstr(file->reason, "written by another"));
	file_close(other);
	ck_assert(put(LONG_LINE));
	ck_assert(put(LONG_LINE));
	ck_assert_uint_lt(file->last_line, 3);
	ck_assert_int_eq(access(beside(".1"), F_OK), 0);
	free(other);
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

/* Somebody cut it in the middle of a line: no line is glued to another. */
START_TEST(test_cut)
{
	const uint64_t line = strlen("{\"seq\":1,\"a\":1}\n");
	FILE *f;
	int i;

	ck_assert(file_open(file));
	for (i = 0; i < 4; i++)
		ck_assert(put("\"a\":1"));
	ck_assert(file_flush(file, &lost));
	ck_assert_int_eq(truncate(path, (off_t)(2 * line + 5)), 0);
	ck_assert(put("\"a\":1"));
	ck_assert(!file_flush(file, &lost));
	ck_assert_ptr_nonnull(strstr(file->reason, "somebody changed it from"));
	ck_assert_uint_eq(lost, 1);
	ck_assert(file_open(file));
	ck_assert_uint_eq(file->missing, 2);
	ck_assert_uint_eq(file->last_line, 2);
	ck_assert(put("\"a\":1"));
	ck_assert(file_flush(file, &lost));
	ck_assert_uint_eq(check_lines(path, 1), 3);

	/* what is no line is no better at the end; a line is */
	ck_assert_int_eq(truncate(path, (off_t)(3 * line + 100)), 0);
	ck_assert(!file_follow(file, &lost));
	ck_assert_int_eq(truncate(path, (off_t)(3 * line)), 0);
	ck_assert(file_open(file));
	ck_assert_uint_eq(file->missing, 0);
	f = fopen(path, "a");
	ck_assert_ptr_nonnull(f);
	fputs("# moved to the other rack\n", f);
	fclose(f);
	ck_assert(put("\"a\":1"));
	ck_assert(file_flush(file, &lost));
	ck_assert_uint_eq(file->last_line, 4);
	ck_assert_uint_eq(lost, 1);

	/* with nothing in the buffer; another file is not short of anything */
	ck_assert_int_eq(truncate(path, (off_t)line), 0);
	ck_assert(!file_follow(file, &lost));
	ck_assert_int_eq(rename(path, beside("-old")), 0);
	ck_assert(file_open(file));
	ck_assert_uint_eq(file->missing, 0);
	ck_assert_uint_eq(lost, 1);
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
	ck_assert_int_lt(file->fd, 0);
	ck_assert_ptr_nonnull(strstr(file->reason, "File too large"));
	ck_assert_uint_eq(lost, 4);
	ck_assert_uint_eq(file->last_line, 5);
	ck_assert_uint_eq(check_lines(path, 1), 5);
	sigpending(&pending);
	ck_assert(!sigismember(&pending, SIGXFSZ));

	/* none at all */
	ck_assert(file_open(file));
	ck_assert_uint_eq(file->missing, 0);
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

/* Emptied with lines in the buffer, which are the first now; then full. */
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
	ck_assert(file->emptied);
	ck_assert_uint_eq(check_lines(path, 1), 2);
	ck_assert_uint_eq(file->last_line, 2);
}
END_TEST

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

int main(void)
{
	Suite *suite = suite_create("file");
	TCase *refuse = tcase_create("refused"), *files = tcase_create("file");

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
	tcase_add_loop_test(files, test_rotation_that_cannot_finish, 0, 3);
	tcase_add_test(files, test_rotation_over_a_live_file);
	tcase_add_test(files, test_cut);
	tcase_add_test(files, test_moved_and_removed);
	tcase_add_test(files, test_size_limit);
	tcase_add_test(files, test_emptied_in_its_place);
	tcase_add_test(files, test_emptied);
	tcase_add_test(files, test_full_disk);
	suite_add_tcase(suite, files);

	return run_suite(suite);
}
