/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
#include <stdio.h>
#include <string.h>

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

int main(int argc, char **argv)
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
