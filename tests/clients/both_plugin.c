/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * both_plugin: an event plugin for OpenSM that makes two snoop binds, one with
 * source tap and one with source kernel, and writes what each delivers, byte
 * for byte: what one source sees of a MAD the other is to see too. A third one,
 * wire, is source kernel without OSM_SNOOP_REASSEMBLE.
 *
 * BOTH_OUT names the files: BOTH_OUT.tap, .kernel and .wire. A line a capture:
 *
 *	direction status lid qpn size segments path_bits static_rate qkey
 *	pkey_ix service_level global_route ver_class_flow hop_limit src_gid
 *	dest_gid hex
 *
 * The address is in hex from path_bits on; without a GRH its four are "-". hex
 * leaves out the RMPP header of what has one, but in .wire: OpenSM's buffer has
 * only the Active flag there, the wire has the first segment's.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <opensm/osm_config.h>
#include <opensm/osm_event_plugin.h>
#include <opensm/osm_opensm.h>
#include <opensm/osm_version.h>
#include <vendor/osm_vendor_snoop.h>

enum { RMPP_HEADER = 24, RMPP_END = 36, CLASS_SUBN_ADM = 3 };

struct side {
	const char *name;
	osm_snoop_source_t source;
	uint32_t flags;
	osm_mad_pool_t pool;
	osm_bind_handle_t handle;
	FILE *file;
};

static struct side sides[] = {
	{ .name = "tap", .source = OSM_SNOOP_SOURCE_TAP,
	  .flags = OSM_SNOOP_REASSEMBLE },
	{ .name = "kernel", .source = OSM_SNOOP_SOURCE_KERNEL,
	  .flags = OSM_SNOOP_REASSEMBLE },
	{ .name = "wire", .source = OSM_SNOOP_SOURCE_KERNEL },
};
enum { N_SIDES = sizeof(sides) / sizeof(sides[0]) };

static void write_hex(FILE *file, const void *bytes, size_t n)
{
	const uint8_t *p = bytes;

	while (n--)
		fprintf(file, "%02x", *p++);
}

/* All of it but the LID and the QP. The filter lets nothing but GSI pass. */
static void write_addr(FILE *file, const osm_mad_addr_t *addr)
{
	const ib_grh_t *grh = &addr->addr_type.gsi.grh_info;

	fprintf(file, "%02x %02x %08x %04x %02x %x ", addr->path_bits,
		addr->static_rate, cl_ntoh32(addr->addr_type.gsi.remote_qkey),
		addr->addr_type.gsi.pkey_ix, addr->addr_type.gsi.service_level,
		addr->addr_type.gsi.global_route);
	if (!addr->addr_type.gsi.global_route) {
		fputs("- - - - ", file);
		return;
	}
	/* in host order, as ib_grh_set_ver_class_flow() leaves it */
	fprintf(file, "%08x %02x ", grh->ver_class_flow, grh->hop_limit);
	write_hex(file, &grh->src_gid, sizeof(grh->src_gid));
	fputc(' ', file);
	write_hex(file, &grh->dest_gid, sizeof(grh->dest_gid));
	fputc(' ', file);
}

static void take(osm_madw_t *p_madw, const osm_snoop_info_t *p_info,
		 void *context)
{
	const uint8_t *mad = (const uint8_t *)p_madw->p_mad;
	bool sa = mad[1] == CLASS_SUBN_ADM;
	struct side *side = context;
	uint32_t i;

	fprintf(side->file, "%s %d %u %u %u %u ",
		p_info->direction == OSM_SNOOP_SENT ? "sent" : "received",
		p_madw->status, cl_ntoh16(p_madw->mad_addr.dest_lid),
		sa ? cl_ntoh32(p_madw->mad_addr.addr_type.gsi.remote_qp) : 0,
		p_info->original_size, p_info->segments);
	write_addr(side->file, &p_madw->mad_addr);
	for (i = 0; i < p_madw->mad_size; i++)
		if (!sa || !side->flags || i < RMPP_HEADER || i >= RMPP_END)
			fprintf(side->file, "%02x", mad[i]);
	fputc('\n', side->file);
	osm_mad_pool_put(&side->pool, p_madw);
}

static void side_open(struct side *side, osm_opensm_t *osm)
{
	const umad_filter_t sa = { .mgmt_class = CLASS_SUBN_ADM };
	const osm_snoop_bind_info_t info = {
		.size = sizeof(info),
		.source = side->source,
		.port_guid = osm->subn.opt.guid,
		.p_filters = &sa,
		.filter_count = 1,
		.flags = side->flags,
		.ring_size = 64 * 1024 * 1024,
	};
	char name[4096];

	snprintf(name, sizeof(name), "%s.%s", getenv("BOTH_OUT"), side->name);
	side->file = fopen(name, "w");
	osm_mad_pool_construct(&side->pool);
	if (!side->file || osm_mad_pool_init(&side->pool) != IB_SUCCESS)
		abort();
	side->handle = osm_vendor_snoop_bind(osm->p_vendor, &info, &side->pool,
					     take, side);
	if (side->handle == OSM_BIND_INVALID_HANDLE)
		fprintf(side->file, "%s\n", osm_vendor_snoop_strerror());
}

static void *create(struct osm_opensm *osm)
{
	size_t i;

	if (osm_vendor_snoop_attach() != IB_SUCCESS)
		return NULL;
	for (i = 0; i < N_SIDES; i++)
		side_open(&sides[i], osm);
	return sides;
}

static void delete(void *plugin_data)
{
	size_t i;

	(void)plugin_data;
	for (i = 0; i < N_SIDES; i++) {
		if (sides[i].handle != OSM_BIND_INVALID_HANDLE)
			osm_vendor_snoop_unbind(sides[i].handle);
		fclose(sides[i].file);
	}
	osm_vendor_snoop_detach();
}

osm_event_plugin_t osm_event_plugin = {
	.osm_version = OSM_VERSION,
	.create = create,
	.delete = delete,
};
