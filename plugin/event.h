/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Events of OpenSM's, from its threads to ours. report() is called on
 * OpenSM's threads, some with its lock held, so an event goes through a ring
 * like a capture does.
 */
#ifndef OSMSNOOP_EVENT_H
#define OSMSNOOP_EVENT_H

#include <stdbool.h>
#include <stdint.h>

#include <opensm/osm_config.h>
#include <opensm/osm_event_plugin.h>

struct event {
	uint64_t mono_ns;
	uint64_t time_ns;
	osm_epi_event_id_t id;
	uint8_t sm_state;
	ib_mad_notice_attr_t notice;	/* of OSM_EVENT_ID_TRAP */
};

struct events;

struct events *events_new(void);	/* NULL: no memory */
void events_free(struct events *e);

/* Any thread, never waits. `data` is what OpenSM hands to report(). */
void events_put(struct events *e, osm_epi_event_id_t id, const void *data,
		uint8_t sm_state);

/*
 * The next event from before `until_mono_ns`; false when there is none. One
 * thread at a time.
 */
bool events_get(struct events *e, uint64_t until_mono_ns, struct event *event);

uint64_t events_lost(const struct events *e);

#endif /* OSMSNOOP_EVENT_H */
