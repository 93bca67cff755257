/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
#include <stdarg.h>
#include <stdio.h>

#include <vendor/osm_vendor_snoop.h>

#include "error.h"

static _Thread_local char text[512];

void snoop_error(const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	vsnprintf(text, sizeof(text), fmt, args);
	va_end(args);
}

void snoop_error_log(osm_log_t *p_log, const char *code)
{
	if (!p_log)
		return;
	osm_log_v2(p_log, OSM_LOG_ERROR, OSMSNOOP_FILE_ID, "ERR %s: %s\n",
		   code, text);
}

const char *osm_vendor_snoop_strerror(void)
{
	return text[0] ? text : "no error";
}
