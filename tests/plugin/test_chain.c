/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * plugin/file_chain.c: the chain goes on from the last record that is in a
 * file, whatever became of others, and the sidecar names that one. What all formats
 * have in common is in test_file.c, for this one as well.
 */
#include "kinds.h"
#include "../run.h"

static struct file *file;
static uint64_t lost;
static const uint8_t zeroes[CHAIN_SIZE];

/* As after a restart. */
static void start(uint64_t max_bytes)
{
	if (file)
		file_close(file);
	else
		file = malloc(sizeof(*file));
	file_init(file, &file_chain, path, max_bytes, 8);
}

static void setup(void)
{
	setup_chain();
	lost = 0;
	start(1 << 30);
	ck_assert(file_open(file));
}

static void teardown(void)
{
	file_close(file);
	free(file);
	file = NULL;
	disk_teardown();
}

static void put(unsigned n)
{
	char record[RECORD_MAX];

	while (n--)
		ck_assert(file_put(file, record, make_line(record, false),
				   &lost));
}

static void write_records(unsigned n)
{
	put(n);
	ck_assert(file_flush(file, &lost));
}

static bool flush_within(off_t bytes)
{
	bool well;

	limit_size((rlim_t)bytes);
	well = file_flush(file, &lost);
	limit_size(RLIM_INFINITY);
	return well;
}

/* The first line of a file, or the last. */
static struct chain_line line_of(const char *name, bool last)
{
	const char *text = content(name), *end = strchr(text, '\n');
	struct chain_line read;

	ck_assert_ptr_nonnull(end);
	while (last && end[1]) {
		text = end + 1;
		end = strchr(text, '\n');
	}
	ck_assert(chain_read(text, (size_t)(end - text), &read));
	return read;
}

static struct chain_mark mark(void)
{
	struct chain_mark mark;

	ck_assert(chain_read_mark(content(beside(".chain")), CHAIN_MARK,
				  &mark));
	return mark;
}

static void write_mark(const struct chain_mark *of, const uint8_t *value)
{
	struct chain_mark mark = { .seq = of->seq };
	char text[CHAIN_MARK + 1] = "";

	memcpy(mark.value, value, CHAIN_SIZE);
	chain_write_mark(&mark, text);
	write_file(beside(".chain"), text);
}

/* So many records, chained on from there; the sidecar names the last. */
static void check_file(uint64_t records, const uint8_t from[CHAIN_SIZE])
{
	struct chain_line read;

	ck_assert_uint_eq(records_in(path), records);
	read = line_of(path, false);
	ck_assert_mem_eq(read.from, from, CHAIN_SIZE);
	read = line_of(path, true);
	ck_assert_uint_eq(mark().seq, records);
	ck_assert_mem_eq(mark().value, read.value, CHAIN_SIZE);
	ck_assert_ptr_null(file->note.code);
}

/* The value is what sha256sum says of 32 zeroes and the object. */
START_TEST(test_definition)
{
	static const char line[] =
		"{\"seq\":1,\"chain_from\":\"0000000000000000000000000000000000000000000000000000000000000000\",\"a\":1"
		",\"chain\":\"69e0b1767dbc54b0d376a3a4c9d398296d7fc5c1e2925365d92035ebc4b7fe92\"}\n";

	ck_assert(file_put(file, "\"a\":1", 5, &lost));
	ck_assert(file_flush(file, &lost));
	ck_assert_str_eq(content(path), line);
}
END_TEST

START_TEST(test_sidecar)
{
	struct stat st;

	/* before the first record: its room is taken */
	ck_assert_uint_eq(mark().seq, 0);
	ck_assert_mem_eq(mark().value, zeroes, CHAIN_SIZE);
	ck_assert_int_eq(stat(beside(".chain"), &st), 0);
	ck_assert_uint_eq(st.st_mode & 07777, 0640);
	write_records(12);
	check_file(12, zeroes);
	/* somebody removes it, or puts a link there */
	unlink(beside(".chain"));
	write_records(1);
	check_file(13, zeroes);
	unlink(beside(".chain"));
	ck_assert_int_eq(symlink("/etc/passwd", beside(".chain")), 0);
	write_records(1);
	ck_assert_str_eq(file->note.code, "5D2A");
	ck_assert_ptr_nonnull(strstr(file->note.text, "symbolic link"));
	file->note.code = NULL;
	/* said once */
	write_records(1);
	ck_assert_ptr_null(file->note.code);
	unlink(beside(".chain"));
	write_records(1);
	check_file(16, zeroes);
	/* another's file is not touched */
	unlink(beside(".chain"));
	write_file(beside(".chain"), "precious\n");
	write_records(1);
	ck_assert_str_eq(file->note.code, "5D2A");
	ck_assert_str_eq(content(beside(".chain")), "precious\n");
	ck_assert_uint_eq(records_in(path), 17);
	/* the mode is the file's */
	file->note.code = NULL;
	unlink(beside(".chain"));
	chmod(path, 0600);
	start(1 << 30);
	ck_assert(file_open(file));
	write_records(1);
	ck_assert_int_eq(stat(beside(".chain"), &st), 0);
	ck_assert_uint_eq(st.st_mode & 07777, 0600);
}
END_TEST

START_TEST(test_restart)
{
	unsigned i;

	for (i = 1; i <= 4; i++) {
		write_records(3);
		check_file(3 * i, zeroes);
		start(1 << 30);
		ck_assert(file_open(file));
		ck_assert_uint_eq(file->missing, 0);
	}
	/* nothing was written: nothing has changed */
	check_file(12, zeroes);
}
END_TEST

START_TEST(test_rotation)
{
	struct chain_line last;

	start((uint64_t)file_size(3));
	ck_assert(file_open(file));
	write_records(9);
	last = line_of(beside(".1"), true);
	check_file(mark().seq, last.value);
	last = line_of(beside(".2"), true);
	ck_assert_mem_eq(line_of(beside(".1"), false).from, last.value,
			 CHAIN_SIZE);

	/* as logrotate does, with a record in the buffer, and a new file */
	put(1);
	rename(path, beside("-old"));
	write_file(path, "");
	ck_assert(file_follow(file, &lost));
	/* begun, and without a record: a kill here is none of a record */
	last = line_of(beside("-old"), true);
	ck_assert_mem_eq(mark().value, last.value, CHAIN_SIZE);
	start(1 << 30);
	ck_assert(file_open(file));
	ck_assert_uint_eq(file->missing, 0);
	write_records(2);
	check_file(2, last.value);
	ck_assert_uint_eq(lost, 0);
}
END_TEST

/* Moved away while nobody wrote it, the sidecar up to date or not. */
START_TEST(test_rotated_between)
{
	struct chain_line last;
	struct chain_mark old;

	write_records(3);
	last = line_of(path, true);
	file_close(file);
	rename(path, beside("-20261130"));
	start(1 << 30);
	ck_assert(file_open(file));
	write_records(3);
	check_file(3, last.value);

	/* killed between the record and the sidecar, then rotated */
	old = mark();
	write_records(2);
	last = line_of(path, true);
	file_close(file);
	rename(path, beside(".1"));
	write_mark(&old, old.value);
	start(1 << 30);
	ck_assert(file_open(file));
	write_records(1);
	check_file(1, last.value);

	/* an old .1 that is not what the sidecar names */
	last = line_of(path, true);
	unlink(path);
	start(1 << 30);
	ck_assert(file_open(file));
	write_records(1);
	check_file(1, last.value);
	/* without a sidecar, what is found */
	last = line_of(beside(".1"), true);
	unlink(path);
	unlink(beside(".chain"));
	start(1 << 30);
	ck_assert(file_open(file));
	write_records(1);
	check_file(1, last.value);
}
END_TEST

START_TEST(test_torn)
{
	struct chain_line last;
	off_t size;

	for (size = file_size(2) + 1; size < file_size(3); size += 7) {
		write_records(2);
		last = line_of(path, true);
		write_records(1);
		/* killed in the third: the sidecar names the second */
		ck_assert_int_eq(truncate(path, size), 0);
		write_mark(&(struct chain_mark){ .seq = 2 }, last.value);
		start(1 << 30);
		ck_assert(file_open(file));
		ck_assert_uint_eq(file->missing, 1);
		write_records(1);
		check_file(3, zeroes);
		file_close(file);
		empty_dir();
		start(1 << 30);
		ck_assert(file_open(file));
	}
}
END_TEST

/* An end that was cut off while nobody wrote is said, and counted, once. */
START_TEST(test_cut_off)
{
	write_records(9);
	start(1 << 30);
	ck_assert_int_eq(truncate(path, file_size(5) + 9), 0);
	ck_assert(file_open(file));
	ck_assert_uint_eq(file->missing, 4);
	ck_assert_str_eq(file->note.code, "5D29");
	ck_assert_ptr_nonnull(strstr(file->note.text, "record 9"));
	file->note.code = NULL;
	/* before anything is written, the sidecar is as it was */
	ck_assert_uint_eq(mark().seq, 9);
	ck_assert(file_open(file));
	ck_assert_uint_eq(file->missing, 0);
	write_records(1);
	check_file(6, zeroes);
	start(1 << 30);
	ck_assert(file_open(file));
	ck_assert_uint_eq(file->missing, 0);
	ck_assert_ptr_null(file->note.code);
}
END_TEST

/* Room for a part alone: what is there is chained, and what comes later. */
START_TEST(test_full)
{
	write_records(2);
	put(9);
	ck_assert(!flush_within(file_size(7) + 30));
	ck_assert_uint_eq(lost, 4);
	ck_assert_uint_eq(file->last, 7);
	ck_assert(file_open(file));
	check_file(7, zeroes);
	put(1);
	ck_assert(!flush_within(file_size(7)));
	ck_assert_uint_eq(lost, 5);
	ck_assert(file_open(file));
	check_file(7, zeroes);
	write_records(4);
	ck_assert_uint_eq(file->missing, 0);
	check_file(11, zeroes);
}
END_TEST

/* Emptied in its place: with records in the buffer, with little room. */
START_TEST(test_emptied)
{
	struct chain_line last;

	write_records(120);
	last = line_of(path, true);
	put(3);
	ck_assert_int_eq(truncate(path, 0), 0);
	ck_assert(file_flush(file, &lost));
	check_file(3, last.value);

	last = line_of(path, true);
	ck_assert_int_eq(truncate(path, 0), 0);
	put(4);
	ck_assert(!flush_within(file_size(2) + 3));
	ck_assert_uint_eq(lost, 2);
	ck_assert(file_open(file));
	check_file(2, last.value);
	write_records(1);
	check_file(3, last.value);

	/* with nothing in the buffer */
	last = line_of(path, true);
	ck_assert_int_eq(truncate(path, 0), 0);
	ck_assert(file_follow(file, &lost));
	write_records(1);
	check_file(1, last.value);
	/* while nobody writes */
	last = line_of(path, true);
	ck_assert_int_eq(truncate(path, 0), 0);
	start(1 << 30);
	ck_assert(file_open(file));
	write_records(1);
	check_file(1, last.value);
}
END_TEST

/* A buffer that is as full as it gets has room for chain_from, too. */
START_TEST(test_emptied_with_much)
{
	struct chain_line last;
	uint64_t n = 0;
	size_t used;

	write_records(1);
	last = line_of(path, true);
	do {
		used = file->used;
		put(1);
		n++;
	} while (file->used > used);
	/* that one has written those before it */
	last = line_of(path, true);
	used = file->used;
	while (file->used + used + file_chain.rest + 95 < sizeof(file->buffer))
		put(1);
	n = file->used / used;
	ck_assert_int_eq(truncate(path, 0), 0);
	ck_assert(file_flush(file, &lost));
	ck_assert_uint_eq(lost, 0);
	check_file(mark().seq, last.value);
	ck_assert_uint_ge(mark().seq, n - 1);
}
END_TEST

START_TEST(test_cut_while_written)
{
	write_records(4);
	ck_assert_int_eq(truncate(path, file_size(2) + 5), 0);
	put(1);
	ck_assert(!file_flush(file, &lost));
	ck_assert(file_open(file));
	ck_assert_uint_eq(file->missing, 2);
	write_records(1);
	check_file(3, zeroes);
}
END_TEST

/* Of an older version, or with an end that is none: begun behind it. */
START_TEST(test_older_version)
{
	static const char *const ends[] = {
		"{\"seq\":7,\"a\":1}\n",
		"{\"seq\":7,\"a\":1,\"chain\":\"00\"}\n",
		"{\"seq\":7,\"a\":1,\"chain\":\"000000000000000000000000000000000000000000000000000000000000000A\"}\n",
	};
	struct chain_line read;

	file_close(file);
	empty_dir();
	write_file(path, ends[_i]);
	start(1 << 30);
	ck_assert(file_open(file));
	ck_assert_uint_eq(file->last, 7);
	write_records(2);
	read = line_of(path, true);
	ck_assert_uint_eq(read.seq, 9);
	ck_assert(read.chained && !read.begins);
	ck_assert(chain_read(strchr(content(path), '\n') + 1, (size_t)
			     (file_size(1) - 1), &read));
	ck_assert(read.begins);
	ck_assert_mem_eq(read.from, zeroes, CHAIN_SIZE);
}
END_TEST

/* It has no room of its own on a disk that is full: what it took, it has. */
START_TEST(test_sidecar_on_a_full_disk)
{
	file_close(file);
	empty_dir();
	if (!mount_small())
		return;
	start(1 << 30);
	ck_assert(file_open(file));
	do
		put(1);
	while (file_flush(file, &lost));
	ck_assert_uint_gt(lost, 0);
	ck_assert(file_open(file));
	check_file(file->last, zeroes);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("chain");
	TCase *tcase = tcase_create("chain");

	tcase_add_checked_fixture(tcase, setup, teardown);
	tcase_add_test(tcase, test_definition);
	tcase_add_test(tcase, test_sidecar);
	tcase_add_test(tcase, test_restart);
	tcase_add_test(tcase, test_rotation);
	tcase_add_test(tcase, test_rotated_between);
	tcase_add_test(tcase, test_torn);
	tcase_add_test(tcase, test_cut_off);
	tcase_add_test(tcase, test_full);
	tcase_add_test(tcase, test_emptied);
	tcase_add_test(tcase, test_emptied_with_much);
	tcase_add_test(tcase, test_cut_while_written);
	tcase_add_loop_test(tcase, test_older_version, 0, 3);
	tcase_add_test(tcase, test_sidecar_on_a_full_disk);
	suite_add_tcase(suite, tcase);
	return run_suite(suite);
}
