/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * ibsim's data socket and the thread that reads it.
 *
 * libumad2sim.so connects a datagram socket to ibsim, hands on only 224
 * bytes of each MAD that comes, finds one file per class, and blocks with its
 * lock held when ibsim does not keep up. So the double takes that socket away
 * from it and leaves it one on which nothing ever comes: MADs of 256 bytes
 * come and go as ibsim carries them. libumad2sim.so still does the rest:
 * sysfs, the device files' names, IsSM.
 *
 * ibsim knows no GRH and no SL. A MAD that has them is preceded by another
 * one of an attribute that nobody uses, with the same TID, which tells of
 * them, and which the double of the receiver takes away. A receiver without
 * the double gets to see it.
 */
#include <arpa/inet.h>
#include <endian.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include <linux/sockios.h>

#include "umad_double.h"

enum {
	BATCH = 32,
	ATTR_ROUTE = 0xff5a,
};

/* ibsim.h; lengths, statuses and QPs are in network order, LIDs too, as 16
 * bits of 32 */
struct sim_request {
	uint32_t dlid;
	uint32_t slid;
	uint32_t dqp;
	uint32_t sqp;
	uint32_t status;
	uint64_t length;
	uint8_t mad[MAD_SIZE];
};
_Static_assert(sizeof(struct sim_request) == 288, "what ibsim expects");

/* the data of an ATTR_ROUTE MAD, from byte 64 on */
struct route {
	char magic[8];
	uint32_t flow_label;
	uint8_t grh_present;
	uint8_t sl;
	uint8_t hop_limit;
	uint8_t traffic_class;
	uint8_t gid[16];		/* of the sender */
};
#define ROUTE_AT 64
#define ROUTE_MAGIC "umaddbl"

struct tx {
	TAILQ_ENTRY(tx) link;
	struct sim_request req;
};

static int sock = -1;
static int wake = -1;
static unsigned int client;
static pid_t owner;
static _Thread_local bool is_thread;
static uint64_t next_deadline = NEVER;
static TAILQ_HEAD(, tx) queue = TAILQ_HEAD_INITIALIZER(queue);
static uint8_t own_gid[16];
static unsigned int rand_state;

/* routes that wait for their MADs; the oldest gives way */
static struct {
	uint64_t tid;
	uint32_t slid;
	uint32_t sqp;
	struct route route;
} routes[16];
static unsigned int next_route;

uint64_t wire_now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000 + (uint64_t)ts.tv_nsec / 1000000;
}

bool wire_taken(void)
{
	/* a child has the sockets and not the thread */
	return sock >= 0 && owner == getpid();
}

uint64_t wire_tid(uint64_t tid, uint16_t hi)
{
	/* ibsim writes the client's number itself, too */
	return (uint64_t)client << 48 | (uint64_t)hi << 32 |
	       (tid & 0xffffffff);
}

static void wake_thread(void)
{
	uint64_t one = 1;

	if (!is_thread && next_write(wake, &one, sizeof(one)) < 0)
		abort();
}

void wire_wake_at(uint64_t deadline)
{
	if (deadline >= next_deadline)
		return;
	next_deadline = deadline;
	wake_thread();
}

/*
 * Sending
 */

/* Returns false when ibsim cannot take it now. */
static bool try_send(const struct sim_request *req)
{
	int flags = MSG_DONTWAIT | MSG_NOSIGNAL;

	return send(sock, req, sizeof(*req), flags) >= 0 ||
	       (errno != EAGAIN && errno != EINTR);
}

static void flush_queue(void)
{
	struct tx *tx;

	while ((tx = TAILQ_FIRST(&queue)) && try_send(&tx->req)) {
		TAILQ_REMOVE(&queue, tx, link);
		free(tx);
	}
}

static void transmit(const struct sim_request *req)
{
	struct tx *tx;

	if (TAILQ_EMPTY(&queue) && try_send(req))
		return;
	tx = malloc(sizeof(*tx));
	if (!tx)
		abort();
	tx->req = *req;
	TAILQ_INSERT_TAIL(&queue, tx, link);
	wake_thread();
}

static bool by_chance(unsigned int percent)
{
	return percent && (unsigned int)rand_r(&rand_state) % 100 < percent;
}

/* How often a MAD arrives that was sent: 0, 1 or 2 times. */
static unsigned int arrivals(const uint8_t *mad)
{
	if (!class_has_rmpp(mad[MAD_CLASS]) ||
	    !(mad[MAD_RMPP_FLAGS] & RMPP_ACTIVE))
		return 1;
	switch (mad[MAD_RMPP_TYPE]) {
	case RMPP_DATA:
		if (by_chance(options.drop))
			return 0;
		return by_chance(options.repeat) ? 2 : 1;
	case RMPP_ACK:
		return !by_chance(options.drop_ack);
	default:
		return 1;
	}
}

static void send_route(const struct ib_user_mad_hdr *hdr,
		       const struct sim_request *req)
{
	struct route route = { ROUTE_MAGIC, hdr->flow_label, hdr->grh_present,
			       hdr->sl, hdr->hop_limit, hdr->traffic_class,
			       { 0 } };
	struct sim_request r = *req;

	memcpy(route.gid, own_gid, sizeof(route.gid));
	memset(r.mad + MAD_HDR_SIZE, 0, MAD_SIZE - MAD_HDR_SIZE);
	r.mad[MAD_ATTR] = ATTR_ROUTE >> 8;
	r.mad[MAD_ATTR + 1] = ATTR_ROUTE & 0xff;
	memcpy(r.mad + ROUTE_AT, &route, sizeof(route));
	transmit(&r);
}

void wire_send(const struct ib_user_mad_hdr *hdr, const uint8_t *mad)
{
	struct sim_request req = {
		.dlid = hdr->lid,
		/* 0: ibsim knows */
		.slid = hdr->lid == 0xffff ? 0xffff : 0,
		.dqp = hdr->qpn,
		.sqp = htonl(mad_qpn(mad)),
		.length = htobe64(MAD_SIZE),
	};
	unsigned int times = arrivals(mad);

	memcpy(req.mad, mad, MAD_SIZE);
	/* first, so that it cannot come after the answer */
	snoop(hdr, mad, true, WC_SUCCESS);
	if (times && mad_qpn(mad) && (hdr->grh_present || hdr->sl))
		send_route(hdr, &req);
	while (times--)
		transmit(&req);
}

/*
 * Receiving
 */
static bool take_route(const struct sim_request *req)
{
	if (!mad_qpn(req->mad) || get16(req->mad + MAD_ATTR) != ATTR_ROUTE ||
	    memcmp(req->mad + ROUTE_AT, ROUTE_MAGIC, sizeof(ROUTE_MAGIC)))
		return false;
	if (req->status)
		return true;
	routes[next_route].tid = get64(req->mad + MAD_TID);
	routes[next_route].slid = req->slid;
	routes[next_route].sqp = req->sqp;
	memcpy(&routes[next_route].route, req->mad + ROUTE_AT,
	       sizeof(struct route));
	next_route = (next_route + 1) % ARRAY_LEN(routes);
	return true;
}

static void set_route(struct rx *rx, const struct sim_request *req)
{
	struct route *route;
	size_t i;

	for (i = 0; i < ARRAY_LEN(routes); i++)
		if (routes[i].route.magic[0] &&
		    routes[i].tid == get64(req->mad + MAD_TID) &&
		    routes[i].slid == req->slid && routes[i].sqp == req->sqp)
			break;
	if (i == ARRAY_LEN(routes))
		return;
	route = &routes[i].route;
	rx->hdr.sl = route->sl;
	rx->hdr.grh_present = route->grh_present;
	if (route->grh_present) {
		rx->hdr.hop_limit = route->hop_limit;
		rx->hdr.traffic_class = route->traffic_class;
		rx->hdr.flow_label = route->flow_label;
		memcpy(rx->hdr.gid, route->gid, sizeof(rx->hdr.gid));
	}
	route->magic[0] = 0;
}

static void receive(const struct sim_request *req)
{
	struct rx rx = { .hdr.qpn = req->sqp, .hdr.lid = (uint16_t)req->slid };

	if (take_route(req))
		return;
	if (req->status) {
		file_undeliverable(req->mad);
		return;
	}
	memcpy(rx.mad, req->mad, MAD_SIZE);
	set_route(&rx, req);
	file_receive(&rx);
}

/* Returns false when it could not read. */
static bool receive_batch(void)
{
	static struct sim_request req[BATCH];
	static struct iovec iov[BATCH];
	static struct mmsghdr msg[BATCH];
	int i, n, state;

	for (i = 0; i < BATCH; i++) {
		iov[i].iov_base = &req[i];
		iov[i].iov_len = sizeof(req[i]);
		msg[i].msg_hdr.msg_iov = &iov[i];
		msg[i].msg_hdr.msg_iovlen = 1;
	}
	n = recvmmsg(sock, msg, BATCH, MSG_DONTWAIT, NULL);
	if (n < 0)
		return errno == EAGAIN || errno == EINTR;
	double_lock(&state);
	for (i = 0; i < n; i++)
		if (msg[i].msg_len == sizeof(req[i]))
			receive(&req[i]);
	double_unlock(state);
	return true;
}

/* Whatever is due. Returns how long there is nothing to do. */
static int timers(struct timespec *ts)
{
	uint64_t now = wire_now(), next;

	if (now >= next_deadline) {
		next_deadline = NEVER;
		next = file_timers(now);
		if (next < next_deadline)
			next_deadline = next;
	}
	if (next_deadline == NEVER)
		return -1;
	now = wire_now();
	next = next_deadline > now ? next_deadline - now : 0;
	ts->tv_sec = (time_t)(next / 1000);
	ts->tv_nsec = (long)(next % 1000) * 1000000;
	return 0;
}

static void *run(void *arg)
{
	struct pollfd fds[2] = {
		{ .fd = sock }, { .fd = wake, .events = POLLIN },
	};
	struct timespec ts = { 0 }, pause = { 0, 10000000 };
	bool forever;
	uint64_t n;
	int state;

	(void)arg;
	is_thread = true;
	for (;;) {
		double_lock(&state);
		forever = timers(&ts) < 0;
		flush_queue();
		fds[0].events = POLLIN;
		if (!TAILQ_EMPTY(&queue))
			fds[0].events |= POLLOUT;
		double_unlock(state);
		/* poll() is libumad2sim.so's, which waits for its lock */
		if (ppoll(fds, 2, forever ? NULL : &ts, NULL) <= 0)
			continue;
		if (fds[1].revents && next_read(wake, &n, sizeof(n)) < 0)
			abort();
		/* without ibsim there is nothing to wait for, but time-outs */
		if ((fds[0].revents & ~POLLOUT) && !receive_batch())
			nanosleep(&pause, NULL);
	}
	return NULL;
}

static void start_thread(void)
{
	pthread_t thread;
	sigset_t all, old;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	if (pthread_create(&thread, NULL, run, NULL))
		abort();
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	pthread_setname_np(thread, "umad_double");
	pthread_detach(thread);
}

/* The port's first GID, which libumad2sim.so keeps in a file of its own. */
void wire_read_gid(void)
{
	char text[64];
	ssize_t n;
	int fd;

	fd = next_open("/sys/class/infiniband/ibsim0/ports/1/gids/0", O_RDONLY,
		       0);
	if (fd < 0)
		return;
	n = next_read(fd, text, sizeof(text) - 1);
	next_close(fd);
	if (n <= 0)
		return;
	text[n] = '\0';
	text[strcspn(text, "\n")] = '\0';
	if (inet_pton(AF_INET6, text, own_gid) != 1 || own_gid[0])
		return;
	/* before the SM has come: a real port starts with fe80:: */
	own_gid[0] = 0xfe;
	own_gid[1] = 0x80;
}

void wire_take(int fd, unsigned int number)
{
	int pair[2];

	if (sock >= 0)
		return;
	rand_state = options.seed;
	client = number;
	owner = getpid();
	wake = eventfd(0, EFD_CLOEXEC);
	sock = fcntl(fd, F_DUPFD_CLOEXEC, 3);
	/* the other end stays open, or fd would be readable for ever */
	if (wake < 0 || sock < 0 ||
	    socketpair(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0, pair) < 0 ||
	    dup2(pair[0], fd) < 0)
		abort();
	next_close(pair[0]);
	start_thread();
}

/*
 * A program that ends disconnects from ibsim, which then leaves in its socket
 * what it has not read, for the next client with this number.
 */
void wire_drain(void)
{
	struct timespec pause = { 0, 1000000 };
	uint64_t end = wire_now() + 1000;
	int state, n = 1;
	bool empty;

	while (wire_now() < end) {
		double_lock(&state);
		empty = TAILQ_EMPTY(&queue);
		double_unlock(state);
		if (empty && (next_ioctl(sock, SIOCOUTQ, &n) < 0 || !n))
			return;
		nanosleep(&pause, NULL);
	}
}
