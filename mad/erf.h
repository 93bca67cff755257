/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Captures as packets of a capture file or stream: pcap with nanoseconds,
 * LINKTYPE_ERF, and one ERF record of type 21 (InfiniBand) a MAD, as tshark
 * reads them (CONTRACT section 6). A message that is longer than a MAD is as
 * many packets as it has RMPP segments.
 *
 * The headers around a MAD are made up from what is known of it. What they
 * have no room for stands in extension headers of the ERF record, and only
 * where there is something to say, so that most records have none: how a send
 * failed, why OpenSM is silent, that an SM_Key was zeroed, what was lost when
 * it is more than the loss counter holds, a node's name, where a MAD was cut.
 * Readers that do not know them skip them.
 *
 * Sources: Endace ERF types (wiretap/erf_record.h, FIELD_NOTES), IBA 1.4
 * chapters 7.7 (LRH), 8.3 (GRH), 9.2 (BTH), 9.3.1 (DETH), 13.6 (RMPP).
 */
#ifndef OSMSNOOP_ERF_H
#define OSMSNOOP_ERF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "layout.h"

enum {
	ERF_LINKTYPE = 197,
	ERF_FILE_HEADER = 24,	/* bytes at the start of a file or stream */
	ERF_RECORD_HEADER = 16,	/* of pcap's, before each packet */
	ERF_PACKET_MAX = 512,	/* bytes of a packet with that header */
	ERF_NAME_MAX = 64,	/* of a node, in bytes: a NodeDescription */
};

/* The name of a node, which a packet may carry of its peer. */
struct erf_name {
	uint64_t port_guid;	/* host byte order */
	const char *name;	/* not ended by a NUL; from the wire */
	size_t len;		/* ERF_NAME_MAX at most */
};

/* The first bytes of a file or stream. */
void erf_file_header(uint8_t header[ERF_FILE_HEADER]);

/*
 * Make the packets of one capture and hand each to `put`, in order, with its
 * pcap record header. `name` (may be NULL) goes with the first. Keys are
 * zeroed (keys.h) unless `show_keys`. Returns how many packets there were. The
 * bytes are valid until `put` returns; a false from `put` ends it.
 *
 * What was cut is zero, and the ERF record has the flag for truncated records
 * and says how much there is. It could end with what there is, as pcap has it,
 * but tshark takes a packet that is shorter than its LRH says for malformed.
 */
size_t erf_encode(const struct mad_capture *cap, const struct erf_name *name,
		  bool show_keys,
		  bool (*put)(const uint8_t *packet, size_t len, void *context),
		  void *context);

enum erf_kind {
	ERF_MAD,	/* `cap` is set */
	ERF_OTHER,	/* InfiniBand, but no MAD: a data packet, another type */
	ERF_BROKEN,	/* says of itself what cannot be */
};

/* What a packet says beside its capture. */
struct erf_note {
	uint64_t lost;		/* captures, just before this one */
	bool has_name;		/* of the capture's peer */
	struct erf_name name;	/* points into the next one */
	/* The end that is not cap->peer: its own address, as the packet has it */
	struct mad_peer local;
	uint8_t text[7 * 11];	/* as it came; not cleared */
};

/*
 * Read one packet: `len` bytes captured of `size`, at `time_ns`. On ERF_MAD
 * `cap` points into the packet. The direction is that of a packet of ours:
 * interface 1 = sent. mono_ns is time_ns: no other clock is known. ERF's own
 * time is not looked at. Never reads beyond `len`.
 */
enum erf_kind erf_decode(const uint8_t *packet, size_t len, size_t size,
			 uint64_t time_ns, struct mad_capture *cap,
			 struct erf_note *note);

/*
 * The same for a packet without ERF's header, which begins with its LRH
 * (LINKTYPE_INFINIBAND): nothing but the MAD and the addresses is known.
 */
enum erf_kind erf_decode_bare(const uint8_t *packet, size_t len, size_t size,
			      uint64_t time_ns, struct mad_capture *cap,
			      struct erf_note *note);

/*
 * For whoever has to leave out packets: add to what was lost before this
 * one, a packet of erf_encode() with its record header, in its place. Its
 * length may grow by 8, so there has to be room for that. Returns the length.
 */
size_t erf_add_lost(uint8_t *packet, size_t len, uint64_t lost);

/*
 * The length of the packet with record header that begins at `bytes`, of which
 * `len` are there; 0 when there is too little to tell. SIZE_MAX when it is none
 * of ours: longer than ERF_PACKET_MAX, or not of type InfiniBand.
 */
size_t erf_packet_len(const uint8_t *bytes, size_t len);

#endif /* OSMSNOOP_ERF_H */
