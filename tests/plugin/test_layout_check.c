/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * plugin/layout_check.c: an osm_opensm_t that is not laid out as ours is
 * refused by the name of what is wrong. The one here is a double: memory with
 * the pointers that OpenSM sets before it loads plugins, and nothing else.
 * That they are so in the real one is for the tests with opensm to show.
 */
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include <opensm/osm_version.h>

#include "layout_check.h"
#include "../run.h"

#define COUNT(table) (sizeof(table) / sizeof((table)[0]))

static osm_opensm_t *osm;
static osm_vendor_t vendor;

static void setup(void)
{
	osm = calloc(1, sizeof(*osm));
	ck_assert_ptr_nonnull(osm);
	memset(&vendor, 0, sizeof(vendor));
	osm->osm_version = OSM_VERSION;
	osm->subn.p_osm = osm;
	osm->sm.p_subn = &osm->subn;
	osm->sm.p_log = &osm->log;
	osm->sm.p_mad_pool = &osm->mad_pool;
	osm->sm.p_vl15 = &osm->vl15;
	osm->sm.p_lock = &osm->lock;
	osm->sm.mad_ctrl.p_stats = &osm->stats;
	osm->sa.sm = &osm->sm;
	osm->sa.p_subn = &osm->subn;
	osm->sa.p_log = &osm->log;
	osm->sa.p_disp = &osm->disp;
	osm->sa.p_lock = &osm->lock;
	osm->sa.p_vendor = &vendor;
	osm->sa.mad_ctrl.p_stats = &osm->stats;
	osm->p_vendor = &vendor;
	vendor.p_log = &osm->log;
}

static void teardown(void)
{
	free(osm);
}

START_TEST(test_each_pointer)
{
	const struct {
		const char *member;
		void *where;
	} pointers[] = {
		{ "subn.p_osm", &osm->subn.p_osm },
		{ "sm.p_subn", &osm->sm.p_subn },
		{ "sm.p_log", &osm->sm.p_log },
		{ "sm.p_mad_pool", &osm->sm.p_mad_pool },
		{ "sm.p_vl15", &osm->sm.p_vl15 },
		{ "sm.p_lock", &osm->sm.p_lock },
		{ "sm.mad_ctrl.p_stats", &osm->sm.mad_ctrl.p_stats },
		{ "sa.sm", &osm->sa.sm },
		{ "sa.p_subn", &osm->sa.p_subn },
		{ "sa.p_log", &osm->sa.p_log },
		{ "sa.p_disp", &osm->sa.p_disp },
		{ "sa.p_lock", &osm->sa.p_lock },
		{ "sa.mad_ctrl.p_stats", &osm->sa.mad_ctrl.p_stats },
		{ "p_vendor", &osm->p_vendor },
		{ "sa.mad_ctrl.p_set_disp", &osm->sa.mad_ctrl.p_set_disp },
		{ "p_vendor->p_log", &vendor.p_log },
	};
	/* nobody may follow a wrong one */
	void *const wrong[] = { NULL, (void *)1, (void *)-8L, &vendor.mtbl };
	const char *found;
	void *right;
	size_t i, k;

	for (i = 0; i < COUNT(pointers); i++) {
		memcpy(&right, pointers[i].where, sizeof(right));
		for (k = 0; k < COUNT(wrong); k++) {
			if (wrong[k] == right)
				continue;
			memcpy(pointers[i].where, &wrong[k], sizeof(right));
			found = layout_check(osm);
			ck_assert_msg(found &&
				      !strcmp(found, pointers[i].member),
				      "%s is wrong, found is %s",
				      pointers[i].member,
				      found ? found : "nothing");
		}
		memcpy(pointers[i].where, &right, sizeof(right));
	}
	ck_assert_ptr_null(layout_check(osm));
}
END_TEST

START_TEST(test_no_vendor)
{
	osm->p_vendor = NULL;
	osm->sa.p_vendor = NULL;
	ck_assert_str_eq(layout_check(osm), "p_vendor");
}
END_TEST

START_TEST(test_version)
{
	osm->osm_version = "OpenSM 3.3.1";
	ck_assert_str_eq(layout_check(osm), "osm_version");
	osm->osm_version = "";
	ck_assert_str_eq(layout_check(osm), "osm_version");
	osm->osm_version = NULL;
	ck_assert_str_eq(layout_check(osm), "osm_version");
}
END_TEST

/* Every member one word later, as in a build with one more member before. */
START_TEST(test_shifted)
{
	memmove((char *)osm + sizeof(void *), osm,
		sizeof(*osm) - sizeof(void *));
	ck_assert_ptr_nonnull(layout_check(osm));
}
END_TEST

START_TEST(test_right)
{
	ck_assert_ptr_null(layout_check(osm));
	/* with a dispatcher of its own for Set requests */
	osm->sa_set_disp_initialized = TRUE;
	ck_assert_str_eq(layout_check(osm), "sa.mad_ctrl.p_set_disp");
	osm->sa.mad_ctrl.p_set_disp = &osm->sa_set_disp;
	ck_assert_ptr_null(layout_check(osm));
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("layout_check");
	TCase *tcase = tcase_create("layout_check");

	tcase_add_checked_fixture(tcase, setup, teardown);
	tcase_add_test(tcase, test_each_pointer);
	tcase_add_test(tcase, test_no_vendor);
	tcase_add_test(tcase, test_version);
	tcase_add_test(tcase, test_shifted);
	tcase_add_test(tcase, test_right);
	suite_add_tcase(suite, tcase);
	return run_suite(suite);
}
