/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * plugin/journal.c: what becomes of records that cannot be written: counted,
 * told in the file and in the log, and how often it is tried again.
 */
#include "journal.h"
#include "kinds.h"
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
	journal_init(&journal, kind->format, path, 1 << 30, 8, say, &journal);
	journal_open(&journal, 0);
}

static void put(void)
{
	char record[RECORD_MAX];

	journal_put(&journal, record, kind->make(record, false));
}

static void check_records(const char *name, uint64_t records, uint64_t lost)
{
	const struct contents c = kind->contents(name);

	ck_assert_uint_eq(c.records, records);
	ck_assert_uint_eq(c.lost, lost);
}

/* So many are told to be missing behind so many records. */
static void check_loss(const char *name, uint64_t records, uint64_t lost)
{
	const struct contents c = kind->contents(name);

	ck_assert_uint_eq(c.lost_before[records], lost);
}

/* OpenSM runs before there is a folder for the trace, or a right to it. */
START_TEST(test_cannot_open)
{
	ck_assert_int_eq(mkdir(path, 0700), 0);
	begin();
	ck_assert_uint_eq(count(said, "5D20"), 1);
	put();
	put();
	journal_flush(&journal, SECOND);
	put();
	journal_flush(&journal, SECOND + SECOND / 2);
	journal_flush(&journal, 3 * SECOND);
	/* said once */
	ck_assert_uint_eq(count(said, "\n"), 1);

	rmdir(path);
	journal_flush(&journal, 3 * SECOND + SECOND / 2);	/* too early */
	ck_assert_int_eq(access(path, F_OK), -1);
	journal_flush(&journal, 4 * SECOND);
	put();
	journal_close(&journal);
	check_records(path, 1, 3);
	check_loss(path, 0, 3);
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
	put();
	put();
	journal_close(&journal);
	ck_assert_ptr_nonnull(strstr(said,
				     "5D22: "));
	ck_assert_ptr_nonnull(strstr(said,
				     "ends without 2 records"));
}
END_TEST

enum { PAD = 200 };

/* The bytes of one of them. */
static off_t record(void)
{
	struct stat st;

	ck_assert_int_eq(stat(path, &st), 0);
	return (st.st_size - (off_t)kind->format->header) /
	       (off_t)kind->contents(path).records;
}

/* Some records first: the limit is for the output of check as well. */
static off_t begin_padded(void)
{
	struct stat st;
	int i;

	begin();
	for (i = 0; i < PAD; i++)
		put();
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
	const off_t size = begin_padded();
	struct stat st;
	int i;

	/* room for two and a half more, of five */
	for (i = 0; i < 5; i++)
		put();
	flush_within(size + 5 * record() / 2, 2 * SECOND);
	check_records(path, PAD + 2, 0);
	put();
	/* the retry has no room for what it is to say either */
	flush_within(size + 5 * record() / 2, 3 * SECOND);
	flush_within(size + 5 * record() / 2, 4 * SECOND);
	if (kind->loss_is_a_record)
		put();
	check_records(path, PAD + 2, 0);
	ck_assert_uint_eq(count(said, "\n"), 1);
	journal_flush(&journal, 5 * SECOND);
	put();
	journal_flush(&journal, 6 * SECOND);
	i = kind->loss_is_a_record ? 5 : 4;
	check_records(path, PAD + 3, (uint64_t)i);
	check_loss(path, PAD + 2, (uint64_t)i);

	/* again, and this time to the end; total is since the start */
	ck_assert_int_eq(stat(path, &st), 0);
	put();
	flush_within(st.st_size + 1, 7 * SECOND);
	put();
	journal_close(&journal);
	ck_assert_uint_eq(count(said, "5D20"), 2);
	if (kind->loss_is_a_record) {
		check_records(path, PAD + 3, 7);
		check_loss(path, PAD + 3, 2);
		ck_assert_ptr_nonnull(strstr(content(path),
					     "\"lost\":2,\"total\":7"));
		ck_assert_uint_eq(count(said, "5D21"), 2);
		return;
	}
	/* no packet comes to say it */
	check_records(path, PAD + 3, 4);
	ck_assert_uint_eq(count(said, "5D21"), 1);
	ck_assert_uint_eq(count(said, "5D22"), 1);
	ck_assert_ptr_nonnull(strstr(said, "ends without 2 records"));
}
END_TEST

/* Room for a loss record now and then is no end of it: said once. */
START_TEST(test_nearly_full)
{
	const off_t size = begin_padded(), line = record();
	int i;

	for (i = 1; i <= 20; i++) {
		put();
		put();
		/* the loss record fits, and one more does not */
		flush_within(size + 3 * line / 2 + (i / 2) * 3 * line / 2,
			     SECOND + (uint64_t)i * SECOND / 2);
	}
	ck_assert_uint_eq(count(said, "5D20: "), 1);
	ck_assert_uint_eq(count(said, "5D21: "), 0);
	put();
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

	put();
	limit_size((rlim_t)size);
	journal_close(&journal);
	limit_size(RLIM_INFINITY);
	check_records(path, PAD, 0);
	ck_assert_ptr_nonnull(strstr(said,
				     "ends without 1 records"));
}
END_TEST

START_TEST(test_torn_is_a_loss)
{
	const off_t size = begin_padded(), line = record();

	journal_close(&journal);
	ck_assert_int_eq(truncate(path, size - 3), 0);

	/* it is gone although there is no room to say so: remembered */
	limit_size((rlim_t)(size - line + 10));
	begin();
	limit_size(RLIM_INFINITY);
	check_records(path, PAD - 1, 0);
	journal_flush(&journal, SECOND);
	put();
	journal_close(&journal);
	check_records(path, PAD, 1);
	check_loss(path, PAD - 1, 1);
}
END_TEST

START_TEST(test_full_disk_for_all)
{
	struct contents c;
	const char *text;
	int i, n;

	if (!mount_small())
		return;
	begin();
	for (i = 1; i <= 50; i++) {
		for (n = 0; n < 10; n++)
			put();
		journal_flush(&journal, (uint64_t)i * SECOND);
	}
	journal_close(&journal);
	c = kind->contents(path);
	ck_assert_uint_gt(c.records, 3);
	text = strstr(said, "ends without ");
	ck_assert_ptr_nonnull(text);
	c.lost += strtoull(text + 13, NULL, 10);
	ck_assert_uint_eq(c.records + c.lost, 500);
}
END_TEST

START_TEST(test_moved)
{
	begin();
	put();
	journal_flush(&journal, SECOND);
	put();
	ck_assert_int_eq(rename(path, beside("-old")), 0);
	journal_flush(&journal, 2 * SECOND);
	put();
	journal_close(&journal);
	check_records(beside("-old"), 2, 0);
	check_records(path, 1, 0);
	ck_assert_uint_eq(count(said, "\n"), 0);
}
END_TEST

/* Records that others lost are told where they are missing. */
START_TEST(test_lose)
{
	begin();
	put();
	journal_lose(&journal, 3);
	put();
	journal_lose(&journal, 4);
	put();
	journal_close(&journal);
	check_records(path, 3, 7);
	check_loss(path, 1, 3);
	check_loss(path, 2, 4);
	ck_assert_str_eq(said, "");
}
END_TEST

/* A file that nothing comes after cannot always say it. */
START_TEST(test_lose_at_the_end)
{
	begin();
	put();
	journal_lose(&journal, 3);
	journal_close(&journal);
	check_records(path, 1, kind->loss_is_a_record ? 3 : 0);
	ck_assert_uint_eq(count(said, "5D22: "),
			  kind->loss_is_a_record ? 0 : 1);
	ck_assert_uint_eq(count(said, "ends without 3 records"),
			  kind->loss_is_a_record ? 0 : 1);
}
END_TEST

/* ... and added to what is lost anyway. */
START_TEST(test_lose_while_failing)
{
	ck_assert_int_eq(mkdir(path, 0700), 0);
	begin();
	put();
	journal_lose(&journal, 3);
	rmdir(path);
	journal_flush(&journal, SECOND);
	put();
	journal_close(&journal);
	check_records(path, 1, 4);
	check_loss(path, 0, 4);
}
END_TEST

/* What a packet says to be lost, before it, is not forgotten with it. */
START_TEST(test_lost_with_it)
{
	char packet[RECORD_MAX];
	const off_t size = begin_padded();
	int i;

	for (i = 0; i < 3; i++)
		journal_put(&journal, packet,
			    kind->format->add_lost(
				    packet, kind->make(packet, false), 70000));
	flush_within(size + 3 * record() / 2, 2 * SECOND);
	check_records(path, PAD + 1, 70000);
	/* while it fails */
	journal_put(&journal, packet,
		    kind->format->add_lost(packet, kind->make(packet, false),
					   5));
	journal_flush(&journal, 3 * SECOND);
	/* with what it is to say for others */
	journal_put(&journal, packet,
		    kind->format->add_lost(packet, kind->make(packet, false),
					   7));
	journal_close(&journal);
	check_records(path, PAD + 2, 70000 + 2 * 70001 + 6 + 7);
	ck_assert_uint_eq(count(said, "140008 records are missing"), 1);
}
END_TEST

START_TEST(test_emptied)
{
	begin();
	put();
	journal_flush(&journal, SECOND);
	ck_assert_int_eq(truncate(path, 0), 0);
	put();
	journal_flush(&journal, 2 * SECOND);
	journal_flush(&journal, 3 * SECOND);
	ck_assert_uint_eq(records_in(path), 1);
	ck_assert_uint_eq(count(said, "5D26: "), 1);
	ck_assert_uint_eq(count(said, "\n"), 1);
	journal_close(&journal);
}
END_TEST

static TCase *of_kind(const char *name, void (*setup)(void))
{
	TCase *tcase = tcase_create(name);

	tcase_add_checked_fixture(tcase, setup, disk_teardown);
	tcase_add_test(tcase, test_cannot_open);
	tcase_add_test(tcase, test_never_opens);
	tcase_add_test(tcase, test_fail_and_resume);
	tcase_add_test(tcase, test_nearly_full);
	tcase_add_test(tcase, test_close_at_the_limit);
	tcase_add_test(tcase, test_torn_is_a_loss);
	tcase_add_test(tcase, test_full_disk_for_all);
	tcase_add_test(tcase, test_moved);
	tcase_add_test(tcase, test_lose);
	tcase_add_test(tcase, test_lose_at_the_end);
	tcase_add_test(tcase, test_lose_while_failing);
	tcase_add_test(tcase, test_emptied);
	return tcase;
}

int main(void)
{
	Suite *suite = suite_create("journal");
	TCase *pcap = of_kind("pcap", setup_pcap);

	suite_add_tcase(suite, of_kind("lines", setup_lines));
	suite_add_tcase(suite, of_kind("chain", setup_chain));
	tcase_add_test(pcap, test_lost_with_it);
	suite_add_tcase(suite, pcap);
	return run_suite(suite);
}
