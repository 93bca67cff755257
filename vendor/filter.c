/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
#include <errno.h>

#include <iba/ib_types.h>

#include <infiniband/umad_snoop.h>

#include "layout.h"
#include "umad_request.h"

enum {
	SMP_DIRECTION = 0x8000,
};

static bool completed_in_error(int completion_status)
{
	switch (completion_status) {
	case IB_SUCCESS:
	case IB_CANCELED:
	case ECANCELED:
	case WC_WR_FLUSH_ERR:
		return false;
	default:
		return true;
	}
}

static bool reports_error(const uint8_t *mad)
{
	uint16_t status = mad_get16(mad + MAD_STATUS);

	if (mad[MAD_CLASS] == CLASS_SUBN_DIR)
		status &= (uint16_t)~SMP_DIRECTION;
	return status != 0;
}

static bool oui_matches(const umad_filter_t *filter, const uint8_t *mad,
			size_t len)
{
	const uint8_t *oui = filter->oui;

	if (filter->mgmt_class < CLASS_VENDOR2_FIRST ||
	    filter->mgmt_class > CLASS_VENDOR2_LAST)
		return true;
	if (!oui[0] && !oui[1] && !oui[2])
		return true;
	if (len < VENDOR_OUI + 3)
		return false;
	return mad[VENDOR_OUI] == oui[0] && mad[VENDOR_OUI + 1] == oui[1] &&
	       mad[VENDOR_OUI + 2] == oui[2];
}

bool umad_filter_match(const umad_filter_t *filter, const void *p_mad,
		       size_t len, bool sent, int completion_status)
{
	const uint8_t *mad = p_mad;

	if (!filter || !mad || len < MAD_HDR_SIZE)
		return false;

	if (!filter->mgmt_class) {
		if (mad_is_smp(mad[MAD_CLASS]))
			return false;
	} else {
		if (mad[MAD_CLASS] != filter->mgmt_class)
			return false;
		if (filter->mgmt_version &&
		    mad[MAD_CLASS_VERSION] != filter->mgmt_version)
			return false;
		if (filter->attr_id &&
		    mad_get16(mad + MAD_ATTR_ID) != filter->attr_id)
			return false;
		if (!oui_matches(filter, mad, len))
			return false;
	}

	if (!filter->errors)
		return true;
	return sent ? completed_in_error(completion_status) :
		      reports_error(mad);
}
