/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * The snoop bind: MADs that this process, or its host, sends and receives,
 * handed to a callback as osm_madw_t wrappers.
 */
#ifndef _OSM_VENDOR_SNOOP_H_
#define _OSM_VENDOR_SNOOP_H_

#include <stdint.h>

#include <opensm/osm_config.h>
#include <iba/ib_types.h>
#include <opensm/osm_madw.h>
#include <opensm/osm_mad_pool.h>
#include <vendor/osm_vendor.h>
#include <infiniband/umad_snoop.h>

#ifdef __cplusplus
extern "C" {
#endif

/****d* OpenSM: Vendor Snoop/osm_snoop_source_t
* NAME
*	osm_snoop_source_t
*
* DESCRIPTION
*	Where captures come from.
*
* SYNOPSIS
*/
typedef enum _osm_snoop_source {
	OSM_SNOOP_SOURCE_AUTO,
	OSM_SNOOP_SOURCE_TAP,
	OSM_SNOOP_SOURCE_KERNEL,
	OSM_SNOOP_SOURCE_BPF,
	OSM_SNOOP_SOURCE_STREAM
} osm_snoop_source_t;
/*
* VALUES
*	OSM_SNOOP_SOURCE_AUTO
*		The first that opens of those built into this version, in a
*		fixed order: KERNEL where the kernel accepts the registration,
*		else TAP. When one before it does not open, a line in the
*		OpenSM log (INFO) says why. This version has both.
*
*	OSM_SNOOP_SOURCE_TAP
*		The vendor layer of this process, whatever its ports and
*		osm_vendor_t objects. The process has to be tapped: see
*		osm_vendor_snoop_attach.
*
*	OSM_SNOOP_SOURCE_KERNEL
*		One port of this host, whoever sends and receives there, by
*		umad_register_snoop(). Mainline kernels do not have it, and
*		then the bind is refused. SMPs are left out, with a line in
*		the OpenSM log (INFO), where the port takes no registration
*		for QP 0 but one for QP 1.
*
*	OSM_SNOOP_SOURCE_STREAM
*		What an OpenSM on this host sends and receives, which has
*		loaded the plugin osmsnoop: from the plugin's socket (option
*		listen, see osmsnoop-plugin(8)), which one has to be allowed to
*		read. No other privilege is needed. AUTO does not come to it.
*		While the plugin is gone it is tried once a second.
*
*	OSM_SNOOP_SOURCE_BPF
*		Not built into this version; a bind with it is refused.
*
* SEE ALSO
*	osm_vendor_snoop_source_name, osm_vendor_snoop_source_is_built_in,
*	osm_vendor_snoop_get_source
*****/

/* Flags of osm_snoop_bind_info_t */
#define OSM_SNOOP_SENDS			0x00000001 /* MADs that are sent */
#define OSM_SNOOP_RECEIVES		0x00000002 /* MADs that are received */
#define OSM_SNOOP_REASSEMBLE		0x00000004 /* one wrapper an RMPP message */

/****s* OpenSM: Vendor Snoop/osm_snoop_sample_t
* NAME
*	osm_snoop_sample_t
*
* DESCRIPTION
*	A variable of this process whose value is noted beside each MAD, in
*	the moment of its capture: for example the SM's state.
*
* SYNOPSIS
*/
typedef struct _osm_snoop_sample {
	const void *p_variable;
	uint32_t size;
} osm_snoop_sample_t;
/*
* FIELDS
*	p_variable
*		Its address. Readable and naturally aligned from the bind to
*		the unbind. It is read once a capture, without a lock.
*
*	size
*		1, 2, 4 or 8 bytes.
*****/

#define OSM_SNOOP_MAX_SAMPLES		8
#define OSM_SNOOP_MAX_FILTERS		64

/****s* OpenSM: Vendor Snoop/osm_snoop_bind_info_t
* NAME
*	osm_snoop_bind_info_t
*
* DESCRIPTION
*	What to snoop. Set it to zero first, then size and flags.
*
* SYNOPSIS
*/
typedef struct _osm_snoop_bind_info {
	size_t size;
	ib_net64_t port_guid;
	osm_snoop_source_t source;
	const char *source_arg;
	const umad_filter_t *p_filters;
	uint32_t filter_count;
	uint32_t flags;
	size_t ring_size;
	uint32_t snap_length;
	uint32_t sample_count;
	const osm_snoop_sample_t *p_samples;
	size_t message_max;
	size_t messages_max;
} osm_snoop_bind_info_t;
/*
* FIELDS
*	size
*		sizeof(osm_snoop_bind_info_t) of the caller. The structure
*		grows at its end. Accepted are 72, the first layout, which
*		ends with p_samples, and 88, this one: missing members are
*		zero, and nothing beyond size is read. A larger one, of a
*		later version (up to 4096 bytes), is taken when all beyond
*		this layout is zero.
*
*	port_guid
*		Network byte order. 0 is the default port; for TAP, every
*		port that the vendor layer of this process has open; for
*		KERNEL, the one that p_vend has open, and when it has none,
*		the one that osm_vendor_bind would open for 0. STREAM takes 0
*		alone: the port is OpenSM's.
*
*	source, source_arg
*		Where from. NULL, or for KERNEL also DEVICE[:PORT], for
*		example "mlx5_0:1"; without PORT, or with 0, the first of
*		DEVICE that is active. It has to be the port of port_guid when
*		both are given. TAP refuses it, so AUTO with one is KERNEL or
*		nothing.
*		STREAM takes the path of a socket; NULL is /run/osmsnoop.sock.
*
*	p_filters, filter_count
*		A MAD is captured when it passes one of them
*		(umad_filter_match). None: everything, on both QPs. At most
*		OSM_SNOOP_MAX_FILTERS, 32 for KERNEL; AUTO with more is TAP.
*		Copied.
*
*	flags
*		OSM_SNOOP_SENDS, OSM_SNOOP_RECEIVES or both; 0 means both.
*		OSM_SNOOP_REASSEMBLE changes nothing for TAP, which sits above
*		RMPP and sees whole messages. KERNEL sits below, and without it
*		hands over segments and ACKs, each a MAD; with it, messages as
*		the vendor layer would have handed them over. STOP, ABORT and
*		what RMPP refuses stay MADs. Ask for sends and receives: else
*		an answer that is sent twice within 3 seconds is taken for one
*		whose segments were sent again. STREAM has segments, too, and
*		no ACKs. Of a message that the plugin cut (its option snaplen)
*		some are not whole, and then it cannot be put together.
*
*	ring_size
*		Bytes between the threads that send and receive and the one
*		that calls back. Rounded up to a power of two; 0 means 16 MiB;
*		64 KiB to 1 GiB. Locked in memory where RLIMIT_MEMLOCK (or
*		CAP_IPC_LOCK) allows; where not, that is no error. STREAM has
*		none: the plugin keeps what was not read.
*
*	snap_length
*		Bytes kept of one MAD or message; 0 keeps all, less than 24
*		(the common MAD header) is refused.
*
*	p_samples, sample_count
*		Variables to note beside each MAD: TAP in the moment when it is
*		sent or received, KERNEL in the one when it is captured, which
*		may be a little before or after, STREAM in the one when it is
*		read. Copied.
*
*	message_max, messages_max
*		Bytes of one message, and of all that is held to put messages
*		together, buffers and all: a message of message_max wants more
*		than that. 256 bytes to 1 GiB, and message_max not more than
*		messages_max; 0 means 16 MiB and 256 MiB, or the other one
*		where that would not agree. What would be more is given up.
*		KERNEL and STREAM with OSM_SNOOP_REASSEMBLE only.
*****/

/* Values of osm_snoop_info_t.direction */
typedef enum _osm_snoop_direction {
	OSM_SNOOP_RECEIVED,
	OSM_SNOOP_SENT
} osm_snoop_direction_t;

/****s* OpenSM: Vendor Snoop/osm_snoop_info_t
* NAME
*	osm_snoop_info_t
*
* DESCRIPTION
*	What is known of a capture beside the wrapper.
*
* SYNOPSIS
*/
typedef struct _osm_snoop_info {
	uint64_t time_ns;
	uint64_t monotonic_ns;
	osm_snoop_direction_t direction;
	osm_snoop_source_t source;
	uint32_t original_size;
	uint32_t segments;
	boolean_t reassembled;
	ib_net16_t local_lid;
	ib_net64_t port_guid;
	uint64_t lost;
	uint64_t thread;
	uint64_t samples[OSM_SNOOP_MAX_SAMPLES];
} osm_snoop_info_t;
/*
* FIELDS
*	time_ns
*		CLOCK_REALTIME, nanoseconds.
*
*	monotonic_ns
*		CLOCK_MONOTONIC of the same moment, for differences.
*
*	direction
*		Of the MAD. TAP: A sent MAD appears once when it is given to
*		osm_vendor_send (status IB_SUCCESS in its wrapper), and once
*		more if it completes in error (status says how). A thread that
*		is cancelled in osm_vendor_send leaves one with IB_CANCELED:
*		whether that MAD was sent is not known. KERNEL: it appears each
*		time it was sent, when that completed, with the status. A
*		request that gets no response appears once more, IB_TIMEOUT.
*		STREAM: as the plugin's source has it.
*
*	source
*		Where this capture came from; never AUTO.
*
*	original_size
*		Bytes that the MAD or message had.
*
*	segments, reassembled
*		Of an RMPP message that was put together here: how many, and
*		TRUE. A received one has the time of the segment that
*		completed it, a sent one that of its first. Else 1, FALSE.
*
*	local_lid, port_guid
*		Of the port, network byte order. 0 where not known.
*
*	lost
*		Captures lost just before this one. A gap (see
*		osm_snoop_stats_t) counts as one, for nobody knows how many.
*
*	thread
*		A number for the thread that sent or received, 0 where it is
*		not known, as with KERNEL and STREAM. With TAP, a MAD without a response
*		that cannot be sent is captured again, with its status, before
*		any other capture of the same thread.
*
*	samples
*		Values of the variables of the bind, zero extended, in order.
*****/

/****s* OpenSM: Vendor Snoop/osm_snoop_stats_t
* NAME
*	osm_snoop_stats_t
*
* DESCRIPTION
*	Counters of a snoop bind, since the bind. passed = delivered +
*	merged + lost_ring + lost_memory + lost_late + what is still in the
*	ring.
*
* SYNOPSIS
*/
typedef struct _osm_snoop_stats {
	uint64_t seen;		/* MADs that came by; of KERNEL, only those
				 * that passed the filters in the kernel */
	uint64_t passed;	/* of these, passed port, flags and filters */
	uint64_t delivered;	/* handed to the callback */
	/* the ring was full; STREAM: the plugin's, or this reader was too
	 * slow for it, counted in MADs, whether they pass the filters or not */
	uint64_t lost_ring;
	uint64_t lost_memory;	/* no wrapper could be had */
	uint64_t truncated;	/* delivered, cut to the snap length */
	uint64_t ring_bytes;	/* in the ring now */
	uint64_t ring_size;
	/* CLOCK_MONOTONIC: MADs without a response that were given to
	 * osm_vendor_send before this have been sent, unless their completion
	 * in error was captured, not later than this. KERNEL captures what is
	 * sent when it completed, so there nothing is in doubt: always now */
	uint64_t sends_done_ns;
	/* binds of the vendor layer in this process that the tap had no room
	 * for: what these receive is not seen; 0 of another source */
	uint64_t untapped;
	/* after osm_vendor_snoop_unbind_by(): there was no time for them */
	uint64_t lost_late;
	/* times that the port of KERNEL, or the plugin of STREAM, went away:
	 * until it is back, and it is tried once a second, what passes there
	 * is not seen */
	uint64_t gaps;
	/* messages that could not be put together, for certain: segments that
	 * were acknowledged and not captured, captured only in part, that
	 * contradict each other, too long, no room */
	uint64_t given_up;
	/* messages that ended before they were whole: aborted, stopped, a send
	 * that failed, begun again, not done at the unbind, or not whole after
	 * 45 s, which is also how most end that lost a segment: after a loss
	 * both may grow */
	uint64_t broken_off;
	/* captures that are no longer captures of their own: segments but the
	 * last of a message, those of what is counted above, ACKs */
	uint64_t merged;
	/* messages of which the rest may still come: for 45 s from the first
	 * segment of a received one, from the last so far of a sent one */
	uint64_t unfinished;
	uint64_t reserved[4];	/* zero, until they have a name */
} osm_snoop_stats_t;

/****d* OpenSM: Vendor Snoop/osm_vend_snoop_callback_t
* NAME
*	osm_vend_snoop_callback_t
*
* DESCRIPTION
*	Called for each capture, by the one thread of the bind.
*
* SYNOPSIS
*/
typedef void (*osm_vend_snoop_callback_t)(osm_madw_t *p_madw,
					  const osm_snoop_info_t *p_info,
					  void *context);
/*
* PARAMETERS
*	p_madw
*		The capture. It came from the pool of the bind and is the
*		callee's, who returns it with osm_mad_pool_put() at any time,
*		also after the unbind. mad_addr is as osm_vendor_ibumad fills
*		it, mad_size is what was captured, status is the completion
*		status, h_bind the snoop handle.
*
*	p_info
*		Valid until the callback returns.
*
* NOTES
*	It may call anything but osm_vendor_snoop_unbind() of its own bind,
*	or of one whose callback is unbinding this one just then: these are
*	refused (ERR 5D11), as each would wait for the other for ever.
*****/

/****f* OpenSM: Vendor Snoop/osm_vendor_snoop_attach
* NAME
*	osm_vendor_snoop_attach
*
* DESCRIPTION
*	Tap this process: point the calls of osm_vendor_bind and
*	osm_vendor_send in every loaded object at the tap. Needed only where
*	libosmvendor_snoop comes after libosmvendor in the search order, as
*	when it was loaded with dlopen; elsewhere it finds nothing to do.
*
* SYNOPSIS
*/
ib_api_status_t osm_vendor_snoop_attach(void);
/*
* RETURN VALUE
*	IB_SUCCESS: the process is tapped, now or before.
*	Otherwise nothing was changed, and osm_vendor_snoop_strerror() says
*	why: IB_NOT_FOUND (no loaded object calls the vendor layer),
*	IB_INVALID_STATE (a call goes somewhere else already),
*	IB_INVALID_PERMISSION (the system does not let a table be written),
*	IB_INSUFFICIENT_MEMORY.
*
* NOTES
*	Call it before osm_vendor_bind(): what was bound before is not seen
*	receiving. Objects that are loaded later are tapped by calling it
*	again. Any thread. Not a cancellation point.
*****/

/****f* OpenSM: Vendor Snoop/osm_vendor_snoop_detach
* NAME
*	osm_vendor_snoop_detach
*
* DESCRIPTION
*	Undo osm_vendor_snoop_attach(). What was bound through the tap stays
*	tapped for what it receives, as long as it is bound. Any thread. Not
*	a cancellation point.
*
* SYNOPSIS
*/
ib_api_status_t osm_vendor_snoop_detach(void);
/*****/

/****f* OpenSM: Vendor Snoop/osm_vendor_snoop_bind
* NAME
*	osm_vendor_snoop_bind
*
* DESCRIPTION
*	Begin to snoop.
*
* SYNOPSIS
*/
osm_bind_handle_t
osm_vendor_snoop_bind(osm_vendor_t *p_vend,
		      const osm_snoop_bind_info_t *p_info,
		      osm_mad_pool_t *p_mad_pool,
		      osm_vend_snoop_callback_t callback, void *context);
/*
* PARAMETERS
*	p_vend
*		From osm_vendor_new(); its log takes messages, and wrappers
*		are made with it. It must outlive them.
*
*	p_info
*		What to snoop. Copied with all that it points to.
*
*	p_mad_pool
*		Wrappers come from it. It must outlive them.
*
*	callback, context
*		Who is called.
*
* RETURN VALUE
*	A handle for the calls below, or OSM_BIND_INVALID_HANDLE: the reason
*	is in the OpenSM log and in osm_vendor_snoop_strerror().
*
* NOTES
*	Any thread. Starts one thread, KERNEL two, which block all signals.
*	Not a cancellation point.
*
*	A handle is stale after its unbind. Another unbind of it then does
*	nothing, its counters and its source can still be asked for, and no
*	new bind has the same handle until 64 binds of its vendor object have
*	ended and were not used again, this one first.
*****/

/****f* OpenSM: Vendor Snoop/osm_vendor_snoop_unbind
* NAME
*	osm_vendor_snoop_unbind
*
* DESCRIPTION
*	Stop. What was captured before the call is still handed to the
*	callback; after it returns no callback runs, also where another
*	thread began the unbind: then it waits for that one. Any thread but
*	the bind's own, from which it is refused. Not a cancellation point.
*
* SYNOPSIS
*/
void osm_vendor_snoop_unbind(osm_bind_handle_t h_bind);
/*****/

/****f* OpenSM: Vendor Snoop/osm_vendor_snoop_unbind_by
* NAME
*	osm_vendor_snoop_unbind_by
*
* DESCRIPTION
*	The same, when there is not much time: what was not handed over by
*	the deadline is counted in lost_late. A callback that runs then is
*	waited for.
*
* SYNOPSIS
*/
void osm_vendor_snoop_unbind_by(osm_bind_handle_t h_bind, uint64_t deadline_ns);
/*
* PARAMETERS
*	deadline_ns
*		CLOCK_MONOTONIC, nanoseconds. 0 hands over no more;
*		UINT64_MAX is osm_vendor_snoop_unbind().
*****/

/****f* OpenSM: Vendor Snoop/osm_vendor_snoop_get_stats
* NAME
*	osm_vendor_snoop_get_stats
*
* DESCRIPTION
*	Read the counters of a bind; also after its unbind, as long as its
*	handle is no other bind's (see osm_vendor_snoop_bind). Any thread.
*
* SYNOPSIS
*/
ib_api_status_t osm_vendor_snoop_get_stats(osm_bind_handle_t h_bind,
					   osm_snoop_stats_t *p_stats);
/*
* RETURN VALUE
*	IB_SUCCESS, or IB_INVALID_PARAMETER for a handle or pointer that is
*	none.
*****/

/****f* OpenSM: Vendor Snoop/osm_vendor_snoop_get_source
* NAME
*	osm_vendor_snoop_get_source
*
* DESCRIPTION
*	Which source a bind uses, or used: what AUTO has become. Any thread.
*
* SYNOPSIS
*/
osm_snoop_source_t osm_vendor_snoop_get_source(osm_bind_handle_t h_bind);
/*
* RETURN VALUE
*	Never AUTO, but for a handle that is none.
*****/

/****f* OpenSM: Vendor Snoop/osm_vendor_snoop_source_name
* NAME
*	osm_vendor_snoop_source_name
*
* DESCRIPTION
*	The name of a source, built in or not, for messages and options.
*	Any thread.
*
* SYNOPSIS
*/
const char *osm_vendor_snoop_source_name(osm_snoop_source_t source);
/*
* RETURN VALUE
*	"auto", "tap", "kernel", "bpf" or "stream", never to be freed; NULL
*	for another number.
*****/

/****f* OpenSM: Vendor Snoop/osm_vendor_snoop_source_is_built_in
* NAME
*	osm_vendor_snoop_source_is_built_in
*
* DESCRIPTION
*	Does this version take the source? Whether it opens in this process,
*	on this machine, a bind will tell. Any thread.
*
* SYNOPSIS
*/
boolean_t osm_vendor_snoop_source_is_built_in(osm_snoop_source_t source);
/*
* RETURN VALUE
*	TRUE for AUTO and for each source that is there, else FALSE.
*****/

/****f* OpenSM: Vendor Snoop/osm_vendor_snoop_strerror
* NAME
*	osm_vendor_snoop_strerror
*
* DESCRIPTION
*	Why the last call of this library failed in this thread. Never NULL;
*	the text is overwritten by the thread's next failure.
*
* SYNOPSIS
*/
const char *osm_vendor_snoop_strerror(void);
/*****/

#ifdef __cplusplus
}
#endif

#endif /* _OSM_VENDOR_SNOOP_H_ */
