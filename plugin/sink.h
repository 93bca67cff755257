/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * A sink takes records, or captures, and writes them somewhere. Adding one is
 * one file and one line in the table of sink.c. A sink knows no source and no
 * transaction. None may wait: one whose disk or reader is slow has a thread
 * of its own (writer.h), counts what it loses and says so itself.
 *
 * All calls of all sinks come from one thread at a time.
 */
#ifndef OSMSNOOP_SINK_H
#define OSMSNOOP_SINK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <opensm/osm_log.h>

#include "options.h"
#include "record.h"
#include "transaction.h"

struct sinks;

/* No record is longer. */
enum { SINK_JSON_MAX = 4 * RECORD_JSON_MAX };

/* A record on its way through the sinks. */
struct sink_record {
	const struct record *record;
	struct sinks *sinks;
	bool encoded;		/* the next two are set */
	const char *json;
	size_t json_len;
};

/* The counters of the moment, for sinks that report them. */
struct sink_moment {
	uint64_t mono_ns;
	const osm_snoop_stats_t *snoop;
	const struct transactions_stats *transactions;
};

struct sink {
	/*
	 * *state is NULL; it stays so when the options do not ask for this
	 * sink. A sink that is asked for but cannot write yet opens all the
	 * same. False: no memory.
	 */
	bool (*open)(const struct options *options, osm_log_t *p_log,
		     void **state);

	/*
	 * Either may be NULL. A capture comes before the records of it, with
	 * what is known of its peer: nothing when names are off, nor of a
	 * directed route.
	 */
	void (*put)(void *state, struct sink_record *record);
	void (*capture)(void *state, const struct mad_capture *capture,
			const struct requester *peer);

	/* So many captures were lost behind the last one. May be NULL. */
	void (*lose)(void *state, uint64_t lost);

	/* About ten times a second: write what is buffered, try again. */
	void (*flush)(void *state, const struct sink_moment *moment);

	/* Be done by the deadline (CLOCK_MONOTONIC). */
	void (*close)(void *state, uint64_t deadline_ns);
};

extern const struct sink sink_log, sink_trace, sink_audit, sink_forward,
	sink_capture, sink_metrics, sink_stream;

struct sinks *sinks_open(const struct options *options, osm_log_t *p_log);
void sinks_put(struct sinks *sinks, const struct record *record);
/* Does any sink take captures? Else nothing need be done for them. */
bool sinks_take_captures(const struct sinks *sinks);
void sinks_capture(struct sinks *sinks, const struct mad_capture *capture,
		   const struct requester *peer);
void sinks_lose(struct sinks *sinks, uint64_t lost);
void sinks_flush(struct sinks *sinks, const struct sink_moment *moment);
void sinks_close(struct sinks *sinks, uint64_t deadline_ns);

/*
 * For sinks: the members of the record as record_json() has them, made when
 * the first sink asks. Valid until put() returns; NULL when they do not fit.
 */
const char *sink_record_json(struct sink_record *record, size_t *len);

/* An error line of our own in the OpenSM log: "ERR 5D20: ...". */
void sink_error(osm_log_t *p_log, const char *code, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

#endif /* OSMSNOOP_SINK_H */
