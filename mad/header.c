/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * IBA 1.4 sections 13.4.3 (common), 13.6.2 (RMPP), 14.2.1 (SMPs), 15.2.1 (SA),
 * 16.3 (performance management has none of its own), 16.6 (vendor classes).
 */
#include "header.h"
#include "layout.h"
#include "rmpp.h"

#define NUMBER(name, offset, width) { name, 0, FIELD_NUMBER, offset, width }
#define HEX(name, offset, width) { name, 0, FIELD_HEX, offset, width }
#define KEY(name, offset) { name, 0, FIELD_KEY, offset, 64 }
#define HEADER(fields) { fields, sizeof(fields) / sizeof((fields)[0]) }

#define COMMON_BEGIN \
	NUMBER("base_version", 0, 8), \
	HEX("class", 8, 8), \
	NUMBER("class_version", 16, 8), \
	HEX("method", 24, 8)
#define COMMON_END \
	HEX("tid", 64, 64), \
	HEX("attribute_id", 128, 16), \
	HEX("attribute_modifier", 160, 32)

static const struct sa_field common[] = {
	COMMON_BEGIN,
	HEX("status", 32, 16),
	HEX("class_specific", 48, 16),
	COMMON_END,
};

static const struct sa_field directed[] = {
	COMMON_BEGIN,
	{ "direction", 0, FIELD_FLAG, 32, 1 },
	HEX("status", 33, 15),
	NUMBER("hop_pointer", 48, 8),
	NUMBER("hop_count", 56, 8),
	COMMON_END,
	KEY("m_key", 192),
	NUMBER("dr_slid", 256, 16),
	NUMBER("dr_dlid", 272, 16),
};

static const struct sa_field lid_routed[] = {
	KEY("m_key", 192),
};

static const struct sa_field rmpp[] = {
	NUMBER("rmpp_version", 192, 8),
	NUMBER("rmpp_type", 200, 8),
	NUMBER("rmpp_resp_time", 208, 5),
	HEX("rmpp_flags", 213, 3),
	NUMBER("rmpp_status", 216, 8),
	NUMBER("segment", 224, 32),
	NUMBER("payload_length", 256, 32),
};

static const struct sa_field sa[] = {
	KEY("sm_key", 288),
	NUMBER("attribute_offset", 352, 16),
	HEX("component_mask", 384, 64),
};

static const struct sa_field vendor[] = {
	HEX("oui", 296, 24),
};

size_t mad_headers(uint8_t mgmt_class, struct header headers[HEADERS_MAX])
{
	size_t n = 0;

	if (mgmt_class == CLASS_SUBN_DIR) {
		headers[n++] = (struct header)HEADER(directed);
		return n;
	}
	headers[n++] = (struct header)HEADER(common);
	if (mgmt_class == CLASS_SUBN_LID)
		headers[n++] = (struct header)HEADER(lid_routed);
	if (rmpp_data_offset(mgmt_class))
		headers[n++] = (struct header)HEADER(rmpp);
	if (mgmt_class == CLASS_SUBN_ADM)
		headers[n++] = (struct header)HEADER(sa);
	else if (rmpp_data_offset(mgmt_class) == VENDOR_DATA)
		headers[n++] = (struct header)HEADER(vendor);
	return n;
}
