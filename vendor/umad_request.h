/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * The request of IB_USER_MAD_REGISTER_AGENT as seed 000 has it: 28 bytes, and
 * the snoop filter in the place of the method mask. <infiniband/umad.h> has the
 * number of the request, which counts the size of this structure, but not the
 * structure.
 */
#ifndef OSMSNOOP_UMAD_REQUEST_H
#define OSMSNOOP_UMAD_REQUEST_H

#include <stdint.h>

struct ib_user_mad_snoop_filter {
	uint16_t attr_id;	/* host byte order */
	uint8_t errors;
	uint8_t reserved[13];
};

struct ib_user_mad_reg_req {
	uint32_t id;		/* filled in by the kernel */
	union {
		uint32_t method_mask[4];
		struct ib_user_mad_snoop_filter filter;
	};
	uint8_t qpn;
	uint8_t mgmt_class;
	uint8_t mgmt_class_version;
	uint8_t oui[3];
	uint8_t rmpp_version;
};

/* How a send completed: those of ibv_wc_status that matter here. */
enum {
	WC_WR_FLUSH_ERR = 5,
	WC_RESP_TIMEOUT_ERR = 20,
};

/* Of qpn: this bit asks for snooping, on QP 0 or 1. */
enum { UMAD_SNOOP_QP = 0x80 };

_Static_assert(sizeof(struct ib_user_mad_reg_req) == 28,
	       "the kernel knows the request by its size");

#endif /* OSMSNOOP_UMAD_REQUEST_H */
