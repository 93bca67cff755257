/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * From packets to records, as the plugin does it live: segments become
 * messages, requests and answers transactions. The clock is that of the
 * packets.
 */
#ifndef OSMSNOOP_PIPELINE_H
#define OSMSNOOP_PIPELINE_H

#include "erf.h"
#include "record.h"
#include "transaction.h"

struct pipeline;

struct pipeline_options {
	uint64_t unanswered_ns;	/* 0 = 5 s */
	size_t max;		/* requests, and messages, at a time; 0 = 65536 */
	bool keep_answers;	/* sa_record's `answer` is wanted */
	const char *node_name_map;	/* OpenSM's file; may be NULL */

	/*
	 * Each MAD as it was captured, before the records that it leads to;
	 * `peer` is its other end. And each record, also of losses: what a
	 * packet says was lost before it. Either may be NULL, and then its
	 * work is not done. Both call no function of the pipeline.
	 */
	void (*capture)(const struct mad_capture *cap,
			const struct erf_note *note,
			const struct requester *peer, void *context);
	void (*record)(const struct record *record, void *context);
	void *context;
};

struct pipeline_stats {
	uint64_t mads;
	uint64_t sent, received;
	uint64_t lost;		/* by what the packets say */
	uint64_t broken_off;	/* RMPP messages that never were whole */
	uint64_t first_ns;	/* CLOCK_REALTIME of the first MAD; 0 = none */
	uint64_t last_ns;
	struct transactions_stats transactions;
};

enum { PIPELINE_ERROR_MAX = 512 };

/* NULL: `error` says why. The options are copied, not what they point to. */
struct pipeline *pipeline_new(const struct pipeline_options *options,
			      char error[PIPELINE_ERROR_MAX]);
void pipeline_free(struct pipeline *p);		/* NULL is well */

/* One MAD, in the order of capture. */
void pipeline_put(struct pipeline *p, const struct mad_capture *cap,
		  const struct erf_note *note);

/* Nothing has come for so long, and more may come: time passes. */
void pipeline_idle(struct pipeline *p, uint64_t quiet_ns);

/*
 * The end: report what is outstanding. Unless it is known to have been dropped,
 * there is no telling whether it was answered later.
 */
void pipeline_flush(struct pipeline *p);

/*
 * When the last MAD came; 0 = none has. It never goes back: a clock that was
 * set back goes on here.
 */
uint64_t pipeline_now(const struct pipeline *p);

void pipeline_get_stats(const struct pipeline *p,
			struct pipeline_stats *stats);

#endif /* OSMSNOOP_PIPELINE_H */
