/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Source kernel. libibumad's functions are doubles here, and so is ioctl() of
 * their files: together they stand for a host with one device of two ports and
 * a kernel with seed 000's snoop registration. They keep what the source relies
 * on: agents and their filters, a queue a file in which a MAD lies once for
 * each agent, umad_recv() with libibumad's return values and lengths, a port
 * that goes away. Nothing is sent or received; the test says what was. open()
 * leads to files of the test where a path is in /sys/class/infiniband.
 */
#include <check.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <infiniband/umad.h>
#include <vendor/osm_vendor_snoop.h>

#include "clock.h"
#include "double_filter.h"
#include "filter_rows.h"
#include "layout.h"
#include "source.h"
#include "umad_request.h"
#include "../run.h"

/* Check tells its parent of each assertion passed: too slow in long loops. */
#define check(condition) do { if (!(condition)) \
	ck_abort_msg("%s", #condition); } while (0)

/* The host: device "dev9", ports 1 and 2; 2 is what umad chooses. */

enum { FILES = 4, FIRST_FD = 2000, PORTS = 2, AGENTS = 32, BIG = 70000 };

struct packet {
	struct packet *next;
	int length;
	struct ib_user_mad umad;	/* its data lies behind */
	uint8_t mad[];
};

struct file {
	bool open;
	int portnum;
	unsigned n_agents;
	struct ib_user_mad_reg_req agents[AGENTS];
	struct packet *head, **tail;
	int errors[8];			/* umad_recv fails with these first */
	unsigned n_errors;
	bool silent;		/* a port that is gone, in an old kernel */
};

static struct {
	pthread_mutex_t mutex;
	pthread_cond_t arrived;
	struct file files[FILES];
	/* what it has not, or does not do; the receiver reads them */
	_Atomic bool no_device, no_open, no_snoop, no_qp0, no_agents, simulator;
	_Atomic bool no_filter;			/* delivers everything */
	_Atomic bool short_header;
	unsigned opens, closes, registrations, probes;
	struct ib_user_mad_reg_req requests[80];
	char dir[64];
} host = { .mutex = PTHREAD_MUTEX_INITIALIZER,
	   .arrived = PTHREAD_COND_INITIALIZER };

static const uint64_t guids[PORTS + 1] = { 0x100, 0x101, 0x102 };

int __real_open(const char *path, int flags, ...);
int __wrap_open(const char *path, int flags, ...);
int __real_ioctl(int fd, unsigned long request, void *arg);
int __wrap_ioctl(int fd, unsigned long request, void *arg);

static void lid_path(char path[128], int portnum)
{
	snprintf(path, 128, "%s/lid%d", host.dir, portnum);
}

static void lid_set(int portnum, unsigned lid)
{
	char path[128], other[144];
	FILE *file;

	/* another file with the same name, as in sysfs */
	lid_path(path, portnum);
	snprintf(other, sizeof(other), "%s.new", path);
	file = fopen(other, "w");
	check(file);
	fprintf(file, "0x%x\n", lid);
	fclose(file);
	check(!rename(other, path));
}

static void lid_change(int portnum, unsigned lid)
{
	char path[128];
	FILE *file;

	lid_path(path, portnum);
	file = fopen(path, "r+");
	check(file);
	fprintf(file, "0x%x\n", lid);
	fclose(file);
}

static void lid_remove(int portnum)
{
	char path[128];

	lid_path(path, portnum);
	unlink(path);
}

int __wrap_open(const char *path, int flags, ...)
{
	char other[128];
	int portnum;

	if (strncmp(path, SYS_INFINIBAND "/", strlen(SYS_INFINIBAND) + 1))
		return __real_open(path, flags, 0600);
	check(sscanf(path, SYS_INFINIBAND "/dev9/ports/%d/lid", &portnum) == 1);
	lid_path(other, portnum);
	return __real_open(other, flags);
}

static struct file *file_of(int fd)
{
	struct file *f = &host.files[fd - FIRST_FD];

	check(fd >= FIRST_FD && fd < FIRST_FD + FILES);
	return f->open ? f : NULL;
}

int __wrap_ioctl(int fd, unsigned long request, void *arg)
{
	struct ib_user_mad_reg_req *req = arg;
	struct file *f;
	int error = 0;

	if (fd < FIRST_FD || fd >= FIRST_FD + FILES)
		return __real_ioctl(fd, request, arg);
	check(request == IB_USER_MAD_REGISTER_AGENT);
	pthread_mutex_lock(&host.mutex);
	f = file_of(fd);
	check(f);
	if (!host.simulator && req->qpn != 0x80 && req->qpn != 0x81) {
		host.probes++;
		error = EINVAL;
	} else if (host.no_snoop) {
		error = EINVAL;
	} else if (host.no_qp0 && req->qpn == 0x80) {
		error = EPROTONOSUPPORT;
	} else if (host.no_agents || f->n_agents == AGENTS) {
		error = ENOMEM;
	} else {
		host.requests[host.registrations++ % 80] = *req;
		f->agents[f->n_agents] = *req;
		req->id = f->n_agents++;
	}
	pthread_mutex_unlock(&host.mutex);
	errno = error;
	return error ? -1 : 0;
}

int umad_init(void)
{
	return 0;
}

int umad_unregister(int portid, int agentid)
{
	struct file *f;

	pthread_mutex_lock(&host.mutex);
	f = file_of(portid);
	check(f && agentid == (int)f->n_agents - 1);
	f->n_agents--;
	pthread_mutex_unlock(&host.mutex);
	return 0;
}

int umad_get_cas_names(char cas[][UMAD_CA_NAME_LEN], int max)
{
	check(max >= 1);
	strcpy(cas[0], "dev9");
	return host.no_device ? 0 : 1;
}

int umad_get_ca_portguids(const char *ca_name, __be64 *portguids, int max)
{
	int i;

	check(!strcmp(ca_name, "dev9") && max > PORTS);
	for (i = 0; i <= PORTS; i++)
		portguids[i] = cl_hton64(guids[i]);
	return PORTS + 1;
}

int umad_get_port(const char *ca_name, int portnum, umad_port_t *port)
{
	if (!portnum)
		portnum = 2;
	if (host.no_device || (ca_name && strcmp(ca_name, "dev9")) ||
	    portnum > PORTS)
		return -ENODEV;
	memset(port, 0, sizeof(*port));
	strcpy(port->ca_name, "dev9");
	port->portnum = portnum;
	port->port_guid = cl_hton64(guids[portnum]);
	port->pkeys = malloc(2);	/* so that who forgets it leaks */
	return 0;
}

int umad_release_port(umad_port_t *port)
{
	free(port->pkeys);
	port->pkeys = NULL;
	return 0;
}

int umad_open_port(const char *ca_name, int portnum)
{
	struct file *f;
	int i;

	check(!strcmp(ca_name, "dev9"));
	if (host.no_device)
		return -ENODEV;
	if (host.no_open) {
		errno = EACCES;
		return -EIO;
	}
	pthread_mutex_lock(&host.mutex);
	for (i = 0; i < FILES && host.files[i].open; i++)
		;
	check(i < FILES);
	f = &host.files[i];
	memset(f, 0, sizeof(*f));
	f->open = true;
	f->portnum = portnum;
	f->tail = &f->head;
	host.opens++;
	pthread_mutex_unlock(&host.mutex);
	return FIRST_FD + i;
}

int umad_close_port(int portid)
{
	struct packet *p;
	struct file *f;

	pthread_mutex_lock(&host.mutex);
	f = file_of(portid);
	check(f);
	while ((p = f->head)) {
		f->head = p->next;
		free(p);
	}
	f->open = false;
	host.closes++;
	pthread_mutex_unlock(&host.mutex);
	return 0;
}

size_t umad_size(void)
{
	return sizeof(struct ib_user_mad) - (host.short_header ? 8 : 0);
}

void *umad_get_mad(void *umad)
{
	return (uint8_t *)umad + umad_size();
}

int umad_get_pkey(void *umad)
{
	const struct ib_user_mad *u = umad;

	return host.short_header ? 0 : u->addr.pkey_index;
}

/* What libibumad's last lines do when read() fails. */
static int recv_fails(const struct ib_user_mad *umad, int *length, int error)
{
	*length = (int)(umad->length - umad_size());
	errno = error;
	return -error;
}

static int recv_one(struct file *f, struct ib_user_mad *umad, int *length)
{
	struct packet *p = f->head;

	if (f->n_errors)
		return recv_fails(umad, length, f->errors[--f->n_errors]);
	if (!p || f->silent)
		return recv_fails(umad, length, EWOULDBLOCK);
	memcpy(umad, &p->umad, umad_size());
	if (*length < p->length)
		/* the first segment as well, and the length of all */
		return recv_fails(umad, length, ENOSPC);
	memcpy(umad_get_mad(umad), p->mad, (size_t)p->length);
	*length = p->length;
	f->head = p->next;
	if (!f->head)
		f->tail = &f->head;
	free(p);
	return (int)umad->agent_id;
}

int umad_recv(int portid, void *umad, int *length, int timeout_ms)
{
	uint64_t end = clock_ns(CLOCK_MONOTONIC) +
		       (uint64_t)timeout_ms * 1000000;
	struct timespec until = clock_timespec(end);
	struct file *f;
	int agent = 0;

	pthread_mutex_lock(&host.mutex);
	f = file_of(portid);
	check(f && umad && *length >= 256);
	while (timeout_ms && !f->n_errors && (!f->head || f->silent) &&
	       agent != -ETIMEDOUT)
		if (pthread_cond_clockwait(&host.arrived, &host.mutex,
					   CLOCK_MONOTONIC, &until))
			agent = -ETIMEDOUT;
	if (agent != -ETIMEDOUT)
		agent = recv_one(f, umad, length);
	pthread_mutex_unlock(&host.mutex);
	return agent;
}

/* What the test says */

/* The fake kernel's opinion, which is not that of the source's own filter. */
static bool agent_wants(const struct ib_user_mad_reg_req *a, const uint8_t *mad,
			size_t len, bool sent, uint32_t status)
{
	umad_filter_t filter = {
		.mgmt_class = a->mgmt_class,
		.mgmt_version = a->mgmt_class_version,
		.attr_id = a->filter.attr_id,
		.errors = a->filter.errors,
		.oui = { a->oui[0], a->oui[1], a->oui[2] },
	};

	return host.no_filter ||
	       double_passes(&filter, a->qpn & 1, mad, len, sent, status);
}

static void deliver(struct file *f, unsigned agent,
		    const struct ib_user_mad *umad, const uint8_t *mad,
		    int length)
{
	struct packet *p = calloc(1, sizeof(*p) + (size_t)length);

	check(p);
	p->length = length;
	p->umad = *umad;
	p->umad.agent_id = agent;
	p->umad.length = (uint32_t)umad_size() + (uint32_t)length;
	memcpy(p->mad, mad, (size_t)length);
	*f->tail = p;
	f->tail = &p->next;
}

/* A MAD passed on a port: to every file's agents, in their order. */
static void passed(int portnum, const struct ib_user_mad *umad,
		   const uint8_t *mad, int length, bool sent)
{
	struct file *f;
	unsigned i, j;

	pthread_mutex_lock(&host.mutex);
	for (i = 0; i < FILES; i++) {
		f = &host.files[i];
		if (!f->open || f->portnum != portnum)
			continue;
		for (j = 0; j < f->n_agents; j++)
			if (agent_wants(&f->agents[j], mad, (size_t)length,
					sent, umad->status))
				deliver(f, j, umad, mad, length);
	}
	pthread_cond_broadcast(&host.arrived);
	pthread_mutex_unlock(&host.mutex);
}

static void mad_fill(uint8_t *mad, size_t len, uint8_t mgmt_class, uint64_t tid)
{
	size_t i;

	for (i = 0; i < len; i++)
		mad[i] = (uint8_t)(i + tid);
	mad[MAD_CLASS] = mgmt_class;
	memset(mad + MAD_STATUS, 0, 2);
	memcpy(mad + MAD_TID, &tid, sizeof(tid));
}

static void received(uint8_t mgmt_class, uint64_t tid)
{
	const struct ib_user_mad umad = { .addr.lid = cl_hton16(9) };
	uint8_t mad[MAD_SIZE];

	mad_fill(mad, sizeof(mad), mgmt_class, tid);
	passed(2, &umad, mad, sizeof(mad), false);
}

static void sent(uint8_t mgmt_class, uint64_t tid, uint32_t status)
{
	const struct ib_user_mad umad = {
		.status = status,
		.addr = { .lid = cl_hton16(9), .reserved = { 1 } },
	};
	uint8_t mad[MAD_SIZE];

	mad_fill(mad, sizeof(mad), mgmt_class, tid);
	passed(2, &umad, mad, sizeof(mad), true);
}

/* umad_recv of the file fails with these, from the last to the first. */
static void recv_error(const int *errors, unsigned n)
{
	struct file *f = &host.files[0];

	pthread_mutex_lock(&host.mutex);
	memcpy(f->errors, errors, n * sizeof(errors[0]));
	f->n_errors = n;
	pthread_cond_broadcast(&host.arrived);
	pthread_mutex_unlock(&host.mutex);
}

/* The bind */

enum { KEPT = 64 };

struct kept {
	osm_snoop_info_t info;
	osm_mad_addr_t addr;
	ib_api_status_t status;
	uint32_t size;
	uint8_t mad[BIG];
};

struct got {
	_Atomic uint64_t n, lost;
	osm_bind_handle_t h_bind;
	sem_t *gate;
	uint64_t next_tid;
	const char *error;
	struct kept *kept;
};

static osm_vendor_t vendor;
static osm_log_t osm_log_object;
static osm_mad_pool_t pool;
static char log_name[80];

static uint64_t tid_of(const uint8_t *mad)
{
	uint64_t tid;

	memcpy(&tid, mad + MAD_TID, sizeof(tid));
	return tid;
}

static void on_capture(osm_madw_t *p_madw, const osm_snoop_info_t *p_info,
		       void *context)
{
	const uint8_t *mad = (const uint8_t *)p_madw->p_mad;
	struct got *g = context;
	struct kept *k;

	if (g->gate) {
		sem_wait(g->gate);
		sem_post(g->gate);
	}
	if (tid_of(mad) < g->next_tid)
		g->error = "order";
	if (p_info->source != OSM_SNOOP_SOURCE_KERNEL || p_info->thread ||
	    p_info->segments != 1 || p_info->reassembled)
		g->error = "info";
	g->next_tid = tid_of(mad);
	if (g->n < KEPT) {
		k = &g->kept[g->n];
		k->info = *p_info;
		k->addr = p_madw->mad_addr;
		k->status = p_madw->status;
		k->size = p_madw->mad_size;
		if (k->size <= BIG)
			memcpy(k->mad, mad, k->size);
	}
	g->lost += p_info->lost;
	g->n++;
	osm_mad_pool_put(&pool, p_madw);
}

static void setup(void)
{
	int fd;

	strcpy(host.dir, "/tmp/osmsnoop_test_source_kernel.XXXXXX");
	check(mkdtemp(host.dir));
	lid_set(1, 0x11);
	lid_set(2, 0x12);
	snprintf(log_name, sizeof(log_name), "%s/log", host.dir);
	fd = creat(log_name, 0600);
	check(fd >= 0);
	close(fd);
	check(osm_log_init(&osm_log_object, TRUE, OSM_LOG_ERROR | OSM_LOG_INFO,
			   log_name, FALSE) == IB_SUCCESS);
	check(osm_mad_pool_init(&pool) == IB_SUCCESS);
	vendor.p_log = &osm_log_object;
}

static void teardown(void)
{
	osm_mad_pool_destroy(&pool);
	osm_log_destroy(&osm_log_object);
	unlink(log_name);
	lid_remove(1);
	lid_remove(2);
	rmdir(host.dir);
}

static unsigned log_lines(const char *text)
{
	char line[1024];
	unsigned n = 0;
	FILE *file = fopen(log_name, "r");

	check(file);
	while (fgets(line, sizeof(line), file))
		n += strstr(line, text) != NULL;
	fclose(file);
	return n;
}

static osm_snoop_bind_info_t info_default(void)
{
	return (osm_snoop_bind_info_t){ .size = sizeof(osm_snoop_bind_info_t),
					.source = OSM_SNOOP_SOURCE_KERNEL,
					.ring_size = 1024 * 1024 };
}

static struct got *bind_with(const osm_snoop_bind_info_t *info)
{
	struct got *g = calloc(1, sizeof(*g));

	check(g);
	g->kept = calloc(KEPT, sizeof(*g->kept));
	check(g->kept);
	g->h_bind = osm_vendor_snoop_bind(&vendor, info, &pool, on_capture, g);
	ck_assert_msg(g->h_bind != OSM_BIND_INVALID_HANDLE, "%s",
		      osm_vendor_snoop_strerror());
	return g;
}

static struct got *bind_all(void)
{
	const osm_snoop_bind_info_t info = info_default();

	return bind_with(&info);
}

static struct got *bind_filters(const umad_filter_t *filters, uint32_t n)
{
	osm_snoop_bind_info_t info = info_default();

	info.p_filters = filters;
	info.filter_count = n;
	return bind_with(&info);
}

/* All that was captured has come when this returns. */
static osm_snoop_stats_t unbind(struct got *g)
{
	osm_snoop_stats_t stats;

	osm_vendor_snoop_unbind(g->h_bind);
	ck_assert_int_eq(osm_vendor_snoop_get_stats(g->h_bind, &stats),
			 IB_SUCCESS);
	ck_assert_ptr_null(g->error);
	ck_assert_uint_eq(stats.delivered, g->n);
	ck_assert_uint_eq(stats.passed, stats.delivered + stats.lost_ring +
						stats.lost_memory);
	ck_assert_uint_eq(stats.ring_bytes, 0);
	ck_assert_uint_eq(host.opens, host.closes);
	return stats;
}

static void forget(struct got *g)
{
	free(g->kept);
	free(g);
}

static void end(struct got *g, uint64_t n)
{
	unbind(g);
	ck_assert_uint_eq(g->n, n);
	forget(g);
}

static void wait_for(const struct got *g, uint64_t n)
{
	unsigned i;

	for (i = 0; g->n < n; i++) {
		check(i < 10000);
		usleep(1000);
	}
}

static void wait_for_log(const char *text, unsigned n)
{
	unsigned i;

	for (i = 0; log_lines(text) < n; i++) {
		ck_assert_msg(i < 1000, "no %u lines '%s'", n, text);
		usleep(10000);
	}
}

static unsigned threads(const char *name)
{
	char path[300], comm[32];
	DIR *dir = opendir("/proc/self/task");
	struct dirent *d;
	unsigned n = 0;
	FILE *file;

	check(dir);
	while ((d = readdir(dir))) {
		snprintf(path, sizeof(path), "/proc/self/task/%s/comm",
			 d->d_name);
		file = fopen(path, "r");
		if (!file)
			continue;
		if (fgets(comm, sizeof(comm), file))
			n += !strncmp(comm, name, strlen(name));
		fclose(file);
	}
	closedir(dir);
	return n;
}

static void refused(const osm_snoop_bind_info_t *info, const char *reason)
{
	osm_bind_handle_t h;

	h = osm_vendor_snoop_bind(&vendor, info, &pool, on_capture, NULL);
	ck_assert_ptr_eq(h, OSM_BIND_INVALID_HANDLE);
	ck_assert_str_eq(osm_vendor_snoop_strerror(), reason);
	ck_assert_uint_eq(log_lines("ERR 5D10: "), 1);
	ck_assert_uint_eq(host.opens, host.closes);
	ck_assert_uint_eq(threads("osmsnoop"), 0);
}

/* Nothing that is wrong opens. */

static const struct {
	const char *arg, *reason;
	uint64_t guid;
} bad_ports[] = {
#define LETTERS_64 \
	"0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
#define MALFORMED(arg) \
	{ arg, "source argument \"" arg "\": accepted is DEVICE[:PORT], for example mlx5_0:1", 0 }
	MALFORMED(""), MALFORMED(":"), MALFORMED(":1"), MALFORMED("dev9:"),
	MALFORMED("dev9:x"), MALFORMED("dev9:1x"), MALFORMED("dev9:-1"),
	MALFORMED("dev9:+1"), MALFORMED("dev9: 1"), MALFORMED("dev9:256"),
	MALFORMED("dev9:99999999999999999999"), MALFORMED("dev9:1:1"),
	MALFORMED("../dev9"), MALFORMED("a-name-of-20-letters"),
	MALFORMED(LETTERS_64),
	{ LETTERS_64 "x", "source argument \"" LETTERS_64 "...\": accepted is DEVICE[:PORT], for example mlx5_0:1", 0 },
	{ "dev", "there is no InfiniBand port \"dev\" here", 0 },
	{ "dev9:3", "there is no InfiniBand port \"dev9:3\" here", 0 },
	{ "dev9:255", "there is no InfiniBand port \"dev9:255\" here", 0 },
	{ "dev9:1", "port \"dev9:1\" has GUID 0x0000000000000101, not 0x0000000000000102", 0x102 },
	{ NULL, "there is no port with GUID 0x0000000000000103 here", 0x103 },
};

START_TEST(bad_port)
{
	osm_snoop_bind_info_t info = info_default();

	info.source_arg = bad_ports[_i].arg;
	info.port_guid = cl_hton64(bad_ports[_i].guid);
	refused(&info, bad_ports[_i].reason);
	ck_assert_uint_eq(host.opens, 0);
}
END_TEST

START_TEST(no_device)
{
	osm_snoop_bind_info_t info = info_default();

	host.no_device = true;
	refused(&info, "there is no InfiniBand port here: does ibstat show one, is ib_umad loaded?");
}
END_TEST

START_TEST(no_right)
{
	osm_snoop_bind_info_t info = info_default();

	host.no_open = true;
	refused(&info, "dev9 port 2 cannot be opened: Permission denied; is ib_umad loaded, and may you open /dev/infiniband/umad*?");
}
END_TEST

START_TEST(kernel_refuses)
{
	osm_snoop_bind_info_t info = info_default();

	host.no_snoop = true;
	refused(&info, "the kernel does not let MADs be snooped on dev9 port 2: it has no snoop registration; use source tap");
}
END_TEST

START_TEST(kernel_has_no_room)
{
	osm_snoop_bind_info_t info = info_default();

	host.no_agents = true;
	refused(&info, "the kernel does not let MADs be snooped on dev9 port 2: Cannot allocate memory; use source tap");
}
END_TEST

/* More filters than a file may have agents. */
START_TEST(too_many_filters)
{
	static umad_filter_t filters[33];
	osm_snoop_bind_info_t info = info_default();

	info.p_filters = filters;
	info.filter_count = 33;
	refused(&info, "33 filters: source kernel takes at most 32, as many agents as a umad file has");
}
END_TEST

START_TEST(only_qp0_and_refused)
{
	static const umad_filter_t filter = { .mgmt_class = 0x81 };
	osm_snoop_bind_info_t info = info_default();

	info.p_filters = &filter;
	info.filter_count = 1;
	host.no_qp0 = true;
	refused(&info, "the kernel does not let MADs be snooped on dev9 port 2: Protocol not supported; use source tap");
}
END_TEST

/* ibsim's umad2sim takes any registration and snoops nothing. */
START_TEST(simulator)
{
	osm_snoop_bind_info_t info = info_default();

	host.simulator = true;
	refused(&info, "the kernel does not let MADs be snooped on dev9 port 2: it checks no registration (a simulator?); use source tap");
	ck_assert_uint_eq(host.files[0].n_agents, 0);
}
END_TEST

START_TEST(auto_goes_on_with_the_tap)
{
	osm_snoop_bind_info_t info = info_default();
	osm_bind_handle_t h;

	host.no_snoop = true;
	info.source = OSM_SNOOP_SOURCE_AUTO;
	h = osm_vendor_snoop_bind(&vendor, &info, &pool, on_capture, NULL);
	ck_assert_int_eq(osm_vendor_snoop_get_source(h), OSM_SNOOP_SOURCE_TAP);
	ck_assert_uint_eq(log_lines("SNOOP: source tap is used; what comes before it does not open: kernel: the kernel does not let MADs be snooped on dev9 port 2: it has no snoop registration; use source tap\n"), 1);
	ck_assert_uint_eq(log_lines("SNOOP"), 1);
	ck_assert_uint_eq(log_lines("ERR"), 0);
	ck_assert_uint_eq(threads("osmsnoop-umad"), 0);
	osm_vendor_snoop_unbind(h);
	ck_assert_uint_eq(host.opens, host.closes);
}
END_TEST

START_TEST(auto_takes_the_kernel)
{
	osm_snoop_bind_info_t info = info_default();
	struct got *g;

	info.source = OSM_SNOOP_SOURCE_AUTO;
	g = bind_with(&info);
	ck_assert_int_eq(osm_vendor_snoop_get_source(g->h_bind),
			 OSM_SNOOP_SOURCE_KERNEL);
	ck_assert_uint_eq(threads("osmsnoop-umad"), 1);
	ck_assert_uint_eq(threads("osmsnoop-kernel"), 1);
	end(g, 0);
	ck_assert_uint_eq(threads("osmsnoop"), 0);
	ck_assert_uint_eq(log_lines("SNOOP"), 0);
}
END_TEST

/* What is asked of the kernel */

START_TEST(registrations_of_everything)
{
	struct got *g = bind_all();

	ck_assert_uint_eq(host.registrations, 3);
	ck_assert_uint_eq(host.requests[0].qpn, 0x81);
	ck_assert_uint_eq(host.requests[0].mgmt_class, 0);
	ck_assert_uint_eq(host.requests[1].qpn, 0x80);
	ck_assert_uint_eq(host.requests[1].mgmt_class, 0x01);
	ck_assert_uint_eq(host.requests[2].qpn, 0x80);
	ck_assert_uint_eq(host.requests[2].mgmt_class, 0x81);
	end(g, 0);
}
END_TEST

START_TEST(registrations_of_filters)
{
	static const umad_filter_t filters[] = {
		{ .mgmt_class = 3, .mgmt_version = 2, .attr_id = 0x35 },
		{ .mgmt_class = 0x32, .errors = 1, .oui = { 0, 0x14, 5 } },
	};
	struct got *g = bind_filters(filters, 2);

	ck_assert_uint_eq(host.registrations, 2);
	ck_assert_uint_eq(host.requests[0].filter.attr_id, 0x35);
	ck_assert_uint_eq(host.requests[0].mgmt_class_version, 2);
	ck_assert_uint_eq(host.requests[1].mgmt_class, 0x32);
	ck_assert_uint_eq(host.requests[1].filter.errors, 1);
	ck_assert_uint_eq(host.requests[1].oui[1], 0x14);
	ck_assert_uint_eq(host.requests[1].rmpp_version, 0);
	end(g, 0);
}
END_TEST

/* RoCE: what there is is snooped, and the rest is said once. */
START_TEST(no_qp0)
{
	struct got *g;
	int error = ENODEV;

	host.no_qp0 = true;
	g = bind_all();
	ck_assert_uint_eq(host.files[0].n_agents, 1);
	received(3, 1);
	wait_for(g, 1);
	recv_error(&error, 1);
	wait_for_log("is back: ", 1);
	received(3, 2);
	end(g, 2);
	ck_assert_uint_eq(log_lines("SNOOP: dev9 port 2: SMPs are not snooped, the kernel takes QP 1 alone\n"), 1);
}
END_TEST

static const struct {
	const char *arg;
	uint64_t guid, open_guid;
	int portnum;
} ports[] = {
	{ NULL, 0, 0, 2 },
	{ NULL, 0, 0x101, 1 },		/* the vendor layer has it open */
	{ NULL, 0x102, 0x101, 2 },
	{ NULL, 0x101, 0, 1 },
	{ "dev9", 0, 0x101, 2 },
	{ "dev9:0", 0, 0, 2 },
	{ "dev9:1", 0, 0, 1 },
	{ "dev9:1", 0x101, 0x102, 1 },
};

START_TEST(port_that_is_opened)
{
	const struct ib_user_mad umad = { .addr.lid = cl_hton16(9) };
	osm_snoop_bind_info_t info = info_default();
	uint8_t mad[MAD_SIZE];
	struct got *g;

	vendor.umad_port.port_guid = cl_hton64(ports[_i].open_guid);
	info.source_arg = ports[_i].arg;
	info.port_guid = cl_hton64(ports[_i].guid);
	g = bind_with(&info);
	mad_fill(mad, sizeof(mad), 3, 1);
	passed(1, &umad, mad, sizeof(mad), false);
	passed(2, &umad, mad, sizeof(mad), false);
	unbind(g);
	ck_assert_uint_eq(g->n, 1);
	ck_assert_uint_eq(g->kept[0].info.port_guid,
			  cl_hton64(guids[ports[_i].portnum]));
	ck_assert_uint_eq(g->kept[0].info.local_lid,
			  cl_hton16((uint16_t)(0x10 + ports[_i].portnum)));
	forget(g);
}
END_TEST

/* What is captured */

START_TEST(info_of_a_capture)
{
	static const uint32_t number = 0x12345678;
	static const uint8_t byte = 0xfe;
	const osm_snoop_sample_t samples[] = { { &number, 4 }, { &byte, 1 } };
	osm_snoop_bind_info_t info = info_default();
	uint64_t real[2], mono[2];
	osm_snoop_stats_t stats;
	uint8_t mad[MAD_SIZE];
	struct kept *k;
	struct got *g;

	info.p_samples = samples;
	info.sample_count = 2;
	g = bind_with(&info);
	real[0] = clock_ns(CLOCK_REALTIME);
	mono[0] = clock_ns(CLOCK_MONOTONIC);
	received(3, 77);
	wait_for(g, 1);
	real[1] = clock_ns(CLOCK_REALTIME);
	mono[1] = clock_ns(CLOCK_MONOTONIC);
	k = &g->kept[0];
	mad_fill(mad, sizeof(mad), 3, 77);
	ck_assert_uint_eq(k->size, MAD_SIZE);
	ck_assert_mem_eq(k->mad, mad, MAD_SIZE);
	ck_assert_int_eq(k->status, IB_SUCCESS);
	ck_assert_uint_eq(k->info.original_size, MAD_SIZE);
	ck_assert_int_eq(k->info.direction, OSM_SNOOP_RECEIVED);
	ck_assert(k->info.time_ns >= real[0] && k->info.time_ns <= real[1]);
	ck_assert(k->info.monotonic_ns >= mono[0] &&
		  k->info.monotonic_ns <= mono[1]);
	ck_assert_uint_eq(k->info.lost, 0);
	ck_assert_uint_eq(k->info.samples[0], 0x12345678);
	ck_assert_uint_eq(k->info.samples[1], 0xfe);
	ck_assert_uint_eq(k->info.samples[2], 0);
	osm_vendor_snoop_get_stats(g->h_bind, &stats);
	/* what was captured is done */
	ck_assert_uint_ge(stats.sends_done_ns, mono[1]);
	ck_assert_uint_eq(stats.ring_size, 1024 * 1024);
	ck_assert_uint_eq(stats.seen, 1);
	ck_assert_uint_eq(stats.passed, 1);
	ck_assert_uint_eq(stats.untapped + stats.gaps + stats.lost_ring +
			  stats.reserved[0], 0);
	end(g, 1);
}
END_TEST

/* The direction, each sign of a send alone; and none. */
START_TEST(directions)
{
	static const struct ib_user_mad umads[] = {
		{ .addr.lid = 1 },
		{ .addr = { .qpn = 1, .lid = 1, .sl = 1, .path_bits = 1,
			    .grh_present = 1, .gid_index = 1, .hop_limit = 1,
			    .traffic_class = 1, .flow_label = 1,
			    .pkey_index = 1, .reserved = { 2, 1, 1 } } },
		{ .addr.reserved = { 1 } },
		{ .status = 110 },
		{ .timeout_ms = 1 },
		{ .retries = 1 },
		{ .addr.qkey = 0x80010000 },
	};
	enum { N = sizeof(umads) / sizeof(umads[0]) };
	uint8_t mad[MAD_SIZE];
	struct got *g = bind_all();
	unsigned i;

	for (i = 0; i < N; i++) {
		mad_fill(mad, sizeof(mad), 3, i);
		passed(2, &umads[i], mad, sizeof(mad), i >= 2);
	}
	unbind(g);
	ck_assert_uint_eq(g->n, N);
	for (i = 0; i < N; i++)
		ck_assert_int_eq(g->kept[i].info.direction,
				 i < 2 ? OSM_SNOOP_RECEIVED : OSM_SNOOP_SENT);
	forget(g);
}
END_TEST

/*
 * Without P_Key indices the header ends where `pkey_index` would be: what lies
 * there is the MAD, which says nothing of its direction.
 */
START_TEST(short_header)
{
	const struct ib_user_mad umad = { .addr.lid = cl_hton16(9) };
	uint8_t mad[MAD_SIZE];
	struct got *g;

	host.short_header = true;
	g = bind_all();
	memset(mad, 1, sizeof(mad));
	mad[MAD_CLASS] = 3;
	passed(2, &umad, mad, sizeof(mad), false);
	unbind(g);
	ck_assert_uint_eq(g->n, 1);
	ck_assert_mem_eq(g->kept[0].mad, mad, sizeof(mad));
	ck_assert_int_eq(g->kept[0].info.direction, OSM_SNOOP_RECEIVED);
	ck_assert_uint_eq(g->kept[0].addr.addr_type.gsi.pkey_ix, 0);
	forget(g);
}
END_TEST

static ib_api_status_t expected_status(unsigned status)
{
	switch (status) {
	case 0:
		return IB_SUCCESS;
	case 5:		/* IBV_WC_WR_FLUSH_ERR */
	case 125:	/* ECANCELED */
		return IB_CANCELED;
	case 20:	/* IBV_WC_RESP_TIMEOUT_ERR */
	case 110:	/* ETIMEDOUT */
		return IB_TIMEOUT;
	default:
		return IB_ERROR;
	}
}

/* Every ibv_wc_status and every errno. */
START_TEST(statuses)
{
	unsigned status, from;
	struct got *g;

	for (from = 0; from < 140; from += KEPT) {
		g = bind_all();
		for (status = from; status < from + KEPT; status++)
			sent(3, status, status);
		unbind(g);
		ck_assert_uint_eq(g->n, KEPT);
		for (status = from; status < from + KEPT; status++)
			ck_assert_int_eq(g->kept[status - from].status,
					 expected_status(status));
		forget(g);
	}
}
END_TEST

/* A filter for errors: what timed out passes, what was cancelled does not. */
START_TEST(errors_alone)
{
	static const umad_filter_t filter = { .mgmt_class = 3, .errors = 1 };
	static const uint32_t statuses[] = { 0, 5, 12, 14, 20, 110, 125, 6, 7 };
	struct got *g;
	unsigned i;

	host.no_filter = true;
	g = bind_filters(&filter, 1);
	for (i = 0; i < 9; i++)
		sent(3, i, statuses[i]);
	unbind(g);
	/* 12, 14, 20, 110, 6 and 7 */
	ck_assert_uint_eq(g->n, 6);
	ck_assert_uint_eq(tid_of(g->kept[0].mad), 2);
	ck_assert_uint_eq(tid_of(g->kept[3].mad), 5);
	ck_assert_uint_eq(tid_of(g->kept[5].mad), 8);
	forget(g);
}
END_TEST

static struct ib_user_mad umad_full(void)
{
	struct ib_user_mad umad = { .addr = {
		.qpn = cl_hton32(0x123456), .qkey = cl_hton32(0x80010000),
		.lid = cl_hton16(0xbeef), .sl = 7, .path_bits = 3,
		.grh_present = 1, .gid_index = 5, .hop_limit = 64,
		.traffic_class = 0xa5, .flow_label = cl_hton32(0xabcde),
		.pkey_index = 0x1234,
	} };
	unsigned i;

	for (i = 0; i < 16; i++)
		umad.addr.gid[i] = (uint8_t)(0xf0 + i);
	return umad;
}

/* osm_vendor_ibumad.c's ib_mad_addr_conv(), written from its rules. */
START_TEST(addresses)
{
	struct ib_user_mad umad = umad_full();
	osm_mad_addr_t smi, gsi, grh;
	uint8_t mad[MAD_SIZE];
	struct got *g = bind_all();

	memset(&smi, 0, sizeof(smi));
	smi.dest_lid = cl_hton16(0xbeef);
	smi.path_bits = 3;
	gsi = smi;
	smi.addr_type.smi.source_lid = cl_hton16(0xbeef);
	smi.addr_type.smi.port_num = 255;
	gsi.addr_type.gsi.remote_qp = cl_hton32(0x123456);
	gsi.addr_type.gsi.remote_qkey = cl_hton32(0x80010000);
	gsi.addr_type.gsi.pkey_ix = 0x1234;
	gsi.addr_type.gsi.service_level = 7;
	grh = gsi;
	grh.addr_type.gsi.global_route = TRUE;
	grh.addr_type.gsi.grh_info.hop_limit = 64;
	grh.addr_type.gsi.grh_info.ver_class_flow =
		(0xabcdeu << 12) | (0xa5 << 4) | 6;
	memcpy(&grh.addr_type.gsi.grh_info.dest_gid, umad.addr.gid, 16);

	mad_fill(mad, sizeof(mad), 0x81, 1);
	passed(2, &umad, mad, sizeof(mad), true);
	mad_fill(mad, sizeof(mad), 0x01, 2);
	passed(2, &umad, mad, sizeof(mad), true);
	mad_fill(mad, sizeof(mad), 3, 3);
	passed(2, &umad, mad, sizeof(mad), true);
	mad_fill(mad, sizeof(mad), 3, 4);
	umad.addr.grh_present = 0;
	passed(2, &umad, mad, sizeof(mad), true);
	unbind(g);
	ck_assert_uint_eq(g->n, 4);
	ck_assert_mem_eq(&g->kept[0].addr, &smi, sizeof(smi));
	ck_assert_mem_eq(&g->kept[1].addr, &smi, sizeof(smi));
	ck_assert_mem_eq(&g->kept[2].addr, &grh, sizeof(grh));
	ck_assert_mem_eq(&g->kept[3].addr, &gsi, sizeof(gsi));
	forget(g);
}
END_TEST

START_TEST(flags)
{
	osm_snoop_bind_info_t info = info_default();
	osm_snoop_stats_t stats;
	struct got *g;

	info.flags = _i ? OSM_SNOOP_SENDS : OSM_SNOOP_RECEIVES;
	g = bind_with(&info);
	received(3, 1);
	sent(3, 2, 0);
	received(0x81, 3);
	stats = unbind(g);
	ck_assert_uint_eq(stats.seen, 3);
	ck_assert_uint_eq(g->n, _i ? 1 : 2);
	ck_assert_uint_eq(stats.passed, g->n);
	ck_assert_int_eq(g->kept[0].info.direction,
			 _i ? OSM_SNOOP_SENT : OSM_SNOOP_RECEIVED);
	forget(g);
}
END_TEST

/* A kernel that knows nothing of filters: they hold all the same. */
START_TEST(kernel_without_filters)
{
	static const umad_filter_t filters[] = {
		{ .mgmt_class = 3, .attr_id = 0x1110 + 2 },
		{ .mgmt_class = 0x81, .errors = 1 },
	};
	osm_snoop_stats_t stats;
	struct got *g;

	host.no_filter = true;
	g = bind_filters(filters, 2);
	received(4, 1);
	received(3, 0);		/* attribute 0x1011 */
	received(0x81, 2);
	sent(0x81, 3, 0);
	sent(0x81, 4, 110);
	stats = unbind(g);
	ck_assert_uint_eq(g->n, 1);
	ck_assert_uint_eq(stats.seen, 5);
	ck_assert_uint_eq(tid_of(g->kept[0].mad), 4);
	forget(g);
}
END_TEST

/* What is no MAD passes nobody's filter; nothing is read beyond it. */
START_TEST(stubs)
{
	static const int lengths[] = { 0, 1, 23 };
	const struct ib_user_mad umad = { .addr.lid = 1 };
	uint8_t mad[MAD_SIZE];
	osm_snoop_stats_t stats;
	struct got *g;
	unsigned i;

	host.no_filter = true;
	g = bind_all();
	mad_fill(mad, sizeof(mad), 3, 1);
	for (i = 0; i < 3; i++)
		passed(2, &umad, mad, lengths[i], false);
	passed(2, &umad, mad, 24, false);
	stats = unbind(g);
	ck_assert_uint_eq(g->n, 1);
	ck_assert_uint_eq(stats.seen, 4);
	ck_assert_uint_eq(g->kept[0].size, 24);
	forget(g);
}
END_TEST

/* Larger than the buffer: its size is learned and it is read again. */
START_TEST(oversized)
{
	static const umad_filter_t filter = { .mgmt_class = 3 };
	static const int lengths[] = { 256, 2048, 2049, 65536, BIG, 256, 3000 };
	enum { N = sizeof(lengths) / sizeof(lengths[0]) };
	const struct ib_user_mad umad = { .addr.lid = 1 };
	static uint8_t mad[BIG];
	struct got *g = bind_filters(&filter, 1);
	unsigned i;

	for (i = 0; i < N; i++) {
		mad_fill(mad, BIG, 3, i);
		passed(2, &umad, mad, lengths[i], false);
		wait_for(g, i + 1);
		ck_assert_uint_eq(g->kept[i].size, (uint32_t)lengths[i]);
		ck_assert_uint_eq(g->kept[i].info.original_size,
				  (uint32_t)lengths[i]);
		ck_assert_mem_eq(g->kept[i].mad, mad, (size_t)lengths[i]);
	}
	end(g, N);
	ck_assert_uint_eq(log_lines("ERR"), 0);
}
END_TEST

START_TEST(snap_length)
{
	osm_snoop_bind_info_t info = info_default();
	osm_snoop_stats_t stats;
	struct got *g;

	info.snap_length = 100;
	g = bind_with(&info);
	received(3, 1);
	stats = unbind(g);
	ck_assert_uint_eq(g->n, 1);
	ck_assert_uint_eq(g->kept[0].size, 100);
	ck_assert_uint_eq(g->kept[0].info.original_size, MAD_SIZE);
	ck_assert_uint_eq(stats.truncated, 1);
	forget(g);
}
END_TEST

/* What no ring of this size holds is cut, not lost. */
START_TEST(larger_than_the_ring)
{
	static const umad_filter_t filter = { .mgmt_class = 3 };
	const struct ib_user_mad umad = { .addr.lid = 1 };
	osm_snoop_bind_info_t info = info_default();
	static uint8_t mad[BIG];
	osm_snoop_stats_t stats;
	struct got *g;

	info.ring_size = 64 * 1024;
	info.p_filters = &filter;
	info.filter_count = 1;
	g = bind_with(&info);
	mad_fill(mad, BIG, 3, 1);
	passed(2, &umad, mad, BIG, false);
	stats = unbind(g);
	ck_assert_uint_eq(g->n, 1);
	ck_assert_uint_eq(stats.truncated, 1);
	ck_assert_uint_gt(g->kept[0].size, 32000);
	ck_assert_uint_eq(g->kept[0].info.original_size, BIG);
	ck_assert_mem_eq(g->kept[0].mad, mad, g->kept[0].size);
	forget(g);
}
END_TEST

/* The LID changes while the port is open: OpenSM gives it one. */
START_TEST(lid_changes)
{
	struct got *g = bind_all();

	received(3, 1);
	wait_for(g, 1);
	lid_change(2, 0x77);
	usleep(1200000);
	received(3, 2);
	unbind(g);
	ck_assert_uint_eq(g->n, 2);
	ck_assert_uint_eq(g->kept[0].info.local_lid, cl_hton16(0x12));
	ck_assert_uint_eq(g->kept[1].info.local_lid, cl_hton16(0x77));
	ck_assert_uint_eq(log_lines("5D13"), 0);
	forget(g);
}
END_TEST

/* Duplicates */

static const umad_filter_t overlapping[] = {
	{ .mgmt_class = 0 },
	{ .mgmt_class = 3 },
	{ .mgmt_class = 3, .attr_id = 0x1110 },
	{ .mgmt_class = 0 },
};

START_TEST(overlapping_filters)
{
	struct got *g = bind_filters(overlapping, 4);
	osm_snoop_stats_t stats;
	unsigned i;

	for (i = 0; i < 20; i++) {
		received(3, i);		/* two or three agents and one more */
		sent(3, i, 0);		/* the other direction is another MAD */
		received(4, i);
	}
	stats = unbind(g);
	ck_assert_uint_eq(g->n, 60);
	ck_assert_uint_eq(stats.seen, 60);
	forget(g);
}
END_TEST

/* Sent twice, the same to the last bit: two MADs, however often each comes. */
START_TEST(equal_mads)
{
	struct got *g = bind_filters(overlapping, 4);

	received(3, 1);
	received(3, 1);
	received(3, 1);
	sent(3, 1, 0);
	sent(3, 1, 0);
	end(g, 5);
}
END_TEST

/* The same bytes, but another status, address or length. */
START_TEST(not_quite_equal)
{
	struct ib_user_mad umad = { .addr.lid = 1 };
	struct got *g = bind_filters(overlapping, 4);
	uint8_t mad[MAD_SIZE];

	mad_fill(mad, sizeof(mad), 3, 1);
	passed(2, &umad, mad, sizeof(mad), false);
	umad.addr.lid = 2;
	passed(2, &umad, mad, sizeof(mad), false);
	umad.addr.qpn = 1;
	passed(2, &umad, mad, sizeof(mad), false);
	passed(2, &umad, mad, sizeof(mad) - 1, false);
	umad.status = 12;
	passed(2, &umad, mad, sizeof(mad), true);
	umad.status = 13;
	passed(2, &umad, mad, sizeof(mad), true);
	end(g, 6);
}
END_TEST

/* Two processors complete at once: agent by agent, the MADs interleaved. */
START_TEST(interleaved)
{
	const struct ib_user_mad umad = { .addr.lid = 1 };
	static const struct {
		unsigned agent, mad;
	} order[] = {
		{ 0, 1 }, { 0, 2 }, { 1, 2 }, { 1, 1 },
		/* and twice the same, with another in between */
		{ 0, 3 }, { 0, 4 }, { 0, 3 }, { 1, 3 }, { 1, 4 }, { 1, 3 },
	};
	struct got *g = bind_filters(overlapping, 2);
	uint8_t mad[MAD_SIZE];
	unsigned i;

	g->error = NULL;
	pthread_mutex_lock(&host.mutex);
	for (i = 0; i < sizeof(order) / sizeof(order[0]); i++) {
		mad_fill(mad, sizeof(mad), 3, order[i].mad);
		deliver(&host.files[0], order[i].agent, &umad, mad,
			sizeof(mad));
	}
	pthread_cond_broadcast(&host.arrived);
	pthread_mutex_unlock(&host.mutex);
	wait_for(g, 5);
	usleep(50000);
	ck_assert_uint_eq(g->n, 5);
	ck_assert_uint_eq(tid_of(g->kept[0].mad), 1);
	ck_assert_uint_eq(tid_of(g->kept[1].mad), 2);
	ck_assert_uint_eq(tid_of(g->kept[2].mad), 3);
	ck_assert_uint_eq(tid_of(g->kept[3].mad), 4);
	ck_assert_uint_eq(tid_of(g->kept[4].mad), 3);
	g->error = NULL;	/* the order was the test's */
	end(g, 5);
}
END_TEST

/* One registration: equal MADs are never copies. */
START_TEST(one_agent)
{
	struct got *g = bind_filters(overlapping, 1);
	unsigned i;

	for (i = 0; i < 10; i++)
		received(3, 1);
	end(g, 10);
}
END_TEST

/* What goes wrong later */

START_TEST(passing_errors)
{
	static const int errors[] = { EIO, EWOULDBLOCK, EIO, EINTR, EIO, EIO };
	osm_snoop_stats_t stats;
	struct got *g = bind_all();

	received(3, 1);
	recv_error(errors, sizeof(errors) / sizeof(errors[0]));
	received(3, 2);
	wait_for(g, 2);
	stats = unbind(g);
	ck_assert_uint_eq(stats.gaps, 0);
	ck_assert_uint_eq(host.opens, 1);
	ck_assert_uint_eq(g->lost, 0);
	ck_assert_uint_eq(log_lines("5D13"), 0);
	forget(g);
}
END_TEST

/* A length that is left from a MAD before is not that of one that waits. */
START_TEST(error_after_oversized)
{
	static const umad_filter_t filter = { .mgmt_class = 3 };
	static const int errors[] = { EIO, EIO, EIO };
	const struct ib_user_mad umad = { .addr.lid = 1 };
	struct got *g = bind_filters(&filter, 1);
	static uint8_t mad[BIG];

	mad_fill(mad, BIG, 3, 1);
	passed(2, &umad, mad, BIG, false);
	wait_for(g, 1);
	recv_error(errors, 3);
	wait_for_log("ERR 5D13: dev9 port 2 is gone (Input/output error)", 1);
	end(g, 1);
}
END_TEST

static const struct {
	int errors[3];
	unsigned n;
	const char *why;
} ends[] = {
	{ { EIO, EIO, EIO }, 3, "Input/output error" },
	{ { EINVAL, EIO, EIO }, 3, "Invalid argument" },
	{ { ENODEV }, 1, "No such device" },
	{ { EPIPE }, 1, "Broken pipe" },
};

START_TEST(port_goes_and_comes)
{
	osm_snoop_stats_t stats;
	struct got *g = bind_all();
	uint64_t before;
	char line[128];

	received(3, 1);
	wait_for(g, 1);
	before = clock_ns(CLOCK_MONOTONIC);
	recv_error(ends[_i].errors, ends[_i].n);
	wait_for_log("5D13", 1);
	received(3, 2);		/* seen by nobody */
	osm_vendor_snoop_get_stats(g->h_bind, &stats);
	ck_assert_uint_eq(stats.gaps, 1);
	wait_for_log("is back: ", 1);
	ck_assert_uint_ge(clock_ns(CLOCK_MONOTONIC) - before, 900000000);
	received(0x81, 3);	/* each registration was made again */
	received(3, 4);
	stats = unbind(g);
	ck_assert_uint_eq(g->n, 3);
	ck_assert_uint_eq(host.registrations, 6);
	ck_assert_uint_eq(stats.gaps, 1);
	ck_assert_uint_eq(stats.lost_ring, 0);
	/* the first one behind the gap says so */
	ck_assert_uint_eq(g->kept[0].info.lost, 0);
	ck_assert_uint_eq(g->kept[1].info.lost, 1);
	ck_assert_uint_eq(g->kept[2].info.lost, 0);
	snprintf(line, sizeof(line), "ERR 5D13: dev9 port 2 is gone (%s): its MADs are not seen until it is back\n",
		 ends[_i].why);
	ck_assert_uint_eq(log_lines(line), 1);
	ck_assert_uint_eq(log_lines("SNOOP: dev9 port 2 is back: its MADs are seen again\n"), 1);
	forget(g);
}
END_TEST

/* An old kernel says nothing: what sysfs has is gone, or another. */
START_TEST(port_goes_in_silence)
{
	struct got *g = bind_all();

	pthread_mutex_lock(&host.mutex);
	host.files[0].silent = true;
	pthread_mutex_unlock(&host.mutex);
	if (_i) {
		lid_set(2, 0x33);
	} else {
		lid_remove(2);
		host.no_device = true;
	}
	wait_for_log("ERR 5D13: dev9 port 2 is gone (the device was removed): ", 1);
	if (!_i) {
		/* it takes its time */
		usleep(2500000);
		ck_assert_uint_eq(log_lines("is back: "), 0);
		lid_set(2, 0x33);
		host.no_device = false;
	}
	wait_for_log("is back: ", 1);
	received(3, 1);
	unbind(g);
	ck_assert_uint_eq(g->n, 1);
	ck_assert_uint_eq(g->kept[0].info.lost, 1);
	ck_assert_uint_eq(g->kept[0].info.local_lid, cl_hton16(0x33));
	ck_assert_uint_eq(log_lines("5D13"), 1);
	forget(g);
}
END_TEST

/* It is back, but no registration is taken: that is not back. */
START_TEST(port_comes_and_refuses)
{
	struct got *g = bind_all();
	int error = ENODEV;

	host.no_snoop = true;
	recv_error(&error, 1);
	wait_for_log("5D13", 1);
	usleep(2200000);
	ck_assert_uint_eq(log_lines("is back: "), 0);
	host.no_snoop = false;
	wait_for_log("is back: ", 1);
	received(3, 1);
	end(g, 1);
	ck_assert_uint_eq(log_lines("ERR"), 1);
}
END_TEST

START_TEST(unbind_while_gone)
{
	osm_snoop_stats_t stats;
	struct got *g = bind_all();
	int error = ENODEV;

	host.no_device = true;
	recv_error(&error, 1);
	wait_for_log("5D13", 1);
	stats = unbind(g);
	ck_assert_uint_eq(stats.gaps, 1);
	forget(g);
}
END_TEST

/* A MAD that no memory is had for would stand before all others for ever. */
START_TEST(length_that_lies)
{
	struct got *g = bind_all();
	const struct ib_user_mad umad = { .addr.lid = 1 };
	uint8_t mad[MAD_SIZE];

	mad_fill(mad, sizeof(mad), 3, 1);
	pthread_mutex_lock(&host.mutex);
	deliver(&host.files[0], 0, &umad, mad, sizeof(mad));
	host.files[0].head->length = 0x7fffff00;
	host.files[0].head->umad.length = 0x7fffff00;
	pthread_cond_broadcast(&host.arrived);
	pthread_mutex_unlock(&host.mutex);
	wait_for_log("ERR 5D13: dev9 port 2 is gone (it has a MAD that is too large): ", 1);
	wait_for_log("is back: ", 1);
	received(3, 2);
	end(g, 1);
}
END_TEST

START_TEST(ring_full)
{
	osm_snoop_bind_info_t info = info_default();
	osm_snoop_stats_t stats;
	struct got *g;
	unsigned i;
	sem_t gate;

	sem_init(&gate, 0, 0);
	info.ring_size = 64 * 1024;
	g = bind_with(&info);
	g->gate = &gate;
	for (i = 0; i < 500; i++)
		received(3, i);
	do {
		usleep(1000);
		osm_vendor_snoop_get_stats(g->h_bind, &stats);
	} while (stats.passed < 500);
	ck_assert_uint_gt(stats.lost_ring, 200);
	ck_assert_uint_gt(stats.ring_bytes, 32 * 1024);
	sem_post(&gate);
	wait_for(g, 500 - stats.lost_ring);
	/* the newest were lost, and what follows says so */
	ck_assert_uint_eq(g->lost, 0);
	received(3, 500);
	received(3, 501);
	stats = unbind(g);
	ck_assert_uint_eq(g->n, 502 - stats.lost_ring);
	ck_assert_uint_eq(g->lost, stats.lost_ring);
	ck_assert_uint_eq(stats.gaps, 0);
	sem_destroy(&gate);
	forget(g);
}
END_TEST

/* What the kernel holds when it ends is still handed over. */
START_TEST(unbind_drains)
{
	struct got *g = bind_all();
	unsigned i;

	for (i = 0; i < 1000; i++)
		received(3, i);
	end(g, 1000);
}
END_TEST

struct pump {
	pthread_t thread;
	_Atomic bool stop;
};

static void *pump_main(void *context)
{
	struct pump *p = context;
	uint64_t tid = 0;

	while (!p->stop) {
		received(3, tid);
		sent(0x81, tid, 0);
		if (!(tid++ % 64))
			usleep(100);
	}
	return NULL;
}

static void *stats_main(void *context)
{
	struct got *g = context;
	osm_snoop_stats_t stats;
	unsigned i;

	for (i = 0; i < 100; i++) {
		osm_vendor_snoop_get_stats(g->h_bind, &stats);
		usleep(1000);
	}
	return NULL;
}

/* Traffic all the time; two binds come and go, and do not meet. */
START_TEST(unbind_while_receiving)
{
	struct pump p = { .stop = false };
	struct got *a, *b;
	pthread_t stats;
	unsigned i;

	check(!pthread_create(&p.thread, NULL, pump_main, &p));
	for (i = 0; i < 4; i++) {
		a = bind_all();
		b = bind_all();
		check(!pthread_create(&stats, NULL, stats_main, a));
		wait_for(a, 50);
		wait_for(b, 50);
		pthread_join(stats, NULL);
		osm_vendor_snoop_unbind(a->h_bind);
		ck_assert_ptr_null(a->error);
		wait_for(b, b->n + 10);
		osm_vendor_snoop_unbind(b->h_bind);
		ck_assert_ptr_null(b->error);
		forget(a);
		forget(b);
	}
	p.stop = true;
	pthread_join(p.thread, NULL);
	ck_assert_uint_eq(host.opens, host.closes);
}
END_TEST

START_TEST(two_binds)
{
	static const umad_filter_t filter = { .mgmt_class = 0x81 };
	struct got *a = bind_all(), *b = bind_filters(&filter, 1);
	unsigned i;

	for (i = 0; i < 10; i++) {
		received(3, i);
		sent(0x81, i, 0);
	}
	osm_vendor_snoop_unbind(a->h_bind);
	ck_assert_uint_eq(a->n, 20);
	received(0x81, 11);
	end(b, 11);
	forget(a);
}
END_TEST

/* Nothing to do costs nothing: some ten wake-ups a second for each thread. */
START_TEST(idle)
{
	struct timespec before, after;
	struct got *g = bind_all();
	uint64_t ns;

	usleep(100000);
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &before);
	usleep(1000000);
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &after);
	ns = (uint64_t)(after.tv_sec - before.tv_sec) * 1000000000 +
	     (uint64_t)after.tv_nsec - (uint64_t)before.tv_nsec;
	ck_assert_uint_lt(ns, 50000000);
	end(g, 0);
}
END_TEST

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

/* A segment of a GetTableResp: `n` of `of`, each record byte its number. */
static void segment(bool sent, uint64_t tid, uint32_t n, uint32_t of)
{
	struct ib_user_mad umad = {
		.addr = { .lid = cl_hton16(9), .qpn = cl_hton32(1) },
	};
	const uint32_t payload = n == 1 ? of * 220 : 220;
	uint8_t mad[MAD_SIZE] = {
		[MAD_BASE_VERSION] = 1, [MAD_CLASS] = CLASS_SUBN_ADM,
		[MAD_CLASS_VERSION] = 2,
		[MAD_METHOD] = METHOD_GET_TABLE | METHOD_RESPONSE,
		[MAD_ATTR_ID + 1] = 0x11,
		[RMPP_VERSION] = 1, [RMPP_TYPE] = RMPP_DATA,
		[RMPP_FLAGS] = RMPP_FLAG_ACTIVE |
			       (n == 1 ? RMPP_FLAG_FIRST : 0) |
			       (n == of ? RMPP_FLAG_LAST : 0),
		[RMPP_SEGMENT + 3] = (uint8_t)n,
		[RMPP_PAYLOAD + 2] = (uint8_t)(payload >> 8),
		[RMPP_PAYLOAD + 3] = (uint8_t)payload,
		[SA_ATTR_OFFSET + 1] = 14,
	};

	umad.addr.reserved[0] = sent;
	memcpy(mad + MAD_TID, &tid, sizeof(tid));
	memset(mad + SA_DATA, (int)n, MAD_SIZE - SA_DATA);
	passed(2, &umad, mad, sizeof(mad), sent);
}

/* What the receiver of segments sends back. */
static void acked(bool sent, uint64_t tid, uint32_t n)
{
	struct ib_user_mad umad = {
		.addr = { .lid = cl_hton16(9), .qpn = cl_hton32(1) },
	};
	uint8_t mad[MAD_SIZE] = {
		[MAD_BASE_VERSION] = 1, [MAD_CLASS] = CLASS_SUBN_ADM,
		[MAD_CLASS_VERSION] = 2, [MAD_METHOD] = METHOD_GET_TABLE,
		[MAD_ATTR_ID + 1] = 0x11,
		[RMPP_VERSION] = 1, [RMPP_TYPE] = RMPP_ACK,
		[RMPP_FLAGS] = RMPP_FLAG_ACTIVE,
		[RMPP_SEGMENT + 3] = (uint8_t)n,
		[RMPP_PAYLOAD + 3] = (uint8_t)(n + 64),
	};

	umad.addr.reserved[0] = sent;
	memcpy(mad + MAD_TID, &tid, sizeof(tid));
	passed(2, &umad, mad, sizeof(mad), sent);
}

/* Without that wish: what is on the wire, the segments and their ACK. */
START_TEST(segments_alone)
{
	const bool sent = _i;
	struct got *g = bind_all();
	const struct kept *k;
	uint32_t i;

	for (i = 1; i <= 3; i++)
		segment(sent, 1, i, 3);
	acked(!sent, 1, 3);
	wait_for(g, 4);
	ck_assert_uint_eq(unbind(g).merged, 0);
	ck_assert_uint_eq(g->n, 4);
	for (i = 0; i < 4; i++) {
		k = &g->kept[i];
		ck_assert_uint_eq(k->size, MAD_SIZE);
		ck_assert_uint_eq(k->info.original_size, MAD_SIZE);
		ck_assert_uint_eq(k->info.segments, 1);
		ck_assert_uint_eq(k->info.reassembled, FALSE);
		ck_assert_uint_eq(k->info.direction, (i < 3) == sent ?
				  OSM_SNOOP_SENT : OSM_SNOOP_RECEIVED);
		ck_assert_uint_eq(k->mad[RMPP_TYPE],
				  i < 3 ? RMPP_DATA : RMPP_ACK);
		ck_assert_uint_eq(k->mad[RMPP_SEGMENT + 3], i < 3 ? i + 1 : 3);
	}
	forget(g);
}
END_TEST

/* On request, messages: one capture of what came in several. */
START_TEST(messages)
{
	osm_snoop_bind_info_t info = info_default();
	osm_snoop_stats_t stats;
	const bool sent = _i % 2;
	const uint8_t *mad;
	struct got *g;

	info.flags = OSM_SNOOP_REASSEMBLE;
	info.snap_length = _i / 2 ? 300 : 0;
	g = bind_with(&info);
	segment(sent, 1, 1, 3);
	received(CLASS_SUBN_DIR, 77);	/* what is no part of it goes on */
	segment(sent, 1, 3, 3);
	segment(sent, 1, 2, 3);
	segment(sent, 2, 1, 2);		/* and one that stays a half */
	wait_for(g, 2);
	osm_vendor_snoop_unbind(g->h_bind);
	ck_assert_int_eq(osm_vendor_snoop_get_stats(g->h_bind, &stats),
			 IB_SUCCESS);
	ck_assert_uint_eq(g->n, 2);
	ck_assert_uint_eq(stats.passed, 5);
	ck_assert_uint_eq(stats.merged, 3);
	ck_assert_uint_eq(stats.lost_late, 0);
	ck_assert_uint_eq(g->kept[0].info.reassembled, FALSE);
	ck_assert_uint_eq(g->kept[0].info.segments, 1);
	ck_assert_uint_eq(g->kept[1].info.reassembled, TRUE);
	ck_assert_uint_eq(g->kept[1].info.segments, 3);
	ck_assert_uint_eq(g->kept[1].info.direction,
			  sent ? OSM_SNOOP_SENT : OSM_SNOOP_RECEIVED);
	ck_assert_uint_eq(g->kept[1].info.original_size, SA_DATA + 3 * 200);
	ck_assert_uint_eq(g->kept[1].size, _i / 2 ? 300 : SA_DATA + 3 * 200);
	mad = g->kept[1].mad;
	ck_assert_uint_eq(mad[SA_DATA + 199], 1);
	ck_assert_uint_eq(mad[SA_DATA + 200], 2);
	ck_assert_uint_eq(stats.truncated, _i / 2);
	forget(g);
}
END_TEST

/* A message may be too long, and then is given up. */
START_TEST(message_too_long)
{
	osm_snoop_bind_info_t info = info_default();
	osm_snoop_stats_t stats;
	struct got *g;

	info.flags = OSM_SNOOP_REASSEMBLE;
	info.message_max = SA_DATA + 2 * 200;
	g = bind_with(&info);
	segment(false, 1, 1, 3);
	segment(false, 1, 2, 3);
	segment(false, 1, 3, 3);
	segment(false, 2, 1, 2);
	segment(false, 2, 2, 2);
	wait_for(g, 1);
	osm_vendor_snoop_unbind(g->h_bind);
	ck_assert_int_eq(osm_vendor_snoop_get_stats(g->h_bind, &stats),
			 IB_SUCCESS);
	ck_assert_uint_eq(g->n, 1);
	ck_assert_uint_eq(g->kept[0].info.segments, 2);
	ck_assert_uint_eq(stats.given_up, 1);
	forget(g);
}
END_TEST

/*
 * On each row of the table the kernel and the source agree, and so does the
 * source alone, when the kernel hands over whatever there is. What was received
 * has no completion in user_mad.c, so rows of such MADs come without theirs.
 */
START_TEST(filters_of_the_kernel)
{
	const struct row *row = &rows[_i / 2];
	struct ib_user_mad umad = { .addr.lid = cl_hton16(9) };
	uint8_t *mad = row_mad(row);
	struct got *g;

	host.no_filter = _i % 2;
	if (row->sent) {
		umad.addr.reserved[0] = 1;
		umad.status = wc_status(row->completion);
	}
	g = bind_filters(&row->filter, 1);
	passed(2, &umad, mad, (int)row->len, row->sent);
	unbind(g);
	ck_assert_msg(g->n == row->passes, "%s: should%s pass", row->rule,
		      row->passes ? "" : " not");
	forget(g);
	free(mad);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("source_kernel");
	TCase *bad = tcase_create("refused"), *asked = tcase_create("asked");
	TCase *take = tcase_create("captured"), *later = tcase_create("later");
	TCase *all[] = { bad, asked, take, later };
	size_t i;

	for (i = 0; i < COUNT(all); i++) {
		tcase_add_checked_fixture(all[i], setup, teardown);
		suite_add_tcase(suite, all[i]);
	}
	tcase_add_loop_test(bad, bad_port, 0, COUNT(bad_ports));
	tcase_add_test(bad, no_device);
	tcase_add_test(bad, no_right);
	tcase_add_test(bad, kernel_refuses);
	tcase_add_test(bad, kernel_has_no_room);
	tcase_add_test(bad, too_many_filters);
	tcase_add_test(bad, only_qp0_and_refused);
	tcase_add_test(bad, simulator);
	tcase_add_test(bad, auto_goes_on_with_the_tap);

	tcase_add_test(asked, auto_takes_the_kernel);
	tcase_add_test(asked, registrations_of_everything);
	tcase_add_test(asked, registrations_of_filters);
	tcase_add_test(asked, no_qp0);
	tcase_add_loop_test(asked, port_that_is_opened, 0, COUNT(ports));

	tcase_add_test(take, info_of_a_capture);
	tcase_add_test(take, directions);
	tcase_add_test(take, short_header);
	tcase_add_test(take, statuses);
	tcase_add_test(take, errors_alone);
	tcase_add_test(take, addresses);
	tcase_add_loop_test(take, flags, 0, 2);
	tcase_add_test(take, kernel_without_filters);
	tcase_add_test(take, stubs);
	tcase_add_test(take, oversized);
	tcase_add_test(take, snap_length);
	tcase_add_test(take, larger_than_the_ring);
	tcase_add_test(take, lid_changes);
	tcase_add_test(take, overlapping_filters);
	tcase_add_test(take, equal_mads);
	tcase_add_test(take, not_quite_equal);
	tcase_add_test(take, interleaved);
	tcase_add_test(take, one_agent);

	tcase_set_timeout(later, 120);
	tcase_add_test(later, passing_errors);
	tcase_add_test(later, error_after_oversized);
	tcase_add_loop_test(later, port_goes_and_comes, 0, COUNT(ends));
	tcase_add_loop_test(later, port_goes_in_silence, 0, 2);
	tcase_add_test(later, port_comes_and_refuses);
	tcase_add_test(later, unbind_while_gone);
	tcase_add_test(later, length_that_lies);
	tcase_add_test(later, ring_full);
	tcase_add_test(later, unbind_drains);
	tcase_add_test(later, unbind_while_receiving);
	tcase_add_test(later, two_binds);
	tcase_add_test(later, idle);
	tcase_add_loop_test(take, filters_of_the_kernel, 0, 2 * N_ROWS);
	tcase_add_loop_test(take, segments_alone, 0, 2);
	tcase_add_loop_test(take, messages, 0, 4);
	tcase_add_test(take, message_too_long);
	return run_suite(suite);
}
