/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* What the snoop bind hands over, as mad/ sees it. */
#ifndef OSMSNOOP_MADW_H
#define OSMSNOOP_MADW_H

#include <opensm/osm_config.h>
#include <vendor/osm_vendor_snoop.h>

#include "layout.h"

/*
 * Make a capture of a wrapper, whose bytes it points to. All but the condition
 * is set. False: less than a MAD's header was captured, and nothing is set.
 */
bool madw_capture(const osm_madw_t *p_madw, const osm_snoop_info_t *p_info,
		  struct mad_capture *cap);

#endif /* OSMSNOOP_MADW_H */
