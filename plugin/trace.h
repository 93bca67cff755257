/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * The middle of the plugin: captures and events in, records out to the sinks.
 * The bind's delivery thread and a clock thread of its own work on it, one at
 * a time; OpenSM's threads only put events into a ring.
 */
#ifndef OSMSNOOP_TRACE_H
#define OSMSNOOP_TRACE_H

#include <opensm/osm_config.h>
#include <opensm/osm_opensm.h>
#include <vendor/osm_vendor_snoop.h>

#include "options.h"

struct trace;

/* NULL: no memory. `options` and `osm` are to outlive it. */
struct trace *trace_new(osm_opensm_t *osm, const struct options *options,
			osm_mad_pool_t *p_mad_pool);
void trace_free(struct trace *t);

/*
 * Bind, start the clock, write the start record. NULL, or the reason why it
 * cannot be done.
 */
const char *trace_start(struct trace *t);

/*
 * The end: unbind, report what is outstanding, write the stop record. Takes
 * less than a second, whatever is in the ring; what there was no time for is
 * counted in a loss record.
 */
void trace_stop(struct trace *t);

/* OpenSM reports an event, on a thread of its own. */
void trace_report(struct trace *t, osm_epi_event_id_t id, const void *data);

#endif /* OSMSNOOP_TRACE_H */
