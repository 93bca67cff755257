/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * An alert is said when it begins, once a minute at most while there is more of
 * it, and when it ends. What goes on is an episode; what is said of it, an
 * alert.
 */
#ifndef OSMSNOOP_ALERT_H
#define OSMSNOOP_ALERT_H

#include <stdbool.h>
#include <stdint.h>

#include "watch.h"

/* No alert is said more often while it goes on. */
#define ALERT_UPDATE_NS UINT64_C(60000000000)

enum alert_phase {
	ALERT_NONE,		/* nothing is to be said now */
	ALERT_BEGIN,
	ALERT_UPDATE,
	ALERT_END,
	ALERT_ONCE,		/* what has no duration */
};

/* Zeroed: nothing goes on. */
struct episode {
	uint64_t count;		/* of events; 0 = nothing goes on */
	uint64_t first_ns, last_ns;	/* CLOCK_REALTIME of the events */
	uint64_t began_mono_ns, last_mono_ns;
	uint64_t said_mono_ns;
	bool more;		/* since it was said */
};

/* One more event. What is to be said: begin, update or none. */
enum alert_phase episode_add(struct episode *e, uint64_t time_ns,
			     uint64_t mono_ns);

/*
 * Time passes. It ends when nothing was added for `quiet_ns`: say it, then
 * forget the episode. What is to be said: end, update or none.
 */
enum alert_phase episode_pass(struct episode *e, uint64_t quiet_ns,
			      uint64_t mono_ns);

enum {
	ALERT_EVIDENCE = 24,
	ALERT_SUBJECT_MAX = 160,
	ALERT_TEXT_MAX = 640,
};

struct alert {
	const struct watch_host *host;
	const char *name;	/* stable: "sa_storm" */
	const char *severity;	/* "info", "warning", "critical" */
	const struct requester *who;
	char subject[ALERT_SUBJECT_MAX];
	char text[ALERT_TEXT_MAX];
	struct evidence evidence[ALERT_EVIDENCE];
	size_t n;
};

void alert_init(struct alert *a, const struct watch_host *host,
		const char *name, const char *severity);
/* Whom it is about: the record's requester. Valid until it is said. */
void alert_about(struct alert *a, const struct requester *who);
/* Printf's formats. What comes from the wire is escaped where it is shown. */
void alert_subject(struct alert *a, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
void alert_text(struct alert *a, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
/* Evidence, in the order of the calls. `text` is valid until it is said. */
void alert_number(struct alert *a, const char *key, uint64_t number);
void alert_string(struct alert *a, const char *key, const char *text);

/*
 * Emit it. Phase, count, first and last time of the episode (may be NULL) come
 * before the other evidence, and the phase before the text.
 */
void alert_say(struct alert *a, enum alert_phase phase, struct episode *e,
	       uint64_t mono_ns);

/* "node012 HCA-1" (LID 7, 0x0002c903000e0b72), as much as is known of it. */
enum { ALERT_WHO_MAX = 320 };
const char *alert_who(char text[ALERT_WHO_MAX], const struct requester *who);

/*
 * Evidence may be text from the wire as it is. A name that a host told does not
 * live for long: this copies it, "" = not known, and lets `who` have the copy.
 */
enum { ALERT_NAME_MAX = 160 };
void alert_keep_name(char text[ALERT_NAME_MAX], struct requester *who);

#endif /* OSMSNOOP_ALERT_H */
