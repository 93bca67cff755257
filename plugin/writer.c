/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <syslog.h>

#include "clock.h"
#include "file_format.h"
#include "forward.h"
#include "journal.h"
#include "ring.h"
#include "sink.h"
#include "thread.h"
#include "writer.h"

enum {
	/* a fifth of a second of as many records as OpenSM can cause */
	QUEUE_BYTES = 8 * 1024 * 1024,
	/* the thread is woken then, and not by each record */
	QUEUE_WAKE = QUEUE_BYTES / 8,
	/* between two looks whether the file was moved */
	RECORDS_A_LOOK = 4096,
	/* two seconds, before it is said that nothing is written */
	IDLE_FLUSHES = 20,
	/* one file that hangs leaves the next one so much at the end */
	LEAST_NS = 50000000,
};

/* What lies in the queue. */
struct item {
	uint64_t lost;		/* records lost just before this one */
	uint32_t len;		/* 0 = no record, only the losses */
	char record[];
};

struct writer {
	struct ring queue;
	sem_t wake, done;
	pthread_t thread;
	_Atomic bool closing;
	_Atomic bool woken;		/* and has not looked yet */
	_Atomic uint64_t settled;	/* written, or told or counted as lost */
	_Atomic uint64_t begun;		/* as its file has it */

	/* who puts */
	uint64_t put;			/* all, and what lost ones had lost */
	bool full;			/* was the queue, since the last flush */
	bool stuck;			/* it is not written, which was said */
	uint64_t stuck_lost;		/* because of it */
	uint64_t settled_before;	/* at the last flush */
	uint64_t put_before;		/* as was `put` */
	unsigned idle;			/* flushes since */
	uint64_t lost;			/* and not in the queue yet; from
					 * `closing` on the thread's */

	pthread_mutex_t mutex;		/* of these four */
	osm_log_t *p_log;		/* NULL once OpenSM is gone */
	struct forward *failure;	/* as long as p_log is there */
	bool finished;
	bool left_behind;

	struct journal journal;		/* the thread's */
};

/* What begins, and what is over or was never to be mended. */
static bool is_failure(const char *code)
{
	static const char *const codes[] = {
		"5D20", "5D21", "5D22", "5D25", "5D27", "5D28",
	};
	size_t i;

	for (i = 0; i < sizeof(codes) / sizeof(codes[0]); i++)
		if (!strcmp(code, codes[i]))
			return true;
	return false;
}

static void complain(struct writer *w, const char *code, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

static void complain(struct writer *w, const char *code, const char *fmt, ...)
{
	char text[1024];
	va_list args;

	va_start(args, fmt);
	vsnprintf(text, sizeof(text), fmt, args);
	va_end(args);
	sink_error(w->p_log, code, "%s", text);
	if (w->failure && is_failure(code))
		forward_say(w->failure, LOG_CRIT, "ERR %s: audit: %s", code,
			    text);
}

static void say(void *context, const char *code, const char *text)
{
	struct writer *w = context;

	pthread_mutex_lock(&w->mutex);
	if (w->p_log)
		complain(w, code, "%s", text);
	pthread_mutex_unlock(&w->mutex);
}

/* Write what is in the queue, but not for ever. False: it is empty. */
static bool take_some(struct writer *w)
{
	uint64_t settled = atomic_load(&w->settled);
	struct item *item;
	uint32_t len;
	int n;

	for (n = 0; n < RECORDS_A_LOOK; n++) {
		item = ring_peek(&w->queue, &len);
		if (!item)
			break;
		if (item->lost)
			journal_lose(&w->journal, item->lost);
		if (item->len)
			journal_put(&w->journal, item->record, item->len);
		atomic_store(&w->begun, w->journal.file.begun);
		settled += item->lost + (item->len > 0);
		ring_release(&w->queue, item);
	}
	journal_flush(&w->journal, clock_ns(CLOCK_MONOTONIC));
	atomic_store(&w->begun, w->journal.file.begun);
	atomic_store(&w->settled, settled);
	return n == RECORDS_A_LOOK;
}

static void write_all(struct writer *w)
{
	bool closing;

	journal_open(&w->journal, clock_ns(CLOCK_MONOTONIC));
	do {
		sem_wait(&w->wake);
		atomic_store(&w->woken, false);
		/* first the flag, then the queue: nothing comes after it */
		closing = atomic_load(&w->closing);
		while (take_some(w))
			;
	} while (!closing);
	if (w->lost)
		journal_lose(&w->journal, w->lost);
	journal_close(&w->journal);
}

static void writer_free(struct writer *w)
{
	ring_free(&w->queue);
	sem_destroy(&w->wake);
	sem_destroy(&w->done);
	pthread_mutex_destroy(&w->mutex);
	free(w);
}

static void *writer_main(void *context)
{
	struct writer *w = context;
	bool left_behind;

	write_all(w);
	pthread_mutex_lock(&w->mutex);
	w->finished = true;
	left_behind = w->left_behind;
	pthread_mutex_unlock(&w->mutex);
	if (left_behind)
		writer_free(w);
	else
		sem_post(&w->done);
	return NULL;
}

struct writer *writer_open(const struct file_format *format, const char *path,
			   uint64_t max_bytes, uint32_t max_files,
			   osm_log_t *p_log, struct forward *failure)
{
	struct writer *w = aligned_alloc(RING_LINE, sizeof(*w));

	if (!w)
		return NULL;
	memset(w, 0, offsetof(struct writer, journal));
	w->p_log = p_log;
	w->failure = failure;
	journal_init(&w->journal, format, path, max_bytes, max_files, say, w);
	sem_init(&w->wake, 0, 0);
	sem_init(&w->done, 0, 0);
	pthread_mutex_init(&w->mutex, NULL);
	if (!ring_init(&w->queue, QUEUE_BYTES) &&
	    !thread_start(&w->thread, "osmsnoop-file", writer_main, w))
		return w;
	writer_free(w);
	return NULL;
}

static void wake(struct writer *w)
{
	if (!atomic_exchange(&w->woken, true))
		sem_post(&w->wake);
}

static bool enqueue(struct writer *w, const char *record, size_t len)
{
	uint32_t size = (uint32_t)(sizeof(struct item) + len);
	struct item *item = ring_reserve(&w->queue, size);

	if (!item)
		return false;
	item->lost = w->lost;
	item->len = (uint32_t)len;
	memcpy(item->record, record, len);
	ring_commit(item, size);
	w->lost = 0;
	return true;
}

/* `loss` are missing because there was no room for a record. */
static void no_room(struct writer *w, uint64_t loss)
{
	w->put += loss;
	w->lost += loss;
	w->stuck_lost += loss;
	w->full = true;
}

void writer_lose(struct writer *w, uint64_t lost)
{
	w->put += lost;
	w->lost += lost;
}

bool writer_put(struct writer *w, const char *record, size_t len)
{
	bool taken = record && enqueue(w, record, len);

	if (!record)
		writer_lose(w, 1);
	else if (!taken)
		no_room(w, file_loss(w->journal.file.format, record, len));
	else
		w->put++;
	if (ring_used(&w->queue) >= QUEUE_WAKE)
		wake(w);
	return taken;
}

uint64_t writer_begun(const struct writer *w)
{
	return atomic_load(&w->begun);
}

/*
 * The thread cannot say that it hangs. So who puts looks after it: it is said
 * once when the queue was full or nothing was written for a while, and once
 * when all is written.
 */
static void look_for_progress(struct writer *w)
{
	uint64_t settled = atomic_load(&w->settled);
	/* all that was put until the last look */
	bool done = settled + w->lost >= w->put_before;

	if (done || settled != w->settled_before)
		w->idle = 0;
	else
		w->idle++;
	w->settled_before = settled;
	w->put_before = w->put;
	if (!w->stuck && (w->full || w->idle >= IDLE_FLUSHES)) {
		complain(w, "5D27",
			   "%s: its disk hangs or is too slow; records wait for it, and are counted when there is no room for them",
			   w->journal.file.path);
		w->stuck = true;
	} else if (w->stuck && done && !w->full) {
		complain(w, "5D28",
			   "%s: its disk no longer hangs; %" PRIu64 " records found no room meanwhile",
			   w->journal.file.path, w->stuck_lost);
		w->stuck = false;
		w->stuck_lost = 0;
	}
	w->full = false;
}

void writer_flush(struct writer *w)
{
	look_for_progress(w);
	/* should no record follow that could tell of it */
	if (w->lost)
		enqueue(w, "", 0);
	wake(w);
}

void writer_close(struct writer *w, uint64_t deadline_ns)
{
	uint64_t least_ns = clock_ns(CLOCK_MONOTONIC) + LEAST_NS;
	const struct timespec deadline = clock_timespec(
		deadline_ns > least_ns ? deadline_ns : least_ns);

	atomic_store(&w->closing, true);
	sem_post(&w->wake);
	while (sem_clockwait(&w->done, CLOCK_MONOTONIC, &deadline) &&
	       errno == EINTR)
		;
	pthread_mutex_lock(&w->mutex);
	if (!w->finished) {
		complain(w, "5D25",
			   "%s: its disk hangs; OpenSM ends without waiting for %" PRIu64 " records that were to be written there",
			   w->journal.file.path,
			   w->put - atomic_load(&w->settled));
		w->p_log = NULL;
		w->left_behind = true;
		pthread_detach(w->thread);
		pthread_mutex_unlock(&w->mutex);
		return;
	}
	pthread_mutex_unlock(&w->mutex);
	pthread_join(w->thread, NULL);
	writer_free(w);
}
