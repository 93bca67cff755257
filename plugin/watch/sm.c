/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * The alerts foreign_sm and sm_handover: who else is an SM on this fabric, and
 * which of them is master.
 *
 * An SM is known by an SMInfo that it sent: its answers to OpenSM, and what it
 * sets here. OpenSM asks all it knows of in each sweep, a standby asks the
 * master each sminfo_polling_timeout (10 s). The requests of a standby do not
 * tell who sends them; one that comes by the way that an SM answered by, or
 * from its LID, is taken for that SM's. So one that is there is heard of each
 * ten seconds, and six that are missing are its end.
 *
 * 64 SMs of 160 bytes are kept. When there are more, one that was not heard of
 * for 15 s, is not allowed and no second master makes room, or the new one is
 * not told of. Of one SM a change is told once a second at most,
 * and so is a control of one kind.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "alert.h"
#include "names.h"

enum { SMS = 64, CONTROLS = 6, LIDS = 49152, STATE_UNKNOWN = 0xff };

#define SECOND_NS UINT64_C(1000000000)

static const uint64_t quiet_ns = 60 * SECOND_NS;
/* Of who makes room for another. */
static const uint64_t room_ns = 15 * SECOND_NS;

/* AttributeModifier of a SubnSet(SMInfo) (IBA 14.4.1). */
static const char *const control_names[CONTROLS] = {
	NULL, "handover", "acknowledge", "disable", "standby", "discover",
};

struct sm {
	uint64_t guid;		/* 0 = this place is free */
	uint8_t priority;
	uint8_t state;
	bool clashes;		/* is master while ours is */
	bool changed;		/* since it was said */
	uint16_t lid;		/* 0 = not known */
	uint8_t n_hops;		/* of the way to it; 0 = not known */
	uint8_t hops[SMP_MAX_HOPS];
	struct episode episode;
};

_Static_assert(sizeof(struct sm) <= 160, "as said above");

/* When a control was told of last. */
struct told {
	uint64_t guid;
	uint64_t mono_ns;
	uint64_t repeats;	/* since then */
};

struct sms {
	const struct watch_host *host;
	uint64_t mono_ns;	/* of this call */
	uint8_t own_state;
	uint8_t settled;	/* what was told of it; see note_state() */
	uint64_t partner;	/* of the last control; 0 = nobody */
	uint64_t partner_ns;
	struct told told[2][CONTROLS];	/* received, sent */
	struct sm sms[SMS];
};

static uint64_t own_guid(const struct sms *s)
{
	struct watch_subnet subnet = { 0 };

	if (s->host->subnet)
		s->host->subnet(&subnet, s->host->context);
	return subnet.sm_port_guid;
}

static bool is_allowed(const struct sms *s, uint64_t guid)
{
	const struct options *o = s->host->options;
	uint32_t i;

	for (i = 0; i < o->n_sm_allow; i++)
		if (o->sm_allow[i] == guid)
			return true;
	return false;
}

static const char *state_text(char text[4], uint8_t state)
{
	const char *name = sm_state_name(state);

	if (name)
		return name;
	snprintf(text, 4, "%u", state);
	return text;
}

/*
 * Who is who
 */

struct who {
	struct requester is;
	char name[ALERT_NAME_MAX];
	char guid[24];
	char text[ALERT_WHO_MAX];
};

/* By the GUID, or else the LID that it was heard of from. */
static void identify(const struct sms *s, struct who *who, uint64_t guid,
		     uint16_t lid)
{
	const struct watch_host *host = s->host;

	memset(who, 0, sizeof(*who));
	snprintf(who->guid, sizeof(who->guid), "0x%016" PRIx64, guid);
	if (!host->find || !host->find(&who->is, guid, host->context)) {
		who->is.addr.lid = lid;
		if (lid && host->resolve)
			host->resolve(&who->is, host->context);
		/* another port's GUID would tell of somebody else */
		who->is.port_guid = guid;
	}
	alert_keep_name(who->name, &who->is);
	if (who->is.addr.lid)
		alert_who(who->text, &who->is);
	else
		snprintf(who->text, sizeof(who->text), "port GUID %s",
			 who->guid);
}

static struct sm *find_sm(struct sms *s, uint64_t guid)
{
	size_t i;

	for (i = 0; guid && i < SMS; i++)
		if (s->sms[i].guid == guid)
			return &s->sms[i];
	return NULL;
}

/* The way from here to the other end of a directed route. */
static uint8_t get_way(uint8_t hops[SMP_MAX_HOPS],
		       const struct mad_capture *cap)
{
	const uint8_t *mad = cap->data;
	const bool from_here = cap->sent !=
		((mad[MAD_METHOD] & METHOD_RESPONSE) != 0);
	const uint8_t n = mad[SMP_HOP_COUNT];
	uint8_t i;

	if (mad[MAD_CLASS] != CLASS_SUBN_DIR || n > SMP_MAX_HOPS ||
	    cap->len < MAD_SIZE)
		return 0;
	for (i = 0; i < n; i++)
		hops[i] = from_here ? mad[SMP_INITIAL_PATH + 1 + i] :
				      mad[SMP_RETURN_PATH + n - i];
	return n;
}

static uint16_t get_lid(const struct mad_capture *cap)
{
	return cap->data[MAD_CLASS] == CLASS_SUBN_LID &&
	       cap->peer.lid < LIDS ? cap->peer.lid : 0;
}

/* By where the SMP comes from or goes to. */
static struct sm *find_by_way(struct sms *s, const struct mad_capture *cap)
{
	uint8_t hops[SMP_MAX_HOPS];
	const uint8_t n = get_way(hops, cap);
	const uint16_t lid = get_lid(cap);
	struct sm *sm;
	size_t i;

	for (i = 0; i < SMS; i++) {
		sm = &s->sms[i];
		if (!sm->guid)
			continue;
		if ((lid && sm->lid == lid) ||
		    (n && sm->n_hops == n && !memcmp(sm->hops, hops, n)))
			return sm;
	}
	return NULL;
}

/*
 * foreign_sm
 */

static void add_text(struct alert *a, const struct sms *s, const struct sm *sm,
		     const struct who *who, enum alert_phase phase)
{
	char state[4];

	if (phase == ALERT_END)
		alert_text(a, "SM %s, priority %u, state %s, was heard of %"
			   PRIu64 " times%s", who->text, sm->priority,
			   state_text(state, sm->state), sm->episode.count,
			   s->mono_ns > sm->episode.last_mono_ns + quiet_ns ?
			   ", and no longer for 60 s: if it should be there, see why it went" :
			   "");
	else if (sm->clashes)
		alert_text(a, "SM %s, priority %u, is master while this SM is master, too: stop one of them, or find out why they do not hear each other",
			   who->text, sm->priority);
	else if (is_allowed(s, sm->guid))
		alert_text(a, "SM %s, priority %u, state %s, is on this fabric; sm_allow has it, so nothing is to be done",
			   who->text, sm->priority,
			   state_text(state, sm->state));
	else
		alert_text(a, "SM %s, priority %u, state %s, is on this fabric and not in sm_allow: stop it, or add %s to sm_allow",
			   who->text, sm->priority,
			   state_text(state, sm->state), who->guid);
}

static void say(struct sms *s, struct sm *sm, enum alert_phase phase)
{
	const bool allowed = is_allowed(s, sm->guid);
	struct who who;
	struct alert a;
	char state[4];

	identify(s, &who, sm->guid, sm->lid);
	alert_init(&a, s->host, "foreign_sm", sm->clashes ? "critical" :
		   allowed ? "info" : "warning");
	if (who.is.addr.lid)
		alert_about(&a, &who.is);
	alert_subject(&a, "SM %s", who.guid);
	add_text(&a, s, sm, &who, phase);
	alert_string(&a, "sm_guid", who.guid);
	alert_number(&a, "priority", sm->priority);
	alert_string(&a, "state", state_text(state, sm->state));
	if (who.is.addr.lid)
		alert_number(&a, "lid", who.is.addr.lid);
	alert_string(&a, "allowed", allowed ? "yes" : "no");
	alert_say(&a, phase, &sm->episode, s->mono_ns);
	sm->changed = false;
}

static void end(struct sms *s, struct sm *sm)
{
	say(s, sm, ALERT_END);
	sm->guid = 0;
}

static bool is_due(const struct sms *s, const struct sm *sm)
{
	return sm->changed &&
	       s->mono_ns >= sm->episode.said_mono_ns + SECOND_NS;
}

/* Who may make room: nobody whom one has to know of, or heard of lately. */
static bool may_go(const struct sms *s, const struct sm *sm)
{
	return !sm->clashes && !is_allowed(s, sm->guid) &&
	       s->mono_ns > sm->episode.last_mono_ns + room_ns;
}

/* NULL: there is no room. */
static struct sm *new_sm(struct sms *s, uint64_t guid)
{
	struct sm *sm = NULL, *other;
	size_t i;

	for (i = 0; i < SMS && (!sm || sm->guid); i++) {
		other = &s->sms[i];
		if (!other->guid || (may_go(s, other) &&
		    (!sm || other->episode.last_mono_ns <
			    sm->episode.last_mono_ns)))
			sm = other;
	}
	if (!sm)
		return NULL;
	if (sm->guid)
		end(s, sm);
	memset(sm, 0, sizeof(*sm));
	sm->guid = guid;
	return sm;
}

static void note_clash(const struct sms *s, struct sm *sm)
{
	const bool clashes = sm->state == SM_STATE_MASTER &&
			     s->own_state == SM_STATE_MASTER;

	sm->changed |= sm->clashes != clashes;
	sm->clashes = clashes;
}

/* One more sign of it. */
static void hear(struct sms *s, struct sm *sm, uint64_t time_ns)
{
	enum alert_phase phase = episode_add(&sm->episode, time_ns, s->mono_ns);

	/* that it is still there is nothing new */
	if (phase == ALERT_BEGIN)
		say(s, sm, phase);
	else if (is_due(s, sm))
		say(s, sm, ALERT_UPDATE);
}

/* An SMInfo that another SM sent. */
static void take_info(struct sms *s, const struct mad_capture *cap,
		      uint64_t guid, uint64_t time_ns)
{
	const uint8_t byte = cap->data[SMP_DATA + SM_INFO_PRI_STATE];
	const uint8_t priority = byte >> 4, state = byte & 0xf;
	struct sm *sm = find_sm(s, guid);
	uint8_t hops[SMP_MAX_HOPS];
	uint8_t n_hops;

	if (!sm)
		sm = new_sm(s, guid);
	if (!sm)
		return;
	sm->changed |= sm->priority != priority || sm->state != state;
	sm->priority = priority;
	sm->state = state;
	note_clash(s, sm);
	n_hops = get_way(hops, cap);
	if (n_hops) {
		sm->n_hops = n_hops;
		memcpy(sm->hops, hops, n_hops);
	}
	if (get_lid(cap))
		sm->lid = get_lid(cap);
	hear(s, sm, time_ns);
}

/*
 * sm_handover
 */

/* The other one: of the last control, else who is master, or was heard last. */
static const struct sm *find_partner(struct sms *s)
{
	const struct sm *sm, *best = NULL;
	size_t i;

	if (s->partner && s->mono_ns <= s->partner_ns + quiet_ns)
		best = find_sm(s, s->partner);
	if (best)
		return best;
	for (i = 0; i < SMS; i++) {
		sm = &s->sms[i];
		if (!sm->guid)
			continue;
		if (!best || (sm->state == SM_STATE_MASTER) >
			     (best->state == SM_STATE_MASTER) ||
		    ((sm->state == SM_STATE_MASTER) ==
		     (best->state == SM_STATE_MASTER) &&
		     sm->episode.last_mono_ns > best->episode.last_mono_ns))
			best = sm;
	}
	return best;
}

static void say_change(struct sms *s, uint8_t before, uint8_t now)
{
	const struct sm *other = find_partner(s);
	char texts[2][4];
	const char *from = state_text(texts[0], before);
	const char *to = state_text(texts[1], now);
	struct who who;
	struct alert a;

	alert_init(&a, s->host, "sm_handover", "warning");
	alert_subject(&a, "this SM");
	if (other)
		identify(s, &who, other->guid, other->lid);
	if (other && who.is.addr.lid)
		alert_about(&a, &who.is);
	alert_text(&a, "this SM was %s and is %s now%s%s: %s", from, to,
		   other ? ", the other one is SM " : "",
		   other ? who.text : "", now == SM_STATE_MASTER ?
		   "if nobody meant it to, see why the master before it went" :
		   "see that the master is the SM that should be");
	alert_string(&a, "event", "state");
	alert_string(&a, "from", from);
	alert_string(&a, "to", to);
	if (other)
		alert_string(&a, "sm_guid", who.guid);
	alert_say(&a, ALERT_ONCE, NULL, s->mono_ns);
}

/*
 * A standby that takes over, and an SM that starts, are discovering for a
 * moment: that alone is no news.
 */
static void note_state(struct sms *s, uint8_t state)
{
	const uint8_t before = s->settled;
	size_t i;

	s->own_state = state;
	/* what was heard of others before ours is master may be over */
	for (i = 0; state != SM_STATE_MASTER && i < SMS; i++)
		if (s->sms[i].guid)
			note_clash(s, &s->sms[i]);
	if (state == before ||
	    (state == SM_STATE_DISCOVERING && before != SM_STATE_MASTER))
		return;
	s->settled = state;
	if (before != STATE_UNKNOWN &&
	    (before == SM_STATE_MASTER || state == SM_STATE_MASTER))
		say_change(s, before, state);
}

static void say_control(struct sms *s, const struct mad_capture *cap,
			const char *control, uint64_t guid, uint64_t repeats)
{
	struct who who = { .text = "(not known)" };
	struct alert a;

	if (guid)
		identify(s, &who, guid, get_lid(cap));
	alert_init(&a, s->host, "sm_handover", "warning");
	if (who.is.addr.lid)
		alert_about(&a, &who.is);
	alert_subject(&a, "this SM");
	alert_text(&a, cap->sent ?
		   "this SM sends the control %s to SM %s: %s" :
		   "the control %s comes from SM %s: %s", control, who.text,
		   "if no SM was started, ended or given another priority, see who did that");
	alert_string(&a, "event", "control");
	alert_string(&a, "control", control);
	alert_string(&a, "direction", cap->sent ? "sent" : "received");
	if (guid)
		alert_string(&a, "sm_guid", who.guid);
	if (repeats)
		alert_number(&a, "repeats", repeats);
	alert_say(&a, ALERT_ONCE, NULL, s->mono_ns);
}

/* The same is told once a minute, of whoever sends it once a second. */
static void take_control(struct sms *s, const struct mad_capture *cap,
			 uint64_t guid)
{
	const uint32_t control = mad_get32(cap->data + MAD_ATTR_MOD);
	uint64_t pause_ns, repeats;
	struct told *told;

	if (!control || control >= CONTROLS)
		return;
	s->partner = guid;
	s->partner_ns = s->mono_ns;
	told = &s->told[cap->sent][control];
	pause_ns = told->guid == guid ? ALERT_UPDATE_NS : SECOND_NS;
	if (told->mono_ns && s->mono_ns < told->mono_ns + pause_ns) {
		told->repeats++;
		return;
	}
	repeats = told->repeats;
	*told = (struct told){ .guid = guid, .mono_ns = s->mono_ns };
	say_control(s, cap, control_names[control], guid, repeats);
}

/*
 * What passes
 */

/* Whose SMInfo it is: the sender's, but in most requests there is none. */
static uint64_t get_guid(const struct sms *s, const struct mad_capture *cap)
{
	const uint64_t guid = mad_get64(cap->data + SMP_DATA + SM_INFO_GUID);

	if (cap->sent || mad_status(cap->data) || guid == own_guid(s))
		return 0;
	return guid;
}

static void take_smp(struct sms *s, const struct mad_capture *cap,
		     uint64_t time_ns)
{
	const uint8_t method = cap->data[MAD_METHOD];
	uint64_t guid = get_guid(s, cap);
	struct sm *sm;

	if (guid)
		take_info(s, cap, guid, time_ns);
	sm = guid ? NULL : find_by_way(s, cap);
	if (sm && !cap->sent && method == METHOD_GET)
		hear(s, sm, time_ns);
	if (sm)
		guid = sm->guid;
	if (method == METHOD_SET)
		take_control(s, cap, guid);
}

static void sm_record(void *state, const struct record *r, uint64_t mono_ns)
{
	const struct mad_capture *cap = r->mad.capture;
	struct sms *s = state;
	uint8_t i;

	s->mono_ns = mono_ns;
	if (r->type == RECORD_STATE && r->state.sm_state) {
		for (i = 0; sm_state_name(i); i++)
			if (!strcmp(sm_state_name(i), r->state.sm_state))
				note_state(s, i);
	} else if (r->type == RECORD_MAD &&
		   mad_is_smp(cap->data[MAD_CLASS]) &&
		   mad_get16(cap->data + MAD_ATTR_ID) == ATTR_SM_INFO &&
		   cap->len >= SMP_DATA + SMP_DATA_SIZE) {
		take_smp(s, cap, r->time_ns);
	}
}

static void sm_tick(void *state, uint64_t mono_ns)
{
	struct sms *s = state;
	enum alert_phase phase;
	struct sm *sm;
	size_t i;

	s->mono_ns = mono_ns;
	for (i = 0; i < SMS; i++) {
		sm = &s->sms[i];
		if (!sm->guid)
			continue;
		phase = episode_pass(&sm->episode, quiet_ns, mono_ns);
		if (phase == ALERT_END)
			end(s, sm);
		else if (phase == ALERT_UPDATE || is_due(s, sm))
			say(s, sm, ALERT_UPDATE);
	}
}

static void sm_flush(void *state, uint64_t mono_ns)
{
	struct sms *s = state;
	size_t i;

	s->mono_ns = mono_ns;
	for (i = 0; i < SMS; i++)
		if (s->sms[i].guid)
			end(s, &s->sms[i]);
}

static bool sm_open(const struct watch_host *host, void **state)
{
	struct sms *s = calloc(1, sizeof(*s));

	if (!s)
		return false;
	s->host = host;
	s->own_state = s->settled = STATE_UNKNOWN;
	*state = s;
	return true;
}

static void sm_close(void *state)
{
	free(state);
}

const struct watcher watch_sm = {
	.open = sm_open,
	.record = sm_record,
	.tick = sm_tick,
	.flush = sm_flush,
	.close = sm_close,
};
