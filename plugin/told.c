/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
#include <stdlib.h>
#include <string.h>

#include "siphash.h"
#include "told.h"

enum {
	LIDS = 0xc000,		/* from there on they are multicast */
	NAME_WORDS = ERF_NAME_MAX / 8,
};

/* What was told last of a LID. */
struct told_name {
	uint64_t turn;		/* 0 = nothing */
	uint64_t mono_ns;
	uint64_t hash;		/* of port GUID and name */
};

struct told {
	uint64_t again_ns;
	uint64_t seed[2];
	struct told_name names[LIDS];
};

struct told *told_new(uint64_t again_ns)
{
	struct told *t = calloc(1, sizeof(*t));

	if (!t)
		return NULL;
	t->again_ns = again_ns;
	siphash_seed(t->seed);
	return t;
}

void told_free(struct told *t)
{
	free(t);
}

static uint64_t hash_of(const struct told *t, const struct erf_name *name)
{
	uint64_t words[NAME_WORDS + 1] = { 0 };

	/* no name has a NUL in it */
	memcpy(words, name->name, name->len);
	words[NAME_WORDS] = name->port_guid;
	return siphash_words(t->seed, words, NAME_WORDS + 1);
}

bool told_is_news(struct told *t, const struct requester *peer, uint64_t turn,
		  uint64_t mono_ns, struct erf_name *name)
{
	struct told_name *last, now = { .turn = turn, .mono_ns = mono_ns };

	*name = (struct erf_name){ .port_guid = peer->port_guid, .name = "" };
	if (peer->name) {
		name->name = peer->name;
		name->len = strnlen(peer->name, ERF_NAME_MAX);
	}
	if ((!name->port_guid && !name->len) || peer->addr.lid >= LIDS)
		return false;
	now.hash = hash_of(t, name);
	last = &t->names[peer->addr.lid];
	if (last->turn == turn && last->hash == now.hash &&
	    (!t->again_ns || mono_ns - last->mono_ns < t->again_ns))
		return false;
	*last = now;
	return true;
}

void told_forget(struct told *t, uint16_t lid)
{
	if (lid < LIDS)
		t->names[lid].turn = 0;
}
