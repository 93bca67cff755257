/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Wireshark runs each program in its extcap directory, first to ask which
 * interfaces it has, what comes from them and what can be set, then to capture
 * into a fifo. Answers are sentences on standard output. What a capture says
 * on standard error Wireshark shows as its failure, whatever the exit status.
 */
#include <config.h>

#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cli.h"
#include "dump.h"
#include "erf.h"
#include "extcap.h"
#include "input.h"

#define INTERFACE "osmsnoop"

struct call {
	int (*action)(const struct call *call);
	const char *interface;
	const char *filter;		/* NULL = everything */
	struct dump_options capture;
};

static int print_interfaces(const struct call *call)
{
	(void)call;
	puts("extcap {version=" PACKAGE_VERSION "}{help=man:osmsnoop}");
	puts("interface {value=" INTERFACE "}{display=OpenSM SA traffic}");
	return 0;
}

static int print_dlts(const struct call *call)
{
	(void)call;
	printf("dlt {number=%d}{name=ERF}{display=InfiniBand}\n",
	       ERF_LINKTYPE);
	return 0;
}

/* What is to be captured is no argument: Wireshark has a filter for that. */
static int print_config(const struct call *call)
{
	(void)call;
	puts("arg {number=0}{call=--socket}{display=Socket of OpenSM's plugin}"
	     "{type=string}{default=" INPUT_DEFAULT_SOCKET "}"
	     "{tooltip=What the plugin's option listen says}");
	puts("arg {number=1}{call=--node-name-map}{display=Node name map}"
	     "{type=fileselect}{mustexist=true}"
	     "{tooltip=Names by GUID in OpenSM's format, for name in a filter}");
	return 0;
}

/*
 * Wireshark takes the first line on standard output for what is wrong with the
 * filter, but only of a program that ends well.
 */
static int check_filter(const struct call *call)
{
	char error[EXPRESSION_ERROR_MAX];
	struct expression *e = expression_new(call->filter, error);

	if (!e)
		puts(error);
	expression_free(e);
	return 0;
}

static int capture_filtered(const struct call *call)
{
	const char *filter = call->filter ? call->filter : "";
	struct expression *e = cli_read_expression(filter);
	int status;

	if (!e)
		return EXIT_USAGE;
	status = dump_run(&call->capture, e);
	expression_free(e);
	return status;
}

/*
 * Who reads the fifo waits until somebody has opened it. So this comes before
 * all that may fail, or the failure would be told when the user gives up.
 */
static int capture(const struct call *call)
{
	const char *fifo = call->capture.write;
	int fd = open(fifo, O_WRONLY | O_CLOEXEC), status;

	if (fd < 0) {
		cli_complain("%s: %s", fifo, strerror(errno));
		return EXIT_RUNTIME;
	}
	status = capture_filtered(call);
	close(fd);
	return status;
}

/*
 * The command line
 */

enum {
	OPTION_INTERFACES = 1,
	OPTION_DLTS,
	OPTION_CONFIG,
	OPTION_CAPTURE,
	OPTION_INTERFACE,
	OPTION_FILTER,
	OPTION_VERSION,
	OPTION_FIFO,
	OPTION_SOCKET,
	OPTION_NODE_NAME_MAP,
};

static const struct option long_options[] = {
	{ "extcap-interfaces", no_argument, NULL, OPTION_INTERFACES },
	{ "extcap-dlts", no_argument, NULL, OPTION_DLTS },
	{ "extcap-config", no_argument, NULL, OPTION_CONFIG },
	{ "capture", no_argument, NULL, OPTION_CAPTURE },
	{ "extcap-interface", required_argument, NULL, OPTION_INTERFACE },
	{ "extcap-capture-filter", required_argument, NULL, OPTION_FILTER },
	{ "extcap-version", required_argument, NULL, OPTION_VERSION },
	{ "fifo", required_argument, NULL, OPTION_FIFO },
	{ "socket", required_argument, NULL, OPTION_SOCKET },
	{ "node-name-map", required_argument, NULL, OPTION_NODE_NAME_MAP },
	{ 0 },
};

static const char usage[] =
	"usage: osmsnoop --extcap-interfaces [--extcap-version=VERSION]\n"
	"       osmsnoop --extcap-interface=" INTERFACE " --extcap-dlts | --extcap-config\n"
	"       osmsnoop --extcap-interface=" INTERFACE " --extcap-capture-filter=EXPRESSION\n"
	"       osmsnoop --extcap-interface=" INTERFACE " --capture --fifo=FILE [--socket=PATH]\n"
	"                [--node-name-map=FILE] [--extcap-capture-filter=EXPRESSION]\n"
	"What Wireshark calls; see extcap(4) and osmsnoop(1).\n";

static bool take_option(struct call *call, int c)
{
	switch (c) {
	case OPTION_INTERFACES:
		call->action = print_interfaces;
		return true;
	case OPTION_DLTS:
		call->action = print_dlts;
		return true;
	case OPTION_CONFIG:
		call->action = print_config;
		return true;
	case OPTION_CAPTURE:
		call->action = capture;
		return true;
	case OPTION_INTERFACE:
		call->interface = optarg;
		return true;
	case OPTION_FILTER:
		call->filter = optarg;
		return true;
	case OPTION_VERSION:	/* what we say is the same for all */
		return true;
	case OPTION_FIFO:
		call->capture.write = optarg;
		return true;
	case OPTION_SOCKET:
		call->capture.source = optarg;
		return true;
	case OPTION_NODE_NAME_MAP:
		call->capture.node_name_map = optarg;
		return true;
	default:
		return false;
	}
}

/* NULL, or what is wrong. */
static const char *check_call(const struct call *call)
{
	if (!call->action)
		return "nothing is asked for";
	if (call->action == print_interfaces)
		return NULL;
	if (!call->interface || strcmp(call->interface, INTERFACE))
		return "the interface is " INTERFACE " (--extcap-interface)";
	if (call->action == capture && !call->capture.write)
		return "--capture wants a --fifo";
	return NULL;
}

bool extcap_is_asked(char **argv)
{
	static const char prefix[] = "--extcap-";
	size_t i;

	for (i = 1; argv[i - 1] && argv[i]; i++)
		if (!strncmp(argv[i], prefix, sizeof(prefix) - 1))
			return true;
	return false;
}

int extcap_main(int argc, char **argv)
{
	struct call call = { .capture.no_summary = true };
	const char *wrong;
	int c;

	while ((c = getopt_long(argc, argv, "", long_options, NULL)) != -1)
		if (!take_option(&call, c)) {
			fputs(usage, stderr);
			return EXIT_USAGE;
		}
	if (!call.action && call.filter)
		call.action = check_filter;
	wrong = check_call(&call);
	if (wrong)
		return cli_refuse("osmsnoop", usage, "%s", wrong);
	return call.action(&call);
}
