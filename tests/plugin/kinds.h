/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * The formats of files, and what the tests of file, journal and writer ask of
 * each: a record to put, and what a file has. A test runs for all of them.
 */
#ifndef OSMSNOOP_TEST_KINDS_H
#define OSMSNOOP_TEST_KINDS_H

#include "disk.h"
#include "erf.h"
#include "file.h"
#include "file_format.h"

/* What a file has: nothing but whole records of ours, or the test fails. */
struct contents {
	uint64_t records;	/* without those that tell of losses */
	uint64_t losses;	/* how often one is told */
	uint64_t lost;
	uint64_t lost_before[512];	/* record 0, 1, ... */
};

struct kind {
	const struct file_format *format;
	/* a record as file_put() wants it, of which many make a file */
	size_t (*make)(char *record, bool big);
	struct contents (*contents)(const char *name);
	bool loss_is_a_record;
	off_t first;		/* more bytes that the first record has */
};

static const struct kind *kind;

enum { RECORD_MAX = 4096 };

static inline void note_loss(struct contents *c, uint64_t lost)
{
	if (!lost)
		return;
	c->losses++;
	c->lost += lost;
	if (c->records < 512)
		c->lost_before[c->records] += lost;
}

/* Nearly as long as one that tells of a loss. */
static inline size_t make_line(char *members, bool big)
{
	size_t len = big ? 3999 : 95;

	memset(members, 'x', len);
	memcpy(members, "\"a\":\"", 5);
	members[len - 1] = '"';
	return len;
}

static inline struct contents contents_lines(const char *name)
{
	static const char loss[] =
		"\"type\":\"loss\",\"where\":\"file\",\"lost\":";
	const char *line, *end, *told;
	struct contents c = { 0 };

	check_lines(name, 1);
	for (line = content(name); *line; line = end + 1) {
		end = strchr(line, '\n');
		told = memmem(line, (size_t)(end - line), loss,
			      sizeof(loss) - 1);
		if (told)
			note_loss(&c, strtoull(told + sizeof(loss) - 1, NULL,
					       10));
		else
			c.records++;
	}
	return c;
}

static inline bool keep_packet(const uint8_t *packet, size_t len, void *to)
{
	memcpy(to, packet, len);
	return true;
}

static inline size_t make_packet(char *packet, bool big)
{
	static uint64_t number;
	uint8_t mad[MAD_SIZE] = { [MAD_BASE_VERSION] = 1,
				  [MAD_CLASS] = CLASS_SUBN_ADM,
				  [MAD_CLASS_VERSION] = 2,
				  [MAD_METHOD] = METHOD_GET };
	const struct mad_capture capture = {
		.data = mad, .len = sizeof(mad), .size = sizeof(mad),
		.time_ns = SECOND * ++number, .peer = { .lid = 7, .qpn = 1 },
	};

	(void)big;
	erf_encode(&capture, NULL, false, keep_packet, packet);
	return erf_packet_len((uint8_t *)packet, RECORD_MAX);
}

static inline struct contents contents_packets(const char *name)
{
	const uint8_t *bytes = (const uint8_t *)content(name);
	uint8_t header[ERF_FILE_HEADER];
	struct mad_capture capture;
	struct erf_note note;
	struct contents c = { 0 };
	uint64_t last = 0;
	uint32_t seconds;
	struct stat st;
	size_t at, n;

	ck_assert_int_eq(stat(name, &st), 0);
	erf_file_header(header);
	ck_assert_int_ge(st.st_size, sizeof(header));
	ck_assert_mem_eq(bytes, header, sizeof(header));
	for (at = sizeof(header); at < (size_t)st.st_size; at += n) {
		n = erf_packet_len(bytes + at, (size_t)st.st_size - at);
		if (!n || n > (size_t)st.st_size - at ||
		    erf_decode(bytes + at + ERF_RECORD_HEADER,
			       n - ERF_RECORD_HEADER, n - ERF_RECORD_HEADER, 0,
			       &capture, &note) != ERF_MAD)
			ck_abort_msg("%s: no packet at %zu", name, at);
		memcpy(&seconds, bytes + at, sizeof(seconds));
		/* who was killed had begun with 1, as all do */
		if (seconds <= last && seconds != 1)
			ck_abort_msg("%s: not in order at %zu", name, at);
		last = seconds;
		note_loss(&c, note.lost);
		c.records++;
	}
	return c;
}

static const struct kind lines_kind = {
	.format = &file_lines,
	.make = make_line,
	.contents = contents_lines,
	.loss_is_a_record = true,
};

static const struct kind pcap_kind = {
	.format = &file_pcap,
	.make = make_packet,
	.contents = contents_packets,
};

/* The chain holds from the first line on, whatever it goes on from. */
static inline struct contents contents_chain(const char *name)
{
	struct contents c = contents_lines(name);
	const char *line, *end;
	struct chain_line read;
	uint8_t value[CHAIN_SIZE];

	for (line = content(name); *line; line = end + 1) {
		end = strchr(line, '\n');
		if (!chain_read(line, (size_t)(end - line), &read) ||
		    !read.chained || read.begins != (read.seq == 1))
			ck_abort_msg("%s: not chained: %s", name, line);
		if (read.begins)
			memcpy(value, read.from, sizeof(value));
		chain_step(value, line, read.body);
		if (memcmp(value, read.value, sizeof(value)))
			ck_abort_msg("%s: the chain breaks: %s", name, line);
	}
	return c;
}

static const struct kind chain_kind = {
	.format = &file_chain,
	.make = make_line,
	.contents = contents_chain,
	.loss_is_a_record = true,
	.first = CHAIN_FROM_MEMBER,
};

/* How many records a file has, none of which tells of a loss. */
static inline uint64_t records_in(const char *name)
{
	const struct contents c = kind->contents(name);

	ck_assert_uint_eq(c.lost, 0);
	return c.records;
}

/* The bytes of a record in a file of up to nine. */
static inline off_t record_size(void)
{
	/* not the first in its file */
	static struct file sized = { .chain.begun = true };
	char record[RECORD_MAX], there[RECORD_MAX + 256];

	return (off_t)kind->format->put(&sized, there, 1, record,
					kind->make(record, false));
}

/* The bytes of a file of so many, up to nine. */
static inline off_t file_size(off_t records)
{
	return (off_t)kind->format->header + records * record_size() +
	       (records ? kind->first : 0);
}

static inline void setup_lines(void)
{
	kind = &lines_kind;
	disk_setup();
}

static inline void setup_chain(void)
{
	kind = &chain_kind;
	disk_setup();
}

static inline void setup_pcap(void)
{
	kind = &pcap_kind;
	disk_setup();
}

#endif /* OSMSNOOP_TEST_KINDS_H */
