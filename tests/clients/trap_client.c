/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * trap_client: sends traps to the SM, and can subscribe to the Reports that
 * the SM makes of them.
 *
 * Every trap carries details that tell it from the others. The SM's
 * TrapRepress never comes back: ibsim drops that method.
 *
 * ibsim hands a request only to a client that calls itself an SM, so that
 * Reports reach nobody else: without that OpenSM's Report fails at once with
 * a time-out (that is -r none). With -r answer and -r ignore the program opens
 * its port's issm device. OpenSM then finds an SM there at its next sweep
 * and asks it for its SMInfo, for ever, since ibsim has no time-outs; so that
 * is answered here, in the state NOT-ACTIVE. What -r ignore does not answer
 * stays outstanding at OpenSM until OpenSM ends.
 */
#include <err.h>
#include <fcntl.h>
#include <getopt.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <infiniband/umad.h>

#include "umad_client.h"

static struct umad_client client;
static uint16_t sm_lid;
static uint32_t tid = 0x7a900001;

static struct {
	unsigned long traps, undeliverable, reports, answered, sminfo;
} stats;

enum reports { REPORTS_OFF, REPORTS_NONE, REPORTS_ANSWER, REPORTS_IGNORE };

/* IBA 14.2.5.1: type and producer by trap number */
static const struct {
	uint16_t number;
	uint8_t type, producer;
} traps[] = {
	{ 128, 1, 2 }, { 129, 1, 1 }, { 130, 1, 1 }, { 131, 1, 1 },
	{ 144, 4, 1 }, { 145, 4, 1 }, { 256, 2, 1 }, { 257, 2, 1 },
	{ 258, 2, 1 }, { 259, 2, 2 },
};
#define N_TRAPS (sizeof(traps) / sizeof(traps[0]))

static void details(uint16_t number, uint8_t *d)
{
	switch (number) {
	case 128:		/* link state of a switch */
		put16(d, client.lid);
		break;
	case 129:		/* link integrity, overrun, watchdog */
	case 130:
	case 131:
		put16(d + 2, client.lid);
		put8(d + 4, 1);
		break;
	case 144:		/* capability mask and others */
		put16(d + 2, client.lid);
		put8(d + 5, 1);
		put32(d + 6, 0x02510a68);
		put16(d + 10, 0x0001);	/* the node description changed */
		break;
	case 145:		/* system image GUID */
		put16(d + 2, client.lid);
		put64(d + 6, 0x5150145014501450ull);
		break;
	case 256:		/* bad M_Key */
		put16(d + 2, client.lid);
		put16(d + 4, 0xffff);
		put8(d + 6, METHOD_SET);
		put16(d + 8, 0x0015);
		put32(d + 10, 0x00000256);
		put64(d + 14, 0x0256025602560256ull);
		break;
	case 257:		/* bad P_Key, bad Q_Key */
	case 258:
		put16(d + 2, client.lid);
		put16(d + 4, sm_lid);
		put32(d + 6, number == 257 ? 0x00007257 : 0x80010258);
		put32(d + 10, 0x30000000 | number << 4 | 1);
		put32(d + 14, number << 4 | 2);
		memcpy(d + 18, client.gid, 16);
		memcpy(d + 34, client.gid, 16);
		d[49] ^= 0x40;
		break;
	case 259:		/* bad P_Key at a switch */
		put16(d, 0xffff);
		put16(d + 2, client.lid);
		put16(d + 4, sm_lid);
		put16(d + 6, 0x7259);
		put32(d + 8, 0x30000000 | 0x2591);
		put32(d + 12, 0x2592);
		memcpy(d + 16, client.gid, 16);
		memcpy(d + 32, client.gid, 16);
		d[47] ^= 0x40;
		put16(d + 48, client.lid);
		put8(d + 50, 7);
		break;
	}
}

static void send_mad(const uint8_t *mad, uint16_t lid)
{
	if (umad_client_send(&client, mad, MAD_LEN, lid) < 0)
		err(1, "cannot send");
}

static void send_trap(uint16_t number)
{
	uint8_t mad[MAD_LEN] = { 1, CLASS_SM, 1, METHOD_TRAP };
	uint8_t *n = mad + MAD_SMP_DATA, type = 4, producer = 1;
	size_t i;

	for (i = 0; i < N_TRAPS; i++)
		if (traps[i].number == number) {
			type = traps[i].type;
			producer = traps[i].producer;
		}
	put32(mad + MAD_TID + 4, tid++);
	put16(mad + MAD_ATTR, 0x02);		/* Notice */
	if (number) {
		put8(n, 0x80 | type);
		put8(n + 3, producer);
		put16(n + 4, number);
	} else {
		put8(n, type);
		put8(n + 1, 0x00);		/* vendor */
		put16(n + 2, 0xc0ff);
		put16(n + 4, 0x1234);		/* device */
	}
	put16(n + 6, client.lid);
	details(number, n + 10);
	send_mad(mad, sm_lid);
	stats.traps++;
	printf("trap %u tid 0x%016" PRIx64 " lid %u\n", number,
	       umad_client_tid(&client, CLASS_SM, tid - 1), client.lid);
}

static void subscribe(bool on)
{
	uint8_t mad[MAD_LEN] = { 1, CLASS_SA, 2, METHOD_SET };
	uint8_t *d = mad + MAD_SA_DATA;

	put32(mad + MAD_TID + 4, tid++);
	put16(mad + MAD_ATTR, 0x03);		/* InformInfo */
	put16(d + 16, 0xffff);
	put8(d + 22, 1);
	put8(d + 23, on);
	put16(d + 24, 0xffff);
	put16(d + 26, 0xffff);
	put32(d + 28, 1 << 8 | 19);
	put32(d + 32, 0xffffff);
	send_mad(mad, sm_lid);
}

static void answer_sminfo(struct umad_packet *p)
{
	uint8_t mad[MAD_LEN];
	uint8_t *d = mad + MAD_SMP_DATA;

	memcpy(mad, p->mad, MAD_LEN);
	mad[MAD_METHOD] = METHOD_GET_RESP;
	put16(mad + MAD_STATUS, mad[MAD_CLASS] == CLASS_SM_DR ? 0x8000 : 0);
	memset(d, 0, 64);
	memcpy(d, client.gid + 8, 8);
	put64(d + 8, 1);	/* OpenSM's default SM_Key; it complains of 0 */
	/* priority 0, state NOT-ACTIVE */
	stats.sminfo++;
	send_mad(mad, mad[MAD_CLASS] == CLASS_SM_DR ? 0xffff : p->lid);
}

static void receive(struct umad_packet *p, enum reports reports)
{
	uint8_t *m = p->mad, *n = m + MAD_SA_DATA;
	uint8_t mad[MAD_LEN];

	if (p->status) {
		stats.undeliverable++;
	} else if (m[MAD_CLASS] == CLASS_SA && m[MAD_METHOD] == METHOD_REPORT) {
		stats.reports++;
		printf("report tid 0x%016" PRIx64 " generic %u number %u "
		       "issuer %u%s\n", get64(m + MAD_TID), n[0] >> 7,
		       get16(n + 4), get16(n + 6),
		       reports == REPORTS_ANSWER ? " answered" : "");
		if (reports != REPORTS_ANSWER)
			return;
		memcpy(mad, m, MAD_LEN);
		mad[MAD_METHOD] = METHOD_REPORT_RESP;
		stats.answered++;
		send_mad(mad, p->lid);
	} else if ((m[MAD_CLASS] == CLASS_SM || m[MAD_CLASS] == CLASS_SM_DR) &&
		   get16(m + MAD_ATTR) == 0x20 &&
		   !(m[MAD_METHOD] & METHOD_RESPONSE)) {
		answer_sminfo(p);
	} else if (m[MAD_CLASS] == CLASS_SA) {
		printf("answer method 0x%02x attr 0x%04x status 0x%04x\n",
		       m[MAD_METHOD], get16(m + MAD_ATTR),
		       get16(m + MAD_STATUS));
	}
}

static void listen_for(uint64_t us, enum reports reports)
{
	uint64_t end = now_us() + us;
	struct umad_packet p;

	do {
		if (umad_client_recv(&client, &p, us ? 10 : 0))
			receive(&p, reports);
	} while (now_us() < end && !umad_client_stop);
}

static int open_issm(void)
{
	char path[256];
	int fd;

	if (umad_get_issm_path(NULL, 0, path, sizeof(path)) < 0)
		errx(1, "no issm device");
	fd = open(path, O_NONBLOCK);
	if (fd < 0)
		err(1, "%s", path);
	return fd;
}

static void usage(void)
{
	fprintf(stderr,
"usage: trap_client [options] [TRAP...]\n"
"  TRAP          128 129 130 131 144 145 256 257 258 259, any other number,\n"
"                0: a vendor's (all ten)\n"
"  -n COUNT      send each so often (1)\n"
"  -i MS         pause after each (10)\n"
"  -s LID        the SM (what the port says)\n"
"  -r HOW        subscribe to Reports first, and then\n"
"                  none: let none be delivered; answer: answer them;\n"
"                  ignore: receive them and answer nothing\n"
"  -d SECONDS    stay so long after the last trap (0.5)\n");
	exit(2);
}

int main(int argc, char **argv)
{
	enum reports reports = REPORTS_OFF;
	unsigned long count = 1, n;
	double stay = 0.5, pause = 10;
	int ch, i, issm = -1;

	setvbuf(stdout, NULL, _IOLBF, 0);
	while ((ch = getopt(argc, argv, "n:i:s:r:d:")) != -1)
		switch (ch) {
		case 'n':
			count = strtoul(optarg, NULL, 0);
			break;
		case 'i':
			pause = strtod(optarg, NULL);
			break;
		case 's':
			sm_lid = strtoul(optarg, NULL, 0);
			break;
		case 'r':
			if (!strcmp(optarg, "none"))
				reports = REPORTS_NONE;
			else if (!strcmp(optarg, "answer"))
				reports = REPORTS_ANSWER;
			else if (!strcmp(optarg, "ignore"))
				reports = REPORTS_IGNORE;
			else
				usage();
			break;
		case 'd':
			stay = strtod(optarg, NULL);
			break;
		default:
			usage();
		}

	umad_client_open(&client);
	if (!sm_lid)
		sm_lid = client.sm_lid;
	if (!sm_lid)
		errx(1, "this port knows no SM yet: use -s");
	if (reports == REPORTS_ANSWER || reports == REPORTS_IGNORE)
		issm = open_issm();
	if (reports != REPORTS_OFF) {
		subscribe(true);
		listen_for(200000, reports);
	}

	for (n = 0; n < count && !umad_client_stop; n++) {
		for (i = optind; i < argc; i++) {
			send_trap(strtoul(argv[i], NULL, 0));
			listen_for(pause * 1000, reports);
		}
		for (i = 0; optind == argc && i < (int)N_TRAPS; i++) {
			send_trap(traps[i].number);
			listen_for(pause * 1000, reports);
		}
	}
	listen_for(stay * 1e6, reports);
	if (reports == REPORTS_NONE || reports == REPORTS_ANSWER) {
		subscribe(false);
		listen_for(200000, reports);
	}
	if (issm >= 0)
		close(issm);
	umad_client_close(&client);
	fprintf(stderr, "trap_client: lid %u traps %lu undeliverable %lu "
		"reports %lu answered %lu sminfo %lu\n", client.lid,
		stats.traps, stats.undeliverable, stats.reports,
		stats.answered, stats.sminfo);
	return 0;
}
