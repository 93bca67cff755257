/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * osmsnoop top without a terminal: what its table counts, which columns it
 * shows in which order, and what the lines say.
 */
#include <locale.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <wchar.h>

#include <check.h>

#include "layout.h"
#include "top_columns.h"
#include "top_table.h"
#include "top_view.h"
#include "../run.h"

#define SECOND UINT64_C(1000000000)
/* When it is. */
#define NOW (UINT64_C(1764459328) * SECOND)

enum { ATTR_NODE_RECORD = 0x11, WIDE = 200, HIGH = 60 };

static struct top_table *t;
static struct top_snapshot s;
static struct top_status status;
static struct top_view v;

static void set_up(void)
{
	t = top_table_new();
	ck_assert_ptr_nonnull(t);
	status = (struct top_status){
		.source = "/run/x", .live = true, .from_ns = NOW, .to_ns = NOW,
	};
	v = (struct top_view){ .width = 80, .height = 24, .utf8 = true,
			       .sort = TOP_RATE };
}

static void tear_down(void)
{
	top_table_free(t);
	top_snapshot_free(&s);
	top_view_free(&v);
}

/*
 * The table
 */

static struct record request(uint16_t lid, uint16_t attr_id,
			     enum sa_outcome outcome)
{
	static uint8_t mad[MAD_SIZE];

	mad[MAD_CLASS] = CLASS_SUBN_ADM;
	mad[MAD_METHOD] = METHOD_GET;
	mad[MAD_ATTR_ID] = (uint8_t)(attr_id >> 8);
	mad[MAD_ATTR_ID + 1] = (uint8_t)attr_id;
	return (struct record){
		.type = RECORD_SA,
		.sa = {
			.requester = { .addr = { .lid = lid } },
			.mad = mad,
			.len = sizeof(mad),
			.outcome = outcome,
			.has_response = outcome != SA_UNANSWERED,
			.latency_ns = 40000,
		},
	};
}

static void put(uint16_t lid, enum sa_outcome outcome, unsigned n,
		uint64_t now_ns)
{
	const struct record r = request(lid, ATTR_PATH_RECORD, outcome);

	while (n--)
		top_table_put(t, &r, now_ns);
}

static void look(uint64_t now_ns)
{
	ck_assert(top_table_look(t, now_ns, &s));
}

START_TEST(an_empty_table)
{
	look(NOW);
	ck_assert_uint_eq(s.n, 0);
	ck_assert_uint_eq(s.total.requests, 0);
	ck_assert(isnan(s.total.share));
	ck_assert_uint_eq(s.lost, 0);
}
END_TEST

START_TEST(outcomes_are_counted)
{
	struct record r = request(7, ATTR_PATH_RECORD, SA_ANSWERED);

	r.sa.requester.name = "node07";
	top_table_put(t, &r, NOW);
	r.sa.status = 0x0300;
	r.sa.retries = 2;
	top_table_put(t, &r, NOW);
	put(7, SA_UNANSWERED, 3, NOW);
	put(7, SA_FAILED, 1, NOW);
	put(8, SA_ANSWERED, 2, NOW);
	look(NOW + SECOND);
	ck_assert_uint_eq(s.n, 2);
	ck_assert_uint_eq(s.rows[0].lid, 7);
	ck_assert_str_eq(s.rows[0].name, "node07");
	ck_assert_uint_eq(s.rows[0].requests, 6);
	ck_assert_uint_eq(s.rows[0].answered, 2);
	ck_assert_uint_eq(s.rows[0].unanswered, 3);
	ck_assert_uint_eq(s.rows[0].failed, 1);
	ck_assert_uint_eq(s.rows[0].errors, 1);
	ck_assert_uint_eq(s.rows[0].duplicates, 2);
	ck_assert_uint_eq(s.rows[0].timed, 3);
	ck_assert_double_eq(s.rows[0].share, 0.75);
	ck_assert_double_eq(s.rows[0].rate, 8);	/* those sent again, too */
	ck_assert_uint_eq(s.rows[1].lid, 8);
	ck_assert_str_eq(s.rows[1].name, "");
	ck_assert_uint_eq(s.total.requests, 8);
	ck_assert_double_eq(s.total.rate, 10);
}
END_TEST

/* What OpenSM sends, and what is no request, is no requester's. */
START_TEST(others_are_passed_over)
{
	struct record r = request(7, ATTR_NOTICE, SA_ANSWERED);

	r.sa.sent = true;
	top_table_put(t, &r, NOW);
	r = (struct record){ .type = RECORD_STATE };
	top_table_put(t, &r, NOW);
	r = (struct record){ .type = RECORD_LOSS, .loss = { .lost = 5 } };
	top_table_put(t, &r, NOW);
	top_table_put(t, &r, NOW);
	look(NOW);
	ck_assert_uint_eq(s.n, 0);
	ck_assert_uint_eq(s.lost, 10);
}
END_TEST

START_TEST(a_rate_is_of_the_last_seconds)
{
	unsigned i;

	for (i = 0; i < 100; i++)
		put(7, SA_ANSWERED, 50, NOW + i * SECOND / 10);
	look(NOW + 10 * SECOND);
	ck_assert_double_eq(s.rows[0].rate, 500);
	look(NOW + 12 * SECOND);
	ck_assert_double_eq(s.rows[0].rate, 300);
	/* half a second more is so much longer a time */
	look(NOW + 12 * SECOND + SECOND / 2);
	ck_assert_double_eq_tol(s.rows[0].rate, 1500 / 5.5, 1e-6);
	look(NOW + 20 * SECOND);
	ck_assert_double_eq(s.rows[0].rate, 0);
	ck_assert_uint_eq(s.rows[0].requests, 5000);
	/* and again after a long while */
	put(7, SA_ANSWERED, 10, NOW + 1000 * SECOND);
	look(NOW + 1001 * SECOND);
	ck_assert_double_eq(s.rows[0].rate, 2);
}
END_TEST

/* Of a time that is shorter than that, it is of the time there was. */
START_TEST(a_rate_at_the_beginning)
{
	put(7, SA_ANSWERED, 30, NOW);
	look(NOW);
	ck_assert_double_eq(s.rows[0].rate, 30);
	look(NOW + 3 * SECOND);
	ck_assert_double_eq(s.rows[0].rate, 10);
}
END_TEST

START_TEST(the_last_minute_is_kept)
{
	size_t i;

	put(7, SA_ANSWERED, 9, NOW);
	put(7, SA_ANSWERED, 1, NOW + 60 * SECOND);
	put(7, SA_ANSWERED, 2, NOW + 61 * SECOND);
	look(NOW + 61 * SECOND);
	/* the second that has begun is not among them */
	ck_assert_uint_eq(s.seconds[TOP_SECONDS - 1], 1);
	for (i = 0; i < TOP_SECONDS - 1; i++)
		ck_assert_uint_eq(s.seconds[i], 0);
	look(NOW + 62 * SECOND);
	ck_assert_uint_eq(s.seconds[TOP_SECONDS - 1], 2);
	ck_assert_uint_eq(s.seconds[TOP_SECONDS - 2], 1);
	look(NOW + 121 * SECOND);
	ck_assert_uint_eq(s.seconds[0], 2);
	look(NOW + 122 * SECOND);
	ck_assert_uint_eq(s.seconds[0], 0);
}
END_TEST

START_TEST(a_clock_that_steps_back_stands)
{
	put(7, SA_ANSWERED, 5, NOW + 10 * SECOND);
	put(7, SA_ANSWERED, 5, NOW);
	look(NOW);
	ck_assert_double_eq(s.rows[0].rate, 10);
}
END_TEST

START_TEST(clear_begins_anew)
{
	const struct record loss = {
		.type = RECORD_LOSS, .loss = { .lost = 5 },
	};

	put(7, SA_ANSWERED, 5, NOW);
	top_table_put(t, &loss, NOW);
	top_table_clear(t, NOW + SECOND);
	look(NOW + SECOND);
	ck_assert_uint_eq(s.n, 0);
	ck_assert_uint_eq(s.total.requests, 0);
	ck_assert_uint_eq(s.lost, 0);
	ck_assert_uint_eq(s.seconds[TOP_SECONDS - 1], 0);
	put(8, SA_ANSWERED, 4, NOW + SECOND);
	look(NOW + 3 * SECOND);
	ck_assert_uint_eq(s.rows[0].lid, 8);
	ck_assert_double_eq(s.rows[0].rate, 2);
}
END_TEST

START_TEST(the_most_frequent_attributes_come_first)
{
	static const uint16_t ids[] = {
		0x11, 0x35, 0x35, 0x38, 0x35, 0x38, 0x12, 0x14, 0x15,
	};
	struct record r;
	size_t i;

	for (i = 0; i < sizeof(ids) / sizeof(ids[0]); i++) {
		r = request(7, ids[i], SA_ANSWERED);
		top_table_put(t, &r, NOW);
	}
	look(NOW);
	ck_assert_uint_eq(s.rows[0].attributes[0].id, 0x35);
	ck_assert_uint_eq(s.rows[0].attributes[0].count, 3);
	ck_assert_uint_eq(s.rows[0].attributes[1].id, 0x38);
	ck_assert_uint_eq(s.rows[0].attributes[1].count, 2);
	ck_assert_uint_eq(s.rows[0].attributes[2].count, 1);
}
END_TEST

/* More of them than are kept: one that is half of all is found all the same. */
START_TEST(many_attributes)
{
	struct record r;
	unsigned i;

	for (i = 0; i < 1000; i++) {
		r = request(7, i % 2 ? ATTR_PATH_RECORD :
			    (uint16_t)(0x8000 + i), SA_ANSWERED);
		top_table_put(t, &r, NOW);
	}
	look(NOW);
	ck_assert_uint_eq(s.rows[0].attributes[0].id, ATTR_PATH_RECORD);
	ck_assert_uint_eq(s.rows[0].attributes[0].count, 500);
}
END_TEST

/* All that an SA has are counted one by one. */
START_TEST(all_attributes)
{
	struct record r;
	unsigned i;

	for (i = 0; i < 1000; i++) {
		r = request(7, (uint16_t)(0x11 + i % 30), SA_ANSWERED);
		top_table_put(t, &r, NOW);
	}
	r = request(7, ATTR_PATH_RECORD, SA_ANSWERED);
	top_table_put(t, &r, NOW);
	look(NOW);
	for (i = 0; i < TOP_ATTRIBUTES; i++)
		ck_assert_uint_le(s.rows[0].attributes[i].count, 35);
}
END_TEST

START_TEST(latencies_are_near)
{
	struct record r = request(7, ATTR_PATH_RECORD, SA_ANSWERED);
	unsigned i;

	for (i = 1; i <= 1000; i++) {
		r.sa.latency_ns = i * 1000 * (_i ? 1000 : 1);
		top_table_put(t, &r, NOW);
	}
	look(NOW);
	if (_i) {
		s.rows[0].p50_us /= 1000;
		s.rows[0].p99_us /= 1000;
	}
	ck_assert_uint_ge(s.rows[0].p50_us, 500);
	ck_assert_uint_le(s.rows[0].p50_us, 563);
	ck_assert_uint_ge(s.rows[0].p99_us, 990);
	ck_assert_uint_le(s.rows[0].p99_us, 1000);
}
END_TEST

START_TEST(long_names_are_cut)
{
	struct record r = request(7, ATTR_PATH_RECORD, SA_ANSWERED);
	char name[1000];

	memset(name, 'x', sizeof(name) - 1);
	name[sizeof(name) - 1] = '\0';
	r.sa.requester.name = name;
	top_table_put(t, &r, NOW);
	r.sa.requester.name = NULL;	/* what was known is known still */
	top_table_put(t, &r, NOW);
	look(NOW);
	ck_assert_uint_eq(strlen(s.rows[0].name), ERF_NAME_MAX);
}
END_TEST

START_TEST(every_lid)
{
	unsigned lid;

	for (lid = 0; lid < TOP_LIDS; lid++)
		put((uint16_t)lid, SA_ANSWERED, 1, NOW);
	look(NOW);
	ck_assert_uint_eq(s.n, TOP_LIDS);
	ck_assert_uint_eq(s.rows[TOP_LIDS - 1].lid, TOP_LIDS - 1);
	ck_assert_uint_eq(s.total.requests, TOP_LIDS);
}
END_TEST

/*
 * Columns
 */

static unsigned width_of(const struct top_layout *layout)
{
	unsigned i, sum = 0;

	for (i = 0; i < TOP_COLUMNS; i++)
		if (layout->width[i])
			sum += layout->width[i] + (i != TOP_LID);
	return sum;
}

START_TEST(columns_are_found_by_name)
{
	ck_assert_int_eq(top_column_find("requests"), TOP_REQUESTS);
	ck_assert_int_eq(top_column_find("P99"), TOP_P99);
	ck_assert_int_eq(top_column_find("attr"), TOP_ATTRIBUTE_LIST);
	ck_assert_int_eq(top_column_find(""), TOP_COLUMNS);
	ck_assert_int_eq(top_column_find("requestss"), TOP_COLUMNS);
}
END_TEST

/* Whatever the width and the column that has to be shown. */
START_TEST(columns_fit)
{
	struct top_layout layout;
	unsigned i, names;

	for (i = 0; i < TOP_COLUMNS; i++)
		for (names = 0; names < 100; names += 33) {
			top_arrange(&layout, (unsigned)_i, (enum top_column)i,
				    names);
			ck_assert_uint_le(width_of(&layout), (unsigned)_i);
			ck_assert_uint_gt(layout.width[i], 0);
		}
}
END_TEST

START_TEST(wide_ones_have_all_columns)
{
	struct top_layout layout;
	unsigned i;

	top_arrange(&layout, 80, TOP_RATE, 0);
	for (i = 0; i < TOP_COLUMNS; i++)
		ck_assert(layout.width[i] > 0 || i == TOP_ANSWERED);
	top_arrange(&layout, WIDE, TOP_RATE, 20);
	for (i = 0; i < TOP_COLUMNS; i++)
		ck_assert_uint_gt(layout.width[i], 0);
	ck_assert_uint_eq(layout.width[TOP_NAME], 20);
	ck_assert_uint_eq(width_of(&layout), WIDE);
	ck_assert_str_eq(top_column_title(TOP_DUPLICATES,
		layout.width[TOP_DUPLICATES]), "DUPLICATES");
}
END_TEST

/* Each column puts either first, by its own order, and reversed the other. */
START_TEST(every_column_sorts)
{
	const struct top_row more = {
		.lid = 2, .name = "node10", .requests = 9, .answered = 9,
		.unanswered = 9, .failed = 9, .errors = 9, .duplicates = 9,
		.rate = 9, .share = 0.9, .timed = 9, .p50_us = 9, .p99_us = 9,
		.attributes = { { ATTR_PATH_RECORD, 9 } },
	};
	const struct top_row less = {
		.lid = 1, .name = "node9", .requests = 1, .share = 0.1,
		.attributes = { { ATTR_NODE_RECORD, 1 } },
	};
	const enum top_column c = (enum top_column)_i;
	const bool rises = c == TOP_LID || c == TOP_NAME ||
			   c == TOP_ATTRIBUTE_LIST;

	ck_assert_int_eq(top_compare(c, false, &more, &less) < 0, !rises);
	ck_assert_int_eq(top_compare(c, true, &more, &less) < 0, rises);
	ck_assert_int_eq(top_compare(c, false, &more, &more), 0);
	ck_assert_int_eq(top_column_rises(c), rises);
}
END_TEST

START_TEST(equal_ones_are_in_order_of_requests_and_lid)
{
	struct top_row a = { .lid = 1, .requests = 5 };
	struct top_row b = { .lid = 2, .requests = 6 };

	ck_assert_int_gt(top_compare(TOP_ERRORS, false, &a, &b), 0);
	b.requests = 5;
	ck_assert_int_lt(top_compare(TOP_ERRORS, false, &a, &b), 0);
	ck_assert_int_lt(top_compare(TOP_ERRORS, true, &a, &b), 0);
	/* without a name: last */
	strcpy(b.name, "z");
	ck_assert_int_gt(top_compare(TOP_NAME, false, &a, &b), 0);
}
END_TEST

/*
 * Lines
 */

/* What was put, as text; `taken` in columns of a terminal. */
static char lines[HIGH][1024];
static unsigned taken[HIGH];

static void put_text(struct top_canvas *c, unsigned y, unsigned x,
		     enum top_style style, const char *text, unsigned width)
{
	wchar_t wide[1024];
	size_t n;

	(void)c;
	ck_assert_uint_lt(y, v.height);
	ck_assert_uint_ge(x, taken[y]);
	ck_assert_uint_le(x + width, v.width);
	ck_assert_int_lt(style, TOP_STYLES);
	n = mbstowcs(wide, text, 1024);
	ck_assert_msg(n != (size_t)-1, "not UTF-8: %s", text);
	ck_assert_int_eq(wcswidth(wide, n), (int)width);
	for (; taken[y] < x; taken[y]++)
		strcat(lines[y], " ");
	strcat(lines[y], text);
	taken[y] += width;
}

static void draw(void)
{
	struct top_canvas canvas = { put_text };

	memset(lines, 0, sizeof(lines));
	memset(taken, 0, sizeof(taken));
	ck_assert(top_view_arrange(&v, &s));
	top_view_draw(&v, &s, &status, &canvas);
}

static bool has(unsigned y, const char *text)
{
	return strstr(lines[y], text) != NULL;
}

/* Rows of a few requesters, with names that are none. */
static void put_some(void)
{
	static const char *const names[] = {
		"node10 HCA-1", "node9 HCA-1", "a\033[2Jb", "日本日本日本日本",
		"", "\xff\xfe\xfd",
	};
	struct record r = request(0, ATTR_PATH_RECORD, SA_ANSWERED);
	unsigned i, n;

	for (i = 0; i < 6; i++) {
		r.sa.requester.addr.lid = (uint16_t)(i + 1);
		r.sa.requester.name = names[i];
		for (n = 0; n < 10 * (i + 1); n++)
			top_table_put(t, &r, NOW);
	}
	put(3, SA_UNANSWERED, 4, NOW);
	look(NOW + SECOND);
}

START_TEST(a_screen_of_nobody)
{
	look(NOW);
	draw();
	ck_assert(has(0, "0 requesters"));
	ck_assert_str_eq(lines[3], "  all                   0     0    -     0    0    0    0     -     - -         ");
}
END_TEST

START_TEST(a_screen_of_80x24)
{
	put_some();
	draw();
	ck_assert(has(0, "osmsnoop top"));
	ck_assert(has(0, "6 requesters"));
	ck_assert(has(1, "█ max 214/s"));
	ck_assert_str_eq(lines[2], "  LID NAME         ▼REQ/S  REQS    % UNANS FAIL ERRS DUPS   P50   P99 ATTRIBUTES");
	ck_assert_str_eq(lines[3], "  all                 214   214 100%     4    0    0    0  40us  40us PathRecord");
	ck_assert_str_eq(lines[4], "    6 \\xff\\xfe\\xfd     60    60  28%     0    0    0    0  40us  40us PathRecord");
	ck_assert_str_eq(lines[6], "    4 日本日本日本…    40    40  19%     0    0    0    0  40us  40us PathRecord");
	ck_assert(has(7, "    3 a\\u001b[2Jb "));
	ck_assert_str_eq(lines[10], "");
	ck_assert(has(23, "q quit"));
}
END_TEST

START_TEST(a_screen_of_200x60)
{
	put_some();
	v.width = WIDE;
	v.height = HIGH;
	draw();
	ck_assert(has(0, "/run/x"));
	ck_assert(has(2, " ANSWERED UNANSWERED  FAILED  ERRORS DUPLICATES "));
	ck_assert(has(6, " 日本日本日本日本 "));
}
END_TEST

/* No line is longer than the screen, and none below it: put_text() looks. */
START_TEST(screens_of_any_size)
{
	put_some();
	s.lost = 12345;
	status.reconnects = 1;
	v.paused = true;
	for (v.width = 1; v.width <= 130; v.width++)
		for (v.height = 1; v.height <= 30; v.height += 3) {
			v.help = false;
			draw();
			v.help = true;
			draw();
		}
	v.width = 30;
	v.help = false;
	v.height = 20;
	draw();
	ck_assert_str_eq(lines[0], "30x20 is too small: 40x6");
}
END_TEST

START_TEST(ascii_alone)
{
	put_some();
	v.utf8 = false;
	draw();
	ck_assert(has(1, "# max"));
	ck_assert(has(2, "vREQ/S"));
	ck_assert(has(6, "\\u65e5\\u672c~"));
	v.reverse = true;
	draw();
	ck_assert(has(2, "^REQ/S"));
}
END_TEST

START_TEST(notices)
{
	put_some();
	draw();
	ck_assert(has(2, "  LID"));
	s.lost = 3;
	draw();
	ck_assert(has(2, "3 captures lost"));
	ck_assert(has(3, "  LID"));
	status.reconnects = 1;
	status.reconnect_ns = NOW;
	draw();
	ck_assert(has(2, "Connected again at"));
	status.state = TOP_WAITING;
	strcpy(status.error, "no such place");
	draw();
	ck_assert(has(0, "NOT CONNECTED"));
	ck_assert(has(2, "no such place"));
	status.state = TOP_ENDED;
	draw();
	ck_assert(has(0, "all read"));
}
END_TEST

START_TEST(filters)
{
	put_some();
	v.sort = TOP_NAME;
	strcpy(v.filter, "NODE");
	draw();
	ck_assert_uint_eq(v.n, 2);
	ck_assert(has(4, "node9"));
	ck_assert(has(5, "node10"));
	ck_assert(has(23, "only names with \"NODE\": 2"));
	/* the totals are of all */
	ck_assert(has(3, " 214 "));
	strcpy(v.filter, "n*1");
	draw();
	ck_assert_uint_eq(v.n, 2);
	strcpy(v.filter, "x");
	draw();
	ck_assert_uint_eq(v.n, 0);
	v.typing = true;
	draw();
	ck_assert(has(23, "name: x_"));
}
END_TEST

START_TEST(scrolling)
{
	put_some();
	v.sort = TOP_LID;
	v.height = 8;
	ck_assert(top_view_arrange(&v, &s));
	ck_assert_uint_eq(top_view_page(&v, &s, &status), 3);
	top_view_scroll(&v, 3, 2);
	draw();
	ck_assert(has(4, "    3 "));
	top_view_scroll(&v, 3, 100);
	draw();
	ck_assert(has(6, "    6 "));
	top_view_scroll(&v, 3, -100);
	ck_assert_uint_eq(v.first, 0);
	/* all rows are in sight */
	top_view_scroll(&v, 30, 5);
	ck_assert_uint_eq(v.first, 0);
}
END_TEST

/* Also those that are not in sight, which then are. */
START_TEST(every_column_is_reached)
{
	char title[32];
	unsigned i;

	put_some();
	for (i = 0; i < TOP_COLUMNS; i++) {
		top_view_turn(&v, 1);
		draw();
		sprintf(title, "%s%.4s", top_column_rises(v.sort) ? "▲" : "▼",
			top_column_title(v.sort, 4));
		ck_assert_msg(has(2, title), "%s is not in %s", title,
			      lines[2]);
	}
	ck_assert_int_eq(v.sort, TOP_RATE);
	top_view_turn(&v, -3);
	ck_assert_int_eq(v.sort, TOP_ATTRIBUTE_LIST);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("top");
	TCase *tc = tcase_create("top");

	setlocale(LC_CTYPE, "C.UTF-8");
	tcase_add_checked_fixture(tc, set_up, tear_down);
	tcase_add_test(tc, an_empty_table);
	tcase_add_test(tc, outcomes_are_counted);
	tcase_add_test(tc, others_are_passed_over);
	tcase_add_test(tc, a_rate_is_of_the_last_seconds);
	tcase_add_test(tc, a_rate_at_the_beginning);
	tcase_add_test(tc, the_last_minute_is_kept);
	tcase_add_test(tc, a_clock_that_steps_back_stands);
	tcase_add_test(tc, clear_begins_anew);
	tcase_add_test(tc, the_most_frequent_attributes_come_first);
	tcase_add_test(tc, many_attributes);
	tcase_add_test(tc, all_attributes);
	tcase_add_loop_test(tc, latencies_are_near, 0, 2);
	tcase_add_test(tc, long_names_are_cut);
	tcase_add_test(tc, every_lid);
	tcase_add_test(tc, columns_are_found_by_name);
	tcase_add_loop_test(tc, columns_fit, TOP_LEAST_WIDTH, WIDE + 1);
	tcase_add_test(tc, wide_ones_have_all_columns);
	tcase_add_loop_test(tc, every_column_sorts, 0, TOP_COLUMNS);
	tcase_add_test(tc, equal_ones_are_in_order_of_requests_and_lid);
	tcase_add_test(tc, a_screen_of_nobody);
	tcase_add_test(tc, a_screen_of_80x24);
	tcase_add_test(tc, a_screen_of_200x60);
	tcase_add_test(tc, screens_of_any_size);
	tcase_add_test(tc, ascii_alone);
	tcase_add_test(tc, notices);
	tcase_add_test(tc, filters);
	tcase_add_test(tc, scrolling);
	tcase_add_test(tc, every_column_is_reached);
	suite_add_tcase(suite, tc);
	return run_suite(suite);
}
