/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * The transaction table: captures in, records out. It matches SA requests
 * with their responses (LID, GID, QP, TID, attribute), counts retries and
 * works out why a request got no answer. Clock values come with the captures
 * and the ticks; it reads no clock, starts no thread and allocates once.
 *
 * One thread at a time may use a table.
 */
#ifndef OSMSNOOP_TRANSACTION_H
#define OSMSNOOP_TRANSACTION_H

#include <stddef.h>
#include <stdint.h>

#include "layout.h"
#include "record.h"

struct transactions;

struct transactions_options {
	size_t max;		/* outstanding at most; 0 = 65536 */
	uint64_t unanswered_ns;	/* a request is reported after that; 0 = 5 s */
	bool show_keys;
	bool keep_answers;	/* for sa_record's `answer`; it allocates then */
	uint16_t keep_attr;	/* without it: those about this, of one MAD */

	/* Called for each record, from the functions below. The record and
	 * all that it points to are valid only until it returns. */
	void (*emit)(const struct record *record, void *context);

	/* Fill in port_guid and name from addr; may be NULL. */
	void (*resolve)(struct requester *requester, void *context);

	void *context;
};

struct transactions_stats {
	uint64_t requests;	/* SA requests seen, retries included */
	uint64_t retries;
	uint64_t answered, unanswered, failed;
	uint64_t evicted;	/* reported early because the table was full */
	size_t outstanding;
};

/* NULL when there is no memory (errno says so). */
struct transactions *transactions_new(const struct transactions_options *opts);
void transactions_free(struct transactions *t);	/* NULL is well */

/* Feed one capture, in the order of capture. Emits any number of records. */
void transactions_put(struct transactions *t, const struct mad_capture *cap);

/* Let time pass: report what has waited too long. */
void transactions_tick(struct transactions *t, uint64_t mono_ns);

/*
 * Responses given to OpenSM's vendor layer before this moment have been sent,
 * or else the capture of their failure is among those up to this moment. The
 * next capture of the thread that sent it says the same of one response.
 * Until this is known (a second at most) its transaction is held back, lest
 * it be reported as answered. Call it before transactions_tick().
 */
void transactions_sends_done(struct transactions *t, uint64_t mono_ns);

/*
 * Captures were lost up to this moment: a request that was outstanding then
 * and gets no answer may have had one. UINT64_MAX: always.
 */
void transactions_note_loss(struct transactions *t, uint64_t mono_ns);

/*
 * What follows is not captured: a request that is outstanding, and not known to
 * have been dropped, may get an answer that nobody sees.
 */
void transactions_cut(struct transactions *t);

/* The end: report everything outstanding. */
void transactions_flush(struct transactions *t);

void transactions_get_stats(const struct transactions *t,
			    struct transactions_stats *stats);

/*
 * Why OpenSM leaves this SA request without an answer, by the rules of
 * OpenSM's SA dispatch in their order: not master, first sweep, SM_Key,
 * method, overload, attribute, method for the attribute. SA_REASON_NONE when
 * by these rules it is to be answered.
 */
enum sa_reason sa_silence(const struct sa_condition *cond, const uint8_t *mad,
			  size_t len);

#endif /* OSMSNOOP_TRANSACTION_H */
