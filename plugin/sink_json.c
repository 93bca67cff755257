/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* The sinks trace and audit: JSON lines, one numbered record a line. */
#include <stdlib.h>

#include "forward.h"
#include "sink.h"
#include "writer.h"

/* Two lines a failure. */
enum { FAILURE_QUEUE = 64 * 1024 };

struct json {
	struct writer *writer;
	struct forward *failure;	/* NULL: the OpenSM log is enough */
};

static void json_close(void *state, uint64_t deadline_ns)
{
	struct json *j = state;

	if (j->writer)
		writer_close(j->writer, deadline_ns);
	if (j->failure)
		forward_close(j->failure, deadline_ns);
	free(j);
}

static bool json_open(const char *path, const struct file_format *format,
		      enum failure_mode failure, const struct options *options,
		      osm_log_t *p_log, void **state)
{
	struct json *j;

	if (!*path)
		return true;
	j = calloc(1, sizeof(*j));
	if (!j)
		return false;
	if (failure == FAILURE_SYSLOG)
		j->failure = forward_open(FORWARD_SYSLOG, FAILURE_QUEUE, p_log);
	if (failure != FAILURE_SYSLOG || j->failure)
		j->writer = writer_open(format, path, options->max_bytes,
					options->max_files, p_log, j->failure);
	if (j->writer) {
		*state = j;
		return true;
	}
	json_close(j, 0);
	return false;
}

static bool trace_open(const struct options *options, osm_log_t *p_log,
		       void **state)
{
	return json_open(options->trace, &file_lines, FAILURE_COUNT, options,
			 p_log, state);
}

static bool audit_open(const struct options *options, osm_log_t *p_log,
		       void **state)
{
	return json_open(options->audit, &file_chain, options->failure,
			 options, p_log, state);
}

static void json_put(void *state, struct sink_record *record)
{
	struct json *j = state;
	size_t len;
	const char *json = sink_record_json(record, &len);

	writer_put(j->writer, json, len);
}

static void audit_put(void *state, struct sink_record *record)
{
	if (record_is_audit(record->record))
		json_put(state, record);
}

static void json_flush(void *state, const struct sink_moment *moment)
{
	struct json *j = state;

	writer_flush(j->writer);
	if (j->failure)
		forward_flush(j->failure, moment->mono_ns);
}

const struct sink sink_trace = {
	.open = trace_open,
	.put = json_put,
	.flush = json_flush,
	.close = json_close,
};

const struct sink sink_audit = {
	.open = audit_open,
	.put = audit_put,
	.flush = json_flush,
	.close = json_close,
};
