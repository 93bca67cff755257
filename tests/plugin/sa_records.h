/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Records of SA requests, for the watchers that look at them. */
#ifndef OSMSNOOP_TEST_SA_RECORDS_H
#define OSMSNOOP_TEST_SA_RECORDS_H

#include "watched.h"

static uint8_t sa_mad[MAD_SIZE];

static inline void sa_put16(uint8_t *p, uint16_t n)
{
	p[0] = (uint8_t)(n >> 8);
	p[1] = (uint8_t)n;
}

static inline void sa_put64(uint8_t *p, uint64_t n)
{
	int i;

	for (i = 7; i >= 0; i--, n >>= 8)
		p[i] = (uint8_t)n;
}

/* Answered, from that LID; its port GUID is known. */
static inline struct record sa_request(uint16_t lid, uint8_t method,
				       uint16_t attr_id, uint64_t mask)
{
	memset(sa_mad, 0, sizeof(sa_mad));
	sa_mad[MAD_CLASS] = CLASS_SUBN_ADM;
	sa_mad[MAD_METHOD] = method;
	sa_put16(sa_mad + MAD_ATTR_ID, attr_id);
	sa_put64(sa_mad + SA_COMPONENT_MASK, mask);
	return (struct record){
		.type = RECORD_SA,
		.sa = {
			.requester = {
				.addr = { .lid = lid, .qpn = 1 },
				.port_guid = lid * 0x100u,
			},
			.mad = sa_mad,
			.len = MAD_SIZE,
			.has_response = true,
		},
	};
}

static inline void sa_say(struct record *r, uint64_t mono_ns)
{
	r->time_ns = epoch + mono_ns;
	watched->record(watched_state, r, mono_ns);
}

/* What no watcher of these takes for anything, whatever it says. */
static inline void sa_say_others(struct record *r, uint64_t mono_ns)
{
	static const uint8_t header[MAD_HDR_SIZE];
	static const struct mad_capture cap = {
		.data = header, .len = MAD_HDR_SIZE,
	};
	struct record mad = {
		.type = RECORD_MAD, .mad = { .capture = &cap },
	};
	struct record state = {
		.type = RECORD_STATE, .state = { .state = "sweep_done" },
	};
	struct record trap = {
		.type = RECORD_TRAP, .trap = { .notice = header },
	};

	sa_say(&mad, mono_ns);
	sa_say(&state, mono_ns);
	sa_say(&trap, mono_ns);
	if (r) {
		r->sa.sent = true;
		sa_say(r, mono_ns);
		r->sa.sent = false;
	}
}

static inline void sa_tick(uint64_t mono_ns)
{
	watched->tick(watched_state, mono_ns);
}

#endif /* OSMSNOOP_TEST_SA_RECORDS_H */
