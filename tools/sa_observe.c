/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * sa_observe: asks the SA in every way that osmv_query_sa() knows, and shows
 * the MADs of each query. An example for authors; to compile it:
 *	cc sa_observe.c $(pkg-config --cflags --libs libosmvendor_snoop)
 */
#include <err.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <vendor/osm_vendor_snoop.h>
#include <vendor/osm_vendor_api.h>
#include <vendor/osm_vendor_sa_api.h>
#include <opensm/osm_helper.h>

/* What the queries are about; find_target() fills in the rest. */
static struct {
	osmv_guid_pair_t guids;
	osmv_gid_pair_t gids;
	osmv_lid_pair_t lids;
	osmv_multipath_req_t multipath;
	ib_path_rec_t path;
	ib_node_record_t node;
	ib_portinfo_record_t port;
	ib_vl_arb_table_record_t vlarb;
	ib_slvl_table_record_t slvl;
	ib_service_record_t svc;
	ib_member_rec_t member;
	uint8_t beyond[IB_SA_DATA_SIZE];  /* so much of any p_attr is sent */
} in = {
	.multipath = { .sgid_count = 1, .dgid_count = 1, .comp_mask =
		       IB_MPR_COMPMASK_SGIDCOUNT | IB_MPR_COMPMASK_DGIDCOUNT },
	.vlarb.block_num = 1,
	.svc = { .service_name = "sa_observe", .service_lease = CL_HTON32(60) },
	.member = { .mgid.raw = { 0xff, 0x12 }, .scope_state = 1 },
};

#define USER(_method, _attr, mask, p) (&(osmv_user_query_t){ \
	.method = IB_MAD_METHOD_##_method, .attr_id = IB_MAD_ATTR_##_attr, \
	.comp_mask = (mask), .p_attr = (p) })
#define SERVICE(method) USER(method, SERVICE_RECORD, IB_SR_COMPMASK_SID | \
	IB_SR_COMPMASK_SGID | IB_SR_COMPMASK_SPKEY | IB_SR_COMPMASK_SLEASE | \
	IB_SR_COMPMASK_SNAME, &in.svc)
#define MEMBER(method) USER(method, MCMEMBER_RECORD, IB_MCR_COMPMASK_MGID | \
	IB_MCR_COMPMASK_PORT_GID | IB_MCR_COMPMASK_JOIN_STATE | \
	IB_MCR_COMPMASK_QKEY | IB_MCR_COMPMASK_PKEY | IB_MCR_COMPMASK_TCLASS | \
	IB_MCR_COMPMASK_SL | IB_MCR_COMPMASK_FLOW, &in.member)

/* A row a query type: its input. Where the mask is 0, the type knows it. */
static const struct {
	const char *name;
	const void *p_input;
} queries[] = {
#define ROW(type, p_input) [OSMV_QUERY_##type] = { #type, p_input }
	ROW(USER_DEFINED, USER(GET, NODE_RECORD, IB_NR_COMPMASK_LID, &in.node)),
	ROW(ALL_SVC_RECS, NULL),
	ROW(SVC_REC_BY_NAME, in.svc.service_name),
	ROW(SVC_REC_BY_ID, &in.svc.service_id),
	ROW(CLASS_PORT_INFO, NULL),
	ROW(NODE_REC_BY_NODE_GUID, &in.node.node_info.node_guid),
	ROW(PORT_REC_BY_LID, &in.lids.dest_lid),
	ROW(PORT_REC_BY_LID_AND_NUM, USER(GET, PORTINFO_RECORD, 0, &in.port)),
	ROW(VLARB_BY_LID_PORT_BLOCK, USER(GET, VLARB_RECORD, 0, &in.vlarb)),
	ROW(SLVL_BY_LID_AND_PORTS, USER(GET, SLVL_RECORD, 0, &in.slvl)),
	ROW(PATH_REC_BY_PORT_GUIDS, &in.guids),
	ROW(PATH_REC_BY_GIDS, &in.gids),
	ROW(PATH_REC_BY_LIDS, &in.lids),
	ROW(UD_MULTICAST_SET, MEMBER(SET)),
	ROW(UD_MULTICAST_DELETE, MEMBER(DELETE)),
	ROW(MULTIPATH_REC, &in.multipath),
};
enum { N_QUERIES = sizeof(queries) / sizeof(queries[0]) };
enum { SYNC = OSM_SA_FLAGS_SYNC, GRH = 2 };	/* how to ask */

static osm_bind_handle_t sa, h_snoop;
static osm_mad_pool_t pool;
static ib_gid_t sm_gid;
static osmv_query_res_t answer;
static cl_event_t answered, seen;

static void on_mad(osm_madw_t *p_madw, const osm_snoop_info_t *p_info,
		   void *context)
{
	const ib_mad_t *p_mad = osm_madw_get_mad_ptr(p_madw);

	printf("mad %s %s %s tid 0x%016" PRIx64 " lid %u grh %u size %u "
	       "status 0x%04x %s\n", p_info->direction ? "sent" : "received",
	       ib_get_sa_method_str(p_mad->method),
	       ib_get_sa_attr_str(p_mad->attr_id), cl_ntoh64(p_mad->trans_id),
	       cl_ntoh16(p_madw->mad_addr.dest_lid),
	       p_madw->mad_addr.addr_type.gsi.global_route,
	       p_info->original_size, cl_ntoh16(p_mad->status),
	       ib_get_err_str(p_madw->status));
	if (p_info->direction == OSM_SNOOP_RECEIVED || p_madw->status)
		cl_event_signal(&seen);
	osm_mad_pool_put(context, p_madw);
}

static void on_answer(osmv_query_res_t *p_res)
{
	answer = *p_res;
	cl_event_signal(&answered);
}

/*
 * Whether it went well, or this SA does not support it; the first record is
 * copied. Only what on_answer() is told counts: what a synchronous
 * osmv_query_sa() returns it reads from memory that may be free by then.
 */
static boolean_t ask(osmv_query_type_t type, const void *p_input, int how,
		     void *p_rec, size_t size)
{
	const osmv_query_req_t req = {
		.query_type = type, .p_query_input = p_input,
		.flags = how & SYNC, .with_grh = how & GRH, .gid = sm_gid,
		.pfn_query_cb = on_answer,
	};
	uint32_t i, len;
	ib_sa_mad_t *p_sa;
	boolean_t ok;

	printf("query %s %s %s\n", queries[type].name,
	       how & SYNC ? "sync" : "async", how & GRH ? "grh" : "no-grh");
	answer.p_result_madw = NULL;
	cl_event_reset(&seen);
	if (osmv_query_sa(sa, &req) != IB_SUCCESS && !answer.p_result_madw) {
		printf("result refused by the vendor layer\n");
		return TRUE;
	}
	cl_event_wait_on(&answered, EVENT_NO_TIMEOUT, FALSE);
	cl_event_wait_on(&seen, 2000000, FALSE);
	p_sa = osm_madw_get_sa_mad_ptr(answer.p_result_madw);
	len = ib_get_attr_size(p_sa->attr_offset);
	if (!len || len > IB_SA_DATA_SIZE)
		len = IB_SA_DATA_SIZE;
	ok = answer.status == IB_SUCCESS && answer.result_cnt;
	for (i = 0; ok && i < answer.result_cnt * len; i++)
		printf("%s%02x%s", i % len ? "" : "record ", p_sa->data[i],
		       (i + 1) % len ? "" : "\n");
	memcpy(p_rec, p_sa->data, size);
	printf("result %s status 0x%04x records %u\n",
	       ib_get_err_str(answer.status), cl_ntoh16(p_sa->status),
	       ok ? answer.result_cnt : 0);
	ok |= p_sa->status == IB_MAD_STATUS_UNSUP_METHOD_ATTR;
	osm_mad_pool_put(&pool, answer.p_result_madw);
	return ok;
}

#define ASK(type, p_input, p_rec) \
	ask(OSMV_QUERY_##type, p_input, SYNC, p_rec, sizeof(*(p_rec)))

static boolean_t find_target(const umad_port_t *p_port, ib_net64_t target)
{
	in.lids.src_lid = cl_hton16(p_port->base_lid);
	in.lids.dest_lid = cl_hton16(p_port->sm_lid);
	in.guids.src_guid = in.member.mgid.unicast.interface_id =
		in.svc.service_id = p_port->port_guid;
	in.guids.dest_guid = target;
	if (!p_port->sm_lid || !ASK(PATH_REC_BY_LIDS, &in.lids, &in.path))
		return FALSE;
	sm_gid = in.path.dgid;
	if (target && !ASK(PATH_REC_BY_PORT_GUIDS, &in.guids, &in.path))
		return FALSE;
	in.lids.dest_lid = in.node.lid = in.port.lid = in.vlarb.lid =
		in.slvl.lid = in.path.dlid;
	in.guids.dest_guid = in.path.dgid.unicast.interface_id;
	in.gids.src_gid = in.multipath.gids[0] = in.member.port_gid =
		in.svc.service_gid = in.path.sgid;
	in.gids.dest_gid = in.multipath.gids[1] = in.path.dgid;
	in.member.pkey = in.svc.service_pkey = in.path.pkey;
	if (!ASK(USER_DEFINED, queries[0].p_input, &in.node))
		return FALSE;
	in.port.port_num = in.vlarb.port_num =
		ib_node_info_get_local_port_num(&in.node.node_info);
	return TRUE;
}

static int usage(int status)
{
	FILE *file = status ? stderr : stdout;
	int i;

	fprintf(file, "usage: sa_observe [-p PORT_GUID] [-t TARGET_PORT_GUID] "
		"[-n ROUNDS] [-s SERVICE_NAME] [-q TYPE]\n"
		"ROUNDS 1 or more; only what begins with TYPE, of\n");
	for (i = 0; i < N_QUERIES; i++)
		fprintf(file, "\t%s\n", queries[i].name);
	return status;
}

int main(int argc, char **argv)
{
	const umad_filter_t filter = { .mgmt_class = IB_MCLASS_SUBN_ADM };
	osm_snoop_bind_info_t info = {
		.size = sizeof(info), .flags = OSM_SNOOP_REASSEMBLE,
		.p_filters = &filter, .filter_count = 1,
	};
	uint64_t i, number['z'] = { ['n'] = 1 };	/* by option */
	osm_vendor_t *vend;
	int ch, bad, ok;
	osm_log_t log = { 0 };
	char *end, *q = "";	/* types begin so */

	while ((ch = getopt(argc, argv, "n:p:q:s:t:h")) != -1) {
		if (ch == 'h' || ch == '?')
			return usage(ch == 'h' ? 0 : 2);
		number[ch] = strtoull(optarg, &end, 0);
		bad = *end || *optarg == '-' || !number[ch];
		if (ch == 's')
			bad = !memccpy(in.svc.service_name, optarg, 0, 64);
		else if (ch == 'q')
			for (q = optarg, i = 0; bad && i < N_QUERIES; i++)
				bad = strncmp(queries[i].name, q, strlen(q));
		if (bad) {
			warnx("-%c: '%s' is not accepted", ch, optarg);
			return usage(2);
		}
	}
	if (optind < argc)
		return usage(2);
	info.port_guid = cl_hton64(number['p']);
	if (osm_log_init_v2(&log, TRUE, OSM_LOG_ERROR, "stderr", 0, FALSE) ||
	    osm_mad_pool_init(&pool) || cl_event_init(&answered, FALSE) ||
	    cl_event_init(&seen, FALSE) || !(vend = osm_vendor_new(&log, 1000)))
		errx(1, "no vendor layer");
	sa = osmv_bind_sa(vend, &pool, info.port_guid);
	if (sa == OSM_BIND_INVALID_HANDLE)
		errx(number['p'] ? 2 : 1, "%s", number['p'] ?
		     "-p: none of what ibstat -p lists" : "no active port");
	h_snoop = osm_vendor_snoop_bind(vend, &info, &pool, on_mad, &pool);
	if (h_snoop == OSM_BIND_INVALID_HANDLE)
		errx(1, "cannot snoop: %s", osm_vendor_snoop_strerror());
	if (!(ok = find_target(&vend->umad_port, cl_hton64(number['t']))))
		warnx("no SM, or it does not know the target");
	for (i = ok ? 4 * number['n'] : 0; i-- > 0;) {
		ok &= ASK(USER_DEFINED, SERVICE(SET), &in.svc);
		for (ch = 0; ch < N_QUERIES; ch++)
			if (!strncmp(queries[ch].name, q, strlen(q)))
				ok &= ask(ch, queries[ch].p_input, i % 4,
					  in.beyond, 0);
		ok &= ASK(USER_DEFINED, SERVICE(DELETE), &in.svc);
	}
	osm_vendor_snoop_unbind(h_snoop);
	/* or its receiver floods the log when the port goes (ERR 5404) */
	osm_vendor_delete(&vend);
	return !ok;
}
