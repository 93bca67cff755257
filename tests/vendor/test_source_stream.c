/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Source stream, at a socket of the plugin's own (plugin/stream.c), and at
 * sockets of others. What it refuses comes first.
 */
#include <check.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <vendor/osm_vendor_snoop.h>

#include "clock.h"
#include "erf.h"
#include "filter_rows.h"
#include "layout.h"
#include "source.h"
#include "stream.h"
#include "../plugin/opensm_log.h"
#include "../run.h"

/* Check tells its parent of each assertion passed: too slow in long loops. */
#define check(condition) do { if (!(condition)) \
	ck_abort_msg("%s", #condition); } while (0)

static osm_vendor_t vendor;
static struct stream *stream;
static void *state;
static osm_snoop_bind_info_t info;
static struct source_capture got;

static void setup(void)
{
	log_setup();
	vendor.p_log = &log_object;
	state = NULL;
	info = (osm_snoop_bind_info_t){
		.size = sizeof(info), .source = OSM_SNOOP_SOURCE_STREAM,
		.source_arg = path,
		.flags = OSM_SNOOP_SENDS | OSM_SNOOP_RECEIVES,
	};
}

static void plugin_begin(void)
{
	stream = stream_open(path, (gid_t)-1, &log_object);
	ck_assert_ptr_nonnull(stream);
	while (access(path, F_OK))
		usleep(1000);
}

static void plugin_end(void)
{
	stream_close(stream, clock_ns(CLOCK_MONOTONIC) + SECOND);
}

/* Between its bind() and its listen() the plugin may have to wait. */
static void source_begin(void)
{
	int tries = 0;

	while (source_stream.open(&vendor, &info, &state) != IB_SUCCESS &&
	       tries++ < 5000)
		usleep(1000);
	ck_assert_msg(state, "%s", osm_vendor_snoop_strerror());
}

static void source_end(osm_snoop_stats_t *stats)
{
	*stats = (osm_snoop_stats_t){ 0 };
	source_stream.stop(state);
	while (source_stream.next(state, &got) >= 0)
		;
	source_stream.close(state, stats);
}

static void both_begin(void)
{
	plugin_begin();
	source_begin();
}

static void refused(ib_api_status_t status, const char *why)
{
	ck_assert_int_eq(source_stream.open(&vendor, &info, &state), status);
	ck_assert_msg(strstr(osm_vendor_snoop_strerror(), why), "'%s': %s",
		      why, osm_vendor_snoop_strerror());
	ck_assert_ptr_null(state);
}

/* A socket of somebody else, who sends `text` to one and waits or not. */
static struct {
	int fd, client;
	const char *text;
	size_t len;
	bool hangs_up;
	pthread_t thread;
} other;

static void *serve_other(void *context)
{
	(void)context;
	other.client = accept(other.fd, NULL, NULL);
	check(write(other.client, other.text, other.len) ==
	      (ssize_t)other.len);
	if (other.hangs_up)
		close(other.client);
	return NULL;
}

static int bind_other(void)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_STREAM, 0);

	strcpy(address.sun_path, path);
	ck_assert_int_eq(bind(fd, (struct sockaddr *)&address,
			      sizeof(address)), 0);
	return fd;
}

static void other_begin(const void *text, size_t len, bool hangs_up)
{
	other.fd = bind_other();
	listen(other.fd, 1);
	other.text = text;
	other.len = len;
	other.hangs_up = hangs_up;
	pthread_create(&other.thread, NULL, serve_other, NULL);
}

static void other_end(void)
{
	pthread_join(other.thread, NULL);
	if (!other.hangs_up)
		close(other.client);
	close(other.fd);
	unlink(path);
}

START_TEST(no_socket)
{
	refused(IB_NOT_FOUND, "there is no socket ");
	ck_assert_ptr_nonnull(strstr(osm_vendor_snoop_strerror(), path));
	write_file(path, "text");
	refused(IB_NOT_FOUND, "is no socket: name that of");
	unlink(path);
	close(bind_other());
	refused(IB_NOT_FOUND, "nobody listens at ");
}
END_TEST

START_TEST(not_permitted)
{
	plugin_begin();
	chmod(dir, 0755);
	if (!getuid()) {
		ck_assert_int_eq(seteuid(65534), 0);
		refused(IB_INVALID_PERMISSION, "listen_group");
		ck_assert_int_eq(seteuid(0), 0);
	}
	plugin_end();
}
END_TEST

START_TEST(bad_arguments)
{
	char name[200];

	info.port_guid = 1;
	refused(IB_INVALID_PARAMETER, "accepted: port_guid 0");
	info.port_guid = 0;
	info.source_arg = "";
	refused(IB_INVALID_PARAMETER, "at most 107 bytes");
	memset(name, 'x', sizeof(name));
	name[0] = '/';
	name[108] = '\0';
	info.source_arg = name;
	refused(IB_INVALID_PARAMETER, "at most 107 bytes");
	name[107] = '\0';
	refused(IB_NOT_FOUND, "there is no socket ");
	info.source_arg = NULL;
	if (access("/run/osmsnoop.sock", F_OK))
		refused(IB_NOT_FOUND, "no socket /run/osmsnoop.sock:");
}
END_TEST

START_TEST(not_of_osmsnoop)
{
	uint8_t header[ERF_FILE_HEADER];

	other_begin("SSH-2.0", 7, false);
	refused(IB_INVALID_PARAMETER, "is no capture; name the socket");
	other_end();
	other_begin("", 0, true);
	refused(IB_INSUFFICIENT_RESOURCES, "was closed at once");
	other_end();
	erf_file_header(header);
	other_begin(header, sizeof(header) - 1, false);
	refused(IB_INVALID_PARAMETER, "is not of osmsnoop");
	other_end();
}
END_TEST

/* Captures */

static uint8_t mad[5000];

static struct mad_capture capture_of(uint8_t mgmt_class, uint8_t method)
{
	size_t i;

	for (i = 0; i < sizeof(mad); i++)
		mad[i] = (uint8_t)(i * 7 + i / 256);
	memset(mad, 0, SA_HDR_SIZE);
	mad[MAD_BASE_VERSION] = 1;
	mad[MAD_CLASS] = mgmt_class;
	mad[MAD_CLASS_VERSION] = 2;
	mad[MAD_METHOD] = method;
	mad[MAD_ATTR_ID + 1] = ATTR_PATH_RECORD;
	return (struct mad_capture){
		.data = mad, .len = MAD_SIZE, .size = MAD_SIZE,
		.time_ns = clock_ns(CLOCK_REALTIME), .above_rmpp = true,
		.peer = { .lid = 7, .qpn = 0x123456 },
		.route = { .local_lid = 3, .sl = 5 },
	};
}

static bool pass_on(const uint8_t *packet, size_t len, void *context)
{
	uint64_t *lost = context;

	stream_put(stream, packet, len, *lost);
	*lost = 0;
	return true;
}

static void put(const struct mad_capture *cap)
{
	uint64_t lost = cap->lost;

	erf_encode(cap, NULL, true, pass_on, &lost);
}

/* Whether one comes in a while. */
static bool comes(void)
{
	int n, tries = 0;

	while (!(n = source_stream.next(state, &got)) && tries++ < 30)
		;
	return n > 0;
}

/* As the plugin notes what filter_rows.h has of the vendor layer and below. */
static enum mad_completion completion_of(int completion)
{
	switch (completion) {
	case IB_SUCCESS:
		return MAD_OK;
	case IB_TIMEOUT:
	case ETIMEDOUT:
		return MAD_TIMEOUT;
	case IB_CANCELED:
	case ECANCELED:
	case WC_FLUSH:
		return MAD_CANCELED;
	default:
		return MAD_ERROR;
	}
}

/* What is shorter than a header is in no packet, and passes no filter. */
static void put_row(const struct row *row)
{
	struct mad_capture cap = capture_of(row->mad.mgmt_class, METHOD_GET);
	uint8_t *bytes = row_mad(row);

	cap.data = bytes;
	cap.len = row->len;
	cap.size = row->len < MAD_SIZE ? MAD_SIZE : row->len;
	cap.sent = row->sent;
	cap.completion = completion_of(row->completion);
	if (row->len >= MAD_HDR_SIZE)
		put(&cap);
	free(bytes);
}

/* The stream's verdict on each row of the table is that of the filter. */
START_TEST(filters_of_the_stream)
{
	enum { CLASS_LAST = 0x0f };
	const struct row *row = &rows[_i];
	const umad_filter_t filters[] = {
		row->filter, { .mgmt_class = CLASS_LAST },
	};
	struct mad_capture last;
	osm_snoop_stats_t stats;
	bool passed = false;

	info.p_filters = filters;
	info.filter_count = 2;
	both_begin();
	put_row(row);
	last = capture_of(CLASS_LAST, METHOD_GET);
	put(&last);
	for (;;) {
		ck_assert(comes());
		if (got.mad[MAD_CLASS] == CLASS_LAST)
			break;
		passed = true;
	}
	ck_assert_msg(passed == row->passes, "%s: should%s pass", row->rule,
		      row->passes ? "" : " not");
	source_end(&stats);
	plugin_end();
}
END_TEST

START_TEST(what_a_capture_has)
{
	struct mad_capture cap = capture_of(CLASS_SUBN_ADM, METHOD_GET);
	const ib_grh_t *grh = &got.mad_addr.addr_type.gsi.grh_info;
	osm_snoop_stats_t stats;
	uint64_t mono;

	both_begin();
	cap.lost = 5;
	put(&cap);
	ck_assert(comes());
	mono = clock_ns(CLOCK_MONOTONIC);
	ck_assert_uint_eq(got.size, MAD_SIZE);
	ck_assert_mem_eq(got.mad, mad, MAD_SIZE);
	ck_assert_int_eq(got.info.source, OSM_SNOOP_SOURCE_STREAM);
	ck_assert_int_eq(got.info.direction, OSM_SNOOP_RECEIVED);
	ck_assert_uint_eq(got.info.time_ns, cap.time_ns);
	ck_assert_uint_lt(got.info.monotonic_ns, mono);
	ck_assert_uint_gt(got.info.monotonic_ns, mono - 5 * SECOND);
	ck_assert_uint_eq(got.info.original_size, MAD_SIZE);
	ck_assert_uint_eq(got.info.segments, 1);
	ck_assert_uint_eq(got.info.lost, 5);
	ck_assert_uint_eq(got.info.local_lid, cl_hton16(3));
	ck_assert_uint_eq(got.mad_addr.dest_lid, cl_hton16(7));
	ck_assert_uint_eq(got.mad_addr.addr_type.gsi.remote_qp,
			  cl_hton32(0x123456));
	ck_assert_uint_eq(got.mad_addr.addr_type.gsi.remote_qkey,
			  IB_QP1_WELL_KNOWN_Q_KEY);
	ck_assert_uint_eq(got.mad_addr.addr_type.gsi.service_level, 5);
	ck_assert_uint_eq(got.mad_addr.addr_type.gsi.global_route, FALSE);
	ck_assert_int_eq(got.status, IB_SUCCESS);

	cap.lost = 0;
	cap.sent = true;
	cap.completion = MAD_TIMEOUT;
	cap.peer.has_gid = true;
	memset(cap.peer.gid, 0xab, 16);
	cap.route.port_guid = 0x1122334455667788;
	cap.route.hop_limit = 9;
	cap.route.traffic_class = 8;
	cap.route.flow_label = 0x12345;
	put(&cap);
	ck_assert(comes());
	ck_assert_int_eq(got.info.direction, OSM_SNOOP_SENT);
	ck_assert_int_eq(got.status, IB_TIMEOUT);
	ck_assert_uint_eq(got.info.lost, 0);
	ck_assert_uint_eq(got.info.port_guid, cl_hton64(0x1122334455667788));
	ck_assert_uint_eq(got.mad_addr.addr_type.gsi.global_route, TRUE);
	ck_assert_mem_eq(&grh->dest_gid, cap.peer.gid, 16);
	ck_assert_uint_eq(grh->hop_limit, 9);
	/* in host order, as the vendor layer leaves it */
	ck_assert_uint_eq(grh->ver_class_flow, 0x12345086);

	cap = capture_of(CLASS_SUBN_LID, METHOD_GET);
	cap.completion = MAD_CANCELED;
	put(&cap);
	ck_assert(comes());
	ck_assert_int_eq(got.status, IB_CANCELED);
	ck_assert_uint_eq(got.mad_addr.addr_type.smi.source_lid, cl_hton16(7));
	ck_assert_uint_eq(got.mad_addr.addr_type.smi.port_num, 255);
	source_end(&stats);
	ck_assert_uint_eq(stats.seen, 8);
	ck_assert_uint_eq(stats.passed, 8);
	ck_assert_uint_eq(stats.lost_ring, 5);
	ck_assert_uint_eq(stats.gaps, 0);
	plugin_end();
	ck_assert_uint_eq(logged("ERR"), 0);
}
END_TEST

/* What does not pass has lost something all the same. */
/*
 * Another clock, or one that was set back: a capture is never from after it was
 * read, or messages that began with it would be waited for until then.
 */
START_TEST(times_of_nowhere)
{
	static const uint64_t times[] = { 0, SECOND, UINT32_MAX * SECOND };
	struct mad_capture cap = capture_of(CLASS_SUBN_ADM, METHOD_GET);
	osm_snoop_stats_t stats;

	both_begin();
	cap.time_ns = times[_i];
	put(&cap);
	ck_assert(comes());
	ck_assert_uint_eq(got.info.time_ns, times[_i]);
	ck_assert_uint_le(got.info.monotonic_ns, clock_ns(CLOCK_MONOTONIC));
	source_end(&stats);
	plugin_end();
}
END_TEST

START_TEST(filters_and_flags)
{
	const umad_filter_t filters[] = {
		{ .mgmt_class = CLASS_SUBN_ADM, .attr_id = ATTR_PATH_RECORD },
		{ .mgmt_class = CLASS_SUBN_DIR },
	};
	struct mad_capture cap = capture_of(CLASS_SUBN_LID, METHOD_GET);
	osm_snoop_stats_t stats;

	info.p_filters = filters;
	info.filter_count = 2;
	info.flags = OSM_SNOOP_RECEIVES;
	info.snap_length = 30;
	both_begin();
	cap.lost = 2;
	put(&cap);
	cap = capture_of(CLASS_SUBN_ADM, METHOD_GET | METHOD_RESPONSE);
	cap.sent = true;
	cap.lost = 3;
	put(&cap);
	cap = capture_of(CLASS_SUBN_ADM, METHOD_GET);
	mad[MAD_ATTR_ID + 1] = 0x38;
	put(&cap);
	cap = capture_of(CLASS_SUBN_ADM, METHOD_GET);
	put(&cap);
	ck_assert(comes());
	ck_assert_uint_eq(got.info.lost, 5);
	ck_assert_uint_eq(got.mad[MAD_CLASS], CLASS_SUBN_ADM);
	ck_assert_uint_eq(got.size, 30);
	ck_assert_uint_eq(got.info.original_size, MAD_SIZE);
	cap = capture_of(CLASS_SUBN_DIR, METHOD_GET);
	put(&cap);
	ck_assert(comes());
	ck_assert_uint_eq(got.mad[MAD_CLASS], CLASS_SUBN_DIR);
	source_end(&stats);
	ck_assert_uint_eq(stats.seen, 10);
	ck_assert_uint_eq(stats.passed, 7);
	plugin_end();
}
END_TEST

static struct mad_capture message(void)
{
	struct mad_capture cap = capture_of(CLASS_SUBN_ADM,
					    METHOD_GET_TABLE | METHOD_RESPONSE);

	mad[RMPP_VERSION] = 1;
	mad[RMPP_TYPE] = RMPP_DATA;
	mad[RMPP_FLAGS] = RMPP_FLAG_ACTIVE;
	cap.sent = true;
	cap.len = cap.size = 4000;
	return cap;
}

START_TEST(segments)
{
	struct mad_capture cap = message();
	osm_snoop_stats_t stats;
	unsigned i;

	both_begin();
	put(&cap);
	for (i = 1; i <= 20; i++) {
		ck_assert(comes());
		ck_assert_uint_eq(got.size, MAD_SIZE);
		ck_assert_uint_eq(mad_get32(got.mad + RMPP_SEGMENT), i);
	}
	source_end(&stats);
	ck_assert_uint_eq(stats.passed, 20);
	plugin_end();
}
END_TEST

START_TEST(messages)
{
	struct mad_capture cap = message();
	osm_snoop_stats_t stats;

	info.flags |= OSM_SNOOP_REASSEMBLE;
	both_begin();
	put(&cap);
	ck_assert(comes());
	ck_assert_uint_eq(got.size, cap.size);
	ck_assert_uint_eq(got.info.original_size, cap.size);
	ck_assert_uint_eq(got.info.segments, 20);
	ck_assert_uint_eq(got.info.reassembled, TRUE);
	ck_assert_mem_eq(got.mad + SA_DATA, mad + SA_DATA, cap.size - SA_DATA);
	source_end(&stats);
	ck_assert_uint_eq(stats.passed, 20);
	ck_assert_uint_eq(stats.merged, 19);
	plugin_end();
}
END_TEST

/* The plugin goes away and comes back. */
START_TEST(comes_back)
{
	struct mad_capture cap = capture_of(CLASS_SUBN_ADM, METHOD_GET);
	osm_snoop_stats_t stats;

	both_begin();
	put(&cap);
	ck_assert(comes());
	plugin_end();
	while (!logged("ERR 5D14: "))
		ck_assert_int_eq(source_stream.next(state, &got), 0);
	sleep(2);
	ck_assert_int_eq(source_stream.next(state, &got), 0);
	ck_assert_uint_eq(logged("ERR 5D14: "), 1);
	plugin_begin();
	while (!stream_readers(stream))
		ck_assert_int_eq(source_stream.next(state, &got), 0);
	put(&cap);
	ck_assert(comes());
	ck_assert_uint_eq(got.info.lost, 1);
	ck_assert_uint_eq(logged("is back: "), 1);
	source_end(&stats);
	ck_assert_uint_eq(stats.gaps, 1);
	plugin_end();
}
END_TEST

START_TEST(nonsense)
{
	uint8_t text[ERF_FILE_HEADER + 100];
	osm_snoop_stats_t stats;

	memset(text, 'x', sizeof(text));
	erf_file_header(text);
	other_begin(text, sizeof(text), false);
	source_begin();
	while (!logged("ERR 5D14: "))
		ck_assert_int_eq(source_stream.next(state, &got), 0);
	ck_assert_uint_eq(logged("is gone (what came is no capture)"), 1);
	other_end();
	source_end(&stats);
	ck_assert_uint_eq(stats.gaps, 1);
	ck_assert_uint_eq(stats.ring_bytes, 0);
}
END_TEST

/* A stop hands over what there is, however much is put, and waits for nobody. */

static _Atomic bool putting;

static void *put_all(void *context)
{
	const struct mad_capture *cap = context;

	while (putting)
		put(cap);
	return NULL;
}

static uint64_t end_time(void)
{
	uint64_t before = clock_ns(CLOCK_MONOTONIC);
	osm_snoop_stats_t stats;

	source_end(&stats);
	return clock_ns(CLOCK_MONOTONIC) - before;
}

START_TEST(stop_under_load)
{
	struct mad_capture cap = capture_of(CLASS_SUBN_ADM, METHOD_GET);
	pthread_t thread;
	unsigned i;

	both_begin();
	putting = true;
	pthread_create(&thread, NULL, put_all, &cap);
	for (i = 0; i < 1000; i++)
		check(comes());
	ck_assert_uint_lt(end_time(), 2 * SECOND);
	putting = false;
	pthread_join(thread, NULL);
	plugin_end();
}
END_TEST

START_TEST(stop_while_gone)
{
	both_begin();
	ck_assert_uint_lt(end_time(), SECOND);
	source_begin();
	plugin_end();
	while (!logged("ERR 5D14: "))
		ck_assert_int_eq(source_stream.next(state, &got), 0);
	ck_assert_uint_lt(end_time(), SECOND);
}
END_TEST

START_TEST(stop_hands_over)
{
	struct mad_capture cap = capture_of(CLASS_SUBN_ADM, METHOD_GET);
	osm_snoop_stats_t stats = { 0 };
	unsigned n = 0;

	both_begin();
	while (n++ < 100)
		put(&cap);
	usleep(100000);
	source_stream.stop(state);
	for (n = 0; source_stream.next(state, &got) > 0; n++)
		;
	ck_assert_uint_eq(n, 100);
	source_stream.close(state, &stats);
	plugin_end();
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("source_stream");
	TCase *tcase = tcase_create("source_stream");

	tcase_add_checked_fixture(tcase, setup, log_teardown);
	tcase_add_test(tcase, no_socket);
	tcase_add_test(tcase, not_permitted);
	tcase_add_test(tcase, bad_arguments);
	tcase_add_test(tcase, not_of_osmsnoop);
	tcase_add_loop_test(tcase, filters_of_the_stream, 0, N_ROWS);
	tcase_add_test(tcase, what_a_capture_has);
	tcase_add_loop_test(tcase, times_of_nowhere, 0, 3);
	tcase_add_test(tcase, filters_and_flags);
	tcase_add_test(tcase, segments);
	tcase_add_test(tcase, messages);
	tcase_add_test(tcase, comes_back);
	tcase_add_test(tcase, nonsense);
	tcase_add_test(tcase, stop_under_load);
	tcase_add_test(tcase, stop_while_gone);
	tcase_add_test(tcase, stop_hands_over);
	tcase_set_timeout(tcase, 120);
	suite_add_tcase(suite, tcase);
	return run_suite(suite);
}
