/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * The alert sm_key_mismatch: OpenSM dropped a request for its wrong SM_Key.
 * Begins with the first of a requester's LID, and ends 60 seconds after the
 * last. The key itself is never said.
 *
 * 1024 can go on at a time (180 kB); more do not begin.
 */
#include <inttypes.h>
#include <stdlib.h>

#include "alert.h"
#include "table.h"
#include "words.h"

enum { ALERTS = 1024 };

#define QUIET_NS UINT64_C(60000000000)

struct mismatch {
	struct table_entry entry;	/* by LID */
	struct episode episode;
	uint64_t copies;	/* with retries */
	uint32_t qpn;		/* the rest is of the last one */
	uint16_t attr_id;
	uint8_t method;
};

struct smkey {
	const struct watch_host *host;
	struct table *table;
	uint64_t mono_ns;	/* of the tick or flush that goes on */
};

static bool smkey_open(const struct watch_host *host, void **state)
{
	struct smkey *s = calloc(1, sizeof(*s));

	if (!s)
		return false;
	s->host = host;
	s->table = table_new(ALERTS, sizeof(struct mismatch), NULL, NULL);
	if (!s->table) {
		free(s);
		return false;
	}
	*state = s;
	return true;
}

static void smkey_close(void *state)
{
	struct smkey *s = state;

	table_free(s->table);
	free(s);
}

static void say(const struct smkey *s, struct mismatch *m,
		enum alert_phase phase, uint64_t mono_ns)
{
	const uint16_t lid = (uint16_t)m->entry.key.word[0];
	char name[ALERT_WHO_MAX], words[2][WORD_MAX];
	const char *attribute = word_attribute(words[0], m->attr_id);
	const char *method = word_method(words[1], m->method);
	struct requester who;
	struct alert a;

	who_at(&who, s->host, lid, m->qpn);
	alert_init(&a, s->host, "sm_key_mismatch", "critical");
	alert_about(&a, &who);
	alert_subject(&a, "LID %u", lid);
	alert_text(&a, "%s used a wrong SM_Key, OpenSM dropped %" PRIu64
		   " of its SA requests, the last one %s %s; either its configuration is not this fabric's (sa_key in opensm.conf, saquery --smkey), or somebody there tries keys: find out which process it is",
		   alert_who(name, &who), m->episode.count, method, attribute);
	alert_string(&a, "method", method);
	alert_string(&a, "attribute", attribute);
	alert_number(&a, "copies", m->copies);
	alert_say(&a, phase, &m->episode, mono_ns);
}

static void end(struct smkey *s, struct mismatch *m, uint64_t mono_ns)
{
	say(s, m, ALERT_END, mono_ns);
	table_remove(s->table, &m->entry);
}

static void pass(struct smkey *s, struct mismatch *m, uint64_t mono_ns)
{
	const enum alert_phase phase = episode_pass(&m->episode, QUIET_NS,
						    mono_ns);

	if (phase == ALERT_END)
		end(s, m, mono_ns);
	else if (phase != ALERT_NONE)
		say(s, m, phase, mono_ns);
}

/* NULL: there is no room for another. */
static struct mismatch *get(struct smkey *s, uint16_t lid, uint64_t mono_ns)
{
	const struct table_key key = { { lid } };
	struct table_entry *e = table_find(s->table, &key);

	/* if another one begins, the tick would not see this end */
	if (e)
		pass(s, (struct mismatch *)e, mono_ns);
	e = table_find(s->table, &key);
	if (!e && table_count(s->table) < ALERTS)
		e = table_get(s->table, &key);
	return (struct mismatch *)e;
}

static void smkey_record(void *state, const struct record *r, uint64_t mono_ns)
{
	const struct sa_record *sa = &r->sa;
	struct smkey *s = state;
	enum alert_phase phase;
	struct mismatch *m;

	if (r->type != RECORD_SA || sa->sent || sa->outcome == SA_ANSWERED ||
	    sa->reason != SA_REASON_SM_KEY)
		return;
	m = get(s, sa->requester.addr.lid, mono_ns);
	if (!m)
		return;
	m->copies += 1 + sa->retries;
	m->qpn = sa->requester.addr.qpn;
	m->method = sa->mad[MAD_METHOD];
	m->attr_id = mad_get16(sa->mad + MAD_ATTR_ID);
	phase = episode_add(&m->episode, r->time_ns, mono_ns);
	if (phase != ALERT_NONE)
		say(s, m, phase, mono_ns);
}

static void tick_one(struct table_entry *e, void *context)
{
	struct smkey *s = context;

	pass(s, (struct mismatch *)e, s->mono_ns);
}

static void end_one(struct table_entry *e, void *context)
{
	struct smkey *s = context;

	end(s, (struct mismatch *)e, s->mono_ns);
}

static void smkey_tick(void *state, uint64_t mono_ns)
{
	struct smkey *s = state;

	s->mono_ns = mono_ns;
	table_each(s->table, tick_one, s);
}

static void smkey_flush(void *state, uint64_t mono_ns)
{
	struct smkey *s = state;

	s->mono_ns = mono_ns;
	table_each(s->table, end_one, s);
}

const struct watcher watch_smkey = {
	.open = smkey_open,
	.record = smkey_record,
	.tick = smkey_tick,
	.flush = smkey_flush,
	.close = smkey_close,
};
