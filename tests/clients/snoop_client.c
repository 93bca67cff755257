/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * snoop_client: a program on OpenSM's vendor layer that snoops on itself.
 *
 *	snoop_client [-a] [-l LOG] queries|errors|binds|churn
 *
 *	queries	one snoop bind of class SA, synchronous SA queries
 *	errors	MADs of another class, one of them to where nobody is
 *	binds	several snoop binds at once, each with another wish
 *	churn	100 snoop binds, one after the other, amid queries
 *	-a	load libosmvendor_snoop now, and attach
 *
 * A line a capture, a bind's lines in the order in which it delivered them:
 *
 *	BIND direction class method attribute tid status lid local_lid
 *	     captured_size original_size lost
 *
 * and one for each bind's counters at the end:
 *
 *	BIND stats seen passed delivered lost_ring lost_memory truncated
 *
 * Built with SNOOP_LINKED it calls libosmvendor_snoop as any program does,
 * which links it before libosmvendor. Otherwise it asks the dynamic linker
 * for these calls, and is tapped by LD_PRELOAD or with -a.
 */
#include <dlfcn.h>
#include <err.h>
#include <getopt.h>
#include <inttypes.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <complib/cl_debug.h>
#include <vendor/osm_vendor_snoop.h>
#include <vendor/osm_vendor_api.h>
#include <vendor/osm_vendor_sa_api.h>
#include <opensm/osm_log.h>

#define CLASS_PERF	0x04
#define MAX_LINES	4096

struct bind {
	const char *name;
	osm_bind_handle_t handle;
	osm_snoop_bind_info_t info;
	umad_filter_t filters[2];
	_Atomic int open;
	_Atomic unsigned int late;	/* callbacks after the unbind */
	_Atomic unsigned int captures;
	osm_madw_t *kept;		/* given back after the unbind */
	char *lines[MAX_LINES];
	unsigned int n_lines;
};

static osm_log_t osm_log_object;
static osm_mad_pool_t pool, snoop_pool;
static osm_vendor_t *vendor;
static osm_bind_handle_t sa;
static ib_port_attr_t port;
static _Atomic int stopping;
static _Atomic unsigned int answers;

static osm_bind_handle_t (*snoop_bind)(osm_vendor_t *,
				       const osm_snoop_bind_info_t *,
				       osm_mad_pool_t *,
				       osm_vend_snoop_callback_t, void *);
static void (*snoop_unbind)(osm_bind_handle_t);
static ib_api_status_t (*snoop_stats)(osm_bind_handle_t, osm_snoop_stats_t *);
static const char *(*snoop_strerror)(void);

#ifdef SNOOP_LINKED
static void find_calls(void)
{
	snoop_bind = osm_vendor_snoop_bind;
	snoop_unbind = osm_vendor_snoop_unbind;
	snoop_stats = osm_vendor_snoop_get_stats;
	snoop_strerror = osm_vendor_snoop_strerror;
}

static void attach(void)
{
	errx(2, "-a: it is linked");
}
#else
static void *library = RTLD_DEFAULT;

static void *call(const char *name)
{
	void *symbol = dlsym(library, name);

	if (!symbol)
		errx(1, "%s", dlerror());
	return symbol;
}

static void find_calls(void)
{
	*(void **)&snoop_bind = call("osm_vendor_snoop_bind");
	*(void **)&snoop_unbind = call("osm_vendor_snoop_unbind");
	*(void **)&snoop_stats = call("osm_vendor_snoop_get_stats");
	*(void **)&snoop_strerror = call("osm_vendor_snoop_strerror");
}

static void attach(void)
{
	ib_api_status_t (*snoop_attach)(void);

	library = dlopen("libosmvendor_snoop.so.1", RTLD_NOW | RTLD_LOCAL);
	if (!library)
		errx(1, "%s", dlerror());
	*(void **)&snoop_attach = call("osm_vendor_snoop_attach");
	find_calls();
	if (snoop_attach() != IB_SUCCESS)
		errx(1, "attach: %s", snoop_strerror());
}
#endif

/* The snoop binds */

static void note(struct bind *b, const osm_madw_t *p_madw,
		 const osm_snoop_info_t *p_info)
{
	const ib_mad_t *mad = p_madw->p_mad;
	char line[256];

	if (b->n_lines == MAX_LINES)
		errx(1, "more than %d captures", MAX_LINES);
	/* the upper half of a tid is the kernel's, or the simulator's */
	snprintf(line, sizeof(line),
		 "%s 0x%02x 0x%02x 0x%04x 0x%08x %d %u %u %u %u %" PRIu64,
		 p_info->direction == OSM_SNOOP_SENT ? "sent" : "received",
		 mad->mgmt_class, mad->method, cl_ntoh16(mad->attr_id),
		 (uint32_t)cl_ntoh64(mad->trans_id), p_madw->status,
		 cl_ntoh16(p_madw->mad_addr.dest_lid),
		 cl_ntoh16(p_info->local_lid), p_madw->mad_size,
		 p_info->original_size, p_info->lost);
	b->lines[b->n_lines] = strdup(line);
	if (!b->lines[b->n_lines++])
		err(1, "strdup");
}

static void captured(osm_madw_t *p_madw, const osm_snoop_info_t *p_info,
		     void *context)
{
	struct bind *b = context;

	if (!b->open)
		b->late++;
	b->captures++;
	if (b->name)
		note(b, p_madw, p_info);
	if (!b->kept)
		b->kept = p_madw;
	else
		osm_mad_pool_put(&snoop_pool, p_madw);
}

static void bind_open(struct bind *b)
{
	b->info.size = sizeof(b->info);
	b->info.p_filters = b->info.filter_count ? b->filters : NULL;
	b->open = 1;
	b->handle = snoop_bind(vendor, &b->info, &snoop_pool, captured, b);
	if (b->handle == OSM_BIND_INVALID_HANDLE)
		errx(1, "snoop bind: %s", snoop_strerror());
}

static osm_snoop_stats_t bind_close(struct bind *b)
{
	osm_snoop_stats_t stats;
	unsigned int i;

	snoop_unbind(b->handle);
	b->open = 0;
	if (snoop_stats(b->handle, &stats) != IB_SUCCESS)
		errx(1, "stats: %s", snoop_strerror());
	if (b->kept)
		osm_mad_pool_put(&snoop_pool, b->kept);
	if (stats.delivered != b->captures ||
	    stats.passed != stats.delivered + stats.lost_ring +
			    stats.lost_memory)
		errx(1, "stats: %" PRIu64 " passed, %" PRIu64
		     " delivered, %u came", stats.passed, stats.delivered,
		     b->captures);
	if (!b->name)
		return stats;
	for (i = 0; i < b->n_lines; i++) {
		printf("%s %s\n", b->name, b->lines[i]);
		free(b->lines[i]);
	}
	printf("%s stats %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64
	       " %" PRIu64 " %" PRIu64 "\n", b->name, stats.seen, stats.passed,
	       stats.delivered, stats.lost_ring, stats.lost_memory,
	       stats.truncated);
	return stats;
}

/* What is snooped on */

static void answered(osmv_query_res_t *p_result)
{
	if (p_result->status == IB_SUCCESS ||
	    p_result->status == IB_REMOTE_ERROR)
		answers++;
	if (p_result->p_result_madw)
		osm_mad_pool_put(&pool, p_result->p_result_madw);
}

static void query(osmv_query_type_t type, const void *input)
{
	osmv_query_req_t q = {
		.query_type = type,
		.p_query_input = input,
		.timeout_ms = 20000,
		.flags = OSM_SA_FLAGS_SYNC,
		.pfn_query_cb = answered,
	};

	if (osmv_query_sa(sa, &q) != IB_SUCCESS)
		errx(1, "query %d failed", type);
}

static unsigned int query_all(void)
{
	osmv_lid_pair_t lids = { cl_hton16(port.lid), cl_hton16(port.sm_lid) };
	/* a host's node GUID is one less than that of its port */
	ib_net64_t node_guid = cl_hton64(cl_ntoh64(port.port_guid) - 1);
	ib_net64_t nobody = cl_hton64(0x4e6f626f6479);
	ib_net16_t lid = cl_hton16(port.lid);

	query(OSMV_QUERY_PATH_REC_BY_LIDS, &lids);
	query(OSMV_QUERY_NODE_REC_BY_NODE_GUID, &node_guid);
	query(OSMV_QUERY_PORT_REC_BY_LID, &lid);
	query(OSMV_QUERY_ALL_SVC_RECS, NULL);
	query(OSMV_QUERY_CLASS_PORT_INFO, NULL);
	query(OSMV_QUERY_NODE_REC_BY_NODE_GUID, &nobody);
	return 6;
}

static void *query_on(void *context)
{
	(void)context;
	while (!stopping)
		query_all();
	return NULL;
}

/* Class PerfMgt */

static _Atomic unsigned int done;

static void perf_received(osm_madw_t *p_madw, void *context,
			  osm_madw_t *p_request)
{
	(void)context;
	osm_mad_pool_put(&pool, p_madw);
	if (p_request)
		osm_mad_pool_put(&pool, p_request);
	done++;
}

static void perf_failed(void *context, osm_madw_t *p_request)
{
	(void)context;
	osm_mad_pool_put(&pool, p_request);
	done++;
}

static void perf_get(osm_bind_handle_t perf, uint16_t lid)
{
	unsigned int before = done, i;
	osm_mad_addr_t addr;
	osm_madw_t *p_madw;
	ib_mad_t *mad;

	memset(&addr, 0, sizeof(addr));
	addr.dest_lid = cl_hton16(lid);
	addr.addr_type.gsi.remote_qp = cl_hton32(1);
	addr.addr_type.gsi.remote_qkey = cl_hton32(0x80010000);
	p_madw = osm_mad_pool_get(&pool, perf, MAD_BLOCK_SIZE, &addr);
	if (!p_madw)
		errx(1, "no wrapper");
	mad = (ib_mad_t *)p_madw->p_mad;
	memset(mad, 0, MAD_BLOCK_SIZE);
	mad->base_ver = 1;
	mad->mgmt_class = CLASS_PERF;
	mad->class_ver = 1;
	mad->method = IB_MAD_METHOD_GET;
	mad->attr_id = cl_hton16(0x12);		/* PortCounters */
	mad->trans_id = cl_hton64(0x4000 + before);
	((uint8_t *)mad)[64 + 1] = 1;		/* PortSelect */
	p_madw->resp_expected = TRUE;
	osm_vendor_send(perf, p_madw, TRUE);
	for (i = 0; i < 2000 && done == before; i++)
		usleep(10000);
	if (done == before)
		errx(1, "LID %u: neither answer nor failure", lid);
}

static void errors(void)
{
	static struct bind all = { .name = "perf" }, failed = {
		.name = "failed",
	};
	osm_bind_info_t info = {
		.port_guid = port.port_guid,
		.mad_class = CLASS_PERF,
		.class_version = 1,
		.recv_q_size = 64,
		.send_q_size = 64,
		.timeout = 1000,
		.retries = 1,
	};
	osm_bind_handle_t perf;

	all.filters[0].mgmt_class = failed.filters[0].mgmt_class = CLASS_PERF;
	all.info.filter_count = failed.info.filter_count = 1;
	failed.filters[0].errors = 1;
	bind_open(&all);
	bind_open(&failed);
	perf = osm_vendor_bind(vendor, &info, &pool, perf_received,
			       perf_failed, NULL);
	if (perf == OSM_BIND_INVALID_HANDLE)
		errx(1, "no bind for class 0x04");
	perf_get(perf, port.sm_lid);
	perf_get(perf, 0xbfe0);
	perf_get(perf, port.sm_lid);
	bind_close(&all);
	bind_close(&failed);
}

static void queries(void)
{
	static struct bind b = { .name = "sa" };
	unsigned int sent = 0, i;

	b.filters[0].mgmt_class = IB_MCLASS_SUBN_ADM;
	b.info.filter_count = 1;
	bind_open(&b);
	for (i = 0; i < 5; i++)
		sent += query_all();
	bind_close(&b);
	printf("queries %u answers %u\n", sent, answers);
}

static void binds(void)
{
	enum { ALL, PATH, TWO, SHORT, SENT, SMALL, PORT, SMP, N };
	static struct bind b[N] = {
		[ALL] = { .name = "all" },
		[PATH] = { .name = "path", .info.filter_count = 1, .filters = {
			{ .mgmt_class = 3, .attr_id = 0x35 } } },
		[TWO] = { .name = "two", .info.filter_count = 2, .filters = {
			{ .mgmt_class = 3, .attr_id = 0x11 },
			{ .mgmt_class = 3, .errors = 1 } } },
		[SHORT] = { .name = "short", .info.snap_length = 24 },
		[SENT] = { .name = "sent", .info.flags = OSM_SNOOP_SENDS },
		[SMALL] = { .name = "small", .info.ring_size = 65536,
			    .info.flags = OSM_SNOOP_RECEIVES },
		[PORT] = { .name = "port" },
		[SMP] = { .name = "smp", .info.filter_count = 1, .filters = {
			{ .mgmt_class = 1 } } },
	};
	unsigned int i;

	b[PORT].info.port_guid = port.port_guid;
	for (i = 0; i < N; i++)
		bind_open(&b[i]);
	for (i = 0; i < 10; i++)
		query_all();
	for (i = 0; i < N; i++)
		bind_close(&b[i]);
}

static void churn(void)
{
	unsigned int i, late = 0;
	uint64_t captures = 0, lost = 0;
	osm_snoop_stats_t stats;
	static struct bind b[100];
	pthread_t thread;

	if (pthread_create(&thread, NULL, query_on, NULL))
		errx(1, "no thread");
	for (i = 0; i < 100; i++) {
		/* most of them small: the library touches a whole ring */
		if (i % 10)
			b[i].info.ring_size = 1024 * 1024;
		bind_open(&b[i]);
		usleep(i % 10 * 2000);
		stats = bind_close(&b[i]);
		captures += stats.delivered;
		lost += stats.lost_ring + stats.lost_memory;
	}
	stopping = 1;
	pthread_join(thread, NULL);
	usleep(50000);
	for (i = 0; i < 100; i++)
		late += b[i].late;
	printf("churn 100 captures %s lost %" PRIu64 " late %u\n",
	       captures ? "some" : "none", lost, late);
}

/* libumad2sim.so: see umad_client_close() */
static void on_alarm(int sig)
{
	(void)sig;
	_exit(0);
}

static void usage(void)
{
	errx(2, "usage: snoop_client [-a] [-l LOG] queries|errors|binds|churn");
}

int main(int argc, char **argv)
{
	ib_port_attr_t ports[16];
	uint32_t n_ports = 16;
	const char *log_name = "snoop_client.log", *what;
	int ch, attached = 0;

	while ((ch = getopt(argc, argv, "al:")) != -1)
		switch (ch) {
		case 'a':
			attach();
			attached = 1;
			break;
		case 'l':
			log_name = optarg;
			break;
		default:
			usage();
		}
	if (optind + 1 != argc)
		usage();
	what = argv[optind];
	if (!attached)
		find_calls();

	if (complib_init_v2() != CL_SUCCESS)
		errx(1, "no complib");
	osm_log_construct(&osm_log_object);
	if (osm_log_init(&osm_log_object, TRUE, OSM_LOG_ERROR, log_name,
			 FALSE) != IB_SUCCESS)
		errx(1, "%s: no log", log_name);
	osm_mad_pool_construct(&pool);
	osm_mad_pool_construct(&snoop_pool);
	if (osm_mad_pool_init(&pool) != IB_SUCCESS ||
	    osm_mad_pool_init(&snoop_pool) != IB_SUCCESS)
		errx(1, "no pool");
	vendor = osm_vendor_new(&osm_log_object, 20000);
	if (!vendor)
		errx(1, "no vendor");
	memset(ports, 0, sizeof(ports));
	if (osm_vendor_get_all_port_attr(vendor, ports, &n_ports) !=
	    IB_SUCCESS || !n_ports)
		errx(1, "no port");
	/* the first is the default port, said twice */
	port = ports[n_ports > 1];
	sa = osmv_bind_sa(vendor, &pool, port.port_guid);
	if (sa == OSM_BIND_INVALID_HANDLE)
		errx(1, "no bind to the SA");

	if (!strcmp(what, "queries"))
		queries();
	else if (!strcmp(what, "errors"))
		errors();
	else if (!strcmp(what, "binds"))
		binds();
	else if (!strcmp(what, "churn"))
		churn();
	else
		usage();

	/* or its receiver floods the log when the port goes (ERR 5404) */
	osm_vendor_delete(&vendor);
	osm_mad_pool_destroy(&snoop_pool);
	osm_mad_pool_destroy(&pool);
	osm_log_destroy(&osm_log_object);
	complib_exit();
	if (fflush(stdout))
		err(1, "cannot write");
	signal(SIGALRM, on_alarm);
	alarm(10);
	return 0;
}
