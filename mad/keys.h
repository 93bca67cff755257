/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Where keys lie in a MAD or message: M_Key, SM_Key, B_Key, CC_Key, service
 * keys, in headers and in attributes. One table, for everything that shows or
 * stores bytes.
 */
#ifndef OSMSNOOP_KEYS_H
#define OSMSNOOP_KEYS_H

#include <stddef.h>
#include <stdint.h>

/*
 * `part` is a copy of the bytes from `from` to `from + len` of a message whose
 * first bytes are `head` (`head_len`, MAD_HDR_SIZE at least): zero what of it
 * belongs to a key. Of tables, that is every record; so the stride that the
 * SA header says has to be there, else all behind the SA header is zeroed
 * where the attribute has keys. Offsets are those of the vendor layer's
 * message: one header, then the data.
 */
void keys_hide(const uint8_t *head, size_t head_len, uint8_t *part, size_t from,
	       size_t len);

#endif /* OSMSNOOP_KEYS_H */
