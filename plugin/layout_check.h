/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Is the OpenSM that loads us laid out as the headers that we were compiled
 * with say? Other builds have other options (HAVE_LIBPTHREAD,
 * ENABLE_OSM_PERF_MGR, DUAL_SIDED_RMPP) and so other offsets under the same
 * version string.
 */
#ifndef OSMSNOOP_LAYOUT_CHECK_H
#define OSMSNOOP_LAYOUT_CHECK_H

#include <opensm/osm_config.h>
#include <opensm/osm_opensm.h>

/*
 * NULL when it is, else which member is not where it should be. Reads only
 * inside *osm, in the state in which create() finds it.
 */
const char *layout_check(const osm_opensm_t *osm);

#endif /* OSMSNOOP_LAYOUT_CHECK_H */
