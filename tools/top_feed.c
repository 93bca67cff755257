/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "clock.h"
#include "pipeline.h"
#include "top_feed.h"

static const uint64_t second_ns = 1000000000;
/* Of waiting for a socket, and for a thread that is told to end. */
static const uint64_t patience_ns = 100000000;

struct top_feed {
	struct top_feed_options opts;
	struct pipeline *pipeline;
	struct input *input;
	pthread_t thread;
	bool started;
	bool ended;		/* by opts.beat */

	pthread_mutex_t mutex;	/* of all below */
	struct top_table *table;
	struct top_status status;
	struct input_stats in;
	uint64_t packet_ns;	/* of the packets; never goes back */
	uint64_t quiet_ns;	/* since the last one */
};

/*
 * Clocks
 */

/* For the table. */
static uint64_t clock_of(const struct top_feed *f)
{
	uint64_t now_ns;

	if (f->status.live)
		return clock_ns(CLOCK_MONOTONIC);
	now_ns = pipeline_now(f->pipeline);
	return (now_ns ? now_ns : f->packet_ns) + f->quiet_ns;
}

/* The second in which a file ends is whole: there is no more of it. */
static void end_second(struct top_feed *f)
{
	uint64_t over = pipeline_now(f->pipeline) % second_ns;

	if (!f->status.live && over)
		f->quiet_ns = second_ns - over;
}

static void begin_counting(struct top_feed *f)
{
	struct top_status *s = &f->status;

	s->from_ns = s->live ? clock_ns(CLOCK_REALTIME) : s->to_ns;
	top_table_clear(f->table, clock_of(f));
}

/*
 * Reading
 */

static void on_record(const struct record *record, void *context)
{
	struct top_feed *f = context;

	if (expression_matches(f->opts.expression, record))
		top_table_put(f->table, record, clock_of(f));
}

static void note_time(struct top_feed *f, uint64_t time_ns)
{
	if (time_ns > f->packet_ns)
		f->packet_ns = time_ns;
	f->quiet_ns = 0;
	f->status.to_ns = f->packet_ns;
	if (!f->status.from_ns)
		begin_counting(f);
}

static bool beat(struct top_feed *f, uint64_t now_ns)
{
	if (f->opts.beat && !f->opts.beat(now_ns, f->opts.context))
		f->ended = true;
	return !f->ended;
}

static bool on_mad(const struct mad_capture *cap, const struct erf_note *note,
		   void *context)
{
	struct top_feed *f = context;
	uint64_t now_ns;

	pthread_mutex_lock(&f->mutex);
	note_time(f, cap->time_ns);
	pipeline_put(f->pipeline, cap, note);
	input_get_stats(f->input, &f->in);
	now_ns = clock_of(f);
	pthread_mutex_unlock(&f->mutex);
	return beat(f, now_ns);
}

static bool on_idle(uint64_t quiet_ns, void *context)
{
	struct top_feed *f = context;
	uint64_t now_ns;

	pthread_mutex_lock(&f->mutex);
	if (f->packet_ns)
		f->quiet_ns = quiet_ns;
	pipeline_idle(f->pipeline, quiet_ns);
	now_ns = clock_of(f);
	pthread_mutex_unlock(&f->mutex);
	return beat(f, now_ns);
}

static void take_end(struct top_feed *f, bool whole, const char *error)
{
	pthread_mutex_lock(&f->mutex);
	pipeline_flush(f->pipeline);
	end_second(f);
	input_get_stats(f->input, &f->in);
	f->status.state = whole ? TOP_ENDED : TOP_BROKEN;
	if (!whole)
		strcpy(f->status.error, error);
	pthread_mutex_unlock(&f->mutex);
}

bool top_feed_run(struct top_feed *f, char error[INPUT_ERROR_MAX])
{
	const struct input_reader reader = {
		.mad = on_mad,
		.idle = on_idle,
		.context = f,
	};
	bool whole = input_read(f->input, &reader, error);

	take_end(f, whole, error);
	return whole;
}

/*
 * Connecting
 */

static struct input *open_input(const struct top_feed_options *o,
				char error[INPUT_ERROR_MAX])
{
	return o->file ? input_open_file(o->file, o->stop, error) :
			 input_open_source(o->source, o->stop, error);
}

static void note_waiting(struct top_feed *f, const char *error)
{
	pthread_mutex_lock(&f->mutex);
	f->status.state = TOP_WAITING;
	strcpy(f->status.error, error);
	pthread_mutex_unlock(&f->mutex);
}

static void note_connected(struct top_feed *f)
{
	pthread_mutex_lock(&f->mutex);
	f->status.state = TOP_READING;
	f->status.reconnects++;
	f->status.reconnect_ns = clock_ns(CLOCK_REALTIME);
	pthread_mutex_unlock(&f->mutex);
}

/* Once a second, until it is there. */
static void connect_again(struct top_feed *f, const char *why)
{
	char error[INPUT_ERROR_MAX];
	uint64_t waited_ns;

	snprintf(error, sizeof(error), "%s", why);
	input_close(f->input);
	f->input = NULL;
	while (!*f->opts.stop) {
		note_waiting(f, error);
		for (waited_ns = 0; waited_ns < second_ns && !*f->opts.stop;
		     waited_ns += patience_ns)
			nanosleep(&(struct timespec){ .tv_nsec = patience_ns },
				  NULL);
		f->input = open_input(&f->opts, error);
		if (!f->input)
			continue;
		note_connected(f);
		return;
	}
}

static void *feed_thread(void *context)
{
	struct top_feed *f = context;
	char error[INPUT_ERROR_MAX];

	do {
		strcpy(error, "the stream has ended");
		top_feed_run(f, error);
		if (f->opts.file || *f->opts.stop)
			break;
		connect_again(f, error);
	} while (f->input);
	return NULL;
}

bool top_feed_start(struct top_feed *f)
{
	sigset_t all, before;
	int error;

	/* the terminal's signals are for who has the terminal */
	sigfillset(&all);
	sigdelset(&all, SIGTERM);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	error = pthread_create(&f->thread, NULL, feed_thread, f);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	if (error) {
		errno = error;
		return false;
	}
	pthread_setname_np(f->thread, "osmsnoop-feed");
	f->started = true;
	return true;
}

/* A signal may come before the call that it is to interrupt: repeat it. */
static void end_thread(struct top_feed *f)
{
	struct timespec until;

	do {
		pthread_kill(f->thread, SIGTERM);
		until = clock_timespec(clock_ns(CLOCK_REALTIME) + patience_ns);
	} while (pthread_timedjoin_np(f->thread, NULL, &until) == ETIMEDOUT);
}

/*
 * Looking
 */

static void complete(const struct top_feed *f, struct top_status *status)
{
	const struct input_stats *in = &f->in;

	*status = f->status;
	if (status->live)
		status->to_ns = clock_ns(CLOCK_REALTIME);
	status->percent = in->size ? (unsigned)(100 * in->bytes / in->size) :
				     0;
}

bool top_feed_look(struct top_feed *f, struct top_snapshot *s,
		   struct top_status *status)
{
	bool well;

	pthread_mutex_lock(&f->mutex);
	complete(f, status);
	well = top_table_look(f->table, clock_of(f), s);
	pthread_mutex_unlock(&f->mutex);
	return well;
}

void top_feed_clear(struct top_feed *f)
{
	pthread_mutex_lock(&f->mutex);
	f->status.reconnects = 0;
	begin_counting(f);
	pthread_mutex_unlock(&f->mutex);
}

bool top_feed_is_broken(struct top_feed *f, char error[INPUT_ERROR_MAX])
{
	bool broken;

	pthread_mutex_lock(&f->mutex);
	broken = f->status.state == TOP_BROKEN;
	strcpy(error, f->status.error);
	pthread_mutex_unlock(&f->mutex);
	return broken;
}

/*
 * Life
 */

static struct pipeline *open_pipeline(struct top_feed *f,
				      char error[INPUT_ERROR_MAX])
{
	const struct pipeline_options options = {
		.node_name_map = f->opts.node_name_map,
		.record = on_record,
		.context = f,
	};

	return pipeline_new(&options, error);
}

struct top_feed *top_feed_open(const struct top_feed_options *options,
			       char error[INPUT_ERROR_MAX])
{
	struct top_feed *f = calloc(1, sizeof(*f));

	if (!f || !(f->table = top_table_new())) {
		free(f);
		strcpy(error, strerror(ENOMEM));
		return NULL;
	}
	f->opts = *options;
	f->status.live = !options->file;
	f->status.source = options->file ? options->file : options->source;
	pthread_mutex_init(&f->mutex, NULL);
	f->pipeline = open_pipeline(f, error);
	if (f->pipeline)
		f->input = open_input(&f->opts, error);
	if (!f->input) {
		top_feed_close(f);
		return NULL;
	}
	if (f->status.live)
		begin_counting(f);
	return f;
}

void top_feed_close(struct top_feed *f)
{
	if (!f)
		return;
	if (f->started)
		end_thread(f);
	input_close(f->input);
	pipeline_free(f->pipeline);
	top_table_free(f->table);
	pthread_mutex_destroy(&f->mutex);
	free(f);
}
