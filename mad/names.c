/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Names and numbers. Sources: IBA 1.4 chapters 13.4 (common), 14 (SM), 15
 * (SA) and 16 (the other classes), annex A10 (congestion control); numbers
 * are checked against ib_types.h by tests/mad/test_names.c.
 */
#include <string.h>
#include <strings.h>

#include "field.h"
#include "layout.h"
#include "names.h"

enum {
	CLASS_PERF = 0x04,
	CLASS_DEV_MGT = 0x06,
	CLASS_COM_MGT = 0x07,
	CLASS_SNMP = 0x08,
};

struct name {
	uint16_t number;
	const char *name;
};

#define COUNT(table) (sizeof(table) / sizeof((table)[0]))

static const char *name_of(const struct name *table, size_t n, uint16_t number)
{
	for (size_t i = 0; i < n; i++)
		if (table[i].number == number)
			return table[i].name;
	return NULL;
}

static bool equal(const char *name, const char *text, size_t len)
{
	return strlen(name) == len && strncasecmp(name, text, len) == 0;
}

static bool number_of(const struct name *table, size_t n, const char *text,
		      size_t len, uint16_t *number)
{
	for (size_t i = 0; i < n; i++) {
		if (!equal(table[i].name, text, len))
			continue;
		*number = table[i].number;
		return true;
	}
	return false;
}

/* Vendor ranges (0x09-0x0f, 0x30-0x4f) have no names of IBA's. */
static const struct name classes[] = {
	{ CLASS_SUBN_LID, "SubnLID" },
	{ CLASS_SUBN_ADM, "SubnAdm" },
	{ CLASS_PERF, "Perf" },
	{ CLASS_BM, "BM" },
	{ CLASS_DEV_MGT, "DevMgt" },
	{ CLASS_COM_MGT, "ComMgt" },
	{ CLASS_SNMP, "SNMP" },
	{ 0x10, "DevAdm" },
	{ 0x11, "BootMgt" },
	{ 0x12, "BIS" },
	{ CLASS_CC, "CongestionControl" },
	{ CLASS_SUBN_DIR, "SubnDR" },
};

/*
 * What class_number() takes beside the names above in any case: the words
 * that people type. Each name above is in the list too, so that the list is
 * all there is to tell in an error message.
 */
#define CLASS_WORDS(X) \
	X("subnlid", CLASS_SUBN_LID) \
	X("smlid", CLASS_SUBN_LID) \
	X("subndr", CLASS_SUBN_DIR) \
	X("smdr", CLASS_SUBN_DIR) \
	X("smp", CLASS_SUBN_DIR) \
	X("subnadm", CLASS_SUBN_ADM) \
	X("sa", CLASS_SUBN_ADM) \
	X("perf", CLASS_PERF) \
	X("pm", CLASS_PERF) \
	X("bm", CLASS_BM) \
	X("devmgt", CLASS_DEV_MGT) \
	X("dm", CLASS_DEV_MGT) \
	X("commgt", CLASS_COM_MGT) \
	X("cm", CLASS_COM_MGT) \
	X("snmp", CLASS_SNMP) \
	X("devadm", 0x10) \
	X("bootmgt", 0x11) \
	X("bis", 0x12) \
	X("congestioncontrol", CLASS_CC) \
	X("cc", CLASS_CC)

#define CLASS_ENTRY(word, number) { number, word },
#define CLASS_LISTED(word, number) ", " word

static const struct name class_words[] = { CLASS_WORDS(CLASS_ENTRY) };
static const char class_list[] = CLASS_WORDS(CLASS_LISTED);

static const struct name methods[] = {
	{ METHOD_GET, "Get" },
	{ METHOD_SET, "Set" },
	{ METHOD_SEND, "Send" },
	{ METHOD_TRAP, "Trap" },
	{ METHOD_REPORT, "Report" },
	{ METHOD_TRAP_REPRESS, "TrapRepress" },
	{ METHOD_GET | METHOD_RESPONSE, "GetResp" },	/* of Set too */
	{ METHOD_REPORT | METHOD_RESPONSE, "ReportResp" },
};

/* IBA 15.2.2; in other classes these numbers are reserved. */
static const struct name sa_methods[] = {
	{ METHOD_GET_TABLE, "GetTable" },
	{ METHOD_GET_TRACE_TABLE, "GetTraceTable" },
	{ METHOD_GET_MULTI, "GetMulti" },
	{ METHOD_DELETE, "Delete" },
	{ METHOD_GET_TABLE | METHOD_RESPONSE, "GetTableResp" },
	{ METHOD_GET_TRACE_TABLE | METHOD_RESPONSE, "GetTraceTableResp" },
	{ METHOD_GET_MULTI | METHOD_RESPONSE, "GetMultiResp" },
	{ METHOD_DELETE | METHOD_RESPONSE, "DeleteResp" },
};

static const struct name common_attributes[] = {
	{ ATTR_CLASS_PORT_INFO, "ClassPortInfo" },
	{ ATTR_NOTICE, "Notice" },
	{ ATTR_INFORM_INFO, "InformInfo" },
};

static const struct name sm_attributes[] = {
	{ 0x0010, "NodeDescription" },
	{ 0x0011, "NodeInfo" },
	{ 0x0012, "SwitchInfo" },
	{ 0x0014, "GUIDInfo" },
	{ 0x0015, "PortInfo" },
	{ 0x0016, "P_KeyTable" },
	{ 0x0017, "SLtoVLMappingTable" },
	{ 0x0018, "VLArbitrationTable" },
	{ 0x0019, "LinearForwardingTable" },
	{ 0x001a, "RandomForwardingTable" },
	{ 0x001b, "MulticastForwardingTable" },
	{ 0x001c, "LinkSpeedWidthPairsTable" },
	{ 0x001d, "VendorSpecificMadsTable" },
	{ 0x001e, "HierarchyInfo" },
	{ 0x0020, "SMInfo" },
	{ 0x0030, "VendorDiag" },
	{ 0x0031, "LedInfo" },
	{ 0x0032, "CableInfo" },
	{ 0x0033, "PortInfoExtended" },
	{ 0xff90, "ExtendedPortInfo" },		/* Mellanox */
};

static const struct name perf_attributes[] = {
	{ 0x0010, "PortSamplesControl" },
	{ 0x0011, "PortSamplesResult" },
	{ 0x0012, "PortCounters" },
	{ 0x0015, "PortRcvErrorDetails" },
	{ 0x0016, "PortXmitDiscardDetails" },
	{ 0x0017, "PortOpRcvCounters" },
	{ 0x0018, "PortFlowCtlCounters" },
	{ 0x0019, "PortVLOpPackets" },
	{ 0x001a, "PortVLOpData" },
	{ 0x001b, "PortVLXmitFlowCtlUpdateErrors" },
	{ 0x001c, "PortVLXmitWaitCounters" },
	{ 0x001d, "PortCountersExtended" },
	{ 0x001e, "PortSamplesResultExtended" },
	{ 0x001f, "PortExtendedSpeedsCounters" },
	{ 0x0030, "SwPortVLCongestion" },
	{ 0x0031, "PortRcvConCtrl" },
	{ 0x0032, "PortSLRcvFECN" },
	{ 0x0033, "PortSLRcvBECN" },
	{ 0x0034, "PortXmitConCtrl" },
	{ 0x0035, "PortVLXmitTimeCong" },
	{ 0x0036, "PortXmitDataSL" },
	{ 0x0037, "PortRcvDataSL" },
};

static const struct name bm_attributes[] = {
	{ 0x0010, "B_KeyInfo" },
	{ 0x0020, "WriteVPD" },
	{ 0x0021, "ReadVPD" },
	{ 0x0022, "ResetIBML" },
	{ 0x0023, "SetModulePMControl" },
	{ 0x0024, "GetModulePMControl" },
	{ 0x0025, "SetUnitPMControl" },
	{ 0x0026, "GetUnitPMControl" },
	{ 0x0027, "SetIOCPMControl" },
	{ 0x0028, "GetIOCPMControl" },
	{ 0x0029, "SetModuleState" },
	{ 0x002a, "SetModuleAttention" },
	{ 0x002b, "GetModuleStatus" },
	{ 0x002c, "IB2IBML" },
	{ 0x002d, "IB2CME" },
	{ 0x002e, "IB2MME" },
	{ 0x002f, "OEM" },
};

static const struct name dev_mgt_attributes[] = {
	{ 0x0010, "IOUnitInfo" },
	{ 0x0011, "IOControllerProfile" },
	{ 0x0012, "ServiceEntries" },
	{ 0x0020, "DiagnosticTimeout" },
	{ 0x0021, "PrepareToTest" },
	{ 0x0022, "TestDeviceOnce" },
	{ 0x0023, "TestDeviceLoop" },
	{ 0x0024, "DiagCode" },
};

static const struct name com_mgt_attributes[] = {
	{ 0x0010, "ConnectRequest" },
	{ 0x0011, "MsgRcptAck" },
	{ 0x0012, "ConnectReject" },
	{ 0x0013, "ConnectReply" },
	{ 0x0014, "ReadyToUse" },
	{ 0x0015, "DisconnectRequest" },
	{ 0x0016, "DisconnectReply" },
	{ 0x0017, "ServiceIDResReq" },
	{ 0x0018, "ServiceIDResReqResp" },
	{ 0x0019, "LoadAlternatePath" },
	{ 0x001a, "AlternatePathResponse" },
	{ 0x001b, "SuggestAlternatePath" },
	{ 0x001c, "SuggestAlternatePathResponse" },
};

static const struct name snmp_attributes[] = {
	{ 0x0010, "CommunityInfo" },
	{ 0x0011, "PduInfo" },
};

static const struct name cc_attributes[] = {
	{ 0x0011, "CongestionInfo" },
	{ 0x0012, "CongestionKeyInfo" },
	{ 0x0013, "CongestionLog" },
	{ 0x0014, "SwitchCongestionSetting" },
	{ 0x0015, "SwitchPortCongestionSetting" },
	{ 0x0016, "CACongestionSetting" },
	{ 0x0017, "CongestionControlTable" },
	{ 0x0018, "TimeStamp" },
};

/* IBA's long names of two attributes that attributes.c names as OpenSM does */
static const struct name sa_long_names[] = {
	{ 0x0015, "LinearForwardingTableRecord" },
	{ 0x0017, "MulticastForwardingTableRecord" },
};

/* SA is missing here: its names stand in attributes.c. */
static const struct {
	uint8_t mgmt_class;
	const struct name *names;
	size_t n;
} attributes[] = {
	{ CLASS_SUBN_LID, sm_attributes, COUNT(sm_attributes) },
	{ CLASS_SUBN_DIR, sm_attributes, COUNT(sm_attributes) },
	{ CLASS_PERF, perf_attributes, COUNT(perf_attributes) },
	{ CLASS_BM, bm_attributes, COUNT(bm_attributes) },
	{ CLASS_DEV_MGT, dev_mgt_attributes, COUNT(dev_mgt_attributes) },
	{ CLASS_COM_MGT, com_mgt_attributes, COUNT(com_mgt_attributes) },
	{ CLASS_SNMP, snmp_attributes, COUNT(snmp_attributes) },
	{ CLASS_CC, cc_attributes, COUNT(cc_attributes) },
};

static const struct name sm_states[] = {
	{ 0, "notactive" },
	{ 1, "discovering" },
	{ 2, "standby" },
	{ 3, "master" },
};

/* The class specific part of an SA status, bits 15..8. */
static const struct name sa_statuses[] = {
	{ 1, "ERR_NO_RESOURCES" },
	{ 2, "ERR_REQ_INVALID" },
	{ 3, "ERR_NO_RECORDS" },
	{ 4, "ERR_TOO_MANY_RECORDS" },
	{ 5, "ERR_REQ_INVALID_GID" },
	{ 6, "ERR_REQ_INSUFFICIENT_COMPONENTS" },
	{ 7, "ERR_REQ_DENIED" },
	{ 8, "ERR_REQ_PRIORITY_SUGGESTED" },
};

/* The common part: busy, redirect and, in bits 4..2, a code. */
static const struct name common_statuses[] = {
	{ 0x0000, "OK" },
	{ 0x0001, "BUSY" },
	{ 0x0002, "REDIRECT" },
	{ 0x0004, "ERR_BAD_VERSION" },
	{ 0x0008, "ERR_METHOD_UNSUPPORTED" },
	{ 0x000c, "ERR_METHOD_ATTR_UNSUPPORTED" },
	{ 0x001c, "ERR_INVALID_FIELD" },
};

const char *class_name(uint8_t mgmt_class)
{
	return name_of(classes, COUNT(classes), mgmt_class);
}

const char *method_name(uint8_t mgmt_class, uint8_t method)
{
	const char *name = name_of(methods, COUNT(methods), method);

	if (name || mgmt_class != CLASS_SUBN_ADM)
		return name;
	return name_of(sa_methods, COUNT(sa_methods), method);
}

const char *attribute_name(uint8_t mgmt_class, uint16_t attr_id)
{
	const struct sa_attribute *attr;

	if (mgmt_class == CLASS_SUBN_ADM) {
		attr = sa_attribute_find(attr_id);
		return attr ? attr->name : NULL;
	}
	for (size_t i = 0; i < COUNT(attributes); i++) {
		const char *name;

		if (attributes[i].mgmt_class != mgmt_class)
			continue;
		name = name_of(attributes[i].names, attributes[i].n, attr_id);
		if (name)
			return name;
	}
	return name_of(common_attributes, COUNT(common_attributes), attr_id);
}

const char *sm_state_name(uint8_t state)
{
	return name_of(sm_states, COUNT(sm_states), state);
}

const char *sa_status_name(uint16_t status)
{
	if (status >> 8)
		return name_of(sa_statuses, COUNT(sa_statuses), status >> 8);
	return name_of(common_statuses, COUNT(common_statuses), status);
}

static const char *find_name(const struct name *table, size_t n,
			     const char *text, size_t len)
{
	for (size_t i = 0; i < n; i++)
		if (equal(table[i].name, text, len))
			return table[i].name;
	return NULL;
}

const char *sa_status_find(const char *name, size_t len)
{
	const char *found = find_name(sa_statuses, COUNT(sa_statuses), name,
				      len);

	return found ? found : find_name(common_statuses,
					 COUNT(common_statuses), name, len);
}

bool method_number(const char *name, size_t len, uint8_t *method)
{
	uint16_t number;

	if (!number_of(methods, COUNT(methods), name, len, &number) &&
	    !number_of(sa_methods, COUNT(sa_methods), name, len, &number))
		return false;
	*method = (uint8_t)number;
	return true;
}

bool class_number(const char *name, size_t len, uint8_t *mgmt_class)
{
	uint16_t number;

	if (!number_of(class_words, COUNT(class_words), name, len, &number))
		return false;
	*mgmt_class = (uint8_t)number;
	return true;
}

static bool sa_attribute_number(const char *name, size_t len,
				uint16_t *attr_id)
{
	for (size_t i = 0; i < sa_attributes_count; i++) {
		if (!equal(sa_attributes[i].name, name, len))
			continue;
		*attr_id = sa_attributes[i].id;
		return true;
	}
	return number_of(sa_long_names, COUNT(sa_long_names), name, len,
			 attr_id);
}

bool attribute_number(uint8_t mgmt_class, const char *name, size_t len,
		      uint16_t *attr_id)
{
	if (mgmt_class == CLASS_SUBN_ADM)
		return sa_attribute_number(name, len, attr_id);

	for (size_t i = 0; i < COUNT(attributes); i++)
		if (attributes[i].mgmt_class == mgmt_class &&
		    number_of(attributes[i].names, attributes[i].n, name, len,
			      attr_id))
			return true;
	return number_of(common_attributes, COUNT(common_attributes), name,
			 len, attr_id);
}

const char *class_names_accepted(void)
{
	return class_list + 2;	/* without the first ", " */
}

/* The tables are ours: all of them have room. */
static void list_add(char *list, const char *name)
{
	if (*list)
		strcat(list, ", ");
	strcat(list, name);
}

static void list_names(char *list, const struct name *table, size_t n)
{
	for (size_t i = 0; i < n; i++)
		list_add(list, table[i].name);
}

void method_names_accepted(char list[NAMES_LIST_MAX])
{
	*list = '\0';
	list_names(list, methods, COUNT(methods));
	list_names(list, sa_methods, COUNT(sa_methods));
}

void sa_status_names_accepted(char list[NAMES_LIST_MAX])
{
	*list = '\0';
	list_names(list, common_statuses, COUNT(common_statuses));
	list_names(list, sa_statuses, COUNT(sa_statuses));
}

void attribute_names_accepted(uint8_t mgmt_class, char list[NAMES_LIST_MAX])
{
	*list = '\0';
	if (mgmt_class == CLASS_SUBN_ADM) {
		for (size_t i = 0; i < sa_attributes_count; i++)
			list_add(list, sa_attributes[i].name);
		return;
	}
	list_names(list, common_attributes, COUNT(common_attributes));
	for (size_t i = 0; i < COUNT(attributes); i++)
		if (attributes[i].mgmt_class == mgmt_class)
			list_names(list, attributes[i].names, attributes[i].n);
}
