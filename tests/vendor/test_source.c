/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Which source a bind gets. The table of sources is this program's: three that
 * are doubles, then the tap. A double opens when the test says so and has no
 * captures; it stands for a source that may not be there on this machine.
 */
#include <check.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <vendor/osm_vendor_snoop.h>

#include "double.h"
#include "error.h"
#include "source.h"
#include "../run.h"

/* Check tells its parent of each assertion passed: too slow in long loops. */
#define check(condition) do { if (!(condition)) \
	ck_abort_msg("%s", #condition); } while (0)

static bool kernel_opens, bpf_opens;
static osm_snoop_source_t opened_as;
static _Atomic bool stopped;

static ib_api_status_t open_double(bool opens, const char *why,
				   const osm_snoop_bind_info_t *info,
				   void **state)
{
	static int nothing;

	if (!opens) {
		snoop_error("%s", why);
		return IB_NOT_FOUND;
	}
	opened_as = info->source;
	stopped = false;
	*state = &nothing;
	return IB_SUCCESS;
}

static ib_api_status_t kernel_open(osm_vendor_t *p_vend,
				   const osm_snoop_bind_info_t *info,
				   void **state)
{
	(void)p_vend;
	return open_double(kernel_opens, "the kernel says no", info, state);
}

static ib_api_status_t bpf_open(osm_vendor_t *p_vend,
				const osm_snoop_bind_info_t *info,
				void **state)
{
	(void)p_vend;
	return open_double(bpf_opens, "no such program", info, state);
}

static int no_next(void *state, struct source_capture *capture)
{
	(void)state;
	(void)capture;
	usleep(1000);
	return stopped ? -1 : 0;
}

static void no_stop(void *state)
{
	(void)state;
	stopped = true;
}

static void no_stats(void *state, osm_snoop_stats_t *stats)
{
	(void)state;
	stats->seen = 17;
}

static void no_close(void *state, osm_snoop_stats_t *stats)
{
	no_stats(state, stats);
}

static const struct source kernel_double = {
	.id = OSM_SNOOP_SOURCE_KERNEL,
	.open = kernel_open,
	.next = no_next,
	.stop = no_stop,
	.get_stats = no_stats,
	.close = no_close,
};

static const struct source bpf_double = {
	.id = OSM_SNOOP_SOURCE_BPF,
	.open = bpf_open,
	.next = no_next,
	.stop = no_stop,
	.get_stats = no_stats,
	.close = no_close,
};

/* AUTO is not to come to it. */
static const struct source stream_double = {
	.id = OSM_SNOOP_SOURCE_STREAM,
	.by_name_only = true,
	.open = bpf_open,
	.next = no_next,
	.stop = no_stop,
	.get_stats = no_stats,
	.close = no_close,
};

const struct source *const source_table[] = {
	&stream_double, &kernel_double, &bpf_double, &source_tap, NULL,
};

static osm_vendor_t vendor;
static osm_log_t osm_log_object;
static osm_mad_pool_t pool;
static char log_name[64];

static void setup(void)
{
	int fd;

	strcpy(log_name, "/tmp/osmsnoop_test_source.XXXXXX");
	fd = mkstemp(log_name);
	check(fd >= 0);
	close(fd);
	check(osm_log_init(&osm_log_object, TRUE,
			   OSM_LOG_ERROR | OSM_LOG_INFO, log_name,
			   FALSE) == IB_SUCCESS);
	check(osm_mad_pool_init(&pool) == IB_SUCCESS);
	vendor.p_log = &osm_log_object;
}

static void teardown(void)
{
	osm_mad_pool_destroy(&pool);
	osm_log_destroy(&osm_log_object);
	unlink(log_name);
}

static unsigned log_lines(const char *text)
{
	char line[1024];
	unsigned n = 0;
	FILE *file = fopen(log_name, "r");

	check(file);
	while (fgets(line, sizeof(line), file))
		n += strstr(line, text) != NULL;
	fclose(file);
	return n;
}

static void on_capture(osm_madw_t *p_madw, const osm_snoop_info_t *p_info,
		       void *context)
{
	(void)p_info;
	(void)context;
	osm_mad_pool_put(&pool, p_madw);
}

static osm_bind_handle_t bind_source(osm_snoop_source_t source)
{
	const osm_snoop_bind_info_t info = { .size = sizeof(info),
					     .ring_size = 64 * 1024,
					     .source = source };

	return osm_vendor_snoop_bind(&vendor, &info, &pool, on_capture, NULL);
}

/* The tap does not open: all of its places are taken. */
static void fill_the_tap(osm_bind_handle_t taken[16])
{
	int i;

	for (i = 0; i < 16; i++) {
		taken[i] = bind_source(OSM_SNOOP_SOURCE_TAP);
		check(taken[i] != OSM_BIND_INVALID_HANDLE);
	}
}

START_TEST(names)
{
	ck_assert_ptr_null(osm_vendor_snoop_source_name(
				(osm_snoop_source_t)-1));
	ck_assert_ptr_null(osm_vendor_snoop_source_name(
				(osm_snoop_source_t)5));
	ck_assert_str_eq(osm_vendor_snoop_source_name(OSM_SNOOP_SOURCE_AUTO),
			 "auto");
	ck_assert_str_eq(osm_vendor_snoop_source_name(OSM_SNOOP_SOURCE_TAP),
			 "tap");
	ck_assert_str_eq(osm_vendor_snoop_source_name(OSM_SNOOP_SOURCE_KERNEL),
			 "kernel");
	ck_assert_str_eq(osm_vendor_snoop_source_name(OSM_SNOOP_SOURCE_BPF),
			 "bpf");
	ck_assert_str_eq(osm_vendor_snoop_source_name(OSM_SNOOP_SOURCE_STREAM),
			 "stream");
}
END_TEST

START_TEST(built_in)
{
	ck_assert_int_eq(osm_vendor_snoop_source_is_built_in(
				 (osm_snoop_source_t)-1), FALSE);
	ck_assert_int_eq(osm_vendor_snoop_source_is_built_in(
				 (osm_snoop_source_t)5), FALSE);
	ck_assert_int_eq(osm_vendor_snoop_source_is_built_in(
				 OSM_SNOOP_SOURCE_STREAM), TRUE);
	ck_assert_int_eq(osm_vendor_snoop_source_is_built_in(
				 OSM_SNOOP_SOURCE_AUTO), TRUE);
	ck_assert_int_eq(osm_vendor_snoop_source_is_built_in(
				 OSM_SNOOP_SOURCE_TAP), TRUE);
	ck_assert_int_eq(osm_vendor_snoop_source_is_built_in(
				 OSM_SNOOP_SOURCE_BPF), TRUE);
}
END_TEST

/* What is accepted comes from the table. */
START_TEST(not_built_in)
{
	ck_assert_ptr_eq(bind_source((osm_snoop_source_t)-1),
			 OSM_BIND_INVALID_HANDLE);
	ck_assert_str_eq(osm_vendor_snoop_strerror(),
			 "source number 4294967295 is not built in; accepted are auto, stream, kernel, bpf and tap");
}
END_TEST

/* Who names a source gets that one or none. */
START_TEST(named_source_does_not_open)
{
	bpf_opens = true;
	ck_assert_ptr_eq(bind_source(OSM_SNOOP_SOURCE_KERNEL),
			 OSM_BIND_INVALID_HANDLE);
	ck_assert_str_eq(osm_vendor_snoop_strerror(), "the kernel says no");
	ck_assert_uint_eq(log_lines("ERR 5D10: the kernel says no"), 1);
	ck_assert_uint_eq(log_lines("SNOOP: source"), 0);
}
END_TEST

START_TEST(auto_finds_none)
{
	osm_bind_handle_t taken[16];
	int i;

	fill_the_tap(taken);
	ck_assert_ptr_eq(bind_source(OSM_SNOOP_SOURCE_AUTO),
			 OSM_BIND_INVALID_HANDLE);
	ck_assert_str_eq(osm_vendor_snoop_strerror(),
			 "no source opens: kernel: the kernel says no; bpf: no such program; tap: all 16 places of the tap are taken");
	ck_assert_uint_eq(log_lines("ERR 5D10: no source opens: kernel: "), 1);
	ck_assert_uint_eq(log_lines("SNOOP: source"), 0);
	for (i = 0; i < 16; i++)
		osm_vendor_snoop_unbind(taken[i]);
}
END_TEST

START_TEST(auto_takes_the_first)
{
	osm_bind_handle_t h;
	osm_snoop_stats_t stats;

	kernel_opens = bpf_opens = true;
	h = bind_source(OSM_SNOOP_SOURCE_AUTO);
	ck_assert(h != OSM_BIND_INVALID_HANDLE);
	ck_assert_int_eq(osm_vendor_snoop_get_source(h),
			 OSM_SNOOP_SOURCE_KERNEL);
	ck_assert_int_eq(opened_as, OSM_SNOOP_SOURCE_KERNEL);
	ck_assert_int_eq(osm_vendor_snoop_get_stats(h, &stats), IB_SUCCESS);
	/* what a source does not know is zero */
	ck_assert_uint_eq(stats.seen, 17);
	ck_assert_uint_eq(stats.ring_bytes + stats.untapped +
			  stats.sends_done_ns + stats.gaps +
			  stats.given_up + stats.reserved[0], 0);
	osm_vendor_snoop_unbind(h);
	ck_assert_uint_eq(log_lines("SNOOP: source"), 0);
}
END_TEST

START_TEST(auto_falls_back)
{
	osm_bind_handle_t h;

	bpf_opens = true;
	h = bind_source(OSM_SNOOP_SOURCE_AUTO);
	ck_assert_int_eq(osm_vendor_snoop_get_source(h), OSM_SNOOP_SOURCE_BPF);
	ck_assert_uint_eq(log_lines("SNOOP: source bpf is used; what comes before it does not open: kernel: the kernel says no\n"), 1);
	osm_vendor_snoop_unbind(h);

	bpf_opens = false;
	h = bind_source(OSM_SNOOP_SOURCE_AUTO);
	ck_assert_int_eq(osm_vendor_snoop_get_source(h), OSM_SNOOP_SOURCE_TAP);
	ck_assert_uint_eq(log_lines("SNOOP: source tap is used; what comes before it does not open: kernel: the kernel says no; bpf: no such program\n"), 1);
	osm_vendor_snoop_unbind(h);
	ck_assert_uint_eq(log_lines("ERR "), 0);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("source");
	TCase *tc = tcase_create("source");

	tcase_add_checked_fixture(tc, setup, teardown);
	tcase_add_test(tc, names);
	tcase_add_test(tc, built_in);
	tcase_add_test(tc, not_built_in);
	tcase_add_test(tc, named_source_does_not_open);
	tcase_add_test(tc, auto_finds_none);
	tcase_add_test(tc, auto_takes_the_first);
	tcase_add_test(tc, auto_falls_back);
	suite_add_tcase(suite, tc);
	return run_suite(suite);
}
