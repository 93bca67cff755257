/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
#ifndef OSMSNOOP_TOP_H
#define OSMSNOOP_TOP_H

/*
 * osmsnoop top: a live table of who asks the SA. `argv` holds what follows the
 * word top. Returns the exit status of the command.
 */
int top_main(int argc, char **argv);

#endif /* OSMSNOOP_TOP_H */
