/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * What OpenSM loads: event_plugin_name osmsnoop. create() runs on OpenSM's
 * main thread before anything is bound, report() on its threads, delete()
 * after SM and SA are unbound.
 */
#include <config.h>

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <syslog.h>

#include <opensm/osm_config.h>
#include <opensm/osm_event_plugin.h>
#include <opensm/osm_opensm.h>
#include <opensm/osm_version.h>

#include "error.h"
#include "layout_check.h"
#include "options.h"
#include "sink.h"
#include "trace.h"

struct plugin {
	struct options options;
	osm_mad_pool_t mad_pool;	/* ours: OpenSM counts its own */
	struct trace *trace;
};

/* OpenSM may be told to load us twice; it would report everything twice. */
static atomic_flag loaded = ATOMIC_FLAG_INIT;

/* When OpenSM's log is not where we think it is. */
static void complain(const char *member)
{
	const char *text = "osmsnoop: ERR 5D01: not loaded: in this OpenSM, osm_opensm_t.%s is not where it is in the one that osmsnoop was built for (" OSM_VERSION "); build osmsnoop with this OpenSM's headers\n";

	fprintf(stderr, text, member);
	syslog(LOG_DAEMON | LOG_ERR, text, member);
}

/* They may be meant for us, and mistyped. */
static void say_others(osm_opensm_t *osm)
{
	char words[512], *p;

	if (!options_others(osm->subn.opt.event_plugin_options, words,
			    sizeof(words)))
		return;
	for (p = words; *p; p++)
		if ((unsigned char)*p < 0x20 || (unsigned char)*p > 0x7e)
			*p = '?';
	osm_log_v2(&osm->log, OSM_LOG_INFO, OSMSNOOP_FILE_ID,
		   "SNOOP: words without the prefix osmsnoop. are left to other plugins: %s\n",
		   words);
}

static struct plugin *plugin_new(osm_opensm_t *osm)
{
	struct plugin *p = calloc(1, sizeof(*p));
	char error[2048];

	if (!p) {
		sink_error(&osm->log, "5D02", "not loaded: no memory");
		return NULL;
	}
	if (!options_parse(&p->options, osm->subn.opt.event_plugin_options,
			   error, sizeof(error))) {
		sink_error(&osm->log, "5D03", "not loaded: %s", error);
		free(p);
		return NULL;
	}
	say_others(osm);
	osm_mad_pool_construct(&p->mad_pool);
	osm_mad_pool_init(&p->mad_pool);
	return p;
}

static void plugin_free(struct plugin *p)
{
	trace_free(p->trace);
	osm_mad_pool_destroy(&p->mad_pool);
	free(p);
}

static void *create(struct osm_opensm *osm)
{
	const char *reason, *member = layout_check(osm);
	struct plugin *p;

	if (member) {
		complain(member);
		return NULL;
	}
	if (osm->sm.mad_ctrl.h_bind || osm->sa.mad_ctrl.h_bind) {
		sink_error(&osm->log, "5D04",
			   "not loaded: OpenSM is bound already, its MADs can no longer be tapped");
		return NULL;
	}
	if (atomic_flag_test_and_set(&loaded)) {
		sink_error(&osm->log, "5D05",
			   "not loaded a second time: event_plugin_name names osmsnoop twice");
		return NULL;
	}
	p = plugin_new(osm);
	if (!p)
		goto unload;
	/* before OpenSM binds, should the tap be what auto comes to */
	if (p->options.source != OSM_SNOOP_SOURCE_KERNEL &&
	    osm_vendor_snoop_attach() != IB_SUCCESS) {
		sink_error(&osm->log, "5D06", "not loaded: %s",
			   osm_vendor_snoop_strerror());
		goto free;
	}
	p->trace = trace_new(osm, &p->options, &p->mad_pool);
	if (!p->trace) {
		sink_error(&osm->log, "5D02", "not loaded: no memory");
		goto detach;
	}
	reason = trace_start(p->trace);
	if (reason) {
		sink_error(&osm->log, "5D07", "not loaded: %s", reason);
		goto detach;
	}
	return p;

detach:
	osm_vendor_snoop_detach();
free:
	plugin_free(p);
unload:
	atomic_flag_clear(&loaded);
	return NULL;
}

static void delete(void *plugin_data)
{
	struct plugin *p = plugin_data;

	trace_stop(p->trace);
	osm_vendor_snoop_detach();
	plugin_free(p);
	atomic_flag_clear(&loaded);
}

static void report(void *plugin_data, osm_epi_event_id_t id, void *data)
{
	struct plugin *p = plugin_data;

	trace_report(p->trace, id, data);
}

__attribute__((visibility("default"))) osm_event_plugin_t osm_event_plugin = {
	.osm_version = OSM_VERSION,
	.create = create,
	.delete = delete,
	.report = report,
};
