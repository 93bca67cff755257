/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Records in, sums out; what is printed of them is JSON, whatever is in it. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <check.h>
#include <jansson.h>

#include "captures.h"
#include "summary.h"
#include "summary_show.h"
#include "../run.h"

#define SECOND UINT64_C(1000000000)

static struct summary *s;
static uint8_t mad[MAD_SIZE];
static struct record record;

static void set_up(void)
{
	s = summary_new(10 * SECOND);
	memset(mad, 0, sizeof(mad));
	mad[MAD_CLASS] = CLASS_SUBN_ADM;
	mad[MAD_METHOD] = METHOD_GET;
	captures_set16(mad + MAD_ATTR_ID, ATTR_PATH_RECORD);
	record = (struct record){
		.type = RECORD_SA,
		.time_ns = 1764459328 * SECOND,
		.sa = {
			.requester = { .addr = { .lid = 7 } },
			.mad = mad,
			.len = MAD_SIZE,
			.has_response = true,
			.latency_ns = 77999,
			.records = 1,
		},
	};
}

static void tear_down(void)
{
	summary_free(s);
}

static void add(uint8_t tid)
{
	mad[MAD_TID + 7] = tid;
	summary_add(s, &record);
}

/* What is printed, as text and as JSON, of so many requesters. */
static json_t *show(size_t requesters, char **text)
{
	const struct records_stats stats = { .traces = 1 };
	struct summary_view view = {
		.summary = s, .stats = &stats, .requesters = requesters,
	};
	json_error_t error;
	char *buffer;
	json_t *json;
	size_t size;

	view.out = open_memstream(text, &size);
	summary_show_text(&view);
	fclose(view.out);
	view.out = open_memstream(&buffer, &size);
	summary_show_json(&view);
	fclose(view.out);
	json = json_loads(buffer, JSON_REJECT_DUPLICATES, &error);
	ck_assert_msg(json != NULL, "%s\n%s", error.text, buffer);
	free(buffer);
	return json;
}

START_TEST(outcomes_are_counted)
{
	add(1);
	record.sa.status = 0x300;
	record.sa.records = 0;
	record.sa.retries = 2;
	add(2);
	record.sa.has_response = false;
	record.sa.outcome = SA_UNANSWERED;
	record.sa.reason = SA_REASON_SM_KEY;
	record.sa.capture_lost = true;
	record.sa.requester.addr.lid = 8;
	add(3);
	record.sa.outcome = SA_FAILED;
	record.sa.reason = SA_REASON_SEND_ERROR;
	record.sa.capture_lost = false;
	add(4);
	/* OpenSM asks: none of these */
	record.sa.sent = true;
	mad[MAD_METHOD] = METHOD_REPORT;
	add(5);

	ck_assert_uint_eq(s->all.requests, 4);
	ck_assert_uint_eq(s->all.outcomes[SA_ANSWERED], 2);
	ck_assert_uint_eq(s->all.outcomes[SA_UNANSWERED], 1);
	ck_assert_uint_eq(s->all.outcomes[SA_FAILED], 1);
	ck_assert_uint_eq(s->all.errors, 1);
	ck_assert_uint_eq(s->all.retries, 2 * 3);
	ck_assert_uint_eq(s->all.records, 1);
	ck_assert_uint_eq(s->all.latency.n, 2);
	ck_assert_uint_eq(s->all.latency.max, 77);
	ck_assert_uint_eq(s->reports.requests, 1);
	ck_assert_uint_eq(s->reasons[SA_REASON_SM_KEY], 1);
	ck_assert_uint_eq(s->reasons[SA_REASON_SEND_ERROR], 1);
	ck_assert_uint_eq(s->capture_lost, 1);
	ck_assert_uint_eq(s->statuses[0], 1);
	ck_assert_uint_eq(s->statuses[0x300], 1);
	ck_assert_uint_eq(s->requesters[7]->row.requests, 2);
	ck_assert_uint_eq(s->requesters[8]->row.requests, 2);
	ck_assert_uint_eq(s->types[RECORD_SA], 5);
}
END_TEST

/* By who, what and the components that are named; not by what lies behind. */
START_TEST(repeats_are_the_same_query)
{
	mad[SA_COMPONENT_MASK + 7] = 0x30;	/* dlid, slid */
	mad[SA_DATA + 41] = 4;
	add(1);
	add(1);		/* a late copy, and no other TID */
	ck_assert_uint_eq(s->all.repeats, 0);
	mad[SA_DATA + 60] = 99;		/* no component that is named */
	add(2);
	ck_assert_uint_eq(s->all.repeats, 1);
	mad[SA_DATA + 41] = 5;
	add(3);
	record.sa.requester.addr.lid = 8;
	add(4);
	mad[MAD_METHOD] = METHOD_GET_TABLE;
	add(5);
	mad[SA_COMPONENT_MASK + 7] = 0x10;
	add(6);
	ck_assert_uint_eq(s->all.repeats, 1);
	ck_assert_uint_eq(s->requesters[7]->row.repeats, 1);
	ck_assert(!s->repeats_at_least);
}
END_TEST

START_TEST(repeats_are_within_their_time)
{
	add(1);
	record.time_ns += 10 * SECOND;
	add(2);
	ck_assert_uint_eq(s->all.repeats, 1);
	record.time_ns += 10 * SECOND + 1;
	add(3);
	ck_assert_uint_eq(s->all.repeats, 1);
	/* one that came before, and took longer */
	record.time_ns -= SECOND;
	add(4);
	ck_assert_uint_eq(s->all.repeats, 2);
}
END_TEST

/* More than there is room for, in no time. */
START_TEST(repeats_that_may_be_missed_are_told)
{
	uint32_t i;

	mad[SA_COMPONENT_MASK + 5] = 1;		/* q_key and so on */
	mad[SA_COMPONENT_MASK + 7] = 0x04;	/* dgid */
	for (i = 0; i < 1 << 21; i++) {
		memcpy(mad + SA_DATA + 8, &i, sizeof(i));
		memcpy(mad + MAD_TID, &i, sizeof(i));
		summary_add(s, &record);
	}
	ck_assert(s->repeats_at_least);
	ck_assert_uint_lt(s->all.repeats, 100);
}
END_TEST

START_TEST(rates)
{
	int i;

	ck_assert(summary_rate(s) == 0);
	for (i = 0; i < 5; i++)
		add((uint8_t)i);
	ck_assert(summary_rate(s) == 5);
	record.time_ns += 9 * SECOND;
	for (i = 0; i < 25; i++)
		add((uint8_t)i);
	record.time_ns += SECOND;
	add(0);
	/* an older file comes later */
	record.time_ns -= 10 * SECOND;
	for (i = 0; i < 15; i++)
		add((uint8_t)i);
	ck_assert_uint_eq(s->peak, 25);
	ck_assert_uint_eq(s->peak_second, 1764459328 + 9);
	ck_assert(summary_rate(s) == 4.6);
	for (i = 0; i < 6; i++)
		add((uint8_t)i);
	ck_assert_uint_eq(s->peak, 26);
	ck_assert_uint_eq(s->peak_second, 1764459328);
}
END_TEST

/* Attributes and statuses that nobody has: the tables are bounded. */
START_TEST(tables_are_bounded)
{
	struct mad_capture cap = { .data = mad, .len = MAD_SIZE };
	struct record other = { .type = RECORD_MAD, .mad.capture = &cap };
	json_t *json;
	char *text;
	int i;

	for (i = 0; i < 65536; i++) {
		captures_set16(mad + MAD_ATTR_ID, (uint16_t)i);
		record.sa.status = (uint16_t)i;
		record.sa.requester.addr.lid = (uint16_t)i;
		record.sa.latency_ns = (uint64_t)i << i % 48;
		record.sa.sent = i % 2;
		add(1);
		summary_add(s, &other);
	}
	ck_assert_uint_eq(s->attribute_keys.n, SUMMARY_KEYS);
	ck_assert_uint_eq(s->attributes[SUMMARY_KEYS].requests,
			  32768 - SUMMARY_KEYS);
	json = show(SUMMARY_NUMBERS, &text);
	ck_assert_uint_eq(json_array_size(json_object_get(json, "queries")),
			  SUMMARY_KEYS + 1);
	ck_assert_uint_eq(json_array_size(json_object_get(json, "mads")),
			  SUMMARY_KEYS + 1);
	ck_assert_uint_eq(json_array_size(json_object_get(json, "requesters")),
			  32768);
	ck_assert_ptr_nonnull(strstr(text, "(others)"));
	free(text);
	json_decref(json);
}
END_TEST

START_TEST(names_are_harmless)
{
	static const char *const names[] = {
		"\033[2J", "\"", "\\", "\xff\xfe", "\xe2\x80\xae", "\n", "\t",
		"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
	};
	const size_t n = sizeof(names) / sizeof(names[0]);
	json_t *json, *list;
	char *text;
	size_t i;

	for (i = 0; i < n; i++) {
		record.sa.requester.addr.lid = (uint16_t)(i + 1);
		record.sa.requester.name = names[i];
		add(1);
	}
	json = show(n, &text);
	list = json_object_get(json, "requesters");
	ck_assert_uint_eq(json_array_size(list), n);
	ck_assert_ptr_null(strpbrk(text, "\033\xff\xe2\t"));
	free(text);
	json_decref(json);
	/* the latest one; without one the last stays */
	record.sa.requester = (struct requester){ .addr.lid = 1, .name = "b" };
	add(2);
	record.sa.requester.name = NULL;
	add(3);
	ck_assert_str_eq(s->requesters[1]->name, "b");
	json = show(2, &text);
	list = json_object_get(json, "requesters");
	ck_assert_uint_eq(json_array_size(list), 2);
	ck_assert_str_eq(json_string_value(json_object_get(
		json_array_get(list, 0), "name")), "b");
	ck_assert_ptr_nonnull(strstr(text, "(and 6 more)"));
	free(text);
	json_decref(json);
}
END_TEST

START_TEST(nothing_is_shown_too)
{
	char *text;
	json_t *json = show(20, &text);

	ck_assert(json_is_null(json_object_get(json, "first")));
	ck_assert(json_is_null(json_object_get(json_object_get(json, "sa"),
					       "latency_us")));
	ck_assert_str_eq(text, "1 trace, 0 lines\n0 records, - to -\n");
	free(text);
	json_decref(json);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("summary");
	TCase *c = tcase_create("summary");

	tcase_add_checked_fixture(c, set_up, tear_down);
	tcase_add_test(c, outcomes_are_counted);
	tcase_add_test(c, repeats_are_the_same_query);
	tcase_add_test(c, repeats_are_within_their_time);
	tcase_add_test(c, repeats_that_may_be_missed_are_told);
	tcase_add_test(c, rates);
	tcase_add_test(c, tables_are_bounded);
	tcase_add_test(c, names_are_harmless);
	tcase_add_test(c, nothing_is_shown_too);
	suite_add_tcase(suite, c);
	return run_suite(suite);
}
