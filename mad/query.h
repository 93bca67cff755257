/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * What makes two SA requests the same query: method, attribute, component mask
 * and the components that it names. Not the TID, and not what lies beside these
 * components, which is nobody's.
 */
#ifndef OSMSNOOP_QUERY_H
#define OSMSNOOP_QUERY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * The hash of `who` (whatever tells requesters apart) and what is asked. False:
 * that is not known, as the attribute is not or the bytes of a component are
 * cut off.
 */
bool query_hash(const uint64_t seed[2], uint64_t who, const uint8_t *mad,
		size_t len, uint64_t *hash);

#endif /* OSMSNOOP_QUERY_H */
