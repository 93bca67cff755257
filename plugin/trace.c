/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
#include <config.h>

#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "clock.h"
#include "event.h"
#include "fabric.h"
#include "madw.h"
#include "names.h"
#include "rmpp.h"
#include "sink.h"
#include "thread.h"
#include "trace.h"
#include "watch/watch.h"
#include "transaction.h"
#include "trap.h"

enum {
	TICK_NS = 100000000,
	SECOND_NS = 1000000000,
	/* of the second that OpenSM waits for us: to unbind, and in all */
	DRAIN_NS = 500000000,
	STOP_NS = 900000000,
};

/* What the tap notes of OpenSM beside each MAD; see sa_condition. */
enum {
	SAMPLE_SM_STATE,
	SAMPLE_FIRST_SWEEP,
	SAMPLE_SA_KEY,
	SAMPLE_QUEUED,
	SAMPLE_QUEUE_TIME_US,
	SAMPLES,
};

/* Where something may be lost on its way here. */
enum {
	LOSS_RING,
	LOSS_MEMORY,
	LOSS_SHUTDOWN,
	LOSS_SHORT,		/* less than a MAD's header was captured */
	LOSS_PORT,		/* times that it went away */
	LOSS_RMPP,		/* messages that could not be put together */
	LOSS_KERNEL,		/* OpenSM has counted more MADs than came */
	LOSS_EVENTS,
	LOSSES,
};

static const char *const loss_where[LOSSES] = {
	"ring", "memory", "shutdown", "short", "port", "rmpp", "kernel",
	"events",
};

struct trace {
	osm_opensm_t *osm;
	const struct options *options;
	osm_mad_pool_t *p_mad_pool;
	osm_bind_handle_t h_bind;
	struct events *events;
	pthread_t clock;
	sem_t wake;			/* the clock need not wait this time */
	_Atomic bool stopping;
	uint64_t end_ns;		/* monotonic; the sinks are to be done */

	pthread_mutex_t mutex;		/* of all below */
	struct sinks *sinks;
	struct transactions *transactions;
	struct watch *watch;
	struct fabric *fabric;
	bool names_stale;
	uint64_t names_at;		/* when the snapshot was taken */
	bool mlids_stale;
	uint64_t mlids_at;
	uint32_t mlids, mlids_max;
	uint64_t last_mono_ns;		/* of the last capture handled */
	uint8_t sm_state;
	struct mad_counts captured;
	struct mad_counts opensm;
	uint32_t opensm_last[4];	/* its counters, which wrap */
	uint64_t too_short;
	uint64_t lost;		/* before the next capture that is long enough */
	uint64_t untapped;		/* as was said */
	uint64_t losses_told[LOSSES];
	uint64_t lost_before;		/* the captures that sinks got */
	uint64_t missing;		/* of OpenSM's own counts */
	struct mad_counts quiet[2];	/* captured and OpenSM's, last looked at */
};

static void emit(const struct record *record, void *context)
{
	struct trace *t = context;

	sinks_put(t->sinks, record);
	/* alerts on it come behind it */
	watch_record(t->watch, record, clock_ns(CLOCK_MONOTONIC));
}

static void emit_now(struct record *record, void *context)
{
	struct trace *t = context;

	record->time_ns = clock_ns(CLOCK_REALTIME);
	record->show_keys = t->options->show_keys;
	emit(record, t);
}

static void resolve(struct requester *requester, void *context)
{
	struct trace *t = context;

	fabric_resolve(t->fabric, requester);
}

static bool find(struct requester *requester, uint64_t port_guid,
		 void *context)
{
	struct trace *t = context;

	return fabric_find(t->fabric, requester, port_guid);
}

static void tell_subnet(struct watch_subnet *subnet, void *context)
{
	struct trace *t = context;

	*subnet = (struct watch_subnet){
		.sm_port_guid = cl_ntoh64(t->osm->subn.sm_port_guid),
		.mlids = t->mlids,
		.mlids_max = t->mlids_max,
	};
}

static bool tell_port(struct watch_port *port, uint64_t port_guid,
		      void *context)
{
	struct trace *t = context;

	return fabric_abilities(t->fabric, port_guid, &port->mtu, &port->rate);
}

/* Captures */

static void fill_condition(const struct trace *t, struct sa_condition *c,
			   const uint64_t *samples)
{
	const osm_opensm_t *osm = t->osm;

	c->known = true;
	c->sm_state = (uint8_t)samples[SAMPLE_SM_STATE];
	c->first_sweep = samples[SAMPLE_FIRST_SWEEP] != 0;
	c->sa_key = cl_ntoh64(samples[SAMPLE_SA_KEY]);
#if defined(VENDOR_RMPP_SUPPORT) && defined(DUAL_SIDED_RMPP)
	c->multipath = true;
#endif
	c->set_dispatcher = osm->sa.mad_ctrl.p_set_disp != NULL;
	c->queued = (uint32_t)samples[SAMPLE_QUEUED];
	c->queue_time_ms = samples[SAMPLE_QUEUE_TIME_US] / 1000;
	c->queue_limit_ms = osm->subn.opt.max_msg_fifo_timeout;
}

/*
 * As OpenSM's own statistics count: a MAD that could not be sent is taken
 * back, one that timed out or was evicted is not.
 */
static void count(struct mad_counts *counts, const struct mad_capture *cap)
{
	uint8_t mgmt_class = cap->data[MAD_CLASS];
	uint64_t *n;

	if (mad_is_smp(mgmt_class))
		n = cap->sent ? &counts->sm_sent : &counts->sm_received;
	else if (mgmt_class == CLASS_SUBN_ADM)
		n = cap->sent ? &counts->sa_sent : &counts->sa_received;
	else
		return;
	/* none to take back where a filter or a full ring kept it away */
	if (cap->completion == MAD_OK)
		++*n;
	else if (cap->completion == MAD_ERROR && *n)
		--*n;
}

/* Dropped there, or of RMPP, which it does itself. */
static bool is_for_the_kernel(const struct mad_capture *cap)
{
	return mad_is_dropped(cap->data, cap->sent) ||
	       rmpp_is_malformed(cap->data, cap->len) ||
	       rmpp_is_control(cap->data, cap->len);
}

/* The LID of a directed route says nothing of who is at its end. */
static void hand_to_sinks(struct trace *t, const struct mad_capture *cap)
{
	struct requester peer = { .addr = cap->peer };

	if (!sinks_take_captures(t->sinks))
		return;
	if (t->options->names && cap->data[MAD_CLASS] != CLASS_SUBN_DIR)
		fabric_resolve(t->fabric, &peer);
	sinks_capture(t->sinks, cap, &peer);
	t->lost_before += cap->lost;
}

static void handle_events(struct trace *t, uint64_t until_mono_ns);

static void handle_capture(struct trace *t, const struct mad_capture *cap)
{
	bool request = !cap->sent && cap->data[MAD_CLASS] == CLASS_SUBN_ADM &&
		       !(cap->data[MAD_METHOD] & METHOD_RESPONSE);

	handle_events(t, cap->mono_ns);
	t->last_mono_ns = cap->mono_ns;
	/* what OpenSM does not get it does not count */
	if (cap->above_rmpp || !is_for_the_kernel(cap))
		count(&t->captured, cap);
	hand_to_sinks(t, cap);
	if (request)
		watch_request(t->watch, cap);
	transactions_put(t->transactions, cap);
}

static void capture(osm_madw_t *p_madw, const osm_snoop_info_t *p_info,
		    void *context)
{
	struct trace *t = context;
	struct mad_capture cap;

	pthread_mutex_lock(&t->mutex);
	t->lost += p_info->lost;
	if (madw_capture(p_madw, p_info, &cap)) {
		/* both are of this process, and note OpenSM's state */
		if (p_info->source == OSM_SNOOP_SOURCE_TAP ||
		    p_info->source == OSM_SNOOP_SOURCE_KERNEL)
			fill_condition(t, &cap.condition, p_info->samples);
		if (t->lost)
			transactions_note_loss(t->transactions, cap.mono_ns);
		cap.lost = t->lost;
		t->lost = 0;
		handle_capture(t, &cap);
	} else {
		t->too_short++;
	}
	pthread_mutex_unlock(&t->mutex);
	osm_mad_pool_put(t->p_mad_pool, p_madw);
}

/* Events and state */

static void say_state(struct trace *t, const char *state, uint8_t sm_state,
		      uint64_t time_ns)
{
	struct record r = {
		.type = RECORD_STATE,
		.time_ns = time_ns,
		.state = { .state = state, .sm_state = sm_state_name(sm_state) },
	};

	emit(&r, t);
}

static void note_sm_state(struct trace *t, uint8_t sm_state, uint64_t time_ns)
{
	if (sm_state == t->sm_state)
		return;
	t->sm_state = sm_state;
	say_state(t, "sm_state", sm_state, time_ns);
}

/*
 * Traps that come over the wire are captured; those that OpenSM issues itself
 * (64-67: ports and groups come and go) are heard of here alone. OpenSM tells
 * of both: what it got has the issuer GID of the port that sent it, its own
 * have that of the SM's.
 */
static void handle_trap(struct trace *t, const struct event *event)
{
	const uint8_t *notice = (const uint8_t *)&event->notice;
	int number = trap_number(notice, sizeof(event->notice));
	bool own = event->notice.issuer_gid.unicast.interface_id ==
		   t->osm->subn.sm_port_guid;
	struct record r = {
		.type = RECORD_TRAP,
		.time_ns = event->time_ns,
		.show_keys = t->options->show_keys,
		.trap = { .notice = notice, .len = sizeof(event->notice) },
	};

	if (number == 144)
		t->names_stale = true;
	if (number == 66 || number == 67)
		t->mlids_stale = true;
	if (number >= 64 && number <= 67 && own)
		emit(&r, t);
}

static void handle_event(struct trace *t, const struct event *event)
{
	const char *state = NULL;

	switch (event->id) {
	case OSM_EVENT_ID_HEAVY_SWEEP_START:
		state = "sweep_start";
		break;
	case OSM_EVENT_ID_HEAVY_SWEEP_DONE:
		state = "sweep_done";
		break;
	case OSM_EVENT_ID_UCAST_ROUTING_DONE:
		state = "routing_done";
		break;
	case OSM_EVENT_ID_SUBNET_UP:
		state = "subnet_up";
		t->names_stale = t->mlids_stale = true;
		break;
	case OSM_EVENT_ID_STATE_CHANGE:
		t->names_stale = true;
		break;
	case OSM_EVENT_ID_TRAP:
		handle_trap(t, event);
		return;
	default:
		return;
	}
	note_sm_state(t, event->sm_state, event->time_ns);
	if (state)
		say_state(t, state, event->sm_state, event->time_ns);
}

static void handle_events(struct trace *t, uint64_t until_mono_ns)
{
	struct event event;

	while (events_get(t->events, until_mono_ns, &event))
		handle_event(t, &event);
}

void trace_report(struct trace *t, osm_epi_event_id_t id, const void *data)
{
	switch (id) {
	case OSM_EVENT_ID_TRAP:
	case OSM_EVENT_ID_SUBNET_UP:
	case OSM_EVENT_ID_HEAVY_SWEEP_START:
	case OSM_EVENT_ID_HEAVY_SWEEP_DONE:
	case OSM_EVENT_ID_UCAST_ROUTING_DONE:
	case OSM_EVENT_ID_STATE_CHANGE:
		events_put(t->events, id, data, t->osm->subn.sm_state);
		/* names are wanted now; this wakes, it never waits */
		if (id == OSM_EVENT_ID_SUBNET_UP)
			sem_post(&t->wake);
		break;
	default:
		break;
	}
}

/* The clock */

static void get_losses(const struct trace *t, const osm_snoop_stats_t *stats,
		       uint64_t totals[LOSSES])
{
	totals[LOSS_RING] = stats->lost_ring;
	totals[LOSS_MEMORY] = stats->lost_memory;
	totals[LOSS_SHUTDOWN] = stats->lost_late;
	totals[LOSS_SHORT] = t->too_short;
	totals[LOSS_PORT] = stats->gaps;
	totals[LOSS_RMPP] = stats->given_up;
	totals[LOSS_KERNEL] = t->missing;
	totals[LOSS_EVENTS] = events_lost(t->events);
}

static void look_for_losses(struct trace *t, const osm_snoop_stats_t *stats)
{
	struct record r = { .type = RECORD_LOSS };
	uint64_t totals[LOSSES];
	size_t i;

	get_losses(t, stats, totals);
	for (i = 0; i < LOSSES; i++) {
		if (totals[i] == t->losses_told[i])
			continue;
		r.loss = (struct loss_record){
			.where = loss_where[i],
			.lost = totals[i] - t->losses_told[i],
			.total = totals[i],
		};
		t->losses_told[i] = totals[i];
		/* an answer may have been among captures, not among events */
		if (i != LOSS_EVENTS)
			transactions_note_loss(t->transactions,
					       clock_ns(CLOCK_MONOTONIC));
		emit_now(&r, t);
	}
}

/* Whoever binds later may find the tap full; the bind told of those before. */
static void look_for_untapped(struct trace *t, const osm_snoop_stats_t *stats)
{
	if (stats->untapped > t->untapped)
		sink_error(&t->osm->log, "5D12",
			   "%" PRIu64 " binds of the vendor layer are not seen receiving: the tap has no room for them",
			   stats->untapped);
	t->untapped = stats->untapped;
}

static void count_opensm(struct trace *t)
{
	const osm_stats_t *s = &t->osm->stats;
	const uint32_t now[4] = {
		(uint32_t)s->qp0_mads_rcvd, (uint32_t)s->qp0_mads_sent,
		(uint32_t)s->sa_mads_rcvd, (uint32_t)s->sa_mads_sent,
	};
	uint64_t *const totals[4] = {
		&t->opensm.sm_received, &t->opensm.sm_sent,
		&t->opensm.sa_received, &t->opensm.sa_sent,
	};
	size_t i;

	/* signed: a failed send takes one back */
	for (i = 0; i < 4; i++) {
		*totals[i] += (uint64_t)(int64_t)(int32_t)(now[i] -
							   t->opensm_last[i]);
		t->opensm_last[i] = now[i];
	}
}

static uint64_t short_of(uint64_t captured, uint64_t opensm)
{
	return opensm > captured ? opensm - captured : 0;
}

/*
 * The kernel's queue is bounded and loses in silence what finds no room. So
 * what OpenSM has counted and nobody captured is missing, when nothing has
 * moved since the last look: else it may be on its way.
 */
static void look_for_missing(struct trace *t, const osm_snoop_stats_t *stats,
			     bool ended)
{
	const struct mad_counts *c = &t->captured, *o = &t->opensm;
	uint64_t missing;

	if (osm_vendor_snoop_get_source(t->h_bind) != OSM_SNOOP_SOURCE_KERNEL ||
	    t->options->n_filters)
		return;
	missing = short_of(c->sm_received, o->sm_received) +
		  short_of(c->sm_sent, o->sm_sent) +
		  short_of(c->sa_received, o->sa_received) +
		  short_of(c->sa_sent, o->sa_sent);
	/* these are told elsewhere, or are messages that were never whole */
	missing = short_of(stats->broken_off + stats->given_up +
			   stats->unfinished +
			   stats->lost_ring + stats->lost_memory +
			   stats->lost_late + t->too_short, missing);
	if (missing > t->missing &&
	    (ended || (!memcmp(&t->quiet[0], c, sizeof(*c)) &&
		       !memcmp(&t->quiet[1], o, sizeof(*o)))))
		t->missing = missing;
	t->quiet[0] = *c;
	t->quiet[1] = *o;
}

/* Not with the mutex held: OpenSM's lock is not to be waited for with ours. */
static void refresh_names(struct trace *t, uint64_t mono_ns)
{
	struct fabric *new, *old;
	bool stale;

	pthread_mutex_lock(&t->mutex);
	stale = t->names_stale && (!t->names_at ||
				   mono_ns - t->names_at >= SECOND_NS);
	if (stale)
		t->names_stale = false;
	pthread_mutex_unlock(&t->mutex);
	if (!stale || !t->options->names)
		return;
	new = fabric_snapshot(t->osm);
	pthread_mutex_lock(&t->mutex);
	if (new) {
		old = t->fabric;
		t->fabric = new;
		t->names_at = mono_ns;
	} else {
		old = NULL;
		t->names_stale = true;
	}
	pthread_mutex_unlock(&t->mutex);
	fabric_free(old);
}

/* As above. Groups come and go without a change of names. */
static void refresh_mlids(struct trace *t, uint64_t mono_ns)
{
	uint32_t used, max;
	bool stale, known;

	pthread_mutex_lock(&t->mutex);
	stale = t->mlids_stale && (!t->mlids_at ||
				   mono_ns - t->mlids_at >= SECOND_NS);
	if (stale)
		t->mlids_stale = false;
	pthread_mutex_unlock(&t->mutex);
	if (!stale)
		return;
	known = fabric_count_mlids(t->osm, &used, &max);
	pthread_mutex_lock(&t->mutex);
	if (known) {
		t->mlids = used;
		t->mlids_max = max;
		t->mlids_at = mono_ns;
	} else {
		t->mlids_stale = true;
	}
	pthread_mutex_unlock(&t->mutex);
}

static void tick(struct trace *t)
{
	uint64_t mono_ns = clock_ns(CLOCK_MONOTONIC), until = mono_ns;
	struct transactions_stats transactions;
	osm_snoop_stats_t stats;
	const struct sink_moment moment = {
		.mono_ns = mono_ns,
		.snoop = &stats,
		.transactions = &transactions,
	};

	pthread_mutex_lock(&t->mutex);
	osm_vendor_snoop_get_stats(t->h_bind, &stats);
	/* what still lies in the ring may be the answer that is waited for */
	if (stats.ring_bytes && t->last_mono_ns)
		until = t->last_mono_ns;
	else	/* known of a moment after this tick began: of its begin, too */
		transactions_sends_done(t->transactions,
					stats.sends_done_ns < until ?
						stats.sends_done_ns : until);
	handle_events(t, until);
	/* else what is queued tells of changes before this one */
	if (until == mono_ns)
		note_sm_state(t, t->osm->subn.sm_state,
			      clock_ns(CLOCK_REALTIME));
	look_for_losses(t, &stats);
	look_for_untapped(t, &stats);
	count_opensm(t);
	if (until == mono_ns)
		look_for_missing(t, &stats, false);
	transactions_tick(t->transactions, until);
	watch_tick(t->watch, until);
	transactions_get_stats(t->transactions, &transactions);
	sinks_flush(t->sinks, &moment);
	pthread_mutex_unlock(&t->mutex);
	refresh_names(t, mono_ns);
	refresh_mlids(t, mono_ns);
}

static void *clock_main(void *context)
{
	struct trace *t = context;
	struct timespec ts;

	while (!atomic_load(&t->stopping)) {
		tick(t);
		ts = clock_timespec(clock_ns(CLOCK_MONOTONIC) + TICK_NS);
		sem_clockwait(&t->wake, CLOCK_MONOTONIC, &ts);
	}
	return NULL;
}

/* Start and stop */

static struct start_record describe(struct trace *t,
				    struct evidence options[OPTIONS_COUNT])
{
	size_t i;

	for (i = 0; i < OPTIONS_COUNT; i++)
		options[i] = (struct evidence){
			.key = options_table[i].key,
			.text = t->options->text[i],
		};
	return (struct start_record){
		.version = PACKAGE_VERSION,
		.opensm_version = t->osm->osm_version,
		.source = osm_vendor_snoop_source_name(
			osm_vendor_snoop_get_source(t->h_bind)),
		.options = options,
		.n_options = OPTIONS_COUNT,
	};
}

static osm_bind_handle_t snoop(struct trace *t)
{
	osm_opensm_t *osm = t->osm;
	const osm_snoop_sample_t samples[SAMPLES] = {
		[SAMPLE_SM_STATE] = { &osm->subn.sm_state,
				      sizeof(osm->subn.sm_state) },
		[SAMPLE_FIRST_SWEEP] = { &osm->subn.first_time_master_sweep,
				sizeof(osm->subn.first_time_master_sweep) },
		[SAMPLE_SA_KEY] = { &osm->subn.opt.sa_key,
				    sizeof(osm->subn.opt.sa_key) },
		[SAMPLE_QUEUED] = { &osm->disp.msg_fifo.count,
				    sizeof(osm->disp.msg_fifo.count) },
		[SAMPLE_QUEUE_TIME_US] = { &osm->disp.last_msg_queue_time_us,
				sizeof(osm->disp.last_msg_queue_time_us) },
	};
	const osm_snoop_bind_info_t info = {
		.size = sizeof(info),
		.source = t->options->source,
		/* OpenSM has one port, which is known now; the tap sees it */
		.port_guid = t->options->source == OSM_SNOOP_SOURCE_TAP ?
				     0 : osm->subn.opt.guid,
		.flags = OSM_SNOOP_REASSEMBLE,
		.p_filters = t->options->n_filters ? t->options->filters : NULL,
		.filter_count = t->options->n_filters,
		.ring_size = t->options->ring,
		.snap_length = t->options->snaplen,
		.sample_count = SAMPLES,
		.p_samples = samples,
	};

	return osm_vendor_snoop_bind(osm->p_vendor, &info, t->p_mad_pool,
				     capture, t);
}

const char *trace_start(struct trace *t)
{
	struct evidence options[OPTIONS_COUNT];
	struct record r = { .type = RECORD_START };
	osm_snoop_stats_t stats;
	int error;

	/* start is the first record, whatever passes already: captures wait */
	pthread_mutex_lock(&t->mutex);
	t->h_bind = snoop(t);
	if (t->h_bind != OSM_BIND_INVALID_HANDLE) {
		osm_vendor_snoop_get_stats(t->h_bind, &stats);
		t->untapped = stats.untapped;
		r.start = describe(t, options);
		emit_now(&r, t);
	}
	pthread_mutex_unlock(&t->mutex);
	if (t->h_bind == OSM_BIND_INVALID_HANDLE)
		return osm_vendor_snoop_strerror();
	error = thread_start(&t->clock, "osmsnoop-clock", clock_main, t);
	if (!error)
		return NULL;
	osm_vendor_snoop_unbind(t->h_bind);
	t->h_bind = OSM_BIND_INVALID_HANDLE;
	return strerror(error);
}

static bool agree(const struct mad_counts *a, const struct mad_counts *b)
{
	return a->sm_received == b->sm_received && a->sm_sent == b->sm_sent &&
	       a->sa_received == b->sa_received && a->sa_sent == b->sa_sent;
}

static void say_stop(struct trace *t, const osm_snoop_stats_t *stats)
{
	struct evidence options[OPTIONS_COUNT];
	struct record r = {
		.type = RECORD_STOP,
		.stop = {
			.what = describe(t, options),
			.captured = t->captured,
			.opensm = t->opensm,
		},
	};
	uint64_t totals[LOSSES];
	size_t i;

	get_losses(t, stats, totals);
	for (i = 0; i < LOSSES; i++)
		r.stop.lost += totals[i];
	r.stop.complete = !r.stop.lost && agree(&t->captured, &t->opensm);
	emit_now(&r, t);
}

/* What was lost and no capture told of. */
static uint64_t lost_behind(const struct trace *t,
			    const osm_snoop_stats_t *stats)
{
	uint64_t totals[LOSSES], lost = 0;
	size_t i;

	get_losses(t, stats, totals);
	for (i = 0; i < LOSSES; i++)
		if (i != LOSS_EVENTS)
			lost += totals[i];
	return short_of(t->lost_before, lost);
}

void trace_stop(struct trace *t)
{
	osm_snoop_stats_t stats;
	uint64_t now = clock_ns(CLOCK_MONOTONIC);

	t->end_ns = now + STOP_NS;
	osm_vendor_snoop_unbind_by(t->h_bind, now + DRAIN_NS);
	atomic_store(&t->stopping, true);
	sem_post(&t->wake);
	pthread_join(t->clock, NULL);

	pthread_mutex_lock(&t->mutex);
	osm_vendor_snoop_get_stats(t->h_bind, &stats);
	handle_events(t, UINT64_MAX);
	note_sm_state(t, t->osm->subn.sm_state, clock_ns(CLOCK_REALTIME));
	count_opensm(t);
	look_for_missing(t, &stats, true);
	look_for_losses(t, &stats);
	sinks_lose(t->sinks, lost_behind(t, &stats));
	transactions_flush(t->transactions);
	watch_flush(t->watch, clock_ns(CLOCK_MONOTONIC));
	say_stop(t, &stats);
	pthread_mutex_unlock(&t->mutex);
}

struct trace *trace_new(osm_opensm_t *osm, const struct options *options,
			osm_mad_pool_t *p_mad_pool)
{
	struct trace *t = calloc(1, sizeof(*t));
	struct transactions_options transactions = {
		.unanswered_ns = (uint64_t)options->unanswered_seconds *
				 SECOND_NS,
		.show_keys = options->show_keys,
		/* which group it is, where OpenSM has made up the MGID */
		.keep_attr = ATTR_MCMEMBER_RECORD,
		.emit = emit,
		.resolve = resolve,
		.context = t,
	};
	const struct watch_host host = {
		.options = options,
		.emit = emit_now,
		.resolve = resolve,
		.find = find,
		.subnet = tell_subnet,
		.port = tell_port,
		.context = t,
	};

	if (!t)
		return NULL;
	t->osm = osm;
	t->options = options;
	t->p_mad_pool = p_mad_pool;
	t->sm_state = osm->subn.sm_state;
	pthread_mutex_init(&t->mutex, NULL);
	sem_init(&t->wake, 0, 0);
	count_opensm(t);
	memset(&t->opensm, 0, sizeof(t->opensm));
	t->events = events_new();
	t->transactions = transactions_new(&transactions);
	t->watch = watch_new(&host);
	t->sinks = sinks_open(options, &osm->log);
	if (t->events && t->transactions && t->watch && t->sinks) {
		/* then an answer may be among what does not pass */
		if (options->partial)
			transactions_note_loss(t->transactions, UINT64_MAX);
		return t;
	}
	trace_free(t);
	return NULL;
}

void trace_free(struct trace *t)
{
	if (!t)
		return;
	if (t->sinks)
		sinks_close(t->sinks, t->end_ns);
	transactions_free(t->transactions);
	watch_free(t->watch);
	events_free(t->events);
	fabric_free(t->fabric);
	pthread_mutex_destroy(&t->mutex);
	sem_destroy(&t->wake);
	free(t);
}
