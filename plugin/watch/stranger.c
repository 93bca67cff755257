/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * The alert set_by_stranger: a Set or Delete names the GID of a port that is not
 * the requester's: who joins, leaves or registers in another's name.
 *
 * Only what is sure is said: the requester's port is known, and the lower half
 * of the GID is the GUID of another port that the subnet has. It may be an alias
 * of the requester's else. Where the requester used a GRH, the GID there is its
 * own as well. Begins with the first of a requester and a GID, and ends 60
 * seconds after the last.
 *
 * 1024 can go on at a time (200 kB); more do not begin.
 */
#include <arpa/inet.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "alert.h"
#include "attributes.h"
#include "table.h"
#include "words.h"

enum { ALERTS = 1024, ALERTS_EACH = 16, GID_SIZE = 16 };

#define QUIET_NS UINT64_C(60000000000)

/* Whose GID a request is about, by its component's name. */
static const struct {
	uint16_t attr_id;
	const char *component;
} owned[] = {
	{ ATTR_MCMEMBER_RECORD, "port_gid" },
	{ ATTR_SERVICE_RECORD, "service_gid" },
	{ ATTR_INFORM_INFO_RECORD, "subscriber_gid" },
};

struct stranger {
	struct table_entry entry;	/* by both port GUIDs */
	struct episode episode;
	uint16_t lid;		/* what follows is of the last request */
	uint32_t qpn;
	uint8_t gid[GID_SIZE];
	uint8_t method;
	uint16_t attr_id;
	const char *became;	/* of it, in words */
	char status[WORD_MAX];
};

struct strangers {
	const struct watch_host *host;
	struct table *table;
	uint64_t mono_ns;	/* of the tick or flush that goes on */
};

static bool stranger_open(const struct watch_host *host, void **state)
{
	struct strangers *s;

	if (!host->find)
		return true;
	s = calloc(1, sizeof(*s));
	if (!s)
		return false;
	s->host = host;
	s->table = table_new(ALERTS, sizeof(struct stranger), NULL, NULL);
	if (!s->table) {
		free(s);
		return false;
	}
	*state = s;
	return true;
}

static void stranger_close(void *state)
{
	struct strangers *s = state;

	table_free(s->table);
	free(s);
}

static void add_evidence(struct alert *a, const struct stranger *t,
			 char words[2][WORD_MAX])
{
	alert_string(a, "method", word_method(words[0], t->method));
	alert_string(a, "attribute", word_attribute(words[1], t->attr_id));
	alert_string(a, "status", t->status);
}

static void say(const struct strangers *s, struct stranger *t,
		enum alert_phase phase, uint64_t mono_ns)
{
	char name[ALERT_WHO_MAX], owner_name[ALERT_WHO_MAX];
	char gid[INET6_ADDRSTRLEN], words[2][WORD_MAX];
	struct requester who, owner = { 0 };
	struct alert a;

	inet_ntop(AF_INET6, t->gid, gid, sizeof(gid));
	/* a name is valid until the next one is asked for */
	if (s->host->find(&owner, t->entry.key.word[1], s->host->context))
		alert_who(owner_name, &owner);
	else
		snprintf(owner_name, sizeof(owner_name), "a port that is gone");
	who_at(&who, s->host, t->lid, t->qpn);
	alert_init(&a, s->host, "set_by_stranger", "warning");
	alert_about(&a, &who);
	alert_subject(&a, "LID %u", t->lid);
	add_evidence(&a, t, words);
	alert_text(&a, "%s sent %" PRIu64 " %s in the name of %s, GID %s, the last one %s %s (%s, %s); ask who runs software there that acts for other ports, and look what that port is in now (saquery -g, saquery -S)",
		   alert_who(name, &who), t->episode.count,
		   t->episode.count == 1 ? "change" : "changes", owner_name,
		   gid, a.evidence[0].text, a.evidence[1].text, t->status,
		   t->became);
	alert_string(&a, "gid", gid);
	alert_string(&a, "owner", owner_name);
	alert_number(&a, "owner_lid", owner.addr.lid);
	alert_say(&a, phase, &t->episode, mono_ns);
}

static void end(struct strangers *s, struct stranger *t, uint64_t mono_ns)
{
	say(s, t, ALERT_END, mono_ns);
	table_remove(s->table, &t->entry);
}

static void pass(struct strangers *s, struct stranger *t, uint64_t mono_ns)
{
	const enum alert_phase phase = episode_pass(&t->episode, QUIET_NS,
						    mono_ns);

	if (phase == ALERT_END)
		end(s, t, mono_ns);
	else if (phase != ALERT_NONE)
		say(s, t, phase, mono_ns);
}

struct counting {
	uint64_t requester;
	unsigned n;
};

static void count_one(struct table_entry *e, void *context)
{
	struct counting *c = context;

	c->n += e->key.word[0] == c->requester;
}

/* One requester does not take it from the others. */
static bool has_room(struct strangers *s, const struct table_key *key)
{
	struct counting c = { .requester = key->word[0] };

	if (table_count(s->table) == ALERTS)
		return false;
	table_each(s->table, count_one, &c);
	return c.n < ALERTS_EACH;
}

/* NULL: there is no room for another. */
static struct stranger *get(struct strangers *s, const struct table_key *key,
			    uint64_t mono_ns)
{
	struct table_entry *e = table_find(s->table, key);

	/* if another one begins, the tick would not see this end */
	if (e)
		pass(s, (struct stranger *)e, mono_ns);
	e = table_find(s->table, key);
	if (!e && has_room(s, key))
		e = table_get(s->table, key);
	return (struct stranger *)e;
}

static const struct sa_field *find_field(uint16_t attr_id)
{
	const struct sa_attribute *attr = sa_attribute_find(attr_id);
	size_t i, k;

	for (i = 0; attr && i < sizeof(owned) / sizeof(owned[0]); i++) {
		if (owned[i].attr_id != attr_id)
			continue;
		for (k = 0; k < attr->n_fields; k++)
			if (!strcmp(attr->fields[k].name, owned[i].component))
				return &attr->fields[k];
	}
	return NULL;
}

/* The GID that the request is about; NULL when it names none. */
static const uint8_t *find_gid(const struct sa_record *sa)
{
	const struct sa_field *f = find_field(mad_get16(sa->mad + MAD_ATTR_ID));
	uint64_t mask;

	if (!f || sa->len < SA_DATA + f->offset / 8u + GID_SIZE)
		return NULL;
	mask = mad_get64(sa->mad + SA_COMPONENT_MASK);
	return mask >> f->component & 1 ? sa->mad + SA_DATA + f->offset / 8u :
					  NULL;
}

/* Is this the GUID of a port, and of another one than who asks? */
static bool is_strange(const struct strangers *s, const struct requester *who,
		       uint64_t guid)
{
	struct requester owner = { 0 };

	if (!who->port_guid || !guid || guid == who->port_guid ||
	    (who->addr.has_gid && guid == mad_get64(who->addr.gid + 8)))
		return false;
	return s->host->find(&owner, guid, s->host->context) &&
	       owner.addr.lid != who->addr.lid;
}

static void keep(struct stranger *t, const struct sa_record *sa,
		 const uint8_t *gid)
{
	char word[WORD_MAX];

	t->lid = sa->requester.addr.lid;
	t->qpn = sa->requester.addr.qpn;
	memcpy(t->gid, gid, GID_SIZE);
	t->method = sa->mad[MAD_METHOD];
	t->attr_id = mad_get16(sa->mad + MAD_ATTR_ID);
	t->became = !sa->has_response ? "no answer" :
		    sa->status ? "OpenSM refused" : "OpenSM did so";
	snprintf(t->status, sizeof(t->status), "%s", word_status(word, sa));
}

static void stranger_record(void *state, const struct record *r,
			    uint64_t mono_ns)
{
	const struct sa_record *sa = &r->sa;
	struct strangers *s = state;
	enum alert_phase phase;
	struct table_key key;
	struct stranger *t;
	const uint8_t *gid;

	if (r->type != RECORD_SA || sa->sent ||
	    (sa->mad[MAD_METHOD] != METHOD_SET &&
	     sa->mad[MAD_METHOD] != METHOD_DELETE))
		return;
	gid = find_gid(sa);
	if (!gid || !is_strange(s, &sa->requester, mad_get64(gid + 8)))
		return;
	key = (struct table_key){ {
		sa->requester.port_guid, mad_get64(gid + 8),
	} };
	t = get(s, &key, mono_ns);
	if (!t)
		return;
	keep(t, sa, gid);
	phase = episode_add(&t->episode, r->time_ns, mono_ns);
	if (phase != ALERT_NONE)
		say(s, t, phase, mono_ns);
}

static void tick_one(struct table_entry *e, void *context)
{
	struct strangers *s = context;

	pass(s, (struct stranger *)e, s->mono_ns);
}

static void end_one(struct table_entry *e, void *context)
{
	struct strangers *s = context;

	end(s, (struct stranger *)e, s->mono_ns);
}

static void stranger_tick(void *state, uint64_t mono_ns)
{
	struct strangers *s = state;

	s->mono_ns = mono_ns;
	table_each(s->table, tick_one, s);
}

static void stranger_flush(void *state, uint64_t mono_ns)
{
	struct strangers *s = state;

	s->mono_ns = mono_ns;
	table_each(s->table, end_one, s);
}

const struct watcher watch_stranger = {
	.open = stranger_open,
	.record = stranger_record,
	.tick = stranger_tick,
	.flush = stranger_flush,
	.close = stranger_close,
};
