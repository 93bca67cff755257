/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli.h"
#include "field.h"

enum {
	LINE_SIZE = EXPRESSION_ERROR_MAX,
	ESCAPED_SIZE = 6 * LINE_SIZE,	/* \uxxxx of a byte is the most */
};

volatile sig_atomic_t cli_stop;

static void on_signal(int signal)
{
	(void)signal;
	cli_stop = 1;
}

void cli_catch(int signal)
{
	/* without SA_RESTART: what waits is to end */
	const struct sigaction end = { .sa_handler = on_signal };

	sigaction(signal, &end, NULL);
}

void cli_catch_signals(void)
{
	struct sigaction was;

	cli_catch(SIGINT);
	cli_catch(SIGTERM);
	if (!sigaction(SIGHUP, NULL, &was) && was.sa_handler != SIG_IGN)
		cli_catch(SIGHUP);
	/* a closed pipe is an error of writing, and that is no error */
	signal(SIGPIPE, SIG_IGN);
}

static void say(const char *before, const char *line, size_t len)
{
	char text[ESCAPED_SIZE];
	struct words w;

	words_init(&w, text, sizeof(text));
	words_text(&w, line, len, false);
	fprintf(stderr, "%s%s\n", before, text);
}

static void complain(const char *name, const char *format, va_list args)
{
	char line[LINE_SIZE], before[64];

	vsnprintf(line, sizeof(line), format, args);
	snprintf(before, sizeof(before), "%s: ", name);
	say(before, line, strlen(line));
}

void cli_complain(const char *format, ...)
{
	va_list args;

	va_start(args, format);
	complain("osmsnoop", format, args);
	va_end(args);
}

int cli_refuse(const char *name, const char *usage, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	complain(name, format, args);
	va_end(args);
	fputs(usage, stderr);
	return EXIT_USAGE;
}

bool cli_read_number(const char *text, uint64_t least, uint64_t most,
		     uint64_t *number)
{
	char *rest;

	errno = 0;
	*number = strtoull(text, &rest, 10);
	return !errno && !*rest && *text >= '0' && *text <= '9' &&
	       *number >= least && *number <= most;
}

/* Lines that point at what is wrong. */
static void say_error(const char *error)
{
	const char *before = "osmsnoop: ";
	size_t len;

	for (; *error; error += len + (error[len] == '\n')) {
		len = strcspn(error, "\n");
		say(before, error, len);
		before = "";
	}
}

struct expression *cli_read_words(char **words, const char *others)
{
	char error[EXPRESSION_ERROR_MAX];
	struct expression *e = expression_of_words(words, error);
	size_t len;

	if (e)
		return e;
	say_error(error);
	/* it may have been meant for one */
	len = *words ? strlen(*words) : 0;
	if (others && error[0] == '\'' && !strncmp(error + 1, *words, len) &&
	    error[len + 1] == '\'')
		fprintf(stderr, "or a subcommand: %s\n", others);
	return NULL;
}

struct expression *cli_read_expression(const char *text)
{
	char error[EXPRESSION_ERROR_MAX];
	struct expression *e = expression_new(text, error);

	if (!e)
		say_error(error);
	return e;
}
