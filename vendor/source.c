/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Which sources there are, by name, and which one a bind gets. */
#include <stdarg.h>
#include <stdio.h>

#include <vendor/osm_vendor_snoop.h>

#include "error.h"
#include "source.h"

static const char *const names[] = {
	[OSM_SNOOP_SOURCE_AUTO] = "auto",
	[OSM_SNOOP_SOURCE_TAP] = "tap",
	[OSM_SNOOP_SOURCE_KERNEL] = "kernel",
	[OSM_SNOOP_SOURCE_BPF] = "bpf",
	[OSM_SNOOP_SOURCE_STREAM] = "stream",
};

/* Text that is put together; what does not fit is cut. */
struct text {
	char bytes[400];
	size_t len;
};

static void text_add(struct text *t, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

static void text_add(struct text *t, const char *fmt, ...)
{
	va_list args;
	int n;

	va_start(args, fmt);
	n = vsnprintf(t->bytes + t->len, sizeof(t->bytes) - t->len, fmt, args);
	va_end(args);
	if (n > 0)
		t->len += (size_t)n;
	if (t->len >= sizeof(t->bytes))
		t->len = sizeof(t->bytes) - 1;
}

const char *osm_vendor_snoop_source_name(osm_snoop_source_t source)
{
	return (unsigned)source < sizeof(names) / sizeof(names[0]) ?
		       names[source] : NULL;
}

static const struct source *source_find(osm_snoop_source_t id)
{
	const struct source *const *s;

	for (s = source_table; *s; s++)
		if ((*s)->id == id)
			return *s;
	return NULL;
}

boolean_t osm_vendor_snoop_source_is_built_in(osm_snoop_source_t source)
{
	return source == OSM_SNOOP_SOURCE_AUTO || source_find(source);
}

static void say_not_built_in(osm_snoop_source_t id)
{
	const char *name = osm_vendor_snoop_source_name(id);
	const struct source *const *s;
	struct text accepted = { .len = 0 };
	char number[32];

	snprintf(number, sizeof(number), "number %u", (unsigned)id);
	text_add(&accepted, "auto");
	for (s = source_table; *s; s++)
		text_add(&accepted, "%s%s", s[1] ? ", " : " and ",
			 osm_vendor_snoop_source_name((*s)->id));
	snoop_error("source %s is not built in; accepted are %s",
		    name ? name : number, accepted.bytes);
}

static const struct source *open_first(osm_vendor_t *p_vend,
				       osm_snoop_bind_info_t *info,
				       void **state)
{
	const struct source *const *s;
	struct text why = { .len = 0 };

	for (s = source_table; *s; s++) {
		if ((*s)->by_name_only)
			continue;
		info->source = (*s)->id;
		if ((*s)->open(p_vend, info, state) == IB_SUCCESS)
			break;
		text_add(&why, "%s%s: %s", why.len ? "; " : "",
			 osm_vendor_snoop_source_name((*s)->id),
			 osm_vendor_snoop_strerror());
	}
	if (!*s)
		snoop_error("no source opens: %s", why.bytes);
	else if (why.len)
		osm_log_v2(p_vend->p_log, OSM_LOG_INFO, OSMSNOOP_FILE_ID,
			   "SNOOP: source %s is used; what comes before it does not open: %s\n",
			   osm_vendor_snoop_source_name((*s)->id), why.bytes);
	return *s;
}

const struct source *source_open(osm_vendor_t *p_vend,
				 osm_snoop_bind_info_t *info, void **state)
{
	const struct source *s;

	if (info->source == OSM_SNOOP_SOURCE_AUTO)
		return open_first(p_vend, info, state);
	s = source_find(info->source);
	if (!s) {
		say_not_built_in(info->source);
		return NULL;
	}
	return s->open(p_vend, info, state) == IB_SUCCESS ? s : NULL;
}
