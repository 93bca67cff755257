/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* What record_json() writes is read as the same record. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <check.h>

#include "attributes.h"
#include "captures.h"
#include "field.h"
#include "pipeline.h"
#include "record_read.h"
#include "../run.h"

enum { ROUNDS = 200 };

static char error[PIPELINE_ERROR_MAX];
static size_t n_records;

static size_t write_json(const struct record *r, char *text)
{
	size_t len = record_json(r, text + 1, RECORD_JSON_MAX - 2);

	ck_assert_uint_gt(len, 0);
	text[0] = '{';
	text[len + 1] = '}';
	return len + 2;
}

/* Written, read, and written again. */
static void check_again(const struct record *r)
{
	static char before[RECORD_JSON_MAX], after[RECORD_JSON_MAX];
	size_t len = write_json(r, before), len_after;
	json_t *json = json_loadb(before, len, 0, NULL);
	struct record_copy copy;

	ck_assert_ptr_nonnull(json);
	ck_assert_msg(record_read(json, &copy), "%.*s", (int)len, before);
	copy.record.show_keys = r->show_keys;
	len_after = write_json(&copy.record, after);
	ck_assert_msg(len == len_after && !memcmp(before, after, len),
		      "\n%.*s\n%.*s", (int)len, before, (int)len_after, after);
	json_decref(json);
}

static void on_record(const struct record *r, void *context)
{
	(void)context;
	n_records++;
	/* of the other types only what is counted is read */
	if (r->type != RECORD_TRAP &&
	    !(r->type == RECORD_MAD &&
	      r->mad.capture->data[MAD_CLASS] == CLASS_SUBN_DIR) &&
	    r->type != RECORD_SEND_ERROR)
		check_again(r);
}

START_TEST(a_story)
{
	const struct pipeline_options options = { .record = on_record };
	struct pipeline *p = pipeline_new(&options, error);
	struct mad_capture cap;
	struct erf_note note;
	struct captures c;
	uint32_t word[4];
	size_t at;

	captures_begin(&c, FORMAT_OURS);
	captures_story(&c);
	for (at = ERF_FILE_HEADER; at < c.len; at += 16 + word[2]) {
		memcpy(word, c.bytes + at, sizeof(word));
		erf_decode(c.bytes + at + 16, word[2], word[3],
			   word[0] * UINT64_C(1000000000) + word[1], &cap,
			   &note);
		cap.thread = MAD_THREAD_UNKNOWN;
		pipeline_put(p, &cap, &note);
	}
	pipeline_flush(p);
	ck_assert_uint_eq(n_records, STORY_SA + STORY_MADS + STORY_TRAPS + 1);
	pipeline_free(p);
	free(c.bytes);
}
END_TEST

/*
 * Text ends with a NUL, and what is no text is not kept: the letters of
 * another alphabet are.
 */
static void set_texts(const struct sa_attribute *attr, uint8_t *rec)
{
	size_t i;

	for (i = 0; i < attr->n_fields; i++)
		if (attr->fields[i].kind == FIELD_TEXT)
			strcpy((char *)rec + attr->fields[i].offset / 8,
			       "a \"name\" of \xc3\xa4\x1b[2J");
}

/* Any components of any attribute, with any value. */
START_TEST(every_component)
{
	const struct sa_attribute *attr = &sa_attributes[_i];
	struct record r = { .type = RECORD_SA, .show_keys = true };
	uint8_t mad[MAD_SIZE];
	uint64_t mask = 0;
	size_t round, i;

	for (i = 0; i < attr->n_fields; i++)
		mask |= UINT64_C(1) << attr->fields[i].component;
	srand(_i + 1);
	for (round = 0; round < ROUNDS; round++) {
		for (i = 0; i < MAD_SIZE; i++)
			mad[i] = (uint8_t)rand();
		set_texts(attr, mad + SA_DATA);
		mad[MAD_CLASS] = CLASS_SUBN_ADM;
		mad[MAD_METHOD] = METHOD_GET;
		captures_set16(mad + MAD_ATTR_ID, attr->id);
		for (i = 0; i < 8; i++)
			mad[SA_COMPONENT_MASK + i] &=
				(uint8_t)(mask >> (56 - 8 * i));
		/* no more GIDs than there is room for */
		if (attr->id == ATTR_MULTIPATH_RECORD) {
			mad[SA_DATA + 15] = (uint8_t)(rand() % 6);
			mad[SA_DATA + 16] = (uint8_t)(rand() % 6);
			mad[SA_COMPONENT_MASK + 5] |= 0x18;
		}
		memset(mad + SA_SM_KEY, 0, 8);
		r.time_ns = UINT64_C(1764459328123456789) + round;
		r.sa = (struct sa_record){
			.requester = {
				.addr = {
					.lid = (uint16_t)rand(), .qpn = 1,
					.has_gid = round % 2, .gid = { 0xfe },
				},
				.port_guid = (uint64_t)rand() << 40,
				.name = "host",
			},
			.mad = mad, .len = MAD_SIZE,
			.outcome = (enum sa_outcome)(round % 3),
			.reason = (enum sa_reason)(round % 8 + 1),
			.has_response = round % 3 == 0,
			.status = (uint16_t)rand(), .records = 7, .bytes = 9,
			.latency_ns = 77000, .retries = 3,
			.sm_key_hidden = round % 5 == 0,
			.capture_lost = round % 3 && round % 7 == 0,
			.evicted = round % 3 && round % 11 == 0,
		};
		check_again(&r);
	}
}
END_TEST

static bool reads(const char *text)
{
	json_t *json = json_loads(text, 0, NULL);
	struct record_copy copy;
	bool read;

	ck_assert_msg(json != NULL, "%s", text);
	read = record_read(json, &copy);
	json_decref(json);
	return read;
}

#define TIME "\"time\":\"2026-11-29T23:15:28.187258123Z\""

START_TEST(others_are_none)
{
	static const char *const others[] = {
		"{}", "[]", "{\"type\":\"sa\"}", "{" TIME "}",
		"{" TIME ",\"type\":7}", "{" TIME ",\"type\":\"nix\"}",
		"{" TIME ",\"type\":\"sa\"}",
		"{" TIME ",\"type\":\"sa\",\"method\":\"Get\"}",
		"{" TIME ",\"type\":\"sa\",\"outcome\":\"answered\"}",
		"{" TIME ",\"type\":\"sa\",\"method\":\"Get\",\"outcome\":\"nix\"}",
		"{" TIME ",\"type\":\"mad\"}",
		"{\"time\":7,\"type\":\"state\"}",
		"{\"time\":\"\",\"type\":\"state\"}",
		"{\"time\":\"2026-11-29\",\"type\":\"state\"}",
		"{\"time\":\"2026-1x-29T23:15:28.187258123Z\",\"type\":\"state\"}",
		"{\"time\":\"0026-11-29T23:15:28.187258123Z\",\"type\":\"state\"}",
		"{\"time\":\"9999-11-29T23:15:28.187258123Z\",\"type\":\"state\"}",
		"{\"time\":\"2026-13-29T23:15:28.187258123Z\",\"type\":\"state\"}",
		"{\"time\":\"2026-11-29T24:15:28.187258123Z\",\"type\":\"state\"}",
	};
	size_t i;

	for (i = 0; i < sizeof(others) / sizeof(others[0]); i++)
		ck_assert_msg(!reads(others[i]), "%s", others[i]);
	ck_assert(reads("{" TIME ",\"type\":\"state\"}"));
	ck_assert(reads("{" TIME ",\"type\":\"trap\"}"));
	ck_assert(reads("{" TIME ",\"type\":\"loss\",\"lost\":\"x\"}"));
	/* of other types than they should be */
	ck_assert(reads("{" TIME ",\"type\":\"sa\",\"method\":\"Get\",\"outcome\":\"answered\",\"requester\":[],\"query\":7,\"attribute_id\":-1,\"tid\":{},\"status_code\":\"x\",\"retries\":1e9}"));
	ck_assert(reads("{" TIME ",\"type\":\"sa\",\"method\":\"Get\",\"outcome\":\"answered\",\"attribute_id\":53,\"query\":{\"dgid\":\"x\",\"sgid\":7,\"dlid\":70000,\"service_id\":\"0x\",\"reversible\":1}}"));
	ck_assert(reads("{" TIME ",\"type\":\"sa\",\"method\":\"Get\",\"outcome\":\"answered\",\"attribute_id\":58,\"query\":{\"sgid_count\":255,\"sgids\":[7,\"::1\",null],\"dgid_count\":255,\"dgids\":{}}}"));
	ck_assert(reads("{" TIME ",\"type\":\"sa\",\"method\":\"Set\",\"outcome\":\"answered\",\"attribute_id\":49,\"query\":{\"service_key\":\"0x1\",\"service_name\":\"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa\"}}"));
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("record_read");
	TCase *c = tcase_create("record_read");

	tcase_add_test(c, a_story);
	tcase_add_loop_test(c, every_component, 0, (int)sa_attributes_count);
	tcase_add_test(c, others_are_none);
	suite_add_tcase(suite, c);
	return run_suite(suite);
}
