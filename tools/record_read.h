/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Records from JSON: what record_json() has written, read again. */
#ifndef OSMSNOOP_RECORD_READ_H
#define OSMSNOOP_RECORD_READ_H

#include <stdbool.h>

#include <jansson.h>

#include "record.h"

/* A record with what it points to. */
struct record_copy {
	struct record record;
	struct mad_capture capture;
	/* as far as the record tells: header, mask and components, notice */
	uint8_t mad[MAD_SIZE];
};

/*
 * False: it is no record of ours. Of alerts, states, start and stop there is
 * nothing but type and time. Valid while `json` is.
 */
bool record_read(const json_t *json, struct record_copy *copy);

#endif /* OSMSNOOP_RECORD_READ_H */
