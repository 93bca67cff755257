/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Records: what the plugin says, decoded once, before any sink sees it. A
 * sink takes a record and writes record_json() or record_line() of it.
 * Format: CONTRACT section 4 (JSON) and 5 (lines).
 */
#ifndef OSMSNOOP_RECORD_H
#define OSMSNOOP_RECORD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "layout.h"

enum record_type {
	RECORD_SA,		/* an SA transaction */
	RECORD_MAD,		/* a capture that is no part of one */
	RECORD_SEND_ERROR,	/* a request of OpenSM's completed in error */
	RECORD_TRAP,
	RECORD_ALERT,
	RECORD_STATE,
	RECORD_LOSS,
	RECORD_START,
	RECORD_STOP,
};

enum sa_outcome { SA_ANSWERED, SA_UNANSWERED, SA_FAILED };

enum sa_reason {
	SA_REASON_NONE,
	SA_REASON_SM_NOT_MASTER,
	SA_REASON_FIRST_SWEEP,
	SA_REASON_SM_KEY,
	SA_REASON_UNSUPPORTED_ATTRIBUTE,
	SA_REASON_UNSUPPORTED_METHOD,
	SA_REASON_OVERLOAD,
	SA_REASON_SEND_ERROR,
	SA_REASON_UNKNOWN,
};

/* A mad_peer with what the subnet database says of it. */
struct requester {
	struct mad_peer addr;
	uint64_t port_guid;	/* host byte order; 0 = not known */
	const char *name;	/* NULL = not known; from the wire */
};

struct sa_record {
	struct requester requester;	/* of a sent one: to whom it went */
	bool sent;		/* by OpenSM: a Report to a subscriber */
	const uint8_t *mad;	/* the request's first bytes */
	size_t len;		/* >= MAD_HDR_SIZE, MAD_SIZE at most */
	uint16_t local_lid;	/* of OpenSM's port; 0 = not known */
	bool sm_key_hidden;	/* it had an SM_Key, which is zeroed in `mad` */
	enum sa_outcome outcome;
	enum sa_reason reason;
	bool has_response;	/* the next four are of a response */
	uint16_t status;
	uint32_t records;
	uint32_t bytes;		/* of the response, as the vendor layer has it */
	uint64_t latency_ns;
	const uint8_t *answer;	/* the response, where it was kept; else NULL */
	size_t answer_len;
	uint32_t retries;
	bool capture_lost;	/* unanswered, but not all was captured meanwhile */
	bool evicted;		/* before its time: too many were outstanding */
	bool ended;		/* before its time: OpenSM ends */
};

/* Also for RECORD_SEND_ERROR. */
struct mad_record {
	const struct mad_capture *capture;
	struct requester peer;
};

struct trap_record {
	const uint8_t *notice;
	size_t len;
	struct requester from;	/* who sent it; lid 0 = OpenSM itself */
	const uint8_t *mad;	/* it came in; NULL where OpenSM has issued it */
	size_t mad_len;		/* >= MAD_HDR_SIZE */
	uint16_t local_lid;	/* of OpenSM's port; 0 = not known */
	bool repressed;
};

/* Evidence of an alert: a number, or a string when `text` is not NULL. */
struct evidence {
	const char *key;
	const char *text;
	uint64_t number;
};

struct alert_record {
	const char *alert;	/* the stable name */
	const char *severity;	/* "info", "warning", "critical" */
	const char *subject;
	const char *text;
	const struct requester *who;	/* NULL = nobody in particular */
	const struct evidence *evidence;
	size_t n_evidence;
};

struct state_record {
	const char *state;	/* "sm_state", "sweep_start", "sweep_done", ... */
	const char *sm_state;	/* "master", ... or NULL */
};

struct loss_record {
	const char *where;	/* "ring", "memory", "short", "port", "rmpp",
				 * "kernel", "events", "shutdown", "file" */
	uint64_t lost;		/* since the last loss record of that place */
	uint64_t total;		/* since the start */
};

struct mad_counts {
	uint64_t sm_received, sm_sent, sa_received, sa_sent;
};

struct start_record {
	const char *version;
	const char *opensm_version;
	const char *source;
	const struct evidence *options;	/* name and value, as in force */
	size_t n_options;
};

struct stop_record {
	struct start_record what;
	struct mad_counts captured;
	struct mad_counts opensm;
	bool complete;		/* the two agree and nothing was lost */
	uint64_t lost;
};

struct record {
	enum record_type type;
	uint64_t time_ns;	/* CLOCK_REALTIME */
	bool show_keys;
	union {
		struct sa_record sa;
		struct mad_record mad;
		struct trap_record trap;
		struct alert_record alert;
		struct state_record state;
		struct loss_record loss;
		struct start_record start;
		struct stop_record stop;
	};
};

/* Room for any record but a start or stop with very long options. */
enum { RECORD_JSON_MAX = 16384, RECORD_LINE_MAX = 1024 };

/*
 * The members of the record's object without the braces and without "seq",
 * which each file has of its own: `"time":...,"type":...,...`. Returns the
 * length, or 0 when it does not fit in `size`.
 */
size_t record_json(const struct record *r, char *buf, size_t size);

/*
 * One line in plain words, without prefix and newline, printable ASCII and
 * UTF-8 only: `Set MCMemberRecord from LID 7 "node012 HCA-1" (0x...): mgid
 * ... -> OK, 84 us`. Cut to `size`, always ended by a NUL. Returns its length.
 */
size_t record_line(const struct record *r, char *buf, size_t size);

/* The same in short: who, what, outcome. */
size_t record_brief(const struct record *r, char *buf, size_t size);

const char *record_type_name(enum record_type type);
const char *sa_outcome_name(enum sa_outcome outcome);
const char *sa_reason_name(enum sa_reason reason);	/* NULL for NONE */

/*
 * Does the record belong in the audit? Changes (SA Set and Delete), alerts,
 * traps, state, loss, start and stop.
 */
bool record_is_audit(const struct record *r);

/* The LID of who it is about; 0 = nobody in particular. */
uint16_t record_lid(const struct record *r);

#endif /* OSMSNOOP_RECORD_H */
