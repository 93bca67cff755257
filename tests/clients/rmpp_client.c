/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * rmpp_client: what the double of the kernel (tests/double) does, seen
 * through libibumad: RMPP in both directions and the snoop registration.
 *
 *	rmpp_client [-s FILTER]... [-t MS] [-r N] [-g] [-f] [-i]
 *		bad|table|smp|serve|multi BYTES|nobody
 *
 * bad: what is to be refused, one line each. table: GetTable of all
 * NodeRecords. smp: a directed route query. serve: answers SubnAdmGetMulti
 * with what it got, each byte inverted, until SIGTERM (SIM_SET_ISSM=1 lets
 * ibsim deliver requests to it). multi: such a request of so many bytes to
 * the LID in $SERVER. nobody: a query that is sent nowhere.
 *
 * -s: an agent that snoops, CLASS[,VERSION[,ATTRIBUTE[,ERRORS[,OUI]]]] in hex.
 * -g: with a GRH and service level 3. -f: on a second umad file. -i: takes
 * the agent away as soon as it has sent its request.
 *
 * A line a snooped MAD: "snoop AGENT sent|received STATUS CLASS METHOD
 * ATTRIBUTE TYPE FLAGS SEGMENT PAYLEN LID QPN TIMEOUT RETRIES GRH SL". The
 * data of snooped segments is put together and compared with the answer.
 */
#include <err.h>
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <infiniband/umad.h>

#include "umad_client.h"

/* rdma/ib_user_mad.h, which does not go together with umad.h */
#define UMAD_REGISTER	_IOC(_IOC_READ | _IOC_WRITE, 0x1b, 1, 28)
#define UMAD_UNREGISTER	_IOW(0x1b, 2, uint32_t)
#define UMAD_PKEY	_IO(0x1b, 3)

enum {
	DATA = 56,		/* of an SA MAD */
	SEG = MAD_LEN - DATA,
	MAX_AGENT = 32,
	FIRST = 64,		/* bytes of a umad header */
};

static int port, snoop_port, sa;
static umad_port_t info;
static bool with_grh, interrupted;
static int timeout_ms = 20000, retries;
static uint8_t *segs;		/* data of snooped segments that came */
static size_t segs_len;
static int first_snooper = -1;

static void on_signal(int sig)
{
	(void)sig;
	umad_client_stop = true;
}

static int register_raw(int fd, uint8_t qpn, const unsigned long f[5],
			uint32_t *id)
{
	/* 28 bytes: id, the filter in the mask's place, qpn, class, version,
	 * OUI, RMPP version */
	uint8_t req[28] = { 0 };
	uint16_t attr = (uint16_t)f[2];
	int rc;

	memcpy(req + 4, &attr, 2);
	req[6] = (uint8_t)f[3];
	req[20] = qpn;
	req[21] = (uint8_t)f[0];
	req[22] = (uint8_t)f[1];
	req[23] = (uint8_t)(f[4] >> 16);
	req[24] = (uint8_t)(f[4] >> 8);
	req[25] = (uint8_t)f[4];
	rc = ioctl(fd, UMAD_REGISTER, req);
	memcpy(id, req, 4);
	return rc;
}

static void register_snooper(const char *text)
{
	unsigned long f[5] = { 0 };
	char *end = (char *)text;
	uint32_t id;
	int i;

	for (i = 0; i < 5 && *end; i++, end += *end == ',')
		f[i] = strtoul(end, &end, 16);
	if (register_raw(snoop_port, f[0] == 1 || f[0] == 0x81 ? 0x80 : 0x81,
			 f, &id) < 0)
		errx(3, "snoop registration refused: %s", strerror(errno));
	if (first_snooper < 0)
		first_snooper = (int)id;
	printf("registered %u\n", id);
}

static void snooped(int agent, const ib_user_mad_t *h,
		    const uint8_t *mad)
{
	bool sent = h->addr.reserved[0] == 1;
	uint32_t seg = get32(mad + 28), paylen = get32(mad + 32);

	printf("snoop %d %s %u %02x %02x %04x %u %u %u %u %u %u %u %u %u %u\n",
	       agent, sent ? "sent" : "received", h->status, mad[MAD_CLASS],
	       mad[MAD_METHOD], get16(mad + MAD_ATTR), mad[25], mad[26] & 7,
	       seg, paylen, be16toh(h->addr.lid), be32toh(h->addr.qpn),
	       h->timeout_ms, h->retries, h->addr.grh_present, h->addr.sl);
	if (sent || agent != first_snooper || mad[MAD_CLASS] != CLASS_SA ||
	    !(mad[26] & 1) || mad[25] != 1 || !seg || seg > 1 << 20)
		return;
	if (seg * SEG > segs_len) {
		segs = realloc(segs, seg * SEG);
		segs_len = seg * SEG;
	}
	memcpy(segs + (seg - 1) * SEG, mad + DATA, SEG);
}

/* Returns a MAD of the SA agent, its length in *len; NULL after so long. */
static uint8_t *receive(int fd, int ms, int *len)
{
	uint64_t end = now_us() + ms * 1000ull;
	static uint8_t *umad;
	static int size;
	int agent;

	if (!umad)
		umad = umad_alloc(1, FIRST + (size = MAD_LEN));
	while (!umad_client_stop && now_us() < end) {
		*len = size;
		/* a short time, so that a signal is seen */
		if (umad_poll(fd, 50) < 0)
			continue;
		agent = umad_recv(fd, umad, len, 0);
		if (agent == -ENOSPC && *len > size) {
			umad_free(umad);
			umad = umad_alloc(1, FIRST + (size = *len));
			continue;
		}
		if (agent < 0)
			errx(1, "umad_recv: %s", strerror(errno));
		if (fd == port && agent == sa)
			return umad;
		snooped(agent, (void *)umad, umad + FIRST);
	}
	return NULL;
}

static void drain_snooped(void)
{
	int len;

	while (first_snooper >= 0 && receive(snoop_port, 100, &len))
		;
}

static void address(uint8_t *umad, uint16_t lid)
{
	ib_mad_addr_t grh = { .hop_limit = 5, .traffic_class = 6,
			      .flow_label = 0x12345, .grh_present = 1 };

	umad_set_addr(umad, lid, 1, with_grh ? 3 : 0, 0x80010000);
	if (with_grh) {
		memcpy(grh.gid, &info.gid_prefix, 8);
		grh.gid[15] = 1;
		umad_set_grh(umad, &grh);
	}
}

static uint8_t *request(uint8_t method, uint16_t attr, size_t data)
{
	uint8_t *umad = umad_alloc(1, FIRST + DATA + data + MAD_LEN);
	uint8_t *mad = umad + FIRST;

	mad[MAD_BASE_VERSION] = 1;
	mad[MAD_CLASS] = CLASS_SA;
	mad[MAD_CLASS_VERSION] = 2;
	mad[MAD_METHOD] = method;
	put64(mad + MAD_TID, (uint64_t)getpid());
	put16(mad + MAD_ATTR, attr);
	return umad;
}

/* Returns the answer, or the time-out; NULL for neither. */
static uint8_t *ask(uint8_t *umad, int size, uint16_t lid, int *len)
{
	uint8_t *answer;

	address(umad, lid);
	if (umad_send(port, sa, umad, size, timeout_ms, retries) < 0)
		errx(1, "umad_send: %s", strerror(errno));
	umad_free(umad);
	if (interrupted) {
		umad_unregister(port, sa);
		return NULL;
	}
	answer = receive(port, timeout_ms * (retries + 1) + 3000, len);
	if (!answer) {
		printf("no answer\n");
	} else if (umad_status(answer)) {
		printf("status %d length %d\n", umad_status(answer), *len);
		answer = NULL;
	}
	return answer;
}

static void compare(const uint8_t *answer, int len)
{
	uint8_t *copy = malloc(len);

	memcpy(copy, answer, len);
	drain_snooped();
	if (first_snooper >= 0)
		printf("segments %s\n", segs_len >= (size_t)len - DATA &&
		       !memcmp(segs, copy + DATA, len - DATA) ? "agree" :
		       "differ");
	free(copy);
}

static void print_address(void *umad)
{
	const ib_mad_addr_t *addr = umad_get_mad_addr(umad);

	printf("from lid %u qpn %u sl %u", be16toh(addr->lid),
	       be32toh(addr->qpn), addr->sl);
	if (addr->grh_present)
		printf(" grh %016llx%016llx %u %u 0x%x",
		       (unsigned long long)get64(addr->gid),
		       (unsigned long long)get64(addr->gid + 8),
		       addr->hop_limit, addr->traffic_class,
		       be32toh(addr->flow_label));
	printf("\n");
}

static int table(void)
{
	uint8_t *umad = request(METHOD_GET_TABLE, 0x11, 0), *mad;
	int len, step;

	umad = ask(umad, MAD_LEN, info.sm_lid, &len);
	if (!umad) {
		drain_snooped();
		return 1;
	}
	mad = umad + FIRST;
	step = get16(mad + MAD_ATTR_OFFSET) * 8;
	printf("answer %d bytes, %d records\n", len,
	       step ? (len - DATA) / step : 0);
	print_address(umad);
	compare(mad, len);
	return 0;
}

static int multi(int size)
{
	uint8_t *umad = request(METHOD_GET_MULTI, 0x3a, size), *mad, *copy;
	int i, len;

	copy = malloc(size);
	mad = umad + FIRST;
	mad[25] = 1;
	mad[26] = 1;	/* RMPP is active */
	for (i = 0; i < size; i++)
		mad[DATA + i] = copy[i] = (uint8_t)(i * 7 + i / 251);
	umad = ask(umad, DATA + size, atoi(getenv("SERVER")), &len);
	if (!umad) {
		drain_snooped();
		free(copy);
		return 1;
	}
	mad = umad + FIRST;
	for (i = 0; i < size && DATA + i < len; i++)
		if (mad[DATA + i] + copy[i] != 0xff)
			break;
	printf("answer %d bytes, %s\n", len - DATA,
	       i == size ? "right" : "wrong");
	print_address(umad);
	compare(mad, len);
	free(copy);
	return 0;
}

/* a directed route query of no hops, to the own port */
static int smp(void)
{
	int dr = umad_register(port, CLASS_SM_DR, 1, 0, NULL);
	uint8_t *umad = umad_alloc(1, FIRST + MAD_LEN), *mad = umad + FIRST;

	mad[MAD_BASE_VERSION] = 1;
	mad[MAD_CLASS] = CLASS_SM_DR;
	mad[MAD_CLASS_VERSION] = 1;
	mad[MAD_METHOD] = METHOD_GET;
	put64(mad + MAD_TID, 1);
	put16(mad + MAD_ATTR, 0x11);
	put32(mad + 32, 0xffffffff);	/* permissive LIDs */
	umad_set_addr(umad, 0xffff, 0, 0, 0);
	if (dr < 0 || umad_send(port, dr, umad, MAD_LEN, timeout_ms, 0) < 0)
		errx(1, "cannot send");
	umad_free(umad);
	sa = dr;	/* whose answer is waited for */
	dr = 0;
	umad = receive(port, timeout_ms, &dr);
	printf("answer %d bytes, method %02x\n", dr,
	       umad ? umad[FIRST + MAD_METHOD] : 0);
	drain_snooped();
	return 0;
}

static int serve(void)
{
	uint8_t *umad, *mad;
	int i, len;

	printf("serving\n");
	fflush(stdout);
	while (!umad_client_stop) {
		umad = receive(port, 1000, &len);
		if (!umad)
			continue;
		if (umad_status(umad)) {
			printf("status %d\n", umad_status(umad));
			continue;
		}
		mad = umad + FIRST;
		printf("request %d bytes\n", len - DATA);
		fflush(stdout);
		if (mad[MAD_METHOD] != METHOD_GET_MULTI)
			continue;
		mad[MAD_METHOD] |= METHOD_RESPONSE;
		for (i = DATA; i < len; i++)
			mad[i] ^= 0xff;
		umad_set_pkey(umad, 0);
		if (umad_send(port, sa, umad, len, 0, 3) < 0)
			printf("send: %s\n", strerror(errno));
	}
	drain_snooped();
	return 0;
}

static void is_errno(const char *what, long rc, int wanted)
{
	int e = errno;

	if (rc < 0 && e == wanted)
		printf("ok %s\n", what);
	else
		printf("bad %s: %ld %s\n", what, rc, rc < 0 ? strerror(e) : "");
}

static void wrong_registrations(void)
{
	static const unsigned long f[5] = { CLASS_SA };
	uint32_t id = 99, i, n;

	is_errno("qpn 2", register_raw(port, 2, f, &id), EINVAL);
	is_errno("qpn 0x7f", register_raw(port, 0x7f, f, &id), EINVAL);
	is_errno("qpn 0x82", register_raw(port, 0x82, f, &id), EINVAL);
	is_errno("qpn 0xff", register_raw(port, 0xff, f, &id), EINVAL);
	is_errno("pkey too late", ioctl(port, UMAD_PKEY), EINVAL);
	is_errno("ioctl 99", ioctl(port, _IO(0x1b, 99)), ENOTTY);
	id = 32;
	is_errno("unregister 32",
		 ioctl(port, UMAD_UNREGISTER, &id), EINVAL);
	id = 31;
	is_errno("unregister nobody",
		 ioctl(port, UMAD_UNREGISTER, &id), EINVAL);

	/* the SA agent is 0 */
	for (i = 1; !register_raw(port, 0x81, f, &id); i++)
		if (id != i)
			printf("bad id %u, wanted %u\n", id, i);
	is_errno("a 33rd agent", -1, ENOMEM);
	n = i;
	id = 7;
	ioctl(port, UMAD_UNREGISTER, &id);
	if (register_raw(port, 0x81, f, &id) || id != 7)
		printf("bad free id %u\n", id);
	printf("agents %u\n", n);
	for (i = 1; i < n; i++)
		ioctl(port, UMAD_UNREGISTER, &i);
}

static void wrong_writes(void)
{
	uint8_t *umad = request(METHOD_GET, 0x11, 1000);
	const unsigned long f[5] = { 0 };
	uint32_t id;

	address(umad, info.sm_lid);
	is_errno("write of nothing", write(port, umad, 0), EINVAL);
	is_errno("write of a header", write(port, umad, FIRST), EINVAL);
	is_errno("write of 35 bytes", write(port, umad, FIRST + 35), EINVAL);
	is_errno("write of 55 bytes", write(port, umad, FIRST + 55), EINVAL);
	is_errno("257 bytes, not RMPP", write(port, umad, FIRST + 257), EINVAL);
	((ib_user_mad_t *)umad)->agent_id = 32;
	is_errno("agent 32", write(port, umad, FIRST + MAD_LEN), EINVAL);
	((ib_user_mad_t *)umad)->agent_id = 31;
	is_errno("nobody's agent", write(port, umad, FIRST + MAD_LEN), EIO);
	register_raw(port, 0x81, f, &id);
	((ib_user_mad_t *)umad)->agent_id = id;
	is_errno("an agent that snoops", write(port, umad, FIRST + MAD_LEN),
		 EINVAL);
	ioctl(port, UMAD_UNREGISTER, &id);
	((ib_user_mad_t *)umad)->agent_id = sa;
	umad[FIRST + MAD_CLASS] = CLASS_SM;
	is_errno("an SMP of an agent with RMPP",
		 write(port, umad, FIRST + MAD_LEN), EINVAL);
	umad_free(umad);
}

/* one table waits to be read */
static void wrong_reads(void)
{
	struct pollfd p = { .fd = port, .events = POLLIN };
	uint8_t *umad = request(METHOD_GET_TABLE, 0x11, 0), *big;
	ib_user_mad_t *h;
	long n;

	is_errno("read of nothing there", read(port, umad, FIRST + MAD_LEN),
		 EAGAIN);
	printf("poll %d\n", poll(&p, 1, 0));
	address(umad, info.sm_lid);
	umad_send(port, sa, umad, MAD_LEN, 5000, 0);
	is_errno("the same TID again", umad_send(port, sa, umad, MAD_LEN, 5000,
						 0) ? -1 : 0, EINVAL);
	printf("poll %d\n", poll(&p, 1, 5000));
	is_errno("read of less than a header", read(port, umad, FIRST - 1),
		 EINVAL);
	is_errno("read of less than a MAD",
		 read(port, umad, FIRST + MAD_LEN - 1), EINVAL);
	is_errno("read of one MAD", read(port, umad, FIRST + MAD_LEN), ENOSPC);
	h = (ib_user_mad_t *)umad;
	big = malloc(h->length);
	is_errno("read of a byte too little", read(port, big, h->length - 1),
		 ENOSPC);
	printf("poll %d\n", poll(&p, 1, 0));
	n = read(port, big, h->length);
	printf("%s read of all\n", n == h->length ? "ok" : "bad");
	printf("%s the first MAD is the same\n",
	       memcmp(big + FIRST, umad + FIRST, MAD_LEN) ? "bad" : "ok");
	printf("poll %d\n", poll(&p, 1, 0));
	free(big);
	umad_free(umad);
}

static int bad(void)
{
	wrong_registrations();
	wrong_writes();
	wrong_reads();
	close(port);
	is_errno("read after close", read(port, &sa, sizeof(sa)), EBADF);
	return 0;
}

static void open_all(bool second_file)
{
	long methods[16 / sizeof(long)] = { 1l << METHOD_GET_MULTI };

	if (umad_init() < 0 || umad_get_port(NULL, 0, &info) < 0)
		errx(1, "no umad port");
	port = umad_open_port(info.ca_name, info.portnum);
	if (port < 0)
		errx(1, "cannot open the umad port");
	snoop_port = second_file ? umad_open_port(info.ca_name, info.portnum) :
				   port;
	sa = umad_register(port, CLASS_SA, 2, 1, methods);
	if (sa < 0 || snoop_port < 0)
		errx(1, "cannot register with the umad port");
}

int main(int argc, char **argv)
{
	struct sigaction sa_stop = { .sa_handler = on_signal };
	const char *filters[MAX_AGENT], *mode;
	bool second_file = false;
	int o, i, n = 0, rc = 2;

	while ((o = getopt(argc, argv, "s:t:r:gfi")) != -1)
		switch (o) {
		case 's': filters[n++ % MAX_AGENT] = optarg; break;
		case 't': timeout_ms = atoi(optarg); break;
		case 'r': retries = atoi(optarg); break;
		case 'g': with_grh = true; break;
		case 'f': second_file = true; break;
		case 'i': interrupted = true; break;
		default: return 2;
		}
	mode = argv[optind] ? argv[optind] : "";
	sigaction(SIGTERM, &sa_stop, NULL);
	sigaction(SIGINT, &sa_stop, NULL);
	open_all(second_file);
	for (i = 0; i < n; i++)
		register_snooper(filters[i]);
	if (!strcmp(mode, "bad"))
		return bad();
	if (!strcmp(mode, "table"))
		rc = table();
	else if (!strcmp(mode, "smp"))
		rc = smp();
	else if (!strcmp(mode, "serve"))
		rc = serve();
	else if (!strcmp(mode, "multi") && argv[optind + 1])
		rc = multi(atoi(argv[optind + 1]));
	else if (!strcmp(mode, "nobody"))
		info.sm_lid = 0xbfff, rc = table();
	umad_release_port(&info);
	umad_close_port(port);
	return rc;
}
