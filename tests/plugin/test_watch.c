/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * All watchers at once, as the plugin has them: what they take of memory when
 * each LID of a subnet does everything that one of them looks at.
 */
#include <unistd.h>

#include "joined.h"
#include "smps.h"
#include "../run.h"

enum { LIDS = 49151, LIMIT = 32 << 20, PATH_RECORD = 0x35 };

static struct watch *all;

static void record_all(void *state, const struct record *r, uint64_t mono_ns)
{
	watch_record(state, r, mono_ns);
}

static void tick_all(void *state, uint64_t mono_ns)
{
	watch_tick(state, mono_ns);
}

static const struct watcher watch_all = {
	.record = record_all, .tick = tick_all,
};

static void begin(void)
{
	n_alerts = 0;
	all = watch_new(&watched_host);
	ck_assert_ptr_nonnull(all);
	watched = &watch_all;
	watched_state = all;
}

static void end(void)
{
	watch_flush(all, start + SECOND);
	watch_free(all);
	watched_state = NULL;
}

static void setup(void)
{
	char error[1024];

	ck_assert(options_parse(&watched_options, NULL, error, sizeof(error)));
}

static size_t resident(void)
{
	FILE *f = fopen("/proc/self/statm", "r");
	unsigned long size = 0, pages = 0;

	ck_assert_ptr_nonnull(f);
	ck_assert_int_eq(fscanf(f, "%lu %lu", &size, &pages), 2);
	fclose(f);
	return pages * (size_t)sysconf(_SC_PAGESIZE);
}

static void ask(uint16_t lid)
{
	const struct mad_capture cap = {
		.peer = { .lid = lid, .qpn = 1 }, .mono_ns = start,
		.time_ns = epoch + start,
	};
	uint64_t dlid;

	for (dlid = 1; dlid <= 8; dlid++) {
		watch_request(all, &cap);
		put_header(METHOD_GET, PATH_RECORD, 1 << 4 | 1 << 5);
		put(request + SA_DATA + 40, 2, dlid);
		put(request + SA_DATA + 42, 2, lid);
		transact(lid, OK, start);
	}
	/* another's port */
	put_member(METHOD_DELETE, (uint16_t)(lid % LIDS + 1), 5, 0x10003);
	transact(lid, OK, start);
}

static void ask_in_vain(uint16_t lid)
{
	struct record r = {
		.type = RECORD_SA, .time_ns = epoch + start,
		.sa = {
			.requester.addr = { .lid = lid, .qpn = 1 },
			.mad = request, .len = MAD_SIZE,
			.outcome = SA_UNANSWERED, .reason = SA_REASON_SM_KEY,
		},
	};

	put_header(METHOD_GET, PATH_RECORD, 0);
	watch_record(all, &r, start);
}

static void join(uint16_t lid)
{
	uint32_t group;

	for (group = 0; group < 4; group++) {
		put_member(METHOD_SET, lid, lid % 16384 + group, 0x130c7);
		put_answer();
		transact(lid, OK, start);
	}
	transact(lid, REQ_INVALID, start);
	put_header(METHOD_SET, ATTR_SERVICE_RECORD, 3);
	transact(lid, OK, start);
}

/* Two traps, and an SMP by a path of its own that is answered, one that not. */
static void complain(uint16_t lid)
{
	char path[32];

	trap_begin(lid, 129);
	trap_put(start);
	trap_begin(lid, 257);
	put16(notice + 12, lid);
	put16(notice + 14, 1);
	trap_put(start);
	snprintf(path, sizeof(path), "1,%u,%u,%u", lid >> 12, lid >> 6 & 63,
		 lid & 63);
	smp_begin(0, METHOD_GET | METHOD_RESPONSE, ATTR_NODE_INFO);
	smp_path(path);
	smp_put(start);
	smp_begin(0, METHOD_GET, ATTR_NODE_INFO);
	smp_path(path);
	smp_cap.sent = true;
	smp_cap.completion = MAD_TIMEOUT;
	smp_put(start);
}

static void do_everything(void)
{
	uint32_t lid;

	for (lid = 1; lid <= LIDS; lid++) {
		ask((uint16_t)lid);
		ask_in_vain((uint16_t)lid);
		join((uint16_t)lid);
		complain((uint16_t)lid);
	}
	watch_tick(all, start + SECOND);
}

START_TEST(test_memory)
{
	size_t before, taken;

	/* what libc takes for itself */
	begin();
	do_everything();
	end();
	before = resident();
	begin();
	do_everything();
	taken = resident() - before;
	printf("%d LIDs: %zu KiB, %u alerts\n", LIDS, taken / 1024, n_alerts);
	/* a sanitizer's own memory is more than theirs */
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
	ck_assert_uint_gt(taken, LIMIT / 4);
	ck_assert_uint_lt(taken, LIMIT);
#endif
	end();
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("watch");
	TCase *tcase = tcase_create("watch");

	tcase_add_checked_fixture(tcase, setup, NULL);
	tcase_add_test(tcase, test_memory);
	suite_add_tcase(suite, tcase);
	return run_suite(suite);
}
