/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * plugin/metrics.c: the text of what was counted, to the byte; that hostile
 * numbers and names neither fill it nor break it; that nothing goes back.
 */
#include <check.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "metrics.h"
#include "names.h"
#include "trap.h"
#include "../run.h"

static struct metrics *m;
static struct metrics_sample sample;
static char text[METRICS_TEXT_MAX + 1];

static void setup(void)
{
	m = metrics_new();
	ck_assert_ptr_nonnull(m);
}

static void teardown(void)
{
	metrics_free(m);
}

static void put_mad(uint8_t mgmt_class, bool sent, enum mad_completion how)
{
	const uint8_t mad[MAD_HDR_SIZE] = { [MAD_CLASS] = mgmt_class };
	const struct mad_capture cap = {
		.data = mad, .len = sizeof(mad), .size = sizeof(mad),
		.sent = sent, .completion = how,
	};

	metrics_capture(m, &cap);
}

static void put_sa(uint8_t method, uint16_t attribute, struct sa_record sa)
{
	const uint8_t mad[MAD_SIZE] = {
		[MAD_CLASS] = CLASS_SUBN_ADM, [MAD_METHOD] = method,
		[MAD_ATTR_ID] = (uint8_t)(attribute >> 8),
		[MAD_ATTR_ID + 1] = (uint8_t)attribute,
	};
	struct record r = { .type = RECORD_SA, .sa = sa };

	r.sa.mad = mad;
	r.sa.len = sizeof(mad);
	metrics_record(m, &r);
}

static void answer(uint64_t latency_ns)
{
	put_sa(METHOD_GET, ATTR_PATH_RECORD, (struct sa_record){
		.requester = { .addr = { .lid = 7 } },
		.outcome = SA_ANSWERED, .has_response = true,
		.latency_ns = latency_ns,
	});
}

static void ask(uint16_t lid, const char *name)
{
	put_sa(METHOD_GET, ATTR_PATH_RECORD, (struct sa_record){
		.requester = { .addr = { .lid = lid }, .name = name },
		.outcome = SA_UNANSWERED,
	});
}

static void put_trap(uint8_t type, uint16_t number)
{
	const uint8_t notice[NOTICE_SIZE] = {
		[NOTICE_TYPE] = type,
		[NOTICE_NUMBER] = (uint8_t)(number >> 8),
		[NOTICE_NUMBER + 1] = (uint8_t)number,
	};
	const struct record r = {
		.type = RECORD_TRAP,
		.trap = { .notice = notice, .len = sizeof(notice) },
	};

	metrics_record(m, &r);
}

static void put_alert(const char *name, const char *phase)
{
	const struct evidence evidence[] = {
		{ "requests", NULL, 7 }, { "phase", phase, 0 },
	};
	const struct record r = {
		.type = RECORD_ALERT,
		.alert = { .alert = name, .evidence = evidence,
			   .n_evidence = phase ? 2 : 1 },
	};

	metrics_record(m, &r);
}

static void put_loss(const char *where, uint64_t lost)
{
	const struct record r = {
		.type = RECORD_LOSS,
		.loss = { .where = where, .lost = lost, .total = 1000 },
	};

	metrics_record(m, &r);
}

static const char *take(void)
{
	size_t len;

	metrics_take(m, &sample);
	memset(text, 'x', sizeof(text));
	len = metrics_text(&sample, text, METRICS_TEXT_MAX);
	ck_assert_uint_gt(len, 0);
	text[len] = '\0';
	ck_assert_uint_eq(strlen(text), len);
	ck_assert_int_eq(text[len - 1], '\n');
	return text;
}

/* The value behind what begins a line; -1 when there is no such line. */
static long long value(const char *begin)
{
	const char *p = take();
	size_t len = strlen(begin);

	for (; *p; p = strchr(p, '\n') + 1)
		if (!strncmp(p, begin, len) && p[len] == ' ')
			return strtoll(p + len + 1, NULL, 10);
	return -1;
}

static unsigned lines(const char *begin)
{
	const char *p = take();
	unsigned n = 0;

	for (; *p; p = strchr(p, '\n') + 1)
		n += !strncmp(p, begin, strlen(begin));
	return n;
}

#define HEAD(name, type, help) \
	"# HELP osmsnoop_" name " " help "\n# TYPE osmsnoop_" name " " type "\n"
#define UP HEAD("up", "gauge", \
	"1 while OpenSM runs with the plugin, 0 after it ended.")
#define MADS HEAD("mads_total", "counter", \
	"MADs that OpenSM received and gave to be sent.")
#define REQUESTS HEAD("sa_requests_total", "counter", \
	"SA requests by what became of them; a Report is what OpenSM sent to a subscriber.")
#define LATENCY HEAD("sa_latency_seconds", "histogram", \
	"From the receipt of an SA request to the sending of its answer.")
#define OUTSTANDING HEAD("sa_outstanding", "gauge", \
	"SA requests that wait for their answer now.")
#define ERRORS HEAD("send_errors_total", "counter", \
	"Sent MADs that completed in error or got no response in time.")
#define TRAPS HEAD("traps_total", "counter", \
	"Traps by number, those that OpenSM issues itself included.")
#define ALERTS HEAD("alerts_total", "counter", "Alerts that began.")
#define LOST HEAD("lost_total", "counter", \
	"Captures, or events, that were lost, by where.")
#define RING HEAD("ring_bytes", "gauge", \
	"Bytes of captures that wait in the ring now.")
#define TOP HEAD("sa_requester_requests", "gauge", \
	"SA requests since the start of the 20 requesters that were busiest in the last minutes.")
#define BUCKET "osmsnoop_sa_latency_seconds_bucket"
#define MAD "osmsnoop_mads_total"
#define ERROR "osmsnoop_send_errors_total"
#define REQUEST "osmsnoop_sa_requests_total"

static const char empty[] =
	UP "osmsnoop_up 1\n"
	MADS
	MAD "{class=\"SubnDR\",direction=\"received\"} 0\n"
	MAD "{class=\"SubnDR\",direction=\"sent\"} 0\n"
	MAD "{class=\"SubnLID\",direction=\"received\"} 0\n"
	MAD "{class=\"SubnLID\",direction=\"sent\"} 0\n"
	MAD "{class=\"SubnAdm\",direction=\"received\"} 0\n"
	MAD "{class=\"SubnAdm\",direction=\"sent\"} 0\n"
	REQUESTS
	LATENCY
	BUCKET "{le=\"1e-05\"} 0\n"
	BUCKET "{le=\"2.5e-05\"} 0\n"
	BUCKET "{le=\"5e-05\"} 0\n"
	BUCKET "{le=\"0.0001\"} 0\n"
	BUCKET "{le=\"0.00025\"} 0\n"
	BUCKET "{le=\"0.0005\"} 0\n"
	BUCKET "{le=\"0.001\"} 0\n"
	BUCKET "{le=\"0.0025\"} 0\n"
	BUCKET "{le=\"0.005\"} 0\n"
	BUCKET "{le=\"0.01\"} 0\n"
	BUCKET "{le=\"0.025\"} 0\n"
	BUCKET "{le=\"0.05\"} 0\n"
	BUCKET "{le=\"0.1\"} 0\n"
	BUCKET "{le=\"0.25\"} 0\n"
	BUCKET "{le=\"0.5\"} 0\n"
	BUCKET "{le=\"1\"} 0\n"
	BUCKET "{le=\"2.5\"} 0\n"
	BUCKET "{le=\"5\"} 0\n"
	BUCKET "{le=\"10\"} 0\n"
	BUCKET "{le=\"+Inf\"} 0\n"
	"osmsnoop_sa_latency_seconds_sum 0.000000000\n"
	"osmsnoop_sa_latency_seconds_count 0\n"
	OUTSTANDING "osmsnoop_sa_outstanding 0\n"
	ERRORS
	ERROR "{class=\"SubnDR\"} 0\n"
	ERROR "{class=\"SubnLID\"} 0\n"
	ERROR "{class=\"SubnAdm\"} 0\n"
	TRAPS "osmsnoop_traps_total{number=\"vendor\"} 0\n"
	ALERTS
	LOST
	"osmsnoop_lost_total{where=\"ring\"} 0\n"
	"osmsnoop_lost_total{where=\"memory\"} 0\n"
	"osmsnoop_lost_total{where=\"shutdown\"} 0\n"
	"osmsnoop_lost_total{where=\"short\"} 0\n"
	"osmsnoop_lost_total{where=\"port\"} 0\n"
	"osmsnoop_lost_total{where=\"rmpp\"} 0\n"
	"osmsnoop_lost_total{where=\"kernel\"} 0\n"
	"osmsnoop_lost_total{where=\"events\"} 0\n"
	"osmsnoop_lost_total{where=\"other\"} 0\n"
	RING "osmsnoop_ring_bytes 0\n"
	TOP;

START_TEST(test_nothing)
{
	ck_assert_str_eq(take(), empty);
	ck_assert_int_eq(strncmp(text, METRICS_MARK, strlen(METRICS_MARK)), 0);
}
END_TEST

/* A text that does not fit is none. */
START_TEST(test_no_room)
{
	size_t len = strlen(take());

	ck_assert_uint_eq(metrics_text(&sample, text, 0), 0);
	ck_assert_uint_eq(metrics_text(&sample, text, 1), 0);
	ck_assert_uint_eq(metrics_text(&sample, text, len), 0);
	ck_assert_uint_eq(metrics_text(&sample, text, len + 1), len);
}
END_TEST

/* Some of everything. */
static const char some[] =
	UP "osmsnoop_up 0\n"
	MADS
	MAD "{class=\"SubnDR\",direction=\"received\"} 2\n"
	MAD "{class=\"SubnDR\",direction=\"sent\"} 1\n"
	MAD "{class=\"SubnLID\",direction=\"received\"} 0\n"
	MAD "{class=\"SubnLID\",direction=\"sent\"} 0\n"
	MAD "{class=\"SubnAdm\",direction=\"received\"} 1\n"
	MAD "{class=\"SubnAdm\",direction=\"sent\"} 0\n"
	MAD "{class=\"0x32\",direction=\"received\"} 0\n"
	MAD "{class=\"0x32\",direction=\"sent\"} 1\n"
	REQUESTS
	REQUEST "{method=\"GetTable\",attribute=\"NodeRecord\",outcome=\"answered\"} 1\n"
	REQUEST "{method=\"GetTable\",attribute=\"NodeRecord\",outcome=\"unanswered\"} 1\n"
	REQUEST "{method=\"GetTable\",attribute=\"NodeRecord\",outcome=\"failed\"} 0\n"
	REQUEST "{method=\"0x40\",attribute=\"0x00f1\",outcome=\"answered\"} 0\n"
	REQUEST "{method=\"0x40\",attribute=\"0x00f1\",outcome=\"unanswered\"} 0\n"
	REQUEST "{method=\"0x40\",attribute=\"0x00f1\",outcome=\"failed\"} 1\n"
	REQUEST "{method=\"Report\",attribute=\"Notice\",outcome=\"answered\"} 1\n"
	REQUEST "{method=\"Report\",attribute=\"Notice\",outcome=\"unanswered\"} 0\n"
	REQUEST "{method=\"Report\",attribute=\"Notice\",outcome=\"failed\"} 0\n"
	LATENCY
	BUCKET "{le=\"1e-05\"} 0\n"
	BUCKET "{le=\"2.5e-05\"} 0\n"
	BUCKET "{le=\"5e-05\"} 1\n"
	BUCKET "{le=\"0.0001\"} 1\n"
	BUCKET "{le=\"0.00025\"} 1\n"
	BUCKET "{le=\"0.0005\"} 1\n"
	BUCKET "{le=\"0.001\"} 1\n"
	BUCKET "{le=\"0.0025\"} 1\n"
	BUCKET "{le=\"0.005\"} 1\n"
	BUCKET "{le=\"0.01\"} 1\n"
	BUCKET "{le=\"0.025\"} 1\n"
	BUCKET "{le=\"0.05\"} 1\n"
	BUCKET "{le=\"0.1\"} 1\n"
	BUCKET "{le=\"0.25\"} 1\n"
	BUCKET "{le=\"0.5\"} 1\n"
	BUCKET "{le=\"1\"} 1\n"
	BUCKET "{le=\"2.5\"} 1\n"
	BUCKET "{le=\"5\"} 1\n"
	BUCKET "{le=\"10\"} 1\n"
	BUCKET "{le=\"+Inf\"} 1\n"
	"osmsnoop_sa_latency_seconds_sum 0.000033001\n"
	"osmsnoop_sa_latency_seconds_count 1\n"
	OUTSTANDING "osmsnoop_sa_outstanding 3\n"
	ERRORS
	ERROR "{class=\"SubnDR\"} 2\n"
	ERROR "{class=\"SubnLID\"} 0\n"
	ERROR "{class=\"SubnAdm\"} 0\n"
	ERROR "{class=\"0x32\"} 0\n"
	TRAPS
	"osmsnoop_traps_total{number=\"144\"} 2\n"
	"osmsnoop_traps_total{number=\"65535\"} 1\n"
	"osmsnoop_traps_total{number=\"vendor\"} 1\n"
	ALERTS
	"osmsnoop_alerts_total{alert=\"sa_storm\"} 2\n"
	"osmsnoop_alerts_total{alert=\"sm_change\"} 2\n"
	LOST
	"osmsnoop_lost_total{where=\"ring\"} 5\n"
	"osmsnoop_lost_total{where=\"memory\"} 0\n"
	"osmsnoop_lost_total{where=\"shutdown\"} 0\n"
	"osmsnoop_lost_total{where=\"short\"} 0\n"
	"osmsnoop_lost_total{where=\"port\"} 0\n"
	"osmsnoop_lost_total{where=\"rmpp\"} 0\n"
	"osmsnoop_lost_total{where=\"kernel\"} 0\n"
	"osmsnoop_lost_total{where=\"events\"} 1\n"
	"osmsnoop_lost_total{where=\"other\"} 7\n"
	RING "osmsnoop_ring_bytes 4096\n"
	TOP
	"osmsnoop_sa_requester_requests{lid=\"7\",name=\"node012 HCA-1\"} 2\n"
	"osmsnoop_sa_requester_requests{lid=\"8\",name=\"\"} 1\n";

START_TEST(test_some)
{
	const struct requester who = {
		.addr = { .lid = 7 }, .name = "node012 HCA-1",
	}, nobody = { .addr = { .lid = 8 } };

	put_mad(CLASS_SUBN_DIR, true, MAD_OK);
	put_mad(CLASS_SUBN_DIR, true, MAD_TIMEOUT);
	put_mad(CLASS_SUBN_DIR, true, MAD_ERROR);
	put_mad(CLASS_SUBN_DIR, true, MAD_CANCELED);
	put_mad(CLASS_SUBN_DIR, false, MAD_OK);
	put_mad(CLASS_SUBN_DIR, false, MAD_OK);
	put_mad(CLASS_SUBN_ADM, false, MAD_OK);
	put_mad(0x32, true, MAD_OK);
	put_sa(METHOD_GET_TABLE, 0x11, (struct sa_record){
		.requester = who, .outcome = SA_ANSWERED,
		.has_response = true, .latency_ns = 33001 });
	put_sa(METHOD_GET_TABLE, 0x11, (struct sa_record){
		.requester = who, .outcome = SA_UNANSWERED });
	put_sa(0x40, 0xf1, (struct sa_record){
		.requester = nobody, .outcome = SA_FAILED });
	put_sa(METHOD_REPORT, ATTR_NOTICE, (struct sa_record){
		.requester = who, .sent = true, .outcome = SA_ANSWERED,
		.has_response = true, .latency_ns = 1000000 });
	put_trap(0x84, 144);
	put_trap(0x84, 144);
	put_trap(0x84, 65535);
	put_trap(0x04, 144);
	put_alert("sa_storm", "begin");
	put_alert("sa_storm", "update");
	put_alert("sm_change", "once");
	put_alert("sa_storm", "end");
	put_alert("sa_storm", "begin");
	put_alert("sm_change", NULL);
	put_loss("ring", 2);
	put_loss("ring", 3);
	put_loss("events", 1);
	put_loss("somewhere", 7);
	metrics_now(m, false, 3, 4096);
	ck_assert_str_eq(take(), some);
}
END_TEST

/* A bucket has what is equal to its bound; the last one has all. */
START_TEST(test_histogram)
{
	static const char *const bounds[] = {
		"1e-05", "2.5e-05", "5e-05", "0.0001", "0.00025", "0.0005",
		"0.001", "0.0025", "0.005", "0.01", "0.025", "0.05", "0.1",
		"0.25", "0.5", "1", "2.5", "5", "10",
	};
	const size_t n = sizeof(bounds) / sizeof(bounds[0]);
	char line[96];
	uint64_t ns;
	size_t i;

	ck_assert_uint_eq(n + 1, METRICS_BUCKETS);
	answer(0);
	for (i = 0; i < n; i++) {
		ns = (uint64_t)(strtod(bounds[i], NULL) * 1e9 + 0.5);
		answer(ns);
		answer(ns + 1);
	}
	for (i = 0; i < n; i++) {
		snprintf(line, sizeof(line), BUCKET "{le=\"%s\"}", bounds[i]);
		ck_assert_int_eq(value(line), 2 + 2 * (int)i);
	}
	ck_assert_int_eq(value(BUCKET "{le=\"+Inf\"}"), 1 + 2 * (int)n);
	ck_assert_int_eq(value("osmsnoop_sa_latency_seconds_count"),
			 1 + 2 * (int)n);
	/* 2 * 19.444435 s and 19 ns */
	ck_assert_ptr_nonnull(strstr(take(), "_seconds_sum 38.888870019\n"));
	/* an hour fits, too */
	answer(UINT64_C(3600000000000));
	ck_assert_ptr_nonnull(strstr(take(), "_seconds_sum 3638.888870019\n"));
	ck_assert_int_eq(value(BUCKET "{le=\"10\"}"), 2 * (int)n);
}
END_TEST

/* Whatever numbers come: so many series, and those that have names. */
START_TEST(test_bounds)
{
	unsigned classes = 0, methods = 0, attributes = 0, traps = 0;
	unsigned i, j;

	for (i = 0; i < 256; i++)
		put_mad((uint8_t)(255 - i), false, MAD_OK);
	for (i = 0; i < 256; i++) {
		put_mad((uint8_t)i, true, MAD_TIMEOUT);
		classes += class_name((uint8_t)i) != NULL;
		methods += method_name(CLASS_SUBN_ADM, (uint8_t)i) != NULL;
	}
	ck_assert_uint_le(classes, METRICS_KNOWN);
	ck_assert_uint_le(methods, METRICS_KNOWN);
	/* of all others nothing was sent */
	ck_assert_uint_eq(lines(MAD "{"), 2 * (classes + 8) + 1);
	ck_assert_uint_eq(lines(ERROR "{"), classes + 8 + 1);
	ck_assert_int_eq(value(MAD "{class=\"other\",direction=\"received\"}"),
			 256 - (int)classes - 8);
	ck_assert_int_eq(value(ERROR "{class=\"other\"}"),
			 256 - (int)classes - 8);

	for (i = 0; i < 65536; i++) {
		put_sa(METHOD_GET, (uint16_t)(65535 - i), (struct sa_record){
			.outcome = SA_ANSWERED });
		put_trap(0x80, (uint16_t)(65535 - i));
		attributes += attribute_name(CLASS_SUBN_ADM, (uint16_t)i) !=
			      NULL;
		traps += trap_name((int)i) != NULL;
	}
	ck_assert_uint_le(attributes, METRICS_KNOWN);
	ck_assert_uint_le(traps, METRICS_KNOWN);
	ck_assert_uint_eq(lines(REQUEST), 3 * (attributes + 8 + 1));
	ck_assert_int_eq(value(REQUEST "{method=\"Get\",attribute=\"other\",outcome=\"answered\"}"),
			 65536 - (int)attributes - 8);
	ck_assert_uint_eq(lines("osmsnoop_traps_total"), traps + 8 + 2);
	ck_assert_int_eq(value("osmsnoop_traps_total{number=\"other\"}"),
			 65536 - (int)traps - 8);

	/* the longest text there is: it fits */
	for (i = 0; i < 256; i++)
		for (j = 0; j < 65536; j += j == 0x100 ? 0xfe00 : 1)
			put_sa((uint8_t)i, (uint16_t)j, (struct sa_record){
				.outcome = SA_UNANSWERED });
	ck_assert_uint_eq(lines(REQUEST),
			  3 * (methods + 8 + 1) * (attributes + 8 + 1));
	ck_assert_uint_lt(strlen(text), METRICS_TEXT_MAX / 2);
}
END_TEST

START_TEST(test_alert_bounds)
{
	char name[METRICS_ALERT_MAX + 1];
	unsigned i;

	for (i = 0; i < 1000; i++) {
		snprintf(name, sizeof(name), "alert_%u", i);
		put_alert(name, "begin");
	}
	memset(name, 'x', METRICS_ALERT_MAX);
	name[METRICS_ALERT_MAX] = '\0';
	put_alert(name, "begin");
	ck_assert_uint_eq(lines("osmsnoop_alerts_total{"), METRICS_ALERTS + 1);
	ck_assert_int_eq(value("osmsnoop_alerts_total{alert=\"other\"}"),
			 1001 - METRICS_ALERTS);
	put_alert("alert_3", "begin");
	ck_assert_int_eq(value("osmsnoop_alerts_total{alert=\"alert_3\"}"), 2);
}
END_TEST

/* Names come from the wire. */
START_TEST(test_escapes)
{
	static const struct {
		const char *name, *label;
	} names[] = {
		{ "plain", "plain" },
		{ "a\"b", "a\\\"b" },
		{ "a\\b", "a\\\\b" },
		{ "\"} 1\nosmsnoop_up 0", "\\\"} 1\xef\xbf\xbdosmsnoop_up 0" },
		{ "\x1b[31m\t\r\x7f", "\xef\xbf\xbd[31m\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd" },
		{ "\xff\xfe", "\xef\xbf\xbd\xef\xbf\xbd" },
		{ "M\xc3\xbcnchen", "M\xc3\xbcnchen" },
		/* cut in the middle of a character */
		{ "M\xc3", "M\xef\xbf\xbd" },
		/* turns the direction of writing */
		{ "a\xe2\x80\xae" "b", "a\xef\xbf\xbd" "b" },
		{ "", "" },
	};
	char line[160];
	unsigned i;

	for (i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		ask((uint16_t)(100 + i), names[i].name);
		snprintf(line, sizeof(line),
			 "osmsnoop_sa_requester_requests{lid=\"%u\",name=\"%s\"}",
			 100 + i, names[i].label);
		ck_assert_int_eq(value(line), 1);
	}
	ck_assert_uint_eq(lines("osmsnoop_up "), 1);
}
END_TEST

START_TEST(test_long_name)
{
	char name[200], line[300];

	memset(name, '"', sizeof(name));
	name[199] = '\0';
	ask(9, name);
	ask(9, NULL);		/* not known for a while */
	ask(9, name);
	take();
	memset(line, '\0', sizeof(line));
	ck_assert_ptr_nonnull(strstr(text, "{lid=\"9\",name=\"\\\"\\\""));
	ck_assert_ptr_nonnull(strstr(text, "\\\"\\\"\"} 3\n"));
	ask(9, "new");
	ck_assert_int_eq(value("osmsnoop_sa_requester_requests{lid=\"9\",name=\"new\"}"),
			 4);
}
END_TEST

/* Twenty, whoever comes; the busiest first, and of the last minutes. */
START_TEST(test_top)
{
	unsigned lid, i;

	for (lid = 0; lid < 65536; lid++)
		ask((uint16_t)lid, NULL);
	ck_assert_uint_eq(lines("osmsnoop_sa_requester_requests{"), 20);
	for (lid = 200; lid < 230; lid++)
		for (i = 0; i < lid; i++)
			ask((uint16_t)lid, NULL);
	take();
	ck_assert_uint_eq(sample.n_top, METRICS_TOP);
	for (i = 0; i < METRICS_TOP; i++) {
		ck_assert_uint_eq(sample.top[i].lid, 229 - i);
		ck_assert_uint_eq(sample.top[i].who.requests, 230 - i);
	}
	/* multicast LIDs are nobody's */
	for (i = 0; i < 1000; i++)
		ask(0xc000, NULL);
	take();
	ck_assert_uint_eq(sample.top[0].lid, 229);

	/* who was busy in the morning is not for ever */
	for (i = 0; i < 200; i++)
		take();
	ask(5, NULL);
	take();
	ck_assert_uint_eq(sample.top[0].lid, 5);
	ck_assert_uint_eq(sample.top[0].who.requests, 2);
	ck_assert_uint_eq(sample.top[1].lid, 229);
	ck_assert_uint_eq(sample.top[1].who.requests, 230);
}
END_TEST

/* A sample is a copy. */
START_TEST(test_sample_stays)
{
	static struct metrics_sample before;

	ask(5, "five");
	metrics_take(m, &before);
	ask(5, "more");
	put_mad(CLASS_SUBN_ADM, false, MAD_OK);
	ck_assert_int_eq(value("osmsnoop_sa_requester_requests{lid=\"5\",name=\"more\"}"),
			 2);
	text[metrics_text(&before, text, METRICS_TEXT_MAX)] = '\0';
	ck_assert_ptr_nonnull(strstr(text, "{lid=\"5\",name=\"five\"} 1\n"));
	ck_assert_ptr_nonnull(strstr(text, "{class=\"SubnAdm\",direction=\"received\"} 0\n"));
}
END_TEST

/* Other records are no concern of ours. */
START_TEST(test_others)
{
	const struct record start = { .type = RECORD_START };
	const struct record state = {
		.type = RECORD_STATE, .state = { "sweep_done", "master" },
	};

	metrics_record(m, &start);
	metrics_record(m, &state);
	ck_assert_str_eq(take(), empty);
	metrics_free(NULL);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("metrics");
	TCase *tcase = tcase_create("metrics");

	tcase_add_checked_fixture(tcase, setup, teardown);
	tcase_add_test(tcase, test_nothing);
	tcase_add_test(tcase, test_no_room);
	tcase_add_test(tcase, test_some);
	tcase_add_test(tcase, test_histogram);
	tcase_add_test(tcase, test_bounds);
	tcase_add_test(tcase, test_alert_bounds);
	tcase_add_test(tcase, test_escapes);
	tcase_add_test(tcase, test_long_name);
	tcase_add_test(tcase, test_top);
	tcase_add_test(tcase, test_sample_stays);
	tcase_add_test(tcase, test_others);
	suite_add_tcase(suite, tcase);
	return run_suite(suite);
}
