/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>
#include <string.h>

#include "audit_check.h"
#include "cli.h"
#include "field.h"
#include "progress.h"
#include "verify.h"

/* Text from a file or a file's name: what is not plain is escaped. */
static const char *plain(const char *text, char *buf, size_t size)
{
	struct words w;

	words_init(&w, buf, size);
	words_text(&w, text, strlen(text), false);
	return buf;
}

enum { PLAIN_MAX = 8192 };

/* What is before the first record: false, files that are not here. */
static bool is_whole(const struct audit *a)
{
	static const uint8_t zeroes[CHAIN_SIZE];

	return !a->n || !memcmp(a->files[0].from, zeroes, CHAIN_SIZE);
}

static void sum_up(const struct audit *a, uint64_t *records, uint64_t *lost)
{
	size_t i;

	*records = *lost = 0;
	for (i = 0; i < a->n; i++) {
		*records += a->files[i].records;
		*lost += a->files[i].lost;
	}
}

/*
 * As text
 */

static void show_file(const struct audit_file *f)
{
	char buf[PLAIN_MAX];

	printf("%s: %" PRIu64 " records", plain(f->path, buf, sizeof(buf)),
	       f->records);
	if (f->records)
		printf(", %s", plain(f->first_time, buf, sizeof(buf)));
	if (f->records)
		printf(" to %s", plain(f->last_time, buf, sizeof(buf)));
	if (f->records && !f->chained_from)
		printf(", not chained (a trace, or an audit of an older version)");
	else if (f->chained_from > 1)
		printf(", chained from record %" PRIu64 " on",
		       f->chained_from);
	if (f->lost)
		printf(", %" PRIu64 " more are said to be lost", f->lost);
	if (f->torn)
		printf(", then half a line");
	putchar('\n');
}

static void show_fault(const struct audit_fault *fault)
{
	char buf[PLAIN_MAX];

	printf("BROKEN: ");
	if (fault->path)
		printf("%s: ", plain(fault->path, buf, sizeof(buf)));
	if (fault->line)
		printf("line %" PRIu64, fault->line);
	if (fault->seq)
		printf(", record %" PRIu64, fault->seq);
	printf("%s%s\n", fault->line ? ": " : "",
	       plain(fault->what, buf, sizeof(buf)));
}

static void show_text(const struct audit *a)
{
	uint64_t records, lost;
	char buf[PLAIN_MAX];
	size_t i;

	for (i = 0; i < a->n; i++)
		show_file(&a->files[i]);
	for (i = 0; i < a->n_faults; i++)
		show_fault(&a->faults[i]);
	if (a->n && !is_whole(a))
		printf("begins at %s: earlier files are not here\n",
		       plain(a->files[0].first_time, buf, sizeof(buf)));
	if (a->behind)
		printf("the last %" PRIu64 " records are newer than %s: whether more were behind them cannot be told\n",
		       a->behind, plain(a->side, buf, sizeof(buf)));
	sum_up(a, &records, &lost);
	if (a->n_faults)
		printf("broken: %zu fault%s", a->n_faults,
		       a->n_faults == 1 ? "" : "s");
	else
		printf("well");
	printf("; %" PRIu64 " records in %zu file%s, %" PRIu64 " said to be lost\n",
	       records, a->n, a->n == 1 ? "" : "s", lost);
}

/*
 * As JSON
 */

/* A file's name may be no UTF-8. */
static json_t *json_text(const char *text)
{
	json_t *json = text ? json_string(text) : json_null();
	char buf[PLAIN_MAX];

	return json ? json : json_string(plain(text, buf, sizeof(buf)));
}

static json_t *json_number(uint64_t n)
{
	return json_integer((json_int_t)n);
}

static json_t *json_file(const struct audit_file *f)
{
	json_t *chained = f->chained_from ? json_number(f->chained_from) :
					    json_null();

	return json_pack("{s:o, s:o, s:o, s:o, s:o, s:o, s:b}",
			 "file", json_text(f->path),
			 "records", json_number(f->records),
			 "first", json_text(f->records ? f->first_time : NULL),
			 "last", json_text(f->records ? f->last_time : NULL),
			 "chained_from", chained,
			 "lost", json_number(f->lost), "torn", f->torn);
}

static json_t *json_fault(const struct audit_fault *fault)
{
	return json_pack("{s:o, s:o, s:o, s:o}",
			 "file", json_text(fault->path),
			 "line", fault->line ? json_number(fault->line) :
					       json_null(),
			 "seq", fault->seq ? json_number(fault->seq) :
					     json_null(),
			 "what", json_text(fault->what));
}

static void show_json(const struct audit *a)
{
	json_t *files = json_array(), *faults = json_array(), *root;
	uint64_t records, lost;
	size_t i;

	for (i = 0; i < a->n; i++)
		json_array_append_new(files, json_file(&a->files[i]));
	for (i = 0; i < a->n_faults; i++)
		json_array_append_new(faults, json_fault(&a->faults[i]));
	sum_up(a, &records, &lost);
	root = json_pack("{s:b, s:o, s:o, s:b, s:o, s:o, s:o}",
			 "well", !a->n_faults,
			 "records", json_number(records),
			 "lost", json_number(lost),
			 "from_the_beginning", is_whole(a),
			 "newer_than_sidecar", json_number(a->behind),
			 "files", files, "faults", faults);
	json_dumpf(root, stdout, JSON_INDENT(1));
	putchar('\n');
	json_decref(root);
}

/*
 * The command line
 */

struct reading {
	struct progress progress;
	const struct audit_file *file;
};

static bool on_progress(const struct audit_file *file, uint64_t bytes,
			void *context)
{
	struct reading *r = context;

	if (r->file != file)
		progress_begin(&r->progress, file->path);
	r->file = file;
	progress_show(&r->progress, bytes, file->size);
	return !cli_stop;
}

static int verify(char **paths, bool json)
{
	struct reading r = { .file = NULL };
	struct audit a;
	bool whole, well;

	audit_open(&a, paths);
	whole = audit_check(&a, on_progress, &r);
	progress_end(&r.progress);
	if (!whole)
		cli_complain("interrupted");
	else if (json)
		show_json(&a);
	else
		show_text(&a);
	well = whole && !a.n_faults;
	audit_close(&a);
	if ((!fflush(stdout) && !ferror(stdout)) || errno == EPIPE)
		return well ? 0 : EXIT_RUNTIME;
	cli_complain("standard output: %s", strerror(errno));
	return EXIT_RUNTIME;
}

static const char usage[] =
	"usage: osmsnoop verify [-j] FILE...\n"
	"Check that nothing in an audit was changed, cut or lost.\n"
	"  FILE                    all files of one audit, in any order; one alone\n"
	"                          brings its rotated ones FILE.1, FILE.2, ...\n"
	"  -j, --json              as JSON\n"
	"      --help\n"
	"Exit status: 0 it holds, 1 it is broken, 2 usage\n";

static const struct option long_options[] = {
	{ "json", no_argument, NULL, 'j' },
	{ "help", no_argument, NULL, 'h' },
	{ 0 },
};

int verify_main(int argc, char **argv)
{
	static char name[] = "osmsnoop verify";
	bool json = false;
	int c;

	argv[0] = name;	/* what getopt's messages begin with */
	while ((c = getopt_long(argc, argv, "jh", long_options, NULL)) != -1) {
		switch (c) {
		case 'j':
			json = true;
			break;
		case 'h':
			return fputs(usage, stdout) < 0;
		default:
			fputs(usage, stderr);
			return EXIT_USAGE;
		}
	}
	if (optind == argc)
		return cli_refuse(name, usage, "which file?");
	cli_catch_signals();
	return verify(argv + optind, json);
}
