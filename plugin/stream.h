/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * A unix socket that hands each reader the same stream of packets (erf.h),
 * from its pcap header on. Who puts a packet never waits for a reader: what
 * was put last lies in one ring, and a thread follows it for each reader, at
 * the pace of that reader. One that falls behind by more than the ring goes
 * on at the oldest packet there, which then says how many packets, and how
 * many captures that those told of, this reader did not get. No reader is left
 * without that count: at the end, one that has not taken all gets the last
 * packet, as soon as it reads again.
 *
 * A socket that cannot be had is said once and tried again each second, as is
 * one whose file was taken away; another process that has it is asked every 10 s
 * whether it is still alive.
 */
#ifndef OSMSNOOP_STREAM_H
#define OSMSNOOP_STREAM_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include <opensm/osm_log.h>

enum {
	STREAM_CLIENTS_MAX = 32,
	STREAM_PACKETS = 32768,		/* in the ring; a power of two */
};

struct stream;

/*
 * `path` is absolute and fits into a sockaddr_un. Of `group` are those who may
 * read beside the user; (gid_t)-1 is nobody. NULL: no memory, or no thread.
 */
struct stream *stream_open(const char *path, gid_t group, osm_log_t *p_log);

/*
 * 0 when nobody reads, and then nothing need be put; else a number that is
 * another one when a reader came since. Any thread.
 */
uint64_t stream_readers(const struct stream *s);

/*
 * Put a packet of erf_encode(), which says that `lost` captures were lost just
 * before it; copied. One thread at a time.
 */
void stream_put(struct stream *s, const uint8_t *packet, size_t len,
		uint64_t lost);

/* Readers that were turned away, since there were too many. */
uint64_t stream_refused(const struct stream *s);

/*
 * Take the socket away and end. Readers get what is in the ring until the
 * deadline (CLOCK_MONOTONIC), those that take nothing for a tenth of a second
 * not so long. Who puts is done. A thread that hangs in the socket's file system
 * is left behind, and frees what it has when it goes on.
 */
void stream_close(struct stream *s, uint64_t deadline_ns);

#endif /* OSMSNOOP_STREAM_H */
