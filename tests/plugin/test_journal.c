/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * plugin/journal.c: what becomes of records that cannot be written: counted,
 * told in the file and in the log, and how often it is tried again.
 */
#include "disk.h"
#include "journal.h"
#include "record.h"
#include "../run.h"

static struct journal journal;
static char said[16384];	/* a line each */

static void say(void *context, const char *code, const char *text)
{
	size_t len = strlen(said);

	ck_assert_ptr_eq(context, &journal);
	snprintf(said + len, sizeof(said) - len, "%s: %s\n", code, text);
}

static void begin(void)
{
	journal_init(&journal, path, 1 << 30, 8, say, &journal);
	journal_open(&journal, 0);
}

static void put_state(void)
{
	struct record r = {
		.type = RECORD_STATE,
		.time_ns = SECOND,
		.state = { .state = "sweep_done", .sm_state = "master" },
	};
	char json[RECORD_JSON_MAX];

	journal_put(&journal, json, record_json(&r, json, sizeof(json)));
}

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
	ck_assert_int_eq(mkdir(path, 0700), 0);
	begin();
	ck_assert_uint_eq(count(said, "5D20"), 1);
	put_state();
	put_state();
	journal_flush(&journal, SECOND);
	put_state();
	journal_flush(&journal, SECOND + SECOND / 2);
	journal_flush(&journal, 3 * SECOND);
	/* said once */
	ck_assert_uint_eq(count(said, "\n"), 1);

	rmdir(path);
	journal_flush(&journal, 3 * SECOND + SECOND / 2);	/* too early */
	ck_assert_int_eq(access(path, F_OK), -1);
	journal_flush(&journal, 4 * SECOND);
	put_state();
	journal_close(&journal);
	ck_assert_uint_eq(check_lines(path, 1), 2);
	check_loss(path, 1, 3, 3);
	ck_assert_uint_eq(count(said, "5D21"), 1);
	ck_assert_ptr_nonnull(strstr(said,
				     "3 records are missing"));
	ck_assert_uint_eq(count(said, "\n"), 2);
}
END_TEST

START_TEST(test_never_opens)
{
	ck_assert_int_eq(mkdir(path, 0700), 0);
	begin();
	put_state();
	put_state();
	journal_close(&journal);
	ck_assert_ptr_nonnull(strstr(said,
				     "5D22: "));
	ck_assert_ptr_nonnull(strstr(said,
				     "ends without 2 records"));
}
END_TEST

enum { PAD = 200 };

/* Some records first: the limit is for the output of check as well. */
static off_t begin_padded(void)
{
	struct stat st;
	int i;

	begin();
	for (i = 0; i < PAD; i++)
		put_state();
	journal_flush(&journal, SECOND);
	ck_assert_int_eq(stat(path, &st), 0);
	return st.st_size;
}

static void flush_within(off_t bytes, uint64_t mono_ns)
{
	limit_size((rlim_t)bytes);
	journal_flush(&journal, mono_ns);
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
	flush_within(size + 5 * line / 2, 2 * SECOND);
	ck_assert_uint_eq(check_lines(path, 1), PAD + 2);
	put_state();
	/* the retry has no room for the loss record either */
	flush_within(size + 5 * line / 2, 3 * SECOND);
	flush_within(size + 5 * line / 2, 4 * SECOND);
	put_state();
	ck_assert_uint_eq(check_lines(path, 1), PAD + 2);
	ck_assert_uint_eq(count(said, "\n"), 1);
	journal_flush(&journal, 5 * SECOND);
	put_state();
	journal_flush(&journal, 6 * SECOND);
	ck_assert_uint_eq(check_lines(path, 1), PAD + 4);
	check_loss(path, PAD + 3, 5, 5);

	/* again, and this time to the end; total is since the start */
	ck_assert_int_eq(stat(path, &st), 0);
	put_state();
	flush_within(st.st_size + 1, 7 * SECOND);
	put_state();
	journal_close(&journal);
	ck_assert_uint_eq(check_lines(path, 1), PAD + 5);
	check_loss(path, PAD + 5, 2, 7);
	ck_assert_uint_eq(count(said, "5D20"), 2);
	ck_assert_uint_eq(count(said, "5D21"), 2);
}
END_TEST

/* Room for a loss record now and then is no end of it: said once. */
START_TEST(test_nearly_full)
{
	const off_t size = begin_padded(), line = size / PAD;
	int i;

	for (i = 1; i <= 20; i++) {
		put_state();
		put_state();
		/* the loss record fits, and one more does not */
		flush_within(size + 3 * line / 2 + (i / 2) * 3 * line / 2,
			     SECOND + (uint64_t)i * SECOND / 2);
	}
	ck_assert_uint_eq(count(said, "5D20: "), 1);
	ck_assert_uint_eq(count(said, "5D21: "), 0);
	for (i = 0; i < 5; i++)
		journal_flush(&journal, 20 * SECOND + (uint64_t)i * SECOND / 2);
	ck_assert_uint_eq(count(said, "5D21: "), 1);
	journal_close(&journal);
	ck_assert_uint_eq(count(said, "\n"), 2);
}
END_TEST

/* The end comes while there is no room. */
START_TEST(test_close_at_the_limit)
{
	const off_t size = begin_padded();

	put_state();
	limit_size((rlim_t)size);
	journal_close(&journal);
	limit_size(RLIM_INFINITY);
	ck_assert_uint_eq(check_lines(path, 1), PAD);
	ck_assert_ptr_nonnull(strstr(said,
				     "ends without 1 records"));
}
END_TEST

START_TEST(test_torn_is_a_loss)
{
	const off_t size = begin_padded();

	journal_close(&journal);
	ck_assert_int_eq(truncate(path, size - 3), 0);

	/* the line is gone although there is no room to say so: remembered */
	limit_size((rlim_t)(size - size / PAD + 10));
	begin();
	limit_size(RLIM_INFINITY);
	ck_assert_uint_eq(check_lines(path, 1), PAD - 1);
	journal_flush(&journal, SECOND);
	put_state();
	journal_close(&journal);
	ck_assert_uint_eq(check_lines(path, 1), PAD + 1);
	check_loss(path, PAD, 1, 1);
}
END_TEST

START_TEST(test_full_disk_for_all)
{
	uint64_t told = 0, last, n;
	const char *text;
	int i;

	if (!mount_small())
		return;
	begin();
	for (i = 1; i <= 50; i++) {
		for (n = 0; n < 10; n++)
			put_state();
		journal_flush(&journal, (uint64_t)i * SECOND);
	}
	journal_close(&journal);
	last = check_lines(path, 1);
	ck_assert_uint_gt(last, 3);
	for (text = content(path); (text = strstr(text, "\"lost\":")); text++)
		told += strtoull(text + 7, NULL, 10);
	n = count(content(path), "\"type\":\"state\"");
	text = strstr(said, "ends without ");
	ck_assert_ptr_nonnull(text);
	told += strtoull(text + 13, NULL, 10);
	ck_assert_uint_eq(n + told, 500);
}
END_TEST

START_TEST(test_moved)
{
	begin();
	put_state();
	journal_flush(&journal, SECOND);
	put_state();
	ck_assert_int_eq(rename(path, beside("-old")), 0);
	journal_flush(&journal, 2 * SECOND);
	put_state();
	journal_close(&journal);
	ck_assert_uint_eq(check_lines(beside("-old"), 1), 2);
	ck_assert_uint_eq(check_lines(path, 1), 1);
	ck_assert_uint_eq(count(said, "\n"), 0);
}
END_TEST

/* Records that others lost are told where they are missing. */
START_TEST(test_lose)
{
	begin();
	put_state();
	journal_lose(&journal, 3);
	put_state();
	journal_lose(&journal, 4);
	journal_close(&journal);
	ck_assert_uint_eq(check_lines(path, 1), 4);
	check_loss(path, 2, 3, 3);
	check_loss(path, 4, 4, 7);
	ck_assert_str_eq(said, "");
}
END_TEST

/* ... and added to what is lost anyway. */
START_TEST(test_lose_while_failing)
{
	ck_assert_int_eq(mkdir(path, 0700), 0);
	begin();
	put_state();
	journal_lose(&journal, 3);
	rmdir(path);
	journal_flush(&journal, SECOND);
	journal_close(&journal);
	ck_assert_uint_eq(check_lines(path, 1), 1);
	check_loss(path, 1, 4, 4);
}
END_TEST

START_TEST(test_emptied)
{
	begin();
	put_state();
	journal_flush(&journal, SECOND);
	ck_assert_int_eq(truncate(path, 0), 0);
	put_state();
	journal_flush(&journal, 2 * SECOND);
	journal_flush(&journal, 3 * SECOND);
	ck_assert_uint_eq(check_lines(path, 1), 1);
	ck_assert_uint_eq(count(said, "5D26: "), 1);
	ck_assert_uint_eq(count(said, "\n"), 1);
	journal_close(&journal);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("journal");
	TCase *tcase = tcase_create("journal");

	tcase_add_checked_fixture(tcase, disk_setup, disk_teardown);
	tcase_add_test(tcase, test_cannot_open);
	tcase_add_test(tcase, test_never_opens);
	tcase_add_test(tcase, test_fail_and_resume);
	tcase_add_test(tcase, test_nearly_full);
	tcase_add_test(tcase, test_close_at_the_limit);
	tcase_add_test(tcase, test_torn_is_a_loss);
	tcase_add_test(tcase, test_full_disk_for_all);
	tcase_add_test(tcase, test_moved);
	tcase_add_test(tcase, test_lose);
	tcase_add_test(tcase, test_lose_while_failing);
	tcase_add_test(tcase, test_emptied);
	suite_add_tcase(suite, tcase);
	return run_suite(suite);
}
