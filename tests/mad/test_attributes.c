/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Components of SA attributes: bits against the *_COMPMASK_* constants,
 * offsets against the structures and values against the accessors of
 * ib_types.h, and what is written of a record, whole, cut or random.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <check.h>
#include <iba/ib_types.h>

#include "attributes.h"
#include "field.h"
#include "json.h"
#include "json_read.h"
#include "../run.h"

#define COUNT(table) (sizeof(table) / sizeof((table)[0]))
#define NO_BIT UINT64_C(0)
#define BIT(n) CL_HTON64(UINT64_C(1) << (n))

enum { JSON_SIZE = 32768 };

/* A component as ib_types.h has it; `bit` in network order as there. */
struct expected {
	uint64_t bit;
	const char *name;
	size_t byte;		/* of the structure's member */
	unsigned int sub;	/* bits from its most significant one */
	unsigned int width;
};

struct layout {
	uint16_t id;		/* network order */
	const char *name;
	size_t size;
	const struct expected *fields;
	size_t n_fields;
	uint64_t reserved;	/* bits with a constant but no field */
};

#define OFF(type, member) offsetof(type, member)

#define PR(member) OFF(ib_path_rec_t, member)
static const struct expected path_record[] = {
	{ IB_PR_COMPMASK_SERVICEID_MSB, "service_id", PR(service_id), 0, 64 },
	{ IB_PR_COMPMASK_SERVICEID_LSB, "service_id", PR(service_id), 0, 64 },
	{ IB_PR_COMPMASK_DGID, "dgid", PR(dgid), 0, 128 },
	{ IB_PR_COMPMASK_SGID, "sgid", PR(sgid), 0, 128 },
	{ IB_PR_COMPMASK_DLID, "dlid", PR(dlid), 0, 16 },
	{ IB_PR_COMPMASK_SLID, "slid", PR(slid), 0, 16 },
	{ IB_PR_COMPMASK_RAWTRAFFIC, "raw_traffic", PR(hop_flow_raw), 0, 1 },
	{ IB_PR_COMPMASK_FLOWLABEL, "flow_label", PR(hop_flow_raw), 4, 20 },
	{ IB_PR_COMPMASK_HOPLIMIT, "hop_limit", PR(hop_flow_raw), 24, 8 },
	{ IB_PR_COMPMASK_TCLASS, "tclass", PR(tclass), 0, 8 },
	{ IB_PR_COMPMASK_REVERSIBLE, "reversible", PR(num_path), 0, 1 },
	{ IB_PR_COMPMASK_NUMBPATH, "num_path", PR(num_path), 1, 7 },
	{ IB_PR_COMPMASK_PKEY, "p_key", PR(pkey), 0, 16 },
	{ IB_PR_COMPMASK_QOS_CLASS, "qos_class", PR(qos_class_sl), 0, 12 },
	{ IB_PR_COMPMASK_SL, "sl", PR(qos_class_sl), 12, 4 },
	{ IB_PR_COMPMASK_MTUSELEC, "mtu_selector", PR(mtu), 0, 2 },
	{ IB_PR_COMPMASK_MTU, "mtu", PR(mtu), 2, 6 },
	{ IB_PR_COMPMASK_RATESELEC, "rate_selector", PR(rate), 0, 2 },
	{ IB_PR_COMPMASK_RATE, "rate", PR(rate), 2, 6 },
	{ IB_PR_COMPMASK_PKTLIFETIMESELEC, "packet_life_time_selector",
	  PR(pkt_life), 0, 2 },
	{ IB_PR_COMPMASK_PKTLIFETIME, "packet_life_time", PR(pkt_life), 2, 6 },
	{ BIT(22), "preference", PR(preference), 0, 8 },
};

#define MPR(member) OFF(ib_multipath_rec_t, member)
static const struct expected multipath_record[] = {
	{ IB_MPR_COMPMASK_RAWTRAFFIC, "raw_traffic", MPR(hop_flow_raw), 0, 1 },
	{ IB_MPR_COMPMASK_FLOWLABEL, "flow_label", MPR(hop_flow_raw), 4, 20 },
	{ IB_MPR_COMPMASK_HOPLIMIT, "hop_limit", MPR(hop_flow_raw), 24, 8 },
	{ IB_MPR_COMPMASK_TCLASS, "tclass", MPR(tclass), 0, 8 },
	{ IB_MPR_COMPMASK_REVERSIBLE, "reversible", MPR(num_path), 0, 1 },
	{ IB_MPR_COMPMASK_NUMBPATH, "num_path", MPR(num_path), 1, 7 },
	{ IB_MPR_COMPMASK_PKEY, "p_key", MPR(pkey), 0, 16 },
	{ IB_MPR_COMPMASK_QOS_CLASS, "qos_class", MPR(qos_class_sl), 0, 12 },
	{ IB_MPR_COMPMASK_SL, "sl", MPR(qos_class_sl), 12, 4 },
	{ IB_MPR_COMPMASK_MTUSELEC, "mtu_selector", MPR(mtu), 0, 2 },
	{ IB_MPR_COMPMASK_MTU, "mtu", MPR(mtu), 2, 6 },
	{ IB_MPR_COMPMASK_RATESELEC, "rate_selector", MPR(rate), 0, 2 },
	{ IB_MPR_COMPMASK_RATE, "rate", MPR(rate), 2, 6 },
	{ IB_MPR_COMPMASK_PKTLIFETIMESELEC, "packet_life_time_selector",
	  MPR(pkt_life), 0, 2 },
	{ IB_MPR_COMPMASK_PKTLIFETIME, "packet_life_time", MPR(pkt_life),
	  2, 6 },
	{ IB_MPR_COMPMASK_SERVICEID_MSB, "service_id_8msb",
	  MPR(service_id_8msb), 0, 8 },
	{ IB_MPR_COMPMASK_INDEPSELEC, "independence_selector",
	  MPR(independence), 0, 2 },
	{ IB_MPR_COMPMASK_SGIDCOUNT, "sgid_count", MPR(sgid_count), 0, 8 },
	{ IB_MPR_COMPMASK_SGIDCOUNT, "sgids", MPR(sgid_count), 0, 8 },
	{ IB_MPR_COMPMASK_DGIDCOUNT, "dgid_count", MPR(dgid_count), 0, 8 },
	{ IB_MPR_COMPMASK_DGIDCOUNT, "dgids", MPR(dgid_count), 0, 8 },
	{ IB_MPR_COMPMASK_SERVICEID_LSB, "service_id_56lsb",
	  MPR(service_id_56lsb), 0, 56 },
};

#define MCR(member) OFF(ib_member_rec_t, member)
static const struct expected mcmember_record[] = {
	{ IB_MCR_COMPMASK_MGID, "mgid", MCR(mgid), 0, 128 },
	{ IB_MCR_COMPMASK_PORT_GID, "port_gid", MCR(port_gid), 0, 128 },
	{ IB_MCR_COMPMASK_QKEY, "q_key", MCR(qkey), 0, 32 },
	{ IB_MCR_COMPMASK_MLID, "mlid", MCR(mlid), 0, 16 },
	{ IB_MCR_COMPMASK_MTU_SEL, "mtu_selector", MCR(mtu), 0, 2 },
	{ IB_MCR_COMPMASK_MTU, "mtu", MCR(mtu), 2, 6 },
	{ IB_MCR_COMPMASK_TCLASS, "tclass", MCR(tclass), 0, 8 },
	{ IB_MCR_COMPMASK_PKEY, "p_key", MCR(pkey), 0, 16 },
	{ IB_MCR_COMPMASK_RATE_SEL, "rate_selector", MCR(rate), 0, 2 },
	{ IB_MCR_COMPMASK_RATE, "rate", MCR(rate), 2, 6 },
	{ IB_MCR_COMPMASK_LIFE_SEL, "packet_life_time_selector",
	  MCR(pkt_life), 0, 2 },
	{ IB_MCR_COMPMASK_LIFE, "packet_life_time", MCR(pkt_life), 2, 6 },
	{ IB_MCR_COMPMASK_SL, "sl", MCR(sl_flow_hop), 0, 4 },
	{ IB_MCR_COMPMASK_FLOW, "flow_label", MCR(sl_flow_hop), 4, 20 },
	{ IB_MCR_COMPMASK_HOP, "hop_limit", MCR(sl_flow_hop), 24, 8 },
	{ IB_MCR_COMPMASK_SCOPE, "scope", MCR(scope_state), 0, 4 },
	{ IB_MCR_COMPMASK_JOIN_STATE, "join_state", MCR(scope_state), 4, 4 },
	/* a bit field in ib_types.h, which has no offset: the next byte */
	{ IB_MCR_COMPMASK_PROXY, "proxy_join", MCR(scope_state) + 1, 0, 1 },
};

#define SR(member) OFF(ib_service_record_t, member)
#define D8(n, i) { IB_SR_COMPMASK_SDATA8_##i, "service_data8_" n, \
	SR(service_data8) + (i), 0, 8 }
#define D16(n, i) { IB_SR_COMPMASK_SDATA16_##i, "service_data16_" n, \
	SR(service_data16) + 2 * (i), 0, 16 }
#define D32(n, i) { IB_SR_COMPMASK_SDATA32_##i, "service_data32_" n, \
	SR(service_data32) + 4 * (i), 0, 32 }
#define D64(n, i) { IB_SR_COMPMASK_SDATA64_##i, "service_data64_" n, \
	SR(service_data64) + 8 * (i), 0, 64 }
static const struct expected service_record[] = {
	{ IB_SR_COMPMASK_SID, "service_id", SR(service_id), 0, 64 },
	{ IB_SR_COMPMASK_SGID, "service_gid", SR(service_gid), 0, 128 },
	{ IB_SR_COMPMASK_SPKEY, "service_p_key", SR(service_pkey), 0, 16 },
	{ IB_SR_COMPMASK_SLEASE, "service_lease", SR(service_lease), 0, 32 },
	{ IB_SR_COMPMASK_SKEY, "service_key", SR(service_key), 0, 128 },
	{ IB_SR_COMPMASK_SNAME, "service_name", SR(service_name), 0, 512 },
	D8("1", 0), D8("2", 1), D8("3", 2), D8("4", 3), D8("5", 4),
	D8("6", 5), D8("7", 6), D8("8", 7), D8("9", 8), D8("10", 9),
	D8("11", 10), D8("12", 11), D8("13", 12), D8("14", 13),
	D8("15", 14), D8("16", 15),
	D16("1", 0), D16("2", 1), D16("3", 2), D16("4", 3), D16("5", 4),
	D16("6", 5), D16("7", 6), D16("8", 7),
	D32("1", 0), D32("2", 1), D32("3", 2), D32("4", 3),
	D64("1", 0), D64("2", 1),
};

#define IIR(member) OFF(ib_inform_info_record_t, member)
#define IIRG(member) IIR(inform_info.g_or_v.generic.member)
static const struct expected inform_info_record[] = {
	{ IB_IIR_COMPMASK_SUBSCRIBERGID, "subscriber_gid",
	  IIR(subscriber_gid), 0, 128 },
	{ IB_IIR_COMPMASK_ENUM, "enum", IIR(subscriber_enum), 0, 16 },
	{ IB_IIR_COMPMASK_GID, "gid", IIR(inform_info.gid), 0, 128 },
	{ IB_IIR_COMPMASK_LIDRANGEBEGIN, "lid_range_begin",
	  IIR(inform_info.lid_range_begin), 0, 16 },
	{ IB_IIR_COMPMASK_LIDRANGEEND, "lid_range_end",
	  IIR(inform_info.lid_range_end), 0, 16 },
	{ IB_IIR_COMPMASK_ISGENERIC, "is_generic",
	  IIR(inform_info.is_generic), 0, 8 },
	{ IB_IIR_COMPMASK_SUBSCRIBE, "subscribe",
	  IIR(inform_info.subscribe), 0, 8 },
	{ IB_IIR_COMPMASK_TYPE, "type", IIR(inform_info.trap_type), 0, 16 },
	{ IB_IIR_COMPMASK_TRAPNUMB | IB_IIR_COMPMASK_DEVICEID, "trap_number",
	  IIRG(trap_num), 0, 16 },
	{ IB_IIR_COMPMASK_QPN, "qpn", IIRG(qpn_resp_time_val), 0, 24 },
	{ IB_IIR_COMPMASK_RESPTIME, "resp_time_value",
	  IIRG(qpn_resp_time_val), 27, 5 },
	{ IB_IIR_COMPMASK_PRODTYPE | IB_IIR_COMPMASK_VENDID, "producer_type",
	  IIRG(node_type_msb), 0, 24 },
};

/* The same without the 3 components before it: ib_types.h has no masks. */
#define II(member) OFF(ib_inform_info_t, member)
#define IIG(member) II(g_or_v.generic.member)
static const struct expected inform_info[] = {
	{ BIT(0), "gid", II(gid), 0, 128 },
	{ BIT(1), "lid_range_begin", II(lid_range_begin), 0, 16 },
	{ BIT(2), "lid_range_end", II(lid_range_end), 0, 16 },
	{ BIT(4), "is_generic", II(is_generic), 0, 8 },
	{ BIT(5), "subscribe", II(subscribe), 0, 8 },
	{ BIT(6), "type", II(trap_type), 0, 16 },
	{ BIT(7), "trap_number", IIG(trap_num), 0, 16 },
	{ BIT(8), "qpn", IIG(qpn_resp_time_val), 0, 24 },
	{ BIT(10), "resp_time_value", IIG(qpn_resp_time_val), 27, 5 },
	{ BIT(12), "producer_type", IIG(node_type_msb), 0, 24 },
};

#define NR(member) OFF(ib_node_record_t, member)
#define NI(member) NR(node_info.member)
static const struct expected node_record[] = {
	{ IB_NR_COMPMASK_LID, "lid", NR(lid), 0, 16 },
	{ IB_NR_COMPMASK_BASEVERSION, "base_version", NI(base_version), 0, 8 },
	{ IB_NR_COMPMASK_CLASSVERSION, "class_version", NI(class_version),
	  0, 8 },
	{ IB_NR_COMPMASK_NODETYPE, "node_type", NI(node_type), 0, 8 },
	{ IB_NR_COMPMASK_NUMPORTS, "num_ports", NI(num_ports), 0, 8 },
	{ IB_NR_COMPMASK_SYSIMAGEGUID, "system_image_guid", NI(sys_guid),
	  0, 64 },
	{ IB_NR_COMPMASK_NODEGUID, "node_guid", NI(node_guid), 0, 64 },
	{ IB_NR_COMPMASK_PORTGUID, "port_guid", NI(port_guid), 0, 64 },
	{ IB_NR_COMPMASK_PARTCAP, "partition_cap", NI(partition_cap), 0, 16 },
	{ IB_NR_COMPMASK_DEVID, "device_id", NI(device_id), 0, 16 },
	{ IB_NR_COMPMASK_REV, "revision", NI(revision), 0, 32 },
	{ IB_NR_COMPMASK_PORTNUM, "local_port_num", NI(port_num_vendor_id),
	  0, 8 },
	{ IB_NR_COMPMASK_VENDID, "vendor_id", NI(port_num_vendor_id), 8, 24 },
	{ IB_NR_COMPMASK_NODEDESC, "node_description", NR(node_desc), 0, 512 },
};

#define PIR(member) OFF(ib_portinfo_record_t, member)
#define PI(member) PIR(port_info.member)
static const struct expected port_info_record[] = {
	{ IB_PIR_COMPMASK_LID, "end_port_lid", PIR(lid), 0, 16 },
	{ IB_PIR_COMPMASK_PORTNUM, "port_num", PIR(port_num), 0, 8 },
	{ IB_PIR_COMPMASK_OPTIONS, "options", PIR(options), 0, 8 },
	{ IB_PIR_COMPMASK_MKEY, "m_key", PI(m_key), 0, 64 },
	{ IB_PIR_COMPMASK_GIDPRE, "gid_prefix", PI(subnet_prefix), 0, 64 },
	{ IB_PIR_COMPMASK_BASELID, "lid", PI(base_lid), 0, 16 },
	{ IB_PIR_COMPMASK_SMLID, "master_sm_lid", PI(master_sm_base_lid),
	  0, 16 },
	{ IB_PIR_COMPMASK_CAPMASK, "capability_mask", PI(capability_mask),
	  0, 32 },
	{ IB_PIR_COMPMASK_DIAGCODE, "diag_code", PI(diag_code), 0, 16 },
	{ IB_PIR_COMPMASK_MKEYLEASEPRD, "m_key_lease_period",
	  PI(m_key_lease_period), 0, 16 },
	{ IB_PIR_COMPMASK_LOCALPORTNUM, "local_port_num", PI(local_port_num),
	  0, 8 },
	{ IB_PIR_COMPMASK_LINKWIDTHENABLED, "link_width_enabled",
	  PI(link_width_enabled), 0, 8 },
	{ IB_PIR_COMPMASK_LNKWIDTHSUPPORT, "link_width_supported",
	  PI(link_width_supported), 0, 8 },
	{ IB_PIR_COMPMASK_LNKWIDTHACTIVE, "link_width_active",
	  PI(link_width_active), 0, 8 },
	{ IB_PIR_COMPMASK_LNKSPEEDSUPPORT, "link_speed_supported",
	  PI(state_info1), 0, 4 },
	{ IB_PIR_COMPMASK_PORTSTATE, "port_state", PI(state_info1), 4, 4 },
	{ IB_PIR_COMPMASK_PORTPHYSTATE, "port_physical_state",
	  PI(state_info2), 0, 4 },
	{ IB_PIR_COMPMASK_LINKDWNDFLTSTATE, "link_down_default_state",
	  PI(state_info2), 4, 4 },
	{ IB_PIR_COMPMASK_MKEYPROTBITS, "m_key_protect_bits", PI(mkey_lmc),
	  0, 2 },
	{ IB_PIR_COMPMASK_LMC, "lmc", PI(mkey_lmc), 5, 3 },
	{ IB_PIR_COMPMASK_LINKSPEEDACTIVE, "link_speed_active",
	  PI(link_speed), 0, 4 },
	{ IB_PIR_COMPMASK_LINKSPEEDENABLE, "link_speed_enabled",
	  PI(link_speed), 4, 4 },
	{ IB_PIR_COMPMASK_NEIGHBORMTU, "neighbor_mtu", PI(mtu_smsl), 0, 4 },
	{ IB_PIR_COMPMASK_MASTERSMSL, "master_sm_sl", PI(mtu_smsl), 4, 4 },
	{ IB_PIR_COMPMASK_VLCAP, "vl_cap", PI(vl_cap), 0, 4 },
	{ IB_PIR_COMPMASK_INITTYPE, "init_type", PI(vl_cap), 4, 4 },
	{ IB_PIR_COMPMASK_VLHIGHLIMIT, "vl_high_limit", PI(vl_high_limit),
	  0, 8 },
	{ IB_PIR_COMPMASK_VLARBHIGHCAP, "vl_arbitration_high_cap",
	  PI(vl_arb_high_cap), 0, 8 },
	{ IB_PIR_COMPMASK_VLARBLOWCAP, "vl_arbitration_low_cap",
	  PI(vl_arb_low_cap), 0, 8 },
	{ IB_PIR_COMPMASK_INITTYPEREPLY, "init_type_reply", PI(mtu_cap),
	  0, 4 },
	{ IB_PIR_COMPMASK_MTUCAP, "mtu_cap", PI(mtu_cap), 4, 4 },
	{ IB_PIR_COMPMASK_VLSTALLCNT, "vl_stall_count", PI(vl_stall_life),
	  0, 3 },
	{ IB_PIR_COMPMASK_HOQLIFE, "hoq_life", PI(vl_stall_life), 3, 5 },
	{ IB_PIR_COMPMASK_OPVLS, "operational_vls", PI(vl_enforce), 0, 4 },
	{ IB_PIR_COMPMASK_PARENFIN, "partition_enforcement_inbound",
	  PI(vl_enforce), 4, 1 },
	{ IB_PIR_COMPMASK_PARENFOUT, "partition_enforcement_outbound",
	  PI(vl_enforce), 5, 1 },
	{ IB_PIR_COMPMASK_FILTERRAWIN, "filter_raw_inbound", PI(vl_enforce),
	  6, 1 },
	{ IB_PIR_COMPMASK_FILTERRAWOUT, "filter_raw_outbound",
	  PI(vl_enforce), 7, 1 },
	{ IB_PIR_COMPMASK_MKEYVIO, "m_key_violations", PI(m_key_violations),
	  0, 16 },
	{ IB_PIR_COMPMASK_PKEYVIO, "p_key_violations", PI(p_key_violations),
	  0, 16 },
	{ IB_PIR_COMPMASK_QKEYVIO, "q_key_violations", PI(q_key_violations),
	  0, 16 },
	{ IB_PIR_COMPMASK_GUIDCAP, "guid_cap", PI(guid_cap), 0, 8 },
	{ IB_PIR_COMPMASK_CLIENTREREG, "client_reregister",
	  PI(subnet_timeout), 0, 1 },
	{ IB_PIR_COMPMASK_RESV3, "multicast_p_key_trap_suppression_enabled",
	  PI(subnet_timeout), 1, 2 },
	{ IB_PIR_COMPMASK_SUBNTO, "subnet_timeout", PI(subnet_timeout), 3, 5 },
	{ IB_PIR_COMPMASK_RESPTIME, "resp_time_value", PI(resp_time_value),
	  3, 5 },
	{ IB_PIR_COMPMASK_LOCALPHYERR, "local_phy_errors",
	  PI(error_threshold), 0, 4 },
	{ IB_PIR_COMPMASK_OVERRUNERR, "overrun_errors", PI(error_threshold),
	  4, 4 },
	{ IB_PIR_COMPMASK_MAXCREDHINT, "max_credit_hint",
	  PI(max_credit_hint), 0, 16 },
	{ IB_PIR_COMPMASK_LINKRTLAT, "link_round_trip_latency",
	  PI(link_rt_latency), 8, 24 },
	{ IB_PIR_COMPMASK_CAPMASK2, "capability_mask2", PI(capability_mask2),
	  0, 16 },
	{ IB_PIR_COMPMASK_LINKSPDEXTACT, "link_speed_ext_active",
	  PI(link_speed_ext), 0, 4 },
	{ IB_PIR_COMPMASK_LINKSPDEXTSUPP, "link_speed_ext_supported",
	  PI(link_speed_ext), 4, 4 },
	{ IB_PIR_COMPMASK_LINKSPDEXTENAB, "link_speed_ext_enabled",
	  PI(link_speed_ext_enabled), 3, 5 },
};

#define SMIR(member) OFF(ib_sminfo_record_t, member)
static const struct expected sm_info_record[] = {
	{ IB_SMIR_COMPMASK_LID, "lid", SMIR(lid), 0, 16 },
	{ IB_SMIR_COMPMASK_GUID, "guid", SMIR(sm_info.guid), 0, 64 },
	{ IB_SMIR_COMPMASK_SMKEY, "sm_key", SMIR(sm_info.sm_key), 0, 64 },
	{ IB_SMIR_COMPMASK_ACTCOUNT, "act_count", SMIR(sm_info.act_count),
	  0, 32 },
	{ IB_SMIR_COMPMASK_PRIORITY, "priority", SMIR(sm_info.pri_state),
	  0, 4 },
	{ IB_SMIR_COMPMASK_SMSTATE, "sm_state", SMIR(sm_info.pri_state),
	  4, 4 },
};

#define LR(member) OFF(ib_link_record_t, member)
static const struct expected link_record[] = {
	{ IB_LR_COMPMASK_FROM_LID, "from_lid", LR(from_lid), 0, 16 },
	{ IB_LR_COMPMASK_FROM_PORT, "from_port", LR(from_port_num), 0, 8 },
	{ IB_LR_COMPMASK_TO_PORT, "to_port", LR(to_port_num), 0, 8 },
	{ IB_LR_COMPMASK_TO_LID, "to_lid", LR(to_lid), 0, 16 },
};

#define GIR(member) OFF(ib_guidinfo_record_t, member)
#define GUIDN(i) { IB_GIR_COMPMASK_GID##i, "guid" #i, \
	GIR(guid_info) + 8 * (i), 0, 64 }
static const struct expected guid_info_record[] = {
	{ IB_GIR_COMPMASK_LID, "lid", GIR(lid), 0, 16 },
	{ IB_GIR_COMPMASK_BLOCKNUM, "block_num", GIR(block_num), 0, 8 },
	GUIDN(0), GUIDN(1), GUIDN(2), GUIDN(3),
	GUIDN(4), GUIDN(5), GUIDN(6), GUIDN(7),
};

#define VLA(member) OFF(ib_vl_arb_table_record_t, member)
static const struct expected vl_arbitration_record[] = {
	{ IB_VLA_COMPMASK_LID, "lid", VLA(lid), 0, 16 },
	{ IB_VLA_COMPMASK_OUT_PORT, "output_port_num", VLA(port_num), 0, 8 },
	{ IB_VLA_COMPMASK_BLOCK, "block_num", VLA(block_num), 0, 8 },
};

#define SLVL(member) OFF(ib_slvl_table_record_t, member)
#define SLN(i) { BIT(4 + (i)), "sl" #i "_to_vl", \
	SLVL(slvl_tbl) + (i) / 2, 4 * ((i) % 2), 4 }
static const struct expected sl_to_vl_record[] = {
	{ IB_SLVL_COMPMASK_LID, "lid", SLVL(lid), 0, 16 },
	{ IB_SLVL_COMPMASK_IN_PORT, "input_port_num", SLVL(in_port_num),
	  0, 8 },
	{ IB_SLVL_COMPMASK_OUT_PORT, "output_port_num", SLVL(out_port_num),
	  0, 8 },
	SLN(0), SLN(1), SLN(2), SLN(3), SLN(4), SLN(5), SLN(6), SLN(7),
	SLN(8), SLN(9), SLN(10), SLN(11), SLN(12), SLN(13), SLN(14), SLN(15),
};

#define PKT(member) OFF(ib_pkey_table_record_t, member)
static const struct expected p_key_table_record[] = {
	{ IB_PKEY_COMPMASK_LID, "lid", PKT(lid), 0, 16 },
	{ IB_PKEY_COMPMASK_BLOCK, "block_num", PKT(block_num), 0, 16 },
	{ IB_PKEY_COMPMASK_PORT, "port_num", PKT(port_num), 0, 8 },
};

#define LFT(member) OFF(ib_lft_record_t, member)
static const struct expected lft_record[] = {
	{ IB_LFTR_COMPMASK_LID, "lid", LFT(lid), 0, 16 },
	{ IB_LFTR_COMPMASK_BLOCK, "block_num", LFT(block_num), 0, 16 },
};

#define MFT(member) OFF(ib_mft_record_t, member)
static const struct expected mft_record[] = {
	{ IB_MFTR_COMPMASK_LID, "lid", MFT(lid), 0, 16 },
	{ IB_MFTR_COMPMASK_POSITION, "position", MFT(position_block_num),
	  0, 4 },
	{ IB_MFTR_COMPMASK_BLOCK, "block_num", MFT(position_block_num), 7, 9 },
};

/* Beyond the first, ib_types.h has no masks: IBA table of 15.2.5.5. */
#define SWR(member) OFF(ib_switch_info_record_t, member)
#define SI(member) SWR(switch_info.member)
static const struct expected switch_info_record[] = {
	{ IB_SWIR_COMPMASK_LID, "lid", SWR(lid), 0, 16 },
	{ BIT(2), "linear_fdb_cap", SI(lin_cap), 0, 16 },
	{ BIT(3), "random_fdb_cap", SI(rand_cap), 0, 16 },
	{ BIT(4), "multicast_fdb_cap", SI(mcast_cap), 0, 16 },
	{ BIT(5), "linear_fdb_top", SI(lin_top), 0, 16 },
	{ BIT(6), "default_port", SI(def_port), 0, 8 },
	{ BIT(7), "default_multicast_primary_port", SI(def_mcast_pri_port),
	  0, 8 },
	{ BIT(8), "default_multicast_not_primary_port",
	  SI(def_mcast_not_port), 0, 8 },
	{ BIT(9), "life_time_value", SI(life_state), 0, 5 },
	{ BIT(10), "port_state_change", SI(life_state), 5, 1 },
	{ BIT(11), "optimized_sl_to_vl_mapping_programming",
	  SI(life_state), 6, 2 },
	{ BIT(12), "lids_per_port", SI(lids_per_port), 0, 16 },
	{ BIT(13), "partition_enforcement_cap", SI(enforce_cap), 0, 16 },
	{ BIT(14), "inbound_enforcement_cap", SI(flags), 0, 1 },
	{ BIT(15), "outbound_enforcement_cap", SI(flags), 1, 1 },
	{ BIT(16), "filter_raw_inbound_cap", SI(flags), 2, 1 },
	{ BIT(17), "filter_raw_outbound_cap", SI(flags), 3, 1 },
	{ BIT(18), "enhanced_port0", SI(flags), 4, 1 },
};

/* ib_types.h has no masks: the order of IBA's table of 13.4.8.1. */
#define CPI(member) OFF(ib_class_port_info_t, member)
static const struct expected class_port_info[] = {
	{ BIT(0), "base_version", CPI(base_ver), 0, 8 },
	{ BIT(1), "class_version", CPI(class_ver), 0, 8 },
	{ BIT(2), "capability_mask", CPI(cap_mask), 0, 16 },
	{ BIT(3), "capability_mask2", CPI(cap_mask2_resp_time), 0, 27 },
	{ BIT(4), "resp_time_value", CPI(cap_mask2_resp_time), 27, 5 },
	{ BIT(5), "redirect_gid", CPI(redir_gid), 0, 128 },
	{ BIT(6), "redirect_tc", CPI(redir_tc_sl_fl), 0, 8 },
	{ BIT(7), "redirect_sl", CPI(redir_tc_sl_fl), 8, 4 },
	{ BIT(8), "redirect_fl", CPI(redir_tc_sl_fl), 12, 20 },
	{ BIT(9), "redirect_lid", CPI(redir_lid), 0, 16 },
	{ BIT(10), "redirect_p_key", CPI(redir_pkey), 0, 16 },
	{ BIT(12), "redirect_qp", CPI(redir_qp), 8, 24 },
	{ BIT(13), "redirect_q_key", CPI(redir_qkey), 0, 32 },
	{ BIT(14), "trap_gid", CPI(trap_gid), 0, 128 },
	{ BIT(15), "trap_tc", CPI(trap_tc_sl_fl), 0, 8 },
	{ BIT(16), "trap_sl", CPI(trap_tc_sl_fl), 8, 4 },
	{ BIT(17), "trap_fl", CPI(trap_tc_sl_fl), 12, 20 },
	{ BIT(18), "trap_lid", CPI(trap_lid), 0, 16 },
	{ BIT(19), "trap_p_key", CPI(trap_pkey), 0, 16 },
	{ BIT(20), "trap_hl", CPI(trap_hop_qp), 0, 8 },
	{ BIT(21), "trap_qp", CPI(trap_hop_qp), 8, 24 },
	{ BIT(22), "trap_q_key", CPI(trap_qkey), 0, 32 },
};

#define LAYOUT(id, name, type, fields, reserved) \
	{ id, name, sizeof(type), fields, COUNT(fields), reserved }

/* Also the attributes that OpenSM's SA dispatch hands to a handler. */
static const struct layout layouts[] = {
	LAYOUT(IB_MAD_ATTR_CLASS_PORT_INFO, "ClassPortInfo",
	       ib_class_port_info_t, class_port_info, NO_BIT),
	LAYOUT(IB_MAD_ATTR_INFORM_INFO, "InformInfo", ib_inform_info_t,
	       inform_info, NO_BIT),
	LAYOUT(IB_MAD_ATTR_NODE_RECORD, "NodeRecord", ib_node_record_t,
	       node_record, IB_NR_COMPMASK_RESERVED1),
	LAYOUT(IB_MAD_ATTR_PORTINFO_RECORD, "PortInfoRecord",
	       ib_portinfo_record_t, port_info_record,
	       IB_PIR_COMPMASK_RESV2 | IB_PIR_COMPMASK_RESV4 |
	       IB_PIR_COMPMASK_RESV5 | IB_PIR_COMPMASK_RESV7),
	LAYOUT(IB_MAD_ATTR_SLVL_RECORD, "SLtoVLMappingTableRecord",
	       ib_slvl_table_record_t, sl_to_vl_record, NO_BIT),
	LAYOUT(IB_MAD_ATTR_SWITCH_INFO_RECORD, "SwitchInfoRecord",
	       ib_switch_info_record_t, switch_info_record,
	       IB_SWIR_COMPMASK_RESERVED1),
	LAYOUT(IB_MAD_ATTR_LFT_RECORD, "LFTRecord", ib_lft_record_t,
	       lft_record, NO_BIT),
	LAYOUT(IB_MAD_ATTR_MFT_RECORD, "MFTRecord", ib_mft_record_t,
	       mft_record, IB_MFTR_COMPMASK_RESERVED1 |
	       IB_MFTR_COMPMASK_RESERVED2),
	LAYOUT(IB_MAD_ATTR_SMINFO_RECORD, "SMInfoRecord",
	       ib_sminfo_record_t, sm_info_record, IB_SMIR_COMPMASK_RESV0),
	LAYOUT(IB_MAD_ATTR_LINK_RECORD, "LinkRecord", ib_link_record_t,
	       link_record, NO_BIT),
	LAYOUT(IB_MAD_ATTR_GUIDINFO_RECORD, "GUIDInfoRecord",
	       ib_guidinfo_record_t, guid_info_record,
	       IB_GIR_COMPMASK_RESV1 | IB_GIR_COMPMASK_RESV2),
	LAYOUT(IB_MAD_ATTR_SERVICE_RECORD, "ServiceRecord",
	       ib_service_record_t, service_record, IB_SR_COMPMASK_RES1),
	LAYOUT(IB_MAD_ATTR_PKEY_TBL_RECORD, "P_KeyTableRecord",
	       ib_pkey_table_record_t, p_key_table_record, NO_BIT),
	LAYOUT(IB_MAD_ATTR_PATH_RECORD, "PathRecord", ib_path_rec_t,
	       path_record, IB_PR_COMPMASK_RESV0),
	LAYOUT(IB_MAD_ATTR_VLARB_RECORD, "VLArbitrationTableRecord",
	       ib_vl_arb_table_record_t, vl_arbitration_record, NO_BIT),
	LAYOUT(IB_MAD_ATTR_MCMEMBER_RECORD, "MCMemberRecord",
	       ib_member_rec_t, mcmember_record, NO_BIT),
	LAYOUT(IB_MAD_ATTR_MULTIPATH_RECORD, "MultiPathRecord",
	       ib_multipath_rec_t, multipath_record,
	       IB_MPR_COMPMASK_RESV0 | IB_MPR_COMPMASK_RESV3),
	LAYOUT(IB_MAD_ATTR_INFORM_INFO_RECORD, "InformInfoRecord",
	       ib_inform_info_record_t, inform_info_record,
	       IB_IIR_COMPMASK_RESV0 | IB_IIR_COMPMASK_RESV1 |
	       IB_IIR_COMPMASK_RESV2 | IB_IIR_COMPMASK_RESV3),
};

static const struct sa_attribute *find(ib_net16_t id)
{
	const struct sa_attribute *attr = sa_attribute_find(cl_ntoh16(id));

	ck_assert_ptr_nonnull(attr);
	return attr;
}

static const struct sa_field *find_field(const struct sa_attribute *attr,
					 const char *name)
{
	for (size_t i = 0; i < attr->n_fields; i++)
		if (strcmp(attr->fields[i].name, name) == 0)
			return &attr->fields[i];
	ck_abort_msg("%s has no %s", attr->name, name);
	return NULL;
}

/* The query as JSON, once a reader that is not ours has taken it. */
static const char *query(const struct sa_attribute *attr, uint64_t mask,
			 const void *rec, size_t len, bool show_keys)
{
	static char buf[JSON_SIZE];
	struct json j;

	jw_init(&j, buf, sizeof(buf) - 1);
	sa_query_json(&j, NULL, attr, mask, rec, len, show_keys);
	ck_assert(!j.full);
	buf[j.len] = '\0';
	ck_assert_msg(json_read_valid(buf), "%s", buf);
	ck_assert_int_eq(buf[0], '{');
	return buf;
}

static const char *text_of(const struct sa_attribute *attr, uint64_t mask,
			   const void *rec, size_t len, bool show_keys)
{
	static char buf[8192];
	size_t n;

	memset(buf, 'X', sizeof(buf));
	n = sa_query_text(buf, sizeof(buf), attr, mask, rec, len, show_keys);
	ck_assert_uint_lt(n, sizeof(buf));
	ck_assert_uint_eq(strlen(buf), n);
	return buf;
}

static void check_member(const char *object, const char *key,
			 const char *value)
{
	ck_assert_str_eq(json_read_member(object, key), value);
}

/* A generator of our own, so that a failure can be made again. */
static uint64_t seed = UINT64_C(0x9e3779b97f4a7c15);

static uint64_t random64(void)
{
	seed ^= seed << 13;
	seed ^= seed >> 7;
	seed ^= seed << 17;
	return seed;
}

static void random_bytes(uint8_t *p, size_t n)
{
	for (size_t i = 0; i < n; i++)
		p[i] = (uint8_t)(random64() >> 32);
}

/* Invalid input first. */

START_TEST(unknown_attributes)
{
	ck_assert_ptr_null(sa_attribute_find(0x0000));
	ck_assert_ptr_null(sa_attribute_find(0x00f1));
	ck_assert_ptr_null(sa_attribute_find(0xffff));
	ck_assert_ptr_null(sa_attribute_find(0x3500));
}
END_TEST

START_TEST(no_attribute_gives_components_by_number)
{
	const char *object = query(NULL, UINT64_MAX, NULL, 0, false);

	ck_assert_uint_eq(json_read_count(object), 64);
	check_member(object, "component_0", "true");
	check_member(object, "component_63", "true");

	ck_assert_str_eq(text_of(NULL, 0x8000000000000005, NULL, 0, false),
			 "component_0 component_2 component_63");
}
END_TEST

START_TEST(no_mask_gives_nothing)
{
	uint8_t rec[200] = { 0 };

	for (size_t i = 0; i < sa_attributes_count; i++) {
		const char *object = query(&sa_attributes[i], 0, rec,
				       sizeof(rec), true);

		ck_assert_uint_eq(json_read_count(object), 0);
		ck_assert_str_eq(text_of(&sa_attributes[i], 0, rec,
					 sizeof(rec), true), "");
	}
	ck_assert_str_eq(text_of(NULL, 0, NULL, 0, false), "");
}
END_TEST

/* Of an empty record every known component is null, none is missing. */
START_TEST(no_record)
{
	for (size_t i = 0; i < sa_attributes_count; i++) {
		const struct sa_attribute *attr = &sa_attributes[i];
		const char *object = query(attr, UINT64_MAX, NULL, 0, true);

		for (size_t k = 0; k < attr->n_fields; k++)
			check_member(object, attr->fields[k].name, "null");
		text_of(attr, UINT64_MAX, NULL, 0, true);
	}
}
END_TEST

/*
 * Cut at every length, in memory of just that length so that ASan sees a
 * byte too many: what lies before the cut is as in the whole record, what
 * does not is null.
 */
START_TEST(cut_records)
{
	static char full[JSON_SIZE];
	uint8_t whole[200];

	random_bytes(whole, sizeof(whole));
	whole[15] = 2;		/* a MultiPathRecord that counts well */
	whole[16] = 3;
	for (size_t i = 0; i < sa_attributes_count; i++) {
		const struct sa_attribute *attr = &sa_attributes[i];

		strcpy(full, query(attr, UINT64_MAX, whole, sizeof(whole),
				   true));
		for (size_t len = 0; len <= sizeof(whole); len++) {
			uint8_t *rec = malloc(len ? len : 1);
			const char *object;

			memcpy(rec, whole, len);
			object = query(attr, UINT64_MAX, rec, len, true);
			for (size_t k = 0; k < attr->n_fields; k++) {
				const struct sa_field *f = &attr->fields[k];
				char value[1024] = "null";

				if (f->kind == FIELD_GIDS)
					continue;
				if (f->offset + f->width <= 8 * len)
					strcpy(value, json_read_member(full,
								f->name));
				check_member(object, f->name, value);
			}
			text_of(attr, UINT64_MAX, rec, len, true);
			free(rec);
		}
	}
}
END_TEST

START_TEST(text_in_small_buffers)
{
	const struct sa_attribute *attr = find(IB_MAD_ATTR_SERVICE_RECORD);
	uint8_t rec[176];
	char whole[4096];
	size_t n;

	ck_assert_uint_eq(sa_query_text(NULL, 0, attr, 1, NULL, 0, true), 0);
	random_bytes(rec, sizeof(rec));
	n = sa_query_text(whole, sizeof(whole), attr, UINT64_MAX, rec,
			  sizeof(rec), true);
	for (size_t size = 1; size <= n + 1; size++) {
		char *buf = malloc(size);
		size_t got = sa_query_text(buf, size, attr, UINT64_MAX, rec,
					   sizeof(rec), true);

		ck_assert_uint_lt(got, size);
		ck_assert_uint_eq(strlen(buf), got);
		ck_assert_int_eq(strncmp(buf, whole, got), 0);
		ck_assert(text_is_printable(buf, got));
		free(buf);
	}
	/* a number is whole or not there: LID 1234 is never LID 12 */
	memcpy(rec, "\x04\xd2", 2);
	attr = find(IB_MAD_ATTR_LINK_RECORD);
	ck_assert_uint_eq(sa_query_text(whole, 13, attr, 1, rec, 8, true), 0);
	ck_assert_str_eq(whole, "");
	ck_assert_uint_eq(sa_query_text(whole, 14, attr, 1, rec, 8, true), 13);
	ck_assert_str_eq(whole, "from_lid 1234");
}
END_TEST

START_TEST(json_in_a_small_buffer)
{
	char buf[16];
	struct json j;
	uint8_t rec[64] = { 0 };

	jw_init(&j, buf, sizeof(buf));
	sa_query_json(&j, NULL, find(IB_MAD_ATTR_PATH_RECORD), UINT64_MAX,
		      rec, sizeof(rec), true);
	ck_assert(j.full);
}
END_TEST

/* The table. */

START_TEST(table_is_in_order)
{
	for (size_t i = 0; i < sa_attributes_count; i++) {
		const struct sa_attribute *attr = &sa_attributes[i];
		const struct sa_field *f = attr->fields;

		ck_assert_ptr_eq(sa_attribute_find(attr->id), attr);
		if (i > 0)
			ck_assert_uint_gt(attr->id, sa_attributes[i - 1].id);
		for (size_t k = 0; k < attr->n_fields; k++) {
			ck_assert_uint_lt(f[k].component, 64);
			ck_assert_uint_gt(f[k].width, 0);
			if (k > 0)
				ck_assert_uint_ge(f[k].component,
						  f[k - 1].component);
		}
	}
}
END_TEST

START_TEST(kinds_suit_their_widths)
{
	for (size_t i = 0; i < sa_attributes_count; i++) {
		const struct sa_attribute *attr = &sa_attributes[i];

		for (size_t k = 0; k < attr->n_fields; k++) {
			const struct sa_field *f = &attr->fields[k];

			switch ((enum field_kind)f->kind) {
			case FIELD_NUMBER:
				ck_assert_uint_le(f->width, 32);
				break;
			case FIELD_FLAG:
				ck_assert_uint_eq(f->width, 1);
				break;
			case FIELD_HEX:
				ck_assert_uint_le(f->width, 64);
				break;
			case FIELD_GUID:
				ck_assert_uint_eq(f->width, 64);
				break;
			case FIELD_GID:
				ck_assert_uint_eq(f->width, 128);
				break;
			case FIELD_GIDS:
				ck_assert_uint_eq(f->width, 8);
				break;
			case FIELD_KEY:
				ck_assert(f->width == 64 || f->width == 128);
				break;
			case FIELD_TEXT:
			case FIELD_BYTES:
				ck_assert_uint_eq(f->width, 512);
				break;
			}
			/* what is not read bit by bit begins at a byte */
			if (f->width > 57)
				ck_assert_uint_eq(f->offset % 8, 0);
		}
	}
}
END_TEST

/* Bits, offsets and widths are those of ib_types.h. */
START_TEST(layouts_are_those_of_ib_types)
{
	for (size_t i = 0; i < COUNT(layouts); i++) {
		const struct layout *l = &layouts[i];
		const struct sa_attribute *attr = find(l->id);

		ck_assert_str_eq(attr->name, l->name);
		ck_assert_uint_eq(attr->n_fields, l->n_fields);
		for (size_t k = 0; k < l->n_fields; k++) {
			const struct expected *e = &l->fields[k];
			const struct sa_field *f = &attr->fields[k];

			ck_assert_str_eq(f->name, e->name);
			ck_assert_msg(cl_ntoh64(e->bit) ==
				      UINT64_C(1) << f->component,
				      "%s %s", attr->name, f->name);
			ck_assert_msg(f->offset == 8 * e->byte + e->sub,
				      "%s %s", attr->name, f->name);
			ck_assert_uint_le(f->offset + f->width, 8 * l->size);
			ck_assert_msg(f->width == e->width,
				      "%s %s", attr->name, f->name);
			ck_assert_uint_eq(e->bit & l->reserved, 0);
		}
	}
}
END_TEST

/* A reserved component is one that the table lacks. */
START_TEST(reserved_components)
{
	uint8_t rec[200] = { 0 };

	for (size_t i = 0; i < COUNT(layouts); i++) {
		uint64_t mask = cl_ntoh64(layouts[i].reserved);
		const char *object = query(find(layouts[i].id), mask, rec,
					   sizeof(rec), true);
		char name[16];

		ck_assert_int_eq((int)json_read_count(object),
				 __builtin_popcountll(mask));
		for (unsigned int bit = 0; bit < 64; bit++) {
			snprintf(name, sizeof(name), "component_%u", bit);
			check_member(object, name,
				     mask >> bit & 1 ? "true" : "");
		}
	}
}
END_TEST

START_TEST(opensm_handles_these)
{
	size_t n = 0;

	for (size_t i = 0; i < COUNT(layouts); i++)
		ck_assert(find(layouts[i].id)->opensm);
	for (size_t i = 0; i < sa_attributes_count; i++)
		n += sa_attributes[i].opensm;
	ck_assert_uint_eq(n, COUNT(layouts));
	ck_assert(!find(IB_MAD_ATTR_NOTICE)->opensm);
	ck_assert(!find(IB_MAD_ATTR_TRACE_RECORD)->opensm);
	ck_assert(!find(IB_MAD_ATTR_SVC_ASSOCIATION_RECORD)->opensm);
}
END_TEST

/* Values within bytes, as OpenSM's own accessors read them. */
#define READS(name, value) \
	ck_assert_msg(field_get(find_field(attr, name), \
				(const uint8_t *)&rec) == (uint64_t)(value), \
		      "%s", name)

START_TEST(accessors_read_the_same)
{
	const struct sa_attribute *attr;

	for (int i = 0; i < 1000; i++) {
		ib_portinfo_record_t rec;
		ib_port_info_t copy, *pi = &copy;	/* aligned */

		attr = find(IB_MAD_ATTR_PORTINFO_RECORD);
		random_bytes((uint8_t *)&rec, sizeof(rec));
		memcpy(pi, (uint8_t *)&rec + OFF(ib_portinfo_record_t,
						 port_info), sizeof(*pi));
		READS("port_state", ib_port_info_get_port_state(pi));
		READS("link_speed_supported",
		      ib_port_info_get_link_speed_sup(pi));
		READS("port_physical_state",
		      ib_port_info_get_port_phys_state(pi));
		READS("link_down_default_state",
		      ib_port_info_get_link_down_def_state(pi));
		READS("m_key_protect_bits", ib_port_info_get_mpb(pi));
		READS("lmc", ib_port_info_get_lmc(pi));
		READS("link_speed_active",
		      ib_port_info_get_link_speed_active(pi));
		READS("link_speed_enabled",
		      ib_port_info_get_link_speed_enabled(pi));
		READS("neighbor_mtu", ib_port_info_get_neighbor_mtu(pi));
		READS("master_sm_sl", ib_port_info_get_master_smsl(pi));
		READS("vl_cap", ib_port_info_get_vl_cap(pi));
		READS("init_type", ib_port_info_get_init_type(pi));
		READS("mtu_cap", ib_port_info_get_mtu_cap(pi));
		READS("vl_stall_count", ib_port_info_get_vl_stall_count(pi));
		READS("hoq_life", ib_port_info_get_hoq_lifetime(pi));
		READS("operational_vls", ib_port_info_get_op_vls(pi));
		READS("client_reregister", ib_port_info_get_client_rereg(pi));
		READS("multicast_p_key_trap_suppression_enabled",
		      ib_port_info_get_mcast_pkey_trap_suppress(pi));
		READS("subnet_timeout", ib_port_info_get_timeout(pi));
		READS("resp_time_value", ib_port_info_get_resp_time_value(pi));
		READS("local_phy_errors",
		      ib_port_info_get_local_phy_err_thd(pi));
		READS("overrun_errors", ib_port_info_get_overrun_err_thd(pi));
		READS("link_speed_ext_active",
		      ib_port_info_get_link_speed_ext_active(pi));
		READS("link_speed_ext_supported",
		      ib_port_info_get_link_speed_ext_sup(pi));
		READS("link_speed_ext_enabled",
		      ib_port_info_get_link_speed_ext_enabled(pi));
		READS("m_key", cl_ntoh64(ib_port_info_get_m_key(pi)));
	}
	for (int i = 0; i < 1000; i++) {
		ib_path_rec_t rec;

		attr = find(IB_MAD_ATTR_PATH_RECORD);
		random_bytes((uint8_t *)&rec, sizeof(rec));
		READS("raw_traffic", cl_ntoh32(rec.hop_flow_raw) >> 31);
		READS("flow_label", ib_path_rec_flow_lbl(&rec));
		READS("hop_limit", ib_path_rec_hop_limit(&rec));
		READS("num_path", ib_path_rec_num_path(&rec));
		READS("qos_class", ib_path_rec_qos_class(&rec));
		READS("sl", ib_path_rec_sl(&rec));
		READS("mtu", ib_path_rec_mtu(&rec));
		READS("mtu_selector", ib_path_rec_mtu_sel(&rec));
		READS("rate", ib_path_rec_rate(&rec));
		READS("rate_selector", ib_path_rec_rate_sel(&rec));
		READS("packet_life_time", ib_path_rec_pkt_life(&rec));
		READS("packet_life_time_selector",
		      ib_path_rec_pkt_life_sel(&rec));
	}
	for (int i = 0; i < 1000; i++) {
		ib_switch_info_record_t rec;

		attr = find(IB_MAD_ATTR_SWITCH_INFO_RECORD);
		random_bytes((uint8_t *)&rec, sizeof(rec));
		READS("port_state_change",
		      ib_switch_info_get_state_change(&rec.switch_info));
		READS("enhanced_port0",
		      ib_switch_info_is_enhanced_port0(&rec.switch_info));
	}
	for (int i = 0; i < 1000; i++) {
		ib_sminfo_record_t rec;

		attr = find(IB_MAD_ATTR_SMINFO_RECORD);
		random_bytes((uint8_t *)&rec, sizeof(rec));
		READS("priority", ib_sminfo_get_priority(&rec.sm_info));
		READS("sm_state", ib_sminfo_get_state(&rec.sm_info));
	}
}
END_TEST

/* What is written. */

START_TEST(path_record_query)
{
	const struct sa_attribute *attr = find(IB_MAD_ATTR_PATH_RECORD);
	ib_path_rec_t rec;
	const char *object;

	memset(&rec, 0, sizeof(rec));
	rec.service_id = CL_HTON64(UINT64_C(0x1000000000000018));
	rec.dgid.unicast.prefix = CL_HTON64(UINT64_C(0xfe80000000000000));
	rec.dgid.unicast.interface_id = CL_HTON64(UINT64_C(0x2c903000e0b72));
	rec.slid = CL_HTON16(7);
	rec.hop_flow_raw = CL_HTON32(0x80000000 | 0xabcde << 8 | 64);
	rec.num_path = 0x80 | 127;
	rec.pkey = CL_HTON16(0x8001);
	rec.qos_class_sl = CL_HTON16(0x123 << 4 | 5);
	rec.mtu = 2 << 6 | 4;

	object = query(attr, UINT64_MAX, &rec, sizeof(rec), false);
	check_member(object, "service_id", "\"0x1000000000000018\"");
	check_member(object, "dgid", "\"fe80::2:c903:e:b72\"");
	check_member(object, "sgid", "\"::\"");
	check_member(object, "dlid", "0");
	check_member(object, "slid", "7");
	check_member(object, "raw_traffic", "true");
	check_member(object, "flow_label", "703710");
	check_member(object, "hop_limit", "64");
	check_member(object, "reversible", "true");
	check_member(object, "num_path", "127");
	check_member(object, "p_key", "\"0x8001\"");
	check_member(object, "qos_class", "291");
	check_member(object, "sl", "5");
	check_member(object, "mtu_selector", "2");
	check_member(object, "mtu", "4");
	check_member(object, "component_7", "true");
	check_member(object, "component_23", "true");
	ck_assert_uint_eq(json_read_count(object), 64 - 1);

	ck_assert_str_eq(text_of(attr, 0x2c | 0x22800, &rec, sizeof(rec),
				 false),
			 "dgid fe80::2:c903:e:b72 sgid :: slid 7 "
			 "reversible yes p_key 0x8001 mtu 4");
	/* either half of ServiceID names all of it, once */
	ck_assert_str_eq(text_of(attr, 1, &rec, sizeof(rec), false),
			 "service_id 0x1000000000000018");
	ck_assert_str_eq(text_of(attr, 2, &rec, sizeof(rec), false),
			 "service_id 0x1000000000000018");
	ck_assert_str_eq(text_of(attr, 3, &rec, sizeof(rec), false),
			 "service_id 0x1000000000000018");
	ck_assert_str_eq(text_of(attr, 0x30, &rec, 41, false),
			 "dlid ? slid ?");
}
END_TEST

START_TEST(join_states)
{
	static const char *const words[16] = {
		"0", "full", "non_member", "full+non_member",
		"send_only", "full+send_only", "non_member+send_only",
		"full+non_member+send_only", "send_only_full",
		"full+send_only_full", "non_member+send_only_full",
		"full+non_member+send_only_full", "send_only+send_only_full",
		"full+send_only+send_only_full",
		"non_member+send_only+send_only_full",
		"full+non_member+send_only+send_only_full",
	};
	const struct sa_attribute *attr = find(IB_MAD_ATTR_MCMEMBER_RECORD);
	uint64_t mask = cl_ntoh64(IB_MCR_COMPMASK_JOIN_STATE);
	char expected[128];

	for (unsigned int i = 0; i < 16; i++) {
		ib_member_rec_t rec;
		char number[4];

		memset(&rec, 0, sizeof(rec));
		rec.scope_state = (uint8_t)(0x20 | i);
		snprintf(number, sizeof(number), "%u", i & 0xf);
		check_member(query(attr, mask, &rec, sizeof(rec), false),
			     "join_state", number);
		snprintf(expected, sizeof(expected), "join_state %s",
			 words[i]);
		ck_assert_str_eq(text_of(attr, mask, &rec, sizeof(rec),
					 false), expected);
	}
}
END_TEST

/* CONTRACT 5: the line of a join. */
START_TEST(join_line)
{
	static const uint8_t mgid[16] = {
		0xff, 0x12, 0x40, 0x1b, 0xff, 0xff, [15] = 1,
	};
	ib_member_rec_t rec;

	memset(&rec, 0, sizeof(rec));
	memcpy(rec.mgid.raw, mgid, sizeof(mgid));
	rec.scope_state = IB_JOIN_STATE_FULL;
	ck_assert_str_eq(text_of(find(IB_MAD_ATTR_MCMEMBER_RECORD),
				 0x10001, &rec, sizeof(rec), false),
			 "mgid ff12:401b:ffff::1 join_state full");
}
END_TEST

/* OpenSM's scope and state, SL, flow label and hop limit, as it packs them. */
START_TEST(member_record_as_opensm_packs_it)
{
	const struct sa_attribute *attr = find(IB_MAD_ATTR_MCMEMBER_RECORD);
	ib_member_rec_t rec;
	const char *object;

	memset(&rec, 0, sizeof(rec));
	rec.sl_flow_hop = ib_member_set_sl_flow_hop(7, 0x12345, 77);
	rec.scope_state = ib_member_set_scope_state(5, IB_JOIN_STATE_NON);
	object = query(attr, UINT64_MAX, &rec, sizeof(rec), false);
	check_member(object, "sl", "7");
	check_member(object, "flow_label", "74565");
	check_member(object, "hop_limit", "77");
	check_member(object, "scope", "5");
	check_member(object, "join_state", "2");
}
END_TEST

START_TEST(sl_to_vl_as_opensm_packs_it)
{
	const struct sa_attribute *attr = find(IB_MAD_ATTR_SLVL_RECORD);
	ib_slvl_table_record_t rec;

	memset(&rec, 0, sizeof(rec));
	for (uint8_t sl = 0; sl < 16; sl++)
		ib_slvl_table_set(&rec.slvl_tbl, sl, 15 - sl);
	ck_assert_str_eq(text_of(attr, 0xffff0, &rec, sizeof(rec), false),
			 "sl0_to_vl 15 sl1_to_vl 14 sl2_to_vl 13 sl3_to_vl 12 "
			 "sl4_to_vl 11 sl5_to_vl 10 sl6_to_vl 9 sl7_to_vl 8 "
			 "sl8_to_vl 7 sl9_to_vl 6 sl10_to_vl 5 sl11_to_vl 4 "
			 "sl12_to_vl 3 sl13_to_vl 2 sl14_to_vl 1 "
			 "sl15_to_vl 0");
}
END_TEST

START_TEST(mft_position_and_block)
{
	ib_mft_record_t rec;

	memset(&rec, 0, sizeof(rec));
	rec.lid = CL_HTON16(3);
	rec.position_block_num = CL_HTON16(0xf << 12 | 0x1fe);
	ck_assert_str_eq(text_of(find(IB_MAD_ATTR_MFT_RECORD), 0xb, &rec,
				 sizeof(rec), false),
			 "lid 3 position 15 block_num 510");
}
END_TEST

/* CONTRACT 3, option keys: hidden ones are zeros of their own width. */
START_TEST(keys_are_hidden)
{
	const struct {
		ib_net16_t id;
		const char *name;
		const char *hidden, *shown;
	} keys[] = {
		{ IB_MAD_ATTR_SERVICE_RECORD, "service_key",
		  "0x00000000000000000000000000000000",
		  "0xa5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5" },
		{ IB_MAD_ATTR_PORTINFO_RECORD, "m_key",
		  "0x0000000000000000", "0xa5a5a5a5a5a5a5a5" },
		{ IB_MAD_ATTR_SMINFO_RECORD, "sm_key",
		  "0x0000000000000000", "0xa5a5a5a5a5a5a5a5" },
	};
	uint8_t rec[200];

	memset(rec, 0xa5, sizeof(rec));
	for (size_t i = 0; i < COUNT(keys); i++) {
		const struct sa_attribute *attr = find(keys[i].id);
		const struct sa_field *f = find_field(attr, keys[i].name);
		uint64_t mask = UINT64_C(1) << f->component;
		char text[80];

		ck_assert_uint_eq(f->kind, FIELD_KEY);
		snprintf(text, sizeof(text), "\"%s\"", keys[i].hidden);
		check_member(query(attr, mask, rec, sizeof(rec), false),
			     keys[i].name, text);
		snprintf(text, sizeof(text), "\"%s\"", keys[i].shown);
		check_member(query(attr, mask, rec, sizeof(rec), true),
			     keys[i].name, text);
		snprintf(text, sizeof(text), "%s %s", keys[i].name,
			 keys[i].hidden);
		ck_assert_str_eq(text_of(attr, mask, rec, sizeof(rec), false),
				 text);
		snprintf(text, sizeof(text), "%s %s", keys[i].name,
			 keys[i].shown);
		ck_assert_str_eq(text_of(attr, mask, rec, sizeof(rec), true),
				 text);
	}
}
END_TEST

/* P_Keys and Q_Keys are no secrets. */
START_TEST(only_keys_are_hidden)
{
	static char hidden[JSON_SIZE];
	uint8_t rec[200];

	memset(rec, 0x5a, sizeof(rec));
	for (size_t i = 0; i < sa_attributes_count; i++) {
		const struct sa_attribute *attr = &sa_attributes[i];
		const char *shown;

		strcpy(hidden, query(attr, UINT64_MAX, rec, sizeof(rec),
				     false));
		shown = query(attr, UINT64_MAX, rec, sizeof(rec), true);
		for (size_t k = 0; k < attr->n_fields; k++) {
			const struct sa_field *f = &attr->fields[k];
			char value[1024];

			strcpy(value, json_read_member(hidden, f->name));
			if (f->kind == FIELD_KEY)
				ck_assert_str_ne(json_read_member(shown,
						 f->name), value);
			else
				check_member(shown, f->name, value);
		}
	}
}
END_TEST

/* MultiPathRecord: the counts may lie. */
START_TEST(multipath_gids)
{
	const struct sa_attribute *attr = find(IB_MAD_ATTR_MULTIPATH_RECORD);
	uint64_t mask = 3 << 19;
	uint8_t *rec = calloc(1, 24 + 3 * 16);
	const char *object;

	rec[15] = 1;
	rec[16] = 2;
	for (int i = 0; i < 3; i++)
		rec[24 + 16 * i + 15] = (uint8_t)(i + 1);

	object = query(attr, mask, rec, 24 + 3 * 16, false);
	check_member(object, "sgids", "[\"::1\"]");
	check_member(object, "dgids", "[\"::2\",\"::3\"]");
	ck_assert_str_eq(text_of(attr, mask, rec, 24 + 3 * 16, false),
			 "sgid_count 1 sgids ::1 dgid_count 2 dgids ::2,::3");

	/* half a GID is none; those that are there, then null */
	object = query(attr, mask, rec, 24 + 3 * 16 - 1, false);
	check_member(object, "dgids", "[\"::2\",null]");
	ck_assert_str_eq(text_of(attr, mask, rec, 24 + 3 * 16 - 1, false),
			 "sgid_count 1 sgids ::1 dgid_count 2 dgids ::2,?");

	rec[15] = 255;
	rec[16] = 255;
	object = query(attr, mask, rec, 24 + 3 * 16, false);
	check_member(object, "sgid_count", "255");
	check_member(object, "sgids", "[\"::1\",\"::2\",\"::3\",null]");
	check_member(object, "dgids", "[null]");

	rec[15] = 0;
	rec[16] = 0;
	ck_assert_str_eq(text_of(attr, mask, rec, 24, false),
			 "sgid_count 0 sgids none dgid_count 0 dgids none");
	ck_assert_str_eq(text_of(attr, mask, rec, 15, false),
			 "sgid_count ? sgids ? dgid_count ? dgids ?");
	free(rec);
}
END_TEST

/* The most that a long message can claim, 255 of each, all there. */
START_TEST(multipath_with_all_gids)
{
	const struct sa_attribute *attr = find(IB_MAD_ATTR_MULTIPATH_RECORD);
	size_t len = 24 + 510 * 16, n = 0;
	uint8_t *rec = malloc(len);
	const char *gids;

	memset(rec, 0xff, len);
	gids = json_read_member(query(attr, 3 << 19, rec, len, false),
				"dgids");
	while ((gids = strstr(gids, "\"ffff:"))) {
		gids++;
		n++;
	}
	ck_assert_uint_eq(n, 255);
	free(rec);
}
END_TEST

/* Text from the wire: quoted, and nothing in it acts on a terminal. */
START_TEST(text_is_escaped)
{
	static const struct {
		const char *wire, *text;
	} texts[] = {
		{ "node012 HCA-1", "node012 HCA-1" },
		{ "", "" },
		{ "a\"b\\c", "a\\\"b\\\\c" },
		{ "\x1b]0;owned\x07", "\\u001b]0;owned\\u0007" },
		{ "a\nb\rc\td", "a\\u000ab\\u000dc\\u0009d" },
		{ "\x7f", "\\u007f" },
		{ "\xc2\x9b" "31m", "\\u009b31m" },	/* C1 CSI */
		{ "\x9b" "31m", "\\x9b31m" },
		{ "\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80",
		  "\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80" },
		{ "\xe2\x80\xae" "gpj", "\\u202egpj" },	/* right to left */
		{ "\xe2\x80\xa8", "\\u2028" },		/* line separator */
		{ "\xef\xbb\xbf", "\\ufeff" },
		{ "\xc0\x80", "\\xc0\\x80" },		/* overlong */
		{ "\xe0\x80\xaf", "\\xe0\\x80\\xaf" },
		{ "\xf0\x80\x80\xaf", "\\xf0\\x80\\x80\\xaf" },
		{ "\xed\xa0\x80", "\\xed\\xa0\\x80" },	/* a surrogate */
		{ "\xf4\x90\x80\x80", "\\xf4\\x90\\x80\\x80" },
		{ "\xf5\x80\x80\x80", "\\xf5\\x80\\x80\\x80" },
		{ "\xe2\x82", "\\xe2\\x82" },		/* ends too early */
		{ "\xe2\x82z", "\\xe2\\x82z" },
		{ "\xff\xfe", "\\xff\\xfe" },
	};
	const struct sa_attribute *attr = find(IB_MAD_ATTR_SERVICE_RECORD);
	uint64_t mask = cl_ntoh64(IB_SR_COMPMASK_SNAME);

	for (size_t i = 0; i < COUNT(texts); i++) {
		ib_service_record_t rec;
		char expected[300];
		const char *object;

		memset(&rec, 0, sizeof(rec));
		memcpy(rec.service_name, texts[i].wire,
		       strlen(texts[i].wire));
		snprintf(expected, sizeof(expected), "service_name \"%s\"",
			 texts[i].text);
		ck_assert_str_eq(text_of(attr, mask, &rec, sizeof(rec),
					 false), expected);
		object = query(attr, mask, &rec, sizeof(rec),
			       false);
		ck_assert_int_eq(json_read_member(object, "service_name")[0],
				 '"');
	}
}
END_TEST

/* A name that fills its field has no NUL; a character may be cut by its end */
START_TEST(text_without_an_end)
{
	const struct sa_attribute *attr = find(IB_MAD_ATTR_NODE_RECORD);
	uint64_t mask = cl_ntoh64(IB_NR_COMPMASK_NODEDESC);
	ib_node_record_t rec;
	const char *text;

	memset(&rec, 'n', sizeof(rec));
	text = text_of(attr, mask, &rec, sizeof(rec), false);
	ck_assert_uint_eq(strlen(text), strlen("node_description ") + 66);

	memcpy(&rec.node_desc.description[62], "\xe2\x82", 2);
	memset(rec.pad, 0xac, sizeof(rec.pad));
	text = text_of(attr, mask, &rec, sizeof(rec), false);
	ck_assert_ptr_nonnull(strstr(text, "nn\\xe2\\x82\""));
}
END_TEST

START_TEST(every_byte_in_text_is_printable)
{
	const struct sa_attribute *attr = find(IB_MAD_ATTR_NODE_RECORD);
	uint64_t mask = cl_ntoh64(IB_NR_COMPMASK_NODEDESC);
	ib_node_record_t rec;

	memset(&rec, 0, sizeof(rec));
	for (unsigned int i = 0; i < 65536; i++) {
		const char *text;

		rec.node_desc.description[0] = (uint8_t)(i >> 8);
		rec.node_desc.description[1] = (uint8_t)i;
		text = text_of(attr, mask, &rec, sizeof(rec), false);
		ck_assert(text_is_printable(text, strlen(text)));
	}
}
END_TEST

/*
 * Any attribute or none, any mask, any bytes of any length: JSON that another
 * reader takes, with each component that the mask names, and printable text.
 */
START_TEST(random_queries)
{
	static char text[4096];

	for (int i = 0; i < 100000; i++) {
		size_t which = random64() % (sa_attributes_count + 1);
		const struct sa_attribute *attr =
			which < sa_attributes_count ?
			&sa_attributes[which] : NULL;
		uint64_t mask = random64();
		size_t len = random64() % 220, n;
		uint8_t *rec = malloc(len ? len : 1);
		bool show_keys = random64() & 1;
		const char *object;

		if (random64() & 1)
			mask &= random64() & random64();
		random_bytes(rec, len);
		if (len > 16 && (random64() & 3)) {
			rec[15] &= 7;
			rec[16] &= 7;
		}
		object = query(attr, mask, rec, len, show_keys);
		ck_assert_uint_le(json_read_count(object), 66);
		n = sa_query_text(text, random64() % sizeof(text) + 1, attr,
				  mask, rec, len, show_keys);
		ck_assert_uint_eq(strlen(text), n);
		ck_assert(text_is_printable(text, n));
		free(rec);
	}
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("attributes");
	TCase *tcase = tcase_create("attributes");

	tcase_set_timeout(tcase, 300);
	tcase_add_test(tcase, unknown_attributes);
	tcase_add_test(tcase, no_attribute_gives_components_by_number);
	tcase_add_test(tcase, no_mask_gives_nothing);
	tcase_add_test(tcase, no_record);
	tcase_add_test(tcase, cut_records);
	tcase_add_test(tcase, text_in_small_buffers);
	tcase_add_test(tcase, json_in_a_small_buffer);
	tcase_add_test(tcase, table_is_in_order);
	tcase_add_test(tcase, kinds_suit_their_widths);
	tcase_add_test(tcase, layouts_are_those_of_ib_types);
	tcase_add_test(tcase, reserved_components);
	tcase_add_test(tcase, opensm_handles_these);
	tcase_add_test(tcase, accessors_read_the_same);
	tcase_add_test(tcase, path_record_query);
	tcase_add_test(tcase, join_states);
	tcase_add_test(tcase, join_line);
	tcase_add_test(tcase, member_record_as_opensm_packs_it);
	tcase_add_test(tcase, sl_to_vl_as_opensm_packs_it);
	tcase_add_test(tcase, mft_position_and_block);
	tcase_add_test(tcase, keys_are_hidden);
	tcase_add_test(tcase, only_keys_are_hidden);
	tcase_add_test(tcase, multipath_gids);
	tcase_add_test(tcase, multipath_with_all_gids);
	tcase_add_test(tcase, text_is_escaped);
	tcase_add_test(tcase, text_without_an_end);
	tcase_add_test(tcase, every_byte_in_text_is_printable);
	tcase_add_test(tcase, random_queries);
	suite_add_tcase(suite, tcase);
	return run_suite(suite);
}
