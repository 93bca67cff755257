/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Captures as packets; erf_decode.c has the way back. */
#include <string.h>

#include "erf_format.h"
#include "keys.h"
#include "rmpp.h"
#include "transaction.h"

static const uint32_t QP1_QKEY = 0x80010000;

_Static_assert((int)RECORD_MAX <= (int)ERF_PACKET_MAX, "a packet has room");

static void put16(uint8_t *p, uint32_t v)
{
	p[0] = (uint8_t)(v >> 8);
	p[1] = (uint8_t)v;
}

static void put24(uint8_t *p, uint32_t v)
{
	p[0] = (uint8_t)(v >> 16);
	put16(p + 1, v);
}

static void put32(uint8_t *p, uint32_t v)
{
	put16(p, v >> 16);
	put16(p + 2, v);
}

static void put64(uint8_t *p, uint64_t v)
{
	put32(p, (uint32_t)(v >> 32));
	put32(p + 4, (uint32_t)v);
}

/* A packet that is being made: `at` is where it goes on. */
struct packet {
	uint8_t bytes[ERF_PACKET_MAX];
	size_t at;
};

static uint8_t *erf_of(uint8_t *packet)
{
	return packet + ERF_RECORD_HEADER;
}

/* The type of the one before says that one more follows. */
static uint8_t *add_extension(struct packet *p, uint8_t type)
{
	uint8_t *ext = p->bytes + p->at;
	uint8_t *erf = erf_of(p->bytes);

	if (ext == erf + ERF_HDR_SIZE)
		erf[ERF_TYPE] |= ERF_MORE;
	else
		ext[-EXT_SIZE] |= ERF_MORE;
	memset(ext, 0, EXT_SIZE);
	ext[0] = type;
	p->at += EXT_SIZE;
	return ext;
}

static void set_lost(uint8_t *ext, uint64_t lost)
{
	uint8_t number[8];

	put64(number, lost);
	memcpy(ext + 1, number + 1, EXT_ROOM);
}

static void add_note(struct packet *p, const struct mad_capture *cap)
{
	enum sa_reason silence = SA_REASON_NONE;
	bool sm_key = cap->sm_key_hidden;
	uint8_t *ext;

	if (!cap->sent && cap->data[MAD_CLASS] == CLASS_SUBN_ADM)
		silence = sa_silence(&cap->condition, cap->data, cap->len);
	if (silence == SA_REASON_NONE && !sm_key && cap->completion == MAD_OK)
		return;
	ext = add_extension(p, EXT_NOTE);
	ext[NOTE_COMPLETION] = (uint8_t)cap->completion;
	ext[NOTE_SILENCE] = (uint8_t)silence;
	if (silence != SA_REASON_NONE)
		ext[NOTE_FLAGS] |= NOTE_JUDGED;
	if (sm_key)
		ext[NOTE_FLAGS] |= NOTE_SM_KEY;
}

static void add_name(struct packet *p, const struct erf_name *name)
{
	uint8_t all[NAME_MAX_SIZE];
	size_t len = name->len < ERF_NAME_MAX ? name->len : ERF_NAME_MAX;
	size_t at, part, size = NAME_TEXT + len;

	all[NAME_LEN] = (uint8_t)len;
	put64(all + NAME_GUID, name->port_guid);
	memcpy(all + NAME_TEXT, name->name, len);
	for (at = 0; at < size; at += part) {
		part = size - at < EXT_ROOM ? size - at : EXT_ROOM;
		memcpy(add_extension(p, EXT_NAME) + 1, all + at, part);
	}
}

/* `known` bytes of the MAD were captured. */
static void add_cut(struct packet *p, size_t known)
{
	erf_of(p->bytes)[ERF_FLAGS] |= ERF_FLAG_TRUNCATED;
	add_extension(p, EXT_CUT)[CUT_LEN] = (uint8_t)known;
}

/* What comes before the packet on the wire. */
static void add_erf(struct packet *p, const struct mad_capture *cap,
		    const struct erf_name *name, uint64_t lost, size_t known)
{
	uint8_t *erf = erf_of(p->bytes);
	uint64_t seconds = cap->time_ns / 1000000000;
	uint64_t fraction = ((cap->time_ns % 1000000000) << 32) / 1000000000;
	uint64_t time = seconds << 32 | fraction;
	unsigned i;

	for (i = 0; i < 8; i++)
		erf[ERF_TIME + i] = (uint8_t)(time >> (8 * i));
	erf[ERF_TYPE] = ERF_TYPE_INFINIBAND;
	erf[ERF_FLAGS] = ERF_FLAG_VARYING;
	if (cap->sent)
		erf[ERF_FLAGS] |= ERF_FLAG_SENT;
	if (cap->completion != MAD_OK)
		erf[ERF_FLAGS] |= ERF_FLAG_RX_ERROR;
	put16(erf + ERF_LCTR, lost < ERF_LCTR_MAX ? (uint32_t)lost :
						    ERF_LCTR_MAX);
	p->at = ERF_RECORD_HEADER + ERF_HDR_SIZE;
	add_note(p, cap);
	if (lost > ERF_LCTR_MAX)
		set_lost(add_extension(p, EXT_LOST), lost);
	if (known < MAD_SIZE)
		add_cut(p, known);
	if (name)
		add_name(p, name);
}

static void add_lrh(struct packet *p, const struct mad_capture *cap)
{
	const struct mad_route *r = &cap->route;
	uint32_t local = r->local_lid, remote = cap->peer.lid;
	uint8_t vl = mad_is_smp(cap->data[MAD_CLASS]) ? VL_SMP : 0;
	size_t size = LRH_SIZE + BTH_SIZE + DETH_SIZE + MAD_SIZE + ICRC_SIZE;
	uint8_t *lrh = p->bytes + p->at;

	if (cap->peer.has_gid)
		size += GRH_SIZE;
	if (r->is_read)
		vl = r->vl;
	else if (cap->data[MAD_CLASS] == CLASS_SUBN_DIR)
		local = remote = LID_PERMISSIVE;
	lrh[LRH_VL] = (uint8_t)(vl << 4);
	lrh[LRH_LNH] = (uint8_t)(r->sl << 4 |
				 (cap->peer.has_gid ? LNH_GRH : LNH_BTH));
	put16(lrh + LRH_DLID, cap->sent ? remote : local);
	put16(lrh + LRH_LENGTH, (uint32_t)size / 4);
	put16(lrh + LRH_SLID, cap->sent ? local : remote);
	p->at += LRH_SIZE;
}

/* Of our own GID, the GUID is known, and that both are of one subnet. */
static void get_local_gid(uint8_t gid[16], const struct mad_capture *cap)
{
	if (cap->route.is_read) {
		memcpy(gid, cap->route.local_gid, 16);
		return;
	}
	memcpy(gid, cap->peer.gid, 8);
	put64(gid + 8, cap->route.port_guid);
}

static void add_grh(struct packet *p, const struct mad_capture *cap)
{
	const struct mad_route *r = &cap->route;
	uint8_t *grh = p->bytes + p->at, local[16];

	if (!cap->peer.has_gid)
		return;
	get_local_gid(local, cap);
	put32(grh, (uint32_t)GRH_VERSION << 28 |
		   (uint32_t)r->traffic_class << 20 |
		   (r->flow_label & 0xfffff));
	put16(grh + GRH_LENGTH, BTH_SIZE + DETH_SIZE + MAD_SIZE + ICRC_SIZE);
	grh[GRH_NEXT] = GRH_NEXT_BTH;
	grh[GRH_HOP_LIMIT] = r->hop_limit;
	memcpy(grh + GRH_SGID, cap->sent ? local : cap->peer.gid, 16);
	memcpy(grh + GRH_DGID, cap->sent ? cap->peer.gid : local, 16);
	p->at += GRH_SIZE;
}

static void add_bth_deth(struct packet *p, const struct mad_capture *cap)
{
	const struct mad_route *r = &cap->route;
	uint32_t qp = !mad_is_smp(cap->data[MAD_CLASS]);
	uint32_t local = r->is_read ? r->local_qpn : qp;
	uint32_t remote = cap->peer.qpn;
	uint8_t *bth = p->bytes + p->at, *deth = bth + BTH_SIZE;

	memset(bth, 0, BTH_SIZE + DETH_SIZE);
	bth[BTH_OPCODE] = UD_SEND_ONLY;
	bth[BTH_FLAGS] = BTH_MIGRATED;
	put16(bth + BTH_PKEY, r->is_read ? r->p_key : DEFAULT_PKEY);
	put24(bth + BTH_DEST_QP, cap->sent ? remote : local);
	put32(deth + DETH_QKEY, r->is_read ? r->q_key : qp ? QP1_QKEY : 0);
	put24(deth + DETH_SRC_QP, cap->sent ? local : remote);
	p->at += BTH_SIZE + DETH_SIZE;
}

/* Headers and MAD are there: the rest. */
static size_t finish(struct packet *p, uint64_t time_ns)
{
	uint8_t *erf = erf_of(p->bytes);
	size_t len, headers = ERF_HDR_SIZE;

	if (erf[ERF_TYPE] & ERF_MORE)
		do
			headers += EXT_SIZE;
		while (erf[headers - EXT_SIZE] & ERF_MORE);
	memset(p->bytes + p->at, 0, ICRC_SIZE + VCRC_SIZE);
	p->at += ICRC_SIZE + VCRC_SIZE;
	len = p->at - ERF_RECORD_HEADER;
	put16(erf + ERF_RLEN, (uint32_t)len);
	put16(erf + ERF_WLEN, (uint32_t)(len - headers));
	memcpy(p->bytes, &(struct pcap_record){
		(uint32_t)(time_ns / 1000000000),
		(uint32_t)(time_ns % 1000000000),
		(uint32_t)len, (uint32_t)len,
	}, ERF_RECORD_HEADER);
	return p->at;
}

/* How a message lies in segments: `offset` bytes of header, then data. */
struct cutting {
	size_t offset;
	size_t room;		/* for data in a segment */
	uint32_t segments;	/* 0: it is no message of RMPP's */
};

/*
 * What is longer than a MAD is a message that was put together, wherever. What
 * is not is cut up when it is OpenSM's and says that it goes out with RMPP.
 */
static struct cutting cut_up(const struct mad_capture *cap)
{
	const uint8_t *mad = cap->data;
	struct cutting c = { .offset = rmpp_data_offset(mad[MAD_CLASS]) };
	size_t data;

	if (!c.offset)
		return c;
	if (cap->size <= MAD_SIZE &&
	    (!cap->above_rmpp || cap->len <= RMPP_FLAGS ||
	     !(mad[RMPP_FLAGS] & RMPP_FLAG_ACTIVE) ||
	     rmpp_is_control(mad, MAD_SIZE)))
		return c;
	c.room = MAD_SIZE - c.offset;
	data = cap->size > c.offset ? cap->size - c.offset : 0;
	c.segments = (uint32_t)((data + c.room - 1) / c.room);
	if (!c.segments)
		c.segments = 1;
	return c;
}

/*
 * The RMPP header as the kernel sends it. PayloadLength counts the class's
 * header once a segment; in the last one, what is in there.
 */
static void set_rmpp(uint8_t *mad, const struct mad_capture *cap,
		     const struct cutting *c, uint32_t number)
{
	size_t data = cap->size > c->offset ? cap->size - c->offset : 0;
	size_t class_header = c->offset - RMPP_DATA_OFFSET;
	uint8_t flags = RMPP_FLAG_ACTIVE;
	size_t payload = 0;

	if (number == 1) {
		flags |= RMPP_FLAG_FIRST;
		payload = c->segments * class_header + data;
	}
	if (number == c->segments) {
		flags |= RMPP_FLAG_LAST;
		payload = class_header + data - (number - 1) * c->room;
		if (number == 1)
			payload = class_header + data;
	}
	mad[RMPP_VERSION] = 1;
	mad[RMPP_TYPE] = RMPP_DATA;
	mad[RMPP_FLAGS] = (uint8_t)((mad[RMPP_FLAGS] & 0xf8) | flags);
	mad[RMPP_STATUS] = 0;
	put32(mad + RMPP_SEGMENT, number);
	put32(mad + RMPP_PAYLOAD, (uint32_t)payload);
}

/* How many bytes of segment `number`, or of the MAD itself, were captured. */
static size_t known_bytes(const struct mad_capture *cap,
			  const struct cutting *c, uint32_t number)
{
	size_t from = c->offset + (number - 1) * c->room;

	if (cap->len >= cap->size)
		return MAD_SIZE;
	if (!c->segments)
		return cap->len < MAD_SIZE ? cap->len : MAD_SIZE;
	/* of the RMPP header all is known */
	if (cap->len < RMPP_DATA_OFFSET)
		return RMPP_DATA_OFFSET;
	if (cap->len <= from)
		return cap->len < c->offset ? cap->len : c->offset;
	return c->offset +
	       (cap->len - from < c->room ? cap->len - from : c->room);
}

/*
 * Put bytes `from` to `from + want` of the message at `to`, as far as they
 * were captured; the others, and what lies behind its end, are zero.
 */
static void copy(uint8_t *to, const struct mad_capture *cap, size_t from,
		 size_t want, bool show_keys)
{
	size_t got = 0;

	if (from < cap->len)
		got = cap->len - from < want ? cap->len - from : want;
	memcpy(to, cap->data + from, got);
	if (!show_keys)
		keys_hide(cap->data, cap->len, to, from, got);
	memset(to + got, 0, want - got);
}

/* Segment `number`, or the MAD itself. */
static void add_mad(struct packet *p, const struct mad_capture *cap,
		    const struct cutting *c, uint32_t number, bool show_keys)
{
	uint8_t *mad = p->bytes + p->at;

	if (!c->segments) {
		copy(mad, cap, 0, MAD_SIZE, show_keys);
	} else {
		copy(mad, cap, 0, c->offset, show_keys);
		copy(mad + c->offset, cap, c->offset + (number - 1) * c->room,
		     c->room, show_keys);
		set_rmpp(mad, cap, c, number);
	}
	p->at += MAD_SIZE;
}

size_t erf_encode(const struct mad_capture *cap, const struct erf_name *name,
		  bool show_keys,
		  bool (*put)(const uint8_t *packet, size_t len, void *context),
		  void *context)
{
	struct cutting c = cut_up(cap);
	struct mad_capture first = *cap;
	struct packet p;
	uint32_t number = 1;

	if (!show_keys && cap->data[MAD_CLASS] == CLASS_SUBN_ADM &&
	    cap->len >= SA_SM_KEY + 8 && mad_get64(cap->data + SA_SM_KEY))
		first.sm_key_hidden = true;
	do {
		add_erf(&p, &first, number == 1 ? name : NULL,
			number == 1 ? cap->lost : 0,
			known_bytes(cap, &c, number));
		add_lrh(&p, cap);
		add_grh(&p, cap);
		add_bth_deth(&p, cap);
		add_mad(&p, cap, &c, number, show_keys);
		if (!put(p.bytes, finish(&p, cap->time_ns), context))
			return number - 1;
	} while (number++ < c.segments);
	return number - 1;
}

size_t erf_add_lost(uint8_t *packet, size_t len, uint64_t lost)
{
	uint8_t *erf = erf_of(packet), *ext = erf;
	uint64_t before = mad_get16(erf + ERF_LCTR);
	struct pcap_record r;
	uint8_t more;

	for (more = erf[ERF_TYPE]; more & ERF_MORE; more = ext[0]) {
		ext += ext == erf ? ERF_HDR_SIZE : EXT_SIZE;
		if ((ext[0] & ~ERF_MORE) == EXT_LOST) {
			set_lost(ext, (mad_get64(ext) & ~(0xffull << 56)) + lost);
			return len;
		}
	}
	lost += before;
	put16(erf + ERF_LCTR, lost < ERF_LCTR_MAX ? (uint32_t)lost :
						    ERF_LCTR_MAX);
	if (lost <= ERF_LCTR_MAX)
		return len;
	/* as the first: those that follow it stay as they are */
	ext = erf + ERF_HDR_SIZE;
	memmove(ext + EXT_SIZE, ext, len - ERF_RECORD_HEADER - ERF_HDR_SIZE);
	ext[0] = (uint8_t)(EXT_LOST | (erf[ERF_TYPE] & ERF_MORE));
	set_lost(ext, lost);
	erf[ERF_TYPE] |= ERF_MORE;
	memcpy(&r, packet, sizeof(r));
	r.captured += EXT_SIZE;
	r.original += EXT_SIZE;
	memcpy(packet, &r, sizeof(r));
	put16(erf + ERF_RLEN, r.captured);
	return len + EXT_SIZE;
}
