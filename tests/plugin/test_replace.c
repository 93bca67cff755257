/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * plugin/replace.c: what must not be replaced, and disks that do not play
 * along; then the sink metrics, which writes by it: who puts never waits.
 *
 * The disk is a double that hangs in write() as long as the test wants, and is
 * a real one otherwise. One that really hangs is in fabric/metrics.sh.
 */
#include <pthread.h>
#include <sys/file.h>
#include <sys/syscall.h>

#include "clock.h"
#include "opensm_log.h"
#include "replace.h"
#include "sink.h"
#include "../run.h"

static struct replace r;
static pthread_mutex_t disk_mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t disk_cond = PTHREAD_COND_INITIALIZER;
static bool hangs;

/* Stands in for libc's; the OpenSM log goes through stdio, not through here. */
ssize_t write(int fd, const void *data, size_t len)
{
	pthread_mutex_lock(&disk_mutex);
	while (hangs)
		pthread_cond_wait(&disk_cond, &disk_mutex);
	pthread_mutex_unlock(&disk_mutex);
	return syscall(SYS_write, fd, data, len);
}

static void disk_hangs(bool now)
{
	pthread_mutex_lock(&disk_mutex);
	hangs = now;
	pthread_cond_broadcast(&disk_cond);
	pthread_mutex_unlock(&disk_mutex);
}

static void setup(void)
{
	disk_setup();
	replace_init(&r, path, "# mark");
}

static void teardown(void)
{
	replace_close(&r);
	disk_teardown();
}

static bool put(const char *text)
{
	return replace_write(&r, text, strlen(text));
}

static void refused(const char *why)
{
	ck_assert(!put("# mark new\n"));
	ck_assert_msg(strstr(r.reason, why), "'%s' is not in '%s'", why,
		      r.reason);
	ck_assert_ptr_nonnull(strstr(r.reason, path));
}

static bool is_there(const char *name)
{
	struct stat st;

	return !lstat(name, &st);
}

START_TEST(test_no_folder)
{
	replace_init(&r, beside("/t"), "# mark");
	ck_assert(!put("# mark"));
	ck_assert_ptr_nonnull(strstr(r.reason, "No such file or directory"));
	ck_assert_int_eq(mkdir(path, 0700), 0);
	ck_assert(put("# mark"));
	ck_assert_str_eq(content(beside("/t")), "# mark");
	unlink(beside("/t"));
}
END_TEST

START_TEST(test_link)
{
	write_file(beside("-target"), "# mark old\n");
	ck_assert_int_eq(symlink(beside("-target"), path), 0);
	refused("is a symbolic link");
	ck_assert_str_eq(content(beside("-target")), "# mark old\n");
	ck_assert(!is_there(beside(REPLACE_SUFFIX)));
	unlink(path);

	/* nor is one followed where it is written first */
	ck_assert_int_eq(symlink(path, beside(REPLACE_SUFFIX)), 0);
	refused("is a symbolic link");
	ck_assert(!is_there(path));
	unlink(beside(REPLACE_SUFFIX));
	ck_assert(put("# mark new\n"));
}
END_TEST

START_TEST(test_no_file)
{
	ck_assert_int_eq(mkdir(path, 0700), 0);
	refused("is no regular file");
	ck_assert_int_eq(rmdir(path), 0);
	ck_assert_int_eq(mkfifo(path, 0600), 0);
	refused("is no regular file");
	unlink(path);
	ck_assert_int_eq(mkdir(beside(REPLACE_SUFFIX), 0700), 0);
	refused("is no regular file");
	ck_assert(is_there(beside(REPLACE_SUFFIX)));
}
END_TEST

START_TEST(test_not_ours)
{
	write_file(path, "root:x:0:0:root:/root:/bin/bash\n");
	refused("is no file of osmsnoop's metrics");
	ck_assert_str_eq(content(path), "root:x:0:0:root:/root:/bin/bash\n");
	write_file(path, "# mar");
	refused("is no file of");
	ck_assert(!is_there(beside(REPLACE_SUFFIX)));
	/* nothing is nobody's */
	write_file(path, "");
	ck_assert(put("# mark new\n"));
	/* and while it is written, too */
	unlink(path);
	write_file(path, "something else");
	refused("is no file of");
}
END_TEST

START_TEST(test_mode)
{
	const mode_t masks[] = { 0, 022, 0777 };
	struct stat st;
	size_t i;

	write_file(path, "# mark old\n");
	chmod(path, 0600);
	for (i = 0; i < 3; i++) {
		umask(masks[i]);
		ck_assert(put("# mark new\n"));
		umask(022);
		ck_assert_int_eq(stat(path, &st), 0);
		ck_assert_int_eq(st.st_mode & 07777, 0644);
	}
	ck_assert(!is_there(beside(REPLACE_SUFFIX)));
}
END_TEST

/* Who has it open has the old text whole. */
START_TEST(test_replaced)
{
	char text[64];
	int fd;

	ck_assert(put("# mark one\n"));
	fd = open(path, O_RDONLY);
	ck_assert(put("# mark two\n"));
	ck_assert_int_eq(read(fd, text, sizeof(text)), 11);
	ck_assert_mem_eq(text, "# mark one\n", 11);
	close(fd);
	ck_assert_str_eq(content(path), "# mark two\n");
	unlink(path);
	ck_assert(put("# mark three\n"));
	ck_assert_str_eq(content(path), "# mark three\n");

	/* what a process that was killed has left */
	write_file(beside(REPLACE_SUFFIX), "half a te");
	ck_assert(put("# mark four\n"));
	ck_assert_str_eq(content(path), "# mark four\n");
	ck_assert(!is_there(beside(REPLACE_SUFFIX)));
}
END_TEST

START_TEST(test_two)
{
	struct replace other;
	int fd;

	replace_init(&other, path, "# mark");
	ck_assert(put("# mark one\n"));
	ck_assert(!replace_write(&other, "# mark two\n", 11));
	ck_assert_ptr_nonnull(strstr(other.reason, "another process"));
	ck_assert(put("# mark three\n"));
	ck_assert(!replace_write(&other, "# mark two\n", 11));
	replace_close(&r);
	ck_assert(replace_write(&other, "# mark two\n", 11));
	refused("is written by another process");
	replace_close(&other);
	ck_assert(put("# mark four\n"));

	/* it is on its way */
	fd = open(beside(REPLACE_SUFFIX), O_RDWR | O_CREAT, 0600);
	ck_assert_int_eq(flock(fd, LOCK_EX), 0);
	refused("is written by another process");
	close(fd);
	ck_assert(put("# mark five\n"));
	ck_assert_str_eq(content(path), "# mark five\n");
}
END_TEST

START_TEST(test_full)
{
	static char big[100000];

	if (!mount_small())
		return;
	memset(big, 'x', sizeof(big) - 1);
	memcpy(big, "# mark", 6);
	ck_assert(put("# mark one\n"));
	ck_assert(!put(big));
	ck_assert_ptr_nonnull(strstr(r.reason, "No space left on device"));
	ck_assert_str_eq(content(path), "# mark one\n");
	ck_assert(!is_there(beside(REPLACE_SUFFIX)));
}
END_TEST

/* The sink */

static struct options options;
static struct sinks *sinks;

static void sink_setup(void)
{
	log_setup();
	options_default(&options);
	options.listen[0] = '\0';
	options.log = LOG_NONE;
	strcpy(options.metrics, path);
	sinks = sinks_open(&options, &log_object);
	ck_assert_ptr_nonnull(sinks);
}

static void flush(uint64_t tenths)
{
	const osm_snoop_stats_t snoop = { .ring_bytes = 77 };
	const struct transactions_stats transactions = { .outstanding = 5 };
	const struct sink_moment moment = {
		.mono_ns = 1000 * SECOND + tenths * (SECOND / 10),
		.snoop = &snoop, .transactions = &transactions,
	};

	sinks_flush(sinks, &moment);
}

static void put_loss(void)
{
	const struct record record = {
		.type = RECORD_LOSS, .loss = { .where = "ring", .lost = 1 },
	};

	sinks_put(sinks, &record);
}

static bool has(const char *line)
{
	return is_there(path) && strstr(content(path), line);
}

static void wait_for(const char *line)
{
	while (!has(line))
		usleep(1000);
	usleep(20000);
}

/* Returns how long it took. */
static uint64_t close_within(uint64_t ns)
{
	uint64_t before = clock_ns(CLOCK_MONOTONIC);

	sinks_close(sinks, before + ns);
	return clock_ns(CLOCK_MONOTONIC) - before;
}

START_TEST(test_sink)
{
	put_loss();
	flush(0);
	wait_for("osmsnoop_up 1\n");
	ck_assert(has("osmsnoop_lost_total{where=\"ring\"} 1\n"));
	ck_assert(has("osmsnoop_ring_bytes 77\n"));
	ck_assert(has("osmsnoop_sa_outstanding 5\n"));
	put_loss();
	flush(50);
	flush(99);
	usleep(20000);
	ck_assert(has("osmsnoop_lost_total{where=\"ring\"} 1\n"));
	flush(100);
	wait_for("osmsnoop_lost_total{where=\"ring\"} 2\n");
	put_loss();
	ck_assert(sinks_take_captures(sinks));
	close_within(10 * SECOND);
	ck_assert(has("osmsnoop_lost_total{where=\"ring\"} 3\n"));
	ck_assert(has("osmsnoop_up 0\n"));
	ck_assert(has("osmsnoop_ring_bytes 0\n"));
	ck_assert(has("osmsnoop_sa_outstanding 0\n"));
	ck_assert_uint_eq(logged("ERR"), 0);
}
END_TEST

/* OpenSM ended before anything was written. */
START_TEST(test_sink_nothing)
{
	close_within(10 * SECOND);
	ck_assert(has("osmsnoop_up 0\n"));
	ck_assert_uint_eq(logged("ERR"), 0);
}
END_TEST

START_TEST(test_sink_fails)
{
	unsigned t;

	ck_assert_int_eq(mkdir(path, 0700), 0);
	for (t = 0; !logged("ERR 5D40: "); t++) {
		flush(t);
		usleep(1000);
	}
	ck_assert_uint_eq(logged("is no regular file -- the metrics are not written"),
			  1);
	for (t = 0; t < 100; t++) {
		flush(1000 + t);
		usleep(1000);
	}
	ck_assert_uint_eq(logged("ERR"), 1);
	rmdir(path);
	/* a second is enough */
	for (t = 0; !logged("ERR 5D41: ") && t < 13; t++) {
		flush(1100 + t);
		usleep(20000);
	}
	ck_assert_uint_eq(logged("is written again"), 1);
	close_within(10 * SECOND);
	ck_assert(has("osmsnoop_up 0\n"));
	ck_assert_uint_eq(logged("ERR"), 2);
}
END_TEST

START_TEST(test_sink_hangs)
{
	uint64_t began = clock_ns(CLOCK_MONOTONIC);
	unsigned t;

	disk_hangs(true);
	for (t = 0; t < 20; t++)
		flush(t);
	ck_assert_uint_eq(logged("ERR"), 0);
	for (; t < 1000; t++) {
		put_loss();
		flush(t);
	}
	ck_assert_uint_eq(logged("ERR 5D40: "), 1);
	ck_assert_uint_eq(logged("its disk hangs or is too slow"), 1);
	/* no waiting */
	ck_assert_uint_lt(clock_ns(CLOCK_MONOTONIC) - began, 5 * SECOND);
	disk_hangs(false);
	for (; !logged("ERR 5D41: "); t++) {
		flush(t);
		usleep(1000);
	}
	wait_for("osmsnoop_lost_total{where=\"ring\"} 980\n");
	close_within(10 * SECOND);
	ck_assert_uint_eq(logged("ERR"), 2);
}
END_TEST

START_TEST(test_sink_hangs_at_the_end)
{
	flush(0);
	wait_for("osmsnoop_up 1\n");
	disk_hangs(true);
	flush(100);
	ck_assert_uint_lt(close_within(SECOND / 5), SECOND);
	ck_assert_uint_eq(logged("ERR 5D40: "), 1);
	ck_assert_uint_eq(logged("ends without waiting for the last metrics"),
			  1);
	ck_assert(has("osmsnoop_up 1\n"));
	/* the thread that was left behind ends by itself */
	disk_hangs(false);
	wait_for("osmsnoop_up 0\n");
	ck_assert_uint_eq(logged("ERR"), 1);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("replace");
	TCase *file = tcase_create("file"), *sink = tcase_create("sink");

	tcase_add_checked_fixture(file, setup, teardown);
	tcase_add_test(file, test_no_folder);
	tcase_add_test(file, test_link);
	tcase_add_test(file, test_no_file);
	tcase_add_test(file, test_not_ours);
	tcase_add_test(file, test_mode);
	tcase_add_test(file, test_replaced);
	tcase_add_test(file, test_two);
	tcase_add_test(file, test_full);
	suite_add_tcase(suite, file);

	tcase_add_checked_fixture(sink, sink_setup, log_teardown);
	tcase_add_test(sink, test_sink);
	tcase_add_test(sink, test_sink_nothing);
	tcase_add_test(sink, test_sink_fails);
	tcase_add_test(sink, test_sink_hangs);
	tcase_add_test(sink, test_sink_hangs_at_the_end);
	tcase_set_timeout(sink, 20);
	suite_add_tcase(suite, sink);
	return run_suite(suite);
}
