/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * OSM_SNOOP_REASSEMBLE for the sources that see RMPP messages as segments: what
 * such a source captured becomes a capture, or a part of one. One thread uses
 * it, but for the counters.
 */
#ifndef OSMSNOOP_REASSEMBLY_H
#define OSMSNOOP_REASSEMBLY_H

#include <stdatomic.h>
#include <stdbool.h>

#include "layout.h"
#include "rmpp.h"
#include "source.h"

struct reassembly {
	struct rmpp *rmpp;	/* NULL: segments are handed over */
	uint32_t flags;
	uint32_t snap_length;	/* of a message; 0 = all */
	bool malformed;		/* what rmpp_put() said of the last MAD */
	_Atomic uint64_t given_up, broken_off, merged, unfinished;
};

/* `r` is zero. On failure the reason is in snoop_error(). */
ib_api_status_t reassembly_init(struct reassembly *r,
				const osm_snoop_bind_info_t *info);
void reassembly_free(struct reassembly *r);

/*
 * False: `cap` is a part of a message that is not whole yet, or of RMPP alone.
 * Else `capture`, which was filled in for this MAD, is it, or the whole message.
 */
bool reassembly_put(struct reassembly *r, const struct mad_capture *cap,
		    struct source_capture *capture);

/* Time passes: what has waited too long is given up. */
void reassembly_tick(struct reassembly *r);

/* Nothing follows. */
void reassembly_end(struct reassembly *r);

void reassembly_get_stats(const struct reassembly *r, osm_snoop_stats_t *stats);

/* Does this MAD or its direction, or for messages its RMPP, matter? */
bool reassembly_wants(const struct reassembly *r, const uint8_t *mad,
		      size_t size, bool sent);

#endif /* OSMSNOOP_REASSEMBLY_H */
