/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Where things lie in the packets of erf.h, for who writes and who reads. */
#ifndef OSMSNOOP_ERF_FORMAT_H
#define OSMSNOOP_ERF_FORMAT_H

#include "erf.h"
#include "record.h"

/* pcap, in the byte order of the writer */
enum {
	PCAP_MAGIC_NS = 0xa1b23c4d,
	PCAP_MAJOR = 2,
	PCAP_MINOR = 4,
	PCAP_SNAPLEN = 65535,
};

/* The header of an ERF record */
enum {
	ERF_TIME = 0,		/* 64 bits, little endian, 32.32 seconds */
	ERF_TYPE = 8,		/* bit 7: an extension header follows */
	ERF_FLAGS = 9,
	ERF_RLEN = 10,		/* 16 bits, of the record */
	ERF_LCTR = 12,		/* 16 bits, lost before it */
	ERF_WLEN = 14,		/* 16 bits, of the packet on the wire */
	ERF_HDR_SIZE = 16,

	ERF_MORE = 0x80,
	ERF_TYPE_INFINIBAND = 21,
	ERF_LCTR_MAX = 0xffff,

	ERF_FLAG_SENT = 0x01,	/* interface 1 */
	ERF_FLAG_INTERFACE = 0x03,
	ERF_FLAG_VARYING = 0x04,
	ERF_FLAG_TRUNCATED = 0x08,
	ERF_FLAG_RX_ERROR = 0x10,
};

/*
 * Extension headers: a byte of type, with ERF_MORE unless it is the last, and
 * seven that are the type's. These types are ours; ERF has assigned none near.
 */
enum {
	EXT_SIZE = 8,
	EXT_ROOM = EXT_SIZE - 1,

	EXT_NOTE = 0x60,	/* the next three */
	NOTE_FLAGS = 1,
	NOTE_COMPLETION = 2,
	NOTE_SILENCE = 3,
	NOTE_JUDGED = 0x01,
	NOTE_SM_KEY = 0x02,

	EXT_LOST = 0x61,	/* 56 bits, instead of the loss counter */

	EXT_NAME = 0x62,	/* as many as it takes: the next three in all */
	NAME_LEN = 0,
	NAME_GUID = 1,
	NAME_TEXT = 9,
	NAME_MAX_SIZE = NAME_TEXT + ERF_NAME_MAX,

	EXT_CUT = 0x63,		/* the MAD is not whole: the next one */
	CUT_LEN = 1,		/* bytes of it that are; the others are zero */
};

/* What stands for what in a note is part of the format. */
_Static_assert(MAD_OK == 0 && MAD_TIMEOUT == 1 && MAD_CANCELED == 2 &&
	       MAD_ERROR == 3, "numbers in files");
_Static_assert(SA_REASON_NONE == 0 && SA_REASON_SM_NOT_MASTER == 1 &&
	       SA_REASON_FIRST_SWEEP == 2 && SA_REASON_SM_KEY == 3 &&
	       SA_REASON_UNSUPPORTED_ATTRIBUTE == 4 &&
	       SA_REASON_UNSUPPORTED_METHOD == 5 && SA_REASON_OVERLOAD == 6 &&
	       SA_REASON_SEND_ERROR == 7 && SA_REASON_UNKNOWN == 8,
	       "numbers in files");

/* The headers around a MAD */
enum {
	LRH_SIZE = 8,
	LRH_VL = 0,		/* bits 7..4 */
	LRH_LNH = 1,		/* bits 7..4 SL, bits 1..0 the next header */
	LRH_DLID = 2,
	LRH_LENGTH = 4,		/* 11 bits, in words, LRH to ICRC */
	LRH_SLID = 6,
	LNH_BTH = 2,
	LNH_GRH = 3,
	VL_SMP = 15,
	LID_PERMISSIVE = 0xffff,

	GRH_SIZE = 40,
	GRH_LENGTH = 4,		/* behind the GRH, to ICRC */
	GRH_NEXT = 6,
	GRH_HOP_LIMIT = 7,
	GRH_SGID = 8,
	GRH_DGID = 24,
	GRH_VERSION = 6,
	GRH_NEXT_BTH = 0x1b,

	BTH_SIZE = 12,
	BTH_OPCODE = 0,
	BTH_FLAGS = 1,		/* bits 5..4: bytes of padding */
	BTH_PKEY = 2,
	BTH_DEST_QP = 5,	/* 24 bits */
	UD_SEND_ONLY = 0x64,
	BTH_MIGRATED = 0x40,
	DEFAULT_PKEY = 0xffff,

	DETH_SIZE = 8,
	DETH_QKEY = 0,
	DETH_SRC_QP = 5,	/* 24 bits */

	ICRC_SIZE = 4,
	VCRC_SIZE = 2,

	HEADERS_MAX = LRH_SIZE + GRH_SIZE + BTH_SIZE + DETH_SIZE,
	RECORD_MAX = ERF_RECORD_HEADER + ERF_HDR_SIZE +
		     (3 + (NAME_MAX_SIZE + EXT_ROOM - 1) / EXT_ROOM) * EXT_SIZE +
		     HEADERS_MAX + MAD_SIZE + ICRC_SIZE + VCRC_SIZE,
};

struct pcap_record {
	uint32_t seconds;
	uint32_t nanoseconds;
	uint32_t captured;
	uint32_t original;
};

_Static_assert(sizeof(struct pcap_record) == ERF_RECORD_HEADER, "as in files");

#endif /* OSMSNOOP_ERF_FORMAT_H */
