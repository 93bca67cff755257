/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
#include <arpa/inet.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "attributes.h"
#include "field.h"
#include "names.h"
#include "record_read.h"
#include "trap.h"

enum { SA_RECORD_SIZE = MAD_SIZE - SA_DATA };

/*
 * Values
 */

static const char *get_text(const json_t *o, const char *key)
{
	return json_string_value(json_object_get(o, key));
}

static bool get_bool(const json_t *o, const char *key)
{
	return json_is_true(json_object_get(o, key));
}

/* A number, or the text "0x..."; 0 for anything else. */
static uint64_t number_of(const json_t *value)
{
	const char *text = json_string_value(value);

	if (text && text[0] == '0' && text[1] == 'x')
		return strtoull(text, NULL, 16);
	return json_is_integer(value) && json_integer_value(value) > 0 ?
	       (uint64_t)json_integer_value(value) : 0;
}

static uint64_t get_number(const json_t *o, const char *key)
{
	return number_of(json_object_get(o, key));
}

static void set16(uint8_t *p, uint16_t n)
{
	p[0] = (uint8_t)(n >> 8);
	p[1] = (uint8_t)n;
}

static void set64(uint8_t *p, uint64_t n)
{
	int i;

	for (i = 7; i >= 0; i--, n >>= 8)
		p[i] = (uint8_t)n;
}

/* Decimal digits; false when there are others. */
static bool read_digits(const char *text, int n, int *value)
{
	*value = 0;
	for (; n; n--, text++) {
		if (*text < '0' || *text > '9')
			return false;
		*value = 10 * *value + *text - '0';
	}
	return true;
}

/* Does a calendar have it, and a number of nanoseconds? */
static bool is_time(const struct tm *tm)
{
	return tm->tm_year >= 1970 && tm->tm_year < 2554 &&
	       tm->tm_mon >= 1 && tm->tm_mon <= 12 &&
	       tm->tm_mday >= 1 && tm->tm_mday <= 31 &&
	       tm->tm_hour < 24 && tm->tm_min < 60 && tm->tm_sec <= 60;
}

/* "2026-11-29T23:15:28.187258123Z" */
static bool read_time(const char *text, uint64_t *time_ns)
{
	static const char form[] = "dddd-dd-ddTdd:dd:dd.dddddddddZ";
	struct tm tm = { 0 };
	int ns, i;

	for (i = 0; form[i]; i++)
		if (!text[i] || (form[i] != 'd' && text[i] != form[i]))
			return false;
	if (!read_digits(text, 4, &tm.tm_year) ||
	    !read_digits(text + 5, 2, &tm.tm_mon) ||
	    !read_digits(text + 8, 2, &tm.tm_mday) ||
	    !read_digits(text + 11, 2, &tm.tm_hour) ||
	    !read_digits(text + 14, 2, &tm.tm_min) ||
	    !read_digits(text + 17, 2, &tm.tm_sec) ||
	    !read_digits(text + 20, 9, &ns) || !is_time(&tm))
		return false;
	tm.tm_year -= 1900;
	tm.tm_mon--;
	*time_ns = (uint64_t)timegm(&tm) * 1000000000 + (uint64_t)ns;
	return true;
}

static void read_requester(const json_t *o, struct requester *who)
{
	const char *gid = get_text(o, "gid");

	*who = (struct requester){
		.addr = {
			.lid = (uint16_t)get_number(o, "lid"),
			.qpn = (uint32_t)get_number(o, "qpn"),
		},
		.port_guid = get_number(o, "port_guid"),
		.name = get_text(o, "name"),
	};
	if (gid)
		who->addr.has_gid = inet_pton(AF_INET6, gid,
					      who->addr.gid) == 1;
}

/*
 * MADs
 */

/* False: it has no method. */
static bool read_header(const json_t *o, uint8_t mgmt_class, uint8_t *mad)
{
	const char *method = get_text(o, "method");

	if (!method)
		return false;
	if (!method_number(method, strlen(method), mad + MAD_METHOD))
		mad[MAD_METHOD] = (uint8_t)strtoul(method, NULL, 16);
	mad[MAD_BASE_VERSION] = 1;
	mad[MAD_CLASS] = mgmt_class;
	set64(mad + MAD_TID, get_number(o, "tid"));
	set16(mad + MAD_ATTR_ID, (uint16_t)get_number(o, "attribute_id"));
	return true;
}

/* "0x" and two digits for each byte, as many as there is room for. */
static void read_bytes(const char *text, uint8_t *bytes, size_t size)
{
	char digits[3] = "";
	size_t i;

	if (!text || strncmp(text, "0x", 2))
		return;
	for (i = 0, text += 2; i < size && text[0] && text[1]; i++, text += 2) {
		memcpy(digits, text, 2);
		bytes[i] = (uint8_t)strtoul(digits, NULL, 16);
	}
}

static void read_gids(const json_t *value, const struct sa_field *f,
		      uint8_t *rec)
{
	size_t first, count, there, i;
	const char *text;

	if (!field_find_gids(f, rec, SA_RECORD_SIZE, &first, &count, &there))
		return;
	for (i = 0; i < there; i++) {
		text = json_string_value(json_array_get(value, i));
		if (text)
			inet_pton(AF_INET6, text, rec + first + 16 * i);
	}
}

static void read_field(const json_t *value, const struct sa_field *f,
		       uint8_t *rec)
{
	const char *text = json_string_value(value);
	uint8_t *bytes = rec + f->offset / 8u;
	const size_t size = f->width / 8u;

	if (f->offset + f->width > 8 * SA_RECORD_SIZE)
		return;
	switch ((enum field_kind)f->kind) {
	case FIELD_NUMBER:
	case FIELD_HEX:
	case FIELD_GUID:
		field_set(f, rec, number_of(value));
		break;
	case FIELD_FLAG:
		field_set(f, rec, json_is_true(value));
		break;
	case FIELD_GID:
		if (text)
			inet_pton(AF_INET6, text, bytes);
		break;
	case FIELD_GIDS:
		read_gids(value, f, rec);
		break;
	case FIELD_KEY:
	case FIELD_BYTES:
		read_bytes(text, bytes, size);
		break;
	case FIELD_TEXT:
		if (text)
			memcpy(bytes, text, strnlen(text, size));
		break;
	}
}

static void read_query(const json_t *query, uint16_t attr_id, uint8_t *rec)
{
	const struct sa_attribute *attr = sa_attribute_find(attr_id);
	const json_t *value;
	size_t i;

	for (i = 0; attr && i < attr->n_fields; i++) {
		value = json_object_get(query, attr->fields[i].name);
		if (value)
			read_field(value, &attr->fields[i], rec);
	}
}

static bool is_sent(const json_t *o)
{
	const char *direction = get_text(o, "direction");

	return direction && !strcmp(direction, "sent");
}

static bool read_outcome(const json_t *o, struct sa_record *sa)
{
	const char *outcome = get_text(o, "outcome");
	const char *reason = get_text(o, "reason"), *name;
	int i;

	for (i = SA_REASON_NONE; reason && i <= SA_REASON_UNKNOWN; i++) {
		name = sa_reason_name((enum sa_reason)i);
		if (name && !strcmp(name, reason))
			sa->reason = (enum sa_reason)i;
	}
	for (i = SA_ANSWERED; outcome && i <= SA_FAILED; i++) {
		sa->outcome = (enum sa_outcome)i;
		if (!strcmp(outcome, sa_outcome_name(sa->outcome)))
			return true;
	}
	return false;
}

static bool read_sa(const json_t *o, struct record_copy *copy)
{
	struct sa_record *sa = &copy->record.sa;

	if (!read_header(o, CLASS_SUBN_ADM, copy->mad) || !read_outcome(o, sa))
		return false;
	set64(copy->mad + SA_COMPONENT_MASK, get_number(o, "component_mask"));
	read_query(json_object_get(o, "query"),
		   mad_get16(copy->mad + MAD_ATTR_ID), copy->mad + SA_DATA);
	read_requester(json_object_get(o, "requester"), &sa->requester);
	sa->sent = is_sent(o);
	sa->mad = copy->mad;
	sa->len = MAD_SIZE;
	sa->sm_key_hidden = get_bool(o, "sm_key_used");
	sa->has_response = json_is_integer(json_object_get(o, "status_code"));
	sa->status = (uint16_t)get_number(o, "status_code");
	sa->records = (uint32_t)get_number(o, "records");
	sa->bytes = (uint32_t)get_number(o, "bytes");
	sa->retries = (uint32_t)get_number(o, "retries");
	sa->latency_ns = get_number(o, "latency_us") * 1000;
	sa->capture_lost = get_bool(o, "capture_lost");
	sa->evicted = get_bool(o, "evicted");
	return true;
}

static enum mad_completion read_completion(const json_t *o)
{
	const char *completion = get_text(o, "completion");

	if (!completion || !strcmp(completion, "ok"))
		return MAD_OK;
	if (!strcmp(completion, "timeout"))
		return MAD_TIMEOUT;
	return strcmp(completion, "canceled") ? MAD_ERROR : MAD_CANCELED;
}

static bool read_mad(const json_t *o, struct record_copy *copy)
{
	struct mad_record *m = &copy->record.mad;

	if (!read_header(o, (uint8_t)get_number(o, "class_id"), copy->mad))
		return false;
	set16(copy->mad + MAD_STATUS, (uint16_t)get_number(o, "status_code"));
	read_requester(json_object_get(o, "peer"), &m->peer);
	copy->capture = (struct mad_capture){
		.data = copy->mad,
		.len = MAD_SIZE,
		.size = MAD_SIZE,
		.time_ns = copy->record.time_ns,
		.sent = is_sent(o),
		.completion = read_completion(o),
		.peer = m->peer.addr,
	};
	m->capture = &copy->capture;
	return true;
}

/* What OpenSM has issued itself came in no MAD. */
static bool read_trap(const json_t *o, struct record_copy *copy)
{
	struct trap_record *trap = &copy->record.trap;
	uint8_t *notice = copy->mad + SMP_DATA;
	const bool generic = get_bool(o, "generic");

	notice[NOTICE_TYPE] = generic ? NOTICE_GENERIC : 0;
	set16(notice + NOTICE_NUMBER, (uint16_t)get_number(o, generic ?
		"trap_number" : "device_id"));
	copy->mad[MAD_BASE_VERSION] = 1;
	copy->mad[MAD_CLASS] = CLASS_SUBN_LID;
	copy->mad[MAD_METHOD] = METHOD_TRAP;
	set16(copy->mad + MAD_ATTR_ID, ATTR_NOTICE);
	read_requester(json_object_get(o, "from"), &trap->from);
	trap->notice = notice;
	trap->len = NOTICE_SMP_SIZE;
	trap->mad = trap->from.addr.lid ? copy->mad : NULL;
	trap->mad_len = MAD_SIZE;
	trap->repressed = get_bool(o, "repressed");
	return true;
}

static bool read_loss(const json_t *o, struct record_copy *copy)
{
	copy->record.loss = (struct loss_record){
		.where = get_text(o, "where"),
		.lost = get_number(o, "lost"),
		.total = get_number(o, "total"),
	};
	return true;
}

static bool read_type(const char *text, enum record_type *type)
{
	int i;

	for (i = RECORD_SA; text && i <= RECORD_STOP; i++) {
		*type = (enum record_type)i;
		if (!strcmp(text, record_type_name(*type)))
			return true;
	}
	return false;
}

bool record_read(const json_t *json, struct record_copy *copy)
{
	const char *time = get_text(json, "time");
	struct record *r = &copy->record;

	memset(copy, 0, sizeof(*copy));
	if (!time || !read_time(time, &r->time_ns) ||
	    !read_type(get_text(json, "type"), &r->type))
		return false;
	switch (r->type) {
	case RECORD_SA:
		return read_sa(json, copy);
	case RECORD_MAD:
	case RECORD_SEND_ERROR:
		return read_mad(json, copy);
	case RECORD_TRAP:
		return read_trap(json, copy);
	case RECORD_LOSS:
		return read_loss(json, copy);
	default:
		return true;
	}
}
