/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * A bounded table of what a watcher keeps by key. Keys come from the wire, so
 * they are hashed with a seed; when it is full, what was used least recently
 * makes room. Memory that is not used is not taken.
 */
#ifndef OSMSNOOP_WATCH_TABLE_H
#define OSMSNOOP_WATCH_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/queue.h>

enum { TABLE_WORDS = 4, TABLE_DIGEST_MAX = 128 };

struct table_key {
	uint64_t word[TABLE_WORDS];	/* unused ones are zero */
};

/* The first member of what is kept. */
struct table_entry {
	LIST_ENTRY(table_entry) in_bucket;
	TAILQ_ENTRY(table_entry) in_order;
	struct table_key key;
};

struct table;

/*
 * Up to `max` entries of `size` bytes each. `evict` (may be NULL) is called with
 * one that makes room for another, before its bytes are used again. NULL: no
 * memory.
 */
struct table *table_new(size_t max, size_t size,
			void (*evict)(struct table_entry *e, void *context),
			void *context);
void table_free(struct table *t);		/* NULL is well */

/*
 * For what is longer than a key, TABLE_DIGEST_MAX bytes at most: nobody who does
 * not know the seed finds others with the same two words.
 */
void table_digest(const struct table *t, const void *bytes, size_t len,
		  uint64_t digest[2]);

/* NULL: there is none. */
struct table_entry *table_find(struct table *t, const struct table_key *key);
/* Of a new one all is zero but the key. Never NULL. */
struct table_entry *table_get(struct table *t, const struct table_key *key);
/* The same, but NULL where another one would have to make room. */
struct table_entry *table_get_room(struct table *t,
				   const struct table_key *key);
void table_remove(struct table *t, struct table_entry *e);

size_t table_count(const struct table *t);
/* For each, the one used least recently first; `each` may remove it. */
void table_each(struct table *t,
		void (*each)(struct table_entry *e, void *context),
		void *context);

#endif /* OSMSNOOP_WATCH_TABLE_H */
