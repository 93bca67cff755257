/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
#include "clock.h"
#include "error.h"
#include "reassembly.h"

/*
 * A message that will not come: because we did not get it or had no room for
 * it, or because those who exchanged it ended it.
 */
static void on_gone(const struct rmpp_gone *gone, void *context)
{
	struct reassembly *r = context;

	switch (gone->reason) {
	case RMPP_MALFORMED:	/* a MAD, that is handed over as it is */
		r->malformed = true;
		break;
	case RMPP_MISSED:
	case RMPP_TOO_LONG:
	case RMPP_NO_ROOM:
	case RMPP_TABLE_FULL:
	case RMPP_CONFLICT:
	case RMPP_CUT:
		atomic_fetch_add(&r->given_up, 1);
		break;
	default:
		atomic_fetch_add(&r->broken_off, 1);
		break;
	}
}

ib_api_status_t reassembly_init(struct reassembly *r,
				const osm_snoop_bind_info_t *info)
{
	const struct rmpp_options options = {
		.max_message = info->message_max,
		.max_total = info->messages_max,
		.gone = on_gone,
		.context = r,
	};

	r->flags = info->flags;
	if (!(info->flags & OSM_SNOOP_REASSEMBLE))
		return IB_SUCCESS;
	r->snap_length = info->snap_length;
	r->rmpp = rmpp_new(&options);
	if (r->rmpp)
		return IB_SUCCESS;
	snoop_error("no memory to put messages together");
	return IB_INSUFFICIENT_MEMORY;
}

void reassembly_free(struct reassembly *r)
{
	rmpp_free(r->rmpp);
}

static bool is_direction_wanted(const struct reassembly *r, bool sent)
{
	return r->flags & (sent ? OSM_SNOOP_SENDS : OSM_SNOOP_RECEIVES);
}

/* Who puts messages together has use for the ACKs that come the other way. */
bool reassembly_wants(const struct reassembly *r, const uint8_t *mad,
		      size_t size, bool sent)
{
	return is_direction_wanted(r, sent) ||
	       (r->rmpp && rmpp_is_control(mad, size));
}

static void count_unfinished(struct reassembly *r)
{
	struct rmpp_stats stats;

	rmpp_get_stats(r->rmpp, &stats);
	atomic_store(&r->unfinished, stats.active);
}

bool reassembly_put(struct reassembly *r, const struct mad_capture *cap,
		    struct source_capture *capture)
{
	osm_snoop_info_t *info = &capture->info;
	struct mad_capture whole;
	enum rmpp_result result;
	uint32_t segments;

	if (!r->rmpp || mad_is_dropped(cap->data, cap->sent))
		return true;
	r->malformed = false;
	result = rmpp_put(r->rmpp, cap, &whole, &segments);
	count_unfinished(r);
	switch (result) {
	case RMPP_PART:
		/* what ends a message, or is refused, is news by itself */
		if (is_direction_wanted(r, cap->sent) &&
		    (r->malformed || cap->data[RMPP_TYPE] == RMPP_STOP ||
		     cap->data[RMPP_TYPE] == RMPP_ABORT))
			break;
		atomic_fetch_add(&r->merged, 1);
		return false;
	case RMPP_WHOLE:
		info->time_ns = whole.time_ns;
		info->monotonic_ns = whole.mono_ns;
		info->original_size = (uint32_t)whole.size;
		info->segments = segments;
		info->reassembled = TRUE;
		capture->mad = whole.data;
		capture->size = (uint32_t)whole.len;
		break;
	case RMPP_NONE:
		break;
	}
	if (r->snap_length && capture->size > r->snap_length)
		capture->size = r->snap_length;
	return true;
}

void reassembly_tick(struct reassembly *r)
{
	if (!r->rmpp)
		return;
	rmpp_tick(r->rmpp, clock_ns(CLOCK_MONOTONIC));
	count_unfinished(r);
}

void reassembly_end(struct reassembly *r)
{
	if (r->rmpp)
		rmpp_flush(r->rmpp);
	atomic_store(&r->unfinished, 0);
}

void reassembly_get_stats(const struct reassembly *r, osm_snoop_stats_t *stats)
{
	stats->given_up = atomic_load(&r->given_up);
	stats->broken_off = atomic_load(&r->broken_off);
	stats->merged = atomic_load(&r->merged);
	stats->unfinished = atomic_load(&r->unfinished);
}
