/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Where things lie in a MAD, and how mad/ sees one capture. Offsets are in
 * bytes from the start of the MAD; every multi-byte field on the wire is in
 * network byte order. Sources: IBA 1.4 chapters 13.4 (common header), 13.6
 * (RMPP), 14.2 (SMP) and 15.2 (SA); seed 002.
 */
#ifndef OSMSNOOP_LAYOUT_H
#define OSMSNOOP_LAYOUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
	MAD_SIZE = 256,		/* one MAD on the wire */
	MAD_HDR_SIZE = 24,	/* common MAD header */

	MAD_BASE_VERSION = 0,
	MAD_CLASS = 1,
	MAD_CLASS_VERSION = 2,
	MAD_METHOD = 3,
	MAD_STATUS = 4,		/* 16 bits; class 0x81: bit 15 is direction */
	MAD_TID = 8,		/* 64 bits */
	MAD_ATTR_ID = 16,	/* 16 bits */
	MAD_ATTR_MOD = 20,	/* 32 bits */

	/* directed route SMP */
	SMP_HOP_POINTER = 6,
	SMP_HOP_COUNT = 7,
	SMP_M_KEY = 24,		/* 64 bits */
	SMP_DR_SLID = 32,
	SMP_DR_DLID = 34,
	SMP_DATA = 64,		/* 64 bytes, of both SMP classes */
	SMP_DATA_SIZE = 64,
	SMP_INITIAL_PATH = 128,	/* 64 bytes, entry 0 unused */
	SMP_RETURN_PATH = 192,
	SMP_MAX_HOPS = 63,

	/* RMPP header, in SA (3), vendor range 2 and other RMPP classes */
	RMPP_VERSION = 24,
	RMPP_TYPE = 25,
	RMPP_FLAGS = 26,	/* bits 7..3 RRespTime, bits 2..0 the flags */
	RMPP_STATUS = 27,
	RMPP_SEGMENT = 28,	/* 32 bits */
	RMPP_PAYLOAD = 32,	/* 32 bits, PayloadLength or NewWindowLast */
	RMPP_DATA_OFFSET = 36,	/* PayloadLength counts from here */

	VENDOR_OUI = 37,	/* 3 bytes, vendor range 2 only */
	VENDOR_DATA = 40,
	/* from the start of SMP_DATA */
	SM_INFO_GUID = 0,	/* of the SM's port */
	SM_INFO_PRI_STATE = 20,	/* bits 7..4 priority, bits 3..0 state */
	NODE_INFO_NODE_GUID = 12,
	NODE_INFO_PORT_GUID = 20,

	DEVICE_DATA = 64,	/* device management and administration, BIS */

	/* SA */
	SA_SM_KEY = 36,		/* 64 bits */
	SA_ATTR_OFFSET = 44,	/* 16 bits, in units of 8 bytes */
	SA_COMPONENT_MASK = 48,	/* 64 bits */
	SA_HDR_SIZE = 56,
	SA_DATA = 56,		/* 200 bytes in one MAD */
};

enum {
	RMPP_FLAG_ACTIVE = 0x1,
	RMPP_FLAG_FIRST = 0x2,
	RMPP_FLAG_LAST = 0x4,
};

enum {
	RMPP_DATA = 1,		/* RMPPType */
	RMPP_ACK = 2,
	RMPP_STOP = 3,
	RMPP_ABORT = 4,
};

/* RMPPStatus (IBA 13.6): what a STOP or ABORT says */
enum {
	RMPP_STATUS_RESX = 1,		/* of a STOP: resources exhausted */
	RMPP_STATUS_T2L = 118,		/* total time too long */
	RMPP_STATUS_BAD_LEN = 119,
	RMPP_STATUS_BAD_SEG = 120,
	RMPP_STATUS_BADT = 121,
	RMPP_STATUS_W2S = 122,		/* NewWindowLast too small */
	RMPP_STATUS_S2B = 123,		/* SegmentNumber too big */
	RMPP_STATUS_BAD_STATUS = 124,
	RMPP_STATUS_UNV = 125,		/* unsupported version */
	RMPP_STATUS_TMR = 126,		/* too many retries */
};

enum {
	CLASS_SUBN_LID = 0x01,
	CLASS_SUBN_ADM = 0x03,
	CLASS_BM = 0x05,
	CLASS_DEV_MGMT = 0x06,
	CLASS_DEV_ADM = 0x10,
	CLASS_BIS = 0x12,
	CLASS_CC = 0x21,	/* congestion control */
	CLASS_VENDOR2_FIRST = 0x30,	/* vendor range 2, with an OUI */
	CLASS_VENDOR2_LAST = 0x4f,
	CLASS_SUBN_DIR = 0x81,
};

enum {				/* IBA 14.4.1 */
	SM_STATE_NOTACTIVE = 0,
	SM_STATE_DISCOVERING = 1,
	SM_STATE_STANDBY = 2,
	SM_STATE_MASTER = 3,
};

/* A thread of OpenSM's, but nobody knows which: in a capture file. */
#define MAD_THREAD_UNKNOWN UINT64_MAX

enum {
	METHOD_GET = 0x01,
	METHOD_SET = 0x02,
	METHOD_SEND = 0x03,
	METHOD_TRAP = 0x05,
	METHOD_REPORT = 0x06,
	METHOD_TRAP_REPRESS = 0x07,
	METHOD_GET_TABLE = 0x12,
	METHOD_GET_TRACE_TABLE = 0x13,
	METHOD_GET_MULTI = 0x14,
	METHOD_DELETE = 0x15,
	METHOD_RESPONSE = 0x80,	/* the bit of a response */
};

enum {
	ATTR_CLASS_PORT_INFO = 0x0001,
	ATTR_NOTICE = 0x0002,
	ATTR_INFORM_INFO = 0x0003,
	ATTR_NODE_INFO = 0x0011,	/* this and the next of SMPs */
	ATTR_SM_INFO = 0x0020,
	ATTR_GUIDINFO_RECORD = 0x0030,
	ATTR_SERVICE_RECORD = 0x0031,
	ATTR_PATH_RECORD = 0x0035,
	ATTR_MCMEMBER_RECORD = 0x0038,
	ATTR_MULTIPATH_RECORD = 0x003a,
	ATTR_INFORM_INFO_RECORD = 0x00f3,
};

/* Of QP 0. */
static inline bool mad_is_smp(uint8_t mgmt_class)
{
	return mgmt_class == CLASS_SUBN_LID || mgmt_class == CLASS_SUBN_DIR;
}

static inline uint16_t mad_get16(const uint8_t *p)
{
	return (uint16_t)(p[0] << 8 | p[1]);
}

static inline uint32_t mad_get24(const uint8_t *p)
{
	return (uint32_t)p[0] << 16 | mad_get16(p + 1);
}

static inline uint32_t mad_get32(const uint8_t *p)
{
	return (uint32_t)mad_get16(p) << 16 | mad_get16(p + 2);
}

static inline uint64_t mad_get64(const uint8_t *p)
{
	return (uint64_t)mad_get32(p) << 32 | mad_get32(p + 4);
}

/* For class 0x81 without the direction bit. */
static inline uint16_t mad_status(const uint8_t *mad)
{
	uint16_t status = mad_get16(mad + MAD_STATUS);

	return mad[MAD_CLASS] == CLASS_SUBN_DIR ? status & 0x7fff : status;
}

/* The method of the response to a request: Set is answered by a GetResp. */
static inline uint8_t mad_response_method(uint8_t method)
{
	if (method == METHOD_SET)
		method = METHOD_GET;
	return method | METHOD_RESPONSE;
}

/* Of SA: answered with any number of records, by RMPP. */
static inline bool mad_is_table_method(uint8_t method)
{
	method &= (uint8_t)~METHOD_RESPONSE;
	return method == METHOD_GET_TABLE || method == METHOD_GET_MULTI ||
	       method == METHOD_GET_TRACE_TABLE;
}

/* Of the other responses, those that have a record. */
static inline bool mad_has_record(uint8_t method)
{
	return method == (METHOD_GET | METHOD_RESPONSE) ||
	       method == (METHOD_DELETE | METHOD_RESPONSE);
}

/* What became of a MAD that was sent; a received one is always OK. */
enum mad_completion {
	MAD_OK,
	MAD_TIMEOUT,
	MAD_CANCELED,
	MAD_ERROR,
};

/* The other end of a capture. All in host byte order but the GID. */
struct mad_peer {
	uint16_t lid;
	uint32_t qpn;		/* 0 for SMPs */
	bool has_gid;		/* a GRH was used */
	uint8_t gid[16];	/* network byte order */
};

/*
 * What OpenSM's SA would have looked at when a request came in, sampled in
 * that moment. `known` is false for captures from elsewhere, and then no
 * reason is worked out of it.
 */
struct sa_condition {
	bool known;
	bool judged;		/* in a capture file: the next one is all */
	uint8_t silence;	/* enum sa_reason: what sa_silence() said */
	uint8_t sm_state;	/* IB_SMINFO_STATE_* */
	bool first_sweep;	/* first_time_master_sweep */
	uint64_t sa_key;	/* host byte order */
	bool multipath;		/* built with dual-sided RMPP, which GetMulti
				 * and MultiPathRecord need */
	bool set_dispatcher;	/* Set and Delete have a queue of their own */
	uint32_t queued;	/* messages in the dispatcher's queue */
	uint64_t queue_time_ms;	/* how long the last one waited there */
	uint32_t queue_limit_ms;/* max_msg_fifo_timeout; 0 = none */
};

/*
 * Does the kernel drop it before anybody gets it? It snoops what comes in
 * before it looks at the version (mad.c, ib_mad_recv_done and validate_mad).
 */
static inline bool mad_is_dropped(const uint8_t *mad, bool sent)
{
	return !sent && mad[MAD_BASE_VERSION] != 1;
}

/* The way of a MAD, as far as it is known, else zeroes. Host byte order. */
struct mad_route {
	uint64_t port_guid;	/* of the local port */
	uint16_t local_lid;
	uint8_t sl;
	uint8_t hop_limit;	/* the next three with a GRH */
	uint8_t traffic_class;
	uint32_t flow_label;

	/* What a packet that was read has, when `is_read`; else as usual. */
	bool is_read;
	uint8_t vl;
	uint16_t p_key;
	uint32_t q_key;
	uint32_t local_qpn;
	uint8_t local_gid[16];	/* with a GRH */
};

/* One captured MAD or message. Points to the bytes, owns nothing. */
struct mad_capture {
	const uint8_t *data;	/* at least MAD_HDR_SIZE bytes */
	size_t len;		/* bytes at `data` */
	size_t size;		/* what the MAD or message had, >= len */
	uint64_t time_ns;	/* CLOCK_REALTIME */
	uint64_t mono_ns;	/* CLOCK_MONOTONIC, for differences */
	bool sent;		/* by OpenSM; else received by it */
	bool above_rmpp;	/* as OpenSM has it, whatever its RMPP header
				 * says; else from the wire */
	uint64_t thread;	/* of OpenSM's; 0 = not known, and then what a
				 * sent response says of its completion is final;
				 * MAD_THREAD_UNKNOWN: it is not */
	enum mad_completion completion;
	struct mad_peer peer;
	struct mad_route route;
	uint64_t lost;		/* captures, just before this one */
	bool sm_key_hidden;	/* it had an SM_Key, which is zeroed here */
	struct sa_condition condition;	/* of received SA requests */
};

#endif /* OSMSNOOP_LAYOUT_H */
