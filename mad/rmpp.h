/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * RMPP reassembly: segments in, messages out. The kernel snoops after it has
 * cut into segments what is sent, and before it puts together what is received
 * (seed 002). This does both again from the captures, so that a caller sees
 * what passed between the kernel and the vendor layer: the first segment as it
 * came, then the data of the others without their headers, in the length that
 * the kernel works out (drivers/infiniband/core/mad_rmpp.c, get_mad_len).
 *
 * Feed it the captures of both directions, ACKs included: they tell a message
 * that is sent again from segments that are, and segments that were never
 * captured from such that are still to come. They also tell the size of the
 * kernel's window for what it receives. A segment beyond it the kernel drops,
 * and a peer may send another with that number later. When the size is known,
 * this does the same, and delivers nothing that the kernel did not take. It is
 * known since the first ACK that went out for a segment 1 with more behind it,
 * of any transfer. Until then, and for a caller that feeds no ACKs, all are
 * kept, and of different copies the first is delivered, which need not be the
 * kernel's; an ACK of the same transfer that comes in time mends that.
 *
 * Clock values come with the captures and ticks; it reads no clock, starts no
 * thread. Peers choose what comes in, so the bytes held, the transfers
 * and the work for each capture are bounded, and nothing is believed or
 * allocated because a header claims it. One thread at a time may use a
 * reassembler.
 */
#ifndef OSMSNOOP_RMPP_H
#define OSMSNOOP_RMPP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "layout.h"

struct rmpp;

/* Why a transfer, or for RMPP_MALFORMED one MAD, was given up. */
enum rmpp_reason {
	RMPP_ABORTED,		/* by an ABORT, or an ACK that the kernel
				 * refuses; `rmpp_status` says why */
	RMPP_STOPPED,		/* a STOP; `rmpp_status` says why */
	RMPP_TIMED_OUT,
	RMPP_MISSED,		/* the receiver has acknowledged segments that
				 * were not captured */
	RMPP_REPLACED,		/* the same message was begun again */
	RMPP_TOO_LONG,		/* max_message */
	RMPP_NO_ROOM,		/* max_total, or no memory */
	RMPP_TABLE_FULL,	/* max_transfers */
	RMPP_CONFLICT,		/* sent: two last segments, or one behind the
				 * last. What is received is judged as by the
				 * kernel, which does not mind. */
	RMPP_CUT,		/* a segment was captured only in part */
	RMPP_MALFORMED,		/* RMPPVersion, RMPPType, RMPPStatus or flags
				 * that the kernel refuses; `rmpp_status` is
				 * what it answers. Ends no transfer. */
	RMPP_SEND_ERROR,	/* a segment completed in error */
	RMPP_FLUSHED,
	RMPP_REASONS,		/* how many there are */
};

/* Valid until the callback returns. Numbers are in host byte order. */
struct rmpp_gone {
	enum rmpp_reason reason;
	uint8_t rmpp_status;	/* of the reasons that say so, else 0 */
	bool by_peer;		/* the ABORT or STOP was the peer's */
	bool sent;		/* the data went out */
	struct mad_peer peer;
	uint64_t tid;
	uint8_t mgmt_class;
	uint8_t method;
	uint16_t attr_id;
	uint32_t segments;	/* different ones that were seen */
	uint32_t missing;	/* the lowest number of one that was not */
	uint64_t bytes;		/* of MAD in those seen */
	uint64_t time_ns;	/* CLOCK_REALTIME of the first one seen */
};

struct rmpp_options {
	size_t max_message;	/* bytes of one message; 0 = 16 MiB */
	size_t max_total;	/* bytes held in all; 0 = 256 MiB */
	size_t max_transfers;	/* remembered at a time; 0 = 65536 */
	/*
	 * How long to wait: in all for what is received, because the kernel
	 * gives that up 40 s after segment 1 (as long as that was not captured:
	 * since the first one that was); since the last segment for what is
	 * sent, because the kernel sends again every 2 s, as often as the
	 * sender told it to. 0 = 45 s.
	 */
	uint64_t timeout_ns;

	/*
	 * A message of which segments were captured in part, as the plugin
	 * writes those beyond its snap length, is whole all the same: `len`
	 * is up to the first such place, `size` what it had. Else it is given
	 * up (RMPP_CUT). One without a whole RMPP header is in any case.
	 */
	bool keep_cut;

	/* Called from the functions below for each that is given up; it calls
	 * none of them. May be NULL. */
	void (*gone)(const struct rmpp_gone *gone, void *context);
	void *context;
};

/*
 * transfers == whole + gone[] without RMPP_MALFORMED + active. MADs that are
 * no DATA are in `controls`, whether they had an effect or not.
 */
struct rmpp_stats {
	uint64_t transfers;	/* begun */
	uint64_t whole;
	uint64_t gone[RMPP_REASONS];
	uint64_t segments;	/* new ones, of transfers */
	uint64_t duplicates;	/* had before, also of whole messages */
	uint64_t late;		/* for a transfer that was given up */
	uint64_t beyond;	/* the kernel's window, hence dropped */
	uint64_t controls;	/* ACK, STOP, ABORT */
	uint64_t lied;		/* whole, but PayloadLength was wrong */
	size_t active;
	size_t bytes;		/* held now */
	size_t bytes_max;	/* held at a time */
};

enum rmpp_result {
	RMPP_NONE,		/* nothing of RMPP's: take the capture itself */
	RMPP_PART,		/* a segment, ACK, STOP or ABORT: swallowed */
	RMPP_WHOLE,		/* a message is complete */
};

/* NULL when there is no memory (errno says so). */
struct rmpp *rmpp_new(const struct rmpp_options *opts);
void rmpp_free(struct rmpp *r);		/* NULL is well; reports nothing */

/*
 * Feed one capture, in the order of capture.
 *
 * RMPP_NONE: no RMPP in this MAD (class, flag), or it is no single MAD: what
 * the tap gives is whole already. Also a sent segment that completed in error:
 * its transfer is given up, and the capture tells of the failed send. Those
 * behind it that fail next are RMPP_PART.
 *
 * RMPP_WHOLE: `whole` is the message, `segments` how many it came in. `whole`
 * is as `cap` but for the message and, if sent, the time. A received message
 * has the time of the segment that completed it, which is when the vendor layer
 * gets it; a sent one that of its first segment, which is nearest to when the
 * vendor layer gave it away. So the latter is older than captures that came
 * out before. Its bytes are valid until the next call of any function here,
 * and while `cap`'s are. The RMPP header in it is the first segment's.
 *
 * A PayloadLength that does not fit what came is no reason to give up: the
 * kernel looks at the last segment's alone and takes all of that segment when
 * it says more than there is room for. Such messages are counted as `lied`.
 * A message of one segment that was captured in part is whole, and `len` is
 * less than `size`.
 */
enum rmpp_result rmpp_put(struct rmpp *r, const struct mad_capture *cap,
			  struct mad_capture *whole, uint32_t *segments);

/* Let time pass: give up what has waited too long. */
void rmpp_tick(struct rmpp *r, uint64_t mono_ns);

/* The end, or captures will no longer follow: give up everything. */
void rmpp_flush(struct rmpp *r);

/* Where data begins in a MAD of the class; 0 for a class without RMPP. */
size_t rmpp_data_offset(uint8_t mgmt_class);

/* An ACK, STOP or ABORT, of a class that has RMPP? */
bool rmpp_is_control(const uint8_t *mad, size_t len);

/* Refused by the kernel, as RMPP_MALFORMED says? */
bool rmpp_is_malformed(const uint8_t *mad, size_t len);

void rmpp_get_stats(const struct rmpp *r, struct rmpp_stats *stats);

/* "aborted", "timed_out", ...: stable, for records and metrics. */
const char *rmpp_reason_name(enum rmpp_reason reason);

#endif /* OSMSNOOP_RMPP_H */
