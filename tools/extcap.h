/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* osmsnoop as a capture interface of Wireshark's, by extcap(4). */
#ifndef OSMSNOOP_EXTCAP_H
#define OSMSNOOP_EXTCAP_H

#include <stdbool.h>

/* Is it Wireshark that calls? It names the interface, or asks for them. */
bool extcap_is_asked(char **argv);

/* Answer, or capture. Returns the exit status of the command. */
int extcap_main(int argc, char **argv);

#endif /* OSMSNOOP_EXTCAP_H */
