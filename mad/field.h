/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * One field of a record, read and shown. Private to us: attributes.c has
 * the code and the table of SA attributes, trap.c describes the details of
 * notices by the same fields, names.c takes the attributes' names.
 */
#ifndef OSMSNOOP_FIELD_H
#define OSMSNOOP_FIELD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "attributes.h"

struct json;

/* All SA attributes, in order of their ids. */
extern const struct sa_attribute sa_attributes[];
extern const size_t sa_attributes_count;

/*
 * Words in a caller's buffer, always ended by a NUL. A word that does not
 * fit is left out whole and ends the line, so that no number is cut to
 * another one.
 */
struct words {
	char *buf;
	size_t size;
	size_t len;
	bool full;
};

void words_init(struct words *w, char *buf, size_t size);
void words_add(struct words *w, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/*
 * Text that may come from the wire: at most `len` bytes, ended early by a NUL.
 * Control characters (text.h) become \uxxxx, bytes that are not UTF-8 \xxx;
 * `quoted`: a quote and a backslash get a backslash before them.
 */
void words_text(struct words *w, const void *text, size_t len, bool quoted);

/* The value of a field of at most 64 bits that lies within the record. */
uint64_t field_get(const struct sa_field *f, const uint8_t *rec);
void field_set(const struct sa_field *f, uint8_t *rec, uint64_t value);

/*
 * The GIDs of a MultiPathRecord, source GIDs first. `first` becomes the
 * offset of this field's first one, `count` how many the record claims, and
 * `there` how many of them it has. False when the counts are cut off.
 */
bool field_find_gids(const struct sa_field *f, const uint8_t *rec, size_t len,
		     size_t *first, size_t *count, size_t *there);

/* One member of the object that is open in `j`; null behind the cut. */
void field_json(struct json *j, const struct sa_field *f, const uint8_t *rec,
		size_t len, bool show_keys);

/* "name value", with a blank before it unless it is the first; "name ?". */
void field_words(struct words *w, const struct sa_field *f,
		 const uint8_t *rec, size_t len, bool show_keys);

#endif /* OSMSNOOP_FIELD_H */
