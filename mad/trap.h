/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Notices (IBA 1.4 sections 13.4.8.2 and 14.2.5.1): who produced a trap, its
 * number, and its details by number. They are of subnet management, in an SMP
 * or from the SA, where no class is asked for.
 */
#ifndef OSMSNOOP_TRAP_H
#define OSMSNOOP_TRAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct json;

enum {
	NOTICE_SIZE = 80,	/* with the issuer GID, as in a Report */
	NOTICE_SMP_SIZE = 64,	/* without, as in an SMP */

	NOTICE_TYPE = 0,	/* bit 7: generic, bits 6..0: the type */
	NOTICE_NUMBER = 4,	/* DeviceID of a vendor's notice */
	NOTICE_GENERIC = 0x80,
};

/*
 * Write generic, trap_type, trap_number or device_id, producer, issuer_lid,
 * issuer_gid (null when the notice has none) and details as members of the
 * object that is open in `j`. `notice` has `len` bytes, perhaps cut: what is
 * not there becomes null. Keys in details follow `show_keys`.
 */
void trap_json(struct json *j, const uint8_t *notice, size_t len,
	       bool show_keys);

/* One line in words, escaped: "trap 257 (bad P_Key) from LID 7: ..." */
size_t trap_text(char *buf, size_t size, const uint8_t *notice, size_t len,
		 bool show_keys);

/* A generic notice's trap number, or -1 for a vendor's one or a cut one. */
int trap_number(const uint8_t *notice, size_t len);

/* "link state change"; NULL for a number without a name. */
const char *trap_name(int number);

/*
 * Where a key lies in a notice of the class, in bytes from its start; false
 * when there is none. One that was cut may have it all the same.
 */
bool trap_key(uint8_t mgmt_class, const uint8_t *notice, size_t len,
	      size_t *offset, size_t *size);

/*
 * One of a notice's details by its name in trap_json(): a number, or a GID. False
 * when the trap has none of it, it was cut off, or it is a key that is a secret.
 */
bool trap_detail(const uint8_t *notice, size_t len, const char *name,
		 uint64_t *value);
bool trap_detail_gid(const uint8_t *notice, size_t len, const char *name,
		     uint8_t gid[16]);

/*
 * Of trap 256: the method that the bad M_Key came with, and the way back of a
 * directed route, "" where there is none. False: it is no trap 256, or cut.
 */
enum { TRAP_PATH_MAX = 120 };
bool trap_bad_smp(const uint8_t *notice, size_t len, uint8_t *method,
		  char path[TRAP_PATH_MAX]);

#endif /* OSMSNOOP_TRAP_H */
