/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * plugin/writer.c: who puts records never waits for the disk, and knows in
 * the end what became of each.
 *
 * The disk here is a double: it hangs in write() as long as the test wants,
 * and is a real file otherwise. A real one that hangs (a frozen file system)
 * is in fabric/files.sh.
 */
#include <pthread.h>
#include <sys/syscall.h>

#include "clock.h"
#include "kinds.h"
#include "opensm_log.h"
#include "sink.h"
#include "writer.h"
#include "../run.h"

static struct writer *writer;

static pthread_mutex_t disk_mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t disk_cond = PTHREAD_COND_INITIALIZER;
static bool hangs;
static unsigned hanging;	/* threads in it */

/* Stands in for libc's; the OpenSM log goes through stdio, not through here. */
ssize_t write(int fd, const void *data, size_t len)
{
	pthread_mutex_lock(&disk_mutex);
	hanging++;
	pthread_cond_broadcast(&disk_cond);
	while (hangs)
		pthread_cond_wait(&disk_cond, &disk_mutex);
	hanging--;
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

static void wait_until_hanging(void)
{
	pthread_mutex_lock(&disk_mutex);
	while (!hanging)
		pthread_cond_wait(&disk_cond, &disk_mutex);
	pthread_mutex_unlock(&disk_mutex);
}

static void begin(const struct kind *of)
{
	kind = of;
	log_setup();
	writer = writer_open(kind->format, path, 1 << 30, 8, &log_object,
			     NULL);
	ck_assert_ptr_nonnull(writer);
}

static void begin_lines(void)
{
	begin(&lines_kind);
}

static void begin_chain(void)
{
	begin(&chain_kind);
}

static void begin_pcap(void)
{
	begin(&pcap_kind);
}

static bool put(void)
{
	char record[RECORD_MAX];

	return writer_put(writer, record, kind->make(record, false));
}

/* Returns how long it took. */
static uint64_t close_within(uint64_t ns)
{
	uint64_t before = clock_ns(CLOCK_MONOTONIC);

	writer_close(writer, before + ns);
	return clock_ns(CLOCK_MONOTONIC) - before;
}

START_TEST(test_nothing)
{
	close_within(10 * SECOND);
	ck_assert_uint_eq(records_in(path), 0);
	ck_assert_uint_eq(logged("ERR"), 0);
}
END_TEST

START_TEST(test_all_at_the_end)
{
	int i;

	for (i = 0; i < 20000; i++)
		put();
	close_within(10 * SECOND);
	ck_assert_uint_eq(records_in(path), 20000);
	ck_assert_uint_eq(logged("ERR"), 0);
}
END_TEST

/* A record that could not be made is missing where it was. */
START_TEST(test_none)
{
	struct contents c;

	put();
	ck_assert(!writer_put(writer, NULL, 0));
	put();
	ck_assert(!writer_put(writer, NULL, 0));
	put();
	close_within(10 * SECOND);
	c = kind->contents(path);
	ck_assert_uint_eq(c.records, 3);
	ck_assert_uint_eq(c.lost, 2);
	ck_assert_uint_eq(c.lost_before[1], 1);
	ck_assert_uint_eq(c.lost_before[2], 1);
}
END_TEST

START_TEST(test_flush)
{
	struct stat st;

	put();
	writer_flush(writer);
	do
		usleep(1000);
	while (stat(path, &st) || st.st_size < file_size(1));
	ck_assert_uint_eq(records_in(path), 1);
	close_within(10 * SECOND);
}
END_TEST

/* More than the queue holds: counted, and told when the disk goes on. */
START_TEST(test_hangs_and_goes_on)
{
	const unsigned n = 16 * 1024 * 1024 / (unsigned)record_size();
	char record[RECORD_MAX], text[64];
	unsigned i, refused = 0;
	size_t len = kind->make(record, false);
	struct contents c;
	uint64_t began;

	disk_hangs(true);
	writer_put(writer, record, len);
	writer_flush(writer);
	wait_until_hanging();
	began = clock_ns(CLOCK_MONOTONIC);
	for (i = 1; i < n; i++)
		refused += !put();
	/* no waiting: this takes some milliseconds */
	ck_assert_uint_lt(clock_ns(CLOCK_MONOTONIC) - began, 5 * SECOND);
	ck_assert_uint_gt(refused, n / 4);
	writer_flush(writer);
	writer_flush(writer);
	/* the thread hangs: it is said for it, once */
	ck_assert_uint_eq(logged("ERR 5D27: "), 1);
	disk_hangs(false);
	while (!logged("ERR 5D28: ")) {
		usleep(10000);
		writer_flush(writer);
	}
	put();
	close_within(10 * SECOND);
	c = kind->contents(path);
	ck_assert_uint_eq(c.records, n - refused + 1);
	ck_assert_uint_eq(c.lost, refused);
	snprintf(text, sizeof(text), "hangs; %u records found no room",
		 refused);
	ck_assert_uint_eq(logged(text), 1);
	ck_assert_uint_eq(logged("ERR"), 2);
}
END_TEST

/* What a packet says to be lost is lost with it, when it finds no room. */
START_TEST(test_lost_with_it)
{
	char record[RECORD_MAX];
	size_t len = kind->make(record, false);
	struct contents c;

	disk_hangs(true);
	writer_put(writer, record, len);
	writer_flush(writer);
	wait_until_hanging();
	while (put())
		;
	len = kind->format->add_lost(record, kind->make(record, false), 1000);
	ck_assert(!writer_put(writer, record, len));
	writer_flush(writer);
	disk_hangs(false);
	while (!logged("ERR 5D28: ")) {
		usleep(10000);
		writer_flush(writer);
	}
	put();
	close_within(10 * SECOND);
	c = kind->contents(path);
	ck_assert_uint_eq(c.lost, 1 + 1001);
	ck_assert_uint_eq(logged("hangs; 1002 records found no room"), 1);
}
END_TEST

static void put_through(void)
{
	struct stat st;

	put();
	do {
		usleep(1000);
		writer_flush(writer);
	} while (stat(path, &st) || st.st_size < file_size(1));
}

static void wait_until_begun(uint64_t n)
{
	do {
		usleep(1000);
		writer_flush(writer);
	} while (writer_begun(writer) < n);
	put_through();
	ck_assert_uint_eq(writer_begun(writer), n);
}

/* Grows with each file, and with each failure. */
START_TEST(test_begun)
{
	wait_until_begun(1);
	ck_assert_int_eq(rename(path, beside("-old")), 0);
	wait_until_begun(2);
	ck_assert_int_eq(truncate(path, 0), 0);
	wait_until_begun(3);
	/* a part of a record: it is opened anew */
	ck_assert_int_eq(truncate(path, file_size(1) + 3), 0);
	wait_until_begun(4);
	close_within(10 * SECOND);
}
END_TEST

/* Few records: they wait, and it is said that they do. */
START_TEST(test_hangs_quietly)
{
	int i;

	disk_hangs(true);
	put();
	for (i = 0; i < 19; i++)
		writer_flush(writer);
	ck_assert_uint_eq(logged("ERR"), 0);
	for (i = 0; i < 40; i++)
		writer_flush(writer);
	ck_assert_uint_eq(logged("ERR 5D27: "), 1);
	disk_hangs(false);
	while (!logged("ERR 5D28: ")) {
		usleep(1000);
		writer_flush(writer);
	}
	ck_assert_uint_eq(logged("no longer hangs; 0 records"), 1);
	close_within(10 * SECOND);
	ck_assert_uint_eq(records_in(path), 1);
	ck_assert_uint_eq(logged("ERR"), 2);
}
END_TEST

/* The end does not wait, and says what it does not wait for. */
START_TEST(test_hangs_at_the_end)
{
	struct stat st;

	disk_hangs(true);
	put();
	writer_flush(writer);
	wait_until_hanging();
	put();
	put();
	ck_assert_uint_lt(close_within(SECOND / 5), SECOND);
	ck_assert_uint_eq(logged("ERR 5D25: "), 1);
	ck_assert_uint_eq(logged("without waiting for 3 records"), 1);

	/* the thread that was left behind ends by itself, and logs nothing */
	disk_hangs(false);
	do
		usleep(1000);
	while (stat(path, &st) || st.st_size < file_size(3));
	ck_assert_uint_eq(records_in(path), 3);
	ck_assert_uint_eq(logged("ERR"), 1);
}
END_TEST

/* A deadline that is over leaves time for a disk that is well. */
START_TEST(test_late_deadline)
{
	put();
	close_within(0);
	ck_assert_uint_eq(records_in(path), 1);
	ck_assert_uint_eq(logged("ERR"), 0);
}
END_TEST

START_TEST(test_unwritable)
{
	unsigned tries = 0;

	close_within(10 * SECOND);
	unlink(path);
	ck_assert_int_eq(mkdir(path, 0700), 0);
	writer = writer_open(kind->format, path, 1 << 30, 8, &log_object,
			     NULL);
	put();
	writer_flush(writer);
	while (!logged("ERR 5D20") && tries++ < 1000)
		usleep(1000);
	ck_assert_uint_eq(logged("ERR 5D20"), 1);
	close_within(10 * SECOND);
	ck_assert_uint_eq(logged("ends without 1 records"), 1);
}
END_TEST

static TCase *of_kind(const char *name, void (*setup)(void))
{
	TCase *tcase = tcase_create(name);

	tcase_add_checked_fixture(tcase, setup, log_teardown);
	tcase_add_test(tcase, test_nothing);
	tcase_add_test(tcase, test_all_at_the_end);
	tcase_add_test(tcase, test_none);
	tcase_add_test(tcase, test_flush);
	tcase_add_test(tcase, test_hangs_and_goes_on);
	tcase_add_test(tcase, test_begun);
	tcase_add_test(tcase, test_hangs_quietly);
	tcase_add_test(tcase, test_hangs_at_the_end);
	tcase_add_test(tcase, test_late_deadline);
	tcase_add_test(tcase, test_unwritable);
	tcase_set_timeout(tcase, 120);
	return tcase;
}

int main(void)
{
	Suite *suite = suite_create("writer");
	TCase *pcap = of_kind("pcap", begin_pcap);

	suite_add_tcase(suite, of_kind("lines", begin_lines));
	suite_add_tcase(suite, of_kind("chain", begin_chain));
	tcase_add_test(pcap, test_lost_with_it);
	suite_add_tcase(suite, pcap);
	return run_suite(suite);
}
