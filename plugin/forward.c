/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
#include <config.h>

#include <errno.h>
#include <inttypes.h>
#include <paths.h>
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <syslog.h>
#include <time.h>
#include <unistd.h>
#ifdef HAVE_SYSTEMD
#define SD_JOURNAL_SUPPRESS_LOCATION
#include <systemd/sd-journal.h>
#endif

#include "clock.h"
#include "forward.h"
#include "record.h"
#include "ring.h"
#include "sink.h"
#include "thread.h"

enum {
	/* a syslog that takes nothing for so long loses the message */
	PATIENCE_MS = 1000,
	STEP_MS = 50,
	/* between the last loss and the line that it is over */
	WELL_NS = 1000000000,
	LEAST_NS = 50000000,
};

/* What lies in the queue, and then the strings, each with its NUL. */
struct item {
	int priority;
	uint16_t lid;
	bool has_type, has_alert, has_json;
	char strings[];
};

/* What journald gets of one message. */
enum { FIELDS = 7, FIELDS_MAX = 2 * SINK_JSON_MAX };

struct fields {
	struct iovec v[FIELDS];
	int n;
	size_t used;
	char text[FIELDS_MAX];
};

struct forward {
	struct ring queue;
	sem_t wake, done;
	pthread_t thread;
	enum forward_mode mode;
	_Atomic bool closing;
	_Atomic bool woken;
	_Atomic bool left_behind;
	_Atomic bool finished;
	_Atomic uint64_t put, settled;
	_Atomic uint64_t lost;
	_Atomic int error;	/* why the last one was; 0: no room */

	/* the thread's */
	int fd;			/* to syslog; -1 = not connected */
	uint64_t told;		/* losses that the receiver was told of */
	struct fields fields;

	/* of who flushes */
	osm_log_t *p_log;
	bool said;
	uint64_t said_lost;	/* before what is said next */
	uint64_t last_lost;
	uint64_t lost_ns;	/* when it last grew */
};

static void lose(struct forward *f, int error)
{
	atomic_store(&f->error, error);
	atomic_fetch_add(&f->lost, 1);
}

/* To syslog. All return 0 or an errno. */

static int connect_syslog(struct forward *f)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	int error;

	if (f->fd >= 0)
		return 0;
	strcpy(address.sun_path, _PATH_LOG);
	f->fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (f->fd < 0)
		return errno;
	if (!connect(f->fd, (struct sockaddr *)&address, sizeof(address)))
		return 0;
	error = errno;
	close(f->fd);
	f->fd = -1;
	return error;
}

/* Not syslog(3), whose lock OpenSM's threads take as well. */
static int send_patiently(struct forward *f, const char *text, size_t len)
{
	struct pollfd ready = { .fd = f->fd, .events = POLLOUT };
	int waited = 0;

	while (send(f->fd, text, len, MSG_DONTWAIT | MSG_NOSIGNAL) < 0) {
		if (errno == EINTR)
			continue;
		if (errno != EAGAIN || waited >= PATIENCE_MS ||
		    atomic_load(&f->left_behind))
			return errno;
		poll(&ready, 1, STEP_MS);
		waited += STEP_MS;
	}
	return 0;
}

static int send_syslog(struct forward *f, int priority, const char *text)
{
	char line[RECORD_LINE_MAX + 128], when[32];
	time_t now = time(NULL);
	int tries, n, error = 0;
	struct tm tm;

	strftime(when, sizeof(when), "%b %e %T", localtime_r(&now, &tm));
	n = snprintf(line, sizeof(line), "<%d>%s osmsnoop[%d]: %s",
		     LOG_DAEMON | priority, when, (int)getpid(), text);
	if (n >= (int)sizeof(line))
		n = sizeof(line) - 1;
	/* again, when another one listens there now */
	for (tries = 0; tries < 2; tries++) {
		error = connect_syslog(f);
		if (error)
			return error;
		error = send_patiently(f, line, (size_t)n);
		if (!error || error == EAGAIN)
			return error;
		close(f->fd);
		f->fd = -1;
	}
	return error;
}

/* To journald */

#ifdef HAVE_SYSTEMD
static void add(struct fields *fields, const char *name, const char *before,
		const char *value, const char *behind)
{
	char *to = fields->text + fields->used;
	size_t len = strlen(name) + 1 + strlen(before) + strlen(value) +
		     strlen(behind);

	if (fields->used + len + 1 > sizeof(fields->text))
		return;
	sprintf(to, "%s=%s%s%s", name, before, value, behind);
	fields->v[fields->n++] = (struct iovec){ to, len };
	fields->used += len + 1;
}

static int send_journald(struct forward *f, const struct forward_message *m)
{
	struct fields *fields = &f->fields;
	char number[16];
	int error;

	/* the library says nothing when there is none */
	if (access("/run/systemd/journal/socket", F_OK))
		return errno;
	fields->n = 0;
	fields->used = 0;
	add(fields, "MESSAGE", "", m->text, "");
	snprintf(number, sizeof(number), "%d", m->priority);
	add(fields, "PRIORITY", "", number, "");
	add(fields, "SYSLOG_IDENTIFIER", "", "osmsnoop", "");
	if (m->type)
		add(fields, "OSMSNOOP_TYPE", "", m->type, "");
	if (m->alert)
		add(fields, "OSMSNOOP_ALERT", "", m->alert, "");
	snprintf(number, sizeof(number), "%u", m->lid);
	if (m->lid)
		add(fields, "OSMSNOOP_LID", "", number, "");
	if (m->json)
		add(fields, "OSMSNOOP_JSON", "{", m->json, "}");
	error = sd_journal_sendv(fields->v, fields->n);
	return error < 0 ? -error : 0;
}
#else
static int send_journald(struct forward *f, const struct forward_message *m)
{
	(void)f;
	(void)m;
	return ENOTSUP;
}
#endif

static int send_message(struct forward *f, const struct forward_message *m)
{
	return f->mode == FORWARD_JOURNALD ?
		       send_journald(f, m) :
		       send_syslog(f, m->priority, m->text);
}

/* The thread */

/* What is missing comes before the next one. */
static int tell_lost(struct forward *f)
{
	uint64_t lost = atomic_load(&f->lost);
	struct forward_message m = { .priority = LOG_WARNING };
	char text[128];
	int error;

	if (lost == f->told)
		return 0;
	snprintf(text, sizeof(text), "%" PRIu64 " messages before this one are missing",
		 lost - f->told);
	m.text = text;
	error = send_message(f, &m);
	if (!error)
		f->told = lost;
	return error;
}

static const char *next_string(const char **at, bool there)
{
	const char *string = *at;

	if (!there)
		return NULL;
	*at += strlen(string) + 1;
	return string;
}

static void hand_over(struct forward *f, const struct item *item)
{
	const char *at = item->strings;
	struct forward_message m = {
		.priority = item->priority,
		.lid = item->lid,
		.text = next_string(&at, true),
		.type = next_string(&at, item->has_type),
		.alert = next_string(&at, item->has_alert),
		.json = next_string(&at, item->has_json),
	};
	int error = tell_lost(f);

	if (!error)
		error = send_message(f, &m);
	if (error)
		lose(f, error);
}

static void forward_free(struct forward *f)
{
	if (f->fd >= 0)
		close(f->fd);
	ring_free(&f->queue);
	sem_destroy(&f->wake);
	sem_destroy(&f->done);
	free(f);
}

static void *forward_main(void *context)
{
	struct forward *f = context;
	struct item *item;
	uint32_t len;
	bool closing;

	do {
		sem_wait(&f->wake);
		atomic_store(&f->woken, false);
		closing = atomic_load(&f->closing);
		while (!atomic_load(&f->left_behind) &&
		       (item = ring_peek(&f->queue, &len))) {
			hand_over(f, item);
			ring_release(&f->queue, item);
			atomic_fetch_add(&f->settled, 1);
		}
	} while (!closing);
	/* whoever comes second of the two frees it */
	if (atomic_exchange(&f->finished, true))
		forward_free(f);
	else
		sem_post(&f->done);
	return NULL;
}

/* Who puts */

struct forward *forward_open(enum forward_mode mode, size_t queue,
			     osm_log_t *p_log)
{
	struct forward *f = aligned_alloc(RING_LINE, sizeof(*f));

	if (!f)
		return NULL;
	memset(f, 0, sizeof(*f));
	f->mode = mode;
	f->p_log = p_log;
	f->fd = -1;
	sem_init(&f->wake, 0, 0);
	sem_init(&f->done, 0, 0);
	if (!ring_init(&f->queue, queue) &&
	    !thread_start(&f->thread, "osmsnoop-fwd", forward_main, f))
		return f;
	forward_free(f);
	return NULL;
}

static size_t size_of(const char *string)
{
	return string ? strlen(string) + 1 : 0;
}

static char *put_string(char *to, const char *string)
{
	return string ? stpcpy(to, string) + 1 : to;
}

bool forward_put(struct forward *f, const struct forward_message *m)
{
	size_t len = sizeof(struct item) + size_of(m->text) +
		     size_of(m->type) + size_of(m->alert) + size_of(m->json);
	struct item *item = ring_reserve(&f->queue, (uint32_t)len);
	char *to;

	if (item) {
		item->priority = m->priority;
		item->lid = m->lid;
		item->has_type = m->type;
		item->has_alert = m->alert;
		item->has_json = m->json;
		to = put_string(item->strings, m->text);
		to = put_string(to, m->type);
		to = put_string(to, m->alert);
		put_string(to, m->json);
		atomic_fetch_add(&f->put, 1);
		ring_commit(item, (uint32_t)len);
	} else {
		lose(f, 0);
	}
	if (!atomic_exchange(&f->woken, true))
		sem_post(&f->wake);
	return item;
}

void forward_say(struct forward *f, int priority, const char *fmt, ...)
{
	struct forward_message m = { .priority = priority };
	char text[RECORD_LINE_MAX];
	va_list args;

	va_start(args, fmt);
	vsnprintf(text, sizeof(text), fmt, args);
	va_end(args);
	m.text = text;
	forward_put(f, &m);
}

static const char *name(const struct forward *f)
{
	return f->mode == FORWARD_JOURNALD ? "journald" : "syslog";
}

void forward_flush(struct forward *f, uint64_t mono_ns)
{
	uint64_t lost = atomic_load(&f->lost);
	int error = atomic_load(&f->error);

	if (lost != f->last_lost) {
		f->lost_ns = mono_ns;
		if (!f->said)
			sink_error(f->p_log, "5D2B",
				   "%s takes no messages (%s); they are counted, and go where they go else",
				   name(f), error ? strerror(error) :
				   "it is too slow, there is no room for more");
		f->said = true;
	} else if (f->said && mono_ns - f->lost_ns >= WELL_NS &&
		   atomic_load(&f->put) == atomic_load(&f->settled)) {
		sink_error(f->p_log, "5D2C",
			   "%s: %" PRIu64 " messages were not taken",
			   name(f), lost - f->said_lost);
		f->said = false;
		f->said_lost = lost;
	}
	f->last_lost = lost;
}

void forward_close(struct forward *f, uint64_t deadline_ns)
{
	uint64_t least_ns = clock_ns(CLOCK_MONOTONIC) + LEAST_NS, missing;
	const struct timespec deadline = clock_timespec(
		deadline_ns > least_ns ? deadline_ns : least_ns);
	pthread_t thread = f->thread;
	bool in_time;

	atomic_store(&f->closing, true);
	sem_post(&f->wake);
	while (sem_clockwait(&f->done, CLOCK_MONOTONIC, &deadline) &&
	       errno == EINTR)
		;
	atomic_store(&f->left_behind, true);
	missing = atomic_load(&f->lost) - f->said_lost +
		  atomic_load(&f->put) - atomic_load(&f->settled);
	if (missing)
		sink_error(f->p_log, "5D2C",
			   "%s: %" PRIu64 " messages were not taken",
			   name(f), missing);
	in_time = atomic_exchange(&f->finished, true);
	if (!in_time) {
		pthread_detach(thread);
		return;
	}
	pthread_join(thread, NULL);
	forward_free(f);
}
