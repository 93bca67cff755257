/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * RMPP as mad_rmpp.c does it, whose rules these are (IBA 13.6 where they
 * agree). What differs: a sender that gives up sends ABORT (option abort), a
 * receiver can be told to send STOP (option max).
 */
#include <stdlib.h>
#include <string.h>

#include "umad_double.h"

enum {
	RMPP_VERSION = 1,
	RMPP_PAYLOAD = MAD_SIZE - RMPP_HDR_SIZE,

	STATUS_RESX = 1,	/* of STOP: resources exhausted */
	STATUS_ABORT_MIN = 118,
	STATUS_T2L = 118,	/* total time too long */
	STATUS_BAD_SEG = 120,
	STATUS_BADT = 121,	/* type */
	STATUS_W2S = 122,	/* NewWindowLast too small */
	STATUS_S2B = 123,	/* segment number too big */
	STATUS_BAD_STATUS = 124,
	STATUS_UNV = 125,	/* version */
	STATUS_TMR = 126,	/* too many retries */
	STATUS_ABORT_MAX = 127,

	/* a receiver remembers for so long what it has acknowledged */
	FORGET_MS = 10000,
};

struct rmpp_recv {
	LIST_ENTRY(rmpp_recv) link;
	struct rx first;	/* its MAD, from which answers are made */
	uint64_t deadline;
	bool complete;
	uint32_t last_ack;
	uint32_t seg_num;	/* all up to this one are there */
	uint32_t newwin;
	uint32_t repwin;	/* what the other side lets a response have */
	uint8_t (**segs)[MAD_SIZE];
	uint32_t size;		/* of segs */
};

/* ib_get_mad_data_offset() of mad.c */
unsigned int mad_data_offset(uint8_t mgmt_class)
{
	switch (mgmt_class) {
	case CLASS_SA:
		return 56;
	case 0x06: /* device management */
	case 0x10: /* device administration */
	case 0x12: /* boot information */
		return 64;
	case 0x30 ... 0x4f:
		return 40;
	default:
		return MAD_HDR_SIZE;
	}
}

bool class_has_rmpp(uint8_t mgmt_class)
{
	return mad_data_offset(mgmt_class) != MAD_HDR_SIZE;
}

/*
 * Sends a MAD of RMPP's own back to where rx came from: the headers of rx,
 * the method turned round, no data.
 */
static void answer(struct agent *a, const struct rx *rx, uint8_t type,
		   uint8_t status, uint32_t seg, uint32_t newwin)
{
	struct ib_user_mad_hdr hdr = rx->hdr;
	uint8_t mad[MAD_SIZE] = { 0 };
	uint8_t qkey[4] = { 0x80, 0x01, 0x00, 0x00 };

	hdr.id = a->id;
	hdr.length = 0;
	memcpy(&hdr.qkey, qkey, sizeof(qkey));
	memcpy(mad, rx->mad, mad_data_offset(rx->mad[MAD_CLASS]));
	mad[MAD_METHOD] ^= METHOD_RESP;
	mad[MAD_RMPP_VERSION] = RMPP_VERSION;
	mad[MAD_RMPP_TYPE] = type;
	mad[MAD_RMPP_FLAGS] = (mad[MAD_RMPP_FLAGS] & 0xf8) | RMPP_ACTIVE;
	mad[MAD_RMPP_STATUS] = status;
	put32(mad + MAD_RMPP_SEG, seg);
	put32(mad + MAD_RMPP_PAYLEN, newwin);
	wire_send(&hdr, mad);
}

static void nack(struct agent *a, const struct rx *rx, uint8_t status)
{
	answer(a, rx, RMPP_ABORT, status, 0, 0);
}

/*
 * Sending
 */
struct send *rmpp_send_new(const uint8_t *mad, size_t size)
{
	unsigned int hdr_len = mad_data_offset(mad[MAD_CLASS]);
	size_t seg_size = MAD_SIZE - hdr_len;
	size_t data = size - hdr_len;
	/* no data at all is one segment too */
	size_t count = data ? (data + seg_size - 1) / seg_size : 1;
	struct send *s = calloc(1, sizeof(*s) + hdr_len + count * seg_size);

	if (!s)
		abort();
	memcpy(s->data, mad, size);
	memset(s->data + MAD_HDR_SIZE, 0, RMPP_HDR_SIZE - MAD_HDR_SIZE);
	s->seg_count = (uint32_t)count;
	s->hdr_len = hdr_len;
	s->pad = (unsigned int)(count * seg_size - data);
	return s;
}

/*
 * The PayloadLength of the first segment is that of all segments, each with
 * the rest of the class's header; of the last its own; else 0.
 */
void rmpp_segment(const struct send *s, uint32_t num, uint8_t *mad)
{
	size_t seg_size = MAD_SIZE - s->hdr_len;
	uint8_t flags = RMPP_ACTIVE;
	uint32_t paylen = 0;

	if (num == 1) {
		flags |= RMPP_FIRST;
		paylen = s->seg_count * RMPP_PAYLOAD - s->pad;
	}
	if (num == s->seg_count) {
		flags |= RMPP_LAST;
		paylen = RMPP_PAYLOAD - s->pad;
	}
	memcpy(mad, s->data, s->hdr_len);
	memcpy(mad + s->hdr_len, s->data + s->hdr_len + (num - 1) * seg_size,
	       seg_size);
	mad[MAD_RMPP_VERSION] = RMPP_VERSION;
	mad[MAD_RMPP_TYPE] = RMPP_DATA;
	mad[MAD_RMPP_FLAGS] = flags;
	mad[MAD_RMPP_STATUS] = 0;
	put32(mad + MAD_RMPP_SEG, num);
	put32(mad + MAD_RMPP_PAYLEN, paylen);
}

/* Sends what the window lets, and waits for an ACK of it. */
static void send_window(struct send *s)
{
	unsigned int ms = s->hdr.timeout_ms;
	uint8_t mad[MAD_SIZE];

	send_wait(s, ms && ms < options.ack_ms ? ms : options.ack_ms);
	while (s->seg_num < s->newwin && s->seg_num < s->seg_count) {
		rmpp_segment(s, ++s->seg_num, mad);
		wire_send(&s->hdr, mad);
	}
}

/*
 * The first segment alone, until its ACK tells of a window. A response to a
 * request that came by RMPP has the window of the last ACK of that.
 */
void rmpp_send_start(struct agent *a, struct send *s)
{
	struct rmpp_recv *r;

	s->newwin = 1;
	if (mad_is_response(s->data)) {
		LIST_FOREACH(r, &a->recvs, link)
			if (get64(r->first.mad + MAD_TID) ==
			    get64(s->data + MAD_TID) &&
			    r->first.mad[MAD_CLASS] == s->data[MAD_CLASS] &&
			    r->first.mad[MAD_CLASS_VERSION] ==
			    s->data[MAD_CLASS_VERSION] &&
			    !mad_is_response(r->first.mad) &&
			    r->first.hdr.lid == s->hdr.lid) {
				s->newwin = r->repwin;
				break;
			}
	}
	send_window(s);
}

bool rmpp_send_retry(struct agent *a, struct send *s)
{
	(void)a;
	if (s->last_ack == s->seg_count)
		return false;
	s->seg_num = s->last_ack;
	send_window(s);
	return true;
}

void rmpp_send_abort(struct agent *a, struct send *s)
{
	struct ib_user_mad_hdr hdr = s->hdr;
	uint8_t mad[MAD_SIZE] = { 0 };

	(void)a;
	hdr.timeout_ms = 0;
	hdr.retries = 0;
	memcpy(mad, s->data, s->hdr_len);
	mad[MAD_RMPP_VERSION] = RMPP_VERSION;
	mad[MAD_RMPP_TYPE] = RMPP_ABORT;
	mad[MAD_RMPP_FLAGS] = RMPP_ACTIVE;
	mad[MAD_RMPP_STATUS] = STATUS_TMR;
	wire_send(&hdr, mad);
}

/* The other side has given up; abort_send() of mad_rmpp.c. */
static void aborted(struct agent *a, const struct rx *rx)
{
	struct send *s = agent_find_send(a, rx->mad);

	if (s && s->last_ack < s->seg_count)
		send_complete(a, s, WC_REM_ABORT_ERR);
}

static void refuse(struct agent *a, const struct rx *rx, uint8_t status)
{
	aborted(a, rx);
	nack(a, rx, status);
}

static struct rmpp_recv *find_recv(struct agent *a, const struct rx *rx)
{
	struct rmpp_recv *r;

	LIST_FOREACH(r, &a->recvs, link)
		if (get64(r->first.mad + MAD_TID) ==
		    get64(rx->mad + MAD_TID) &&
		    r->first.hdr.qpn == rx->hdr.qpn &&
		    r->first.hdr.lid == rx->hdr.lid &&
		    /* class, its version and the method */
		    !memcmp(r->first.mad + MAD_CLASS, rx->mad + MAD_CLASS, 3))
			return r;
	return NULL;
}

static void receive_ack(struct agent *a, const struct rx *rx)
{
	uint32_t seg = get32(rx->mad + MAD_RMPP_SEG);
	uint32_t newwin = get32(rx->mad + MAD_RMPP_PAYLEN);
	struct rmpp_recv *r;
	struct send *s;

	if (rx->mad[MAD_RMPP_STATUS]) {
		refuse(a, rx, STATUS_BAD_STATUS);
		return;
	}
	if (newwin < seg) {
		refuse(a, rx, STATUS_W2S);
		return;
	}
	s = agent_find_send(a, rx->mad);
	if (!s) {
		/* the ACK of an ACK, by which a window turns round */
		r = seg ? NULL : find_recv(a, rx);
		if (r && r->complete)
			r->repwin = newwin;
		return;
	}
	if (s->last_ack == s->seg_count) {
		/* a repeated last ACK: the response is still to come */
		answer(a, rx, RMPP_ACK, 0, 0, 1);
		return;
	}
	if (seg > s->seg_count || seg > s->newwin) {
		refuse(a, rx, STATUS_S2B);
		return;
	}
	if (newwin < s->newwin || seg < s->last_ack)
		return;
	if (seg > s->last_ack) {
		s->last_ack = seg;
		s->retries_left = s->hdr.retries;
	}
	s->newwin = newwin;
	if (s->last_ack < s->seg_count) {
		if (s->seg_num < s->newwin && s->seg_num < s->seg_count)
			send_window(s);
		return;
	}
	if (!s->hdr.timeout_ms) {
		send_complete(a, s, WC_SUCCESS);
		return;
	}
	send_wait(s, s->hdr.timeout_ms);
	answer(a, rx, RMPP_ACK, 0, 0, 1);
}

/*
 * Receiving
 */
static void free_segs(struct rmpp_recv *r)
{
	uint32_t i;

	for (i = 0; i < r->size; i++)
		free(r->segs[i]);
	free(r->segs);
	r->segs = NULL;
	r->size = 0;
}

static void recv_free(struct rmpp_recv *r)
{
	LIST_REMOVE(r, link);
	free_segs(r);
	free(r);
}

void rmpp_free(struct agent *a)
{
	while (!LIST_EMPTY(&a->recvs))
		recv_free(LIST_FIRST(&a->recvs));
}

static void recv_wait(struct rmpp_recv *r, unsigned int ms)
{
	r->deadline = wire_now() + ms;
	wire_wake_at(r->deadline);
}

static void ack(struct agent *a, struct rmpp_recv *r, const struct rx *rx)
{
	r->last_ack = r->seg_num;
	answer(a, rx, RMPP_ACK, 0, r->seg_num, r->newwin);
}

/* Keeps a segment. Returns false when it was there already. */
static bool keep(struct rmpp_recv *r, uint32_t num, const uint8_t *mad)
{
	uint8_t (**segs)[MAD_SIZE];
	uint32_t size = r->size;

	if (num > size) {
		size = num + options.window;
		segs = realloc(r->segs, size * sizeof(*segs));
		if (!segs)
			abort();
		memset(segs + r->size, 0, (size - r->size) * sizeof(*segs));
		r->segs = segs;
		r->size = size;
	}
	if (r->segs[num - 1])
		return false;
	r->segs[num - 1] = malloc(MAD_SIZE);
	if (!r->segs[num - 1])
		abort();
	memcpy(r->segs[num - 1], mad, MAD_SIZE);
	return true;
}

static bool has_last(const struct rmpp_recv *r)
{
	return (*r->segs[r->seg_num - 1])[MAD_RMPP_FLAGS] & RMPP_LAST;
}

/*
 * The message, as ib_umad_read() gives it away: the first segment whole, then
 * the data of the others. A last PayloadLength that cannot be is a full one.
 */
static struct packet *assemble(const struct rmpp_recv *r)
{
	size_t offset = mad_data_offset(r->first.mad[MAD_CLASS]);
	size_t seg_size = MAD_SIZE - offset, size, at;
	uint32_t paylen, pad, i;
	struct packet *p;

	paylen = get32(*r->segs[r->seg_num - 1] + MAD_RMPP_PAYLEN);
	pad = paylen > RMPP_PAYLOAD ? 0 : RMPP_PAYLOAD - paylen;
	size = offset + r->seg_num * seg_size;
	p = packet_new(size);
	p->hdr = r->first.hdr;
	memcpy(p->data, r->segs[0], MAD_SIZE);
	for (i = 1, at = MAD_SIZE; i < r->seg_num; i++, at += seg_size)
		memcpy(p->data + at, *r->segs[i] + offset, seg_size);
	p->size = size - pad;
	return p;
}

static struct packet *complete(struct agent *a, struct rmpp_recv *r)
{
	struct packet *p = assemble(r);

	ack(a, r, &r->first);
	r->complete = true;
	free_segs(r);
	recv_wait(r, FORGET_MS);
	return p;
}

static bool too_long(struct agent *a, struct rmpp_recv *r, const struct rx *rx)
{
	if (!options.max || r->seg_num * RMPP_PAYLOAD <= options.max)
		return false;
	answer(a, rx, RMPP_STOP, STATUS_RESX, 0, 0);
	recv_free(r);
	return true;
}

static struct packet *continue_message(struct agent *a, struct rmpp_recv *r,
				       const struct rx *rx)
{
	uint32_t seg = get32(rx->mad + MAD_RMPP_SEG);

	if (seg > r->newwin)
		return NULL;
	if (seg <= r->last_ack || r->complete) {
		ack(a, r, rx);
		return NULL;
	}
	if (!keep(r, seg, rx->mad) || seg != r->seg_num + 1)
		return NULL;
	while (r->seg_num < r->size && r->segs[r->seg_num])
		r->seg_num++;
	/* as the kernel: only the last of those that are in order counts */
	if (has_last(r))
		return complete(a, r);
	if (too_long(a, r, rx))
		return NULL;
	if (r->seg_num == r->newwin) {
		r->newwin += options.window;
		ack(a, r, rx);
	}
	return NULL;
}

static struct packet *start_message(struct agent *a, const struct rx *rx)
{
	struct rmpp_recv *r = calloc(1, sizeof(*r));

	if (!r)
		abort();
	r->first = *rx;
	r->seg_num = 1;
	r->newwin = 1;
	r->repwin = 1;
	keep(r, 1, rx->mad);
	LIST_INSERT_HEAD(&a->recvs, r, link);
	if (has_last(r))
		return complete(a, r);
	if (too_long(a, r, rx))
		return NULL;
	recv_wait(r, options.recv_ms);
	r->newwin += options.window;
	ack(a, r, rx);
	return NULL;
}

static struct packet *receive_data(struct agent *a, const struct rx *rx)
{
	bool first = rx->mad[MAD_RMPP_FLAGS] & RMPP_FIRST;
	struct rmpp_recv *r;

	if (rx->mad[MAD_RMPP_STATUS]) {
		nack(a, rx, STATUS_BAD_STATUS);
		return NULL;
	}
	if ((get32(rx->mad + MAD_RMPP_SEG) == 1) != first) {
		nack(a, rx, STATUS_BAD_SEG);
		return NULL;
	}
	r = find_recv(a, rx);
	if (r)
		return continue_message(a, r, rx);
	return first ? start_message(a, rx) : NULL;
}

bool rmpp_receive(struct agent *a, const struct rx *rx, struct packet **done)
{
	uint8_t status = rx->mad[MAD_RMPP_STATUS];

	if (!(rx->mad[MAD_RMPP_FLAGS] & RMPP_ACTIVE))
		return false;
	*done = NULL;
	if (rx->mad[MAD_RMPP_VERSION] != RMPP_VERSION) {
		refuse(a, rx, STATUS_UNV);
		return true;
	}
	switch (rx->mad[MAD_RMPP_TYPE]) {
	case RMPP_DATA:
		*done = receive_data(a, rx);
		break;
	case RMPP_ACK:
		receive_ack(a, rx);
		break;
	case RMPP_STOP:
		if (status == STATUS_RESX)
			aborted(a, rx);
		else
			refuse(a, rx, STATUS_BAD_STATUS);
		break;
	case RMPP_ABORT:
		if (status >= STATUS_ABORT_MIN && status <= STATUS_ABORT_MAX)
			aborted(a, rx);
		else
			refuse(a, rx, STATUS_BAD_STATUS);
		break;
	default:
		refuse(a, rx, STATUS_BADT);
	}
	return true;
}

uint64_t rmpp_timers(struct agent *a, uint64_t now)
{
	struct rmpp_recv *r, *next;
	uint64_t at = NEVER;

	for (r = LIST_FIRST(&a->recvs); r; r = next) {
		next = LIST_NEXT(r, link);
		if (r->deadline > now) {
			if (r->deadline < at)
				at = r->deadline;
			continue;
		}
		if (!r->complete)
			nack(a, &r->first, STATUS_T2L);
		recv_free(r);
	}
	return at;
}
