/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * sa_fuzz: a hostile client. Sends random and malformed MADs to the SA and
 * to the SM's QP0, the same ones for the same seed and -n.
 *
 * What it leaves out, because ibsim or libumad2sim.so would fall and not
 * OpenSM:
 * - classes other than the SA's and the SM's: libumad2sim.so dereferences a
 *   null pointer on a class that its process did not register, in OpenSM's
 *   process as well as in this one;
 * - directed route hop counts above 60: ibsim writes the path past its end;
 * - SM attributes that ibsim answers itself: OpenSM would never see them, and
 *   a Set changes the simulated hardware;
 * - lengths above 256 and below 24 (libumad2sim.so always sends 256 bytes: a
 *   short MAD arrives with zeros behind it).
 * Base versions other than 1, class versions above 2 and TrapRepress are
 * sent, and end in ibsim: it drops them without an answer. They are few.
 *
 * What plain OpenSM 3.3.23 itself falls over is sent with -a only:
 * - SLtoVLTableRecord queries that name a port which the node does not have:
 *   osm_slvl_rec_rcv_process() reads beyond the node's ports.
 *
 * Set(SMInfo) makes an SM stand by or go to sleep, which ends the test of
 * everything else; -x sends it too.
 */
#include <err.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "umad_client.h"

#define MAX_OUT		32

static struct umad_client client;
static uint16_t sm_lid;
static uint64_t state;
static bool set_sminfo;
static bool crashes;

static struct {
	uint32_t tid;
	uint64_t sent;
} outstanding[MAX_OUT];
static unsigned int busy;

static struct {
	unsigned long sent, sa, sm, dups, answered, back, expired, stray;
} stats;

/* splitmix64: small, and the same everywhere */
static uint64_t rnd(void)
{
	uint64_t z = state += 0x9e3779b97f4a7c15ull;

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9ull;
	z = (z ^ z >> 27) * 0x94d049bb133111ebull;
	return z ^ z >> 31;
}

static uint32_t below(uint32_t n)
{
	return rnd() % n;
}

static bool chance(uint32_t percent)
{
	return below(100) < percent;
}

static void random_bytes(uint8_t *p, size_t n)
{
	while (n--)
		*p++ = rnd();
}

static const uint16_t sa_attrs[] = {
	0x01, 0x02, 0x03, 0x11, 0x12, 0x13, 0x14, 0x15, 0x16, 0x17, 0x18,
	0x20, 0x30, 0x31, 0x33, 0x35, 0x36, 0x38, 0x39, 0x3a, 0x3b, 0xf3,
	0xff02,
};
static const uint8_t sa_methods[] = {
	0x01, 0x02, 0x12, 0x14, 0x15, 0x01, 0x02, 0x12, 0x15, 0x13, 0x03,
	0x05, 0x06, 0x81, 0x86, 0x92, 0x95,
};
/* values near the ends of things */
static const uint64_t edges[] = {
	0, 1, 2, 0x7f, 0x80, 0xff, 0x100, 0x7fff, 0x8000, 0xbfff, 0xc000,
	0xfffe, 0xffff, 0x7fffffff, 0x80000000, 0xffffffff,
	0x7fffffffffffffffull, 0x8000000000000000ull, ~0ull,
};
static const char *const names[] = {
	"\033[2J\033[1;31mred\033]0;title\007", "%s%s%s%n%n%n%x%x", "\r\nok",
	"../../../../etc/passwd", "\"},{\"type\":\"sa\"", "\xff\xfe\xc0\xaf",
	"\x9b" "31m", "\\u0000", "'; drop table x; --", "\xe2\x80\xae" "txt",
	"$(id)`id`", "<script>", "\t\v\f\b\b\b", "",
};

static uint64_t edge(void)
{
	return edges[below(sizeof(edges) / sizeof(edges[0]))];
}

static uint16_t some_lid(void)
{
	switch (below(6)) {
	case 0:
		return client.lid;
	case 1:
		return sm_lid;
	case 2:
		return rnd();
	case 3:
		return edge();
	default:
		return 1 + below(16);
	}
}

static void some_gid(uint8_t *p)
{
	memcpy(p, client.gid, 16);
	if (chance(30))
		put64(p + 8, 0x100001 + 2 * below(8));
	if (chance(20))
		p[0] = 0xff;	/* multicast */
	if (chance(10))
		random_bytes(p, 16);
}

/* a plausible record for an attribute, from which mutation starts */
static void record(uint8_t *d, uint16_t attr)
{
	const char *s;
	size_t i;

	switch (attr) {
	case 0x35:		/* PathRecord */
		some_gid(d + 8);
		some_gid(d + 24);
		put16(d + 40, some_lid());
		put16(d + 42, some_lid());
		put8(d + 49, rnd());
		put16(d + 50, 0xffff);
		break;
	case 0x31:		/* ServiceRecord */
		put64(d, below(16));
		some_gid(d + 8);
		put16(d + 24, 0xffff);
		put32(d + 28, chance(50) ? below(3) : edge());
		s = names[below(sizeof(names) / sizeof(names[0]))];
		memcpy(d + 48, s, strlen(s));
		if (chance(30))		/* no terminator anywhere */
			for (i = strlen(s); i < 64; i++)
				d[48 + i] = 1 + below(255);
		random_bytes(d + 112, 64);
		break;
	case 0x38:		/* MCMemberRecord */
		d[0] = 0xff;
		d[1] = 0x15;
		put16(d + 2, chance(50) ? 0xa01b : 0x401b);
		put32(d + 12, below(16));
		some_gid(d + 16);
		put32(d + 32, below(4));
		put8(d + 38, rnd());
		put16(d + 40, chance(80) ? 0xffff : rnd());
		put8(d + 42, rnd());
		put8(d + 43, rnd());
		put8(d + 48, 0x50 | below(16));
		break;
	case 0x03:		/* InformInfo */
		put16(d + 16, chance(70) ? 0xffff : some_lid());
		put16(d + 18, some_lid());
		put8(d + 22, below(3));
		put8(d + 23, below(3));
		put16(d + 24, chance(70) ? 0xffff : rnd());
		put16(d + 26, chance(50) ? 0xffff : 128 + below(140));
		put32(d + 28, 1 << 8 | 19);
		put32(d + 32, 0xffffff);
		break;
	case 0x3a:		/* MultiPathRecord */
		put8(d + 5, rnd());
		put8(d + 15, below(12));
		put8(d + 16, below(12));
		for (i = 0; i < 10; i++)
			some_gid(d + 24 + 16 * i);
		break;
	case 0xf3:		/* InformInfoRecord */
		some_gid(d);
		break;
	default:
		put16(d, some_lid());
		put8(d + 2, below(40));
		put8(d + 3, below(4));
		put16(d + 4, some_lid());
		if (chance(30))
			random_bytes(d + 8, 64);
	}
}

static void rmpp(uint8_t *m)
{
	put8(m + MAD_RMPP, chance(80) ? 1 : rnd());	/* version */
	put8(m + MAD_RMPP + 1, below(6));		/* type */
	put8(m + MAD_RMPP + 2, rnd());			/* flags */
	put8(m + MAD_RMPP + 3, chance(70) ? 0 : rnd());
	put32(m + MAD_RMPP + 4, chance(50) ? below(4) : edge());
	put32(m + MAD_RMPP + 8, chance(50) ? below(512) : edge());
}

static void mutate(uint8_t *p, size_t from, size_t to)
{
	int n = 1 + below(8);

	while (n--) {
		size_t at = from + below(to - from);

		switch (below(4)) {
		case 0:
			p[at] ^= 1 << below(8);
			break;
		case 1:
			p[at] = rnd();
			break;
		case 2:
			if (at + 8 <= to)
				put64(p + at, edge());
			break;
		case 3:
			if (at + 2 <= to)
				put16(p + at, edge());
			break;
		}
	}
}

static void make_sa(uint8_t *m)
{
	uint16_t attr = sa_attrs[below(sizeof(sa_attrs) / 2)];

	m[MAD_BASE_VERSION] = 1;
	m[MAD_CLASS] = CLASS_SA;
	m[MAD_CLASS_VERSION] = chance(95) ? 2 : below(4);
	m[MAD_METHOD] = chance(90) ? sa_methods[below(sizeof(sa_methods))] :
			rnd();
	if (chance(5))
		put16(m + MAD_STATUS, rnd());
	if (chance(5))
		attr = rnd();
	put16(m + MAD_ATTR, attr);
	if (chance(10))
		put32(m + MAD_ATTR_MOD, edge());
	if (attr == 0x3a && chance(70)) {
		m[MAD_METHOD] = METHOD_GET_MULTI;
		put8(m + MAD_RMPP, 1);
		put8(m + MAD_RMPP + 1, 1);
		put8(m + MAD_RMPP + 2, 0x07);
		put32(m + MAD_RMPP + 4, 1);
		put32(m + MAD_RMPP + 8, 200);
	} else if (chance(15)) {
		rmpp(m);
	}
	if (chance(10))
		put64(m + MAD_SM_KEY, chance(50) ? 1 : edge());
	if (chance(30))
		put16(m + MAD_ATTR_OFFSET, chance(50) ? below(32) : edge());
	put64(m + MAD_COMP_MASK, chance(40) ? rnd() & rnd() & 0x1ffff :
	      chance(50) ? below(256) : chance(50) ? edge() : rnd());
	record(m + MAD_SA_DATA, attr);
	if (chance(30))
		mutate(m, MAD_SA_DATA, MAD_LEN);
	if (chance(10))
		random_bytes(m + MAD_SA_DATA, MAD_LEN - MAD_SA_DATA);
}

static void make_sm(uint8_t *m)
{
	static const uint16_t attrs[] = { 0x20, 0x02, 0x02, 0x02, 0x01 };
	static const uint8_t methods[] = { 0x01, 0x02, 0x05, 0x05, 0x05,
					   0x81, 0x06, 0x03 };
	static const uint16_t numbers[] = { 128, 129, 130, 131, 144, 145, 256,
					    257, 258, 259, 64, 65, 66, 67 };
	uint8_t *d = m + MAD_SMP_DATA;
	uint16_t attr = attrs[below(sizeof(attrs) / 2)];

	m[MAD_BASE_VERSION] = 1;
	m[MAD_CLASS] = CLASS_SM;
	m[MAD_CLASS_VERSION] = chance(95) ? 1 : below(3);
	m[MAD_METHOD] = chance(90) ? methods[below(sizeof(methods))] : rnd();
	if (chance(10))
		/* from 0x40 on nothing is ibsim's but one vendor attribute */
		attr = 0x40 + below(0xff00);
	put16(m + MAD_ATTR, attr);
	if (chance(20))
		put32(m + MAD_ATTR_MOD, edge());
	if (chance(20))
		put64(m + 24, edge());	/* M_Key */
	random_bytes(d, 64);
	if (attr == 0x02) {
		put8(d, (chance(80) ? 0x80 : 0) | below(6));
		put16(d + 4, chance(80) ? numbers[below(14)] : rnd());
		put16(d + 6, some_lid());
		put16(d + 10, some_lid());
		put16(d + 12, some_lid());
	}
	if (attr == 0x20 && (m[MAD_METHOD] & 0x7f) == METHOD_SET &&
	    !set_sminfo)
		m[MAD_METHOD] = METHOD_GET;
}

/* keeps off what the simulator or plain OpenSM would fall over */
static bool allowed(const uint8_t *m)
{
	if (m[MAD_CLASS] != CLASS_SA && m[MAD_CLASS] != CLASS_SM)
		return false;
	if (crashes || m[MAD_CLASS] != CLASS_SA)
		return true;
	/* SLtoVLTableRecord: the components InputPortNum, OutputPortNum */
	if (get16(m + MAD_ATTR) == 0x13 &&
	    get64(m + MAD_COMP_MASK) & 6 &&
	    (m[MAD_SA_DATA + 2] > 1 || m[MAD_SA_DATA + 3] > 1))
		return false;
	return true;
}

static void receive(const struct umad_packet *p)
{
	uint32_t tid = get32(p->mad + MAD_TID + 4);
	int i;

	for (i = 0; i < MAX_OUT; i++)
		if (outstanding[i].tid && outstanding[i].tid == tid)
			break;
	if (i == MAX_OUT) {
		stats.stray++;
		return;
	}
	outstanding[i].tid = 0;
	busy--;
	if (p->status)
		stats.back++;
	else
		stats.answered++;
}

static void drain(int wait_ms, uint64_t expire_us)
{
	struct umad_packet p;
	uint64_t now;
	int i;

	while (umad_client_recv(&client, &p, wait_ms)) {
		receive(&p);
		wait_ms = 0;
	}
	now = now_us();
	for (i = 0; i < MAX_OUT; i++)
		if (outstanding[i].tid &&
		    now - outstanding[i].sent > expire_us) {
			outstanding[i].tid = 0;
			busy--;
			stats.expired++;
		}
}

static void send_one(const uint8_t *m, int len)
{
	int i;

	for (i = 0; outstanding[i].tid; i++)
		;
	/* a TID of zero matches nothing, and expires as 1 */
	outstanding[i].tid = get32(m + MAD_TID + 4);
	if (!outstanding[i].tid)
		outstanding[i].tid = 1;
	outstanding[i].sent = now_us();
	busy++;
	stats.sent++;
	if (umad_client_send(&client, m, len, sm_lid) < 0)
		err(1, "cannot send");
}

static void usage(void)
{
	fprintf(stderr,
"usage: sa_fuzz [options]\n"
"  -d SECONDS    for how long (5)\n"
"  -n COUNT      or how many\n"
"  -s SEED       (random)\n"
"  -l LID        the SM (what the port says)\n"
"  -t MS         wait so long for an answer (20)\n"
"  -w WINDOW     at most so many outstanding (32, the most)\n"
"  -S            nothing to the SM, only to the SA\n"
"  -x            Set(SMInfo) too: can take the SM out of service\n"
"  -a            what is known to crash plain OpenSM 3.3.23 too\n");
	exit(2);
}

int main(int argc, char **argv)
{
	unsigned int window = MAX_OUT;
	unsigned long count = 0;
	double duration = 5, expire = 20;
	uint8_t mad[MAD_LEN], last[MAD_LEN];
	bool only_sa = false, have_last = false;
	uint64_t seed, start;
	int ch, len;

	if (getrandom(&seed, sizeof(seed), 0) < 0)
		err(1, "getrandom");
	seed &= 0xffffffff;
	while ((ch = getopt(argc, argv, "d:n:s:l:t:w:Sxa")) != -1)
		switch (ch) {
		case 'd':
			duration = strtod(optarg, NULL);
			break;
		case 'n':
			count = strtoul(optarg, NULL, 0);
			break;
		case 's':
			seed = strtoull(optarg, NULL, 0);
			break;
		case 'l':
			sm_lid = strtoul(optarg, NULL, 0);
			break;
		case 't':
			expire = strtod(optarg, NULL);
			break;
		case 'w':
			window = strtoul(optarg, NULL, 0);
			break;
		case 'S':
			only_sa = true;
			break;
		case 'a':
			crashes = true;
			break;
		case 'x':
			set_sminfo = true;
			break;
		default:
			usage();
		}
	if (optind != argc || !window || window > MAX_OUT)
		usage();

	umad_client_open(&client);
	if (!sm_lid)
		sm_lid = client.sm_lid;
	if (!sm_lid)
		errx(1, "this port knows no SM yet: use -l");
	/* first of all, so that it is known whatever happens */
	fprintf(stderr, "sa_fuzz: seed %llu\n", (unsigned long long)seed);
	state = seed;

	start = now_us();
	while (!umad_client_stop && (count ? stats.sent < count :
	       now_us() - start < duration * 1e6)) {
		drain(busy < window ? 0 : 1, expire * 1000);
		if (busy >= window)
			continue;
		len = MAD_LEN;
		if (have_last && chance(10)) {
			memcpy(mad, last, MAD_LEN);	/* the same TID too */
			if (chance(50))
				mutate(mad, MAD_METHOD + 1, MAD_LEN);
			stats.dups++;
		} else {
			memset(mad, 0, MAD_LEN);
			if (only_sa || chance(85))
				make_sa(mad);
			else
				make_sm(mad);
			/*
			 * The upper half matters in a forged response only:
			 * it names a client and an agent, OpenSM mostly
			 * being the first client of all.
			 */
			put64(mad + MAD_TID, rnd());
			if (mad[MAD_METHOD] & METHOD_RESPONSE) {
				put16(mad + MAD_TID, below(3));
				put16(mad + MAD_TID + 2, below(8));
			}
			if (chance(3))
				put32(mad + MAD_TID + 4, edge());
			if (chance(1))
				mad[MAD_BASE_VERSION] = rnd();
			if (chance(5))
				len = 24 + below(MAD_LEN - 24);
		}
		if (!allowed(mad))
			continue;
		memcpy(last, mad, MAD_LEN);
		/* a duplicate of an SM's MAD must not become one of ibsim's */
		have_last = mad[MAD_CLASS] == CLASS_SA;
		if (mad[MAD_CLASS] == CLASS_SA)
			stats.sa++;
		else
			stats.sm++;
		send_one(mad, len);
	}
	start = now_us();
	while (busy && now_us() - start < 2 * expire * 1000)
		drain(10, expire * 1000);
	umad_client_close(&client);
	fprintf(stderr, "sa_fuzz: seed %llu sent %lu sa %lu sm %lu dups %lu "
		"answered %lu back %lu expired %lu stray %lu\n",
		(unsigned long long)seed, stats.sent, stats.sa, stats.sm,
		stats.dups, stats.answered, stats.back, stats.expired,
		stats.stray);
	return 0;
}
