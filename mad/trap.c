/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Notices. Layout: IBA 1.4 section 13.4.8.2; details of the traps of subnet
 * management: 14.2.5.1. Offsets of details are in bits from their start.
 */
#include <stdio.h>
#include <string.h>

#include "field.h"
#include "json.h"
#include "layout.h"
#include "names.h"
#include "trap.h"

enum {
	/* bytes of a notice */
	NOTICE_PRODUCER = 1,	/* 24 bits; VendorID of a vendor's notice */
	NOTICE_ISSUER_LID = 6,
	NOTICE_DETAILS = 10,
	NOTICE_DETAILS_SIZE = 54,
	NOTICE_ISSUER_GID = 64,

	/* bytes of the details of trap 256 */
	M_KEY_TRAP_METHOD = 6,
	M_KEY_TRAP_ATTR_ID = 8,
	M_KEY_TRAP_PATH_INFO = 23,
	M_KEY_TRAP_PATH = 24,

	/* of its PATH_INFO */
	PATH_IS_THERE = 0x80,
	PATH_HOPS = 0x3f,
	PATH_MAX = 30,
};

_Static_assert(TRAP_PATH_MAX == 4 * PATH_MAX, "\"255,\" each");

struct trap {
	uint8_t mgmt_class;
	int number;
	const char *name;
	const struct sa_field *fields;
	size_t n_fields;
};

static const struct sa_field cc_key_fields[] = {
	{ "lid", 0, FIELD_NUMBER, 0, 16 },
	{ "method", 0, FIELD_HEX, 16, 8 },
	{ "attribute_id", 0, FIELD_HEX, 32, 16 },
	{ "attribute_modifier", 0, FIELD_HEX, 64, 32 },
	{ "qp", 0, FIELD_NUMBER, 104, 24 },
	{ "cc_key", 0, FIELD_KEY, 128, 64 },
	{ "gid", 0, FIELD_GID, 192, 128 },
};

/* For trap_key() alone: nothing shows notices of this class. */
static const struct sa_field b_key_fields[] = {
	{ "b_key", 0, FIELD_KEY, 112, 64 },
};

static const struct sa_field gid_fields[] = {
	{ "gid", 0, FIELD_GID, 48, 128 },
};

static const struct sa_field mgid_fields[] = {
	{ "mgid", 0, FIELD_GID, 48, 128 },
};

static const struct sa_field link_state_fields[] = {
	{ "lid", 0, FIELD_NUMBER, 0, 16 },
};

static const struct sa_field port_fields[] = {
	{ "lid", 0, FIELD_NUMBER, 16, 16 },
	{ "port", 0, FIELD_NUMBER, 32, 8 },
};

static const struct sa_field local_change_fields[] = {
	{ "lid", 0, FIELD_NUMBER, 16, 16 },
	{ "other_local_changes", 0, FIELD_FLAG, 47, 1 },
	{ "new_capability_mask", 0, FIELD_HEX, 48, 32 },
	{ "capability_mask2_change", 0, FIELD_FLAG, 90, 1 },
	{ "hierarchy_info_change", 0, FIELD_FLAG, 91, 1 },
	{ "sm_priority_change", 0, FIELD_FLAG, 92, 1 },
	{ "link_speed_enabled_change", 0, FIELD_FLAG, 93, 1 },
	{ "link_width_enabled_change", 0, FIELD_FLAG, 94, 1 },
	{ "node_description_change", 0, FIELD_FLAG, 95, 1 },
	{ "new_capability_mask2", 0, FIELD_HEX, 96, 16 },
};

static const struct sa_field system_image_guid_fields[] = {
	{ "lid", 0, FIELD_NUMBER, 16, 16 },
	{ "new_system_image_guid", 0, FIELD_GUID, 48, 64 },
};

/* Method, attribute and path need more than a field: m_key_json(). */
static const struct sa_field m_key_fields[] = {
	{ "lid", 0, FIELD_NUMBER, 16, 16 },
	{ "dr_slid", 0, FIELD_NUMBER, 32, 16 },
	{ "attribute_id", 0, FIELD_HEX, 64, 16 },
	{ "attribute_modifier", 0, FIELD_HEX, 80, 32 },
	{ "m_key", 0, FIELD_KEY, 112, 64 },
	{ "dr_path_truncated", 0, FIELD_FLAG, 185, 1 },
	{ "dr_hop_count", 0, FIELD_NUMBER, 186, 6 },
};

/* The field for the key has 32 bits; a P_Key is in the lower 16 of them. */
static const struct sa_field p_key_fields[] = {
	{ "lid1", 0, FIELD_NUMBER, 16, 16 },
	{ "lid2", 0, FIELD_NUMBER, 32, 16 },
	{ "p_key", 0, FIELD_HEX, 48, 32 },
	{ "sl", 0, FIELD_NUMBER, 80, 4 },
	{ "qp1", 0, FIELD_NUMBER, 88, 24 },
	{ "qp2", 0, FIELD_NUMBER, 120, 24 },
	{ "gid1", 0, FIELD_GID, 144, 128 },
	{ "gid2", 0, FIELD_GID, 272, 128 },
};

static const struct sa_field q_key_fields[] = {
	{ "lid1", 0, FIELD_NUMBER, 16, 16 },
	{ "lid2", 0, FIELD_NUMBER, 32, 16 },
	{ "q_key", 0, FIELD_HEX, 48, 32 },
	{ "sl", 0, FIELD_NUMBER, 80, 4 },
	{ "qp1", 0, FIELD_NUMBER, 88, 24 },
	{ "qp2", 0, FIELD_NUMBER, 120, 24 },
	{ "gid1", 0, FIELD_GID, 144, 128 },
	{ "gid2", 0, FIELD_GID, 272, 128 },
};

static const struct sa_field switch_p_key_fields[] = {
	{ "data_valid", 0, FIELD_HEX, 0, 16 },
	{ "lid1", 0, FIELD_NUMBER, 16, 16 },
	{ "lid2", 0, FIELD_NUMBER, 32, 16 },
	{ "p_key", 0, FIELD_HEX, 48, 16 },
	{ "sl", 0, FIELD_NUMBER, 64, 4 },
	{ "qp1", 0, FIELD_NUMBER, 72, 24 },
	{ "qp2", 0, FIELD_NUMBER, 104, 24 },
	{ "gid1", 0, FIELD_GID, 128, 128 },
	{ "gid2", 0, FIELD_GID, 256, 128 },
	{ "sw_lid", 0, FIELD_NUMBER, 384, 16 },
	{ "port", 0, FIELD_NUMBER, 400, 8 },
};

#define FIELDS(table) table, sizeof(table) / sizeof((table)[0])

/*
 * The traps of subnet management, and those of others whose details hold a key
 * that must not be shown as raw data: of congestion control (annex A10) and
 * baseboard management (section 16.2).
 */
static const struct trap traps[] = {
	{ CLASS_SUBN_LID, 64, "GID in service", FIELDS(gid_fields) },
	{ CLASS_SUBN_LID, 65, "GID out of service", FIELDS(gid_fields) },
	{ CLASS_SUBN_LID, 66, "multicast group created", FIELDS(mgid_fields) },
	{ CLASS_SUBN_LID, 67, "multicast group deleted", FIELDS(mgid_fields) },
	{ CLASS_SUBN_LID, 68, "unpath", NULL, 0 },
	{ CLASS_SUBN_LID, 69, "repath", NULL, 0 },
	{ CLASS_SUBN_LID, 128, "link state change", FIELDS(link_state_fields) },
	{ CLASS_SUBN_LID, 129, "link integrity threshold reached",
	  FIELDS(port_fields) },
	{ CLASS_SUBN_LID, 130, "buffer overrun threshold reached",
	  FIELDS(port_fields) },
	{ CLASS_SUBN_LID, 131, "flow control watchdog expired",
	  FIELDS(port_fields) },
	{ CLASS_SUBN_LID, 144, "local changes", FIELDS(local_change_fields) },
	{ CLASS_SUBN_LID, 145, "system image GUID changed",
	  FIELDS(system_image_guid_fields) },
	{ CLASS_SUBN_LID, 256, "bad M_Key", FIELDS(m_key_fields) },
	{ CLASS_SUBN_LID, 257, "bad P_Key", FIELDS(p_key_fields) },
	{ CLASS_SUBN_LID, 258, "bad Q_Key", FIELDS(q_key_fields) },
	{ CLASS_SUBN_LID, 259, "bad P_Key at a switch",
	  FIELDS(switch_p_key_fields) },
	{ CLASS_CC, 0, "bad CC_Key", FIELDS(cc_key_fields) },
	{ CLASS_BM, 259, "bad B_Key", FIELDS(b_key_fields) },
};

/* Each class has numbers of its own. */
static const struct trap *find_trap(uint8_t mgmt_class, int number)
{
	for (size_t i = 0; i < sizeof(traps) / sizeof(traps[0]); i++)
		if (traps[i].mgmt_class == mgmt_class &&
		    traps[i].number == number)
			return &traps[i];
	return NULL;
}

/*
 * Of subnet management, in an SMP or from the SA. A number that it has not is
 * taken for the congestion manager's, which the SA may report, too.
 */
static const struct trap *find_reported(int number)
{
	static const uint8_t classes[] = { CLASS_SUBN_LID, CLASS_CC };
	const struct trap *trap = NULL;

	for (size_t i = 0; !trap && i < sizeof(classes); i++)
		trap = find_trap(classes[i], number);
	return trap;
}

const char *trap_name(int number)
{
	const struct trap *trap = find_reported(number);

	return trap ? trap->name : NULL;
}

static bool is_generic(const uint8_t *notice, size_t len)
{
	return len > NOTICE_TYPE && (notice[NOTICE_TYPE] & NOTICE_GENERIC);
}

static const char *type_name(uint8_t type)
{
	switch (type) {
	case 0x00:
		return "fatal";
	case 0x01:
		return "urgent";
	case 0x02:
		return "security";
	case 0x03:
		return "subnet_management";
	case 0x04:
		return "informational";
	case 0x7f:
		return "empty";
	default:
		return NULL;
	}
}

static const char *producer_name(uint32_t producer)
{
	static const char *const names[] = {
		NULL, "ca", "switch", "router", "class_manager",
	};

	return producer < sizeof(names) / sizeof(names[0]) ?
		names[producer] : NULL;
}

int trap_number(const uint8_t *notice, size_t len)
{
	if (!is_generic(notice, len) || len < NOTICE_NUMBER + 2)
		return -1;
	return mad_get16(notice + NOTICE_NUMBER);
}

static size_t details_len(size_t len)
{
	if (len <= NOTICE_DETAILS)
		return 0;
	len -= NOTICE_DETAILS;
	return len < NOTICE_DETAILS_SIZE ? len : NOTICE_DETAILS_SIZE;
}

/* What is there of the details, as they are. */
static struct sa_field raw_field(size_t len)
{
	struct sa_field raw = { "data", 0, FIELD_BYTES, 0, 0 };

	/* nothing at all is null, not "0x" */
	raw.width = (uint16_t)(len ? len * 8 : 8);
	return raw;
}

/*
 * "1,0,10": the return path of the directed route SMP that had the bad
 * M_Key, as far as the notice has room for it. False when it had none or it
 * is cut off.
 */
static bool m_key_path(const uint8_t *details, size_t len,
		       char path[TRAP_PATH_MAX])
{
	size_t hops, n = 0;

	path[0] = '\0';
	if (len <= M_KEY_TRAP_PATH_INFO ||
	    !(details[M_KEY_TRAP_PATH_INFO] & PATH_IS_THERE))
		return false;
	hops = details[M_KEY_TRAP_PATH_INFO] & PATH_HOPS;
	if (hops > PATH_MAX)
		hops = PATH_MAX;
	if (len < M_KEY_TRAP_PATH + hops)
		return false;
	for (size_t i = 0; i < hops; i++)
		n += (size_t)sprintf(path + n, "%s%hhu", i ? "," : "",
				     details[M_KEY_TRAP_PATH + i]);
	return true;
}

/* The names of both classes of SMPs are the same. */
static const char *m_key_method(const uint8_t *details, size_t len)
{
	if (len <= M_KEY_TRAP_METHOD)
		return NULL;
	return method_name(CLASS_SUBN_LID, details[M_KEY_TRAP_METHOD]);
}

static const char *m_key_attribute(const uint8_t *details, size_t len)
{
	if (len < M_KEY_TRAP_ATTR_ID + 2)
		return NULL;
	return attribute_name(CLASS_SUBN_LID,
			      mad_get16(details + M_KEY_TRAP_ATTR_ID));
}

static void m_key_json(struct json *j, const uint8_t *details, size_t len)
{
	char path[TRAP_PATH_MAX];
	const char *name = m_key_method(details, len);

	if (!name && len > M_KEY_TRAP_METHOD)
		jw_hex(j, "method", details[M_KEY_TRAP_METHOD], 2);
	else
		jw_string(j, "method", name);
	jw_string(j, "attribute", m_key_attribute(details, len));
	jw_string(j, "dr_return_path",
		    m_key_path(details, len, path) ? path : NULL);
}

static void m_key_words(struct words *w, const uint8_t *details, size_t len)
{
	char path[TRAP_PATH_MAX];
	const char *name = m_key_method(details, len);

	if (name)
		words_add(w, " method %s", name);
	else if (len > M_KEY_TRAP_METHOD)
		words_add(w, " method 0x%02x", details[M_KEY_TRAP_METHOD]);
	name = m_key_attribute(details, len);
	if (name)
		words_add(w, " attribute %s", name);
	if (m_key_path(details, len, path) && path[0])
		words_add(w, " dr_return_path %s", path);
}

static void details_json(struct json *j, const uint8_t *notice, size_t len,
			 bool show_keys)
{
	const struct trap *trap = find_reported(trap_number(notice, len));
	size_t n = details_len(len);
	const uint8_t *details = n ? notice + NOTICE_DETAILS : NULL;
	struct sa_field raw = raw_field(n);

	jw_object(j, "details");
	if (!trap || !trap->fields) {
		field_json(j, &raw, details, n, show_keys);
	} else {
		for (size_t i = 0; i < trap->n_fields; i++)
			field_json(j, &trap->fields[i], details, n, show_keys);
		if (trap->fields == m_key_fields)
			m_key_json(j, details, n);
	}
	jw_object_end(j);
}

void trap_json(struct json *j, const uint8_t *notice, size_t len,
	       bool show_keys)
{
	static const uint8_t no_gid[16];
	bool generic = is_generic(notice, len);
	bool has_number = len >= NOTICE_NUMBER + 2;
	bool has_producer = len >= NOTICE_PRODUCER + 3;
	const char *name;
	char number[4];

	if (len <= NOTICE_TYPE) {
		jw_null(j, "generic");
		jw_null(j, "trap_type");
	} else {
		uint8_t type = notice[NOTICE_TYPE] & 0x7f;

		jw_bool(j, "generic", generic);
		name = type_name(type);
		if (!name) {
			sprintf(number, "%hhu", type);
			name = number;
		}
		jw_string(j, "trap_type", name);
	}

	if (!generic && len > NOTICE_TYPE) {
		if (has_number)
			jw_hex(j, "device_id",
				 mad_get16(notice + NOTICE_NUMBER), 4);
		else
			jw_null(j, "device_id");
		if (has_producer)
			jw_hex(j, "vendor_id",
				 mad_get24(notice + NOTICE_PRODUCER), 6);
		else
			jw_null(j, "vendor_id");
	} else if (has_number) {
		jw_uint(j, "trap_number", mad_get16(notice + NOTICE_NUMBER));
	} else {
		jw_null(j, "trap_number");
	}

	if (generic && has_producer) {
		uint32_t producer = mad_get24(notice + NOTICE_PRODUCER);

		name = producer_name(producer);
		if (name)
			jw_string(j, "producer", name);
		else
			jw_hex(j, "producer", producer, 6);
	} else {
		jw_null(j, "producer");	/* a vendor's notice has none */
	}

	if (len >= NOTICE_ISSUER_LID + 2)
		jw_uint(j, "issuer_lid",
			  mad_get16(notice + NOTICE_ISSUER_LID));
	else
		jw_null(j, "issuer_lid");

	if (len >= NOTICE_SIZE &&
	    memcmp(notice + NOTICE_ISSUER_GID, no_gid, sizeof(no_gid)) != 0)
		jw_gid(j, "issuer_gid", notice + NOTICE_ISSUER_GID);
	else
		jw_null(j, "issuer_gid");

	if (has_number)
		details_json(j, notice, len, show_keys);
	else
		jw_null(j, "details");
}

static void add_details(struct words *w, const uint8_t *notice, size_t len,
			const struct trap *trap, bool show_keys)
{
	size_t n = details_len(len);
	const uint8_t *details;
	struct sa_field raw = raw_field(n);

	if (n == 0)
		return;
	details = notice + NOTICE_DETAILS;
	words_add(w, ":");
	if (!trap || !trap->fields) {
		field_words(w, &raw, details, n, show_keys);
		return;
	}
	for (size_t i = 0; i < trap->n_fields; i++)
		field_words(w, &trap->fields[i], details, n, show_keys);
	if (trap->fields == m_key_fields)
		m_key_words(w, details, n);
}

size_t trap_text(char *buf, size_t size, const uint8_t *notice, size_t len,
		 bool show_keys)
{
	const struct trap *trap = find_reported(trap_number(notice, len));
	struct words w;

	words_init(&w, buf, size);
	if (len < NOTICE_NUMBER + 2) {
		words_add(&w, "trap ?");
	} else if (!is_generic(notice, len)) {
		words_add(&w, "vendor trap 0x%04x (vendor 0x%06x)",
			  mad_get16(notice + NOTICE_NUMBER),
			  mad_get24(notice + NOTICE_PRODUCER));
	} else {
		words_add(&w, "trap %u", mad_get16(notice + NOTICE_NUMBER));
		if (trap)
			words_add(&w, " (%s)", trap->name);
	}
	if (len >= NOTICE_ISSUER_LID + 2)
		words_add(&w, " from LID %u",
			  mad_get16(notice + NOTICE_ISSUER_LID));
	add_details(&w, notice, len, trap, show_keys);
	return w.len;
}

bool trap_key(uint8_t mgmt_class, const uint8_t *notice, size_t len,
	      size_t *offset, size_t *size)
{
	int number = trap_number(notice, len);
	const struct trap *trap;
	size_t i;

	if (mad_is_smp(mgmt_class) || mgmt_class == CLASS_SUBN_ADM)
		trap = find_reported(number);
	else
		trap = find_trap(mgmt_class, number);

	for (i = 0; trap && i < trap->n_fields; i++) {
		if (trap->fields[i].kind != FIELD_KEY)
			continue;
		*offset = NOTICE_DETAILS + trap->fields[i].offset / 8u;
		*size = trap->fields[i].width / 8u;
		return true;
	}
	return false;
}

/* What there is whole of the field in the details of the notice, or NULL. */
static const uint8_t *find_detail(const uint8_t *notice, size_t len,
				  const char *name,
				  const struct sa_field **field)
{
	const struct trap *trap = find_reported(trap_number(notice, len));
	const struct sa_field *f;
	size_t i;

	for (i = 0; trap && i < trap->n_fields; i++) {
		f = &trap->fields[i];
		if (f->kind == FIELD_KEY || strcmp(f->name, name) != 0)
			continue;
		if (details_len(len) * 8 < (size_t)f->offset + f->width)
			return NULL;
		*field = f;
		return notice + NOTICE_DETAILS;
	}
	return NULL;
}

bool trap_detail(const uint8_t *notice, size_t len, const char *name,
		 uint64_t *value)
{
	const struct sa_field *field;
	const uint8_t *details = find_detail(notice, len, name, &field);

	if (!details || field->width > 64)
		return false;
	*value = field_get(field, details);
	return true;
}

bool trap_detail_gid(const uint8_t *notice, size_t len, const char *name,
		     uint8_t gid[16])
{
	const struct sa_field *field;
	const uint8_t *details = find_detail(notice, len, name, &field);

	if (!details || field->kind != FIELD_GID)
		return false;
	memcpy(gid, details + field->offset / 8, 16);
	return true;
}

bool trap_bad_smp(const uint8_t *notice, size_t len, uint8_t *method,
		  char path[TRAP_PATH_MAX])
{
	size_t n = details_len(len);

	if (trap_number(notice, len) != 256 || n <= M_KEY_TRAP_PATH_INFO)
		return false;
	*method = notice[NOTICE_DETAILS + M_KEY_TRAP_METHOD];
	m_key_path(notice + NOTICE_DETAILS, n, path);
	return true;
}
