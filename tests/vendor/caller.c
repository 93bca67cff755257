/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Calls of the vendor layer, for test_attach to find: built into shared
 * objects with other flags, so that each kind of relocation is there.
 */
#include "caller.h"

osm_bind_handle_t caller_bind(osm_vendor_t *p_vend)
{
	return osm_vendor_bind(p_vend, NULL, NULL, NULL, NULL, NULL);
}

ib_api_status_t caller_send(osm_bind_handle_t h_bind, osm_madw_t *p_madw)
{
	return osm_vendor_send(h_bind, p_madw, TRUE);
}

#ifdef CALLER_POINTERS
/* In a page that is written once by the dynamic linker, and in one of ours. */
const caller_send_fn caller_const_pointer = osm_vendor_send;
caller_send_fn caller_pointer = osm_vendor_send;
/* neither of these is the address of the function */
const char *const caller_inside = (const char *)osm_vendor_send + 1;
#endif
