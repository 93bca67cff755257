/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "siphash.h"
#include "table.h"

LIST_HEAD(bucket, table_entry);
TAILQ_HEAD(order, table_entry);

struct table {
	size_t max, size, used, count;
	void (*evict)(struct table_entry *e, void *context);
	void *context;
	uint64_t seed[2], digest_seeds[2][2];
	size_t mask, bytes;
	struct order order;	/* used least recently first */
	struct order free;
	uint8_t *entries;
	struct bucket buckets[];
};

struct table *table_new(size_t max, size_t size,
			void (*evict)(struct table_entry *e, void *context),
			void *context)
{
	size_t buckets = 1;
	struct table *t;

	while (buckets < max)
		buckets *= 2;
	t = calloc(1, sizeof(*t) + buckets * sizeof(t->buckets[0]));
	if (!t)
		return NULL;
	t->max = max;
	t->size = (size + 7) & ~(size_t)7;
	t->evict = evict;
	t->context = context;
	t->mask = buckets - 1;
	t->bytes = max * t->size;
	siphash_seed(t->seed);
	siphash_seed(t->digest_seeds[0]);
	siphash_seed(t->digest_seeds[1]);
	TAILQ_INIT(&t->order);
	TAILQ_INIT(&t->free);
	/* its pages are memory when they are written to */
	t->entries = mmap(NULL, t->bytes, PROT_READ | PROT_WRITE,
			  MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (t->entries != MAP_FAILED)
		return t;
	free(t);
	return NULL;
}

void table_free(struct table *t)
{
	if (!t)
		return;
	munmap(t->entries, t->bytes);
	free(t);
}

void table_digest(const struct table *t, const void *bytes, size_t len,
		  uint64_t digest[2])
{
	uint64_t words[TABLE_DIGEST_MAX / 8 + 1] = { 0 };
	const size_t n = sizeof(words) / sizeof(words[0]);

	if (len > TABLE_DIGEST_MAX)
		len = TABLE_DIGEST_MAX;
	memcpy(words, bytes, len);
	words[n - 1] = len;
	digest[0] = siphash_words(t->digest_seeds[0], words, n);
	digest[1] = siphash_words(t->digest_seeds[1], words, n);
}

static struct bucket *find_bucket(struct table *t, const struct table_key *key)
{
	return &t->buckets[siphash_words(t->seed, key->word, TABLE_WORDS) &
			   t->mask];
}

struct table_entry *table_find(struct table *t, const struct table_key *key)
{
	struct table_entry *e;

	LIST_FOREACH(e, find_bucket(t, key), in_bucket)
		if (!memcmp(e->key.word, key->word, sizeof(key->word)))
			return e;
	return NULL;
}

static struct table_entry *get_free(struct table *t)
{
	struct table_entry *e = TAILQ_FIRST(&t->free);

	if (e) {
		TAILQ_REMOVE(&t->free, e, in_order);
		return e;
	}
	if (t->used < t->max)
		return (struct table_entry *)(t->entries +
					      t->size * t->used++);
	e = TAILQ_FIRST(&t->order);
	if (t->evict)
		t->evict(e, t->context);
	table_remove(t, e);
	TAILQ_REMOVE(&t->free, e, in_order);
	return e;
}

struct table_entry *table_get(struct table *t, const struct table_key *key)
{
	struct table_entry *e = table_find(t, key);

	if (e) {
		TAILQ_REMOVE(&t->order, e, in_order);
	} else {
		e = get_free(t);
		memset(e, 0, t->size);
		e->key = *key;
		LIST_INSERT_HEAD(find_bucket(t, key), e, in_bucket);
		t->count++;
	}
	TAILQ_INSERT_TAIL(&t->order, e, in_order);
	return e;
}

struct table_entry *table_get_room(struct table *t,
				   const struct table_key *key)
{
	return t->count < t->max || table_find(t, key) ? table_get(t, key) :
							  NULL;
}

void table_remove(struct table *t, struct table_entry *e)
{
	LIST_REMOVE(e, in_bucket);
	TAILQ_REMOVE(&t->order, e, in_order);
	TAILQ_INSERT_HEAD(&t->free, e, in_order);
	t->count--;
}

size_t table_count(const struct table *t)
{
	return t->count;
}

void table_each(struct table *t,
		void (*each)(struct table_entry *e, void *context),
		void *context)
{
	struct table_entry *e, *next;

	for (e = TAILQ_FIRST(&t->order); e; e = next) {
		next = TAILQ_NEXT(e, in_order);
		each(e, context);
	}
}
