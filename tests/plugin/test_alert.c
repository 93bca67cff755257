/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* plugin/watch/alert.c: when something is said, and how. */
#include "watch/alert.h"
#include "watched.h"
#include "../run.h"

static struct episode e;

static enum alert_phase add_at(uint64_t mono_ns)
{
	enum alert_phase phase = episode_add(&e, epoch + mono_ns, mono_ns);
	struct alert a;

	if (phase == ALERT_NONE)
		return phase;
	alert_init(&a, &watched_host, "sa_storm", "info");
	alert_say(&a, phase, &e, mono_ns);
	return phase;
}

START_TEST(test_episode)
{
	uint64_t i;

	ck_assert_int_eq(episode_pass(&e, SECOND, start), ALERT_NONE);
	ck_assert_int_eq(add_at(start), ALERT_BEGIN);
	/* ten a second: one update a minute */
	for (i = 1; i < 600; i++)
		ck_assert_int_eq(add_at(start + i * SECOND / 10), ALERT_NONE);
	ck_assert_int_eq(add_at(start + 60 * SECOND), ALERT_UPDATE);
	ck_assert_uint_eq(n_alerts, 2);
	ck_assert_uint_eq(evidence_number("count"), 601);
	/* nothing new is no update */
	ck_assert_int_eq(episode_pass(&e, 600 * SECOND, start + 125 * SECOND),
			 ALERT_NONE);
	ck_assert_int_eq(add_at(start + 119 * SECOND), ALERT_NONE);
	ck_assert_int_eq(episode_pass(&e, 600 * SECOND, start + 120 * SECOND),
			 ALERT_UPDATE);
	ck_assert_int_eq(episode_pass(&e, 5 * SECOND, start + 124 * SECOND),
			 ALERT_UPDATE);
	ck_assert_int_eq(episode_pass(&e, 5 * SECOND, start + 125 * SECOND),
			 ALERT_END);
}
END_TEST

START_TEST(test_say)
{
	const struct requester who = { .addr.lid = 7, .name = "a\nb" };
	char text[ALERT_WHO_MAX];
	struct alert a;

	episode_add(&e, epoch + start, start);
	episode_add(&e, epoch + start + SECOND, start + SECOND);
	alert_init(&a, &watched_host, "sa_slow", "critical");
	alert_about(&a, &who);
	alert_subject(&a, "LID %u", 7);
	alert_text(&a, "%s is slow", alert_who(text, &who));
	alert_number(&a, "p99_us", 12);
	alert_string(&a, "why", NULL);
	alert_say(&a, ALERT_END, &e, start + SECOND);
	check_said(1, "sa_slow", "end");
	ck_assert_str_eq(last_alert.severity, "critical");
	ck_assert_str_eq(last_alert.subject, "LID 7");
	ck_assert_str_eq(last_alert.text,
			 "end: LID 7 \"a\\u000ab\" is slow");
	ck_assert_uint_eq(last_alert.n_evidence, 6);
	ck_assert_uint_eq(evidence_number("count"), 2);
	ck_assert_str_eq(evidence_text("first"),
			 "2025-12-11T13:22:08.000000000Z");
	ck_assert_str_eq(evidence_text("last"),
			 "2025-12-11T13:22:09.000000000Z");
	ck_assert_uint_eq(evidence_number("p99_us"), 12);
	ck_assert_str_eq(evidence_text("why"), "");

	alert_init(&a, &watched_host, "sa_slow", "info");
	alert_text(&a, "once");
	alert_say(&a, ALERT_ONCE, NULL, start);
	check_said(2, "sa_slow", "once");
	ck_assert_str_eq(last_alert.text, "once");
	ck_assert_uint_eq(last_alert.lid, 0xffff);
}
END_TEST

/* More than there is room for is cut, or left out. */
START_TEST(test_room)
{
	struct alert a;
	int i;

	alert_init(&a, &watched_host, "sa_slow", "info");
	alert_subject(&a, "%*s", 2 * ALERT_SUBJECT_MAX, "");
	alert_text(&a, "%*s", 2 * ALERT_TEXT_MAX, "");
	for (i = 0; i < 2 * ALERT_EVIDENCE; i++)
		alert_number(&a, "n", 1);
	alert_say(&a, ALERT_BEGIN, NULL, start);
	ck_assert_uint_eq(last_alert.n_evidence, 1 + ALERT_EVIDENCE);
	ck_assert_uint_eq(strlen(last_alert.subject), ALERT_SUBJECT_MAX - 1);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("alert");
	TCase *tcase = tcase_create("alert");

	tcase_add_test(tcase, test_episode);
	tcase_add_test(tcase, test_say);
	tcase_add_test(tcase, test_room);
	suite_add_tcase(suite, tcase);
	return run_suite(suite);
}
