/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Packets in, records out: what the plugin says live, from a file. */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <check.h>

#include "captures.h"
#include "pipeline.h"
#include "../run.h"

enum { RECORDS_MAX = 64 };

#define SECOND UINT64_C(1000000000)

static struct pipeline *p;
static char error[PIPELINE_ERROR_MAX];

/* What came out. */
static char lines[RECORDS_MAX][RECORD_LINE_MAX];
static enum record_type types[RECORDS_MAX];
static size_t n_records, n_captures, answer_len;
static struct captures written;

static void on_record(const struct record *r, void *context)
{
	ck_assert_ptr_eq(context, lines);
	ck_assert_uint_lt(n_records, RECORDS_MAX);
	record_line(r, lines[n_records], RECORD_LINE_MAX);
	types[n_records++] = r->type;
	if (r->type == RECORD_SA && r->sa.answer)
		answer_len = r->sa.answer_len;
	ck_assert(r->type != RECORD_SA || r->sa.local_lid == 1);
}

static void on_capture(const struct mad_capture *cap,
		       const struct erf_note *note,
		       const struct requester *peer, void *context)
{
	ck_assert_ptr_eq(context, lines);
	ck_assert_uint_eq(peer->addr.lid, cap->peer.lid);
	erf_encode(cap, note->has_name ? &note->name : NULL, true,
		   captures_packet, &written);
	n_captures++;
}

static struct pipeline_options options = {
	.record = on_record, .capture = on_capture, .context = lines,
};

static void begin(const struct pipeline_options *o)
{
	n_records = n_captures = answer_len = 0;
	captures_begin(&written, FORMAT_OURS);
	p = pipeline_new(o, error);
	ck_assert_msg(p != NULL, "%s", error);
}

static void set_up(void)
{
	begin(&options);
}

static void tear_down(void)
{
	pipeline_free(p);
	free(written.bytes);
}

/* Put all packets of a file of ours. */
static void put_all(const struct captures *c)
{
	struct mad_capture cap;
	struct erf_note note;
	uint32_t word[4];
	size_t at;

	for (at = ERF_FILE_HEADER; at < c->len; at += 16 + word[2]) {
		memcpy(word, c->bytes + at, sizeof(word));
		ck_assert_int_eq(erf_decode(c->bytes + at + 16, word[2],
			word[3], word[0] * SECOND + word[1], &cap, &note),
			ERF_MAD);
		cap.thread = MAD_THREAD_UNKNOWN;
		pipeline_put(p, &cap, &note);
	}
}

static size_t count(enum record_type type)
{
	size_t i, n = 0;

	for (i = 0; i < n_records; i++)
		n += types[i] == type;
	return n;
}

static bool has_line(const char *line)
{
	size_t i;

	for (i = 0; i < n_records; i++)
		if (!strcmp(lines[i], line))
			return true;
	return false;
}

static void check_story(void)
{
	ck_assert_uint_eq(count(RECORD_SA), STORY_SA);
	ck_assert_uint_eq(count(RECORD_MAD) + count(RECORD_SEND_ERROR),
			  STORY_MADS);
	ck_assert_uint_eq(count(RECORD_TRAP), STORY_TRAPS);
	ck_assert_uint_eq(count(RECORD_LOSS), 1);
	ck_assert(has_line("GetTable PathRecord from LID 7 \"node07 HCA-1\" (0x000000000010000d): dlid 4 slid 7 -> OK, 1 record, 77 us"));
	ck_assert(has_line("Set MCMemberRecord from LID 8 \"eight\\u001b[2J\" (0x000000000010000f): mgid ff12::1 port_gid :: join_state full -> OK, 77 us"));
	ck_assert(has_line("Get NodeRecord from LID 9 \"host\" (0x0000000000100011): lid 99 -> ERR_NO_RECORDS, 77 us"));
	ck_assert(has_line("GetTable NodeRecord from LID 7 \"node07 HCA-1\" (0x000000000010000d) -> OK, 20 records, 77 us"));
	ck_assert(has_line("sent SubnDR Get NodeInfo to path 0,1,10, completed in error: timeout"));
	ck_assert(has_line("lost 3 captures (capture), 3 in all"));
	/* before the loss, and after it */
	ck_assert(has_line("GetTable NodeRecord from LID 10 \"host\" (0x0000000000100013) -> no answer: wrong SM_Key (or it was not captured)"));
	ck_assert(has_line("Get PathRecord from LID 11 \"host\" (0x0000000000100015) -> no answer: reason unknown (or it was not captured)"));
}

START_TEST(a_story_is_told)
{
	struct pipeline_stats stats;
	struct captures c;

	captures_begin(&c, FORMAT_OURS);
	captures_story(&c);
	put_all(&c);
	pipeline_flush(p);
	check_story();
	pipeline_get_stats(p, &stats);
	ck_assert_uint_eq(stats.mads, c.packets);
	ck_assert_uint_eq(stats.mads, stats.sent + stats.received);
	ck_assert_uint_eq(n_captures, c.packets);
	ck_assert_uint_eq(stats.lost, STORY_LOST);
	ck_assert_uint_eq(stats.broken_off, 0);
	ck_assert_uint_eq(stats.transactions.requests, STORY_SA);
	ck_assert_uint_lt(stats.first_ns, stats.last_ns);
	/* nobody has asked for them */
	ck_assert_uint_eq(answer_len, 0);
	free(c.bytes);
}
END_TEST

/* What is written again tells the same. */
START_TEST(what_is_written_is_read_again)
{
	struct captures c, again;

	captures_begin(&c, FORMAT_OURS);
	captures_story(&c);
	put_all(&c);
	again = written;
	written.bytes = NULL;
	ck_assert_uint_eq(again.packets, c.packets);
	ck_assert_uint_eq(again.len, c.len);
	tear_down();
	set_up();
	put_all(&again);
	pipeline_flush(p);
	check_story();
	free(again.bytes);
	free(c.bytes);
}
END_TEST

START_TEST(answers_are_kept_for_who_wants_them)
{
	struct pipeline_options o = options;
	struct captures c;

	tear_down();
	o.keep_answers = true;
	begin(&o);
	captures_begin(&c, FORMAT_OURS);
	captures_story(&c);
	/* the last one is the 20 nodes' */
	put_all(&c);
	pipeline_flush(p);
	ck_assert_uint_eq(answer_len, SA_DATA + STORY_NODES * NODE_STRIDE);
	check_story();
	free(c.bytes);
}
END_TEST

static void put_request(struct captures *c, uint16_t lid, uint8_t tid)
{
	uint8_t mad[MAD_SIZE];
	struct mad_capture cap = captures_mad(c, mad, sizeof(mad),
		CLASS_SUBN_ADM, METHOD_GET, ATTR_PATH_RECORD, lid, tid);

	captures_encode(c, &cap, NULL);
}

/* Time is that of the packets, and where none come, that which passes. */
START_TEST(time_passes)
{
	struct captures c;

	captures_begin(&c, FORMAT_OURS);
	put_request(&c, 7, 1);
	put_all(&c);
	ck_assert_uint_eq(n_records, 0);
	if (_i) {
		pipeline_idle(p, 4 * SECOND);
		ck_assert_uint_eq(n_records, 0);
		pipeline_idle(p, 6 * SECOND);
	} else {
		c.len = ERF_FILE_HEADER;
		c.now_ns += 6 * SECOND;
		put_request(&c, 8, 2);
		put_all(&c);
	}
	ck_assert_uint_eq(n_records, 1);
	ck_assert_str_eq(lines[0], "Get PathRecord from LID 7 -> no answer: reason unknown");
	free(c.bytes);
}
END_TEST

/* A clock that is set back makes nobody wait, and no latency negative. */
START_TEST(clocks_step_back)
{
	struct captures c;
	uint8_t mad[MAD_SIZE];
	struct mad_capture cap;

	captures_begin(&c, FORMAT_OURS);
	cap = captures_mad(&c, mad, sizeof(mad), CLASS_SUBN_ADM, METHOD_GET,
			   ATTR_PATH_RECORD, 7, 1);
	captures_encode(&c, &cap, NULL);
	cap.time_ns -= 3600 * SECOND;
	cap.sent = true;
	mad[MAD_METHOD] |= METHOD_RESPONSE;
	captures_encode(&c, &cap, NULL);
	put_all(&c);
	pipeline_flush(p);
	ck_assert_uint_eq(n_records, 1);
	ck_assert_str_eq(lines[0], "Get PathRecord from LID 7 -> OK, 0 us");
	free(c.bytes);
}
END_TEST

/* And from there on all takes as long as it did, whatever the clock says. */
START_TEST(clocks_go_on_behind_a_step)
{
	/* back by an hour, right again, a packet from the future */
	static const int64_t steps[] = { 0, -3600, 3600, 1 << 25, -(1 << 25) };
	const size_t n_steps = sizeof(steps) / sizeof(steps[0]);
	struct captures c;
	uint8_t mad[MAD_SIZE];
	struct mad_capture cap;
	size_t i;

	captures_begin(&c, FORMAT_OURS);
	for (i = 0; i < n_steps; i++) {
		c.now_ns += (uint64_t)steps[i] * SECOND;
		put_request(&c, 8, (uint8_t)(2 * i));
		cap = captures_mad(&c, mad, sizeof(mad), CLASS_SUBN_ADM,
				   METHOD_GET, ATTR_PATH_RECORD, 7,
				   (uint8_t)(2 * i + 1));
		captures_encode(&c, &cap, NULL);
		cap.time_ns += 40000;
		cap.sent = true;
		mad[MAD_METHOD] |= METHOD_RESPONSE;
		captures_encode(&c, &cap, NULL);
		c.now_ns += 6 * SECOND;
	}
	put_request(&c, 8, 99);
	put_all(&c);
	ck_assert_uint_eq(n_records, 2 * n_steps);
	for (i = 0; i < n_records; i++)
		ck_assert_str_eq(lines[i], strstr(lines[i], "LID 7") ?
			"Get PathRecord from LID 7 -> OK, 40 us" :
			"Get PathRecord from LID 8 -> no answer: reason unknown");
	free(c.bytes);
}
END_TEST

/* Nor is a latency longer for what another thread has captured meanwhile. */
START_TEST(threads_overtake)
{
	struct captures c;
	uint8_t mad[MAD_SIZE];
	struct mad_capture cap;

	captures_begin(&c, FORMAT_OURS);
	cap = captures_mad(&c, mad, sizeof(mad), CLASS_SUBN_ADM, METHOD_GET,
			   ATTR_PATH_RECORD, 7, 1);
	captures_encode(&c, &cap, NULL);
	c.now_ns = cap.time_ns + 90000;
	put_request(&c, 8, 2);
	cap.time_ns += 40000;
	cap.sent = true;
	mad[MAD_METHOD] |= METHOD_RESPONSE;
	captures_encode(&c, &cap, NULL);
	put_all(&c);
	pipeline_flush(p);
	ck_assert_uint_eq(n_records, 2);
	ck_assert_str_eq(lines[0], "Get PathRecord from LID 7 -> OK, 40 us");
	free(c.bytes);
}
END_TEST

/* The response that could not be sent follows the one that was to be. */
START_TEST(a_response_that_fails)
{
	struct captures c;
	uint8_t mad[MAD_SIZE];
	struct mad_capture cap;

	captures_begin(&c, FORMAT_OURS);
	cap = captures_mad(&c, mad, sizeof(mad), CLASS_SUBN_ADM, METHOD_GET,
			   ATTR_PATH_RECORD, 7, 1);
	captures_encode(&c, &cap, NULL);
	cap.sent = true;
	cap.time_ns = c.now_ns;
	mad[MAD_METHOD] |= METHOD_RESPONSE;
	captures_encode(&c, &cap, NULL);
	/* something else in between */
	put_request(&c, 8, 2);
	cap.time_ns = c.now_ns;
	cap.completion = MAD_ERROR;
	captures_encode(&c, &cap, NULL);
	put_all(&c);
	ck_assert_uint_eq(n_records, 1);
	ck_assert_str_eq(lines[0], "Get PathRecord from LID 7 -> failed: send error");
	free(c.bytes);
}
END_TEST

/* Who ends a capture does not know whether the answer was on its way. */
START_TEST(an_end_that_is_none)
{
	struct captures c;

	captures_begin(&c, FORMAT_OURS);
	put_request(&c, 7, 1);
	put_all(&c);
	pipeline_flush(p);
	ck_assert_uint_eq(n_records, 1);
	ck_assert_str_eq(lines[0], "Get PathRecord from LID 7 -> no answer: reason unknown (or it was not captured)");
	free(c.bytes);
}
END_TEST

/* Without records no transaction is put together, and without captures none. */
START_TEST(one_of_the_two)
{
	struct pipeline_options o = options;
	struct pipeline_stats stats;
	struct captures c;

	tear_down();
	if (_i)
		o.record = NULL;
	else
		o.capture = NULL;
	begin(&o);
	captures_begin(&c, FORMAT_OURS);
	captures_story(&c);
	put_all(&c);
	pipeline_idle(p, SECOND);
	pipeline_flush(p);
	pipeline_get_stats(p, &stats);
	ck_assert_uint_eq(stats.lost, STORY_LOST);
	ck_assert_uint_eq(n_records > 0, !_i);
	ck_assert_uint_eq(n_captures > 0, _i);
	free(c.bytes);
}
END_TEST

static void begin_with_map(const char *text)
{
	struct pipeline_options o = options;
	char path[] = "/tmp/osmsnoop-map-XXXXXX";
	int fd = mkstemp(path);

	tear_down();
	ck_assert_int_eq(write(fd, text, strlen(text)), (ssize_t)strlen(text));
	close(fd);
	o.node_name_map = path;
	written.bytes = NULL;
	p = pipeline_new(&o, error);
	unlink(path);
	n_records = 0;
}

/* By a port's GUID, or by that of its node once a NodeRecord has told. */
START_TEST(a_map_goes_before_what_packets_say)
{
	struct captures c;

	begin_with_map("# OpenSM's format\n"
		       "0x000000000010000d \"by port\"\n"
		       "0x000000000010000e \"by \\node\"\n");
	ck_assert_msg(p != NULL, "%s", error);
	captures_begin(&c, FORMAT_OURS);
	captures_story(&c);
	put_all(&c);
	pipeline_flush(p);
	ck_assert(has_line("GetTable NodeRecord from LID 7 \"by port\" (0x000000000010000d) -> OK, 20 records, 77 us"));
	ck_assert(has_line("Set MCMemberRecord from LID 8 \"by \\\\node\" (0x000000000010000f): mgid ff12::1 port_gid :: join_state full -> OK, 77 us"));
	free(c.bytes);
}
END_TEST

START_TEST(maps_that_are_none)
{
	struct pipeline_options o = options;

	begin_with_map("node07 is 0x7\n");
	ck_assert_ptr_null(p);
	ck_assert_ptr_nonnull(strstr(error, "no node name map"));
	o.node_name_map = "/nowhere/map";
	ck_assert_ptr_null(pipeline_new(&o, error));
	ck_assert_str_eq(error, "/nowhere/map: No such file or directory");
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("pipeline");
	TCase *tc = tcase_create("pipeline");

	tcase_add_checked_fixture(tc, set_up, tear_down);
	tcase_add_test(tc, a_story_is_told);
	tcase_add_test(tc, what_is_written_is_read_again);
	tcase_add_test(tc, answers_are_kept_for_who_wants_them);
	tcase_add_loop_test(tc, time_passes, 0, 2);
	tcase_add_test(tc, clocks_step_back);
	tcase_add_test(tc, clocks_go_on_behind_a_step);
	tcase_add_test(tc, threads_overtake);
	tcase_add_test(tc, a_response_that_fails);
	tcase_add_test(tc, an_end_that_is_none);
	tcase_add_loop_test(tc, one_of_the_two, 0, 2);
	tcase_add_test(tc, a_map_goes_before_what_packets_say);
	tcase_add_test(tc, maps_that_are_none);
	suite_add_tcase(suite, tc);
	return run_suite(suite);
}
