/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
#include <stdlib.h>
#include <string.h>

#include "json.h"
#include "memory.h"
#include "names.h"
#include "summary_show.h"
#include "trap.h"

/* One object of a list at a time; the rest is less. */
enum { BUFFER_SIZE = 4096 };

struct writer {
	const struct summary_view *view;
	const struct summary *summary;
	struct json json;
	char buffer[BUFFER_SIZE];
	struct summary_count *order;
};

/* What was written so far goes out, on a line of its own. */
static void flush(struct writer *w)
{
	fwrite(w->buffer, 1, w->json.len, w->view->out);
	putc('\n', w->view->out);
	w->json.len = 0;
}

/* 2^53 and more lose digits in most readers. */
static void write_number(struct json *j, const char *key, uint64_t n)
{
	if (n >> 53)
		jw_hex(j, key, n, 16);
	else
		jw_uint(j, key, n);
}

static void write_time(struct json *j, const char *key, uint64_t time_ns)
{
	if (time_ns)
		jw_time(j, key, time_ns);
	else
		jw_null(j, key);
}

static void write_name(struct json *j, const char *key, const char *name,
		       uint64_t number, int digits)
{
	if (name)
		jw_string(j, key, name);
	else
		jw_hex(j, key, number, digits);
}

static void write_latency(struct json *j, const struct latency *l)
{
	if (!l->n) {
		jw_null(j, "latency_us");
		return;
	}
	jw_object(j, "latency_us");
	write_number(j, "p50", latency_percentile(l, 50));
	write_number(j, "p90", latency_percentile(l, 90));
	write_number(j, "p99", latency_percentile(l, 99));
	write_number(j, "max", l->max);
	jw_object_end(j);
}

/* Members of the object that is open. */
static void write_row(struct json *j, const struct summary_row *row)
{
	int i;

	write_number(j, "requests", row->requests);
	for (i = SA_ANSWERED; i <= SA_FAILED; i++)
		write_number(j, sa_outcome_name((enum sa_outcome)i),
			     row->outcomes[i]);
	write_number(j, "errors", row->errors);
	write_number(j, "retries", row->retries);
	write_number(j, "repeats", row->repeats);
	write_number(j, "records", row->records);
	write_latency(j, &row->latency);
}

/* Class, method and attribute; all null for the row of those without one. */
static void write_attribute(struct json *j, const struct summary_keys *keys,
			    size_t row)
{
	uint32_t id;
	uint8_t mgmt_class, method;
	uint16_t attr_id;

	if (row == SUMMARY_KEYS) {
		jw_null(j, "class");
		jw_null(j, "method");
		jw_null(j, "attribute");
		jw_null(j, "attribute_id");
		return;
	}
	id = keys->keys[row];
	mgmt_class = (uint8_t)(id >> 24);
	method = (uint8_t)(id >> 16);
	attr_id = (uint16_t)id;
	write_name(j, "class", class_name(mgmt_class), mgmt_class, 2);
	write_name(j, "method", method_name(mgmt_class, method), method, 2);
	write_name(j, "attribute", attribute_name(mgmt_class, attr_id), attr_id,
		   4);
	jw_uint(j, "attribute_id", attr_id);
}

/*
 * Lists
 */

static void write_list(struct writer *w, const char *key, size_t n,
		       void (*write)(struct writer *w,
				     const struct summary_count *c))
{
	size_t i;

	jw_array(&w->json, key);
	for (i = 0; i < n; i++) {
		jw_object(&w->json, NULL);
		write(w, &w->order[i]);
		jw_object_end(&w->json);
		flush(w);
	}
	jw_array_end(&w->json);
}

static void write_query(struct writer *w, const struct summary_count *c)
{
	write_attribute(&w->json, &w->summary->attribute_keys, c->number);
	write_row(&w->json, &w->summary->attributes[c->number]);
}

static void write_requester(struct writer *w, const struct summary_count *c)
{
	const struct summary_requester *who =
		w->summary->requesters[c->number];
	struct json *j = &w->json;

	jw_uint(j, "lid", who->lid);
	if (who->port_guid)
		jw_hex(j, "port_guid", who->port_guid, 16);
	else
		jw_null(j, "port_guid");
	jw_string(j, "name", *who->name ? who->name : NULL);
	write_row(j, &who->row);
}

static void write_status(struct writer *w, const struct summary_count *c)
{
	write_name(&w->json, "status", sa_status_name(c->number), c->number, 4);
	jw_uint(&w->json, "status_code", c->number);
	write_number(&w->json, "answers", c->count);
}

static void write_trap(struct writer *w, const struct summary_count *c)
{
	jw_uint(&w->json, "trap_number", c->number);
	jw_string(&w->json, "name", trap_name(c->number));
	write_number(&w->json, "traps", c->count);
}

static void write_mads(struct writer *w, const struct summary_count *c)
{
	const struct summary_mads *m = &w->summary->mads[c->number];

	write_attribute(&w->json, &w->summary->mad_keys, c->number);
	write_number(&w->json, "received", m->received);
	write_number(&w->json, "sent", m->sent);
	write_number(&w->json, "send_errors", m->errors);
}

/*
 * Objects
 */

static void write_files(struct writer *w)
{
	const struct records_stats *f = w->view->stats;
	struct json *j = &w->json;

	jw_object(j, "files");
	write_number(j, "traces", f->traces);
	write_number(j, "captures", f->captures);
	write_number(j, "bytes", f->bytes);
	write_number(j, "lines", f->lines);
	write_number(j, "packets", f->packets);
	write_number(j, "mads", f->mads);
	write_number(j, "others", f->others);
	write_number(j, "broken", f->broken);
	write_number(j, "broken_off", f->broken_off);
	jw_object_end(j);
	flush(w);
}

static void write_records(struct writer *w)
{
	const struct summary *s = w->summary;
	struct json *j = &w->json;
	size_t i;

	write_number(j, "records", s->records);
	jw_object(j, "types");
	for (i = 0; i < SUMMARY_TYPES; i++)
		write_number(j, record_type_name((enum record_type)i),
			     s->types[i]);
	jw_object_end(j);
	write_time(j, "first", s->first_ns);
	write_time(j, "last", s->last_ns);
	write_number(j, "lost", s->lost);
	flush(w);
}

static void write_rates(struct writer *w)
{
	const struct summary *s = w->summary;
	struct json *j = &w->json;

	jw_object(j, "rate");
	jw_thousandths(j, "mean", (uint64_t)(summary_rate(s) * 1000 + 0.5));
	write_number(j, "peak", s->peak);
	write_time(j, "peak_time", s->peak_second * 1000000000);
	jw_object_end(j);
	jw_object(j, "repeats");
	write_number(j, "seconds", s->repeat_ns / 1000000000);
	jw_bool(j, "all_known", !s->repeats_at_least);
	jw_object_end(j);
	flush(w);
}

static void write_totals(struct writer *w)
{
	const struct summary *s = w->summary;
	struct json *j = &w->json;

	jw_object(j, "sa");
	write_row(j, &s->all);
	jw_object_end(j);
	flush(w);
	jw_object(j, "reports");
	write_row(j, &s->reports);
	jw_object_end(j);
	flush(w);
}

static void write_reasons(struct writer *w)
{
	const struct summary *s = w->summary;
	struct json *j = &w->json;
	const char *name;
	size_t i;

	jw_object(j, "reasons");
	for (i = 0; i < SUMMARY_REASONS; i++) {
		name = sa_reason_name((enum sa_reason)i);
		if (name)
			write_number(j, name, s->reasons[i]);
	}
	jw_object_end(j);
	write_number(j, "capture_lost", s->capture_lost);
	flush(w);
}

static void write_lists(struct writer *w)
{
	const struct summary *s = w->summary;
	size_t n;

	write_list(w, "queries", summary_attributes(s, w->order), write_query);
	n = summary_requesters(s, w->order);
	write_list(w, "requesters", n < w->view->requesters ? n :
		   w->view->requesters, write_requester);
	write_list(w, "statuses", summary_numbers(s->statuses, w->order),
		   write_status);
	write_list(w, "traps", summary_numbers(s->traps, w->order),
		   write_trap);
	write_number(&w->json, "vendor_traps", s->vendor_traps);
	write_list(w, "mads", summary_mads(s, w->order), write_mads);
}

void summary_show_json(const struct summary_view *v)
{
	struct writer w = { .view = v, .summary = v->summary };

	w.order = memory_get(SUMMARY_NUMBERS, sizeof(*w.order));
	jw_init(&w.json, w.buffer, sizeof(w.buffer));
	jw_object(&w.json, NULL);
	write_files(&w);
	write_records(&w);
	write_rates(&w);
	write_totals(&w);
	write_reasons(&w);
	write_lists(&w);
	jw_object_end(&w.json);
	flush(&w);
	free(w.order);
}
