/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* What the command lines of osmsnoop and its subcommands have in common. */
#ifndef OSMSNOOP_CLI_H
#define OSMSNOOP_CLI_H

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>

#include "expression.h"

/* Of the command; 0 is well. */
enum {
	EXIT_RUNTIME = 1,
	EXIT_USAGE = 2,
};

/* What an option leads to when it is no reason to exit. */
enum { CLI_GO_ON = -1 };

/* Somebody wants the command to end. Set once, and never cleared. */
extern volatile sig_atomic_t cli_stop;

/*
 * SIGINT, SIGTERM and, unless it is ignored (nohup), SIGHUP set cli_stop and
 * interrupt what waits. A closed pipe becomes an error of writing.
 */
void cli_catch_signals(void);
void cli_catch(int signal);		/* one more that sets it */

/*
 * "osmsnoop: ..." on standard error, a line. What may be in a file's name or in
 * a word of the command line and is no plain text gets escaped (mad/text.h).
 */
void cli_complain(const char *format, ...)
	__attribute__((format(printf, 1, 2)));

/* The same of the command `name`, and then its usage. Returns EXIT_USAGE. */
int cli_refuse(const char *name, const char *usage, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

/* Decimal digits alone, for a number within the limits. */
bool cli_read_number(const char *text, uint64_t least, uint64_t most,
		     uint64_t *number);

/*
 * The words of an expression, a NULL after the last, or its text. NULL: it was
 * said why it is none. `others` (may be NULL) is told with a first word that
 * does not belong there.
 */
struct expression *cli_read_words(char **words, const char *others);
struct expression *cli_read_expression(const char *text);

#endif /* OSMSNOOP_CLI_H */
