/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * stream_client: a program on OpenSM's vendor layer that sees, by source
 * stream, the SA's MADs of an OpenSM beside it, until SIGINT.
 *
 *	stream_client SOCKET FILE
 *
 * FILE has a line a capture: direction, LID, TID, method, size; and then one of
 * the counters: "stats" seen delivered merged lost_ring gaps. It is there as
 * soon as the bind is.
 */
#include <err.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <unistd.h>

#include <vendor/osm_vendor_snoop.h>
#include <vendor/osm_vendor_api.h>

static osm_mad_pool_t pool;

static void on_mad(osm_madw_t *p_madw, const osm_snoop_info_t *p_info,
		   void *context)
{
	const ib_mad_t *mad = osm_madw_get_mad_ptr(p_madw);

	fprintf(context, "%s %u 0x%016" PRIx64 " 0x%02x %u\n",
		p_info->direction == OSM_SNOOP_SENT ? "sent" : "received",
		cl_ntoh16(p_madw->mad_addr.dest_lid),
		cl_ntoh64(mad->trans_id), mad->method,
		p_info->original_size);
	osm_mad_pool_put(&pool, p_madw);
}

int main(int argc, char **argv)
{
	const umad_filter_t filter = { .mgmt_class = IB_MCLASS_SUBN_ADM };
	osm_snoop_bind_info_t info = {
		.size = sizeof(info), .source = OSM_SNOOP_SOURCE_STREAM,
		.flags = OSM_SNOOP_REASSEMBLE,
		.p_filters = &filter, .filter_count = 1,
	};
	osm_bind_handle_t h_snoop;
	osm_snoop_stats_t stats;
	osm_log_t log = { 0 };
	osm_vendor_t *vend;
	sigset_t set;
	FILE *out;
	int sig;

	if (argc != 3)
		errx(2, "usage: stream_client SOCKET FILE");
	info.source_arg = argv[1];
	sigemptyset(&set);
	sigaddset(&set, SIGINT);
	sigprocmask(SIG_BLOCK, &set, NULL);
	osm_log_construct(&log);
	osm_mad_pool_construct(&pool);
	if (osm_log_init_v2(&log, TRUE, OSM_LOG_ERROR | OSM_LOG_INFO, "stderr",
			    0, FALSE) ||
	    osm_mad_pool_init(&pool) || !(vend = osm_vendor_new(&log, 1000)))
		errx(1, "no vendor layer");
	out = fopen(argv[2], "w");
	if (!out)
		err(1, "%s", argv[2]);
	h_snoop = osm_vendor_snoop_bind(vend, &info, &pool, on_mad, out);
	if (h_snoop == OSM_BIND_INVALID_HANDLE) {
		unlink(argv[2]);
		errx(1, "%s", osm_vendor_snoop_strerror());
	}
	sigwait(&set, &sig);
	osm_vendor_snoop_unbind(h_snoop);
	osm_vendor_snoop_get_stats(h_snoop, &stats);
	fprintf(out, "stats %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64
		" %" PRIu64 "\n", stats.seen, stats.delivered, stats.merged,
		stats.lost_ring, stats.gaps);
	fclose(out);
	osm_vendor_delete(&vend);
	return 0;
}
