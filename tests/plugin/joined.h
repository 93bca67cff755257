/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * SA transactions as watchers get them: a request of a LID ("node7", port GUID
 * 0x700), its status, and the answer. Offsets as in IBA 1.4 section 15.2.5.
 */
#ifndef OSMSNOOP_TEST_JOINED_H
#define OSMSNOOP_TEST_JOINED_H

#include "watched.h"

#define PREFIX UINT64_C(0xfe80000000000000)

enum { OK = 0, NO_RESOURCES = 0x100, REQ_INVALID = 0x200, NO_RECORDS = 0x300,
       INVALID_GID = 0x500, INSUFFICIENT = 0x600 };

static uint8_t request[MAD_SIZE];
static uint8_t answer[MAD_SIZE];
static size_t answer_len, request_len = MAD_SIZE;

static inline void put(uint8_t *p, unsigned bytes, uint64_t value)
{
	while (bytes--) {
		p[bytes] = (uint8_t)value;
		value >>= 8;
	}
}

static inline void put_header(uint8_t method, uint16_t attr, uint64_t mask)
{
	memset(request, 0, sizeof(request));
	request[MAD_CLASS] = CLASS_SUBN_ADM;
	request[MAD_METHOD] = method;
	put(request + MAD_ATTR_ID, 2, attr);
	put(request + SA_COMPONENT_MASK, 8, mask);
	answer_len = 0;
}

/* The answer is the request, as it is now. */
static inline void put_answer(void)
{
	memcpy(answer, request, sizeof(answer));
	answer_len = sizeof(answer);
}

static inline void transact(uint16_t lid, uint16_t status, uint64_t mono_ns)
{
	struct record r = {
		.type = RECORD_SA, .time_ns = epoch + mono_ns,
		.sa = {
			.requester.addr = { .lid = lid, .qpn = 1 },
			.mad = request, .len = request_len,
			.outcome = SA_ANSWERED, .has_response = true,
			.status = status,
		},
	};

	if (answer_len) {
		r.sa.answer = answer;
		r.sa.answer_len = answer_len;
	}
	if (watched_host.resolve)
		watched_host.resolve(&r.sa.requester, watched_host.context);
	watched->record(watched_state, &r, mono_ns);
}

/* An MCMemberRecord of the group ff12:a01b::N, for the port of the LID. */
static inline void put_member(uint8_t method, uint16_t lid, uint32_t group,
			      uint64_t mask)
{
	uint8_t *rec = request + SA_DATA;

	put_header(method, ATTR_MCMEMBER_RECORD, mask);
	put(rec, 8, 0xff15a01b00000000);
	put(rec + 8, 8, group);
	put(rec + 16, 8, PREFIX);
	put(rec + 24, 8, lid * UINT64_C(0x100));
	put(rec + 32, 4, 0xb1b);
	put(rec + 40, 2, 0xffff);
	rec[48] = 0x51;
}

/* What OpenSM says of a port or a group itself. */
static inline void trap(uint16_t number, uint64_t prefix, uint64_t id,
			uint64_t mono_ns)
{
	uint8_t bytes[80] = { 0x84 };
	const struct record r = {
		.type = RECORD_TRAP, .time_ns = epoch + mono_ns,
		.trap = { .notice = bytes, .len = sizeof(bytes) },
	};

	put(bytes + 4, 2, number);
	put(bytes + 16, 8, prefix);
	put(bytes + 24, 8, id);
	watched->record(watched_state, &r, mono_ns);
}

#endif /* OSMSNOOP_TEST_JOINED_H */
