/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "node_names.h"
#include "pipeline.h"
#include "rmpp.h"

/*
 * How long after an answer the capture of its failure may come: OpenSM's
 * vendor layer tells at once when it cannot send. And how much older a packet
 * may be than one before it, since OpenSM's threads look at the clock before
 * their captures get an order; more than that is a clock that was set back.
 */
static const uint64_t hold_ns = 100000000;

struct pipeline {
	struct pipeline_options opts;
	struct pipeline_stats stats;
	struct rmpp *rmpp;
	struct transactions *transactions;
	struct node_names *names;
	uint64_t now_ns;	/* of the packets; never goes back */
	uint64_t behind_ns;	/* their clock, since it was set back */
};

static void emit(const struct record *record, void *context)
{
	struct pipeline *p = context;

	p->opts.record(record, p->opts.context);
}

static void resolve(struct requester *who, void *context)
{
	struct pipeline *p = context;

	node_names_resolve(p->names, who);
}

static void note_gone(const struct rmpp_gone *gone, void *context)
{
	struct pipeline *p = context;

	/* these stand in no transfer, or their failure is in a record */
	if (gone->reason != RMPP_MALFORMED)
		p->stats.broken_off++;
}

static void tell_loss(struct pipeline *p, uint64_t lost, uint64_t time_ns)
{
	struct record r = {
		.type = RECORD_LOSS,
		.time_ns = time_ns,
		.loss = { .where = "capture", .lost = lost },
	};

	p->stats.lost += lost;
	r.loss.total = p->stats.lost;
	if (!p->opts.record)
		return;
	transactions_note_loss(p->transactions, p->now_ns);
	emit(&r, p);
}

static void count(struct pipeline *p, const struct mad_capture *cap)
{
	if (!p->stats.mads++)
		p->stats.first_ns = cap->time_ns;
	p->stats.last_ns = cap->time_ns;
	if (cap->sent)
		p->stats.sent++;
	else
		p->stats.received++;
}

static void put_capture(struct pipeline *p, const struct mad_capture *cap,
			const struct erf_note *note)
{
	struct requester peer = { .addr = cap->peer };

	if (!p->opts.capture)
		return;
	resolve(&peer, p);
	p->opts.capture(cap, note, &peer, p->opts.context);
}

static void pass_time(struct pipeline *p, uint64_t now_ns)
{
	if (now_ns > hold_ns)
		transactions_sends_done(p->transactions, now_ns - hold_ns);
	transactions_tick(p->transactions, now_ns);
}

static void put_message(struct pipeline *p, const struct mad_capture *cap)
{
	node_names_learn(p->names, cap);
	if (p->opts.record)
		transactions_put(p->transactions, cap);
}

static void put_mad(struct pipeline *p, const struct mad_capture *cap)
{
	struct mad_capture whole;
	uint32_t segments;

	switch (rmpp_put(p->rmpp, cap, &whole, &segments)) {
	case RMPP_NONE:
		put_message(p, cap);
		break;
	case RMPP_WHOLE:
		whole.above_rmpp = true;
		put_message(p, &whole);
		break;
	case RMPP_PART:
		break;
	}
}

/*
 * When a packet came, by a clock that goes on where that of the packets was set
 * back: what lies between two later ones is as long as it was. Where theirs
 * has caught up, such as behind one packet from the future, it is believed.
 */
static uint64_t set_clock(struct pipeline *p, uint64_t ns)
{
	if (ns >= p->now_ns)
		p->behind_ns = 0;
	ns += p->behind_ns;
	if (ns + hold_ns < p->now_ns) {
		p->behind_ns += p->now_ns - ns;
		ns = p->now_ns;
	}
	if (ns > p->now_ns)
		p->now_ns = ns;
	return ns;
}

void pipeline_put(struct pipeline *p, const struct mad_capture *cap,
		  const struct erf_note *note)
{
	struct mad_capture c = *cap;

	c.mono_ns = set_clock(p, cap->mono_ns);
	count(p, cap);
	if (note->has_name)
		node_names_tell(p->names, &cap->peer, &note->name);
	put_capture(p, cap, note);
	if (p->opts.record)
		pass_time(p, p->now_ns);
	if (cap->lost)
		tell_loss(p, cap->lost, cap->time_ns);
	put_mad(p, &c);
}

void pipeline_idle(struct pipeline *p, uint64_t quiet_ns)
{
	if (!p->now_ns)
		return;
	rmpp_tick(p->rmpp, p->now_ns + quiet_ns);
	if (p->opts.record)
		pass_time(p, p->now_ns + quiet_ns);
}

void pipeline_flush(struct pipeline *p)
{
	transactions_cut(p->transactions);
	rmpp_flush(p->rmpp);
	transactions_flush(p->transactions);
}

uint64_t pipeline_now(const struct pipeline *p)
{
	return p->now_ns;
}

void pipeline_get_stats(const struct pipeline *p,
			struct pipeline_stats *stats)
{
	*stats = p->stats;
	transactions_get_stats(p->transactions, &stats->transactions);
}

static bool read_map(struct pipeline *p, char error[PIPELINE_ERROR_MAX])
{
	if (!p->opts.node_name_map ||
	    node_names_read_map(p->names, p->opts.node_name_map))
		return true;
	snprintf(error, PIPELINE_ERROR_MAX, "%s: %s", p->opts.node_name_map,
		 errno == EIO ? "no node name map, whose lines are 0xGUID \"name\"" :
				strerror(errno));
	return false;
}

struct pipeline *pipeline_new(const struct pipeline_options *options,
			      char error[PIPELINE_ERROR_MAX])
{
	struct pipeline *p = calloc(1, sizeof(*p));
	const struct rmpp_options rmpp = {
		.max_transfers = options->max,
		.keep_cut = true,
		.gone = note_gone,
		.context = p,
	};
	const struct transactions_options transactions = {
		.max = options->max,
		.unanswered_ns = options->unanswered_ns,
		.show_keys = true,	/* what hides them was before */
		.keep_answers = options->keep_answers,
		.emit = emit,
		.resolve = resolve,
		.context = p,
	};

	if (!p)
		goto no_memory;
	p->opts = *options;
	p->rmpp = rmpp_new(&rmpp);
	p->transactions = transactions_new(&transactions);
	p->names = node_names_new();
	if (!p->rmpp || !p->transactions || !p->names)
		goto no_memory;
	if (!read_map(p, error)) {
		pipeline_free(p);
		return NULL;
	}
	return p;

no_memory:
	pipeline_free(p);
	snprintf(error, PIPELINE_ERROR_MAX, "%s", strerror(ENOMEM));
	return NULL;
}

void pipeline_free(struct pipeline *p)
{
	if (!p)
		return;
	rmpp_free(p->rmpp);
	transactions_free(p->transactions);
	node_names_free(p->names);
	free(p);
}
