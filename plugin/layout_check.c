/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
#include <string.h>

#include <opensm/osm_version.h>

#include "layout_check.h"

#ifndef HAVE_LIBPTHREAD
#error "osm_config.h has to come first: osm_opensm_t has another layout without HAVE_LIBPTHREAD"
#endif

const char *layout_check(const osm_opensm_t *osm)
{
	/*
	 * Pointers inside osm_opensm_t that lead to other members of it, from
	 * its beginning to its end: each pins the offset of both.
	 */
	const struct {
		const char *member;
		const void *value, *expected;
	} pointers[] = {
		{ "subn.p_osm", osm->subn.p_osm, osm },
		{ "sm.p_subn", osm->sm.p_subn, &osm->subn },
		{ "sm.p_log", osm->sm.p_log, &osm->log },
		{ "sm.p_mad_pool", osm->sm.p_mad_pool, &osm->mad_pool },
		{ "sm.p_vl15", osm->sm.p_vl15, &osm->vl15 },
		{ "sm.p_lock", osm->sm.p_lock, &osm->lock },
		{ "sm.mad_ctrl.p_stats", osm->sm.mad_ctrl.p_stats,
		  &osm->stats },
		{ "sa.sm", osm->sa.sm, &osm->sm },
		{ "sa.p_subn", osm->sa.p_subn, &osm->subn },
		{ "sa.p_log", osm->sa.p_log, &osm->log },
		{ "sa.p_disp", osm->sa.p_disp, &osm->disp },
		{ "sa.p_lock", osm->sa.p_lock, &osm->lock },
		{ "sa.mad_ctrl.p_stats", osm->sa.mad_ctrl.p_stats,
		  &osm->stats },
		{ "p_vendor", osm->p_vendor, osm->sa.p_vendor },
		{ "sa.mad_ctrl.p_set_disp", osm->sa.mad_ctrl.p_set_disp,
		  osm->sa_set_disp_initialized ? &osm->sa_set_disp : NULL },
	};
	size_t i;

	for (i = 0; i < sizeof(pointers) / sizeof(pointers[0]); i++)
		if (pointers[i].value != pointers[i].expected)
			return pointers[i].member;
	if (!osm->p_vendor)
		return "p_vendor";
	/* these two are outside, so only now that the rest is right */
	if (osm->p_vendor->p_log != &osm->log)
		return "p_vendor->p_log";
	if (!osm->osm_version || strcmp(osm->osm_version, OSM_VERSION))
		return "osm_version";
	return NULL;
}
