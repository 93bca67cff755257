/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
#include <string.h>

#include "attributes.h"
#include "field.h"
#include "layout.h"
#include "query.h"
#include "siphash.h"

/* Room for all components of any request, and for what comes before them. */
enum { WORDS = 128, COMPONENTS = 3 };

/* How many words there are; 0: they are cut off. */
static size_t add_gids(uint64_t *words, const struct sa_field *f,
		       const uint8_t *rec, size_t len)
{
	size_t first, count, there;

	if (!field_find_gids(f, rec, len, &first, &count, &there) ||
	    there < count)
		return 0;
	words[0] = count;
	memcpy(words + 1, rec + first, there * 16);
	return 1 + there * 2;
}

static size_t add_component(uint64_t *words, const struct sa_field *f,
			    const uint8_t *rec, size_t len)
{
	const size_t size = (f->width + 7u) / 8;

	if (f->kind == FIELD_GIDS)
		return add_gids(words, f, rec, len);
	if ((size_t)f->offset + f->width > 8 * len)
		return 0;
	if (f->width <= 64) {
		words[0] = field_get(f, rec);
		return 1;
	}
	words[(size - 1) / 8] = 0;
	memcpy(words, rec + f->offset / 8u, size);
	return (size + 7) / 8;
}

/* How many words there are; false: some are cut off. */
static bool add_components(uint64_t *words, size_t *n,
			   const struct sa_attribute *attr, uint64_t mask,
			   const uint8_t *rec, size_t len)
{
	const size_t most = WORDS - MAD_SIZE / 8;
	size_t i, added;

	for (i = 0; i < attr->n_fields && *n < most; i++) {
		if (!(mask >> attr->fields[i].component & 1))
			continue;
		added = add_component(words + *n, &attr->fields[i], rec, len);
		if (!added)
			return false;
		*n += added;
	}
	return true;
}

bool query_hash(const uint64_t seed[2], uint64_t who, const uint8_t *mad,
		size_t len, uint64_t *hash)
{
	const uint16_t attr_id = mad_get16(mad + MAD_ATTR_ID);
	const struct sa_attribute *attr = sa_attribute_find(attr_id);
	uint64_t words[WORDS], mask;
	size_t n = COMPONENTS;

	if (!attr || len < SA_DATA)
		return false;
	mask = mad_get64(mad + SA_COMPONENT_MASK);
	words[0] = who;
	words[1] = mask;
	if (!add_components(words, &n, attr, sa_components(attr_id, mask),
			    mad + SA_DATA, len - SA_DATA))
		return false;
	/* the length, so that none is the beginning of another */
	words[2] = (uint64_t)n << 32 | (uint64_t)mad[MAD_METHOD] << 16 | attr_id;
	*hash = siphash_words(seed, words, n);
	return true;
}
