/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * The alerts mkey_violation (trap 256), pkey_violation (traps 257 and 259) and
 * qkey_violation (trap 258): who used a key that another node does not have.
 *
 * One episode for each trap number with the same LIDs, QPs and P_Key or Q_Key;
 * of trap 256, with the same LIDs, method, attribute, modifier and path. It
 * ends when none came for 60 s. A trap of which not all was captured is not
 * looked at. The M_Key is never read.
 *
 * Up to 4,096 episodes of 192 bytes: 1 MB at most. More do not begin before one
 * ends.
 */
#include <arpa/inet.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "alert.h"
#include "names.h"
#include "table.h"
#include "trap.h"

enum { EPISODES = 4096, LIDS = 49152 };

static const uint64_t quiet_ns = UINT64_C(60000000000);

struct violation {
	struct table_entry entry;
	struct episode episode;
	uint16_t reporter;	/* LID that sent the last trap */
	uint8_t notice[NOTICE_SMP_SIZE];	/* the last one, no M_Key */
};

_Static_assert(sizeof(struct violation) <= 192, "as said above");

struct violations {
	const struct watch_host *host;
	uint64_t mono_ns;	/* of this call */
	unsigned going_on;
	struct table *episodes;
};

/* A number of its details; 0 where this trap has none of it. */
static uint64_t detail(const struct violation *v, const char *name)
{
	uint64_t value = 0;

	trap_detail(v->notice, sizeof(v->notice), name, &value);
	return value;
}

static int number_of(const struct violation *v)
{
	return trap_number(v->notice, sizeof(v->notice));
}

enum { TIMES_MAX = 32 };

static const char *times(char text[TIMES_MAX], const struct violation *v)
{
	if (v->episode.count == 1)
		return "once";
	snprintf(text, TIMES_MAX, "%" PRIu64 " times", v->episode.count);
	return text;
}

/*
 * Who is who
 */

/* One end of what was refused. */
struct side {
	struct requester who;
	char name[ALERT_NAME_MAX];
	char gid[INET6_ADDRSTRLEN];	/* "" = none */
	uint32_t qp;
	char text[ALERT_WHO_MAX + INET6_ADDRSTRLEN];
};

static void identify_lid(const struct violations *s, struct side *side,
			 uint16_t lid)
{
	side->who.addr.lid = lid;
	if (lid && lid < LIDS && s->host->resolve)
		s->host->resolve(&side->who, s->host->context);
}

/* A GID is a prefix and the port's GUID. It may be of another subnet. */
static void identify_gid(const struct violations *s, struct side *side,
			 const uint8_t gid[16])
{
	static const uint8_t none[16];
	struct requester who = { 0 };

	if (!memcmp(gid, none, sizeof(none)))
		return;
	inet_ntop(AF_INET6, gid, side->gid, sizeof(side->gid));
	if (side->who.name || !s->host->find ||
	    !s->host->find(&who, mad_get64(gid + 8), s->host->context))
		return;
	if (side->who.addr.lid)
		who.addr.lid = side->who.addr.lid;
	side->who = who;
}

static void describe(struct side *side)
{
	char who[ALERT_WHO_MAX];

	alert_keep_name(side->name, &side->who);
	if (side->who.addr.lid)
		alert_who(who, &side->who);
	else
		snprintf(who, sizeof(who), "GID %s",
			 side->gid[0] ? side->gid : "(not told)");
	snprintf(side->text, sizeof(side->text), "%s", who);
}

/* The LID, GID and QP of these names. */
static void get_side(const struct violations *s, struct side *side,
		     const struct violation *v, const char *const names[3])
{
	uint8_t gid[16];

	memset(side, 0, sizeof(*side));
	identify_lid(s, side, (uint16_t)detail(v, names[0]));
	if (trap_detail_gid(v->notice, sizeof(v->notice), names[1], gid))
		identify_gid(s, side, gid);
	side->qp = (uint32_t)detail(v, names[2]);
	describe(side);
}

static void get_port(const struct violations *s, struct side *side,
		     uint16_t lid)
{
	memset(side, 0, sizeof(*side));
	identify_lid(s, side, lid);
	describe(side);
}

/*
 * pkey_violation, qkey_violation
 */

static const char *const first[] = { "lid1", "gid1", "qp1" };
static const char *const second[] = { "lid2", "gid2", "qp2" };

/* "p_key": in 16 bits, unless there is more than a P_Key. */
static const char *key_text(char text[12], const struct violation *v,
			    const char *name)
{
	const uint64_t key = detail(v, name);

	snprintf(text, 12, *name == 'p' && key <= 0xffff ? "0x%04" PRIx64 :
		 "0x%08" PRIx64, key);
	return text;
}

static void add_side(struct alert *a, const struct side *side,
		     const char *const names[3], const char *name)
{
	alert_number(a, names[0], side->who.addr.lid);
	if (side->name[0])
		alert_string(a, name, side->name);
	if (side->gid[0])
		alert_string(a, names[1], side->gid);
	alert_number(a, names[2], side->qp);
}

static void add_switch(struct alert *a, const struct violation *v,
		       const struct side *at)
{
	alert_number(a, "switch_lid", at->who.addr.lid);
	if (at->name[0])
		alert_string(a, "switch_name", at->name);
	alert_number(a, "port", detail(v, "port"));
	alert_number(a, "data_valid", detail(v, "data_valid"));
}

static void add_reporter(struct alert *a, const struct violation *v,
			 const struct side *by)
{
	alert_number(a, "trap_number", (uint64_t)number_of(v));
	alert_number(a, "reporter_lid", v->reporter);
	if (by->name[0])
		alert_string(a, "reporter_name", by->name);
}

/* Whose key it is not, and what to do. */
static void add_advice(char *text, size_t size, const struct violation *v,
		       const struct side *at)
{
	switch (number_of(v)) {
	case 257:
		snprintf(text, size, "which the second does not have: put both into that partition in partitions.conf, or stop what the first sends");
		break;
	case 258:
		snprintf(text, size, "which is not that of the second: correct or restart the program that has the first QP");
		break;
	default:
		snprintf(text, size, "which switch %s does not let through at port %u: put what is behind that port into the partition in partitions.conf, or stop what it sends",
			 at->text, (unsigned)detail(v, "port"));
		break;
	}
}

static void say_key(struct violations *s, struct violation *v,
		    const char *name, const char *key, enum alert_phase phase)
{
	char advice[ALERT_TEXT_MAX], value[12], n[TIMES_MAX];
	struct side from, to, at, by;
	struct alert a;

	get_side(s, &from, v, first);
	get_side(s, &to, v, second);
	get_port(s, &at, (uint16_t)detail(v, "sw_lid"));
	get_port(s, &by, v->reporter);
	add_advice(advice, sizeof(advice), v, &at);
	key_text(value, v, key);
	alert_init(&a, s->host, name, "warning");
	alert_about(&a, &from.who);
	alert_subject(&a, "LID %u", from.who.addr.lid);
	alert_text(&a, "%s QP 0x%06" PRIx32 " sent to %s QP 0x%06" PRIx32
		   " (SL %u), %s, with %s %s, %s", from.text,
		   from.qp, to.text, to.qp, (unsigned)detail(v, "sl"),
		   times(n, v), *key == 'p' ? "P_Key" : "Q_Key", value, advice);
	alert_string(&a, key, value);
	add_side(&a, &from, first, "name1");
	add_side(&a, &to, second, "name2");
	alert_number(&a, "sl", detail(v, "sl"));
	if (number_of(v) == 259)
		add_switch(&a, v, &at);
	add_reporter(&a, v, &by);
	alert_say(&a, phase, &v->episode, s->mono_ns);
}

/*
 * mkey_violation
 */

/* What the SMP was: "Set PortInfo". */
struct smp {
	char method[16], attribute[32], modifier[12];
	char path[TRAP_PATH_MAX];	/* the way back; "" = by its LID */
};

static void name_or_hex(char *text, size_t size, const char *name,
			unsigned number, int digits)
{
	if (name)
		snprintf(text, size, "%s", name);
	else
		snprintf(text, size, "0x%0*x", digits, number);
}

static void get_smp(struct smp *smp, const struct violation *v)
{
	const uint16_t attr_id = (uint16_t)detail(v, "attribute_id");
	uint8_t method = 0;

	smp->path[0] = '\0';
	trap_bad_smp(v->notice, sizeof(v->notice), &method, smp->path);
	name_or_hex(smp->method, sizeof(smp->method),
		    method_name(CLASS_SUBN_LID, method), method, 2);
	name_or_hex(smp->attribute, sizeof(smp->attribute),
		    attribute_name(CLASS_SUBN_LID, attr_id), attr_id, 4);
	snprintf(smp->modifier, sizeof(smp->modifier), "0x%08" PRIx32,
		 (uint32_t)detail(v, "attribute_modifier"));
}

static void add_smp(struct alert *a, const struct violation *v,
		    const struct smp *smp)
{
	alert_string(a, "method", smp->method);
	alert_string(a, "attribute", smp->attribute);
	alert_string(a, "attribute_modifier", smp->modifier);
	alert_number(a, "dr_slid", detail(v, "dr_slid"));
	if (smp->path[0]) {
		alert_string(a, "return_path", smp->path);
		alert_number(a, "hops", detail(v, "dr_hop_count"));
	}
}

static void say_m_key(struct violations *s, struct violation *v,
		      enum alert_phase phase)
{
	struct side from, by;
	char n[TIMES_MAX];
	struct alert a;
	struct smp smp;

	get_port(s, &from, (uint16_t)detail(v, "lid"));
	get_port(s, &by, v->reporter);
	get_smp(&smp, v);
	alert_init(&a, s->host, "mkey_violation", "critical");
	alert_about(&a, &from.who);
	alert_subject(&a, "LID %u", from.who.addr.lid);
	alert_text(&a, "%s sent %s a %s %s (modifier %s) with a wrong M_Key, %s%s%s: find out which program there manages the subnet beside this SM, and stop it",
		   from.text, by.text, smp.method, smp.attribute, smp.modifier,
		   times(n, v), smp.path[0] ? ", return path " : "",
		   smp.path);
	alert_number(&a, "lid", from.who.addr.lid);
	if (from.name[0])
		alert_string(&a, "name", from.name);
	add_smp(&a, v, &smp);
	add_reporter(&a, v, &by);
	alert_say(&a, phase, &v->episode, s->mono_ns);
}

static void say(struct violations *s, struct violation *v,
		enum alert_phase phase)
{
	switch (number_of(v)) {
	case 256:
		say_m_key(s, v, phase);
		break;
	case 258:
		say_key(s, v, "qkey_violation", "q_key", phase);
		break;
	default:
		say_key(s, v, "pkey_violation", "p_key", phase);
		break;
	}
}

static void end(struct violations *s, struct violation *v)
{
	say(s, v, ALERT_END);
	v->episode = (struct episode){ 0 };
	s->going_on--;
}

/*
 * What passes
 */

static void make_key(const struct violations *s, struct table_key *key,
		     const struct violation *v)
{
	const int number = number_of(v);
	char path[TRAP_PATH_MAX] = "";
	uint8_t method = 0;

	*key = (struct table_key){ { (uint64_t)number << 48 } };
	if (number == 256) {
		trap_bad_smp(v->notice, sizeof(v->notice), &method, path);
		key->word[0] |= detail(v, "lid") << 32 |
			detail(v, "dr_slid") << 16 | detail(v, "attribute_id");
		key->word[1] = (uint64_t)method << 32 |
			detail(v, "attribute_modifier");
		table_digest(s->episodes, path, strlen(path), key->word + 2);
		return;
	}
	key->word[0] |= detail(v, "lid1") << 16 | detail(v, "lid2");
	key->word[1] = detail(v, "qp1") << 32 | detail(v, "qp2");
	key->word[2] = detail(v, number == 258 ? "q_key" : "p_key");
}

static bool is_violation(const struct trap_record *r)
{
	const int number = trap_number(r->notice, r->len);

	return r->mad && r->len >= NOTICE_SMP_SIZE && number >= 256 &&
	       number <= 259;
}

static void violations_record(void *state, const struct record *r,
			      uint64_t mono_ns)
{
	struct violation last = { .reporter = 0 }, *v;
	struct violations *s = state;
	enum alert_phase phase;
	struct table_key key;
	size_t offset, size;

	if (r->type != RECORD_TRAP || !is_violation(&r->trap))
		return;
	s->mono_ns = mono_ns;
	memcpy(last.notice, r->trap.notice, sizeof(last.notice));
	if (trap_key(CLASS_SUBN_LID, last.notice, sizeof(last.notice), &offset,
		     &size))
		memset(last.notice + offset, 0, size);
	make_key(s, &key, &last);
	/* whoever made room would begin again and again */
	v = (struct violation *)table_get_room(s->episodes, &key);
	if (!v)
		return;
	if (episode_pass(&v->episode, quiet_ns, mono_ns) == ALERT_END)
		end(s, v);
	memcpy(v->notice, last.notice, sizeof(v->notice));
	v->reporter = r->trap.from.addr.lid;
	phase = episode_add(&v->episode, r->time_ns, mono_ns);
	s->going_on += phase == ALERT_BEGIN;
	if (phase != ALERT_NONE)
		say(s, v, phase);
}

static void pass(struct table_entry *e, void *context)
{
	struct violation *v = (struct violation *)e;
	struct violations *s = context;
	const enum alert_phase phase = episode_pass(&v->episode, quiet_ns,
						    s->mono_ns);

	if (phase == ALERT_END)
		end(s, v);
	else if (phase == ALERT_UPDATE)
		say(s, v, phase);
	if (phase == ALERT_END)
		table_remove(s->episodes, e);
}

static void finish(struct table_entry *e, void *context)
{
	struct violation *v = (struct violation *)e;

	if (v->episode.count)
		end(context, v);
}

static void violations_tick(void *state, uint64_t mono_ns)
{
	struct violations *s = state;

	s->mono_ns = mono_ns;
	if (s->going_on)
		table_each(s->episodes, pass, s);
}

static void violations_flush(void *state, uint64_t mono_ns)
{
	struct violations *s = state;

	s->mono_ns = mono_ns;
	table_each(s->episodes, finish, s);
}

static bool violations_open(const struct watch_host *host, void **state)
{
	struct violations *s = calloc(1, sizeof(*s));

	if (!s)
		return false;
	s->host = host;
	s->episodes = table_new(EPISODES, sizeof(struct violation), NULL, NULL);
	if (!s->episodes) {
		free(s);
		return false;
	}
	*state = s;
	return true;
}

static void violations_close(void *state)
{
	struct violations *s = state;

	table_free(s->episodes);
	free(s);
}

const struct watcher watch_violations = {
	.open = violations_open,
	.record = violations_record,
	.tick = violations_tick,
	.flush = violations_flush,
	.close = violations_close,
};
