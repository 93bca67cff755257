/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * A libosmvendor.so.5 that calls nothing of its own, so that a process can be
 * had in which nobody calls osm_vendor_bind or osm_vendor_send. The real one
 * calls both. It stands for no more than the three names that
 * libosmvendor_snoop wants from it.
 */
#include "caller.h"

#include <opensm/osm_mad_pool.h>

osm_bind_handle_t osm_vendor_bind(osm_vendor_t *const p_vend,
				  osm_bind_info_t *const p_info,
				  osm_mad_pool_t *const p_mad_pool,
				  osm_vend_mad_recv_callback_t recv,
				  osm_vend_mad_send_err_callback_t send_err,
				  void *context)
{
	static void *handle[3];

	(void)p_info;
	(void)p_mad_pool;
	(void)send_err;
	/* what a handle begins with, and what the tap made of the client */
	handle[0] = p_vend;
	handle[1] = (void *)recv;
	handle[2] = context;
	return handle;
}

ib_api_status_t osm_vendor_send(osm_bind_handle_t h_bind,
				osm_madw_t *const p_madw,
				boolean_t const resp_expected)
{
	(void)h_bind;
	(void)p_madw;
	(void)resp_expected;
	return IB_RESOURCE_BUSY;
}

osm_madw_t *osm_mad_pool_get(osm_mad_pool_t *p_pool, osm_bind_handle_t h_bind,
			     uint32_t total_size,
			     const osm_mad_addr_t *p_mad_addr)
{
	(void)p_pool;
	(void)h_bind;
	(void)total_size;
	(void)p_mad_addr;
	return NULL;
}
