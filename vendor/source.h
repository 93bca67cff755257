/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * A source hands over captures. Adding one is one file and one line in
 * source_table.c. A source calls nobody back, knows no pool and no
 * callback, and is used by one thread, but for stop and get_stats.
 */
#ifndef OSMSNOOP_SOURCE_H
#define OSMSNOOP_SOURCE_H

#include <stdbool.h>
#include <stdint.h>

#include <vendor/osm_vendor_snoop.h>

/* One capture; the pointers are valid until the next call of next(). */
struct source_capture {
	osm_snoop_info_t info;
	osm_mad_addr_t mad_addr;
	ib_api_status_t status;
	const uint8_t *mad;
	uint32_t size;
};

struct source {
	osm_snoop_source_t id;
	bool by_name_only;	/* AUTO does not come to it */

	/*
	 * Begin to capture. `info` was checked and is complete (defaults
	 * filled in); it is not kept. On failure the reason is in
	 * snoop_error().
	 */
	ib_api_status_t (*open)(osm_vendor_t *p_vend,
				const osm_snoop_bind_info_t *info,
				void **state);

	/*
	 * The next capture: 1, or 0 when none came for about a tenth of a
	 * second, or -1 when the source was stopped and has no more.
	 */
	int (*next)(void *state, struct source_capture *capture);

	/* Capture no more; next() hands over what there is. Any thread. */
	void (*stop)(void *state);

	/*
	 * Fills in all that it knows but delivered, lost_memory and truncated;
	 * the rest is zero already. Any thread.
	 */
	void (*get_stats)(void *state, osm_snoop_stats_t *stats);

	/* After next() was called for the last time; the last counters. */
	void (*close)(void *state, osm_snoop_stats_t *stats);
};

extern const struct source source_kernel;
extern const struct source source_stream;
extern const struct source source_tap;

/* Those that are built in, in the order in which AUTO tries them, then NULL. */
extern const struct source *const source_table[];

/*
 * Open the source that `info` names, or for AUTO the first that opens, and
 * note in `info` which. NULL when there is none: the reason is in
 * snoop_error().
 */
const struct source *source_open(osm_vendor_t *p_vend,
				 osm_snoop_bind_info_t *info, void **state);

#endif /* OSMSNOOP_SOURCE_H */
