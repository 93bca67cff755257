/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * SipHash-1-3 (Aumasson and Bernstein) of 64-bit words, for tables whose keys
 * come from the wire: who does not know the seed cannot make keys that fall
 * into one bucket. The number of words is not part of the hash: let it be the
 * same for all keys of a table.
 */
#ifndef OSMSNOOP_SIPHASH_H
#define OSMSNOOP_SIPHASH_H

#include <stddef.h>
#include <stdint.h>

/* Fresh from the kernel. Never blocks, not even early at boot. */
void siphash_seed(uint64_t seed[2]);

uint64_t siphash_words(const uint64_t seed[2], const uint64_t *words,
		       size_t n);

#endif /* OSMSNOOP_SIPHASH_H */
