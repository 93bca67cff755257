/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
#include <string.h>

#include "field.h"
#include "keys.h"
#include "layout.h"
#include "trap.h"

enum {
	ATTR_PORT_INFO = 0x0015,
	ATTR_B_KEY_INFO = 0x0010,
	ATTR_CC_KEY_INFO = 0x0012,
	MAD_KEY = 24,		/* of classes that have it behind the header */
	KEY_SIZE = 8,
	ANY = 0,
};

/*
 * Keys of other classes than SA (IBA 14.2.1, 14.2.5.6, 14.2.5.13, 16.2, annex
 * A10). Data lies where it does in an SMP.
 */
static const struct {
	uint8_t mgmt_class;
	uint16_t attr_id;	/* ANY: of the class's header */
	uint16_t offset;
} keys[] = {
	{ CLASS_SUBN_LID, ANY, SMP_M_KEY },
	{ CLASS_SUBN_LID, ATTR_PORT_INFO, SMP_DATA },
	{ CLASS_SUBN_LID, ATTR_SM_INFO, SMP_DATA + 8 },
	{ CLASS_SUBN_DIR, ANY, SMP_M_KEY },
	{ CLASS_SUBN_DIR, ATTR_PORT_INFO, SMP_DATA },
	{ CLASS_SUBN_DIR, ATTR_SM_INFO, SMP_DATA + 8 },
	{ CLASS_BM, ANY, MAD_KEY },
	{ CLASS_BM, ATTR_B_KEY_INFO, SMP_DATA },
	{ CLASS_CC, ANY, MAD_KEY },
	{ CLASS_CC, ATTR_CC_KEY_INFO, SMP_DATA },
};

/* A part of a message; `from` is where in the message it begins. */
struct part {
	uint8_t *bytes;
	size_t from;
	size_t len;
};

static void wipe(const struct part *p, size_t offset, size_t size)
{
	size_t begin = offset > p->from ? offset : p->from;
	size_t end = offset + size < p->from + p->len ? offset + size :
							p->from + p->len;

	if (begin < end)
		memset(p->bytes + begin - p->from, 0, end - begin);
}

/* One field of every record that the part may have to do with. */
static void wipe_field(const struct part *p, const struct sa_field *f,
		       size_t stride)
{
	size_t offset = SA_DATA + f->offset / 8, end = p->from + p->len;

	if (stride && p->from > offset + stride)
		offset += (p->from - offset) / stride * stride - stride;
	for (; offset < end; offset += stride) {
		wipe(p, offset, f->width / 8u);
		if (!stride)
			return;
	}
}

static bool is_table(uint8_t method)
{
	return (method & METHOD_RESPONSE) &&
	       method != (METHOD_GET | METHOD_RESPONSE) &&
	       method != (METHOD_DELETE | METHOD_RESPONSE);
}

/*
 * A segment of a message that nobody put together, with the header as it is on
 * the wire: where records begin in it is not known.
 */
static bool is_later_segment(const uint8_t *head, size_t head_len)
{
	return head_len >= RMPP_SEGMENT + 4 &&
	       head[RMPP_FLAGS] & RMPP_FLAG_ACTIVE &&
	       mad_get32(head + RMPP_SEGMENT) > 1;
}

static void hide_sa(const uint8_t *head, size_t head_len, const struct part *p)
{
	const struct sa_attribute *attr =
		sa_attribute_find(mad_get16(head + MAD_ATTR_ID));
	size_t i, stride = 0;

	wipe(p, SA_SM_KEY, KEY_SIZE);
	for (i = 0; attr && i < attr->n_fields; i++) {
		if (attr->fields[i].kind != FIELD_KEY)
			continue;
		if (is_later_segment(head, head_len))
			wipe(p, SA_DATA, SIZE_MAX - SA_DATA);
		if (is_table(head[MAD_METHOD])) {
			if (head_len >= SA_ATTR_OFFSET + 2)
				stride = 8u * mad_get16(head + SA_ATTR_OFFSET);
			/* nobody knows where the records lie */
			if (stride < attr->fields[i].width / 8u)
				wipe(p, SA_DATA, SIZE_MAX - SA_DATA);
		}
		wipe_field(p, &attr->fields[i], stride);
	}
}

static void hide_notice(const uint8_t *head, size_t head_len,
			const struct part *p)
{
	size_t data = head[MAD_CLASS] == CLASS_SUBN_ADM ? SA_DATA : SMP_DATA;
	size_t offset, size;

	if (head_len > data &&
	    trap_key(head[MAD_CLASS], head + data, head_len - data, &offset,
		     &size))
		wipe(p, data + offset, size);
}

void keys_hide(const uint8_t *head, size_t head_len, uint8_t *part, size_t from,
	       size_t len)
{
	const struct part p = { part, from, len };
	uint16_t attr_id = mad_get16(head + MAD_ATTR_ID);
	size_t i;

	if (head[MAD_CLASS] == CLASS_SUBN_ADM)
		hide_sa(head, head_len, &p);
	else
		for (i = 0; i < sizeof(keys) / sizeof(keys[0]); i++)
			if (keys[i].mgmt_class == head[MAD_CLASS] &&
			    (keys[i].attr_id == ANY ||
			     keys[i].attr_id == attr_id))
				wipe(&p, keys[i].offset, KEY_SIZE);
	if (attr_id == ATTR_NOTICE)
		hide_notice(head, head_len, &p);
}
