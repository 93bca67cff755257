/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Records as JSON and as lines. Every sink writes what these say, so nothing
 * here may let bytes from the wire reach a terminal or break a line.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "attributes.h"
#include "field.h"
#include "json.h"
#include "names.h"
#include "record.h"
#include "trap.h"

enum {
	QUERY_LINE_MAX = 480,	/* leaves a line room for its outcome */
	PATH_TEXT_MAX = 4 * (SMP_MAX_HOPS + 1),	/* "255," each */
	NAME_TEXT_MAX = 8,	/* "0x" and four digits */
};

static const char *const type_names[] = {
	[RECORD_SA] = "sa",
	[RECORD_MAD] = "mad",
	[RECORD_SEND_ERROR] = "send_error",
	[RECORD_TRAP] = "trap",
	[RECORD_ALERT] = "alert",
	[RECORD_STATE] = "state",
	[RECORD_LOSS] = "loss",
	[RECORD_START] = "start",
	[RECORD_STOP] = "stop",
};

static const char *const outcome_names[] = {
	[SA_ANSWERED] = "answered",
	[SA_UNANSWERED] = "unanswered",
	[SA_FAILED] = "failed",
};

static const struct {
	const char *name;
	const char *words;
} reasons[] = {
	[SA_REASON_NONE] = { NULL, "reason unknown" },
	[SA_REASON_SM_NOT_MASTER] = { "sm_not_master", "SM is not master" },
	[SA_REASON_FIRST_SWEEP] = { "first_sweep",
				    "SM is in its first sweep" },
	[SA_REASON_SM_KEY] = { "sm_key", "wrong SM_Key" },
	[SA_REASON_UNSUPPORTED_ATTRIBUTE] = { "unsupported_attribute",
					      "attribute not supported" },
	[SA_REASON_UNSUPPORTED_METHOD] = { "unsupported_method",
					   "method not supported" },
	[SA_REASON_OVERLOAD] = { "overload", "SA is overloaded" },
	[SA_REASON_SEND_ERROR] = { "send_error", "send error" },
	[SA_REASON_UNKNOWN] = { "unknown", "reason unknown" },
};

static const char *const completion_names[] = {
	[MAD_OK] = "ok",
	[MAD_TIMEOUT] = "timeout",
	[MAD_CANCELED] = "canceled",
	[MAD_ERROR] = "error",
};

#define COUNT(table) (sizeof(table) / sizeof((table)[0]))
#define LOOK_UP(table, i) ((size_t)(i) < COUNT(table) ? (table)[i] : NULL)

const char *record_type_name(enum record_type type)
{
	return LOOK_UP(type_names, type);
}

const char *sa_outcome_name(enum sa_outcome outcome)
{
	return LOOK_UP(outcome_names, outcome);
}

const char *sa_reason_name(enum sa_reason reason)
{
	return (size_t)reason < COUNT(reasons) ? reasons[reason].name : NULL;
}

static const char *reason_words(enum sa_reason reason)
{
	if ((size_t)reason >= COUNT(reasons))
		reason = SA_REASON_UNKNOWN;
	return reasons[reason].words;
}

/* The fields of an SA request, as far as it was captured. */
struct sa_request {
	uint8_t method;
	uint16_t attr_id;
	bool has_sm_key;
	bool sm_key_used;
	bool has_mask;
	uint64_t mask;
	uint64_t components;	/* what is shown of the record */
	const uint8_t *rec;
	size_t rec_len;
};

static void read_request(struct sa_request *q, const struct sa_record *sa)
{
	const uint8_t *mad = sa->mad;

	memset(q, 0, sizeof(*q));
	q->method = mad[MAD_METHOD];
	q->attr_id = mad_get16(mad + MAD_ATTR_ID);
	if (sa->len >= SA_SM_KEY + 8) {
		q->has_sm_key = true;
		q->sm_key_used = sa->sm_key_hidden ||
				 mad_get64(mad + SA_SM_KEY) != 0;
	}
	if (sa->len >= SA_COMPONENT_MASK + 8) {
		q->has_mask = true;
		q->mask = mad_get64(mad + SA_COMPONENT_MASK);
	}
	q->components = sa_components(q->attr_id, q->mask);
	q->rec = mad;
	if (sa->len > SA_DATA) {
		q->rec += SA_DATA;
		q->rec_len = sa->len - SA_DATA;
	}
}

/* What a Report carries is a notice. */
static bool is_report(const struct sa_request *q)
{
	return q->method == METHOD_REPORT && q->attr_id == ATTR_NOTICE;
}

static size_t notice_len(const struct sa_request *q)
{
	return q->rec_len < NOTICE_SIZE ? q->rec_len : NOTICE_SIZE;
}

/* A name, or the number when there is none. */
static void name_or_hex(struct json *j, const char *key, const char *name,
			uint64_t number, int digits)
{
	if (name)
		jw_string(j, key, name);
	else
		jw_hex(j, key, number, digits);
}

/* Numbers of 2^53 and more lose digits in most readers (CONTRACT 4). */
static void jw_number(struct json *j, const char *key, uint64_t number)
{
	if (number >> 53)
		jw_hex(j, key, number, 16);
	else
		jw_uint(j, key, number);
}

static void requester_json(struct json *j, const char *key,
			   const struct requester *who)
{
	jw_object(j, key);
	jw_uint(j, "lid", who->addr.lid);
	if (who->addr.has_gid)
		jw_gid(j, "gid", who->addr.gid);
	else
		jw_null(j, "gid");
	jw_uint(j, "qpn", who->addr.qpn);
	if (who->port_guid)
		jw_hex(j, "port_guid", who->port_guid, 16);
	else
		jw_null(j, "port_guid");
	jw_string(j, "name", who->name);
	jw_object_end(j);
}

static void response_json(struct json *j, const struct sa_record *sa)
{
	if (!sa->has_response) {
		jw_null(j, "status");
		jw_null(j, "status_code");
		jw_null(j, "records");
		jw_null(j, "bytes");
		return;
	}
	name_or_hex(j, "status", sa_status_name(sa->status), sa->status, 4);
	jw_uint(j, "status_code", sa->status);
	jw_uint(j, "records", sa->records);
	jw_uint(j, "bytes", sa->bytes);
}

static void sa_json(struct json *j, const struct sa_record *sa,
		    bool show_keys)
{
	const struct sa_attribute *attr;
	struct sa_request q;

	read_request(&q, sa);
	attr = sa_attribute_find(q.attr_id);

	/* most are received, and do not say so */
	if (sa->sent)
		jw_string(j, "direction", "sent");
	requester_json(j, "requester", &sa->requester);
	jw_hex(j, "tid", mad_get64(sa->mad + MAD_TID), 16);
	name_or_hex(j, "method", method_name(CLASS_SUBN_ADM, q.method),
		    q.method, 2);
	name_or_hex(j, "attribute", attr ? attr->name : NULL, q.attr_id, 4);
	jw_uint(j, "attribute_id", q.attr_id);
	if (q.has_mask)
		jw_hex(j, "component_mask", q.mask, 16);
	else
		jw_null(j, "component_mask");
	sa_query_json(j, "query", attr, q.components, q.rec, q.rec_len,
		      show_keys);
	if (is_report(&q)) {
		jw_object(j, "notice");
		trap_json(j, q.rec, notice_len(&q), show_keys);
		jw_object_end(j);
	}
	jw_string(j, "outcome", sa_outcome_name(sa->outcome));
	jw_string(j, "reason", sa->outcome == SA_ANSWERED ?
		    NULL : sa_reason_name(sa->reason));
	response_json(j, sa);
	jw_uint(j, "retries", sa->retries);
	if (sa->has_response)
		jw_number(j, "latency_us", sa->latency_ns / 1000);
	else
		jw_null(j, "latency_us");
	if (q.has_sm_key)
		jw_bool(j, "sm_key_used", q.sm_key_used);
	else
		jw_null(j, "sm_key_used");
	if (sa->capture_lost)
		jw_bool(j, "capture_lost", true);
	if (sa->evicted)
		jw_bool(j, "evicted", true);
}

/* The initial path "0,1,10"; false when the MAD does not hold it all. */
static bool path_text(char text[PATH_TEXT_MAX], const uint8_t *mad,
		      size_t len)
{
	uint8_t hops = mad[SMP_HOP_COUNT];
	size_t n = 1;
	int i;

	if (hops > SMP_MAX_HOPS || len < (size_t)SMP_INITIAL_PATH + hops + 1)
		return false;
	strcpy(text, "0");	/* entry 0 is unused on the wire */
	for (i = 1; i <= hops; i++)
		n += (size_t)sprintf(text + n, ",%u",
				     mad[SMP_INITIAL_PATH + i]);
	return true;
}

static void mad_json(struct json *j, const struct mad_record *m)
{
	const uint8_t *mad = m->capture->data;
	uint8_t mgmt_class = mad[MAD_CLASS];
	uint16_t attr_id = mad_get16(mad + MAD_ATTR_ID);
	char path[PATH_TEXT_MAX];

	jw_string(j, "direction", m->capture->sent ? "sent" : "received");
	name_or_hex(j, "class", class_name(mgmt_class), mgmt_class, 2);
	jw_uint(j, "class_id", mgmt_class);
	name_or_hex(j, "method", method_name(mgmt_class, mad[MAD_METHOD]),
		    mad[MAD_METHOD], 2);
	name_or_hex(j, "attribute", attribute_name(mgmt_class, attr_id),
		    attr_id, 4);
	jw_uint(j, "attribute_id", attr_id);
	jw_hex(j, "attribute_modifier", mad_get32(mad + MAD_ATTR_MOD), 8);
	jw_hex(j, "tid", mad_get64(mad + MAD_TID), 16);
	jw_uint(j, "status_code", mad_status(mad));
	requester_json(j, "peer", &m->peer);
	if (mgmt_class == CLASS_SUBN_DIR)
		jw_string(j, "path", path_text(path, mad, m->capture->len) ?
			    path : NULL);
	jw_string(j, "completion",
		    LOOK_UP(completion_names, m->capture->completion));
}

static void evidence_json(struct json *j, const struct evidence *e, size_t n)
{
	size_t i;

	for (i = 0; i < n; i++) {
		if (e[i].text)
			jw_string(j, e[i].key, e[i].text);
		else
			jw_number(j, e[i].key, e[i].number);
	}
}

static void alert_json(struct json *j, const struct alert_record *a)
{
	jw_string(j, "alert", a->alert);
	jw_string(j, "severity", a->severity);
	jw_string(j, "subject", a->subject);
	jw_string(j, "text", a->text);
	if (a->who)
		requester_json(j, "requester", a->who);
	evidence_json(j, a->evidence, a->n_evidence);
}

static void start_json(struct json *j, const struct start_record *s)
{
	jw_string(j, "version", s->version);
	jw_string(j, "opensm_version", s->opensm_version);
	jw_string(j, "source", s->source);
	jw_object(j, "options");
	evidence_json(j, s->options, s->n_options);
	jw_object_end(j);
}

static void counts_json(struct json *j, const char *key,
			const struct mad_counts *c)
{
	jw_object(j, key);
	jw_number(j, "sm_received", c->sm_received);
	jw_number(j, "sm_sent", c->sm_sent);
	jw_number(j, "sa_received", c->sa_received);
	jw_number(j, "sa_sent", c->sa_sent);
	jw_object_end(j);
}

size_t record_json(const struct record *r, char *buf, size_t size)
{
	struct json j;

	jw_init(&j, buf, size);
	jw_time(&j, "time", r->time_ns);
	jw_string(&j, "type", record_type_name(r->type));
	switch (r->type) {
	case RECORD_SA:
		sa_json(&j, &r->sa, r->show_keys);
		break;
	case RECORD_MAD:
	case RECORD_SEND_ERROR:
		mad_json(&j, &r->mad);
		break;
	case RECORD_TRAP:
		trap_json(&j, r->trap.notice, r->trap.len, r->show_keys);
		requester_json(&j, "from", &r->trap.from);
		jw_bool(&j, "repressed", r->trap.repressed);
		break;
	case RECORD_ALERT:
		alert_json(&j, &r->alert);
		break;
	case RECORD_STATE:
		jw_string(&j, "state", r->state.state);
		jw_string(&j, "sm_state", r->state.sm_state);
		break;
	case RECORD_LOSS:
		jw_string(&j, "where", r->loss.where);
		jw_number(&j, "lost", r->loss.lost);
		jw_number(&j, "total", r->loss.total);
		break;
	case RECORD_START:
		start_json(&j, &r->start);
		break;
	case RECORD_STOP:
		start_json(&j, &r->stop.what);
		counts_json(&j, "captured", &r->stop.captured);
		counts_json(&j, "opensm", &r->stop.opensm);
		jw_bool(&j, "complete", r->stop.complete);
		jw_number(&j, "lost", r->stop.lost);
		break;
	}
	return j.full ? 0 : j.len;
}

/* A string that may have text from the wire, or what is missing. */
static void add_word(struct words *w, const char *text)
{
	if (!text)
		text = "?";
	words_text(w, text, strlen(text), false);
}

static void add_gid(struct words *w, const uint8_t gid[16])
{
	char text[64];
	struct json j;

	jw_init(&j, text, sizeof(text));
	jw_gid(&j, NULL, gid);
	words_add(w, "%.*s", (int)j.len - 2, text + 1);	/* no quotes */
}

/* LID 7 "node012 HCA-1" (0x0002c903000e0b72) */
static void add_requester(struct words *w, const struct requester *who)
{
	words_add(w, "LID %u", who->addr.lid);
	if (who->name) {
		words_add(w, " \"");
		words_text(w, who->name, strlen(who->name), true);
		words_add(w, "\"");
	}
	if (who->port_guid) {
		words_add(w, " (0x%016" PRIx64 ")", who->port_guid);
	} else if (who->addr.has_gid) {
		words_add(w, " (");
		add_gid(w, who->addr.gid);
		words_add(w, ")");
	}
}

static const char *name_or_number(const char *name, unsigned int number,
				  int digits, char text[NAME_TEXT_MAX])
{
	if (name)
		return name;
	snprintf(text, NAME_TEXT_MAX, "0x%0*x", digits, number);
	return text;
}

/* What was asked for, after a colon; what is too long ends with "...". */
static void add_query(struct words *w, const struct sa_request *q,
		      bool show_keys)
{
	char text[RECORD_LINE_MAX];
	size_t len;

	if (is_report(q)) {
		len = trap_text(text, sizeof(text), q->rec, notice_len(q),
				show_keys);
	} else {
		len = sa_query_text(text, sizeof(text),
				    sa_attribute_find(q->attr_id),
				    q->components, q->rec, q->rec_len,
				    show_keys);
	}
	if (!len)
		return;
	if (len > QUERY_LINE_MAX) {
		len = QUERY_LINE_MAX;
		while (len && text[len] != ' ')
			len--;
		strcpy(text + len, " ...");
	}
	words_add(w, ": %s", text);
}

static void add_answer(struct words *w, const struct sa_record *sa,
		       bool is_table)
{
	char status[NAME_TEXT_MAX];

	if (!sa->has_response) {
		words_add(w, "answered");
		return;
	}
	words_add(w, "%s", name_or_number(sa_status_name(sa->status),
					  sa->status, 4, status));
	if (sa->records > 1 || (is_table && !sa->status))
		words_add(w, ", %" PRIu32 " record%s", sa->records,
			  sa->records == 1 ? "" : "s");
	words_add(w, ", %" PRIu64 " us", sa->latency_ns / 1000);
}

static void sa_line(struct words *w, const struct sa_record *sa,
		    bool show_keys)
{
	char method[NAME_TEXT_MAX], attribute[NAME_TEXT_MAX];
	struct sa_request q;

	read_request(&q, sa);
	words_add(w, "%s %s %s ",
		  name_or_number(method_name(CLASS_SUBN_ADM, q.method),
				 q.method, 2, method),
		  name_or_number(attribute_name(CLASS_SUBN_ADM, q.attr_id),
				 q.attr_id, 4, attribute),
		  sa->sent ? "to" : "from");
	add_requester(w, &sa->requester);
	add_query(w, &q, show_keys);
	words_add(w, " -> ");
	switch (sa->outcome) {
	case SA_ANSWERED:
		add_answer(w, sa, mad_is_table_method(q.method));
		break;
	case SA_UNANSWERED:
		words_add(w, "no answer: %s%s", reason_words(sa->reason),
			  sa->capture_lost ? " (or it was not captured)" : "");
		break;
	case SA_FAILED:
		words_add(w, "failed: %s", reason_words(sa->reason));
		break;
	}
	if (sa->retries)
		words_add(w, ", %" PRIu32 " retr%s", sa->retries,
			  sa->retries == 1 ? "y" : "ies");
}

/* sent SubnDR Get NodeInfo to path 0,1,10 */
static void mad_line(struct words *w, const struct mad_record *m)
{
	const uint8_t *mad = m->capture->data;
	uint8_t mgmt_class = mad[MAD_CLASS];
	uint16_t attr_id = mad_get16(mad + MAD_ATTR_ID);
	char class_text[NAME_TEXT_MAX], method[NAME_TEXT_MAX];
	char attribute[NAME_TEXT_MAX], path[PATH_TEXT_MAX];
	const char *completion;

	words_add(w, "%s %s %s %s %s ", m->capture->sent ? "sent" : "received",
		  name_or_number(class_name(mgmt_class), mgmt_class, 2,
				 class_text),
		  name_or_number(method_name(mgmt_class, mad[MAD_METHOD]),
				 mad[MAD_METHOD], 2, method),
		  name_or_number(attribute_name(mgmt_class, attr_id), attr_id,
				 4, attribute),
		  m->capture->sent ? "to" : "from");
	if (mgmt_class == CLASS_SUBN_DIR &&
	    path_text(path, mad, m->capture->len))
		words_add(w, "path %s", path);
	else
		add_requester(w, &m->peer);
	if (mad_status(mad))
		words_add(w, ", status 0x%04x", mad_status(mad));
	completion = LOOK_UP(completion_names, m->capture->completion);
	if (m->capture->completion != MAD_OK)
		words_add(w, ", completed in error: %s",
			  completion ? completion : "error");
}

static void trap_line(struct words *w, const struct record *r)
{
	const struct trap_record *trap = &r->trap;
	char text[RECORD_LINE_MAX];

	trap_text(text, sizeof(text), trap->notice, trap->len, r->show_keys);
	words_add(w, "%s", text);
	if (trap->from.addr.lid) {
		words_add(w, ", sent by ");
		add_requester(w, &trap->from);
	}
	if (trap->repressed)
		words_add(w, ", repressed");
}

static void alert_line(struct words *w, const struct alert_record *a)
{
	words_add(w, "ALERT ");
	add_word(w, a->severity);
	words_add(w, " ");
	add_word(w, a->alert);
	words_add(w, ": ");
	add_word(w, a->text);
}

static void state_line(struct words *w, const struct state_record *s)
{
	words_add(w, "state ");
	add_word(w, s->state);
	if (s->sm_state) {
		words_add(w, ", SM is ");
		add_word(w, s->sm_state);
	}
}

static void start_line(struct words *w, const struct start_record *s)
{
	size_t i;

	words_add(w, "start: version ");
	add_word(w, s->version);
	words_add(w, ", ");
	add_word(w, s->opensm_version);
	words_add(w, ", source ");
	add_word(w, s->source);
	if (s->n_options)
		words_add(w, ", options");
	for (i = 0; i < s->n_options; i++) {
		words_add(w, " %s=", s->options[i].key);
		if (s->options[i].text)
			add_word(w, s->options[i].text);
		else
			words_add(w, "%" PRIu64, s->options[i].number);
	}
}

static void add_counts(struct words *w, const struct mad_counts *c)
{
	words_add(w, "SM %" PRIu64 " received %" PRIu64 " sent, SA %" PRIu64
		  " received %" PRIu64 " sent", c->sm_received, c->sm_sent,
		  c->sa_received, c->sa_sent);
}

static void stop_line(struct words *w, const struct stop_record *s)
{
	words_add(w, "stop: captured ");
	add_counts(w, &s->captured);
	words_add(w, "; OpenSM counted ");
	add_counts(w, &s->opensm);
	words_add(w, "; %s, %" PRIu64 " lost",
		  s->complete ? "captures complete" :
				"captures not complete", s->lost);
}

size_t record_line(const struct record *r, char *buf, size_t size)
{
	struct words w;

	words_init(&w, buf, size);
	switch (r->type) {
	case RECORD_SA:
		sa_line(&w, &r->sa, r->show_keys);
		break;
	case RECORD_MAD:
	case RECORD_SEND_ERROR:
		mad_line(&w, &r->mad);
		break;
	case RECORD_TRAP:
		trap_line(&w, r);
		break;
	case RECORD_ALERT:
		alert_line(&w, &r->alert);
		break;
	case RECORD_STATE:
		state_line(&w, &r->state);
		break;
	case RECORD_LOSS:
		words_add(&w, "lost %" PRIu64 " captures (", r->loss.lost);
		add_word(&w, r->loss.where);
		words_add(&w, "), %" PRIu64 " in all", r->loss.total);
		break;
	case RECORD_START:
		start_line(&w, &r->start);
		break;
	case RECORD_STOP:
		stop_line(&w, &r->stop);
		break;
	}
	return w.len;
}

static void sa_brief(struct words *w, const struct sa_record *sa)
{
	char method[NAME_TEXT_MAX], attribute[NAME_TEXT_MAX];
	char status[NAME_TEXT_MAX];
	struct sa_request q;

	read_request(&q, sa);
	add_requester(w, &sa->requester);
	words_add(w, " %s %s ",
		  name_or_number(method_name(CLASS_SUBN_ADM, q.method),
				 q.method, 2, method),
		  name_or_number(attribute_name(CLASS_SUBN_ADM, q.attr_id),
				 q.attr_id, 4, attribute));
	if (sa->has_response)
		words_add(w, "%s", name_or_number(sa_status_name(sa->status),
						  sa->status, 4, status));
	else
		words_add(w, "%s", sa_outcome_name(sa->outcome));
}

/* Their lines are short already. */
size_t record_brief(const struct record *r, char *buf, size_t size)
{
	struct words w;

	if (r->type != RECORD_SA)
		return record_line(r, buf, size);
	words_init(&w, buf, size);
	sa_brief(&w, &r->sa);
	return w.len;
}

bool record_is_audit(const struct record *r)
{
	switch (r->type) {
	case RECORD_SA:
		return r->sa.mad[MAD_METHOD] == METHOD_SET ||
		       r->sa.mad[MAD_METHOD] == METHOD_DELETE;
	case RECORD_MAD:
	case RECORD_SEND_ERROR:
		return false;
	default:
		return true;
	}
}

uint16_t record_lid(const struct record *r)
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
