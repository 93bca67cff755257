/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * The sink log: lines in the OpenSM log, few enough that the log stays one.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "error.h"
#include "sink.h"

enum {
	LINES_A_SECOND = 10,
	SECOND_NS = 1000000000,
	PLACES = 1024,		/* a power of two */
	WHO_MAX = 96,
};

/*
 * The lines of one requester and kind in one second. A place may be taken over
 * by another; what it held back is said then.
 */
struct place {
	bool used;
	uint16_t lid;
	enum record_type type;
	uint64_t since_ns;
	uint32_t lines;
	uint64_t held;
};

struct sink_log {
	osm_log_t *p_log;
	bool all;
	uint64_t now_ns;
	struct place places[PLACES];
};

static void say_held(struct sink_log *s, struct place *p)
{
	if (p->held)
		osm_log_v2(s->p_log, OSM_LOG_INFO, OSMSNOOP_FILE_ID,
			   "SNOOP: %" PRIu64 " more lines (%s) of LID %u were held back\n",
			   p->held, record_type_name(p->type), p->lid);
	p->held = 0;
}

/* May one more line of this requester and kind be written now? */
static bool allowed(struct sink_log *s, uint16_t lid, enum record_type type,
		    uint64_t now_ns)
{
	uint32_t hash = (lid * 16u + (uint32_t)type) * 2654435761u;
	struct place *p = &s->places[hash >> 22 & (PLACES - 1)];

	if (!p->used || p->lid != lid || p->type != type ||
	    now_ns - p->since_ns >= SECOND_NS) {
		say_held(s, p);
		*p = (struct place){ .used = true, .lid = lid, .type = type,
				     .since_ns = now_ns };
	}
	if (p->lines < LINES_A_SECOND) {
		p->lines++;
		return true;
	}
	p->held++;
	return false;
}

static uint16_t lid_of(const struct record *r)
{
	switch (r->type) {
	case RECORD_SA:
		return r->sa.requester.addr.lid;
	case RECORD_MAD:
	case RECORD_SEND_ERROR:
		return r->mad.peer.addr.lid;
	case RECORD_TRAP:
		return r->trap.from.addr.lid;
	case RECORD_ALERT:
		return r->alert.who ? r->alert.who->addr.lid : 0;
	default:
		return 0;
	}
}

static bool log_open(const struct options *options, osm_log_t *p_log,
		     void **state)
{
	struct sink_log *s;

	*state = NULL;
	if (options->log == LOG_NONE)
		return true;
	s = calloc(1, sizeof(*s));
	if (!s)
		return false;
	s->p_log = p_log;
	s->all = options->log == LOG_ALL;
	*state = s;
	return true;
}

static void log_put(void *state, const struct sink_record *record)
{
	const struct record *r = record->record;
	osm_log_level_t level = OSM_LOG_INFO;
	struct sink_log *s = state;
	char line[RECORD_LINE_MAX];

	if (!record_is_audit(r)) {
		if (!s->all)
			return;
		level = OSM_LOG_VERBOSE;
	}
	if (!osm_log_is_active_v2(s->p_log, level, OSMSNOOP_FILE_ID) ||
	    !allowed(s, lid_of(r), r->type, s->now_ns))
		return;
	record_line(r, line, sizeof(line));
	osm_log_v2(s->p_log, level, OSMSNOOP_FILE_ID, "SNOOP: %s\n", line);
}

static void log_flush(void *state, uint64_t mono_ns)
{
	struct sink_log *s = state;
	size_t i;

	s->now_ns = mono_ns;
	for (i = 0; i < PLACES; i++)
		if (s->places[i].held &&
		    mono_ns - s->places[i].since_ns >= SECOND_NS)
			say_held(s, &s->places[i]);
}

static void log_close(void *state)
{
	struct sink_log *s = state;
	size_t i;

	for (i = 0; i < PLACES; i++)
		say_held(s, &s->places[i]);
	free(s);
}

const struct sink sink_log = {
	.name = "log",
	.open = log_open,
	.put = log_put,
	.flush = log_flush,
	.close = log_close,
};
