/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * The alert multicast_leak: one port is in more than N multicast groups that
 * it joined, or more than P percent of the fabric's multicast LIDs are in use
 * (the option `groups`, N/P). Both end at 90 percent of their limit.
 *
 * The ledger has who joined what and has not left, by answered Sets and
 * Deletes. A port that goes (trap 65) loses its memberships, as in OpenSM;
 * when this OpenSM is no longer the master, all do. What was joined before the
 * plugin started is not in it, and who was no full member of a group whose
 * last full member left is still counted.
 *
 * A membership is known by a keyed hash of port GUID and MGID, so that it
 * takes 24 bytes. 229,376 of them, 49,152 ports, their buckets and 512
 * episodes are 7.8 MiB, which are memory only where they are used. What finds
 * no room is counted.
 */
#include <arpa/inet.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "alert.h"
#include "field.h"
#include "json.h"
#include "member.h"
#include "siphash.h"
#include "table.h"

enum {
	PORTS = 49152,
	PORT_BUCKETS = 65536,
	MEMBERS = 229376,
	MEMBER_BUCKETS = 262144,
	EPISODES = 512,
	BUSIEST = 10,
	BUSIEST_TEXT_MAX = 1024,
};

/* Entries are numbers from 1; 0 is none. */
struct port {
	uint64_t guid;
	uint32_t chain;		/* in its bucket, or of free ones */
	uint32_t first;		/* of its memberships */
	uint32_t count;
	uint32_t over;		/* an alert goes on */
};

struct membership {
	uint64_t id;
	uint32_t chain;		/* as above */
	uint32_t next, prev;	/* of its port */
	uint32_t states;	/* JoinState; 0 = unused */
};

_Static_assert(sizeof(struct port) == 24 && sizeof(struct membership) == 24,
	       "as said above");

struct ledger {
	uint32_t port_buckets[PORT_BUCKETS];
	uint32_t member_buckets[MEMBER_BUCKETS];
	struct port ports[PORTS + 1];
	struct membership members[MEMBERS + 1];
	uint32_t ports_used, members_used;	/* ever */
	uint32_t ports_free, members_free;	/* the first free one */
};

/* A port over the limit. */
struct over {
	struct table_entry entry;
	struct episode episode;
	uint32_t port;
	uint8_t mgid[16];	/* the last one */
};

_Static_assert(sizeof(struct ledger) + EPISODES * (sizeof(struct over) + 8) <=
	       8u << 20, "as said above");

struct multicast {
	const struct watch_host *host;
	struct ledger *l;
	struct table *over;
	uint64_t seed[2];
	uint64_t since_ns;	/* of the ledger; 0 = nothing came yet */
	uint64_t time_ns;	/* of the last record */
	uint64_t mono_ns;	/* now */
	uint64_t overflow;	/* joins that found no room */
	struct episode mlids;	/* too many are in use */
	uint32_t mlids_had;	/* the most of this episode */
	uint8_t mgid[16];	/* joined last */
};

/*
 * The ledger
 */

static uint64_t hash(const struct multicast *s, uint64_t a, uint64_t b,
		     uint64_t c)
{
	const uint64_t words[] = { a, b, c };

	return siphash_words(s->seed, words, 3);
}

static uint32_t *port_bucket(struct multicast *s, uint64_t guid)
{
	return &s->l->port_buckets[hash(s, guid, 0, 0) % PORT_BUCKETS];
}

static uint32_t *member_bucket(struct multicast *s, uint64_t id)
{
	return &s->l->member_buckets[id % MEMBER_BUCKETS];
}

static uint32_t find_port(struct multicast *s, uint64_t guid)
{
	uint32_t i = *port_bucket(s, guid);

	while (i && s->l->ports[i].guid != guid)
		i = s->l->ports[i].chain;
	return i;
}

static uint32_t find_member(struct multicast *s, uint64_t id)
{
	uint32_t i = *member_bucket(s, id);

	while (i && s->l->members[i].id != id)
		i = s->l->members[i].chain;
	return i;
}

/* 0: there is no room. */
static uint32_t add_port(struct multicast *s, uint64_t guid)
{
	uint32_t *bucket = port_bucket(s, guid), i = s->l->ports_free;

	if (i)
		s->l->ports_free = s->l->ports[i].chain;
	else if (s->l->ports_used < PORTS)
		i = ++s->l->ports_used;
	else
		return 0;
	s->l->ports[i] = (struct port){ .guid = guid, .chain = *bucket };
	*bucket = i;
	return i;
}

static uint32_t add_member(struct multicast *s, uint64_t id, uint32_t port)
{
	uint32_t *bucket = member_bucket(s, id), i = s->l->members_free;
	struct port *p = &s->l->ports[port];

	if (i)
		s->l->members_free = s->l->members[i].chain;
	else if (s->l->members_used < MEMBERS)
		i = ++s->l->members_used;
	else
		return 0;
	s->l->members[i] = (struct membership){
		.id = id, .chain = *bucket, .next = p->first,
	};
	*bucket = i;
	if (p->first)
		s->l->members[p->first].prev = i;
	p->first = i;
	p->count++;
	return i;
}

static void drop_port(struct multicast *s, uint32_t port)
{
	struct port *p = &s->l->ports[port];
	uint32_t *at = port_bucket(s, p->guid);

	while (*at != port)
		at = &s->l->ports[*at].chain;
	*at = p->chain;
	*p = (struct port){ .chain = s->l->ports_free };
	s->l->ports_free = port;
}

static void drop_member(struct multicast *s, uint32_t member, uint32_t port)
{
	struct membership *m = &s->l->members[member];
	struct port *p = &s->l->ports[port];
	uint32_t *at = member_bucket(s, m->id);

	while (*at != member)
		at = &s->l->members[*at].chain;
	*at = m->chain;
	if (m->next)
		s->l->members[m->next].prev = m->prev;
	if (m->prev)
		s->l->members[m->prev].next = m->next;
	else
		p->first = m->next;
	p->count--;
	*m = (struct membership){ .chain = s->l->members_free };
	s->l->members_free = member;
}

/*
 * Alerts
 */

static void add_ledger(struct multicast *s, struct alert *a, char since[32])
{
	struct json j;

	jw_init(&j, since, 32);
	jw_time(&j, NULL, s->since_ns);
	since[j.len - 1] = '\0';
	alert_string(a, "since", since + 1);
	alert_number(a, "overflow", s->overflow);
}

static void find_who(struct multicast *s, struct requester *who, uint64_t guid)
{
	*who = (struct requester){ 0 };
	if (!s->host->find || !s->host->find(who, guid, s->host->context))
		who->port_guid = guid;
}

static void say_port(struct multicast *s, struct over *o,
		     enum alert_phase phase)
{
	const struct port *p = &s->l->ports[o->port];
	char text[ALERT_WHO_MAX], mgid[INET6_ADDRSTRLEN], since[32];
	struct requester who;
	struct alert a;

	find_who(s, &who, p->guid);
	alert_init(&a, s->host, "multicast_leak", "warning");
	alert_about(&a, &who);
	alert_subject(&a, "port 0x%016" PRIx64, p->guid);
	inet_ntop(AF_INET6, o->mgid, mgid, sizeof(mgid));
	alert_text(&a, "%s is in %" PRIu32 " multicast groups that it joined (limit %" PRIu32
		   "), %s last; look which program on it joins and does not leave",
		   alert_who(text, &who), p->count,
		   s->host->options->groups_port, mgid);
	alert_number(&a, "groups", p->count);
	alert_number(&a, "limit_groups", s->host->options->groups_port);
	alert_string(&a, "mgid", mgid);
	add_ledger(s, &a, since);
	alert_say(&a, phase, &o->episode, s->mono_ns);
}

/* The numbers of the ports with most groups, in order; 0 behind the last. */
static void find_busiest(const struct ledger *l, uint32_t busiest[BUSIEST])
{
	uint32_t i, n;

	memset(busiest, 0, BUSIEST * sizeof(*busiest));
	for (i = 1; i <= l->ports_used; i++) {
		for (n = BUSIEST; n && l->ports[i].count >
					l->ports[busiest[n - 1]].count; n--)
			if (n < BUSIEST)
				busiest[n] = busiest[n - 1];
		if (n < BUSIEST)
			busiest[n] = i;
	}
}

/* "node7: 12, 0x0000000000000800: 3" */
static void list_busiest(struct multicast *s, char text[BUSIEST_TEXT_MAX])
{
	uint32_t busiest[BUSIEST], i;
	struct requester who;
	const struct port *p;
	struct words w;

	words_init(&w, text, BUSIEST_TEXT_MAX);
	find_busiest(s->l, busiest);
	for (i = 0; i < BUSIEST && busiest[i]; i++) {
		p = &s->l->ports[busiest[i]];
		find_who(s, &who, p->guid);
		if (i)
			words_add(&w, ", ");
		if (who.name)
			words_text(&w, who.name, strlen(who.name), false);
		else
			words_add(&w, "0x%016" PRIx64, p->guid);
		words_add(&w, ": %" PRIu32, p->count);
	}
}

static void say_fabric(struct multicast *s, const struct watch_subnet *subnet,
		       enum alert_phase phase)
{
	char mgid[INET6_ADDRSTRLEN], busiest[BUSIEST_TEXT_MAX], since[32];
	struct alert a;

	inet_ntop(AF_INET6, s->mgid, mgid, sizeof(mgid));
	list_busiest(s, busiest);
	alert_init(&a, s->host, "multicast_leak", "warning");
	alert_subject(&a, "fabric");
	alert_text(&a, "%" PRIu32 " of the fabric's %" PRIu32
		   " multicast LIDs are in use (limit %" PRIu32
		   " %%); look at those that joined most groups: %.300s",
		   subnet->mlids, subnet->mlids_max,
		   s->host->options->groups_percent,
		   busiest[0] ? busiest : "nobody");
	alert_number(&a, "mlids", subnet->mlids);
	alert_number(&a, "mlids_max", subnet->mlids_max);
	alert_number(&a, "limit_percent", s->host->options->groups_percent);
	alert_string(&a, "joiners", busiest);
	alert_string(&a, "mgid", mgid);
	add_ledger(s, &a, since);
	alert_say(&a, phase, &s->mlids, s->mono_ns);
}

static struct table_key over_key(uint32_t port)
{
	return (struct table_key){ .word = { port } };
}

static void note_more(struct multicast *s, uint32_t port, const uint8_t *mgid)
{
	const struct table_key key = over_key(port);
	struct port *p = &s->l->ports[port];
	struct over *o;

	if (p->count <= s->host->options->groups_port ||
	    (!p->over && table_count(s->over) == EPISODES))
		return;
	p->over = 1;
	o = (struct over *)table_get(s->over, &key);
	o->port = port;
	memcpy(o->mgid, mgid, sizeof(o->mgid));
	if (episode_add(&o->episode, s->time_ns, s->mono_ns) == ALERT_BEGIN)
		say_port(s, o, ALERT_BEGIN);
}

static void note_fewer(struct multicast *s, uint32_t port)
{
	const struct table_key key = over_key(port);
	struct port *p = &s->l->ports[port];
	struct over *o;

	if (!p->over || UINT64_C(10) * p->count >
			UINT64_C(9) * s->host->options->groups_port)
		return;
	p->over = 0;
	o = (struct over *)table_find(s->over, &key);
	say_port(s, o, ALERT_END);
	table_remove(s->over, &o->entry);
}

/*
 * Records
 */

static void enter(struct multicast *s, const struct member *m)
{
	const uint8_t *rec = m->answer ? m->answer : m->rec;
	const uint64_t guid = mad_get64(m->rec + MEMBER_PORT_GUID);
	const uint64_t id = hash(s, guid, mad_get64(rec), mad_get64(rec + 8));
	uint32_t port = find_port(s, guid), member = find_member(s, id);
	bool is_new = !member;

	if (!port)
		port = add_port(s, guid);
	if (is_new && port)
		member = add_member(s, id, port);
	if (!member) {
		s->overflow++;
		if (port && !s->l->ports[port].count)
			drop_port(s, port);
		return;
	}
	s->l->members[member].states |= member_state(rec);
	memcpy(s->mgid, rec, sizeof(s->mgid));
	if (is_new)
		note_more(s, port, rec);
}

/* What is left of its join state the answer says. */
static void leave(struct multicast *s, const struct member *m)
{
	const uint64_t guid = mad_get64(m->rec + MEMBER_PORT_GUID);
	const uint64_t id = hash(s, guid, mad_get64(m->rec),
				 mad_get64(m->rec + 8));
	uint32_t port = find_port(s, guid), member = find_member(s, id);
	uint32_t states;

	if (!port || !member)
		return;
	states = m->answer ? member_state(m->answer) :
		 s->l->members[member].states & ~(uint32_t)member_state(m->rec);
	s->l->members[member].states = states;
	if (states)
		return;
	drop_member(s, member, port);
	note_fewer(s, port);
	if (!s->l->ports[port].count)
		drop_port(s, port);
}

static void leave_all(struct multicast *s, uint32_t port)
{
	while (s->l->ports[port].first)
		drop_member(s, s->l->ports[port].first, port);
	note_fewer(s, port);
	drop_port(s, port);
}

/* Another SM lets ports in from now on. */
static void forget(struct multicast *s)
{
	uint32_t i;

	for (i = 1; i <= s->l->ports_used; i++)
		if (s->l->ports[i].count)
			leave_all(s, i);
	s->since_ns = s->time_ns;
	s->overflow = 0;
}

static bool is_no_master(const struct record *r)
{
	return r->type == RECORD_STATE && r->state.sm_state &&
	       !strcmp(r->state.state, "sm_state") &&
	       strcmp(r->state.sm_state, "master");
}

static void multicast_record(void *state, const struct record *r,
			     uint64_t mono_ns)
{
	const uint8_t *gone = member_trap(r, TRAP_GID_OUT_OF_SERVICE);
	struct multicast *s = state;
	struct member m;
	uint32_t port;

	s->mono_ns = mono_ns;
	s->time_ns = r->time_ns;
	if (!s->since_ns)
		s->since_ns = r->time_ns;
	if (is_no_master(r))
		forget(s);
	if (gone) {
		port = find_port(s, mad_get64(gone + 8));
		if (port)
			leave_all(s, port);
	}
	if (!member_read(&m, r) || r->sa.status || !m.whole)
		return;
	if (m.set)
		enter(s, &m);
	else
		leave(s, &m);
}

/*
 * Time passes
 */

static void pass(struct table_entry *e, void *context)
{
	struct over *o = (struct over *)e;
	struct multicast *s = context;

	/* it ends when the port leaves, however long that takes */
	if (episode_pass(&o->episode, UINT64_MAX / 2, s->mono_ns) ==
	    ALERT_UPDATE)
		say_port(s, o, ALERT_UPDATE);
}

static void look_at_fabric(struct multicast *s)
{
	const uint64_t percent = s->host->options->groups_percent;
	struct watch_subnet subnet = { 0 };
	bool goes_on = s->mlids.count;

	if (s->host->subnet)
		s->host->subnet(&subnet, s->host->context);
	if (subnet.mlids * UINT64_C(100) > subnet.mlids_max * percent) {
		/* what happens is that there are more of them */
		if (goes_on && subnet.mlids <= s->mlids_had)
			return;
		s->mlids_had = subnet.mlids;
		if (episode_add(&s->mlids, s->time_ns, s->mono_ns) ==
		    ALERT_NONE)
			return;
		say_fabric(s, &subnet, goes_on ? ALERT_UPDATE : ALERT_BEGIN);
	} else if (goes_on && subnet.mlids * UINT64_C(1000) <=
			      subnet.mlids_max * percent * 9) {
		say_fabric(s, &subnet, ALERT_END);
		s->mlids = (struct episode){ 0 };
	}
}

static void multicast_tick(void *state, uint64_t mono_ns)
{
	struct multicast *s = state;

	s->mono_ns = mono_ns;
	table_each(s->over, pass, s);
	look_at_fabric(s);
}

static void end(struct table_entry *e, void *context)
{
	struct multicast *s = context;

	say_port(s, (struct over *)e, ALERT_END);
	s->l->ports[((struct over *)e)->port].over = 0;
	table_remove(s->over, e);
}

static void multicast_flush(void *state, uint64_t mono_ns)
{
	struct multicast *s = state;
	struct watch_subnet subnet = { 0 };

	s->mono_ns = mono_ns;
	table_each(s->over, end, s);
	if (!s->mlids.count)
		return;
	if (s->host->subnet)
		s->host->subnet(&subnet, s->host->context);
	say_fabric(s, &subnet, ALERT_END);
	s->mlids = (struct episode){ 0 };
}

static void multicast_close(void *state)
{
	struct multicast *s = state;

	if (s->l != MAP_FAILED)
		munmap(s->l, sizeof(*s->l));
	table_free(s->over);
	free(s);
}

static bool multicast_open(const struct watch_host *host, void **state)
{
	struct multicast *s = calloc(1, sizeof(*s));

	if (!s)
		return false;
	s->host = host;
	siphash_seed(s->seed);
	s->over = table_new(EPISODES, sizeof(struct over), NULL, NULL);
	s->l = mmap(NULL, sizeof(*s->l), PROT_READ | PROT_WRITE,
		    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (s->over && s->l != MAP_FAILED) {
		*state = s;
		return true;
	}
	multicast_close(s);
	return false;
}

const struct watcher watch_multicast = {
	.open = multicast_open,
	.record = multicast_record,
	.tick = multicast_tick,
	.flush = multicast_flush,
	.close = multicast_close,
};
