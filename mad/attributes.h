/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * SA attributes: what a component mask names, where it lies in the record
 * and how it is shown. A new attribute is one table entry. Layouts: IBA 1.4
 * section 15.2.5.
 */
#ifndef OSMSNOOP_ATTRIBUTES_H
#define OSMSNOOP_ATTRIBUTES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct json;

enum field_kind {
	FIELD_NUMBER,	/* a number (up to 32 bits) */
	FIELD_FLAG,	/* one bit, true or false */
	FIELD_HEX,	/* a mask or an id: "0x..", digits by its width */
	FIELD_GUID,	/* 64 bits "0x0011223344556677" */
	FIELD_GID,	/* 128 bits, RFC 4291 text */
	FIELD_GIDS,	/* MultiPathRecord: as many GIDs as its count says */
	FIELD_KEY,	/* a key: zeroed unless keys are shown */
	FIELD_TEXT,	/* text from the wire */
	FIELD_BYTES,	/* anything longer: "0x.." of all its bytes */
};

/*
 * One component. `component` is its bit in the component mask. Offsets and
 * widths are in bits from the start of the record.
 */
struct sa_field {
	const char *name;	/* IBA's name in snake_case */
	uint8_t component;
	uint8_t kind;		/* enum field_kind */
	uint16_t offset;
	uint16_t width;
};

struct sa_attribute {
	uint16_t id;
	const char *name;	/* "PathRecord" */
	bool opensm;		/* OpenSM's SA has a handler for it */
	const struct sa_field *fields;
	size_t n_fields;
};

/* NULL when the attribute is not in the table. */
const struct sa_attribute *sa_attribute_find(uint16_t attr_id);

/* Bytes of a record up to its last component; 0 when that is not known. */
size_t sa_attribute_size(uint16_t attr_id);

/*
 * The components that a request with such a mask names. An InformInfo is
 * subscribed to without a mask (IBA 15.2.5.12): all of it counts.
 */
uint64_t sa_components(uint16_t attr_id, uint64_t mask);

/*
 * Write what `mask` names of the record at `rec` (`len` bytes, perhaps cut)
 * as one JSON object under `key`. A component that the table lacks appears
 * as "component_N": true, one that lies behind the cut as null. `attr` may be
 * NULL: every component is then given by number.
 */
void sa_query_json(struct json *j, const char *key,
		   const struct sa_attribute *attr, uint64_t mask,
		   const uint8_t *rec, size_t len, bool show_keys);

/*
 * The same as words for a log line: "mgid ff12:401b:ffff::1 join_state full".
 * Ends with a NUL, cut to `size`; what comes from the wire is escaped.
 * Returns the length written.
 */
size_t sa_query_text(char *buf, size_t size, const struct sa_attribute *attr,
		     uint64_t mask, const uint8_t *rec, size_t len,
		     bool show_keys);

#endif /* OSMSNOOP_ATTRIBUTES_H */
