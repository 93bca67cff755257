/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
#include <string.h>

#include "madw.h"

static enum mad_completion completion_of(ib_api_status_t status)
{
	switch (status) {
	case IB_SUCCESS:
		return MAD_OK;
	case IB_TIMEOUT:
		return MAD_TIMEOUT;
	case IB_CANCELED:
		return MAD_CANCELED;
	default:
		return MAD_ERROR;
	}
}

static void fill_peer(struct mad_peer *peer, const osm_mad_addr_t *addr,
		      uint8_t mgmt_class)
{
	memset(peer, 0, sizeof(*peer));
	peer->lid = cl_ntoh16(addr->dest_lid);
	if (mad_is_smp(mgmt_class))
		return;
	peer->qpn = cl_ntoh32(addr->addr_type.gsi.remote_qp) & 0xffffff;
	peer->has_gid = addr->addr_type.gsi.global_route;
	/* the vendor layer keeps the other end's GID here, both ways */
	if (peer->has_gid)
		memcpy(peer->gid, &addr->addr_type.gsi.grh_info.dest_gid,
		       sizeof(peer->gid));
}

static void fill_route(struct mad_route *route, const osm_mad_addr_t *addr,
		       const osm_snoop_info_t *info, uint8_t mgmt_class)
{
	const ib_grh_t *grh = &addr->addr_type.gsi.grh_info;

	memset(route, 0, sizeof(*route));
	route->port_guid = cl_ntoh64(info->port_guid);
	route->local_lid = cl_ntoh16(info->local_lid);
	if (mad_is_smp(mgmt_class))
		return;
	route->sl = addr->addr_type.gsi.service_level;
	if (!addr->addr_type.gsi.global_route)
		return;
	route->hop_limit = grh->hop_limit;
	/* the vendor layer leaves it in host order */
	ib_grh_get_ver_class_flow(grh->ver_class_flow, NULL,
				  &route->traffic_class, &route->flow_label);
}

bool madw_capture(const osm_madw_t *p_madw, const osm_snoop_info_t *p_info,
		  struct mad_capture *cap)
{
	if (p_madw->mad_size < MAD_HDR_SIZE)
		return false;
	*cap = (struct mad_capture){
		.data = (const uint8_t *)p_madw->p_mad,
		.len = p_madw->mad_size,
		.size = p_info->original_size,
		.time_ns = p_info->time_ns,
		.mono_ns = p_info->monotonic_ns,
		.sent = p_info->direction == OSM_SNOOP_SENT,
		.above_rmpp = p_info->source == OSM_SNOOP_SOURCE_TAP,
		.thread = p_info->thread,
		.completion = completion_of(p_madw->status),
		.lost = p_info->lost,
	};
	fill_peer(&cap->peer, &p_madw->mad_addr, cap->data[MAD_CLASS]);
	fill_route(&cap->route, &p_madw->mad_addr, p_info,
		   cap->data[MAD_CLASS]);
	return true;
}
