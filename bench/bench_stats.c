/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * How fast the command reads a capture, and in how much memory. It makes a
 * capture of the size that is asked for and has `osmsnoop stats` and
 * `osmsnoop -r` read it, with the file in the page cache and without.
 *
 *	bench_stats COMMAND [MEGABYTES [ROUNDS]]	(2000, 3)
 *
 * Two kinds, since one kind of traffic says little: queries alone, as at the
 * start of a large job, and a mix with sweeps, joins, traps, queries without
 * an answer, and tables in RMPP segments.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "captures.h"
#include "clock.h"

enum {
	MEGABYTE = 1000000,
	MEGABYTES_DEFAULT = 2000,
	ROUNDS_DEFAULT = 3,
	ROUNDS_MAX = 99,
	HOSTS = 10000,
	BUFFER = 1 << 20,
};

/* What a run of the command has cost. */
struct run {
	double elapsed, user, system;	/* seconds */
	long rss;			/* KiB, at most */
};

static void fail(const char *what)
{
	fprintf(stderr, "bench_stats: %s: %s\n", what, strerror(errno));
	exit(EXIT_FAILURE);
}

/*
 * Captures
 */

static struct mad_capture make_mad(struct captures *c, uint8_t *mad,
				   uint8_t mgmt_class, uint8_t method,
				   uint16_t attr_id, uint64_t n)
{
	struct mad_capture cap = captures_mad(c, mad, MAD_SIZE, mgmt_class,
					      method, attr_id,
					      (uint16_t)(n % HOSTS + 2), 0);
	int i;

	for (i = 0; i < 8; i++)
		mad[MAD_TID + i] = (uint8_t)(n >> (56 - 8 * i));
	return cap;
}

static void put_path(struct captures *c, uint64_t n)
{
	uint8_t mad[MAD_SIZE];
	struct mad_capture cap = make_mad(c, mad, CLASS_SUBN_ADM, METHOD_GET,
					  ATTR_PATH_RECORD, n);

	mad[SA_COMPONENT_MASK + 7] = 0x30;	/* dlid, slid */
	captures_set16(mad + SA_DATA + 40, (uint16_t)(n * 7919 % HOSTS + 2));
	captures_set16(mad + SA_DATA + 42, (uint16_t)(n % HOSTS + 2));
	captures_ask(c, cap, 0, MAD_SIZE, 64);
}

static void put_join(struct captures *c, uint64_t n)
{
	uint8_t mad[MAD_SIZE];
	struct mad_capture cap = make_mad(c, mad, CLASS_SUBN_ADM, METHOD_SET,
					  ATTR_MCMEMBER_RECORD, n);

	mad[SA_COMPONENT_MASK + 7] = 3;		/* mgid, port_gid */
	mad[SA_DATA] = 0xff;
	captures_set16(mad + SA_DATA + 30, (uint16_t)n);
	captures_ask(c, cap, 0, MAD_SIZE, 56);
}

static void put_table(struct captures *c, uint64_t n)
{
	uint8_t mad[MAD_SIZE];
	struct mad_capture cap = make_mad(c, mad, CLASS_SUBN_ADM,
					  METHOD_GET_TABLE, 0x11, n);

	captures_ask(c, cap, 0, SA_DATA + STORY_NODES * NODE_STRIDE,
		     NODE_STRIDE);
}

static void put_silence(struct captures *c, uint64_t n)
{
	uint8_t mad[MAD_SIZE];
	struct mad_capture cap = make_mad(c, mad, CLASS_SUBN_ADM,
					  METHOD_GET_TABLE, 0x11, n);

	mad[SA_SM_KEY + 7] = 0x66;
	captures_encode(c, &cap, NULL);
}

static void put_smp(struct captures *c, uint64_t n)
{
	uint8_t mad[MAD_SIZE];
	struct mad_capture cap = make_mad(c, mad, CLASS_SUBN_DIR, METHOD_GET,
					  0x15, n);

	cap.sent = true;
	captures_encode(c, &cap, NULL);
	cap.time_ns = c->now_ns;
	cap.sent = false;
	mad[MAD_METHOD] |= METHOD_RESPONSE;
	captures_encode(c, &cap, NULL);
}

static void put_trap(struct captures *c, uint64_t n)
{
	uint8_t mad[MAD_SIZE];
	struct mad_capture cap = make_mad(c, mad, CLASS_SUBN_LID, METHOD_TRAP,
					  ATTR_NOTICE, n);

	mad[SMP_DATA] = 0x84;
	mad[SMP_DATA + 5] = 128;
	captures_encode(c, &cap, NULL);
	cap.time_ns = c->now_ns;
	cap.sent = true;
	mad[MAD_METHOD] = METHOD_TRAP_REPRESS;
	captures_encode(c, &cap, NULL);
}

typedef void put_fn(struct captures *c, uint64_t n);

static void put_mixed(struct captures *c, uint64_t n)
{
	static put_fn *const kinds[] = {
		put_path, put_path, put_path, put_path, put_path, put_smp,
		put_smp, put_join, put_table, put_trap,
	};

	if (n % 1000 == 999)
		put_silence(c, n);
	else
		kinds[n % 10](c, n);
}

static const struct kind {
	const char *name;
	put_fn *put;
} kinds[] = {
	{ "queries", put_path },
	{ "mixed", put_mixed },
};

static void write_all(FILE *file, struct captures *c)
{
	if (fwrite(c->bytes, 1, c->len, file) != c->len)
		fail("the capture");
	c->len = 0;
}

/* Returns how many MADs are in it. */
static uint64_t make_file(const char *path, put_fn *put, uint64_t size)
{
	FILE *file = fopen(path, "we");
	struct captures c;
	uint64_t n, done = 0, mads;

	if (!file)
		fail(path);
	captures_begin(&c, FORMAT_OURS);
	for (n = 0; done + c.len < size; n++) {
		put(&c, n);
		if (c.len < BUFFER)
			continue;
		done += c.len;
		write_all(file, &c);
	}
	write_all(file, &c);
	mads = c.packets;
	free(c.bytes);
	if (fflush(file) || fsync(fileno(file)) || fclose(file))
		fail(path);
	return mads;
}

/*
 * Runs
 */

static double seconds(struct timeval t)
{
	return (double)t.tv_sec + (double)t.tv_usec / 1e6;
}

static void exec_command(char **argv)
{
	if (!freopen("/dev/null", "w", stdout))
		_exit(126);
	execvp(argv[0], argv);
	_exit(127);
}

static struct run run_command(char **argv)
{
	const uint64_t begun = clock_ns(CLOCK_MONOTONIC);
	struct rusage usage;
	struct run r;
	int status;
	pid_t pid;

	/* what the child would write again */
	fflush(stdout);
	pid = fork();
	if (pid < 0)
		fail("fork");
	if (!pid)
		exec_command(argv);
	if (wait4(pid, &status, 0, &usage) != pid)
		fail("wait");
	if (!WIFEXITED(status) || WEXITSTATUS(status)) {
		fprintf(stderr, "bench_stats: %s ended with status %#x\n",
			argv[0], (unsigned)status);
		exit(EXIT_FAILURE);
	}
	r.elapsed = (double)(clock_ns(CLOCK_MONOTONIC) - begun) / 1e9;
	r.user = seconds(usage.ru_utime);
	r.system = seconds(usage.ru_stime);
	r.rss = usage.ru_maxrss;
	return r;
}

/* Into the page cache, or out of it. */
static void set_cached(const char *path, bool cached)
{
	static char buffer[BUFFER];
	int fd = open(path, O_RDONLY | O_CLOEXEC);

	if (fd < 0)
		fail(path);
	if (!cached && posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED))
		fail(path);
	while (cached && read(fd, buffer, sizeof(buffer)) > 0)
		;
	close(fd);
}

static int by_elapsed(const void *a, const void *b)
{
	const struct run *x = a, *y = b;

	return (x->elapsed > y->elapsed) - (x->elapsed < y->elapsed);
}

static void measure(const char *kind, const char *text, const char *path,
		    bool cached, char **argv, uint64_t mads, size_t rounds)
{
	struct run runs[ROUNDS_MAX], *r = &runs[rounds / 2];
	size_t i;

	for (i = 0; i < rounds; i++) {
		set_cached(path, cached);
		runs[i] = run_command(argv);
	}
	qsort(runs, rounds, sizeof(*runs), by_elapsed);
	printf("%-8s %-22s %-6s %9" PRIu64 " %8.2f %8.2f %7.2f %7.2f %10.2f %8ld\n",
	       kind, text, cached ? "warm" : "cold", mads, r->elapsed,
	       (double)mads / r->elapsed / 1e6, r->user, r->system,
	       (double)mads / (r->user + r->system) / 1e6, r->rss);
	fflush(stdout);
}

static void measure_kind(char *command, char *path, const struct kind *kind,
			 uint64_t size, size_t rounds)
{
	char *stats[] = { command, "stats", path, NULL };
	char *read[] = { command, "-r", path, "status BUSY", NULL };
	uint64_t mads = make_file(path, kind->put, size);

	measure(kind->name, "stats", path, true, stats, mads, rounds);
	measure(kind->name, "stats", path, false, stats, mads, rounds);
	measure(kind->name, "-r FILE 'status BUSY'", path, true, read, mads,
		rounds);
}

static uint64_t number(const char *text, uint64_t most)
{
	char *rest;
	unsigned long long n = strtoull(text, &rest, 10);

	if (!n || *rest || n > most) {
		fprintf(stderr, "usage: bench_stats COMMAND [MEGABYTES [ROUNDS]]\n");
		exit(2);
	}
	return n;
}

/* A path of a file without a name: whatever ends us, nothing is left. */
static void make_path(char path[64])
{
	const char *dir = getenv("TMPDIR");
	char name[4096];
	int fd;

	snprintf(name, sizeof(name), "%s/osmsnoop-bench.XXXXXX",
		 dir ? dir : "/tmp");
	fd = mkstemp(name);
	if (fd < 0)
		fail(name);
	unlink(name);
	snprintf(path, 64, "/proc/%d/fd/%d", getpid(), fd);
}

int main(int argc, char **argv)
{
	uint64_t megabytes = argc > 2 ? number(argv[2], 1000000) :
					MEGABYTES_DEFAULT;
	size_t rounds = argc > 3 ? number(argv[3], ROUNDS_MAX) :
				   ROUNDS_DEFAULT;
	char path[64];
	size_t i;

	if (argc < 2 || argc > 4)
		number("", 0);
	make_path(path);
	printf("captures of %" PRIu64 " MB; medians of %zu rounds\n",
	       megabytes, rounds);
	printf("%-8s %-22s %-6s %9s %8s %8s %7s %7s %10s %8s\n", "", "", "file",
	       "MADs", "s", "M/s", "user s", "sys s", "M/s of CPU",
	       "RSS KiB");
	for (i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
		measure_kind(argv[1], path, &kinds[i], megabytes * MEGABYTE,
			     rounds);
	return 0;
}
