/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Source stream: what a running OpenSM sends and receives, from the socket of
 * its plugin osmsnoop (plugin/stream.h). The plugin keeps what is not read yet
 * and counts what it has to leave out, so this needs no ring and no thread of
 * its own: next() reads the socket.
 */
#include <errno.h>
#include <poll.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "clock.h"
#include "erf.h"
#include "error.h"
#include "layout.h"
#include "reassembly.h"
#include "sample.h"
#include "source.h"

#define DEFAULT_PATH "/run/osmsnoop.sock"

enum {
	BUFFER_BYTES = 64 * 1024,
	WAIT_MS = 100,		/* how late a stop is noticed */
	GREETING_MS = 2000,	/* for the first bytes, at the bind */
	PARTS_MAX = 1000,	/* captures that are none, between two looks
				 * at the clock */
	SECOND_NS = 1000000000,	/* between tries to connect again */
	/* a send that failed is told of soon after it */
	SENDS_DONE_NS = 100000000,
};

struct stream_state {
	osm_vendor_t *p_vend;
	struct sockaddr_un address;

	/* what was asked for */
	uint32_t snap_length;
	uint32_t filter_count;
	umad_filter_t filters[OSM_SNOOP_MAX_FILTERS];
	uint32_t sample_count;
	osm_snoop_sample_t samples[OSM_SNOOP_MAX_SAMPLES];

	int fd;			/* -1 while the plugin is gone */
	bool greeted;		/* it began as it is to begin */
	bool away;		/* which was said */
	bool ending;		/* it was told to send no more */
	uint64_t retry_ns;
	uint64_t read_ns;	/* when it was read last ... */
	uint64_t realtime_offset;	/* ... and of the clock then */
	uint64_t lost;		/* not told yet */
	struct reassembly messages;

	_Atomic bool stopped;
	_Atomic uint64_t seen, passed, lost_there, gaps, buffered;

	/* what was read, and what of it is a capture by now */
	size_t end, at;
	uint8_t buffer[BUFFER_BYTES];
};

/* The socket */

static const char *path_of(const struct stream_state *s)
{
	return s->address.sun_path;
}

static bool is_socket(const char *path)
{
	struct stat st;

	return stat(path, &st) || S_ISSOCK(st.st_mode);
}

static void say_no_connection(const struct stream_state *s, int error)
{
	const char *path = path_of(s);

	switch (error) {
	case ENOENT:
	case ENOTDIR:
		snoop_error("there is no socket %s: let OpenSM run with the plugin osmsnoop and its option listen, or name another socket",
			    path);
		break;
	case ECONNREFUSED:
		if (is_socket(path))
			snoop_error("nobody listens at %s: let OpenSM run with the plugin osmsnoop",
				    path);
		else
			snoop_error("%s is no socket: name that of the plugin's option listen",
				    path);
		break;
	case EACCES:
	case EPERM:
		snoop_error("%s: %s: be root, or of the group that the plugin's option listen_group names",
			    path, strerror(error));
		break;
	default:
		snoop_error("%s: %s", path, strerror(error));
		break;
	}
}

/* False with errno. A queue that is full is an error, and not waited for. */
static bool stream_connect(struct stream_state *s)
{
	int error;

	s->fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (s->fd < 0)
		return false;
	s->greeted = false;
	s->at = s->end = 0;
	if (!connect(s->fd, (const struct sockaddr *)&s->address,
		     sizeof(s->address)))
		return true;
	error = errno;
	close(s->fd);
	s->fd = -1;
	errno = error;
	return false;
}

/*
 * Nobody knows what passes meanwhile. So the gap is counted, and what comes
 * after it is marked as coming after a loss.
 */
static void stream_gone(struct stream_state *s, const char *why)
{
	close(s->fd);
	s->fd = -1;
	/* a part of a packet, whose rest will not come */
	s->at = s->end = 0;
	atomic_store(&s->buffered, 0);
	s->retry_ns = clock_ns(CLOCK_MONOTONIC) + SECOND_NS;
	if (s->away)
		return;
	s->away = true;
	atomic_fetch_add(&s->gaps, 1);
	s->lost++;
	osm_log_v2(s->p_vend->p_log, OSM_LOG_ERROR, OSMSNOOP_FILE_ID,
		   "ERR 5D14: %s is gone (%s): OpenSM's MADs are not seen until it is back\n",
		   path_of(s), why);
}

static void stream_back(struct stream_state *s)
{
	if (!s->away)
		return;
	s->away = false;
	osm_log_v2(s->p_vend->p_log, OSM_LOG_INFO, OSMSNOOP_FILE_ID,
		   "SNOOP: %s is back: OpenSM's MADs are seen again\n",
		   path_of(s));
}

enum reading { READ_SOME, READ_NOTHING, READ_END, READ_ERROR };

/* Wait so long for more, and add it to the buffer. */
static enum reading read_some(struct stream_state *s, int timeout_ms)
{
	struct pollfd pollfd = { .fd = s->fd, .events = POLLIN };
	ssize_t n;

	memmove(s->buffer, s->buffer + s->at, s->end - s->at);
	s->end -= s->at;
	s->at = 0;
	poll(&pollfd, 1, timeout_ms);
	n = recv(s->fd, s->buffer + s->end, sizeof(s->buffer) - s->end,
		 MSG_DONTWAIT);
	if (n < 0)
		return errno == EAGAIN || errno == EINTR ? READ_NOTHING :
							   READ_ERROR;
	if (!n)
		return READ_END;
	s->end += (size_t)n;
	/* the wall clock may be set */
	s->read_ns = clock_ns(CLOCK_MONOTONIC);
	s->realtime_offset = clock_ns(CLOCK_REALTIME) - s->read_ns;
	return READ_SOME;
}

/* False: it does not begin as a stream of ours. It may not have begun. */
static bool take_greeting(struct stream_state *s)
{
	uint8_t header[ERF_FILE_HEADER];
	size_t len = s->end < sizeof(header) ? s->end : sizeof(header);

	if (s->greeted)
		return true;
	erf_file_header(header);
	if (memcmp(s->buffer, header, len))
		return false;
	if (len < sizeof(header))
		return true;
	s->at = sizeof(header);
	s->greeted = true;
	stream_back(s);
	return true;
}

static ib_api_status_t wait_for_greeting(struct stream_state *s)
{
	uint64_t until = clock_ns(CLOCK_MONOTONIC) +
			 (uint64_t)GREETING_MS * 1000000;

	while (!s->greeted && clock_ns(CLOCK_MONOTONIC) < until) {
		switch (read_some(s, WAIT_MS)) {
		case READ_END:
			snoop_error("%s was closed at once: it serves as many readers as it can",
				    path_of(s));
			return IB_INSUFFICIENT_RESOURCES;
		case READ_ERROR:
			snoop_error("%s: %s", path_of(s), strerror(errno));
			return IB_ERROR;
		default:
			break;
		}
		if (!take_greeting(s))
			break;
	}
	if (s->greeted)
		return IB_SUCCESS;
	snoop_error("%s is not of osmsnoop: %s; name the socket of the plugin's option listen",
		    path_of(s), s->end ? "what comes from there is no capture" :
					 "nothing comes from there");
	return IB_INVALID_PARAMETER;
}

/* Captures */

static ib_api_status_t status_of(enum mad_completion completion)
{
	switch (completion) {
	case MAD_OK:
		return IB_SUCCESS;
	case MAD_TIMEOUT:
		return IB_TIMEOUT;
	case MAD_CANCELED:
		return IB_CANCELED;
	default:
		return IB_ERROR;
	}
}

/* As osm_vendor_ibumad.c fills it in. */
static void fill_addr(osm_mad_addr_t *to, const struct mad_capture *cap)
{
	const struct mad_peer *peer = &cap->peer;

	memset(to, 0, sizeof(*to));
	to->dest_lid = cl_hton16(peer->lid);
	if (mad_is_smp(cap->data[MAD_CLASS])) {
		to->addr_type.smi.source_lid = to->dest_lid;
		to->addr_type.smi.port_num = 255;
		return;
	}
	to->addr_type.gsi.remote_qp = cl_hton32(peer->qpn);
	to->addr_type.gsi.remote_qkey = IB_QP1_WELL_KNOWN_Q_KEY;
	to->addr_type.gsi.service_level = cap->route.sl;
	if (!peer->has_gid)
		return;
	to->addr_type.gsi.global_route = TRUE;
	to->addr_type.gsi.grh_info.hop_limit = cap->route.hop_limit;
	to->addr_type.gsi.grh_info.ver_class_flow =
		ib_grh_set_ver_class_flow(6, cap->route.traffic_class,
					  cap->route.flow_label);
	memcpy(&to->addr_type.gsi.grh_info.dest_gid, peer->gid,
	       sizeof(peer->gid));
}

static bool is_wanted(const struct stream_state *s,
		      const struct mad_capture *cap)
{
	int status = (int)status_of(cap->completion);
	uint32_t i;

	if (!reassembly_wants(&s->messages, cap->data, cap->len, cap->sent))
		return false;
	for (i = 0; i < s->filter_count; i++)
		if (umad_filter_match(&s->filters[i], cap->data, cap->len,
				      cap->sent, status))
			return true;
	return !s->filter_count;
}

static void fill_capture(const struct stream_state *s,
			 const struct mad_capture *cap,
			 struct source_capture *capture)
{
	osm_snoop_info_t *info = &capture->info;
	uint32_t i;

	memset(info, 0, sizeof(*info));
	info->time_ns = cap->time_ns;
	info->monotonic_ns = cap->mono_ns;
	info->direction = cap->sent ? OSM_SNOOP_SENT : OSM_SNOOP_RECEIVED;
	info->source = OSM_SNOOP_SOURCE_STREAM;
	info->original_size = (uint32_t)cap->size;
	info->segments = 1;
	info->local_lid = cl_hton16(cap->route.local_lid);
	info->port_guid = cl_hton64(cap->route.port_guid);
	for (i = 0; i < s->sample_count; i++)
		info->samples[i] = sample_read(&s->samples[i]);
	fill_addr(&capture->mad_addr, cap);
	capture->status = status_of(cap->completion);
	capture->mad = cap->data;
	capture->size = (uint32_t)cap->len;
	if (!s->messages.rmpp && s->snap_length &&
	    capture->size > s->snap_length)
		capture->size = s->snap_length;
}

/* What the plugin had no room for; of what kind it was nobody knows. */
static void note_lost(struct stream_state *s, uint64_t lost)
{
	s->lost += lost;
	atomic_fetch_add(&s->seen, lost);
	atomic_fetch_add(&s->passed, lost);
	atomic_fetch_add(&s->lost_there, lost);
}

/* Here a packet becomes a capture, or is none, or a part of one: false. */
static bool capture_of(struct stream_state *s, const uint8_t *packet,
		       struct source_capture *capture)
{
	struct erf_note note;
	struct mad_capture cap;
	enum erf_kind kind;
	uint32_t record[ERF_RECORD_HEADER / 4];

	/* seconds, nanoseconds, bytes that are there, bytes that there were */
	memcpy(record, packet, sizeof(record));
	kind = erf_decode(packet + ERF_RECORD_HEADER, record[2], record[3],
			  (uint64_t)record[0] * SECOND_NS + record[1], &cap,
			  &note);
	if (note.lost)
		note_lost(s, note.lost);
	if (kind != ERF_MAD)
		return false;
	cap.mono_ns = cap.time_ns - s->realtime_offset;
	/* the clock was set back; what is from before the boot wraps round */
	if (cap.mono_ns > s->read_ns)
		cap.mono_ns = s->read_ns;
	atomic_fetch_add(&s->seen, 1);
	if (!is_wanted(s, &cap))
		return false;
	atomic_fetch_add(&s->passed, 1);
	fill_capture(s, &cap, capture);
	if (!reassembly_put(&s->messages, &cap, capture))
		return false;
	capture->info.lost = s->lost;
	s->lost = 0;
	return true;
}

/* The next whole packet in the buffer, or NULL. */
static const uint8_t *next_packet(struct stream_state *s)
{
	const uint8_t *packet = s->buffer + s->at;
	size_t rest = s->end - s->at, len;

	if (!s->greeted)
		return NULL;
	len = erf_packet_len(packet, rest);
	if (len == SIZE_MAX) {
		stream_gone(s, "what came is no capture");
		return NULL;
	}
	if (!len || len > rest)
		return NULL;
	s->at += len;
	atomic_store(&s->buffered, s->end - s->at);
	return packet;
}

/* False: it was stopped, and there is no more. */
static bool get_more(struct stream_state *s)
{
	enum reading reading;

	if (atomic_load(&s->stopped) && !s->ending) {
		s->ending = true;
		/* what is in there can still be read, and then comes an end */
		if (s->fd >= 0)
			shutdown(s->fd, SHUT_RDWR);
	}
	if (s->fd < 0 && !s->ending) {
		if (clock_ns(CLOCK_MONOTONIC) < s->retry_ns)
			poll(NULL, 0, WAIT_MS);
		else if (!stream_connect(s))
			s->retry_ns = clock_ns(CLOCK_MONOTONIC) + SECOND_NS;
		return true;
	}
	if (s->fd < 0)
		return false;
	reading = read_some(s, s->ending ? 0 : WAIT_MS);
	if (s->ending)
		return reading == READ_SOME && take_greeting(s);
	if (reading == READ_END)
		stream_gone(s, "it was closed");
	else if (reading == READ_ERROR)
		stream_gone(s, strerror(errno));
	else if (!take_greeting(s))
		stream_gone(s, "what came is no capture");
	return true;
}

static int stream_source_next(void *state, struct source_capture *capture)
{
	struct stream_state *s = state;
	const uint8_t *packet;
	unsigned parts = 0;
	size_t had;

	for (;;) {
		while ((packet = next_packet(s))) {
			if (capture_of(s, packet, capture))
				return 1;
			/* whoever calls may have a deadline */
			if (++parts == PARTS_MAX)
				return 0;
		}
		had = s->end - s->at;
		if (!get_more(s))
			return -1;
		reassembly_tick(&s->messages);
		if (s->end - s->at == had)
			return 0;
	}
}

/* The source */

static void keep_info(struct stream_state *s, const osm_snoop_bind_info_t *info)
{
	s->snap_length = info->snap_length;
	s->filter_count = info->filter_count;
	if (info->filter_count)
		memcpy(s->filters, info->p_filters,
		       info->filter_count * sizeof(s->filters[0]));
	s->sample_count = info->sample_count;
	if (info->sample_count)
		memcpy(s->samples, info->p_samples,
		       info->sample_count * sizeof(s->samples[0]));
}

static ib_api_status_t check_info(const osm_snoop_bind_info_t *info,
				  struct sockaddr_un *address)
{
	const char *path = info->source_arg ? info->source_arg : DEFAULT_PATH;

	if (info->port_guid) {
		snoop_error("source stream is of the port of its OpenSM, which cannot be chosen; accepted: port_guid 0");
		return IB_INVALID_PARAMETER;
	}
	if (!*path || strlen(path) >= sizeof(address->sun_path)) {
		snoop_error("source argument %.64s: accepted is the path of a socket, of at most %zu bytes",
			    path, sizeof(address->sun_path) - 1);
		return IB_INVALID_PARAMETER;
	}
	address->sun_family = AF_UNIX;
	strcpy(address->sun_path, path);
	return IB_SUCCESS;
}

static void stream_free(struct stream_state *s)
{
	reassembly_free(&s->messages);
	if (s->fd >= 0)
		close(s->fd);
	free(s);
}

static ib_api_status_t stream_source_open(osm_vendor_t *p_vend,
					  const osm_snoop_bind_info_t *info,
					  void **state)
{
	struct stream_state *s = calloc(1, sizeof(*s));
	ib_api_status_t status;
	int error;

	if (!s) {
		snoop_error("no memory for a source");
		return IB_INSUFFICIENT_MEMORY;
	}
	s->p_vend = p_vend;
	s->fd = -1;
	keep_info(s, info);
	status = check_info(info, &s->address);
	if (status == IB_SUCCESS)
		status = reassembly_init(&s->messages, info);
	if (status == IB_SUCCESS && !stream_connect(s)) {
		error = errno;
		say_no_connection(s, error);
		status = error == EACCES || error == EPERM ?
				 IB_INVALID_PERMISSION : IB_NOT_FOUND;
	}
	if (status == IB_SUCCESS)
		status = wait_for_greeting(s);
	if (status == IB_SUCCESS)
		*state = s;
	else
		stream_free(s);
	return status;
}

static void stream_source_stop(void *state)
{
	struct stream_state *s = state;

	atomic_store(&s->stopped, true);
}

static void stream_source_get_stats(void *state, osm_snoop_stats_t *stats)
{
	struct stream_state *s = state;

	stats->seen = atomic_load(&s->seen);
	stats->passed = atomic_load(&s->passed);
	stats->lost_ring = atomic_load(&s->lost_there);
	stats->gaps = atomic_load(&s->gaps);
	stats->ring_bytes = atomic_load(&s->buffered);
	stats->ring_size = BUFFER_BYTES;
	stats->sends_done_ns = clock_ns(CLOCK_MONOTONIC) - SENDS_DONE_NS;
	reassembly_get_stats(&s->messages, stats);
}

static void stream_source_close(void *state, osm_snoop_stats_t *stats)
{
	struct stream_state *s = state;

	reassembly_end(&s->messages);
	stream_source_get_stats(s, stats);
	stream_free(s);
}

const struct source source_stream = {
	.id = OSM_SNOOP_SOURCE_STREAM,
	.by_name_only = true,
	.open = stream_source_open,
	.next = stream_source_next,
	.stop = stream_source_stop,
	.get_stats = stream_source_get_stats,
	.close = stream_source_close,
};
