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

static inline struct timespec clock_timespec(uint64_t ns)
{
	return (struct timespec){
		.tv_sec = (time_t)(ns / 1000000000u),
		.tv_nsec = (long)(ns % 1000000000u),
	};
}

#endif /* OSMSNOOP_CLOCK_H */
