/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Everything here but what tap.h declares runs on the threads that keep a
 * fabric alive, some of them under the vendor layer's locks, some of them
 * about to be cancelled. So: no lock, no allocation, no log line, no call that
 * can block, no cancellation point. The one loop that may go round again, in
 * ring_reserve, does so only because another thread got ahead. Memory is
 * touched beforehand; the clock is the vDSO's.
 *
 * A MAD is copied before the real osm_vendor_send is called, because that
 * frees the wrapper, and before the real callback, because that owns it.
 * It is published before, too: so a request stands in the ring before
 * its response, whichever threads they pass through.
 */
#include <config.h>

#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <string.h>

#include <vendor/osm_vendor_api.h>

#include "clock.h"
#include "layout.h"
#include "place.h"
#include "sample.h"
#include "tap.h"

typedef osm_bind_handle_t (*bind_fn)(osm_vendor_t *, osm_bind_info_t *,
				     osm_mad_pool_t *,
				     osm_vend_mad_recv_callback_t,
				     osm_vend_mad_send_err_callback_t, void *);
typedef ib_api_status_t (*send_fn)(osm_bind_handle_t, osm_madw_t *,
				   boolean_t);

static _Atomic(bind_fn) vendor_bind;
static _Atomic(send_fn) vendor_send;

/*
 * One snoop bind as the tap sees it. A producer counts itself in, in its place
 * (place.h), before it looks at anything else, and out by one of three
 * counters; so `entered` minus these is how many are inside, and the same
 * numbers are the statistics.
 *
 * A thread that is cancelled still counts itself out: between the two there is
 * no cancellation point, and neither OpenSM nor its vendor layer over umad
 * makes a thread's cancellation asynchronous.
 */
struct slot {
	_Alignas(RING_LINE) _Atomic(struct ring *) rings; /* NULL = closed */
	_Atomic uint64_t lost_pending;
	struct tap_config config;
	struct tap_stats base;		/* the counters at tap_open */
};

_Static_assert(sizeof(struct slot) <= 4096, "touch_tables leaves out pages");

static struct slot slots[TAP_MAX_BINDS];
static _Atomic uint32_t open_slots;	/* a bit each */
static uint32_t taken_slots;		/* open, or stopped and not closed */
static pthread_mutex_t slots_mutex = PTHREAD_MUTEX_INITIALIZER;

/*
 * A client of osm_vendor_bind: whom to call. Never given back, for the vendor
 * layer keeps the pointer as long as it lives; the same client coming again
 * finds its old place.
 */
struct client {
	_Atomic bool ready;	/* the rest is there */
	osm_vend_mad_recv_callback_t recv;
	osm_vend_mad_send_err_callback_t send_err;
	void *context;
};

enum { MAX_CLIENTS = 1024 };

static struct client clients[MAX_CLIENTS];
static _Atomic unsigned n_clients;
static _Atomic unsigned untapped;

/* One MAD that passes by. */
struct passing {
	const osm_vendor_t *p_vend;
	const osm_mad_addr_t *p_addr;
	const uint8_t *mad;
	uint32_t size;		/* at `mad` */
	uint32_t original_size;
	ib_api_status_t status;
	bool sent;
	uint64_t now;		/* 0 = not read yet, and cpu neither */
	unsigned cpu;
};

static bool wanted(const struct tap_config *config, const struct passing *p)
{
	uint32_t i;

	if (!(config->flags & (p->sent ? OSM_SNOOP_SENDS : OSM_SNOOP_RECEIVES)))
		return false;
	if (config->port_guid &&
	    config->port_guid != p->p_vend->umad_port.port_guid)
		return false;
	if (!config->filter_count)
		return true;
	for (i = 0; i < config->filter_count; i++)
		if (umad_filter_match(&config->filters[i], p->mad, p->size,
				      p->sent, (int)p->status))
			return true;
	return false;
}

/* Room in this processor's ring, or where there is some. */
static struct tap_capture *reserve(const struct tap_config *config,
				   struct ring *rings, unsigned cpu,
				   uint32_t len)
{
	struct tap_capture *c = NULL;
	unsigned i;

	for (i = 0; !c && i < config->ring_count; i++)
		c = ring_reserve(&rings[(cpu + i) & (config->ring_count - 1)],
				 len);
	return c;
}

/*
 * False when there is no room. Apart, so that what is filtered out does not
 * pay for saving its registers.
 */
static __attribute__((noinline)) bool
copy(struct slot *s, struct ring *rings, struct passing *p)
{
	const struct tap_config *config = &s->config;
	uint32_t i, size = p->size, len;
	struct tap_capture *c;

	if (config->snap_length && size > config->snap_length)
		size = config->snap_length;
	len = (uint32_t)sizeof(*c) + size;
	if (!p->now) {
		p->now = clock_ns(CLOCK_MONOTONIC);
		p->cpu = (unsigned)sched_getcpu();
	}

	c = reserve(config, rings, p->cpu, len);
	if (!c) {
		atomic_fetch_add(&s->lost_pending, 1);
		return false;
	}
	c->monotonic_ns = p->now;
	if (atomic_load_explicit(&s->lost_pending, memory_order_relaxed))
		c->lost = atomic_exchange(&s->lost_pending, 0);
	c->port_guid = p->p_vend->umad_port.port_guid;
	c->thread = (uint64_t)(uintptr_t)__builtin_thread_pointer();
	c->original_size = p->original_size;
	c->size = size;
	c->status = p->status;
	c->local_lid = (uint16_t)p->p_vend->umad_port.base_lid;
	c->sent = p->sent;
	c->mad_addr = *p->p_addr;
	for (i = 0; i < config->sample_count; i++)
		c->samples[i] = sample_read(&config->samples[i]);
	memcpy(c->mad, p->mad, size);
	ring_commit(c, len);
	return true;
}

/*
 * Counted in before `rings` is read. So whoever tap_stop() did not see counted
 * in sees that the bind is closed, and whoever reads rings was seen.
 */
static void pass_slot(unsigned slot, struct place *place, struct passing *p)
{
	struct place_counters *counters = &place->binds[slot];
	struct slot *s = &slots[slot];
	struct ring *rings;

	place_in(place, &counters->entered);
	rings = atomic_load(&s->rings);
	if (!rings || !wanted(&s->config, p))
		place_out(place, &counters->filtered);
	else if (copy(s, rings, p))
		place_out(place, &counters->kept);
	else
		place_out(place, &counters->lost);
}

static void pass(struct passing *p)
{
	uint32_t left = atomic_load_explicit(&open_slots, memory_order_acquire);
	struct place *place;

	if (!left)
		return;
	place = place_of_thread();
	for (; left; left &= left - 1)
		pass_slot((unsigned)__builtin_ctz(left), place, p);
}

static void pass_madw(osm_bind_handle_t h_bind, const osm_madw_t *p_madw,
		      bool sent, ib_api_status_t status)
{
	struct passing p = {
		/* what h_bind points to begins with it, as in osm_vendor_get */
		.p_vend = *(osm_vendor_t *const *)h_bind,
		.p_addr = &p_madw->mad_addr,
		.mad = (const uint8_t *)p_madw->p_mad,
		.size = p_madw->mad_size,
		.original_size = p_madw->mad_size,
		.status = status,
		.sent = sent,
	};

	pass(&p);
}

static void tap_recv(osm_madw_t *p_madw, void *context, osm_madw_t *p_req_madw)
{
	const struct client *client = context;

	pass_madw(p_madw->h_bind, p_madw, false, IB_SUCCESS);
	client->recv(p_madw, client->context, p_req_madw);
}

static void tap_send_err(void *context, osm_madw_t *p_madw)
{
	const struct client *client = context;

	pass_madw(p_madw->h_bind, p_madw, true, p_madw->status);
	client->send_err(client->context, p_madw);
}

/* A MAD without a response on its way through the real osm_vendor_send. */
struct sending {
	osm_bind_handle_t h_bind;
	osm_mad_addr_t addr;
	uint32_t size;
	struct place *place;
	ib_api_status_t status;
	uint8_t mad[MAD_SIZE];
};

static void send_ended(void *context)
{
	const struct sending *s = context;
	struct passing p = {
		.p_vend = *(osm_vendor_t *const *)s->h_bind,
		.p_addr = &s->addr,
		.mad = s->mad,
		.size = s->size < MAD_SIZE ? s->size : MAD_SIZE,
		.original_size = s->size,
		.status = s->status,
		.sent = true,
	};

	if (s->status != IB_SUCCESS)
		pass(&p);
	place_out(s->place, &s->place->ended);
}

/*
 * One that cannot be sent: the vendor layer frees it and tells nobody but the
 * caller, so its first bytes are kept meanwhile.
 *
 * The write in umad_send is a cancellation point, and OpenSM cancels the
 * thread that receives, which sends too. Then nobody knows whether the MAD
 * left, and it is captured as cancelled. This file is compiled with
 * -fexceptions: so the handler costs nothing where nobody is cancelled.
 */
static ib_api_status_t send_unanswered(send_fn send, osm_bind_handle_t h_bind,
				       osm_madw_t *p_madw)
{
	ib_api_status_t status;
	struct sending s;	/* not zeroed: that costs more than the rest */

	s.h_bind = h_bind;
	s.addr = p_madw->mad_addr;
	s.size = p_madw->mad_size;
	s.place = place_of_thread();
	s.status = IB_CANCELED;	/* if the call does not return */
	/* before the clock is read that stands in its capture */
	place_in(s.place, &s.place->begun);
	pass_madw(h_bind, p_madw, true, IB_SUCCESS);
	memcpy(s.mad, p_madw->p_mad, s.size < MAD_SIZE ? s.size : MAD_SIZE);
	pthread_cleanup_push(send_ended, &s);
	status = send(h_bind, p_madw, FALSE);
	s.status = status == IB_SUCCESS ? IB_SUCCESS : IB_ERROR;
	pthread_cleanup_pop(1);
	return status;
}

static ib_api_status_t
tap_send(osm_bind_handle_t h_bind, osm_madw_t *const p_madw,
	 boolean_t const resp_expected)
{
	send_fn send = atomic_load_explicit(&vendor_send, memory_order_acquire);

	/* preloaded, and bound by a call that went past the tap */
	if (__builtin_expect(!send, 0)) {
		if (!tap_find_vendor())
			return IB_ERROR;
		send = atomic_load(&vendor_send);
	}
	if (!atomic_load_explicit(&open_slots, memory_order_relaxed))
		return send(h_bind, p_madw, resp_expected);
	if (!resp_expected)
		return send_unanswered(send, h_bind, p_madw);
	pass_madw(h_bind, p_madw, true, IB_SUCCESS);
	return send(h_bind, p_madw, resp_expected);
}

static struct client *client_of(osm_vend_mad_recv_callback_t recv,
				osm_vend_mad_send_err_callback_t send_err,
				void *context)
{
	unsigned i, n = atomic_load(&n_clients);
	struct client *c;

	for (i = 0; i < n && i < MAX_CLIENTS; i++) {
		c = &clients[i];
		if (atomic_load(&c->ready) && c->recv == recv &&
		    c->send_err == send_err && c->context == context)
			return c;
	}
	if (n < MAX_CLIENTS)
		n = atomic_fetch_add(&n_clients, 1);
	if (n >= MAX_CLIENTS) {
		atomic_fetch_add(&untapped, 1);
		return NULL;
	}
	c = &clients[n];
	c->recv = recv;
	c->send_err = send_err;
	c->context = context;
	atomic_store(&c->ready, true);
	return c;
}

/*
 * Setting up, like the function that it stands in for, which allocates, locks
 * and starts a thread: no MAD passes here.
 */
static osm_bind_handle_t
tap_bind(osm_vendor_t *const p_vend, osm_bind_info_t *const p_info,
	 osm_mad_pool_t *const p_mad_pool, osm_vend_mad_recv_callback_t recv,
	 osm_vend_mad_send_err_callback_t send_err, void *context)
{
	struct client *client;
	bind_fn bind;

	if (!tap_find_vendor())
		return OSM_BIND_INVALID_HANDLE;
	bind = atomic_load_explicit(&vendor_bind, memory_order_acquire);
	client = client_of(recv, send_err, context);
	if (!client)
		return bind(p_vend, p_info, p_mad_pool, recv, send_err,
			    context);
	return bind(p_vend, p_info, p_mad_pool, tap_recv, tap_send_err, client);
}

/*
 * The names that others call. In here they would mean libosmvendor's where
 * that comes first; the tap has to know its own functions.
 */
__attribute__((visibility("default"), alias("tap_bind"))) osm_bind_handle_t
osm_vendor_bind(osm_vendor_t *const, osm_bind_info_t *const,
		osm_mad_pool_t *const, osm_vend_mad_recv_callback_t,
		osm_vend_mad_send_err_callback_t, void *);
__attribute__((visibility("default"), alias("tap_send"))) ib_api_status_t
osm_vendor_send(osm_bind_handle_t, osm_madw_t *const, boolean_t const);

/* The next one in the search order, or libosmvendor's own. */
static void *vendor_symbol(const char *name, const void *ours)
{
	void *handle, *symbol = dlsym(RTLD_NEXT, name);

	if (symbol && symbol != ours)
		return symbol;
	handle = dlopen(OSMVENDOR_SONAME, RTLD_NOW | RTLD_NOLOAD);
	if (!handle)
		return NULL;
	symbol = dlsym(handle, name);
	dlclose(handle);
	return symbol == ours ? NULL : symbol;
}

bool tap_find_vendor(void)
{
	bind_fn bind = atomic_load(&vendor_bind);
	send_fn send = atomic_load(&vendor_send);

	if (bind && send)
		return true;
	bind = (bind_fn)vendor_symbol("osm_vendor_bind",
				      (void *)tap_bind);
	send = (send_fn)vendor_symbol("osm_vendor_send",
				      (void *)tap_send);
	if (!bind || !send)
		return false;
	atomic_store(&vendor_bind, bind);
	atomic_store(&vendor_send, send);
	return true;
}

void tap_get_symbols(struct tap_symbol symbols[TAP_SYMBOLS])
{
	symbols[0] = (struct tap_symbol){
		"osm_vendor_bind", (void *)tap_bind,
		(void *)atomic_load(&vendor_bind),
	};
	symbols[1] = (struct tap_symbol){
		"osm_vendor_send", (void *)tap_send,
		(void *)atomic_load(&vendor_send),
	};
}

unsigned tap_untapped(void)
{
	return atomic_load(&untapped);
}

/*
 * The exits are read first: if they then equal the entries, they did so in the
 * moment between, and nobody was inside. For in each place there are no more
 * exits than entries, and who reads an exit reads the entry that was before.
 */
static bool add_up(unsigned slot, struct tap_stats *stats)
{
	const struct place_counters *c;
	uint64_t out = 0;
	unsigned i;

	*stats = (struct tap_stats){ 0 };
	for (i = 0; i < PLACES; i++) {
		c = &places[i].binds[slot];
		stats->lost += atomic_load(&c->lost);
		stats->passed += atomic_load(&c->kept);
		out += atomic_load(&c->filtered);
	}
	stats->passed += stats->lost;
	out += stats->passed;
	for (i = 0; i < PLACES; i++)
		stats->seen += atomic_load(&places[i].binds[slot].entered);
	return out == stats->seen;
}

/*
 * Static memory has no pages before it is written to: do that here, element by
 * element, since each is smaller than a page. Others may be writing there, so
 * nothing is changed.
 */
static void touch_tables(void)
{
	unsigned i;
	bool no;

	for (i = 0; i < TAP_MAX_BINDS; i++)
		atomic_fetch_add(&slots[i].lost_pending, 0);
	for (i = 0; i < MAX_CLIENTS; i++) {
		no = false;
		atomic_compare_exchange_strong(&clients[i].ready, &no, false);
	}
}

int tap_open(const struct tap_config *config, struct ring *rings)
{
	struct slot *s;
	int i = -EBUSY;

	touch_tables();
	pthread_mutex_lock(&slots_mutex);
	places_init();
	if (taken_slots == (1u << TAP_MAX_BINDS) - 1)
		goto out;
	i = __builtin_ctz(~taken_slots);
	taken_slots |= 1u << i;
	s = &slots[i];
	/*
	 * A producer that is late for the bind before may still come and go,
	 * so the counters run on; but nobody is half counted in the base.
	 */
	while (!add_up((unsigned)i, &s->base))
		sched_yield();
	atomic_store(&s->lost_pending, 0);
	s->config = *config;
	atomic_store(&s->rings, rings);
	atomic_fetch_or(&open_slots, 1u << i);
out:
	pthread_mutex_unlock(&slots_mutex);
	return i;
}

void tap_stop(int slot)
{
	struct tap_stats stats;

	/* nobody new comes, and who is late finds it closed: the wait ends */
	atomic_fetch_and(&open_slots, ~(1u << slot));
	atomic_store(&slots[slot].rings, NULL);
	places_barrier();
	while (!add_up((unsigned)slot, &stats))
		sched_yield();
}

void tap_close(int slot)
{
	tap_stop(slot);
	pthread_mutex_lock(&slots_mutex);
	taken_slots &= ~(1u << slot);
	pthread_mutex_unlock(&slots_mutex);
}

/*
 * Who began before the barrier is seen, and who did not reads the clock after
 * it, so its capture is later than the call.
 */
bool tap_sends_done(void)
{
	uint64_t begun = 0, ended = 0;
	unsigned i;

	places_barrier();
	/* in this order, as in add_up */
	for (i = 0; i < PLACES; i++)
		ended += atomic_load(&places[i].ended);
	for (i = 0; i < PLACES; i++)
		begun += atomic_load(&places[i].begun);
	return begun == ended;
}

void tap_get_stats(int slot, struct tap_stats *stats)
{
	struct slot *s = &slots[slot];

	add_up((unsigned)slot, stats);
	stats->seen -= s->base.seen;
	stats->passed -= s->base.passed;
	stats->lost -= s->base.lost;
}
