/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "field.h"
#include "json.h"
#include "memory.h"
#include "names.h"
#include "summary_show.h"
#include "trap.h"

enum { KEY_WIDTH = 32, KEY_MAX = 256, TIME_MAX = 40 };

static const char *words_of_reason(enum sa_reason reason)
{
	const char *name = sa_reason_name(reason);

	return name ? name : "unknown";
}

/* As records have it. */
static const char *time_text(char text[TIME_MAX], uint64_t time_ns)
{
	struct json j;

	if (!time_ns)
		return "-";
	jw_init(&j, text, TIME_MAX);
	jw_time(&j, NULL, time_ns);
	text[j.len - 1] = '\0';	/* the quotes */
	return text + 1;
}

static void add_name(struct words *w, const char *name, unsigned number,
		     int digits)
{
	if (name)
		words_add(w, "%s", name);
	else
		words_add(w, "0x%0*x", digits, number);
}

/* "Get PathRecord" */
static void add_attribute(struct words *w, uint8_t mgmt_class, uint8_t method,
			  uint16_t attr_id)
{
	add_name(w, method_name(mgmt_class, method), method, 2);
	words_add(w, " ");
	add_name(w, attribute_name(mgmt_class, attr_id), attr_id, 4);
}

static void show_key(const struct summary_view *v, const char *key)
{
	fprintf(v->out, "  %-*s ", KEY_WIDTH, key);
}

/*
 * Tables of SA transactions
 */

static void show_title(const struct summary_view *v, const char *title)
{
	fprintf(v->out, "\n%-*s %10s %10s %9s %7s %8s %8s %8s %10s %8s %8s %8s %8s\n",
		KEY_WIDTH + 2, title, "requests", "answered", "no answer",
		"failed", "errors", "retries", "repeats", "records", "p50 us",
		"p90 us", "p99 us", "max us");
}

static void show_row(const struct summary_view *v, const char *key,
		     const struct summary_row *row)
{
	show_key(v, key);
	fprintf(v->out, "%10" PRIu64 " %10" PRIu64 " %9" PRIu64 " %7" PRIu64
		" %8" PRIu64 " %8" PRIu64 " %8" PRIu64 " %10" PRIu64,
		row->requests, row->outcomes[SA_ANSWERED],
		row->outcomes[SA_UNANSWERED], row->outcomes[SA_FAILED],
		row->errors, row->retries, row->repeats, row->records);
	if (row->latency.n)
		fprintf(v->out, " %8" PRIu64 " %8" PRIu64 " %8" PRIu64
			" %8" PRIu64, latency_percentile(&row->latency, 50),
			latency_percentile(&row->latency, 90),
			latency_percentile(&row->latency, 99),
			row->latency.max);
	putc('\n', v->out);
}

static void show_attributes(const struct summary_view *v,
			    struct summary_count *order)
{
	const struct summary *s = v->summary;
	const size_t n = summary_attributes(s, order);
	char key[KEY_MAX];
	struct words w;
	uint32_t id;
	size_t i;

	if (!n)
		return;
	show_title(v, "SA queries");
	for (i = 0; i < n; i++) {
		words_init(&w, key, sizeof(key));
		if (order[i].number == SUMMARY_KEYS) {
			words_add(&w, "(others)");
		} else {
			id = s->attribute_keys.keys[order[i].number];
			add_attribute(&w, (uint8_t)(id >> 24),
				      (uint8_t)(id >> 16), (uint16_t)id);
		}
		show_row(v, key, &s->attributes[order[i].number]);
	}
	if (n > 1)
		show_row(v, "all", &s->all);
}

static void show_requesters(const struct summary_view *v,
			    struct summary_count *order)
{
	const size_t n = summary_requesters(v->summary, order);
	const struct summary_requester *who;
	char key[KEY_MAX];
	struct words w;
	size_t i;

	if (!n || !v->requesters)
		return;
	show_title(v, "requesters (LID, name)");
	for (i = 0; i < n && i < v->requesters; i++) {
		who = v->summary->requesters[order[i].number];
		words_init(&w, key, sizeof(key));
		words_add(&w, "%u", who->lid);
		if (*who->name) {
			words_add(&w, " \"");
			words_text(&w, who->name, strlen(who->name), true);
			words_add(&w, "\"");
		} else if (who->port_guid) {
			words_add(&w, " 0x%016" PRIx64, who->port_guid);
		}
		show_row(v, key, &who->row);
	}
	if (n > i)
		fprintf(v->out, "  (and %zu more)\n", n - i);
}

/*
 * Counts
 */

static void show_count(const struct summary_view *v, const char *key,
		       uint64_t count)
{
	show_key(v, key);
	fprintf(v->out, "%10" PRIu64 "\n", count);
}

static void show_types(const struct summary_view *v)
{
	size_t i;

	if (!v->summary->records)
		return;
	fputs("\nrecords by type\n", v->out);
	for (i = 0; i < SUMMARY_TYPES; i++)
		if (v->summary->types[i])
			show_count(v, record_type_name((enum record_type)i),
				   v->summary->types[i]);
}

static void show_reasons(const struct summary_view *v)
{
	const struct summary *s = v->summary;
	bool title = false;
	size_t i;

	for (i = 0; i < SUMMARY_REASONS; i++) {
		if (!s->reasons[i])
			continue;
		if (!title)
			fputs("\nwhy there was no answer\n", v->out);
		title = true;
		show_count(v, words_of_reason((enum sa_reason)i),
			   s->reasons[i]);
	}
	if (s->capture_lost)
		fprintf(v->out, "  %" PRIu64 " of them may have had one that was not captured\n",
			s->capture_lost);
}

static void show_statuses(const struct summary_view *v,
			  struct summary_count *order)
{
	const size_t n = summary_numbers(v->summary->statuses, order);
	char key[KEY_MAX];
	struct words w;
	size_t i;

	if (!v->summary->all.errors)
		return;
	fputs("\nanswers by status\n", v->out);
	for (i = 0; i < n; i++) {
		words_init(&w, key, sizeof(key));
		add_name(&w, sa_status_name(order[i].number), order[i].number,
			 4);
		show_count(v, key, order[i].count);
	}
}

static void show_traps(const struct summary_view *v,
		       struct summary_count *order)
{
	const size_t n = summary_numbers(v->summary->traps, order);
	const char *name;
	char key[KEY_MAX];
	size_t i;

	if (!n && !v->summary->vendor_traps)
		return;
	fputs("\ntraps\n", v->out);
	for (i = 0; i < n; i++) {
		name = trap_name(order[i].number);
		snprintf(key, sizeof(key), "%u%s%s", order[i].number,
			 name ? " " : "", name ? name : "");
		show_count(v, key, order[i].count);
	}
	if (v->summary->vendor_traps)
		show_count(v, "of vendors", v->summary->vendor_traps);
}

static void show_mads(const struct summary_view *v,
		      struct summary_count *order)
{
	const struct summary *s = v->summary;
	const size_t n = summary_mads(s, order);
	const struct summary_mads *m;
	char key[KEY_MAX];
	struct words w;
	uint32_t id;
	size_t i;

	if (!n)
		return;
	fprintf(v->out, "\n%-*s %10s %10s %9s\n", KEY_WIDTH + 2, "other MADs",
		"received", "sent", "failed");
	for (i = 0; i < n; i++) {
		m = &s->mads[order[i].number];
		words_init(&w, key, sizeof(key));
		if (order[i].number == SUMMARY_KEYS) {
			words_add(&w, "(others)");
		} else {
			id = s->mad_keys.keys[order[i].number];
			add_name(&w, class_name((uint8_t)(id >> 24)), id >> 24,
				 2);
			words_add(&w, " ");
			add_attribute(&w, (uint8_t)(id >> 24),
				      (uint8_t)(id >> 16), (uint16_t)id);
		}
		show_key(v, key);
		fprintf(v->out, "%10" PRIu64 " %10" PRIu64 " %9" PRIu64 "\n",
			m->received, m->sent, m->errors);
	}
}

/*
 * The whole
 */

static void show_files(const struct summary_view *v)
{
	const struct summary *s = v->summary;
	const struct records_stats *f = v->stats;
	char first[TIME_MAX], last[TIME_MAX];

	if (f->traces)
		fprintf(v->out, "%" PRIu64 " trace%s, %" PRIu64 " lines\n",
			f->traces, f->traces == 1 ? "" : "s", f->lines);
	if (f->captures)
		fprintf(v->out, "%" PRIu64 " capture%s, %" PRIu64 " MADs\n",
			f->captures, f->captures == 1 ? "" : "s", f->mads);
	if (f->others)
		fprintf(v->out, "%" PRIu64 " lines or packets were something else and were skipped\n",
			f->others);
	if (f->broken)
		fprintf(v->out, "%" PRIu64 " lines or packets are broken and were skipped\n",
			f->broken);
	if (f->broken_off)
		fprintf(v->out, "%" PRIu64 " RMPP messages are not whole\n",
			f->broken_off);
	fprintf(v->out, "%" PRIu64 " records, %s to %s\n", s->records,
		time_text(first, s->first_ns), time_text(last, s->last_ns));
}

static void show_rates(const struct summary_view *v)
{
	const struct summary *s = v->summary;
	char peak[TIME_MAX];

	if (s->lost)
		fprintf(v->out, "%" PRIu64 " captures or records were lost\n",
			s->lost);
	if (!s->all.requests)
		return;
	fprintf(v->out, "%" PRIu64 " SA requests, %.1f/s, at most %" PRIu64
		" in one second (%.19sZ)\n", s->all.requests, summary_rate(s),
		s->peak, time_text(peak, s->peak_second * 1000000000));
	fprintf(v->out, "%" PRIu64 " retries under the same TID, %s%" PRIu64
		" repeated under another within %" PRIu64 " s\n",
		s->all.retries, s->repeats_at_least ? "at least " : "",
		s->all.repeats, s->repeat_ns / 1000000000);
}

void summary_show_text(const struct summary_view *v)
{
	struct summary_count *order = memory_get(SUMMARY_NUMBERS,
						 sizeof(*order));

	show_files(v);
	show_rates(v);
	show_types(v);
	show_attributes(v, order);
	show_reasons(v);
	show_statuses(v, order);
	show_requesters(v, order);
	if (v->summary->reports.requests) {
		show_title(v, "what OpenSM sent to subscribers");
		show_row(v, "Report Notice", &v->summary->reports);
	}
	show_traps(v, order);
	show_mads(v, order);
	free(order);
}
