/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* `osmsnoop top` on a terminal: the view, kept up to date, and its keys. */
#ifndef OSMSNOOP_TOP_SCREEN_H
#define OSMSNOOP_TOP_SCREEN_H

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>

#include "top_feed.h"
#include "top_view.h"

/*
 * Show what the feed has, anew each `delay_ns`, until somebody quits or `stop`
 * is set. The terminal is then as it was before. Keys come from standard input
 * or, when that is none, from /dev/tty. False: there is no such terminal, and
 * standard error says so.
 */
bool top_screen(struct top_feed *feed, struct top_view *view,
		uint64_t delay_ns, const volatile sig_atomic_t *stop);

/* Does the terminal of this locale show more than ASCII? */
bool top_screen_is_utf8(void);

#endif /* OSMSNOOP_TOP_SCREEN_H */
