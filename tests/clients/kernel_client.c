/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * kernel_client: what a kernel says to a snoop registration, and what becomes
 * of snoop binds then. A line each, `name value`, among those of OpenSM's log;
 * run by tests/vm/kernel.sh.
 */
#include <dirent.h>
#include <err.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <infiniband/umad.h>
#include <infiniband/umad_snoop.h>
#include <vendor/osm_vendor_snoop.h>
#include <vendor/osm_vendor_api.h>
#include <opensm/osm_log.h>

enum { ROUNDS = 20 };

static osm_log_t osm_log_object;
static osm_mad_pool_t pool;
static osm_vendor_t *vendor;

static unsigned entries(const char *path)
{
	DIR *dir = opendir(path);
	unsigned n = 0;

	if (!dir)
		err(1, "%s", path);
	while (readdir(dir))
		n++;
	closedir(dir);
	return n;
}

static void show(const char *name, int value)
{
	printf("%s %d\n", name, value);
}

static void registrations(const char *device)
{
	umad_filter_t gsi = { 0 }, smi = { .mgmt_class = 0x01 },
		      sa = { .mgmt_class = 0x03, .attr_id = 0x35 };
	int port;

	if (umad_init() < 0)
		errx(1, "umad_init");
	port = umad_open_port(device, 1);
	if (port < 0)
		errx(1, "%s: cannot be opened: %d", device, port);
	show("bad_port", umad_register_snoop(-1, &gsi, sizeof(gsi)));
	show("bad_filter", umad_register_snoop(port, NULL, sizeof(gsi)));
	show("bad_length", umad_register_snoop(port, &gsi, 7));
	show("all", umad_register_snoop(port, &gsi, sizeof(gsi)));
	show("smi", umad_register_snoop(port, &smi, sizeof(smi)));
	show("sa", umad_register_snoop(port, &sa, sizeof(sa)));
	/* an agent that is no snoop is welcome as ever */
	show("agent", umad_register(port, 0x04, 1, 0, NULL) >= 0);
	umad_close_port(port);
	/* closed: nothing of ours is open under this number */
	show("closed_port", umad_register_snoop(port, &gsi, sizeof(gsi)));
}

static void take(osm_madw_t *p_madw, const osm_snoop_info_t *p_info,
		 void *context)
{
	(void)p_info;
	(void)context;
	osm_mad_pool_put(&pool, p_madw);
}

static osm_bind_handle_t try_bind(osm_snoop_source_t source)
{
	const osm_snoop_bind_info_t info = {
		.size = sizeof(info),
		.source = source,
		.ring_size = 64 * 1024,
	};

	return osm_vendor_snoop_bind(vendor, &info, &pool, take, NULL);
}

static void binds(void)
{
	osm_bind_handle_t h = try_bind(OSM_SNOOP_SOURCE_KERNEL);
	unsigned fds, tasks;
	int i;

	printf("kernel %s\n", h == OSM_BIND_INVALID_HANDLE ?
				      osm_vendor_snoop_strerror() : "bound");
	h = try_bind(OSM_SNOOP_SOURCE_AUTO);
	printf("auto %s\n",
	       h == OSM_BIND_INVALID_HANDLE ?
		       osm_vendor_snoop_strerror() :
		       osm_vendor_snoop_source_name(
			       osm_vendor_snoop_get_source(h)));
	osm_vendor_snoop_unbind(h);
	usleep(100000);
	fds = entries("/proc/self/fd");
	tasks = entries("/proc/self/task");
	for (i = 0; i < ROUNDS; i++) {
		try_bind(OSM_SNOOP_SOURCE_KERNEL);
		h = try_bind(OSM_SNOOP_SOURCE_AUTO);
		osm_vendor_snoop_unbind(h);
	}
	/* a thread that was joined is a task for a moment still */
	for (i = 0; i < 1000 && entries("/proc/self/task") > tasks; i++)
		usleep(1000);
	show("fds_more", (int)(entries("/proc/self/fd") - fds));
	show("tasks_more", (int)(entries("/proc/self/task") - tasks));
}

int main(int argc, char **argv)
{
	if (argc != 2)
		errx(2, "usage: kernel_client DEVICE");
	setvbuf(stdout, NULL, _IOLBF, 0);
	registrations(argv[1]);
	osm_log_construct(&osm_log_object);
	if (osm_log_init_v2(&osm_log_object, TRUE,
			    OSM_LOG_ERROR | OSM_LOG_INFO, "-", 0,
			    FALSE) != IB_SUCCESS)
		errx(1, "no log");
	osm_mad_pool_construct(&pool);
	osm_mad_pool_init(&pool);
	vendor = osm_vendor_new(&osm_log_object, 1000);
	if (!vendor)
		errx(1, "no vendor object");
	binds();
	osm_vendor_delete(&vendor);
	osm_mad_pool_destroy(&pool);
	osm_log_destroy(&osm_log_object);
	return EXIT_SUCCESS;
}
