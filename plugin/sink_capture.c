/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * The sink capture: a file of packets that Wireshark opens (erf.h). The first
 * packet of a LID in each file carries the node's name, and so does the first
 * after the name changed. What still waits for the disk when the next file is
 * begun does so without: its names are told with what comes then.
 */
#include <stdlib.h>

#include "erf.h"
#include "sink.h"
#include "told.h"
#include "writer.h"

struct sink_capture_state {
	struct writer *writer;
	struct told *told;
	bool show_keys;
	bool naming;		/* the packet that comes now tells a name, */
	uint16_t lid;		/* of this LID */
};

static void capture_free(struct sink_capture_state *s)
{
	told_free(s->told);
	free(s);
}

static bool capture_open(const struct options *options, osm_log_t *p_log,
			 void **state)
{
	struct sink_capture_state *s;

	if (!*options->capture)
		return true;
	s = calloc(1, sizeof(*s));
	if (!s)
		return false;
	s->show_keys = options->show_keys;
	s->told = told_new(0);
	if (s->told)
		s->writer = writer_open(&file_pcap, options->capture,
					options->max_bytes, options->max_files,
					p_log, NULL);
	if (s->writer)
		*state = s;
	else
		capture_free(s);
	return *state;
}

/* Grows when names are to be told again: with each file. Never 0. */
static uint64_t turn_of(const struct sink_capture_state *s)
{
	return writer_begun(s->writer) + 1;
}

static bool put_packet(const uint8_t *packet, size_t len, void *context)
{
	struct sink_capture_state *s = context;

	if (!writer_put(s->writer, (const char *)packet, len) && s->naming)
		told_forget(s->told, s->lid);
	s->naming = false;
	/* those that follow are counted, too */
	return true;
}

static void capture_capture(void *state, const struct mad_capture *capture,
			    const struct requester *peer)
{
	struct sink_capture_state *s = state;
	struct erf_name name;

	s->lid = peer->addr.lid;
	s->naming = told_is_news(s->told, peer, turn_of(s), capture->mono_ns,
				 &name);
	erf_encode(capture, s->naming ? &name : NULL, s->show_keys, put_packet,
		   s);
}

static void capture_lose(void *state, uint64_t lost)
{
	struct sink_capture_state *s = state;

	writer_lose(s->writer, lost);
}

static void capture_flush(void *state, const struct sink_moment *moment)
{
	struct sink_capture_state *s = state;

	(void)moment;
	writer_flush(s->writer);
}

static void capture_close(void *state, uint64_t deadline_ns)
{
	struct sink_capture_state *s = state;

	writer_close(s->writer, deadline_ns);
	capture_free(s);
}

const struct sink sink_capture = {
	.open = capture_open,
	.capture = capture_capture,
	.lose = capture_lose,
	.flush = capture_flush,
	.close = capture_close,
};
