/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * The alert join_failed: OpenSM refuses to let a port into a multicast group.
 * One episode for each requester, group and cause; it ends when the same has
 * not been refused for 60 seconds.
 *
 * OpenSM tells the requester no more than a status. The cause is worked out
 * from the request, by OpenSM's rules in their order (3.3.23,
 * osm_sa_mcmember_record.c), what the answers to joins have said of the group,
 * and what the subnet database says of the port. P_Key tables of ports are
 * not known here: that is the cause when all others are ruled out. A group that
 * nobody has joined since the start is not known either, alias GUIDs are not.
 *
 * Up to 16,384 groups of 136 bytes and 1,024 episodes of up to 700: 2.9 MiB.
 */
#include <arpa/inet.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "alert.h"
#include "field.h"
#include "member.h"
#include "names.h"
#include "table.h"

enum { GROUPS = 16384, EPISODES = 1024, P_KEY_BASE = 0x7fff };

#define QUIET_NS UINT64_C(60000000000)

#define BIT(n) (UINT64_C(1) << (n))
enum { MGID = 0, PORT_GID, Q_KEY, MTU_SEL = 4, MTU, TCLASS, P_KEY, RATE_SEL,
       RATE, SL = 12, FLOW, HOP, STATE = 16 };

#define TO_JOIN		(BIT(MGID) | BIT(PORT_GID) | BIT(STATE))
#define TO_CREATE	(BIT(Q_KEY) | BIT(TCLASS) | BIT(P_KEY) | BIT(FLOW) | \
			 BIT(SL))
#define OF_THE_GROUP	(TO_CREATE | BIT(HOP))

enum { NO_RESOURCES = 0x100, REQ_INVALID = 0x200, INVALID_GID = 0x500,
       INSUFFICIENT = 0x600 };
/* Join states that make a group: full member, send-only full member. */
enum { STATES_FULL = 0x9 };

enum cause {
	CAUSE_UNKNOWN,
	CAUSE_MISSING,
	CAUSE_NO_GROUP,
	CAUSE_STATE,
	CAUSE_PORT_GID,
	CAUSE_FOREIGN,
	CAUSE_MGID,
	CAUSE_P_KEY,
	CAUSE_MTU,
	CAUSE_RATE,
	CAUSE_DIFFERS,
	CAUSE_NO_MLID,
	CAUSE_RESOURCES,
};

static const struct {
	const char *word, *next;
} causes[] = {
	[CAUSE_UNKNOWN] = { "unknown",
		"look for ERR 1B in OpenSM's log at this time" },
	[CAUSE_MISSING] = { "missing_components",
		"correct the program that joins" },
	[CAUSE_NO_GROUP] = { "no_such_group",
		"create it in partitions.conf, or start a full member first" },
	[CAUSE_STATE] = { "join_state",
		"correct the program that joins" },
	[CAUSE_PORT_GID] = { "port_gid",
		"compare the port's GUID and GID prefix with OpenSM's subnet_prefix" },
	[CAUSE_FOREIGN] = { "foreign_port",
		"join from the port itself, or put both into one partition" },
	[CAUSE_MGID] = { "mgid",
		"correct the MGID in the program that joins" },
	[CAUSE_P_KEY] = { "p_key",
		"add the port to the partition in partitions.conf, or correct the P_Key" },
	[CAUSE_MTU] = { "mtu",
		"lower the group's MTU, or look why the port's is small" },
	[CAUSE_RATE] = { "rate",
		"lower the group's rate, or look why the port's link is slow" },
	[CAUSE_DIFFERS] = { "differs_from_group",
		"join with what the group has, or create it otherwise" },
	[CAUSE_NO_MLID] = { "no_mlid",
		"find out who joins so many groups (alert multicast_leak)" },
	[CAUSE_RESOURCES] = { "no_resources",
		"look for ERR 1B in OpenSM's log at this time" },
};

enum { WORDS_MAX = 160, LIST_MAX = 112, VALUE_MAX = 24 };

struct why {
	enum cause cause;
	char words[WORDS_MAX];
	char missing[LIST_MAX];		/* "" = none */
	char asked[VALUE_MAX], can[VALUE_MAX];	/* MTU or rate */
};

struct group {
	struct table_entry entry;
	uint8_t rec[MEMBER_SIZE];
};

struct refused {
	struct table_entry entry;
	struct episode episode;
	struct mad_peer peer;
	struct why why;
	uint64_t mask;
	uint8_t rec[MEMBER_SIZE];
	uint16_t status;
};

_Static_assert(sizeof(struct group) <= 136 && sizeof(struct refused) <= 700,
	       "as said above");

struct join {
	const struct watch_host *host;
	struct table *groups, *refused;
	uint64_t mono_ns;	/* now, for what makes room */
};

/* All that a cause is worked out from. */
struct question {
	const struct watch_host *host;
	const struct member *m;
	const uint8_t *group;		/* its record, or NULL: not known */
	const uint8_t *broadcast;	/* of an IPoIB group: that of its
					 * broadcast group, or NULL */
	uint64_t requester;		/* port GUID; 0 = not known */
	uint64_t port;			/* for which it joins */
	bool known;			/* the subnet database is */
	bool port_known;
	struct watch_port can;
	struct why *why;
};

static bool has(const struct question *q, uint64_t bits)
{
	return (q->m->mask & bits) == bits;
}

static bool creates(const struct question *q)
{
	return !q->group && has(q, TO_CREATE);
}

static bool because(const struct question *q, enum cause cause,
		    const char *format, ...)
	__attribute__((format(printf, 3, 4)));
static bool because(const struct question *q, enum cause cause,
		    const char *format, ...)
{
	va_list args;

	q->why->cause = cause;
	va_start(args, format);
	vsnprintf(q->why->words, sizeof(q->why->words), format, args);
	va_end(args);
	return true;
}

/* "q_key, sl" */
static void list(char text[LIST_MAX], uint64_t components)
{
	const struct sa_attribute *attr =
		sa_attribute_find(ATTR_MCMEMBER_RECORD);
	struct words w;
	size_t i;

	words_init(&w, text, LIST_MAX);
	for (i = 0; i < attr->n_fields; i++)
		if (components & BIT(attr->fields[i].component))
			words_add(&w, "%s%s", w.len ? ", " : "",
				  attr->fields[i].name);
}

static const struct sa_field *field(unsigned component)
{
	const struct sa_attribute *attr =
		sa_attribute_find(ATTR_MCMEMBER_RECORD);
	size_t i;

	for (i = 0; attr->fields[i].component != component; i++)
		;
	return &attr->fields[i];
}

/*
 * MTUs and rates
 */

/* Of a code, in bytes; 0 = no such code (IBA 1.4 table 209). */
static unsigned mtu_bytes(unsigned code)
{
	return code >= 1 && code <= 5 ? 128u << code : 0;
}

/* Of a code, in tenths of Gb/s; 0 = no such code. */
static unsigned rate_tenths(unsigned code)
{
	static const uint16_t tenths[] = {
		0, 0, 25, 100, 300, 50, 200, 400, 600, 800, 1200, 140, 560,
		1120, 1680, 250, 1000, 2000, 3000, 280, 500, 4000, 6000,
	};

	return code < sizeof(tenths) / sizeof(tenths[0]) ? tenths[code] : 0;
}

/* What the two have in common: a code with a selector. */
struct quantity {
	enum cause cause;
	const char *name;
	unsigned at, component, selector;
	unsigned (*value)(unsigned code);
};

static const struct quantity quantities[] = {
	{ CAUSE_MTU, "MTU", MEMBER_MTU, MTU, MTU_SEL, mtu_bytes },
	{ CAUSE_RATE, "rate", MEMBER_RATE, RATE, RATE_SEL, rate_tenths },
};

enum { GREATER, LESS, EXACTLY, LARGEST };

static const char *value_text(char text[VALUE_MAX], const struct quantity *n,
			      unsigned code)
{
	unsigned value = n->value(code);

	if (!value)
		snprintf(text, VALUE_MAX, "code %u", code);
	else if (n->cause == CAUSE_MTU)
		snprintf(text, VALUE_MAX, "%u bytes", value);
	else
		snprintf(text, VALUE_MAX, "%u%s Gb/s", value / 10,
			 value % 10 ? ".5" : "");
	return text;
}

static bool asks_for(const struct question *q, const struct quantity *n)
{
	return has(q, BIT(n->component) | BIT(n->selector)) &&
	       q->m->rec[n->at] >> 6 != LARGEST;
}

static const char *selector_text(uint8_t asked)
{
	static const char *const texts[] = { "more than ", "less than ", "", "" };

	return texts[asked >> 6];
}

/* Asked for by the request: "more than 2048 bytes". */
static void note_asked(const struct question *q, const struct quantity *n)
{
	const uint8_t asked = q->m->rec[n->at];
	char text[VALUE_MAX];

	snprintf(q->why->asked, VALUE_MAX, "%s%s", selector_text(asked),
		 value_text(text, n, asked & 0x3f));
}

static bool is_no_value(const struct question *q)
{
	const struct quantity *n;

	for (n = quantities; n < quantities + 2; n++) {
		if (!has(q, BIT(n->component) | BIT(n->selector)) ||
		    n->value(q->m->rec[n->at] & 0x3f))
			continue;
		note_asked(q, n);
		return because(q, n->cause, "there is no %s of %s", n->name,
			       q->why->asked);
	}
	return false;
}

/* What the group has is not what the request wants. */
static bool is_unlike_group(const struct question *q, const struct quantity *n)
{
	unsigned asked = n->value(q->m->rec[n->at] & 0x3f);
	unsigned group = n->value(q->group[n->at] & 0x3f);

	if (!has(q, BIT(n->selector)))
		return false;
	switch (q->m->rec[n->at] >> 6) {
	case GREATER:
		return group <= asked;
	case LESS:
		return group >= asked;
	case EXACTLY:
		return group != asked;
	default:
		return false;
	}
}

static bool is_not_the_group_has(const struct question *q)
{
	const struct quantity *n;

	for (n = quantities; q->group && n < quantities + 2; n++) {
		if (!is_unlike_group(q, n))
			continue;
		note_asked(q, n);
		value_text(q->why->can, n, q->group[n->at] & 0x3f);
		return because(q, n->cause, "%s %s is asked for, the group has %s",
			       n->name, q->why->asked, q->why->can);
	}
	return false;
}

/* More than the port has, or less than there is. */
static bool cannot_be_created(const struct question *q,
			      const struct quantity *n)
{
	const uint8_t rec = q->m->rec[n->at];
	unsigned asked = n->value(rec & 0x3f);
	unsigned can = n->value(n->cause == CAUSE_MTU ? q->can.mtu :
							q->can.rate);

	switch (rec >> 6) {
	case GREATER:
		return can && asked >= can;
	case LESS:
		return asked == n->value(n->cause == CAUSE_MTU ? 1 : 2);
	default:
		return can && asked > can;
	}
}

static bool is_not_realizable(const struct question *q)
{
	const struct quantity *n;
	unsigned can;

	for (n = quantities; n < quantities + 2; n++) {
		can = n->cause == CAUSE_MTU ? q->can.mtu : q->can.rate;
		if (q->group) {
			if (!can || n->value(can) >=
				    n->value(q->group[n->at] & 0x3f))
				continue;
			value_text(q->why->asked, n, q->group[n->at] & 0x3f);
		} else {
			if (!creates(q) || !asks_for(q, n) ||
			    !cannot_be_created(q, n))
				continue;
			note_asked(q, n);
		}
		if (!can)
			return because(q, n->cause, "there is no %s of %s",
				       n->name, q->why->asked);
		value_text(q->why->can, n, can);
		return because(q, n->cause, "%s %s is %s, the port has %s",
			       n->name, q->why->asked,
			       q->group ? "the group's" : "asked for",
			       q->why->can);
	}
	return false;
}

/*
 * Other causes
 */

static bool is_unknown_port(const struct question *q)
{
	return q->known && !q->port_known &&
	       because(q, CAUSE_PORT_GID,
		       "OpenSM knows no port with the GUID 0x%016" PRIx64,
		       q->port);
}

static uint16_t p_key(const uint8_t *rec)
{
	return mad_get16(rec + MEMBER_P_KEY);
}

static bool is_no_p_key(const struct question *q)
{
	return has(q, BIT(P_KEY)) && !(p_key(q->m->rec) & P_KEY_BASE) &&
	       because(q, CAUSE_P_KEY, "0x%04x is no P_Key", p_key(q->m->rec));
}

static bool is_no_state(const struct question *q)
{
	return !member_state(q->m->rec) &&
	       because(q, CAUSE_STATE, "its join state is 0");
}

static bool is_not_a_full_member(const struct question *q)
{
	return !q->group && !(member_state(q->m->rec) & STATES_FULL) &&
	       because(q, CAUSE_NO_GROUP,
		       "no such group is known here, and one who is no full member (join state %u) cannot create it",
		       member_state(q->m->rec));
}

static bool is_ipoib(const uint8_t *mgid)
{
	const uint16_t signature = mad_get16(mgid + 2);

	return signature == 0x401b || signature == 0x601b;
}

static bool is_no_mgid(const struct question *q)
{
	static const uint8_t none[16];
	const uint8_t *mgid = q->m->rec;

	if (q->group || !memcmp(mgid, none, sizeof(none)))
		return false;
	if (mgid[0] != 0xff)
		return because(q, CAUSE_MGID,
			       "the MGID does not begin with ff");
	if (is_ipoib(mgid))
		return false;
	if (mgid[1] & 0xe0)
		return because(q, CAUSE_MGID,
			       "the MGID has reserved flags set (0x%x)",
			       mgid[1] >> 4);
	return mad_get16(mgid + 2) == 0xa01b && (mgid[1] & 0xf) == 2 &&
	       because(q, CAUSE_MGID,
		       "MGIDs with a01b and link-local scope are OpenSM's to make");
}

static bool differs(const uint8_t *rec, const uint8_t *group,
		    unsigned component)
{
	const struct sa_field *f = field(component);

	if (component != P_KEY)
		return field_get(f, rec) != field_get(f, group);
	/* two limited members do not hear each other */
	return (p_key(rec) & P_KEY_BASE) != (p_key(group) & P_KEY_BASE) ||
	       !((p_key(rec) | p_key(group)) & 0x8000);
}

static bool is_otherwise(const struct question *q)
{
	const uint8_t *group = q->group;
	uint64_t others = 0;
	unsigned i;

	if (!group && creates(q))
		group = q->broadcast;
	for (i = Q_KEY; group && i <= HOP; i++)
		if (q->m->mask & BIT(i) & OF_THE_GROUP &&
		    differs(q->m->rec, group, i))
			others |= BIT(i);
	if (!others)
		return false;
	list(q->why->missing, others);
	because(q, CAUSE_DIFFERS, "%s is not as the %sgroup has it",
		q->why->missing, q->group ? "" : "broadcast ");
	q->why->missing[0] = '\0';
	return true;
}

static bool is_foreign(const struct question *q)
{
	return q->requester && q->requester != q->port &&
	       because(q, CAUSE_FOREIGN,
		       "it joins for another port, 0x%016" PRIx64 ", with which it shares no P_Key or which has joined itself",
		       q->port);
}

/* All others are ruled out. */
static bool is_not_in_partition(const struct question *q)
{
	const uint16_t key = p_key(q->group ? q->group : q->m->rec);

	if (q->requester != q->port || !q->can.mtu || !q->can.rate)
		return false;
	if (!q->group && (!creates(q) || is_ipoib(q->m->rec) ||
			  (key & P_KEY_BASE) == P_KEY_BASE))
		return false;
	return because(q, CAUSE_P_KEY,
		       "the port is not in the partition of P_Key 0x%04x", key);
}

/*
 * By status
 */

static bool explain_invalid(const struct question *q)
{
	static bool (*const checks[])(const struct question *q) = {
		is_no_value, is_unknown_port, is_no_p_key, is_no_state,
		is_not_a_full_member, is_no_mgid, is_otherwise,
		is_not_the_group_has, is_not_realizable, is_foreign,
		is_not_in_partition,
	};
	size_t i;

	for (i = 0; i < sizeof(checks) / sizeof(checks[0]); i++)
		if (checks[i](q))
			return true;
	return false;
}

static bool explain_missing(const struct question *q)
{
	uint64_t missing = TO_JOIN & ~q->m->mask;

	if (missing) {
		list(q->why->missing, missing);
		return because(q, CAUSE_MISSING,
			       "a join needs %s, which it lacks",
			       q->why->missing);
	}
	missing = TO_CREATE & ~q->m->mask;
	list(q->why->missing, missing);
	if (missing == TO_CREATE)
		return because(q, CAUSE_NO_GROUP,
			       "there is no such group, and to create it the join lacks %s",
			       q->why->missing);
	return missing &&
	       because(q, CAUSE_MISSING,
		       "to create the group, which is not there, it lacks %s",
		       q->why->missing);
}

static bool explain_resources(const struct question *q)
{
	struct watch_subnet subnet = { 0 };

	if (q->host->subnet)
		q->host->subnet(&subnet, q->host->context);
	if (subnet.mlids_max && subnet.mlids >= subnet.mlids_max)
		return because(q, CAUSE_NO_MLID,
			       "all %" PRIu32 " multicast LIDs are in use",
			       subnet.mlids_max);
	return because(q, CAUSE_RESOURCES,
		       "OpenSM had no multicast LID, MGID or memory left");
}

static bool explain(const struct question *q, uint16_t status)
{
	if (!q->m->whole)
		return false;
	switch (status) {
	case NO_RESOURCES:
		return explain_resources(q);
	case REQ_INVALID:
		return explain_invalid(q);
	case INVALID_GID:
		return because(q, CAUSE_PORT_GID,
			       "the prefix 0x%016" PRIx64 " of its port GID is not the subnet's",
			       mad_get64(q->m->rec + MEMBER_PORT_PREFIX));
	case INSUFFICIENT:
		return explain_missing(q);
	default:
		return false;
	}
}

/*
 * Alerts
 */

static const char *status_text(char text[16], uint16_t status)
{
	const char *name = sa_status_name(status);

	if (name)
		return name;
	snprintf(text, 16, "0x%04x", status);
	return text;
}

static void say(struct join *j, struct refused *f, enum alert_phase phase,
		uint64_t mono_ns)
{
	char who_text[ALERT_WHO_MAX], mgid[INET6_ADDRSTRLEN];
	char status[16], key[8];
	struct requester who = { .addr = f->peer };
	const struct why *why = &f->why;
	struct alert a;

	if (j->host->resolve)
		j->host->resolve(&who, j->host->context);
	inet_ntop(AF_INET6, f->rec + MEMBER_MGID, mgid, sizeof(mgid));
	alert_init(&a, j->host, "join_failed", "warning");
	alert_about(&a, &who);
	alert_subject(&a, "LID %u", who.addr.lid);
	alert_text(&a, "%s cannot join %s: %s (%" PRIu64 " time%s); %s",
		   alert_who(who_text, &who), mgid, why->words,
		   f->episode.count, f->episode.count == 1 ? "" : "s",
		   causes[why->cause].next);
	alert_string(&a, "mgid", mgid);
	alert_string(&a, "cause", causes[why->cause].word);
	if (why->missing[0])
		alert_string(&a, "missing", why->missing);
	if (why->asked[0])
		alert_string(&a, "asked", why->asked);
	if (why->can[0])
		alert_string(&a, "can", why->can);
	if (f->mask & BIT(P_KEY)) {
		snprintf(key, sizeof(key), "0x%04x", p_key(f->rec));
		alert_string(&a, "pkey", key);
	}
	alert_string(&a, "status", status_text(status, f->status));
	alert_number(&a, "join_state", member_state(f->rec));
	alert_say(&a, phase, &f->episode, mono_ns);
}

static struct table_key group_key(const uint8_t *mgid)
{
	return (struct table_key){
		.word = { mad_get64(mgid), mad_get64(mgid + 8) },
	};
}

static const uint8_t *find_group(struct join *j, const uint8_t *mgid)
{
	const struct table_key key = group_key(mgid);
	struct group *g = (struct group *)table_find(j->groups, &key);

	return g ? g->rec : NULL;
}

/* RFC 4391: its scope and P_Key, and IPv4's all ones. */
static const uint8_t *find_broadcast(struct join *j, const uint8_t *mgid)
{
	uint8_t broadcast[16] = {
		0xff, mgid[1], 0x40, 0x1b, mgid[4], mgid[5],
		0, 0, 0, 0, 0, 0, 0xff, 0xff, 0xff, 0xff,
	};

	return is_ipoib(mgid) ? find_group(j, broadcast) : NULL;
}

static void learn(struct join *j, const uint8_t *answer)
{
	const struct table_key key = group_key(answer + MEMBER_MGID);
	struct group *g = (struct group *)table_get(j->groups, &key);

	memcpy(g->rec, answer, sizeof(g->rec));
}

static void forget(struct join *j, const uint8_t *mgid)
{
	const struct table_key key = group_key(mgid);
	struct table_entry *e = table_find(j->groups, &key);

	if (e)
		table_remove(j->groups, e);
}

static void ask(struct join *j, const struct member *m,
		const struct sa_record *sa, struct why *why)
{
	struct question q = {
		.host = j->host, .m = m, .why = why,
		.group = find_group(j, m->rec + MEMBER_MGID),
		.broadcast = find_broadcast(j, m->rec + MEMBER_MGID),
		.requester = sa->requester.port_guid,
		.port = mad_get64(m->rec + MEMBER_PORT_GUID),
		.known = sa->requester.port_guid != 0,
	};
	char status[16];

	if (j->host->port)
		q.port_known = j->host->port(&q.can, q.port, j->host->context);
	else
		q.known = false;
	if (explain(&q, sa->status))
		return;
	*why = (struct why){ .cause = CAUSE_UNKNOWN };
	snprintf(why->words, sizeof(why->words), "reason not known: status %s",
		 status_text(status, sa->status));
}

static void note_refused(struct join *j, const struct member *m,
			 const struct record *r, uint64_t mono_ns)
{
	struct table_key key = group_key(m->rec + MEMBER_MGID);
	struct why why = { 0 };
	struct refused *f;

	ask(j, m, &r->sa, &why);
	key.word[2] = r->sa.requester.addr.lid;
	key.word[3] = why.cause;
	j->mono_ns = mono_ns;
	/* whoever made room would begin again and again */
	f = (struct refused *)table_get_room(j->refused, &key);
	if (!f)
		return;
	f->peer = r->sa.requester.addr;
	f->why = why;
	f->mask = m->mask;
	f->status = r->sa.status;
	memcpy(f->rec, m->rec, sizeof(f->rec));
	/* updates are the clock's to say */
	if (episode_add(&f->episode, r->time_ns, mono_ns) == ALERT_BEGIN)
		say(j, f, ALERT_BEGIN, mono_ns);
}

static void join_record(void *state, const struct record *r, uint64_t mono_ns)
{
	const uint8_t *deleted = member_trap(r, TRAP_GROUP_DELETED);
	struct join *j = state;
	struct member m;

	if (deleted)
		forget(j, deleted);
	if (!member_read(&m, r) || !m.set)
		return;
	if (r->sa.status)
		note_refused(j, &m, r, mono_ns);
	else if (m.answer)
		learn(j, m.answer);
}

/*
 * Time passes
 */

static void pass(struct table_entry *e, void *context)
{
	struct refused *f = (struct refused *)e;
	struct join *j = context;
	enum alert_phase phase;

	phase = episode_pass(&f->episode, QUIET_NS, j->mono_ns);
	if (phase != ALERT_NONE)
		say(j, f, phase, j->mono_ns);
	if (phase == ALERT_END)
		table_remove(j->refused, e);
}

static void end(struct table_entry *e, void *context)
{
	struct join *j = context;

	say(j, (struct refused *)e, ALERT_END, j->mono_ns);
	table_remove(j->refused, e);
}

static void join_tick(void *state, uint64_t mono_ns)
{
	struct join *j = state;

	j->mono_ns = mono_ns;
	table_each(j->refused, pass, j);
}

static void join_flush(void *state, uint64_t mono_ns)
{
	struct join *j = state;

	j->mono_ns = mono_ns;
	table_each(j->refused, end, j);
}

static void join_close(void *state)
{
	struct join *j = state;

	table_free(j->groups);
	table_free(j->refused);
	free(j);
}

static bool join_open(const struct watch_host *host, void **state)
{
	struct join *j = calloc(1, sizeof(*j));

	if (!j)
		return false;
	j->host = host;
	j->groups = table_new(GROUPS, sizeof(struct group), NULL, NULL);
	j->refused = table_new(EPISODES, sizeof(struct refused), NULL, NULL);
	if (j->groups && j->refused) {
		*state = j;
		return true;
	}
	join_close(j);
	return false;
}

const struct watcher watch_join = {
	.open = join_open,
	.record = join_record,
	.tick = join_tick,
	.flush = join_flush,
	.close = join_close,
};
