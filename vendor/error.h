/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Why a call failed: for the caller's thread, and in the OpenSM log. */
#ifndef OSMSNOOP_ERROR_H
#define OSMSNOOP_ERROR_H

#include <opensm/osm_config.h>
#include <opensm/osm_log.h>

/* OpenSM numbers the files that log; this one is none of its own. */
#define OSMSNOOP_FILE_ID 255

/*
 * Keep the text for osm_vendor_snoop_strerror() of this thread.
 */
void snoop_error(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/* Write the kept text to the OpenSM log as "ERR <code>: ...". */
void snoop_error_log(osm_log_t *p_log, const char *code);

#endif /* OSMSNOOP_ERROR_H */
