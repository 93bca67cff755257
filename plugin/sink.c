/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "error.h"
#include "sink.h"

static const struct sink *const table[] = {
	&sink_log,
	&sink_trace,
	&sink_audit,
	&sink_forward,
	&sink_capture,
	&sink_metrics,
	/* last: at the end it may wait for its readers */
	&sink_stream,
};

enum { SINKS = sizeof(table) / sizeof(table[0]) };

struct sinks {
	void *state[SINKS];
	osm_log_t *p_log;
	char json[SINK_JSON_MAX];
};

void sink_error(osm_log_t *p_log, const char *code, const char *fmt, ...)
{
	char text[1024], *p;
	va_list args;

	va_start(args, fmt);
	vsnprintf(text, sizeof(text), fmt, args);
	va_end(args);
	/* a word of the options may be in it */
	for (p = text; *p; p++)
		if ((unsigned char)*p < 0x20 || (unsigned char)*p > 0x7e)
			*p = '?';
	osm_log_v2(p_log, OSM_LOG_ERROR, OSMSNOOP_FILE_ID, "ERR %s: %s\n",
		   code, text);
}

struct sinks *sinks_open(const struct options *options, osm_log_t *p_log)
{
	struct sinks *sinks = calloc(1, sizeof(*sinks));
	size_t i;

	if (!sinks)
		return NULL;
	sinks->p_log = p_log;
	for (i = 0; i < SINKS; i++) {
		if (!table[i]->open(options, p_log, &sinks->state[i])) {
			sinks_close(sinks, 0);
			return NULL;
		}
	}
	return sinks;
}

const char *sink_record_json(struct sink_record *r, size_t *len)
{
	struct sinks *sinks = r->sinks;

	if (!r->encoded) {
		r->json_len = record_json(r->record, sinks->json,
					  sizeof(sinks->json));
		r->json = r->json_len ? sinks->json : NULL;
		if (!r->json)
			sink_error(sinks->p_log, "5D24",
				   "a record of type %s does not fit in %zu bytes and is lost",
				   record_type_name(r->record->type),
				   sizeof(sinks->json));
		r->encoded = true;
	}
	*len = r->json_len;
	return r->json;
}

void sinks_put(struct sinks *sinks, const struct record *record)
{
	struct sink_record r = { .record = record, .sinks = sinks };
	size_t i;

	for (i = 0; i < SINKS; i++)
		if (sinks->state[i] && table[i]->put)
			table[i]->put(sinks->state[i], &r);
}

bool sinks_take_captures(const struct sinks *sinks)
{
	size_t i;

	for (i = 0; i < SINKS; i++)
		if (sinks->state[i] && table[i]->capture)
			return true;
	return false;
}

void sinks_capture(struct sinks *sinks, const struct mad_capture *capture,
		   const struct requester *peer)
{
	size_t i;

	for (i = 0; i < SINKS; i++)
		if (sinks->state[i] && table[i]->capture)
			table[i]->capture(sinks->state[i], capture, peer);
}

void sinks_lose(struct sinks *sinks, uint64_t lost)
{
	size_t i;

	for (i = 0; i < SINKS; i++)
		if (sinks->state[i] && table[i]->lose)
			table[i]->lose(sinks->state[i], lost);
}

void sinks_flush(struct sinks *sinks, const struct sink_moment *moment)
{
	size_t i;

	for (i = 0; i < SINKS; i++)
		if (sinks->state[i])
			table[i]->flush(sinks->state[i], moment);
}

void sinks_close(struct sinks *sinks, uint64_t deadline_ns)
{
	size_t i;

	for (i = 0; i < SINKS; i++)
		if (sinks->state[i])
			table[i]->close(sinks->state[i], deadline_ns);
	free(sinks);
}
