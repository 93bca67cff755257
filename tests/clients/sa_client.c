/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * sa_client: sends SA queries and writes down what became of each.
 *
 * A line a query, in the order in which they came to an end:
 *
 *	tid sa_tid method attr mask sm_key status latency_us sends kind
 *
 * sa_tid is the transaction id that the SA sees. status is that of the
 * answer, or "none" when no answer came in time, or "undeliverable" when the
 * fabric gave the query back: then no SA has seen it.
 */
#include <err.h>
#include <getopt.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "umad_client.h"

#define MAX_WINDOW	256
#define BIT(n)		(1ull << (n))

struct query {
	uint8_t mad[MAD_LEN];
	const struct kind *kind;
	uint32_t tid;
	uint64_t first, last;	/* when it was sent */
	unsigned int sends;
};

struct kind {
	const char *name;
	uint8_t method;
	uint16_t attr;
	uint64_t mask;
	void (*fill)(uint8_t *data);
	const char *groups;	/* " mixed path " */
};

static struct umad_client client;
static uint16_t dest_lid;	/* what path, node, .. queries are about */

/* records with a LID first: nearly all of them (IBA 15.2.5) */
static void own_lid(uint8_t *d)
{
	put16(d, client.lid);
}

static void dest_lid_first(uint8_t *d)
{
	put16(d, dest_lid);
}

static void own_port(uint8_t *d)
{
	put16(d, client.lid);
	put8(d + 2, 1);
}

/* the first switch that OpenSM numbers is not known here; LIDs are tried */
static void any_switch(uint8_t *d)
{
	static unsigned int n;

	put16(d, 1 + n++ % 16);
}

static void path_lids(uint8_t *d)
{
	put16(d + 40, dest_lid);
	put16(d + 42, client.lid);
	put8(d + 49, 0x81);	/* reversible, one path */
}

static void path_gids(uint8_t *d)
{
	memcpy(d + 8, client.gid, 16);
	memcpy(d + 24, client.gid, 16);
	put8(d + 49, 0x81);
}

static void path_nowhere(uint8_t *d)
{
	put16(d + 40, 0xbfef);
	put16(d + 42, client.lid);
}

static void service(uint8_t *d)
{
	put64(d, 0x1000000000000001ull);
	memcpy(d + 8, client.gid, 16);
	put16(d + 24, 0xffff);
	put32(d + 28, 60);	/* lease, seconds */
	snprintf((char *)d + 48, 64, "osmsnoop test %u", client.lid);
}

static void group(uint8_t *d)
{
	static const uint8_t mgid[8] = { 0xff, 0x15, 0xa0, 0x1b, 0xfe, 0x80 };

	memcpy(d, mgid, 8);
	memcpy(d + 8, client.gid + 8, 8);
	memcpy(d + 16, client.gid, 16);
	put32(d + 32, 0x0b1b);	/* Q_Key */
	put16(d + 40, 0xffff);	/* P_Key */
	put8(d + 48, 0x51);	/* site-local scope, full member */
}

static void inform(uint8_t *d)
{
	put16(d + 16, 0xffff);	/* every LID */
	put8(d + 22, 1);	/* generic */
	put8(d + 23, 1);	/* subscribe */
	put16(d + 24, 0xffff);	/* every type */
	put16(d + 26, 144);
	put32(d + 28, 1 << 8 | 19);	/* QP1, response time */
	put32(d + 32, 0xffffff);	/* every producer */
}

static void inform_off(uint8_t *d)
{
	inform(d);
	put8(d + 23, 0);
}

static void subscriber(uint8_t *d)
{
	memcpy(d, client.gid, 16);
}

/* an alias GUID: entry 1 of block 0 */
static void alias_guid(uint8_t *d)
{
	put16(d, client.lid);
	put64(d + 8 + 8, 0x0200000000000000ull | client.lid);
}

static void vlarb(uint8_t *d)
{
	put16(d, client.lid);
	put8(d + 2, 1);		/* port */
	put8(d + 3, 1);		/* block */
}

static void multipath(uint8_t *d)
{
	put8(d + 5, 0x81);	/* reversible, one path */
	put8(d + 15, 1);	/* one source, one destination */
	put8(d + 16, 1);
	memcpy(d + 24, client.gid, 16);
	memcpy(d + 40, client.gid, 16);
}

#define GET	METHOD_GET
#define TABLE	METHOD_GET_TABLE
#define SET	METHOD_SET
#define DELETE	METHOD_DELETE

#define PATH_LIDS	(BIT(4) | BIT(5) | BIT(11) | BIT(12))
#define PATH_GIDS	(BIT(2) | BIT(3) | BIT(11) | BIT(12))
#define SERVICE_ID	(BIT(0) | BIT(1) | BIT(2))
#define SERVICE_ALL	(SERVICE_ID | BIT(4) | BIT(6))
/* MGID, PortGID, Q_Key, TClass, P_Key, SL, FlowLabel, Scope, JoinState */
#define MC_CREATE	(BIT(0) | BIT(1) | BIT(2) | BIT(6) | BIT(7) | \
			 BIT(12) | BIT(13) | BIT(15) | BIT(16))
#define MC_MEMBER	(BIT(0) | BIT(1) | BIT(16))
#define MULTIPATH	(BIT(5) | BIT(6) | BIT(19) | BIT(20))

static const struct kind kinds[] = {
	{ "path_lid", GET, 0x35, PATH_LIDS, path_lids, " path mixed " },
	{ "path_gid", GET, 0x35, PATH_GIDS, path_gids, " path mixed " },
	{ "path_nowhere", GET, 0x35, BIT(4) | BIT(5), path_nowhere,
	  " mixed " },
	{ "path_table", TABLE, 0x35, PATH_LIDS, path_lids, " mixed " },
	{ "path_all", TABLE, 0x35, BIT(5), path_lids, " mixed " },
	{ "node", GET, 0x11, BIT(0), dest_lid_first, " mixed " },
	{ "node_table", TABLE, 0x11, 0, NULL, " mixed " },
	{ "portinfo", GET, 0x12, BIT(0) | BIT(1), own_port, " mixed " },
	{ "portinfo_table", TABLE, 0x12, 0, NULL, " mixed " },
	{ "slvl", GET, 0x13, BIT(0), own_lid, " mixed " },
	{ "slvl_table", TABLE, 0x13, BIT(0), own_lid, " mixed " },
	{ "switchinfo", GET, 0x14, BIT(0), any_switch, " mixed " },
	{ "switchinfo_table", TABLE, 0x14, 0, NULL, " mixed " },
	{ "lft", GET, 0x15, BIT(0) | BIT(1), any_switch, " mixed " },
	{ "lft_table", TABLE, 0x15, 0, NULL, " mixed " },
	{ "mft", GET, 0x17, BIT(0) | BIT(1), any_switch, " mixed " },
	{ "mft_table", TABLE, 0x17, 0, NULL, " mixed " },
	{ "sminfo", GET, 0x18, BIT(0), dest_lid_first, " mixed " },
	{ "sminfo_table", TABLE, 0x18, 0, NULL, " mixed " },
	{ "link", GET, 0x20, BIT(0), own_lid, " mixed " },
	{ "link_table", TABLE, 0x20, 0, NULL, " mixed " },
	{ "guidinfo", GET, 0x30, BIT(0) | BIT(1), own_lid, " mixed " },
	{ "guidinfo_table", TABLE, 0x30, 0, NULL, " mixed " },
	{ "guidinfo_set", SET, 0x30, BIT(0) | BIT(1) | BIT(5), alias_guid,
	  " mixed " },
	{ "guidinfo_delete", DELETE, 0x30, BIT(0) | BIT(1) | BIT(5),
	  alias_guid, " mixed " },
	{ "service_set", SET, 0x31, SERVICE_ALL, service, " mixed " },
	{ "service_get", GET, 0x31, SERVICE_ID, service, " mixed " },
	{ "service_table", TABLE, 0x31, 0, NULL, " mixed " },
	{ "service_delete", DELETE, 0x31, SERVICE_ID, service, " mixed " },
	{ "pkey", GET, 0x33, BIT(0), own_lid, " mixed " },
	{ "pkey_trusted", GET, 0x33, BIT(0) | BIT(1), own_lid, " mixed " },
	{ "pkey_table", TABLE, 0x33, BIT(0), own_lid, " mixed " },
	{ "vlarb", GET, 0x36, BIT(0) | BIT(1) | BIT(2), vlarb, " mixed " },
	{ "vlarb_table", TABLE, 0x36, BIT(0), own_lid, " mixed " },
	{ "mc_join", SET, 0x38, MC_CREATE, group, " mixed " },
	{ "mc_get", GET, 0x38, BIT(0) | BIT(1), group, " mixed " },
	{ "mc_table", TABLE, 0x38, 0, NULL, " mixed " },
	{ "mc_leave", DELETE, 0x38, MC_MEMBER, group, " mixed " },
	{ "mc_leave_again", DELETE, 0x38, MC_MEMBER, group, " mixed " },
	{ "multipath", METHOD_GET_MULTI, 0x3a, MULTIPATH, multipath,
	  " mixed " },
	{ "inform", SET, 0x03, 0, inform, " mixed " },
	{ "inform_record", GET, 0xf3, BIT(0), subscriber, " mixed " },
	{ "inform_table", TABLE, 0xf3, 0, NULL, " mixed " },
	{ "inform_off", SET, 0x03, 0, inform_off, " mixed " },
	{ "classportinfo", GET, 0x01, 0, NULL, " mixed " },
	/* what OpenSM drops: no answer ever comes */
	{ "badkey", GET, 0x35, PATH_LIDS, path_lids, " bad " },
	{ "badattr", GET, 0xf1, 0, NULL, " bad " },
	{ "badmethod", METHOD_GET_TRACE, 0x35, PATH_LIDS, path_lids,
	  " bad " },
	{ "badset", SET, 0x11, BIT(0), own_lid, " bad " },
	/* what it refuses with a status */
	{ "badtable", TABLE, 0x01, 0, NULL, " refused " },
	{ "badinform", GET, 0x03, 0, inform, " refused " },
	{ "badjoin", SET, 0x38, MC_MEMBER, group, " refused " },
	{ "badvlarb", GET, 0x36, BIT(0), own_lid, " refused " },
	{ "badservice", SET, 0x31, BIT(0), service, " refused " },
};
#define N_KINDS (sizeof(kinds) / sizeof(kinds[0]))

#define BAD_SM_KEY	0xbadc0ffee0ddf00dull
#define DEFAULT_SA_KEY	1	/* what OpenSM trusts unless told otherwise */

static struct query window[MAX_WINDOW];
static const struct kind *wanted[1024];
static unsigned int n_wanted;
static uint64_t sm_key;
static uint16_t sm_lid;
static FILE *out;

static struct {
	unsigned long sent, resent, answered, none, undeliverable, stray;
	unsigned long requests;		/* Reports and the like, for us */
} stats;

static void want(char *list)
{
	char *word, pattern[64];
	unsigned int before;
	size_t i;

	for (word = strtok(list, ","); word; word = strtok(NULL, ",")) {
		before = n_wanted;
		snprintf(pattern, sizeof(pattern), " %s ", word);
		for (i = 0; i < N_KINDS && n_wanted < 1024; i++)
			if (!strcmp(word, kinds[i].name) ||
			    strstr(kinds[i].groups, pattern))
				wanted[n_wanted++] = &kinds[i];
		if (n_wanted == before)
			errx(2, "unknown kind '%s' (-k list shows them)",
			     word);
	}
}

static void build(struct query *q)
{
	uint8_t *m = q->mad;

	memset(m, 0, MAD_LEN);
	m[MAD_BASE_VERSION] = 1;
	m[MAD_CLASS] = CLASS_SA;
	m[MAD_CLASS_VERSION] = 2;
	m[MAD_METHOD] = q->kind->method;
	put32(m + MAD_TID + 4, q->tid);
	put16(m + MAD_ATTR, q->kind->attr);
	put64(m + MAD_SM_KEY, !strcmp(q->kind->name, "badkey") ? BAD_SM_KEY :
	      !strcmp(q->kind->name, "pkey_trusted") && !sm_key ?
	      DEFAULT_SA_KEY : sm_key);
	put64(m + MAD_COMP_MASK, q->kind->mask);
	if (q->kind->method == METHOD_GET_MULTI) {
		/* the one request that is an RMPP message, of one segment */
		put8(m + MAD_RMPP, 1);		/* version */
		put8(m + MAD_RMPP + 1, 1);	/* data */
		put8(m + MAD_RMPP + 2, 0x07);	/* active, first, last */
		put32(m + MAD_RMPP + 4, 1);
		put32(m + MAD_RMPP + 8, 20 + 56);
	}
	if (q->kind->fill)
		q->kind->fill(m + MAD_SA_DATA);
}

static void finish(struct query *q, const char *status)
{
	fprintf(out, "0x%08" PRIx32 " 0x%016" PRIx64 " 0x%02x 0x%04x 0x%016"
		PRIx64 " 0x%016" PRIx64 " %s %" PRIu64 " %u %s\n", q->tid,
		umad_client_tid(&client, CLASS_SA, q->tid),
		q->mad[MAD_METHOD], get16(q->mad + MAD_ATTR),
		get64(q->mad + MAD_COMP_MASK), get64(q->mad + MAD_SM_KEY),
		status, now_us() - q->first, q->sends, q->kind->name);
	q->tid = 0;
}

static void transmit(struct query *q)
{
	q->last = now_us();
	if (!q->sends++)
		q->first = q->last;
	if (umad_client_send(&client, q->mad, MAD_LEN, sm_lid) < 0)
		err(1, "cannot send");
}

static struct query *find(uint32_t tid, unsigned int size)
{
	unsigned int i;

	for (i = 0; i < size; i++)
		if (window[i].tid == tid)
			return &window[i];
	return NULL;
}

static void receive(const struct umad_packet *p, unsigned int size)
{
	bool answer = p->mad[MAD_METHOD] & METHOD_RESPONSE;
	struct query *q;
	char status[16];

	if (p->mad[MAD_CLASS] != CLASS_SA || (!answer && !p->status)) {
		stats.requests++;
		return;
	}
	q = find(get32(p->mad + MAD_TID + 4), size);
	if (!q) {
		/* answered late, or once more than asked */
		stats.stray++;
	} else if (p->status) {
		stats.undeliverable++;
		finish(q, "undeliverable");
	} else {
		stats.answered++;
		snprintf(status, sizeof(status), "0x%04x",
			 get16(p->mad + MAD_STATUS));
		finish(q, status);
	}
}

static void list_kinds(void)
{
	size_t i;

	for (i = 0; i < N_KINDS; i++)
		printf("%-18s method 0x%02x attr 0x%04x mask 0x%016" PRIx64
		       " groups%s\n", kinds[i].name, kinds[i].method,
		       kinds[i].attr, kinds[i].mask, kinds[i].groups);
}

static void usage(void)
{
	fprintf(stderr,
"usage: sa_client [options]\n"
"  -k KIND,..    what to ask, in turn: a kind or a group (path, mixed, bad,\n"
"                refused); 'list' shows them (path)\n"
"  -n COUNT      how many queries (1000)\n"
"  -d SECONDS    or for how long\n"
"  -w WINDOW     at most so many outstanding (1)\n"
"  -r RATE       at most so many queries a second\n"
"  -t SECONDS    give up on an answer after so long (1)\n"
"  -R COUNT      before that, send again so often, with the same TID\n"
"  -D COUNT      send every query so many times more at once\n"
"  -s LID        the SM (what the port says; 0xffff: on this very port)\n"
"  -l LID        what LID queries are about (the SM's)\n"
"  -G GUID       the port that joins, services and the like are for (its own)\n"
"  -K KEY        SM_Key (0)\n"
"  -T TID        the first of the transaction ids (random)\n"
"  -o FILE       where the lines go (stdout)\n");
	exit(2);
}

int main(int argc, char **argv)
{
	unsigned long count = 0, i = 0;
	unsigned int size = 1, retries = 0, dups = 0, n, busy = 0, j;
	double duration = 0, timeout = 1, rate = 0, took;
	uint64_t start, now, wait;
	struct umad_packet p;
	uint64_t guid = 0;
	char path[] = "path";
	struct query *q;
	uint32_t tid = 0;
	int ch;

	out = stdout;
	while ((ch = getopt(argc, argv, "k:n:d:w:r:t:R:D:s:l:G:K:T:o:")) != -1)
		switch (ch) {
		case 'k':
			if (!strcmp(optarg, "list")) {
				list_kinds();
				return 0;
			}
			want(optarg);
			break;
		case 'n':
			count = strtoul(optarg, NULL, 0);
			break;
		case 'd':
			duration = strtod(optarg, NULL);
			break;
		case 'w':
			size = strtoul(optarg, NULL, 0);
			break;
		case 'r':
			rate = strtod(optarg, NULL);
			break;
		case 't':
			timeout = strtod(optarg, NULL);
			break;
		case 'R':
			retries = strtoul(optarg, NULL, 0);
			break;
		case 'D':
			dups = strtoul(optarg, NULL, 0);
			break;
		case 's':
			sm_lid = strtoul(optarg, NULL, 0);
			break;
		case 'l':
			dest_lid = strtoul(optarg, NULL, 0);
			break;
		case 'G':
			guid = strtoull(optarg, NULL, 0);
			break;
		case 'K':
			sm_key = strtoull(optarg, NULL, 0);
			break;
		case 'T':
			tid = strtoul(optarg, NULL, 0);
			break;
		case 'o':
			out = fopen(optarg, "w");
			if (!out)
				err(1, "%s", optarg);
			break;
		default:
			usage();
		}
	if (optind != argc || !size || size > MAX_WINDOW)
		usage();
	if (!n_wanted)
		want(path);
	if (!count && !duration)
		count = 1000;
	while (!tid)
		if (getrandom(&tid, sizeof(tid), 0) < 0)
			err(1, "getrandom");

	umad_client_open(&client);
	if (guid)
		put64(client.gid + 8, guid);
	if (!sm_lid)
		sm_lid = client.sm_lid;
	if (!sm_lid)
		errx(1, "this port knows no SM yet: use -s");
	if (!dest_lid)
		dest_lid = sm_lid;
	fprintf(out, "# tid sa_tid method attr mask sm_key status latency_us "
		"sends kind\n");

	start = now_us();
	for (;;) {
		bool more = !umad_client_stop && (!count || i < count) &&
			    (!duration || now_us() - start < duration * 1e6);

		if (!more && (!busy || umad_client_stop))
			break;
		now = now_us();
		if (more && busy < size &&
		    (!rate || i < (now - start) * rate / 1e6)) {
			q = find(0, size);
			q->kind = wanted[i++ % n_wanted];
			q->tid = tid;
			if (!++tid)
				tid = 1;
			q->sends = 0;
			build(q);
			for (n = 0; n <= dups; n++)
				transmit(q);
			stats.sent++;
			stats.resent += dups;
			busy++;
			/* answers that are there are read first */
			wait = 0;
		} else {
			wait = more && busy < size ? 1 : 10;
		}

		while (umad_client_recv(&client, &p, wait)) {
			unsigned long done = stats.answered +
					     stats.undeliverable;

			receive(&p, size);
			busy -= stats.answered + stats.undeliverable - done;
			wait = 0;
		}

		now = now_us();
		for (j = 0; j < size && busy; j++) {
			q = &window[j];
			if (!q->tid || now - q->last < timeout * 1e6)
				continue;
			if (q->sends <= retries + dups) {
				transmit(q);
				stats.resent++;
				continue;
			}
			stats.none++;
			finish(q, "none");
			busy--;
		}
	}
	took = (now_us() - start) / 1e6;
	/* what was sent more than once is answered more than once */
	while (stats.resent && umad_client_recv(&client, &p, 50))
		receive(&p, size);

	/* only after a signal is there anything left */
	for (j = 0; j < size; j++)
		if (window[j].tid) {
			stats.none++;
			finish(&window[j], "none");
		}
	umad_client_close(&client);
	if (fflush(out) || ferror(out))
		err(1, "cannot write");
	fprintf(stderr, "sa_client: lid %u client %u: sent %lu resent %lu "
		"answered %lu none %lu undeliverable %lu stray %lu "
		"requests %lu seconds %.3f rate %.0f\n", client.lid, client.id,
		stats.sent, stats.resent, stats.answered, stats.none,
		stats.undeliverable, stats.stray, stats.requests, took,
		took > 0 ? stats.answered / took : 0);
	return 0;
}
