/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cli.h"
#include "dump.h"
#include "extcap.h"
#include "stats.h"
#include "top.h"
#include "verify.h"

/* What is no subcommand is an option or a word of an expression. */
static const struct {
	const char *name;
	int (*main)(int argc, char **argv);
} subcommands[] = {
	{ "stats", stats_main },
	{ "top", top_main },
	{ "verify", verify_main },
};

enum { SUBCOMMANDS = sizeof(subcommands) / sizeof(subcommands[0]) };

/*
 * A file that gets the number of a standard one that is closed would get what
 * is meant for that. What stands there instead fails as a closed one does.
 */
static bool hold_standard_files(void)
{
	int fd;

	for (fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
		if (fcntl(fd, F_GETFD) < 0 &&
		    open("/dev/null", fd == STDIN_FILENO ? O_WRONLY :
			 O_RDONLY) != fd)
			return false;
	return true;
}

/* What is still to be written, such as the usage, is written, or it is told. */
static int end_output(int status)
{
	signal(SIGPIPE, SIG_IGN);
	if (!fflush(stdout) || errno == EPIPE || status)
		return status;
	cli_complain("standard output: %s", strerror(errno));
	return EXIT_RUNTIME;
}

static int run(int argc, char **argv)
{
	char names[256] = "";
	size_t i;

	for (i = 0; i < SUBCOMMANDS; i++) {
		if (argc > 1 && !strcmp(argv[1], subcommands[i].name))
			return subcommands[i].main(argc - 1, argv + 1);
		if (i)
			strcat(names, ", ");
		strcat(names, subcommands[i].name);
	}
	if (extcap_is_asked(argv))
		return extcap_main(argc, argv);
	return dump_main(argc, argv, names);
}

int main(int argc, char **argv)
{
	if (!hold_standard_files())
		return EXIT_RUNTIME;
	return end_output(run(argc, argv));
}
