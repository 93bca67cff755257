/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
#include <errno.h>
#include <getopt.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "expression.h"
#include "progress.h"
#include "records.h"
#include "stats.h"
#include "summary_show.h"

#define SECOND UINT64_C(1000000000)

enum {
	EXIT_RUNTIME = 1,
	EXIT_USAGE = 2,
	REPEAT_SECONDS = 10,
	REPEAT_SECONDS_MAX = 86400,
	REQUESTERS_SHOWN = 20,
};

struct options {
	bool json;
	const char *expression;
	const char *node_name_map;
	uint64_t repeat_seconds;
	uint64_t requesters;
	bool limited;		/* the number of requesters was said */
};

struct stats {
	struct options opts;
	struct expression *expression;
	struct summary *summary;
	struct records *records;
	struct progress progress;
};

static volatile sig_atomic_t stop;

static void on_signal(int number)
{
	(void)number;
	stop = 1;
}

static void catch_signals(void)
{
	/* without SA_RESTART: what waits is to end */
	const struct sigaction end = { .sa_handler = on_signal };

	sigaction(SIGINT, &end, NULL);
	sigaction(SIGTERM, &end, NULL);
	/* a closed pipe is an error of writing, and that is no error */
	signal(SIGPIPE, SIG_IGN);
}

static void on_record(const struct record *record, void *context)
{
	struct stats *s = context;

	if (expression_matches(s->expression, record))
		summary_add(s->summary, record);
}

static void on_progress(uint64_t bytes, uint64_t size, void *context)
{
	struct stats *s = context;

	progress_show(&s->progress, bytes, size);
}

static bool read_file(struct stats *s, const char *path)
{
	char error[RECORDS_ERROR_MAX];
	bool whole;

	progress_begin(&s->progress, path);
	whole = records_read(s->records, path, error);
	progress_end(&s->progress);
	if (!whole)
		fprintf(stderr, "osmsnoop: %s\n", error);
	return whole;
}

/* False: some of it could not be read. */
static bool read_files(struct stats *s, char **paths)
{
	bool well = true;

	for (; *paths && !stop; paths++)
		if (!read_file(s, *paths))
			well = false;
	records_end(s->records);
	if (stop)
		fputs("osmsnoop: interrupted: this is of what was read until then\n",
		      stderr);
	return well;
}

/* That nobody reads it is well. */
static bool show(const struct stats *s)
{
	struct records_stats files;
	const struct summary_view view = {
		.summary = s->summary,
		.stats = &files,
		.requesters = s->opts.requesters,
		.out = stdout,
	};

	records_get_stats(s->records, &files);
	if (s->opts.json)
		summary_show_json(&view);
	else
		summary_show_text(&view);
	if ((!fflush(stdout) && !ferror(stdout)) || errno == EPIPE)
		return true;
	fprintf(stderr, "osmsnoop: standard output: %s\n", strerror(errno));
	return false;
}

static int run(struct stats *s, char **paths)
{
	const struct records_options options = {
		.node_name_map = s->opts.node_name_map,
		.stop = &stop,
		.record = on_record,
		.progress = on_progress,
		.context = s,
	};
	char error[RECORDS_ERROR_MAX];
	bool well;

	s->records = records_new(&options, error);
	if (!s->records) {
		fprintf(stderr, "osmsnoop: %s\n", error);
		return EXIT_RUNTIME;
	}
	s->summary = summary_new(s->opts.repeat_seconds * SECOND);
	well = read_files(s, paths);
	if (!show(s))
		well = false;
	summary_free(s->summary);
	records_free(s->records);
	return well ? 0 : EXIT_RUNTIME;
}

/*
 * The command line
 */

static const char usage[] =
	"usage: osmsnoop stats [-j] [-t COUNT] [-s SECONDS] [-e EXPRESSION] FILE...\n"
	"Sum up what is in all files together.\n"
	"  FILE                    a trace or audit file of the plugin, or a capture\n"
	"                          file; - is standard input\n"
	"  -j, --json              as JSON\n"
	"  -t, --top=COUNT         so many requesters, the busiest (20; with -j all)\n"
	"  -s, --seconds=SECONDS   within which the same query is a repeated one (10)\n"
	"  -e, --expression=EXPRESSION  only what matches; see osmsnoop(1)\n"
	"      --node-name-map=FILE  names by GUID, in OpenSM's format\n"
	"      --help\n";

static const struct option long_options[] = {
	{ "json", no_argument, NULL, 'j' },
	{ "top", required_argument, NULL, 't' },
	{ "seconds", required_argument, NULL, 's' },
	{ "expression", required_argument, NULL, 'e' },
	{ "node-name-map", required_argument, NULL, 'm' },
	{ "help", no_argument, NULL, 'h' },
	{ 0 },
};

static int refuse(const char *format, const char *text)
{
	fputs("osmsnoop stats: ", stderr);
	fprintf(stderr, format, text);
	fprintf(stderr, "\n%s", usage);
	return EXIT_USAGE;
}

static bool read_number(const char *text, uint64_t most, uint64_t *number)
{
	char *rest;

	errno = 0;
	*number = strtoull(text, &rest, 10);
	return !errno && !*rest && *text >= '0' && *text <= '9' &&
	       *number <= most;
}

/* -1: go on. Else the exit status. */
static int take_option(struct options *o, int c)
{
	switch (c) {
	case 'j':
		o->json = true;
		return -1;
	case 't':
		o->limited = true;
		if (read_number(optarg, UINT32_MAX, &o->requesters))
			return -1;
		return refuse("-t: '%s' is no number", optarg);
	case 's':
		if (read_number(optarg, REPEAT_SECONDS_MAX, &o->repeat_seconds))
			return -1;
		return refuse("-s: '%s' is no number of seconds up to 86400",
			      optarg);
	case 'e':
		o->expression = optarg;
		return -1;
	case 'm':
		o->node_name_map = optarg;
		return -1;
	case 'h':
		return fputs(usage, stdout) < 0;
	default:
		fputs(usage, stderr);
		return EXIT_USAGE;
	}
}

int stats_main(int argc, char **argv)
{
	static char name[] = "osmsnoop stats";
	struct stats s = { .opts.repeat_seconds = REPEAT_SECONDS };
	char error[EXPRESSION_ERROR_MAX];
	int c, status = -1;

	argv[0] = name;	/* what getopt's messages begin with */
	while (status < 0 && (c = getopt_long(argc, argv, "jt:s:e:h",
					      long_options, NULL)) != -1)
		status = take_option(&s.opts, c);
	if (status < 0 && optind == argc)
		status = refuse("%s", "which file?");
	if (status >= 0)
		return status;
	if (!s.opts.limited)
		s.opts.requesters = s.opts.json ? SUMMARY_NUMBERS :
						  REQUESTERS_SHOWN;
	s.expression = expression_new(s.opts.expression ? s.opts.expression :
							   "", error);
	if (!s.expression) {
		fprintf(stderr, "osmsnoop: %s\n", error);
		return EXIT_USAGE;
	}
	catch_signals();
	status = run(&s, argv + optind);
	expression_free(s.expression);
	return status;
}
