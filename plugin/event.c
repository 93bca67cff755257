/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
#include <stdlib.h>
#include <string.h>

#include "clock.h"
#include "event.h"
#include "ring.h"

enum { RING_BYTES = 1024 * 1024 };

struct events {
	struct ring ring;
	_Atomic uint64_t lost;
};

struct events *events_new(void)
{
	struct events *e = aligned_alloc(RING_LINE, sizeof(*e));

	if (!e)
		return NULL;
	memset(e, 0, sizeof(*e));
	if (!ring_init(&e->ring, RING_BYTES))
		return e;
	free(e);
	return NULL;
}

void events_free(struct events *e)
{
	if (!e)
		return;
	ring_free(&e->ring);
	free(e);
}

void events_put(struct events *e, osm_epi_event_id_t id, const void *data,
		uint8_t sm_state)
{
	struct event *event = ring_reserve(&e->ring, sizeof(*event));

	if (!event) {
		atomic_fetch_add(&e->lost, 1);
		return;
	}
	event->mono_ns = clock_ns(CLOCK_MONOTONIC);
	event->time_ns = clock_ns(CLOCK_REALTIME);
	event->id = id;
	event->sm_state = sm_state;
	if (id == OSM_EVENT_ID_TRAP && data)
		memcpy(&event->notice, data, sizeof(event->notice));
	ring_commit(event, sizeof(*event));
}

bool events_get(struct events *e, uint64_t until_mono_ns, struct event *event)
{
	uint32_t len;
	struct event *next = ring_peek(&e->ring, &len);

	if (!next || next->mono_ns > until_mono_ns)
		return false;
	*event = *next;
	ring_release(&e->ring, next);
	return true;
}

uint64_t events_lost(const struct events *e)
{
	return atomic_load(&e->lost);
}
