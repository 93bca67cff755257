/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
#include <config.h>

#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <inttypes.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli.h"
#include "dump.h"
#include "expression.h"
#include "input.h"
#include "pipeline.h"
#include "show.h"

enum {
	LIDS = 65536,
	BUFFER_SIZE = 1 << 18,
};

struct dump {
	struct dump_options opts;
	const struct expression *expression;
	struct input *input;
	struct pipeline *pipeline;
	struct show show;
	FILE *out;		/* of lines or packets */
	uint64_t shown;
	uint64_t lost;		/* before the next packet that is written */
	bool done;		/* -c, or the output takes no more */
	int write_error;	/* errno of the output */
	bool named[LIDS];	/* in what is written */
};

/*
 * Output
 */

/* The first error is the one to tell. */
static void note_error(struct dump *d)
{
	if (!ferror(d->out) || d->write_error)
		return;
	d->write_error = errno ? errno : EIO;
	d->done = true;
}

static void flush(struct dump *d)
{
	fflush(d->out);
	note_error(d);
}

static void count_shown(struct dump *d)
{
	note_error(d);
	if (++d->shown == d->opts.count)
		d->done = true;
}

static void on_record(const struct record *record, void *context)
{
	struct dump *d = context;

	if (d->done || !expression_matches(d->expression, record))
		return;
	show_record(&d->show, record);
	if (record->type != RECORD_LOSS)
		count_shown(d);
}

static bool write_packet(const uint8_t *packet, size_t len, void *context)
{
	struct dump *d = context;

	return fwrite(packet, len, 1, d->out) == 1;
}

/* A LID's name goes with its first packet in the file, and when it comes. */
static const struct erf_name *name_for(struct dump *d,
				       const struct erf_note *note,
				       const struct requester *peer,
				       struct erf_name *name)
{
	uint16_t lid = peer->addr.lid;

	if (note->has_name) {
		d->named[lid] = true;
		return &note->name;
	}
	if (d->named[lid] || !peer->name)
		return NULL;
	d->named[lid] = true;
	*name = (struct erf_name){
		peer->port_guid, peer->name, strnlen(peer->name, ERF_NAME_MAX),
	};
	return name;
}

static void on_capture(const struct mad_capture *cap,
		       const struct erf_note *note,
		       const struct requester *peer, void *context)
{
	struct mad_capture copy = *cap;
	struct dump *d = context;
	struct erf_name name;

	d->lost += cap->lost;
	if (d->done || !expression_may_match(d->expression, cap, peer))
		return;
	copy.lost = d->lost;
	d->lost = 0;
	erf_encode(&copy, name_for(d, note, peer, &name), true, write_packet,
		   d);
	count_shown(d);
}

/* Nobody reads what is written: a pipe tells so without being written to. */
static bool is_closed(FILE *out)
{
	struct pollfd pfd = { .fd = fileno(out) };

	return poll(&pfd, 1, 0) > 0 && pfd.revents & POLLERR;
}

/* Is it what is read? Then nothing would be left of it to read. */
static bool is_input(const struct dump *d, const struct stat *out)
{
	const char *path = d->opts.read;
	struct stat in;

	return path && S_ISREG(out->st_mode) &&
	       !(strcmp(path, "-") ? stat(path, &in) : fstat(0, &in)) &&
	       in.st_dev == out->st_dev && in.st_ino == out->st_ino;
}

/* As the plugin's files: keys may be in it. NULL: it was said why not. */
static FILE *open_file(const struct dump *d, const char *path)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0640);
	const char *why = NULL;
	struct stat st;

	if (fd < 0 || fstat(fd, &st))
		why = strerror(errno);
	else if (is_input(d, &st))
		why = "is what is read";
	/* a plugin's file, or one of another command */
	else if (S_ISREG(st.st_mode) && flock(fd, LOCK_EX | LOCK_NB))
		why = errno == EWOULDBLOCK ? "is written by another process" :
					     strerror(errno);
	else if (S_ISREG(st.st_mode) && ftruncate(fd, 0))
		why = strerror(errno);
	if (!why)
		return fdopen(fd, "w");
	if (!cli_stop)
		cli_complain("%s: %s", path, why);
	if (fd >= 0)
		close(fd);
	return NULL;
}

static bool open_output(struct dump *d)
{
	const char *path = d->opts.write;
	uint8_t header[ERF_FILE_HEADER];

	d->out = path && strcmp(path, "-") ? open_file(d, path) : stdout;
	if (!d->out)
		return false;
	if (!isatty(fileno(d->out)))
		setvbuf(d->out, NULL, _IOFBF, BUFFER_SIZE);
	if (path) {
		erf_file_header(header);
		fwrite(header, sizeof(header), 1, d->out);
	}
	return true;
}

/* False: it could not all be written. That nobody reads it is well. */
static bool close_output(struct dump *d)
{
	bool to_file = d->out != stdout;

	flush(d);
	if (to_file && fclose(d->out) && !d->write_error)
		d->write_error = errno;
	if (!d->write_error || d->write_error == EPIPE)
		return true;
	cli_complain("%s: %s", to_file ? d->opts.write : "standard output",
		     strerror(d->write_error));
	return false;
}

/*
 * Input
 */

static bool on_mad(const struct mad_capture *cap, const struct erf_note *note,
		   void *context)
{
	struct dump *d = context;

	pipeline_put(d->pipeline, cap, note);
	return !d->done;
}

static bool on_idle(uint64_t quiet_ns, void *context)
{
	struct dump *d = context;

	pipeline_idle(d->pipeline, quiet_ns);
	flush(d);
	if (is_closed(d->out))
		d->done = true;
	return !d->done;
}

static void say_count(uint64_t n, const char *one, const char *many)
{
	if (n)
		cli_complain("%" PRIu64 " %s", n, n == 1 ? one : many);
}

/* What a reader of the output cannot know from it. */
static void say_summary(const struct dump *d)
{
	struct pipeline_stats p;
	struct input_stats in;

	input_get_stats(d->input, &in);
	pipeline_get_stats(d->pipeline, &p);
	if (cli_stop || input_is_live(d->input))
		fprintf(stderr, "%" PRIu64 " captured, %" PRIu64 " %s, %"
			PRIu64 " lost\n", in.mads, d->shown,
			d->opts.write ? "written" : "shown", in.lost);
	else
		say_count(in.lost, "capture was lost before it could be written here",
			  "captures were lost before they could be written here");
	say_count(in.others, "packet is no MAD and was skipped",
		  "packets are no MADs and were skipped");
	say_count(in.broken, "packet is broken and was skipped",
		  "packets are broken and were skipped");
	say_count(p.broken_off, "RMPP message is not whole",
		  "RMPP messages are not whole");
}

static bool read_all(struct dump *d)
{
	const struct input_reader reader = {
		.mad = on_mad,
		.idle = on_idle,
		.context = d,
	};
	char error[INPUT_ERROR_MAX];
	bool whole = input_read(d->input, &reader, error);

	if (!d->done)
		pipeline_flush(d->pipeline);
	/* before what is said of it */
	flush(d);
	if (!whole)
		cli_complain("%s", error);
	return whole;
}

static struct input *open_input(const struct dump_options *o)
{
	char error[INPUT_ERROR_MAX];
	struct input *in;

	if (o->read)
		in = input_open_file(o->read, &cli_stop, error);
	else
		in = input_open_source(o->source ? o->source :
				       INPUT_DEFAULT_SOCKET, &cli_stop, error);
	if (!in && !cli_stop)
		cli_complain("%s", error);
	return in;
}

static struct pipeline *open_pipeline(struct dump *d)
{
	const struct pipeline_options options = {
		.keep_answers = d->opts.verbose || d->opts.hex,
		.node_name_map = d->opts.node_name_map,
		.capture = d->opts.write ? on_capture : NULL,
		.record = d->opts.write ? NULL : on_record,
		.context = d,
	};
	char error[PIPELINE_ERROR_MAX];
	struct pipeline *p = pipeline_new(&options, error);

	if (!p && !cli_stop)
		cli_complain("%s", error);
	return p;
}

static bool wants_colour(void)
{
	const char *no = getenv("NO_COLOR"), *term = getenv("TERM");

	return isatty(STDOUT_FILENO) && !(no && *no) && term &&
	       strcmp(term, "dumb");
}

static int run_pipeline(struct dump *d)
{
	int status = EXIT_RUNTIME;
	bool well;

	if (!(d->pipeline = open_pipeline(d)) ||
	    !(d->input = open_input(&d->opts)) || !open_output(d)) {
		/* who ends it before anything came has ended it well */
		status = cli_stop ? 0 : EXIT_RUNTIME;
		goto out;
	}
	d->show = (struct show){
		.out = d->out,
		.verbose = d->opts.verbose,
		.hex = d->opts.hex,
		.json = d->opts.json,
		.quiet = d->opts.quiet,
		.no_names = d->opts.no_names,
		.colour = wants_colour(),
	};
	well = read_all(d);
	if (!d->write_error && !d->opts.no_summary)
		say_summary(d);
	if (close_output(d) && well)
		status = 0;
out:
	input_close(d->input);
	pipeline_free(d->pipeline);
	return status;
}

int dump_run(const struct dump_options *options, const struct expression *e)
{
	struct dump *d = calloc(1, sizeof(*d));
	int status;

	if (!d) {
		cli_complain("%s", strerror(errno));
		return EXIT_RUNTIME;
	}
	d->opts = *options;
	d->expression = e;
	cli_catch_signals();
	status = run_pipeline(d);
	free(d);
	return status;
}

/*
 * The command line
 */

static const char usage[] =
	"usage: osmsnoop [-jnqvx] [-c COUNT] [-i SOURCE | -r FILE] [-w FILE] [EXPRESSION]\n"
	"       osmsnoop stats | top | verify ...      (--help behind it)\n"
	"Show what an OpenSM's SA is asked and answers, and its other MADs.\n"
	"  -i, --source=SOURCE     socket of the plugin (" INPUT_DEFAULT_SOCKET "),\n"
	"                          kernel:DEV[:PORT] or bpf[:DEV]\n"
	"  -r, --read=FILE         a capture file; - is standard input\n"
	"  -w, --write=FILE        write packets to FILE, show none; - is standard output\n"
	"  -c, --count=COUNT       end after so many\n"
	"  -v, --verbose           all fields by name\n"
	"  -x, --hex               the bytes of the MADs\n"
	"  -j, --json              records as JSON, one a line\n"
	"  -q, --quiet             who, what and outcome alone\n"
	"  -n, --no-names          no node names\n"
	"      --node-name-map=FILE  names by GUID, in OpenSM's format\n"
	"      --help, --version\n"
	"EXPRESSION: class, method, attr, [src|dst] lid, guid, gid, name, tid, status,\n"
	"records with a value; sent, received, error; and, or, not, ( )\n";

static const struct option long_options[] = {
	{ "source", required_argument, NULL, 'i' },
	{ "read", required_argument, NULL, 'r' },
	{ "write", required_argument, NULL, 'w' },
	{ "count", required_argument, NULL, 'c' },
	{ "verbose", no_argument, NULL, 'v' },
	{ "hex", no_argument, NULL, 'x' },
	{ "json", no_argument, NULL, 'j' },
	{ "quiet", no_argument, NULL, 'q' },
	{ "no-names", no_argument, NULL, 'n' },
	{ "node-name-map", required_argument, NULL, 'm' },
	{ "help", no_argument, NULL, 'h' },
	{ "version", no_argument, NULL, 'V' },
	{ 0 },
};

#define refuse(...) cli_refuse("osmsnoop", usage, __VA_ARGS__)

/* CLI_GO_ON, or the exit status. */
static int take_option(struct dump_options *o, int c)
{
	switch (c) {
	case 'i':
		o->source = optarg;
		return CLI_GO_ON;
	case 'r':
		o->read = optarg;
		return CLI_GO_ON;
	case 'w':
		o->write = optarg;
		return CLI_GO_ON;
	case 'c':
		if (cli_read_number(optarg, 1, UINT64_MAX, &o->count))
			return CLI_GO_ON;
		return refuse("-c: '%s' is no number above 0", optarg);
	case 'v':
		o->verbose = true;
		return CLI_GO_ON;
	case 'x':
		o->hex = true;
		return CLI_GO_ON;
	case 'j':
		o->json = true;
		return CLI_GO_ON;
	case 'q':
		o->quiet = true;
		return CLI_GO_ON;
	case 'n':
		o->no_names = true;
		return CLI_GO_ON;
	case 'm':
		o->node_name_map = optarg;
		return CLI_GO_ON;
	case 'h':
		return fputs(usage, stdout) < 0;
	case 'V':
		return printf("osmsnoop %s\n", PACKAGE_VERSION) < 0;
	default:
		fputs(usage, stderr);
		return EXIT_USAGE;
	}
}

static int check_options(const struct dump_options *o)
{
	if (o->read && o->source)
		return refuse("-i and -r: there is one input");
	if (o->write && (o->verbose || o->hex || o->json || o->quiet ||
			 o->no_names))
		return refuse("-w shows nothing that -%c could change",
			      o->verbose ? 'v' : o->hex ? 'x' :
			      o->json ? 'j' : o->quiet ? 'q' : 'n');
	if (o->json && (o->verbose || o->hex || o->quiet))
		return refuse("-j has all of a record; -%c does not go with it",
			      o->verbose ? 'v' : o->hex ? 'x' : 'q');
	if (o->quiet && o->verbose)
		return refuse("-q and -v: either short or long");
	if (o->write && !strcmp(o->write, "-") && isatty(STDOUT_FILENO))
		return refuse("-w -: standard output is a terminal, which does not read packets");
	return CLI_GO_ON;
}

int dump_main(int argc, char **argv, const char *others)
{
	struct dump_options opts = { 0 };
	struct expression *e;
	int c, status = CLI_GO_ON;

	while (status == CLI_GO_ON && (c = getopt_long(argc, argv, "i:r:w:c:vxjqnh",
					      long_options, NULL)) != -1)
		status = take_option(&opts, c);
	if (status == CLI_GO_ON)
		status = check_options(&opts);
	if (status != CLI_GO_ON)
		return status;
	e = cli_read_words(argv + optind, optind == 1 ? others : NULL);
	if (!e)
		return EXIT_USAGE;
	status = dump_run(&opts, e);
	expression_free(e);
	return status;
}
