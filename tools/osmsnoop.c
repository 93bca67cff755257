/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
#include <config.h>

#include <stdio.h>
#include <string.h>

#include "stats.h"

static const char usage[] =
	"usage: osmsnoop stats [-j] FILE...   summarize trace files of the plugin\n"
	"       osmsnoop --version\n"
	"       osmsnoop --help\n";

int main(int argc, char **argv)
{
	if (argc > 1 && !strcmp(argv[1], "stats"))
		return stats_main(argc - 1, argv + 1);
	if (argc == 2 && !strcmp(argv[1], "--version"))
		return printf("osmsnoop %s\n", PACKAGE_VERSION) < 0;
	if (argc == 2 && (!strcmp(argv[1], "--help") || !strcmp(argv[1], "-h")))
		return fputs(usage, stdout) < 0;
	if (argc > 1)
		fprintf(stderr, "osmsnoop: '%s' is not known here\n", argv[1]);
	fputs(usage, stderr);
	return 2;
}
