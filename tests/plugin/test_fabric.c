/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Names of LIDs: a snapshot of a subnet database that is built here with
 * complib's own containers, as large as an InfiniBand subnet can be.
 */
#include <check.h>
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include "fabric.h"
#include "../run.h"

enum { LIDS = 48000, PORTS_A_NODE = 2 };

static osm_opensm_t *osm;
static osm_port_t *ports;
static osm_node_t *nodes;

static void setup(void)
{
	char desc[64];
	size_t lid;

	osm = calloc(1, sizeof(*osm));
	ports = calloc(LIDS + 1, sizeof(*ports));
	nodes = calloc(LIDS / PORTS_A_NODE + 1, sizeof(*nodes));
	ck_assert(osm && ports && nodes);
	ck_assert_int_eq(cl_plock_init(&osm->lock), CL_SUCCESS);
	cl_qmap_init(&osm->subn.port_guid_tbl);
	ck_assert_int_eq(cl_ptr_vector_init(&osm->subn.port_lid_tbl, 0, 1024),
			 CL_SUCCESS);
	for (lid = 1; lid <= LIDS; lid++) {
		osm_node_t *node = &nodes[lid / PORTS_A_NODE];

		if (!node->print_desc) {
			snprintf(desc, sizeof(desc), "node%05zu HCA-1",
				 lid / PORTS_A_NODE);
			node->print_desc = strdup(desc);
			node->node_info.node_guid = cl_hton64(lid);
		}
		ports[lid].p_node = node;
		ports[lid].guid = cl_hton64(0x0002c90300000000u + lid);
		cl_ptr_vector_set(&osm->subn.port_lid_tbl, lid, &ports[lid]);
		cl_qmap_insert(&osm->subn.port_guid_tbl, ports[lid].guid,
			       &ports[lid].map_item);
	}
	cl_ptr_vector_set(&osm->subn.port_lid_tbl, 0, NULL);
}

static void teardown(void)
{
	size_t i;

	cl_ptr_vector_destroy(&osm->subn.port_lid_tbl);
	cl_plock_destroy(&osm->lock);
	for (i = 0; i <= LIDS / PORTS_A_NODE; i++)
		free(nodes[i].print_desc);
	free(nodes);
	free(ports);
	free(osm);
}

START_TEST(test_nothing_is_known)
{
	struct requester who = { .addr.lid = 7, .port_guid = 1, .name = "x" };

	fabric_resolve(NULL, &who);
	ck_assert_uint_eq(who.port_guid, 0);
	ck_assert_ptr_null(who.name);
	fabric_free(NULL);
}
END_TEST

START_TEST(test_unknown_lids)
{
	static const uint16_t lids[] = { 0, LIDS + 1, 0xbfff, 0xc000, 0xffff };
	struct fabric *fabric = fabric_snapshot(osm);
	size_t i;

	ck_assert_ptr_nonnull(fabric);
	for (i = 0; i < sizeof(lids) / sizeof(lids[0]); i++) {
		struct requester who = { .addr.lid = lids[i] };

		fabric_resolve(fabric, &who);
		ck_assert_uint_eq(who.port_guid, 0);
		ck_assert_ptr_null(who.name);
	}
	fabric_free(fabric);
}
END_TEST

static void *hold_exclusively(void *context)
{
	pthread_barrier_t *barrier = context;

	cl_plock_excl_acquire(&osm->lock);
	pthread_barrier_wait(barrier);
	pthread_barrier_wait(barrier);
	cl_plock_release(&osm->lock);
	return NULL;
}

/* OpenSM changes its tables: nobody waits for that. */
START_TEST(test_never_waits)
{
	pthread_barrier_t barrier;
	pthread_t thread;

	pthread_barrier_init(&barrier, NULL, 2);
	pthread_create(&thread, NULL, hold_exclusively, &barrier);
	pthread_barrier_wait(&barrier);
	ck_assert_ptr_null(fabric_snapshot(osm));
	ck_assert_int_eq(errno, EBUSY);
	pthread_barrier_wait(&barrier);
	pthread_join(thread, NULL);
	pthread_barrier_destroy(&barrier);
}
END_TEST

START_TEST(test_all_lids_without_opensm)
{
	struct fabric *fabric = fabric_snapshot(osm);
	char name[64];
	size_t lid;

	ck_assert_ptr_nonnull(fabric);
	/* the snapshot holds no lock, and needs no port to be there */
	ck_assert_int_eq(pthread_rwlock_trywrlock(&osm->lock.lock), 0);
	pthread_rwlock_unlock(&osm->lock.lock);
	memset(ports, 0xff, (LIDS + 1) * sizeof(*ports));
	for (lid = 1; lid <= LIDS; lid++) {
		struct requester who = { .addr.lid = (uint16_t)lid };

		fabric_resolve(fabric, &who);
		snprintf(name, sizeof(name), "node%05zu HCA-1",
			 lid / PORTS_A_NODE);
		ck_assert_uint_eq(who.port_guid, 0x0002c90300000000u + lid);
		ck_assert_str_eq(who.name, name);
	}
	fabric_free(fabric);
}
END_TEST

/* Two nodes with one name; the first has two ports that are far apart. */
START_TEST(test_shared_names)
{
	static const struct {
		uint16_t lid;
		const char *name;
	} all[] = {
		{ 100, "twin 0x0000000000000065" },
		{ 40000, "twin 0x0000000000000065" },
		{ 200, "twin 0x00000000000000c9" },
		{ 101, "node00050 HCA-1" },
	};
	osm_node_t twins[2] = { 0 };
	struct fabric *fabric;
	size_t i;

	twins[0].node_info.node_guid = cl_hton64(101);
	twins[1].node_info.node_guid = cl_hton64(201);
	twins[0].print_desc = twins[1].print_desc = (char *)"twin";
	ports[100].p_node = ports[40000].p_node = &twins[0];
	ports[200].p_node = &twins[1];
	fabric = fabric_snapshot(osm);
	for (i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
		struct requester who = { .addr.lid = all[i].lid };

		fabric_resolve(fabric, &who);
		ck_assert_str_eq(who.name, all[i].name);
	}
	fabric_free(fabric);
}
END_TEST

START_TEST(test_find)
{
	struct requester who = { .addr.lid = 1 };
	struct fabric *fabric;

	ck_assert(!fabric_find(NULL, &who, 1));
	/* a port with two LIDs (LMC) */
	cl_ptr_vector_set(&osm->subn.port_lid_tbl, 501, &ports[500]);
	fabric = fabric_snapshot(osm);
	ck_assert(!fabric_find(fabric, &who, 0));
	ck_assert(!fabric_find(fabric, &who, 0x0002c90300000000u));
	ck_assert(!fabric_find(fabric, &who, UINT64_MAX));
	ck_assert_uint_eq(who.addr.lid, 1);
	ck_assert(fabric_find(fabric, &who, 0x0002c90300000000u + 500));
	ck_assert_uint_eq(who.addr.lid, 500);
	ck_assert_str_eq(who.name, "node00250 HCA-1");
	ck_assert(fabric_find(fabric, &who, 0x0002c90300000000u + LIDS));
	ck_assert_uint_eq(who.addr.lid, LIDS);
	fabric_free(fabric);
}
END_TEST

START_TEST(test_mlids)
{
	uint32_t used, max;

	ck_assert(fabric_count_mlids(osm, &used, &max));
	ck_assert_uint_eq(used + max, 0);
	osm->subn.max_mcast_lid_ho = IB_LID_MCAST_START_HO + 1023;
	osm->subn.mboxes[0] = osm->subn.mboxes[1023] = osm;
	osm->subn.mboxes[1024] = osm;
	ck_assert(fabric_count_mlids(osm, &used, &max));
	ck_assert_uint_eq(used, 2);
	ck_assert_uint_eq(max, 1024);
	pthread_rwlock_wrlock(&osm->lock.lock);
	ck_assert(!fabric_count_mlids(osm, &used, &max));
	pthread_rwlock_unlock(&osm->lock.lock);
}
END_TEST

START_TEST(test_abilities)
{
	osm_physp_t physp = { 0 };
	struct fabric *fabric;
	uint8_t mtu = 9, rate = 9;

	ck_assert(!fabric_abilities(NULL, 1, &mtu, &rate));
	/* 4x at 10 Gb/s a lane, 2048 bytes */
	physp.port_info.link_width_active = 2;
	physp.port_info.link_speed = 4 << 4;
	physp.port_info.mtu_smsl = 4 << 4;
	ports[7].p_physp = &physp;
	fabric = fabric_snapshot(osm);
	ck_assert(!fabric_abilities(fabric, 7, &mtu, &rate));
	ck_assert(fabric_abilities(fabric, 0x0002c90300000007u, &mtu, &rate));
	ck_assert_uint_eq(mtu, 4);
	ck_assert_uint_eq(rate, IB_PATH_RECORD_RATE_40_GBS);
	/* OpenSM has not asked it yet */
	ck_assert(fabric_abilities(fabric, 0x0002c90300000008u, &mtu, &rate));
	ck_assert_uint_eq(mtu + rate, 0);
	fabric_free(fabric);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("fabric");
	TCase *tcase = tcase_create("fabric");

	tcase_add_checked_fixture(tcase, setup, teardown);
	tcase_set_timeout(tcase, 120);
	tcase_add_test(tcase, test_nothing_is_known);
	tcase_add_test(tcase, test_unknown_lids);
	tcase_add_test(tcase, test_never_waits);
	tcase_add_test(tcase, test_all_lids_without_opensm);
	tcase_add_test(tcase, test_shared_names);
	tcase_add_test(tcase, test_find);
	tcase_add_test(tcase, test_mlids);
	tcase_add_test(tcase, test_abilities);
	suite_add_tcase(suite, tcase);
	return run_suite(suite);
}
