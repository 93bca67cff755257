/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * The alerts service_registered and service_removed: a ServiceRecord was set
 * or deleted, and OpenSM has said that it was. What one requester does beyond
 * 100 in a minute is summed up in one line when the minute is over.
 *
 * A minute of each of 1,024 requesters, 200 bytes each: 0.2 MiB.
 */
#include <arpa/inet.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "alert.h"
#include "field.h"
#include "table.h"

enum {
	REQUESTERS = 1024,
	LINES = 100,		/* in a minute */

	/* in a ServiceRecord (IBA 1.4 section 15.2.5.14) */
	SERVICE_ID = 0,
	SERVICE_GID = 8,
	SERVICE_P_KEY = 24,
	SERVICE_LEASE = 28,
	SERVICE_NAME = 48,
	SERVICE_NAME_SIZE = 64,
	SERVICE_SIZE = 112,

	/* bits of its component mask */
	HAS_P_KEY = 1 << 2,
	HAS_LEASE = 1 << 4,
	HAS_NAME = 1 << 6,

	DEFAULT_P_KEY = 0xffff,
	QUOTED_MAX = 160,	/* in a text, where others want room, too */
};

#define MINUTE_NS UINT64_C(60000000000)
#define FOREVER UINT32_MAX

struct minute {
	struct table_entry entry;
	struct mad_peer peer;
	uint64_t began_ns;	/* monotonic */
	uint64_t lines;
	uint64_t registered, removed;	/* beyond the lines */
};

_Static_assert(sizeof(struct minute) <= 200, "as said above");

struct services {
	const struct watch_host *host;
	struct table *minutes;
	uint64_t mono_ns;
};

/* One that was registered or removed. */
struct service {
	bool set;
	const uint8_t *rec;
	uint64_t mask;
};

static bool read_service(struct service *s, const struct record *r)
{
	const struct sa_record *sa = &r->sa;

	if (r->type != RECORD_SA || sa->sent || sa->outcome != SA_ANSWERED ||
	    sa->status || sa->len < SA_DATA + SERVICE_SIZE ||
	    mad_get16(sa->mad + MAD_ATTR_ID) != ATTR_SERVICE_RECORD ||
	    (sa->mad[MAD_METHOD] != METHOD_SET &&
	     sa->mad[MAD_METHOD] != METHOD_DELETE))
		return false;
	*s = (struct service){
		.set = sa->mad[MAD_METHOD] == METHOD_SET,
		.rec = sa->mad + SA_DATA,
		.mask = mad_get64(sa->mad + SA_COMPONENT_MASK),
	};
	return true;
}

/* What the request does not say OpenSM makes the default. */
static uint16_t p_key(const struct service *s)
{
	return s->mask & HAS_P_KEY ? mad_get16(s->rec + SERVICE_P_KEY) :
				     DEFAULT_P_KEY;
}

static uint32_t lease(const struct service *s)
{
	return s->mask & HAS_LEASE ? mad_get32(s->rec + SERVICE_LEASE) :
				     FOREVER;
}

static void quote_name(char text[QUOTED_MAX], const struct service *s)
{
	struct words w;

	words_init(&w, text, QUOTED_MAX);
	if (s->mask & HAS_NAME)
		words_text(&w, s->rec + SERVICE_NAME, SERVICE_NAME_SIZE, true);
}

/* As it is: who writes the evidence escapes it. */
static void copy_name(char name[SERVICE_NAME_SIZE + 1],
		      const struct service *s)
{
	memset(name, 0, SERVICE_NAME_SIZE + 1);
	if (s->mask & HAS_NAME)
		memcpy(name, s->rec + SERVICE_NAME, SERVICE_NAME_SIZE);
}

static void lease_text(char text[32], const struct service *s)
{
	if (!s->set)
		text[0] = '\0';
	else if (lease(s) == FOREVER)
		snprintf(text, 32, " for ever");
	else
		snprintf(text, 32, " for %" PRIu32 " s", lease(s));
}

static void say(const struct services *s, const struct service *v,
		const struct requester *who, uint64_t mono_ns)
{
	char who_text[ALERT_WHO_MAX], id[20], key[8], time[32];
	char name[SERVICE_NAME_SIZE + 1], quoted[QUOTED_MAX];
	char gid[INET6_ADDRSTRLEN];
	struct alert a;

	copy_name(name, v);
	quote_name(quoted, v);
	snprintf(id, sizeof(id), "0x%016" PRIx64,
		 mad_get64(v->rec + SERVICE_ID));
	snprintf(key, sizeof(key), "0x%04x", p_key(v));
	inet_ntop(AF_INET6, v->rec + SERVICE_GID, gid, sizeof(gid));
	lease_text(time, v);
	alert_init(&a, s->host, v->set ? "service_registered" :
					 "service_removed", "info");
	alert_about(&a, who);
	alert_subject(&a, "service %s", id);
	alert_text(&a, "%s %s service %s%s%s(%s) of %s%s; nothing to do if it may",
		   alert_who(who_text, who),
		   v->set ? "registered" : "removed", *name ? "\"" : "", quoted,
		   *name ? "\" " : "", id, gid, time);
	alert_string(&a, "service_name", name);
	alert_string(&a, "service_id", id);
	if (v->set)
		alert_number(&a, "lease_seconds", lease(v));
	alert_string(&a, "pkey", key);
	alert_string(&a, "service_gid", gid);
	alert_say(&a, ALERT_ONCE, NULL, mono_ns);
}

/* What went beyond the lines of the minute that is over. */
static void sum_up(const struct services *s, struct minute *m)
{
	char who_text[ALERT_WHO_MAX];
	struct requester who = { .addr = m->peer };
	struct alert a;

	if (!m->registered && !m->removed)
		return;
	if (s->host->resolve)
		s->host->resolve(&who, s->host->context);
	alert_init(&a, s->host, m->registered ? "service_registered" :
						"service_removed", "info");
	alert_about(&a, &who);
	alert_subject(&a, "LID %u", who.addr.lid);
	alert_text(&a, "%s registered %" PRIu64 " more services and removed %" PRIu64
		   " more in a minute; look which program on it does so",
		   alert_who(who_text, &who), m->registered, m->removed);
	alert_number(&a, "registered", m->registered);
	alert_number(&a, "removed", m->removed);
	alert_say(&a, ALERT_ONCE, NULL, s->mono_ns);
	m->registered = m->removed = 0;
}

static bool is_over(const struct minute *m, uint64_t mono_ns)
{
	return mono_ns >= m->began_ns + MINUTE_NS;
}

static void services_record(void *state, const struct record *r,
			    uint64_t mono_ns)
{
	struct services *s = state;
	struct table_key key = { 0 };
	struct service v;
	struct minute *m;

	if (!read_service(&v, r))
		return;
	key.word[0] = r->sa.requester.addr.lid;
	s->mono_ns = mono_ns;
	m = (struct minute *)table_get(s->minutes, &key);
	m->peer = r->sa.requester.addr;
	if (m->lines && is_over(m, mono_ns)) {
		sum_up(s, m);
		m->lines = 0;
	}
	if (!m->lines)
		m->began_ns = mono_ns;
	if (m->lines < LINES) {
		m->lines++;
		say(s, &v, &r->sa.requester, mono_ns);
	} else if (v.set) {
		m->registered++;
	} else {
		m->removed++;
	}
}

static void make_room(struct table_entry *e, void *context)
{
	sum_up(context, (struct minute *)e);
}

static void pass(struct table_entry *e, void *context)
{
	struct services *s = context;

	if (!is_over((struct minute *)e, s->mono_ns))
		return;
	make_room(e, s);
	table_remove(s->minutes, e);
}

static void services_tick(void *state, uint64_t mono_ns)
{
	struct services *s = state;

	s->mono_ns = mono_ns;
	table_each(s->minutes, pass, s);
}

static void services_flush(void *state, uint64_t mono_ns)
{
	struct services *s = state;

	s->mono_ns = mono_ns;
	table_each(s->minutes, make_room, s);
}

static void services_close(void *state)
{
	struct services *s = state;

	table_free(s->minutes);
	free(s);
}

static bool services_open(const struct watch_host *host, void **state)
{
	struct services *s = calloc(1, sizeof(*s));

	if (!s)
		return false;
	s->host = host;
	s->minutes = table_new(REQUESTERS, sizeof(struct minute), make_room, s);
	if (s->minutes) {
		*state = s;
		return true;
	}
	free(s);
	return false;
}

const struct watcher watch_services = {
	.open = services_open,
	.record = services_record,
	.tick = services_tick,
	.flush = services_flush,
	.close = services_close,
};
