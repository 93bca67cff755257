/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * SA attributes and their components. Layouts: IBA 1.4 section 15.2.5 and,
 * for what a record holds of another attribute, 13.4.8 and 14.2.5. A
 * component's bit is its place in IBA's table of the attribute, counting
 * reserved fields; those have no entry here and are shown by number.
 * tests/mad/test_attributes.c checks bits and offsets against ib_types.h.
 */
#include <arpa/inet.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "field.h"
#include "json.h"
#include "layout.h"
#include "text.h"

enum {
	/* MultiPathRecord, bytes */
	MULTIPATH_SGID_COUNT = 15,
	MULTIPATH_DGID_COUNT = 16,
	MULTIPATH_GIDS = 24,

	GID_SIZE = 16,
	BYTES_MAX = 64,			/* the widest FIELD_BYTES */
	HEX_MAX = 2 + 2 * BYTES_MAX + 1,
};

/* The one number that reads as words in text, known by its name's address. */
static const char join_state[] = "join_state";

#define NUMBER(name, component, offset, width) \
	{ name, component, FIELD_NUMBER, offset, width }
#define LID(name, component, offset) \
	{ name, component, FIELD_NUMBER, offset, 16 }
#define FLAG(name, component, offset) \
	{ name, component, FIELD_FLAG, offset, 1 }
#define HEX(name, component, offset, width) \
	{ name, component, FIELD_HEX, offset, width }
#define GUID(name, component, offset) \
	{ name, component, FIELD_GUID, offset, 64 }
#define GID(name, component, offset) \
	{ name, component, FIELD_GID, offset, 128 }
#define KEY(name, component, offset, width) \
	{ name, component, FIELD_KEY, offset, width }
#define TEXT(name, component, offset) \
	{ name, component, FIELD_TEXT, offset, 64 * 8 }
/* As many GIDs as the count byte at that offset says. */
#define GIDS(name, component, count) \
	{ name, component, FIELD_GIDS, 8 * (count), 8 }

static const struct sa_field class_port_info[] = {
	NUMBER("base_version", 0, 0, 8),
	NUMBER("class_version", 1, 8, 8),
	HEX("capability_mask", 2, 16, 16),
	HEX("capability_mask2", 3, 32, 27),
	NUMBER("resp_time_value", 4, 59, 5),
	GID("redirect_gid", 5, 64),
	NUMBER("redirect_tc", 6, 192, 8),
	NUMBER("redirect_sl", 7, 200, 4),
	NUMBER("redirect_fl", 8, 204, 20),
	LID("redirect_lid", 9, 224),
	HEX("redirect_p_key", 10, 240, 16),
	NUMBER("redirect_qp", 12, 264, 24),
	HEX("redirect_q_key", 13, 288, 32),
	GID("trap_gid", 14, 320),
	NUMBER("trap_tc", 15, 448, 8),
	NUMBER("trap_sl", 16, 456, 4),
	NUMBER("trap_fl", 17, 460, 20),
	LID("trap_lid", 18, 480),
	HEX("trap_p_key", 19, 496, 16),
	NUMBER("trap_hl", 20, 512, 8),
	NUMBER("trap_qp", 21, 520, 24),
	HEX("trap_q_key", 22, 544, 32),
};

/*
 * Alone and in an InformInfoRecord, where 3 components stand before it. For
 * a vendor's notices (is_generic 0) TrapNumber is DeviceID and ProducerType
 * is VendorID. IsGeneric and Subscribe are bytes, not bits.
 */
#define INFORM_INFO(component, offset) \
	GID("gid", (component), (offset)), \
	LID("lid_range_begin", (component) + 1, (offset) + 128), \
	LID("lid_range_end", (component) + 2, (offset) + 144), \
	NUMBER("is_generic", (component) + 4, (offset) + 176, 8), \
	NUMBER("subscribe", (component) + 5, (offset) + 184, 8), \
	NUMBER("type", (component) + 6, (offset) + 192, 16), \
	NUMBER("trap_number", (component) + 7, (offset) + 208, 16), \
	NUMBER("qpn", (component) + 8, (offset) + 224, 24), \
	NUMBER("resp_time_value", (component) + 10, (offset) + 251, 5), \
	NUMBER("producer_type", (component) + 12, (offset) + 264, 24)

static const struct sa_field inform_info[] = {
	INFORM_INFO(0, 0),
};

static const struct sa_field inform_info_record[] = {
	GID("subscriber_gid", 0, 0),
	NUMBER("enum", 1, 128, 16),
	INFORM_INFO(3, 192),
};

static const struct sa_field node_record[] = {
	LID("lid", 0, 0),
	NUMBER("base_version", 2, 32, 8),
	NUMBER("class_version", 3, 40, 8),
	NUMBER("node_type", 4, 48, 8),
	NUMBER("num_ports", 5, 56, 8),
	GUID("system_image_guid", 6, 64),
	GUID("node_guid", 7, 128),
	GUID("port_guid", 8, 192),
	NUMBER("partition_cap", 9, 256, 16),
	HEX("device_id", 10, 272, 16),
	HEX("revision", 11, 288, 32),
	NUMBER("local_port_num", 12, 320, 8),
	HEX("vendor_id", 13, 328, 24),
	TEXT("node_description", 14, 352),
};

static const struct sa_field port_info_record[] = {
	LID("end_port_lid", 0, 0),
	NUMBER("port_num", 1, 16, 8),
	HEX("options", 2, 24, 8),
	KEY("m_key", 3, 32, 64),
	HEX("gid_prefix", 4, 96, 64),
	LID("lid", 5, 160),
	LID("master_sm_lid", 6, 176),
	HEX("capability_mask", 7, 192, 32),
	HEX("diag_code", 8, 224, 16),
	NUMBER("m_key_lease_period", 9, 240, 16),
	NUMBER("local_port_num", 10, 256, 8),
	NUMBER("link_width_enabled", 11, 264, 8),
	NUMBER("link_width_supported", 12, 272, 8),
	NUMBER("link_width_active", 13, 280, 8),
	NUMBER("link_speed_supported", 14, 288, 4),
	NUMBER("port_state", 15, 292, 4),
	NUMBER("port_physical_state", 16, 296, 4),
	NUMBER("link_down_default_state", 17, 300, 4),
	NUMBER("m_key_protect_bits", 18, 304, 2),
	NUMBER("lmc", 20, 309, 3),
	NUMBER("link_speed_active", 21, 312, 4),
	NUMBER("link_speed_enabled", 22, 316, 4),
	NUMBER("neighbor_mtu", 23, 320, 4),
	NUMBER("master_sm_sl", 24, 324, 4),
	NUMBER("vl_cap", 25, 328, 4),
	NUMBER("init_type", 26, 332, 4),
	NUMBER("vl_high_limit", 27, 336, 8),
	NUMBER("vl_arbitration_high_cap", 28, 344, 8),
	NUMBER("vl_arbitration_low_cap", 29, 352, 8),
	NUMBER("init_type_reply", 30, 360, 4),
	NUMBER("mtu_cap", 31, 364, 4),
	NUMBER("vl_stall_count", 32, 368, 3),
	NUMBER("hoq_life", 33, 371, 5),
	NUMBER("operational_vls", 34, 376, 4),
	FLAG("partition_enforcement_inbound", 35, 380),
	FLAG("partition_enforcement_outbound", 36, 381),
	FLAG("filter_raw_inbound", 37, 382),
	FLAG("filter_raw_outbound", 38, 383),
	NUMBER("m_key_violations", 39, 384, 16),
	NUMBER("p_key_violations", 40, 400, 16),
	NUMBER("q_key_violations", 41, 416, 16),
	NUMBER("guid_cap", 42, 432, 8),
	FLAG("client_reregister", 43, 440),
	/* reserved before IBA 1.2.1 */
	NUMBER("multicast_p_key_trap_suppression_enabled", 44, 441, 2),
	NUMBER("subnet_timeout", 45, 443, 5),
	NUMBER("resp_time_value", 47, 451, 5),
	NUMBER("local_phy_errors", 48, 456, 4),
	NUMBER("overrun_errors", 49, 460, 4),
	NUMBER("max_credit_hint", 50, 464, 16),
	NUMBER("link_round_trip_latency", 52, 488, 24),
	HEX("capability_mask2", 53, 512, 16),
	NUMBER("link_speed_ext_active", 54, 528, 4),
	NUMBER("link_speed_ext_supported", 55, 532, 4),
	NUMBER("link_speed_ext_enabled", 57, 539, 5),
};

#define SL_TO_VL(name, sl) NUMBER(name, 4 + (sl), 64 + 4 * (sl), 4)

static const struct sa_field sl_to_vl_record[] = {
	LID("lid", 0, 0),
	NUMBER("input_port_num", 1, 16, 8),
	NUMBER("output_port_num", 2, 24, 8),
	SL_TO_VL("sl0_to_vl", 0),
	SL_TO_VL("sl1_to_vl", 1),
	SL_TO_VL("sl2_to_vl", 2),
	SL_TO_VL("sl3_to_vl", 3),
	SL_TO_VL("sl4_to_vl", 4),
	SL_TO_VL("sl5_to_vl", 5),
	SL_TO_VL("sl6_to_vl", 6),
	SL_TO_VL("sl7_to_vl", 7),
	SL_TO_VL("sl8_to_vl", 8),
	SL_TO_VL("sl9_to_vl", 9),
	SL_TO_VL("sl10_to_vl", 10),
	SL_TO_VL("sl11_to_vl", 11),
	SL_TO_VL("sl12_to_vl", 12),
	SL_TO_VL("sl13_to_vl", 13),
	SL_TO_VL("sl14_to_vl", 14),
	SL_TO_VL("sl15_to_vl", 15),
};

static const struct sa_field switch_info_record[] = {
	LID("lid", 0, 0),
	NUMBER("linear_fdb_cap", 2, 32, 16),
	NUMBER("random_fdb_cap", 3, 48, 16),
	NUMBER("multicast_fdb_cap", 4, 64, 16),
	NUMBER("linear_fdb_top", 5, 80, 16),
	NUMBER("default_port", 6, 96, 8),
	NUMBER("default_multicast_primary_port", 7, 104, 8),
	NUMBER("default_multicast_not_primary_port", 8, 112, 8),
	NUMBER("life_time_value", 9, 120, 5),
	FLAG("port_state_change", 10, 125),
	/* reserved before IBA 1.2.1 */
	NUMBER("optimized_sl_to_vl_mapping_programming", 11, 126, 2),
	NUMBER("lids_per_port", 12, 128, 16),
	NUMBER("partition_enforcement_cap", 13, 144, 16),
	FLAG("inbound_enforcement_cap", 14, 160),
	FLAG("outbound_enforcement_cap", 15, 161),
	FLAG("filter_raw_inbound_cap", 16, 162),
	FLAG("filter_raw_outbound_cap", 17, 163),
	FLAG("enhanced_port0", 18, 164),
};

/*
 * The tables of forwarding entries, arbitration and P_Keys have more fields
 * than a mask has bits; only what addresses a block is named.
 */
static const struct sa_field lft_record[] = {
	LID("lid", 0, 0),
	NUMBER("block_num", 1, 16, 16),
};

static const struct sa_field mft_record[] = {
	LID("lid", 0, 0),
	NUMBER("position", 1, 16, 4),
	NUMBER("block_num", 3, 23, 9),
};

static const struct sa_field sm_info_record[] = {
	LID("lid", 0, 0),
	GUID("guid", 2, 32),
	KEY("sm_key", 3, 96, 64),
	NUMBER("act_count", 4, 160, 32),
	NUMBER("priority", 5, 192, 4),
	NUMBER("sm_state", 6, 196, 4),
};

static const struct sa_field link_record[] = {
	LID("from_lid", 0, 0),
	NUMBER("from_port", 1, 16, 8),
	NUMBER("to_port", 2, 24, 8),
	LID("to_lid", 3, 32),
};

static const struct sa_field guid_info_record[] = {
	LID("lid", 0, 0),
	NUMBER("block_num", 1, 16, 8),
	GUID("guid0", 4, 64),
	GUID("guid1", 5, 128),
	GUID("guid2", 6, 192),
	GUID("guid3", 7, 256),
	GUID("guid4", 8, 320),
	GUID("guid5", 9, 384),
	GUID("guid6", 10, 448),
	GUID("guid7", 11, 512),
};

#define DATA8(name, n) HEX(name, 7 + (n) - 1, 896 + 8 * ((n) - 1), 8)
#define DATA16(name, n) HEX(name, 23 + (n) - 1, 1024 + 16 * ((n) - 1), 16)
#define DATA32(name, n) HEX(name, 31 + (n) - 1, 1152 + 32 * ((n) - 1), 32)
#define DATA64(name, n) HEX(name, 35 + (n) - 1, 1280 + 64 * ((n) - 1), 64)

static const struct sa_field service_record[] = {
	HEX("service_id", 0, 0, 64),
	GID("service_gid", 1, 64),
	HEX("service_p_key", 2, 192, 16),
	NUMBER("service_lease", 4, 224, 32),
	KEY("service_key", 5, 256, 128),
	TEXT("service_name", 6, 384),
	DATA8("service_data8_1", 1),
	DATA8("service_data8_2", 2),
	DATA8("service_data8_3", 3),
	DATA8("service_data8_4", 4),
	DATA8("service_data8_5", 5),
	DATA8("service_data8_6", 6),
	DATA8("service_data8_7", 7),
	DATA8("service_data8_8", 8),
	DATA8("service_data8_9", 9),
	DATA8("service_data8_10", 10),
	DATA8("service_data8_11", 11),
	DATA8("service_data8_12", 12),
	DATA8("service_data8_13", 13),
	DATA8("service_data8_14", 14),
	DATA8("service_data8_15", 15),
	DATA8("service_data8_16", 16),
	DATA16("service_data16_1", 1),
	DATA16("service_data16_2", 2),
	DATA16("service_data16_3", 3),
	DATA16("service_data16_4", 4),
	DATA16("service_data16_5", 5),
	DATA16("service_data16_6", 6),
	DATA16("service_data16_7", 7),
	DATA16("service_data16_8", 8),
	DATA32("service_data32_1", 1),
	DATA32("service_data32_2", 2),
	DATA32("service_data32_3", 3),
	DATA32("service_data32_4", 4),
	DATA64("service_data64_1", 1),
	DATA64("service_data64_2", 2),
};

static const struct sa_field p_key_table_record[] = {
	LID("lid", 0, 0),
	NUMBER("block_num", 1, 16, 16),
	NUMBER("port_num", 2, 32, 8),
};

/*
 * ServiceID has two components, of its upper 8 and its lower 56 bits, which
 * are to be set together (IBA CA13-6 of 15.2.5.16): one value, shown once.
 */
static const struct sa_field path_record[] = {
	HEX("service_id", 0, 0, 64),
	HEX("service_id", 1, 0, 64),
	GID("dgid", 2, 64),
	GID("sgid", 3, 192),
	LID("dlid", 4, 320),
	LID("slid", 5, 336),
	FLAG("raw_traffic", 6, 352),
	NUMBER("flow_label", 8, 356, 20),
	NUMBER("hop_limit", 9, 376, 8),
	NUMBER("tclass", 10, 384, 8),
	FLAG("reversible", 11, 392),
	NUMBER("num_path", 12, 393, 7),
	HEX("p_key", 13, 400, 16),
	NUMBER("qos_class", 14, 416, 12),
	NUMBER("sl", 15, 428, 4),
	NUMBER("mtu_selector", 16, 432, 2),
	NUMBER("mtu", 17, 434, 6),
	NUMBER("rate_selector", 18, 440, 2),
	NUMBER("rate", 19, 442, 6),
	NUMBER("packet_life_time_selector", 20, 448, 2),
	NUMBER("packet_life_time", 21, 450, 6),
	NUMBER("preference", 22, 456, 8),
};

static const struct sa_field vl_arbitration_record[] = {
	LID("lid", 0, 0),
	NUMBER("output_port_num", 1, 16, 8),
	NUMBER("block_num", 2, 24, 8),
};

static const struct sa_field mcmember_record[] = {
	GID("mgid", 0, 0),
	GID("port_gid", 1, 128),
	HEX("q_key", 2, 256, 32),
	LID("mlid", 3, 288),
	NUMBER("mtu_selector", 4, 304, 2),
	NUMBER("mtu", 5, 306, 6),
	NUMBER("tclass", 6, 312, 8),
	HEX("p_key", 7, 320, 16),
	NUMBER("rate_selector", 8, 336, 2),
	NUMBER("rate", 9, 338, 6),
	NUMBER("packet_life_time_selector", 10, 344, 2),
	NUMBER("packet_life_time", 11, 346, 6),
	NUMBER("sl", 12, 352, 4),
	NUMBER("flow_label", 13, 356, 20),
	NUMBER("hop_limit", 14, 376, 8),
	NUMBER("scope", 15, 384, 4),
	NUMBER(join_state, 16, 388, 4),
	FLAG("proxy_join", 17, 392),	/* IBA's bit; OpenSM's is the lowest */
};

/*
 * The GIDs behind the fixed part have no components; the counts stand for
 * them. The two halves of ServiceID lie apart.
 */
static const struct sa_field multipath_record[] = {
	FLAG("raw_traffic", 0, 0),
	NUMBER("flow_label", 2, 4, 20),
	NUMBER("hop_limit", 3, 24, 8),
	NUMBER("tclass", 4, 32, 8),
	FLAG("reversible", 5, 40),
	NUMBER("num_path", 6, 41, 7),
	HEX("p_key", 7, 48, 16),
	NUMBER("qos_class", 8, 64, 12),
	NUMBER("sl", 9, 76, 4),
	NUMBER("mtu_selector", 10, 80, 2),
	NUMBER("mtu", 11, 82, 6),
	NUMBER("rate_selector", 12, 88, 2),
	NUMBER("rate", 13, 90, 6),
	NUMBER("packet_life_time_selector", 14, 96, 2),
	NUMBER("packet_life_time", 15, 98, 6),
	HEX("service_id_8msb", 16, 104, 8),
	NUMBER("independence_selector", 17, 112, 2),
	NUMBER("sgid_count", 19, 8 * MULTIPATH_SGID_COUNT, 8),
	GIDS("sgids", 19, MULTIPATH_SGID_COUNT),
	NUMBER("dgid_count", 20, 8 * MULTIPATH_DGID_COUNT, 8),
	GIDS("dgids", 20, MULTIPATH_DGID_COUNT),
	HEX("service_id_56lsb", 21, 136, 56),
};

static const struct sa_field service_association_record[] = {
	KEY("service_key", 0, 0, 128),
	TEXT("service_name", 1, 128),
};

#define ATTRIBUTE(id, name, fields) \
	{ id, name, true, fields, sizeof(fields) / sizeof(*(fields)) }
/* Not handled by OpenSM; and such that are not decoded here either. */
#define FOREIGN(id, name, fields) \
	{ id, name, false, fields, sizeof(fields) / sizeof(*(fields)) }
#define NAME_ONLY(id, name) { id, name, false, NULL, 0 }

/*
 * `opensm` is what osm_sa_mad_ctrl.c of OpenSM 3.3.23 hands to a handler, with
 * MultiPathRecord, which depends on how it was built: see sa_silence().
 */
const struct sa_attribute sa_attributes[] = {
	ATTRIBUTE(0x0001, "ClassPortInfo", class_port_info),
	NAME_ONLY(0x0002, "Notice"),
	ATTRIBUTE(0x0003, "InformInfo", inform_info),
	ATTRIBUTE(0x0011, "NodeRecord", node_record),
	ATTRIBUTE(0x0012, "PortInfoRecord", port_info_record),
	ATTRIBUTE(0x0013, "SLtoVLMappingTableRecord", sl_to_vl_record),
	ATTRIBUTE(0x0014, "SwitchInfoRecord", switch_info_record),
	ATTRIBUTE(0x0015, "LFTRecord", lft_record),
	NAME_ONLY(0x0016, "RandomForwardingTableRecord"),
	ATTRIBUTE(0x0017, "MFTRecord", mft_record),
	ATTRIBUTE(0x0018, "SMInfoRecord", sm_info_record),
	NAME_ONLY(0x0019, "LinkSpeedWidthPairsTableRecord"),
	ATTRIBUTE(0x0020, "LinkRecord", link_record),
	ATTRIBUTE(0x0030, "GUIDInfoRecord", guid_info_record),
	ATTRIBUTE(0x0031, "ServiceRecord", service_record),
	ATTRIBUTE(0x0033, "P_KeyTableRecord", p_key_table_record),
	ATTRIBUTE(0x0035, "PathRecord", path_record),
	ATTRIBUTE(0x0036, "VLArbitrationTableRecord", vl_arbitration_record),
	ATTRIBUTE(0x0038, "MCMemberRecord", mcmember_record),
	NAME_ONLY(0x0039, "TraceRecord"),
	ATTRIBUTE(0x003a, "MultiPathRecord", multipath_record),
	FOREIGN(0x003b, "ServiceAssociationRecord",
		service_association_record),
	NAME_ONLY(0x003c, "HierarchyInfoRecord"),
	NAME_ONLY(0x003d, "CableInfoRecord"),
	NAME_ONLY(0x003e, "PortInfoExtendedRecord"),
	ATTRIBUTE(0x00f3, "InformInfoRecord", inform_info_record),
};

const size_t sa_attributes_count =
	sizeof(sa_attributes) / sizeof(sa_attributes[0]);

const struct sa_attribute *sa_attribute_find(uint16_t attr_id)
{
	for (size_t i = 0; i < sa_attributes_count; i++)
		if (sa_attributes[i].id == attr_id)
			return &sa_attributes[i];
	return NULL;
}

uint64_t sa_components(uint16_t attr_id, uint64_t mask)
{
	const struct sa_attribute *attr;
	size_t i;

	if (attr_id != ATTR_INFORM_INFO || mask)
		return mask;
	attr = sa_attribute_find(attr_id);
	for (i = 0; i < attr->n_fields; i++)
		mask |= UINT64_C(1) << attr->fields[i].component;
	return mask;
}

size_t sa_attribute_size(uint16_t attr_id)
{
	const struct sa_attribute *attr = sa_attribute_find(attr_id);
	size_t i, end, bits = 0;

	for (i = 0; attr && i < attr->n_fields; i++) {
		/* as many as another component says */
		if (attr->fields[i].kind == FIELD_GIDS)
			return 0;
		end = (size_t)attr->fields[i].offset + attr->fields[i].width;
		if (end > bits)
			bits = end;
	}
	return (bits + 7) / 8;
}

void words_init(struct words *w, char *buf, size_t size)
{
	w->buf = buf;
	w->size = size;
	w->len = 0;
	w->full = size == 0;
	if (size)
		buf[0] = '\0';
}

void words_add(struct words *w, const char *format, ...)
{
	va_list args;
	int n;

	if (w->full)
		return;
	va_start(args, format);
	n = vsnprintf(w->buf + w->len, w->size - w->len, format, args);
	va_end(args);
	if (n < 0 || (size_t)n >= w->size - w->len) {
		w->buf[w->len] = '\0';
		w->full = true;
		return;
	}
	w->len += (size_t)n;
}

void words_text(struct words *w, const void *text, size_t len, bool quoted)
{
	const uint8_t *p = text, *end = p + len;
	struct text_char c;
	size_t i;

	for (; p < end && *p; p += c.len) {
		c = text_next(p, (size_t)(end - p));
		switch (c.kind) {
		case TEXT_INVALID:
			for (i = 0; i < c.len; i++)
				words_add(w, "\\x%02x", p[i]);
			break;
		case TEXT_CONTROL:
			words_add(w, c.code > 0xffff ? "\\U%08x" : "\\u%04x",
				  (unsigned int)c.code);
			break;
		case TEXT_PRINTABLE:
			words_add(w, "%s%.*s", quoted &&
				  (c.code == '"' || c.code == '\\') ?
				  "\\" : "", (int)c.len, (const char *)p);
			break;
		}
	}
}

uint64_t field_get(const struct sa_field *f, const uint8_t *rec)
{
	unsigned int last = f->offset + f->width - 1u;
	uint64_t value = 0;

	for (unsigned int i = f->offset / 8u; i <= last / 8; i++)
		value = value << 8 | rec[i];
	value >>= 7 - last % 8;
	return f->width < 64 ? value & ((UINT64_C(1) << f->width) - 1) : value;
}

void field_set(const struct sa_field *f, uint8_t *rec, uint64_t value)
{
	unsigned int i, bit = f->offset + f->width;

	for (i = 0; i < f->width; i++, value >>= 1) {
		bit--;
		if (value & 1)
			rec[bit / 8] |= (uint8_t)(0x80 >> bit % 8);
		else
			rec[bit / 8] &= (uint8_t)~(0x80 >> bit % 8);
	}
}

static bool field_is_there(const struct sa_field *f, size_t len)
{
	return (size_t)f->offset + f->width <= len * 8;
}

static int hex_digits(const struct sa_field *f)
{
	return (f->width + 3) / 4;
}

/* "0x.." of a field of whole bytes, or of as many zeros. */
static void hex_bytes(char hex[HEX_MAX], const struct sa_field *f,
		      const uint8_t *rec, bool hide)
{
	static const char digits[] = "0123456789abcdef";
	size_t n = f->width / 8;

	if (n > BYTES_MAX)
		n = BYTES_MAX;
	*hex++ = '0';
	*hex++ = 'x';
	for (size_t i = 0; i < n; i++) {
		uint8_t byte = hide ? 0 : rec[f->offset / 8 + i];

		*hex++ = digits[byte >> 4];
		*hex++ = digits[byte & 0xf];
	}
	*hex = '\0';
}

bool field_find_gids(const struct sa_field *f, const uint8_t *rec, size_t len,
		     size_t *first, size_t *count, size_t *there)
{
	size_t skip = 0;

	if (!field_is_there(f, len))
		return false;
	if (f->offset / 8 == MULTIPATH_DGID_COUNT)
		skip = rec[MULTIPATH_SGID_COUNT];
	*first = MULTIPATH_GIDS + skip * GID_SIZE;
	*count = rec[f->offset / 8];
	*there = len > *first ? (len - *first) / GID_SIZE : 0;
	if (*there > *count)
		*there = *count;
	return true;
}

static void gids_json(struct json *j, const struct sa_field *f,
		      const uint8_t *rec, size_t len)
{
	size_t first, count, there;

	if (!field_find_gids(f, rec, len, &first, &count, &there)) {
		jw_null(j, f->name);
		return;
	}
	jw_array(j, f->name);
	for (size_t i = 0; i < there; i++)
		jw_gid(j, NULL, rec + first + i * GID_SIZE);
	if (there < count)
		jw_null(j, NULL);
	jw_array_end(j);
}

void field_json(struct json *j, const struct sa_field *f, const uint8_t *rec,
		size_t len, bool show_keys)
{
	char hex[HEX_MAX];

	if (f->kind == FIELD_GIDS) {
		gids_json(j, f, rec, len);
		return;
	}
	if (!field_is_there(f, len)) {
		jw_null(j, f->name);
		return;
	}
	switch ((enum field_kind)f->kind) {
	case FIELD_NUMBER:
		jw_uint(j, f->name, field_get(f, rec));
		break;
	case FIELD_FLAG:
		jw_bool(j, f->name, field_get(f, rec) != 0);
		break;
	case FIELD_HEX:
	case FIELD_GUID:
		jw_hex(j, f->name, field_get(f, rec), hex_digits(f));
		break;
	case FIELD_GID:
		jw_gid(j, f->name, rec + f->offset / 8);
		break;
	case FIELD_TEXT:
		jw_text(j, f->name, rec + f->offset / 8, f->width / 8);
		break;
	case FIELD_KEY:
	case FIELD_BYTES:
		hex_bytes(hex, f, rec, f->kind == FIELD_KEY && !show_keys);
		jw_string(j, f->name, hex);
		break;
	case FIELD_GIDS:
		break;
	}
}

/* IBA 15.2.5.17; bit 3 is SendOnlyFullMember, which OpenSM knows too. */
static void join_state_words(char out[64], uint64_t state)
{
	static const char *const bits[] = {
		"full", "non_member", "send_only", "send_only_full",
	};
	size_t n = 0;

	for (size_t i = 0; i < 4; i++)
		if (state >> i & 1)
			n += (size_t)sprintf(out + n, "%s%s", n ? "+" : "",
					     bits[i]);
	if (n == 0)
		strcpy(out, "0");
}

static void add_gids(struct words *w, const struct sa_field *f,
		     const uint8_t *rec, size_t len)
{
	size_t first, count, there;
	char text[INET6_ADDRSTRLEN];

	if (!field_find_gids(f, rec, len, &first, &count, &there)) {
		words_add(w, "?");
		return;
	}
	for (size_t i = 0; i < there; i++) {
		inet_ntop(AF_INET6, rec + first + i * GID_SIZE, text,
			  sizeof(text));
		words_add(w, "%s%s", i ? "," : "", text);
	}
	if (there < count)
		words_add(w, "%s?", there ? "," : "");
	else if (count == 0)
		words_add(w, "none");
}

/* The value of a field that is there and has one word. */
static void value_word(char out[HEX_MAX], const struct sa_field *f,
		       const uint8_t *rec, bool show_keys)
{
	switch ((enum field_kind)f->kind) {
	case FIELD_NUMBER:
		if (f->name == join_state)
			join_state_words(out, field_get(f, rec));
		else
			sprintf(out, "%llu",
				(unsigned long long)field_get(f, rec));
		break;
	case FIELD_FLAG:
		strcpy(out, field_get(f, rec) ? "yes" : "no");
		break;
	case FIELD_HEX:
	case FIELD_GUID:
		snprintf(out, HEX_MAX, "0x%0*llx", hex_digits(f),
			 (unsigned long long)field_get(f, rec));
		break;
	case FIELD_GID:
		inet_ntop(AF_INET6, rec + f->offset / 8, out, HEX_MAX);
		break;
	case FIELD_KEY:
	case FIELD_BYTES:
		hex_bytes(out, f, rec, f->kind == FIELD_KEY && !show_keys);
		break;
	case FIELD_GIDS:
	case FIELD_TEXT:
		out[0] = '\0';
		break;
	}
}

void field_words(struct words *w, const struct sa_field *f,
		 const uint8_t *rec, size_t len, bool show_keys)
{
	const char *blank = w->len ? " " : "";
	char word[HEX_MAX];

	if (f->kind == FIELD_GIDS) {
		words_add(w, "%s%s ", blank, f->name);
		add_gids(w, f, rec, len);
		return;
	}
	if (!field_is_there(f, len)) {
		words_add(w, "%s%s ?", blank, f->name);
		return;
	}
	if (f->kind == FIELD_TEXT) {
		words_add(w, "%s%s ", blank, f->name);
		words_add(w, "\"");
		words_text(w, rec + f->offset / 8, f->width / 8, true);
		words_add(w, "\"");
		return;
	}
	value_word(word, f, rec, show_keys);
	words_add(w, "%s%s %s", blank, f->name, word);
}

/*
 * The fields of the component `bit`, from `*i` on in the attribute's table,
 * which is in the order of components. NULL after the last; `*i` moves on.
 */
static const struct sa_field *next_field(const struct sa_attribute *attr,
					 unsigned int bit, size_t *i)
{
	if (!attr)
		return NULL;
	while (*i < attr->n_fields && attr->fields[*i].component < bit)
		(*i)++;
	if (*i == attr->n_fields || attr->fields[*i].component != bit)
		return NULL;
	return &attr->fields[(*i)++];
}

/* Is it the value of two components, and already shown for the first? */
static bool is_shown(const struct sa_field *shown, const struct sa_field *f)
{
	return shown && strcmp(shown->name, f->name) == 0;
}

void sa_query_json(struct json *j, const char *key,
		   const struct sa_attribute *attr, uint64_t mask,
		   const uint8_t *rec, size_t len, bool show_keys)
{
	const struct sa_field *f, *shown = NULL;
	char name[sizeof("component_63")];
	size_t i = 0;

	jw_object(j, key);
	for (unsigned int bit = 0; bit < 64; bit++) {
		if (!(mask >> bit & 1))
			continue;
		f = next_field(attr, bit, &i);
		if (!f) {
			sprintf(name, "component_%hhu", (unsigned char)bit);
			jw_bool(j, name, true);
		}
		for (; f; f = next_field(attr, bit, &i)) {
			if (is_shown(shown, f))
				continue;
			field_json(j, f, rec, len, show_keys);
			shown = f;
		}
	}
	jw_object_end(j);
}

size_t sa_query_text(char *buf, size_t size, const struct sa_attribute *attr,
		     uint64_t mask, const uint8_t *rec, size_t len,
		     bool show_keys)
{
	const struct sa_field *f, *shown = NULL;
	struct words w;
	size_t i = 0;

	words_init(&w, buf, size);
	for (unsigned int bit = 0; bit < 64; bit++) {
		if (!(mask >> bit & 1))
			continue;
		f = next_field(attr, bit, &i);
		if (!f)
			words_add(&w, "%scomponent_%u", w.len ? " " : "", bit);
		for (; f; f = next_field(attr, bit, &i)) {
			if (is_shown(shown, f))
				continue;
			field_words(&w, f, rec, len, show_keys);
			shown = f;
		}
	}
	return w.len;
}
