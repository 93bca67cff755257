/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * The sink log: lines in the OpenSM log, few enough that the log stays one.
 */
#include <inttypes.h>
#include <stdlib.h>

#include "error.h"
#include "sink.h"

enum {
	LINES_A_SECOND = 10,
	SECOND_NS = 1000000000,
	PLACES = 1024,		/* a power of two */
	PROBES = 16,
};

/* Whose lines are counted together. */
struct kind {
	uint16_t lid;
	enum record_type type;
	const char *alert;	/* its name, which is a literal; NULL = none */
	bool audit;		/* queries must not push out changes */
};

/* The lines of one requester and kind in one second. */
struct place {
	bool used;
	struct kind kind;
	uint64_t since_ns;
	uint32_t lines;
	uint64_t held;
};

struct sink_log {
	osm_log_t *p_log;
	bool all;
	/* of the last flush: good enough, and the same for all places */
	uint64_t now_ns;
	struct place places[PLACES];
	uint64_t crowded;	/* lines for which there was no place */
	uint64_t crowded_ns;	/* when they were last told */
};

static void say_held(struct sink_log *s, struct place *p)
{
	const struct kind *k = &p->kind;

	if (p->held)
		osm_log_v2(s->p_log, k->audit ? OSM_LOG_INFO : OSM_LOG_VERBOSE,
			   OSMSNOOP_FILE_ID,
			   "SNOOP: %" PRIu64 " more lines (%s) of LID %u were held back\n",
			   p->held, k->alert ? k->alert :
			   record_type_name(k->type), k->lid);
	p->held = 0;
}

static void say_crowded(struct sink_log *s)
{
	if (s->crowded)
		osm_log_v2(s->p_log, OSM_LOG_INFO, OSMSNOOP_FILE_ID,
			   "SNOOP: %" PRIu64 " more lines of many LIDs were held back\n",
			   s->crowded);
	s->crowded = 0;
}

static bool is_over(const struct sink_log *s, const struct place *p)
{
	return s->now_ns - p->since_ns >= SECOND_NS;
}

static bool is_same(const struct kind *a, const struct kind *b)
{
	return a->lid == b->lid && a->type == b->type &&
	       a->audit == b->audit && a->alert == b->alert;
}

static uint32_t hash_of(const struct kind *k)
{
	const uint32_t alert = (uint32_t)((uintptr_t)k->alert >> 3);

	return ((k->lid * 32u + (uint32_t)k->type * 2u + k->audit) ^ alert) *
	       2654435761u;
}

/*
 * The place of this requester and kind, or one that is free. NULL when others
 * have all those near: a place is nobody else's before its second is over, or
 * two who share it would begin a new second with each line.
 */
static struct place *find_place(struct sink_log *s, const struct kind *kind)
{
	const uint32_t hash = hash_of(kind);
	struct place *p, *found = NULL;
	uint32_t i;

	for (i = 0; i < PROBES; i++) {
		p = &s->places[((hash >> 22) + i) & (PLACES - 1)];
		if (p->used && is_same(&p->kind, kind))
			return p;
		if (!found && (!p->used || is_over(s, p)))
			found = p;
	}
	return found;
}

/* May one more line of this requester and kind be written now? */
static bool allowed(struct sink_log *s, const struct kind *kind)
{
	struct place *p = find_place(s, kind);

	if (!p) {
		s->crowded++;
		return false;
	}
	if (!p->used || !is_same(&p->kind, kind) || is_over(s, p)) {
		say_held(s, p);
		*p = (struct place){ .used = true, .kind = *kind,
				     .since_ns = s->now_ns };
	}
	if (p->lines < LINES_A_SECOND) {
		p->lines++;
		return true;
	}
	p->held++;
	return false;
}

static bool log_open(const struct options *options, osm_log_t *p_log,
		     void **state)
{
	struct sink_log *s;

	if (options->log == LOG_NONE)
		return true;
	s = calloc(1, sizeof(*s));
	if (!s)
		return false;
	s->p_log = p_log;
	s->all = options->log == LOG_ALL;
	if (s->all && !osm_log_is_active_v2(p_log, OSM_LOG_VERBOSE,
					    OSMSNOOP_FILE_ID))
		osm_log_v2(p_log, OSM_LOG_INFO, OSMSNOOP_FILE_ID,
			   "SNOOP: log=all writes transactions at level VERBOSE (0x04), which log_flags leaves out\n");
	*state = s;
	return true;
}

static void log_put(void *state, struct sink_record *record)
{
	const struct record *r = record->record;
	osm_log_level_t level = OSM_LOG_INFO;
	struct sink_log *s = state;
	char line[RECORD_LINE_MAX];
	struct kind kind = {
		.lid = record_lid(r),
		.type = r->type,
		.alert = r->type == RECORD_ALERT ? r->alert.alert : NULL,
	};

	if (!record_is_audit(r)) {
		if (!s->all)
			return;
		level = OSM_LOG_VERBOSE;
	}
	kind.audit = level == OSM_LOG_INFO;
	if (!osm_log_is_active_v2(s->p_log, level, OSMSNOOP_FILE_ID) ||
	    !allowed(s, &kind))
		return;
	record_line(r, line, sizeof(line));
	osm_log_v2(s->p_log, level, OSMSNOOP_FILE_ID, "SNOOP: %s\n", line);
}

static void log_flush(void *state, const struct sink_moment *moment)
{
	struct sink_log *s = state;
	size_t i;

	s->now_ns = moment->mono_ns;
	for (i = 0; i < PLACES; i++)
		if (s->places[i].held && is_over(s, &s->places[i]))
			say_held(s, &s->places[i]);
	if (s->now_ns - s->crowded_ns < SECOND_NS)
		return;
	s->crowded_ns = s->now_ns;
	say_crowded(s);
}

static void log_close(void *state, uint64_t deadline_ns)
{
	struct sink_log *s = state;
	size_t i;

	(void)deadline_ns;
	for (i = 0; i < PLACES; i++)
		say_held(s, &s->places[i]);
	say_crowded(s);
	free(s);
}

const struct sink sink_log = {
	.open = log_open,
	.put = log_put,
	.flush = log_flush,
	.close = log_close,
};
