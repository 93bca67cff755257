/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli.h"
#include "progress.h"
#include "records.h"
#include "stats.h"
#include "summary_show.h"

#define SECOND UINT64_C(1000000000)

enum {
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
	if (whole || cli_stop)	/* that it was ended is told at the end */
		return true;
	cli_complain("%s", error);
	return false;
}

/* False: some of it could not be read. */
static bool read_files(struct stats *s, char **paths)
{
	bool well = true;

	for (; *paths && !cli_stop; paths++)
		if (!read_file(s, *paths))
			well = false;
	records_end(s->records);
	if (cli_stop)
		cli_complain("interrupted: this is of what was read until then");
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
	cli_complain("standard output: %s", strerror(errno));
	return false;
}

static int run(struct stats *s, char **paths)
{
	const struct records_options options = {
		.node_name_map = s->opts.node_name_map,
		.stop = &cli_stop,
		.record = on_record,
		.progress = on_progress,
		.context = s,
	};
	char error[RECORDS_ERROR_MAX];
	bool well;

	s->records = records_new(&options, error);
	if (!s->records) {
		if (cli_stop)
			return 0;
		cli_complain("%s", error);
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

#define refuse(...) cli_refuse("osmsnoop stats", usage, __VA_ARGS__)

/* CLI_GO_ON, or the exit status. */
static int take_option(struct options *o, int c)
{
	switch (c) {
	case 'j':
		o->json = true;
		return CLI_GO_ON;
	case 't':
		o->limited = true;
		if (cli_read_number(optarg, 0, UINT32_MAX, &o->requesters))
			return CLI_GO_ON;
		return refuse("-t: '%s' is no number", optarg);
	case 's':
		if (cli_read_number(optarg, 0, REPEAT_SECONDS_MAX,
				    &o->repeat_seconds))
			return CLI_GO_ON;
		return refuse("-s: '%s' is no number of seconds up to 86400",
			      optarg);
	case 'e':
		o->expression = optarg;
		return CLI_GO_ON;
	case 'm':
		o->node_name_map = optarg;
		return CLI_GO_ON;
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
	int c, status = CLI_GO_ON;

	argv[0] = name;	/* what getopt's messages begin with */
	while (status == CLI_GO_ON && (c = getopt_long(argc, argv, "jt:s:e:h",
					      long_options, NULL)) != -1)
		status = take_option(&s.opts, c);
	if (status == CLI_GO_ON && optind == argc)
		status = refuse("which file?");
	if (status != CLI_GO_ON)
		return status;
	if (!s.opts.limited)
		s.opts.requesters = s.opts.json ? SUMMARY_NUMBERS :
						  REQUESTERS_SHOWN;
	s.expression = cli_read_expression(s.opts.expression ?
					   s.opts.expression : "");
	if (!s.expression)
		return EXIT_USAGE;
	cli_catch_signals();
	status = run(&s, argv + optind);
	expression_free(s.expression);
	return status;
}
