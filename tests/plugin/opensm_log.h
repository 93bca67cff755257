/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* An OpenSM log, which is libopensm's, in a file beside the folder of disk.h. */
#ifndef OSMSNOOP_TEST_OPENSM_LOG_H
#define OSMSNOOP_TEST_OPENSM_LOG_H

#include <opensm/osm_config.h>
#include <opensm/osm_log.h>

#include "disk.h"

static char log_path[96];
static osm_log_t log_object;

static inline void log_setup(void)
{
	disk_setup();
	snprintf(log_path, sizeof(log_path), "%s.log", dir);
	osm_log_construct(&log_object);
	ck_assert_int_eq(osm_log_init_v2(&log_object, TRUE, OSM_LOG_ALL,
					 log_path, 0, FALSE), IB_SUCCESS);
}

static inline void log_teardown(void)
{
	osm_log_destroy(&log_object);
	disk_teardown();
	unlink(log_path);
}

static inline unsigned logged(const char *what)
{
	return count(content(log_path), what);
}

#endif /* OSMSNOOP_TEST_OPENSM_LOG_H */
