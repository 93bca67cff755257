/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * The plugin's options: what event_plugin_options and osmsnoop.config may
 * say. One table (options_table) is the whole truth: keys, defaults, what is
 * accepted and what it means. The parser, the start record and the tests that
 * hold the sample file and the man page against it all read it.
 */
#ifndef OSMSNOOP_OPTIONS_H
#define OSMSNOOP_OPTIONS_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include <vendor/osm_vendor_snoop.h>

enum log_mode { LOG_NONE, LOG_AUDIT, LOG_ALL };

enum { OPTIONS_COUNT = 26, OPTION_VALUE_MAX = 1024, SM_ALLOW_MAX = 32 };

/* What else happens when the audit cannot be written. */
enum failure_mode { FAILURE_COUNT, FAILURE_SYSLOG };
/* Where else audit records go. */
enum forward_mode { FORWARD_NONE, FORWARD_SYSLOG, FORWARD_JOURNALD };

/* So many, more than which within so many seconds are too many. */
struct limit {
	uint32_t n;
	uint32_t seconds;
};

struct options {
	osm_snoop_source_t source;
	umad_filter_t filters[OSM_SNOOP_MAX_FILTERS];
	uint32_t n_filters;
	bool partial;		/* they may pass a request without its answer */
	enum log_mode log;
	char trace[PATH_MAX];		/* "" = none, also below */
	char audit[PATH_MAX];
	char capture[PATH_MAX];
	char listen[108];	/* as long as that of a sockaddr_un */
	gid_t listen_group;	/* (gid_t)-1 = none */
	char metrics[PATH_MAX];
	bool show_keys;
	bool names;
	uint32_t snaplen;
	uint64_t ring;
	uint64_t max_bytes;
	uint32_t max_files;
	uint32_t unanswered_seconds;

	/* what is alerted of; see the table */
	struct limit storm;	/* requests of one requester */
	struct limit drops;	/* requests without an answer, of one reason */
	struct limit trap_storm;	/* traps of one port and number */
	struct limit timeouts;	/* SMPs without an answer, of one path */
	uint32_t duplicates_percent;
	uint32_t duplicates_queries;	/* in a minute */
	uint32_t slow_ms;
	uint32_t slow_answers;	/* in ten seconds */
	uint32_t groups_port;	/* that one port has joined */
	uint32_t groups_percent;	/* of the multicast LIDs there are */
	uint64_t sm_allow[SM_ALLOW_MAX];	/* port GUIDs, host byte order */
	uint32_t n_sm_allow;

	enum failure_mode failure;
	enum forward_mode forward;
	char why[160];		/* why the last value was refused, or "" */
	/* the value of each option in the table's order, as it was written */
	char text[OPTIONS_COUNT][OPTION_VALUE_MAX];
};

struct option {
	const char *key;
	const char *fallback;	/* the default, as one would write it */
	const char *accepts;	/* names of sources and classes follow it */
	const char *help;
	/* False: no value of it. */
	bool (*parse)(struct options *o, const char *value);
};

extern const struct option options_table[OPTIONS_COUNT];

/* Every option at its default. */
void options_default(struct options *o);

/*
 * Parse event_plugin_options as OpenSM hands it over (NULL when unset):
 * words without our prefix belong to others. On failure `error` says in one
 * line which word, and what is accepted; `o` is then not to be used.
 */
bool options_parse(struct options *o, const char *line, char *error,
		   size_t size);

/*
 * The words that options_parse() leaves to other plugins, with blanks between
 * them and cut to `size`. Returns how many there are.
 */
size_t options_others(const char *line, char *buf, size_t size);

#endif /* OSMSNOOP_OPTIONS_H */
