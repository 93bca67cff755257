/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
#ifndef OSMSNOOP_CLOCK_H
#define OSMSNOOP_CLOCK_H

#include <stdint.h>
#include <time.h>

/* Nanoseconds of a clock. The vDSO's: no system call for these clocks. */
static inline uint64_t clock_ns(clockid_t clock)
{
	struct timespec ts;

	clock_gettime(clock, &ts);
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

#endif /* OSMSNOOP_CLOCK_H */
