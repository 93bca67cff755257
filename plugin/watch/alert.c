/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "alert.h"
#include "field.h"
#include "json.h"

enum { TIME_MAX = 40, NAME_SHOWN_MAX = 97 };

/*
 * Episodes
 */

static bool is_update_due(const struct episode *e, uint64_t mono_ns)
{
	return e->more && mono_ns >= e->said_mono_ns + ALERT_UPDATE_NS;
}

enum alert_phase episode_add(struct episode *e, uint64_t time_ns,
			     uint64_t mono_ns)
{
	const bool begins = !e->count++;

	if (begins) {
		e->first_ns = time_ns;
		e->began_mono_ns = mono_ns;
	}
	e->last_ns = time_ns;
	if (mono_ns > e->last_mono_ns)
		e->last_mono_ns = mono_ns;
	e->more = true;
	if (begins)
		return ALERT_BEGIN;
	return is_update_due(e, mono_ns) ? ALERT_UPDATE : ALERT_NONE;
}

enum alert_phase episode_pass(struct episode *e, uint64_t quiet_ns,
			      uint64_t mono_ns)
{
	if (!e->count)
		return ALERT_NONE;
	if (mono_ns > e->last_mono_ns + quiet_ns)
		return ALERT_END;
	return is_update_due(e, mono_ns) ? ALERT_UPDATE : ALERT_NONE;
}

/*
 * Alerts
 */

void alert_init(struct alert *a, const struct watch_host *host,
		const char *name, const char *severity)
{
	a->host = host;
	a->name = name;
	a->severity = severity;
	a->who = NULL;
	a->subject[0] = a->text[0] = '\0';
	a->n = 0;
}

void alert_about(struct alert *a, const struct requester *who)
{
	a->who = who;
}

void alert_subject(struct alert *a, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vsnprintf(a->subject, sizeof(a->subject), format, args);
	va_end(args);
}

void alert_text(struct alert *a, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vsnprintf(a->text, sizeof(a->text), format, args);
	va_end(args);
}

static void add(struct alert *a, const char *key, const char *text,
		uint64_t number)
{
	if (a->n < ALERT_EVIDENCE)
		a->evidence[a->n++] = (struct evidence){ key, text, number };
}

void alert_number(struct alert *a, const char *key, uint64_t number)
{
	add(a, key, NULL, number);
}

void alert_string(struct alert *a, const char *key, const char *text)
{
	add(a, key, text ? text : "", 0);
}

static const char *phase_name(enum alert_phase phase)
{
	static const char *const names[] = {
		[ALERT_NONE] = "none",
		[ALERT_BEGIN] = "begin",
		[ALERT_UPDATE] = "update",
		[ALERT_END] = "end",
		[ALERT_ONCE] = "once",
	};

	return names[phase];
}

/* As records have it, without the quotes. */
static const char *time_text(char text[TIME_MAX], uint64_t time_ns)
{
	struct json j;

	jw_init(&j, text, TIME_MAX);
	jw_time(&j, NULL, time_ns);
	text[j.len - 1] = '\0';
	return text + 1;
}

void alert_say(struct alert *a, enum alert_phase phase, struct episode *e,
	       uint64_t mono_ns)
{
	char text[ALERT_TEXT_MAX + 16], first[TIME_MAX], last[TIME_MAX];
	struct evidence all[4 + ALERT_EVIDENCE];
	struct record r = {
		.type = RECORD_ALERT,
		.alert = {
			.alert = a->name,
			.severity = a->severity,
			.subject = a->subject,
			.text = text,
			.who = a->who,
			.evidence = all,
		},
	};
	size_t n = 0;

	all[n++] = (struct evidence){ "phase", phase_name(phase), 0 };
	if (e && e->count) {
		all[n++] = (struct evidence){ "count", NULL, e->count };
		all[n++] = (struct evidence){
			"first", time_text(first, e->first_ns), 0,
		};
		all[n++] = (struct evidence){
			"last", time_text(last, e->last_ns), 0,
		};
		e->said_mono_ns = mono_ns;
		e->more = false;
	}
	memcpy(all + n, a->evidence, a->n * sizeof(all[0]));
	r.alert.n_evidence = n + a->n;
	if (phase == ALERT_ONCE)
		snprintf(text, sizeof(text), "%s", a->text);
	else
		snprintf(text, sizeof(text), "%s: %s", phase_name(phase),
			 a->text);
	a->host->emit(&r, a->host->context);
}

const char *alert_who(char text[ALERT_WHO_MAX], const struct requester *who)
{
	char name[NAME_SHOWN_MAX];
	struct words w, n;

	words_init(&w, text, ALERT_WHO_MAX);
	words_add(&w, "LID %u", who->addr.lid);
	if (who->name) {
		/* of one that is all escapes, what is behind it is to fit */
		words_init(&n, name, sizeof(name));
		words_text(&n, who->name, strlen(who->name), true);
		words_add(&w, " \"%s%s\"", name, n.full ? "..." : "");
	}
	if (who->port_guid)
		words_add(&w, " (0x%016" PRIx64 ")", who->port_guid);
	return text;
}

void alert_keep_name(char text[ALERT_NAME_MAX], struct requester *who)
{
	snprintf(text, ALERT_NAME_MAX, "%s", who->name ? who->name : "");
	who->name = who->name ? text : NULL;
}
