/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
#ifndef OSMSNOOP_TEST_CALLER_H
#define OSMSNOOP_TEST_CALLER_H

#include <stdlib.h>
#include <string.h>

#include <opensm/osm_config.h>
#include <iba/ib_types.h>
#include <opensm/osm_madw.h>
#include <vendor/osm_vendor_api.h>

typedef ib_api_status_t (*caller_send_fn)(osm_bind_handle_t, osm_madw_t *,
					  boolean_t);
typedef osm_bind_handle_t (*caller_bind_fn)(osm_vendor_t *, osm_bind_info_t *,
					    osm_mad_pool_t *,
					    osm_vend_mad_recv_callback_t,
					    osm_vend_mad_send_err_callback_t,
					    void *);

osm_bind_handle_t caller_bind(osm_vendor_t *p_vend);
ib_api_status_t caller_send(osm_bind_handle_t h_bind, osm_madw_t *p_madw);

extern const caller_send_fn caller_const_pointer;
extern caller_send_fn caller_pointer;
extern const char *const caller_inside;

#endif /* OSMSNOOP_TEST_CALLER_H */
