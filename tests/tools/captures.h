/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Capture files for tests: one story of what a subnet may see, as the plugin
 * writes it, and the same in the formats of others.
 */
#ifndef OSMSNOOP_TEST_CAPTURES_H
#define OSMSNOOP_TEST_CAPTURES_H

#include <stdlib.h>
#include <string.h>

#include "erf.h"
#include "layout.h"

enum captures_format {
	FORMAT_OURS,		/* pcap, nanoseconds, of this host */
	FORMAT_SWAPPED,		/* of the other byte order */
	FORMAT_MICROSECONDS,
	FORMAT_SWAPPED_MICROSECONDS,
	FORMAT_PCAPNG,
	FORMAT_BARE,		/* LINKTYPE_INFINIBAND */
	FORMAT_MIXED,		/* with packets that are no MADs, and broken */
	FORMATS,
};

enum {
	/* What is in the story */
	STORY_SA = 6,		/* transactions, one of them unanswered */
	STORY_MADS = 5,		/* other records: mad and send_error */
	STORY_TRAPS = 1,
	STORY_NODES = 20,	/* in the answer of many segments */
	STORY_LOST = 3,
	MIXED_OTHERS = 4,
	MIXED_BROKEN = 2,

	NODE_STRIDE = 112,
};

struct captures {
	uint8_t *bytes;
	size_t len, room;
	enum captures_format format;
	size_t packets;		/* of MADs */
	uint64_t now_ns;
};

static const char captures_name[] = "node07 HCA-1";

static inline void captures_put(struct captures *c, const void *bytes,
				size_t len)
{
	if (c->len + len > c->room) {
		c->room = 2 * (c->len + len);
		c->bytes = realloc(c->bytes, c->room);
		if (!c->bytes)
			abort();
	}
	memcpy(c->bytes + c->len, bytes, len);
	c->len += len;
}

static inline void captures_put32(struct captures *c, uint32_t n)
{
	if (c->format == FORMAT_SWAPPED ||
	    c->format == FORMAT_SWAPPED_MICROSECONDS)
		n = __builtin_bswap32(n);
	captures_put(c, &n, sizeof(n));
}

static inline void captures_block(struct captures *c, uint32_t type,
				  const void *body, size_t len)
{
	static const uint8_t padding[4];
	uint32_t total = (uint32_t)(12 + (len + 3) / 4 * 4);

	captures_put32(c, type);
	captures_put32(c, total);
	captures_put(c, body, len);
	captures_put(c, padding, total - 12 - len);
	captures_put32(c, total);
}

static inline void captures_begin(struct captures *c,
				  enum captures_format format)
{
	/* section header; an interface of ERF with nanoseconds */
	static const uint32_t section[] = {
		0x1a2b3c4d, 1, 0xffffffff, 0xffffffff,
	};
	const uint32_t interface[] = {
		ERF_LINKTYPE, 0, 9 | 1 << 16, 9, 0,
	};
	uint8_t header[ERF_FILE_HEADER];
	uint32_t word[6];
	size_t i;

	memset(c, 0, sizeof(*c));
	c->format = format;
	c->now_ns = 1764459328000000000;
	if (format == FORMAT_PCAPNG) {
		captures_block(c, 0x0a0d0d0a, section, sizeof(section));
		captures_block(c, 1, interface, sizeof(interface));
		return;
	}
	erf_file_header(header);
	memcpy(word, header, sizeof(word));
	if (format == FORMAT_MICROSECONDS ||
	    format == FORMAT_SWAPPED_MICROSECONDS)
		word[0] = 0xa1b2c3d4;
	if (format == FORMAT_BARE)
		word[5] = 247;
	/* the version is two words of 16 bits */
	if (format == FORMAT_SWAPPED || format == FORMAT_SWAPPED_MICROSECONDS)
		word[1] = word[1] << 16 | word[1] >> 16;
	for (i = 0; i < 6; i++)
		captures_put32(c, word[i]);
}

/* A packet of erf_encode(), in the file's format. */
static inline bool captures_packet(const uint8_t *packet, size_t len,
				   void *context)
{
	struct captures *c = context;
	const uint8_t *p = packet + ERF_RECORD_HEADER;
	size_t skip = 0, part;
	uint32_t word[4], block[5];
	uint8_t body[20 + ERF_PACKET_MAX];
	uint64_t time;

	memcpy(word, packet, sizeof(word));
	switch (c->format) {
	case FORMAT_PCAPNG:
		time = word[0] * UINT64_C(1000000000) + word[1];
		block[0] = 0;
		block[1] = (uint32_t)(time >> 32);
		block[2] = (uint32_t)time;
		block[3] = word[2];
		block[4] = word[3];
		memcpy(body, block, sizeof(block));
		memcpy(body + sizeof(block), p, word[2]);
		captures_block(c, 6, body, sizeof(block) + word[2]);
		c->packets++;
		return true;
	case FORMAT_BARE:
		for (skip = 16, part = p[8]; part & 0x80; skip += 8)
			part = p[skip];
		break;
	case FORMAT_MICROSECONDS:
	case FORMAT_SWAPPED_MICROSECONDS:
		word[1] /= 1000;
		break;
	default:
		break;
	}
	captures_put32(c, word[0]);
	captures_put32(c, word[1]);
	captures_put32(c, word[2] - (uint32_t)skip);
	captures_put32(c, word[3] - (uint32_t)skip);
	captures_put(c, p + skip, len - ERF_RECORD_HEADER - skip);
	c->packets++;
	return true;
}

/*
 * What ibdump writes between MADs: data, raw packets, other records. The first
 * one says what was lost before it.
 */
static inline void captures_others(struct captures *c, uint64_t lost)
{
	uint8_t erf[16 + 60] = { 0 };
	int i;

	for (i = 0; i < MIXED_OTHERS + MIXED_BROKEN; i++) {
		memset(erf, 0, sizeof(erf));
		erf[8] = i ? 21 : 2;		/* Ethernet */
		erf[11] = sizeof(erf);
		erf[13] = i ? 0 : (uint8_t)lost;
		erf[16 + 1] = i == 1 ? 0 : 2;	/* raw, or a BTH */
		erf[16 + 8] = i == 2 ? 0x0a : 0x64;	/* RC, or UD */
		erf[16 + 8 + 7] = i == 3 ? 9 : 1;	/* to QP 9 or 1 */
		erf[16 + 20 + 7] = i == 3 ? 9 : 1;
		if (i > MIXED_OTHERS) {	/* extension headers to no end */
			erf[8] |= 0x80;
			memset(erf + 16, 0xe0, sizeof(erf) - 16);
		}
		captures_put32(c, (uint32_t)(c->now_ns / 1000000000));
		captures_put32(c, 0);
		captures_put32(c, sizeof(erf));
		captures_put32(c, sizeof(erf));
		captures_put(c, erf, sizeof(erf));
	}
}

static inline void captures_set16(uint8_t *p, uint16_t n)
{
	p[0] = (uint8_t)(n >> 8);
	p[1] = (uint8_t)n;
}

/* A MAD's header and, for SA, that it has all components of `mask`. */
static inline struct mad_capture captures_mad(struct captures *c, uint8_t *mad,
					      size_t size, uint8_t mgmt_class,
					      uint8_t method, uint16_t attr_id,
					      uint16_t lid, uint8_t tid)
{
	memset(mad, 0, size);
	mad[MAD_BASE_VERSION] = 1;
	mad[MAD_CLASS] = mgmt_class;
	mad[MAD_CLASS_VERSION] = mgmt_class == CLASS_SUBN_ADM ? 2 : 1;
	mad[MAD_METHOD] = method;
	mad[MAD_TID + 7] = tid;
	captures_set16(mad + MAD_ATTR_ID, attr_id);
	return (struct mad_capture){
		.data = mad, .len = size, .size = size,
		.time_ns = c->now_ns, .above_rmpp = true,
		.sent = mgmt_class == CLASS_SUBN_ADM &&
			(method & METHOD_RESPONSE),
		.peer = { .lid = lid, .qpn = !mad_is_smp(mgmt_class) },
		.route = { .local_lid = 1, .port_guid = 0x100001 },
	};
}

static inline void captures_encode(struct captures *c,
				   const struct mad_capture *cap,
				   const struct erf_name *name)
{
	struct mad_capture copy = *cap;

	if (c->format == FORMAT_MIXED) {
		captures_others(c, copy.lost);
		copy.lost = 0;
	}
	erf_encode(&copy, name, true, captures_packet, c);
	c->now_ns += 77000;
}

/* A request and its answer, of which `answer` is all but the header. */
static inline void captures_ask(struct captures *c, struct mad_capture request,
				uint16_t status, size_t answer_size,
				uint16_t stride)
{
	static uint8_t answer[SA_DATA + STORY_NODES * NODE_STRIDE];
	struct mad_capture response = request;
	size_t i, at;

	captures_encode(c, &request, NULL);
	memcpy(answer, request.data, MAD_SIZE);
	memset(answer + MAD_SIZE, 0, sizeof(answer) - MAD_SIZE);
	answer[MAD_METHOD] = mad_response_method(answer[MAD_METHOD]);
	captures_set16(answer + MAD_STATUS, status);
	captures_set16(answer + SA_ATTR_OFFSET, (uint16_t)(stride / 8));
	if (mad_is_table_method(answer[MAD_METHOD]))
		answer[RMPP_FLAGS] = RMPP_FLAG_ACTIVE;
	for (i = 0; stride == NODE_STRIDE && i < STORY_NODES; i++) {
		at = SA_DATA + i * NODE_STRIDE;
		captures_set16(answer + at, (uint16_t)(i + 1));
		/* node GUID 0x100002, port GUID 0x100003, and so on */
		answer[at + 4 + 12 + 5] = answer[at + 4 + 20 + 5] = 0x10;
		answer[at + 4 + 12 + 7] = (uint8_t)(2 * i);
		answer[at + 4 + 20 + 7] = (uint8_t)(2 * i + 1);
		strcpy((char *)answer + at + 44, i == 6 ? captures_name :
		       i == 7 ? "eight\033[2J" : "host");
	}
	response.data = answer;
	response.len = response.size = answer_size;
	response.time_ns = c->now_ns;
	response.sent = true;
	captures_encode(c, &response, NULL);
}

static inline void captures_story(struct captures *c)
{
	const struct erf_name name = {
		0x0000000000100007, captures_name, sizeof(captures_name) - 1,
	};
	uint8_t mad[MAD_SIZE];
	struct mad_capture cap;

	/* a path, from a node with a name */
	cap = captures_mad(c, mad, sizeof(mad), CLASS_SUBN_ADM, METHOD_GET_TABLE,
			   ATTR_PATH_RECORD, 7, 1);
	mad[SA_COMPONENT_MASK + 6] = 0x00;
	mad[SA_COMPONENT_MASK + 7] = 0x30;	/* dlid, slid */
	captures_set16(mad + SA_DATA + 40, 4);
	captures_set16(mad + SA_DATA + 42, 7);
	captures_encode(c, &cap, &name);
	cap.time_ns = c->now_ns;
	mad[MAD_METHOD] |= METHOD_RESPONSE;
	mad[RMPP_FLAGS] = RMPP_FLAG_ACTIVE;
	captures_set16(mad + SA_ATTR_OFFSET, 8);
	cap.sent = true;
	cap.len = cap.size = SA_DATA + 64;
	captures_encode(c, &cap, NULL);

	/* a join, by a GRH, from another QP */
	cap = captures_mad(c, mad, sizeof(mad), CLASS_SUBN_ADM, METHOD_SET,
			   ATTR_MCMEMBER_RECORD, 8, 2);
	cap.peer.has_gid = true;
	cap.peer.gid[0] = 0xfe;
	cap.peer.gid[1] = 0x80;
	cap.peer.gid[15] = 9;
	cap.peer.qpn = 0x123;
	mad[SA_COMPONENT_MASK + 7] = 3;		/* mgid, port_gid */
	mad[SA_COMPONENT_MASK + 5] = 1;		/* join_state */
	mad[SA_DATA] = 0xff;
	mad[SA_DATA + 1] = 0x12;
	mad[SA_DATA + 15] = 1;
	mad[SA_DATA + 48] = 1;
	captures_ask(c, cap, 0, MAD_SIZE, 56);

	/* no such node */
	cap = captures_mad(c, mad, sizeof(mad), CLASS_SUBN_ADM, METHOD_GET,
			   0x11, 9, 3);
	mad[SA_COMPONENT_MASK + 7] = 1;
	captures_set16(mad + SA_DATA, 99);
	captures_ask(c, cap, 0x0300, MAD_SIZE, 0);

	/* all nodes, in segments */
	cap = captures_mad(c, mad, sizeof(mad), CLASS_SUBN_ADM, METHOD_GET_TABLE,
			   0x11, 7, 4);
	captures_ask(c, cap, 0, SA_DATA + STORY_NODES * NODE_STRIDE,
		     NODE_STRIDE);

	/* a wrong SM_Key; OpenSM is silent, and the reason is known */
	cap = captures_mad(c, mad, sizeof(mad), CLASS_SUBN_ADM, METHOD_GET_TABLE,
			   0x11, 10, 5);
	mad[SA_SM_KEY + 7] = 0x66;
	cap.condition.judged = true;
	cap.condition.silence = 3;
	captures_encode(c, &cap, NULL);

	/* a sweep's SMP, its answer, and one that times out */
	cap = captures_mad(c, mad, sizeof(mad), CLASS_SUBN_DIR, METHOD_GET, 0x11,
			   0xffff, 6);
	cap.sent = true;
	mad[SMP_HOP_COUNT] = 2;
	mad[SMP_INITIAL_PATH + 1] = 1;
	mad[SMP_INITIAL_PATH + 2] = 10;
	captures_encode(c, &cap, NULL);
	cap.time_ns = c->now_ns;
	cap.sent = false;
	mad[MAD_METHOD] = 0x81;
	mad[MAD_STATUS] = 0x80;
	captures_encode(c, &cap, NULL);
	cap.time_ns = c->now_ns;
	cap.sent = true;
	mad[MAD_METHOD] = METHOD_GET;
	mad[MAD_STATUS] = 0;
	cap.completion = MAD_TIMEOUT;
	captures_encode(c, &cap, NULL);

	/* a trap and its repress */
	cap = captures_mad(c, mad, sizeof(mad), CLASS_SUBN_LID, METHOD_TRAP,
			   ATTR_NOTICE, 12, 7);
	mad[SMP_DATA] = 0x84;
	mad[SMP_DATA + 5] = 144;
	mad[SMP_DATA + 7] = 12;
	captures_encode(c, &cap, NULL);
	cap.time_ns = c->now_ns;
	cap.sent = true;
	mad[MAD_METHOD] = METHOD_TRAP_REPRESS;
	captures_encode(c, &cap, NULL);

	/* what was lost, and then counters of a port */
	cap = captures_mad(c, mad, sizeof(mad), 0x04, 0x81, 0x12, 13, 8);
	cap.lost = STORY_LOST;
	captures_encode(c, &cap, NULL);

	/* nobody has said why */
	cap = captures_mad(c, mad, sizeof(mad), CLASS_SUBN_ADM, METHOD_GET,
			   ATTR_PATH_RECORD, 11, 9);
	captures_encode(c, &cap, NULL);
}

#endif /* OSMSNOOP_TEST_CAPTURES_H */
