/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * The ring between OpenSM's threads and ours: many producers, one consumer,
 * records of any length, lossless order, no lock.
 *
 * A producer reserves, fills and commits; it never waits: when there is no
 * room it gets NULL. The consumer sees records in the order of reservation
 * and stops at one that is not committed yet. What the consumer gives back is
 * zero, so whatever lies beyond the last committed record reads as "nothing
 * yet", whatever bytes came from the wire before.
 */
#ifndef OSMSNOOP_RING_H
#define OSMSNOOP_RING_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { RING_LINE = 64 };

struct ring {
	_Alignas(RING_LINE) _Atomic uint64_t head;	/* bytes ever reserved */
	_Alignas(RING_LINE) _Atomic uint64_t tail;	/* bytes ever consumed */
	_Alignas(RING_LINE) uint64_t size;		/* a power of two */
	uint8_t *data;
};

/*
 * `size` is rounded up to a power of two (a page at least). The memory is
 * mapped and touched here, so that no producer takes a page fault, and locked
 * where RLIMIT_MEMLOCK allows. Returns 0 or a negative errno.
 */
int ring_init(struct ring *r, size_t size);
void ring_free(struct ring *r);

/*
 * Producer, any thread: room for `len` bytes, zeroed, aligned to 8, or NULL
 * when the ring is too full, or the record with its header is larger than
 * half of it. Each reservation has to be committed soon: the consumer waits
 * for it.
 */
void *ring_reserve(struct ring *r, uint32_t len);
void ring_commit(void *record, uint32_t len);

/*
 * Consumer, one thread at a time: the oldest record or NULL. It stays valid,
 * and is what ring_peek() returns, until ring_release() of it.
 */
void *ring_peek(struct ring *r, uint32_t *len);
void ring_release(struct ring *r, void *record);

uint64_t ring_used(const struct ring *r);

#endif /* OSMSNOOP_RING_H */
