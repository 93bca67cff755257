/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Notices, made of ib_mad_notice_attr_t of ib_types.h: whole, cut, random. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <check.h>
#include <iba/ib_types.h>

#include "json.h"
#include "json_read.h"
#include "trap.h"
#include "../run.h"

#define COUNT(table) (sizeof(table) / sizeof((table)[0]))

enum { JSON_SIZE = 8192 };

static ib_mad_notice_attr_t notice;

static ib_mad_notice_attr_t *generic(uint8_t type, uint16_t number,
				     uint16_t lid)
{
	memset(&notice, 0, sizeof(notice));
	notice.generic_type = 0x80 | type;
	notice.g_or_v.generic.prod_type_lsb = CL_HTON16(IB_NODE_TYPE_SWITCH);
	notice.g_or_v.generic.trap_num = cl_hton16(number);
	notice.issuer_lid = cl_hton16(lid);
	return &notice;
}

/* The members as an object, once a reader that is not ours has taken it. */
static const char *json_of(const void *p, size_t len, bool show_keys)
{
	static char buf[JSON_SIZE];
	struct json j;

	jw_init(&j, buf, sizeof(buf) - 1);
	jw_object(&j, NULL);
	trap_json(&j, p, len, show_keys);
	jw_object_end(&j);
	ck_assert(!j.full);
	buf[j.len] = '\0';
	ck_assert_msg(json_read_valid(buf), "%s", buf);
	return buf;
}

static const char *text_of(const void *p, size_t len, bool show_keys)
{
	static char buf[1024];
	size_t n;

	memset(buf, 'X', sizeof(buf));
	n = trap_text(buf, sizeof(buf), p, len, show_keys);
	ck_assert_uint_lt(n, sizeof(buf));
	ck_assert_uint_eq(strlen(buf), n);
	return buf;
}

static void check_member(const char *object, const char *key,
			 const char *value)
{
	ck_assert_str_eq(json_read_member(object, key), value);
}

static void check_details(const char *details)
{
	check_member(json_of(&notice, NOTICE_SIZE, false), "details",
		     details);
}

static const uint8_t some_gid[16] = {
	0xfe, 0x80, [9] = 0x02, 0xc9, 0x03, 0x00, 0x0e, 0x0b, 0x72,
};
#define SOME_GID "fe80::2:c903:e:b72"

static uint64_t seed = UINT64_C(0x9e3779b97f4a7c15);

static uint64_t random64(void)
{
	seed ^= seed << 13;
	seed ^= seed >> 7;
	seed ^= seed << 17;
	return seed;
}

/* Invalid input first. */

START_TEST(no_notice)
{
	const char *object = json_of(NULL, 0, true);

	ck_assert_uint_eq(json_read_count(object), 7);
	check_member(object, "generic", "null");
	check_member(object, "trap_type", "null");
	check_member(object, "trap_number", "null");
	check_member(object, "producer", "null");
	check_member(object, "issuer_lid", "null");
	check_member(object, "issuer_gid", "null");
	check_member(object, "details", "null");
	ck_assert_str_eq(text_of(NULL, 0, true), "trap ?");
	ck_assert_int_eq(trap_number(NULL, 0), -1);
	ck_assert_uint_eq(trap_text(NULL, 0, NULL, 0, true), 0);
}
END_TEST

static const uint16_t numbers[] = {
	0, 1, 64, 65, 66, 67, 68, 69, 128, 129, 130, 131, 144, 145, 256, 257,
	258, 259, 260, 1000, 65535,
};

/* In memory of just that length, so that ASan sees a byte too many. */
START_TEST(cut_notices)
{
	for (size_t i = 0; i < COUNT(numbers); i++) {
		for (size_t len = 0; len <= NOTICE_SIZE; len++) {
			uint8_t *p = malloc(len ? len : 1);
			const char *object;

			generic(2, numbers[i], 7);
			memset(&notice.data_details, 0xc7, 54);
			memset(&notice.issuer_gid, 0xfe, 16);
			memcpy(p, &notice, len);
			object = json_of(p, len, true);
			ck_assert_uint_eq(json_read_count(object), 7);
			check_member(object, "generic",
				     len >= 1 ? "true" : "null");
			check_member(object, "producer",
				     len >= 4 ? "\"switch\"" : "null");
			check_member(object, "issuer_lid",
				     len >= 8 ? "7" : "null");
			ck_assert_int_eq(strcmp(json_read_member(object,
						"issuer_gid"), "null") == 0,
					 len < NOTICE_SIZE);
			ck_assert_int_eq(json_read_member(object,
						"details")[0],
					 len < 6 ? 'n' : '{');
			ck_assert_int_eq(trap_number(p, len),
					 len < 6 ? -1 : numbers[i]);
			text_of(p, len, true);
			/* a vendor's */
			if (len)
				p[0] = 0x02;
			json_of(p, len, true);
			text_of(p, len, true);
			free(p);
		}
	}
}
END_TEST

START_TEST(cut_details_are_null)
{
	generic(2, 257, 7);
	notice.data_details.ntc_257_258.lid1 = CL_HTON16(3);
	check_member(json_of(&notice, 15, false), "details",
		     "{\"lid1\":3,\"lid2\":null,\"p_key\":null,\"sl\":null,"
		     "\"qp1\":null,\"qp2\":null,\"gid1\":null,\"gid2\":null}");
	ck_assert_str_eq(text_of(&notice, 15, false),
			 "trap 257 (bad P_Key) from LID 7: lid1 3 lid2 ? "
			 "p_key ? sl ? qp1 ? qp2 ? gid1 ? gid2 ?");
	ck_assert_str_eq(text_of(&notice, 10, false),
			 "trap 257 (bad P_Key) from LID 7");
	ck_assert_str_eq(text_of(&notice, 6, false), "trap 257 (bad P_Key)");
	ck_assert_str_eq(text_of(&notice, 5, false), "trap ?");

	generic(2, 1000, 7);
	check_member(json_of(&notice, 10, false), "details",
		     "{\"data\":null}");
	check_member(json_of(&notice, 13, false), "details",
		     "{\"data\":\"0x000000\"}");
}
END_TEST

START_TEST(text_in_small_buffers)
{
	char whole[1024];
	size_t n;

	generic(2, 256, 7);
	memset(&notice.data_details, 0xff, 54);
	n = trap_text(whole, sizeof(whole), (uint8_t *)&notice, NOTICE_SIZE,
		      true);
	for (size_t size = 1; size <= n + 1; size++) {
		char *buf = malloc(size);
		size_t got = trap_text(buf, size, (uint8_t *)&notice,
				       NOTICE_SIZE, true);

		ck_assert_uint_lt(got, size);
		ck_assert_uint_eq(strlen(buf), got);
		ck_assert_int_eq(strncmp(buf, whole, got), 0);
		free(buf);
	}
}
END_TEST

/* The header. */

START_TEST(types)
{
	static const struct {
		uint8_t type;
		const char *name;
	} types[] = {
		{ IB_NOTICE_TYPE_FATAL, "\"fatal\"" },
		{ IB_NOTICE_TYPE_URGENT, "\"urgent\"" },
		{ IB_NOTICE_TYPE_SECURITY, "\"security\"" },
		{ IB_NOTICE_TYPE_SUBN_MGMT, "\"subnet_management\"" },
		{ IB_NOTICE_TYPE_INFO, "\"informational\"" },
		{ IB_NOTICE_TYPE_EMPTY, "\"empty\"" },
		{ 5, "\"5\"" },
		{ 0x7e, "\"126\"" },
	};

	for (size_t i = 0; i < COUNT(types); i++) {
		generic(types[i].type, 128, 7);
		check_member(json_of(&notice, NOTICE_SIZE, false),
			     "trap_type", types[i].name);
	}
}
END_TEST

START_TEST(producers)
{
	static const struct {
		uint32_t type;
		const char *name;
	} producers[] = {
		{ 0, "\"0x000000\"" },
		{ 1, "\"ca\"" },
		{ 2, "\"switch\"" },
		{ 3, "\"router\"" },
		{ 4, "\"class_manager\"" },
		{ 5, "\"0x000005\"" },
		{ 0x010001, "\"0x010001\"" },
		{ 0xffffff, "\"0xffffff\"" },
	};

	for (size_t i = 0; i < COUNT(producers); i++) {
		generic(1, 128, 7);
		ib_notice_set_prod_type(&notice,
					cl_hton32(producers[i].type));
		check_member(json_of(&notice, NOTICE_SIZE, false),
			     "producer", producers[i].name);
	}
}
END_TEST

/* Only a notice of 80 bytes has an issuer GID, and zero is none. */
START_TEST(issuer)
{
	generic(1, 128, 0xbeef);
	check_member(json_of(&notice, NOTICE_SIZE, false), "issuer_lid",
		     "48879");
	check_member(json_of(&notice, NOTICE_SIZE, false), "issuer_gid",
		     "null");
	memcpy(notice.issuer_gid.raw, some_gid, 16);
	check_member(json_of(&notice, NOTICE_SIZE, false), "issuer_gid",
		     "\"" SOME_GID "\"");
	check_member(json_of(&notice, NOTICE_SMP_SIZE, false), "issuer_gid",
		     "null");
}
END_TEST

START_TEST(vendor_notice)
{
	const char *object;

	memset(&notice, 0, sizeof(notice));
	notice.generic_type = IB_NOTICE_TYPE_INFO;
	notice.g_or_v.vend.vend_id_lsb = CL_HTON16(0x02c9);
	notice.g_or_v.vend.dev_id = CL_HTON16(257);
	notice.issuer_lid = CL_HTON16(7);
	notice.data_details.raw_data.details[53] = 0xab;

	object = json_of(&notice, NOTICE_SIZE, false);
	ck_assert_uint_eq(json_read_count(object), 8);
	check_member(object, "generic", "false");
	check_member(object, "trap_type", "\"informational\"");
	check_member(object, "device_id", "\"0x0101\"");
	check_member(object, "vendor_id", "\"0x0002c9\"");
	check_member(object, "trap_number", "");
	check_member(object, "producer", "null");
	check_member(object, "issuer_lid", "7");
	/* raw, although 257 has details in a generic notice */
	check_details("{\"data\":\"0x"
		      "000000000000000000000000000000000000"
		      "000000000000000000000000000000000000"
		      "0000000000000000000000000000000000ab\"}");
	ck_assert_str_eq(text_of(&notice, 12, false),
			 "vendor trap 0x0101 (vendor 0x0002c9) from LID 7: "
			 "data 0x0000");
	ck_assert_int_eq(trap_number((uint8_t *)&notice, NOTICE_SIZE), -1);
}
END_TEST

START_TEST(whole_object)
{
	generic(IB_NOTICE_TYPE_URGENT, 128, 7);
	notice.data_details.ntc_128.sw_lid = CL_HTON16(9);
	ck_assert_str_eq(json_of(&notice, NOTICE_SMP_SIZE, false),
			 "{\"generic\":true,\"trap_type\":\"urgent\","
			 "\"trap_number\":128,\"producer\":\"switch\","
			 "\"issuer_lid\":7,\"issuer_gid\":null,"
			 "\"details\":{\"lid\":9}}");
	ck_assert_str_eq(text_of(&notice, NOTICE_SMP_SIZE, false),
			 "trap 128 (link state change) from LID 7: lid 9");
	ck_assert_int_eq(trap_number((uint8_t *)&notice, NOTICE_SMP_SIZE),
			 128);
}
END_TEST

/* Details by number. */

START_TEST(gid_traps)
{
	for (uint16_t number = 64; number <= 67; number++) {
		generic(3, number, 1);
		memcpy(notice.data_details.ntc_64_67.gid.raw, some_gid, 16);
		check_details(number < 66 ?
			      "{\"gid\":\"" SOME_GID "\"}" :
			      "{\"mgid\":\"" SOME_GID "\"}");
	}
	ck_assert_str_eq(text_of(&notice, NOTICE_SIZE, false),
			 "trap 67 (multicast group deleted) from LID 1: "
			 "mgid " SOME_GID);
}
END_TEST

START_TEST(port_traps)
{
	for (uint16_t number = 129; number <= 131; number++) {
		generic(1, number, 1);
		notice.data_details.ntc_129_131.lid = CL_HTON16(300);
		notice.data_details.ntc_129_131.port_num = 36;
		check_details("{\"lid\":300,\"port\":36}");
	}
}
END_TEST

static void check_change(const char *flag, bool other, uint16_t change)
{
	static const char *const names[] = {
		"other_local_changes", "capability_mask2_change",
		"hierarchy_info_change", "sm_priority_change",
		"link_speed_enabled_change", "link_width_enabled_change",
		"node_description_change",
	};
	char details[1024];

	generic(4, 144, 1);
	notice.data_details.ntc_144.local_changes =
		other ? TRAP_144_MASK_OTHER_LOCAL_CHANGES : 0;
	notice.data_details.ntc_144.change_flgs = change;
	strcpy(details, json_read_member(json_of(&notice, NOTICE_SIZE, false),
					 "details"));
	for (size_t i = 0; i < COUNT(names); i++)
		check_member(details, names[i],
			     strcmp(names[i], flag) == 0 ? "true" : "false");
}

START_TEST(local_changes)
{
	char details[1024];

	generic(4, 144, 1);
	notice.data_details.ntc_144.lid = CL_HTON16(5);
	notice.data_details.ntc_144.new_cap_mask = CL_HTON32(0x0251486a);
	notice.data_details.ntc_144.cap_mask2 = CL_HTON16(0x0012);
	strcpy(details, json_read_member(json_of(&notice, NOTICE_SIZE, false),
					 "details"));
	check_member(details, "lid", "5");
	check_member(details, "new_capability_mask", "\"0x0251486a\"");
	check_member(details, "new_capability_mask2", "\"0x0012\"");

	check_change("", false, 0);
	check_change("other_local_changes", true, 0);
	check_change("capability_mask2_change", false,
		     TRAP_144_MASK_CAPABILITY_MASK2_CHANGE);
	check_change("hierarchy_info_change", false,
		     TRAP_144_MASK_HIERARCHY_INFO_CHANGE);
	check_change("sm_priority_change", false,
		     TRAP_144_MASK_SM_PRIORITY_CHANGE);
	check_change("link_speed_enabled_change", false,
		     TRAP_144_MASK_LINK_SPEED_ENABLE_CHANGE);
	check_change("link_width_enabled_change", false,
		     TRAP_144_MASK_LINK_WIDTH_ENABLE_CHANGE);
	check_change("node_description_change", false,
		     TRAP_144_MASK_NODE_DESCRIPTION_CHANGE);
}
END_TEST

START_TEST(system_image_guid)
{
	generic(4, 145, 1);
	notice.data_details.ntc_145.lid = CL_HTON16(5);
	notice.data_details.ntc_145.new_sys_guid =
		CL_HTON64(UINT64_C(0x0011223344556677));
	check_details("{\"lid\":5,"
		      "\"new_system_image_guid\":\"0x0011223344556677\"}");
}
END_TEST

static void bad_m_key(uint8_t path_info)
{
	generic(2, 256, 1);
	notice.data_details.ntc_256.lid = CL_HTON16(5);
	notice.data_details.ntc_256.dr_slid = CL_HTON16(0xffff);
	notice.data_details.ntc_256.method = IB_MAD_METHOD_SET;
	notice.data_details.ntc_256.attr_id = IB_MAD_ATTR_PORT_INFO;
	notice.data_details.ntc_256.attr_mod = CL_HTON32(3);
	notice.data_details.ntc_256.mkey =
		CL_HTON64(UINT64_C(0xdeadbeefcafef00d));
	notice.data_details.ntc_256.dr_trunc_hop = path_info;
	for (uint8_t i = 0; i < 30; i++)
		notice.data_details.ntc_256.dr_rtn_path[i] = 100 + i;
}

START_TEST(m_key_trap)
{
	bad_m_key(0x83);
	check_details("{\"lid\":5,\"dr_slid\":65535,"
		      "\"attribute_id\":\"0x0015\","
		      "\"attribute_modifier\":\"0x00000003\","
		      "\"m_key\":\"0x0000000000000000\","
		      "\"dr_path_truncated\":false,\"dr_hop_count\":3,"
		      "\"method\":\"Set\",\"attribute\":\"PortInfo\","
		      "\"dr_return_path\":\"100,101,102\"}");
	ck_assert_str_eq(text_of(&notice, NOTICE_SIZE, false),
			 "trap 256 (bad M_Key) from LID 1: lid 5 "
			 "dr_slid 65535 attribute_id 0x0015 "
			 "attribute_modifier 0x00000003 "
			 "m_key 0x0000000000000000 dr_path_truncated no "
			 "dr_hop_count 3 method Set attribute PortInfo "
			 "dr_return_path 100,101,102");
	ck_assert_ptr_nonnull(strstr(json_of(&notice, NOTICE_SIZE, true),
				     "\"m_key\":\"0xdeadbeefcafef00d\""));
	ck_assert_ptr_nonnull(strstr(text_of(&notice, NOTICE_SIZE, true),
				     "m_key 0xdeadbeefcafef00d"));

	notice.data_details.ntc_256.method = 0x77;
	notice.data_details.ntc_256.attr_id = CL_HTON16(0xfffe);
	ck_assert_ptr_nonnull(strstr(json_of(&notice, NOTICE_SIZE, true),
				     "\"method\":\"0x77\","
				     "\"attribute\":null"));
	ck_assert_ptr_nonnull(strstr(text_of(&notice, NOTICE_SIZE, true),
				     "method 0x77"));
}
END_TEST

/* DRPathTruncated; no path where DRNotice is 0; 30 hops at most are there. */
START_TEST(m_key_trap_paths)
{
	char details[1024], path[256];

	bad_m_key(0x03);
	strcpy(details, json_read_member(json_of(&notice, NOTICE_SIZE, false),
					 "details"));
	check_member(details, "dr_return_path", "null");

	bad_m_key(0x80);
	strcpy(details, json_read_member(json_of(&notice, NOTICE_SIZE, false),
					 "details"));
	check_member(details, "dr_return_path", "\"\"");

	bad_m_key(0xff);
	strcpy(details, json_read_member(json_of(&notice, NOTICE_SIZE, false),
					 "details"));
	check_member(details, "dr_path_truncated", "true");
	check_member(details, "dr_hop_count", "63");
	strcpy(path, json_read_member(details, "dr_return_path"));
	ck_assert_int_eq(strncmp(path, "\"100,101,", 9), 0);
	ck_assert_str_eq(strrchr(path, ','), ",129\"");

	/* a path that is cut is none */
	bad_m_key(0x83);
	strcpy(details, json_read_member(json_of(&notice, 10 + 26, false),
					 "details"));
	check_member(details, "dr_return_path", "null");
	strcpy(details, json_read_member(json_of(&notice, 10 + 27, false),
					 "details"));
	check_member(details, "dr_return_path", "\"100,101,102\"");
}
END_TEST

START_TEST(p_key_and_q_key_traps)
{
	static const struct {
		uint16_t number;
		const char *details;
	} keys[] = {
		{ 257, "{\"lid1\":3,\"lid2\":4,\"p_key\":\"0x00008001\","
		  "\"sl\":13,\"qp1\":1193046,\"qp2\":7816193,"
		  "\"gid1\":\"" SOME_GID "\",\"gid2\":\"::\"}" },
		{ 258, "{\"lid1\":3,\"lid2\":4,\"q_key\":\"0x00008001\","
		  "\"sl\":13,\"qp1\":1193046,\"qp2\":7816193,"
		  "\"gid1\":\"" SOME_GID "\",\"gid2\":\"::\"}" },
	};

	for (size_t i = 0; i < COUNT(keys); i++) {
		generic(2, keys[i].number, 1);
		notice.data_details.ntc_257_258.lid1 = CL_HTON16(3);
		notice.data_details.ntc_257_258.lid2 = CL_HTON16(4);
		notice.data_details.ntc_257_258.key = CL_HTON32(0x8001);
		/* SL, 4 bits of nothing, QP1; 8 bits of nothing, QP2 */
		notice.data_details.ntc_257_258.qp1 = CL_HTON32(0xdf123456);
		notice.data_details.ntc_257_258.qp2 = CL_HTON32(0xff774401);
		memcpy(notice.data_details.ntc_257_258.gid1.raw, some_gid,
		       16);
		check_details(keys[i].details);
	}
}
END_TEST

START_TEST(switch_p_key_trap)
{
	generic(2, 259, 1);
	notice.data_details.ntc_259.data_valid = CL_HTON16(0x8003);
	notice.data_details.ntc_259.lid1 = CL_HTON16(3);
	notice.data_details.ntc_259.lid2 = CL_HTON16(4);
	notice.data_details.ntc_259.pkey = CL_HTON16(0x7fff);
	notice.data_details.ntc_259.sl_qp1 = CL_HTON32(0xdf123456);
	notice.data_details.ntc_259.qp2 = CL_HTON32(0xff774401);
	memcpy(notice.data_details.ntc_259.gid2.raw, some_gid, 16);
	notice.data_details.ntc_259.sw_lid = CL_HTON16(40);
	notice.data_details.ntc_259.port_no = 17;
	check_details("{\"data_valid\":\"0x8003\",\"lid1\":3,\"lid2\":4,"
		      "\"p_key\":\"0x7fff\",\"sl\":13,\"qp1\":1193046,"
		      "\"qp2\":7816193,\"gid1\":\"::\",\"gid2\":\"" SOME_GID
		      "\",\"sw_lid\":40,\"port\":17}");
}
END_TEST

/* CONTRACT 3: a CC_Key is hidden too, so its trap is not shown raw. */
START_TEST(cc_key_trap)
{
	generic(2, 0, 1);
	notice.data_details.ntc_cckey_0.slid = CL_HTON16(3);
	notice.data_details.ntc_cckey_0.method = IB_MAD_METHOD_SET;
	notice.data_details.ntc_cckey_0.attribute_id =
		IB_MAD_ATTR_CA_CONG_SETTING;
	notice.data_details.ntc_cckey_0.attribute_modifier = CL_HTON32(1);
	notice.data_details.ntc_cckey_0.qp = CL_HTON32(0xff000001);
	notice.data_details.ntc_cckey_0.cc_key =
		CL_HTON64(UINT64_C(0xdeadbeefcafef00d));
	memcpy(notice.data_details.ntc_cckey_0.source_gid.raw, some_gid, 16);
	check_details("{\"lid\":3,\"method\":\"0x02\","
		      "\"attribute_id\":\"0x0016\","
		      "\"attribute_modifier\":\"0x00000001\",\"qp\":1,"
		      "\"cc_key\":\"0x0000000000000000\","
		      "\"gid\":\"" SOME_GID "\"}");
	ck_assert_ptr_null(strstr(text_of(&notice, NOTICE_SIZE, false),
				  "dead"));
	ck_assert_ptr_nonnull(strstr(text_of(&notice, NOTICE_SIZE, true),
				     "cc_key 0xdeadbeefcafef00d"));
}
END_TEST

START_TEST(other_numbers_are_raw)
{
	static const uint16_t others[] = { 1, 63, 68, 69, 132, 260, 65535 };

	for (size_t i = 0; i < COUNT(others); i++) {
		const char *object;

		generic(4, others[i], 1);
		notice.data_details.raw_data.details[0] = 0x12;
		object = json_of(&notice, 10 + 4, false);
		check_member(object, "details", "{\"data\":\"0x12000000\"}");
	}
	ck_assert_str_eq(text_of(&notice, 10 + 4, false),
			 "trap 65535 from LID 1: data 0x12000000");
}
END_TEST

START_TEST(details_by_name)
{
	ib_mad_notice_attr_t *n = generic(IB_NOTICE_TYPE_SECURITY, 257, 5);
	uint8_t gid[16];
	uint64_t value;
	size_t len;

	n->data_details.ntc_257_258.lid1 = CL_HTON16(7);
	n->data_details.ntc_257_258.qp1 = CL_HTON32(0x30abcdef);
	n->data_details.ntc_257_258.gid2.raw[15] = 9;
	ck_assert(trap_detail((uint8_t *)n, NOTICE_SMP_SIZE, "lid1", &value));
	ck_assert_uint_eq(value, 7);
	ck_assert(trap_detail((uint8_t *)n, NOTICE_SMP_SIZE, "qp1", &value));
	ck_assert_uint_eq(value, 0xabcdef);
	ck_assert(trap_detail((uint8_t *)n, NOTICE_SMP_SIZE, "sl", &value));
	ck_assert_uint_eq(value, 3);
	ck_assert(trap_detail_gid((uint8_t *)n, NOTICE_SMP_SIZE, "gid2", gid));
	ck_assert_uint_eq(gid[15], 9);

	/* what it has not, and the other kind */
	ck_assert(!trap_detail((uint8_t *)n, NOTICE_SMP_SIZE, "sw_lid",
			       &value));
	ck_assert(!trap_detail((uint8_t *)n, NOTICE_SMP_SIZE, "gid2", &value));
	ck_assert(!trap_detail_gid((uint8_t *)n, NOTICE_SMP_SIZE, "lid1",
				   gid));
	for (len = 0; len < 10 + 14; len++)
		ck_assert(!trap_detail((uint8_t *)n, len, "qp1", &value));
	ck_assert(trap_detail((uint8_t *)n, len, "qp1", &value));
	for (; len < 10 + 50; len++)
		ck_assert(!trap_detail_gid((uint8_t *)n, len, "gid2", gid));
	ck_assert(trap_detail_gid((uint8_t *)n, len, "gid2", gid));
}
END_TEST

/* A key that is a secret is no detail that one can have. */
START_TEST(bad_smp)
{
	ib_mad_notice_attr_t *n = generic(IB_NOTICE_TYPE_SECURITY, 256, 5);
	char path[TRAP_PATH_MAX];
	uint64_t value;
	uint8_t method;
	size_t len;

	n->data_details.ntc_256.method = 2;
	n->data_details.ntc_256.mkey = UINT64_MAX;
	n->data_details.ntc_256.dr_trunc_hop = 0x80 | 2;
	n->data_details.ntc_256.dr_rtn_path[0] = 1;
	n->data_details.ntc_256.dr_rtn_path[1] = 20;
	ck_assert(!trap_detail((uint8_t *)n, NOTICE_SMP_SIZE, "m_key",
			       &value));
	ck_assert(trap_bad_smp((uint8_t *)n, NOTICE_SMP_SIZE, &method, path));
	ck_assert_uint_eq(method, 2);
	ck_assert_str_eq(path, "1,20");
	for (len = 0; len < 10 + 24; len++)
		ck_assert(!trap_bad_smp((uint8_t *)n, len, &method, path));
	ck_assert(trap_bad_smp((uint8_t *)n, len, &method, path));
	ck_assert_str_eq(path, "");
	n = generic(IB_NOTICE_TYPE_SECURITY, 257, 5);
	ck_assert(!trap_bad_smp((uint8_t *)n, NOTICE_SMP_SIZE, &method, path));
}
END_TEST

START_TEST(random_notices)
{
	for (int i = 0; i < 100000; i++) {
		size_t len = random64() % 100;
		uint8_t *p = malloc(len ? len : 1);
		bool show_keys = random64() & 1;
		const char *text;

		for (size_t k = 0; k < len; k++)
			p[k] = (uint8_t)(random64() >> 32);
		if (len > 6 && (random64() & 7)) {
			uint16_t n = numbers[random64() % COUNT(numbers)];

			p[0] |= 0x80;
			p[4] = (uint8_t)(n >> 8);
			p[5] = (uint8_t)n;
		}
		json_of(p, len, show_keys);
		text = text_of(p, len, show_keys);
		ck_assert(text_is_printable(text, strlen(text)));
		free(p);
	}
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("trap");
	TCase *tcase = tcase_create("trap");

	tcase_set_timeout(tcase, 300);
	tcase_add_test(tcase, no_notice);
	tcase_add_test(tcase, cut_notices);
	tcase_add_test(tcase, cut_details_are_null);
	tcase_add_test(tcase, text_in_small_buffers);
	tcase_add_test(tcase, types);
	tcase_add_test(tcase, producers);
	tcase_add_test(tcase, issuer);
	tcase_add_test(tcase, vendor_notice);
	tcase_add_test(tcase, whole_object);
	tcase_add_test(tcase, gid_traps);
	tcase_add_test(tcase, port_traps);
	tcase_add_test(tcase, local_changes);
	tcase_add_test(tcase, system_image_guid);
	tcase_add_test(tcase, m_key_trap);
	tcase_add_test(tcase, m_key_trap_paths);
	tcase_add_test(tcase, p_key_and_q_key_traps);
	tcase_add_test(tcase, switch_p_key_trap);
	tcase_add_test(tcase, cc_key_trap);
	tcase_add_test(tcase, other_numbers_are_raw);
	tcase_add_test(tcase, details_by_name);
	tcase_add_test(tcase, bad_smp);
	tcase_add_test(tcase, random_notices);
	suite_add_tcase(suite, tcase);
	return run_suite(suite);
}
