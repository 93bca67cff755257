/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Source tap: the consumer's side of a ring that tap.c fills. */
#include <inttypes.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <infiniband/umad.h>

#include "attach.h"
#include "clock.h"
#include "error.h"
#include "layout.h"
#include "source.h"
#include "tap.h"

/*
 * The producers wake nobody (that would be a system call on their threads),
 * so the consumer looks: often while there is traffic, less when there is not.
 */
enum {
	NAP_MIN_NS = 500000,
	NAP_MAX_NS = 16000000,
	WAIT_NS = 100000000,
	/* the wall clock may be set; between looks at it this is the error */
	CLOCKS_EVERY = 256,
	LID_EVERY_NS = 1000000000,
	/* below this, one ring: a long message has to fit into half of it */
	SHARD_MIN = 1024 * 1024,
};

struct source_tap_state {
	struct ring rings[TAP_SHARDS];
	unsigned n_rings;
	int slot;
	_Atomic bool stopped;
	_Atomic uint64_t sends_done_ns;
	osm_vendor_t *p_vend;
	struct ring *from;	/* of the record that is handed over */
	void *record;		/* ... to be released */
	uint64_t realtime_offset;
	unsigned until_clocks;
	uint64_t nap_ns;
	ib_net64_t lid_guid;	/* the port whose LID was read ... */
	uint64_t lid_read_ns;	/* ... when */
	uint16_t lid;
};

static void read_clocks(struct source_tap_state *t)
{
	t->realtime_offset = clock_ns(CLOCK_REALTIME) - clock_ns(CLOCK_MONOTONIC);
	t->until_clocks = CLOCKS_EVERY;
}

/* A ring a processor, so that they do not wait for each other's memory. */
static unsigned shards(size_t ring_size)
{
	long cpus = sysconf(_SC_NPROCESSORS_ONLN);
	unsigned n = 1;

	while (n < TAP_SHARDS && (long)n < cpus &&
	       ring_size / (n * 2) >= SHARD_MIN)
		n *= 2;
	return n;
}

static int rings_init(struct source_tap_state *t, size_t size)
{
	int error = 0;
	unsigned i;

	t->n_rings = shards(size);
	for (i = 0; !error && i < t->n_rings; i++)
		error = ring_init(&t->rings[i], size / t->n_rings);
	return error;
}

static void rings_free(struct source_tap_state *t)
{
	unsigned i;

	for (i = 0; i < t->n_rings; i++)
		ring_free(&t->rings[i]);
}

/* Port 0 of an HCA has none, and 0 is what is not known. */
static bool port_exists(ib_net64_t guid)
{
	char names[UMAD_MAX_DEVICES][UMAD_CA_NAME_LEN];
	__be64 guids[UMAD_CA_MAX_PORTS];
	int n = umad_get_cas_names(names, UMAD_MAX_DEVICES), ports, i, k;

	for (i = 0; i < n; i++) {
		ports = umad_get_ca_portguids(names[i], guids,
					      UMAD_CA_MAX_PORTS);
		for (k = 0; k < ports; k++)
			if (guids[k] == guid)
				return true;
	}
	return false;
}

static ib_api_status_t tap_source_open(osm_vendor_t *p_vend,
				       const osm_snoop_bind_info_t *info,
				       void **state)
{
	ib_api_status_t status = IB_INSUFFICIENT_MEMORY;
	struct source_tap_state *t;
	struct tap_config config = {
		.port_guid = info->port_guid,
		.flags = info->flags,
		.snap_length = info->snap_length,
		.filter_count = info->filter_count,
		.sample_count = info->sample_count,
	};
	char quoted[SOURCE_QUOTED];
	uint32_t most;
	int error;

	if (info->source_arg) {
		source_quote(quoted, info->source_arg);
		snoop_error("source tap takes no source_arg, it is %s; accepted: NULL",
			    quoted);
		return IB_INVALID_PARAMETER;
	}
	if (info->port_guid && !port_exists(info->port_guid)) {
		snoop_error("no port of this host has the GUID 0x%016" PRIx64,
			    cl_ntoh64(info->port_guid));
		return IB_NOT_FOUND;
	}
	if (!attach_is_tapped()) {
		snoop_error("this process is not tapped: link libosmvendor_snoop before libosmvendor, preload it, or call osm_vendor_snoop_attach() before osm_vendor_bind()");
		return IB_INVALID_STATE;
	}
	if (info->filter_count)
		memcpy(config.filters, info->p_filters,
		       info->filter_count * sizeof(config.filters[0]));
	if (info->sample_count)
		memcpy(config.samples, info->p_samples,
		       info->sample_count * sizeof(config.samples[0]));

	t = aligned_alloc(RING_LINE, (sizeof(*t) + RING_LINE - 1) &
					     ~(size_t)(RING_LINE - 1));
	if (!t) {
		snoop_error("no memory for a source");
		return status;
	}
	memset(t, 0, sizeof(*t));
	t->p_vend = p_vend;
	t->nap_ns = NAP_MIN_NS;
	read_clocks(t);
	error = rings_init(t, info->ring_size);
	if (error) {
		snoop_error("a ring of %zu bytes: %s", info->ring_size,
			    strerror(-error));
		goto free_rings;
	}
	config.ring_count = t->n_rings;
	/* what no ring holds is cut, and counted as truncated, not lost */
	most = (uint32_t)(t->rings[0].size / 2 - RING_LINE -
			  sizeof(struct tap_capture));
	if (!config.snap_length || config.snap_length > most)
		config.snap_length = most;
	t->slot = tap_open(&config, t->rings);
	if (t->slot < 0) {
		snoop_error("all %d places of the tap are taken",
			    TAP_MAX_BINDS);
		status = IB_INSUFFICIENT_RESOURCES;
		goto free_rings;
	}
	*state = t;
	return IB_SUCCESS;

free_rings:
	rings_free(t);
	free(t);
	return status;
}

/*
 * The LID of a port changes while it is open, and the vendor layer keeps the
 * one from the start: ask sysfs, once a second at most.
 */
static ib_net16_t local_lid(struct source_tap_state *t,
			    const struct tap_capture *c)
{
	const umad_port_t *port = &t->p_vend->umad_port;
	char path[256];
	unsigned lid;
	FILE *file;

	if (c->port_guid != port->port_guid)
		return cl_hton16(c->local_lid);
	if (t->lid_guid == c->port_guid &&
	    c->monotonic_ns - t->lid_read_ns < LID_EVERY_NS)
		return cl_hton16(t->lid);
	t->lid_guid = c->port_guid;
	t->lid_read_ns = c->monotonic_ns;
	t->lid = c->local_lid;
	snprintf(path, sizeof(path), SYS_INFINIBAND "/%s/ports/%d/lid",
		 port->ca_name, port->portnum);
	file = fopen(path, "re");
	if (file) {
		if (fscanf(file, "%x", &lid) == 1)
			t->lid = (uint16_t)lid;
		fclose(file);
	}
	return cl_hton16(t->lid);
}

/* The last moment of which it is known. */
static uint64_t sends_done_ns(struct source_tap_state *t)
{
	uint64_t now = clock_ns(CLOCK_MONOTONIC);

	if (tap_sends_done())
		atomic_store(&t->sends_done_ns, now);
	return atomic_load(&t->sends_done_ns);
}

/*
 * osm_vendor_send clears the RMPP header of a MAD that is no RMPP; the copy
 * was made before.
 */
static void finish_rmpp(struct tap_capture *c)
{
	if (!c->sent || c->size < RMPP_STATUS + 1 ||
	    !ib_class_is_rmpp(c->mad[MAD_CLASS]) ||
	    (c->mad[RMPP_FLAGS] & RMPP_FLAG_ACTIVE))
		return;
	memset(c->mad + RMPP_VERSION, 0, RMPP_STATUS + 1 - RMPP_VERSION);
}

static int nap(struct source_tap_state *t, uint64_t *waited)
{
	struct timespec ts = { .tv_nsec = (long)t->nap_ns };

	if (*waited >= WAIT_NS)
		return 0;
	nanosleep(&ts, NULL);
	*waited += t->nap_ns;
	if (t->nap_ns < NAP_MAX_NS)
		t->nap_ns *= 2;
	read_clocks(t);
	return 1;
}

/*
 * The oldest capture of all rings, by the rule of tap_open. A ring that was
 * empty when it was looked at may have got something since, and what a later
 * one holds may follow from it; so it has to be the oldest in two looks, the
 * second one after it was found.
 */
static struct tap_capture *oldest(struct source_tap_state *t)
{
	struct tap_capture *found = NULL, *before, *c;
	uint32_t len;
	unsigned i;

	do {
		before = found;
		for (i = 0; i < t->n_rings; i++) {
			c = ring_peek(&t->rings[i], &len);
			if (!c && ring_used(&t->rings[i]))
				return NULL;	/* being written */
			if (!c || (found &&
				   c->monotonic_ns >= found->monotonic_ns))
				continue;
			found = c;
			t->from = &t->rings[i];
		}
	} while (t->n_rings > 1 && found != before);
	return found;
}

static int tap_source_next(void *state, struct source_capture *capture)
{
	struct source_tap_state *t = state;
	osm_snoop_info_t *info = &capture->info;
	struct tap_capture *c;
	uint64_t waited = 0;
	bool stopped;

	if (t->record)
		ring_release(t->from, t->record);
	t->record = NULL;
	for (;;) {
		/* first the flag, then the ring: nothing comes after it */
		stopped = atomic_load(&t->stopped);
		c = oldest(t);
		if (c)
			break;
		if (stopped)
			return -1;
		if (!nap(t, &waited))
			return 0;
	}
	t->record = c;
	t->nap_ns = NAP_MIN_NS;
	if (!t->until_clocks--)
		read_clocks(t);

	finish_rmpp(c);
	info->time_ns = c->monotonic_ns + t->realtime_offset;
	info->monotonic_ns = c->monotonic_ns;
	info->direction = c->sent ? OSM_SNOOP_SENT : OSM_SNOOP_RECEIVED;
	info->source = OSM_SNOOP_SOURCE_TAP;
	info->original_size = c->original_size;
	info->segments = 1;
	info->reassembled = FALSE;
	info->local_lid = local_lid(t, c);
	info->port_guid = c->port_guid;
	info->lost = c->lost;
	info->thread = c->thread;
	memcpy(info->samples, c->samples, sizeof(info->samples));
	capture->mad_addr = c->mad_addr;
	capture->status = c->status;
	capture->mad = c->mad;
	capture->size = c->size;
	return 1;
}

static void tap_source_stop(void *state)
{
	struct source_tap_state *t = state;

	tap_stop(t->slot);
	atomic_store(&t->stopped, true);
}

static void tap_source_get_stats(void *state, osm_snoop_stats_t *stats)
{
	struct source_tap_state *t = state;
	struct tap_stats tap;
	unsigned i;

	/* before the rings: a failure is in them, or was taken out */
	stats->sends_done_ns = sends_done_ns(t);
	tap_get_stats(t->slot, &tap);
	stats->seen = tap.seen;
	stats->passed = tap.passed;
	stats->lost_ring = tap.lost;
	stats->untapped = tap_untapped();
	for (i = 0; i < t->n_rings; i++) {
		stats->ring_bytes += ring_used(&t->rings[i]);
		stats->ring_size += t->rings[i].size;
	}
}

static void tap_source_close(void *state, osm_snoop_stats_t *stats)
{
	struct source_tap_state *t = state;

	tap_source_get_stats(t, stats);
	tap_close(t->slot);
	rings_free(t);
	free(t);
}

const struct source source_tap = {
	.id = OSM_SNOOP_SOURCE_TAP,
	.open = tap_source_open,
	.next = tap_source_next,
	.stop = tap_source_stop,
	.get_stats = tap_source_get_stats,
	.close = tap_source_close,
};
