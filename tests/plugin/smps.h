/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* SMPs and traps as records, for tests of watchers. */
#ifndef OSMSNOOP_TEST_SMPS_H
#define OSMSNOOP_TEST_SMPS_H

#include "trap.h"
#include "watched.h"

static uint8_t smp[MAD_SIZE];
static struct mad_capture smp_cap;

static inline void put16(uint8_t *p, uint16_t value)
{
	p[0] = (uint8_t)(value >> 8);
	p[1] = (uint8_t)value;
}

static inline void put32(uint8_t *p, uint32_t value)
{
	put16(p, (uint16_t)(value >> 16));
	put16(p + 2, (uint16_t)value);
}

static inline void put64(uint8_t *p, uint64_t value)
{
	put32(p, (uint32_t)(value >> 32));
	put32(p + 4, (uint32_t)value);
}

/* One that came in, by a directed route of no hops when `lid` is 0. */
static inline void smp_begin(uint16_t lid, uint8_t method, uint16_t attr_id)
{
	memset(smp, 0, sizeof(smp));
	smp[MAD_BASE_VERSION] = 1;
	smp[MAD_CLASS] = lid ? CLASS_SUBN_LID : CLASS_SUBN_DIR;
	smp[MAD_METHOD] = method;
	put16(smp + MAD_ATTR_ID, attr_id);
	smp_cap = (struct mad_capture){
		.data = smp, .len = sizeof(smp), .size = sizeof(smp),
		.peer.lid = lid ? lid : 0xffff,
	};
}

/* "1,10": the initial path. */
static inline void smp_path(const char *path)
{
	uint8_t n = 0;
	char *end;

	for (; *path; path = *end ? end + 1 : end)
		smp[SMP_INITIAL_PATH + ++n] = (uint8_t)strtoul(path, &end, 10);
	smp[SMP_HOP_COUNT] = n;
}

static inline void smp_put(uint64_t mono_ns)
{
	struct record r = {
		.type = smp_cap.completion == MAD_OK ? RECORD_MAD :
						       RECORD_SEND_ERROR,
		.time_ns = epoch + mono_ns,
		.mad = { .capture = &smp_cap },
	};

	watched->record(watched_state, &r, mono_ns);
}

/* A trap from this LID; its details are to be put at `notice` + 10. */
static uint8_t *const notice = smp + SMP_DATA;

static inline void trap_begin(uint16_t lid, uint16_t number)
{
	smp_begin(lid, METHOD_TRAP, ATTR_NOTICE);
	notice[0] = 0x80 | 1;
	notice[3] = 1;
	put16(notice + NOTICE_NUMBER, number);
	put16(notice + 6, lid);
}

static inline void trap_put_cut(uint64_t mono_ns, size_t len)
{
	struct record r = {
		.type = RECORD_TRAP, .time_ns = epoch + mono_ns,
		.trap = {
			.notice = notice, .len = len, .mad = smp,
			.mad_len = SMP_DATA + len,
			.from.addr.lid = smp_cap.peer.lid,
		},
	};

	watched->record(watched_state, &r, mono_ns);
}

static inline void trap_put(uint64_t mono_ns)
{
	trap_put_cut(mono_ns, NOTICE_SMP_SIZE);
}

static inline void tick(uint64_t mono_ns)
{
	watched->tick(watched_state, mono_ns);
}

#endif /* OSMSNOOP_TEST_SMPS_H */
