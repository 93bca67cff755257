/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* The format of capture files: packets of erf_encode() behind pcap's header. */
#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <sys/stat.h>

#include "erf.h"
#include "file_format.h"

static size_t start(char bytes[FILE_START_MAX])
{
	_Static_assert((int)ERF_FILE_HEADER <= (int)FILE_START_MAX, "it fits");
	erf_file_header((uint8_t *)bytes);
	return ERF_FILE_HEADER;
}

static size_t put(struct file *f, char *to, uint64_t number,
		  const char *packet, size_t len)
{
	(void)f;
	(void)number;
	memcpy(to, packet, len);
	return len;
}

static size_t next(const char *bytes, size_t len)
{
	size_t n = erf_packet_len((const uint8_t *)bytes, len);

	return n <= len ? n : 0;
}

static bool is_no_packet(const char *bytes, size_t len)
{
	return erf_packet_len((const uint8_t *)bytes, len) == SIZE_MAX;
}

static bool only_zeroes(struct file *f, uint64_t from)
{
	size_t i, n;

	for (; from < f->size; from += n) {
		n = f->size - from < sizeof(f->buffer) ?
			    (size_t)(f->size - from) : sizeof(f->buffer);
		if (!file_read(f, from, n))
			return false;
		for (i = 0; i < n; i++)
			if (f->buffer[i])
				return false;
	}
	return true;
}

static bool is_damaged(struct file *f)
{
	return file_fail(f, "%s: is damaged: from byte %" PRIu64 " on there are no packets of osmsnoop",
			 f->path, f->walk.end);
}

/*
 * Is this, and what follows it in the file, no more than the beginning of a
 * packet? Zeroes may be behind it, from any byte on: so some file systems leave
 * the end after a power failure.
 */
static bool is_torn(struct file *f, uint64_t from, size_t len)
{
	const uint64_t behind = from + len;

	while (len && !f->buffer[len - 1])
		len--;
	return !is_no_packet(f->buffer, len) && only_zeroes(f, behind);
}

/*
 * From packet to packet, from where it is known that one begins: what is in a
 * MAD may look like a packet. By reading: who cuts a file that is mapped kills
 * the process.
 */
static bool walk(struct file *f)
{
	struct file_walk *w = &f->walk;
	size_t n, used, len;

	do {
		n = f->size - w->end < sizeof(f->buffer) ?
			    (size_t)(f->size - w->end) : sizeof(f->buffer);
		if (!file_read(f, w->end, n))
			return false;
		for (used = 0; (len = next(f->buffer + used, n - used));
		     used += len)
			w->packets++;
		w->end += used;
	} while (used && w->end < f->size);
	/* the last look found no whole packet */
	if (is_torn(f, w->end, n - used))
		return true;
	w->damaged = true;
	return is_damaged(f);
}

/* A header that is torn says that nothing was behind it. */
static bool read_header(struct file *f)
{
	size_t want = f->size < ERF_FILE_HEADER ? (size_t)f->size :
						  ERF_FILE_HEADER;
	char header[FILE_START_MAX];

	start(header);
	return file_read(f, 0, want) &&
	       (!memcmp(f->buffer, header, want) ||
		file_fail(f, "%s: is not empty, and no file of osmsnoop",
			  f->path));
}

static bool is_unchanged(const struct file_walk *w, const struct stat *st)
{
	return w->size == (uint64_t)st->st_size &&
	       w->when.tv_sec == st->st_ctim.tv_sec &&
	       w->when.tv_nsec == st->st_ctim.tv_nsec;
}

static void begin_walk(struct file_walk *w, const struct stat *st)
{
	*w = (struct file_walk){
		.dev = st->st_dev,
		.ino = st->st_ino,
		.end = ERF_FILE_HEADER,
		.when = st->st_ctim,
		.size = (uint64_t)st->st_size,
	};
}

/*
 * The last time's walk goes on, unless that was in another file. Where it finds
 * no packets, other bytes may have been put there: once more from the start. A
 * damaged file that nobody has touched since then is not read again.
 */
static bool walk_on(struct file *f)
{
	struct file_walk *w = &f->walk;
	struct stat st;

	if (fstat(f->fd, &st))
		return file_fail(f, "%s: %s", f->path, strerror(errno));
	if (w->dev != st.st_dev || w->ino != st.st_ino || w->end > f->size)
		begin_walk(w, &st);
	else if (w->damaged && is_unchanged(w, &st))
		return is_damaged(f);
	else if (!w->damaged && walk(f))
		return true;
	else
		begin_walk(w, &st);
	return walk(f);
}

static bool find_end(struct file *f, uint64_t *end)
{
	f->last = 0;
	*end = 0;
	if (!read_header(f))
		return false;
	if (f->size < ERF_FILE_HEADER) {
		f->walk.ino = 0;
		return true;
	}
	if (!walk_on(f))
		return false;
	f->last = f->walk.packets;
	*end = f->walk.end;
	return true;
}

static uint64_t get_lost(const char *packet, size_t len)
{
	struct mad_capture capture;
	struct erf_note note;

	erf_decode((const uint8_t *)packet + ERF_RECORD_HEADER,
		   len - ERF_RECORD_HEADER, len - ERF_RECORD_HEADER, 0,
		   &capture, &note);
	return note.lost;
}

static size_t add_lost(char *packet, size_t len, uint64_t lost)
{
	return erf_add_lost((uint8_t *)packet, len, lost);
}

const struct file_format file_pcap = {
	.half = "a part of a packet",
	.header = ERF_FILE_HEADER,
	.start = start,
	.find_end = find_end,
	.put = put,
	.next = next,
	.get_lost = get_lost,
	.add_lost = add_lost,
};
