/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * A program without libosmvendor, which loads all that it needs; run by
 * test_attach. Prints what is wrong and returns 1, or prints nothing.
 *
 *	attach_alone nobody SILENT TAP CALLER
 *	attach_alone nobody_local SILENT TAP CALLER	in no global scope
 *	attach_alone in_place CALLER TAP
 */
#include <dlfcn.h>
#include <stdio.h>

#include <vendor/osm_vendor_snoop.h>

#include "caller.h"

#define check(condition) do { if (!(condition)) { \
	printf("line %d: %s (%s)\n", __LINE__, #condition, why()); \
	return 1; } } while (0)

static __typeof__(osm_vendor_snoop_attach) *attach;
static __typeof__(osm_vendor_snoop_detach) *detach;
static __typeof__(osm_vendor_snoop_strerror) *why;
static __typeof__(osm_vendor_snoop_bind) *snoop_bind;
static __typeof__(osm_vendor_snoop_unbind) *snoop_unbind;
static __typeof__(osm_vendor_snoop_get_stats) *get_stats;

static void *load(const char *path, int flags)
{
	void *handle = dlopen(path, flags);

	if (!handle) {
		puts(dlerror());
		exit(1);
	}
	return handle;
}

static void *load_tap(const char *path)
{
	void *tap = load(path, RTLD_LAZY);

	attach = dlsym(tap, "osm_vendor_snoop_attach");
	detach = dlsym(tap, "osm_vendor_snoop_detach");
	why = dlsym(tap, "osm_vendor_snoop_strerror");
	snoop_bind = dlsym(tap, "osm_vendor_snoop_bind");
	snoop_unbind = dlsym(tap, "osm_vendor_snoop_unbind");
	get_stats = dlsym(tap, "osm_vendor_snoop_get_stats");
	return tap;
}

static void on_capture(osm_madw_t *p_madw, const osm_snoop_info_t *p_info,
		       void *context)
{
	(void)p_madw;
	(void)p_info;
	(void)context;
}

static osm_vendor_t vendor;
static osm_mad_pool_t pool;

static osm_bind_handle_t bind_default(void)
{
	const osm_snoop_bind_info_t info = { .size = sizeof(info),
					     .source = OSM_SNOOP_SOURCE_TAP,
					     .ring_size = 64 * 1024 };

	return snoop_bind(&vendor, &info, &pool, on_capture, NULL);
}

/* IB_NOT_FOUND when nobody calls; what a call does before, with and after. */
static int nobody(int scope, const char *silent, const char *tap,
		  const char *caller)
{
	__typeof__(caller_send) *send;
	__typeof__(caller_bind) *bind;
	osm_snoop_stats_t stats;
	osm_bind_handle_t h;
	uint8_t mad[256] = { 1, 3 };
	osm_madw_t madw = { .p_mad = (ib_mad_t *)mad, .mad_size = 256 };
	void **vendor_handle, *handle;

	load(silent, RTLD_NOW | scope);
	load_tap(tap);
	/* that the tap finds itself does not mean that others do */
	check(!bind_default());
	check(strstr(why(), "this process is not tapped"));
	check(attach() == IB_NOT_FOUND);
	check(strstr(why(), "no loaded object calls"));
	check(detach() == IB_SUCCESS);

	handle = load(caller, RTLD_LAZY);
	send = dlsym(handle, "caller_send");
	bind = dlsym(handle, "caller_bind");
	check(attach() == IB_SUCCESS);
	vendor_handle = bind(&vendor);
	check(vendor_handle && vendor_handle[0] == &vendor);
	/* its callback is the tap's now */
	check(vendor_handle[1] && vendor_handle[2]);
	madw.h_bind = vendor_handle;
	h = bind_default();
	check(h);
	check(send(vendor_handle, &madw) == IB_RESOURCE_BUSY);
	check(get_stats(h, &stats) == IB_SUCCESS && stats.seen == 1);
	check(detach() == IB_SUCCESS);
	check(send(vendor_handle, &madw) == IB_RESOURCE_BUSY);
	check(get_stats(h, &stats) == IB_SUCCESS && stats.seen == 1);
	/* what the dynamic linker has resolved since, too */
	check(attach() == IB_SUCCESS);
	check(send(vendor_handle, &madw) == IB_RESOURCE_BUSY);
	check(get_stats(h, &stats) == IB_SUCCESS && stats.seen == 2);
	snoop_unbind(h);
	return 0;
}

/* Tapped by the link order of a loaded object, unknown to the program. */
static int in_place(const char *caller, const char *tap)
{
	osm_bind_handle_t h;

	load(caller, RTLD_NOW | RTLD_LOCAL);
	load_tap(tap);
	check(!dlsym(RTLD_DEFAULT, "osm_vendor_send"));
	check(attach() == IB_SUCCESS);
	h = bind_default();
	check(h);
	snoop_unbind(h);
	/* nothing was attached, and what is in place stays */
	check(detach() == IB_SUCCESS);
	h = bind_default();
	check(h);
	snoop_unbind(h);
	return 0;
}

int main(int argc, char **argv)
{
	if (argc == 5 && !strcmp(argv[1], "nobody"))
		return nobody(RTLD_GLOBAL, argv[2], argv[3], argv[4]);
	if (argc == 5 && !strcmp(argv[1], "nobody_local"))
		return nobody(RTLD_LOCAL, argv[2], argv[3], argv[4]);
	if (argc == 4 && !strcmp(argv[1], "in_place"))
		return in_place(argv[2], argv[3]);
	fprintf(stderr, "usage: see the source\n");
	return 2;
}
