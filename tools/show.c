/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
#include <string.h>

#include <infiniband/mad.h>

#include "attributes.h"
#include "field.h"
#include "header.h"
#include "layout.h"
#include "names.h"
#include "show.h"
#include "trap.h"

enum {
	LINE_WIDTH = 79,
	HEX_BYTES = 16,		/* a line */
	FIELD_MAX = 512,	/* bytes of one as words */
	DUMP_MAX = 8192,
};

/*
 * Data that libibmad describes, which begins where it does in an SMP. What it
 * takes for text goes through words_text() as all does.
 */
static const struct {
	uint8_t mgmt_class;	/* of SMPs the LID routed one */
	uint16_t attr_id;
	ib_mad_dump_fn *dump;
	uint8_t size;		/* what it wants to be told */
} dumps[] = {
	{ CLASS_SUBN_LID, 0x0011, mad_dump_nodeinfo, 64 },
	{ CLASS_SUBN_LID, 0x0012, mad_dump_switchinfo, 64 },
	{ CLASS_SUBN_LID, 0x0015, mad_dump_portinfo, 64 },
	{ CLASS_SUBN_LID, 0x0017, mad_dump_sltovl, 16 },
	{ CLASS_SUBN_LID, 0x0018, mad_dump_vlarbitration, 64 },
	{ 0x04, 0x0001, mad_dump_classportinfo, 72 },
	{ 0x04, 0x0010, mad_dump_portsamples_control, 192 },
	{ 0x04, 0x0011, mad_dump_portsamples_result, 192 },
	{ 0x04, 0x0012, mad_dump_perfcounters, 192 },
	{ 0x04, 0x0015, mad_dump_perfcounters_rcv_err, 192 },
	{ 0x04, 0x0016, mad_dump_perfcounters_xmt_disc, 192 },
	{ 0x04, 0x001d, mad_dump_perfcounters_ext, 192 },
	{ 0x04, 0x0036, mad_dump_perfcounters_xmt_sl, 192 },
	{ 0x04, 0x0037, mad_dump_perfcounters_rcv_sl, 192 },
};

enum { ATTR_NODE_DESCRIPTION = 0x0010 };

static const struct sa_field node_description = {
	"node_description", 0, FIELD_TEXT, 0, SMP_DATA_SIZE * 8,
};

/*
 * Paragraphs: words that go on, indented, on the next line
 */

struct paragraph {
	FILE *out;
	size_t column;
};

static struct paragraph begin(FILE *out, const char *title, unsigned number)
{
	struct paragraph p = { .out = out };

	p.column = (size_t)(number ?
		fprintf(out, "    %s %u:", title, number) :
		fprintf(out, "    %s:", title));
	return p;
}

static void add_text(struct paragraph *p, const char *text)
{
	size_t len = strlen(text);

	if (p->column + 1 + len > LINE_WIDTH) {
		fputs("\n       ", p->out);
		p->column = 7;
	}
	putc(' ', p->out);
	fwrite(text, 1, len, p->out);
	p->column += 1 + len;
}

static void end(const struct paragraph *p)
{
	putc('\n', p->out);
}

static void add_field(struct paragraph *p, const struct sa_field *f,
		      const uint8_t *bytes, size_t len)
{
	char text[FIELD_MAX];
	struct words w;

	words_init(&w, text, sizeof(text));
	field_words(&w, f, bytes, len, true);
	add_text(p, text);
}

/* A value of two components is one field. */
static void add_fields(struct paragraph *p, const struct sa_field *fields,
		       size_t n, const uint8_t *bytes, size_t len)
{
	size_t i;

	for (i = 0; i < n; i++)
		if (!i || strcmp(fields[i].name, fields[i - 1].name))
			add_field(p, &fields[i], bytes, len);
}

/*
 * Bytes
 */

/* As tcpdump -x writes them. */
static void show_hex(FILE *out, const uint8_t *bytes, size_t len)
{
	size_t i;

	for (i = 0; i < len; i++) {
		if (i % HEX_BYTES == 0)
			fprintf(out, "\t0x%04zx: ", i);
		fprintf(out, i % 2 ? "%02x" : " %02x", bytes[i]);
		if (i % HEX_BYTES == HEX_BYTES - 1 || i + 1 == len)
			putc('\n', out);
	}
}

static void show_part(const struct show *s, const char *title,
		      const uint8_t *mad, size_t len)
{
	if (!mad || !s->hex)
		return;
	if (title)
		fprintf(s->out, "    %s, %zu bytes:\n", title, len);
	show_hex(s->out, mad, len);
}

static void show_bytes(const struct show *s, const struct record *r)
{
	switch (r->type) {
	case RECORD_SA:
		show_part(s, "request", r->sa.mad, r->sa.len);
		show_part(s, "response", r->sa.answer, r->sa.answer_len);
		break;
	case RECORD_MAD:
	case RECORD_SEND_ERROR:
		show_part(s, NULL, r->mad.capture->data, r->mad.capture->len);
		break;
	case RECORD_TRAP:
		show_part(s, NULL, r->trap.mad, r->trap.mad_len);
		break;
	default:
		break;
	}
}

/*
 * Fields
 */

static void show_headers(const struct show *s, const char *title,
			 const uint8_t *mad, size_t len)
{
	struct header headers[HEADERS_MAX];
	size_t i, n = mad_headers(mad[MAD_CLASS], headers);
	struct paragraph p = begin(s->out, title, 0);

	for (i = 0; i < n; i++)
		add_fields(&p, headers[i].fields, headers[i].n_fields, mad,
			   len);
	end(&p);
}

static void show_notice(const struct show *s, const uint8_t *notice,
			size_t len)
{
	struct paragraph p = begin(s->out, "notice", 0);
	char text[RECORD_LINE_MAX], *word, *rest = text;

	trap_text(text, sizeof(text), notice, len, true);
	while ((word = strsep(&rest, " ")))
		add_text(&p, word);
	end(&p);
}

static void show_sa_record(const struct show *s, uint16_t attr_id,
			   const char *title, unsigned number,
			   const uint8_t *rec, size_t len)
{
	const struct sa_attribute *attr = sa_attribute_find(attr_id);
	struct paragraph p;

	if (attr_id == ATTR_NOTICE) {
		show_notice(s, rec, len < NOTICE_SIZE ? len : NOTICE_SIZE);
		return;
	}
	p = begin(s->out, title, number);
	if (attr)
		add_fields(&p, attr->fields, attr->n_fields, rec, len);
	end(&p);
	if (!attr || !attr->n_fields)
		show_hex(s->out, rec, len);
}

/* Every record of an answer; what is behind a cut is not there. */
static void show_records(const struct show *s, const uint8_t *mad, size_t len,
			 uint32_t records)
{
	uint16_t attr_id = mad_get16(mad + MAD_ATTR_ID);
	size_t stride = len - SA_DATA, at = SA_DATA;
	uint32_t i;

	if (mad_is_table_method(mad[MAD_METHOD]))
		stride = 8u * mad_get16(mad + SA_ATTR_OFFSET);
	for (i = 0; i < records && at < len && stride; i++, at += stride)
		show_sa_record(s, attr_id, "record", i + 1, mad + at,
			       len - at < stride ? len - at : stride);
}

static void show_sa(const struct show *s, const struct sa_record *sa)
{
	show_headers(s, "request", sa->mad, sa->len);
	if (!sa->answer)
		return;
	show_headers(s, "response", sa->answer, sa->answer_len);
	if (sa->answer_len > SA_DATA)
		show_records(s, sa->answer, sa->answer_len, sa->records);
}

/*
 * libibmad complains on standard error of a width that it does not know, as a
 * port that is down may have: it gets one that it knows, and we the other one.
 */
static uint32_t take_width(uint8_t *data)
{
	uint32_t width = mad_get_field(data, 0, IB_PORT_LINK_WIDTH_ACTIVE_F);

	if (width == 1 || width == 2 || width == 4 || width == 8 ||
	    width == 16)
		return UINT32_MAX;
	mad_set_field(data, 0, IB_PORT_LINK_WIDTH_ACTIVE_F, 1);
	return width;
}

/* "LinkWidthActive:.................1X", with the width that it has. */
static bool show_width(const struct show *s, const char *line, uint32_t width)
{
	static const char name[] = "LinkWidthActive:";
	size_t len = sizeof(name) - 1;

	if (width == UINT32_MAX || strncmp(line, name, len))
		return false;
	len += strspn(line + len, ".");
	fprintf(s->out, "    %.*s%u\n", (int)len, line, width);
	return true;
}

/* Each line that libibmad writes: "NodeType:....Channel Adapter". */
static void show_dump(const struct show *s, ib_mad_dump_fn *dump,
		      uint8_t *data, int size)
{
	char text[DUMP_MAX] = "", line[FIELD_MAX], *next, *tab, *at = text;
	uint32_t width = dump == mad_dump_portinfo ? take_width(data) :
						     UINT32_MAX;
	struct words w;

	dump(text, sizeof(text), data, size);
	while ((next = strsep(&at, "\n"))) {
		if (!*next)
			continue;
		for (tab = next; (tab = strchr(tab, '\t')); )
			*tab = ' ';
		words_init(&w, line, sizeof(line));
		words_text(&w, next, strlen(next), false);
		if (!show_width(s, line, width))
			fprintf(s->out, "    %s\n", line);
	}
}

static void show_data(const struct show *s, const uint8_t *mad, size_t len)
{
	uint8_t mgmt_class = mad[MAD_CLASS], data[MAD_SIZE - SMP_DATA] = { 0 };
	uint16_t attr_id = mad_get16(mad + MAD_ATTR_ID);
	struct paragraph p;
	size_t i, n;

	/* the data of an SMP that asks says nothing */
	if (len <= SMP_DATA ||
	    (mad_is_smp(mgmt_class) && mad[MAD_METHOD] == METHOD_GET))
		return;
	n = len - SMP_DATA < sizeof(data) ? len - SMP_DATA : sizeof(data);
	if (mad_is_smp(mgmt_class)) {
		mgmt_class = CLASS_SUBN_LID;
		n = n < SMP_DATA_SIZE ? n : SMP_DATA_SIZE;
	}
	memcpy(data, mad + SMP_DATA, n);
	if (mgmt_class == CLASS_SUBN_LID && attr_id == ATTR_NOTICE) {
		show_notice(s, data, n);
		return;
	}
	if (mgmt_class == CLASS_SUBN_LID && attr_id == ATTR_NODE_DESCRIPTION) {
		p = begin(s->out, "data", 0);
		add_field(&p, &node_description, data, n);
		end(&p);
		return;
	}
	for (i = 0; i < sizeof(dumps) / sizeof(dumps[0]); i++) {
		/* what was cut off is not to be shown as zero */
		if (dumps[i].mgmt_class != mgmt_class ||
		    dumps[i].attr_id != attr_id || n < dumps[i].size)
			continue;
		show_dump(s, dumps[i].dump, data, dumps[i].size);
		return;
	}
	if (s->hex)	/* it is in there */
		return;
	fputs("    data:\n", s->out);
	show_hex(s->out, data, n);
}

static void show_mad(const struct show *s, const uint8_t *mad, size_t len)
{
	show_headers(s, "header", mad, len);
	if (mad[MAD_CLASS] != CLASS_SUBN_ADM)
		show_data(s, mad, len);
	else if (len > SA_DATA)
		show_sa_record(s, mad_get16(mad + MAD_ATTR_ID), "data", 0,
			       mad + SA_DATA, len - SA_DATA);
}

static void show_fields(const struct show *s, const struct record *r)
{
	switch (r->type) {
	case RECORD_SA:
		show_sa(s, &r->sa);
		break;
	case RECORD_MAD:
	case RECORD_SEND_ERROR:
		show_mad(s, r->mad.capture->data, r->mad.capture->len);
		break;
	case RECORD_TRAP:
		if (r->trap.mad)
			show_mad(s, r->trap.mad, r->trap.mad_len);
		break;
	default:
		break;
	}
}

/*
 * Lines
 */

static void show_json(struct show *s, const struct record *r)
{
	char json[RECORD_JSON_MAX];
	size_t len = record_json(r, json, sizeof(json));

	/* those that may not fit are the plugin's own */
	if (len)
		fprintf(s->out, "{\"seq\":%llu,%.*s}\n",
			(unsigned long long)++s->seq, (int)len, json);
}

static const char *colour_of(const struct record *r)
{
	switch (r->type) {
	case RECORD_SA:
		if (r->sa.outcome != SA_ANSWERED)
			return "\033[31m";
		return r->sa.status ? "\033[33m" : NULL;
	case RECORD_SEND_ERROR:
	case RECORD_LOSS:
		return "\033[31m";
	case RECORD_TRAP:
		return "\033[36m";
	default:
		return NULL;
	}
}

static void show_time(struct show *s, uint64_t time_ns)
{
	const time_t second = (time_t)(time_ns / 1000000000);
	struct tm tm;

	if (second != s->second || !*s->clock) {
		s->second = second;
		if (!localtime_r(&second, &tm) ||
		    !strftime(s->clock, sizeof(s->clock), "%T", &tm))
			strcpy(s->clock, "--:--:--");
	}
	fprintf(s->out, "%s.%06u ", s->clock,
		(unsigned)(time_ns % 1000000000 / 1000));
}

static void show_line(struct show *s, const struct record *r)
{
	const char *colour = s->colour ? colour_of(r) : NULL;
	char line[RECORD_LINE_MAX];

	if (s->quiet)
		record_brief(r, line, sizeof(line));
	else
		record_line(r, line, sizeof(line));
	show_time(s, r->time_ns);
	if (colour)
		fprintf(s->out, "%s%s\033[0m\n", colour, line);
	else
		fprintf(s->out, "%s\n", line);
}

static void drop_names(struct record *r)
{
	switch (r->type) {
	case RECORD_SA:
		r->sa.requester.name = NULL;
		break;
	case RECORD_MAD:
	case RECORD_SEND_ERROR:
		r->mad.peer.name = NULL;
		break;
	case RECORD_TRAP:
		r->trap.from.name = NULL;
		break;
	default:
		break;
	}
}

void show_record(struct show *s, const struct record *record)
{
	struct record r = *record;

	if (s->no_names)
		drop_names(&r);
	if (s->json) {
		show_json(s, &r);
		return;
	}
	show_line(s, &r);
	if (s->verbose)
		show_fields(s, &r);
	show_bytes(s, &r);
}
