/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * plugin/options.c: what is refused and how the refusal reads, then what is
 * accepted; CONTRACT section 3.
 */
#include <config.h>

#include <check.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "options.h"
#include "../run.h"

#define COUNT(table) (sizeof(table) / sizeof((table)[0]))

static struct options o;
static char error[2048];
static char config_path[64];

/* Each of `parts` (NULL at the end) is in the text. */
static void check_says(const char *const *parts, size_t n)
{
	size_t i;

	for (i = 0; i < n && parts[i]; i++)
		ck_assert_msg(strstr(error, parts[i]), "'%s' is not in '%s'",
			      parts[i], error);
	ck_assert_msg(strlen(error) < 900, "too long for a log line: %s",
		      error);
	ck_assert_ptr_null(strchr(error, '\n'));
}

static void refused(const char *line, const char *const parts[4])
{
	error[0] = '\0';
	ck_assert_msg(!options_parse(&o, line, error, sizeof(error)),
		      "'%s' is accepted", line);
	check_says(parts, 4);
}

static void accepted(const char *line)
{
	ck_assert_msg(options_parse(&o, line, error, sizeof(error)),
		      "'%s' is refused: %s", line ? line : "NULL", error);
}

static void make_config(const char *text, size_t len)
{
	FILE *file;
	int fd;

	if (!config_path[0]) {
		strcpy(config_path, "/tmp/osmsnoop-options-XXXXXX");
		fd = mkstemp(config_path);
		ck_assert_int_ge(fd, 0);
		close(fd);
	}
	file = fopen(config_path, "w");
	ck_assert_ptr_nonnull(file);
	ck_assert_uint_eq(fwrite(text, 1, len, file), len);
	fclose(file);
}

static void remove_config(void)
{
	if (config_path[0])
		unlink(config_path);
	config_path[0] = '\0';
}

/* A line with osmsnoop.config= of a file with this text, and more. */
static const char *with_config(const char *before, const char *text,
			       const char *after)
{
	static char line[256];

	make_config(text, strlen(text));
	snprintf(line, sizeof(line), "%s osmsnoop.config=%s %s", before,
		 config_path, after);
	return line;
}

START_TEST(test_malformed_words)
{
	static const struct {
		const char *line;
		const char *parts[4];
	} bad[] = {
		{ "osmsnoop.", { "osmsnoop.:", "KEY=VALUE", "trace" } },
		{ "osmsnoop.log", { "osmsnoop.log:", "KEY=VALUE", "config" } },
		{ "osmsnoop.=", { "osmsnoop.=:", "trace", "unanswered" } },
		{ "osmsnoop.=x", { "osmsnoop.=x:", "trace" } },
		{ "osmsnoop.logs=all", { "osmsnoop.logs=all:", "log, trace" } },
		{ "osmsnoop.LOG=all", { "osmsnoop.LOG=all:", "log, trace" } },
		{ "osmsnoop.osmsnoop.log=all",
		  { "osmsnoop.osmsnoop.log=all:" } },
		{ "osmsnoop.log=", { "osmsnoop.log=:", "none, audit or all" } },
		{ "osmsnoop.log=some",
		  { "osmsnoop.log=some:", "none, audit or all" } },
		{ "osmsnoop.log=all=",
		  { "osmsnoop.log=all=:", "none, audit or all" } },
		{ "osmsnoop.log=\"all\"", { "none, audit or all" } },
		{ "a=b osmsnoop.log=all,audit c",
		  { "osmsnoop.log=all,audit:" } },
		{ "osmsnoop.trace=/x,osmsnoop.log=all",
		  { "osmsnoop.trace=/x,osmsnoop.log=all:",
		    "accepted: blanks between words" } },
		{ "a osmsnoop.log=all;osmsnoop.trace=/x b",
		  { "osmsnoop.log=all;osmsnoop.trace=/x:", "blanks" } },
		{ "osmsnoop.config=/x,osmsnoop.log=all", { "blanks" } },
		{ "osmsnoop.log,osmsnoop.trace=/x", { "blanks" } },
		{ "osmsnoop.filter=class:sa;osmsnoop.log=all", { "blanks" } },
		{ "osmsnoop.names=yes", { "on or off" } },
		{ "osmsnoop.listen=", { "none or an absolute path" } },
		{ "osmsnoop.listen=sock", { "none or an absolute path" } },
		{ "osmsnoop.listen=/run/", { "none or an absolute path" } },
		{ "osmsnoop.listen_group=no-such-group",
		  { "osmsnoop.listen_group=no-such-group:",
		    "no group has this name", "a group's name or number" } },
		{ "osmsnoop.listen_group=4294967295",
		  { "osmsnoop.listen_group=4294967295:", "name or number" } },
		{ "osmsnoop.keys=1", { "hide or show" } },
		{ "osmsnoop.trace=trace.json", { "absolute path or (null)" } },
		{ "osmsnoop.audit=", { "absolute path or (null)" } },
		{ "osmsnoop.audit=null", { "absolute path or (null)" } },
		{ "osmsnoop.audit=/a osmsnoop.trace=/a",
		  { "osmsnoop.audit", "osmsnoop.trace", "/a" } },
		{ "osmsnoop.capture=x.pcap", { "absolute path or (null)" } },
		{ "osmsnoop.capture=/a osmsnoop.trace=/a",
		  { "osmsnoop.trace and osmsnoop.capture", "/a" } },
		{ "osmsnoop.capture=/a.1 osmsnoop.audit=/a osmsnoop.trace=/b",
		  { "osmsnoop.audit and osmsnoop.capture", "/a" } },
		{ "osmsnoop.metrics=x.prom", { "absolute path or (null)" } },
		{ "osmsnoop.metrics=/a osmsnoop.audit=/a",
		  { "osmsnoop.audit and osmsnoop.metrics", "/a" } },
		{ "osmsnoop.metrics=/a.2 osmsnoop.capture=/a",
		  { "osmsnoop.capture and osmsnoop.metrics", "/a" } },
		{ "osmsnoop.metrics=/a osmsnoop.trace=/a.tmp",
		  { "osmsnoop.trace: /a.tmp is what osmsnoop.metrics is",
		    "accepted: another file" } },
		{ "osmsnoop.source=",
		  { "bad value for source; accepted: auto, tap or kernel" } },
		{ "osmsnoop.source=wire",
		  { "osmsnoop.source=wire:", "bad value for source",
		    "accepted: auto, tap or kernel" } },
		{ "osmsnoop.source=ta", { "bad value for source" } },
		{ "osmsnoop.source=taps", { "bad value for source" } },
		{ "osmsnoop.source=tap:mlx5_0", { "bad value for source" } },
		{ "osmsnoop.source=kernel:mlx5_0", { "bad value for source" } },
		{ "osmsnoop.source=bpf:", { "bad value for source" } },
		{ "osmsnoop.source=bpfs", { "bad value for source" } },
		{ "osmsnoop.config=",
		  { "osmsnoop.config=:", "absolute path" } },
		{ "osmsnoop.config=my.conf",
		  { "osmsnoop.config=my.conf:", "absolute path" } },
		{ "osmsnoop.config=/nowhere/my.conf",
		  { "osmsnoop.config=/nowhere/my.conf:", "No such file" } },
		{ "osmsnoop.config=/",
		  { "osmsnoop.config=/:", "no regular file" } },
		{ "osmsnoop.config=/dev/zero",
		  { "osmsnoop.config=/dev/zero:", "no regular file" } },
	};
	size_t i;

	for (i = 0; i < COUNT(bad); i++)
		refused(bad[i].line, bad[i].parts);
}
END_TEST

START_TEST(test_numbers_refused)
{
	static const char *const bad[] = {
		"snaplen=23", "snaplen=-1", "snaplen=4294967296", "snaplen=4G",
		"snaplen=", "snaplen=all", "snaplen=1024B",
		"ring=65535", "ring=63K", "ring=0", "ring=1025M", "ring=2G",
		"ring=1073741825", "ring=-1", "ring=+1M", "ring=1MB",
		"ring=1.5M", "ring=M", "ring=0x", "ring=1T",
		"ring=18446744073709551616", "ring=17179869184G",
		"ring=18446744073709551615K",
		"max_bytes=65535", "max_bytes=63K", "max_bytes=1048577G",
		"max_bytes=99999999999999999999", "max_bytes=1e9",
		"max_files=0", "max_files=1001", "max_files=1K",
		"max_files=-8", "max_files=4294967297",
		"storm=1000", "storm=/10", "storm=1000/", "storm=0/10",
		"storm=1000/0", "storm=1000/3601", "storm=1000000001/10",
		"storm=1000/10/1", "storm=1K/10", "storm=1000/-1",
		"unanswered=0", "unanswered=3601", "unanswered=5s",
		"unanswered=0.5", "unanswered=",
	};
	const char *const parts[4] = { "osmsnoop.", "accepted: " };
	char line[64];
	size_t i;

	for (i = 0; i < COUNT(bad); i++) {
		snprintf(line, sizeof(line), "osmsnoop.%s", bad[i]);
		refused(line, parts);
		ck_assert_ptr_nonnull(strstr(error, bad[i]));
	}
}
END_TEST

START_TEST(test_not_built)
{
	static const char *const words[] = {
		"osmsnoop.source=bpf", "osmsnoop.source=BPF",
		"osmsnoop.source=bpf:mlx5_0",
	};
	size_t i;

	for (i = 0; i < COUNT(words); i++) {
		const char *const parts[4] = {
			words[i], "not built into this version",
			"; accepted: auto, tap or kernel",
		};

		refused(words[i], parts);
	}
}
END_TEST

START_TEST(test_filter_refused)
{
	static const char *const bad[] = {
		"", ";", ",", "class", "class:", "class:xyz", "class:256",
		"class:-1", "class:sa;", "class:sa,", ";class:sa",
		",class:sa", "class:sa;;class:perf", "class:sa,,errors",
		"class:sa,;class:perf", "class:sa,;", "foo:1", "foo",
		"class:sa,foo:1", ":sa", "class=sa",
		"class:sa,attr:", "class:sa,attr:NoSuchRecord",
		"class:sa,attr:65536", "class:perf,attr:PathRecord",
		"class:sa,version:", "class:sa,version:256",
		"class:sa,version", "class:sa,errors:2", "class:sa,errors:",
		"class:0x32,oui:0x1000000", "class:0x32,oui:", "class:0x32,oui",
		/* what the filter would ignore */
		"attr:PathRecord", "attr:0x35", "version:2", "errors,attr:0x35",
		"class:0,attr:0x35", "class:0,version:1", "oui:0x1405",
		"class:sa,oui:0x1405", "class:0x2f,oui:1", "class:0x50,oui:1",
		"class:0x09,oui:1", "class:smp,oui:1",
		/* the second would hide the first */
		"class:sa,class:smp", "class:smp,class:sa",
		"class:sa,attr:0x35,attr:0x36", "class:sa,version:1,version:2",
		"errors,errors:0", "class:0x32,oui:1,oui:2",
	};
	const char *const parts[4] = {
		"osmsnoop.filter=", "class:NAME|N", "perf",
	};
	char line[128];
	size_t i;

	for (i = 0; i < COUNT(bad); i++) {
		snprintf(line, sizeof(line), "osmsnoop.filter=%s", bad[i]);
		refused(line, parts);
		ck_assert_ptr_nonnull(strstr(error, bad[i]));
	}
}
END_TEST

/* The audit's sidecar is nobody else's; what is not built in is refused. */
START_TEST(test_audit)
{
	const char *const two[4] = { "its .chain" };

	refused("osmsnoop.audit=/a osmsnoop.trace=/a.chain", two);
	accepted("osmsnoop.audit=/a osmsnoop.trace=/a.chains");
	accepted("osmsnoop.failure=SysLog osmsnoop.forward=syslog");
	ck_assert_int_eq(o.failure, FAILURE_SYSLOG);
	ck_assert_int_eq(o.forward, FORWARD_SYSLOG);
#ifdef HAVE_SYSTEMD
	accepted("osmsnoop.forward=journald");
	ck_assert_int_eq(o.forward, FORWARD_JOURNALD);
#else
	refused("osmsnoop.forward=journald", (const char *const[4]){
			"not built into this version" });
#endif
}
END_TEST

START_TEST(test_too_many)
{
	char line[2048] = "osmsnoop.filter=class:sa";
	const char *const filters[4] = {
		"osmsnoop.filter=class:sa;", "at most 64",
	};
	const char *const name[4] = { "file name has 1 to 249 bytes" };
	const char *const cut[4] = { "OpenSM cuts lines", "osmsnoop.config" };
	int i;

	for (i = 1; i < OSM_SNOOP_MAX_FILTERS; i++)
		strcat(line, ";class:sa");
	accepted(line);
	ck_assert_uint_eq(o.n_filters, OSM_SNOOP_MAX_FILTERS);
	strcat(line, ";class:pm");
	refused(line, filters);
	/* class:smp is two */
	line[strlen(line) - 2 * strlen(";class:sa")] = '\0';
	strcat(line, ";class:smp");
	refused(line, filters);

	/* what OpenSM may have cut names another file than was meant */
	strcpy(line, "osmsnoop.trace=/");
	for (i = (int)strlen(line); i < 990; i++)
		line[i] = i % 100 ? 'x' : '/';
	line[990] = '\0';
	accepted(line);
	ck_assert_uint_eq(strlen(o.trace), 990 - strlen("osmsnoop.trace="));
	strcat(line, "x");
	refused(line, cut);

	/* room for ".1000" behind the name */
	strcpy(line, "osmsnoop.trace=/");
	i = (int)strlen(line);
	memset(line + i, 'x', 249);
	line[i + 249] = '\0';
	accepted(line);
	strcat(line, "x");
	refused(line, name);
}
END_TEST

START_TEST(test_config_refused)
{
	static const struct {
		const char *text;
		const char *parts[4];
	} bad[] = {
		{ "# a comment\n\nlogs all\n",
		  { " line 3: logs all:", "log, trace" } },
		{ "log some\n",
		  { " line 1: log some:", "none, audit or all" } },
		{ "osmsnoop.log all\n", { " line 1:", "osmsnoop.log" } },
		{ "log=all\n", { " line 1:", "'log=all' has no value" } },
		{ "log\n", { " line 1:", "'log' has no value" } },
		{ "log # all\n", { " line 1:", "'log' has no value" } },
		{ "log \t\r\n", { " line 1:", "'log' has no value" } },
		{ "log\r\n", { " line 1:", "'log' has no value" } },
		{ "log all audit\n",
		  { " line 1: log all audit:", "none, audit or all" } },
		{ "log \"\"\n", { " line 1: log :", "none, audit or all" } },
		/* one pair of quotes, and of one kind */
		{ "log \"\n", { " line 1: log \":", "none, audit or all" } },
		{ "log \"all\n", { " line 1: log \"all:" } },
		{ "log \"all'\n", { " line 1: log \"all':" } },
		{ "log \"\"all\"\"\n", { " line 1: log \"all\":" } },
		{ "log \" all\"\n", { " line 1: log  all:" } },
		{ "\"log\" all\n",
		  { " line 1: \"log\" all:", "no option has this name" } },
		/* a comment begins between quotes, too */
		{ "trace \"/a#b\"\n", { " line 1: trace \"/a:" } },
		{ "names on\nring 1", { " line 2: ring 1:", "64K to 1G" } },
		{ "\r\n\nfilter class:sa; class:smp\n",
		  { " line 3: filter class:sa; class:smp:",
		    "class:NAME|N" } },
		{ "filter class:sb\n", { " line 1:", "class:NAME|N", "perf" } },
		{ "config /etc/x\n",
		  { " line 1: config /etc/x:", "no option" } },
		{ "metrics x\n",
		  { " line 1: metrics x:", "an absolute path or (null)" } },
		{ "source bpf:mlx5_0\n",
		  { " line 1:", "bpf:mlx5_0 is not built into this version",
		    "auto, tap or kernel" } },
	};
	size_t i;

	for (i = 0; i < COUNT(bad); i++) {
		refused(with_config("", bad[i].text, "osmsnoop.log=all"),
			bad[i].parts);
		ck_assert_ptr_nonnull(strstr(error, config_path));
	}
	remove_config();
}
END_TEST

START_TEST(test_config_long_line)
{
	const char *const parts[4] = { " line 2: longer than" };
	const char *const nul[4] = { " line 1: has a NUL byte" };
	char text[8192] = "log all\n# ", line[128];

	memset(text + strlen(text), 'x', sizeof(text) - strlen(text) - 1);
	make_config(text, strlen(text));
	snprintf(line, sizeof(line), "osmsnoop.config=%s", config_path);
	refused(line, parts);
	ck_assert_ptr_nonnull(strstr(error, config_path));

	/* a file after a power failure, say */
	make_config("\0\0\0\0", 4);
	refused(line, nul);
	make_config("log all\0garbage\n", 16);
	refused(line, nul);

	/* what fits is a line, with and without its end */
	text[OPTION_VALUE_MAX] = '\n';
	text[OPTION_VALUE_MAX + 1] = '\0';
	make_config(text, strlen(text));
	accepted(line);
	make_config(text, strlen(text) - 1);
	accepted(line);
	ck_assert_int_eq(o.log, LOG_ALL);
	remove_config();
}
END_TEST

START_TEST(test_config_unreadable)
{
	const char *const parts[4] = {
		"osmsnoop.config=", "Permission denied",
	};
	const char *line = with_config("", "log all\n", "");

	ck_assert_int_eq(chmod(config_path, 0), 0);
	/* the check framework gives each test a process of its own */
	if (!geteuid() && (setegid(65534) || seteuid(65534)))
		ck_abort_msg("cannot become nobody: %s", strerror(errno));
	refused(line, parts);
	if (!getuid())
		ck_assert_int_eq(seteuid(0), 0);
	remove_config();
}
END_TEST

static void check_defaults(void)
{
	ck_assert_int_eq(o.source, OSM_SNOOP_SOURCE_AUTO);
	ck_assert_uint_eq(o.n_filters, 0);
	ck_assert_int_eq(o.log, LOG_AUDIT);
	ck_assert_str_eq(o.trace, "");
	ck_assert_str_eq(o.audit, "");
	ck_assert_str_eq(o.metrics, "");
	ck_assert(!o.show_keys);
	ck_assert(o.names);
	ck_assert_uint_eq(o.snaplen, 1024);
	ck_assert_uint_eq(o.ring, 16 << 20);
	ck_assert_uint_eq(o.max_bytes, 1 << 30);
	ck_assert_uint_eq(o.max_files, 8);
	ck_assert_uint_eq(o.storm.n, 1000);
	ck_assert_uint_eq(o.storm.seconds, 10);
	ck_assert_uint_eq(o.unanswered_seconds, 5);
}

START_TEST(test_nothing_of_ours)
{
	static const char *const lines[] = {
		NULL, "", "  \t ", "a=b c d", "osmsnoop", "osmsnoop=1",
		"osmsnoopx.log=all", "OSMSNOOP.log=all", "x.osmsnoop.log=all",
		"log=all ring=1", "(null)",
	};
	size_t i;

	for (i = 0; i < COUNT(lines); i++) {
		memset(&o, 0x55, sizeof(o));
		accepted(lines[i]);
		check_defaults();
	}
}
END_TEST

/* CONTRACT section 3, in its order. */
static const struct {
	const char *key;
	const char *fallback;
} contract[] = {
	{ "source", "auto" },
	{ "filter", "(null)" },
	{ "log", "audit" },
	{ "trace", "(null)" },
	{ "audit", "(null)" },
	{ "capture", "(null)" },
	{ "listen", "/run/osmsnoop.sock" },
	{ "listen_group", "(null)" },
	{ "metrics", "(null)" },
	{ "keys", "hide" },
	{ "names", "on" },
	{ "snaplen", "1024" },
	{ "ring", "16M" },
	{ "max_bytes", "1G" },
	{ "max_files", "8" },
	{ "storm", "1000/10" },
	{ "unanswered", "5" },
	/* thresholds, and what the contract leaves open */
	{ "duplicates", "50/1000" },
	{ "drops", "10/10" },
	{ "slow", "1000/100" },
	{ "sm_allow", "(null)" },
	{ "trap_storm", "100/60" },
	{ "groups", "256/90" },
	{ "timeouts", "10/60" },
	{ "failure", "count" },
	{ "forward", "none" },
};

START_TEST(test_table_is_the_contract)
{
	size_t i;

	ck_assert_uint_eq(OPTIONS_COUNT, COUNT(contract));
	options_default(&o);
	for (i = 0; i < COUNT(contract); i++) {
		const struct option *option = &options_table[i];

		ck_assert_str_eq(option->key, contract[i].key);
		ck_assert_str_eq(option->fallback, contract[i].fallback);
		ck_assert_str_eq(o.text[i], contract[i].fallback);
		ck_assert_ptr_nonnull(option->parse);
		ck_assert_ptr_nonnull(option->help);
		ck_assert_ptr_nonnull(option->accepts);
	}
}
END_TEST

START_TEST(test_values)
{
	accepted("osmsnoop.source=Kernel");
	ck_assert_int_eq(o.source, OSM_SNOOP_SOURCE_KERNEL);
	accepted("other=1 osmsnoop.source=TAP osmsnoop.log=all\t"
		 "osmsnoop.trace=/t "
		 "osmsnoop.audit=/a=b osmsnoop.keys=show osmsnoop.names=off "
		 "osmsnoop.snaplen=0 osmsnoop.ring=0x10000 "
		 "osmsnoop.max_bytes=64k osmsnoop.max_files=1 "
		 "osmsnoop.storm=1/3600 osmsnoop.unanswered=3600 more");
	ck_assert_int_eq(o.source, OSM_SNOOP_SOURCE_TAP);
	ck_assert_int_eq(o.log, LOG_ALL);
	ck_assert_str_eq(o.trace, "/t");
	ck_assert_str_eq(o.audit, "/a=b");
	ck_assert(o.show_keys);
	ck_assert(!o.names);
	ck_assert_uint_eq(o.snaplen, 0);
	ck_assert_uint_eq(o.ring, 65536);
	ck_assert_uint_eq(o.max_bytes, 65536);
	ck_assert_uint_eq(o.max_files, 1);
	ck_assert_uint_eq(o.storm.n, 1);
	ck_assert_uint_eq(o.storm.seconds, 3600);
	ck_assert_uint_eq(o.unanswered_seconds, 3600);
	/* the start record has them as they were written */
	ck_assert_str_eq(o.text[13], "64k");

	accepted("osmsnoop.snaplen=24 osmsnoop.ring=1G "
		 "osmsnoop.max_bytes=1048576G "
		 "osmsnoop.max_files=1000 osmsnoop.storm=1000000000/1 "
		 "osmsnoop.unanswered=1 osmsnoop.log=none");
	ck_assert_uint_eq(o.snaplen, 24);
	ck_assert_uint_eq(o.ring, 1 << 30);
	ck_assert_uint_eq(o.max_bytes, UINT64_C(1) << 50);
	ck_assert_uint_eq(o.max_files, 1000);
	ck_assert_uint_eq(o.storm.n, 1000000000);
	ck_assert_int_eq(o.log, LOG_NONE);

	accepted("osmsnoop.snaplen=2K osmsnoop.ring=64K osmsnoop.max_bytes=3m "
		 "osmsnoop.max_files=010");
	ck_assert_uint_eq(o.snaplen, 2048);
	ck_assert_uint_eq(o.ring, 65536);
	ck_assert_uint_eq(o.max_bytes, 3 << 20);
	ck_assert_uint_eq(o.max_files, 10);	/* no octal here */

	/* a path may have what separates others' words */
	accepted("osmsnoop.trace=/t,x;osmsnoop other=1,osmsnoop.log=all");
	ck_assert_str_eq(o.trace, "/t,x;osmsnoop");
	ck_assert_int_eq(o.log, LOG_AUDIT);

	/* the last word wins, and (null) takes a value back */
	accepted("osmsnoop.trace=/t osmsnoop.audit=/t osmsnoop.trace=(null) "
		 "osmsnoop.filter=class:sa osmsnoop.filter=(null)");
	ck_assert_str_eq(o.trace, "");
	ck_assert_str_eq(o.audit, "/t");
	ck_assert_uint_eq(o.n_filters, 0);
	accepted("osmsnoop.metrics=/m.prom osmsnoop.trace=/m.prom.tmp.1");
	ck_assert_str_eq(o.metrics, "/m.prom");
}
END_TEST

START_TEST(test_filters)
{
	static const struct {
		const char *text;
		uint32_t n;
		umad_filter_t filters[3];
	} good[] = {
		{ "errors", 1, { { .errors = 1 } } },
		{ "errors:0", 1, { { 0 } } },
		{ "class:0", 1, { { 0 } } },
		{ "class:sa", 1, { { .mgmt_class = 3 } } },
		{ "CLASS:SubnAdm", 1, { { .mgmt_class = 3 } } },
		{ "class:0x03", 1, { { .mgmt_class = 3 } } },
		{ "class:3", 1, { { .mgmt_class = 3 } } },
		{ "class:129", 1, { { .mgmt_class = 0x81 } } },
		{ "class:subnlid", 1, { { .mgmt_class = 1 } } },
		{ "class:smp", 2,
		  { { .mgmt_class = 0x81 }, { .mgmt_class = 1 } } },
		{ "class:smp,errors", 2,
		  { { .mgmt_class = 0x81, .errors = 1 },
		    { .mgmt_class = 1, .errors = 1 } } },
		{ "attr:NodeInfo,class:smp", 2,
		  { { .mgmt_class = 0x81, .attr_id = 0x11 },
		    { .mgmt_class = 1, .attr_id = 0x11 } } },
		{ "class:sa,attr:PathRecord", 1,
		  { { .mgmt_class = 3, .attr_id = 0x35 } } },
		{ "attr:pathrecord,class:sa,version:2", 1,
		  { { .mgmt_class = 3, .mgmt_version = 2, .attr_id = 0x35 } } },
		{ "class:sa,attr:0xff35", 1,
		  { { .mgmt_class = 3, .attr_id = 0xff35 } } },
		{ "class:perf,attr:PortCounters", 1,
		  { { .mgmt_class = 4, .attr_id = 0x12 } } },
		{ "class:0x30,oui:0x001405", 1,
		  { { .mgmt_class = 0x30, .oui = { 0x00, 0x14, 0x05 } } } },
		{ "class:0x4f,oui:0xa1b2c3,errors:1", 1,
		  { { .mgmt_class = 0x4f, .errors = 1,
		      .oui = { 0xa1, 0xb2, 0xc3 } } } },
		/* the contract's own example */
		{ "class:sa,attr:PathRecord;class:smp,errors", 3,
		  { { .mgmt_class = 3, .attr_id = 0x35 },
		    { .mgmt_class = 0x81, .errors = 1 },
		    { .mgmt_class = 1, .errors = 1 } } },
	};
	char line[128];
	size_t i;

	for (i = 0; i < COUNT(good); i++) {
		snprintf(line, sizeof(line), "osmsnoop.filter=%s",
			 good[i].text);
		accepted(line);
		ck_assert_uint_eq(o.n_filters, good[i].n);
		ck_assert_mem_eq(o.filters, good[i].filters,
				 good[i].n * sizeof(umad_filter_t));
		ck_assert_str_eq(o.text[1], good[i].text);
	}
}
END_TEST

START_TEST(test_config)
{
	static const char text[] =
		"#\n# osmsnoop\n#\n\n"
		"log all\n"
		"  trace\t/t   # everything\n"
		"filter class:sa;class:smp,errors\r\n"
		"ring 1M#small\n"
		"audit (null)\n"
		"log none\n"
		"max_files 2";

	accepted(with_config("", text, ""));
	ck_assert_int_eq(o.log, LOG_NONE);
	ck_assert_str_eq(o.trace, "/t");
	ck_assert_uint_eq(o.n_filters, 3);
	ck_assert_uint_eq(o.ring, 1 << 20);
	ck_assert_str_eq(o.audit, "");
	ck_assert_uint_eq(o.max_files, 2);

	/* words on the line win, wherever they stand */
	accepted(with_config("osmsnoop.max_files=3", text,
			     "osmsnoop.trace=/u"));
	ck_assert_uint_eq(o.max_files, 3);
	ck_assert_str_eq(o.trace, "/u");
	ck_assert_uint_eq(o.ring, 1 << 20);
	accepted(with_config("osmsnoop.trace=(null)", text, ""));
	ck_assert_str_eq(o.trace, "");

	accepted(with_config("", "", ""));
	check_defaults();
	remove_config();
}
END_TEST

/* CONTRACT section 3: "in opensm.conf's own syntax". */
START_TEST(test_config_syntax)
{
	static const struct {
		const char *text;
		const char *trace;
	} good[] = {
		{ "trace /a\n", "/a" },
		{ "trace /a", "/a" },
		{ " \t trace \t /a \t \r\n", "/a" },
		{ "\r\n \r\ntrace\v/a\f\n", "/a" },
		{ "trace /a b  c \n", "/a b  c" },
		{ "trace \"/a b\"\r\n", "/a b" },
		{ "trace '/a b'\n", "/a b" },
		{ "trace \"/a \" # b\n", "/a " },
		{ "trace /a#b\n", "/a" },
		{ "trace \"/a\"b\"\n", "/a\"b" },
		{ "trace /a\"\n", "/a\"" },
		{ "trace /a\"b\"\n", "/a\"b\"" },
		{ "trace \"(null)\"\n", "" },
		{ "trace (null)\n", "" },
		{ "trace /a=b,osmsnoop.log=all\n", "/a=b,osmsnoop.log=all" },
	};
	size_t i;

	for (i = 0; i < COUNT(good); i++) {
		accepted(with_config("", good[i].text, ""));
		ck_assert_str_eq(o.trace, good[i].trace);
		ck_assert_str_eq(o.text[3], *good[i].trace ? good[i].trace :
							     "(null)");
	}
	accepted(with_config("", "filter \"class:sa;class:smp,errors\"\n"
			     "log 'all'\nstorm \"1/1\"\n", ""));
	ck_assert_uint_eq(o.n_filters, 3);
	ck_assert_int_eq(o.log, LOG_ALL);
	ck_assert_uint_eq(o.storm.seconds, 1);
	remove_config();
}
END_TEST

/* A file of the source tree. */
static FILE *open_source(const char *name)
{
	const char *top = getenv("top_srcdir");
	char path[1024];
	FILE *file;

	snprintf(path, sizeof(path), "%s/%s", top ? top : ".", name);
	file = fopen(path, "r");
	if (!file)
		ck_abort_msg("%s: %s (is top_srcdir set?)", path,
			     strerror(errno));
	return file;
}

static unsigned count_lines(FILE *file, const char *start, const char *end)
{
	char line[1024];
	unsigned n = 0;
	size_t len;

	rewind(file);
	while (fgets(line, sizeof(line), file)) {
		line[strcspn(line, "\n")] = '\0';
		len = strlen(line);
		if (len >= strlen(start) + strlen(end) &&
		    !strncmp(line, start, strlen(start)) &&
		    !strcmp(line + len - strlen(end), end))
			n++;
	}
	return n;
}

START_TEST(test_sample_has_all)
{
	FILE *file = open_source("opensm.conf.sample");
	char line[256];
	size_t i;

	for (i = 0; i < OPTIONS_COUNT; i++) {
		snprintf(line, sizeof(line), "# %s %s", options_table[i].key,
			 options_table[i].fallback);
		ck_assert_msg(count_lines(file, "", line) == 1,
			      "opensm.conf.sample has not one line '%s'",
			      line);
	}
	fclose(file);
}
END_TEST

START_TEST(test_man_page_has_all)
{
	FILE *file = open_source("man/osmsnoop-plugin.8");
	char start[64], end[128];
	size_t i;

	for (i = 0; i < OPTIONS_COUNT; i++) {
		snprintf(start, sizeof(start), ".It Cm %s ",
			 options_table[i].key);
		snprintf(end, sizeof(end), " default %s",
			 options_table[i].fallback);
		ck_assert_msg(count_lines(file, start, end) == 1,
			      "man/osmsnoop-plugin.8 has not one line '%s...%s'",
			      start, end);
	}
	fclose(file);
}
END_TEST

/* The sample is a config file as it is, and with its options uncommented. */
START_TEST(test_sample_is_a_config)
{
	FILE *file = open_source("opensm.conf.sample");
	char line[1024], text[16384] = "", all[16384] = "", key[64];
	size_t i;

	while (fgets(line, sizeof(line), file)) {
		strcat(all, line);
		for (i = 0; i < OPTIONS_COUNT; i++) {
			snprintf(key, sizeof(key), "# %s %s\n",
				 options_table[i].key,
				 options_table[i].fallback);
			if (!strcmp(line, key))
				break;
		}
		strcat(text, i < OPTIONS_COUNT ? line + 2 : line);
	}
	fclose(file);
	accepted(with_config("", all, ""));
	check_defaults();
	accepted(with_config("", text, ""));
	check_defaults();
	remove_config();
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("options");
	TCase *refuse = tcase_create("refused"), *take = tcase_create("taken");

	tcase_add_test(refuse, test_malformed_words);
	tcase_add_test(refuse, test_numbers_refused);
	tcase_add_test(refuse, test_not_built);
	tcase_add_test(refuse, test_filter_refused);
	tcase_add_test(refuse, test_too_many);
	tcase_add_test(refuse, test_audit);
	tcase_add_test(refuse, test_config_refused);
	tcase_add_test(refuse, test_config_long_line);
	tcase_add_test(refuse, test_config_unreadable);
	suite_add_tcase(suite, refuse);

	tcase_add_test(take, test_nothing_of_ours);
	tcase_add_test(take, test_table_is_the_contract);
	tcase_add_test(take, test_values);
	tcase_add_test(take, test_filters);
	tcase_add_test(take, test_config);
	tcase_add_test(take, test_config_syntax);
	tcase_add_test(take, test_sample_has_all);
	tcase_add_test(take, test_man_page_has_all);
	tcase_add_test(take, test_sample_is_a_config);
	suite_add_tcase(suite, take);
	return run_suite(suite);
}
