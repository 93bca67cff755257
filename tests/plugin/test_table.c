/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* plugin/watch/table.c beside a plain list, and what it takes. */
#include <check.h>
#include <stdlib.h>

#include "watch/table.h"
#include "../run.h"

enum { MAX = 100 };

struct thing {
	struct table_entry entry;
	uint64_t value;
};

static struct table *table;
static uint64_t evicted[1000];
static unsigned n_evicted;

static void evict(struct table_entry *e, void *context)
{
	ck_assert_ptr_eq(context, &table);
	evicted[n_evicted++] = ((struct thing *)e)->value;
}

static void setup(void)
{
	table = table_new(MAX, sizeof(struct thing), evict, &table);
	ck_assert_ptr_nonnull(table);
	n_evicted = 0;
}

static void teardown(void)
{
	table_free(table);
}

static struct table_key key_of(uint64_t n)
{
	return (struct table_key){ { n, n * n } };
}

static struct thing *get(uint64_t n)
{
	const struct table_key key = key_of(n);

	return (struct thing *)table_get(table, &key);
}

static struct thing *find(uint64_t n)
{
	const struct table_key key = key_of(n);

	return (struct thing *)table_find(table, &key);
}

START_TEST(test_get)
{
	struct thing *a = get(7);

	ck_assert_uint_eq(a->value, 0);
	a->value = 70;
	ck_assert_ptr_eq(get(7), a);
	ck_assert_ptr_eq(find(7), a);
	ck_assert_ptr_null(find(8));
	ck_assert_uint_eq(table_count(table), 1);
	table_remove(table, &a->entry);
	ck_assert_ptr_null(find(7));
	ck_assert_uint_eq(table_count(table), 0);
	/* its bytes are forgotten */
	ck_assert_uint_eq(get(9)->value, 0);
	table_free(NULL);
}
END_TEST

/* Who was used least recently makes room, in that order. */
START_TEST(test_full)
{
	uint64_t i;

	for (i = 0; i < MAX; i++)
		get(i)->value = i;
	ck_assert_uint_eq(n_evicted, 0);
	for (i = 0; i < MAX / 2; i++)
		get(i);
	for (i = 0; i < MAX; i++)
		get(1000 + i)->value = 1000 + i;
	ck_assert_uint_eq(n_evicted, MAX);
	for (i = 0; i < MAX; i++)
		ck_assert_uint_eq(evicted[i], (i + MAX / 2) % MAX);
	ck_assert_uint_eq(table_count(table), MAX);
	for (i = 0; i < MAX; i++)
		ck_assert_uint_eq(find(1000 + i)->value, 1000 + i);
}
END_TEST

static uint64_t sum;

static void remove_even(struct table_entry *e, void *context)
{
	(void)context;
	sum += ((struct thing *)e)->value;
	if (((struct thing *)e)->value % 2 == 0)
		table_remove(table, e);
}

START_TEST(test_each)
{
	uint64_t i;

	for (i = 0; i < MAX; i++)
		get(i)->value = i;
	table_each(table, remove_even, NULL);
	ck_assert_uint_eq(sum, MAX * (MAX - 1) / 2);
	ck_assert_uint_eq(table_count(table), MAX / 2);
	for (i = 0; i < MAX; i++)
		ck_assert_int_eq(find(i) != NULL, i % 2);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("table");
	TCase *tcase = tcase_create("table");

	tcase_add_checked_fixture(tcase, setup, teardown);
	tcase_add_test(tcase, test_get);
	tcase_add_test(tcase, test_full);
	tcase_add_test(tcase, test_each);
	suite_add_tcase(suite, tcase);
	return run_suite(suite);
}
