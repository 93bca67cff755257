/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * A host for one watcher: what it says is kept, in words. Names and GUIDs are
 * made up from LIDs: LID 7 is "node7", port GUID 0x700.
 */
#ifndef OSMSNOOP_TEST_WATCHED_H
#define OSMSNOOP_TEST_WATCHED_H

#include <check.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "layout.h"
#include "watch/watch.h"

#define SECOND UINT64_C(1000000000)

/* A moment as a machine has it some days after its start. */
static const uint64_t start = 1000000 * SECOND;
/* CLOCK_REALTIME is so much more. */
static const uint64_t epoch = 1764459328 * SECOND;

enum { WATCHED_MAX = 65536, WATCHED_EVIDENCE = 32 };

/* What was said. */
struct watched_alert {
	char alert[32], severity[16], subject[160], text[704];
	uint16_t lid;		/* of the requester; 0xffff = nobody */
	char name[64];
	size_t n_evidence;
	struct {
		char key[32], text[160];
		uint64_t number;
	} evidence[WATCHED_EVIDENCE];
};

static const struct watcher *watched;
static void *watched_state;
static struct options watched_options;
static struct watch_subnet watched_subnet = { .sm_port_guid = 0x100 };
static bool watched_resolves = true;
static struct watched_alert last_alert;	/* the last one */
static unsigned n_alerts;		/* since watched_begin() */
static char watched_name[32];

static void watched_emit(struct record *r, void *context)
{
	const struct alert_record *a = &r->alert;
	struct watched_alert *l = &last_alert;
	size_t i;

	ck_assert_ptr_eq(context, &watched_options);
	ck_assert_int_eq(r->type, RECORD_ALERT);
	n_alerts++;
	memset(l, 0, sizeof(*l));
	snprintf(l->alert, sizeof(l->alert), "%s", a->alert);
	snprintf(l->severity, sizeof(l->severity), "%s", a->severity);
	snprintf(l->subject, sizeof(l->subject), "%s", a->subject);
	snprintf(l->text, sizeof(l->text), "%s", a->text);
	l->lid = a->who ? a->who->addr.lid : 0xffff;
	if (a->who && a->who->name)
		snprintf(l->name, sizeof(l->name), "%s", a->who->name);
	ck_assert_uint_le(a->n_evidence, WATCHED_EVIDENCE);
	l->n_evidence = a->n_evidence;
	for (i = 0; i < a->n_evidence; i++) {
		snprintf(l->evidence[i].key, sizeof(l->evidence[i].key), "%s",
			 a->evidence[i].key);
		l->evidence[i].number = a->evidence[i].number;
		if (a->evidence[i].text)
			snprintf(l->evidence[i].text,
				 sizeof(l->evidence[i].text), "%s",
				 a->evidence[i].text);
	}
}

static void watched_resolve(struct requester *who, void *context)
{
	(void)context;
	who->port_guid = who->addr.lid * 0x100u;
	snprintf(watched_name, sizeof(watched_name), "node%u", who->addr.lid);
	who->name = watched_name;
}

static bool watched_find(struct requester *who, uint64_t port_guid,
			 void *context)
{
	if (port_guid % 0x100 || !port_guid || port_guid / 0x100 > 0xbfff)
		return false;
	who->addr.lid = (uint16_t)(port_guid / 0x100);
	watched_resolve(who, context);
	return true;
}

static void watched_tell_subnet(struct watch_subnet *subnet, void *context)
{
	(void)context;
	*subnet = watched_subnet;
}

/* As hosts of today have it: 2048 bytes and 40 Gb/s. */
static struct watch_port watched_port_can = { .mtu = 4, .rate = 7 };

static bool watched_port(struct watch_port *port, uint64_t port_guid,
			 void *context)
{
	struct requester who = { 0 };

	if (!watched_find(&who, port_guid, context))
		return false;
	*port = watched_port_can;
	return true;
}

static struct watch_host watched_host = {
	.options = &watched_options,
	.emit = watched_emit,
	.resolve = watched_resolve,
	.find = watched_find,
	.subnet = watched_tell_subnet,
	.port = watched_port,
	.context = &watched_options,
};

/* With watched_options as they are. */
static inline void watched_begin(const struct watcher *watcher)
{
	n_alerts = 0;
	memset(&last_alert, 0, sizeof(last_alert));
	watched = watcher;
	watched_state = NULL;
	watched_host.resolve = watched_resolves ? watched_resolve : NULL;
	ck_assert(watcher->open(&watched_host, &watched_state));
}

static inline void watched_end(void)
{
	if (watched_state)
		watched->close(watched_state);
	watched_state = NULL;
}

/* The evidence's text, or NULL when there is none of this key. */
static inline const char *evidence_text(const char *key)
{
	size_t i;

	for (i = 0; i < last_alert.n_evidence; i++)
		if (!strcmp(last_alert.evidence[i].key, key))
			return last_alert.evidence[i].text;
	return NULL;
}

static inline uint64_t evidence_number(const char *key)
{
	size_t i;

	for (i = 0; i < last_alert.n_evidence; i++)
		if (!strcmp(last_alert.evidence[i].key, key))
			return last_alert.evidence[i].number;
	ck_abort_msg("no evidence '%s'", key);
	return 0;
}

static inline void check_said(unsigned n, const char *alert, const char *phase)
{
	ck_assert_uint_eq(n_alerts, n);
	ck_assert_str_eq(last_alert.alert, alert);
	ck_assert_str_eq(evidence_text("phase"), phase);
}

#endif /* OSMSNOOP_TEST_WATCHED_H */
