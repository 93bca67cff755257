/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Expressions: what is refused and how, and what matches what. */
#include <stdlib.h>
#include <string.h>

#include <check.h>

#include "captures.h"
#include "expression.h"
#include "record.h"
#include "../run.h"

enum { DEEP = 100, LONG = 100000 };

static char error[EXPRESSION_ERROR_MAX];

/*
 * Refused: the text, the word that is pointed at (its place in the text), and
 * something of what is accepted there.
 */
static const struct {
	const char *text, *what;
	int at;
	const char *accepted;
} wrong[] = {
	{ "pathrecord", "'pathrecord' does not belong here", 0, "class" },
	{ "class", "something is missing at the end", 5, "a value" },
	{ "class nix", "'nix' is no class", 6, "subnadm" },
	{ "class 256", "'256' is no class", 6, "a number" },
	{ "method Got", "'Got' is no method", 7, "GetTableResp" },
	{ "attr PathRec", "'PathRec' is no attribute", 5, "PathRecord" },
	{ "attr -1", "'-1' is no attribute", 5, "MCMemberRecord" },
	{ "lid", "something is missing at the end", 3, "a value" },
	{ "lid 65536", "'65536' is no LID", 4, "65535" },
	{ "lid seven", "'seven' is no LID", 4, "a number" },
	{ "src 7", "'7' does not belong here", 4, "lid" },
	{ "dst dst lid 7", "'dst' does not belong here", 4, "lid" },
	{ "guid x", "'x' is no GUID", 5, "0x0002c903000e0b72" },
	{ "guid 0x10000000000000000", "is no GUID", 5, "a number" },
	{ "gid 7", "'7' is no GID", 4, "fe80::" },
	{ "gid fe80::1::2", "is no GID", 4, "fe80::" },
	{ "tid", "something is missing at the end", 3, "a value" },
	{ "tid 1x", "'1x' is no TID", 4, "a number" },
	{ "status", "something is missing at the end", 6, "a value" },
	{ "status fine", "'fine' is no status", 7, "ERR_NO_RECORDS" },
	{ "status 65536", "is no status", 7, "error" },
	{ "records", "something is missing at the end", 7, "a value" },
	{ "records many", "is no number of records", 8, "a range" },
	{ "records 5-", "is no number of records", 8, "a range" },
	{ "records 5-4", "is no number of records", 8, "a range" },
	{ "records > 4-5", "is no number of records", 10, "a number" },
	{ "records >", "something is missing at the end", 9, "a value" },
	{ "sent 7", "'7' does not belong here", 5, "and" },
	{ "sent received", "'received' does not belong here", 5, "or" },
	{ "(sent", "something is missing at the end", 5, ")" },
	{ "sent)", "')' does not belong here", 4, "the end" },
	{ "()", "')' does not belong here", 1, "not" },
	{ "sent and", "something is missing at the end", 8, "class" },
	{ "and sent", "'and' does not belong here", 0, "sent" },
	{ "not", "something is missing at the end", 3, "(" },
	{ "name \"open", "does not belong here", 5, "a value" },
	{ "lid 7 and attr PathRecord and method Fetch", "'Fetch' is no method",
	  37, "Get" },
};

START_TEST(what_is_wrong_is_pointed_at)
{
	const char *caret, *line;

	ck_assert_ptr_null(expression_new(wrong[_i].text, error));
	ck_assert_ptr_nonnull(strstr(error, wrong[_i].what));
	ck_assert_ptr_nonnull(strstr(error, wrong[_i].text));
	caret = strchr(error, '^');
	ck_assert_ptr_nonnull(caret);
	for (line = caret; line[-1] != '\n'; line--)
		;
	ck_assert_int_eq(caret - line - 2, wrong[_i].at);
	ck_assert_ptr_nonnull(strstr(caret, wrong[_i].accepted));
}
END_TEST

/* The caret stands below the word also where characters are not bytes. */
START_TEST(columns_are_of_characters)
{
	const char *caret, *line;

	ck_assert_ptr_null(expression_new("name \303\244\t and x", error));
	caret = strchr(error, '^');
	for (line = caret; line[-1] != '\n'; line--)
		;
	ck_assert_int_eq(caret - line - 2, 12);
}
END_TEST

static bool is_accepted(const char *text)
{
	struct expression *e = expression_new(text, error);
	bool accepted = e != NULL;

	expression_free(e);
	return accepted;
}

/* However long, and nothing but parentheses has a limit. */
START_TEST(long_ones_are_taken)
{
	char *text = calloc(LONG, sizeof("sent or "));
	int i;

	for (i = 0; i < LONG; i++)
		memcpy(text + 8 * i, "sent or ", 8);
	strcpy(text + 8 * LONG - 4, "");
	ck_assert_msg(is_accepted(text), "%s", error);
	memset(text, 0, 8 * LONG);
	for (i = 0; i < DEEP; i++)
		strcat(text, "sent or (");
	strcat(text, "sent");
	for (i = 0; i < DEEP; i++)
		strcat(text, ")");
	ck_assert(!is_accepted(text));
	ck_assert_ptr_nonnull(strstr(error, "too many parentheses"));
	free(text);
}
END_TEST

/* One transaction, of which the rows below ask. */
static uint8_t mad[MAD_SIZE];
static struct record transaction;

static void set_up(void)
{
	struct captures c = { .now_ns = 1 };
	struct sa_record *sa = &transaction.sa;

	captures_mad(&c, mad, sizeof(mad), CLASS_SUBN_ADM, METHOD_SET,
		     ATTR_MCMEMBER_RECORD, 7, 0x2a);
	mad[SA_COMPONENT_MASK + 7] = 1;		/* mgid */
	memcpy(mad + SA_DATA, "\xff\x12\0\0\0\0\0\0\0\0\0\0\0\0\0\1", 16);
	memcpy(mad + SA_DATA + 16, "\xfe\x80\0\0\0\0\0\0\0\0\0\0\0\0\0\5", 16);
	transaction = (struct record){ .type = RECORD_SA };
	sa->mad = mad;
	sa->len = sizeof(mad);
	sa->requester.addr.lid = 7;
	sa->requester.addr.has_gid = true;
	memcpy(sa->requester.addr.gid, "\xfe\x80\0\0\0\0\0\0\0\2\xc9\3\0\x0e\x0b\x72",
	       16);
	sa->requester.port_guid = 0x0002c903000e0b72;
	sa->requester.name = "node012 HCA-1";
	sa->local_lid = 1;
	sa->has_response = true;
	sa->records = 1;
}

/* Of an answered transaction. */
static const struct {
	const char *text;
	bool matches;
} rows[] = {
	{ "", true }, { " \t", true },
	{ "class sa", true }, { "class SubnAdm", true }, { "class 3", true },
	{ "class 0x03", true }, { "class smp", false }, { "class perf", false },
	{ "method Set", true }, { "method set", true }, { "method 2", true },
	{ "method GetResp", true }, { "method Get", false },
	{ "method GetTableResp", false },
	{ "attr MCMemberRecord", true }, { "attr mcmemberrecord", true },
	{ "attr 0x38", true }, { "attr 56", true }, { "attr PathRecord", false },
	{ "attr PortInfo", false }, { "attr ClassPortInfo", false },
	{ "lid 7", true }, { "lid 1", true }, { "lid 0x7", true },
	{ "lid 8", false }, { "src lid 7", true }, { "src lid 1", false },
	{ "dst lid 1", true }, { "dst lid 7", false },
	{ "guid 0x0002c903000e0b72", true }, { "guid 1", false },
	{ "gid fe80::2:c903:e:b72", true }, { "gid ff12::1", true },
	{ "gid fe80::5", false },	/* not among its components */
	{ "name node012*", true }, { "name NODE*", true },
	{ "name 'node012 HCA-1'", true }, { "name \"*HCA-?\"", true },
	{ "name node013*", false }, { "name node012", false },
	{ "name '*' and lid 7", true },
	{ "tid 0x2a", true }, { "tid 42", true }, { "tid 0x2b", false },
	{ "status ok", true }, { "status OK", true }, { "status 0", true },
	{ "status error", false }, { "status ERR_NO_RECORDS", false },
	{ "sent", false }, { "received", true }, { "error", false },
	{ "records 1", true }, { "records 0", false }, { "records 1-5", true },
	{ "records 2-5", false }, { "records > 0", true },
	{ "records >0", true }, { "records > 1", false },
	{ "records >= 1", true }, { "records < 1", false },
	{ "records <= 1", true }, { "records = 1", true },
	{ "records < 0", false }, { "records <= 0", false },
	{ "not sent", true }, { "! sent", true }, { "!sent", true },
	{ "not not sent", false },
	{ "sent or received", true }, { "sent and received", false },
	{ "sent || received && lid 8", false },
	{ "received or sent and lid 8", true },
	{ "(received or sent) and lid 8", false },
	{ "not sent and lid 7", true }, { "not (sent or lid 7)", false },
	{ "not lid 8 and not lid 9 and (attr 0x38)", true },
	{ "name and or method set", true },	/* a name of "and" */
};

START_TEST(transactions_match)
{
	struct expression *e = expression_new(rows[_i].text, error);

	ck_assert_msg(e != NULL, "%s", error);
	ck_assert_msg(expression_matches(e, &transaction) == rows[_i].matches,
		      "%s", rows[_i].text);
	expression_free(e);
}
END_TEST

static bool matches(const char *text, const struct record *r)
{
	struct expression *e = expression_new(text, error);
	bool yes;

	ck_assert_msg(e != NULL, "%s", error);
	yes = expression_matches(e, r);
	expression_free(e);
	return yes;
}

START_TEST(an_answer_that_is_missing_matches_nothing)
{
	transaction.sa.has_response = false;
	transaction.sa.records = 0;
	transaction.sa.outcome = SA_UNANSWERED;
	ck_assert(!matches("status ok", &transaction));
	ck_assert(!matches("status error", &transaction));
	ck_assert(matches("not status ok", &transaction));
	ck_assert(!matches("records 0", &transaction));
	ck_assert(!matches("method GetResp", &transaction));
	ck_assert(matches("error", &transaction));
	transaction.sa.has_response = true;
	transaction.sa.outcome = SA_ANSWERED;
	transaction.sa.status = 0x0300;
	ck_assert(matches("status err_no_records", &transaction));
	ck_assert(matches("status 0x0300", &transaction));
	ck_assert(matches("status error and error", &transaction));
}
END_TEST

START_TEST(reports_are_the_other_way_round)
{
	transaction.sa.sent = true;
	ck_assert(matches("src lid 1 and dst lid 7 and sent", &transaction));
	ck_assert(!matches("src lid 7 or dst lid 1 or received",
			   &transaction));
}
END_TEST

START_TEST(other_records)
{
	struct captures c = { .now_ns = 1 };
	struct mad_capture cap = captures_mad(&c, mad, sizeof(mad),
		CLASS_SUBN_DIR, METHOD_GET, 0x15, 0xffff, 1);
	struct record r = { .type = RECORD_MAD };

	cap.sent = true;
	r.mad.capture = &cap;
	r.mad.peer.addr = cap.peer;
	ck_assert(matches("class smp and sent and attr PortInfo", &r));
	/* a request has no status */
	ck_assert(!matches("status ok or error", &r));
	cap.completion = MAD_TIMEOUT;
	r.type = RECORD_SEND_ERROR;
	ck_assert(matches("error", &r));
	cap.sent = false;
	cap.completion = MAD_OK;
	r.type = RECORD_MAD;
	mad[MAD_METHOD] = 0x81;
	mad[MAD_STATUS] = 0x80;		/* the direction */
	ck_assert(matches("status ok and not error", &r));
	mad[MAD_STATUS + 1] = 0x1c;
	ck_assert(matches("status ERR_INVALID_FIELD and error", &r));

	r = (struct record){ .type = RECORD_TRAP };
	r.trap.mad = mad;
	r.trap.mad_len = sizeof(mad);
	r.trap.from.addr.lid = 12;
	ck_assert(matches("lid 12 and not error", &r));
	r.trap.mad = NULL;
	ck_assert(!matches("lid 12", &r));

	r = (struct record){ .type = RECORD_LOSS };
	ck_assert(matches("lid 12", &r));
}
END_TEST

/*
 * A packet is left out only when its transaction cannot match: request and
 * answer of one that matches both pass.
 */
static const struct {
	const char *text;
	bool request, answer;
} packets[] = {
	{ "", true, true },
	{ "class sa", true, true }, { "not class sa", false, false },
	{ "method Get", true, true }, { "method GetResp", true, true },
	{ "method Set", false, true },	/* its answer would look so */
	{ "method GetTable", false, false },
	{ "not method Get", false, true },
	{ "attr PathRecord", true, true }, { "attr 0x11", false, false },
	{ "lid 7", true, true }, { "src lid 7", true, true },
	{ "dst lid 7", false, false }, { "dst lid 1", true, true },
	{ "name h*", true, true }, { "name x*", false, false },
	{ "received", true, true }, { "sent", false, false },
	{ "status ok", true, false }, { "status error", true, true },
	{ "not status ok", true, true },
	{ "status ERR_NO_RECORDS", true, true },
	{ "status BUSY", true, false },
	{ "error", true, true }, { "not error", true, false },
	{ "records 0", true, true }, { "records > 0", true, false },
	{ "tid 9", true, true }, { "tid 8", false, false },
};

START_TEST(packets_match_by_what_they_have)
{
	struct expression *e = expression_new(packets[_i].text, error);
	struct captures c = { .now_ns = 1 };
	struct mad_capture cap = captures_mad(&c, mad, sizeof(mad),
		CLASS_SUBN_ADM, METHOD_GET, ATTR_PATH_RECORD, 7, 9);
	struct requester peer = { .addr = cap.peer, .name = "host" };

	ck_assert_ptr_nonnull(e);
	ck_assert_msg(expression_may_match(e, &cap, &peer) ==
		      packets[_i].request, "%s", packets[_i].text);
	cap.sent = true;
	mad[MAD_METHOD] = 0x81;
	mad[MAD_STATUS] = 3;
	ck_assert_msg(expression_may_match(e, &cap, &peer) ==
		      packets[_i].answer, "%s", packets[_i].text);
	expression_free(e);
}
END_TEST

/*
 * What an answer may be of a transaction or, with no request there, on its
 * own: what is shown in the second case passes, and so does all that it may be
 * a part of.
 */
static const struct {
	const char *text;
	uint8_t method, attr_id;
	enum mad_completion completion;
	bool passes, shown;
} answers[] = {
	{ "received and src lid 7", 0x92, 0x35, MAD_OK, true, true },
	{ "sent", 0x92, 0x35, MAD_OK, false, false },
	{ "sent and dst lid 7", 0x86, 2, MAD_OK, true, true },
	{ "method GetTable", 0x92, 0x35, MAD_OK, true, true },
	{ "method Get", 0x81, 0x35, MAD_OK, true, false },
	{ "not method Set", 0x81, 0x35, MAD_OK, true, false },
	{ "records 1", 0x81, 0x35, MAD_OK, true, true },
	{ "records 0", 0x86, 2, MAD_OK, true, true },
	{ "records 1", 0x86, 2, MAD_OK, false, false },
	{ "not attr PathRecord", 0x94, 0x35, MAD_OK, true, false },
	{ "attr PathRecord", 0x94, 0x35, MAD_OK, true, false },
	{ "not status ok", 0x81, 0x35, MAD_TIMEOUT, true, false },
	{ "not records 1", 0x81, 0x35, MAD_TIMEOUT, true, false },
	{ "status error", 0x81, 0x35, MAD_TIMEOUT, false, false },
	{ "error", 0x81, 0x35, MAD_TIMEOUT, true, true },
};

START_TEST(answers_without_their_requests)
{
	struct expression *e = expression_new(answers[_i].text, error);
	struct captures c = { .now_ns = 1 };
	struct mad_capture cap = captures_mad(&c, mad, sizeof(mad),
		CLASS_SUBN_ADM, answers[_i].method, answers[_i].attr_id, 7, 9);
	struct requester peer = { .addr = cap.peer };
	struct record r = { .type = RECORD_MAD };

	ck_assert_ptr_nonnull(e);
	cap.sent = answers[_i].method != (METHOD_REPORT | METHOD_RESPONSE);
	cap.completion = answers[_i].completion;
	r.mad.capture = &cap;
	r.mad.peer = peer;
	ck_assert_msg(expression_may_match(e, &cap, &peer) ==
		      answers[_i].passes, "%s", answers[_i].text);
	ck_assert_msg(expression_matches(e, &r) == answers[_i].shown, "%s",
		      answers[_i].text);
	expression_free(e);
}
END_TEST

#define ROWS(table) (int)(sizeof(table) / sizeof((table)[0]))

int main(void)
{
	Suite *suite = suite_create("expression");
	TCase *tc = tcase_create("expression");

	tcase_add_checked_fixture(tc, set_up, NULL);
	tcase_add_loop_test(tc, what_is_wrong_is_pointed_at, 0, ROWS(wrong));
	tcase_add_test(tc, columns_are_of_characters);
	tcase_add_test(tc, long_ones_are_taken);
	tcase_add_loop_test(tc, transactions_match, 0, ROWS(rows));
	tcase_add_test(tc, an_answer_that_is_missing_matches_nothing);
	tcase_add_test(tc, reports_are_the_other_way_round);
	tcase_add_test(tc, other_records);
	tcase_add_loop_test(tc, packets_match_by_what_they_have, 0,
			    ROWS(packets));
	tcase_add_loop_test(tc, answers_without_their_requests, 0,
			    ROWS(answers));
	suite_add_tcase(suite, tc);
	return run_suite(suite);
}
