/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* mad/query.c: what is the same query, what is another, what is not known. */
#include <check.h>
#include <string.h>

#include "layout.h"
#include "query.h"
#include "../run.h"

static const uint64_t seed[2] = { 1, 2 };
static uint8_t mad[MAD_SIZE];

static void setup(void)
{
	memset(mad, 0, sizeof(mad));
	mad[MAD_CLASS] = CLASS_SUBN_ADM;
	mad[MAD_METHOD] = METHOD_GET;
	mad[MAD_ATTR_ID + 1] = ATTR_PATH_RECORD;
	mad[SA_COMPONENT_MASK + 7] = 0x30;	/* dlid, slid */
}

static uint64_t hash(uint64_t who)
{
	uint64_t h = 0;

	ck_assert(query_hash(seed, who, mad, sizeof(mad), &h));
	return h;
}

START_TEST(test_same)
{
	const uint64_t was = hash(7);

	mad[MAD_TID] = 1;
	mad[SA_SM_KEY] = 1;
	mad[SA_DATA] = 1;		/* no component that is named */
	mad[MAD_SIZE - 1] = 1;
	ck_assert_uint_eq(hash(7), was);
}
END_TEST

START_TEST(test_another)
{
	static const size_t places[] = {
		MAD_METHOD, SA_COMPONENT_MASK, SA_COMPONENT_MASK + 7,
		SA_DATA + 40, SA_DATA + 43,
	};
	const uint64_t was = hash(7);
	size_t i;

	ck_assert_uint_ne(hash(8), was);
	for (i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
		mad[places[i]] ^= 1;
		ck_assert_uint_ne(hash(7), was);
		mad[places[i]] ^= 1;
	}
	mad[MAD_ATTR_ID + 1] = ATTR_SERVICE_RECORD;
	ck_assert_uint_ne(hash(7), was);
}
END_TEST

/* Whatever is cut off may differ. */
START_TEST(test_cut)
{
	uint64_t h;
	size_t len;

	for (len = MAD_HDR_SIZE; len < SA_DATA + 44; len++)
		ck_assert(!query_hash(seed, 7, mad, len, &h));
	ck_assert(query_hash(seed, 7, mad, len, &h));
	ck_assert_uint_eq(h, hash(7));
	mad[SA_COMPONENT_MASK + 7] = 0;
	ck_assert(query_hash(seed, 7, mad, SA_DATA, &h));
	ck_assert(!query_hash(seed, 7, mad, SA_DATA - 1, &h));
	mad[MAD_ATTR_ID] = 0xbe;
	ck_assert(!query_hash(seed, 7, mad, sizeof(mad), &h));
}
END_TEST

/* A MultiPathRecord has as many GIDs as it says, or is cut. */
START_TEST(test_gids)
{
	uint64_t was, h;
	unsigned n;

	mad[MAD_METHOD] = METHOD_GET_MULTI;
	mad[MAD_ATTR_ID + 1] = ATTR_MULTIPATH_RECORD;
	mad[SA_COMPONENT_MASK + 7] = 0;
	mad[SA_COMPONENT_MASK + 5] = 0x18;	/* both counts */
	mad[SA_DATA + 15] = 1;
	mad[SA_DATA + 16] = 1;
	was = hash(7);
	mad[SA_DATA + 24 + 32] = 1;	/* behind both */
	ck_assert_uint_eq(hash(7), was);
	mad[SA_DATA + 24 + 31] = 1;	/* the end of the second */
	ck_assert_uint_ne(hash(7), was);
	/* all numbers of GIDs, of which there is room for 11 */
	for (n = 0; n < 65536; n++) {
		mad[SA_DATA + 15] = (uint8_t)(n >> 8);
		mad[SA_DATA + 16] = (uint8_t)n;
		ck_assert_int_eq(query_hash(seed, 7, mad, MAD_SIZE, &h),
				 (n >> 8) + (n & 0xff) <= 11);
	}
}
END_TEST

/* All attributes and masks: no more words than there is room for. */
START_TEST(test_all)
{
	uint64_t h;
	unsigned id;

	memset(mad, 0xff, sizeof(mad));
	for (id = 0; id < 65536; id++) {
		mad[MAD_ATTR_ID] = (uint8_t)(id >> 8);
		mad[MAD_ATTR_ID + 1] = (uint8_t)id;
		query_hash(seed, 7, mad, MAD_SIZE, &h);
	}
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("query");
	TCase *tcase = tcase_create("query");

	tcase_add_checked_fixture(tcase, setup, NULL);
	tcase_add_test(tcase, test_same);
	tcase_add_test(tcase, test_another);
	tcase_add_test(tcase, test_cut);
	tcase_add_test(tcase, test_gids);
	tcase_add_test(tcase, test_all);
	suite_add_tcase(suite, tcase);
	return run_suite(suite);
}
