/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * tools/audit_check.c on an audit of 10,000 records in 5 files, as the plugin's
 * code writes it: whatever is changed, removed or swapped is found, and
 * nothing else.
 */
#include "../plugin/disk.h"
#include "audit_check.h"
#include "audits.h"
#include "../run.h"

enum { FILES = 5, RECORDS = 10000, FILE_BYTES = 420000 };

static char names[FILES][128];	/* the oldest first */
static char *texts[FILES];
static size_t sizes[FILES];

static void read_text(int i)
{
	struct stat st;

	snprintf(names[i], sizeof(names[i]), i == FILES - 1 ? "%s" : "%s.%d",
		 path, FILES - 1 - i);
	ck_assert_int_eq(stat(names[i], &st), 0);
	sizes[i] = (size_t)st.st_size;
	texts[i] = malloc(sizes[i] + 1);
	memcpy(texts[i], content(names[i]), sizes[i] + 1);
}

static void setup(void)
{
	int i;

	disk_setup();
	ck_assert(audit_make(path, FILE_BYTES, 0, RECORDS));
	for (i = 0; i < FILES; i++)
		read_text(i);
	ck_assert_int_ne(access(beside(".5"), F_OK), 0);
}

static void teardown(void)
{
	int i;

	for (i = 0; i < FILES; i++)
		free(texts[i]);
	disk_teardown();
}

static void put_bytes(const char *name, const char *bytes, size_t len)
{
	int fd = open(name, O_WRONLY | O_CREAT | O_TRUNC, 0600);

	ck_assert_int_eq(write(fd, bytes, len), len);
	close(fd);
}

/* All of it. Returns how many faults; the first one stays in `first`. */
static struct audit_fault first;
static uint64_t records, behind;

static size_t faults_of(char **paths)
{
	struct audit a;
	size_t n, i;

	audit_open(&a, paths);
	ck_assert(audit_check(&a, NULL, NULL));
	n = a.n_faults;
	memset(&first, 0, sizeof(first));
	if (n)
		first = a.faults[0];
	first.path = NULL;
	behind = a.behind;
	for (records = i = 0; i < a.n; i++)
		records += a.files[i].records;
	audit_close(&a);
	return n;
}

static size_t faults(void)
{
	return faults_of((char *[]){ path, NULL });
}

static void check_fault(const char *what)
{
	ck_assert_uint_ge(faults(), 1);
	ck_assert_msg(strstr(first.what, what), "'%s' in '%s'", what,
		      first.what);
}

START_TEST(test_well)
{
	char *mixed[] = { names[2], names[0], names[4], names[1], names[3],
			  names[2], NULL };

	ck_assert_uint_eq(faults(), 0);
	ck_assert_uint_eq(records, RECORDS);
	ck_assert_uint_eq(behind, 0);
	ck_assert_uint_eq(faults_of(mixed), 0);
	ck_assert_uint_eq(records, RECORDS);
}
END_TEST

/*
 * Change lines, from a known state before them: what a reader of the whole
 * file would come to.
 */

static size_t line_len(const char *line)
{
	return (size_t)(strchr(line, '\n') + 1 - line);
}

static bool is_found(const struct audit_file *before, const char *bytes,
		     size_t len)
{
	static const struct audit nothing;
	struct audit_file after = *before;

	audit_check_lines(&nothing, &after, bytes, len);
	return after.fault.what[0];
}

static void take(struct audit_file *state, const char *line, size_t len)
{
	static const struct audit nothing;

	audit_check_lines(&nothing, state, line, len);
	if (state->fault.what[0])
		ck_abort_msg("%s", state->fault.what);
}

/* Bytes of this line, each or some, with the line behind it. */
static void change_bytes(const struct audit_file *before, const char *line,
			 size_t len, size_t more, const char *masks,
			 size_t start, size_t step)
{
	char bytes[2048];
	size_t i;

	memcpy(bytes, line, len + more);
	for (; *masks; masks++) {
		/* without one behind, its newline is the file's end */
		for (i = start; i < len - !more; i += step) {
			bytes[i] ^= *masks;
			if (!is_found(before, bytes, len + more))
				ck_abort_msg("byte %zu ^ %#x of %.*s", i,
					     *masks, (int)len, line);
			bytes[i] ^= *masks;
		}
	}
}

/* Every byte of every tenth line, and some of each. */
START_TEST(test_every_byte)
{
	struct audit_file state = { 0 };
	const char *line = texts[_i];
	size_t len, more, step, n;

	for (n = 0; *line; line += len, n++) {
		len = line_len(line);
		more = line[len] ? line_len(line + len) : 0;
		step = n % 10 ? 53 : 1;
		change_bytes(&state, line, len, more, "\001", n % step, step);
		take(&state, line, len);
	}
}
END_TEST

/* Every other value of every byte of some. */
START_TEST(test_every_value)
{
	struct audit_file state = { 0 };
	const char *line = texts[1];
	char masks[256];
	size_t len, more, i;

	for (i = 0; i < 255; i++)
		masks[i] = (char)(i + 1);
	masks[255] = '\0';
	for (i = 0; *line; line += len, i++) {
		len = line_len(line);
		more = line[len] ? line_len(line + len) : 0;
		if (!i || i == 1000 || !more)
			change_bytes(&state, line, len, more, masks, 0, 1);
		take(&state, line, len);
	}
}
END_TEST

START_TEST(test_lines_removed_and_swapped)
{
	struct audit_file state = { 0 };
	const char *line = texts[_i];
	char swapped[2048];
	size_t len, more;

	for (; line[len = line_len(line)]; line += len) {
		more = line_len(line + len);
		if (!is_found(&state, line + len, more))
			ck_abort_msg("without %.*s", (int)len, line);
		memcpy(swapped, line + len, more);
		memcpy(swapped + more, line, len);
		if (!is_found(&state, swapped, len + more))
			ck_abort_msg("behind the next: %.*s", (int)len, line);
		/* twice */
		memcpy(swapped, line, len);
		memcpy(swapped + len, line, len);
		ck_assert(is_found(&state, swapped, 2 * len));
		take(&state, line, len);
	}
}
END_TEST

/* What only the next file, or the sidecar, can tell. */
START_TEST(test_ends)
{
	char *text = texts[_i], *last;
	int cut;

	/* the newline */
	text[sizes[_i] - 1] = ' ';
	put_bytes(names[_i], text, sizes[_i]);
	ck_assert_uint_ge(faults(), 1);
	text[sizes[_i] - 1] = '\n';
	put_bytes(names[_i], text, sizes[_i] - 1);
	ck_assert_uint_ge(faults(), 1);
	/* the last lines, and all */
	last = text + sizes[_i];
	for (cut = 0; cut < 20; cut++) {
		last = memrchr(text, '\n', (size_t)(last - text) - 1);
		last++;
		put_bytes(names[_i], text, (size_t)(last - text));
		check_fault(_i < FILES - 1 ? "does not go on" :
					     "its end is missing");
	}
	put_bytes(names[_i], "", 0);
	if (_i)
		check_fault(_i < FILES - 1 ? "does not go on" :
					     "its end is missing");
	else
		ck_assert_uint_eq(faults(), 0);
}
END_TEST

START_TEST(test_files_removed)
{
	int i;

	unlink(names[_i]);
	i = (int)faults();
	/* the oldest may be gone */
	if (!_i)
		ck_assert_int_eq(i, 0);
	else if (_i < FILES - 1)
		check_fault("does not go on from the end of");
	else
		check_fault("No such file");
	/* two are one another's */
	put_bytes(names[_i], texts[(_i + 1) % FILES], sizes[(_i + 1) % FILES]);
	ck_assert_uint_ge(faults(), 1);
}
END_TEST

START_TEST(test_sidecar)
{
	char mark[CHAIN_MARK + 1];
	size_t i;

	memcpy(mark, content(beside(".chain")), sizeof(mark));
	for (i = 0; i < CHAIN_MARK; i++) {
		mark[i] ^= 1;
		put_bytes(beside(".chain"), mark, CHAIN_MARK);
		ck_assert_uint_ge(faults(), 1);
		mark[i] ^= 1;
	}
	put_bytes(beside(".chain"), mark, CHAIN_MARK - 1);
	check_fault("is damaged");
	unlink(beside(".chain"));
	check_fault("is missing: whether the end");
	/* what was there before a crash between the two writes */
	put_bytes(beside(".chain"), mark, CHAIN_MARK);
	ck_assert(audit_make(path, FILE_BYTES, RECORDS, 3));
	put_bytes(beside(".chain"), mark, CHAIN_MARK);
	ck_assert_uint_eq(faults(), 0);
	ck_assert_uint_eq(behind, 3);
}
END_TEST

START_TEST(test_older_version)
{
	static const char old[] =
		"{\"seq\":1,\"time\":\"2025\",\"type\":\"state\"}\n"
		"{\"seq\":2,\"time\":\"2025\",\"type\":\"state\"}\n";

	empty_dir();
	put_bytes(path, old, sizeof(old) - 1);
	check_fault("is missing: whether");
	ck_assert(audit_make(path, FILE_BYTES, 0, 3));
	ck_assert_uint_eq(faults(), 0);
	ck_assert_uint_eq(records, 5);
	/* rotated before */
	rename(path, beside(".1"));
	put_bytes(beside(".2"), old, sizeof(old) - 1);
	ck_assert(audit_make(path, FILE_BYTES, 10, 3));
	ck_assert_uint_eq(faults(), 0);
	ck_assert_uint_eq(records, 10);
}
END_TEST

START_TEST(test_no_audit)
{
	static char line[300000];

	put_bytes(path, "hello\n", 6);
	check_fault("is no record of osmsnoop");
	put_bytes(path, "{\"seq\":1,}\n", 11);
	check_fault("is no JSON");
	memset(line, 'x', sizeof(line));
	put_bytes(path, line, sizeof(line));
	check_fault("is longer than any record");
	unlink(path);
	mkdir(path, 0700);
	check_fault("is no regular file");
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("audit_check");
	TCase *tcase = tcase_create("audit");

	tcase_add_checked_fixture(tcase, setup, teardown);
	tcase_add_test(tcase, test_well);
	tcase_add_loop_test(tcase, test_every_byte, 0, FILES);
	tcase_add_test(tcase, test_every_value);
	tcase_add_loop_test(tcase, test_lines_removed_and_swapped, 0, FILES);
	tcase_add_loop_test(tcase, test_ends, 0, FILES);
	tcase_add_loop_test(tcase, test_files_removed, 0, FILES);
	tcase_add_test(tcase, test_sidecar);
	tcase_add_test(tcase, test_older_version);
	tcase_add_test(tcase, test_no_audit);
	suite_add_tcase(suite, tcase);
	return run_suite(suite);
}
