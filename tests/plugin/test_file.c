/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * plugin/file.c and its formats: what it refuses, what is in the files after a
 * kill, a full disk, a rotation, and how many records are missing.
 */
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>

#include "kinds.h"
#include "../run.h"

static struct file *file;
static uint64_t lost;

static void begin(void)
{
	file = malloc(sizeof(*file));
	ck_assert_ptr_nonnull(file);
	file_init(file, kind->format, path, 1 << 30, 8);
	lost = 0;
}

static void begin_lines(void)
{
	setup_lines();
	begin();
}

static void begin_chain(void)
{
	setup_chain();
	begin();
}

static void begin_pcap(void)
{
	setup_pcap();
	begin();
}

static void teardown(void)
{
	file_close(file);
	free(file);
	disk_teardown();
}

static bool put_record(bool big)
{
	char record[RECORD_MAX];
	size_t len = kind->make(record, big);

	return file_put(file, record, len, &lost);
}

static bool put(void)
{
	return put_record(false);
}

static bool put_line(const char *members)
{
	return file_put(file, members, strlen(members), &lost);
}

static bool cannot_truncate;

/* As on a disk that fails. */
int ftruncate(int fd, off_t len)
{
	char name[64];

	if (cannot_truncate) {
		errno = EIO;
		return -1;
	}
	snprintf(name, sizeof(name), "/proc/self/fd/%d", fd);
	return truncate(name, len);
}

static mode_t mode_of(const char *name)
{
	struct stat st;

	ck_assert_int_eq(lstat(name, &st), 0);
	return st.st_mode & 07777;
}

static void write_bytes(const char *name, const char *bytes, size_t len)
{
	int fd = open(name, O_WRONLY | O_CREAT | O_TRUNC, 0600);

	ck_assert_int_eq(write(fd, bytes, len), len);
	close(fd);
}

static void check_bytes(const char *name, const char *bytes, size_t len)
{
	struct stat st;

	ck_assert_int_eq(stat(name, &st), 0);
	ck_assert_int_eq(st.st_size, len);
	ck_assert_mem_eq(content(name), bytes, len);
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

	file_init(file, kind->format, "/dev/null", 1 << 20, 1);
	ck_assert(!file_open(file));
	ck_assert_ptr_nonnull(strstr(file->reason, "no regular file"));

	write_file(beside(".file"), "");
	snprintf(path, sizeof(path), "%s/no/t.jsonl", dir);
	file_init(file, kind->format, path, 1 << 20, 1);
	check_refused("No such file or directory");
	snprintf(path, sizeof(path), "%s/t.jsonl.file/t.jsonl", dir);
	file_init(file, kind->format, path, 1 << 20, 1);
	check_refused("Not a directory");
}
END_TEST

/* A path that was mistaken must not cost somebody else's file its end. */
START_TEST(test_foreign_lines)
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

/* Nor another capture file, whatever it was captured with. */
START_TEST(test_foreign_pcap)
{
	char ours[2 * ERF_FILE_HEADER] = "", bytes[sizeof(ours)];
	size_t i, len;

	erf_file_header((uint8_t *)ours);
	for (i = 0; i < ERF_FILE_HEADER; i++) {
		memcpy(bytes, ours, sizeof(ours));
		bytes[i] ^= 1;
		for (len = i + 1; len <= sizeof(bytes); len += 7) {
			write_bytes(path, bytes, len);
			check_refused("no file of osmsnoop");
			check_bytes(path, bytes, len);
		}
	}
	write_file(path, "{\"seq\":1,\"a\":1}\n");
	check_refused("no file of osmsnoop");

	/* a header alone, or a part of it, is ours */
	for (len = 0; len <= ERF_FILE_HEADER; len++) {
		write_bytes(path, ours, len);
		ck_assert(file_open(file));
		ck_assert_uint_eq(file->missing, 0);
		ck_assert_uint_eq(file->last, 0);
		file_close(file);
		check_bytes(path, ours, ERF_FILE_HEADER);
	}
}
END_TEST

/* By this process, so far. */
static unsigned long long bytes_read(void)
{
	unsigned long long n = 0;
	FILE *io = fopen("/proc/self/io", "r");

	ck_assert_int_eq(fscanf(io, "rchar: %llu", &n), 1);
	fclose(io);
	return n;
}

/* What is no packet, with more behind it, is nothing that a kill leaves. */
START_TEST(test_damaged_pcap)
{
	unsigned long long before;
	char bytes[8192];
	size_t i, at = (size_t)file_size(3);
	int fd;

	ck_assert(file_open(file));
	for (i = 0; i < 9; i++)
		ck_assert(put());
	ck_assert(file_flush(file, &lost));
	file_close(file);
	memcpy(bytes, content(path), (size_t)file_size(9));
	memset(bytes + at, 'x', 40);
	write_bytes(path, bytes, (size_t)file_size(9));
	for (i = 0; i < 4; i++) {
		check_refused("is damaged: from byte");
		check_bytes(path, bytes, (size_t)file_size(9));
	}
	/* it is not read again and again */
	before = bytes_read();
	check_refused("is damaged: from byte");
	ck_assert_uint_lt(bytes_read() - before, 1024);
	/* mended by somebody, in its place */
	ck_assert_int_eq(truncate(path, file_size(3)), 0);
	ck_assert(file_open(file));
	ck_assert_uint_eq(file->last, 3);
	ck_assert_uint_eq(file->missing, 0);
	file_close(file);

	/* other bytes where it was well the last time */
	fd = open(path, O_WRONLY);
	ck_assert_int_eq(pwrite(fd, "xxxx", 4, file_size(1) + 8), 4);
	close(fd);
	ck_assert_int_eq(truncate(path, file_size(3) + 100), 0);
	ck_assert(file_open(file));
	ck_assert_uint_eq(file->missing, 1);
	ck_assert_uint_eq(file->last, 3);
}
END_TEST

START_TEST(test_second_writer)
{
	struct file *second = malloc(sizeof(*second));
	int status;
	pid_t pid;

	ck_assert(file_open(file));
	file_init(second, kind->format, path, 1 << 20, 1);
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

	ck_assert(put());
	ck_assert(file_flush(file, &lost));
	ck_assert_uint_eq(records_in(path), 1);
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
	unsigned i;

	for (i = 1; i <= 3; i++) {
		ck_assert(file_open(file));
		ck_assert_uint_eq(file->last, 2 * i - 2);
		ck_assert_uint_eq(file->missing, 0);
		ck_assert(put());
		ck_assert(put());
		ck_assert(file_flush(file, &lost));
		file_close(file);
	}
	ck_assert_uint_eq(records_in(path), 6);
	ck_assert_uint_eq(lost, 0);
}
END_TEST

/* More than is looked at in one go, and after a restart. */
START_TEST(test_continue_much)
{
	unsigned i;

	ck_assert(file_open(file));
	for (i = 0; i < 5000; i++)
		if (!put())
			ck_abort();
	ck_assert(file_flush(file, &lost));
	file_close(file);
	file_init(file, kind->format, path, 1 << 30, 8);
	ck_assert(file_open(file));
	ck_assert_uint_eq(file->last, 5000);
	ck_assert_uint_eq(file->missing, 0);
	ck_assert(put());
	ck_assert(file_flush(file, &lost));
	ck_assert_uint_eq(records_in(path), 5001);
}
END_TEST

START_TEST(test_continue_lines)
{
	char *big = malloc(66000);
	FILE *f;

	ck_assert(file_open(file));
	ck_assert(put_line("\"b\":\"\\\"seq\\\":99\""));
	ck_assert(file_flush(file, &lost));
	ck_assert(file_open(file));
	ck_assert_uint_eq(file->last, 1);

	/* the longest line there may be */
	memset(big, 'x', 65540);
	big[0] = big[65539] = '"';
	big[65540] = '\0';
	ck_assert(put_line(big));
	ck_assert(file_flush(file, &lost));
	ck_assert(file_open(file));
	ck_assert_uint_eq(file->last, 2);
	file_close(file);
	free(big);

	/* what an administrator noted there is no line of ours */
	f = fopen(path, "a");
	fputs("# moved to the other rack\n", f);
	fclose(f);
	ck_assert(file_open(file));
	ck_assert_uint_eq(file->last, 2);

	/* also while we write */
	f = fopen(path, "a");
	fputs("# and back\n", f);
	fclose(f);
	ck_assert(put());
	ck_assert(file_flush(file, &lost));
	ck_assert_uint_eq(file->last, 3);
	ck_assert_uint_eq(lost, 0);
}
END_TEST

/* Torn at each byte of the third. */
START_TEST(test_torn)
{
	off_t size;

	for (size = file_size(2) + 1; size < file_size(3); size++) {
		if (!file_open(file) || !put() || !put() || !put() ||
		    !file_flush(file, &lost) || truncate(path, size))
			ck_abort();
		file_close(file);
		if (!file_open(file) || file->missing != 1 ||
		    file->last != 2 || file->size != (uint64_t)file_size(2))
			ck_abort_msg("torn at %jd: %s", (intmax_t)size,
				     file->reason);
		ck_assert(put());
		ck_assert(file_flush(file, &lost));
		file_close(file);
		ck_assert_uint_eq(records_in(path), 3);
		unlink(path);
	}
}
END_TEST

/* Zeroes, as some file systems leave them after a power failure. */
START_TEST(test_zeroes)
{
	static const off_t zeroes[] = { 1, 17, 4096, 600000 };
	size_t i;

	for (i = 0; i < 4; i++) {
		ck_assert(file_open(file));
		ck_assert(put());
		ck_assert(put());
		ck_assert(file_flush(file, &lost));
		file_close(file);
		ck_assert_int_eq(truncate(path, file_size(2) + zeroes[i]), 0);
		if (i == 3 && kind->loss_is_a_record) {
			/* longer than any line */
			check_refused("no file of osmsnoop");
			continue;
		}
		ck_assert(file_open(file));
		ck_assert_uint_eq(file->missing, 1);
		ck_assert_uint_eq(file->last, 2);
		file_close(file);
		ck_assert_uint_eq(records_in(path), 2);
		unlink(path);
	}
}
END_TEST

/* They begin where a page does, which may be in the header of a packet. */
START_TEST(test_zeroes_in_a_record)
{
	off_t size;

	for (size = file_size(2) + 1; size <= file_size(2) + 24; size++) {
		if (!file_open(file) || !put() || !put() || !put() ||
		    !file_flush(file, &lost) || truncate(path, size) ||
		    truncate(path, size + 5000))
			ck_abort();
		file_close(file);
		if (!file_open(file) || file->missing != 1 ||
		    file->last != 2 || file->size != (uint64_t)file_size(2))
			ck_abort_msg("zeroes from %jd on: %s", (intmax_t)size,
				     file->reason);
		file_close(file);
		unlink(path);
	}
}
END_TEST

/* However often it cannot be taken away, it is one. */
START_TEST(test_torn_stays)
{
	bool well;

	ck_assert(file_open(file));
	ck_assert(put());
	ck_assert(put());
	ck_assert(file_flush(file, &lost));
	file_close(file);
	ck_assert_int_eq(truncate(path, file_size(2) - 3), 0);
	cannot_truncate = true;
	check_refused("cannot be taken away");
	check_refused("cannot be taken away");
	cannot_truncate = false;
	ck_assert(file_open(file));
	ck_assert_uint_eq(file->missing, 1);

	/* room for a half of one: counted by who put it */
	ck_assert(put());
	cannot_truncate = true;
	limit_size((rlim_t)file_size(1) + 3);
	well = file_flush(file, &lost);
	limit_size(RLIM_INFINITY);
	ck_assert(!well);
	ck_assert_uint_eq(lost, 1);
	check_refused("cannot be taken away");
	check_refused("cannot be taken away");
	cannot_truncate = false;
	ck_assert(file_open(file));
	ck_assert_uint_eq(file->missing, 0);
	ck_assert_uint_eq(records_in(path), 1);
}
END_TEST

/* kill -9 while it writes: the next one goes on behind the last whole line. */
START_TEST(test_killed)
{
	uint64_t last;
	int i, status;
	pid_t pid;

	file_init(file, kind->format, path, 1 << 20, 2);
	for (i = 0; i < 20; i++) {
		pid = fork();
		if (!pid) {
			if (!file_open(file))
				_exit(1);
			for (;;)
				if (!put() || !file_flush(file, &lost))
					_exit(2);
		}
		usleep(5000 + 700 * (unsigned)i);
		kill(pid, SIGKILL);
		ck_assert_int_eq(waitpid(pid, &status, 0), pid);
		ck_assert(WIFSIGNALED(status));
		if (access(path, F_OK))
			continue;
		ck_assert(file_open(file));
		last = file->last;
		file_close(file);
		ck_assert_uint_eq(records_in(path), last);
	}
}
END_TEST

static void check_rotation(uint32_t max_files, unsigned records)
{
	char record[RECORD_MAX], name[16];
	/* what lines have beside the members is a part of their 4 KB */
	unsigned each = kind == &lines_kind ? 16 : (unsigned)
			((64 * 1024 - kind->format->header) /
			 (kind->make(record, true) + kind->format->rest));
	uint32_t i;

	file_init(file, kind->format, path, 64 * 1024, max_files);
	ck_assert(file_open(file));
	for (i = 0; i < (records * each + 15) / 16; i++)
		ck_assert(put_record(true));
	ck_assert(file_flush(file, &lost));
	file_close(file);
	ck_assert_uint_eq(lost, 0);
	ck_assert_uint_eq(file->begun, (records + 15) / 16);

	/* each begins with 1 */
	ck_assert_uint_ge(records_in(path), 1);
	for (i = 1; i < max_files; i++) {
		snprintf(name, sizeof(name), ".%u", i);
		ck_assert_uint_eq(records_in(beside(name)), each);
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
	/* a file stays within its size, one record that is larger excepted */
	check_rotation(2, 33);
}
END_TEST

/* Rather too long a file than none, or than one of somebody else's gone. */
START_TEST(test_rotation_fails)
{
	file_init(file, kind->format, path, 24, 3);
	ck_assert(file_open(file));
	ck_assert(put());
	write_file(beside(".2"), "precious\n");
	ck_assert(put());
	ck_assert(file->not_turned);
	ck_assert_ptr_nonnull(strstr(file->reason, ".2: is no file of"));
	ck_assert_uint_eq(lost, 0);
	ck_assert_str_eq(content(beside(".2")), "precious\n");

	/* nor can a folder be replaced; nothing has moved meanwhile */
	unlink(beside(".2"));
	ck_assert_int_eq(mkdir(beside(".2"), 0700), 0);
	file->not_turned = false;
	ck_assert(put());
	ck_assert(file->not_turned);
	ck_assert(file_flush(file, &lost));
	ck_assert_uint_eq(records_in(path), 3);
	ck_assert_int_eq(access(beside(".1"), F_OK), -1);

	/* it is tried again when the file has grown as much again */
	rmdir(beside(".2"));
	ck_assert(put());
	ck_assert_uint_eq(file->last, 1);
	ck_assert_uint_eq(records_in(beside(".1")), 3);
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
	char name[16], fixed_path[128];
	unsigned i, there = 0;

	file_init(file, kind->format, path, 24, 6);
	ck_assert(file_open(file));
	for (i = 0; i < 6; i++)
		ck_assert(put());
	ck_assert_int_eq(access(beside(".5"), F_OK), 0);
	snprintf(fixed_path, sizeof(fixed_path), "%s", beside(fixed[_i]));
	fixed_name = fixed_path;
	for (i = 0; i < 20; i++) {
		file->not_turned = false;
		file->turn_at = 24;
		ck_assert(put());
		ck_assert(file->not_turned);
	}
	fixed_name = NULL;
	for (i = 1; i < 6; i++) {
		snprintf(name, sizeof(name), ".%u", i);
		there += !access(beside(name), F_OK);
	}
	ck_assert_uint_eq(there, 4);
	/* and then all goes on */
	file->turn_at = 24;
	ck_assert(put());
	ck_assert_uint_eq(file->last, 1);
	ck_assert(file_flush(file, &lost));
	ck_assert_uint_eq(records_in(beside(".1")), 21);
	ck_assert_uint_eq(lost, 0);
}
END_TEST

/* A rotated name that somebody writes, this process included, is not taken. */
START_TEST(test_rotation_over_a_live_file)
{
	struct file *other = malloc(sizeof(*other));

	ck_assert_ptr_nonnull(other);
	file_init(other, kind->format, beside(".1"), 1 << 20, 2);
	ck_assert(file_open(other));
	file_init(file, kind->format, path, 24, 2);
	ck_assert(file_open(file));
	ck_assert(put());
	ck_assert(put());
	ck_assert(file->not_turned);
	ck_assert_ptr_nonnull(strstr(file->reason, "written by another"));
	file_close(other);
	ck_assert(put());
	ck_assert(put());
	ck_assert_uint_lt(file->last, 3);
	ck_assert_int_eq(access(beside(".1"), F_OK), 0);
	free(other);
}
END_TEST

/* copytruncate: the emptied file is a new one. */
START_TEST(test_emptied_in_its_place)
{
	file_init(file, kind->format, path, 1 << 20, 2);
	ck_assert(file_open(file));
	ck_assert(put());
	ck_assert(put());
	ck_assert(file_flush(file, &lost));
	ck_assert_int_eq(truncate(path, 0), 0);
	ck_assert(file_follow(file, &lost));
	ck_assert(put());
	ck_assert(file_flush(file, &lost));
	ck_assert_uint_eq(file->last, 1);
	ck_assert_uint_eq(records_in(path), 1);
}
END_TEST

/* Somebody cut it in the middle of a record: none is glued to another. */
START_TEST(test_cut)
{
	int i;

	ck_assert(file_open(file));
	for (i = 0; i < 4; i++)
		ck_assert(put());
	ck_assert(file_flush(file, &lost));
	ck_assert_int_eq(truncate(path, file_size(2) + 5), 0);
	ck_assert(put());
	ck_assert(!file_flush(file, &lost));
	ck_assert_ptr_nonnull(strstr(file->reason, "somebody changed it from"));
	ck_assert_uint_eq(lost, 1);
	ck_assert(file_open(file));
	ck_assert_uint_eq(file->missing, 2);
	ck_assert_uint_eq(file->last, 2);
	ck_assert(put());
	ck_assert(file_flush(file, &lost));
	ck_assert_uint_eq(records_in(path), 3);

	/* what is no record is no better at the end */
	ck_assert_int_eq(truncate(path, file_size(3) + 100), 0);
	ck_assert(!file_follow(file, &lost));
	ck_assert_int_eq(truncate(path, file_size(3)), 0);
	ck_assert(file_open(file));
	ck_assert_uint_eq(file->missing, 0);
	ck_assert(put());
	ck_assert(file_flush(file, &lost));
	ck_assert_uint_eq(file->last, 4);
	ck_assert_uint_eq(lost, 1);

	/* with nothing in the buffer; another file is not short of anything */
	ck_assert_int_eq(truncate(path, file_size(1)), 0);
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
	ck_assert(put());
	/* as logrotate does it: what is in the buffer belongs to the old one */
	ck_assert_int_eq(rename(path, beside("-old")), 0);
	ck_assert(file_follow(file, &lost));
	ck_assert_uint_eq(file->last, 0);
	ck_assert(put());
	ck_assert(file_flush(file, &lost));
	ck_assert_uint_eq(records_in(beside("-old")), 1);
	ck_assert_uint_eq(records_in(path), 1);

	/* "create": a new one stands there already */
	ck_assert_int_eq(rename(path, beside("-old")), 0);
	write_file(path, "");
	ck_assert(file_follow(file, &lost));
	ck_assert(put());
	ck_assert(file_flush(file, &lost));
	ck_assert_uint_eq(records_in(path), 1);

	unlink(path);
	ck_assert(file_follow(file, &lost));
	ck_assert(put());
	ck_assert(file_flush(file, &lost));
	ck_assert_uint_eq(records_in(path), 1);

	/* nothing happened */
	ck_assert(file_follow(file, &lost));
	ck_assert_uint_eq(file->last, 1);
	ck_assert_uint_eq(lost, 0);

	/* full in the moment after it was moved: that one is not touched */
	file->max_bytes = file->turn_at = 24;
	ck_assert_int_eq(rename(path, beside(".1")), 0);
	ck_assert(put());
	ck_assert_uint_eq(file->last, 1);
	ck_assert_uint_eq(records_in(beside(".1")), 1);
	ck_assert_int_eq(access(beside(".2"), F_OK), -1);
}
END_TEST

static bool flush_within(off_t bytes)
{
	bool well;

	limit_size((rlim_t)bytes);
	well = file_flush(file, &lost);
	limit_size(RLIM_INFINITY);
	return well;
}

START_TEST(test_size_limit)
{
	sigset_t pending;
	int i;

	ck_assert(file_open(file));
	for (i = 0; i < 9; i++)
		ck_assert(put());
	/* five records and a half */
	ck_assert(!flush_within(file_size(5) + 7));
	ck_assert_int_lt(file->fd, 0);
	ck_assert_ptr_nonnull(strstr(file->reason, "File too large"));
	ck_assert_uint_eq(lost, 4);
	ck_assert_uint_eq(file->last, 5);
	ck_assert_uint_eq(records_in(path), 5);
	sigpending(&pending);
	ck_assert(!sigismember(&pending, SIGXFSZ));

	/* none at all */
	ck_assert(file_open(file));
	ck_assert_uint_eq(file->missing, 0);
	ck_assert(put());
	ck_assert(!flush_within(file_size(5)));
	ck_assert_uint_eq(lost, 5);
	ck_assert_uint_eq(records_in(path), 5);

	ck_assert(file_open(file));
	ck_assert(put());
	ck_assert(file_flush(file, &lost));
	ck_assert_uint_eq(records_in(path), 6);
	ck_assert_uint_eq(lost, 5);
}
END_TEST

/* No room for the header of a new file, or of one that was emptied. */
START_TEST(test_header_is_cut)
{
	bool well;

	limit_size(kind->format->header - 1);
	well = file_open(file);
	limit_size(RLIM_INFINITY);
	ck_assert(!well);
	ck_assert_ptr_nonnull(strstr(file->reason, "File too large"));
	ck_assert_str_eq(content(path), "");

	ck_assert(file_open(file));
	ck_assert(put());
	ck_assert(file_flush(file, &lost));
	ck_assert(put());
	ck_assert_int_eq(truncate(path, 0), 0);
	ck_assert(!flush_within(1));
	ck_assert_uint_eq(lost, 1);
	ck_assert(file_open(file));
	ck_assert_uint_eq(file->missing, 0);
	ck_assert_uint_eq(records_in(path), 0);
}
END_TEST

/* What a record says to be lost is lost with it. */
START_TEST(test_lost_with_it)
{
	char record[RECORD_MAX];
	size_t len;

	ck_assert(file_open(file));
	ck_assert(put());
	len = kind->make(record, false);
	len = kind->format->add_lost(record, len, 100000);
	ck_assert(file_put(file, record, len, &lost));
	ck_assert(put());
	ck_assert(!flush_within(file_size(1) + 5));
	ck_assert_uint_eq(lost, 100002);
	ck_assert_uint_eq(file->last, 1);
}
END_TEST

/* What was known of it before does not say where its packets are now. */
START_TEST(test_emptied_and_opened)
{
	char packet[RECORD_MAX];
	size_t len;
	int i;

	ck_assert(file_open(file));
	for (i = 0; i < 3; i++)
		ck_assert(put());
	ck_assert(file_flush(file, &lost));
	ck_assert(file_open(file));
	ck_assert_int_eq(truncate(path, 0), 0);
	len = file_pcap.add_lost(packet, kind->make(packet, false), 70000);
	ck_assert(file_put(file, packet, len, &lost));
	ck_assert(put());
	ck_assert(put());
	ck_assert(file_flush(file, &lost));
	ck_assert(file_open(file));
	ck_assert_uint_eq(file->missing, 0);
	ck_assert_uint_eq(file->last, 3);
	ck_assert_uint_eq(kind->contents(path).records, 3);
	ck_assert_uint_eq(lost, 0);
}
END_TEST

/* Emptied with records in the buffer, which are the first now; then full. */
START_TEST(test_emptied)
{
	int i;

	ck_assert(file_open(file));
	for (i = 0; i < 4; i++)
		ck_assert(put());
	ck_assert(file_flush(file, &lost));
	ck_assert_int_eq(truncate(path, 0), 0);
	for (i = 0; i < 4; i++)
		ck_assert(put());
	ck_assert(!flush_within(file_size(2) + 3));
	ck_assert_uint_eq(lost, 2);
	ck_assert(file->emptied);
	ck_assert_uint_eq(records_in(path), 2);
	ck_assert_uint_eq(file->last, 2);
}
END_TEST

START_TEST(test_full_disk)
{
	uint64_t last, n = 0;

	if (!mount_small())
		return;
	ck_assert(file_open(file));
	while (put()) {
		n++;
		ck_assert_uint_lt(n, 20000);
	}
	/* the buffer was full: what was in it is written or lost */
	n++;
	lost++;
	ck_assert_ptr_nonnull(strstr(file->reason, "No space left"));
	last = records_in(path);
	ck_assert_uint_gt(last, 20);
	ck_assert_uint_eq(last + lost, n);
	ck_assert_uint_eq(last, file->last);

	/* room again */
	unlink(path);
	ck_assert(file_open(file));
	ck_assert(put());
	ck_assert(file_flush(file, &lost));
	ck_assert_uint_eq(records_in(path), 1);
}
END_TEST

static TCase *of_kind(const char *name, void (*setup)(void))
{
	TCase *tcase = tcase_create(name);

	tcase_add_checked_fixture(tcase, setup, teardown);
	tcase_add_test(tcase, test_not_a_file);
	tcase_add_test(tcase, test_second_writer);
	tcase_add_test(tcase, test_mode);
	tcase_add_test(tcase, test_continue);
	tcase_add_test(tcase, test_continue_much);
	tcase_add_test(tcase, test_torn);
	tcase_add_test(tcase, test_zeroes);
	tcase_add_test(tcase, test_zeroes_in_a_record);
	tcase_add_test(tcase, test_torn_stays);
	tcase_add_test(tcase, test_killed);
	tcase_add_test(tcase, test_rotation);
	tcase_add_test(tcase, test_rotation_fails);
	tcase_add_loop_test(tcase, test_rotation_that_cannot_finish, 0, 3);
	tcase_add_test(tcase, test_rotation_over_a_live_file);
	tcase_add_test(tcase, test_cut);
	tcase_add_test(tcase, test_moved_and_removed);
	tcase_add_test(tcase, test_size_limit);
	tcase_add_test(tcase, test_emptied_in_its_place);
	tcase_add_test(tcase, test_emptied);
	tcase_add_test(tcase, test_full_disk);
	return tcase;
}

int main(void)
{
	Suite *suite = suite_create("file");
	TCase *lines = of_kind("lines", begin_lines);
	TCase *pcap = of_kind("pcap", begin_pcap);

	tcase_add_test(lines, test_foreign_lines);
	tcase_add_test(lines, test_continue_lines);
	suite_add_tcase(suite, lines);
	suite_add_tcase(suite, of_kind("chain", begin_chain));
	tcase_add_test(pcap, test_foreign_pcap);
	tcase_add_test(pcap, test_damaged_pcap);
	tcase_add_test(pcap, test_header_is_cut);
	tcase_add_test(pcap, test_lost_with_it);
	tcase_add_test(pcap, test_emptied_and_opened);
	suite_add_tcase(suite, pcap);
	return run_suite(suite);
}
