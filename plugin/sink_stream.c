/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * The sink stream: each capture as packets for whoever reads the socket. A
 * reader may come at any time, so names of nodes are told again: to one that
 * is new, when they change, and now and then, since a slow reader may have
 * missed the packet that told them.
 */
#include <stdlib.h>

#include "erf.h"
#include "sink.h"
#include "stream.h"
#include "told.h"

#define TELL_AGAIN_NS UINT64_C(10000000000)

struct sink_stream {
	struct stream *stream;
	struct told *told;
	bool show_keys;
	uint64_t lost;		/* by the next packet, which says so */
};

static void sink_stream_free(struct sink_stream *s)
{
	told_free(s->told);
	free(s);
}

static bool stream_sink_open(const struct options *options, osm_log_t *p_log,
			     void **state)
{
	struct sink_stream *s;

	if (!*options->listen)
		return true;
	s = calloc(1, sizeof(*s));
	if (!s)
		return false;
	s->show_keys = options->show_keys;
	s->told = told_new(TELL_AGAIN_NS);
	if (s->told)
		s->stream = stream_open(options->listen, options->listen_group,
					p_log);
	if (!s->stream) {
		sink_stream_free(s);
		return false;
	}
	*state = s;
	return true;
}

static bool put_packet(const uint8_t *packet, size_t len, void *context)
{
	struct sink_stream *s = context;

	stream_put(s->stream, packet, len, s->lost);
	s->lost = 0;
	return true;
}

static void stream_sink_capture(void *state, const struct mad_capture *capture,
				const struct requester *peer)
{
	struct sink_stream *s = state;
	uint64_t readers = stream_readers(s->stream);
	struct erf_name name;
	bool news;

	if (!readers)
		return;
	news = told_is_news(s->told, peer, readers, capture->mono_ns, &name);
	s->lost = capture->lost;
	erf_encode(capture, news ? &name : NULL, s->show_keys, put_packet, s);
}

static void stream_sink_flush(void *state, const struct sink_moment *moment)
{
	/* the stream has a thread that does this */
	(void)state;
	(void)moment;
}

static void stream_sink_close(void *state, uint64_t deadline_ns)
{
	struct sink_stream *s = state;

	stream_close(s->stream, deadline_ns);
	sink_stream_free(s);
}

const struct sink sink_stream = {
	.open = stream_sink_open,
	.capture = stream_sink_capture,
	.flush = stream_sink_flush,
	.close = stream_sink_close,
};
