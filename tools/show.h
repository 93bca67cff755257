/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Records as people and programs read them. */
#ifndef OSMSNOOP_SHOW_H
#define OSMSNOOP_SHOW_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <time.h>

#include "record.h"

struct show {
	FILE *out;
	bool verbose;		/* all fields by name */
	bool hex;		/* the MADs' bytes */
	bool json;
	bool quiet;		/* who, what, outcome */
	bool no_names;
	bool colour;
	uint64_t seq;		/* of the last JSON record */
	time_t second;		/* for which `clock` holds */
	char clock[sizeof("00:00:00")];
};

/* Write the record, of which one with JSON has a seq. */
void show_record(struct show *s, const struct record *record);

#endif /* OSMSNOOP_SHOW_H */
