/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * A thread that hands messages to syslog or journald. Who puts them never
 * waits: where there is nobody to take them, or nobody takes them fast enough,
 * they are counted, which the OpenSM log says, and the next message as well.
 */
#ifndef OSMSNOOP_FORWARD_H
#define OSMSNOOP_FORWARD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <opensm/osm_log.h>

#include "options.h"

struct forward;

struct forward_message {
	int priority;		/* LOG_CRIT, ... of LOG_DAEMON */
	const char *text;	/* one line */
	/* for journald alone; NULL = there is none, lid 0 as well */
	const char *type;
	const char *alert;
	uint16_t lid;
	const char *json;	/* members, without braces */
};

/* Room for so many bytes of messages. NULL: no memory, or no thread. */
struct forward *forward_open(enum forward_mode mode, size_t queue,
			     osm_log_t *p_log);

/* Any thread. False: it is lost, and counted. */
bool forward_put(struct forward *f, const struct forward_message *message);

/* Any thread: a message that is a line alone. */
void forward_say(struct forward *f, int priority, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

/* These two, one thread. About ten times a second: say what was lost. */
void forward_flush(struct forward *f, uint64_t mono_ns);

/*
 * Hand over what there is and end, by the deadline (CLOCK_MONOTONIC) or soon
 * after; what was not handed over then the OpenSM log says.
 */
void forward_close(struct forward *f, uint64_t deadline_ns);

#endif /* OSMSNOOP_FORWARD_H */
