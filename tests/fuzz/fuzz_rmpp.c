/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * libFuzzer on RMPP reassembly: any sequence of captures, ticks and flushes.
 * The input is read as a program, whose few peers, TIDs and numbers make
 * captures meet in one transfer; a raw MAD is in it as well. scripts/fuzz
 * builds and runs it.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "rmpp.h"

#define SECOND UINT64_C(1000000000)

#define check(condition) do { if (!(condition)) { \
		fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, \
			#condition); \
		abort(); \
	} } while (0)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct input {
	const uint8_t *data;
	size_t left;
};

struct run {
	struct input in;
	struct rmpp *r;
	struct rmpp_options opts;
	uint64_t gone;
	uint64_t now;
};

static uint8_t next8(struct input *in)
{
	if (!in->left)
		return 0;
	in->left--;
	return *in->data++;
}

static uint32_t next32(struct input *in)
{
	uint32_t value = next8(in);
	int i;

	for (i = 0; i < 3; i++)
		value = value << 8 | next8(in);
	return value;
}

static void put32(uint8_t *p, uint32_t value)
{
	p[0] = (uint8_t)(value >> 24);
	p[1] = (uint8_t)(value >> 16);
	p[2] = (uint8_t)(value >> 8);
	p[3] = (uint8_t)value;
}

static void note_gone(const struct rmpp_gone *g, void *context)
{
	struct run *run = context;

	check(g->reason < RMPP_REASONS);
	check(g->segments > 0);
	check(g->bytes == (uint64_t)g->segments * MAD_SIZE);
	check(g->reason == RMPP_MALFORMED || g->missing > 0);
	run->gone++;
}

static void check_stats(const struct run *run)
{
	struct rmpp_stats s;
	uint64_t gone = 0;
	int i;

	rmpp_get_stats(run->r, &s);
	for (i = 0; i < RMPP_REASONS; i++)
		gone += s.gone[i];
	check(gone == run->gone);
	check(s.transfers == s.whole + gone - s.gone[RMPP_MALFORMED] +
	      s.active);
	check(s.active <= run->opts.max_transfers);
	check(s.bytes <= s.bytes_max);
	check(s.bytes_max <= run->opts.max_total);
	/* no transfer without bytes, but for the one that was handed out */
	check(s.active == 0 || s.bytes >= s.active * 100);
}

/* All of it can be read, and nothing is added. */
static void check_whole(const struct run *run, const struct mad_capture *cap,
			const struct mad_capture *whole, uint32_t segments)
{
	static volatile uint8_t sum;
	struct rmpp_stats s;
	size_t i;

	check(segments > 0);
	check(whole->len >= RMPP_DATA_OFFSET);
	check(whole->len <= whole->size);
	check(whole->size <= run->opts.max_message);
	check(whole->size <= (uint64_t)segments * MAD_SIZE);
	check(whole->len == whole->size || segments == 1);
	check(whole->sent == cap->sent);
	check(whole->mono_ns <= run->now);
	check(whole->completion == MAD_OK);
	check(!memcmp(whole->data, cap->data, MAD_STATUS));
	check(!memcmp(whole->data + MAD_TID, cap->data + MAD_TID, 8));
	check(whole->data[RMPP_SEGMENT + 3] == 1);
	check(whole->data[RMPP_FLAGS] & RMPP_FLAG_FIRST);
	for (i = 0; i < whole->len; i++)
		sum = (uint8_t)(sum + whole->data[i]);
	rmpp_get_stats(run->r, &s);
	check(segments == 1 || s.bytes >= whole->len);
}

static void make_mad(struct input *in, uint8_t *mad)
{
	static const uint8_t classes[] = {
		CLASS_SUBN_ADM, CLASS_SUBN_ADM, CLASS_SUBN_ADM, CLASS_DEV_ADM,
		CLASS_VENDOR2_FIRST, CLASS_VENDOR2_LAST, CLASS_SUBN_DIR, 0x50,
	};
	const uint8_t what = next8(in), who = next8(in);
	uint32_t number = next8(in), payload = next8(in);

	memset(mad, what, MAD_SIZE);
	mad[MAD_CLASS] = classes[who >> 5];
	mad[MAD_METHOD] = who & 1 ? 0x92 : 0x12;
	memset(mad + MAD_TID, 0, 8);
	mad[MAD_TID + 7] = who >> 1 & 3;
	mad[RMPP_VERSION] = 1;
	mad[RMPP_STATUS] = 0;
	/* mostly DATA */
	mad[RMPP_TYPE] = what & 8 ? RMPP_DATA : what & 7;
	mad[RMPP_FLAGS] = RMPP_FLAG_ACTIVE;
	if (number == 1)
		mad[RMPP_FLAGS] |= RMPP_FLAG_FIRST;
	if (what & 16)
		mad[RMPP_FLAGS] |= RMPP_FLAG_LAST;
	if (number >= 0xf0)
		number = next32(in);
	if (payload >= 0xe0)
		payload = next32(in);
	put32(mad + RMPP_SEGMENT, number);
	put32(mad + RMPP_PAYLOAD, payload);
}

static void put_capture(struct run *run, uint8_t op)
{
	struct mad_capture cap = { .size = MAD_SIZE, .len = MAD_SIZE };
	struct mad_capture whole = { 0 };
	struct input *in = &run->in;
	enum rmpp_result result;
	uint32_t segments = 0;
	uint8_t mad[MAD_SIZE];
	uint8_t *exact;
	size_t i;

	make_mad(in, mad);
	if (op & 8)	/* something of it is something else */
		for (i = 1 + next8(in) % 4; i; i--)
			mad[next8(in) % 40] = next8(in);
	cap.sent = op & 16;
	cap.peer.lid = op >> 6;
	cap.peer.has_gid = op & 32;
	if (op & 4) {
		i = next8(in);
		if (i & 128 && cap.sent)
			cap.completion = MAD_ERROR;
		else if (i & 64)
			cap.size = i;
		cap.len = cap.size < MAD_SIZE ? cap.size : next8(in);
	}
	/* exactly what was captured: one byte more is an error */
	exact = malloc(cap.len ? cap.len : 1);
	check(exact);
	memcpy(exact, mad, cap.len);
	cap.data = exact;
	cap.mono_ns = run->now;
	cap.time_ns = run->now;

	result = rmpp_put(run->r, &cap, &whole, &segments);
	check((result == RMPP_WHOLE) == (whole.data != NULL));
	if (result == RMPP_WHOLE)
		check_whole(run, &cap, &whole, segments);
	check_stats(run);
	/* before the next call the message may be in it */
	free(exact);
}

static void step(struct run *run)
{
	const uint8_t op = next8(&run->in);

	switch (op & 3) {
	case 0:
		if (op == 0) {
			rmpp_flush(run->r);
		} else {
			run->now += (uint64_t)(op >> 2) * SECOND;
			rmpp_tick(run->r, run->now);
		}
		check_stats(run);
		break;
	default:
		run->now += (op & 3) == 3 ? SECOND / 4 : 1000;
		put_capture(run, op);
		break;
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct run run = { .in = { data, size }, .now = SECOND };
	struct rmpp_stats s;
	const uint8_t limits = next8(&run.in);

	run.opts.max_message = limits & 1 ? 1024 : 16384;
	run.opts.max_total = limits & 2 ? 2048 : 65536;
	run.opts.max_transfers = limits & 4 ? 3 : 32;
	run.opts.timeout_ns = limits & 8 ? SECOND : 0;
	run.opts.gone = note_gone;
	run.opts.context = &run;
	run.r = rmpp_new(&run.opts);
	check(run.r);
	while (run.in.left)
		step(&run);
	if (limits & 16) {
		rmpp_flush(run.r);
		check_stats(&run);
		rmpp_get_stats(run.r, &s);
		check(!s.active && !s.bytes);
	}
	rmpp_free(run.r);
	return 0;
}
