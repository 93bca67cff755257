/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Captures as packets, and back. tests/fabric/see.sh asks tshark as well. */
#include <stdlib.h>
#include <string.h>

#include <check.h>

#include "erf.h"
#include "keys.h"
#include "record.h"
#include "rmpp.h"
#include "transaction.h"
#include "../run.h"

enum { MESSAGE_MAX = 8192, PACKETS_MAX = 64 };

static uint8_t message[MESSAGE_MAX];
static struct packet {
	uint8_t bytes[ERF_PACKET_MAX];
	size_t len;
} packets[PACKETS_MAX];
static size_t n_packets, stop_at;

static bool put(const uint8_t *packet, size_t len, void *context)
{
	ck_assert_ptr_eq(context, packets);
	ck_assert_uint_lt(n_packets, PACKETS_MAX);
	ck_assert_uint_le(len, ERF_PACKET_MAX);
	ck_assert_uint_eq(erf_packet_len(packet, len), len);
	memcpy(packets[n_packets].bytes, packet, len);
	packets[n_packets++].len = len;
	return n_packets != stop_at;
}

static struct mad_capture capture_of(uint8_t mgmt_class, uint8_t method,
				     uint16_t attr_id, size_t size)
{
	size_t i;

	for (i = 0; i < size; i++)
		message[i] = (uint8_t)(i * 7 + i / 256);
	memset(message, 0, MAD_HDR_SIZE + 12);
	message[MAD_BASE_VERSION] = 1;
	message[MAD_CLASS] = mgmt_class;
	message[MAD_CLASS_VERSION] = 2;
	message[MAD_METHOD] = method;
	message[MAD_TID + 7] = 9;
	message[MAD_ATTR_ID] = (uint8_t)(attr_id >> 8);
	message[MAD_ATTR_ID + 1] = (uint8_t)attr_id;
	return (struct mad_capture){
		.data = message, .len = size, .size = size,
		.time_ns = 1764459328187258123, .mono_ns = 5,
		.above_rmpp = true,
		.peer = { .lid = 7, .qpn = 1 },
		.route = { .local_lid = 3, .port_guid = 0x1122334455667788,
			   .sl = 5 },
	};
}

static size_t encode(const struct mad_capture *cap, const struct erf_name *name)
{
	n_packets = 0;
	return erf_encode(cap, name, true, put, packets);
}

static uint32_t host32(const uint8_t *p)
{
	uint32_t n;

	memcpy(&n, p, sizeof(n));
	return n;
}

/* As who reads a file sees it. */
static enum erf_kind decode(size_t i, struct mad_capture *cap,
			    struct erf_note *note)
{
	const uint8_t *p = packets[i].bytes;

	return erf_decode(p + ERF_RECORD_HEADER, host32(p + 8), host32(p + 12),
			  host32(p) * 1000000000ull + host32(p + 4), cap, note);
}

static void check_same(const struct mad_capture *a, const struct mad_capture *b)
{
	ck_assert_uint_eq(a->len, b->len);
	ck_assert_mem_eq(a->data, b->data, a->len);
	ck_assert_uint_eq(a->time_ns, b->time_ns);
	ck_assert_int_eq(a->sent, b->sent);
	ck_assert_int_eq(a->completion, b->completion);
	ck_assert_int_eq(a->sm_key_hidden, b->sm_key_hidden);
	ck_assert_uint_eq(a->peer.lid, b->peer.lid);
	ck_assert_uint_eq(a->peer.qpn, b->peer.qpn);
	ck_assert_int_eq(a->peer.has_gid, b->peer.has_gid);
	ck_assert_mem_eq(a->peer.gid, b->peer.gid, 16);
	ck_assert_uint_eq(a->route.local_lid, b->route.local_lid);
	ck_assert_uint_eq(a->route.sl, b->route.sl);
	ck_assert_uint_eq(a->route.hop_limit, b->route.hop_limit);
	ck_assert_uint_eq(a->route.traffic_class, b->route.traffic_class);
	ck_assert_uint_eq(a->route.flow_label, b->route.flow_label);
	ck_assert_uint_eq(a->lost, b->lost);
}

START_TEST(a_mad_comes_back_as_it_was)
{
	static const uint64_t lost[] = { 0, 1, 65535, 65536, 1ull << 40 };
	struct mad_capture cap = capture_of(CLASS_SUBN_ADM, METHOD_GET,
					    ATTR_PATH_RECORD, MAD_SIZE), got;
	struct erf_note note;

	cap.sent = _i & 1;
	cap.completion = (enum mad_completion)(_i / 2 % 4);
	cap.lost = lost[_i % 5];
	cap.sm_key_hidden = _i & 4;
	if (_i & 8) {
		cap.peer.has_gid = true;
		memset(cap.peer.gid, 0xfe, 16);
		cap.peer.qpn = 0x123456;
		cap.route.hop_limit = 64;
		cap.route.traffic_class = 0xa5;
		cap.route.flow_label = 0xabcde;
	}
	ck_assert_uint_eq(encode(&cap, NULL), 1);
	ck_assert_int_eq(decode(0, &got, &note), ERF_MAD);
	check_same(&got, &cap);
	ck_assert_uint_eq(got.size, MAD_SIZE);
	ck_assert(!note.has_name);
	ck_assert_uint_eq(note.lost, cap.lost);
	if (_i & 8)
		ck_assert_uint_eq(got.route.port_guid, cap.route.port_guid);
}
END_TEST

/* As FIELD_NOTES has it, byte for byte; a plain MAD has no extensions. */
/* What others have captured is written with the headers that it had. */
START_TEST(headers_of_others_stay)
{
	struct mad_capture cap = capture_of(CLASS_SUBN_ADM, METHOD_GET,
					    ATTR_PATH_RECORD, MAD_SIZE), got;
	struct packet was;
	struct erf_note note;
	int i;

	for (i = 0; i < 4; i++) {
		cap.sent = i & 1;
		cap.peer.has_gid = i & 2;
		memset(cap.peer.gid, 0xfe, 16);
		cap.peer.qpn = 1;
		cap.route.is_read = true;
		cap.route.vl = 3;
		cap.route.p_key = 0x1234;
		cap.route.q_key = 0x80010001;
		cap.route.local_qpn = 0x45;
		memset(cap.route.local_gid, 0x2a, 16);
		encode(&cap, NULL);
		was = packets[0];
		ck_assert_int_eq(decode(0, &got, &note), ERF_MAD);
		ck_assert_uint_eq(got.route.p_key, 0x1234);
		ck_assert_uint_eq(got.route.q_key, 0x80010001);
		ck_assert_uint_eq(got.route.vl, 3);
		ck_assert_uint_eq(note.local.qpn, 0x45);
		encode(&got, NULL);
		ck_assert_uint_eq(packets[0].len, was.len);
		ck_assert_mem_eq(packets[0].bytes, was.bytes, was.len);
	}
}
END_TEST

START_TEST(headers_are_where_tshark_looks)
{
	struct mad_capture cap = capture_of(CLASS_SUBN_DIR, METHOD_GET, 0x11,
					    MAD_SIZE);
	const uint8_t *erf = packets[0].bytes + ERF_RECORD_HEADER;
	const uint8_t *lrh = erf + 16;

	cap.sent = true;
	cap.peer.qpn = 0;
	encode(&cap, NULL);
	ck_assert_uint_eq(packets[0].len, 16 + 16 + 8 + 12 + 8 + 256 + 6);
	/* 187258123 ns = 0x2ff025fa / 2^32 s */
	ck_assert_mem_eq(erf, "\xfa\x25\xf0\x2f", 4);
	ck_assert_uint_eq(host32(erf + 4), 1764459328);
	ck_assert_uint_eq(erf[8], 21);
	ck_assert_uint_eq(erf[9], 0x05);
	ck_assert_uint_eq(mad_get16(erf + 10), packets[0].len - 16);
	ck_assert_uint_eq(mad_get16(erf + 14), 8 + 12 + 8 + 256 + 6);
	ck_assert_uint_eq(lrh[0] >> 4, 15);
	ck_assert_uint_eq(lrh[1] & 3, 2);
	ck_assert_uint_eq(mad_get16(lrh + 2), 0xffff);
	ck_assert_uint_eq(mad_get16(lrh + 4), (8 + 12 + 8 + 256 + 4) / 4);
	ck_assert_uint_eq(mad_get16(lrh + 6), 0xffff);
	ck_assert_uint_eq(lrh[8], 0x64);
	ck_assert_uint_eq(mad_get32(lrh + 12) & 0xffffff, 0);
	ck_assert_mem_eq(erf + 16 + 28 + 256, "\0\0\0\0\0\0", 6);
}
END_TEST

/* The sizes around which segments begin, and what is reassembled of them. */
START_TEST(a_message_is_its_segments)
{
	static const size_t sizes[] = {
		56, 57, 255, 256, 257, 455, 456, 457, 656, 4096, MESSAGE_MAX,
	};
	static const uint8_t classes[] = { CLASS_SUBN_ADM, 0x32, CLASS_BIS };
	size_t size = sizes[_i % 11], i;
	struct mad_capture cap = capture_of(classes[_i / 11], 0x92, 0x11,
					    size < 65 ? 65 : size);
	struct rmpp *r = rmpp_new(&(struct rmpp_options){ 0 });
	enum rmpp_result result = RMPP_NONE;
	struct mad_capture segment, whole;
	struct erf_note note;
	uint32_t segments = 0;

	message[RMPP_FLAGS] = RMPP_FLAG_ACTIVE;
	cap.sent = true;
	encode(&cap, NULL);
	for (i = 0; i < n_packets; i++) {
		ck_assert_int_ne(result, RMPP_WHOLE);
		ck_assert_int_eq(decode(i, &segment, &note), ERF_MAD);
		segment.mono_ns = i;
		result = rmpp_put(r, &segment, &whole, &segments);
	}
	ck_assert_int_eq(result, RMPP_WHOLE);
	ck_assert_uint_eq(segments, n_packets);
	ck_assert_uint_eq(whole.size, cap.size);
	ck_assert_mem_eq(whole.data, message, MAD_HDR_SIZE);
	ck_assert_mem_eq(whole.data + RMPP_DATA_OFFSET,
			 message + RMPP_DATA_OFFSET,
			 cap.size - RMPP_DATA_OFFSET);
	rmpp_free(r);
}
END_TEST

START_TEST(who_has_no_rmpp_is_not_cut_up)
{
	struct mad_capture cap = capture_of(CLASS_SUBN_ADM, METHOD_GET,
					    ATTR_PATH_RECORD, 120), got;
	struct erf_note note;

	ck_assert_uint_eq(encode(&cap, NULL), 1);
	ck_assert_int_eq(decode(0, &got, &note), ERF_MAD);
	ck_assert_uint_eq(got.len, MAD_SIZE);
	ck_assert_mem_eq(got.data, message, 120);
	ck_assert_uint_eq(got.data[120], 0);
	ck_assert_uint_eq(got.data[RMPP_TYPE], 0);
	/* a segment is written as it came */
	cap = capture_of(CLASS_SUBN_ADM, 0x92, 0x11, MAD_SIZE);
	cap.above_rmpp = false;
	message[RMPP_FLAGS] = RMPP_FLAG_ACTIVE;
	message[RMPP_SEGMENT + 3] = 77;
	ck_assert_uint_eq(encode(&cap, NULL), 1);
	decode(0, &got, &note);
	ck_assert_mem_eq(got.data, message, MAD_SIZE);
}
END_TEST

/* A message of source kernel, which put it together. */
START_TEST(what_was_put_together_is_cut_up)
{
	struct mad_capture cap = capture_of(CLASS_SUBN_ADM, 0x92, 0x11, 1000);
	struct mad_capture got;
	struct erf_note note;
	size_t i;

	cap.above_rmpp = false;
	message[RMPP_VERSION] = 1;
	message[RMPP_TYPE] = RMPP_DATA;
	message[RMPP_FLAGS] = RMPP_FLAG_ACTIVE | RMPP_FLAG_FIRST;
	message[RMPP_SEGMENT + 3] = 1;
	ck_assert_uint_eq(encode(&cap, NULL), 5);
	for (i = 0; i < 5; i++) {
		ck_assert_int_eq(decode(i, &got, &note), ERF_MAD);
		ck_assert_uint_eq(mad_get32(got.data + RMPP_SEGMENT), i + 1);
		ck_assert_uint_eq(got.data[RMPP_FLAGS],
				  RMPP_FLAG_ACTIVE |
				  (i ? 0 : RMPP_FLAG_FIRST) |
				  (i < 4 ? 0 : RMPP_FLAG_LAST));
	}
}
END_TEST

/* What was cut says so, and is there up to the cut; its packets are whole. */
START_TEST(a_cut_message_has_all_its_segments)
{
	static const size_t lens[] = { 24, 30, 56, 57, 200, 256, 300, 656, 999 };
	size_t len = lens[_i], i, j, left, want;
	struct mad_capture cap = capture_of(CLASS_SUBN_ADM, 0x92, 0x11, 1000);
	struct mad_capture got;
	struct erf_note note;

	cap.len = len;
	ck_assert_uint_eq(encode(&cap, NULL), 5);
	for (i = 0; i < 5; i++) {
		ck_assert_int_eq(decode(i, &got, &note), ERF_MAD);
		ck_assert_uint_eq(got.size, MAD_SIZE);
		ck_assert_uint_eq(mad_get32(got.data + RMPP_SEGMENT), i + 1);
		left = len > 56 + i * 200 ? len - 56 - i * 200 : 0;
		want = len < 36 ? 36 : len < 56 ? len : 56;
		if (len >= 56)
			want += left < 200 ? left : 200;
		ck_assert_uint_eq(got.len, want);
		ck_assert_uint_eq(host32(packets[i].bytes + 8),
				  host32(packets[i].bytes + 12));
		ck_assert_int_eq(packets[i].bytes[ERF_RECORD_HEADER + 9] & 8,
				 want < MAD_SIZE ? 8 : 0);
		for (j = want; j < MAD_SIZE; j++)
			ck_assert_uint_eq(got.data[j], 0);
		if (left)
			ck_assert_mem_eq(got.data + 56, message + 56 + i * 200,
					 want - 56);
	}
}
END_TEST

/* And is put together again, in any order, up to the cut. */
START_TEST(a_cut_message_comes_back)
{
	static const size_t lens[] = { 24, 36, 56, 57, 200, 256, 300, 656, 999 };
	size_t len = lens[_i / 2], i;
	struct mad_capture cap = capture_of(CLASS_SUBN_ADM, 0x92, 0x11, 1000);
	struct rmpp *r = rmpp_new(&(struct rmpp_options){ .keep_cut = true });
	enum rmpp_result result = RMPP_NONE;
	struct mad_capture segment, whole;
	struct erf_note note;
	uint32_t segments = 0;

	cap.sent = true;
	cap.len = len;
	encode(&cap, NULL);
	for (i = 0; i < n_packets; i++) {
		ck_assert_int_ne(result, RMPP_WHOLE);
		ck_assert_int_eq(decode(_i % 2 ? n_packets - 1 - i : i,
					&segment, &note), ERF_MAD);
		result = rmpp_put(r, &segment, &whole, &segments);
	}
	ck_assert_int_eq(result, RMPP_WHOLE);
	ck_assert_uint_eq(segments, 5);
	ck_assert_uint_eq(whole.size, 1000);
	/* of the RMPP header all is known */
	ck_assert_uint_eq(whole.len, len < RMPP_DATA_OFFSET ?
				     RMPP_DATA_OFFSET : len);
	if (len > RMPP_DATA_OFFSET)
		ck_assert_mem_eq(whole.data + RMPP_DATA_OFFSET,
				 message + RMPP_DATA_OFFSET,
				 len - RMPP_DATA_OFFSET);
	rmpp_free(r);
}
END_TEST

START_TEST(names_come_along)
{
	char text[ERF_NAME_MAX];
	struct erf_name name = { 0xfedcba9876543210, text, (size_t)_i };
	struct mad_capture cap = capture_of(CLASS_SUBN_ADM, METHOD_GET, 0x35,
					    1000), got;
	struct erf_note note;

	memset(text, 0xc3, sizeof(text));
	cap.lost = 70000;
	cap.completion = MAD_TIMEOUT;
	encode(&cap, &name);
	ck_assert_int_eq(decode(0, &got, &note), ERF_MAD);
	ck_assert(note.has_name);
	ck_assert_uint_eq(note.name.port_guid, name.port_guid);
	ck_assert_uint_eq(note.name.len, name.len);
	ck_assert_mem_eq(note.name.name, text, name.len);
	ck_assert_int_eq(got.completion, MAD_TIMEOUT);
	ck_assert_uint_eq(got.lost, 70000);
	decode(1, &got, &note);
	ck_assert(!note.has_name);
	ck_assert_uint_eq(got.lost, 0);
}
END_TEST

START_TEST(losses_are_added_in_place)
{
	static const uint64_t adds[] = { 1, 65534, 1, 5, 1ull << 33 };
	struct erf_name name = { 1, "node", 4 };
	struct mad_capture cap = capture_of(CLASS_SUBN_ADM, METHOD_GET, 0x35,
					    MAD_SIZE), got;
	struct erf_note note;
	uint64_t lost = 0;
	size_t i;

	cap.completion = _i & 1 ? MAD_CANCELED : MAD_OK;
	encode(&cap, _i & 2 ? &name : NULL);
	for (i = 0; i < 5; i++) {
		lost += adds[i];
		packets[0].len = erf_add_lost(packets[0].bytes, packets[0].len,
					      adds[i]);
		ck_assert_uint_eq(erf_packet_len(packets[0].bytes,
						 packets[0].len),
				  packets[0].len);
		ck_assert_int_eq(decode(0, &got, &note), ERF_MAD);
		ck_assert_uint_eq(got.lost, lost);
		ck_assert_int_eq(got.completion, cap.completion);
		ck_assert_int_eq(note.has_name, (_i & 2) != 0);
		ck_assert_uint_eq(got.len, MAD_SIZE);
		ck_assert_mem_eq(got.data, message, MAD_SIZE);
	}
}
END_TEST

/* Why OpenSM is silent is found out once, where its state is known. */
START_TEST(the_reason_of_a_silence_comes_along)
{
	struct mad_capture cap = capture_of(CLASS_SUBN_ADM, METHOD_GET, 0x35,
					    MAD_SIZE), got;
	struct erf_note note;

	memset(message + SA_SM_KEY, 0, 8);
	cap.condition.known = true;
	cap.condition.sm_state = _i ? SM_STATE_MASTER : 2;
	encode(&cap, NULL);
	ck_assert_int_eq(decode(0, &got, &note), ERF_MAD);
	ck_assert_int_eq(sa_silence(&got.condition, got.data, got.len),
			 _i ? SA_REASON_NONE : SA_REASON_SM_NOT_MASTER);
	ck_assert_int_eq(got.condition.judged, !_i);
	/* and through a second file */
	encode(&got, NULL);
	decode(0, &got, &note);
	ck_assert_int_eq(got.condition.judged, !_i);
}
END_TEST

static void hide(uint8_t *buf, size_t size, size_t step)
{
	size_t i, n;
	uint8_t head[MESSAGE_MAX];

	memcpy(head, buf, size);
	for (i = 0; i < size; i += n) {
		n = size - i < step ? size - i : step;
		keys_hide(head, size, buf + i, i, n);
	}
}

/* Keys alone are zeroed, in one piece or in many. */
START_TEST(keys_are_hidden)
{
	static const struct {
		uint8_t mgmt_class, method;
		uint16_t attr_id;
		size_t size, places[5], len;
	} rows[] = {
		{ CLASS_SUBN_LID, 1, 0x11, 256, { 24 }, 8 },
		{ CLASS_SUBN_DIR, 2, 0x15, 256, { 24, 64 }, 8 },
		{ CLASS_SUBN_DIR, 0x81, 0x20, 256, { 24, 72 }, 8 },
		{ CLASS_BM, 1, 0x10, 256, { 24, 64 }, 8 },
		{ CLASS_CC, 1, 0x12, 256, { 24, 64 }, 8 },
		{ 0x04, 1, 0x12, 256, { 0 }, 8 },
		{ CLASS_SUBN_ADM, 1, 0x35, 256, { 36 }, 8 },
		{ CLASS_SUBN_ADM, 1, 0x12, 256, { 36, 60 }, 8 },
		{ CLASS_SUBN_ADM, 0x92, 0x12, 600,
		  { 36, 60, 124, 188, 252 }, 8 },
		{ CLASS_SUBN_ADM, 0x81, 0x18, 256, { 36, 68 }, 8 },
		/* ServiceAssociationRecord, 16 bytes of key */
		{ CLASS_SUBN_ADM, 2, 0x3b, 256, { 36, 56, 64 }, 8 },
	};
	struct mad_capture cap = capture_of(rows[_i].mgmt_class,
					    rows[_i].method, rows[_i].attr_id,
					    rows[_i].size);
	uint8_t want[MESSAGE_MAX], got[MESSAGE_MAX];
	size_t steps[] = { 7, 200, MESSAGE_MAX }, i, p;

	/* a record of 64 bytes; there are more than four */
	message[SA_ATTR_OFFSET] = 0;
	message[SA_ATTR_OFFSET + 1] = 8;
	if (rows[_i].mgmt_class != CLASS_SUBN_ADM)
		message[SA_ATTR_OFFSET + 1] = 99;
	memcpy(want, message, cap.size);
	for (i = 0; i < 5 && rows[_i].places[i]; i++)
		memset(want + rows[_i].places[i], 0, rows[_i].len);
	if (i == 5)
		for (p = rows[_i].places[4]; p + 8 <= cap.size; p += 64)
			memset(want + p, 0, 8);
	for (i = 0; i < 3; i++) {
		memcpy(got, message, cap.size);
		hide(got, cap.size, steps[i]);
		ck_assert_mem_eq(got, want, cap.size);
	}
}
END_TEST

START_TEST(keys_of_others)
{
	struct mad_capture cap = capture_of(CLASS_SUBN_ADM, 0x92,
					    ATTR_SERVICE_RECORD, 1000);
	size_t i;

	/* the stride is not known: nothing of the records may be shown */
	message[SA_ATTR_OFFSET] = message[SA_ATTR_OFFSET + 1] = 0;
	keys_hide(message, cap.size, message, 0, cap.size);
	for (i = SA_DATA; i < 1000; i++)
		ck_assert_uint_eq(message[i], 0);
}
END_TEST

/*
 * Nor where records begin in a later segment, as it is on the wire, whatever
 * it says that it is.
 */
START_TEST(keys_in_later_segments)
{
	static const uint8_t types[] = { RMPP_DATA, RMPP_ACK, 0, 5 };
	size_t i;

	capture_of(CLASS_SUBN_ADM, 0x92, ATTR_SERVICE_RECORD, MAD_SIZE);
	message[RMPP_TYPE] = types[_i];
	message[RMPP_FLAGS] = RMPP_FLAG_ACTIVE;
	message[RMPP_SEGMENT + 3] = 2;
	message[SA_ATTR_OFFSET + 1] = 22;
	keys_hide(message, MAD_SIZE, message, 0, MAD_SIZE);
	for (i = SA_DATA; i < MAD_SIZE; i++)
		ck_assert_uint_eq(message[i], 0);
}
END_TEST

/* A trap's number is its class's; `key` is where its details have one. */
START_TEST(keys_in_notices)
{
	static const struct {
		uint8_t mgmt_class, method;
		uint16_t number;
		size_t data, key;	/* 0: none */
	} rows[] = {
		{ CLASS_SUBN_LID, METHOD_TRAP, 256, SMP_DATA, 14 },
		{ CLASS_SUBN_DIR, METHOD_TRAP_REPRESS, 256, SMP_DATA, 14 },
		{ CLASS_SUBN_ADM, METHOD_REPORT, 256, SA_DATA, 14 },
		{ CLASS_SUBN_LID, METHOD_TRAP, 259, SMP_DATA, 0 },
		{ CLASS_SUBN_ADM, METHOD_REPORT, 259, SA_DATA, 0 },
		{ CLASS_BM, METHOD_TRAP, 259, SMP_DATA, 14 },
		{ CLASS_BM, METHOD_REPORT, 259, SMP_DATA, 14 },
		{ CLASS_BM, METHOD_TRAP, 256, SMP_DATA, 0 },
		{ CLASS_CC, METHOD_TRAP, 0, SMP_DATA, 16 },
		{ CLASS_SUBN_ADM, METHOD_REPORT, 0, SA_DATA, 16 },
		{ CLASS_CC, METHOD_TRAP, 256, SMP_DATA, 0 },
		{ CLASS_BM, METHOD_TRAP, 0, SMP_DATA, 0 },
		{ 0x04, METHOD_TRAP, 256, SMP_DATA, 0 },
	};
	const size_t data = rows[_i].data, key = data + 10 + rows[_i].key;
	uint8_t want[MAD_SIZE];

	capture_of(rows[_i].mgmt_class, rows[_i].method, ATTR_NOTICE,
		   MAD_SIZE);
	message[data] = 0x83;
	message[data + 4] = (uint8_t)(rows[_i].number >> 8);
	message[data + 5] = (uint8_t)rows[_i].number;
	memcpy(want, message, MAD_SIZE);
	if (rows[_i].key)
		memset(want + key, 0, 8);
	hide(message, MAD_SIZE, 7);
	/* what lies before has keys of its own */
	ck_assert_mem_eq(message + data, want + data, MAD_SIZE - data);
}
END_TEST

/* The segments of a file without keys tell that there was an SM_Key. */
START_TEST(hidden_keys_leave_a_sign)
{
	struct mad_capture cap = capture_of(CLASS_SUBN_ADM, METHOD_GET, 0x35,
					    MAD_SIZE), got;
	struct erf_note note;

	if (_i)
		memset(message + SA_SM_KEY, 0, 8);
	n_packets = 0;
	erf_encode(&cap, NULL, false, put, packets);
	decode(0, &got, &note);
	ck_assert_int_eq(got.sm_key_hidden, !_i);
	ck_assert_uint_eq(mad_get64(got.data + SA_SM_KEY), 0);
}
END_TEST

START_TEST(putting_can_end)
{
	struct mad_capture cap = capture_of(CLASS_SUBN_ADM, 0x92, 0x11, 1000);

	stop_at = 3;
	ck_assert_uint_eq(encode(&cap, NULL), 2);
	stop_at = 0;
	ck_assert_uint_eq(n_packets, 3);
}
END_TEST

/* Data packets, other records, and what cannot be. */
START_TEST(others_are_no_mads)
{
	struct mad_capture cap = capture_of(CLASS_SUBN_ADM, METHOD_GET, 0x35,
					    MAD_SIZE), got;
	uint8_t *erf = packets[0].bytes + ERF_RECORD_HEADER, *lrh = erf + 16;
	struct erf_note note;
	size_t len, full;

	encode(&cap, NULL);
	full = packets[0].len - ERF_RECORD_HEADER;
	lrh[8] = 0x0a;		/* RC */
	ck_assert_int_eq(decode(0, &got, &note), ERF_OTHER);
	lrh[8] = 0x64;
	lrh[8 + 7] = 2;		/* to QP 2 from QP 3 */
	lrh[8 + 12 + 7] = 3;
	ck_assert_int_eq(decode(0, &got, &note), ERF_OTHER);
	lrh[8 + 7] = 1;
	ck_assert_int_eq(decode(0, &got, &note), ERF_MAD);
	lrh[1] &= 0xfc;		/* raw */
	ck_assert_int_eq(decode(0, &got, &note), ERF_OTHER);
	lrh[1] |= 2;
	erf[8] = 2;		/* Ethernet */
	ck_assert_int_eq(decode(0, &got, &note), ERF_OTHER);
	erf[8] = 21 | 0x80;	/* with extensions to no end */
	memset(lrh, 0x80, full - 16);
	ck_assert_int_eq(decode(0, &got, &note), ERF_BROKEN);
	encode(&cap, NULL);
	for (len = 0; len < full; len++) {
		enum erf_kind kind = erf_decode(erf, len, full, 0, &got, &note);

		if (len < 16)
			ck_assert_int_eq(kind, ERF_BROKEN);
		else if (len < 16 + 28)
			ck_assert_int_eq(kind, ERF_OTHER);
		else
			ck_assert_int_eq(kind, len < 16 + 28 + MAD_HDR_SIZE ?
					 ERF_BROKEN : ERF_MAD);
	}
	/* too short on the wire for a MAD */
	ck_assert_int_eq(erf_decode(erf, 200, 200, 0, &got, &note), ERF_BROKEN);
}
END_TEST

START_TEST(lengths_of_packets)
{
	struct mad_capture cap = capture_of(CLASS_SUBN_ADM, METHOD_GET, 0x35,
					    MAD_SIZE);
	uint8_t *p = packets[0].bytes, header[ERF_FILE_HEADER];

	encode(&cap, NULL);
	ck_assert_uint_eq(erf_packet_len(p, 31), 0);
	ck_assert_uint_eq(erf_packet_len(p, 32), packets[0].len);
	p[16 + 8] = 2;
	ck_assert_uint_eq(erf_packet_len(p, 32), SIZE_MAX);
	encode(&cap, NULL);
	memset(p + 8, 0xff, 4);
	ck_assert_uint_eq(erf_packet_len(p, 32), SIZE_MAX);
	erf_file_header(header);
	ck_assert_uint_eq(host32(header), 0xa1b23c4d);
	ck_assert_uint_eq(host32(header + 20), 197);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("erf");
	TCase *tc = tcase_create("erf");

	tcase_add_loop_test(tc, a_mad_comes_back_as_it_was, 0, 80);
	tcase_add_test(tc, headers_of_others_stay);
	tcase_add_test(tc, headers_are_where_tshark_looks);
	tcase_add_loop_test(tc, a_message_is_its_segments, 0, 33);
	tcase_add_test(tc, who_has_no_rmpp_is_not_cut_up);
	tcase_add_test(tc, what_was_put_together_is_cut_up);
	tcase_add_loop_test(tc, a_cut_message_has_all_its_segments, 0, 9);
	tcase_add_loop_test(tc, a_cut_message_comes_back, 0, 18);
	tcase_add_loop_test(tc, names_come_along, 0, ERF_NAME_MAX + 1);
	tcase_add_loop_test(tc, losses_are_added_in_place, 0, 4);
	tcase_add_loop_test(tc, the_reason_of_a_silence_comes_along, 0, 2);
	tcase_add_loop_test(tc, keys_are_hidden, 0, 11);
	tcase_add_test(tc, keys_of_others);
	tcase_add_loop_test(tc, keys_in_later_segments, 0, 4);
	tcase_add_loop_test(tc, keys_in_notices, 0, 13);
	tcase_add_loop_test(tc, hidden_keys_leave_a_sign, 0, 2);
	tcase_add_test(tc, putting_can_end);
	tcase_add_test(tc, others_are_no_mads);
	tcase_add_test(tc, lengths_of_packets);
	suite_add_tcase(suite, tc);
	return run_suite(suite);
}
