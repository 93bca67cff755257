/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Records as JSON, read again by libjansson, and as lines: CONTRACT 4, 5. */
#include <check.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "layout.h"
#include "record.h"
#include "../run.h"

#define COUNT(table) (sizeof(table) / sizeof((table)[0]))
#define TIME_NS UINT64_C(1795994128187258123)
#define GUID UINT64_C(0x0002c903000e0b72)

static uint8_t mad[MAD_SIZE];
static struct mad_capture capture;
static struct record record;
static char line[RECORD_LINE_MAX];

static void put16(size_t at, uint16_t value)
{
	mad[at] = (uint8_t)(value >> 8);
	mad[at + 1] = (uint8_t)value;
}

static void put64(size_t at, uint64_t value)
{
	int i;

	for (i = 7; i >= 0; i--) {
		mad[at + (size_t)i] = (uint8_t)value;
		value >>= 8;
	}
}

static void start_mad(uint8_t mgmt_class, uint8_t method, uint16_t attr_id)
{
	memset(mad, 0, sizeof(mad));
	mad[MAD_BASE_VERSION] = 1;
	mad[MAD_CLASS] = mgmt_class;
	mad[MAD_METHOD] = method;
	put64(MAD_TID, 0x1122334455667788);
	put16(MAD_ATTR_ID, attr_id);
}

static void start_record(enum record_type type)
{
	memset(&record, 0, sizeof(record));
	record.type = type;
	record.time_ns = TIME_NS;
}

static void set_requester(struct requester *who)
{
	who->addr.lid = 7;
	who->addr.qpn = 1;
	who->port_guid = GUID;
	who->name = "node012 HCA-1";
}

/* The contract's example: joins ff12:401b:ffff::1 as a full member. */
static void start_sa(uint8_t method, uint16_t attr_id)
{
	static const uint8_t mgid[16] = {
		0xff, 0x12, 0x40, 0x1b, 0xff, 0xff, [15] = 1,
	};

	start_mad(CLASS_SUBN_ADM, method, attr_id);
	if (attr_id == ATTR_MCMEMBER_RECORD) {
		put64(SA_COMPONENT_MASK, 0x10001);
		memcpy(mad + SA_DATA, mgid, sizeof(mgid));
		mad[SA_DATA + 48] = 1;
	}
	start_record(RECORD_SA);
	set_requester(&record.sa.requester);
	record.sa.mad = mad;
	record.sa.len = MAD_SIZE;
	record.sa.has_response = true;
	record.sa.records = 1;
	record.sa.bytes = 112;
	record.sa.latency_ns = 84999;
}

static void start_capture(enum record_type type, uint8_t mgmt_class,
			  uint8_t method, uint16_t attr_id)
{
	start_mad(mgmt_class, method, attr_id);
	memset(&capture, 0, sizeof(capture));
	capture.data = mad;
	capture.len = capture.size = MAD_SIZE;
	capture.sent = true;
	start_record(type);
	record.mad.capture = &capture;
	set_requester(&record.mad.peer);
}

static json_t *to_json(void)
{
	static char buf[RECORD_JSON_MAX + 2];
	json_error_t error;
	json_t *value;
	size_t len;

	buf[0] = '{';
	len = record_json(&record, buf + 1, RECORD_JSON_MAX);
	ck_assert_uint_gt(len, 0);
	buf[len + 1] = '}';
	value = json_loadb(buf, len + 2, JSON_REJECT_DUPLICATES, &error);
	ck_assert_msg(value != NULL, "%s in %.*s", error.text, (int)len + 2,
		      buf);
	return value;
}

/* One member of the record, "a.b" within an object, as compact JSON. */
static void check_member(const char *path, const char *expected)
{
	char key[64], *dot, *text = NULL;
	json_t *value = to_json(), *member;

	snprintf(key, sizeof(key), "%s", path);
	dot = strchr(key, '.');
	if (dot)
		*dot++ = '\0';
	member = json_object_get(value, key);
	if (dot)
		member = json_object_get(member, dot);
	if (member)
		text = json_dumps(member, JSON_ENCODE_ANY | JSON_COMPACT);
	if (!expected)
		ck_assert_msg(!text, "%s is %s", path, text);
	else
		ck_assert_msg(text && !strcmp(text, expected),
			      "%s is %s, expected %s", path, text, expected);
	free(text);
	json_decref(value);
}

/* The keys of the record in their order. */
static void check_keys(const char *expected)
{
	json_t *value = to_json(), *member;
	char keys[1024] = "";
	const char *key;

	json_object_foreach(value, key, member) {
		strcat(keys, *keys ? " " : "");
		strcat(keys, key);
	}
	ck_assert_str_eq(keys, expected);
	json_decref(value);
}

static bool is_clean(const char *text)
{
	for (; *text; text++)
		if ((uint8_t)*text < 0x20 || *text == 0x7f)
			return false;
	return true;
}

static void make_line(void)
{
	size_t len;

	memset(line, 'X', sizeof(line));
	len = record_line(&record, line, sizeof(line));
	ck_assert_uint_lt(len, sizeof(line));
	ck_assert_uint_eq(strlen(line), len);
	ck_assert(is_clean(line));
}

static void check_line(const char *expected)
{
	make_line();
	ck_assert_str_eq(line, expected);
}

/* What stands behind the last "-> ". */
static void check_end(const char *expected)
{
	const char *at, *end = NULL;

	make_line();
	for (at = line; (at = strstr(at, "-> ")); at++)
		end = at;
	ck_assert_ptr_nonnull(end);
	ck_assert_str_eq(end + 3, expected);
}

START_TEST(test_requests_cut_anywhere)
{
	static const struct {
		uint8_t method;
		uint16_t attr_id;
	} kinds[] = {
		{ METHOD_SET, ATTR_MCMEMBER_RECORD },
		{ METHOD_GET_MULTI, ATTR_MULTIPATH_RECORD },
		{ METHOD_REPORT, ATTR_NOTICE },
		{ METHOD_GET, 0xfff1 },
	};
	size_t i, len;

	for (i = 0; i < COUNT(kinds); i++) {
		for (len = MAD_HDR_SIZE; len <= MAD_SIZE; len++) {
			uint8_t *exact = malloc(len);

			start_sa(kinds[i].method, kinds[i].attr_id);
			put64(SA_COMPONENT_MASK, UINT64_MAX);
			memset(mad + SA_DATA, 0xff, MAD_SIZE - SA_DATA);
			memcpy(exact, mad, len);
			record.sa.mad = exact;
			record.sa.len = len;
			json_decref(to_json());
			make_line();
			free(exact);
		}
	}
}
END_TEST

START_TEST(test_captures_cut_anywhere)
{
	static const uint8_t classes[] = { 0x01, 0x03, 0x04, 0x81, 0xff };
	size_t i, len;

	for (i = 0; i < COUNT(classes); i++) {
		for (len = MAD_HDR_SIZE; len <= MAD_SIZE; len++) {
			uint8_t *exact = malloc(len);

			start_capture(RECORD_MAD, classes[i], 1, 0x11);
			mad[SMP_HOP_COUNT] = 63;
			memcpy(exact, mad, len);
			capture.data = exact;
			capture.len = len;
			json_decref(to_json());
			make_line();
			free(exact);
		}
	}
}
END_TEST

START_TEST(test_too_small_a_buffer)
{
	char *exact;
	size_t size, full;

	start_sa(METHOD_SET, ATTR_MCMEMBER_RECORD);
	exact = malloc(RECORD_JSON_MAX);
	full = record_json(&record, exact, RECORD_JSON_MAX);
	free(exact);
	ck_assert_uint_gt(full, 0);
	for (size = 0; size <= full; size++) {
		exact = malloc(size ? size : 1);
		ck_assert_uint_eq(record_json(&record, exact, size),
				  size < full ? 0 : full);
		free(exact);
	}
	make_line();
	for (size = 0; size < 200; size++) {
		exact = malloc(size ? size : 1);
		full = record_line(&record, exact, size);
		ck_assert_uint_le(full, size ? size - 1 : 0);
		if (size) {
			ck_assert_uint_eq(strlen(exact), full);
			ck_assert_int_eq(strncmp(line, exact, full), 0);
		}
		free(exact);
	}
}
END_TEST

START_TEST(test_unknown_values)
{
	ck_assert_ptr_null(record_type_name(99));
	ck_assert_ptr_null(sa_outcome_name(99));
	ck_assert_ptr_null(sa_reason_name(99));
	ck_assert_ptr_null(sa_reason_name(SA_REASON_NONE));

	start_sa(0x7e, 0x00f1);
	record.sa.status = 0x7f00;
	check_member("method", "\"0x7e\"");
	check_member("attribute", "\"0x00f1\"");
	check_member("attribute_id", "241");
	check_member("status", "\"0x7f00\"");
	check_member("status_code", "32512");
	check_line("0x7e 0x00f1 from LID 7 \"node012 HCA-1\" "
		   "(0x0002c903000e0b72) -> 0x7f00, 84 us");

	start_capture(RECORD_MAD, 0x4f, 0x7e, 0xfff1);
	check_member("class", "\"0x4f\"");
	check_member("method", "\"0x7e\"");
	check_member("attribute", "\"0xfff1\"");
}
END_TEST

START_TEST(test_sa_members)
{
	start_sa(METHOD_SET, ATTR_MCMEMBER_RECORD);
	check_keys("time type requester tid method attribute attribute_id "
		   "component_mask query outcome reason status status_code "
		   "records bytes retries latency_us sm_key_used");
	check_member("time", "\"2026-11-29T23:15:28.187258123Z\"");
	check_member("type", "\"sa\"");
	check_member("requester", "{\"lid\":7,\"gid\":null,\"qpn\":1,"
		     "\"port_guid\":\"0x0002c903000e0b72\","
		     "\"name\":\"node012 HCA-1\"}");
	check_member("tid", "\"0x1122334455667788\"");
	check_member("method", "\"Set\"");
	check_member("attribute", "\"MCMemberRecord\"");
	check_member("attribute_id", "56");
	check_member("component_mask", "\"0x0000000000010001\"");
	check_member("query.mgid", "\"ff12:401b:ffff::1\"");
	check_member("outcome", "\"answered\"");
	check_member("reason", "null");
	check_member("status", "\"OK\"");
	check_member("status_code", "0");
	check_member("records", "1");
	check_member("bytes", "112");
	check_member("retries", "0");
	check_member("latency_us", "84");	/* rounded down */
	check_member("sm_key_used", "false");

	record.sa.status = 0x0300;
	check_member("status", "\"ERR_NO_RECORDS\"");
	check_member("status_code", "768");
}
END_TEST

START_TEST(test_requester_that_is_not_known)
{
	struct requester *who = &record.sa.requester;

	start_sa(METHOD_GET, 0x35);
	memset(who, 0, sizeof(*who));
	who->addr.lid = 65535;
	check_member("requester", "{\"lid\":65535,\"gid\":null,\"qpn\":0,"
		     "\"port_guid\":null,\"name\":null}");
	check_line("Get PathRecord from LID 65535 -> OK, 84 us");

	who->addr.has_gid = true;
	who->addr.gid[0] = 0xfe;
	who->addr.gid[15] = 1;
	check_member("requester.gid", "\"fe00::1\"");
	check_line("Get PathRecord from LID 65535 (fe00::1) -> OK, 84 us");
}
END_TEST

START_TEST(test_sa_without_a_response)
{
	start_sa(METHOD_SET, ATTR_MCMEMBER_RECORD);
	record.sa.outcome = SA_UNANSWERED;
	record.sa.reason = SA_REASON_FIRST_SWEEP;
	record.sa.has_response = false;
	record.sa.retries = 3;
	check_member("outcome", "\"unanswered\"");
	check_member("reason", "\"first_sweep\"");
	check_member("status", "null");
	check_member("status_code", "null");
	check_member("records", "null");
	check_member("bytes", "null");
	check_member("latency_us", "null");
	check_member("retries", "3");
	check_member("capture_lost", NULL);
	record.sa.capture_lost = true;
	check_member("capture_lost", "true");
	check_end("no answer: SM is in its first sweep (or it was not "
		  "captured), 3 retries");
}
END_TEST

START_TEST(test_a_cut_request_says_what_it_lacks)
{
	start_sa(METHOD_SET, ATTR_MCMEMBER_RECORD);
	record.sa.len = SA_DATA;
	check_member("component_mask", "\"0x0000000000010001\"");
	check_member("query.mgid", "null");
	record.sa.len = SA_DATA - 1;
	check_member("component_mask", "null");
	check_member("query", "{}");
	check_member("sm_key_used", "false");
	record.sa.len = SA_SM_KEY + 7;
	check_member("sm_key_used", "null");
}
END_TEST

START_TEST(test_the_sm_key_is_never_shown)
{
	char buf[RECORD_JSON_MAX];
	size_t len;

	start_sa(METHOD_SET, ATTR_MCMEMBER_RECORD);
	put64(SA_SM_KEY, 0xfeedfacedeadbeef);
	record.show_keys = true;
	check_member("sm_key_used", "true");
	len = record_json(&record, buf, sizeof(buf) - 1);
	buf[len] = '\0';
	ck_assert_ptr_null(strstr(buf, "feedface"));
	make_line();
	ck_assert_ptr_null(strstr(line, "feedface"));
}
END_TEST

START_TEST(test_sa_lines)
{
	start_sa(METHOD_SET, ATTR_MCMEMBER_RECORD);
	check_line("Set MCMemberRecord from LID 7 \"node012 HCA-1\" "
		   "(0x0002c903000e0b72): mgid ff12:401b:ffff::1 "
		   "join_state full -> OK, 84 us");

	start_sa(METHOD_GET_TABLE, 0x11);
	check_end("OK, 1 record, 84 us");
	record.sa.records = 0;
	check_end("OK, 0 records, 84 us");
	record.sa.records = 512;
	record.sa.retries = 1;
	check_end("OK, 512 records, 84 us, 1 retry");
	record.sa.retries = 2;
	record.sa.records = 0;
	record.sa.status = 0x0300;
	check_end("ERR_NO_RECORDS, 84 us, 2 retries");

}
END_TEST

/* OpenSM asks: who is named is the one that it was sent to. */
START_TEST(test_a_report_that_was_sent)
{
	start_sa(METHOD_REPORT, ATTR_NOTICE);
	record.sa.records = 0;
	record.sa.sent = true;
	check_keys("time type direction requester tid method attribute "
		   "attribute_id component_mask query notice outcome reason "
		   "status status_code records bytes retries latency_us "
		   "sm_key_used");
	check_member("direction", "\"sent\"");
	check_member("requester.lid", "7");
	make_line();
	ck_assert_int_eq(strncmp(line, "Report Notice to LID 7 ", 23), 0);
	check_end("OK, 84 us");

	/* a client's is a request like another */
	record.sa.sent = false;
	check_member("direction", NULL);
	make_line();
	ck_assert_int_eq(strncmp(line, "Report Notice from LID 7 ", 25), 0);
}
END_TEST

START_TEST(test_words_and_names_of_each_reason)
{
	static const struct {
		enum sa_reason reason;
		const char *name;
		const char *words;
	} reasons[] = {
		{ SA_REASON_SM_NOT_MASTER, "sm_not_master",
		  "SM is not master" },
		{ SA_REASON_FIRST_SWEEP, "first_sweep",
		  "SM is in its first sweep" },
		{ SA_REASON_SM_KEY, "sm_key", "wrong SM_Key" },
		{ SA_REASON_UNSUPPORTED_ATTRIBUTE, "unsupported_attribute",
		  "attribute not supported" },
		{ SA_REASON_UNSUPPORTED_METHOD, "unsupported_method",
		  "method not supported" },
		{ SA_REASON_OVERLOAD, "overload", "SA is overloaded" },
		{ SA_REASON_SEND_ERROR, "send_error", "send error" },
		{ SA_REASON_UNKNOWN, "unknown", "reason unknown" },
	};
	char expected[64];
	size_t i;

	for (i = 0; i < COUNT(reasons); i++) {
		start_sa(METHOD_GET, 0x35);
		record.sa.has_response = false;
		record.sa.reason = reasons[i].reason;
		ck_assert_str_eq(sa_reason_name(reasons[i].reason),
				 reasons[i].name);
		record.sa.outcome = SA_UNANSWERED;
		snprintf(expected, sizeof(expected), "\"%s\"",
			 reasons[i].name);
		check_member("reason", expected);
		snprintf(expected, sizeof(expected), "no answer: %s",
			 reasons[i].words);
		check_end(expected);
		record.sa.outcome = SA_FAILED;
		snprintf(expected, sizeof(expected), "failed: %s",
			 reasons[i].words);
		check_end(expected);
	}
}
END_TEST

START_TEST(test_hostile_names)
{
	start_sa(METHOD_GET, 0x35);
	record.sa.requester.port_guid = 0;
	record.sa.requester.name = "a\x1b[31m\n\"\\\x7f\xc2\x9b\xff\u00e4"
		"\u202e\ufeff\xe2\x82";
	check_line("Get PathRecord from LID 7 \"a\\u001b[31m\\u000a\\\"\\\\"
		   "\\u007f\\u009b\\xff\u00e4\\u202e\\ufeff\\xe2\\x82\""
		   " -> OK, 84 us");
	check_member("requester.name", "\"a\\u001B[31m\\n\\\"\\\\\x7f\xc2\x9b"
		     "\ufffd\u00e4\u202e\ufeff\ufffd\"");
}
END_TEST

START_TEST(test_a_long_query_keeps_its_outcome)
{
	static char name[65];

	start_sa(METHOD_GET, 0x31);
	put64(SA_COMPONENT_MASK, UINT64_MAX);
	memset(mad + SA_DATA, 0x1b, MAD_SIZE - SA_DATA);
	memset(name, 0x1b, 64);
	record.sa.requester.name = name;
	check_end("OK, 84 us");
	ck_assert_ptr_nonnull(strstr(line, " ... -> "));
}
END_TEST

START_TEST(test_mad_members)
{
	start_capture(RECORD_MAD, CLASS_SUBN_LID, METHOD_GET, 0x15);
	mad[MAD_ATTR_MOD + 3] = 9;
	put16(MAD_STATUS, 0x801c);
	check_keys("time type direction class class_id method attribute "
		   "attribute_id attribute_modifier tid status_code peer "
		   "completion");
	check_member("type", "\"mad\"");
	check_member("direction", "\"sent\"");
	check_member("class", "\"SubnLID\"");
	check_member("class_id", "1");
	check_member("method", "\"Get\"");
	check_member("attribute", "\"PortInfo\"");
	check_member("attribute_id", "21");
	check_member("attribute_modifier", "\"0x00000009\"");
	check_member("tid", "\"0x1122334455667788\"");
	check_member("status_code", "32796");
	check_member("peer.lid", "7");
	check_member("path", NULL);
	check_member("completion", "\"ok\"");
	check_line("sent SubnLID Get PortInfo to LID 7 \"node012 HCA-1\" "
		   "(0x0002c903000e0b72), status 0x801c");

	capture.sent = false;
	check_member("direction", "\"received\"");
}
END_TEST

START_TEST(test_directed_route)
{
	start_capture(RECORD_SEND_ERROR, CLASS_SUBN_DIR, METHOD_GET, 0x11);
	capture.completion = MAD_TIMEOUT;
	put16(MAD_STATUS, 0x8000);	/* the direction bit alone */
	mad[SMP_HOP_COUNT] = 2;
	mad[SMP_INITIAL_PATH] = 99;
	mad[SMP_INITIAL_PATH + 1] = 1;
	mad[SMP_INITIAL_PATH + 2] = 10;
	check_member("type", "\"send_error\"");
	check_member("path", "\"0,1,10\"");
	check_member("status_code", "0");
	check_member("completion", "\"timeout\"");
	check_line("sent SubnDR Get NodeInfo to path 0,1,10, "
		   "completed in error: timeout");
	capture.completion = MAD_CANCELED;
	check_member("completion", "\"canceled\"");
	capture.completion = MAD_ERROR;
	check_member("completion", "\"error\"");

	capture.len = SMP_INITIAL_PATH + 2;
	check_member("path", "null");
	capture.len = SMP_INITIAL_PATH + 3;
	check_member("path", "\"0,1,10\"");
	mad[SMP_HOP_COUNT] = 0;
	check_member("path", "\"0\"");
	capture.len = MAD_SIZE;
	mad[SMP_HOP_COUNT] = 64;
	check_member("path", "null");
	memset(mad + SMP_INITIAL_PATH, 255, 64);
	mad[SMP_HOP_COUNT] = 63;
	make_line();
	ck_assert_ptr_nonnull(strstr(line, "path 0,255,255,"));
}
END_TEST

START_TEST(test_traps)
{
	static const uint8_t notice[64] = { 0x81, 0, 0, 2, 0, 128, 0, 5 };

	start_record(RECORD_TRAP);
	record.trap.notice = notice;
	record.trap.len = sizeof(notice);
	set_requester(&record.trap.from);
	check_keys("time type generic trap_type trap_number producer "
		   "issuer_lid issuer_gid details from repressed");
	check_member("trap_number", "128");
	check_member("from.lid", "7");
	check_member("repressed", "false");
	make_line();
	ck_assert_int_eq(strncmp(line, "trap 128 ", 9), 0);
	ck_assert_ptr_nonnull(strstr(line, ", sent by LID 7 \"node012"));
	ck_assert_ptr_null(strstr(line, "repressed"));

	record.trap.repressed = true;
	record.trap.from.addr.lid = 0;
	check_member("repressed", "true");
	make_line();
	ck_assert_ptr_nonnull(strstr(line, ", repressed"));
	ck_assert_ptr_null(strstr(line, "sent by"));

	record.trap.len = 0;
	check_member("trap_number", "null");
	make_line();
}
END_TEST

START_TEST(test_alerts)
{
	static const struct evidence evidence[] = {
		{ "requests", NULL, 12000 },
		{ "mgid", "ff12::1", 0 },
		{ "huge", NULL, UINT64_C(1) << 53 },
	};
	struct requester who = { .addr.lid = 7 };

	start_record(RECORD_ALERT);
	record.alert.alert = "sa_storm";
	record.alert.severity = "warning";
	record.alert.subject = "LID 7";
	record.alert.text = "LID 7 sent 12000 requests\n\x1b[2J";
	check_keys("time type alert severity subject text");
	record.alert.who = &who;
	record.alert.evidence = evidence;
	record.alert.n_evidence = COUNT(evidence);
	check_keys("time type alert severity subject text requester requests "
		   "mgid huge");
	check_member("alert", "\"sa_storm\"");
	check_member("severity", "\"warning\"");
	check_member("subject", "\"LID 7\"");
	check_member("requester.lid", "7");
	check_member("requests", "12000");
	check_member("mgid", "\"ff12::1\"");
	check_member("huge", "\"0x0020000000000000\"");
	check_line("ALERT warning sa_storm: LID 7 sent 12000 requests"
		   "\\u000a\\u001b[2J");
	record.alert.text = NULL;
	check_line("ALERT warning sa_storm: ?");
}
END_TEST

START_TEST(test_state_and_loss)
{
	start_record(RECORD_STATE);
	record.state.state = "sweep_done";
	check_keys("time type state sm_state");
	check_member("sm_state", "null");
	check_line("state sweep_done");
	record.state.sm_state = "master";
	check_keys("time type state sm_state");
	check_member("sm_state", "\"master\"");
	check_line("state sweep_done, SM is master");

	start_record(RECORD_LOSS);
	record.loss.where = "ring";
	record.loss.lost = 12;
	record.loss.total = 40;
	check_keys("time type where lost total");
	check_member("lost", "12");
	check_member("total", "40");
	check_line("lost 12 captures (ring), 40 in all");
}
END_TEST

START_TEST(test_start_and_stop)
{
	static const struct evidence options[] = {
		{ "audit", "/var/log/a.jsonl", 0 }, { "snaplen", NULL, 1024 },
	};

	start_record(RECORD_START);
	record.start = (struct start_record){ "1.0", "OpenSM 3.3.23", "tap",
					      options, COUNT(options) };
	check_keys("time type version opensm_version source options");
	check_member("options", "{\"audit\":\"/var/log/a.jsonl\","
		     "\"snaplen\":1024}");
	check_line("start: version 1.0, OpenSM 3.3.23, source tap, "
		   "options audit=/var/log/a.jsonl snaplen=1024");

	start_record(RECORD_STOP);
	record.stop = (struct stop_record){
		.what = { "1.0", "OpenSM 3.3.23", "tap", NULL, 0 },
		.captured = { 1, 2, 3, 4 },
		.opensm = { 5, 6, 7, 8 },
		.lost = 9,
	};
	check_keys("time type version opensm_version source options captured "
		   "opensm complete lost");
	check_member("options", "{}");
	check_member("captured", "{\"sm_received\":1,\"sm_sent\":2,"
		     "\"sa_received\":3,\"sa_sent\":4}");
	check_member("opensm", "{\"sm_received\":5,\"sm_sent\":6,"
		     "\"sa_received\":7,\"sa_sent\":8}");
	check_member("complete", "false");
	check_member("lost", "9");
	check_line("stop: captured SM 1 received 2 sent, SA 3 received 4 sent;"
		   " OpenSM counted SM 5 received 6 sent, SA 7 received 8 sent"
		   "; captures not complete, 9 lost");
}
END_TEST

START_TEST(test_what_is_audit)
{
	static const struct {
		uint8_t method;
		bool audit;
	} methods[] = {
		{ METHOD_GET, false }, { METHOD_SET, true },
		{ METHOD_GET_TABLE, false }, { METHOD_DELETE, true },
		{ METHOD_REPORT, false }, { METHOD_GET_MULTI, false },
	};
	static const struct {
		enum record_type type;
		const char *name;
		bool audit;
	} types[] = {
		{ RECORD_MAD, "mad", false },
		{ RECORD_SEND_ERROR, "send_error", false },
		{ RECORD_TRAP, "trap", true },
		{ RECORD_ALERT, "alert", true },
		{ RECORD_STATE, "state", true },
		{ RECORD_LOSS, "loss", true },
		{ RECORD_START, "start", true },
		{ RECORD_STOP, "stop", true },
	};
	size_t i;

	for (i = 0; i < COUNT(methods); i++) {
		start_sa(methods[i].method, 0x35);
		ck_assert_int_eq(record_is_audit(&record), methods[i].audit);
	}
	for (i = 0; i < COUNT(types); i++) {
		start_record(types[i].type);
		ck_assert_int_eq(record_is_audit(&record), types[i].audit);
		ck_assert_str_eq(record_type_name(types[i].type),
				 types[i].name);
	}
	ck_assert_str_eq(record_type_name(RECORD_SA), "sa");
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("record");
	TCase *tcase = tcase_create("record");

	tcase_set_timeout(tcase, 120);
	tcase_add_test(tcase, test_requests_cut_anywhere);
	tcase_add_test(tcase, test_captures_cut_anywhere);
	tcase_add_test(tcase, test_too_small_a_buffer);
	tcase_add_test(tcase, test_unknown_values);
	tcase_add_test(tcase, test_hostile_names);
	tcase_add_test(tcase, test_a_long_query_keeps_its_outcome);
	tcase_add_test(tcase, test_a_cut_request_says_what_it_lacks);
	tcase_add_test(tcase, test_the_sm_key_is_never_shown);
	tcase_add_test(tcase, test_sa_members);
	tcase_add_test(tcase, test_requester_that_is_not_known);
	tcase_add_test(tcase, test_sa_without_a_response);
	tcase_add_test(tcase, test_sa_lines);
	tcase_add_test(tcase, test_a_report_that_was_sent);
	tcase_add_test(tcase, test_words_and_names_of_each_reason);
	tcase_add_test(tcase, test_mad_members);
	tcase_add_test(tcase, test_directed_route);
	tcase_add_test(tcase, test_traps);
	tcase_add_test(tcase, test_alerts);
	tcase_add_test(tcase, test_state_and_loss);
	tcase_add_test(tcase, test_start_and_stop);
	tcase_add_test(tcase, test_what_is_audit);
	suite_add_tcase(suite, tcase);
	return run_suite(suite);
}
