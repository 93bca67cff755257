/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
#include <stdlib.h>

#include "watch.h"

static const struct watcher *const table[] = {
	&watch_storm,
	&watch_unanswered,
	&watch_slow,
	&watch_duplicates,
	&watch_smkey,
	&watch_stranger,
	&watch_loss,
	&watch_sm,
	&watch_violations,
	&watch_traps,
	&watch_smp,
	&watch_join,
	&watch_multicast,
	&watch_services,
};

enum { WATCHERS = sizeof(table) / sizeof(table[0]) };

#define SECOND_NS UINT64_C(1000000000)

struct watch {
	struct watch_host host;
	uint64_t ticked_ns;
	void *state[WATCHERS];
};

struct watch *watch_new(const struct watch_host *host)
{
	struct watch *w = calloc(1, sizeof(*w));
	size_t i;

	if (!w)
		return NULL;
	w->host = *host;
	for (i = 0; i < WATCHERS; i++)
		if (!table[i]->open(&w->host, &w->state[i])) {
			watch_free(w);
			return NULL;
		}
	return w;
}

void watch_free(struct watch *w)
{
	size_t i;

	if (!w)
		return;
	for (i = 0; i < WATCHERS; i++)
		if (w->state[i])
			table[i]->close(w->state[i]);
	free(w);
}

void watch_request(struct watch *w, const struct mad_capture *cap)
{
	size_t i;

	for (i = 0; i < WATCHERS; i++)
		if (w->state[i] && table[i]->request)
			table[i]->request(w->state[i], cap);
}

void watch_record(struct watch *w, const struct record *r, uint64_t mono_ns)
{
	size_t i;

	if (r->type == RECORD_ALERT)
		return;
	for (i = 0; i < WATCHERS; i++)
		if (w->state[i] && table[i]->record)
			table[i]->record(w->state[i], r, mono_ns);
}

void watch_tick(struct watch *w, uint64_t mono_ns)
{
	size_t i;

	if (mono_ns < w->ticked_ns + SECOND_NS)
		return;
	w->ticked_ns = mono_ns;
	for (i = 0; i < WATCHERS; i++)
		if (w->state[i] && table[i]->tick)
			table[i]->tick(w->state[i], mono_ns);
}

void watch_flush(struct watch *w, uint64_t mono_ns)
{
	size_t i;

	for (i = 0; i < WATCHERS; i++)
		if (w->state[i] && table[i]->flush)
			table[i]->flush(w->state[i], mono_ns);
}
