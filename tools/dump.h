/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Show what comes from a socket, a file or a port, or write it to a file: what
 * osmsnoop does without a subcommand, and for Wireshark (extcap.h).
 */
#ifndef OSMSNOOP_DUMP_H
#define OSMSNOOP_DUMP_H

#include <stdbool.h>
#include <stdint.h>

#include "expression.h"

struct dump_options {
	const char *source;	/* of -i; NULL = INPUT_DEFAULT_SOCKET */
	const char *read;	/* a file instead; NULL = none */
	const char *write;	/* packets to this file; NULL = show */
	const char *node_name_map;
	uint64_t count;		/* 0 = no end */
	bool verbose, hex, json, quiet, no_names;
	bool no_summary;	/* on standard error are errors alone */
};

/*
 * Until the end of the input, the count, SIGINT or SIGTERM, or until nobody
 * reads the output. Tells on standard error what goes wrong. Returns the exit
 * status.
 */
int dump_run(const struct dump_options *options, const struct expression *e);

/*
 * The same by the command line. `others` is told with what is no expression:
 * the subcommands there are.
 */
int dump_main(int argc, char **argv, const char *others);

#endif /* OSMSNOOP_DUMP_H */
