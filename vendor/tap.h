/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * The tap: what runs on OpenSM's threads. It stands in for osm_vendor_bind
 * and osm_vendor_send of libosmvendor and copies what passes into the rings
 * of the binds that want it. See tap.c for what it may not do.
 */
#ifndef OSMSNOOP_TAP_H
#define OSMSNOOP_TAP_H

#include <stdbool.h>
#include <stdint.h>

#include <vendor/osm_vendor_snoop.h>

#include "ring.h"

enum {
	TAP_MAX_BINDS = 16,
	TAP_SHARDS = 4,		/* a power of two */
};

/* What lies in a ring: one capture. */
struct tap_capture {
	uint64_t monotonic_ns;
	uint64_t lost;		/* captures lost just before this one */
	ib_net64_t port_guid;
	uint64_t thread;
	uint64_t samples[OSM_SNOOP_MAX_SAMPLES];
	uint32_t original_size;
	uint32_t size;		/* of mad[] */
	ib_api_status_t status;
	uint16_t local_lid;	/* host order, from when the port was opened */
	bool sent;
	osm_mad_addr_t mad_addr;
	uint8_t mad[];
};

struct tap_config {
	ib_net64_t port_guid;	/* 0 = any */
	uint32_t flags;		/* OSM_SNOOP_SENDS, OSM_SNOOP_RECEIVES */
	uint32_t snap_length;	/* what a ring can hold, at most */
	uint32_t filter_count;
	uint32_t sample_count;
	uint32_t ring_count;	/* a power of two, TAP_SHARDS at most */
	umad_filter_t filters[OSM_SNOOP_MAX_FILTERS];
	osm_snoop_sample_t samples[OSM_SNOOP_MAX_SAMPLES];
};

struct tap_stats {
	uint64_t seen;
	uint64_t passed;
	uint64_t lost;
};

/*
 * Begin to copy into `rings`, by processor; one that is full spills into the
 * next. Returns the number of the tap's slot, or -EBUSY when all are taken.
 * Any thread.
 *
 * A capture that was caused by another (a response by its request) has the
 * later clock value, and whatever lies before the first in its ring is not
 * later than the second either: it was reserved before the first was there.
 * So who takes the smallest clock value among the rings' oldest captures, and
 * waits for one that is reserved but not committed, takes the first first.
 */
int tap_open(const struct tap_config *config, struct ring *rings);

/*
 * Stop. After it returns no thread touches the rings, and the counters stay
 * for tap_get_stats() until tap_close(). Any thread.
 */
void tap_stop(int slot);

/* Stop, if it was not yet, and give the slot back. Any thread. */
void tap_close(int slot);

/*
 * Was there, during this call, a moment without a MAD on its way into umad
 * that expects no response? Then all that were given to osm_vendor_send before
 * the call have been sent, or their failure has been captured.
 */
bool tap_sends_done(void);

void tap_get_stats(int slot, struct tap_stats *stats);

/*
 * Find the functions of libosmvendor that the tap stands in for. Called by
 * whoever puts the tap in place, never later. False when there are none.
 */
bool tap_find_vendor(void);

/* The two names, what is called instead, and what was meant. */
struct tap_symbol {
	const char *name;
	void *tap;
	void *vendor;		/* NULL until tap_find_vendor() */
};

enum { TAP_SYMBOLS = 2 };

void tap_get_symbols(struct tap_symbol symbols[TAP_SYMBOLS]);

/* Binds of the vendor layer that could not be tapped for what they receive. */
unsigned tap_untapped(void);

#endif /* OSMSNOOP_TAP_H */
