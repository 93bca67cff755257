/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * A double for two functions of libosmvendor, osm_vendor_bind and
 * osm_vendor_send, in a shared object that stands between the tap and the
 * real one. It keeps what the tap relies on: a bind handle begins with the
 * vendor object; a wrapper without a response is freed by osm_vendor_send; a
 * failed one with a response goes to send_err on the sending thread. It has
 * no port, no umad, no match table and no receiver thread: the test calls
 * double_receive() and double_send_err() where that would.
 */
#ifndef OSMSNOOP_TEST_DOUBLE_H
#define OSMSNOOP_TEST_DOUBLE_H

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include <opensm/osm_config.h>
#include <iba/ib_types.h>
#include <opensm/osm_madw.h>
#include <vendor/osm_vendor_api.h>

#include "layout.h"

struct double_bind {
	osm_vendor_t *p_vend;	/* first, as libosmvendor has it */
	osm_vend_mad_recv_callback_t recv;
	osm_vend_mad_send_err_callback_t send_err;
	void *context;
	_Atomic bool failing;	/* umad_send fails */
	_Atomic uint64_t sends;
	/* called in osm_vendor_send, when the MAD is on its way */
	void (*on_wire)(const osm_madw_t *p_madw);
};

/* The handle of osm_vendor_bind, as what it is. */
static inline struct double_bind *double_of(osm_bind_handle_t h_bind)
{
	return h_bind;
}

void double_receive(struct double_bind *b, osm_madw_t *p_madw,
		    osm_madw_t *p_req_madw);
void double_send_err(struct double_bind *b, osm_madw_t *p_madw,
		     ib_api_status_t status);

/* A wrapper as a client has it, from malloc; the bytes count up from `tid`. */
static inline osm_madw_t *madw_new(osm_bind_handle_t h_bind, uint8_t mgmt_class,
				   uint32_t size, uint64_t tid)
{
	osm_madw_t *p_madw = calloc(1, sizeof(*p_madw));
	uint8_t *mad = malloc(size < MAD_HDR_SIZE ? MAD_HDR_SIZE : size);
	uint32_t i;

	for (i = 0; i < size; i++)
		mad[i] = (uint8_t)(tid + i);
	mad[MAD_CLASS] = mgmt_class;
	memcpy(mad + MAD_TID, &tid, sizeof(tid));
	/* so that no RMPP header is cleared: active */
	if (size > RMPP_FLAGS)
		mad[RMPP_FLAGS] = RMPP_FLAG_ACTIVE;
	p_madw->h_bind = h_bind;
	p_madw->mad_size = size;
	p_madw->p_mad = (ib_mad_t *)mad;
	p_madw->mad_addr.dest_lid = cl_hton16((uint16_t)tid);
	return p_madw;
}

static inline void madw_free(osm_madw_t *p_madw)
{
	free((void *)p_madw->p_mad);
	free(p_madw);
}

/* The transaction id that madw_new() was given. */
static inline uint64_t tid_of(const void *p_mad)
{
	uint64_t tid;

	memcpy(&tid, (const uint8_t *)p_mad + MAD_TID, sizeof(tid));
	return tid;
}

#endif /* OSMSNOOP_TEST_DOUBLE_H */
