/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * The sink capture: a file of packets that Wireshark opens (erf.h). The first
 * packet of a LID in each file carries the node's name, and so does the first
 * after the name changed. What still waits for the disk when the next file is
 * begun does so without: its names are told with what comes then.
 */
#include <stdlib.h>
#include <string.h>

#include "erf.h"
#include "sink.h"
#include "writer.h"

enum { LIDS = 0xc000 };		/* from there on they are multicast */

/* The name that was told last of a LID. */
struct told {
	uint64_t turn;		/* 0 = none; see turn_of() */
	uint64_t port_guid;
	size_t len;
	char name[ERF_NAME_MAX];
};

struct sink_capture_state {
	struct writer *writer;
	bool show_keys;
	struct told *naming;	/* is told with the packet that comes now */
	struct told told[LIDS];	/* of a page that is not used, no memory */
};

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
	s->writer = writer_open(&file_pcap, options->capture,
				options->max_bytes, options->max_files, p_log);
	if (s->writer)
		*state = s;
	else
		free(s);
	return *state;
}

/* Grows when names are to be told again: with each file. Never 0. */
static uint64_t turn_of(const struct sink_capture_state *s)
{
	return writer_begun(s->writer) + 1;
}

/* Is there a name that this file does not have? It is then noted as told. */
static bool is_news(struct sink_capture_state *s, const struct requester *peer,
		    struct erf_name *name)
{
	uint64_t turn = turn_of(s);
	struct told *t;

	*name = (struct erf_name){ .port_guid = peer->port_guid, .name = "" };
	if (peer->name) {
		name->name = peer->name;
		name->len = strnlen(peer->name, ERF_NAME_MAX);
	}
	if ((!name->port_guid && !name->len) || peer->addr.lid >= LIDS)
		return false;
	t = &s->told[peer->addr.lid];
	if (t->turn == turn && t->port_guid == name->port_guid &&
	    t->len == name->len && !memcmp(t->name, name->name, name->len))
		return false;
	t->turn = turn;
	t->port_guid = name->port_guid;
	t->len = name->len;
	memcpy(t->name, name->name, name->len);
	s->naming = t;
	return true;
}

static bool put_packet(const uint8_t *packet, size_t len, void *context)
{
	struct sink_capture_state *s = context;

	if (!writer_put(s->writer, (const char *)packet, len) && s->naming)
		s->naming->turn = 0;
	s->naming = NULL;
	/* those that follow are counted, too */
	return true;
}

static void capture_capture(void *state, const struct mad_capture *capture,
			    const struct requester *peer)
{
	struct sink_capture_state *s = state;
	struct erf_name name;
	bool news = is_news(s, peer, &name);

	erf_encode(capture, news ? &name : NULL, s->show_keys, put_packet, s);
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
	free(s);
}

const struct sink sink_capture = {
	.open = capture_open,
	.capture = capture_capture,
	.lose = capture_lose,
	.flush = capture_flush,
	.close = capture_close,
};
