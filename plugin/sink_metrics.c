/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * The sink metrics: what passes, counted (metrics.h), in a file that is written
 * anew every ten seconds (replace.h), at the start, and at the end with
 * osmsnoop_up 0. A thread makes the text of a sample and writes it, so that a
 * disk that hangs holds up nobody; who puts says what becomes of it. While it
 * hangs there is no sample: the next one has it all.
 */
#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "clock.h"
#include "metrics.h"
#include "replace.h"
#include "sink.h"
#include "thread.h"

#define PERIOD_NS UINT64_C(10000000000)

enum {
	RETRY_NS = 1000000000,
	HANGS_NS = 2000000000,	/* before it is said */
	LEAST_NS = 50000000,	/* at the end, for a disk that is well */
};

/* What the thread has; it may outlive the sink. */
struct publisher {
	pthread_t thread;
	sem_t wake, done;
	_Atomic bool busy;	/* with `sample`, which then is the thread's */
	_Atomic bool closing;	/* with `last` */
	bool failed;		/* the last time; as is the file's reason, the
				 * thread's while it is busy */
	struct metrics_sample sample, last;
	struct replace file;

	pthread_mutex_t mutex;	/* of these two */
	bool finished, left_behind;

	char text[METRICS_TEXT_MAX];
};

struct sink_metrics {
	struct metrics *metrics;
	struct publisher *publisher;
	osm_log_t *p_log;
	uint64_t due_ns;
	uint64_t busy_ns;	/* since when it is */
	bool hangs, failed;	/* which was said */
};

/* The thread */

static void publish(struct publisher *p, const struct metrics_sample *sample)
{
	size_t len = metrics_text(sample, p->text, sizeof(p->text));

	p->failed = !len || !replace_write(&p->file, p->text, len);
}

static void publisher_free(struct publisher *p)
{
	replace_close(&p->file);
	sem_destroy(&p->wake);
	sem_destroy(&p->done);
	pthread_mutex_destroy(&p->mutex);
	free(p);
}

static void *publisher_main(void *context)
{
	struct publisher *p = context;
	bool closing, left_behind;

	do {
		sem_wait(&p->wake);
		closing = atomic_load(&p->closing);
		publish(p, closing ? &p->last : &p->sample);
		atomic_store(&p->busy, false);
	} while (!closing);
	pthread_mutex_lock(&p->mutex);
	p->finished = true;
	left_behind = p->left_behind;
	pthread_mutex_unlock(&p->mutex);
	if (left_behind)
		publisher_free(p);
	else
		sem_post(&p->done);
	return NULL;
}

static struct publisher *publisher_new(const char *path)
{
	struct publisher *p = calloc(1, sizeof(*p));

	if (!p)
		return NULL;
	sem_init(&p->wake, 0, 0);
	sem_init(&p->done, 0, 0);
	pthread_mutex_init(&p->mutex, NULL);
	replace_init(&p->file, path, METRICS_MARK);
	if (!thread_start(&p->thread, "osmsnoop-metric", publisher_main, p))
		return p;
	publisher_free(p);
	return NULL;
}

/* Who puts */

static bool metrics_sink_open(const struct options *options, osm_log_t *p_log,
			      void **state)
{
	struct sink_metrics *s;

	if (!*options->metrics)
		return true;
	s = calloc(1, sizeof(*s));
	if (!s)
		return false;
	s->p_log = p_log;
	s->metrics = metrics_new();
	if (s->metrics)
		s->publisher = publisher_new(options->metrics);
	if (s->publisher) {
		*state = s;
		return true;
	}
	metrics_free(s->metrics);
	free(s);
	return false;
}

static void metrics_sink_put(void *state, struct sink_record *record)
{
	struct sink_metrics *s = state;

	metrics_record(s->metrics, record->record);
}

static void metrics_sink_capture(void *state,
				 const struct mad_capture *capture,
				 const struct requester *peer)
{
	struct sink_metrics *s = state;

	(void)peer;
	metrics_capture(s->metrics, capture);
}

/* The thread cannot say that it hangs. */
static void look_after_thread(struct sink_metrics *s, uint64_t now_ns)
{
	if (s->hangs || now_ns - s->busy_ns < HANGS_NS)
		return;
	s->hangs = true;
	sink_error(s->p_log, "5D40",
		   "%s: its disk hangs or is too slow; the metrics are not written meanwhile",
		   s->publisher->file.path);
}

/* It is not busy: say once what became of the last text. */
static void look_at_result(struct sink_metrics *s)
{
	const struct publisher *p = s->publisher;

	if (p->failed && !s->failed)
		sink_error(s->p_log, "5D40",
			   "%s -- the metrics are not written, and it is tried again every second",
			   p->file.reason);
	else if (!p->failed && (s->failed || s->hangs))
		sink_error(s->p_log, "5D41", "%s is written again",
			   p->file.path);
	s->failed = p->failed;
	s->hangs = false;
}

static void metrics_sink_flush(void *state, const struct sink_moment *moment)
{
	struct sink_metrics *s = state;
	struct publisher *p = s->publisher;

	if (atomic_load(&p->busy)) {
		look_after_thread(s, moment->mono_ns);
		return;
	}
	look_at_result(s);
	if (s->failed && s->due_ns > s->busy_ns + RETRY_NS)
		s->due_ns = s->busy_ns + RETRY_NS;
	if (moment->mono_ns < s->due_ns)
		return;
	metrics_now(s->metrics, true, moment->transactions->outstanding,
		    moment->snoop->ring_bytes);
	metrics_take(s->metrics, &p->sample);
	s->busy_ns = moment->mono_ns;
	s->due_ns = moment->mono_ns + PERIOD_NS;
	atomic_store(&p->busy, true);
	sem_post(&p->wake);
}

/* False: the thread hangs, and frees what it has when it goes on. */
static bool join(struct sink_metrics *s, uint64_t deadline_ns)
{
	uint64_t least_ns = clock_ns(CLOCK_MONOTONIC) + LEAST_NS;
	const struct timespec deadline = clock_timespec(
		deadline_ns > least_ns ? deadline_ns : least_ns);
	struct publisher *p = s->publisher;
	bool finished;

	while (sem_clockwait(&p->done, CLOCK_MONOTONIC, &deadline) &&
	       errno == EINTR)
		;
	pthread_mutex_lock(&p->mutex);
	finished = p->finished;
	p->left_behind = !finished;
	if (!finished) {
		sink_error(s->p_log, "5D40",
			   "%s: its disk hangs; OpenSM ends without waiting for the last metrics",
			   p->file.path);
		pthread_detach(p->thread);
	}
	pthread_mutex_unlock(&p->mutex);
	if (finished)
		pthread_join(p->thread, NULL);
	return finished;
}

static void metrics_sink_close(void *state, uint64_t deadline_ns)
{
	struct sink_metrics *s = state;
	struct publisher *p = s->publisher;

	/* by now there is a record of each request, and nothing in the ring */
	metrics_now(s->metrics, false, 0, 0);
	metrics_take(s->metrics, &p->last);
	atomic_store(&p->closing, true);
	sem_post(&p->wake);
	if (join(s, deadline_ns)) {
		look_at_result(s);
		publisher_free(p);
	}
	metrics_free(s->metrics);
	free(s);
}

const struct sink sink_metrics = {
	.open = metrics_sink_open,
	.put = metrics_sink_put,
	.capture = metrics_sink_capture,
	.flush = metrics_sink_flush,
	.close = metrics_sink_close,
};
