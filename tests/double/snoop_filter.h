/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Which MADs a snooping agent of the double gets. It knows nothing of the
 * library's umad_filter_match(): unit tests take it for a second opinion.
 */
#ifndef SNOOP_FILTER_H
#define SNOOP_FILTER_H

#include <stdbool.h>
#include <stdint.h>

struct snoop_filter {
	uint8_t qpn;		/* 0 or 1 */
	uint8_t mgmt_class;
	uint8_t version;
	uint8_t oui[3];		/* in the order of the wire */
	uint16_t attr;		/* host byte order */
	bool errors;
};

/* mad: 256 bytes; wc_status: of what was sent, enum ib_wc_status */
bool snoop_passes(const struct snoop_filter *f, const uint8_t *mad, bool sent,
		  unsigned int wc_status);

#endif
