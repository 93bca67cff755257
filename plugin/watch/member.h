/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * An answered Set or Delete of an MCMemberRecord, as the watchers of groups
 * read it. Layout: IBA 1.4 section 15.2.5.17.
 */
#ifndef OSMSNOOP_WATCH_MEMBER_H
#define OSMSNOOP_WATCH_MEMBER_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "layout.h"
#include "record.h"
#include "trap.h"

enum {
	MEMBER_MGID = 0,
	MEMBER_PORT_PREFIX = 16,	/* of the PortGID */
	MEMBER_PORT_GUID = 24,
	MEMBER_MTU = 38,		/* selector and value, as the rate */
	MEMBER_P_KEY = 40,
	MEMBER_RATE = 42,
	MEMBER_JOIN_STATE = 48,		/* the lower four bits */
	MEMBER_SIZE = 52,

	TRAP_GID_OUT_OF_SERVICE = 65,
	TRAP_GROUP_DELETED = 67,
	TRAP_GID = 16,			/* in a notice of these */
};

struct member {
	bool set;		/* else Delete */
	bool whole;		/* else some of the request was not captured */
	uint64_t mask;
	uint8_t rec[MEMBER_SIZE];	/* zero where it was not captured */
	const uint8_t *answer;	/* the answer's record, or NULL */
};

static inline uint8_t member_state(const uint8_t *rec)
{
	return rec[MEMBER_JOIN_STATE] & 0xf;
}

/* False: the record is another one. */
static inline bool member_read(struct member *m, const struct record *r)
{
	const struct sa_record *sa = &r->sa;
	size_t len;

	if (r->type != RECORD_SA || sa->sent || sa->outcome != SA_ANSWERED ||
	    mad_get16(sa->mad + MAD_ATTR_ID) != ATTR_MCMEMBER_RECORD ||
	    (sa->mad[MAD_METHOD] != METHOD_SET &&
	     sa->mad[MAD_METHOD] != METHOD_DELETE))
		return false;
	*m = (struct member){
		.set = sa->mad[MAD_METHOD] == METHOD_SET,
		.whole = sa->len >= SA_DATA + MEMBER_SIZE,
	};
	if (sa->len >= SA_COMPONENT_MASK + 8)
		m->mask = mad_get64(sa->mad + SA_COMPONENT_MASK);
	len = sa->len > SA_DATA ? sa->len - SA_DATA : 0;
	memcpy(m->rec, sa->mad + (len ? SA_DATA : 0),
	       len < MEMBER_SIZE ? len : MEMBER_SIZE);
	if (sa->answer && sa->answer_len >= SA_DATA + MEMBER_SIZE)
		m->answer = sa->answer + SA_DATA;
	return true;
}

/* The GID of such a trap that OpenSM has issued itself, or NULL. */
static inline const uint8_t *member_trap(const struct record *r, int number)
{
	if (r->type != RECORD_TRAP || r->trap.mad ||
	    r->trap.len < TRAP_GID + 16 ||
	    trap_number(r->trap.notice, r->trap.len) != number)
		return NULL;
	return r->trap.notice + TRAP_GID;
}

#endif /* OSMSNOOP_WATCH_MEMBER_H */
