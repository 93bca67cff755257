/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
#ifndef OSMSNOOP_DUMP_H
#define OSMSNOOP_DUMP_H

/*
 * osmsnoop without a subcommand: show what comes from a socket, a file or a
 * port, or write it to a file. Returns the exit status of the command.
 * `others` is told with what is no expression: the subcommands there are.
 */
int dump_main(int argc, char **argv, const char *others);

#endif /* OSMSNOOP_DUMP_H */
