/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * What many records say together. Nothing here grows with their number: the
 * tables have a row for each LID that asked, and for so many attributes.
 */
#ifndef OSMSNOOP_SUMMARY_H
#define OSMSNOOP_SUMMARY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "latency.h"
#include "record.h"

enum {
	SUMMARY_KEYS = 1024,		/* different attributes of a table */
	SUMMARY_NUMBERS = 65536,	/* LIDs, statuses, trap numbers */
	SUMMARY_NAME_MAX = 128,
	SUMMARY_TYPES = RECORD_STOP + 1,
	SUMMARY_REASONS = SA_REASON_UNKNOWN + 1,
};

/* SA transactions that have something in common. */
struct summary_row {
	uint64_t requests;
	uint64_t outcomes[SA_FAILED + 1];	/* by enum sa_outcome */
	uint64_t errors;	/* of those answered: not with status OK */
	uint64_t retries;	/* further copies, under the same TID */
	uint64_t repeats;	/* the same asked again, under another TID */
	uint64_t records;	/* in all answers */
	struct latency latency;
};

/* Who asked, by LID. */
struct summary_requester {
	struct summary_row row;
	uint16_t lid;
	uint64_t port_guid;	/* 0 = not known */
	char name[SUMMARY_NAME_MAX];	/* the last one; empty = not known */
};

/* Other MADs of one attribute. */
struct summary_mads {
	uint64_t received, sent;
	uint64_t errors;	/* of those sent: completed in error */
};

/* Which row of a table a class, method and attribute have. */
struct summary_keys {
	uint64_t seed[2];
	size_t n;
	uint32_t keys[SUMMARY_KEYS];	/* class, method, attribute */
	uint16_t slots[2 * SUMMARY_KEYS];	/* its number + 1; 0 = free */
};

struct summary {
	uint64_t records;
	uint64_t types[SUMMARY_TYPES];
	uint64_t first_ns, last_ns;	/* CLOCK_REALTIME of any record */
	uint64_t lost;			/* captures, by the loss records */
	uint64_t capture_lost;		/* perhaps answered all the same */

	struct summary_row all;		/* what the SA was asked */
	struct summary_row reports;	/* what it has sent to subscribers */
	uint64_t reasons[SUMMARY_REASONS];	/* for no answer */
	uint64_t statuses[SUMMARY_NUMBERS];
	uint64_t traps[SUMMARY_NUMBERS];	/* by trap number */
	uint64_t vendor_traps;

	/* the last row is of all that found no other */
	struct summary_keys attribute_keys;
	struct summary_row attributes[SUMMARY_KEYS + 1];
	struct summary_keys mad_keys;
	struct summary_mads mads[SUMMARY_KEYS + 1];
	struct summary_requester *requesters[SUMMARY_NUMBERS];

	uint64_t asked_first_ns, asked_last_ns;	/* of requests */
	uint64_t peak;			/* requests in one second */
	uint64_t peak_second;		/* which one, since 1970 */
	struct summary_second *seconds;

	uint64_t repeat_ns;		/* within which one counts */
	bool repeats_at_least;		/* there was no room to know all */
	struct summary_query *queries;
};

struct summary *summary_new(uint64_t repeat_ns);
void summary_free(struct summary *s);		/* NULL is well */

void summary_add(struct summary *s, const struct record *r);

/* The mean rate of requests, each second. */
double summary_rate(const struct summary *s);

/*
 * In order, the highest count first: numbers of LIDs, of rows, of what is not
 * zero. All return how many there are.
 */
struct summary_count {
	uint64_t count;
	uint32_t key;		/* orders those with the same count */
	uint16_t number;
};

size_t summary_requesters(const struct summary *s,
			  struct summary_count order[SUMMARY_NUMBERS]);
size_t summary_attributes(const struct summary *s,
			  struct summary_count order[SUMMARY_NUMBERS]);
size_t summary_mads(const struct summary *s,
		    struct summary_count order[SUMMARY_NUMBERS]);
size_t summary_numbers(const uint64_t counts[SUMMARY_NUMBERS],
		       struct summary_count order[SUMMARY_NUMBERS]);

#endif /* OSMSNOOP_SUMMARY_H */
