/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * What `osmsnoop top` counts: SA transactions by requester. It knows no
 * terminal and no clock. Memory is bounded: about 1 kB for each LID that asked.
 *
 * Counting and looking are apart: a snapshot holds the values of a moment, which
 * may be sorted and shown, or kept, while the table counts on.
 */
#ifndef OSMSNOOP_TOP_TABLE_H
#define OSMSNOOP_TOP_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "erf.h"
#include "record.h"

enum {
	TOP_SECONDS = 60,	/* of the past that is shown */
	TOP_RATE_SECONDS = 5,	/* that "now" is */
	TOP_ATTRIBUTES = 3,	/* shown of a requester */
	TOP_LIDS = 65536,
};

struct top_attribute {
	uint16_t id;
	uint64_t count;		/* 0 = there is none */
};

/* A requester, or all of them together. */
struct top_row {
	uint16_t lid;
	char name[ERF_NAME_MAX + 1];	/* from the wire; "" = not known */
	uint64_t requests;	/* without those that were sent again */
	uint64_t answered, failed;
	uint64_t unanswered;	/* as far as it is known */
	uint64_t errors;	/* answered with a status that is not OK */
	uint64_t duplicates;	/* sent again */
	double rate;		/* a second, now, sent again or not */
	double share;		/* of all requests; NAN when there are none */
	uint64_t timed;		/* answers of known latency: of these, */
	uint64_t p50_us, p99_us;
	struct top_attribute attributes[TOP_ATTRIBUTES];	/* most first */
};

/* Zeroed: empty. */
struct top_snapshot {
	struct top_row total;
	struct top_row *rows;	/* by LID */
	size_t n, room;
	/* what came in each of the last whole seconds, the last one last */
	uint64_t seconds[TOP_SECONDS];
	uint64_t lost;		/* captures */
};

struct top_table;

struct top_table *top_table_new(void);		/* NULL: no memory */
void top_table_free(struct top_table *t);	/* NULL is well */

/*
 * Count a record: of an SA request that came to OpenSM, or of a loss; others
 * are passed over. `now_ns` is any clock that does not go back.
 */
void top_table_put(struct top_table *t, const struct record *r,
		   uint64_t now_ns);

/* Begin anew. */
void top_table_clear(struct top_table *t, uint64_t now_ns);

/* False, and nothing has changed, when there is no memory. */
bool top_table_look(const struct top_table *t, uint64_t now_ns,
		    struct top_snapshot *s);
void top_snapshot_free(struct top_snapshot *s);

#endif /* OSMSNOOP_TOP_TABLE_H */
