/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
#include <config.h>

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "layout.h"
#include "names.h"
#include "options.h"
#include "replace.h"

#define PREFIX "osmsnoop."
#define BLANKS " \t\r\n\v\f"

/*
 * OpenSM reads lines of 1,022 bytes, and says of the rest only on stdout that
 * it is no option. What is near that may have been cut.
 */
enum { OPENSM_CUTS = 990 };

/* Room for the number of a rotated file, or for .chain, behind a name. */
enum { ROTATED = sizeof(".chain") - 1 };

/* Bytes of a word that an error repeats: it has to fit into a log line. */
enum { SHOWN = 200 };

static bool is_null(const char *value)
{
	return !strcmp(value, "(null)");
}

/* A whole decimal or 0x number of at most `max`, then perhaps K, M or G. */
static bool number(const char *value, bool suffix, uint64_t max, uint64_t *out)
{
	bool hex = value[0] == '0' && (value[1] == 'x' || value[1] == 'X');
	unsigned shift = 0;
	uintmax_t n;
	char *end;

	if (*value < '0' || *value > '9')
		return false;
	errno = 0;
	/* 010 is ten here, not eight */
	n = strtoumax(value, &end, hex ? 16 : 10);
	if (errno)
		return false;
	if (suffix && *end) {
		switch (*end++) {
		case 'K': case 'k': shift = 10; break;
		case 'M': case 'm': shift = 20; break;
		case 'G': case 'g': shift = 30; break;
		default: return false;
		}
	}
	if (*end || n > max >> shift)
		return false;
	*out = (uint64_t)n << shift;
	return true;
}

static bool number32(const char *value, uint32_t min, uint32_t max,
		     uint32_t *out)
{
	uint64_t n;

	if (!number(value, false, max, &n) || n < min)
		return false;
	*out = (uint32_t)n;
	return true;
}

/* All that one may ask for: what is built in is what is accepted. */
static const struct {
	osm_snoop_source_t source;
	bool device;		/* ":DEVICE" may follow */
} sources[] = {
	{ OSM_SNOOP_SOURCE_AUTO, false },
	{ OSM_SNOOP_SOURCE_TAP, false },
	{ OSM_SNOOP_SOURCE_KERNEL, false },
	{ OSM_SNOOP_SOURCE_BPF, true },
};

enum { N_SOURCES = sizeof(sources) / sizeof(sources[0]) };

/* False: there is no such source. */
static bool find_source(const char *value, osm_snoop_source_t *source)
{
	const char *name;
	size_t i, len;

	for (i = 0; i < N_SOURCES; i++) {
		name = osm_vendor_snoop_source_name(sources[i].source);
		len = strlen(name);
		if (strncasecmp(value, name, len) ||
		    (value[len] && !(sources[i].device && value[len] == ':' &&
				     value[len + 1])))
			continue;
		*source = sources[i].source;
		return true;
	}
	return false;
}

static bool parse_source(struct options *o, const char *value)
{
	return find_source(value, &o->source) &&
	       osm_vendor_snoop_source_is_built_in(o->source);
}

/* "auto, tap or bpf[:DEVICE]" */
static void list_sources(char *buf, size_t size)
{
	const char *between = "";
	size_t i, len = 0, left = 0;

	for (i = 0; i < N_SOURCES; i++)
		left += osm_vendor_snoop_source_is_built_in(sources[i].source);
	buf[0] = '\0';
	for (i = 0; i < N_SOURCES && len < size; i++) {
		if (!osm_vendor_snoop_source_is_built_in(sources[i].source))
			continue;
		len += (size_t)snprintf(buf + len, size - len, "%s%s%s",
			between,
			osm_vendor_snoop_source_name(sources[i].source),
			sources[i].device ? "[:DEVICE]" : "");
		between = --left == 1 ? " or " : ", ";
	}
}

/* The next of `*text` up to `stop` or the end; `*text` moves behind. */
static size_t cut(const char **text, char stop, const char **part)
{
	size_t len = strcspn(*text, (char[]){ stop, '\0' });

	*part = *text;
	*text += len;
	if (**text)
		(*text)++;
	return len;
}

static bool is_word(const char *part, size_t len, const char *word)
{
	return len == strlen(word) && !strncasecmp(part, word, len);
}

static bool part_number(const char *part, size_t len, uint64_t max,
			uint64_t *out)
{
	char value[32];

	if (len >= sizeof(value))
		return false;
	memcpy(value, part, len);
	value[len] = '\0';
	return number(value, false, max, out);
}

/* Whatever is wrong with a value, in a few words. */
static bool because(struct options *o, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

static bool because(struct options *o, const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	vsnprintf(o->why, sizeof(o->why), fmt, args);
	va_end(args);
	return false;
}

/* One filter as written, before it is known which class an attribute is of. */
struct filter_words {
	umad_filter_t filter;
	unsigned given;		/* bits of the keys that it has */
	bool smp;		/* class:smp, which is two classes */
	const char *attr;
	size_t attr_len;
};

enum {
	GIVEN_CLASS = 1,
	GIVEN_ATTR = 2,
	GIVEN_VERSION = 4,
	GIVEN_OUI = 8,
	GIVEN_ERRORS = 16,
};

/* The second of two would hide the first. */
static bool is_first(struct filter_words *w, unsigned key)
{
	bool first = !(w->given & key);

	w->given |= key;
	return first;
}

static bool parse_class(struct filter_words *w, const char *value, size_t len)
{
	uint64_t n;

	w->smp = is_word(value, len, "smp");
	if (w->smp) {
		w->filter.mgmt_class = CLASS_SUBN_DIR;
		return true;
	}
	if (class_number(value, len, &w->filter.mgmt_class))
		return true;
	if (!part_number(value, len, 0xff, &n))
		return false;
	w->filter.mgmt_class = (uint8_t)n;
	return true;
}

static bool parse_filter_word(struct filter_words *w, const char *word,
			      size_t len)
{
	const char *colon = memchr(word, ':', len);
	const char *value = colon ? colon + 1 : word + len;
	size_t key_len = colon ? (size_t)(colon - word) : len;
	size_t value_len = (size_t)(word + len - value);
	uint64_t n = 1;

	if (is_word(word, key_len, "class"))
		return is_first(w, GIVEN_CLASS) &&
		       parse_class(w, value, value_len);
	if (is_word(word, key_len, "attr")) {
		w->attr = value;
		w->attr_len = value_len;
		return is_first(w, GIVEN_ATTR) && value_len > 0;
	}
	if (is_word(word, key_len, "version")) {
		if (!is_first(w, GIVEN_VERSION) ||
		    !part_number(value, value_len, 0xff, &n))
			return false;
		w->filter.mgmt_version = (uint8_t)n;
		return true;
	}
	if (is_word(word, key_len, "oui")) {
		if (!is_first(w, GIVEN_OUI) ||
		    !part_number(value, value_len, 0xffffff, &n))
			return false;
		w->filter.oui[0] = (uint8_t)(n >> 16);
		w->filter.oui[1] = (uint8_t)(n >> 8);
		w->filter.oui[2] = (uint8_t)n;
		return true;
	}
	if (is_word(word, key_len, "errors")) {
		if (!is_first(w, GIVEN_ERRORS) ||
		    (colon && !part_number(value, value_len, 1, &n)))
			return false;
		w->filter.errors = (uint8_t)n;
		return true;
	}
	return false;
}

/*
 * Where the filter would ignore a restriction (an attribute, a version or an
 * OUI without its class), whoever wrote it meant something else.
 */
static bool finish_filter(struct options *o, struct filter_words *w)
{
	umad_filter_t *f = &w->filter;
	uint64_t n;

	if (!f->mgmt_class && (w->attr || f->mgmt_version))
		return because(o, "%s needs a class", w->attr ? "attr" :
								"version");
	if ((f->oui[0] || f->oui[1] || f->oui[2]) &&
	    (f->mgmt_class < CLASS_VENDOR2_FIRST ||
	     f->mgmt_class > CLASS_VENDOR2_LAST))
		return because(o, "oui needs a class of vendor range 2");
	if (!w->attr ||
	    attribute_number(f->mgmt_class, w->attr, w->attr_len, &f->attr_id))
		return true;
	if (!part_number(w->attr, w->attr_len, 0xffff, &n))
		return because(o, "no attribute '%.*s' of this class",
			       (int)(w->attr_len < 64 ? w->attr_len : 64),
			       w->attr);
	f->attr_id = (uint16_t)n;
	return true;
}

static bool add_filter(struct options *o, const umad_filter_t *filter)
{
	if (o->n_filters == OSM_SNOOP_MAX_FILTERS)
		return because(o, "too many");
	/* the answer to a MultiPathRecord request is of PathRecords */
	if (filter->errors || (filter->mgmt_class == CLASS_SUBN_ADM &&
			       filter->attr_id == ATTR_MULTIPATH_RECORD))
		o->partial = true;
	o->filters[o->n_filters++] = *filter;
	return true;
}

static bool parse_filter(struct options *o, const char *value)
{
	const char *text = value, *words, *word;
	struct filter_words w;
	char one[OPTION_VALUE_MAX];
	size_t len;

	o->n_filters = 0;
	o->partial = false;
	if (is_null(value))
		return true;
	/* cut() does not see an empty part at the end */
	if (*value && value[strlen(value) - 1] == ';')
		return false;
	do {
		len = cut(&text, ';', &words);
		if (!len || len >= sizeof(one) || words[len - 1] == ',')
			return false;
		memcpy(one, words, len);
		one[len] = '\0';
		words = one;
		memset(&w, 0, sizeof(w));
		while (*words) {
			len = cut(&words, ',', &word);
			if (!parse_filter_word(&w, word, len))
				return because(o, "'%.*s'",
					       (int)(len < 64 ? len : 64),
					       word);
		}
		if (!finish_filter(o, &w) || !add_filter(o, &w.filter))
			return false;
		w.filter.mgmt_class = CLASS_SUBN_LID;
		if (w.smp && !add_filter(o, &w.filter))
			return false;
	} while (*text);
	return true;
}

static bool parse_log(struct options *o, const char *value)
{
	if (!strcasecmp(value, "none"))
		o->log = LOG_NONE;
	else if (!strcasecmp(value, "audit"))
		o->log = LOG_AUDIT;
	else if (!strcasecmp(value, "all"))
		o->log = LOG_ALL;
	else
		return false;
	return true;
}

static bool parse_path(char path[PATH_MAX], const char *value)
{
	size_t name;

	if (is_null(value)) {
		path[0] = '\0';
		return true;
	}
	/* relative to what? -B changes the folder that OpenSM runs in */
	if (value[0] != '/' || strlen(value) >= PATH_MAX - 16)
		return false;
	name = strlen(strrchr(value, '/') + 1);
	if (!name || name > NAME_MAX - ROTATED)
		return false;
	strcpy(path, value);
	return true;
}

static bool parse_trace(struct options *o, const char *value)
{
	return parse_path(o->trace, value);
}

static bool parse_audit(struct options *o, const char *value)
{
	return parse_path(o->audit, value);
}

static bool parse_capture(struct options *o, const char *value)
{
	return parse_path(o->capture, value);
}

static bool parse_listen(struct options *o, const char *value)
{
	size_t len = strlen(value);

	_Static_assert(sizeof(o->listen) ==
		       sizeof(((struct sockaddr_un *)0)->sun_path), "as it is");
	o->listen[0] = '\0';
	if (!strcmp(value, "none"))
		return true;
	if (value[0] != '/' || value[len - 1] == '/')
		return false;
	if (len >= sizeof(o->listen))
		return because(o, "%zu bytes", len);
	strcpy(o->listen, value);
	return true;
}

static bool parse_listen_group(struct options *o, const char *value)
{
	const struct group *group;
	uint64_t n;

	o->listen_group = (gid_t)-1;
	if (is_null(value))
		return true;
	/* the last number is none */
	if (number(value, false, (gid_t)-2, &n)) {
		o->listen_group = (gid_t)n;
		return true;
	}
	group = getgrnam(value);
	if (!group)
		return because(o, "no group has this name");
	o->listen_group = group->gr_gid;
	return true;
}

static bool parse_metrics(struct options *o, const char *value)
{
	return parse_path(o->metrics, value);
}

static bool parse_keys(struct options *o, const char *value)
{
	o->show_keys = !strcasecmp(value, "show");
	return o->show_keys || !strcasecmp(value, "hide");
}

static bool parse_names(struct options *o, const char *value)
{
	o->names = !strcasecmp(value, "on");
	return o->names || !strcasecmp(value, "off");
}

static bool parse_snaplen(struct options *o, const char *value)
{
	uint64_t n;

	if (!number(value, true, UINT32_MAX, &n) || (n && n < MAD_HDR_SIZE))
		return false;
	o->snaplen = (uint32_t)n;
	return true;
}

static bool parse_ring(struct options *o, const char *value)
{
	return number(value, true, 1u << 30, &o->ring) && o->ring >= 64 * 1024;
}

static bool parse_max_bytes(struct options *o, const char *value)
{
	return number(value, true, 1ull << 50, &o->max_bytes) &&
	       o->max_bytes >= 64 * 1024;
}

static bool parse_max_files(struct options *o, const char *value)
{
	return number32(value, 1, 1000, &o->max_files);
}

/* "N/M", both within their limits. */
static bool parse_pair(const char *value, uint32_t max_n, uint32_t max_m,
		       uint32_t *n, uint32_t *m)
{
	char first[16];
	const char *slash = strchr(value, '/');

	if (!slash || (size_t)(slash - value) >= sizeof(first))
		return false;
	memcpy(first, value, (size_t)(slash - value));
	first[slash - value] = '\0';
	return number32(first, 1, max_n, n) && number32(slash + 1, 1, max_m, m);
}

static bool parse_limit(struct limit *limit, const char *value)
{
	return parse_pair(value, 1000000000, 3600, &limit->n, &limit->seconds);
}

static bool parse_storm(struct options *o, const char *value)
{
	return parse_limit(&o->storm, value);
}

static bool parse_drops(struct options *o, const char *value)
{
	return parse_limit(&o->drops, value);
}

static bool parse_trap_storm(struct options *o, const char *value)
{
	return parse_limit(&o->trap_storm, value);
}

static bool parse_timeouts(struct options *o, const char *value)
{
	return parse_limit(&o->timeouts, value);
}

static bool parse_duplicates(struct options *o, const char *value)
{
	return parse_pair(value, 100, 1000000000, &o->duplicates_percent,
			  &o->duplicates_queries);
}

static bool parse_slow(struct options *o, const char *value)
{
	return parse_pair(value, 3600000, 1000000000, &o->slow_ms,
			  &o->slow_answers);
}

static bool parse_groups(struct options *o, const char *value)
{
	return parse_pair(value, 16384, 100, &o->groups_port,
			  &o->groups_percent);
}

static bool parse_sm_allow(struct options *o, const char *value)
{
	const char *text = value, *part;
	size_t len;

	o->n_sm_allow = 0;
	if (is_null(value))
		return true;
	if (*value && value[strlen(value) - 1] == ',')
		return false;
	do {
		len = cut(&text, ',', &part);
		if (o->n_sm_allow == SM_ALLOW_MAX)
			return because(o, "too many");
		if (!part_number(part, len, UINT64_MAX,
				 &o->sm_allow[o->n_sm_allow++]))
			return because(o, "'%.*s'", (int)(len < 64 ? len : 64),
				       part);
	} while (*text);
	return true;
}

static bool parse_failure(struct options *o, const char *value)
{
	o->failure = strcasecmp(value, "syslog") ? FAILURE_COUNT :
						   FAILURE_SYSLOG;
	return o->failure == FAILURE_SYSLOG || !strcasecmp(value, "count");
}

#ifdef HAVE_SYSTEMD
#define FORWARD_ACCEPTS "none, syslog or journald"
enum { FORWARD_HAS_JOURNALD = true };
#else
#define FORWARD_ACCEPTS "none or syslog"
enum { FORWARD_HAS_JOURNALD = false };
#endif

static bool parse_forward(struct options *o, const char *value)
{
	if (!strcasecmp(value, "none"))
		o->forward = FORWARD_NONE;
	else if (!strcasecmp(value, "syslog"))
		o->forward = FORWARD_SYSLOG;
	else if (strcasecmp(value, "journald"))
		return false;
	else if (!FORWARD_HAS_JOURNALD)
		return because(o, "journald is not built into this version");
	else
		o->forward = FORWARD_JOURNALD;
	return true;
}

static bool parse_unanswered(struct options *o, const char *value)
{
	return number32(value, 1, 3600, &o->unanswered_seconds);
}

const struct option options_table[OPTIONS_COUNT] = {
	{ "source", "auto", "",
	  "where captures come from; auto is kernel where the kernel has it, else tap",
	  parse_source },
	{ "filter", "(null)",
	  "(null) or filters with ';' between, each of class:NAME|N, version:N, attr:NAME|N, oui:0xN and errors with ',' between; version and attr need a class, oui one of 0x30 to 0x4f; at most 64, with source kernel 32",
	  "capture only MADs that pass one of these umad filters",
	  parse_filter },
	{ "log", "audit", "none, audit or all",
	  "what goes to the OpenSM log: nothing; changes, alerts and state; or every transaction, at VERBOSE",
	  parse_log },
	{ "trace", "(null)", "an absolute path or (null); the file name has 1 to 249 bytes",
	  "JSON lines file for everything", parse_trace },
	{ "audit", "(null)", "an absolute path or (null); the file name has 1 to 249 bytes",
	  "JSON lines file for changes, alerts, traps, state and loss",
	  parse_audit },
	{ "capture", "(null)", "an absolute path or (null); the file name has 1 to 249 bytes",
	  "capture file for Wireshark: every MAD, as pcap", parse_capture },
	{ "listen", "/run/osmsnoop.sock",
	  "none or an absolute path of at most 107 bytes",
	  "socket of the live stream", parse_listen },
	{ "listen_group", "(null)", "a group's name or number, or (null)",
	  "group that may read the socket", parse_listen_group },
	{ "metrics", "(null)", "an absolute path or (null); the file name has 1 to 250 bytes",
	  "Prometheus text file, written anew every ten seconds",
	  parse_metrics },
	{ "keys", "hide", "hide or show",
	  "hide zeroes M_Key, SM_Key, B_Key, CC_Key and service keys in every output",
	  parse_keys },
	{ "names", "on", "on or off",
	  "resolve LIDs to port GUIDs and node names", parse_names },
	{ "snaplen", "1024", "0 (all) or 24 and more, also with K, M or G",
	  "bytes kept of one capture", parse_snaplen },
	{ "ring", "16M", "64K to 1G; K, M and G are powers of 1024", "bytes of the tap's ring", parse_ring },
	{ "max_bytes", "1G", "64K to 1048576G; K, M and G are powers of 1024",
	  "size at which a file is rotated", parse_max_bytes },
	{ "max_files", "8", "1 to 1000",
	  "files kept of each, the current one included", parse_max_files },
	{ "storm", "1000/10", "N/S: 1 to 1000000000 requests in 1 to 3600 seconds",
	  "alert when one requester sends more than N requests in S seconds",
	  parse_storm },
	{ "unanswered", "5", "1 to 3600",
	  "seconds after which a request without a response is reported",
	  parse_unanswered },
	{ "duplicates", "50/1000",
	  "P/N: 1 to 100 percent of 1 to 1000000000 queries",
	  "alert when more than P percent of a requester's queries in a minute, which are N or more, are repeated ones",
	  parse_duplicates },
	{ "drops", "10/10", "N/S: 1 to 1000000000 requests in 1 to 3600 seconds",
	  "alert when OpenSM leaves more than N requests in S seconds without an answer for one reason",
	  parse_drops },
	{ "slow", "1000/100",
	  "MS/N: 1 to 3600000 milliseconds, 1 to 1000000000 answers",
	  "alert when one in a hundred answers of ten seconds, which are N or more, takes longer than MS",
	  parse_slow },
	{ "sm_allow", "(null)",
	  "(null) or port GUIDs with ',' between, at most 32",
	  "SMs that may be on the fabric beside this one", parse_sm_allow },
	{ "trap_storm", "100/60", "N/S: 1 to 1000000000 traps in 1 to 3600 seconds",
	  "alert when one port sends more than N traps of a number in S seconds",
	  parse_trap_storm },
	{ "groups", "256/90", "N/P: 1 to 16384 groups, 1 to 100 percent",
	  "alert when one port is in more than N multicast groups that it joined, or more than P percent of the multicast LIDs are in use",
	  parse_groups },
	{ "timeouts", "10/60", "N/S: 1 to 1000000000 SMPs in 1 to 3600 seconds",
	  "alert when more than N SMPs by one path in S seconds get no answer",
	  parse_timeouts },
	{ "failure", "count", "count or syslog",
	  "what is done when the audit cannot be written: counted and said, or also said to syslog",
	  parse_failure },
	{ "forward", "none", FORWARD_ACCEPTS,
	  "where audit records go, too", parse_forward },
};

_Static_assert(sizeof(options_table) / sizeof(options_table[0]) ==
		       OPTIONS_COUNT, "options.h counts the table");

/* Parse a value and keep it as it was written. */
static bool take(struct options *o, size_t i, const char *value)
{
	const struct option *option = &options_table[i];

	o->why[0] = '\0';
	if (strlen(value) >= OPTION_VALUE_MAX || !option->parse(o, value))
		return false;
	strcpy(o->text[i], value);
	return true;
}

void options_default(struct options *o)
{
	size_t i;

	memset(o, 0, sizeof(*o));
	for (i = 0; i < OPTIONS_COUNT; i++)
		take(o, i, options_table[i].fallback);
}

static bool fail(char *error, size_t size, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

static bool fail(char *error, size_t size, const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	vsnprintf(error, size, fmt, args);
	va_end(args);
	return false;
}

static void list_keys(char *buf, size_t size)
{
	size_t i, len = 0;

	buf[0] = '\0';
	for (i = 0; i < OPTIONS_COUNT; i++)
		if (len < size)
			len += (size_t)snprintf(buf + len, size - len, "%s%s",
						len ? ", " : "",
						options_table[i].key);
	if (len < size)
		snprintf(buf + len, size - len,
			 " and, on the option line, config");
}

/* Names that a table of their own has, to be said behind `accepts`. */
static void list_names(const struct option *option, char *buf, size_t size)
{
	buf[0] = '\0';
	if (option->parse == parse_source)
		list_sources(buf, size);
	if (option->parse == parse_filter)
		snprintf(buf, size, "; names of classes: %s",
			 class_names_accepted());
}

static bool refuse(const struct options *o, const struct option *option,
		   const char *value, const char *where, char *error,
		   size_t size)
{
	osm_snoop_source_t source;
	bool known = option->parse == parse_source &&
		     find_source(value, &source);
	char names[512];

	list_names(option, names, sizeof(names));
	if (known)
		return fail(error, size,
			    "%.*s: source %.*s is not built into this version; accepted: %s%s",
			    SHOWN, where, SHOWN, value, option->accepts, names);
	return fail(error, size, "%.*s: bad value for %s%s%s%s; accepted: %s%s",
		    SHOWN, where, option->key, *o->why ? " (" : "", o->why,
		    *o->why ? ")" : "", option->accepts, names);
}

/* `where` is the word, or file and line with what stands there. */
static bool set(struct options *o, const char *key, const char *value,
		const char *where, char *error, size_t size)
{
	char keys[512];
	size_t i;

	for (i = 0; i < OPTIONS_COUNT; i++) {
		const struct option *option = &options_table[i];

		if (strcmp(option->key, key))
			continue;
		return take(o, i, value) ||
		       refuse(o, option, value, where, error, size);
	}
	list_keys(keys, sizeof(keys));
	return fail(error, size, "%.*s: no option has this name; accepted: %s",
		    SHOWN, where, keys);
}

static bool set_line(struct options *o, const char *key, const char *value,
		     const char *place, char *error, size_t size)
{
	char where[2 * OPTION_VALUE_MAX];

	snprintf(where, sizeof(where), "%s: %s %s", place, key, value);
	return set(o, key, value, where, error, size);
}

/* NULL with errno, 0 for what is no file: a pipe would make OpenSM wait. */
static FILE *open_regular(const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	struct stat st;

	if (fd < 0)
		return NULL;
	if (!fstat(fd, &st) && S_ISREG(st.st_mode))
		return fdopen(fd, "r");
	close(fd);
	errno = 0;
	return NULL;
}

/* Without blanks around it, then without one pair of quotes. */
static char *clean_value(char *value)
{
	size_t len;

	value += strspn(value, BLANKS);
	len = strlen(value);
	while (len && strchr(BLANKS, value[len - 1]))
		len--;
	if (len > 1 && (*value == '"' || *value == '\'') &&
	    value[len - 1] == *value) {
		value++;
		len -= 2;
	}
	value[len] = '\0';
	return value;
}

/*
 * The next line without its newline, ended by a NUL; false at the end. Of one
 * that does not fit, *len is `size`.
 */
static bool read_line(FILE *file, char *line, size_t size, size_t *len)
{
	int c;

	*len = 0;
	while ((c = getc(file)) != EOF && c != '\n' && *len < size)
		line[(*len)++] = (char)c;
	line[*len < size ? *len : size - 1] = '\0';
	return c != EOF || *len;
}

/*
 * As OpenSM 3.3.23 reads opensm.conf (osm_subn_parse_conf_file): the first
 * word of a line is the key, the rest its value, "#" and what follows it is a
 * comment, also between quotes. What OpenSM lets pass (a key without a value,
 * a line that it cuts) is an error here.
 */
static bool read_file(struct options *o, const char *path, char *error,
		      size_t size)
{
	char line[OPTION_VALUE_MAX + 64], where[OPTION_VALUE_MAX];
	char *key, *value;
	bool well = true;
	unsigned n = 0;
	size_t len;
	FILE *file;

	/* relative to what? -B changes the folder that OpenSM runs in */
	if (path[0] != '/')
		return fail(error, size,
			    PREFIX "config=%.*s: accepted: an absolute path",
			    SHOWN, path);
	file = open_regular(path);
	if (!file)
		return fail(error, size, PREFIX "config=%.*s: %s", SHOWN, path,
			    errno ? strerror(errno) : "is no regular file");
	while (well && read_line(file, line, sizeof(line), &len)) {
		n++;
		snprintf(where, sizeof(where), "%.*s line %u", SHOWN / 2, path,
			 n);
		if (len == sizeof(line)) {
			well = fail(error, size, "%s: longer than %zu bytes",
				    where, sizeof(line) - 1);
			break;
		}
		if (strlen(line) < len) {
			well = fail(error, size, "%s: has a NUL byte", where);
			break;
		}
		line[strcspn(line, "#")] = '\0';
		key = line + strspn(line, BLANKS);
		if (!*key)
			continue;
		value = key + strcspn(key, BLANKS);
		if (*value)
			*value++ = '\0';
		if (value[strspn(value, BLANKS)])
			well = set_line(o, key, clean_value(value), where,
					error, size);
		else
			well = fail(error, size, "%s: '%.*s' has no value; accepted: KEY, a blank, VALUE",
				    where, SHOWN, key);
	}
	if (well && ferror(file))
		well = fail(error, size, PREFIX "config=%.*s: %s", SHOWN, path,
			    strerror(errno));
	fclose(file);
	return well;
}

/* Whoever writes "osmsnoop.trace=/x,osmsnoop.log=all" wants no such file. */
static bool has_another(const char *word)
{
	return strstr(word, "," PREFIX) || strstr(word, ";" PREFIX);
}

/*
 * The words of the line that are ours, one by one: calls `each` with key and
 * value, split at the first '='.
 */
static bool each_word(struct options *o, const char *line,
		      bool (*each)(struct options *, const char *key,
				   const char *value, const char *word,
				   char *error, size_t size),
		      char *error, size_t size)
{
	char *words = strdup(line), *word, *value, *more, *whole;
	char keys[512];
	bool well = true;

	if (!words)
		return fail(error, size, "no memory for the options");
	for (word = strtok_r(words, BLANKS, &more); well && word;
	     word = strtok_r(NULL, BLANKS, &more)) {
		if (strncmp(word, PREFIX, strlen(PREFIX)))
			continue;
		if (has_another(word)) {
			well = fail(error, size,
				    "%.*s: more than one option in a word; accepted: blanks between words",
				    SHOWN, word);
			break;
		}
		whole = strdup(word);
		if (!whole) {
			well = fail(error, size, "no memory for the options");
			break;
		}
		value = strchr(word, '=');
		if (!value) {
			list_keys(keys, sizeof(keys));
			well = fail(error, size,
				    "%.*s: expected " PREFIX "KEY=VALUE, KEY being one of %s",
				    SHOWN, whole, keys);
		} else {
			*value++ = '\0';
			well = each(o, word + strlen(PREFIX), value, whole,
				    error, size);
		}
		free(whole);
	}
	free(words);
	return well;
}

static bool word_config(struct options *o, const char *key, const char *value,
			const char *word, char *error, size_t size)
{
	(void)word;
	return strcmp(key, "config") || read_file(o, value, error, size);
}

static bool word_option(struct options *o, const char *key, const char *value,
			const char *word, char *error, size_t size)
{
	return !strcmp(key, "config") ||
	       set(o, key, value, word, error, size);
}

/* Is `b` the file `a`, one that a is rotated to, or the sidecar of it? */
static bool is_same_or_rotated(const char *a, const char *b)
{
	size_t len = strlen(a);

	if (strncmp(a, b, len))
		return false;
	if (!b[len])
		return true;
	if (!strcmp(b + len, ".chain"))
		return true;
	return b[len] == '.' && b[len + 1] &&
	       !b[len + 1 + strspn(b + len + 1, "0123456789")];
}

/* Is it the file that metrics are written to before they are renamed? */
static bool is_beside_metrics(const struct options *o, const char *path)
{
	size_t len = strlen(o->metrics);

	return len && !strncmp(path, o->metrics, len) &&
	       !strcmp(path + len, REPLACE_SUFFIX);
}

/* No two options write the same file. */
static bool are_apart(const struct options *o, char *error, size_t size)
{
	const struct {
		const char *key, *path;
	} files[] = {
		{ "trace", o->trace }, { "audit", o->audit },
		{ "capture", o->capture }, { "metrics", o->metrics },
	};
	const size_t n = sizeof(files) / sizeof(files[0]);
	size_t i, j;

	for (i = 0; i < n; i++)
		for (j = i + 1; j < n; j++)
			if (files[i].path[0] &&
			    (is_same_or_rotated(files[i].path, files[j].path) ||
			     is_same_or_rotated(files[j].path, files[i].path)))
				return fail(error, size,
					    PREFIX "%s and " PREFIX "%s are both %.*s, a rotated file of it or its .chain; accepted: two files",
					    files[i].key, files[j].key, SHOWN,
					    files[i].path);
	for (i = 0; i < n; i++)
		if (is_beside_metrics(o, files[i].path))
			return fail(error, size,
				    PREFIX "%s: %.*s is what " PREFIX "metrics is written to first; accepted: another file",
				    files[i].key, SHOWN, files[i].path);
	return true;
}

bool options_parse(struct options *o, const char *line, char *error,
		   size_t size)
{
	options_default(o);
	if (!line)
		return true;
	if (strlen(line) > OPENSM_CUTS)
		return fail(error, size,
			    "event_plugin_options is longer than %d bytes, where OpenSM cuts lines; use " PREFIX "config=FILE",
			    OPENSM_CUTS);
	/* files first: words on the line win, wherever they stand */
	if (!each_word(o, line, word_config, error, size) ||
	    !each_word(o, line, word_option, error, size))
		return false;
	return are_apart(o, error, size);
}

size_t options_others(const char *line, char *buf, size_t size)
{
	size_t len, used = 0, n = 0;

	buf[0] = '\0';
	while (line && *(line += strspn(line, BLANKS))) {
		len = strcspn(line, BLANKS);
		if (strncmp(line, PREFIX, strlen(PREFIX))) {
			if (used < size)
				used += (size_t)snprintf(buf + used,
							 size - used, "%s%.*s",
							 n ? " " : "",
							 (int)len, line);
			n++;
		}
		line += len;
	}
	return n;
}
