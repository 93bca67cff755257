/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
#ifndef OSMSNOOP_SAMPLE_H
#define OSMSNOOP_SAMPLE_H

#include <stdint.h>

#include <vendor/osm_vendor_snoop.h>

/*
 * The value of a variable of a bind, which others write meanwhile. The tap does
 * this on OpenSM's threads: it reads and does nothing else.
 */
static inline uint64_t sample_read(const osm_snoop_sample_t *s)
{
	switch (s->size) {
	case 1:
		return __atomic_load_n((const uint8_t *)s->p_variable,
				       __ATOMIC_RELAXED);
	case 2:
		return __atomic_load_n((const uint16_t *)s->p_variable,
				       __ATOMIC_RELAXED);
	case 4:
		return __atomic_load_n((const uint32_t *)s->p_variable,
				       __ATOMIC_RELAXED);
	default:
		return __atomic_load_n((const uint64_t *)s->p_variable,
				       __ATOMIC_RELAXED);
	}
}

#endif /* OSMSNOOP_SAMPLE_H */
