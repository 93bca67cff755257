/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* The sinks trace and audit: JSON lines, one numbered record a line. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "clock.h"
#include "file.h"
#include "sink.h"

enum { RETRY_NS = 1000000000 };

struct sink_json {
	bool audit;		/* only what belongs in an audit */
	osm_log_t *p_log;
	bool failing;		/* said so, and trying again */
	uint64_t now_ns;	/* of the last flush */
	uint64_t retry_at;
	uint64_t lost;		/* not told in the file yet */
	uint64_t total;
	struct file file;
	char line[4 * RECORD_JSON_MAX + 64];
};

static void failed(struct sink_json *s)
{
	if (!s->failing)
		sink_error(s->p_log, "5D20",
			   "%s -- records are counted and writing is tried again every second",
			   s->file.reason);
	s->failing = true;
	s->retry_at = s->now_ns + RETRY_NS;
}

static bool put_line(struct sink_json *s, const char *json, size_t len)
{
	size_t n;

	/* the number is that of the file's next line, so it comes after this */
	if (!file_turn(&s->file, len + 64, &s->lost))
		return false;
	if (s->file.not_turned) {
		sink_error(s->p_log, "5D23", "%s", s->file.reason);
		s->file.not_turned = false;
	}
	n = (size_t)snprintf(s->line, 64, "{\"seq\":%" PRIu64 ",",
			     s->file.last_line + 1);
	memcpy(s->line + n, json, len);
	n += len;
	s->line[n++] = '}';
	s->line[n++] = '\n';
	return file_put(&s->file, s->line, n, &s->lost);
}

/* Say in the file what is missing in it. Nothing else is in the buffer. */
static bool tell_lost(struct sink_json *s)
{
	char json[RECORD_JSON_MAX];
	uint64_t lost = s->lost;
	struct record r = {
		.type = RECORD_LOSS,
		.time_ns = clock_ns(CLOCK_REALTIME),
		.loss = { .where = "file", .lost = lost,
			  .total = s->total + lost },
	};
	size_t len = record_json(&r, json, sizeof(json));

	if (!put_line(s, json, len))
		return false;
	/* through to the disk, or the failure would come later */
	if (!file_flush(&s->file, &s->lost)) {
		s->lost--;	/* the loss record itself is no loss */
		return false;
	}
	s->total += lost;
	s->lost -= lost;
	return true;
}

/* Begin again: the first line says what is missing. */
static bool resume(struct sink_json *s)
{
	uint64_t lost;

	if (!file_open(&s->file))
		return false;
	s->lost += s->file.torn;
	lost = s->lost;
	if (lost && !tell_lost(s)) {
		file_close(&s->file);
		return false;
	}
	if (s->failing)
		sink_error(s->p_log, "5D21",
			   "%s is written again; %" PRIu64 " records are missing",
			   s->file.path, lost);
	s->failing = false;
	return true;
}

static bool sink_open(const char *path, bool audit,
		      const struct options *options, osm_log_t *p_log,
		      void **state)
{
	struct sink_json *s;

	*state = NULL;
	if (!*path)
		return true;
	s = calloc(1, sizeof(*s));
	if (!s)
		return false;
	s->audit = audit;
	s->p_log = p_log;
	file_init(&s->file, path, options->max_bytes, options->max_files);
	if (!resume(s))
		failed(s);
	*state = s;
	return true;
}

static bool trace_open(const struct options *options, osm_log_t *p_log,
		       void **state)
{
	return sink_open(options->trace, false, options, p_log, state);
}

static bool audit_open(const struct options *options, osm_log_t *p_log,
		       void **state)
{
	return sink_open(options->audit, true, options, p_log, state);
}

static void json_put(void *state, const struct sink_record *record)
{
	struct sink_json *s = state;

	if (s->audit && !record_is_audit(record->record))
		return;
	if (!record->json || s->failing) {
		s->lost++;
		return;
	}
	if (put_line(s, record->json, record->json_len))
		return;
	s->lost++;
	failed(s);
}

static void json_flush(void *state, uint64_t mono_ns)
{
	struct sink_json *s = state;

	s->now_ns = mono_ns;
	if (s->failing) {
		if (mono_ns < s->retry_at)
			return;
		s->retry_at = mono_ns + RETRY_NS;
		resume(s);
		return;
	}
	if (!file_flush(&s->file, &s->lost) ||
	    !file_follow(&s->file, &s->lost) || (s->lost && !tell_lost(s)))
		failed(s);
}

static void json_close(void *state)
{
	struct sink_json *s = state;

	/* a last try for what was lost */
	if (s->failing)
		resume(s);
	else if (!file_flush(&s->file, &s->lost) ||
		 (s->lost && !tell_lost(s)))
		failed(s);
	if (s->lost)
		sink_error(s->p_log, "5D22", "%s ends without %" PRIu64
			   " records", s->file.path, s->lost);
	file_close(&s->file);
	free(s);
}

const struct sink sink_trace = {
	.name = "trace",
	.open = trace_open,
	.needs_json = true,
	.put = json_put,
	.flush = json_flush,
	.close = json_close,
};

const struct sink sink_audit = {
	.name = "audit",
	.open = audit_open,
	.needs_json = true,
	.put = json_put,
	.flush = json_flush,
	.close = json_close,
};
