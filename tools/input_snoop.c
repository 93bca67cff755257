/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Input from a snoop bind, as any program on libosmvendor_snoop has it: the
 * MADs of this host's ports, as they are on the wire. The bind's thread calls
 * the reader, this one lets time pass.
 */
#include <opensm/osm_config.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <vendor/osm_vendor_api.h>
#include <vendor/osm_vendor_snoop.h>

#include "clock.h"
#include "input_kind.h"
#include "madw.h"

/* The vendor layer wants one, for what we never ask. */
enum { UMAD_TIMEOUT_MS = 1000 };

struct snoop {
	struct input in;
	osm_log_t log;
	osm_mad_pool_t pool;
	osm_vendor_t *p_vendor;
	osm_bind_handle_t h_bind;
	pthread_mutex_t mutex;		/* of all below, and of the reader */
	pthread_cond_t wake;
	bool reading;
	bool ended;			/* by the reader */
	uint64_t last_ns;		/* when the last one came, monotonic */
	uint64_t lost;			/* before the next one that is a MAD */
};

static void on_capture(osm_madw_t *p_madw, const osm_snoop_info_t *p_info,
		       void *context)
{
	struct snoop *s = context;
	struct erf_note note = { 0 };
	struct mad_capture cap;

	pthread_mutex_lock(&s->mutex);
	while (!s->reading && !s->ended)
		pthread_cond_wait(&s->wake, &s->mutex);
	s->in.stats.packets++;
	s->lost += p_info->lost;
	s->last_ns = clock_ns(CLOCK_MONOTONIC);
	if (s->ended) {
		/* nobody reads any more */
	} else if (!madw_capture(p_madw, p_info, &cap)) {
		s->in.stats.broken++;
	} else {
		note.lost = cap.lost = s->lost;
		s->lost = 0;
		note.local.lid = cap.route.local_lid;
		note.local.qpn = !mad_is_smp(cap.data[MAD_CLASS]);
		s->ended = !input_put(&s->in, &cap, &note);
	}
	pthread_mutex_unlock(&s->mutex);
	osm_mad_pool_put(&s->pool, p_madw);
}

static bool snoop_read(struct input *in, char error[INPUT_ERROR_MAX])
{
	struct snoop *s = (struct snoop *)in;
	const struct input_reader *reader = in->reader;
	uint64_t now = clock_ns(CLOCK_MONOTONIC);
	struct timespec until;

	(void)error;
	pthread_mutex_lock(&s->mutex);
	s->reading = true;
	s->last_ns = now;
	pthread_cond_broadcast(&s->wake);
	while (!s->ended && !*in->stop) {
		until = clock_timespec(clock_ns(CLOCK_MONOTONIC) +
				       INPUT_IDLE_MS * UINT64_C(1000000));
		pthread_cond_clockwait(&s->wake, &s->mutex, CLOCK_MONOTONIC,
				       &until);
		now = clock_ns(CLOCK_MONOTONIC);
		if (!s->ended && reader->idle &&
		    !reader->idle(now - s->last_ns, reader->context))
			s->ended = true;
	}
	s->ended = true;
	pthread_cond_broadcast(&s->wake);
	pthread_mutex_unlock(&s->mutex);
	return true;
}

static void snoop_close(struct input *in)
{
	struct snoop *s = (struct snoop *)in;

	pthread_mutex_lock(&s->mutex);
	s->ended = true;
	pthread_cond_broadcast(&s->wake);
	pthread_mutex_unlock(&s->mutex);
	if (s->h_bind != OSM_BIND_INVALID_HANDLE)
		osm_vendor_snoop_unbind(s->h_bind);
	if (s->p_vendor)
		osm_vendor_delete(&s->p_vendor);
	osm_mad_pool_destroy(&s->pool);
	osm_log_destroy(&s->log);
	pthread_cond_destroy(&s->wake);
	pthread_mutex_destroy(&s->mutex);
	free(s);
}

static const struct input_kind kind = { snoop_read, snoop_close };

struct input *input_open_snoop(int source, const char *argument,
			       const volatile sig_atomic_t *stop,
			       char error[INPUT_ERROR_MAX])
{
	const osm_snoop_bind_info_t info = {
		.size = sizeof(info),
		.source = (osm_snoop_source_t)source,
		.source_arg = argument,
	};
	struct snoop *s;

	if (!osm_vendor_snoop_source_is_built_in(info.source))
		return input_fail(error, "source %s is not built into this version",
				  osm_vendor_snoop_source_name(info.source));
	s = calloc(1, sizeof(*s));
	if (!s)
		return input_fail(error, "no memory");
	s->in = (struct input){ .kind = &kind, .stop = stop, .live = true };
	s->h_bind = OSM_BIND_INVALID_HANDLE;
	pthread_mutex_init(&s->mutex, NULL);
	pthread_cond_init(&s->wake, NULL);
	/* what fails is told once, by us */
	if (osm_log_init_v2(&s->log, FALSE, OSM_LOG_NONE, "/dev/null", 0,
			    FALSE) ||
	    osm_mad_pool_init(&s->pool) ||
	    !(s->p_vendor = osm_vendor_new(&s->log, UMAD_TIMEOUT_MS)))
		input_fail(error, "OpenSM's vendor layer does not start: is there an InfiniBand device, and the module ib_umad?");
	else if ((s->h_bind = osm_vendor_snoop_bind(s->p_vendor, &info,
						    &s->pool, on_capture, s)) !=
		 OSM_BIND_INVALID_HANDLE)
		return &s->in;
	else
		input_fail(error, "%s", osm_vendor_snoop_strerror());
	snoop_close(&s->in);
	return NULL;
}
