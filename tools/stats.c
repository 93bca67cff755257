/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <jansson.h>

#include "stats.h"

/*
 * Latencies in microseconds, in steps of 1/16 of a power of two: what is
 * printed is at most 6 % off, and memory does not grow with the file.
 */
enum { STEPS = 16, LATENCIES = 40 * STEPS, LINE_MAX_BYTES = 1 << 20 };

struct latency {
	uint64_t counts[LATENCIES];
	uint64_t n, max;
};

/* One line of a table. */
struct row {
	char *key;
	json_int_t lid;
	uint64_t requests, answered, unanswered, failed, errors, retries;
	struct latency *latency;
};

struct table {
	struct row *rows;
	size_t n, max;
	json_t *index;		/* key -> number of its row */
};

struct stats {
	struct table attributes, requesters, reasons, types;
	struct row all, reports;
	uint64_t lines, bad, lost;
	char first[40], last[40];
};

static void *need(void *memory)
{
	if (memory)
		return memory;
	fputs("osmsnoop: no memory\n", stderr);
	exit(1);
}

static size_t step_of(uint64_t us)
{
	size_t octave, step;

	if (us < STEPS)
		return (size_t)us;
	octave = 63 - (size_t)__builtin_clzll(us);
	step = (octave - 3) * STEPS + ((us >> (octave - 4)) & (STEPS - 1));
	return step < LATENCIES ? step : LATENCIES - 1;
}

/* The upper end of a step. */
static uint64_t step_end(size_t step)
{
	size_t octave = step / STEPS + 3;

	if (step < STEPS)
		return step;
	return ((uint64_t)(STEPS + step % STEPS + 1) << (octave - 4)) - 1;
}

static uint64_t percentile(const struct latency *l, unsigned percent)
{
	uint64_t rank = (l->n * percent + 99) / 100, seen = 0;
	size_t i;

	for (i = 0; i < LATENCIES; i++) {
		seen += l->counts[i];
		if (seen && seen >= rank)
			return step_end(i) < l->max ? step_end(i) : l->max;
	}
	return l->max;
}

static struct row *row_get(struct table *t, const char *key)
{
	json_t *number;
	struct row *row;

	if (!t->index)
		t->index = need(json_object());
	number = json_object_get(t->index, key);
	if (number)
		return &t->rows[json_integer_value(number)];
	if (t->n == t->max) {
		t->max = t->max ? t->max * 2 : 64;
		t->rows = need(realloc(t->rows, t->max * sizeof(*t->rows)));
	}
	json_object_set_new(t->index, key, json_integer((json_int_t)t->n));
	row = &t->rows[t->n++];
	memset(row, 0, sizeof(*row));
	row->key = need(strdup(key));
	return row;
}

static void count(struct row *row, const json_t *record)
{
	const char *outcome = json_string_value(json_object_get(record,
								"outcome"));
	const json_t *latency = json_object_get(record, "latency_us");
	const json_t *code = json_object_get(record, "status_code");
	uint64_t us;

	row->requests++;
	row->retries += (uint64_t)json_integer_value(
		json_object_get(record, "retries"));
	if (!strcmp(outcome, "answered"))
		row->answered++;
	else if (!strcmp(outcome, "failed"))
		row->failed++;
	else
		row->unanswered++;
	if (json_is_integer(code) && json_integer_value(code))
		row->errors++;
	if (!json_is_integer(latency))
		return;
	if (!row->latency)
		row->latency = need(calloc(1, sizeof(*row->latency)));
	us = (uint64_t)json_integer_value(latency);
	row->latency->counts[step_of(us)]++;
	row->latency->n++;
	if (us > row->latency->max)
		row->latency->max = us;
}

static const char *text_of(const json_t *object, const char *key)
{
	const char *text = json_string_value(json_object_get(object, key));

	return text ? text : "?";
}

static void take_sa(struct stats *s, const json_t *record)
{
	const json_t *who = json_object_get(record, "requester");
	json_int_t lid = json_integer_value(json_object_get(who, "lid"));
	const char *reason = json_string_value(json_object_get(record,
							       "reason"));
	struct row *row;
	char key[256];

	/* OpenSM asks there: its requester is who was asked */
	if (!strcmp(text_of(record, "direction"), "sent")) {
		count(&s->reports, record);
		return;
	}
	snprintf(key, sizeof(key), "%s %s", text_of(record, "method"),
		 text_of(record, "attribute"));
	count(row_get(&s->attributes, key), record);
	snprintf(key, sizeof(key), "%" JSON_INTEGER_FORMAT " \"%s\"", lid,
		 text_of(who, "name"));
	row = row_get(&s->requesters, key);
	row->lid = lid;
	count(row, record);
	if (reason)
		row_get(&s->reasons, reason)->requests++;
	count(&s->all, record);
}

static void take(struct stats *s, const json_t *record)
{
	const char *type = json_string_value(json_object_get(record, "type"));
	const char *time = json_string_value(json_object_get(record, "time"));

	if (!type || !time ||
	    (!strcmp(type, "sa") &&
	     !json_is_string(json_object_get(record, "outcome")))) {
		s->bad++;
		return;
	}
	if (!s->first[0] || strcmp(time, s->first) < 0)
		snprintf(s->first, sizeof(s->first), "%s", time);
	if (strcmp(time, s->last) > 0)
		snprintf(s->last, sizeof(s->last), "%s", time);
	row_get(&s->types, type)->requests++;
	if (!strcmp(type, "loss"))
		s->lost += (uint64_t)json_integer_value(
			json_object_get(record, "lost"));
	if (!strcmp(type, "sa"))
		take_sa(s, record);
}

static int read_file(struct stats *s, const char *path)
{
	FILE *file = strcmp(path, "-") ? fopen(path, "re") : stdin;
	static char line[LINE_MAX_BYTES];
	bool rest = false;	/* of a line that is too long */
	json_t *record;
	int error = 0;
	size_t len;

	if (!file) {
		fprintf(stderr, "osmsnoop: %s: %s\n", path, strerror(errno));
		return 1;
	}
	while (fgets(line, sizeof(line), file)) {
		/* what holds a NUL ends there, and is then no record */
		len = strlen(line);
		if (rest) {
			rest = !len || line[len - 1] != '\n';
			continue;
		}
		rest = !len || line[len - 1] != '\n';
		s->lines++;
		record = json_loadb(line, len, 0, NULL);
		if (json_is_object(record))
			take(s, record);
		else
			s->bad++;
		json_decref(record);
	}
	if (ferror(file)) {
		fprintf(stderr, "osmsnoop: %s: %s\n", path, strerror(errno));
		error = 1;
	}
	if (file != stdin)
		fclose(file);
	return error;
}

static int by_requests(const void *a, const void *b)
{
	const struct row *x = a, *y = b;

	if (x->requests != y->requests)
		return x->requests < y->requests ? 1 : -1;
	return strcmp(x->key, y->key);
}

/* Node names come from the wire: a terminal gets nothing but plain text. */
static void print_key(const char *key)
{
	int width = 0;

	for (; *key; key++) {
		if (*key < 0x20 || *key > 0x7e)
			width += printf("\\x%02x", (unsigned char)*key);
		else
			width += putchar(*key) != EOF;
	}
	printf("%*s", width < 40 ? 40 - width : 1, "");
}

static void print_row(const struct row *row)
{
	print_key(row->key);
	printf("%9" PRIu64 " %9" PRIu64 " %9" PRIu64 " %7" PRIu64 " %7" PRIu64
	       " %7" PRIu64,
	       row->requests, row->answered, row->unanswered, row->failed,
	       row->errors, row->retries);
	if (row->latency)
		printf(" %8" PRIu64 " %8" PRIu64 " %8" PRIu64,
		       percentile(row->latency, 50),
		       percentile(row->latency, 99), row->latency->max);
	putchar('\n');
}

static void print_title(const char *title)
{
	printf("\n%-39s %9s %9s %9s %7s %7s %7s %8s %8s %8s\n", title,
	       "requests", "answered", "no answer", "failed", "errors",
	       "retries", "p50 us", "p99 us", "max us");
}

static void print_table(const char *title, struct table *t, size_t most)
{
	size_t i;

	if (!t->n)
		return;
	qsort(t->rows, t->n, sizeof(*t->rows), by_requests);
	print_title(title);
	for (i = 0; i < t->n && i < most; i++)
		print_row(&t->rows[i]);
	if (t->n > most)
		printf("(and %zu more)\n", t->n - most);
}

static void print_counts(const char *title, struct table *t)
{
	size_t i;

	if (!t->n)
		return;
	qsort(t->rows, t->n, sizeof(*t->rows), by_requests);
	printf("\n%s\n", title);
	for (i = 0; i < t->n; i++) {
		print_key(t->rows[i].key);
		printf("%9" PRIu64 "\n", t->rows[i].requests);
	}
}

static void print_text(struct stats *s)
{
	printf("%" PRIu64 " records, %s to %s\n", s->lines - s->bad,
	       s->first[0] ? s->first : "-", s->last[0] ? s->last : "-");
	if (s->bad)
		printf("%" PRIu64 " lines are no records of osmsnoop\n",
		       s->bad);
	if (s->lost)
		printf("%" PRIu64 " captures or records were lost (see the loss records)\n",
		       s->lost);
	print_counts("records by type", &s->types);
	print_table("SA queries", &s->attributes, 64);
	print_counts("why there was no answer", &s->reasons);
	print_table("requesters (LID, name)", &s->requesters, 20);
	if (s->reports.requests) {
		print_title("what OpenSM sent to subscribers");
		print_row(&s->reports);
	}
}

static json_t *row_json(const struct row *row)
{
	json_t *o = need(json_pack(
		"{s:I, s:I, s:I, s:I, s:I, s:I}", "requests",
		(json_int_t)row->requests, "answered",
		(json_int_t)row->answered, "unanswered",
		(json_int_t)row->unanswered, "failed", (json_int_t)row->failed,
		"errors", (json_int_t)row->errors, "retries",
		(json_int_t)row->retries));

	if (row->latency) {
		json_object_set_new(o, "latency_us_p50", json_integer(
			(json_int_t)percentile(row->latency, 50)));
		json_object_set_new(o, "latency_us_p99", json_integer(
			(json_int_t)percentile(row->latency, 99)));
		json_object_set_new(o, "latency_us_max", json_integer(
			(json_int_t)row->latency->max));
	}
	return o;
}

static json_t *table_json(const struct table *t, bool counts)
{
	json_t *o = need(json_object());
	size_t i;

	for (i = 0; i < t->n; i++)
		json_object_set_new(o, t->rows[i].key, counts ?
			json_integer((json_int_t)t->rows[i].requests) :
			row_json(&t->rows[i]));
	return o;
}

static void print_json(struct stats *s)
{
	json_t *o = need(json_pack(
		"{s:I, s:I, s:I, s:o, s:o, s:o, s:o, s:o, s:o}", "records",
		(json_int_t)(s->lines - s->bad), "not_records", (json_int_t)s->bad,
		"lost", (json_int_t)s->lost, "types",
		table_json(&s->types, true), "sa", row_json(&s->all),
		"queries", table_json(&s->attributes, false), "reasons",
		table_json(&s->reasons, true), "requesters",
		table_json(&s->requesters, false), "reports",
		row_json(&s->reports)));

	json_dumpf(o, stdout, JSON_INDENT(1) | JSON_ENSURE_ASCII);
	putchar('\n');
	json_decref(o);
}

static void table_free(struct table *t)
{
	size_t i;

	for (i = 0; i < t->n; i++) {
		free(t->rows[i].key);
		free(t->rows[i].latency);
	}
	free(t->rows);
	json_decref(t->index);
}

static const char usage[] =
	"usage: osmsnoop stats [-j] FILE...\n"
	"  -j, --json   as JSON\n"
	"  FILE         a trace or audit file of the plugin; - is standard input\n";

int stats_main(int argc, char **argv)
{
	static char reports[] = "Report";
	struct stats s = { .reports.key = reports };
	bool json = false;
	int c, error = 0;

	static char name[] = "osmsnoop stats";
	static const struct option options[] = {
		{ "json", no_argument, NULL, 'j' },
		{ "help", no_argument, NULL, 'h' },
		{ 0 },
	};

	argv[0] = name;	/* what getopt's messages begin with */
	while ((c = getopt_long(argc, argv, "jh", options, NULL)) != -1) {
		if (c == 'h')
			return fputs(usage, stdout) < 0;
		if (c != 'j')
			goto usage;
		json = true;
	}
	if (optind == argc) {
		fputs("osmsnoop stats: which file?\n", stderr);
		goto usage;
	}
	for (; optind < argc; optind++)
		error |= read_file(&s, argv[optind]);
	if (json)
		print_json(&s);
	else
		print_text(&s);
	if (s.lines && s.lines == s.bad) {
		fputs("osmsnoop: there is no record of osmsnoop in it (compressed files are to be unpacked)\n",
		      stderr);
		error = 1;
	}
	if ((fflush(stdout) || ferror(stdout)) && errno != EPIPE) {
		fprintf(stderr, "osmsnoop: standard output: %s\n",
			strerror(errno));
		error = 1;
	}
	table_free(&s.attributes);
	table_free(&s.requesters);
	table_free(&s.reasons);
	table_free(&s.types);
	free(s.all.latency);
	free(s.reports.latency);
	return error;
usage:
	fputs(usage, stderr);
	return 2;
}
