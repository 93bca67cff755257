/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* The sinks trace and audit: JSON lines, one numbered record a line. */
#include "sink.h"
#include "writer.h"

static bool json_open(const char *path, const struct options *options,
		      osm_log_t *p_log, void **state)
{
	if (!*path)
		return true;
	*state = writer_open(&file_lines, path, options->max_bytes,
			     options->max_files, p_log);
	return *state;
}

static bool trace_open(const struct options *options, osm_log_t *p_log,
		       void **state)
{
	return json_open(options->trace, options, p_log, state);
}

static bool audit_open(const struct options *options, osm_log_t *p_log,
		       void **state)
{
	return json_open(options->audit, options, p_log, state);
}

static void json_put(void *state, struct sink_record *record)
{
	size_t len;
	const char *json = sink_record_json(record, &len);

	writer_put(state, json, len);
}

static void audit_put(void *state, struct sink_record *record)
{
	if (record_is_audit(record->record))
		json_put(state, record);
}

static void json_flush(void *state, const struct sink_moment *moment)
{
	(void)moment;
	writer_flush(state);
}

static void json_close(void *state, uint64_t deadline_ns)
{
	writer_close(state, deadline_ns);
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
