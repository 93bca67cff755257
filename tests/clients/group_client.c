/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * group_client: sends Sets and Deletes of MCMemberRecords and ServiceRecords as
 * it is told, one after the other, and prints the status of each answer.
 *
 *	group_client REQUEST...
 *
 * A REQUEST is a verb and fields: create,group=5,pkey=0x8123 or
 * create,-sl or leave,group=5,count=10 (of the groups 5 to 14). A field that is
 * given is in the component mask, too; with "-" before it, it is not.
 */
#include <err.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "umad_client.h"

#define BIT(n)	(1ull << (n))

struct verb {
	const char *name;
	uint8_t method;
	uint16_t attr;
	uint64_t mask;
};

/* bytes from the start of the record, bits of the mask */
struct field {
	const char *name;
	uint16_t attr;
	unsigned int at, size;
	uint64_t mask;
};

#define MEMBER	0x38
#define SERVICE	0x31

static const struct verb verbs[] = {
	{ "join", METHOD_SET, MEMBER, BIT(0) | BIT(1) | BIT(16) },
	{ "create", METHOD_SET, MEMBER, BIT(0) | BIT(1) | BIT(2) | BIT(6) |
	  BIT(7) | BIT(12) | BIT(13) | BIT(16) },
	{ "leave", METHOD_DELETE, MEMBER, BIT(0) | BIT(1) | BIT(16) },
	{ "register", METHOD_SET, SERVICE, BIT(0) | BIT(1) },
	{ "remove", METHOD_DELETE, SERVICE, BIT(0) | BIT(1) },
};

static const struct field fields[] = {
	{ "hi", MEMBER, 0, 8, BIT(0) },
	{ "group", MEMBER, 8, 8, BIT(0) },
	{ "prefix", MEMBER, 16, 8, BIT(1) },
	{ "guid", MEMBER, 24, 8, BIT(1) },
	{ "qkey", MEMBER, 32, 4, BIT(2) },
	{ "mtu", MEMBER, 38, 1, BIT(4) | BIT(5) },
	{ "tclass", MEMBER, 39, 1, BIT(6) },
	{ "pkey", MEMBER, 40, 2, BIT(7) },
	{ "rate", MEMBER, 42, 1, BIT(8) | BIT(9) },
	{ "sl", MEMBER, 44, 4, BIT(12) },
	{ "state", MEMBER, 48, 1, BIT(16) },
	{ "id", SERVICE, 0, 8, BIT(0) },
	{ "lease", SERVICE, 28, 4, BIT(4) },
	{ "key", SERVICE, 32, 8, BIT(5) },
};

static struct umad_client client;

static const struct verb *find_verb(const char *name)
{
	size_t i;

	for (i = 0; i < sizeof(verbs) / sizeof(verbs[0]); i++)
		if (!strcmp(verbs[i].name, name))
			return &verbs[i];
	errx(2, "unknown verb '%s'", name);
}

static const struct field *find_field(const char *name, uint16_t attr)
{
	size_t i;

	for (i = 0; i < sizeof(fields) / sizeof(fields[0]); i++)
		if (fields[i].attr == attr && !strcmp(fields[i].name, name))
			return &fields[i];
	errx(2, "unknown field '%s'", name);
}

static void put(uint8_t *p, unsigned int size, uint64_t value)
{
	while (size--) {
		p[size] = value;
		value >>= 8;
	}
}

static void start(uint8_t *m, const struct verb *v)
{
	uint8_t *d = m + MAD_SA_DATA;

	memset(m, 0, MAD_LEN);
	m[MAD_BASE_VERSION] = 1;
	m[MAD_CLASS] = CLASS_SA;
	m[MAD_CLASS_VERSION] = 2;
	m[MAD_METHOD] = v->method;
	put16(m + MAD_ATTR, v->attr);
	if (v->attr == MEMBER) {
		put64(d, 0xff15a01b00000000ull);
		memcpy(d + 16, client.gid, 16);
		put32(d + 32, 0x0b1b);
		put16(d + 40, 0xffff);
		put8(d + 48, 0x51);	/* site-local scope, full member */
	} else {
		memcpy(d + 8, client.gid, 16);
	}
}

/* One field of a request; its mask is then so. */
static uint64_t set(uint8_t *m, const struct verb *v, char *word,
		    uint64_t mask, unsigned int *count)
{
	char *value = strchr(word, '=');
	const struct field *f;

	if (word[0] == '-')
		return mask & ~find_field(word + 1, v->attr)->mask;
	if (!value)
		errx(2, "'%s' has no value", word);
	*value++ = '\0';
	if (!strcmp(word, "count")) {
		*count = strtoul(value, NULL, 0);
		return mask;
	}
	if (!strcmp(word, "name")) {
		strncpy((char *)m + MAD_SA_DATA + 48, value, 64);
		return mask | BIT(6);
	}
	f = find_field(word, v->attr);
	put(m + MAD_SA_DATA + f->at, f->size, strtoull(value, NULL, 0));
	return mask | f->mask;
}

static void transact(uint8_t *m, const char *what)
{
	static uint32_t tid = 1;
	struct umad_packet p;
	uint64_t end;

	put32(m + MAD_TID + 4, ++tid);
	if (umad_client_send(&client, m, MAD_LEN, client.sm_lid) < 0)
		err(1, "cannot send");
	for (end = now_us() + 5000000; now_us() < end;)
		if (umad_client_recv(&client, &p, 100) &&
		    get32(p.mad + MAD_TID + 4) == tid && !p.status) {
			printf("%s 0x%04x\n", what, get16(p.mad + MAD_STATUS));
			return;
		}
	errx(1, "no answer to %s", what);
}

static void perform(char *request)
{
	char *verb = strtok(request, ","), *word;
	const struct verb *v = find_verb(verb);
	uint64_t mask = v->mask, id;
	unsigned int count = 1;
	uint8_t m[MAD_LEN], *low;

	start(m, v);
	while ((word = strtok(NULL, ",")))
		mask = set(m, v, word, mask, &count);
	put64(m + MAD_COMP_MASK, mask);
	/* the group or the service */
	low = m + MAD_SA_DATA + (v->attr == MEMBER ? 8 : 0);
	for (id = get64(low); count--; id++) {
		put64(low, id);
		transact(m, verb);
	}
}

int main(int argc, char **argv)
{
	int i;

	umad_client_open(&client);
	for (i = 1; i < argc; i++)
		perform(argv[i]);
	umad_client_close(&client);
	return 0;
}
