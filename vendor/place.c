/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
#include <sched.h>
#include <stdbool.h>
#include <stddef.h>
#include <unistd.h>

#include <linux/membarrier.h>
#include <sys/syscall.h>

#include "clock.h"
#include "place.h"

enum {
	PROBES = 8,	/* OpenSM's threads look, too */
	/* far longer than a processor keeps a store to itself */
	DRAIN_NS = 1000000,
};

struct place places[PLACES];
_Alignas(RING_LINE) _Atomic uintptr_t place_owners[PLACES_OWN];

/* Set before the first bind opens, and never changed after. */
static _Atomic bool have_membarrier;

static bool membarrier(int command)
{
	return !syscall(SYS_membarrier, command, 0, 0);
}

/*
 * Static memory has no pages before it is written to. Others may be writing
 * there, so nothing is changed.
 */
void places_init(void)
{
	static bool asked;
	unsigned i;

	for (i = 0; i < PLACES; i++) {
		atomic_fetch_add(&places[i].begun, 0);
		atomic_fetch_add(&places[i].binds[TAP_MAX_BINDS - 1].filtered,
				 0);
	}
	for (i = 0; i < PLACES_OWN; i++)
		atomic_fetch_add(&place_owners[i], 0);
	if (!asked)
		atomic_store(&have_membarrier,
			     membarrier(MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED));
	asked = true;
}

void places_barrier(void)
{
	uint64_t until;

	if (!atomic_load(&have_membarrier) ||
	    membarrier(MEMBARRIER_CMD_PRIVATE_EXPEDITED))
		return;
	/* a filter of system calls that came later; no cancellation point */
	until = clock_ns(CLOCK_MONOTONIC) + DRAIN_NS;
	while (clock_ns(CLOCK_MONOTONIC) < until)
		sched_yield();
}

static struct place *place_take(uintptr_t thread)
{
	unsigned first = place_hash(thread), i, n;
	uintptr_t owner;

	for (n = 0; n < PROBES; n++) {
		i = (first + n) % PLACES_OWN;
		owner = atomic_load_explicit(&place_owners[i],
					     memory_order_relaxed);
		if (!owner && atomic_compare_exchange_strong_explicit(
				      &place_owners[i], &owner, thread,
				      memory_order_relaxed,
				      memory_order_relaxed))
			return &places[i];
		if (owner == thread)
			return &places[i];
	}
	return NULL;
}

struct place *place_find(uintptr_t thread)
{
	struct place *p = NULL;

	/* who does not see yet that it is set shares, which is always right */
	if (atomic_load_explicit(&have_membarrier, memory_order_relaxed))
		p = place_take(thread);
	if (p)
		return p;
	return &places[PLACES_OWN + (unsigned)sched_getcpu() % PLACES_SHARED];
}
