/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * A sink takes records and writes them somewhere. Adding one is one file and
 * one line in the table of sink.c. A sink knows no source and no transaction;
 * one that fails or is slow counts what it loses and says so itself.
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

/* A record and its JSON members, decoded once for all sinks. */
struct sink_record {
	const struct record *record;
	const char *json;	/* as record_json() has it; NULL = none */
	size_t json_len;
};

struct sink {
	const char *name;

	/*
	 * NULL in *state: the options do not ask for this sink. A sink that
	 * is asked for but cannot write yet opens all the same. False: no
	 * memory.
	 */
	bool (*open)(const struct options *options, osm_log_t *p_log,
		     void **state);
	bool needs_json;
	void (*put)(void *state, const struct sink_record *record);

	/* About ten times a second: write what is buffered, try again. */
	void (*flush)(void *state, uint64_t mono_ns);
	void (*close)(void *state);
};

extern const struct sink sink_log, sink_trace, sink_audit;

struct sinks;

struct sinks *sinks_open(const struct options *options, osm_log_t *p_log);
void sinks_put(struct sinks *sinks, const struct record *record);
void sinks_flush(struct sinks *sinks, uint64_t mono_ns);
void sinks_close(struct sinks *sinks);

/* An error line of our own in the OpenSM log: "ERR 5D20: ...". */
void sink_error(osm_log_t *p_log, const char *code, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

#endif /* OSMSNOOP_SINK_H */
