/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Source kernel: what a kernel with snoop registration (seed 000) hands over of
 * one port, whoever sends and receives there. A receiver thread reads a umad
 * port of its own and fills a ring; next() empties it. None of this runs on
 * OpenSM's threads, so here one may block, log and allocate.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <infiniband/umad.h>

#include "clock.h"
#include "error.h"
#include "layout.h"
#include "reassembly.h"
#include "ring.h"
#include "sample.h"
#include "source.h"
#include "thread.h"
#include "umad_request.h"

enum {
	RECV_MS = 100,		/* how late a stop is noticed */
	WAIT_NS = 100000000,
	DRAIN_NS = 200000000,	/* at the end, for what the kernel still has */
	NAP_NS = 10000000,	/* after an error */
	SECOND_NS = 1000000000,	/* between looks at the port */
	ERRORS_MAX = 3,		/* in a row: the port is gone */

	/* what a MAD has at most (OPA's; InfiniBand's are 256 bytes) */
	ROOM = 2048,
	/* whoever hands over more than the largest message is mistaken */
	ROOM_MAX = 16 * 1024 * 1024,

	PARTS_MAX = 1000,	/* of messages, between two looks at the clock */

	AGENTS_MAX = 32,	/* user_mad.c, IB_UMAD_MAX_AGENTS */

	/* deliveries of which another agent's copy may still come */
	RECENT = 8,
};

/* What lies in the ring: one MAD, a segment where it is one of a message. */
struct kernel_record {
	uint64_t time_ns;
	uint64_t monotonic_ns;
	uint64_t lost;
	ib_net64_t port_guid;
	uint64_t samples[OSM_SNOOP_MAX_SAMPLES];
	osm_mad_addr_t mad_addr;
	ib_api_status_t status;
	ib_net16_t local_lid;
	bool sent;
	uint32_t original_size;
	uint32_t size;		/* of mad[] */
	uint8_t mad[];
};

/* A MAD that was delivered not long ago, and the agents that delivered it. */
struct delivery {
	uint64_t agents;	/* a bit each; 0 = none */
	uint32_t size;
	struct ib_user_mad header;
	uint8_t mad[ROOM];
};

struct kernel_state {
	osm_vendor_t *p_vend;

	/* what was asked for */
	uint32_t snap_length;
	bool by_name;		/* the port was named, not its GUID */
	uint32_t filter_count;
	umad_filter_t filters[OSM_SNOOP_MAX_FILTERS];
	uint32_t sample_count;
	osm_snoop_sample_t samples[OSM_SNOOP_MAX_SAMPLES];

	/* the port, the receiver's own once that runs */
	char ca_name[UMAD_CA_NAME_LEN];
	int portnum;
	ib_net64_t port_guid;
	int port;		/* umad's, -1 while it is gone */
	unsigned n_agents;
	bool said_no_qp0;
	ino_t inode;		/* of its lid file; 0 = there is none */
	uint16_t lid;
	uint64_t next_look_ns;	/* at the port, or for it */

	/* the receiver */
	pthread_t receiver;
	struct ib_user_mad *umad;
	uint32_t room;		/* behind its header */
	unsigned errors;	/* in a row */
	uint64_t lost_pending;
	struct delivery recent[RECENT];
	unsigned next_recent;

	/* between the threads */
	_Atomic bool stopped;
	_Atomic uint64_t seen, passed, ring_lost, gaps;
	struct ring ring;
	pthread_mutex_t mutex;	/* with the condition, for `ended` */
	pthread_cond_t more;
	bool ended;		/* nothing comes any more */

	/* next() */
	void *record;		/* handed over, to be released */
	uint64_t lost;		/* not told yet */
	struct reassembly messages;
};

/* The port */

/* "DEVICE[:PORT]"; PORT is 0, umad's choice, when it is not there. */
static bool parse_port(const char *arg, char name[UMAD_CA_NAME_LEN],
		       int *portnum)
{
	size_t len = strcspn(arg, ":");
	const char *number = arg + len + 1;
	long n;
	char *end;

	if (!len || len >= UMAD_CA_NAME_LEN || strchr(arg, '/'))
		return false;
	memcpy(name, arg, len);
	name[len] = '\0';
	*portnum = 0;
	if (!arg[len])
		return true;
	n = strtol(number, &end, 10);
	if (*number < '0' || *number > '9' || *end || n > 255)
		return false;
	*portnum = (int)n;
	return true;
}

static bool find_guid(ib_net64_t guid, char name[UMAD_CA_NAME_LEN],
		      int *portnum)
{
	char names[UMAD_MAX_DEVICES][UMAD_CA_NAME_LEN];
	__be64 guids[UMAD_CA_MAX_PORTS];
	int i, j, n, ports;

	n = umad_get_cas_names(names, UMAD_MAX_DEVICES);
	for (i = 0; i < n; i++) {
		ports = umad_get_ca_portguids(names[i], guids,
					      UMAD_CA_MAX_PORTS);
		for (j = 0; j < ports; j++)
			if (guids[j] == guid) {
				memcpy(name, names[i], UMAD_CA_NAME_LEN);
				*portnum = j;
				return true;
			}
	}
	return false;
}

/* A device or NULL, a port or 0: what is not named is umad's choice. */
static bool port_set(struct kernel_state *k, const char *name, int portnum)
{
	umad_port_t port;

	memset(&port, 0, sizeof(port));
	if (umad_get_port(name, portnum, &port) < 0)
		return false;
	memcpy(k->ca_name, port.ca_name, sizeof(k->ca_name));
	k->portnum = port.portnum;
	k->port_guid = port.port_guid;
	umad_release_port(&port);
	return true;
}

/*
 * Which port: the one that is named, the one with the GUID, the one that the
 * vendor layer has open, or the one that it would open for GUID 0.
 */
static ib_api_status_t port_choose(struct kernel_state *k,
				   const osm_snoop_bind_info_t *info)
{
	ib_net64_t guid = info->port_guid;
	char name[UMAD_CA_NAME_LEN];
	int portnum;

	k->by_name = info->source_arg != NULL;
	if (k->by_name) {
		if (!parse_port(info->source_arg, name, &portnum)) {
			snoop_error("source argument %.64s: accepted is DEVICE[:PORT], for example mlx5_0:1",
				    info->source_arg);
			return IB_INVALID_PARAMETER;
		}
		if (!port_set(k, name, portnum)) {
			snoop_error("there is no InfiniBand port %.64s here",
				    info->source_arg);
			return IB_NOT_FOUND;
		}
		if (!guid || guid == k->port_guid)
			return IB_SUCCESS;
		snoop_error("port %.64s has GUID 0x%016" PRIx64 ", not 0x%016" PRIx64,
			    info->source_arg, cl_ntoh64(k->port_guid),
			    cl_ntoh64(guid));
		return IB_INVALID_PARAMETER;
	}
	if (!guid)
		guid = k->p_vend->umad_port.port_guid;
	if (guid) {
		if (find_guid(guid, name, &portnum) &&
		    port_set(k, name, portnum))
			return IB_SUCCESS;
		snoop_error("there is no port with GUID 0x%016" PRIx64 " here",
			    cl_ntoh64(guid));
		return IB_NOT_FOUND;
	}
	if (port_set(k, NULL, 0))
		return IB_SUCCESS;
	snoop_error("there is no InfiniBand port here");
	return IB_NOT_FOUND;
}

/*
 * Is this still the port that was opened, and which LID has it now? Older
 * kernels let who reads a port that is gone wait for ever; but sysfs tells: the
 * file goes, or comes back as another.
 */
static bool port_look(struct kernel_state *k)
{
	char path[256], text[32];
	struct stat st;
	ssize_t n;
	int fd;

	snprintf(path, sizeof(path), SYS_INFINIBAND "/%s/ports/%d/lid",
		 k->ca_name, k->portnum);
	/* not fopen(): ibsim's preload puts itself before open() alone */
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return !k->inode || (errno != ENOENT && errno != ENODEV);
	n = read(fd, text, sizeof(text) - 1);
	if (n > 0) {
		text[n] = '\0';
		k->lid = (uint16_t)strtoul(text, NULL, 16);
	}
	if (fstat(fd, &st))
		st.st_ino = k->inode;
	close(fd);
	if (!k->inode)
		k->inode = st.st_ino;
	return k->inode == st.st_ino;
}

/*
 * Who takes a QP that management does not have looks at no request, and then
 * its yes to a snoop registration says nothing. ibsim's umad2sim is one.
 */
static bool checks_requests(int port)
{
	struct ib_user_mad_reg_req req = { .qpn = UMAD_SNOOP_QP | 2 };

	if (ioctl(port, IB_USER_MAD_REGISTER_AGENT, &req))
		return true;
	umad_unregister(port, (int)req.id);
	return false;
}

/* "source tap or bpf": those that AUTO would come to beside this one. */
static void list_others(char *buf, size_t size)
{
	const struct source *const *s;
	size_t len = 0;

	snprintf(buf, size, "no other source is built in");
	for (s = source_table; *s && len < size; s++)
		if ((*s)->id != OSM_SNOOP_SOURCE_KERNEL && !(*s)->by_name_only)
			len += (size_t)snprintf(buf + len, size - len, "%s%s",
				len ? " or " : "use source ",
				osm_vendor_snoop_source_name((*s)->id));
}

static void say_refused(const struct kernel_state *k, const char *why)
{
	char others[128];

	list_others(others, sizeof(others));
	snoop_error("the kernel does not let MADs be snooped on %s port %d: %s; %s",
		    k->ca_name, k->portnum, why, others);
}

/* RoCE has no QP 0: what is asked for beside it is snooped nevertheless. */
static void say_no_qp0(struct kernel_state *k)
{
	if (k->said_no_qp0)
		return;
	k->said_no_qp0 = true;
	osm_log_v2(k->p_vend->p_log, OSM_LOG_INFO, OSMSNOOP_FILE_ID,
		   "SNOOP: %s port %d: SMPs are not snooped, the kernel takes QP 1 alone\n",
		   k->ca_name, k->portnum);
}

static bool port_register(struct kernel_state *k)
{
	unsigned i, refused = 0;
	int error = 0;

	/* first: a simulator would give the classes of others to us */
	if (!checks_requests(k->port)) {
		say_refused(k, "it checks no registration (a simulator?)");
		return false;
	}
	k->n_agents = 0;
	for (i = 0; i < k->filter_count; i++) {
		errno = 0;
		if (umad_register_snoop(k->port, &k->filters[i],
					sizeof(k->filters[i])) >= 0) {
			k->n_agents++;
			continue;
		}
		error = errno;
		/* what the kernel says of a QP that the port has not */
		if (error != EPROTONOSUPPORT ||
		    !mad_is_smp(k->filters[i].mgmt_class))
			break;
		refused++;
	}
	if (i < k->filter_count || !k->n_agents) {
		/* EINVAL: a kernel that does not know the snoop bit */
		say_refused(k, error == EINVAL ? "it has no snoop registration" :
						 strerror(error));
		return false;
	}
	if (refused)
		say_no_qp0(k);
	return true;
}

static ib_api_status_t port_open(struct kernel_state *k)
{
	unsigned i;

	errno = 0;
	k->port = umad_open_port(k->ca_name, k->portnum);
	if (k->port < 0) {
		snoop_error("%s port %d cannot be opened: %s", k->ca_name,
			    k->portnum, strerror(errno ? errno : -k->port));
		k->port = -1;
		return IB_NOT_FOUND;
	}
	if (!port_register(k)) {
		umad_close_port(k->port);
		k->port = -1;
		return IB_INVALID_PERMISSION;
	}
	k->inode = 0;
	k->errors = 0;
	port_look(k);
	k->next_look_ns = clock_ns(CLOCK_MONOTONIC) + SECOND_NS;
	/* agents of another file are other agents */
	for (i = 0; i < RECENT; i++)
		k->recent[i].agents = 0;
	return IB_SUCCESS;
}

/*
 * Nobody knows what passes meanwhile. So the gap is counted, and what comes
 * after it is marked as coming after a loss.
 */
static void port_gone(struct kernel_state *k, const char *why)
{
	umad_close_port(k->port);
	k->port = -1;
	atomic_fetch_add(&k->gaps, 1);
	k->lost_pending++;
	k->next_look_ns = clock_ns(CLOCK_MONOTONIC) + SECOND_NS;
	osm_log_v2(k->p_vend->p_log, OSM_LOG_ERROR, OSMSNOOP_FILE_ID,
		   "ERR 5D13: %s port %d is gone (%s): its MADs are not seen until it is back\n",
		   k->ca_name, k->portnum, why);
}

static void port_try_again(struct kernel_state *k)
{
	char name[UMAD_CA_NAME_LEN];
	int portnum;

	k->next_look_ns = clock_ns(CLOCK_MONOTONIC) + SECOND_NS;
	if (k->by_name || !k->port_guid) {
		memcpy(name, k->ca_name, sizeof(name));
		portnum = k->portnum;
	} else if (!find_guid(k->port_guid, name, &portnum)) {
		return;
	}
	if (!port_set(k, name, portnum) || port_open(k) != IB_SUCCESS)
		return;
	osm_log_v2(k->p_vend->p_log, OSM_LOG_INFO, OSMSNOOP_FILE_ID,
		   "SNOOP: %s port %d is back: its MADs are seen again\n",
		   k->ca_name, k->portnum);
}

/* What umad hands over */

/*
 * The direction. Seed 000 and the kernel's RFC of April 2011 do not say how a
 * snooped send is told from a snooped receive: this is our assumption, and its
 * only place. A send completion has the first reserved byte of the address set
 * to 1; or it has what user_mad.c leaves zero in everything that was received
 * (recv_handler: the packet is zeroed, and these are not filled in): a status,
 * a time-out, retries, a Q_Key.
 */
static bool is_sent(const struct ib_user_mad *umad)
{
	/* the header is shorter where P_Key indices are not enabled */
	if (umad_size() == sizeof(*umad) && umad->addr.reserved[0] == 1)
		return true;
	return umad->status || umad->timeout_ms || umad->retries ||
	       umad->addr.qkey;
}

/*
 * Of a send: ibv_wc_status, or the errno of user_mad.c for a time-out or a
 * cancel. (5 is WR_FLUSH_ERR here, and never EIO.)
 */
static ib_api_status_t status_of(uint32_t status)
{
	switch (status) {
	case 0:
		return IB_SUCCESS;
	case WC_WR_FLUSH_ERR:
	case ECANCELED:
		return IB_CANCELED;
	case WC_RESP_TIMEOUT_ERR:
	case ETIMEDOUT:
		return IB_TIMEOUT;
	default:
		return IB_ERROR;
	}
}

/*
 * As osm_vendor_ibumad.c fills it in: it takes the flow label of a received MAD
 * as it lies there, and libibumad swaps that of a sent one.
 */
static void fill_addr(osm_mad_addr_t *to, const struct ib_user_mad *umad,
		      bool smp, bool sent)
{
	const ib_mad_addr_t *from = &umad->addr;

	memset(to, 0, sizeof(*to));
	to->dest_lid = from->lid;
	to->path_bits = from->path_bits;
	if (smp) {
		to->addr_type.smi.source_lid = from->lid;
		to->addr_type.smi.port_num = 255;
		return;
	}
	to->addr_type.gsi.remote_qp = from->qpn;
	to->addr_type.gsi.remote_qkey = from->qkey;
	to->addr_type.gsi.pkey_ix = (uint16_t)umad_get_pkey((void *)umad);
	to->addr_type.gsi.service_level = from->sl;
	if (!from->grh_present)
		return;
	to->addr_type.gsi.global_route = TRUE;
	to->addr_type.gsi.grh_info.hop_limit = from->hop_limit;
	to->addr_type.gsi.grh_info.ver_class_flow =
		ib_grh_set_ver_class_flow(6, from->traffic_class,
					  sent ? cl_ntoh32(from->flow_label) :
						 from->flow_label);
	memcpy(&to->addr_type.gsi.grh_info.dest_gid, from->gid,
	       sizeof(from->gid));
}

static bool is_same(const struct delivery *d, const struct ib_user_mad *umad,
		    const uint8_t *mad, uint32_t size)
{
	const size_t id = sizeof(umad->agent_id);

	return d->size == size && !memcmp(d->mad, mad, size) &&
	       !memcmp((const uint8_t *)&d->header + id,
		       (const uint8_t *)umad + id, umad_size() - id);
}

/*
 * Did another agent deliver this MAD already? A filter decides by nothing but
 * the MAD, its direction and its status; so MADs that are equal in these go to
 * the same agents, and the n-th of an agent is the n-th of each other one. What
 * an agent delivers a second time is a second MAD. Others' deliveries may come
 * in between, for the kernel completes on more than one processor; hence the
 * last few and not the last one.
 */
static bool is_copy(struct kernel_state *k, int agent, const uint8_t *mad,
		    uint32_t size)
{
	struct delivery *d;
	uint64_t bit;
	unsigned i;

	if (k->n_agents < 2 || agent >= 64 || size > ROOM)
		return false;
	bit = UINT64_C(1) << agent;
	for (i = 0; i < RECENT; i++) {
		d = &k->recent[i];
		if (!d->agents || d->agents & bit ||
		    !is_same(d, k->umad, mad, size))
			continue;
		d->agents |= bit;
		return true;
	}
	d = &k->recent[k->next_recent++ % RECENT];
	d->agents = bit;
	d->size = size;
	memcpy(&d->header, k->umad, umad_size());
	memcpy(d->mad, mad, size);
	return false;
}

/*
 * The filters once more: a kernel may know less of them than we do, and none
 * knows of directions. The status is the vendor layer's, whose numbers mean
 * one thing each.
 */
static bool is_wanted(const struct kernel_state *k, const uint8_t *mad,
		      uint32_t size, bool sent, ib_api_status_t status)
{
	uint32_t i;

	if (!reassembly_wants(&k->messages, mad, size, sent))
		return false;
	for (i = 0; i < k->filter_count; i++)
		if (umad_filter_match(&k->filters[i], mad, size, sent,
				      (int)status))
			return true;
	return false;
}

static void wake(struct kernel_state *k, bool ended)
{
	pthread_mutex_lock(&k->mutex);
	if (ended)
		k->ended = true;
	pthread_cond_signal(&k->more);
	pthread_mutex_unlock(&k->mutex);
}

static void take(struct kernel_state *k, int agent, uint32_t original_size)
{
	uint64_t now = clock_ns(CLOCK_MONOTONIC);
	const uint8_t *mad = umad_get_mad(k->umad);
	ib_api_status_t status = IB_SUCCESS;
	uint32_t size = original_size, len, i;
	struct kernel_record *r;
	bool sent;

	if (is_copy(k, agent, mad, size))
		return;
	atomic_fetch_add(&k->seen, 1);
	sent = is_sent(k->umad);
	if (sent)
		status = status_of(k->umad->status);
	if (!is_wanted(k, mad, size, sent, status))
		return;

	if (size > k->snap_length)
		size = k->snap_length;
	len = (uint32_t)sizeof(*r) + size;
	r = ring_reserve(&k->ring, len);
	if (!r) {
		atomic_fetch_add(&k->ring_lost, 1);
		atomic_fetch_add(&k->passed, 1);
		k->lost_pending++;
		return;
	}
	r->time_ns = clock_ns(CLOCK_REALTIME);
	r->monotonic_ns = now;
	r->lost = k->lost_pending;
	k->lost_pending = 0;
	r->port_guid = k->port_guid;
	for (i = 0; i < k->sample_count; i++)
		r->samples[i] = sample_read(&k->samples[i]);
	fill_addr(&r->mad_addr, k->umad, mad_is_smp(mad[MAD_CLASS]), sent);
	r->status = status;
	r->local_lid = cl_hton16(k->lid);
	r->sent = sent;
	r->original_size = original_size;
	r->size = size;
	memcpy(r->mad, mad, size);
	/* before it can be delivered, which is counted, too */
	atomic_fetch_add(&k->passed, 1);
	ring_commit(r, len);
	wake(k, false);
}

/* The receiver */

static void nap(uint64_t ns)
{
	struct timespec ts = clock_timespec(ns);

	nanosleep(&ts, NULL);
}

static bool make_room(struct kernel_state *k, uint32_t room)
{
	struct ib_user_mad *umad;

	/* whole, whatever its header's size turns out to be */
	umad = realloc(k->umad, sizeof(*umad) + room);
	if (!umad)
		return false;
	k->umad = umad;
	k->room = room;
	return true;
}

static void receive_failed(struct kernel_state *k, int error)
{
	k->errors++;
	if (error == ENODEV || error == ENXIO || error == EBADF ||
	    error == EPIPE || k->errors >= ERRORS_MAX)
		port_gone(k, strerror(error));
	else
		nap(NAP_NS);
}

/* One MAD, if one comes in time. False: not now. */
static bool receive(struct kernel_state *k, int timeout_ms)
{
	int length = (int)k->room, agent;

	/* umad_recv computes a length from it also where nothing was read */
	k->umad->length = 0;
	agent = umad_recv(k->port, k->umad, &length, timeout_ms);
	/* a read of less than its header would be a length below zero */
	if (agent >= 0 && (length < 0 || length > (int)k->room))
		agent = -EIO;
	if (agent >= 0) {
		k->errors = 0;
		take(k, agent, (uint32_t)length);
		if (k->room > ROOM)
			make_room(k, ROOM);
		return true;
	}
	switch (agent) {
	case -ETIMEDOUT:
		k->errors = 0;
		return false;
	case -EWOULDBLOCK:	/* at once, if it came to nothing meanwhile */
	case -EINTR:
		k->errors = 0;
		if (timeout_ms)
			nap(NAP_NS / 10);
		return false;
	}
	/* the MAD stays where it is, at the head of its queue */
	if (length > (int)k->room && length <= ROOM_MAX &&
	    make_room(k, (uint32_t)length))
		return true;
	if (length > ROOM_MAX)
		port_gone(k, "it has a MAD that is too large");
	else
		receive_failed(k, length > (int)k->room ? ENOMEM : -agent);
	return false;
}

static void look(struct kernel_state *k)
{
	uint64_t now = clock_ns(CLOCK_MONOTONIC);

	if (now < k->next_look_ns)
		return;
	k->next_look_ns = now + SECOND_NS;
	if (!port_look(k))
		port_gone(k, "the device was removed");
}

static void *receive_all(void *context)
{
	struct kernel_state *k = context;
	uint64_t end;

	while (!atomic_load(&k->stopped)) {
		if (k->port >= 0) {
			receive(k, RECV_MS);
			if (k->port >= 0)
				look(k);
		} else if (clock_ns(CLOCK_MONOTONIC) >= k->next_look_ns) {
			port_try_again(k);
		} else {
			nap(WAIT_NS);
		}
	}
	/* what was captured before the stop may wait in the kernel */
	end = clock_ns(CLOCK_MONOTONIC) + DRAIN_NS;
	while (k->port >= 0 && receive(k, 0)) {
		if (clock_ns(CLOCK_MONOTONIC) < end)
			continue;
		/* nobody knows how many are left */
		atomic_fetch_add(&k->gaps, 1);
		break;
	}
	wake(k, true);
	return NULL;
}

/* The source */

/* All of both QPs; a filter for 0 is all of QP 1. */
static const umad_filter_t everything[] = {
	{ .mgmt_class = 0 },
	{ .mgmt_class = CLASS_SUBN_LID },
	{ .mgmt_class = CLASS_SUBN_DIR },
};

static void keep_info(struct kernel_state *k, const osm_snoop_bind_info_t *info)
{
	k->snap_length = info->snap_length;
	k->filter_count = info->filter_count;
	if (info->filter_count) {
		memcpy(k->filters, info->p_filters,
		       info->filter_count * sizeof(k->filters[0]));
	} else {
		k->filter_count = sizeof(everything) / sizeof(everything[0]);
		memcpy(k->filters, everything, sizeof(everything));
	}
	k->sample_count = info->sample_count;
	if (info->sample_count)
		memcpy(k->samples, info->p_samples,
		       info->sample_count * sizeof(k->samples[0]));
}

static ib_api_status_t make_buffers(struct kernel_state *k, size_t ring_size)
{
	uint32_t most;
	int error;

	if (!make_room(k, ROOM)) {
		snoop_error("no memory for a MAD");
		return IB_INSUFFICIENT_MEMORY;
	}
	error = ring_init(&k->ring, ring_size);
	if (error) {
		snoop_error("a ring of %zu bytes: %s", ring_size,
			    strerror(-error));
		return IB_INSUFFICIENT_MEMORY;
	}
	/* what no ring holds is cut, and counted as truncated, not lost */
	most = (uint32_t)(k->ring.size / 2 - RING_LINE -
			  sizeof(struct kernel_record));
	if (!k->snap_length || k->snap_length > most)
		k->snap_length = most;
	return IB_SUCCESS;
}

/* A message is cut to the snap length; its segments have to be whole. */
static ib_api_status_t make_messages(struct kernel_state *k,
				     const osm_snoop_bind_info_t *info)
{
	if ((info->flags & OSM_SNOOP_REASSEMBLE) && k->snap_length < MAD_SIZE)
		k->snap_length = MAD_SIZE;
	return reassembly_init(&k->messages, info);
}

static void kernel_free(struct kernel_state *k)
{
	reassembly_free(&k->messages);
	if (k->port >= 0)
		umad_close_port(k->port);
	ring_free(&k->ring);
	pthread_cond_destroy(&k->more);
	pthread_mutex_destroy(&k->mutex);
	free(k->umad);
	free(k);
}

static ib_api_status_t kernel_source_open(osm_vendor_t *p_vend,
					  const osm_snoop_bind_info_t *info,
					  void **state)
{
	struct kernel_state *k;
	ib_api_status_t status;
	int error;

	k = aligned_alloc(RING_LINE, (sizeof(*k) + RING_LINE - 1) &
					     ~(size_t)(RING_LINE - 1));
	if (!k) {
		snoop_error("no memory for a source");
		return IB_INSUFFICIENT_MEMORY;
	}
	memset(k, 0, sizeof(*k));
	k->p_vend = p_vend;
	k->port = -1;
	pthread_mutex_init(&k->mutex, NULL);
	pthread_cond_init(&k->more, NULL);
	keep_info(k, info);

	if (k->filter_count > AGENTS_MAX) {
		snoop_error("%u filters: source kernel takes at most %d, as many agents as a umad file has",
			    k->filter_count, AGENTS_MAX);
		status = IB_INVALID_PARAMETER;
		goto fail;
	}
	umad_init();
	status = port_choose(k, info);
	if (status == IB_SUCCESS)
		status = port_open(k);
	if (status == IB_SUCCESS)
		status = make_buffers(k, info->ring_size);
	if (status == IB_SUCCESS)
		status = make_messages(k, info);
	if (status != IB_SUCCESS)
		goto fail;
	error = thread_start(&k->receiver, "osmsnoop-umad", receive_all, k);
	if (error) {
		snoop_error("no thread to receive captures: %s",
			    strerror(error));
		status = IB_INSUFFICIENT_RESOURCES;
		goto fail;
	}
	*state = k;
	return IB_SUCCESS;

fail:
	kernel_free(k);
	return status;
}

/* The two ends of a transfer are told apart by the other end and by QP. */
static void fill_peer(struct mad_peer *peer, const struct kernel_record *r)
{
	const osm_mad_addr_t *addr = &r->mad_addr;

	memset(peer, 0, sizeof(*peer));
	peer->lid = cl_ntoh16(addr->dest_lid);
	if (mad_is_smp(r->mad[MAD_CLASS]))
		return;
	peer->qpn = cl_ntoh32(addr->addr_type.gsi.remote_qp);
	peer->has_gid = addr->addr_type.gsi.global_route;
	if (peer->has_gid)
		memcpy(peer->gid, &addr->addr_type.gsi.grh_info.dest_gid,
		       sizeof(peer->gid));
}

static bool reassemble(struct kernel_state *k, const struct kernel_record *r,
		       struct source_capture *capture)
{
	struct mad_capture cap = {
		.data = r->mad,
		.len = r->size,
		.size = r->original_size,
		.time_ns = r->time_ns,
		.mono_ns = r->monotonic_ns,
		.sent = r->sent,
		.completion = r->status == IB_SUCCESS ? MAD_OK : MAD_ERROR,
	};

	fill_peer(&cap.peer, r);
	return reassembly_put(&k->messages, &cap, capture);
}

/*
 * Here a MAD becomes a capture, or a part of one: false. The record is there
 * until the next call of kernel_source_next().
 */
static bool capture_of(struct kernel_state *k, const struct kernel_record *r,
		       struct source_capture *capture)
{
	osm_snoop_info_t *info = &capture->info;

	info->time_ns = r->time_ns;
	info->monotonic_ns = r->monotonic_ns;
	info->direction = r->sent ? OSM_SNOOP_SENT : OSM_SNOOP_RECEIVED;
	info->source = OSM_SNOOP_SOURCE_KERNEL;
	info->original_size = r->original_size;
	info->segments = 1;
	info->reassembled = FALSE;
	info->local_lid = r->local_lid;
	info->port_guid = r->port_guid;
	/* nobody's: a send is captured when it is done, and not once more */
	info->thread = 0;
	memcpy(info->samples, r->samples, sizeof(info->samples));
	capture->mad_addr = r->mad_addr;
	capture->status = r->status;
	capture->mad = r->mad;
	capture->size = r->size;
	k->lost += r->lost;
	if (!reassemble(k, r, capture))
		return false;
	info->lost = k->lost;
	k->lost = 0;
	return true;
}

static void release(struct kernel_state *k)
{
	if (k->record)
		ring_release(&k->ring, k->record);
	k->record = NULL;
}

/* 1 when there is a record, else as next(). */
static int wait_for_record(struct kernel_state *k)
{
	const struct timespec until =
		clock_timespec(clock_ns(CLOCK_MONOTONIC) + WAIT_NS);
	uint32_t len;
	int found;

	pthread_mutex_lock(&k->mutex);
	for (;;) {
		found = ring_peek(&k->ring, &len) ? 1 : k->ended ? -1 : 0;
		if (found || pthread_cond_clockwait(&k->more, &k->mutex,
						    CLOCK_MONOTONIC, &until))
			break;
	}
	pthread_mutex_unlock(&k->mutex);
	return found;
}

static int kernel_source_next(void *state, struct source_capture *capture)
{
	struct kernel_state *k = state;
	unsigned parts = 0;
	uint32_t len;
	int found;

	release(k);
	for (;;) {
		while ((k->record = ring_peek(&k->ring, &len))) {
			if (capture_of(k, k->record, capture))
				return 1;
			release(k);
			/* whoever calls may have a deadline */
			if (++parts == PARTS_MAX)
				return 0;
		}
		found = wait_for_record(k);
		if (found > 0)
			continue;
		reassembly_tick(&k->messages);
		return found;
	}
}

static void kernel_source_stop(void *state)
{
	struct kernel_state *k = state;

	atomic_store(&k->stopped, true);
}

static void kernel_source_get_stats(void *state, osm_snoop_stats_t *stats)
{
	struct kernel_state *k = state;

	stats->seen = atomic_load(&k->seen);
	stats->passed = atomic_load(&k->passed);
	stats->lost_ring = atomic_load(&k->ring_lost);
	stats->gaps = atomic_load(&k->gaps);
	reassembly_get_stats(&k->messages, stats);
	stats->ring_bytes = ring_used(&k->ring);
	stats->ring_size = k->ring.size;
	/* a sent MAD is captured when it is done, so none is in doubt */
	stats->sends_done_ns = clock_ns(CLOCK_MONOTONIC);
}

static void kernel_source_close(void *state, osm_snoop_stats_t *stats)
{
	struct kernel_state *k = state;

	atomic_store(&k->stopped, true);
	pthread_join(k->receiver, NULL);
	reassembly_end(&k->messages);
	kernel_source_get_stats(k, stats);
	kernel_free(k);
}

const struct source source_kernel = {
	.id = OSM_SNOOP_SOURCE_KERNEL,
	.open = kernel_source_open,
	.next = kernel_source_next,
	.stop = kernel_source_stop,
	.get_stats = kernel_source_get_stats,
	.close = kernel_source_close,
};
