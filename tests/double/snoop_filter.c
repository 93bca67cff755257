/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
#include <string.h>

#include "snoop_filter.h"
#include "umad_double.h"

static bool has_oui(const struct snoop_filter *f)
{
	return f->mgmt_class >= 0x30 && f->mgmt_class <= 0x4f &&
	       (f->oui[0] || f->oui[1] || f->oui[2]);
}

/* The man page of umad_register_snoop(), sentence by sentence. */
bool snoop_passes(const struct snoop_filter *f, const uint8_t *mad, bool sent,
		  unsigned int wc_status)
{
	uint16_t status = get16(mad + MAD_STATUS);

	if (f->qpn != mad_qpn(mad))
		return false;
	if (!f->mgmt_class) {
		if (f->qpn != 1)
			return false;
	} else {
		if (mad[MAD_CLASS] != f->mgmt_class)
			return false;
		if (f->version && mad[MAD_CLASS_VERSION] != f->version)
			return false;
		if (f->attr && get16(mad + MAD_ATTR) != f->attr)
			return false;
		if (has_oui(f) && memcmp(mad + MAD_VENDOR_OUI, f->oui, 3))
			return false;
	}
	if (!f->errors)
		return true;
	if (sent)
		return wc_status != WC_SUCCESS && wc_status != WC_WR_FLUSH_ERR;
	/* the highest bit of a directed route SMP is its direction */
	if (mad[MAD_CLASS] == CLASS_SM_DR)
		status &= 0x7fff;
	return status != 0;
}
