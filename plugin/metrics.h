/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * What passes, counted, and as Prometheus text: CONTRACT section 8. No clock,
 * no thread, no file. All it keeps is bounded, whatever the wire says: of
 * numbers that have no name, METRICS_UNKNOWN have a series of their own and the
 * others share one; of requesters, METRICS_TOP. One thread at a time counts; a
 * sample is a copy, of which another thread may make the text meanwhile.
 *
 * 5 MB of address space have a place for each LID; it is memory (96 bytes each)
 * only where there are requesters.
 */
#ifndef OSMSNOOP_METRICS_H
#define OSMSNOOP_METRICS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "record.h"

enum {
	METRICS_TOP = 20,
	METRICS_UNKNOWN = 8,
	METRICS_KNOWN = 40,	/* no table of names is longer */
	METRICS_NUMBERS = METRICS_KNOWN + METRICS_UNKNOWN,
	METRICS_OTHER = METRICS_NUMBERS,	/* the place of all others */
	METRICS_PLACES,
	METRICS_ALERTS = 40,
	METRICS_ALERT_MAX = 48,	/* bytes of an alert's name */
	METRICS_BUCKETS = 20,	/* the last one has no end */
	METRICS_LOSSES = 9,	/* the last one: elsewhere */
	METRICS_NAME_MAX = 84,	/* a node's description and its GUID */
	METRICS_TEXT_MAX = 512 * 1024,
};

/* What each text of ours begins with. */
#define METRICS_MARK "# HELP osmsnoop_"

/* Numbers by their places, as they came; behind them is METRICS_OTHER's. */
struct metrics_numbers {
	uint16_t number[METRICS_NUMBERS];
	unsigned n, unknown;
};

struct metrics_requester {
	uint64_t requests;
	uint32_t recent;	/* of these, in the last minutes */
	char name[METRICS_NAME_MAX];	/* as it came; "" = not known */
};

struct metrics_counts {
	struct metrics_numbers classes, methods, attributes, traps;
	uint64_t mads[METRICS_PLACES][2];	/* received, sent */
	uint64_t send_errors[METRICS_PLACES];
	/* by method, attribute and enum sa_outcome */
	uint64_t requests[METRICS_PLACES][METRICS_PLACES][3];
	uint64_t latencies[METRICS_BUCKETS], latency_ns;
	uint64_t trap[METRICS_PLACES], vendor_traps;
	char alert_names[METRICS_ALERTS][METRICS_ALERT_MAX];
	uint64_t alerts[METRICS_ALERTS + 1];	/* the last one: others */
	uint64_t lost[METRICS_LOSSES];
	uint64_t outstanding, ring_bytes;
	bool up;
};

struct metrics_sample {
	struct metrics_counts counts;
	unsigned n_top;
	struct {
		uint16_t lid;
		struct metrics_requester who;
	} top[METRICS_TOP];	/* the busiest one first */
};

struct metrics;

/* NULL: no memory. */
struct metrics *metrics_new(void);
void metrics_free(struct metrics *m);		/* NULL is well */

void metrics_capture(struct metrics *m, const struct mad_capture *cap);
void metrics_record(struct metrics *m, const struct record *r);
/* What is not counted but is so now. */
void metrics_now(struct metrics *m, bool up, uint64_t outstanding,
		 uint64_t ring_bytes);

/*
 * The busiest requesters are those of the last minutes: a request counts a
 * sixteenth less with each sample.
 */
void metrics_take(struct metrics *m, struct metrics_sample *sample);

/* Returns the length of the text, without a NUL; 0 when it does not fit. */
size_t metrics_text(const struct metrics_sample *sample, char *text,
		    size_t size);

#endif /* OSMSNOOP_METRICS_H */
