/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Which names of nodes a stream of packets has told, by LID: whoever reads it
 * is told each name once, and again when it has changed or when there is
 * somebody, or a file, that does not have it. One thread at a time.
 */
#ifndef OSMSNOOP_TOLD_H
#define OSMSNOOP_TOLD_H

#include <stdbool.h>
#include <stdint.h>

#include "erf.h"
#include "record.h"

struct told;

/*
 * A name is told again after `again_ns` (0 = never), and in each new turn.
 * NULL: no memory. What is not used takes none.
 */
struct told *told_new(uint64_t again_ns);
void told_free(struct told *t);		/* NULL is well */

/*
 * Is there something to tell of the peer? Then it is in `name`, which points to
 * the peer's, and counts as told. `turn` is not 0.
 */
bool told_is_news(struct told *t, const struct requester *peer, uint64_t turn,
		  uint64_t mono_ns, struct erf_name *name);

/* The packet that was to tell it is lost. */
void told_forget(struct told *t, uint16_t lid);

#endif /* OSMSNOOP_TOLD_H */
