/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* The sink forward: what the audit has, to syslog or journald. */
#include <string.h>
#include <syslog.h>

#include "forward.h"
#include "sink.h"

/* Some thousand records. */
enum { QUEUE_BYTES = 4 * 1024 * 1024 };

static bool open_forward(const struct options *options, osm_log_t *p_log,
			 void **state)
{
	if (options->forward == FORWARD_NONE)
		return true;
	*state = forward_open(options->forward, QUEUE_BYTES, p_log);
	return *state;
}

static int priority_of_severity(const char *severity)
{
	if (!strcmp(severity, "critical"))
		return LOG_CRIT;
	return strcmp(severity, "warning") ? LOG_NOTICE : LOG_WARNING;
}

static int priority_of(const struct record *r)
{
	switch (r->type) {
	case RECORD_ALERT:
		return priority_of_severity(r->alert.severity);
	case RECORD_LOSS:
		return LOG_WARNING;
	case RECORD_START:
	case RECORD_STOP:
		return LOG_NOTICE;
	default:
		return LOG_INFO;
	}
}

static void put(void *state, struct sink_record *record)
{
	const struct record *r = record->record;
	char line[RECORD_LINE_MAX];
	struct forward_message m = {
		.priority = priority_of(r),
		.text = line,
		.type = record_type_name(r->type),
		.alert = r->type == RECORD_ALERT ? r->alert.alert : NULL,
		.lid = record_lid(r),
	};
	size_t len;

	if (!record_is_audit(r))
		return;
	record_line(r, line, sizeof(line));
	m.json = sink_record_json(record, &len);
	forward_put(state, &m);
}

static void flush(void *state, const struct sink_moment *moment)
{
	forward_flush(state, moment->mono_ns);
}

static void close_forward(void *state, uint64_t deadline_ns)
{
	forward_close(state, deadline_ns);
}

const struct sink sink_forward = {
	.open = open_forward,
	.put = put,
	.flush = flush,
	.close = close_forward,
};
