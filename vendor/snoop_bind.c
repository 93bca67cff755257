/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
#include <inttypes.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <vendor/osm_vendor_snoop.h>

#include "clock.h"
#include "error.h"
#include "layout.h"
#include "source.h"
#include "thread.h"

enum {
	RING_DEFAULT = 16 * 1024 * 1024,
	RING_MIN = 64 * 1024,
	RING_MAX = 1024 * 1024 * 1024,
	/* osm_snoop_bind_info_t as it was first, without what came later */
	INFO_FIRST = offsetof(osm_snoop_bind_info_t, message_max),
	/* a larger osm_snoop_bind_info_t is no structure but a stray number */
	INFO_MAX = 4096,
	MESSAGE_DEFAULT = 16 * 1024 * 1024,
	MESSAGES_DEFAULT = 256 * 1024 * 1024,
	MESSAGES_MAX = 1024 * 1024 * 1024,
	/* of one vendor object, before the oldest of them is used again */
	ENDED_KEPT = 64,
};

/*
 * A snoop bind. It is never freed, because wrappers that are returned after
 * the unbind lead here: osm_vendor_put() reads the first member. So a bind
 * that ended is used again by the same vendor object, but late: until then
 * its handle is known to be stale.
 */
struct snoop_bind {
	osm_vendor_t *p_vend;	/* first: osm_vendor_get and _put read it */
	struct snoop_bind *next;
	bool in_use;
	bool bound;		/* delivering; false once an unbind began */
	const struct snoop_bind *waits_for;	/* its callback unbinds that */
	_Atomic uint64_t deadline;	/* monotonic; nothing is delivered after */
	uint64_t unbinds;	/* that have finished */
	uint64_t ended;		/* the last of these, among all binds' */
	const struct source *source;
	void *state;
	osm_mad_pool_t *p_mad_pool;
	osm_vend_snoop_callback_t callback;
	void *context;
	pthread_t thread;
	_Atomic uint64_t delivered;
	_Atomic uint64_t lost_memory;
	_Atomic uint64_t truncated;
	osm_snoop_stats_t last;		/* of the source, when it is closed */
};

static struct snoop_bind *binds;
static pthread_mutex_t binds_mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t unbind_finished = PTHREAD_COND_INITIALIZER;

/* The bind whose callbacks this thread makes. */
static _Thread_local struct snoop_bind *delivering;

/*
 * With binds_mutex held: one that may be used again, or NULL. At once where
 * nobody has its handle, because its source did not open.
 */
static struct snoop_bind *bind_reuse(const osm_vendor_t *p_vend)
{
	struct snoop_bind *b, *oldest = NULL;
	unsigned n = 0;

	for (b = binds; b; b = b->next) {
		if (b->in_use || b->p_vend != p_vend)
			continue;
		n++;
		if (!oldest || b->ended < oldest->ended)
			oldest = b;
	}
	return oldest && (!oldest->ended || n >= ENDED_KEPT) ? oldest : NULL;
}

static struct snoop_bind *bind_get(osm_vendor_t *p_vend)
{
	struct snoop_bind *b;

	pthread_mutex_lock(&binds_mutex);
	b = bind_reuse(p_vend);
	if (!b) {
		b = calloc(1, sizeof(*b));
		if (!b)
			goto out;
		b->p_vend = p_vend;
		b->next = binds;
		binds = b;
	}
	b->in_use = true;
out:
	pthread_mutex_unlock(&binds_mutex);
	return b;
}

static void bind_put(struct snoop_bind *b)
{
	pthread_mutex_lock(&binds_mutex);
	b->in_use = false;
	pthread_mutex_unlock(&binds_mutex);
}

/* With binds_mutex held: the bind of this handle, ended or not, or NULL. */
static struct snoop_bind *bind_find(osm_bind_handle_t h_bind)
{
	struct snoop_bind *b;

	for (b = binds; b; b = b->next)
		if (b == h_bind && b->source)
			return b;
	return NULL;
}

/* Hand one capture to the callback; what was lost instead is returned. */
static uint64_t deliver(struct snoop_bind *b, struct source_capture *capture)
{
	uint32_t size = capture->size;
	osm_madw_t *p_madw;

	/* as the vendor layer does: never less than a whole MAD's buffer */
	p_madw = osm_mad_pool_get(b->p_mad_pool, b,
				  size < MAD_SIZE ? MAD_SIZE : size,
				  &capture->mad_addr);
	if (!p_madw) {
		atomic_fetch_add(&b->lost_memory, 1);
		return capture->info.lost + 1;
	}
	memcpy((void *)p_madw->p_mad, capture->mad, size);
	p_madw->mad_size = size;
	p_madw->status = capture->status;
	atomic_fetch_add(&b->delivered, 1);
	if (size < capture->info.original_size)
		atomic_fetch_add(&b->truncated, 1);
	b->callback(p_madw, &capture->info, b->context);
	return 0;
}

static bool is_late(const struct snoop_bind *b)
{
	uint64_t deadline = atomic_load(&b->deadline);

	return deadline != UINT64_MAX && clock_ns(CLOCK_MONOTONIC) >= deadline;
}

static void *deliver_all(void *context)
{
	struct snoop_bind *b = context;
	struct source_capture capture;
	uint64_t lost = 0;
	int n;

	delivering = b;
	while ((n = b->source->next(b->state, &capture)) >= 0) {
		if (n) {
			capture.info.lost += lost;
			lost = deliver(b, &capture);
		}
		if (is_late(b))
			break;
	}
	return NULL;
}

static bool start_delivering(struct snoop_bind *b)
{
	char name[16];
	int error;

	snprintf(name, sizeof(name), "osmsnoop-%s",
		 osm_vendor_snoop_source_name(b->source->id));
	error = thread_start(&b->thread, name, deliver_all, b);
	if (error)
		snoop_error("no thread to deliver captures: %s",
			    strerror(error));
	return !error;
}

/*
 * With the mutex: the handle may be known from a bind before, and somebody
 * may ask for its counters meanwhile.
 */
static bool bind_start(struct snoop_bind *b, const struct source *source,
		       void *state, osm_mad_pool_t *p_mad_pool,
		       osm_vend_snoop_callback_t callback, void *context)
{
	bool started;

	pthread_mutex_lock(&binds_mutex);
	b->source = source;
	b->state = state;
	b->p_mad_pool = p_mad_pool;
	b->callback = callback;
	b->context = context;
	atomic_store(&b->delivered, 0);
	atomic_store(&b->lost_memory, 0);
	atomic_store(&b->truncated, 0);
	atomic_store(&b->deadline, UINT64_MAX);
	started = start_delivering(b);
	b->bound = started;
	if (!started)
		b->state = NULL;
	pthread_mutex_unlock(&binds_mutex);
	return started;
}

static bool sample_is_valid(const osm_snoop_sample_t *s)
{
	return s->p_variable &&
	       (s->size == 1 || s->size == 2 || s->size == 4 || s->size == 8) &&
	       (uintptr_t)s->p_variable % s->size == 0;
}

static bool array_is_valid(const void *p, const char *name, uint32_t count,
			   uint32_t max)
{
	if (count > max)
		snoop_error("%u %ss: 0 to %u are accepted", count, name, max);
	else if (count && !p)
		snoop_error("p_%ss is NULL but %s_count is %u", name, name,
			    count);
	else
		return true;
	return false;
}

/* The default of either gives way to what the caller says of the other. */
static bool check_messages(osm_snoop_bind_info_t *info)
{
	const size_t one = info->message_max, all = info->messages_max;
	const size_t most = all ? all : MESSAGES_MAX;

	if (all && (all < MAD_SIZE || all > MESSAGES_MAX)) {
		snoop_error("messages_max is %zu: %d to %d are accepted", all,
			    MAD_SIZE, MESSAGES_MAX);
		return false;
	}
	if (one && (one < MAD_SIZE || one > most)) {
		snoop_error("message_max is %zu: %d to %zu%s are accepted", one,
			    MAD_SIZE, most, all ? " (messages_max)" : "");
		return false;
	}
	if (!all)
		info->messages_max = one > MESSAGES_DEFAULT ? one :
							      MESSAGES_DEFAULT;
	if (!one)
		info->message_max = most < MESSAGE_DEFAULT ? most :
							     MESSAGE_DEFAULT;
	return true;
}

/*
 * A caller that was built with a later header has a larger structure: what it
 * does not use is zero there, and then this library can serve it. One with an
 * earlier header has a smaller one: the rest is zero. No header has one that
 * ends elsewhere.
 */
static ib_api_status_t info_copy(const osm_snoop_bind_info_t *p_info,
				 osm_snoop_bind_info_t *info)
{
	const uint8_t *bytes = (const uint8_t *)p_info;
	size_t size = p_info->size, i;

	if (size != INFO_FIRST && (size < sizeof(*info) || size > INFO_MAX)) {
		snoop_error("osm_snoop_bind_info_t.size is %zu: accepted are %zu, and %zu to %d",
			    size, (size_t)INFO_FIRST, sizeof(*info), INFO_MAX);
		return IB_INVALID_PARAMETER;
	}
	for (i = sizeof(*info); i < size; i++)
		if (bytes[i]) {
			snoop_error("osm_snoop_bind_info_t.size is %zu, this library knows %zu, and byte %zu beyond them is not zero",
				    size, sizeof(*info), i);
			return IB_INVALID_PARAMETER;
		}
	*info = (osm_snoop_bind_info_t){ 0 };
	memcpy(info, p_info, size < sizeof(*info) ? size : sizeof(*info));
	return IB_SUCCESS;
}

/* Check what the caller wants and fill in the defaults. */
static ib_api_status_t info_check(const osm_snoop_bind_info_t *p_info,
				  osm_snoop_bind_info_t *info)
{
	const uint32_t known = OSM_SNOOP_SENDS | OSM_SNOOP_RECEIVES |
			       OSM_SNOOP_REASSEMBLE;
	const uint32_t both = OSM_SNOOP_SENDS | OSM_SNOOP_RECEIVES;
	uint32_t i;

	if (info_copy(p_info, info) != IB_SUCCESS)
		return IB_INVALID_PARAMETER;
	if (info->flags & ~known) {
		snoop_error("flags 0x%x: known are 0x%x (OSM_SNOOP_SENDS, OSM_SNOOP_RECEIVES, OSM_SNOOP_REASSEMBLE)",
			    info->flags, known);
		return IB_INVALID_PARAMETER;
	}
	if (!(info->flags & both))
		info->flags |= both;
	if (!array_is_valid(info->p_filters, "filter", info->filter_count,
			    OSM_SNOOP_MAX_FILTERS) ||
	    !array_is_valid(info->p_samples, "sample", info->sample_count,
			    OSM_SNOOP_MAX_SAMPLES))
		return IB_INVALID_PARAMETER;
	for (i = 0; i < info->sample_count; i++)
		if (!sample_is_valid(&info->p_samples[i])) {
			snoop_error("sample %u: %u bytes at %p; accepted are 1, 2, 4 or 8 bytes, aligned",
				    i, info->p_samples[i].size,
				    info->p_samples[i].p_variable);
			return IB_INVALID_PARAMETER;
		}
	if (!info->ring_size)
		info->ring_size = RING_DEFAULT;
	if (info->ring_size < RING_MIN || info->ring_size > RING_MAX) {
		snoop_error("a ring of %zu bytes: %d to %d are accepted",
			    info->ring_size, RING_MIN, RING_MAX);
		return IB_INVALID_PARAMETER;
	}
	if (info->snap_length && info->snap_length < MAD_HDR_SIZE) {
		snoop_error("a snap length of %u bytes: 0 (all) or at least %d",
			    info->snap_length, MAD_HDR_SIZE);
		return IB_INVALID_PARAMETER;
	}
	if (!check_messages(info))
		return IB_INVALID_PARAMETER;
	return IB_SUCCESS;
}

static osm_bind_handle_t bind_new(osm_vendor_t *p_vend,
				  const osm_snoop_bind_info_t *p_info,
				  osm_mad_pool_t *p_mad_pool,
				  osm_vend_snoop_callback_t callback,
				  void *context)
{
	osm_snoop_bind_info_t info;
	const struct source *source;
	osm_snoop_stats_t stats;
	struct snoop_bind *b;
	void *state;

	if (!p_vend || !p_info || !p_mad_pool || !callback) {
		snoop_error("%s is NULL", !p_vend     ? "p_vend" :
					  !p_info     ? "p_info" :
					  !p_mad_pool ? "p_mad_pool" :
							"callback");
		goto fail;
	}
	if (info_check(p_info, &info) != IB_SUCCESS)
		goto fail;
	b = bind_get(p_vend);
	if (!b) {
		snoop_error("no memory for a bind");
		goto fail;
	}
	source = source_open(p_vend, &info, &state);
	if (!source)
		goto release;
	if (!bind_start(b, source, state, p_mad_pool, callback, context))
		goto close;
	osm_vendor_snoop_get_stats(b, &stats);
	if (stats.untapped)
		osm_log_v2(p_vend->p_log, OSM_LOG_ERROR, OSMSNOOP_FILE_ID,
			   "ERR 5D12: %" PRIu64 " binds of the vendor layer are not seen receiving: the tap has no room for them\n",
			   stats.untapped);
	return b;

close:
	source->stop(state);
	source->close(state, &stats);
release:
	bind_put(b);
fail:
	if (p_vend)
		snoop_error_log(p_vend->p_log, "5D10");
	return OSM_BIND_INVALID_HANDLE;
}

osm_bind_handle_t
osm_vendor_snoop_bind(osm_vendor_t *p_vend, const osm_snoop_bind_info_t *p_info,
		      osm_mad_pool_t *p_mad_pool,
		      osm_vend_snoop_callback_t callback, void *context)
{
	osm_bind_handle_t h_bind;
	int state;

	/* half a bind would never end */
	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &state);
	h_bind = bind_new(p_vend, p_info, p_mad_pool, callback, context);
	pthread_setcancelstate(state, NULL);
	return h_bind;
}

/*
 * With binds_mutex held: does that bind's thread wait, perhaps through others,
 * for the end of this one's callback?
 */
static bool would_deadlock(const struct snoop_bind *b,
			   const struct snoop_bind *callback)
{
	for (; b && callback; b = b->waits_for)
		if (b == callback)
			return true;
	return false;
}

/* With binds_mutex held: end the bind, which is let go meanwhile. */
static void bind_end(struct snoop_bind *b)
{
	static uint64_t ended;

	b->bound = false;
	pthread_mutex_unlock(&binds_mutex);
	b->source->stop(b->state);
	pthread_join(b->thread, NULL);
	pthread_mutex_lock(&binds_mutex);
	b->last = (osm_snoop_stats_t){ 0 };
	b->source->close(b->state, &b->last);
	b->last.lost_late = b->last.passed - b->last.merged -
			    b->last.lost_ring -
			    atomic_load(&b->delivered) -
			    atomic_load(&b->lost_memory);
	b->last.ring_bytes = 0;		/* lost_late has them */
	b->state = NULL;
	b->in_use = false;
	b->unbinds++;
	b->ended = ++ended;
	pthread_cond_broadcast(&unbind_finished);
}

/* With binds_mutex held: wait for the thread that ends the bind. */
static void bind_wait(const struct snoop_bind *b)
{
	/* it may be in use again before this thread looks */
	uint64_t before = b->unbinds;

	while (b->unbinds == before)
		pthread_cond_wait(&unbind_finished, &binds_mutex);
}

void osm_vendor_snoop_unbind_by(osm_bind_handle_t h_bind, uint64_t deadline_ns)
{
	bool refused = false;
	struct snoop_bind *b;
	int state;

	/* half an unbind would leave the others waiting */
	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &state);
	pthread_mutex_lock(&binds_mutex);
	b = bind_find(h_bind);
	if (!b || !b->state) {
		snoop_error("%p is no snoop bind", (void *)h_bind);
	} else if (would_deadlock(b, delivering)) {
		snoop_error("a callback cannot unbind %s",
			    b == delivering ? "its own snoop bind" :
			    "a snoop bind whose callback is unbinding this one");
		refused = true;
	} else {
		/* whoever else unbinds it may be in less of a hurry */
		if (deadline_ns < atomic_load(&b->deadline))
			atomic_store(&b->deadline, deadline_ns);
		if (delivering)
			delivering->waits_for = b;
		if (b->bound)
			bind_end(b);
		else
			bind_wait(b);
		if (delivering)
			delivering->waits_for = NULL;
	}
	pthread_mutex_unlock(&binds_mutex);
	if (refused)
		snoop_error_log(delivering->p_vend->p_log, "5D11");
	pthread_setcancelstate(state, NULL);
}

void osm_vendor_snoop_unbind(osm_bind_handle_t h_bind)
{
	osm_vendor_snoop_unbind_by(h_bind, UINT64_MAX);
}

ib_api_status_t osm_vendor_snoop_get_stats(osm_bind_handle_t h_bind,
					   osm_snoop_stats_t *p_stats)
{
	struct snoop_bind *b;

	if (!p_stats) {
		snoop_error("p_stats is NULL");
		return IB_INVALID_PARAMETER;
	}
	pthread_mutex_lock(&binds_mutex);
	b = bind_find(h_bind);
	if (!b) {
		pthread_mutex_unlock(&binds_mutex);
		snoop_error("%p is no snoop bind", (void *)h_bind);
		return IB_INVALID_PARAMETER;
	}
	*p_stats = (osm_snoop_stats_t){ 0 };
	if (b->state)
		b->source->get_stats(b->state, p_stats);
	else
		*p_stats = b->last;
	p_stats->delivered = atomic_load(&b->delivered);
	p_stats->lost_memory = atomic_load(&b->lost_memory);
	p_stats->truncated = atomic_load(&b->truncated);
	pthread_mutex_unlock(&binds_mutex);
	return IB_SUCCESS;
}

osm_snoop_source_t osm_vendor_snoop_get_source(osm_bind_handle_t h_bind)
{
	osm_snoop_source_t source = OSM_SNOOP_SOURCE_AUTO;
	struct snoop_bind *b;

	pthread_mutex_lock(&binds_mutex);
	b = bind_find(h_bind);
	if (b)
		source = b->source->id;
	pthread_mutex_unlock(&binds_mutex);
	if (!b)
		snoop_error("%p is no snoop bind", (void *)h_bind);
	return source;
}
