/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Names and numbers of classes, methods, attributes, states and statuses. */
#include <stdlib.h>
#include <string.h>

#include <check.h>
#include <iba/ib_types.h>

#include "attributes.h"
#include "names.h"
#include "../run.h"

#define COUNT(table) (sizeof(table) / sizeof((table)[0]))

START_TEST(no_name_for_unknown_numbers)
{
	ck_assert_ptr_null(class_name(0x00));
	ck_assert_ptr_null(class_name(0x09));
	ck_assert_ptr_null(class_name(0x30));
	ck_assert_ptr_null(class_name(0xff));
	ck_assert_ptr_null(method_name(0x04, 0x00));
	ck_assert_ptr_null(method_name(0x04, 0x04));
	ck_assert_ptr_null(method_name(0x04, 0x82));
	ck_assert_ptr_null(method_name(0x04, 0xff));
	ck_assert_ptr_null(attribute_name(0x03, 0x00f1));
	ck_assert_ptr_null(attribute_name(0x01, 0x0000));
	ck_assert_ptr_null(attribute_name(0x01, 0xffff));
	ck_assert_ptr_null(attribute_name(0x30, 0x0010));
	ck_assert_ptr_null(sm_state_name(4));
	ck_assert_ptr_null(sm_state_name(0xff));
	ck_assert_ptr_null(sa_status_name(0x0900));
	ck_assert_ptr_null(sa_status_name(0xff00));
	ck_assert_ptr_null(sa_status_name(0x0003));
	ck_assert_ptr_null(sa_status_name(0x0010));
}
END_TEST

START_TEST(no_number_for_unknown_names)
{
	uint8_t class = 0xaa;
	uint16_t attr = 0xaaaa;

	ck_assert(!class_number(NULL, 0, &class));
	ck_assert(!class_number("", 0, &class));
	ck_assert(!class_number("s", 1, &class));
	ck_assert(!class_number("sa ", 3, &class));
	ck_assert(!class_number("sa\0", 3, &class));
	ck_assert(!class_number("vendor", 6, &class));
	ck_assert(!attribute_number(0x03, NULL, 0, &attr));
	ck_assert(!attribute_number(0x03, "", 0, &attr));
	ck_assert(!attribute_number(0x03, "PathRecor", 9, &attr));
	ck_assert(!attribute_number(0x03, "PathRecords", 11, &attr));
	ck_assert(!attribute_number(0x01, "PathRecord", 10, &attr));
	ck_assert(!attribute_number(0x03, "NodeInfo", 8, &attr));
	ck_assert(!attribute_number(0xff, "NodeInfo", 8, &attr));
	/* nothing is written when there is no number */
	ck_assert_uint_eq(class, 0xaa);
	ck_assert_uint_eq(attr, 0xaaaa);
}
END_TEST

START_TEST(every_number_is_safe)
{
	for (unsigned int c = 0; c < 256; c++) {
		const char *name = class_name((uint8_t)c);

		ck_assert(!name || *name);
		for (unsigned int m = 0; m < 256; m++) {
			name = method_name((uint8_t)c, (uint8_t)m);
			ck_assert(!name || *name);
		}
		name = sm_state_name((uint8_t)c);
		ck_assert(!name || *name);
	}
	for (unsigned int i = 0; i < 65536; i++) {
		const char *name = sa_status_name((uint16_t)i);

		ck_assert(!name || *name);
	}
}
END_TEST

START_TEST(class_names)
{
	static const struct {
		uint8_t number;
		const char *name;
	} classes[] = {
		{ IB_MCLASS_SUBN_LID, "SubnLID" },
		{ IB_MCLASS_SUBN_DIR, "SubnDR" },
		{ IB_MCLASS_SUBN_ADM, "SubnAdm" },
		{ IB_MCLASS_PERF, "Perf" },
		{ IB_MCLASS_BM, "BM" },
		{ IB_MCLASS_DEV_MGMT, "DevMgt" },
		{ IB_MCLASS_COMM_MGMT, "ComMgt" },
		{ IB_MCLASS_SNMP, "SNMP" },
		{ IB_MCLASS_DEV_ADM, "DevAdm" },
		{ IB_MCLASS_BIS, "BIS" },
		{ IB_MCLASS_CC, "CongestionControl" },
	};

	for (size_t i = 0; i < COUNT(classes); i++)
		ck_assert_str_eq(class_name(classes[i].number),
				 classes[i].name);
}
END_TEST

START_TEST(class_words)
{
	static const struct {
		const char *word;
		uint8_t number;
	} words[] = {
		{ "subnlid", 0x01 }, { "smlid", 0x01 },
		{ "subndr", 0x81 }, { "smdr", 0x81 }, { "smp", 0x81 },
		{ "subnadm", 0x03 }, { "sa", 0x03 }, { "SA", 0x03 },
		{ "SubnAdm", 0x03 }, { "perf", 0x04 }, { "pm", 0x04 },
		{ "bm", 0x05 }, { "devmgt", 0x06 }, { "dm", 0x06 },
		{ "commgt", 0x07 }, { "cm", 0x07 }, { "snmp", 0x08 },
		{ "cc", 0x21 }, { "CC", 0x21 },
	};
	uint8_t class;

	for (size_t i = 0; i < COUNT(words); i++) {
		ck_assert(class_number(words[i].word, strlen(words[i].word),
				       &class));
		ck_assert_uint_eq(class, words[i].number);
	}
	/* a word need not end with a NUL: options are parsed in place */
	ck_assert(class_number("sa,attr:PathRecord", 2, &class));
	ck_assert_uint_eq(class, 0x03);
}
END_TEST

/* What the error message offers is what is taken, and every name is in it. */
START_TEST(accepted_list_is_true)
{
	const char *list = class_names_accepted();
	size_t n = 0;
	uint8_t class;

	while (*list) {
		size_t len = strcspn(list, ",");

		ck_assert_uint_gt(len, 0);
		ck_assert_msg(class_number(list, len, &class), "%s", list);
		n++;
		list += len;
		if (*list)
			list += 2;
	}
	ck_assert_uint_ge(n, 16);
	for (unsigned int i = 0; i < 256; i++) {
		const char *name = class_name((uint8_t)i);

		if (!name)
			continue;
		ck_assert(class_number(name, strlen(name), &class));
		ck_assert_uint_eq(class, i);
		ck_assert_ptr_nonnull(strcasestr(class_names_accepted(),
						 name));
	}
}
END_TEST

START_TEST(method_names)
{
	ck_assert_str_eq(method_name(0x03, IB_MAD_METHOD_GET), "Get");
	ck_assert_str_eq(method_name(0x81, IB_MAD_METHOD_SET), "Set");
	ck_assert_str_eq(method_name(0x07, IB_MAD_METHOD_SEND), "Send");
	ck_assert_str_eq(method_name(0x01, IB_MAD_METHOD_TRAP), "Trap");
	ck_assert_str_eq(method_name(0x03, IB_MAD_METHOD_REPORT), "Report");
	ck_assert_str_eq(method_name(0x01, IB_MAD_METHOD_TRAP_REPRESS),
			 "TrapRepress");
	ck_assert_str_eq(method_name(0x03, IB_MAD_METHOD_GETTABLE),
			 "GetTable");
	ck_assert_str_eq(method_name(0x03, IB_MAD_METHOD_GETTRACETABLE),
			 "GetTraceTable");
	ck_assert_str_eq(method_name(0x03, IB_MAD_METHOD_GETMULTI),
			 "GetMulti");
	ck_assert_str_eq(method_name(0x03, IB_MAD_METHOD_DELETE), "Delete");
	ck_assert_str_eq(method_name(0x03, IB_MAD_METHOD_GET_RESP),
			 "GetResp");
	ck_assert_str_eq(method_name(0x03, IB_MAD_METHOD_REPORT_RESP),
			 "ReportResp");
	ck_assert_str_eq(method_name(0x03, IB_MAD_METHOD_GETTABLE_RESP),
			 "GetTableResp");
	ck_assert_str_eq(method_name(0x03, IB_MAD_METHOD_GETMULTI_RESP),
			 "GetMultiResp");
	ck_assert_str_eq(method_name(0x03, 0x93), "GetTraceTableResp");
	ck_assert_str_eq(method_name(0x03, 0x95), "DeleteResp");
	/* IBA 15.2.2 gives these numbers a meaning in SA only */
	ck_assert_ptr_null(method_name(0x04, IB_MAD_METHOD_GETTABLE));
	ck_assert_ptr_null(method_name(0x01, IB_MAD_METHOD_DELETE));
}
END_TEST

START_TEST(attribute_names)
{
	static const struct {
		uint8_t class;
		ib_net16_t number;
		const char *name;
	} attributes[] = {
		{ 0x01, IB_MAD_ATTR_NODE_DESC, "NodeDescription" },
		{ 0x81, IB_MAD_ATTR_NODE_INFO, "NodeInfo" },
		{ 0x01, IB_MAD_ATTR_SWITCH_INFO, "SwitchInfo" },
		{ 0x81, IB_MAD_ATTR_GUID_INFO, "GUIDInfo" },
		{ 0x01, IB_MAD_ATTR_PORT_INFO, "PortInfo" },
		{ 0x81, IB_MAD_ATTR_P_KEY_TABLE, "P_KeyTable" },
		{ 0x01, IB_MAD_ATTR_SLVL_TABLE, "SLtoVLMappingTable" },
		{ 0x81, IB_MAD_ATTR_VL_ARBITRATION, "VLArbitrationTable" },
		{ 0x01, IB_MAD_ATTR_LIN_FWD_TBL, "LinearForwardingTable" },
		{ 0x81, IB_MAD_ATTR_RND_FWD_TBL, "RandomForwardingTable" },
		{ 0x01, IB_MAD_ATTR_MCAST_FWD_TBL,
		  "MulticastForwardingTable" },
		{ 0x81, IB_MAD_ATTR_SM_INFO, "SMInfo" },
		{ 0x01, IB_MAD_ATTR_VENDOR_DIAG, "VendorDiag" },
		{ 0x81, IB_MAD_ATTR_LED_INFO, "LedInfo" },
		{ 0x81, IB_MAD_ATTR_MLNX_EXTENDED_PORT_INFO,
		  "ExtendedPortInfo" },
		{ 0x01, IB_MAD_ATTR_NOTICE, "Notice" },
		{ 0x04, IB_MAD_ATTR_CLASS_PORT_INFO, "ClassPortInfo" },
		{ 0x04, IB_MAD_ATTR_PORT_SMPL_CTRL, "PortSamplesControl" },
		{ 0x04, IB_MAD_ATTR_PORT_SMPL_RSLT, "PortSamplesResult" },
		{ 0x04, IB_MAD_ATTR_PORT_CNTRS, "PortCounters" },
		{ 0x04, IB_MAD_ATTR_PORT_CNTRS_EXT, "PortCountersExtended" },
		{ 0x04, IB_MAD_ATTR_PORT_XMIT_DATA_SL, "PortXmitDataSL" },
		{ 0x04, IB_MAD_ATTR_PORT_RCV_DATA_SL, "PortRcvDataSL" },
		{ 0x06, IB_MAD_ATTR_IO_UNIT_INFO, "IOUnitInfo" },
		{ 0x06, IB_MAD_ATTR_IO_CONTROLLER_PROFILE,
		  "IOControllerProfile" },
		{ 0x06, IB_MAD_ATTR_SERVICE_ENTRIES, "ServiceEntries" },
		{ 0x06, IB_MAD_ATTR_DIAGNOSTIC_TIMEOUT, "DiagnosticTimeout" },
		{ 0x06, IB_MAD_ATTR_PREPARE_TO_TEST, "PrepareToTest" },
		{ 0x06, IB_MAD_ATTR_TEST_DEVICE_ONCE, "TestDeviceOnce" },
		{ 0x06, IB_MAD_ATTR_TEST_DEVICE_LOOP, "TestDeviceLoop" },
		{ 0x06, IB_MAD_ATTR_DIAG_CODE, "DiagCode" },
		{ 0x21, IB_MAD_ATTR_CONG_INFO, "CongestionInfo" },
		{ 0x21, IB_MAD_ATTR_CONG_KEY_INFO, "CongestionKeyInfo" },
		{ 0x21, IB_MAD_ATTR_CONG_LOG, "CongestionLog" },
		{ 0x21, IB_MAD_ATTR_SW_CONG_SETTING,
		  "SwitchCongestionSetting" },
		{ 0x21, IB_MAD_ATTR_SW_PORT_CONG_SETTING,
		  "SwitchPortCongestionSetting" },
		{ 0x21, IB_MAD_ATTR_CA_CONG_SETTING, "CACongestionSetting" },
		{ 0x21, IB_MAD_ATTR_CC_TBL, "CongestionControlTable" },
		{ 0x21, IB_MAD_ATTR_TIME_STAMP, "TimeStamp" },
		{ 0x03, IB_MAD_ATTR_CLASS_PORT_INFO, "ClassPortInfo" },
		{ 0x03, IB_MAD_ATTR_NOTICE, "Notice" },
		{ 0x03, IB_MAD_ATTR_INFORM_INFO, "InformInfo" },
		{ 0x03, IB_MAD_ATTR_PATH_RECORD, "PathRecord" },
		{ 0x03, IB_MAD_ATTR_TRACE_RECORD, "TraceRecord" },
		{ 0x03, IB_MAD_ATTR_SVC_ASSOCIATION_RECORD,
		  "ServiceAssociationRecord" },
	};

	for (size_t i = 0; i < COUNT(attributes); i++) {
		const char *name = attributes[i].name;
		uint16_t number = cl_ntoh16(attributes[i].number), found;

		ck_assert_str_eq(attribute_name(attributes[i].class, number),
				 name);
		ck_assert(attribute_number(attributes[i].class, name,
					   strlen(name), &found));
		ck_assert_uint_eq(found, number);
	}
}
END_TEST

/* Each name leads back to its number, in every class. */
START_TEST(names_and_numbers_agree)
{
	for (unsigned int c = 0; c < 256; c++) {
		for (unsigned int a = 0; a < 65536; a++) {
			const char *name = attribute_name((uint8_t)c,
							  (uint16_t)a);
			uint16_t found;

			if (!name)
				continue;
			ck_assert(attribute_number((uint8_t)c, name,
						   strlen(name), &found));
			ck_assert_uint_eq(found, a);
		}
	}
}
END_TEST

START_TEST(names_of_sa_attributes)
{
	uint16_t attr;

	ck_assert(attribute_number(0x03, "pathrecord", 10, &attr));
	ck_assert_uint_eq(attr, 0x0035);
	ck_assert(attribute_number(0x03, "PathRecord;class:smp", 10, &attr));
	ck_assert_uint_eq(attr, 0x0035);
	/* IBA's long names are taken as well */
	ck_assert(attribute_number(0x03, "LinearForwardingTableRecord", 27,
				   &attr));
	ck_assert_uint_eq(attr, 0x0015);
	ck_assert_str_eq(attribute_name(0x03, 0x0015), "LFTRecord");
	ck_assert(attribute_number(0x03, "MulticastForwardingTableRecord", 30,
				   &attr));
	ck_assert_uint_eq(attr, 0x0017);
	ck_assert_ptr_eq(attribute_name(0x03, 0x0038),
			 sa_attribute_find(0x0038)->name);
}
END_TEST

START_TEST(sm_states)
{
	ck_assert_str_eq(sm_state_name(IB_SMINFO_STATE_NOTACTIVE),
			 "notactive");
	ck_assert_str_eq(sm_state_name(IB_SMINFO_STATE_DISCOVERING),
			 "discovering");
	ck_assert_str_eq(sm_state_name(IB_SMINFO_STATE_STANDBY), "standby");
	ck_assert_str_eq(sm_state_name(IB_SMINFO_STATE_MASTER), "master");
}
END_TEST

START_TEST(sa_statuses)
{
	static const struct {
		ib_net16_t status;
		const char *name;
	} statuses[] = {
		{ IB_SA_MAD_STATUS_SUCCESS, "OK" },
		{ IB_SA_MAD_STATUS_NO_RESOURCES, "ERR_NO_RESOURCES" },
		{ IB_SA_MAD_STATUS_REQ_INVALID, "ERR_REQ_INVALID" },
		{ IB_SA_MAD_STATUS_NO_RECORDS, "ERR_NO_RECORDS" },
		{ IB_SA_MAD_STATUS_TOO_MANY_RECORDS, "ERR_TOO_MANY_RECORDS" },
		{ IB_SA_MAD_STATUS_INVALID_GID, "ERR_REQ_INVALID_GID" },
		{ IB_SA_MAD_STATUS_INSUF_COMPS,
		  "ERR_REQ_INSUFFICIENT_COMPONENTS" },
		{ IB_SA_MAD_STATUS_DENIED, "ERR_REQ_DENIED" },
		{ IB_SA_MAD_STATUS_PRIO_SUGGESTED,
		  "ERR_REQ_PRIORITY_SUGGESTED" },
		{ IB_MAD_STATUS_BUSY, "BUSY" },
		{ IB_MAD_STATUS_REDIRECT, "REDIRECT" },
		{ IB_MAD_STATUS_UNSUP_CLASS_VER, "ERR_BAD_VERSION" },
		{ IB_MAD_STATUS_UNSUP_METHOD, "ERR_METHOD_UNSUPPORTED" },
		{ IB_MAD_STATUS_UNSUP_METHOD_ATTR,
		  "ERR_METHOD_ATTR_UNSUPPORTED" },
		{ IB_MAD_STATUS_INVALID_FIELD, "ERR_INVALID_FIELD" },
	};

	for (size_t i = 0; i < COUNT(statuses); i++)
		ck_assert_str_eq(sa_status_name(cl_ntoh16(statuses[i].status)),
				 statuses[i].name);
	/* the class specific part is the answer; the common one is less */
	ck_assert_str_eq(sa_status_name(0x0301), "ERR_NO_RECORDS");
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("names");
	TCase *tcase = tcase_create("names");

	tcase_set_timeout(tcase, 120);
	tcase_add_test(tcase, no_name_for_unknown_numbers);
	tcase_add_test(tcase, no_number_for_unknown_names);
	tcase_add_test(tcase, every_number_is_safe);
	tcase_add_test(tcase, class_names);
	tcase_add_test(tcase, class_words);
	tcase_add_test(tcase, accepted_list_is_true);
	tcase_add_test(tcase, method_names);
	tcase_add_test(tcase, attribute_names);
	tcase_add_test(tcase, names_and_numbers_agree);
	tcase_add_test(tcase, names_of_sa_attributes);
	tcase_add_test(tcase, sm_states);
	tcase_add_test(tcase, sa_statuses);
	suite_add_tcase(suite, tcase);
	return run_suite(suite);
}
