/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * The verdict of the kernel's double (tests/double/snoop_filter.c) on what the
 * vendor tests have: MADs of any length, and completions in the words of the
 * vendor layer, of errno and of ib_core.
 */
#ifndef OSMSNOOP_TEST_DOUBLE_FILTER_H
#define OSMSNOOP_TEST_DOUBLE_FILTER_H

#include <errno.h>
#include <string.h>

#include <iba/ib_types.h>

#include <infiniband/umad_snoop.h>

#include "layout.h"
#include "../double/snoop_filter.h"

/* What the kernel would say of a completion that filter_rows.h has. */
static inline uint32_t wc_status(int completion)
{
	switch (completion) {
	case IB_TIMEOUT:
		return 20;	/* IBV_WC_RESP_TIMEOUT_ERR */
	case IB_CANCELED:
		return 5;	/* IBV_WC_WR_FLUSH_ERR */
	case IB_ERROR:
		return 12;	/* IBV_WC_RETRY_EXC_ERR */
	default:
		return (uint32_t)completion;
	}
}

/*
 * status: as a reader is told it, ib_wc_status or errno. The snoop code of
 * ib_core comes before user_mad.c, which makes an errno of the former.
 */
static inline bool double_passes(const umad_filter_t *filter, uint8_t qpn,
				 const uint8_t *mad, size_t len, bool sent,
				 uint32_t status)
{
	const struct snoop_filter f = {
		.qpn = qpn,
		.mgmt_class = filter->mgmt_class,
		.version = filter->mgmt_version,
		.attr = filter->attr_id,
		.errors = filter->errors != 0,
		.oui = { filter->oui[0], filter->oui[1], filter->oui[2] },
	};
	uint8_t whole[MAD_SIZE] = { 0 };

	/* the kernel has nothing shorter than a MAD */
	memcpy(whole, mad, len < sizeof(whole) ? len : sizeof(whole));
	if (status == ETIMEDOUT)
		status = wc_status(IB_TIMEOUT);
	if (status == ECANCELED)
		status = wc_status(IB_CANCELED);
	return snoop_passes(&f, whole, sent, status);
}

#endif /* OSMSNOOP_TEST_DOUBLE_FILTER_H */
