/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * The rules of the snoop filter, from the manual page of
 * umad_register_snoop(3) (linux-rdma, October 2010, Sean Hefty), one row each:
 * which MAD passes which filter. umad_filter_match and each source are held
 * against the same table.
 */
#ifndef OSMSNOOP_TEST_FILTER_ROWS_H
#define OSMSNOOP_TEST_FILTER_ROWS_H

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <iba/ib_types.h>

#include <infiniband/umad_snoop.h>

#include "layout.h"

enum { LEN = MAD_SIZE };

#define RECV false
#define SENT true
/* ibv_wc_status, below the vendor layer */
#define WC_RETRY_EXC 12
#define WC_FLUSH 5

/* The MAD of a row, and everything else of it. */
struct mad {
	uint8_t mgmt_class;
	uint8_t version;
	uint16_t attr_id;
	uint16_t status;
	uint8_t oui[3];
};

struct row {
	const char *rule;
	umad_filter_t filter;
	struct mad mad;
	size_t len;
	bool sent;
	int completion;
	bool passes;
};

#define ANY { 0 }
#define CLASS(c) { .mgmt_class = (c) }
#define CLASS_VERSION(c, v) { .mgmt_class = (c), .mgmt_version = (v) }
#define ATTR(c, a) { .mgmt_class = (c), .attr_id = (a) }
#define ERRORS(c) { .mgmt_class = (c), .errors = 1 }
#define OUI(c, x, y, z) { .mgmt_class = (c), .oui = { x, y, z } }
#define SA(a, s) { CLASS_SUBN_ADM, 2, (a), (s), { 0 } }
#define MAD(c) { (c), 1, 0x0011, 0, { 0 } }
#define STATUS(c, s) { (c), 1, 0x0011, (s), { 0 } }
#define VENDOR(c, x, y, z) { (c), 1, 0x0011, 0, { x, y, z } }

static const struct row rows[] = {
	/* what is no MAD */
	{ "no byte", ANY, SA(0x35, 0), 0, RECV, 0, false },
	{ "one byte", ANY, SA(0x35, 0), 1, RECV, 0, false },
	{ "23 bytes, class 0", ANY, SA(0x35, 0), 23, RECV, 0, false },
	{ "23 bytes, sent", ANY, SA(0x35, 0), 23, SENT, 0, false },
	{ "23 bytes, class", CLASS(3), SA(0x35, 0), 23, RECV, 0, false },
	{ "23 bytes, attribute", ATTR(3, 0x35), SA(0x35, 0), 23, RECV, 0,
	  false },
	{ "23 bytes, errors", ERRORS(3), SA(0x35, 1), 23, RECV, 0, false },
	{ "24 bytes, class 0", ANY, SA(0x35, 0), 24, RECV, 0, true },
	{ "24 bytes, every restriction of the header",
	  { 3, 2, 0x35, 1, { 0 } }, SA(0x35, 1), 24, RECV, 0, true },
	{ "24 bytes, sent, errors", ERRORS(3), SA(0x35, 0), 24, SENT,
	  IB_TIMEOUT, true },
	{ "OUI: 24 bytes hold none", OUI(0x30, 0, 0x12, 0x34),
	  VENDOR(0x30, 0, 0x12, 0x34), 24, RECV, 0, false },
	{ "OUI: 37 bytes hold none", OUI(0x30, 0, 0x12, 0x34),
	  VENDOR(0x30, 0, 0x12, 0x34), 37, RECV, 0, false },
	{ "OUI: 39 bytes hold two thirds", OUI(0x30, 0, 0x12, 0x34),
	  VENDOR(0x30, 0, 0x12, 0x34), 39, RECV, 0, false },
	{ "OUI: 40 bytes hold it", OUI(0x30, 0, 0x12, 0x34),
	  VENDOR(0x30, 0, 0x12, 0x34), 40, RECV, 0, true },
	{ "no OUI wanted: 24 bytes are enough", CLASS(0x30),
	  VENDOR(0x30, 0, 0x12, 0x34), 24, RECV, 0, true },
	{ "OUI ignored: 24 bytes are enough", OUI(3, 0, 0x12, 0x34),
	  SA(0x35, 0), 24, RECV, 0, true },
	{ "longer than a MAD", CLASS(3), SA(0x35, 0), 62328, SENT, 0, true },

	/* class 0: all on QP1, and QP0 has the two subnet classes alone */
	{ "class 0: SA", ANY, SA(0x35, 0), LEN, RECV, 0, true },
	{ "class 0: SA, sent", ANY, SA(0x35, 0), LEN, SENT, 0, true },
	{ "class 0: PM", ANY, MAD(0x04), LEN, RECV, 0, true },
	{ "class 0: BM", ANY, MAD(0x05), LEN, RECV, 0, true },
	{ "class 0: CM", ANY, MAD(0x07), LEN, RECV, 0, true },
	{ "class 0: vendor range 1", ANY, MAD(0x09), LEN, RECV, 0, true },
	{ "class 0: vendor range 2", ANY, MAD(0x30), LEN, RECV, 0, true },
	{ "class 0: unknown", ANY, MAD(0xff), LEN, RECV, 0, true },
	{ "class 0: class 0 in the MAD", ANY, MAD(0x00), LEN, RECV, 0, true },
	{ "class 0: neighbour of 0x81", ANY, MAD(0x80), LEN, RECV, 0, true },
	{ "class 0: neighbour of 0x01", ANY, MAD(0x02), LEN, RECV, 0, true },
	{ "class 0: no SMP by LID", ANY, MAD(0x01), LEN, RECV, 0, false },
	{ "class 0: no SMP by LID, sent", ANY, MAD(0x01), LEN, SENT, 0, false },
	{ "class 0: no directed route", ANY, MAD(0x81), LEN, RECV, 0, false },
	{ "class 0: no directed route, sent", ANY, MAD(0x81), LEN, SENT, 0,
	  false },
	{ "class 0: no SMP, not even a failed one", ERRORS(0), MAD(0x81), LEN,
	  SENT, IB_TIMEOUT, false },
	{ "class 0 ignores the version", CLASS_VERSION(0, 9), SA(0x35, 0), LEN, RECV,
	  0, true },
	{ "class 0 ignores the attribute", ATTR(0, 0x99), SA(0x35, 0), LEN,
	  RECV, 0, true },
	{ "class 0 ignores the OUI", OUI(0, 1, 2, 3),
	  VENDOR(0x30, 0, 0x12, 0x34), LEN, RECV, 0, true },
	{ "class 0 heeds errors", ERRORS(0), SA(0x35, 0), LEN, RECV, 0, false },
	{ "class 0 heeds errors: one", ERRORS(0), SA(0x35, 0x300), LEN, RECV, 0,
	  true },

	/* a class */
	{ "class: SA", CLASS(3), SA(0x35, 0), LEN, RECV, 0, true },
	{ "class: another", CLASS(4), SA(0x35, 0), LEN, RECV, 0, false },
	{ "class: SMP by LID", CLASS(1), MAD(0x01), LEN, RECV, 0, true },
	{ "class: directed route", CLASS(0x81), MAD(0x81), LEN, SENT, 0, true },
	{ "class: 0x01 is not 0x81", CLASS(1), MAD(0x81), LEN, RECV, 0, false },
	{ "class: 0x81 is not 0x01", CLASS(0x81), MAD(0x01), LEN, RECV, 0,
	  false },

	/* its version */
	{ "version: the same", CLASS_VERSION(3, 2), SA(0x35, 0), LEN, RECV, 0, true },
	{ "version: another", CLASS_VERSION(3, 1), SA(0x35, 0), LEN, RECV, 0, false },
	{ "version 0: any", CLASS_VERSION(3, 0), SA(0x35, 0), LEN, RECV, 0, true },
	{ "version: not without the class", CLASS_VERSION(4, 2), SA(0x35, 0), LEN,
	  RECV, 0, false },

	/* its attribute, in host byte order */
	{ "attribute: the same", ATTR(3, 0x35), SA(0x35, 0), LEN, RECV, 0,
	  true },
	{ "attribute: another", ATTR(3, 0x38), SA(0x35, 0), LEN, RECV, 0,
	  false },
	{ "attribute: host order", ATTR(3, 0xff12), SA(0xff12, 0), LEN, SENT, 0,
	  true },
	{ "attribute: not network order", ATTR(3, 0x12ff), SA(0xff12, 0), LEN,
	  SENT, 0, false },
	{ "attribute: both bytes count", ATTR(3, 0x0035), SA(0x0135, 0), LEN,
	  RECV, 0, false },
	{ "attribute 0: any", ATTR(3, 0), SA(0xff12, 0), LEN, RECV, 0, true },

	/* OUI, classes 0x30 to 0x4f */
	{ "OUI: the same", OUI(0x30, 0, 0x12, 0x34),
	  VENDOR(0x30, 0, 0x12, 0x34), LEN, RECV, 0, true },
	{ "OUI: first byte", OUI(0x30, 1, 0x12, 0x34),
	  VENDOR(0x30, 0, 0x12, 0x34), LEN, RECV, 0, false },
	{ "OUI: second byte", OUI(0x30, 0, 0x13, 0x34),
	  VENDOR(0x30, 0, 0x12, 0x34), LEN, RECV, 0, false },
	{ "OUI: third byte", OUI(0x30, 0, 0x12, 0x35),
	  VENDOR(0x30, 0, 0x12, 0x34), LEN, RECV, 0, false },
	{ "OUI: order of the wire", OUI(0x30, 0x34, 0x12, 0),
	  VENDOR(0x30, 0, 0x12, 0x34), LEN, RECV, 0, false },
	{ "OUI: only the last byte set", OUI(0x30, 0, 0, 1),
	  VENDOR(0x30, 0, 0, 2), LEN, RECV, 0, false },
	{ "OUI 0: any", OUI(0x30, 0, 0, 0), VENDOR(0x30, 0, 0x12, 0x34), LEN,
	  RECV, 0, true },
	{ "OUI: class 0x4f heeds it", OUI(0x4f, 1, 2, 3), VENDOR(0x4f, 1, 2, 4),
	  LEN, RECV, 0, false },
	{ "OUI: class 0x4f, the same", OUI(0x4f, 1, 2, 3),
	  VENDOR(0x4f, 1, 2, 3), LEN, SENT, 0, true },
	{ "OUI: class 0x2f ignores it", OUI(0x2f, 1, 2, 3),
	  VENDOR(0x2f, 4, 5, 6), LEN, RECV, 0, true },
	{ "OUI: class 0x50 ignores it", OUI(0x50, 1, 2, 3),
	  VENDOR(0x50, 4, 5, 6), LEN, RECV, 0, true },
	{ "OUI: range 1 ignores it", OUI(0x0a, 1, 2, 3),
	  VENDOR(0x0a, 4, 5, 6), LEN, RECV, 0, true },

	/* errors of what was received: its status */
	{ "errors, received: status 0", ERRORS(3), SA(0x35, 0), LEN, RECV, 0,
	  false },
	{ "errors, received: low byte", ERRORS(3), SA(0x35, 0x0001), LEN, RECV,
	  0, true },
	{ "errors, received: high byte", ERRORS(3), SA(0x35, 0x0300), LEN, RECV,
	  0, true },
	{ "errors, received: completion is nothing", ERRORS(3), SA(0x35, 0),
	  LEN, RECV, IB_ERROR, false },
	{ "errors, received: cancelled is nothing", ERRORS(3), SA(0x35, 0x0300),
	  LEN, RECV, IB_CANCELED, true },
	{ "errors, received: direction bit is no error", ERRORS(0x81),
	  STATUS(0x81, 0x8000), LEN, RECV, 0, false },
	{ "errors, received: status beside the direction bit", ERRORS(0x81),
	  STATUS(0x81, 0x801c), LEN, RECV, 0, true },
	{ "errors, received: directed route, outbound", ERRORS(0x81),
	  STATUS(0x81, 0x001c), LEN, RECV, 0, true },
	{ "errors, received: bit 15 is an error in class 1", ERRORS(1),
	  STATUS(0x01, 0x8000), LEN, RECV, 0, true },
	{ "errors, received: bit 15 is an error in class 3", ERRORS(3),
	  SA(0x35, 0x8000), LEN, RECV, 0, true },
	{ "errors: any value but 0", { .mgmt_class = 3, .errors = 0x80 },
	  SA(0x35, 0), LEN, RECV, 0, false },
	{ "no errors wanted: a status passes", CLASS(3), SA(0x35, 0x0300), LEN,
	  RECV, 0, true },

	/* errors of what was sent: its completion */
	{ "errors, sent: success", ERRORS(3), SA(0x35, 0), LEN, SENT,
	  IB_SUCCESS, false },
	{ "errors, sent: success, with a status", ERRORS(3), SA(0x35, 0x0300),
	  LEN, SENT, IB_SUCCESS, false },
	{ "errors, sent: time-out", ERRORS(3), SA(0x35, 0), LEN, SENT,
	  IB_TIMEOUT, true },
	{ "errors, sent: time-out, with a status", ERRORS(3), SA(0x35, 0x0300),
	  LEN, SENT, IB_TIMEOUT, true },
	{ "errors, sent: error", ERRORS(3), SA(0x35, 0), LEN, SENT, IB_ERROR,
	  true },
	{ "errors, sent: no resources", ERRORS(3), SA(0x35, 0), LEN, SENT,
	  IB_INSUFFICIENT_RESOURCES, true },
	{ "errors, sent: errno of the kernel", ERRORS(3), SA(0x35, 0), LEN,
	  SENT, ETIMEDOUT, true },
	{ "errors, sent: retries exceeded", ERRORS(3), SA(0x35, 0), LEN, SENT,
	  WC_RETRY_EXC, true },
	{ "errors, sent: IB_CANCELED", ERRORS(3), SA(0x35, 0), LEN, SENT,
	  IB_CANCELED, false },
	{ "errors, sent: ECANCELED", ERRORS(3), SA(0x35, 0), LEN, SENT,
	  ECANCELED, false },
	{ "errors, sent: flushed", ERRORS(3), SA(0x35, 0), LEN, SENT, WC_FLUSH,
	  false },
	{ "errors, sent: cancelled, with a status", ERRORS(3), SA(0x35, 0x0300),
	  LEN, SENT, IB_CANCELED, false },
	{ "errors, sent: directed route, time-out", ERRORS(0x81),
	  STATUS(0x81, 0), LEN, SENT, IB_TIMEOUT, true },
	{ "no errors wanted: a failure passes", CLASS(3), SA(0x35, 0), LEN,
	  SENT, IB_TIMEOUT, true },
	{ "no errors wanted: a cancelled one passes", CLASS(3), SA(0x35, 0),
	  LEN, SENT, IB_CANCELED, true },

	/* every restriction has to be met */
	{ "all", { 0x32, 1, 0x11, 1, { 1, 2, 3 } },
	  { 0x32, 1, 0x11, 0x0c, { 1, 2, 3 } }, LEN, RECV, 0, true },
	{ "all but the class", { 0x33, 1, 0x11, 1, { 1, 2, 3 } },
	  { 0x32, 1, 0x11, 0x0c, { 1, 2, 3 } }, LEN, RECV, 0, false },
	{ "all but the version", { 0x32, 2, 0x11, 1, { 1, 2, 3 } },
	  { 0x32, 1, 0x11, 0x0c, { 1, 2, 3 } }, LEN, RECV, 0, false },
	{ "all but the attribute", { 0x32, 1, 0x12, 1, { 1, 2, 3 } },
	  { 0x32, 1, 0x11, 0x0c, { 1, 2, 3 } }, LEN, RECV, 0, false },
	{ "all but the error", { 0x32, 1, 0x11, 1, { 1, 2, 3 } },
	  { 0x32, 1, 0x11, 0, { 1, 2, 3 } }, LEN, RECV, 0, false },
	{ "all but the OUI", { 0x32, 1, 0x11, 1, { 1, 2, 4 } },
	  { 0x32, 1, 0x11, 0x0c, { 1, 2, 3 } }, LEN, RECV, 0, false },
};

enum { N_ROWS = sizeof(rows) / sizeof(rows[0]) };
_Static_assert(N_ROWS >= 60, "a row for every rule");

/* The MAD of a row, in just its bytes: a sanitizer sees one that is too many. */
static inline uint8_t *row_mad(const struct row *row)
{
	uint8_t whole[MAD_SIZE] = { [0] = 1 };
	uint8_t *mad = calloc(1, row->len ? row->len : 1);

	whole[MAD_CLASS] = row->mad.mgmt_class;
	whole[MAD_CLASS_VERSION] = row->mad.version;
	whole[MAD_STATUS] = (uint8_t)(row->mad.status >> 8);
	whole[MAD_STATUS + 1] = (uint8_t)row->mad.status;
	whole[MAD_ATTR_ID] = (uint8_t)(row->mad.attr_id >> 8);
	whole[MAD_ATTR_ID + 1] = (uint8_t)row->mad.attr_id;
	memcpy(whole + VENDOR_OUI, row->mad.oui, 3);
	memcpy(mad, whole, row->len < MAD_SIZE ? row->len : MAD_SIZE);
	return mad;
}

#endif /* OSMSNOOP_TEST_FILTER_ROWS_H */
