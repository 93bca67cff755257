/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
#include <check.h>
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "clock.h"
#include "ring.h"
#include "../run.h"

enum {
	PRODUCERS = 4,
	EACH = 1000000,		/* records a producer */
	HEADER = 8,		/* of a record, beside its bytes ... */
	ALIGN = 16,		/* ... together rounded up to this */
};

static struct ring ring;
static uint64_t page;

/* Check tells its parent of each assertion passed: too slow in long loops. */
#define check(condition) do { if (!(condition)) \
	ck_abort_msg("%s", #condition); } while (0)

static void setup(void)
{
	page = (uint64_t)sysconf(_SC_PAGESIZE);
	check(!ring_init(&ring, page));
}

static void teardown(void)
{
	ring_free(&ring);
}

static uint64_t total_of(uint32_t len)
{
	return ((uint64_t)len + HEADER + ALIGN - 1) & ~(uint64_t)(ALIGN - 1);
}

static bool put(uint32_t len, uint8_t byte)
{
	uint8_t *p = ring_reserve(&ring, len);

	if (!p)
		return false;
	memset(p, byte, len);
	ring_commit(p, len);
	return true;
}

/* Takes the oldest record, which has to be this one. */
static void take(uint32_t len, uint8_t byte)
{
	uint32_t got, i;
	uint8_t *p = ring_peek(&ring, &got);

	check(p);
	check(got == len);
	for (i = 0; i < len; i++)
		check(p[i] == byte);
	ring_release(&ring, p);
}

static void check_empty(void)
{
	uint32_t len;

	check(!ring_peek(&ring, &len));
	check(!ring_used(&ring));
}

/* Moves both ends to this offset of the ring. */
static void move_to(uint64_t offset)
{
	while ((ring.tail & (ring.size - 1)) != offset) {
		check(put(0, 0));
		take(0, 0);
	}
}

START_TEST(sizes)
{
	struct ring r;

	check(!ring_init(&r, 0));
	ck_assert_uint_eq(r.size, page);
	ring_free(&r);
	ck_assert_ptr_null(r.data);
	ring_free(&r);		/* twice */

	check(!ring_init(&r, 1));
	ck_assert_uint_eq(r.size, page);
	ring_free(&r);
	check(!ring_init(&r, page + 1));
	ck_assert_uint_eq(r.size, 2 * page);
	ring_free(&r);
	check(!ring_init(&r, 3 * page));
	ck_assert_uint_eq(r.size, 4 * page);
	ring_free(&r);
	check(!ring_init(&r, 64 * 1024));
	ck_assert_uint_eq(r.size, 64 * 1024);
	ring_free(&r);
}
END_TEST

/* Kilobytes that this process has locked. */
static unsigned locked_kb(void)
{
	FILE *file = fopen("/proc/self/status", "r");
	unsigned kb = 0;
	char line[256];

	check(file);
	while (fgets(line, sizeof(line), file))
		if (sscanf(line, "VmLck: %u", &kb) == 1)
			break;
	fclose(file);
	return kb;
}

/* Without the right to, nothing is locked, and nobody minds. */
START_TEST(not_locked)
{
	const struct rlimit none = { 0, 0 };
	struct ring r;
	int status;
	pid_t pid = fork();

	check(pid >= 0);
	if (!pid) {
		/* root's right goes with its uid */
		if (setrlimit(RLIMIT_MEMLOCK, &none) ||
		    (!geteuid() && setresuid(65534, 65534, 65534)))
			_exit(2);
		if (ring_init(&r, 64 * 1024))
			_exit(3);
		memset(r.data, 0, r.size);
		ring_free(&r);
		_exit(locked_kb() ? 4 : 0);
	}
	check(waitpid(pid, &status, 0) == pid);
	ck_assert_int_eq(status, 0);
}
END_TEST

START_TEST(locked)
{
	unsigned before = locked_kb();
	struct ring r;
	void *p;

	/* sanitizers make mlock do nothing; a container may forbid it */
	p = mmap(NULL, 64 * 1024, PROT_READ | PROT_WRITE,
		 MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	check(p != MAP_FAILED);
	if (mlock(p, 64 * 1024) || locked_kb() != before + 64)
		return;
	munmap(p, 64 * 1024);
	check(!ring_init(&r, 64 * 1024));
	ck_assert_uint_eq(locked_kb(), before + 64);
	ring_free(&r);
	ck_assert_uint_eq(locked_kb(), before);
}
END_TEST

START_TEST(records_too_large)
{
	uint32_t largest = (uint32_t)(page / 2) - HEADER, i;
	uint64_t offset;

	ck_assert_ptr_null(ring_reserve(&ring, UINT32_MAX));
	ck_assert_ptr_null(ring_reserve(&ring, UINT32_MAX - HEADER));
	ck_assert_ptr_null(ring_reserve(&ring, 1u << 31));
	ck_assert_ptr_null(ring_reserve(&ring, (uint32_t)page));
	for (i = largest + 1; i <= largest + 2 * ALIGN; i++)
		check(!ring_reserve(&ring, i));
	check_empty();

	/* what is accepted fits into an empty ring wherever that begins */
	for (offset = 0; offset < page; offset += ALIGN) {
		move_to(offset);
		check(put(largest, 0x5a));
		take(largest, 0x5a);
		check_empty();
	}
}
END_TEST

START_TEST(empty_and_tiny_records)
{
	uint32_t len;

	check_empty();
	for (len = 0; len < 100; len++) {
		check(put(len, (uint8_t)len));
		check(ring_used(&ring) >= total_of(len));
		take(len, (uint8_t)len);
		check_empty();
	}
}
END_TEST

/* A record is seen when it is committed, and those behind it not before. */
START_TEST(commit_order)
{
	uint32_t len;
	uint8_t *first = ring_reserve(&ring, 10);
	uint8_t *second = ring_reserve(&ring, 20);

	check(first && second);
	ck_assert_ptr_null(ring_peek(&ring, &len));
	memset(second, 2, 20);
	ring_commit(second, 20);
	ck_assert_ptr_null(ring_peek(&ring, &len));
	ck_assert(ring_used(&ring) != 0);
	memset(first, 1, 10);
	ring_commit(first, 10);
	/* peeking changes nothing */
	ck_assert_ptr_eq(ring_peek(&ring, &len), first);
	ck_assert_ptr_eq(ring_peek(&ring, &len), first);
	take(10, 1);
	take(20, 2);
	check_empty();
}
END_TEST

START_TEST(room_is_zero_and_aligned)
{
	unsigned round, i;
	uint32_t len;
	uint8_t *p;

	for (round = 0; round < 2000; round++) {
		len = round % 300;
		p = ring_reserve(&ring, len);
		check(p);
		check((uintptr_t)p % 8 == 0);
		for (i = 0; i < len; i++)
			check(!p[i]);
		memset(p, 0xff, len);
		ring_commit(p, len);
		take(len, 0xff);
	}
}
END_TEST

START_TEST(full_ring_loses_the_newest)
{
	uint32_t len = ALIGN * 4 - HEADER;
	unsigned n = (unsigned)(page / total_of(len)), round, i;

	for (round = 0; round < 3; round++) {
		for (i = 0; i < n; i++)
			check(put(len, (uint8_t)i));
		ck_assert_uint_eq(ring_used(&ring), page);
		for (i = 0; i < 10; i++) {
			check(!put(len, 0xee));
			check(!put(0, 0xee));
		}
		/* the room of one makes room for one */
		take(len, 0);
		check(put(len, 0xaa));
		check(!put(0, 0xee));
		for (i = 1; i < n; i++)
			take(len, (uint8_t)i);
		take(len, 0xaa);
		check_empty();
	}
}
END_TEST

/* Every offset, every length of what is skipped at the end. */
START_TEST(wrap_at_every_offset)
{
	uint64_t offset;
	uint32_t len;

	for (offset = 0; offset < page; offset += ALIGN) {
		for (len = 1; len <= page / 4; len = len * 3 + 5) {
			move_to(offset);
			check(put(len, 0x11));
			check(put(len + 1, 0x22));
			take(len, 0x11);
			check(put(3, 0x33));
			take(len + 1, 0x22);
			take(3, 0x33);
			check_empty();
		}
	}
}
END_TEST

/* What is not there is never read, whatever the wire brought before. */
START_TEST(hostile_payload)
{
	/* as a header: a length, padding, both, everything */
	static const uint64_t headers[] = {
		0x0000001000000010, 0x8000001080000010, 0x7ffffff07ffffff0,
		0xffffffffffffffff, 0x0000000180000000, 0x0000000000000001,
	};
	uint32_t len, got, i, k, round;
	uint64_t *p;

	for (round = 0; round < 5000; round++) {
		k = round % (sizeof(headers) / sizeof(headers[0]));
		len = 8 * (1 + round * 7 % 200);
		p = ring_reserve(&ring, len);
		check(p);
		for (i = 0; i < len / 8; i++)
			p[i] = headers[k];
		ring_commit(p, len);
		check(ring_peek(&ring, &got) == p);
		check(got == len);
		for (i = 0; i < len / 8; i++)
			check(p[i] == headers[k]);
		ring_release(&ring, p);
		check(!ring_peek(&ring, &got));
		/* reserved and not committed: still nothing */
		p = ring_reserve(&ring, 8 * (round % 100));
		check(p);
		check(!ring_peek(&ring, &got));
		memset(p, 0xff, 8 * (round % 100));
		check(!ring_peek(&ring, &got));
		ring_commit(p, 8 * (round % 100));
		take(8 * (round % 100), 0xff);
	}
}
END_TEST

/* Lengths and bytes of a producer's record are told by its number. */
struct record {
	uint32_t producer;
	uint32_t number;
	uint64_t words[];
};

static pthread_barrier_t barrier;

static uint32_t words_of(uint32_t number)
{
	return number * 7 % 32;
}

static uint64_t word_of(uint32_t producer, uint32_t number)
{
	return ~((uint64_t)producer << 32 | number);
}

static void *produce(void *context)
{
	uint32_t producer = (uint32_t)(uintptr_t)context, i, k, len;
	struct record *r;

	pthread_barrier_wait(&barrier);
	for (i = 0; i < EACH; i++) {
		len = (uint32_t)(sizeof(*r) + 8 * words_of(i));
		while (!(r = ring_reserve(&ring, len)))
			sched_yield();
		r->producer = producer;
		r->number = i;
		for (k = 0; k < words_of(i); k++)
			r->words[k] = word_of(producer, i);
		ring_commit(r, len);
	}
	return NULL;
}

START_TEST(four_producers)
{
	uint32_t next[PRODUCERS] = { 0 }, len, k;
	pthread_t threads[PRODUCERS];
	uint64_t left = (uint64_t)PRODUCERS * EACH;
	struct record *r;
	uintptr_t i;

	ring_free(&ring);
	check(!ring_init(&ring, 1024 * 1024));
	check(!pthread_barrier_init(&barrier, NULL, PRODUCERS));
	for (i = 0; i < PRODUCERS; i++)
		check(!pthread_create(&threads[i], NULL, produce, (void *)i));
	while (left) {
		r = ring_peek(&ring, &len);
		if (!r) {
			sched_yield();
			continue;
		}
		check(r->producer < PRODUCERS);
		check(r->number == next[r->producer]);
		next[r->producer]++;
		check(len == sizeof(*r) + 8 * words_of(r->number));
		for (k = 0; k < words_of(r->number); k++)
			check(r->words[k] == word_of(r->producer, r->number));
		ring_release(&ring, r);
		left--;
	}
	for (i = 0; i < PRODUCERS; i++) {
		pthread_join(threads[i], NULL);
		ck_assert_uint_eq(next[i], EACH);
	}
	pthread_barrier_destroy(&barrier);
	check_empty();
}
END_TEST

/*
 * A ring that is never full refuses nothing, however the ends move while a
 * producer looks at them: each producer has one record in it at most.
 */
static uint64_t until;
static _Atomic unsigned refused, done;
static _Atomic bool consumed[PRODUCERS];

static void *one_at_a_time(void *context)
{
	uint32_t producer = (uint32_t)(uintptr_t)context;
	uint32_t *p;

	pthread_barrier_wait(&barrier);
	while (clock_ns(CLOCK_MONOTONIC) < until) {
		p = ring_reserve(&ring, 200);
		if (!p) {
			refused++;
			continue;
		}
		*p = producer;
		consumed[producer] = false;
		ring_commit(p, 200);
		while (!consumed[producer])
			sched_yield();
	}
	done++;
	return NULL;
}

START_TEST(no_false_full)
{
	pthread_t threads[PRODUCERS];
	uint32_t len, *p, producer;
	uintptr_t i;

	until = clock_ns(CLOCK_MONOTONIC) + 300000000;
	check(!pthread_barrier_init(&barrier, NULL, PRODUCERS));
	for (i = 0; i < PRODUCERS; i++)
		check(!pthread_create(&threads[i], NULL, one_at_a_time,
				      (void *)i));
	while (done < PRODUCERS || ring_used(&ring)) {
		p = ring_peek(&ring, &len);
		if (!p) {
			sched_yield();
			continue;
		}
		producer = *p;
		ring_release(&ring, p);
		consumed[producer] = true;
	}
	for (i = 0; i < PRODUCERS; i++)
		pthread_join(threads[i], NULL);
	pthread_barrier_destroy(&barrier);
	ck_assert_uint_eq(refused, 0);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("ring");
	TCase *tc = tcase_create("ring");

	tcase_set_timeout(tc, 240);
	tcase_add_checked_fixture(tc, setup, teardown);
	tcase_add_test(tc, sizes);
	tcase_add_test(tc, not_locked);
	tcase_add_test(tc, locked);
	tcase_add_test(tc, records_too_large);
	tcase_add_test(tc, empty_and_tiny_records);
	tcase_add_test(tc, commit_order);
	tcase_add_test(tc, room_is_zero_and_aligned);
	tcase_add_test(tc, full_ring_loses_the_newest);
	tcase_add_test(tc, wrap_at_every_offset);
	tcase_add_test(tc, hostile_payload);
	tcase_add_test(tc, four_producers);
	tcase_add_test(tc, no_false_full);
	suite_add_tcase(suite, tc);
	return run_suite(suite);
}
