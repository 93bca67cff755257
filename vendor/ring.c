/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "ring.h"

/*
 * A record lies at a multiple of its alignment, header first. `total` is zero
 * until it is committed: the consumer's only sign. It is never zero after,
 * for it counts the header too.
 */
struct header {
	_Atomic uint32_t total;	/* bytes to the next record; PAD: skip them */
	uint32_t len;		/* bytes of the record itself */
};

enum { ALIGN = 16 };

static const uint32_t PAD = 1u << 31;

static uint32_t total_of(uint32_t len)
{
	return (len + (uint32_t)sizeof(struct header) + ALIGN - 1) &
	       ~(uint32_t)(ALIGN - 1);
}

int ring_init(struct ring *r, size_t size)
{
	size_t rounded = (size_t)sysconf(_SC_PAGESIZE);
	void *data;

	while (rounded < size && rounded < PAD / 2)
		rounded *= 2;
	data = mmap(NULL, rounded, PROT_READ | PROT_WRITE,
		    MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
	if (data == MAP_FAILED)
		return -errno;
	/*
	 * So that it is not swapped out either, where RLIMIT_MEMLOCK allows:
	 * where it does not, all works as well, with a page fault now and then.
	 */
	(void)mlock(data, rounded);
	atomic_init(&r->head, 0);
	atomic_init(&r->tail, 0);
	r->size = rounded;
	r->data = data;
	return 0;
}

void ring_free(struct ring *r)
{
	if (r->data)
		munmap(r->data, r->size);
	r->data = NULL;
}

void *ring_reserve(struct ring *r, uint32_t len)
{
	uint64_t head, seen, tail, offset, skip, total;
	struct header *h;

	/* half: with what it has to skip, it fits into an empty ring */
	if (len > r->size / 2 || total_of(len) > r->size / 2)
		return NULL;
	total = total_of(len);
	head = atomic_load_explicit(&r->head, memory_order_acquire);
	for (;;) {
		seen = head;
		/* acquire: the consumer's zeroes are there before we write */
		tail = atomic_load_explicit(&r->tail, memory_order_acquire);
		offset = head & (r->size - 1);
		skip = offset + total > r->size ? r->size - offset : 0;
		if (head + skip + total - tail <= r->size) {
			if (atomic_compare_exchange_weak_explicit(
				    &r->head, &head, head + skip + total,
				    memory_order_acquire, memory_order_acquire))
				break;
			continue;
		}
		/* full, if the two belong together: others may have moved on */
		head = atomic_load_explicit(&r->head, memory_order_acquire);
		if (head == seen)
			return NULL;
	}
	if (skip) {
		h = (struct header *)(r->data + offset);
		atomic_store_explicit(&h->total, (uint32_t)skip | PAD,
				      memory_order_release);
		offset = 0;
	}
	return r->data + offset + sizeof(*h);
}

void ring_commit(void *record, uint32_t len)
{
	struct header *h = (struct header *)record - 1;

	h->len = len;
	atomic_store_explicit(&h->total, total_of(len), memory_order_release);
}

/* Wipe, then give back: a producer's room is zero, its header above all. */
static void consume(struct ring *r, struct header *h, uint64_t total)
{
	uint64_t tail = atomic_load_explicit(&r->tail, memory_order_relaxed);

	memset(h, 0, total);
	atomic_store_explicit(&r->tail, tail + total, memory_order_release);
}

void *ring_peek(struct ring *r, uint32_t *len)
{
	uint64_t tail;
	uint32_t total;
	struct header *h;

	for (;;) {
		tail = atomic_load_explicit(&r->tail, memory_order_relaxed);
		h = (struct header *)(r->data + (tail & (r->size - 1)));
		total = atomic_load_explicit(&h->total, memory_order_acquire);
		if (!total)
			return NULL;
		if (!(total & PAD))
			break;
		consume(r, h, total & ~PAD);
	}
	*len = h->len;
	return h + 1;
}

void ring_release(struct ring *r, void *record)
{
	struct header *h = (struct header *)record - 1;

	consume(r, h, atomic_load_explicit(&h->total, memory_order_relaxed));
}

uint64_t ring_used(const struct ring *r)
{
	uint64_t tail = atomic_load_explicit(&r->tail, memory_order_acquire);

	return atomic_load_explicit(&r->head, memory_order_acquire) - tail;
}
