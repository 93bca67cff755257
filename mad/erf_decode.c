/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Packets as captures. libosmvendor_snoop takes this without the writing. */
#include <string.h>

#include "erf_format.h"

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
	const uint8_t *cut;
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
		case EXT_CUT:
			e->cut = ext;
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
		 mad_get24(deth + DETH_SRC_QP));
	read_end(to, lrh + LRH_DLID, grh ? grh + GRH_DGID : NULL,
		 mad_get24(bth + BTH_DEST_QP));
	route->local_lid = local->lid;
	route->sl = lrh[LRH_LNH] >> 4;
	route->is_read = true;
	route->vl = lrh[LRH_VL] >> 4;
	route->p_key = mad_get16(bth + BTH_PKEY);
	route->q_key = mad_get32(deth + DETH_QKEY);
	route->local_qpn = local->qpn;
	if (grh) {
		route->port_guid = mad_get64(local->gid + 8);
		memcpy(route->local_gid, local->gid, sizeof(local->gid));
		route->traffic_class = (uint8_t)(mad_get32(grh) >> 20);
		route->flow_label = mad_get32(grh) & 0xfffff;
		route->hop_limit = grh[GRH_HOP_LIMIT];
	}
	/* others may ask the SA from a QP of their own */
	return from->qpn <= 1 || to->qpn <= 1;
}

/* From the LRH on. No more than `known` bytes of the MAD are such. */
static enum erf_kind read_packet(struct rest *r, size_t known,
				 struct mad_capture *cap,
				 struct erf_note *note)
{
	if (!read_headers(r, cap, &note->local))
		return ERF_OTHER;
	cap->data = r->p;
	cap->len = r->len < known ? r->len : known;
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
	return read_packet(&r, e.cut ? e.cut[CUT_LEN] : MAD_SIZE, cap, note);
}

enum erf_kind erf_decode_bare(const uint8_t *packet, size_t len, size_t size,
			      uint64_t time_ns, struct mad_capture *cap,
			      struct erf_note *note)
{
	struct rest r = begin(packet, len, size, time_ns, cap, note);

	return read_packet(&r, MAD_SIZE, cap, note);
}
