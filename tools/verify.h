/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
#ifndef OSMSNOOP_VERIFY_H
#define OSMSNOOP_VERIFY_H

/*
 * osmsnoop verify: does an audit hold? `argv` holds what follows the word
 * verify. Returns the exit status of the command.
 */
int verify_main(int argc, char **argv);

#endif /* OSMSNOOP_VERIFY_H */
