/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Watchers look at what passes and raise alerts. Adding one is one file and one
 * line in the table of watch.c. A watcher knows no source and no sink, reads no
 * clock and starts no thread; all it keeps is bounded. All calls of all watchers
 * come from one thread at a time.
 */
#ifndef OSMSNOOP_WATCH_H
#define OSMSNOOP_WATCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "options.h"
#include "record.h"

/* What the subnet database says that concerns alerts; 0 = not known. */
struct watch_subnet {
	uint64_t sm_port_guid;	/* OpenSM's own */
	uint32_t mlids;		/* multicast LIDs in use, */
	uint32_t mlids_max;	/* of so many that the fabric's switches have */
};

/* The codes of what a port can (IBA 1.4 table 209); 0 = not known. */
struct watch_port {
	uint8_t mtu, rate;
};

/* Whom watchers tell, and what they may ask. It outlives them. */
struct watch_host {
	const struct options *options;

	/*
	 * An alert; the record is valid until it returns, its time_ns and
	 * show_keys are the callee's.
	 */
	void (*emit)(struct record *record, void *context);
	/* Fill in port GUID and name by the LID; NULL: nobody knows. */
	void (*resolve)(struct requester *who, void *context);
	/*
	 * Fill in LID and name by the port GUID (host byte order). False, and
	 * nothing is filled in: the subnet has none. May be NULL.
	 */
	bool (*find)(struct requester *who, uint64_t port_guid, void *context);
	/* May be NULL. */
	void (*subnet)(struct watch_subnet *subnet, void *context);
	/* False: the subnet has no such port. May be NULL. */
	bool (*port)(struct watch_port *port, uint64_t port_guid,
		     void *context);
	void *context;
};

struct watcher {
	/*
	 * *state is NULL; it stays so when the options turn this watcher off.
	 * False: no memory.
	 */
	bool (*open)(const struct watch_host *host, void **state);

	/* An SA request comes in; its transaction is a record later. */
	void (*request)(void *state, const struct mad_capture *cap);
	/* Each record but alerts; mono_ns is now (CLOCK_MONOTONIC). */
	void (*record)(void *state, const struct record *r, uint64_t mono_ns);
	/* Once a second: what is over is said to end, what goes on is said. */
	void (*tick)(void *state, uint64_t mono_ns);
	/* OpenSM ends: what goes on is said to end. */
	void (*flush)(void *state, uint64_t mono_ns);
	/* All but open and close may be NULL. */
	void (*close)(void *state);
};

struct watch;

/* NULL: no memory. `host` is copied. */
struct watch *watch_new(const struct watch_host *host);
void watch_free(struct watch *w);	/* NULL is well */

void watch_request(struct watch *w, const struct mad_capture *cap);
void watch_record(struct watch *w, const struct record *r, uint64_t mono_ns);
void watch_tick(struct watch *w, uint64_t mono_ns);	/* as often as one likes */
void watch_flush(struct watch *w, uint64_t mono_ns);

extern const struct watcher watch_storm;
extern const struct watcher watch_unanswered;
extern const struct watcher watch_slow;
extern const struct watcher watch_duplicates;
extern const struct watcher watch_smkey;
extern const struct watcher watch_stranger;
extern const struct watcher watch_loss;
extern const struct watcher watch_sm;
extern const struct watcher watch_violations;
extern const struct watcher watch_traps;
extern const struct watcher watch_smp;
extern const struct watcher watch_join;
extern const struct watcher watch_multicast;
extern const struct watcher watch_services;

#endif /* OSMSNOOP_WATCH_H */
