/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Putting the tap in place in a process where libosmvendor comes first: the
 * calls of its two functions are found in the relocations of every loaded
 * object and pointed at the tap.
 */
#ifndef OSMSNOOP_ATTACH_H
#define OSMSNOOP_ATTACH_H

#include <stdbool.h>

/* Is the tap in place, by link order, preload or attach? */
bool attach_is_tapped(void);

#endif /* OSMSNOOP_ATTACH_H */
