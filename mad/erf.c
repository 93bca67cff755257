/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
#include <string.h>

#include "erf.h"
#include "keys.h"
#include "record.h"
#include "rmpp.h"
#include "transaction.h"

/* pcap, in the byte order of the writer */
enum {
	PCAP_MAGIC_NS = 0xa1b23c4d,
	PCAP_MAJOR = 2,
	PCAP_MINOR = 4,
	PCAP_SNAPLEN = 65535,
};

/* The header of an ERF record */
enum {
	ERF_TIME = 0,		/* 64 bits, little endian, 32.32 seconds */
	ERF_TYPE = 8,		/* bit 7: an extension header follows */
	ERF_FLAGS = 9,
	ERF_RLEN = 10,		/* 16 bits, of the record */
	ERF_LCTR = 12,		/* 16 bits, lost before it */
	ERF_WLEN = 14,		/* 16 bits, of the packet on the wire */
	ERF_HDR_SIZE = 16,

	ERF_MORE = 0x80,
	ERF_TYPE_INFINIBAND = 21,
	ERF_LCTR_MAX = 0xffff,

	ERF_FLAG_SENT = 0x01,	/* interface 1 */
	ERF_FLAG_INTERFACE = 0x03,
	ERF_FLAG_VARYING = 0x04,
	ERF_FLAG_RX_ERROR = 0x10,
};

/*
 * Extension headers: a byte of type, with ERF_MORE unless it is the last, and
 * seven that are the type's. These types are ours; ERF has assigned none near.
 */
enum {
	EXT_SIZE = 8,
	EXT_ROOM = EXT_SIZE - 1,

	EXT_NOTE = 0x60,	/* the next three */
	NOTE_FLAGS = 1,
	NOTE_COMPLETION = 2,
	NOTE_SILENCE = 3,
	NOTE_JUDGED = 0x01,
	NOTE_SM_KEY = 0x02,

	EXT_LOST = 0x61,	/* 56 bits, instead of the loss counter */

	EXT_NAME = 0x62,	/* as many as it takes: the next three in all */
	NAME_LEN = 0,
	NAME_GUID = 1,
	NAME_TEXT = 9,
	NAME_MAX_SIZE = NAME_TEXT + ERF_NAME_MAX,
};

/* What stands for what in a note is part of the format. */
_Static_assert(MAD_OK == 0 && MAD_TIMEOUT == 1 && MAD_CANCELED == 2 &&
	       MAD_ERROR == 3, "numbers in files");
_Static_assert(SA_REASON_NONE == 0 && SA_REASON_SM_NOT_MASTER == 1 &&
	       SA_REASON_FIRST_SWEEP == 2 && SA_REASON_SM_KEY == 3 &&
	       SA_REASON_UNSUPPORTED_ATTRIBUTE == 4 &&
	       SA_REASON_UNSUPPORTED_METHOD == 5 && SA_REASON_OVERLOAD == 6 &&
	       SA_REASON_SEND_ERROR == 7 && SA_REASON_UNKNOWN == 8,
	       "numbers in files");

/* The headers around a MAD */
enum {
	LRH_SIZE = 8,
	LRH_VL = 0,		/* bits 7..4 */
	LRH_LNH = 1,		/* bits 7..4 SL, bits 1..0 the next header */
	LRH_DLID = 2,
	LRH_LENGTH = 4,		/* 11 bits, in words, LRH to ICRC */
	LRH_SLID = 6,
	LNH_BTH = 2,
	LNH_GRH = 3,
	VL_SMP = 15,
	LID_PERMISSIVE = 0xffff,

	GRH_SIZE = 40,
	GRH_LENGTH = 4,		/* behind the GRH, to ICRC */
	GRH_NEXT = 6,
	GRH_HOP_LIMIT = 7,
	GRH_SGID = 8,
	GRH_DGID = 24,
	GRH_VERSION = 6,
	GRH_NEXT_BTH = 0x1b,

	BTH_SIZE = 12,
	BTH_OPCODE = 0,
	BTH_FLAGS = 1,		/* bits 5..4: bytes of padding */
	BTH_PKEY = 2,
	BTH_DEST_QP = 5,	/* 24 bits */
	UD_SEND_ONLY = 0x64,
	BTH_MIGRATED = 0x40,
	DEFAULT_PKEY = 0xffff,

	DETH_SIZE = 8,
	DETH_QKEY = 0,
	DETH_SRC_QP = 5,	/* 24 bits */

	ICRC_SIZE = 4,
	VCRC_SIZE = 2,

	HEADERS_MAX = LRH_SIZE + GRH_SIZE + BTH_SIZE + DETH_SIZE,
	RECORD_MAX = ERF_RECORD_HEADER + ERF_HDR_SIZE +
		     (2 + (NAME_MAX_SIZE + EXT_ROOM - 1) / EXT_ROOM) * EXT_SIZE +
		     HEADERS_MAX + MAD_SIZE + ICRC_SIZE + VCRC_SIZE,
};

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

static uint32_t get24(const uint8_t *p)
{
	return (uint32_t)p[0] << 16 | mad_get16(p + 1);
}

/*
 * pcap's own headers
 */

struct pcap_record {
	uint32_t seconds;
	uint32_t nanoseconds;
	uint32_t captured;
	uint32_t original;
};

_Static_assert(sizeof(struct pcap_record) == ERF_RECORD_HEADER, "as in files");

void erf_file_header(uint8_t header[ERF_FILE_HEADER])
{
	const struct {
		uint32_t magic;
		uint16_t major, minor;
		uint32_t zone, accuracy, snaplen, linktype;
	} h = {
		PCAP_MAGIC_NS, PCAP_MAJOR, PCAP_MINOR,
		0, 0, PCAP_SNAPLEN, ERF_LINKTYPE,
	};

	_Static_assert(sizeof(h) == ERF_FILE_HEADER, "as in files");
	memcpy(header, &h, sizeof(h));
}

size_t erf_packet_len(const uint8_t *bytes, size_t len)
{
	struct pcap_record r;

	if (len < ERF_RECORD_HEADER + ERF_HDR_SIZE)
		return 0;
	memcpy(&r, bytes, sizeof(r));
	if (r.captured < ERF_HDR_SIZE ||
	    r.captured > ERF_PACKET_MAX - ERF_RECORD_HEADER ||
	    r.original < r.captured || r.nanoseconds >= 1000000000 ||
	    (bytes[ERF_RECORD_HEADER + ERF_TYPE] & ~ERF_MORE) !=
		    ERF_TYPE_INFINIBAND)
		return SIZE_MAX;
	return ERF_RECORD_HEADER + r.captured;
}

/*
 * Writing
 */

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

/* What comes before the packet on the wire. */
static void add_erf(struct packet *p, const struct mad_capture *cap,
		    const struct erf_name *name, uint64_t lost)
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
	if (name)
		add_name(p, name);
}

static void add_lrh(struct packet *p, const struct mad_capture *cap)
{
	bool smp = mad_is_smp(cap->data[MAD_CLASS]);
	uint32_t local = cap->route.local_lid, remote = cap->peer.lid;
	size_t size = LRH_SIZE + BTH_SIZE + DETH_SIZE + MAD_SIZE + ICRC_SIZE;
	uint8_t *lrh = p->bytes + p->at;

	if (cap->peer.has_gid)
		size += GRH_SIZE;
	if (cap->data[MAD_CLASS] == CLASS_SUBN_DIR)
		local = remote = LID_PERMISSIVE;
	lrh[LRH_VL] = smp ? VL_SMP << 4 : 0;
	lrh[LRH_LNH] = (uint8_t)(cap->route.sl << 4 |
				 (cap->peer.has_gid ? LNH_GRH : LNH_BTH));
	put16(lrh + LRH_DLID, cap->sent ? remote : local);
	put16(lrh + LRH_LENGTH, (uint32_t)size / 4);
	put16(lrh + LRH_SLID, cap->sent ? local : remote);
	p->at += LRH_SIZE;
}

/* Of our own GID, the GUID is known, and that both are of one subnet. */
static void add_grh(struct packet *p, const struct mad_capture *cap)
{
	const struct mad_route *r = &cap->route;
	uint8_t *grh = p->bytes + p->at, local[16];

	if (!cap->peer.has_gid)
		return;
	memcpy(local, cap->peer.gid, 8);
	put64(local + 8, r->port_guid);
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
	uint32_t local = !mad_is_smp(cap->data[MAD_CLASS]);
	uint32_t remote = cap->peer.qpn;
	uint8_t *bth = p->bytes + p->at, *deth = bth + BTH_SIZE;

	memset(bth, 0, BTH_SIZE + DETH_SIZE);
	bth[BTH_OPCODE] = UD_SEND_ONLY;
	bth[BTH_FLAGS] = BTH_MIGRATED;
	put16(bth + BTH_PKEY, DEFAULT_PKEY);
	put24(bth + BTH_DEST_QP, cap->sent ? remote : local);
	put32(deth + DETH_QKEY, local ? QP1_QKEY : 0);
	put24(deth + DETH_SRC_QP, cap->sent ? local : remote);
	p->at += BTH_SIZE + DETH_SIZE;
}

/* Headers and MAD are there, `cut` bytes of the MAD are not: the rest. */
static size_t finish(struct packet *p, uint64_t time_ns, size_t cut)
{
	uint8_t *erf = erf_of(p->bytes);
	size_t captured, original, headers = ERF_HDR_SIZE;

	if (erf[ERF_TYPE] & ERF_MORE)
		do
			headers += EXT_SIZE;
		while (erf[headers - EXT_SIZE] & ERF_MORE);
	if (!cut)
		p->at += ICRC_SIZE + VCRC_SIZE;	/* zeroes */
	captured = p->at - ERF_RECORD_HEADER;
	original = captured + (cut ? cut + ICRC_SIZE + VCRC_SIZE : 0);
	put16(erf + ERF_RLEN, (uint32_t)captured);
	put16(erf + ERF_WLEN, (uint32_t)(original - headers));
	memcpy(p->bytes, &(struct pcap_record){
		(uint32_t)(time_ns / 1000000000),
		(uint32_t)(time_ns % 1000000000),
		(uint32_t)captured, (uint32_t)original,
	}, ERF_RECORD_HEADER);
	return p->at;
}

/* How a message lies in segments: `offset` bytes of header, then data. */
struct cutting {
	size_t offset;
	size_t room;		/* for data in a segment */
	uint32_t segments;	/* 0: it is no message of RMPP's */
};

static struct cutting cut_up(const struct mad_capture *cap)
{
	const uint8_t *mad = cap->data;
	struct cutting c = { .offset = rmpp_data_offset(mad[MAD_CLASS]) };
	size_t data;

	if (!cap->above_rmpp || !c.offset)
		return c;
	if (cap->size <= MAD_SIZE &&
	    (cap->len <= RMPP_FLAGS ||
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

/*
 * Put bytes `from` to `from + want` of the message at `to`, as far as they
 * were captured; what lies behind its end is zero. Returns how many of the
 * `want` are known.
 */
static size_t copy(uint8_t *to, const struct mad_capture *cap, size_t from,
		   size_t want, bool show_keys)
{
	size_t got = 0;

	if (from < cap->len)
		got = cap->len - from < want ? cap->len - from : want;
	memcpy(to, cap->data + from, got);
	if (!show_keys)
		keys_hide(cap->data, cap->len, to, from, got);
	memset(to + got, 0, want - got);
	return cap->len < cap->size ? got : want;
}

/* Segment `number`, or the MAD itself. Returns how many bytes are cut. */
static size_t add_mad(struct packet *p, const struct mad_capture *cap,
		      const struct cutting *c, uint32_t number, bool show_keys)
{
	uint8_t *mad = p->bytes + p->at;
	size_t known;

	if (!c->segments) {
		known = copy(mad, cap, 0, MAD_SIZE, show_keys);
	} else {
		known = copy(mad, cap, 0, c->offset, show_keys);
		if (known == c->offset)
			known += copy(mad + c->offset, cap, c->offset +
				      (number - 1) * c->room, c->room,
				      show_keys);
		else if (known < RMPP_DATA_OFFSET)
			known = RMPP_DATA_OFFSET;
		set_rmpp(mad, cap, c, number);
	}
	p->at += known;
	/* the CRCs behind it */
	memset(mad + known, 0, ERF_PACKET_MAX - p->at);
	return MAD_SIZE - known;
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
	size_t cut;

	if (!show_keys && cap->data[MAD_CLASS] == CLASS_SUBN_ADM &&
	    cap->len >= SA_SM_KEY + 8 && mad_get64(cap->data + SA_SM_KEY))
		first.sm_key_hidden = true;
	do {
		add_erf(&p, &first, number == 1 ? name : NULL,
			number == 1 ? cap->lost : 0);
		add_lrh(&p, cap);
		add_grh(&p, cap);
		add_bth_deth(&p, cap);
		cut = add_mad(&p, cap, &c, number, show_keys);
		if (!put(p.bytes, finish(&p, cap->time_ns, cut), context))
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

/*
 * Reading
 */

/* The bytes of a packet that are not read yet. */
struct rest {
	const uint8_t *p;
	size_t len;
	size_t missing;		/* behind them, of the packet */
};

static const uint8_t *take(struct rest *r, size_t len)
{
	const uint8_t *p = r->p;

	if (len > r->len)
		return NULL;
	r->p += len;
	r->len -= len;
	return p;
}

/* What the extension headers say; others' are skipped. */
struct extensions {
	const uint8_t *note;
	uint64_t lost;
	size_t name_len;	/* so far */
};

static bool read_extensions(struct rest *r, uint8_t more,
			    struct extensions *e, struct erf_note *note)
{
	const uint8_t *ext;

	for (; more & ERF_MORE; more = ext[0]) {
		ext = take(r, EXT_SIZE);
		if (!ext)
			return false;
		switch (ext[0] & ~ERF_MORE) {
		case EXT_NOTE:
			e->note = ext;
			break;
		case EXT_LOST:
			e->lost = mad_get64(ext) & ~(0xffull << 56);
			break;
		case EXT_NAME:
			if (e->name_len + EXT_ROOM > sizeof(note->text))
				break;
			memcpy(note->text + e->name_len, ext + 1, EXT_ROOM);
			e->name_len += EXT_ROOM;
			break;
		default:
			break;
		}
	}
	return true;
}

static void read_name(const struct extensions *e, struct erf_note *note)
{
	const uint8_t *text = note->text;

	if (e->name_len < NAME_TEXT ||
	    text[NAME_LEN] > ERF_NAME_MAX ||
	    (size_t)NAME_TEXT + text[NAME_LEN] > e->name_len)
		return;
	note->has_name = true;
	note->name = (struct erf_name){
		.port_guid = mad_get64(text + NAME_GUID),
		.name = (const char *)text + NAME_TEXT,
		.len = text[NAME_LEN],
	};
}

static void read_note(const uint8_t *ext, struct mad_capture *cap)
{
	if (ext[NOTE_COMPLETION] <= MAD_ERROR)
		cap->completion = (enum mad_completion)ext[NOTE_COMPLETION];
	cap->sm_key_hidden = ext[NOTE_FLAGS] & NOTE_SM_KEY;
	if (!(ext[NOTE_FLAGS] & NOTE_JUDGED) ||
	    ext[NOTE_SILENCE] > SA_REASON_UNKNOWN)
		return;
	cap->condition.judged = true;
	cap->condition.silence = ext[NOTE_SILENCE];
}

/* One of the two ends, by the headers that name it. */
static void read_end(struct mad_peer *end, const uint8_t *lid,
		     const uint8_t *gid, uint32_t qpn)
{
	end->lid = mad_get16(lid);
	end->qpn = qpn;
	if (!gid)
		return;
	end->has_gid = true;
	memcpy(end->gid, gid, sizeof(end->gid));
}

/* False: it is no MAD, or cut before that can be told. */
static bool read_headers(struct rest *r, struct mad_capture *cap,
			 struct mad_peer *local)
{
	struct mad_route *route = &cap->route;
	const uint8_t *lrh = take(r, LRH_SIZE), *grh = NULL, *bth, *deth;
	struct mad_peer *from = cap->sent ? local : &cap->peer;
	struct mad_peer *to = cap->sent ? &cap->peer : local;
	uint8_t lnh;

	if (!lrh)
		return false;
	lnh = lrh[LRH_LNH] & 3;
	if (lnh == LNH_GRH && !(grh = take(r, GRH_SIZE)))
		return false;
	if ((lnh != LNH_GRH && lnh != LNH_BTH) ||
	    (grh && grh[GRH_NEXT] != GRH_NEXT_BTH))
		return false;
	bth = take(r, BTH_SIZE);
	deth = take(r, DETH_SIZE);
	if (!bth || !deth || bth[BTH_OPCODE] != UD_SEND_ONLY)
		return false;
	read_end(from, lrh + LRH_SLID, grh ? grh + GRH_SGID : NULL,
		 get24(deth + DETH_SRC_QP));
	read_end(to, lrh + LRH_DLID, grh ? grh + GRH_DGID : NULL,
		 get24(bth + BTH_DEST_QP));
	route->local_lid = local->lid;
	route->sl = lrh[LRH_LNH] >> 4;
	if (grh) {
		route->port_guid = mad_get64(local->gid + 8);
		route->traffic_class = (uint8_t)(mad_get32(grh) >> 20);
		route->flow_label = mad_get32(grh) & 0xfffff;
		route->hop_limit = grh[GRH_HOP_LIMIT];
	}
	/* others may ask the SA from a QP of their own */
	return from->qpn <= 1 || to->qpn <= 1;
}

/* From the LRH on. */
static enum erf_kind read_packet(struct rest *r, struct mad_capture *cap,
				 struct erf_note *note)
{
	if (!read_headers(r, cap, &note->local))
		return ERF_OTHER;
	cap->data = r->p;
	cap->len = r->len < MAD_SIZE ? r->len : MAD_SIZE;
	cap->size = MAD_SIZE;
	if (r->len + r->missing < MAD_SIZE || cap->len < MAD_HDR_SIZE)
		return ERF_BROKEN;
	return ERF_MAD;
}

static struct rest begin(const uint8_t *packet, size_t len, size_t size,
			 uint64_t time_ns, struct mad_capture *cap,
			 struct erf_note *note)
{
	memset(cap, 0, sizeof(*cap));
	memset(note, 0, offsetof(struct erf_note, text));
	cap->time_ns = time_ns;
	cap->mono_ns = time_ns;
	return (struct rest){ packet, len, size > len ? size - len : 0 };
}

enum erf_kind erf_decode(const uint8_t *packet, size_t len, size_t size,
			 uint64_t time_ns, struct mad_capture *cap,
			 struct erf_note *note)
{
	struct rest r = begin(packet, len, size, time_ns, cap, note);
	struct extensions e = { 0 };
	const uint8_t *erf = take(&r, ERF_HDR_SIZE);

	if (!erf)
		return ERF_BROKEN;
	note->lost = mad_get16(erf + ERF_LCTR);
	if ((erf[ERF_TYPE] & ~ERF_MORE) != ERF_TYPE_INFINIBAND)
		return ERF_OTHER;
	if (!read_extensions(&r, erf[ERF_TYPE], &e, note))
		return ERF_BROKEN;
	if (e.lost)
		note->lost = e.lost;
	read_name(&e, note);

	cap->lost = note->lost;
	cap->sent = (erf[ERF_FLAGS] & ERF_FLAG_INTERFACE) == ERF_FLAG_SENT;
	if (erf[ERF_FLAGS] & ERF_FLAG_RX_ERROR)
		cap->completion = MAD_ERROR;
	if (e.note)
		read_note(e.note, cap);
	return read_packet(&r, cap, note);
}

enum erf_kind erf_decode_bare(const uint8_t *packet, size_t len, size_t size,
			      uint64_t time_ns, struct mad_capture *cap,
			      struct erf_note *note)
{
	struct rest r = begin(packet, len, size, time_ns, cap, note);

	return read_packet(&r, cap, note);
}
