/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * The sink stream: each capture as packets for whoever reads the socket. A
 * reader may come at any time, so names of nodes are told again: to one that
 * is new, when they change, and now and then, since a slow reader may have
 * missed the packet that told them.
 */
#include <stdlib.h>
#include <string.h>

#include "erf.h"
#include "sink.h"
#include "stream.h"

#define TELL_AGAIN_NS UINT64_C(10000000000)

enum { LIDS = 0x10000 };

/* The last name of a LID that was told. */
struct told {
	uint64_t mono_ns;
	uint64_t readers;	/* stream_readers() then */
	uint64_t port_guid;
	uint64_t hash;		/* of the name */
};

struct sink_stream {
	struct stream *stream;
	bool show_keys;
	uint64_t lost;		/* by the next packet, which says so */
	struct told told[LIDS];
};

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
	s->stream = stream_open(options->listen, options->listen_group, p_log);
	if (!s->stream) {
		free(s);
		return false;
	}
	*state = s;
	return true;
}

/* FNV-1a: only whether it is another name. */
static uint64_t hash_of(const char *name)
{
	uint64_t hash = 0xcbf29ce484222325;

	for (; *name; name++)
		hash = (hash ^ (unsigned char)*name) * 0x100000001b3;
	return hash;
}

static bool is_to_be_told(struct sink_stream *s, const struct requester *peer,
			  uint64_t readers, uint64_t mono_ns)
{
	struct told *last = &s->told[peer->addr.lid];
	const struct told now = {
		mono_ns, readers, peer->port_guid, hash_of(peer->name),
	};

	if (last->readers == now.readers && last->hash == now.hash &&
	    last->port_guid == now.port_guid &&
	    mono_ns - last->mono_ns < TELL_AGAIN_NS)
		return false;
	*last = now;
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
	bool tell;

	if (!readers)
		return;
	tell = peer->name &&
	       is_to_be_told(s, peer, readers, capture->mono_ns);
	if (tell)
		name = (struct erf_name){
			.port_guid = peer->port_guid,
			.name = peer->name,
			.len = strnlen(peer->name, ERF_NAME_MAX),
		};
	s->lost = capture->lost;
	erf_encode(capture, tell ? &name : NULL, s->show_keys, put_packet, s);
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
	free(s);
}

const struct sink sink_stream = {
	.open = stream_sink_open,
	.capture = stream_sink_capture,
	.flush = stream_sink_flush,
	.close = stream_sink_close,
};
