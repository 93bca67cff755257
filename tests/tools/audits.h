/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* An audit as the plugin writes it. */
#ifndef OSMSNOOP_TEST_AUDITS_H
#define OSMSNOOP_TEST_AUDITS_H

#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "file.h"

/* Records first, first + 1, ... behind what is there. False: it failed. */
static inline bool audit_make(const char *path, uint64_t max_bytes,
			      unsigned first, unsigned records)
{
	struct file *f = malloc(sizeof(*f));
	uint64_t lost = 0;
	char members[256];
	bool well;
	unsigned i;
	int n;

	file_init(f, &file_chain, path, max_bytes, 100);
	well = file_open(f);
	for (i = first; well && i < first + records; i++) {
		n = snprintf(members, sizeof(members),
			     "\"time\":\"2026-11-30T%02u:%02u:%02u.187258123Z\",\"type\":\"state\",\"state\":\"sweep_done\",\"sm_state\":\"master\"",
			     i / 3600, i / 60 % 60, i % 60);
		well = file_put(f, members, (size_t)n, &lost);
	}
	well = well && file_flush(f, &lost) && !lost;
	if (!well)
		fprintf(stderr, "%s\n", f->reason);
	file_close(f);
	free(f);
	return well;
}

#endif /* OSMSNOOP_TEST_AUDITS_H */
