/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* The headers of a MAD, field by field. */
#ifndef OSMSNOOP_HEADER_H
#define OSMSNOOP_HEADER_H

#include <stddef.h>
#include <stdint.h>

#include "attributes.h"

struct header {
	const struct sa_field *fields;	/* offsets are from the MAD's start */
	size_t n_fields;
};

enum { HEADERS_MAX = 3 };

/* Those of MADs of a class, in their order. Returns how many. */
size_t mad_headers(uint8_t mgmt_class, struct header headers[HEADERS_MAX]);

#endif /* OSMSNOOP_HEADER_H */
