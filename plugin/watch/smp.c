/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * The alert smp_timeouts: more than N SMPs by one path (a directed route, or a
 * LID) in S seconds got no answer (the option `timeouts`, N/S). How they are
 * counted, rate.h says.
 *
 * To say how far one gets, the directed routes that answered are kept, with
 * the node at their end where its NodeInfo passed. One is no longer taken for
 * answering when an SMP by it has failed since.
 *
 * Up to 4,096 failing paths of 304 bytes, and 65,536 that answered of 96: 8 MB
 * at most. When there are more, what was used least recently makes room.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "names.h"
#include "rate.h"
#include "table.h"

enum {
	FAILING = 4096,
	ANSWERED = 65536,
	HOPS_TEXT_MAX = 4 * (SMP_MAX_HOPS + 1),
	ADVICE_MAX = HOPS_TEXT_MAX + ALERT_WHO_MAX + 160,
};

#define SECOND_NS UINT64_C(1000000000)

/* Of an SMP: a directed route of so many hops, or a LID. */
struct path {
	bool is_directed;
	uint8_t n_hops;
	uint16_t lid;
	uint8_t hops[SMP_MAX_HOPS];
};

struct failing {
	struct table_entry entry;
	struct rate rate;
	struct path path;
	uint16_t attr_id;	/* of the last one */
};

struct answered {
	struct table_entry entry;
	uint64_t mono_ns;	/* when it answered last */
	uint64_t node_guid;	/* 0: no NodeInfo has passed; the next, too */
	uint64_t port_guid;
	bool fails;		/* since then */
};

_Static_assert(sizeof(struct failing) <= 304 &&
	       sizeof(struct answered) <= 96, "as said above");

struct smp {
	const struct watch_host *host;
	struct rate_limit limit;
	unsigned alerts;	/* going on now */
	uint64_t mono_ns;	/* of this call */
	struct table *failing;
	struct table *answered;
};

/*
 * Paths
 */

/* False when not all of it was captured. */
static bool get_path(struct path *p, const struct mad_capture *cap)
{
	memset(p, 0, sizeof(*p));
	p->is_directed = cap->data[MAD_CLASS] == CLASS_SUBN_DIR;
	if (!p->is_directed) {
		p->lid = cap->peer.lid;
		return true;
	}
	p->n_hops = cap->data[SMP_HOP_COUNT];
	if (p->n_hops > SMP_MAX_HOPS ||
	    cap->len < (size_t)SMP_INITIAL_PATH + p->n_hops + 1)
		return false;
	memcpy(p->hops, cap->data + SMP_INITIAL_PATH + 1, p->n_hops);
	return true;
}

/* Of its first `n_hops` hops. */
static struct table_key make_key(const struct table *t, const struct path *p,
				 uint8_t n_hops)
{
	struct table_key key = { {
		(uint64_t)p->lid << 16 | (uint64_t)n_hops << 8 |
		p->is_directed,
	} };

	table_digest(t, p->hops, n_hops, key.word + 1);
	return key;
}

/* "0,1,10", as records have it. */
static const char *hops_text(char text[HOPS_TEXT_MAX], const struct path *p,
			     uint8_t n_hops)
{
	size_t n = 1;
	uint8_t i;

	strcpy(text, "0");
	for (i = 0; i < n_hops; i++)
		n += (size_t)sprintf(text + n, ",%u", p->hops[i]);
	return text;
}

static struct answered *find_answered(struct smp *s, const struct path *p,
				      uint8_t n_hops)
{
	const struct table_key key = make_key(s->answered, p, n_hops);

	return (struct answered *)table_find(s->answered, &key);
}

/* Of the longest part of the path that answers, or NULL. */
static struct answered *last_answered(struct smp *s, const struct path *p,
				      uint8_t *n_hops)
{
	struct answered *a;
	uint8_t n = p->n_hops;

	while (n--) {
		a = find_answered(s, p, n);
		if (a && !a->fails) {
			*n_hops = n;
			return a;
		}
	}
	return NULL;
}

/*
 * What is said
 */

/* Who is at the end of a path, copied: a name does not live for long. */
struct place {
	struct requester who;
	char name[ALERT_NAME_MAX];
	char guid[24];		/* of the node */
	char text[ALERT_WHO_MAX + 8];	/* ` (LID 7 "node7")`; "" = nobody knows */
};

static void describe(struct place *at)
{
	char who[ALERT_WHO_MAX];

	alert_keep_name(at->name, &at->who);
	if (at->who.addr.lid)
		snprintf(at->text, sizeof(at->text), " (%s)",
			 alert_who(who, &at->who));
	else if (at->who.port_guid)
		snprintf(at->text, sizeof(at->text),
			 " (port GUID 0x%016" PRIx64 ")", at->who.port_guid);
}

static void identify(struct smp *s, struct place *at, const struct answered *a)
{
	memset(at, 0, sizeof(*at));
	if (!a || !a->node_guid)
		return;
	snprintf(at->guid, sizeof(at->guid), "0x%016" PRIx64, a->node_guid);
	if (!s->host->find ||
	    !s->host->find(&at->who, a->port_guid, s->host->context))
		at->who.port_guid = a->port_guid;
	describe(at);
}

static void identify_lid(struct smp *s, struct place *at, uint16_t lid)
{
	memset(at, 0, sizeof(*at));
	at->who.addr.lid = lid;
	if (s->host->resolve)
		s->host->resolve(&at->who, s->host->context);
	describe(at);
}

/* The part of a failing path that is well. */
struct way {
	bool is_known;
	char path[HOPS_TEXT_MAX];
	uint8_t port;		/* that leads on from there */
	uint64_t seconds;	/* since it answered */
	struct place end;
};

static void find_way(struct smp *s, struct way *w, const struct path *p)
{
	const struct answered *a;
	uint8_t n_hops = 0;

	memset(w, 0, sizeof(*w));
	a = p->is_directed ? last_answered(s, p, &n_hops) : NULL;
	if (!a)
		return;
	w->is_known = true;
	hops_text(w->path, p, n_hops);
	w->port = p->hops[n_hops];
	if (s->mono_ns > a->mono_ns)
		w->seconds = (s->mono_ns - a->mono_ns) / SECOND_NS;
	identify(s, &w->end, a);
}

static void add_advice(char *text, size_t size, const struct path *p,
		       const struct way *w)
{
	if (w->is_known)
		snprintf(text, size,
			 "path %s%s answered %" PRIu64
			 " s ago, look at the link at its port %u and at what is behind",
			 w->path, w->end.text, w->seconds, w->port);
	else if (p->is_directed)
		snprintf(text, size,
			 "no part of that path is known to answer, look at this SM's own port and link");
	else
		snprintf(text, size,
			 "look at that port, and at the routes to it");
}

static const char *attr_text(char text[8], uint16_t attr_id)
{
	const char *name = attribute_name(CLASS_SUBN_DIR, attr_id);

	if (name)
		return name;
	snprintf(text, 8, "0x%04x", attr_id);
	return text;
}

static void add_path(struct alert *a, const struct path *p, const char *subject,
		     const struct place *to)
{
	if (p->is_directed)
		alert_string(a, "path", subject + strlen("path "));
	else
		alert_number(a, "lid", p->lid);
	if (to->guid[0])
		alert_string(a, "node_guid", to->guid);
	if (to->name[0])
		alert_string(a, "name", to->name);
}

static void add_way(struct alert *a, const struct way *w)
{
	if (!w->is_known)
		return;
	alert_string(a, "answered_path", w->path);
	if (w->end.guid[0])
		alert_string(a, "answered_node_guid", w->end.guid);
	if (w->end.name[0])
		alert_string(a, "answered_name", w->end.name);
	alert_number(a, "answered_port", w->port);
	alert_number(a, "answered_seconds", w->seconds);
}

static void subject_text(char *text, size_t size, const struct path *p)
{
	char hops[HOPS_TEXT_MAX];

	if (p->is_directed)
		snprintf(text, size, "path %s", hops_text(hops, p, p->n_hops));
	else
		snprintf(text, size, "LID %u", p->lid);
}

static void say(struct smp *s, struct failing *f, enum alert_phase phase)
{
	const struct path *p = &f->path;
	char subject[HOPS_TEXT_MAX + 8], advice[ADVICE_MAX], attr[8];
	const uint64_t seconds = rate_seconds(&f->rate);
	struct alert a;
	struct place to;
	struct way w;

	if (p->is_directed)
		identify(s, &to, find_answered(s, p, p->n_hops));
	else
		identify_lid(s, &to, p->lid);
	find_way(s, &w, p);
	subject_text(subject, sizeof(subject), p);
	add_advice(advice, sizeof(advice), p, &w);
	alert_init(&a, s->host, "smp_timeouts", "warning");
	if (to.who.addr.lid)
		alert_about(&a, &to.who);
	alert_subject(&a, "%s", subject);
	alert_text(&a, "%" PRIu64 " SMPs to %s%s got no answer in %" PRIu64
		   " s (limit %" PRIu32 " in %" PRIu32 " s), the last a %s: %s",
		   f->rate.episode.count, subject, to.text, seconds,
		   s->limit.n, s->limit.seconds, attr_text(attr, f->attr_id),
		   advice);
	add_path(&a, p, subject, &to);
	alert_number(&a, "timeouts", f->rate.episode.count);
	alert_number(&a, "seconds", seconds);
	alert_string(&a, "last_attribute", attr_text(attr, f->attr_id));
	add_way(&a, &w);
	alert_number(&a, "limit_timeouts", s->limit.n);
	alert_number(&a, "limit_seconds", s->limit.seconds);
	alert_say(&a, phase, &f->rate.episode, s->mono_ns);
}

static void end(struct smp *s, struct failing *f)
{
	say(s, f, ALERT_END);
	f->rate.episode = (struct episode){ 0 };
	s->alerts--;
}

/*
 * What passes
 */

static void evict(struct table_entry *e, void *context)
{
	struct failing *f = (struct failing *)e;

	if (f->rate.episode.count)
		end(context, f);
}

static bool smp_open(const struct watch_host *host, void **state)
{
	struct smp *s = calloc(1, sizeof(*s));

	if (!s)
		return false;
	s->host = host;
	s->limit = rate_limit(&host->options->timeouts);
	s->failing = table_new(FAILING, sizeof(struct failing), evict, s);
	s->answered = table_new(ANSWERED, sizeof(struct answered), NULL, NULL);
	*state = s;
	return s->failing && s->answered;
}

static void smp_close(void *state)
{
	struct smp *s = state;

	table_free(s->failing);
	table_free(s->answered);
	free(s);
}

static void note_answer(struct smp *s, const struct mad_capture *cap)
{
	const uint8_t *info = cap->data + SMP_DATA;
	struct answered *a;
	struct table_key key;
	struct path path;

	if (!get_path(&path, cap) || !path.is_directed)
		return;
	key = make_key(s->answered, &path, path.n_hops);
	a = (struct answered *)table_get(s->answered, &key);
	a->mono_ns = s->mono_ns;
	a->fails = false;
	if (mad_get16(cap->data + MAD_ATTR_ID) != ATTR_NODE_INFO ||
	    mad_status(cap->data))
		return;
	a->node_guid = mad_get64(info + NODE_INFO_NODE_GUID);
	a->port_guid = mad_get64(info + NODE_INFO_PORT_GUID);
}

static void note_timeout(struct smp *s, const struct mad_capture *cap,
			 uint64_t time_ns)
{
	struct answered *a;
	struct table_key key;
	struct failing *f;
	struct path path;

	if (!get_path(&path, cap))
		return;
	a = find_answered(s, &path, path.n_hops);
	if (a)
		a->fails = true;
	key = make_key(s->failing, &path, path.n_hops);
	f = (struct failing *)table_get(s->failing, &key);
	f->path = path;
	f->attr_id = mad_get16(cap->data + MAD_ATTR_ID);
	if (rate_pass(&f->rate, &s->limit, s->mono_ns) == ALERT_END)
		end(s, f);
	if (rate_add(&f->rate, &s->limit, time_ns, s->mono_ns) != ALERT_BEGIN)
		return;
	s->alerts++;
	say(s, f, ALERT_BEGIN);
}

static void smp_record(void *state, const struct record *r, uint64_t mono_ns)
{
	const struct mad_capture *cap = r->mad.capture;
	struct smp *s = state;

	if ((r->type != RECORD_MAD && r->type != RECORD_SEND_ERROR) ||
	    !mad_is_smp(cap->data[MAD_CLASS]))
		return;
	s->mono_ns = mono_ns;
	if (r->type == RECORD_SEND_ERROR && cap->completion == MAD_TIMEOUT)
		note_timeout(s, cap, r->time_ns);
	else if (r->type == RECORD_MAD && !cap->sent &&
		 cap->data[MAD_METHOD] == (METHOD_GET | METHOD_RESPONSE))
		note_answer(s, cap);
}

/*
 * Time
 */

static void pass(struct table_entry *e, void *context)
{
	struct failing *f = (struct failing *)e;
	struct smp *s = context;
	const enum alert_phase phase = rate_pass(&f->rate, &s->limit,
						 s->mono_ns);

	if (phase == ALERT_END)
		end(s, f);
	else if (phase == ALERT_UPDATE)
		say(s, f, phase);
}

static void smp_tick(void *state, uint64_t mono_ns)
{
	struct smp *s = state;

	s->mono_ns = mono_ns;
	if (s->alerts)
		table_each(s->failing, pass, s);
}

static void smp_flush(void *state, uint64_t mono_ns)
{
	struct smp *s = state;

	s->mono_ns = mono_ns;
	if (s->alerts)
		table_each(s->failing, evict, s);
}

const struct watcher watch_smp = {
	.open = smp_open,
	.record = smp_record,
	.tick = smp_tick,
	.flush = smp_flush,
	.close = smp_close,
};
