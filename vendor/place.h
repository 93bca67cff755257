/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Where OpenSM's threads count: each in a place of its own, with plain loads
 * and stores, for a locked instruction costs more than most of what the tap
 * does. A place is found by the thread pointer, which no two living threads
 * share (a thread-local variable of a library that is loaded late would be
 * allocated on the thread). A thread that comes with the pointer of one that
 * is gone counts on where that one stopped.
 *
 * Who finds no place counts in one that is shared, with atomic instructions:
 * more threads than places, and all of them where the kernel has no
 * membarrier, by which the others are waited for.
 *
 * Between the load and the store of a counter nothing else of the same thread
 * may count. The tap calls nobody there, and no signal handler sends MADs:
 * neither OpenSM's, nor could another, as osm_vendor_send takes locks.
 */
#ifndef OSMSNOOP_PLACE_H
#define OSMSNOOP_PLACE_H

#include <stdatomic.h>
#include <stdint.h>

#include "ring.h"
#include "tap.h"

enum {
	PLACES_LOG2 = 8,
	PLACES_OWN = 1 << PLACES_LOG2,
	PLACES_SHARED = 4,	/* a power of two; by processor */
	PLACES = PLACES_OWN + PLACES_SHARED,
};

/* Who counts itself in counts itself out, by one of the other three. */
struct place_counters {
	_Alignas(32) _Atomic uint64_t entered;
	_Atomic uint64_t kept;
	_Atomic uint64_t lost;
	_Atomic uint64_t filtered;
};

struct place {
	/* MADs without a response, into umad and out again */
	_Alignas(RING_LINE) _Atomic uint64_t begun;
	_Atomic uint64_t ended;
	/* of each bind; the first one's lie in the line above */
	struct place_counters binds[TAP_MAX_BINDS];
};

/* The shared ones are the last. */
extern struct place places[PLACES];

/*
 * Whose they are, 0 = nobody's. Apart from what is written each time: who looks
 * for a place takes no line from those who count.
 */
extern _Atomic uintptr_t place_owners[PLACES_OWN];

/*
 * Touch the memory, and ask the kernel for membarrier, before a bind opens. One
 * caller at a time, which may wait.
 */
void places_init(void);

/*
 * Of each thread that counts itself in: either the caller sees that from now
 * on, or what the thread reads after it is not older than this call. Any
 * thread but OpenSM's, for this is a system call. No cancellation point.
 */
void places_barrier(void);

/* The calling thread's place, when it is not where it is looked for first. */
struct place *place_find(uintptr_t thread);

/* Neighbouring threads' pointers differ by a stack, a power of two or nearly. */
static inline unsigned place_hash(uintptr_t thread)
{
	return (unsigned)((uint64_t)thread * 0x9e3779b97f4a7c15u >>
			  (64 - PLACES_LOG2));
}

/* The place of the calling thread. */
static inline struct place *place_of_thread(void)
{
	uintptr_t self = (uintptr_t)__builtin_thread_pointer();
	unsigned i = place_hash(self);

	if (atomic_load_explicit(&place_owners[i], memory_order_relaxed) ==
	    self)
		return &places[i];
	return place_find(self);
}

static inline void place_count(struct place *p, _Atomic uint64_t *counter,
			       memory_order order)
{
	uint64_t n = atomic_load_explicit(counter, memory_order_relaxed);

	if (p < places + PLACES_OWN)
		atomic_store_explicit(counter, n + 1, order);
	else
		atomic_fetch_add(counter, 1);
}

/*
 * Count, before anything is read that follows: in one's own place as far as
 * the compiler goes, and places_barrier() does the rest; in a shared one in
 * the order of all that is sequentially consistent.
 */
static inline void place_in(struct place *p, _Atomic uint64_t *counter)
{
	place_count(p, counter, memory_order_relaxed);
	atomic_signal_fence(memory_order_seq_cst);
}

/* Count, after all that was done before. */
static inline void place_out(struct place *p, _Atomic uint64_t *counter)
{
	place_count(p, counter, memory_order_release);
}

#endif /* OSMSNOOP_PLACE_H */
