/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * What feeds the table of `osmsnoop top`: an input, read to its end by whoever
 * calls top_feed_run(), or by a thread of its own, which connects again to a
 * socket that has ended.
 *
 * The clock is that of the packets in a file, this host's else.
 */
#ifndef OSMSNOOP_TOP_FEED_H
#define OSMSNOOP_TOP_FEED_H

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>

#include "expression.h"
#include "input.h"
#include "top_table.h"

struct top_feed;

struct top_feed_options {
	const char *source;	/* as input_open_source() takes it */
	const char *file;	/* instead of it; "-" = standard input */
	const char *node_name_map;	/* may be NULL */
	const struct expression *expression;
	const volatile sig_atomic_t *stop;	/* as of an input */
	/*
	 * Called after each MAD, and every 100 ms when none comes, with the
	 * feed's clock. False ends the reading. May be NULL.
	 */
	bool (*beat)(uint64_t now_ns, void *context);
	void *context;
};

enum top_state { TOP_READING, TOP_WAITING, TOP_ENDED, TOP_BROKEN };

struct top_status {
	const char *source;	/* of the feed's options */
	enum top_state state;
	bool live;		/* times are those of this host's clock */
	uint64_t from_ns, to_ns;	/* CLOCK_REALTIME; 0 = nothing came */
	unsigned percent;	/* read of a file */
	unsigned reconnects;
	uint64_t reconnect_ns;	/* when the last one was; CLOCK_REALTIME */
	char error[INPUT_ERROR_MAX];	/* of TOP_WAITING and TOP_BROKEN */
};

/* NULL: `error` says why. All that the options point to has to outlive it. */
struct top_feed *top_feed_open(const struct top_feed_options *options,
			       char error[INPUT_ERROR_MAX]);
void top_feed_close(struct top_feed *f);	/* NULL is well */

/* Read until the end. False: it broke off, and `error` says why. */
bool top_feed_run(struct top_feed *f, char error[INPUT_ERROR_MAX]);

/*
 * Read on a thread of its own, until the feed is closed, which SIGTERM tells
 * it: whoever starts it has a handler that sets `stop`. False: errno says why.
 */
bool top_feed_start(struct top_feed *f);

/* From any thread. False: no memory, and the snapshot is as it was. */
bool top_feed_look(struct top_feed *f, struct top_snapshot *s,
		   struct top_status *status);
void top_feed_clear(struct top_feed *f);

/* Has its file broken off? Then `error` says why. From any thread. */
bool top_feed_is_broken(struct top_feed *f, char error[INPUT_ERROR_MAX]);

#endif /* OSMSNOOP_TOP_FEED_H */
