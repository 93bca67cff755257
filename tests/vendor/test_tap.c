/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * The tap as OpenSM calls it: osm_vendor_bind and osm_vendor_send of this
 * program are the tap's, and what they call is the double of double.h instead
 * of libosmvendor.
 */
#include <check.h>
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <linux/membarrier.h>

#include "clock.h"
#include "double.h"
#include "place.h"
#include "source.h"
#include "tap.h"
#include "../run.h"

enum { RING_BYTES = 64 * 1024, BOTH = OSM_SNOOP_SENDS | OSM_SNOOP_RECEIVES };

/* Check tells its parent of each assertion passed: too slow in long loops. */
#define check(condition) do { if (!(condition)) \
	ck_abort_msg("%s", #condition); } while (0)

static osm_vendor_t vendor;

/* A client of the vendor layer, and what its callbacks were given. */
struct client_seen {
	_Atomic unsigned received, failed;
	_Atomic(const osm_madw_t *) p_madw, p_req_madw;
	_Atomic ib_api_status_t status;
};

static struct client_seen client;

static void on_recv(osm_madw_t *p_madw, void *context, osm_madw_t *p_req_madw)
{
	struct client_seen *c = context;

	c->p_madw = p_madw;
	c->p_req_madw = p_req_madw;
	c->received++;
}

static void on_send_err(void *context, osm_madw_t *p_madw)
{
	struct client_seen *c = context;

	c->p_madw = p_madw;
	c->status = p_madw->status;
	c->failed++;
}

static struct double_bind *bind_client(osm_vendor_t *p_vend,
				       struct client_seen *c)
{
	osm_bind_handle_t h = osm_vendor_bind(p_vend, NULL, NULL, on_recv,
					      on_send_err, c);

	check(h != OSM_BIND_INVALID_HANDLE);
	return double_of(h);
}

static void setup(void)
{
	vendor.umad_port.port_guid = cl_hton64(0x1234);
	vendor.umad_port.base_lid = 7;
	check(tap_find_vendor());
}

/* One bind of the tap with one ring. */
struct tapped {
	struct tap_config config;
	struct ring ring;
	int slot;
};

static void open_tap(struct tapped *t)
{
	if (!t->config.flags)
		t->config.flags = BOTH;
	t->config.ring_count = 1;
	check(!ring_init(&t->ring, RING_BYTES));
	t->slot = tap_open(&t->config, &t->ring);
	check(t->slot >= 0);
}

static void close_tap(struct tapped *t)
{
	tap_close(t->slot);
	ring_free(&t->ring);
}

static struct tap_capture *peek(struct tapped *t)
{
	struct tap_capture *c;
	uint32_t len;

	c = ring_peek(&t->ring, &len);
	check(!c || len == sizeof(*c) + c->size);
	return c;
}

/* Drops the capture that peek() returned. */
static void drop(struct tapped *t)
{
	ring_release(&t->ring, peek(t));
}

static void check_stats(const struct tapped *t, uint64_t seen, uint64_t passed,
			uint64_t lost)
{
	struct tap_stats stats;

	tap_get_stats(t->slot, &stats);
	ck_assert_uint_eq(stats.seen, seen);
	ck_assert_uint_eq(stats.passed, passed);
	ck_assert_uint_eq(stats.lost, lost);
}

static void receive(struct double_bind *b, uint8_t mgmt_class, uint64_t tid)
{
	osm_madw_t *p_madw = madw_new(b, mgmt_class, MAD_SIZE, tid);

	double_receive(b, p_madw, NULL);
	madw_free(p_madw);
}

START_TEST(no_more_slots)
{
	struct tapped taps[TAP_MAX_BINDS] = { 0 };
	struct tap_config config = { .flags = BOTH, .ring_count = 1 };
	int i;

	for (i = 0; i < TAP_MAX_BINDS; i++)
		open_tap(&taps[i]);
	ck_assert_int_eq(tap_open(&config, &taps[0].ring), -EBUSY);
	/* stopped is not given back: its counters are still asked for */
	tap_stop(taps[3].slot);
	ck_assert_int_eq(tap_open(&config, &taps[0].ring), -EBUSY);
	close_tap(&taps[3]);
	open_tap(&taps[3]);
	ck_assert_int_eq(tap_open(&config, &taps[0].ring), -EBUSY);
	for (i = 0; i < TAP_MAX_BINDS; i++)
		close_tap(&taps[i]);
}
END_TEST

/*
 * A kernel that refuses membarrier: the linker puts this before the syscall()
 * of the tap (--wrap), which asks for nothing else.
 */
long __real_syscall(long number, ...);
long __wrap_syscall(long number, ...);

enum { REFUSE_NOTHING, REFUSE_TO_REGISTER, REFUSE_LATER, REFUSALS };

static int refuse;
static _Atomic unsigned n_barriers;	/* that were not refused */

long __wrap_syscall(long number, ...)
{
	int command;
	va_list args;

	check(number == SYS_membarrier);
	va_start(args, number);
	command = va_arg(args, int);
	va_end(args);
	if (refuse == (command == MEMBARRIER_CMD_PRIVATE_EXPEDITED ?
			       REFUSE_LATER : REFUSE_TO_REGISTER)) {
		errno = ENOSYS;
		return -1;
	}
	n_barriers += command == MEMBARRIER_CMD_PRIVATE_EXPEDITED;
	return __real_syscall(number, command, 0, 0);
}

/* What was counted in the places of threads, and in those of all. */
static void where_counted(int slot, uint64_t *own, uint64_t *shared)
{
	unsigned i;

	*own = *shared = 0;
	for (i = 0; i < PLACES; i++)
		*(i < PLACES_OWN ? own : shared) +=
			places[i].binds[slot].entered;
}

/* Pages of these bytes that the process has not touched yet. */
static size_t untouched(const void *from, size_t bytes)
{
	uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
	uintptr_t at = (uintptr_t)from & ~(page - 1);
	unsigned char there;
	size_t n = 0;

	for (; at < (uintptr_t)from + bytes; at += page) {
		check(!mincore((void *)at, page, &there));
		n += !(there & 1);
	}
	return n;
}

/* No thread of OpenSM is the first to write to one of the tap's pages. */
START_TEST(tables_are_touched)
{
	enum { CLIENT_BYTES = 1024 * 32 };
	struct double_bind *b = bind_client(&vendor, &client);
	struct tapped t = { 0 };

	/* the first client's place, where all begin */
	ck_assert(untouched(b->context, CLIENT_BYTES) > 0);
	ck_assert(untouched(places, sizeof(places)) > 0);
	open_tap(&t);
	ck_assert_uint_eq(untouched(b->context, CLIENT_BYTES), 0);
	ck_assert_uint_eq(untouched(places, sizeof(places)), 0);
	/* nothing was changed by it */
	receive(b, 3, 1);
	ck_assert_uint_eq(client.received, 1);
	check_stats(&t, 1, 1, 0);
	close_tap(&t);
	free(b);
}
END_TEST

START_TEST(stands_before_the_next)
{
	struct tap_symbol symbols[TAP_SYMBOLS];

	tap_get_symbols(symbols);
	ck_assert_str_eq(symbols[0].name, "osm_vendor_bind");
	ck_assert_ptr_eq(symbols[0].tap, (void *)osm_vendor_bind);
	ck_assert_ptr_eq(symbols[0].vendor,
			 dlsym(RTLD_NEXT, "osm_vendor_bind"));
	ck_assert_str_eq(symbols[1].name, "osm_vendor_send");
	ck_assert_ptr_eq(symbols[1].tap, (void *)osm_vendor_send);
	ck_assert_ptr_eq(symbols[1].vendor,
			 dlsym(RTLD_NEXT, "osm_vendor_send"));
}
END_TEST

/* Without a bind everything goes through, unchanged. */
START_TEST(nobody_listens)
{
	struct double_bind *b = bind_client(&vendor, &client);
	osm_madw_t *p_madw = madw_new(b, 3, MAD_SIZE, 1);

	ck_assert_ptr_eq(b->p_vend, &vendor);
	ck_assert_int_eq(osm_vendor_send(b, p_madw, TRUE), IB_SUCCESS);
	b->failing = true;
	ck_assert_int_eq((int)osm_vendor_send(b, p_madw, TRUE), -5);
	ck_assert_uint_eq(client.failed, 1);
	ck_assert_int_eq((int)osm_vendor_send(b, madw_new(b, 3, 24, 1), FALSE),
			 -5);
	ck_assert_uint_eq(b->sends, 3);
	ck_assert_uint_eq(client.failed, 1);
	double_receive(b, p_madw, p_madw);
	ck_assert_uint_eq(client.received, 1);
	madw_free(p_madw);
	free(b);
}
END_TEST

START_TEST(received)
{
	struct double_bind *b = bind_client(&vendor, &client);
	osm_madw_t *p_req = madw_new(b, 3, MAD_SIZE, 4);
	osm_madw_t *p_madw = madw_new(b, 3, MAD_SIZE, 5);
	uint64_t before = clock_ns(CLOCK_MONOTONIC);
	struct tapped t = { 0 };
	struct tap_capture *c;

	open_tap(&t);
	p_madw->mad_addr.addr_type.gsi.remote_qp = cl_hton32(0x123456);
	/* what a client left there is no completion of a received MAD */
	p_madw->status = IB_TIMEOUT;
	double_receive(b, p_madw, p_req);
	ck_assert_uint_eq(client.received, 1);
	ck_assert_ptr_eq(client.p_madw, p_madw);
	ck_assert_ptr_eq(client.p_req_madw, p_req);

	c = peek(&t);
	check(c);
	ck_assert(!c->sent);
	ck_assert_int_eq(c->status, IB_SUCCESS);
	ck_assert_uint_eq(c->size, MAD_SIZE);
	ck_assert_uint_eq(c->original_size, MAD_SIZE);
	ck_assert_uint_eq(c->lost, 0);
	ck_assert_uint_eq(c->port_guid, cl_hton64(0x1234));
	ck_assert_uint_eq(c->local_lid, 7);
	ck_assert_mem_eq(&c->mad_addr, &p_madw->mad_addr, sizeof(c->mad_addr));
	ck_assert_mem_eq(c->mad, p_madw->p_mad, MAD_SIZE);
	ck_assert(c->monotonic_ns >= before &&
		  c->monotonic_ns <= clock_ns(CLOCK_MONOTONIC));
	drop(&t);
	ck_assert_ptr_null(peek(&t));
	check_stats(&t, 1, 1, 0);
	close_tap(&t);
	/* after the close nothing is touched */
	double_receive(b, p_madw, NULL);
	madw_free(p_req);
	madw_free(p_madw);
	free(b);
}
END_TEST

/* The wrapper is gone when osm_vendor_send returns: copied before. */
START_TEST(sent)
{
	struct double_bind *b = bind_client(&vendor, &client);
	osm_madw_t *p_madw = madw_new(b, 3, 1000, 9);
	osm_madw_t *same = madw_new(b, 3, 1000, 9);
	struct tapped t = { 0 };
	struct tap_capture *c;

	open_tap(&t);
	p_madw->h_bind = NULL;	/* osm_mad_pool_get_wrapper_raw sets none */
	ck_assert_int_eq(osm_vendor_send(b, p_madw, FALSE), IB_SUCCESS);
	c = peek(&t);
	check(c);
	ck_assert(c->sent);
	ck_assert_int_eq(c->status, IB_SUCCESS);
	ck_assert_uint_eq(c->size, 1000);
	ck_assert_uint_eq(c->original_size, 1000);
	ck_assert_mem_eq(c->mad, same->p_mad, 1000);
	ck_assert_mem_eq(&c->mad_addr, &same->mad_addr, sizeof(c->mad_addr));
	drop(&t);
	ck_assert_ptr_null(peek(&t));

	/* published before it is on the wire; one capture when it succeeds */
	ck_assert_int_eq(osm_vendor_send(b, same, TRUE), IB_SUCCESS);
	c = peek(&t);
	check(c);
	ck_assert(c->sent);
	drop(&t);
	ck_assert_ptr_null(peek(&t));
	ck_assert_uint_eq(client.failed, 0);
	check_stats(&t, 2, 2, 0);
	close_tap(&t);
	madw_free(same);
	free(b);
}
END_TEST

/* A send that fails is captured twice, and the second says so. */
static void check_failure(struct tapped *t, const osm_madw_t *same,
			  uint32_t kept, ib_api_status_t status)
{
	struct tap_capture *c = peek(t);

	check(c);
	ck_assert(c->sent);
	ck_assert_int_eq(c->status, IB_SUCCESS);
	ck_assert_uint_eq(c->size, same->mad_size);
	ck_assert_mem_eq(c->mad, same->p_mad, same->mad_size);
	drop(t);
	c = peek(t);
	check(c);
	ck_assert(c->sent);
	ck_assert_int_eq(c->status, status);
	ck_assert_uint_eq(c->original_size, same->mad_size);
	ck_assert_uint_eq(c->size, kept);
	ck_assert_mem_eq(c->mad, same->p_mad, kept);
	ck_assert_mem_eq(&c->mad_addr, &same->mad_addr, sizeof(c->mad_addr));
	drop(t);
	ck_assert_ptr_null(peek(t));
}

START_TEST(send_fails_unanswered)
{
	static const uint32_t sizes[] = { 24, 255, 256, 257, 4096 };
	struct double_bind *b = bind_client(&vendor, &client);
	struct tapped t = { 0 };
	osm_madw_t *same;
	unsigned i;

	open_tap(&t);
	b->failing = true;
	for (i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		same = madw_new(b, 3, sizes[i], 3);
		ck_assert_int_eq((int)osm_vendor_send(b, madw_new(b, 3,
								  sizes[i], 3),
						      FALSE), -5);
		/* the vendor layer freed it: its first MAD was kept */
		check_failure(&t, same, sizes[i] < MAD_SIZE ? sizes[i] :
							      MAD_SIZE,
			      IB_ERROR);
		madw_free(same);
	}
	ck_assert_uint_eq(client.failed, 0);
	check_stats(&t, 2 * i, 2 * i, 0);
	close_tap(&t);
	free(b);
}
END_TEST

/*
 * A thread that is cancelled inside the vendor layer's write: nothing is left
 * of its call that others would wait for.
 */
static _Atomic bool in_send;

static void wait_on_wire(const osm_madw_t *p_madw)
{
	(void)p_madw;
	in_send = true;
	for (;;)
		pause();
}

static void exit_on_wire(const osm_madw_t *p_madw)
{
	(void)p_madw;
	pthread_exit(PTHREAD_CANCELED);
}

struct send_call {
	struct double_bind *b;
	osm_madw_t *p_madw;
	bool resp_expected;
	bool returned;
};

void __asan_unpoison_memory_region(const volatile void *, size_t)
	__attribute__((weak));

/*
 * AddressSanitizer does not know that frames are gone which a cancelled thread
 * left without a return, and finds fault with whoever uses their memory next.
 */
static void forget_frames(void *context)
{
	enum { DEPTH = 64 * 1024 };

	if (__asan_unpoison_memory_region)
		__asan_unpoison_memory_region((char *)context - DEPTH, DEPTH);
}

static void *send_in_thread(void *context)
{
	struct send_call *call = context;

	pthread_cleanup_push(forget_frames, __builtin_frame_address(0));
	osm_vendor_send(call->b, call->p_madw, call->resp_expected);
	call->returned = true;
	pthread_cleanup_pop(0);
	return NULL;
}

static void cancel_in_send(struct send_call *call)
{
	pthread_t thread;
	void *result;

	in_send = false;
	check(!pthread_create(&thread, NULL, send_in_thread, call));
	if (call->b->on_wire == wait_on_wire) {
		while (!in_send)
			sched_yield();
		ck_assert(tap_sends_done() == call->resp_expected);
		check(!pthread_cancel(thread));
	}
	check(!pthread_join(thread, &result));
	ck_assert_ptr_eq(result, PTHREAD_CANCELED);
	ck_assert(!call->returned);
	ck_assert(tap_sends_done());
}

START_TEST(send_is_cancelled)
{
	static const uint32_t sizes[] = { 24, 256, 4096 };
	struct double_bind *b = bind_client(&vendor, &client);
	struct send_call call = { .b = b };
	struct tapped t = { 0 };
	unsigned i;

	open_tap(&t);
	ck_assert(tap_sends_done());
	for (i = 0; i < 2 * sizeof(sizes) / sizeof(sizes[0]); i++) {
		b->on_wire = i & 1 ? exit_on_wire : wait_on_wire;
		call.p_madw = madw_new(b, 3, sizes[i / 2], 3);
		cancel_in_send(&call);
		/* nobody knows whether it left */
		check_failure(&t, call.p_madw, sizes[i / 2] < MAD_SIZE ?
				      sizes[i / 2] : MAD_SIZE, IB_CANCELED);
		madw_free(call.p_madw);
	}
	check_stats(&t, 2 * i, 2 * i, 0);

	/* with a response the vendor layer's table has it: nothing to add */
	b->on_wire = wait_on_wire;
	call.resp_expected = true;
	call.p_madw = madw_new(b, 3, MAD_SIZE, 3);
	cancel_in_send(&call);
	check(peek(&t));
	drop(&t);
	ck_assert_ptr_null(peek(&t));
	madw_free(call.p_madw);

	/* who comes next is not disturbed */
	b->on_wire = NULL;
	osm_vendor_send(b, madw_new(b, 3, MAD_SIZE, 4), FALSE);
	ck_assert(tap_sends_done());
	ck_assert_uint_eq(tid_of(peek(&t)->mad), 4);
	close_tap(&t);
	free(b);
}
END_TEST

/* The same in a client's callback, which the tap calls. */
static void *receive_in_thread(void *context)
{
	pthread_cleanup_push(forget_frames, __builtin_frame_address(0));
	receive(context, 3, 1);
	pthread_cleanup_pop(0);
	return NULL;
}

static void recv_exits(osm_madw_t *p_madw, void *context, osm_madw_t *p_req)
{
	(void)context;
	(void)p_req;
	client.p_madw = p_madw;
	pthread_exit(PTHREAD_CANCELED);
}

START_TEST(callback_is_cancelled)
{
	struct double_bind *b = double_of(osm_vendor_bind(&vendor, NULL, NULL,
							  recv_exits,
							  on_send_err,
							  &client));
	struct tapped t = { 0 };
	pthread_t thread;
	void *result;

	open_tap(&t);
	check(!pthread_create(&thread, NULL, receive_in_thread, b));
	check(!pthread_join(thread, &result));
	ck_assert_ptr_eq(result, PTHREAD_CANCELED);
	check_stats(&t, 1, 1, 0);
	tap_stop(t.slot);	/* waits for nobody */
	close_tap(&t);
	madw_free((osm_madw_t *)(uintptr_t)client.p_madw);
	free(b);
}
END_TEST

START_TEST(send_fails_answered)
{
	struct double_bind *b = bind_client(&vendor, &client);
	osm_madw_t *p_madw = madw_new(b, 3, 1000, 3);
	struct tapped t = { 0 };

	open_tap(&t);
	b->failing = true;
	ck_assert_int_eq((int)osm_vendor_send(b, p_madw, TRUE), -5);
	ck_assert_uint_eq(client.failed, 1);
	ck_assert_ptr_eq(client.p_madw, p_madw);
	ck_assert_int_eq(client.status, IB_ERROR);
	check_failure(&t, p_madw, 1000, IB_ERROR);
	check_stats(&t, 2, 2, 0);
	close_tap(&t);
	madw_free(p_madw);
	free(b);
}
END_TEST

START_TEST(send_times_out)
{
	struct double_bind *b = bind_client(&vendor, &client);
	osm_madw_t *p_madw = madw_new(b, 3, MAD_SIZE, 3);
	struct tapped t = { 0 }, errors = { .config.filter_count = 1 };

	errors.config.filters[0] = (umad_filter_t){ .mgmt_class = 3,
						    .errors = 1 };
	open_tap(&t);
	open_tap(&errors);
	ck_assert_int_eq(osm_vendor_send(b, p_madw, TRUE), IB_SUCCESS);
	double_send_err(b, p_madw, IB_TIMEOUT);
	ck_assert_uint_eq(client.failed, 1);
	ck_assert_int_eq(client.status, IB_TIMEOUT);
	check_failure(&t, p_madw, MAD_SIZE, IB_TIMEOUT);
	/* filter errors: the completion alone, and no cancelled one */
	check(peek(&errors));
	ck_assert_int_eq(peek(&errors)->status, IB_TIMEOUT);
	drop(&errors);
	double_send_err(b, p_madw, IB_CANCELED);
	ck_assert_ptr_null(peek(&errors));
	ck_assert_int_eq(peek(&t)->status, IB_CANCELED);
	check_stats(&errors, 3, 1, 0);
	close_tap(&errors);
	close_tap(&t);
	madw_free(p_madw);
	free(b);
}
END_TEST

/* Each bind has its own filters, flags, ring and snap length. */
START_TEST(several_binds)
{
	struct double_bind *b = bind_client(&vendor, &client);
	struct tapped all = { 0 };
	struct tapped sa = { .config = { .filter_count = 1,
					 .filters = { { .mgmt_class = 3 } } } };
	struct tapped two = { .config = {
		.filter_count = 2,
		.filters = { { .mgmt_class = 4 }, { .mgmt_class = 1 } } } };
	struct tapped sends = { .config = { .flags = OSM_SNOOP_SENDS,
					    .snap_length = 100 } };
	struct tapped receives = { .config = { .flags = OSM_SNOOP_RECEIVES,
					       .snap_length = 24 } };
	struct tap_capture *c;

	open_tap(&all);
	open_tap(&sa);
	open_tap(&two);
	open_tap(&sends);
	open_tap(&receives);
	receive(b, 3, 1);
	receive(b, 4, 2);
	receive(b, 0x81, 3);
	osm_vendor_send(b, madw_new(b, 3, 300, 4), FALSE);
	osm_vendor_send(b, madw_new(b, 1, 90, 5), FALSE);
	check_stats(&all, 5, 5, 0);
	check_stats(&sa, 5, 2, 0);
	check_stats(&two, 5, 2, 0);
	check_stats(&sends, 5, 2, 0);
	check_stats(&receives, 5, 3, 0);

	ck_assert_uint_eq(tid_of(peek(&sa)->mad), 1);
	drop(&sa);
	ck_assert_uint_eq(tid_of(peek(&sa)->mad), 4);
	drop(&sa);
	ck_assert_ptr_null(peek(&sa));
	ck_assert_uint_eq(tid_of(peek(&two)->mad), 2);
	drop(&two);
	ck_assert_uint_eq(tid_of(peek(&two)->mad), 5);
	drop(&two);
	ck_assert_ptr_null(peek(&two));

	c = peek(&sends);
	ck_assert_uint_eq(tid_of(c->mad), 4);
	ck_assert_uint_eq(c->size, 100);
	ck_assert_uint_eq(c->original_size, 300);
	drop(&sends);
	c = peek(&sends);
	ck_assert_uint_eq(c->size, 90);
	ck_assert_uint_eq(c->original_size, 90);
	drop(&sends);
	ck_assert_ptr_null(peek(&sends));
	c = peek(&receives);
	ck_assert_uint_eq(c->size, 24);
	ck_assert_uint_eq(c->original_size, MAD_SIZE);

	/* one closes, the others go on; the snap length hides no OUI */
	close_tap(&all);
	receive(b, 3, 6);
	check_stats(&sa, 6, 3, 0);
	close_tap(&sa);
	close_tap(&two);
	close_tap(&sends);
	close_tap(&receives);
	free(b);
}
END_TEST

START_TEST(filter_sees_the_whole_mad)
{
	struct double_bind *b = bind_client(&vendor, &client);
	struct tapped t = { .config = {
		.snap_length = 24, .filter_count = 1,
		.filters = { { .mgmt_class = 0x30, .oui = { 1, 2, 3 } } } } };
	osm_madw_t *p_madw = madw_new(b, 0x30, MAD_SIZE, 1);
	uint8_t *mad = (uint8_t *)p_madw->p_mad;

	open_tap(&t);
	double_receive(b, p_madw, NULL);
	memcpy(mad + VENDOR_OUI, "\1\2\3", 3);
	double_receive(b, p_madw, NULL);
	check_stats(&t, 2, 1, 0);
	ck_assert_uint_eq(peek(&t)->size, 24);
	close_tap(&t);
	madw_free(p_madw);
	free(b);
}
END_TEST

START_TEST(port_guid)
{
	osm_vendor_t other = vendor;
	struct double_bind *b = bind_client(&vendor, &client), *b2;
	struct tapped any = { 0 };
	struct tapped one = { .config.port_guid = cl_hton64(0x1234) };
	struct tapped none = { .config.port_guid = cl_hton64(0x1235) };

	other.umad_port.port_guid = cl_hton64(0x9999);
	other.umad_port.base_lid = 8;
	b2 = bind_client(&other, &client);
	open_tap(&any);
	open_tap(&one);
	open_tap(&none);
	receive(b, 3, 1);
	receive(b2, 3, 2);
	osm_vendor_send(b, madw_new(b, 3, MAD_SIZE, 3), FALSE);
	osm_vendor_send(b2, madw_new(b2, 3, MAD_SIZE, 4), FALSE);
	check_stats(&any, 4, 4, 0);
	check_stats(&one, 4, 2, 0);
	check_stats(&none, 4, 0, 0);
	ck_assert_uint_eq(tid_of(peek(&one)->mad), 1);
	drop(&one);
	ck_assert_uint_eq(tid_of(peek(&one)->mad), 3);
	drop(&any);
	ck_assert_uint_eq(peek(&any)->port_guid, cl_hton64(0x9999));
	ck_assert_uint_eq(peek(&any)->local_lid, 8);
	close_tap(&any);
	close_tap(&one);
	close_tap(&none);
	free(b);
	free(b2);
}
END_TEST

START_TEST(samples)
{
	struct double_bind *b = bind_client(&vendor, &client);
	uint8_t v1 = 0xfe;
	uint16_t v2 = 0xfedc;
	uint32_t v4 = 0xfedcba98;
	uint64_t v8 = 0xfedcba9876543210;
	struct tapped t = { .config = {
		.sample_count = 4,
		.samples = {
			{ &v1, 1 }, { &v2, 2 }, { &v4, 4 }, { &v8, 8 } } } };
	struct tap_capture *c;

	open_tap(&t);
	receive(b, 3, 1);
	v1 = 1;
	v8 = 2;
	receive(b, 3, 2);
	c = peek(&t);
	ck_assert_uint_eq(c->samples[0], 0xfe);
	ck_assert_uint_eq(c->samples[1], 0xfedc);
	ck_assert_uint_eq(c->samples[2], 0xfedcba98);
	ck_assert_uint_eq(c->samples[3], 0xfedcba9876543210);
	ck_assert_uint_eq(c->samples[4], 0);
	drop(&t);
	c = peek(&t);
	ck_assert_uint_eq(c->samples[0], 1);
	ck_assert_uint_eq(c->samples[3], 2);
	close_tap(&t);
	free(b);
}
END_TEST

/* The newest is lost, counted, and told by the next that finds room. */
START_TEST(full_ring)
{
	struct double_bind *b = bind_client(&vendor, &client);
	struct tapped t = { 0 };
	uint64_t kept, tid = 0, i;

	open_tap(&t);
	for (kept = 0; ring_used(&t.ring) + 1024 < RING_BYTES; kept++)
		receive(b, 3, tid++);
	for (i = 0; i < 1000; i++)
		receive(b, 3, tid++);
	/* a little more found room */
	for (i = 0; peek(&t); i++) {
		ck_assert_uint_eq(tid_of(peek(&t)->mad), i);
		ck_assert_uint_eq(peek(&t)->lost, 0);
		drop(&t);
	}
	check(i >= kept && i < kept + 10);
	check_stats(&t, tid, tid, tid - i);
	receive(b, 3, tid++);
	ck_assert_uint_eq(peek(&t)->lost, tid - 1 - i);
	receive(b, 3, tid++);
	drop(&t);
	ck_assert_uint_eq(peek(&t)->lost, 0);
	close_tap(&t);

	/* a new bind in the slot knows nothing of this */
	open_tap(&t);
	check_stats(&t, 0, 0, 0);
	receive(b, 3, 1);
	ck_assert_uint_eq(peek(&t)->lost, 0);
	check_stats(&t, 1, 1, 0);
	close_tap(&t);
	free(b);
}
END_TEST

START_TEST(spills_into_the_next_ring)
{
	struct double_bind *b = bind_client(&vendor, &client);
	struct tap_config config = { .flags = BOTH, .ring_count = TAP_SHARDS };
	struct ring rings[TAP_SHARDS];
	struct tap_stats stats;
	uint64_t used = 0;
	uint32_t len;
	void *r;
	int slot, i;

	for (i = 0; i < TAP_SHARDS; i++)
		check(!ring_init(&rings[i], RING_BYTES));
	slot = tap_open(&config, rings);
	check(slot >= 0);
	do {
		receive(b, 3, 1);
		tap_get_stats(slot, &stats);
	} while (!stats.lost);
	for (i = 0; i < TAP_SHARDS; i++) {
		check(ring_used(&rings[i]) > RING_BYTES - 1024);
		while ((r = ring_peek(&rings[i], &len))) {
			used++;
			ring_release(&rings[i], r);
		}
	}
	ck_assert_uint_eq(used, stats.passed - stats.lost);
	tap_close(slot);
	for (i = 0; i < TAP_SHARDS; i++)
		ring_free(&rings[i]);
	free(b);
}
END_TEST

/* Threads that each have some MADs pass, of which not all are wanted. */
enum { MADS = 40, THREADS_MORE = PLACES_OWN + 40, THREADS_THEN = 4000 };

struct passer {
	pthread_t thread;
	struct double_bind *b;
	pthread_barrier_t *all;	/* so that all live at a time, or NULL */
};

static void *pass_mads(void *context)
{
	struct passer *p = context;
	unsigned i;

	for (i = 0; i < MADS; i += 4) {
		receive(p->b, 3, i);
		receive(p->b, 4, i);
		osm_vendor_send(p->b, madw_new(p->b, 3, 24, i), FALSE);
		osm_vendor_send(p->b, madw_new(p->b, 4, 24, i), FALSE);
		if (p->all && !i)
			pthread_barrier_wait(p->all);
	}
	return NULL;
}

static void start_passing(struct passer *p)
{
	check(!pthread_create(&p->thread, NULL, pass_mads, p));
}

static void check_passed(const struct tapped *t, uint64_t threads)
{
	struct tap_stats stats;

	tap_get_stats(t->slot, &stats);
	ck_assert_uint_eq(stats.seen, threads * MADS);
	ck_assert_uint_eq(stats.passed, threads * MADS / 2);
	ck_assert(stats.lost > 0);	/* nobody drains */
	ck_assert(tap_sends_done());
}

START_TEST(more_threads_than_places)
{
	struct double_bind *b = bind_client(&vendor, &client);
	struct tapped t = { .config = { .filter_count = 1,
					.filters = { { .mgmt_class = 3 } } } };
	static struct passer passers[THREADS_MORE];
	uint64_t own, shared;
	pthread_barrier_t all;
	int i;

	refuse = _i;
	pthread_barrier_init(&all, NULL, THREADS_MORE);
	open_tap(&t);
	for (i = 0; i < THREADS_MORE; i++) {
		passers[i] = (struct passer){ .b = b, .all = &all };
		start_passing(&passers[i]);
	}
	for (i = 0; i < THREADS_MORE; i++)
		pthread_join(passers[i].thread, NULL);
	check_passed(&t, THREADS_MORE);
	where_counted(t.slot, &own, &shared);
	ck_assert_uint_eq(own + shared, THREADS_MORE * MADS);
	ck_assert_uint_ge(shared, (THREADS_MORE - PLACES_OWN) * MADS);
	ck_assert((own > 0) == (refuse != REFUSE_TO_REGISTER));
	close_tap(&t);
	pthread_barrier_destroy(&all);
	free(b);
}
END_TEST

/* Each counts on where one before it stopped, or in a new place. */
START_TEST(threads_come_and_go)
{
	enum { AT_A_TIME = 4 };
	struct double_bind *b = bind_client(&vendor, &client);
	struct tapped t = { .config = { .filter_count = 1,
					.filters = { { .mgmt_class = 3 } } } };
	struct passer passers[AT_A_TIME];
	int i;

	open_tap(&t);
	for (i = 0; i < THREADS_THEN + AT_A_TIME; i++) {
		if (i >= AT_A_TIME)
			pthread_join(passers[i % AT_A_TIME].thread, NULL);
		passers[i % AT_A_TIME] = (struct passer){ .b = b };
		if (i < THREADS_THEN)
			start_passing(&passers[i % AT_A_TIME]);
	}
	check_passed(&t, THREADS_THEN);
	close_tap(&t);
	free(b);
}
END_TEST

/*
 * tap_open() and tap_close() while others send: nothing hangs, nothing is
 * written after the close, and everything is counted exactly once.
 */
enum { SENDERS = 3, CHURNS = 1000 };

static _Atomic bool enough;
static _Atomic uint64_t sa_sent, pm_sent;

static void *send_mads(void *context)
{
	struct double_bind *b = context;
	osm_madw_t *sa = madw_new(b, 3, MAD_SIZE, 1);
	osm_madw_t *pm = madw_new(b, 4, MAD_SIZE, 2);
	unsigned i;

	for (i = 1; !enough; i++) {
		/* so that three of these leave a processor to the others */
		if (i % 512 == 0)
			usleep(20);
		osm_vendor_send(b, sa, TRUE);
		double_receive(b, sa, NULL);
		sa_sent += 2;
		osm_vendor_send(b, pm, TRUE);
		pm_sent += 1;
	}
	madw_free(sa);
	madw_free(pm);
	return NULL;
}

START_TEST(open_and_close_meanwhile)
{
	struct double_bind *b = bind_client(&vendor, &client);
	struct tapped steady = { .config = { .filter_count = 1,
					     .filters = { { .mgmt_class = 3 } },
					     .snap_length = 24 } };
	struct tapped t = steady;
	pthread_t threads[SENDERS];
	struct tap_stats stats;
	uint64_t n, busy = 0, own, shared;
	int i, k;

	refuse = _i;
	open_tap(&steady);
	for (i = 0; i < SENDERS; i++)
		check(!pthread_create(&threads[i], NULL, send_mads, b));
	for (i = 0; i < CHURNS; i++) {
		open_tap(&t);
		for (k = 0; k < i % 4; k++)
			sched_yield();
		tap_get_stats(t.slot, &stats);
		check(stats.lost <= stats.passed && stats.passed <= stats.seen);
		tap_stop(t.slot);
		tap_get_stats(t.slot, &stats);
		check(stats.lost <= stats.passed && stats.passed <= stats.seen);
		for (n = 0; peek(&t); n++)
			drop(&t);
		check(n == stats.passed - stats.lost);
		busy += n > 0;
		/* nobody writes after the end */
		check(!ring_used(&t.ring));
		close_tap(&t);
	}
	enough = true;
	for (i = 0; i < SENDERS; i++)
		pthread_join(threads[i], NULL);
	tap_get_stats(steady.slot, &stats);
	/* seen = passed + filtered */
	ck_assert_uint_eq(stats.seen, sa_sent + pm_sent);
	ck_assert_uint_eq(stats.passed, sa_sent);
	where_counted(steady.slot, &own, &shared);
	ck_assert_uint_eq(own, refuse == REFUSE_TO_REGISTER ? 0 : stats.seen);
	ck_assert_uint_eq(own + shared, stats.seen);
	ck_assert((n_barriers >= CHURNS) == (refuse == REFUSE_NOTHING));
	for (n = 0; peek(&steady); n++)
		drop(&steady);
	ck_assert_uint_eq(n, stats.passed - stats.lost);
	ck_assert(busy > 0);
	close_tap(&steady);
	free(b);
}
END_TEST

/*
 * Through the source, whose rings are by processor: one thread sends
 * requests, another gets the responses, and no response comes out before its
 * request.
 */
enum { PAIRS = 30000, WINDOW = 256 };

static _Atomic uint64_t on_the_wire, answered;
static struct double_bind *order_bind;

static void note_on_wire(const osm_madw_t *p_madw)
{
	on_the_wire = tid_of(p_madw->p_mad);
}

static void pin(int nth)
{
	cpu_set_t all, one;
	int cpu, n = 0;

	if (sched_getaffinity(0, sizeof(all), &all))
		return;
	for (cpu = 0; cpu < CPU_SETSIZE; cpu++) {
		if (!CPU_ISSET(cpu, &all) || n++ != nth)
			continue;
		CPU_ZERO(&one);
		CPU_SET(cpu, &one);
		sched_setaffinity(0, sizeof(one), &one);
		return;
	}
}

static void *request_all(void *context)
{
	uint64_t i;

	(void)context;
	pin(1);
	for (i = 1; i <= PAIRS; i++) {
		while (i > answered + WINDOW)
			sched_yield();
		osm_vendor_send(order_bind, madw_new(order_bind, 3, 256, i),
				FALSE);
	}
	return NULL;
}

static void *answer_all(void *context)
{
	uint64_t i;

	(void)context;
	pin(0);
	for (i = 1; i <= PAIRS; i++) {
		while (on_the_wire < i)
			sched_yield();
		receive(order_bind, 3, i);
		answered = i;
	}
	return NULL;
}

START_TEST(request_before_response)
{
	osm_snoop_bind_info_t info = { .size = sizeof(info), .flags = BOTH,
				       .ring_size = 64 * 1024 * 1024 };
	uint64_t requests = 0, responses = 0, last = 0;
	struct source_capture c;
	pthread_t threads[2];
	osm_snoop_stats_t stats = { 0 };
	void *state;

	order_bind = bind_client(&vendor, &client);
	order_bind->on_wire = note_on_wire;
	ck_assert_int_eq(source_tap.open(&vendor, &info, &state), IB_SUCCESS);
	check(!pthread_create(&threads[0], NULL, request_all, NULL));
	check(!pthread_create(&threads[1], NULL, answer_all, NULL));
	while (responses < PAIRS) {
		if (source_tap.next(state, &c) != 1)
			continue;
		check(c.info.segments == 1 && !c.info.reassembled);
		check(c.info.source == OSM_SNOOP_SOURCE_TAP);
		if (c.info.direction == OSM_SNOOP_SENT) {
			check(tid_of(c.mad) == ++requests);
			last = c.info.monotonic_ns;
		} else {
			check(tid_of(c.mad) == ++responses);
			check(responses <= requests);
			check(c.info.monotonic_ns > 0);
		}
	}
	check(last > 0);
	pthread_join(threads[0], NULL);
	pthread_join(threads[1], NULL);
	source_tap.stop(state);
	ck_assert_int_eq(source_tap.next(state, &c), -1);
	source_tap.get_stats(state, &stats);
	ck_assert_uint_eq(stats.seen, 2 * PAIRS);
	ck_assert_uint_eq(stats.passed, 2 * PAIRS);
	ck_assert_uint_eq(stats.lost_ring, 0);
	ck_assert_uint_eq(stats.ring_bytes, 0);
	ck_assert_uint_eq(stats.ring_size, info.ring_size);
	source_tap.close(state, &(osm_snoop_stats_t){ 0 });
	free(order_bind);
}
END_TEST

/*
 * The same in the moments that matter, which threads meet too seldom: the
 * linker puts this before the ring_peek() of the source (--wrap).
 */
void *__real_ring_peek(struct ring *r, uint32_t *len);
void *__wrap_ring_peek(struct ring *r, uint32_t *len);

static struct ring *peeked[TAP_SHARDS];	/* in the order of the looks */
static unsigned n_peeked;
static void (*before_second_peek)(void);

void *__wrap_ring_peek(struct ring *r, uint32_t *len)
{
	void (*hook)(void) = before_second_peek;
	unsigned i;

	for (i = 0; i < n_peeked && peeked[i] != r; i++)
		;
	if (i == n_peeked && n_peeked < TAP_SHARDS)
		peeked[n_peeked++] = r;
	if (hook && r == peeked[1]) {
		before_second_peek = NULL;
		hook();
	}
	return __real_ring_peek(r, len);
}

/* Run on a processor whose ring is this one. */
static bool move_to_ring(unsigned ring)
{
	cpu_set_t all, one;
	bool moved = false;
	int cpu;

	if (sched_getaffinity(0, sizeof(all), &all))
		return false;
	for (cpu = 0; cpu < CPU_SETSIZE && !moved; cpu++) {
		if (!CPU_ISSET(cpu, &all) ||
		    ((unsigned)cpu & (n_peeked - 1)) != ring)
			continue;
		CPU_ZERO(&one);
		CPU_SET(cpu, &one);
		moved = !sched_setaffinity(0, sizeof(one), &one) &&
			sched_getcpu() == cpu;
	}
	return moved;
}

static cpu_set_t all_processors;

static void request_and_response(void)
{
	if (move_to_ring(0))
		osm_vendor_send(order_bind, madw_new(order_bind, 3, 256, 1),
				FALSE);
	sched_setaffinity(0, sizeof(all_processors), &all_processors);
	if (move_to_ring(1))
		receive(order_bind, 3, 2);
	sched_setaffinity(0, sizeof(all_processors), &all_processors);
}

/* A source with several rings; false where there is one processor. */
static bool open_order(void **state)
{
	osm_snoop_bind_info_t info = { .size = sizeof(info), .flags = BOTH,
				       .ring_size = 64 * 1024 * 1024 };
	struct source_capture c;

	order_bind = bind_client(&vendor, &client);
	check(!sched_getaffinity(0, sizeof(all_processors), &all_processors));
	n_peeked = 0;
	check(source_tap.open(&vendor, &info, state) == IB_SUCCESS);
	ck_assert_int_eq(source_tap.next(*state, &c), 0);
	return n_peeked > 1 && CPU_COUNT(&all_processors) > 1;
}

static void close_order(void *state)
{
	source_tap.stop(state);
	source_tap.close(state, &(osm_snoop_stats_t){ 0 });
	free(order_bind);
}

static void next_is(void *state, uint64_t tid)
{
	struct source_capture c;

	ck_assert_int_eq(source_tap.next(state, &c), 1);
	ck_assert_uint_eq(tid_of(c.mad), tid);
}

/* Both come when the request's ring was found empty, and before the other. */
START_TEST(both_between_two_looks)
{
	void *state;

	if (open_order(&state)) {
		before_second_peek = request_and_response;
		next_is(state, 1);
		next_is(state, 2);
	}
	close_order(state);
}
END_TEST

/* A response waits for a request that is being written. */
START_TEST(request_not_committed)
{
	uint32_t len = sizeof(struct tap_capture) + 24;
	uint64_t tid = 1;
	struct source_capture got;
	struct tap_capture *c;
	void *state;

	if (open_order(&state)) {
		c = ring_reserve(peeked[0], len);
		check(c);
		c->monotonic_ns = clock_ns(CLOCK_MONOTONIC);
		c->sent = true;
		c->original_size = c->size = 24;
		memcpy(c->mad + MAD_TID, &tid, sizeof(tid));
		check(move_to_ring(1));
		receive(order_bind, 3, 2);
		sched_setaffinity(0, sizeof(all_processors), &all_processors);
		ck_assert_int_eq(source_tap.next(state, &got), 0);
		ring_commit(c, len);
		next_is(state, 1);
		next_is(state, 2);
	}
	close_order(state);
}
END_TEST

/* A source that was stopped keeps its counters, whoever comes after. */
START_TEST(counters_after_stop)
{
	struct double_bind *b = bind_client(&vendor, &client);
	osm_snoop_bind_info_t info = { .size = sizeof(info), .flags = BOTH,
				       .ring_size = RING_BYTES };
	osm_snoop_stats_t stats = { 0 };
	void *first, *second;

	ck_assert_int_eq(source_tap.open(&vendor, &info, &first), IB_SUCCESS);
	receive(b, 3, 1);
	receive(b, 3, 2);
	source_tap.stop(first);
	ck_assert_int_eq(source_tap.open(&vendor, &info, &second), IB_SUCCESS);
	receive(b, 3, 3);
	source_tap.get_stats(first, &stats);
	ck_assert_uint_eq(stats.seen, 2);
	ck_assert_uint_eq(stats.passed, 2);
	stats = (osm_snoop_stats_t){ 0 };
	source_tap.get_stats(second, &stats);
	ck_assert_uint_eq(stats.seen, 1);
	source_tap.close(first, &(osm_snoop_stats_t){ 0 });
	source_tap.stop(second);
	source_tap.close(second, &(osm_snoop_stats_t){ 0 });
	free(b);
}
END_TEST

/* The RMPP header that osm_vendor_send clears in what is no RMPP. */
START_TEST(rmpp_header_as_sent)
{
	struct double_bind *b = bind_client(&vendor, &client);
	osm_snoop_bind_info_t info = { .size = sizeof(info), .flags = BOTH,
				       .ring_size = RING_BYTES };
	static const uint8_t classes[] = { 3, 3, 4 };
	struct source_capture c;
	osm_madw_t *p_madw;
	uint8_t *mad;
	void *state;
	unsigned i;

	ck_assert_int_eq(source_tap.open(&vendor, &info, &state), IB_SUCCESS);
	for (i = 0; i < 3; i++) {
		p_madw = madw_new(b, classes[i], MAD_SIZE, 1);
		mad = (uint8_t *)p_madw->p_mad;
		memset(mad + RMPP_VERSION, 0xff, 4);
		if (!i)
			mad[RMPP_FLAGS] &= (uint8_t)~RMPP_FLAG_ACTIVE;
		osm_vendor_send(b, p_madw, TRUE);
		ck_assert_int_eq(source_tap.next(state, &c), 1);
		ck_assert_uint_eq(c.mad[RMPP_STATUS], i ? 0xff : 0);
		ck_assert_uint_eq(c.mad[RMPP_VERSION], i ? 0xff : 0);
		ck_assert_uint_eq(c.mad[RMPP_FLAGS], i ? 0xff : 0);
		ck_assert_uint_eq(c.mad[RMPP_SEGMENT], 1 + RMPP_SEGMENT);
		madw_free(p_madw);
	}
	source_tap.stop(state);
	source_tap.close(state, &(osm_snoop_stats_t){ 0 });
	free(b);
}
END_TEST

enum { CLIENTS = 1024 };

START_TEST(clients_limit)
{
	static struct client_seen many[CLIENTS + 2];
	struct double_bind *b[CLIENTS + 2], *again;
	struct tapped t = { 0 };
	struct tap_stats stats;
	int i;

	for (i = 0; i < CLIENTS; i++) {
		b[i] = bind_client(&vendor, &many[i]);
		check(b[i]->recv != on_recv && b[i]->send_err != on_send_err);
	}
	/* who comes again finds its place */
	again = bind_client(&vendor, &many[17]);
	ck_assert_ptr_eq(again->context, b[17]->context);
	ck_assert_uint_eq(tap_untapped(), 0);
	/* there is no more: it works, and is counted as not seen */
	for (i = CLIENTS; i < CLIENTS + 2; i++) {
		b[i] = bind_client(&vendor, &many[i]);
		ck_assert_ptr_eq(b[i]->recv, on_recv);
		ck_assert_ptr_eq(b[i]->send_err, on_send_err);
		ck_assert_ptr_eq(b[i]->context, &many[i]);
		ck_assert_uint_eq(tap_untapped(), 1 + i - CLIENTS);
	}
	open_tap(&t);
	for (i = 0; i < CLIENTS + 2; i++)
		receive(b[i], 3, 1);
	for (i = 0; i < CLIENTS + 2; i++)
		check(many[i].received == 1);
	tap_get_stats(t.slot, &stats);
	ck_assert_uint_eq(stats.seen, CLIENTS);
	ck_assert_uint_eq(stats.passed, CLIENTS);
	close_tap(&t);
	for (i = 0; i < CLIENTS + 2; i++)
		free(b[i]);
	free(again);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("tap");
	TCase *tc = tcase_create("tap");

	tcase_set_timeout(tc, 240);
	tcase_add_checked_fixture(tc, setup, NULL);
	tcase_add_test(tc, no_more_slots);
	tcase_add_test(tc, tables_are_touched);
	tcase_add_test(tc, stands_before_the_next);
	tcase_add_test(tc, nobody_listens);
	tcase_add_test(tc, received);
	tcase_add_test(tc, sent);
	tcase_add_test(tc, send_fails_unanswered);
	tcase_add_test(tc, send_is_cancelled);
	tcase_add_test(tc, callback_is_cancelled);
	tcase_add_test(tc, send_fails_answered);
	tcase_add_test(tc, send_times_out);
	tcase_add_test(tc, several_binds);
	tcase_add_test(tc, filter_sees_the_whole_mad);
	tcase_add_test(tc, port_guid);
	tcase_add_test(tc, samples);
	tcase_add_test(tc, full_ring);
	tcase_add_test(tc, spills_into_the_next_ring);
	tcase_add_loop_test(tc, more_threads_than_places, 0, REFUSALS);
	tcase_add_test(tc, threads_come_and_go);
	tcase_add_loop_test(tc, open_and_close_meanwhile, 0, REFUSALS);
	tcase_add_test(tc, request_before_response);
	tcase_add_test(tc, both_between_two_looks);
	tcase_add_test(tc, request_not_committed);
	tcase_add_test(tc, counters_after_stop);
	tcase_add_test(tc, rmpp_header_as_sent);
	tcase_add_test(tc, clients_limit);
	suite_add_tcase(suite, tc);
	return run_suite(suite);
}
