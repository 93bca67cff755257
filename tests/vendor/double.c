/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
#include "double.h"

osm_bind_handle_t osm_vendor_bind(osm_vendor_t *const p_vend,
				  osm_bind_info_t *const p_info,
				  osm_mad_pool_t *const p_mad_pool,
				  osm_vend_mad_recv_callback_t recv,
				  osm_vend_mad_send_err_callback_t send_err,
				  void *context)
{
	struct double_bind *b = calloc(1, sizeof(*b));

	(void)p_info;
	(void)p_mad_pool;
	b->p_vend = p_vend;
	b->recv = recv;
	b->send_err = send_err;
	b->context = context;
	return b;
}

ib_api_status_t osm_vendor_send(osm_bind_handle_t h_bind,
				osm_madw_t *const p_madw,
				boolean_t const resp_expected)
{
	struct double_bind *b = h_bind;
	bool failed = b->failing;

	b->sends++;
	if (b->on_wire && !failed)
		b->on_wire(p_madw);
	if (!resp_expected)
		madw_free(p_madw);
	else if (failed)
		double_send_err(b, p_madw, IB_ERROR);
	/* what umad_send returns */
	return failed ? (ib_api_status_t)-5 : IB_SUCCESS;
}

void double_receive(struct double_bind *b, osm_madw_t *p_madw,
		    osm_madw_t *p_req_madw)
{
	b->recv(p_madw, b->context, p_req_madw);
}

void double_send_err(struct double_bind *b, osm_madw_t *p_madw,
		     ib_api_status_t status)
{
	p_madw->status = status;
	b->send_err(b->context, p_madw);
}
