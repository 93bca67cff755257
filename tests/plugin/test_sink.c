/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * The sinks (plugin/sink.c): which records go where, and how many lines the
 * OpenSM log gets, which is libopensm's, in a file.
 */
#include "clock.h"
#include "erf.h"
#include "opensm_log.h"
#include "sink.h"
#include "../run.h"

static struct options options;
static struct sinks *sinks;

static void setup(void)
{
	log_setup();
	options_default(&options);
	options.listen[0] = '\0';
	options.log = LOG_NONE;
}

static void sinks_begin(void)
{
	sinks = sinks_open(&options, &log_object);
	ck_assert_ptr_nonnull(sinks);
}

static void flush(uint64_t mono_ns)
{
	const struct sink_moment moment = { .mono_ns = mono_ns };

	sinks_flush(sinks, &moment);
}

static void end(void)
{
	sinks_close(sinks, clock_ns(CLOCK_MONOTONIC) + 10 * SECOND);
}

static void put_state(void)
{
	struct record r = {
		.type = RECORD_STATE,
		.time_ns = SECOND,
		.state = { .state = "sweep_done", .sm_state = "master" },
	};

	sinks_put(sinks, &r);
}

/* An SA request by this method from this LID, answered. */
static void put_sa(uint8_t method, uint16_t lid)
{
	uint8_t mad[MAD_SIZE] = {
		[MAD_BASE_VERSION] = 1, [MAD_CLASS] = CLASS_SUBN_ADM,
		[MAD_CLASS_VERSION] = 2, [MAD_METHOD] = method,
		[MAD_ATTR_ID + 1] = 0x35,
	};
	struct record r = {
		.type = RECORD_SA,
		.time_ns = SECOND,
		.sa = { .requester = { .addr = { .lid = lid, .qpn = 1 } },
			.mad = mad, .len = sizeof(mad),
			.outcome = SA_ANSWERED, .has_response = true },
	};

	sinks_put(sinks, &r);
}

static void put_capture(enum record_type type)
{
	uint8_t mad[MAD_SIZE] = { [MAD_CLASS] = 4, [MAD_METHOD] = 1 };
	struct mad_capture capture = { .data = mad, .len = MAD_SIZE,
				       .size = MAD_SIZE };
	struct record r = { .type = type, .mad = { .capture = &capture } };

	sinks_put(sinks, &r);
}

START_TEST(test_audit_is_a_part)
{
	const char *text;

	strcpy(options.trace, path);
	strcpy(options.audit, beside(".audit"));
	sinks_begin();
	put_state();
	put_sa(METHOD_GET, 7);
	put_sa(METHOD_SET, 7);
	put_sa(METHOD_DELETE, 7);
	put_sa(METHOD_GET_TABLE, 7);
	put_capture(RECORD_MAD);
	put_capture(RECORD_SEND_ERROR);
	end();
	ck_assert_uint_eq(check_lines(path, 1), 7);
	ck_assert_uint_eq(check_lines(beside(".audit"), 1), 3);
	text = content(beside(".audit"));
	ck_assert_uint_eq(count(text, "\"type\":\"state\""), 1);
	ck_assert_uint_eq(count(text, "\"method\":\"Set\""), 1);
	ck_assert_uint_eq(count(text, "\"method\":\"Delete\""), 1);
	ck_assert_uint_eq(logged("ERR"), 0);
}
END_TEST

/* A record that is too long for a line is told as soon as there is room. */
START_TEST(test_too_long)
{
	char *text = malloc(100000);
	struct record r = {
		.type = RECORD_STATE,
		.state = { .state = text },
	};

	memset(text, 'x', 99999);
	text[99999] = '\0';
	strcpy(options.trace, path);
	sinks_begin();
	put_state();
	sinks_put(sinks, &r);
	free(text);
	put_state();
	end();
	ck_assert_uint_eq(check_lines(path, 1), 3);
	ck_assert_ptr_nonnull(strstr(content(path), "\"where\":\"file\",\"lost\":1,\"total\":1}"));
	ck_assert_uint_eq(logged("ERR 5D24"), 1);
}
END_TEST

/* Captures: the file, and where it has names. */

static void put_mad(uint16_t lid, uint64_t port_guid, const char *name)
{
	uint8_t mad[MAD_SIZE] = {
		[MAD_BASE_VERSION] = 1, [MAD_CLASS] = CLASS_SUBN_ADM,
		[MAD_CLASS_VERSION] = 2, [MAD_METHOD] = METHOD_GET,
		[SA_SM_KEY] = 0x77,
	};
	const struct mad_capture capture = {
		.data = mad, .len = MAD_SIZE, .size = MAD_SIZE,
		.peer = { .lid = lid, .qpn = 1 },
	};
	const struct requester peer = {
		.addr = capture.peer, .port_guid = port_guid, .name = name,
	};

	sinks_capture(sinks, &capture, &peer);
}

/* LID, SM_Key and name of each packet: "7,77,host 9,77, ". */
static const char *packets(const char *name)
{
	static char text[4096];
	const uint8_t *p = (const uint8_t *)content(name);
	struct mad_capture capture;
	struct erf_note note;
	size_t len, used = 0;
	struct stat st;
	const uint8_t *end;

	ck_assert_int_eq(stat(name, &st), 0);
	end = p + st.st_size;
	text[0] = '\0';
	for (p += ERF_FILE_HEADER; p < end; p += len) {
		len = erf_packet_len(p, (size_t)(end - p));
		ck_assert_int_eq(erf_decode(p + ERF_RECORD_HEADER,
					    len - ERF_RECORD_HEADER,
					    len - ERF_RECORD_HEADER, 0,
					    &capture, &note), ERF_MAD);
		used += (size_t)snprintf(
			text + used, sizeof(text) - used, "%u,%x,%.*s ",
			capture.peer.lid, capture.data[SA_SM_KEY],
			note.has_name ? (int)note.name.len : 0,
			note.has_name ? note.name.name : "");
		if (note.has_name && note.name.port_guid)
			text[used - 1] = '!';
	}
	return text;
}

/* Until the thread has written so many packets, and has had time for more. */
static void wait_for_packets(unsigned n)
{
	struct stat st;

	do {
		usleep(2000);
		flush(SECOND);
	} while (stat(path, &st) || st.st_size < n * 300);
	usleep(2000);
}

START_TEST(test_capture)
{
	char text[100];

	sinks_begin();
	ck_assert(!sinks_take_captures(sinks));
	end();

	strcpy(options.capture, path);
	sinks_begin();
	ck_assert(sinks_take_captures(sinks));
	put_mad(7, 1, "x");
	wait_for_packets(1);
	ck_assert_int_eq(rename(path, beside("-old")), 0);
	while (access(path, F_OK)) {
		usleep(2000);
		flush(SECOND);
	}
	usleep(20000);

	/* once in a file, again when it changes, and of each alone */
	put_mad(7, 1, "host");
	put_mad(7, 1, "host");
	put_mad(8, 2, NULL);
	put_mad(8, 2, NULL);
	put_mad(9, 0, NULL);
	put_mad(7, 1, "hose");
	put_mad(7, 1, "hos");
	put_mad(7, 3, "hos");
	put_mad(7, 3, "hos");
	put_mad(0xbfff, 4, "last");
	put_mad(0xc000, 5, "multicast");
	put_mad(0xffff, 5, "permissive");
	memset(text, 'n', sizeof(text));
	text[99] = '\0';
	put_mad(6, 1, text);
	put_mad(6, 1, text);
	end();
	text[ERF_NAME_MAX] = '\0';
	ck_assert_str_eq(packets(beside("-old")), "7,0,x!");
	ck_assert_ptr_nonnull(strstr(packets(path), text));
	ck_assert_msg(!strncmp(packets(path),
			       "7,0,host!7,0, 8,0,!8,0, 9,0, 7,0,hose!7,0,hos!7,0,hos!7,0, 49151,0,last!49152,0, 65535,0, 6,0,nnn",
			       95), "%s", packets(path));
	ck_assert_uint_eq(logged("ERR"), 0);
}
END_TEST

START_TEST(test_capture_shows_keys)
{
	options.show_keys = true;
	strcpy(options.capture, path);
	sinks_begin();
	put_mad(7, 0, NULL);
	end();
	ck_assert_str_eq(packets(path), "7,77, ");
}
END_TEST

/* What could not be written was not told. */
START_TEST(test_capture_lost_name)
{
	unsigned i;

	strcpy(options.capture, path);
	ck_assert_int_eq(mkdir(path, 0700), 0);
	sinks_begin();
	put_mad(7, 1, "host");
	for (i = 0; i < 50; i++) {
		usleep(2000);
		flush(SECOND);
	}
	rmdir(path);
	while (access(path, F_OK)) {
		usleep(10000);
		flush(SECOND);
	}
	usleep(20000);
	put_mad(7, 1, "host");
	put_mad(7, 1, "host");
	end();
	ck_assert_str_eq(packets(path), "7,0,host!7,0, ");
}
END_TEST

/* No packet comes after to say it. */
START_TEST(test_capture_lost_behind)
{
	strcpy(options.capture, path);
	sinks_begin();
	put_mad(7, 1, "host");
	sinks_lose(sinks, 5);
	end();
	ck_assert_uint_eq(logged("5D22: "), 1);
	ck_assert_uint_eq(logged("ends without 5 records"), 1);
}
END_TEST

/* The OpenSM log: ten lines a second, requester and kind. */

START_TEST(test_log_none)
{
	sinks_begin();
	put_state();
	put_sa(METHOD_SET, 7);
	flush(SECOND);
	end();
	ck_assert_uint_eq(logged("SNOOP"), 0);
}
END_TEST

START_TEST(test_log_audit)
{
	options.log = LOG_AUDIT;
	sinks_begin();
	put_sa(METHOD_GET, 7);
	put_capture(RECORD_MAD);
	put_sa(METHOD_SET, 7);
	put_state();
	end();
	ck_assert_uint_eq(logged("SNOOP: "), 2);
	ck_assert_uint_eq(logged("SNOOP: Set PathRecord from LID 7"), 1);
	ck_assert_uint_eq(logged("SNOOP: state sweep_done"), 1);
}
END_TEST

START_TEST(test_log_levels)
{
	options.log = LOG_ALL;
	osm_log_set_level(&log_object, OSM_LOG_ERROR | OSM_LOG_INFO);
	sinks_begin();
	put_sa(METHOD_GET, 7);
	put_sa(METHOD_SET, 7);
	end();
	ck_assert_uint_eq(logged("SNOOP: Set"), 1);
	ck_assert_uint_eq(logged("SNOOP: log=all writes"), 1);
	ck_assert_uint_eq(logged("SNOOP: "), 2);
	osm_log_set_level(&log_object, OSM_LOG_ALL);
	sinks_begin();
	put_sa(METHOD_GET, 7);
	end();
	ck_assert_uint_eq(logged("SNOOP: Get PathRecord"), 1);
}
END_TEST

START_TEST(test_log_rate)
{
	unsigned i;

	options.log = LOG_ALL;
	sinks_begin();
	flush(100 * SECOND);
	for (i = 0; i < 25; i++) {
		put_sa(METHOD_SET, 7);
		put_sa(METHOD_SET, 8);
		put_state();	/* of another kind */
	}
	ck_assert_uint_eq(logged("Set PathRecord from LID 7"), 10);
	ck_assert_uint_eq(logged("Set PathRecord from LID 8"), 10);
	ck_assert_uint_eq(logged("state sweep_done"), 10);
	for (i = 1; i < 10; i++)
		flush(100 * SECOND + i * SECOND / 10);
	put_sa(METHOD_SET, 7);
	ck_assert_uint_eq(logged("held back"), 0);
	flush(101 * SECOND);
	ck_assert_uint_eq(logged("16 more lines (sa) of LID 7 were"), 1);
	ck_assert_uint_eq(logged("15 more lines (sa) of LID 8 were"), 1);
	ck_assert_uint_eq(logged("15 more lines (state)"), 1);
	ck_assert_uint_eq(logged("held back"), 3);

	/* a new second */
	for (i = 0; i < 11; i++)
		put_sa(METHOD_SET, 7);
	ck_assert_uint_eq(logged("Set PathRecord from LID 7"), 20);
	end();
	ck_assert_uint_eq(logged("1 more lines (sa) of LID 7"), 1);
	ck_assert_uint_eq(logged("held back"), 4);
}
END_TEST

/* Whoever has many LIDs cannot fill the log, nor begin others' second anew. */
START_TEST(test_log_many)
{
	const unsigned rounds = 12, lids = 5000;
	uint64_t lines, held = 0;
	const char *text;
	unsigned i, lid;

	options.log = LOG_ALL;
	sinks_begin();
	flush(100 * SECOND);
	for (i = 0; i < rounds; i++)
		for (lid = 1; lid <= lids; lid++)
			put_sa(METHOD_SET, (uint16_t)lid);
	end();
	text = content(log_path);
	lines = count(text, "SNOOP: Set PathRecord");
	ck_assert_uint_le(lines, 1024 * 10);
	ck_assert_uint_eq(count(text, "Set PathRecord from LID 1:") +
			  count(text, "Set PathRecord from LID 1 "), 10);
	while ((text = strstr(text, "SNOOP: "))) {
		text += strlen("SNOOP: ");
		held += strtoull(text, NULL, 10);
	}
	ck_assert_uint_eq(lines + held, rounds * lids);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("sink");
	TCase *tcase = tcase_create("sink");

	tcase_add_checked_fixture(tcase, setup, log_teardown);
	tcase_add_test(tcase, test_audit_is_a_part);
	tcase_add_test(tcase, test_too_long);
	tcase_add_test(tcase, test_capture);
	tcase_add_test(tcase, test_capture_shows_keys);
	tcase_add_test(tcase, test_capture_lost_name);
	tcase_add_test(tcase, test_capture_lost_behind);
	tcase_add_test(tcase, test_log_none);
	tcase_add_test(tcase, test_log_audit);
	tcase_add_test(tcase, test_log_levels);
	tcase_add_test(tcase, test_log_rate);
	tcase_add_test(tcase, test_log_many);
	tcase_set_timeout(tcase, 120);
	suite_add_tcase(suite, tcase);
	return run_suite(suite);
}
