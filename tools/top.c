/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
#include <errno.h>
#include <getopt.h>
#include <locale.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli.h"
#include "field.h"
#include "top.h"
#include "top_feed.h"
#include "top_screen.h"
#include "top_view.h"

enum {
	BATCH_WIDTH = 160,	/* all columns, and three attributes */
	LINE_SIZE = 4 * BATCH_WIDTH + FIT_MAX,
};

struct options {
	const char *source, *file, *node_name_map;
	bool batch;
	uint64_t count;		/* of tables; 0 = no end */
	uint64_t delay_ns;	/* 0 = not given */
	enum top_column sort;	/* TOP_COLUMNS = not given */
};

/* NULL: it was said why; who ends it before anything came has ended it well. */
static struct top_feed *open_feed(const struct top_feed_options *options)
{
	char error[INPUT_ERROR_MAX];
	struct top_feed *feed = top_feed_open(options, error);

	if (!feed && !cli_stop)
		cli_complain("%s", error);
	return feed;
}

/*
 * Tables as text
 */

struct batch {
	struct top_canvas canvas;
	struct top_feed *feed;
	struct top_view view;
	struct top_snapshot snapshot;
	struct top_status status;
	uint64_t left;		/* tables; 0 = no end */
	uint64_t written;
	bool ended;		/* they cannot be made or written any more, */
	bool failed;		/* and that was said */
	uint64_t delay_ns;	/* 0: one table, at the end */
	uint64_t next_ns;	/* 0: nothing has come */
	char line[LINE_SIZE];
	size_t len;
	unsigned y, x;		/* where the line ends */
};

static void end_line(struct batch *b)
{
	while (b->len && b->line[b->len - 1] == ' ')
		b->len--;
	printf("%.*s\n", (int)b->len, b->line);
	b->len = b->x = 0;
	b->y++;
}

static void put(struct top_canvas *c, unsigned y, unsigned x,
		enum top_style style, const char *text, unsigned width)
{
	struct batch *b = (struct batch *)c;
	int n;

	(void)style;
	while (b->y < y)
		end_line(b);
	n = snprintf(b->line + b->len, sizeof(b->line) - b->len, "%*s%s",
		     (int)(x - b->x), "", text);
	b->len += (size_t)n < sizeof(b->line) - b->len ? (size_t)n : 0;
	b->x = x + width;
}

/* That nobody reads them is well. */
static void end_output(struct batch *b)
{
	b->ended = true;
	if (errno == EPIPE)
		return;
	cli_complain("standard output: %s", strerror(errno));
	b->failed = true;
}

/* False: that was the last one. */
static bool write_table(struct batch *b)
{
	if (!top_feed_look(b->feed, &b->snapshot, &b->status) ||
	    !top_view_arrange(&b->view, &b->snapshot)) {
		cli_complain("%s", strerror(ENOMEM));
		b->ended = b->failed = true;
		return false;
	}
	if (b->written++)
		putchar('\n');
	b->y = 0;
	top_view_draw(&b->view, &b->snapshot, &b->status, &b->canvas);
	end_line(b);
	if (fflush(stdout) || ferror(stdout))
		end_output(b);
	return !b->ended && b->written != b->left;
}

static bool on_beat(uint64_t now_ns, void *context)
{
	struct batch *b = context;

	if (!b->delay_ns || !now_ns)
		return true;
	if (!b->next_ns)
		b->next_ns = now_ns + b->delay_ns;
	if (now_ns < b->next_ns)
		return true;
	/* a table each, also where a file has a gap, would be the same ones */
	b->next_ns += (now_ns - b->next_ns) / b->delay_ns * b->delay_ns +
		      b->delay_ns;
	return write_table(b);
}

/* All tables, until there is an end. False: it was said what failed. */
static bool write_tables(struct batch *b)
{
	char error[INPUT_ERROR_MAX];
	bool whole = top_feed_run(b->feed, error) || cli_stop;

	/* what the last table does not have */
	if (!cli_stop && !b->ended && !(b->left && b->written == b->left))
		write_table(b);
	if (!whole)
		cli_complain("%s", error);
	return whole && !b->failed;
}

static int run_batch(const struct options *o, struct top_feed_options *feed)
{
	struct batch b = {
		.canvas = { put },
		.view = {
			.width = BATCH_WIDTH,
			.utf8 = top_screen_is_utf8(),
			.sort = o->sort,
		},
		.left = o->count,
		.delay_ns = o->delay_ns,
	};
	bool well;

	feed->beat = on_beat;
	feed->context = &b;
	b.feed = open_feed(feed);
	if (!b.feed)
		return cli_stop ? 0 : EXIT_RUNTIME;
	well = write_tables(&b);
	top_feed_close(b.feed);
	top_snapshot_free(&b.snapshot);
	top_view_free(&b.view);
	return well ? 0 : EXIT_RUNTIME;
}

/*
 * The table on a terminal
 */

static bool show_screen(struct top_feed *feed, struct top_view *view,
			uint64_t delay_ns)
{
	char error[INPUT_ERROR_MAX];

	if (!top_feed_start(feed)) {
		cli_complain("%s", strerror(errno));
		return false;
	}
	if (!top_screen(feed, view, delay_ns, &cli_stop))
		return false;
	if (!top_feed_is_broken(feed, error))
		return true;
	cli_complain("%s", error);
	return false;
}

static int run_screen(const struct options *o,
		      const struct top_feed_options *options)
{
	struct top_view view = {
		.utf8 = top_screen_is_utf8(),
		.sort = o->sort,
	};
	struct top_feed *feed = open_feed(options);
	bool well;

	if (!feed)
		return cli_stop ? 0 : EXIT_RUNTIME;
	well = show_screen(feed, &view, o->delay_ns);
	top_feed_close(feed);
	top_view_free(&view);
	return well ? 0 : EXIT_RUNTIME;
}

/*
 * The command line
 */

static const char usage[] =
	"usage: osmsnoop top [-b] [-d SECONDS] [-n COUNT] [-s COLUMN] [-i SOURCE | -r FILE] [EXPRESSION]\n"
	"A live table of who asks the SA. Press ? for its keys.\n"
	"  -i, --source=SOURCE    socket of the plugin (" INPUT_DEFAULT_SOCKET "),\n"
	"                         kernel:DEV[:PORT] or bpf[:DEV]\n"
	"  -r, --read=FILE        a capture file; - is standard input\n"
	"  -s, --sort=COLUMN      to begin with; of a file by requests, else by rate\n"
	"  -d, --delay=SECONDS    between two tables (1); of the packets' time in a file\n"
	"  -b, --batch            write tables as text, also where output is no terminal\n"
	"  -n, --count=COUNT      end after so many tables; for -b\n"
	"      --node-name-map=FILE  names by GUID, in OpenSM's format\n"
	"      --help\n"
	"EXPRESSION: as osmsnoop takes it; counted is what it matches\n";

static const struct option long_options[] = {
	{ "source", required_argument, NULL, 'i' },
	{ "read", required_argument, NULL, 'r' },
	{ "sort", required_argument, NULL, 's' },
	{ "delay", required_argument, NULL, 'd' },
	{ "batch", no_argument, NULL, 'b' },
	{ "count", required_argument, NULL, 'n' },
	{ "node-name-map", required_argument, NULL, 'm' },
	{ "help", no_argument, NULL, 'h' },
	{ 0 },
};

#define refuse(...) cli_refuse("osmsnoop top", usage, __VA_ARGS__)

/* A tenth of a second to a day: no clock here is finer than that. */
static bool read_delay(const char *text, uint64_t *delay_ns)
{
	char *rest;
	double seconds = strtod(text, &rest);

	if (rest == text || *rest || !(seconds >= 0.1 && seconds <= 86400))
		return false;
	*delay_ns = (uint64_t)(seconds * 1e9);
	return true;
}

static int refuse_column(const char *text)
{
	char names[256];
	struct words w;
	size_t i;

	words_init(&w, names, sizeof(names));
	for (i = 0; i < TOP_COLUMNS; i++)
		words_add(&w, "%s%s", i ? ", " : "",
			  top_column_name((enum top_column)i));
	return refuse("-s: '%s' is no column; accepted are %s", text, names);
}

/* CLI_GO_ON, or the exit status. */
static int take_option(struct options *o, int c)
{
	switch (c) {
	case 'i':
		o->source = optarg;
		return CLI_GO_ON;
	case 'r':
		o->file = optarg;
		return CLI_GO_ON;
	case 's':
		o->sort = top_column_find(optarg);
		return o->sort == TOP_COLUMNS ? refuse_column(optarg) : CLI_GO_ON;
	case 'd':
		if (read_delay(optarg, &o->delay_ns))
			return CLI_GO_ON;
		return refuse("-d: '%s' is no number of seconds, 0.1 to 86400",
			      optarg);
	case 'b':
		o->batch = true;
		return CLI_GO_ON;
	case 'n':
		if (cli_read_number(optarg, 1, UINT64_MAX, &o->count))
			return CLI_GO_ON;
		return refuse("-n: '%s' is no number above 0", optarg);
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

/* What was not given. A whole file is one table, unless it is to be more. */
static int complete_options(struct options *o)
{
	if (o->file && o->source)
		return refuse("-i and -r: there is one input");
	if (!isatty(STDOUT_FILENO))
		o->batch = true;
	if (o->count && !o->batch)
		return refuse("-n is for -b, which a terminal is not asked for");
	if (!o->source)
		o->source = INPUT_DEFAULT_SOCKET;
	if (o->sort == TOP_COLUMNS)
		o->sort = o->file ? TOP_REQUESTS : TOP_RATE;
	if (!o->delay_ns && !(o->batch && o->file))
		o->delay_ns = 1000000000;
	return CLI_GO_ON;
}

int top_main(int argc, char **argv)
{
	static char name[] = "osmsnoop top";
	struct options o = { .sort = TOP_COLUMNS };
	struct top_feed_options feed;
	struct expression *expression;
	int c, status = CLI_GO_ON;

	setlocale(LC_CTYPE, "");
	argv[0] = name;	/* what getopt's messages begin with */
	while (status == CLI_GO_ON && (c = getopt_long(argc, argv, "i:r:s:d:bn:h",
					      long_options, NULL)) != -1)
		status = take_option(&o, c);
	if (status == CLI_GO_ON)
		status = complete_options(&o);
	if (status != CLI_GO_ON)
		return status;
	expression = cli_read_words(argv + optind, NULL);
	if (!expression)
		return EXIT_USAGE;
	feed = (struct top_feed_options){
		.source = o.source,
		.file = o.file,
		.node_name_map = o.node_name_map,
		.expression = expression,
		.stop = &cli_stop,
	};
	cli_catch_signals();
	/* it would leave the terminal as it is */
	cli_catch(SIGQUIT);
	status = o.batch ? run_batch(&o, &feed) : run_screen(&o, &feed);
	expression_free(expression);
	return status;
}
