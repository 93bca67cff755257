/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "input.h"
#include "pipeline.h"
#include "records.h"
#include "trace_input.h"

_Static_assert((int)RECORDS_ERROR_MAX >= (int)INPUT_ERROR_MAX &&
	       (int)RECORDS_ERROR_MAX >= (int)PIPELINE_ERROR_MAX &&
	       (int)RECORDS_ERROR_MAX >= (int)TRACE_ERROR_MAX, "errors fit");

struct records {
	struct records_options opts;
	struct records_stats stats;
	struct pipeline *pipeline;
	bool begun;		/* the capture that is read: its first MAD came */
	uint64_t size;		/* of the file that is read; 0 = not known */
};

static struct pipeline *open_pipeline(struct records *r,
				      char error[RECORDS_ERROR_MAX])
{
	const struct pipeline_options options = {
		.node_name_map = r->opts.node_name_map,
		.record = r->opts.record,
		.context = r->opts.context,
	};

	return pipeline_new(&options, error);
}

/*
 * Captures
 */

static void close_pipeline(struct records *r)
{
	struct pipeline_stats stats;

	if (!r->pipeline)
		return;
	pipeline_flush(r->pipeline);
	pipeline_get_stats(r->pipeline, &stats);
	r->stats.broken_off += stats.broken_off;
	pipeline_free(r->pipeline);
	r->pipeline = NULL;
}

/*
 * A file that goes on where the one before has ended, after a rotation, has
 * the answers to its last requests. One that does not is another story.
 */
static bool begin_capture(struct records *r, const struct mad_capture *cap)
{
	char error[RECORDS_ERROR_MAX];
	struct pipeline_stats stats = { 0 };

	r->begun = true;
	if (r->pipeline)
		pipeline_get_stats(r->pipeline, &stats);
	if (cap->time_ns < stats.last_ns)
		close_pipeline(r);
	if (!r->pipeline)
		r->pipeline = open_pipeline(r, error);
	return r->pipeline;
}

static bool on_mad(const struct mad_capture *cap, const struct erf_note *note,
		   void *context)
{
	struct records *r = context;

	if (!r->begun && !begin_capture(r, cap))
		return false;
	pipeline_put(r->pipeline, cap, note);
	return true;
}

static void on_input(const struct input_stats *stats, void *context)
{
	struct records *r = context;

	if (r->opts.progress)
		r->opts.progress(stats->bytes, r->size, r->opts.context);
}

static void count_input(struct records *r, const struct input *in)
{
	struct input_stats stats;

	input_get_stats(in, &stats);
	r->stats.captures++;
	r->stats.bytes += stats.bytes;
	r->stats.packets += stats.packets;
	r->stats.mads += stats.mads;
	r->stats.others += stats.others;
	r->stats.broken += stats.broken;
}

static bool read_capture(struct records *r, int fd, const char *name,
			 const void *head, size_t head_len,
			 char error[RECORDS_ERROR_MAX])
{
	const struct input_reader reader = {
		.mad = on_mad,
		.progress = on_input,
		.context = r,
	};
	struct input *in = input_open_begun(fd, name, head, head_len,
					    r->opts.stop, error);
	bool whole;

	if (!in)
		return false;
	r->begun = false;
	whole = input_read(in, &reader, error);
	count_input(r, in);
	input_close(in);
	if (r->begun && !r->pipeline) {
		snprintf(error, RECORDS_ERROR_MAX, "%s", strerror(ENOMEM));
		return false;
	}
	if (!whole || *r->opts.stop)
		close_pipeline(r);
	return whole;
}

/*
 * Traces
 */

static void on_trace(const struct trace_stats *stats, void *context)
{
	struct records *r = context;

	if (r->opts.progress)
		r->opts.progress(stats->bytes, r->size, r->opts.context);
}

static void on_record(const struct record *record, void *context)
{
	const struct records *r = context;

	r->opts.record(record, r->opts.context);
}

static bool read_trace(struct records *r, int fd, const char *name,
		       const void *head, size_t head_len,
		       char error[RECORDS_ERROR_MAX])
{
	const struct trace_reader reader = {
		.record = on_record,
		.progress = on_trace,
		.context = r,
	};
	struct trace_stats stats;
	bool whole = trace_read(fd, name, head, head_len, &reader,
				r->opts.stop, &stats, error);

	r->stats.traces++;
	r->stats.bytes += stats.bytes;
	r->stats.lines += stats.lines;
	r->stats.others += stats.others;
	r->stats.broken += stats.broken;
	return whole;
}

/*
 * Files
 */

static ssize_t read_head(int fd, uint8_t head[INPUT_HEAD_MAX],
			 const volatile sig_atomic_t *stop)
{
	ssize_t n;

	do {
		n = read(fd, head, INPUT_HEAD_MAX);
	} while (n < 0 && errno == EINTR && !*stop);
	return n;
}

/* No capture begins like this. */
static bool is_trace(const uint8_t *head, size_t len)
{
	return len && head[0] == '{';
}

static int open_path(const char *path, const char **name)
{
	*name = path;
	if (strcmp(path, "-"))
		return open(path, O_RDONLY | O_CLOEXEC);
	*name = "standard input";
	return STDIN_FILENO;
}

static void close_path(int fd)
{
	if (fd > STDIN_FILENO)
		close(fd);
}

static bool read_fd(struct records *r, int fd, const char *name,
		    char error[RECORDS_ERROR_MAX])
{
	uint8_t head[INPUT_HEAD_MAX];
	ssize_t n = read_head(fd, head, r->opts.stop);
	bool whole;

	if (n < 0) {
		snprintf(error, RECORDS_ERROR_MAX, "%s: %s", name,
			 strerror(errno));
		close_path(fd);
		return false;
	}
	if (!is_trace(head, (size_t)n))
		return read_capture(r, fd, name, head, (size_t)n, error);
	whole = read_trace(r, fd, name, head, (size_t)n, error);
	close_path(fd);
	return whole;
}

bool records_read(struct records *r, const char *path,
		  char error[RECORDS_ERROR_MAX])
{
	const char *name;
	const int fd = open_path(path, &name);
	struct stat st;

	if (fd < 0) {
		snprintf(error, RECORDS_ERROR_MAX, "%s: %s", name,
			 strerror(errno));
		return false;
	}
	r->size = 0;
	if (!fstat(fd, &st) && S_ISREG(st.st_mode))
		r->size = (uint64_t)st.st_size;
	return read_fd(r, fd, name, error);
}

void records_end(struct records *r)
{
	close_pipeline(r);
}

void records_get_stats(const struct records *r, struct records_stats *stats)
{
	*stats = r->stats;
}

struct records *records_new(const struct records_options *options,
			    char error[RECORDS_ERROR_MAX])
{
	struct records *r = calloc(1, sizeof(*r));

	if (!r) {
		snprintf(error, RECORDS_ERROR_MAX, "%s", strerror(ENOMEM));
		return NULL;
	}
	r->opts = *options;
	/* so that a map that cannot be read is told at once */
	r->pipeline = open_pipeline(r, error);
	if (r->pipeline)
		return r;
	free(r);
	return NULL;
}

void records_free(struct records *r)
{
	if (!r)
		return;
	pipeline_free(r->pipeline);
	free(r);
}
