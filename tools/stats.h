/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
#ifndef OSMSNOOP_STATS_H
#define OSMSNOOP_STATS_H

/*
 * osmsnoop stats: a summary of traces and captures. `argv` holds what follows
 * the word stats. Returns the exit status of the command.
 */
int stats_main(int argc, char **argv);

#endif /* OSMSNOOP_STATS_H */
