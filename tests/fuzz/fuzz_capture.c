/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * libFuzzer on capture files, all the way: libpcap, packets, RMPP,
 * transactions, and records in every form that osmsnoop shows. Half of the
 * inputs are only the packets: those get a file around them, so that MADs are
 * reached without luck. scripts/fuzz builds and runs it.
 *
 * build: tools/input.c tools/input_pcap.c tools/pipeline.c tools/node_names.c
 * build: tools/show.c -lpcap -libmad -losmcomp
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "input.h"
#include "pipeline.h"
#include "show.h"

#define check(condition) do { if (!(condition)) { \
		fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, \
			#condition); \
		abort(); \
	} } while (0)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { FORMS = 4, LINKTYPE_INFINIBAND = 247 };

static volatile sig_atomic_t stop;

struct run {
	struct pipeline *pipeline;
	struct show forms[FORMS];
	uint64_t records;
	uint64_t written;
};

static void on_record(const struct record *r, void *context)
{
	struct run *run = context;
	int i;

	check(r->type != RECORD_SA || r->sa.len >= MAD_HDR_SIZE);
	for (i = 0; i < FORMS; i++)
		show_record(&run->forms[i], r);
	run->records++;
}

static bool on_packet(const uint8_t *packet, size_t len, void *context)
{
	struct run *run = context;

	check(erf_packet_len(packet, len) == len);
	run->written++;
	return true;
}

static void on_capture(const struct mad_capture *cap,
		       const struct erf_note *note,
		       const struct requester *peer, void *context)
{
	check(peer->addr.lid == cap->peer.lid);
	/* one MAD is one packet */
	check(erf_encode(cap, note->has_name ? &note->name : NULL, true,
			 on_packet, context) == 1);
}

static bool on_mad(const struct mad_capture *cap, const struct erf_note *note,
		   void *context)
{
	struct run *run = context;

	check(cap->len >= MAD_HDR_SIZE && cap->len <= MAD_SIZE);
	pipeline_put(run->pipeline, cap, note);
	return true;
}

/*
 * A byte for the length of a packet, then the packet: short of a whole one the
 * headers of a MAD of SA are put before it.
 */
static void write_packets(int fd, const uint8_t *data, size_t size)
{
	static const uint8_t headers[16 + 28 + 4] = {
		[8] = 21, [9] = 4, [16 + 1] = 2, [16 + 3] = 1, [16 + 7] = 7,
		[16 + 8] = 0x64, [16 + 8 + 7] = 1, [16 + 20 + 7] = 1,
		[44] = 1, [45] = 3, [46] = 2,
	};
	uint8_t packet[16 + 28 + MAD_SIZE];
	uint32_t word[4] = { 1700000000 };
	size_t n;

	while (size > 1) {
		n = 2u * *data++;
		size--;
		if (n > size)
			n = size;
		memset(packet, 0, sizeof(packet));
		memcpy(packet, headers, sizeof(headers));
		/* which direction */
		packet[9] |= n & 1;
		if (n > 256)
			memcpy(packet, data, n < sizeof(packet) ?
					     n : sizeof(packet));
		else
			memcpy(packet + 44 + 1, data, n < 255 ? n : 255);
		word[0]++;
		word[2] = word[3] = sizeof(packet);
		check(write(fd, word, sizeof(word)) == sizeof(word));
		check(write(fd, packet, sizeof(packet)) == sizeof(packet));
		data += n;
		size -= n;
	}
}

static int make_file(const uint8_t *data, size_t size)
{
	int fd = memfd_create("capture", MFD_CLOEXEC);
	uint8_t header[ERF_FILE_HEADER];

	check(fd >= 0);
	if (size && data[0] & 1) {
		erf_file_header(header);
		check(write(fd, header, sizeof(header)) == sizeof(header));
		write_packets(fd, data + 1, size - 1);
	} else if (size) {
		check(write(fd, data + 1, size - 1) == (ssize_t)size - 1);
	}
	check(lseek(fd, 0, SEEK_SET) == 0);
	return fd;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static FILE *null;
	struct run run = { 0 };
	const struct pipeline_options options = {
		.max = 64,	/* at once full, and quick to make */
		.keep_answers = true,
		.record = on_record, .capture = on_capture, .context = &run,
	};
	const struct input_reader reader = { .mad = on_mad, .context = &run };
	char error[INPUT_ERROR_MAX];
	struct pipeline_stats stats;
	struct input *in;

	if (!null)
		null = fopen("/dev/null", "w");
	check(null);
	run.forms[0] = (struct show){ .out = null, .verbose = true,
				      .hex = true, .colour = true };
	run.forms[1] = (struct show){ .out = null, .json = true };
	run.forms[2] = (struct show){ .out = null, .quiet = true };
	run.forms[3] = (struct show){ .out = null, .no_names = true };
	in = input_open_fd(make_file(data, size), "file", &stop, error);
	if (!in)
		return 0;
	run.pipeline = pipeline_new(&options, error);
	check(run.pipeline);
	if (!input_read(in, &reader, error))
		check(*error);
	pipeline_get_stats(run.pipeline, &stats);
	check(stats.mads == run.written);
	pipeline_idle(run.pipeline, 1000000000);
	pipeline_flush(run.pipeline);
	pipeline_free(run.pipeline);
	input_close(in);
	return 0;
}
