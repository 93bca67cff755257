/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * The public calls of libosmvendor_snoop, in a process that is tapped by link
 * order. MADs come from the double of double.h; wrappers, pool and log are
 * libosmvendor's and libopensm's own.
 */
#include <check.h>
#include <dlfcn.h>
#include <malloc.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <vendor/osm_vendor_snoop.h>

#include "clock.h"
#include "double.h"
#include "filter_rows.h"
#include "../run.h"

enum { RING_MIN = 64 * 1024 };

/* Check tells its parent of each assertion passed: too slow in long loops. */
#define check(condition) do { if (!(condition)) \
	ck_abort_msg("%s", #condition); } while (0)

static osm_vendor_t vendor;
static osm_log_t osm_log_object;
static osm_mad_pool_t pool;
static char log_name[64];
static struct double_bind *wire;

/* Stands before libosmvendor's, which osm_mad_pool_get calls: no memory. */
static _Atomic int no_memory;

ib_mad_t *osm_vendor_get(osm_bind_handle_t h_bind, const uint32_t mad_size,
			 osm_vend_wrap_t *p_vend_wrap)
{
	__typeof__(osm_vendor_get) *next = dlsym(RTLD_NEXT, "osm_vendor_get");

	if (no_memory > 0 && no_memory--)
		return NULL;
	return next(h_bind, mad_size, p_vend_wrap);
}

static void client_recv(osm_madw_t *p_madw, void *context,
			osm_madw_t *p_req_madw)
{
	(void)p_madw;
	(void)context;
	(void)p_req_madw;
}

static void client_send_err(void *context, osm_madw_t *p_madw)
{
	(void)context;
	(void)p_madw;
}

static void setup(void)
{
	int fd;

	strcpy(log_name, "/tmp/osmsnoop_test_bind.XXXXXX");
	fd = mkstemp(log_name);
	check(fd >= 0);
	close(fd);
	check(osm_log_init(&osm_log_object, TRUE, OSM_LOG_ERROR, log_name,
			   FALSE) == IB_SUCCESS);
	check(osm_mad_pool_init(&pool) == IB_SUCCESS);
	vendor.p_log = &osm_log_object;
	vendor.umad_port.port_guid = cl_hton64(0x1234);
	vendor.umad_port.base_lid = 7;
	wire = double_of(osm_vendor_bind(&vendor, NULL, &pool, client_recv,
					 client_send_err, NULL));
	check(wire);
}

static void teardown(void)
{
	free(wire);
	osm_mad_pool_destroy(&pool);
	osm_log_destroy(&osm_log_object);
	unlink(log_name);
}

static bool log_has(const char *text)
{
	char line[1024];
	bool found = false;
	FILE *file = fopen(log_name, "r");

	check(file);
	while (!found && fgets(line, sizeof(line), file))
		found = strstr(line, text);
	fclose(file);
	return found;
}

static osm_snoop_bind_info_t info_default(void)
{
	return (osm_snoop_bind_info_t){ .size = sizeof(osm_snoop_bind_info_t),
					.ring_size = RING_MIN };
}

static void receive(uint64_t tid, uint32_t size)
{
	osm_madw_t *p_madw = madw_new(wire, 3, size, tid);

	double_receive(wire, p_madw, NULL);
	madw_free(p_madw);
}

/* What a bind delivers. */
struct got {
	_Atomic uint64_t n, lost;
	uint64_t next_tid;	/* order: at least this one */
	osm_bind_handle_t h_bind;
	bool keep;
	osm_madw_t *kept[64];
	sem_t *gate;		/* wait here first, when set */
	osm_snoop_info_t info;
	uint32_t size;
	const char *error;
};

static void on_capture(osm_madw_t *p_madw, const osm_snoop_info_t *p_info,
		       void *context)
{
	struct got *g = context;

	if (g->gate) {
		sem_wait(g->gate);
		sem_post(g->gate);
	}
	if (tid_of(p_madw->p_mad) < g->next_tid)
		g->error = "order";
	g->next_tid = tid_of(p_madw->p_mad) + 1;
	g->info = *p_info;
	g->size = p_madw->mad_size;
	g->lost += p_info->lost;
	if (g->keep && g->n < 64)
		g->kept[g->n] = p_madw;
	else
		osm_mad_pool_put(&pool, p_madw);
	g->n++;
}

static osm_bind_handle_t bind_with(const osm_snoop_bind_info_t *info,
				   struct got *g)
{
	osm_bind_handle_t h = osm_vendor_snoop_bind(&vendor, info, &pool,
						    on_capture, g);

	if (h == OSM_BIND_INVALID_HANDLE)
		ck_abort_msg("%s", osm_vendor_snoop_strerror());
	return h;
}

static osm_snoop_stats_t stats_of(osm_bind_handle_t h)
{
	osm_snoop_stats_t stats;

	memset(&stats, 0xff, sizeof(stats));
	check(osm_vendor_snoop_get_stats(h, &stats) == IB_SUCCESS);
	return stats;
}

static void wait_for(const _Atomic uint64_t *n, uint64_t wanted)
{
	int i;

	for (i = 0; i < 10000 && *n < wanted; i++)
		usleep(1000);
	ck_assert_uint_eq(*n, wanted);
}

/* Refused, with this reason for the thread and in the log. */
static void refused(osm_bind_handle_t h, const char *reason)
{
	ck_assert_ptr_eq(h, OSM_BIND_INVALID_HANDLE);
	if (!strstr(osm_vendor_snoop_strerror(), reason))
		ck_abort_msg("\"%s\" does not say \"%s\"",
			     osm_vendor_snoop_strerror(), reason);
	if (!log_has(reason))
		ck_abort_msg("\"%s\" is not in the log", reason);
	ck_assert(log_has("ERR 5D10: "));
}

START_TEST(null_arguments)
{
	osm_snoop_bind_info_t info = info_default();

	ck_assert_str_eq(osm_vendor_snoop_strerror(), "no error");
	/* there is no log without a vendor object */
	ck_assert_ptr_null(osm_vendor_snoop_bind(NULL, &info, &pool, on_capture,
						 NULL));
	ck_assert_str_eq(osm_vendor_snoop_strerror(), "p_vend is NULL");
	refused(osm_vendor_snoop_bind(&vendor, NULL, &pool, on_capture, NULL),
		"p_info is NULL");
	refused(osm_vendor_snoop_bind(&vendor, &info, NULL, on_capture, NULL),
		"p_mad_pool is NULL");
	refused(osm_vendor_snoop_bind(&vendor, &info, &pool, NULL, NULL),
		"callback is NULL");
}
END_TEST

static const umad_filter_t filters[OSM_SNOOP_MAX_FILTERS + 1];
static const uint64_t variables[2];
static const osm_snoop_sample_t samples[OSM_SNOOP_MAX_SAMPLES + 1] = {
	{ variables, 8 }, { variables, 4 }, { variables, 2 }, { variables, 1 },
	{ variables, 8 }, { variables, 8 }, { variables, 8 }, { variables, 8 },
	{ variables, 8 },
};
static const osm_snoop_sample_t bad_samples[] = {
	{ NULL, 8 }, { variables, 0 }, { variables, 3 }, { variables, 16 },
	{ (const char *)variables + 4, 8 }, { (const char *)variables + 2, 4 },
	{ (const char *)variables + 1, 2 },
};

enum {
	SIZE = sizeof(osm_snoop_bind_info_t),
	/* of the first version */
	FIRST = offsetof(osm_snoop_bind_info_t, message_max),
};

static const struct bad_info {
	const char *reason;
	osm_snoop_bind_info_t info;
} bad_infos[] = {
	{ "size is 0: accepted are 72, and 88 to 4096", { .size = 0 } },
	{ "size is 1: accepted", { .size = 1 } },
	{ "size is 64: accepted", { .size = FIRST - 8 } },
	{ "size is 71: accepted", { .size = FIRST - 1 } },
	/* not even the half of what came later, whole members or not */
	{ "size is 73: accepted", { .size = FIRST + 1 } },
	{ "size is 80: accepted", { .size = FIRST + 8 } },
	{ "size is 87: accepted", { .size = SIZE - 1 } },
	{ "size is 4097: accepted", { .size = 4097 } },
	{ "size is 18446744073709551615: accepted", { .size = SIZE_MAX } },
	{ "flags 0x8:", { .size = SIZE, .flags = 8 } },
	{ "flags 0x80000003:", { .size = SIZE, .flags = 0x80000003 } },
	{ "65 filters", { .size = SIZE, .p_filters = filters,
			  .filter_count = 65 } },
	{ "4294967295 filters", { .size = SIZE, .p_filters = filters,
				  .filter_count = UINT32_MAX } },
	{ "p_filters is NULL but filter_count is 1", {
		.size = SIZE, .filter_count = 1 } },
	{ "9 samples", { .size = SIZE, .p_samples = samples,
			 .sample_count = 9 } },
	{ "p_samples is NULL but sample_count is 1", {
		.size = SIZE, .sample_count = 1 } },
	{ "sample 0: 8 bytes", { .size = SIZE, .p_samples = &bad_samples[0],
				 .sample_count = 1 } },
	{ "sample 0: 0 bytes", { .size = SIZE, .p_samples = &bad_samples[1],
				 .sample_count = 1 } },
	{ "sample 0: 3 bytes", { .size = SIZE, .p_samples = &bad_samples[2],
				 .sample_count = 1 } },
	{ "sample 0: 16 bytes", { .size = SIZE, .p_samples = &bad_samples[3],
				  .sample_count = 1 } },
	{ "sample 0: 8 bytes", { .size = SIZE, .p_samples = &bad_samples[4],
				 .sample_count = 1 } },
	{ "sample 0: 4 bytes", { .size = SIZE, .p_samples = &bad_samples[5],
				 .sample_count = 1 } },
	{ "sample 0: 2 bytes", { .size = SIZE, .p_samples = &bad_samples[6],
				 .sample_count = 1 } },
	{ "a ring of 1 bytes", { .size = SIZE, .ring_size = 1 } },
	{ "a ring of 65535 bytes", { .size = SIZE, .ring_size = 65535 } },
	{ "a ring of 1073741825 bytes", { .size = SIZE,
					  .ring_size = 1073741825 } },
	{ "a ring of", { .size = SIZE, .ring_size = SIZE_MAX } },
	{ "a snap length of 1 bytes", { .size = SIZE, .snap_length = 1 } },
	{ "a snap length of 23 bytes", { .size = SIZE, .snap_length = 23 } },
	{ "message_max is 1: 256 to 1073741824 are accepted", {
		.size = SIZE, .message_max = 1 } },
	{ "message_max is 255: 256 to 1073741824 are", {
		.size = SIZE, .message_max = 255 } },
	{ "message_max is 1073741825: 256 to 1073741824 are", {
		.size = SIZE, .message_max = 1073741825 } },
	{ "message_max is 1001: 256 to 1000 (messages_max) are", {
		.size = SIZE, .message_max = 1001, .messages_max = 1000 } },
	{ "messages_max is 255: 256 to 1073741824 are accepted", {
		.size = SIZE, .messages_max = 255 } },
	{ "messages_max is 18446744073709551615: 256 to", {
		.size = SIZE, .message_max = 1, .messages_max = SIZE_MAX } },
	{ "source tap takes no source_arg, it is \"/x\"", {
		.size = SIZE, .source = OSM_SNOOP_SOURCE_TAP,
		.source_arg = "/x" } },
	{ "no port of this host has the GUID 0x0000000000000001", {
		.size = SIZE, .source = OSM_SNOOP_SOURCE_TAP,
		.port_guid = CL_HTON64(1) } },
	{ "source bpf is not built in; accepted are auto, kernel, tap and stream", {
		.size = SIZE, .source = OSM_SNOOP_SOURCE_BPF } },
	{ "there is no socket /nowhere/x: let OpenSM run", {
		.size = SIZE, .source = OSM_SNOOP_SOURCE_STREAM,
		.source_arg = "/nowhere/x" } },
	{ "source number 5 is not built in; accepted are auto, kernel, tap and stream", {
		.size = SIZE, .source = (osm_snoop_source_t)5 } },
};

START_TEST(bad_info)
{
	refused(osm_vendor_snoop_bind(&vendor, &bad_infos[_i].info, &pool,
				      on_capture, NULL), bad_infos[_i].reason);
}
END_TEST

/* An info of `size` bytes that ends where nothing can be read any more. */
struct edge {
	uint8_t *pages;
	osm_snoop_bind_info_t *info;
};

static struct edge edge_new(size_t size)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	struct edge e;

	e.pages = mmap(NULL, 2 * page, PROT_READ | PROT_WRITE,
		       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	check(e.pages != MAP_FAILED);
	check(!mprotect(e.pages + page, page, PROT_NONE));
	e.info = (osm_snoop_bind_info_t *)(e.pages + page - size);
	e.info->size = size;
	return e;
}

static void edge_free(struct edge *e)
{
	munmap(e->pages, 2 * (size_t)sysconf(_SC_PAGESIZE));
}

static const size_t small_sizes[] = { 8, 16, FIRST - 8 };

START_TEST(small_info_is_not_read)
{
	struct edge e = edge_new(small_sizes[_i]);

	refused(osm_vendor_snoop_bind(&vendor, e.info, &pool, on_capture,
				      NULL), "accepted are 72, and");
	edge_free(&e);
}
END_TEST

/* Of the first header there was: what came later is zero and is not read. */
START_TEST(first_info)
{
	struct edge e = edge_new(FIRST);
	struct got g = { 0 };

	e.info->ring_size = RING_MIN;
	osm_vendor_snoop_unbind(bind_with(e.info, &g));
	edge_free(&e);
}
END_TEST

static const size_t large_sizes[] = { SIZE, SIZE + 8, 2 * SIZE, 4096 };

/* From a later header: it is served as long as nothing is set that is new. */
START_TEST(large_info)
{
	size_t size = large_sizes[_i], i;
	struct edge e = edge_new(size);
	uint8_t *bytes = (uint8_t *)e.info;
	struct got g = { 0 };
	char reason[128];

	e.info->ring_size = RING_MIN;
	for (i = SIZE; i < size; i++) {
		if (i != SIZE && i != size - 1)
			continue;
		bytes[i] = 1;
		snprintf(reason, sizeof(reason),
			 "size is %zu, this library knows 88, and byte %zu",
			 size, i);
		refused(osm_vendor_snoop_bind(&vendor, e.info, &pool,
					      on_capture, &g), reason);
		bytes[i] = 0;
	}
	osm_vendor_snoop_unbind(bind_with(e.info, &g));
	edge_free(&e);
}
END_TEST

/*
 * The tap keeps 1,024 clients of the vendor layer; who comes later is not seen
 * receiving, and who snoops is told.
 */
START_TEST(untapped_binds)
{
	enum { CLIENTS = 1024, MORE = 3 };
	static char contexts[CLIENTS + MORE];
	static void *handles[CLIENTS + MORE];
	osm_snoop_bind_info_t info = info_default();
	struct got g = { 0 };
	osm_snoop_stats_t s;
	osm_bind_handle_t h;
	int i;

	h = bind_with(&info, &g);
	ck_assert_uint_eq(stats_of(h).untapped, 0);
	ck_assert(!log_has("ERR 5D12"));
	/* the fixture has one already */
	for (i = 0; i < CLIENTS - 1 + MORE; i++)
		handles[i] = osm_vendor_bind(&vendor, NULL, &pool, client_recv,
					     client_send_err, &contexts[i]);
	ck_assert_uint_eq(stats_of(h).untapped, MORE);
	osm_vendor_snoop_unbind(h);
	ck_assert_uint_eq(stats_of(h).untapped, MORE);
	h = bind_with(&info, &g);
	ck_assert(log_has("ERR 5D12: 3 binds of the vendor layer are not seen receiving"));
	osm_vendor_snoop_unbind(h);
	s = stats_of(h);
	for (i = 0; i < (int)(sizeof(s.reserved) / sizeof(s.reserved[0])); i++)
		ck_assert_uint_eq(s.reserved[i], 0);
	for (i = 0; i < CLIENTS - 1 + MORE; i++)
		free(handles[i]);
}
END_TEST

/* The other side of each limit. */
START_TEST(good_info)
{
	osm_snoop_bind_info_t info = info_default();
	struct got g = { 0 };
	osm_bind_handle_t h;
	unsigned i;

	for (i = 0; i < 6; i++) {
		info = info_default();
		info.flags = i;	/* all but 6 and 7 */
		info.p_filters = filters;
		info.filter_count = i ? OSM_SNOOP_MAX_FILTERS : 0;
		info.p_samples = samples;
		info.sample_count = i ? OSM_SNOOP_MAX_SAMPLES : 0;
		info.snap_length = i ? 24 : 0;
		info.source = i & 1 ? OSM_SNOOP_SOURCE_TAP :
				      OSM_SNOOP_SOURCE_AUTO;
		info.ring_size = RING_MIN + i;
		/* each alone, and both */
		info.message_max = i % 3 == 1 ? 0 : i < 3 ? 256 : 1u << 30;
		info.messages_max = i % 3 == 2 ? 0 : i < 3 ? 256 : 1u << 30;
		h = bind_with(&info, &g);
		ck_assert_int_eq(osm_vendor_snoop_get_source(h),
				 OSM_SNOOP_SOURCE_TAP);
		osm_vendor_snoop_unbind(h);
		ck_assert_int_eq(osm_vendor_snoop_get_source(h),
				 OSM_SNOOP_SOURCE_TAP);
	}
}
END_TEST

START_TEST(no_more_binds)
{
	osm_snoop_bind_info_t info = info_default();
	osm_bind_handle_t h[16];
	struct got g = { 0 };
	int i;

	for (i = 0; i < 16; i++)
		h[i] = bind_with(&info, &g);
	refused(osm_vendor_snoop_bind(&vendor, &info, &pool, on_capture, &g),
		"all 16 places of the tap are taken");
	osm_vendor_snoop_unbind(h[5]);
	h[5] = bind_with(&info, &g);
	for (i = 0; i < 16; i++)
		osm_vendor_snoop_unbind(h[i]);
}
END_TEST

START_TEST(bad_handles)
{
	osm_snoop_stats_t stats;
	osm_snoop_bind_info_t info = info_default();
	struct got g = { 0 };
	osm_bind_handle_t h;

	ck_assert_int_eq(osm_vendor_snoop_get_stats(NULL, NULL),
			 IB_INVALID_PARAMETER);
	ck_assert_str_eq(osm_vendor_snoop_strerror(), "p_stats is NULL");
	ck_assert_int_eq(osm_vendor_snoop_get_stats(NULL, &stats),
			 IB_INVALID_PARAMETER);
	ck_assert_ptr_nonnull(strstr(osm_vendor_snoop_strerror(),
				     "is no snoop bind"));
	ck_assert_int_eq(osm_vendor_snoop_get_stats(&g, &stats),
			 IB_INVALID_PARAMETER);
	osm_vendor_snoop_unbind(NULL);
	osm_vendor_snoop_unbind(&g);
	ck_assert_int_eq(osm_vendor_snoop_get_source(NULL),
			 OSM_SNOOP_SOURCE_AUTO);
	ck_assert_int_eq(osm_vendor_snoop_get_source(&g),
			 OSM_SNOOP_SOURCE_AUTO);
	/* a handle of the vendor layer is none of ours */
	osm_vendor_snoop_unbind(wire);

	h = bind_with(&info, &g);
	ck_assert_int_eq(osm_vendor_snoop_get_stats(h, NULL),
			 IB_INVALID_PARAMETER);
	osm_vendor_snoop_unbind(h);
	osm_vendor_snoop_unbind(h);
	ck_assert_ptr_nonnull(strstr(osm_vendor_snoop_strerror(),
				     "is no snoop bind"));
}
END_TEST

static void *fail_in_thread(void *context)
{
	(void)context;
	if (strcmp(osm_vendor_snoop_strerror(), "no error"))
		return "not its own";
	osm_vendor_snoop_get_stats(NULL, NULL);
	return strcmp(osm_vendor_snoop_strerror(), "p_stats is NULL") ?
		       "not told" : NULL;
}

START_TEST(strerror_by_thread)
{
	pthread_t thread;
	void *error;

	osm_vendor_snoop_unbind(NULL);
	check(!pthread_create(&thread, NULL, fail_in_thread, NULL));
	pthread_join(thread, &error);
	ck_assert_ptr_null(error);
	ck_assert_ptr_nonnull(strstr(osm_vendor_snoop_strerror(),
				     "is no snoop bind"));
}
END_TEST

START_TEST(delivered_in_order)
{
	static const uint64_t variable = 42;
	const osm_snoop_sample_t sample = { &variable, 8 };
	osm_snoop_bind_info_t info = info_default();
	struct got g = { .keep = true };
	osm_snoop_stats_t s;
	osm_bind_handle_t h;
	osm_madw_t *same;
	struct timespec now;
	uint64_t i;

	info.ring_size = 4 * 1024 * 1024;
	info.p_samples = &sample;
	info.sample_count = 1;
	h = bind_with(&info, &g);
	for (i = 0; i < 5000; i++)
		if (i & 1)
			osm_vendor_send(wire, madw_new(wire, 3, MAD_SIZE, i),
					FALSE);
		else
			receive(i, MAD_SIZE);
	wait_for(&g.n, 5000);
	ck_assert_ptr_null(g.error);

	same = madw_new(wire, 3, MAD_SIZE, 17);
	ck_assert_uint_eq(g.kept[17]->mad_size, MAD_SIZE);
	ck_assert_mem_eq(g.kept[17]->p_mad, same->p_mad, MAD_SIZE);
	ck_assert_mem_eq(&g.kept[17]->mad_addr, &same->mad_addr,
			 sizeof(same->mad_addr));
	ck_assert_ptr_eq(g.kept[17]->h_bind, h);
	ck_assert_int_eq(g.kept[17]->status, IB_SUCCESS);
	madw_free(same);

	clock_gettime(CLOCK_REALTIME, &now);
	ck_assert_int_eq(g.info.direction, OSM_SNOOP_SENT);
	ck_assert_int_eq(g.info.source, OSM_SNOOP_SOURCE_TAP);
	ck_assert_uint_eq(g.info.original_size, MAD_SIZE);
	ck_assert_uint_eq(g.info.segments, 1);
	ck_assert(!g.info.reassembled);
	ck_assert_uint_eq(g.info.local_lid, cl_hton16(7));
	ck_assert_uint_eq(g.info.port_guid, cl_hton64(0x1234));
	ck_assert_uint_eq(g.info.samples[0], 42);
	ck_assert(g.info.time_ns / 1000000000 + 20 > (uint64_t)now.tv_sec &&
		  g.info.time_ns / 1000000000 <= (uint64_t)now.tv_sec + 1);

	s = stats_of(h);
	ck_assert_uint_eq(s.seen, 5000);
	ck_assert_uint_eq(s.passed, 5000);
	ck_assert_uint_eq(s.delivered, 5000);
	ck_assert_uint_eq(s.lost_ring + s.lost_memory + s.truncated, 0);
	ck_assert_uint_eq(s.ring_size, 4 * 1024 * 1024);
	ck_assert_uint_eq(s.untapped, 0);
	for (i = 0; i < (int)(sizeof(s.reserved) / sizeof(s.reserved[0])); i++)
		ck_assert_uint_eq(s.reserved[i], 0);
	osm_vendor_snoop_unbind(h);
	ck_assert_uint_eq(stats_of(h).delivered, 5000);
	ck_assert_uint_eq(stats_of(h).ring_bytes, 0);
	/* wrappers live longer than their bind */
	for (i = 0; i < 64; i++)
		osm_mad_pool_put(&pool, g.kept[i]);
}
END_TEST

/* The tap's verdict on each row of the table is that of the filter. */
START_TEST(filters_of_the_tap)
{
	const struct row *row = &rows[_i];
	osm_snoop_bind_info_t info = info_default();
	uint8_t *mad = row_mad(row);
	osm_madw_t *p_madw = madw_new(wire, 3, (uint32_t)row->len, 0);
	struct got g = { 0 };
	osm_bind_handle_t h;

	memcpy((void *)p_madw->p_mad, mad, row->len);
	info.p_filters = &row->filter;
	info.filter_count = 1;
	/* the longest is no more than half of it */
	info.ring_size = 1024 * 1024;
	h = bind_with(&info, &g);
	if (!row->sent)
		double_receive(wire, p_madw, NULL);
	else if (row->completion)
		double_send_err(wire, p_madw, (ib_api_status_t)row->completion);
	else
		osm_vendor_send(wire, p_madw, TRUE);
	osm_vendor_snoop_unbind(h);
	ck_assert_msg(stats_of(h).delivered == row->passes,
		      "%s: should%s pass", row->rule, row->passes ? "" : " not");
	madw_free(p_madw);
	free(mad);
}
END_TEST

/* What was captured before the unbind is delivered, and nothing after it. */
START_TEST(unbind_delivers_the_rest)
{
	osm_snoop_bind_info_t info = info_default();
	osm_bind_handle_t h;
	uint64_t i;
	int round;

	for (round = 0; round < 50; round++) {
		struct got g = { 0 };

		h = bind_with(&info, &g);
		for (i = 0; i < 100; i++)
			receive(i, MAD_SIZE);
		osm_vendor_snoop_unbind(h);
		ck_assert_uint_eq(g.n, 100);
		receive(i, MAD_SIZE);
		ck_assert_uint_eq(g.n, 100);
		ck_assert_uint_eq(stats_of(h).seen, 100);
	}
}
END_TEST

START_TEST(lost_adds_up)
{
	osm_snoop_bind_info_t info = info_default();
	struct got g = { 0 };
	osm_snoop_stats_t s;
	osm_bind_handle_t h;
	uint64_t i;
	sem_t gate;

	sem_init(&gate, 0, 0);
	g.gate = &gate;
	h = bind_with(&info, &g);
	for (i = 0; i < 1000; i++)
		receive(i, MAD_SIZE);
	s = stats_of(h);
	ck_assert_uint_eq(s.seen, 1000);
	ck_assert_uint_eq(s.passed, 1000);
	ck_assert(s.lost_ring > 800 && s.lost_ring < 1000);
	ck_assert(s.ring_bytes > RING_MIN - 1024);
	sem_post(&gate);
	wait_for(&g.n, 1000 - s.lost_ring);
	/* the next one that finds room tells of those before it */
	receive(i++, MAD_SIZE);
	wait_for(&g.n, 1001 - s.lost_ring);
	ck_assert_uint_eq(g.lost, s.lost_ring);
	ck_assert_ptr_null(g.error);
	osm_vendor_snoop_unbind(h);
	s = stats_of(h);
	ck_assert_uint_eq(s.seen, 1001);
	ck_assert_uint_eq(s.passed, s.delivered + s.lost_ring);
	ck_assert_uint_eq(s.delivered, g.n);
	ck_assert_uint_eq(s.lost_memory, 0);
	sem_destroy(&gate);
}
END_TEST

START_TEST(lost_for_want_of_memory)
{
	osm_snoop_bind_info_t info = info_default();
	struct got g = { 0 };
	osm_snoop_stats_t s;
	osm_bind_handle_t h;
	uint64_t i;

	no_memory = 3;
	h = bind_with(&info, &g);
	for (i = 0; i < 5; i++)
		receive(i, MAD_SIZE);
	osm_vendor_snoop_unbind(h);
	s = stats_of(h);
	ck_assert_uint_eq(s.lost_memory, 3);
	ck_assert_uint_eq(s.delivered, 2);
	ck_assert_uint_eq(s.passed, 5);
	ck_assert_uint_eq(g.n, 2);
	ck_assert_uint_eq(g.lost, 3);
}
END_TEST

START_TEST(truncated)
{
	osm_snoop_bind_info_t info = info_default();
	struct got g = { 0 };
	osm_bind_handle_t h;

	info.snap_length = 64;
	h = bind_with(&info, &g);
	receive(1, 64);
	wait_for(&g.n, 1);
	ck_assert_uint_eq(g.size, 64);
	ck_assert_uint_eq(stats_of(h).truncated, 0);
	receive(2, 65);
	wait_for(&g.n, 2);
	ck_assert_uint_eq(g.size, 64);
	ck_assert_uint_eq(g.info.original_size, 65);
	ck_assert_uint_eq(stats_of(h).truncated, 1);
	receive(3, 4096);
	wait_for(&g.n, 3);
	ck_assert_uint_eq(g.size, 64);
	ck_assert_uint_eq(g.info.original_size, 4096);
	osm_vendor_snoop_unbind(h);
	ck_assert_uint_eq(stats_of(h).truncated, 2);
}
END_TEST

/* A message of 62,328 bytes, the answer for 512 hosts. */
START_TEST(long_message)
{
	osm_snoop_bind_info_t info = info_default();
	struct got g = { .keep = true };
	osm_madw_t *same;
	osm_bind_handle_t h;

	info.ring_size = 256 * 1024;
	same = madw_new(wire, 3, 62328, 1);
	h = bind_with(&info, &g);
	osm_vendor_send(wire, same, TRUE);
	osm_vendor_snoop_unbind(h);
	ck_assert_uint_eq(g.n, 1);
	ck_assert_uint_eq(g.size, 62328);
	ck_assert_mem_eq(g.kept[0]->p_mad, same->p_mad, 62328);
	osm_mad_pool_put(&pool, g.kept[0]);
	madw_free(same);
}
END_TEST

static _Atomic uint64_t in_callback;
static osm_bind_handle_t own;
static char own_error[128];
static char thread_name[32];
static bool signals_blocked;

static void unbind_own(osm_madw_t *p_madw, const osm_snoop_info_t *p_info,
		       void *context)
{
	osm_bind_handle_t h;
	sigset_t blocked;
	sem_t *gate = context;

	(void)p_info;
	osm_mad_pool_put(&pool, p_madw);
	sem_wait(gate);
	sem_post(gate);
	h = own;
	osm_vendor_snoop_unbind(h);
	snprintf(own_error, sizeof(own_error), "%s",
		 osm_vendor_snoop_strerror());
	pthread_getname_np(pthread_self(), thread_name, sizeof(thread_name));
	pthread_sigmask(SIG_BLOCK, NULL, &blocked);
	signals_blocked = sigismember(&blocked, SIGHUP) == 1 &&
			  sigismember(&blocked, SIGINT) == 1 &&
			  sigismember(&blocked, SIGUSR1) == 1;
	/* anything else may be called */
	check(stats_of(h).delivered == in_callback + 1);
	in_callback++;
}

START_TEST(unbind_in_own_callback)
{
	osm_snoop_bind_info_t info = info_default();
	sigset_t blocked;
	sem_t gate;

	sem_init(&gate, 0, 0);
	own = osm_vendor_snoop_bind(&vendor, &info, &pool, unbind_own, &gate);
	ck_assert(own != OSM_BIND_INVALID_HANDLE);
	pthread_sigmask(SIG_BLOCK, NULL, &blocked);
	ck_assert(!sigismember(&blocked, SIGHUP));
	sem_post(&gate);
	receive(1, MAD_SIZE);
	wait_for(&in_callback, 1);
	ck_assert_str_eq(own_error,
			 "a callback cannot unbind its own snoop bind");
	ck_assert(log_has("ERR 5D11: a callback cannot unbind"));
	ck_assert_str_eq(thread_name, "osmsnoop-tap");
	ck_assert(signals_blocked);
	/* it goes on */
	receive(2, MAD_SIZE);
	wait_for(&in_callback, 2);
	osm_vendor_snoop_unbind(own);
	ck_assert_uint_eq(stats_of(own).delivered, 2);
	sem_destroy(&gate);
}
END_TEST

static void *unbind_in_thread(void *h_bind)
{
	osm_vendor_snoop_unbind(h_bind);
	return NULL;
}

static void *unbind_now(void *h_bind)
{
	osm_vendor_snoop_unbind_by(h_bind, 0);
	return NULL;
}

/* Until it sees no more: an unbind has begun. Returns the tids used up. */
static uint64_t receive_until_stopped(osm_bind_handle_t h, uint64_t tid)
{
	uint64_t seen, most = tid + 10000;

	do {
		usleep(1000);
		seen = stats_of(h).seen;
		receive(tid++, MAD_SIZE);
	} while (stats_of(h).seen != seen && tid < most);
	check(tid < most);
	return tid;
}

enum { UNBINDERS = 3 };

static _Atomic unsigned unbinders_begun, unbinders_done;

static void *unbind_and_tell(void *h_bind)
{
	unbinders_begun++;
	osm_vendor_snoop_unbind(h_bind);
	unbinders_done++;
	return strcmp(osm_vendor_snoop_strerror(), "no error") ? "an error" :
								 NULL;
}

/* Whoever comes second may rely on it as well: no callback runs after it. */
START_TEST(second_unbind_waits)
{
	osm_snoop_bind_info_t info = info_default();
	pthread_t threads[UNBINDERS];
	struct got slow = { 0 };
	osm_bind_handle_t h;
	void *error;
	sem_t gate;
	int i;

	sem_init(&gate, 0, 0);
	slow.gate = &gate;
	h = bind_with(&info, &slow);
	receive(1, MAD_SIZE);
	check(!pthread_create(&threads[0], NULL, unbind_and_tell, h));
	receive_until_stopped(h, 2);
	for (i = 1; i < UNBINDERS; i++)
		check(!pthread_create(&threads[i], NULL, unbind_and_tell, h));
	while (unbinders_begun < UNBINDERS)
		usleep(1000);
	usleep(100000);
	ck_assert_uint_eq(unbinders_done, 0);
	ck_assert_uint_eq(slow.n, 0);
	sem_post(&gate);
	for (i = 0; i < UNBINDERS; i++) {
		pthread_join(threads[i], &error);
		ck_assert_ptr_null(error);
	}
	ck_assert_uint_eq(slow.n, stats_of(h).delivered);
	/* later it is no bind any more */
	osm_vendor_snoop_unbind(h);
	ck_assert_ptr_nonnull(strstr(osm_vendor_snoop_strerror(),
				     "is no snoop bind"));
	sem_destroy(&gate);
}
END_TEST

/* Not even then does a callback wait for itself. */
START_TEST(unbind_in_own_callback_meanwhile)
{
	osm_snoop_bind_info_t info = info_default();
	pthread_t thread;
	sem_t gate;

	sem_init(&gate, 0, 0);
	own = osm_vendor_snoop_bind(&vendor, &info, &pool, unbind_own, &gate);
	ck_assert(own != OSM_BIND_INVALID_HANDLE);
	receive(1, MAD_SIZE);
	check(!pthread_create(&thread, NULL, unbind_in_thread, own));
	receive_until_stopped(own, 2);
	sem_post(&gate);
	pthread_join(thread, NULL);
	ck_assert_str_eq(own_error,
			 "a callback cannot unbind its own snoop bind");
	ck_assert_uint_eq(stats_of(own).delivered, in_callback);
	sem_destroy(&gate);
}
END_TEST

/* Two callbacks that unbind each other's bind: one of them is refused. */
struct mutual {
	_Atomic osm_bind_handle_t other;
	sem_t *ready;		/* both callbacks run */
	_Atomic unsigned *refused;
	_Atomic unsigned calls;
};

static void unbind_other(osm_madw_t *p_madw, const osm_snoop_info_t *p_info,
			 void *context)
{
	struct mutual *m = context;

	(void)p_info;
	osm_mad_pool_put(&pool, p_madw);
	if (m->calls++)
		return;
	sem_post(m->ready);
	while (!m->other)
		usleep(1000);
	osm_vendor_snoop_unbind(m->other);
	if (strstr(osm_vendor_snoop_strerror(), "is unbinding this one"))
		++*m->refused;
}

START_TEST(unbind_each_other)
{
	osm_snoop_bind_info_t info = info_default();
	_Atomic unsigned refused = 0;
	osm_bind_handle_t h[2];
	static struct mutual m[2];
	sem_t ready;
	int i;

	sem_init(&ready, 0, 0);
	for (i = 0; i < 2; i++) {
		m[i].ready = &ready;
		m[i].refused = &refused;
		h[i] = osm_vendor_snoop_bind(&vendor, &info, &pool,
					     unbind_other, &m[i]);
		ck_assert(h[i] != OSM_BIND_INVALID_HANDLE);
	}
	receive(1, MAD_SIZE);
	for (i = 0; i < 2; i++)
		sem_wait(&ready);
	m[0].other = h[1];
	m[1].other = h[0];
	/* whichever was refused goes on, and the other one's unbind ends */
	while (!refused)
		usleep(1000);
	for (i = 0; i < 2; i++)
		osm_vendor_snoop_unbind(h[i]);
	ck_assert_uint_eq(refused, 1);
	ck_assert(log_has("ERR 5D11: a callback cannot unbind a snoop bind"));
	sem_destroy(&ready);
}
END_TEST

/* What there was no time for is counted. */
START_TEST(unbind_by_a_deadline)
{
	osm_snoop_bind_info_t info = info_default();
	struct got slow = { 0 }, all = { 0 };
	osm_snoop_stats_t stats;
	osm_bind_handle_t h;
	pthread_t thread;
	sem_t gate;
	int i;

	osm_vendor_snoop_unbind_by(NULL, 0);
	ck_assert_ptr_nonnull(strstr(osm_vendor_snoop_strerror(),
				     "is no snoop bind"));
	sem_init(&gate, 0, 0);
	slow.gate = &gate;
	h = bind_with(&info, &slow);
	for (i = 1; i <= 10; i++)
		receive((uint64_t)i, MAD_SIZE);
	check(!pthread_create(&thread, NULL, unbind_now, h));
	receive_until_stopped(h, 11);
	sem_post(&gate);
	pthread_join(thread, NULL);
	stats = stats_of(h);
	ck_assert_uint_eq(stats.delivered, 1);
	ck_assert_uint_ge(stats.lost_late, 9);
	ck_assert_uint_eq(stats.passed, stats.delivered + stats.lost_late);
	ck_assert_uint_eq(stats.ring_bytes, 0);
	sem_destroy(&gate);

	/* time enough */
	h = bind_with(&info, &all);
	for (i = 1; i <= 10; i++)
		receive((uint64_t)i, MAD_SIZE);
	osm_vendor_snoop_unbind_by(h, clock_ns(CLOCK_MONOTONIC) +
				      UINT64_C(60000000000));
	stats = stats_of(h);
	ck_assert_uint_eq(stats.delivered, 10);
	ck_assert_uint_eq(stats.lost_late, 0);
}
END_TEST

/* Who is cancelled in an unbind does not leave it half done. */
START_TEST(cancelled_unbind)
{
	osm_snoop_bind_info_t info = info_default();
	struct got slow = { 0 };
	osm_bind_handle_t h;
	pthread_t thread;
	sem_t gate;

	sem_init(&gate, 0, 0);
	slow.gate = &gate;
	h = bind_with(&info, &slow);
	receive(1, MAD_SIZE);
	check(!pthread_create(&thread, NULL, unbind_in_thread, h));
	receive_until_stopped(h, 2);
	check(!pthread_cancel(thread));
	sem_post(&gate);
	pthread_join(thread, NULL);
	osm_vendor_snoop_unbind(h);
	ck_assert_uint_eq(slow.n, stats_of(h).delivered);
	sem_destroy(&gate);
}
END_TEST

static struct got cancelled_got;

static void *bind_cancelled(void *context)
{
	pthread_cancel(pthread_self());
	return osm_vendor_snoop_bind(&vendor, context, &pool, on_capture,
				     &cancelled_got);
}

/* Nor is a bind: what it had opened would stay open for ever. */
START_TEST(cancelled_bind)
{
	static const osm_snoop_source_t sources[] = {
		OSM_SNOOP_SOURCE_AUTO, OSM_SNOOP_SOURCE_TAP,
	};
	osm_snoop_bind_info_t info = info_default();
	pthread_t thread;
	void *h;

	info.source = sources[_i];
	check(!pthread_create(&thread, NULL, bind_cancelled, &info));
	pthread_join(thread, &h);
	ck_assert_ptr_ne(h, PTHREAD_CANCELED);
	receive(1, MAD_SIZE);
	osm_vendor_snoop_unbind(h);
	ck_assert_uint_eq(cancelled_got.n, 1);
}
END_TEST

/* Another bind takes the place that one leaves, which is not its business. */
START_TEST(stats_while_another_binds)
{
	osm_snoop_bind_info_t info = info_default();
	struct got slow = { 0 }, other = { 0 };
	osm_bind_handle_t h, h2;
	pthread_t thread;
	sem_t gate;
	uint64_t i;

	sem_init(&gate, 0, 0);
	slow.gate = &gate;
	h = bind_with(&info, &slow);
	for (i = 0; i < 10; i++)
		receive(i, MAD_SIZE);
	check(!pthread_create(&thread, NULL, unbind_in_thread, h));
	/* stopped, and its callback is at the gate */
	receive_until_stopped(h, i);
	h2 = bind_with(&info, &other);
	ck_assert_ptr_ne(h, h2);
	receive(20000, MAD_SIZE);
	sem_post(&gate);
	pthread_join(thread, NULL);
	ck_assert_uint_eq(stats_of(h).delivered, slow.n);
	ck_assert_uint_eq(stats_of(h).passed, slow.n + stats_of(h).lost_ring);
	osm_vendor_snoop_unbind(h2);
	ck_assert_uint_eq(stats_of(h2).seen, 1);
	ck_assert_uint_eq(other.n, 1);
	sem_destroy(&gate);
}
END_TEST

static unsigned mappings(void)
{
	FILE *maps = fopen("/proc/self/maps", "r");
	unsigned n = 0;
	int c;

	check(maps);
	while ((c = getc(maps)) != EOF)
		n += c == '\n';
	fclose(maps);
	return n;
}

/* As many binds as are kept when they have ended. */
enum { ENDED_KEPT = 64 };

/* Who keeps a handle too long neither ends nor reads another bind. */
START_TEST(stale_handles)
{
	osm_snoop_bind_info_t info = info_default(), bad = info_default();
	osm_bind_handle_t h[ENDED_KEPT + 1], live;
	struct got g = { 0 };
	int i, k;

	bad.source = OSM_SNOOP_SOURCE_BPF;
	for (i = 0; i < ENDED_KEPT; i++) {
		h[i] = bind_with(&info, &g);
		for (k = 0; k < i; k++) {
			check(h[i] != h[k]);
			osm_vendor_snoop_unbind(h[k]);
			check(strstr(osm_vendor_snoop_strerror(),
				     "is no snoop bind"));
		}
		g.next_tid = 0;
		for (k = 0; k <= i; k++)
			receive(k, MAD_SIZE);
		osm_vendor_snoop_unbind(h[i]);
		check(stats_of(h[i]).delivered == (uint64_t)i + 1);
		/* what does not open takes no handle away */
		check(!osm_vendor_snoop_bind(&vendor, &bad, &pool, on_capture,
					     &g));
	}
	for (i = 0; i < ENDED_KEPT; i++)
		check(stats_of(h[i]).delivered == (uint64_t)i + 1);

	/* enough: the one that ended first comes again, and no other */
	live = bind_with(&info, &g);
	ck_assert_ptr_eq(live, h[0]);
	ck_assert_uint_eq(stats_of(live).delivered, 0);
	for (i = 1; i < ENDED_KEPT; i++)
		check(stats_of(h[i]).delivered == (uint64_t)i + 1);
	/* there are 63 now */
	h[ENDED_KEPT] = bind_with(&info, &g);
	for (i = 0; i < ENDED_KEPT; i++)
		check(h[ENDED_KEPT] != h[i]);
	osm_vendor_snoop_unbind(h[ENDED_KEPT]);
	osm_vendor_snoop_unbind(live);
	ck_assert_ptr_eq(live = bind_with(&info, &g), h[1]);
	osm_vendor_snoop_unbind(live);
}
END_TEST

/* A thousand binds leave what a hundred leave. */
START_TEST(no_growth)
{
	osm_snoop_bind_info_t info = info_default();
	osm_bind_handle_t h, kept[ENDED_KEPT];
	struct got g = { 0 };
	size_t bytes = 0, maps = 0;
	int i;

	for (i = 0; i < 1010; i++) {
		h = bind_with(&info, &g);
		check(i < ENDED_KEPT || h == kept[i % ENDED_KEPT]);
		kept[i % ENDED_KEPT] = h;
		if (i % 10 == 0) {
			g.next_tid = 0;
			receive(1, MAD_SIZE);
		}
		osm_vendor_snoop_unbind(h);
		if (i == 99) {
			bytes = mallinfo2().uordblks;
			maps = mappings();
		}
	}
	ck_assert_uint_eq(g.n, 101);
	/* 64 bytes a bind would be seen; what an arena takes is not */
	ck_assert_uint_le(mallinfo2().uordblks, bytes + 64000);
	ck_assert_uint_le(mappings(), maps + 200);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("bind");
	TCase *tc = tcase_create("bind");

	tcase_set_timeout(tc, 240);
	tcase_add_checked_fixture(tc, setup, teardown);
	tcase_add_test(tc, null_arguments);
	tcase_add_loop_test(tc, bad_info, 0,
			    sizeof(bad_infos) / sizeof(bad_infos[0]));
	tcase_add_loop_test(tc, small_info_is_not_read, 0,
			    sizeof(small_sizes) / sizeof(small_sizes[0]));
	tcase_add_test(tc, first_info);
	tcase_add_loop_test(tc, large_info, 0,
			    sizeof(large_sizes) / sizeof(large_sizes[0]));
	tcase_add_test(tc, untapped_binds);
	tcase_add_test(tc, good_info);
	tcase_add_test(tc, no_more_binds);
	tcase_add_test(tc, bad_handles);
	tcase_add_test(tc, strerror_by_thread);
	tcase_add_test(tc, delivered_in_order);
	tcase_add_loop_test(tc, filters_of_the_tap, 0, N_ROWS);
	tcase_add_test(tc, unbind_delivers_the_rest);
	tcase_add_test(tc, lost_adds_up);
	tcase_add_test(tc, lost_for_want_of_memory);
	tcase_add_test(tc, truncated);
	tcase_add_test(tc, long_message);
	tcase_add_test(tc, unbind_in_own_callback);
	tcase_add_test(tc, second_unbind_waits);
	tcase_add_test(tc, unbind_in_own_callback_meanwhile);
	tcase_add_test(tc, unbind_each_other);
	tcase_add_test(tc, unbind_by_a_deadline);
	tcase_add_test(tc, cancelled_unbind);
	tcase_add_loop_test(tc, cancelled_bind, 0, 2);
	tcase_add_test(tc, stats_while_another_binds);
	tcase_add_test(tc, stale_handles);
	tcase_add_test(tc, no_growth);
	suite_add_tcase(suite, tc);
	return run_suite(suite);
}
