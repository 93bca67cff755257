/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Files, sockets and standard input, which all are pcap or pcapng: libpcap
 * reads them. What it reads from is a stream of ours, which waits for more
 * where there may be more, and meanwhile lets time pass.
 */
#include <errno.h>
#include <fcntl.h>
#include <pcap/pcap.h>
#include <poll.h>
#include <stdio_ext.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "clock.h"
#include "input_kind.h"

enum {
	BUFFER_SIZE = 1 << 20,
	LINKTYPE_INFINIBAND = 247,
};

typedef enum erf_kind decode_fn(const uint8_t *packet, size_t len, size_t size,
				uint64_t time_ns, struct mad_capture *cap,
				struct erf_note *note);

struct pcap_input {
	struct input in;
	pcap_t *pcap;
	decode_fn *decode;
	char *name;
	int fd;
	uint8_t head[INPUT_HEAD_MAX];	/* was read before */
	size_t head_at, head_len;
	bool at_end;		/* it ended by itself */
	bool ended;		/* by the reader */
	int error;		/* errno of a read that failed */
	uint64_t last_ns;	/* when something was last there */
	uint64_t lost;		/* before the next packet that is a MAD */
};

/*
 * The stream
 */

/* Wait until there is more; false when the reading has ended. */
static bool wait_for_more(struct pcap_input *p)
{
	const struct input_reader *reader = p->in.reader;
	struct pollfd pfd = { .fd = p->fd, .events = POLLIN };
	int ms = 0, n;

	if (!p->last_ns)
		p->last_ns = clock_ns(CLOCK_MONOTONIC);
	while (!*p->in.stop && !p->ended) {
		n = poll(&pfd, 1, ms);
		if (n > 0) {
			p->last_ns = clock_ns(CLOCK_MONOTONIC);
			return true;
		}
		ms = INPUT_IDLE_MS;
		if (reader && reader->idle &&
		    !reader->idle(clock_ns(CLOCK_MONOTONIC) - p->last_ns,
				  reader->context))
			p->ended = true;
	}
	return false;
}

static ssize_t read_head(struct pcap_input *p, char *buf, size_t size)
{
	const size_t rest = p->head_len - p->head_at;
	const size_t n = rest < size ? rest : size;

	memcpy(buf, p->head + p->head_at, n);
	p->head_at += n;
	return (ssize_t)n;
}

static ssize_t read_more(struct pcap_input *p, char *buf, size_t size)
{
	ssize_t n;

	do {
		if (p->in.live && !wait_for_more(p))
			return 0;
		n = read(p->fd, buf, size);
	} while (n < 0 && errno == EINTR && !*p->in.stop);
	if (n < 0)
		p->error = errno;
	else if (!n)
		p->at_end = true;
	return n;
}

static ssize_t stream_read(void *cookie, char *buf, size_t size)
{
	struct pcap_input *p = cookie;
	const struct input_reader *reader = p->in.reader;
	ssize_t n;

	if (p->head_at < p->head_len)
		n = read_head(p, buf, size);
	else
		n = read_more(p, buf, size);
	if (n > 0) {
		p->in.stats.bytes += (uint64_t)n;
		if (reader && reader->progress)
			reader->progress(&p->in.stats, reader->context);
	}
	return n;
}

/* The descriptor is closed with the input. */
static FILE *open_stream(struct pcap_input *p)
{
	const cookie_io_functions_t functions = { .read = stream_read };
	FILE *file = fopencookie(p, "r", functions);

	if (!file)
		return NULL;
	setvbuf(file, NULL, _IOFBF, BUFFER_SIZE);
	/* one thread reads it: a lock for each packet is not for nothing */
	__fsetlocking(file, FSETLOCKING_BYCALLER);
	return file;
}

/*
 * Reading
 */

static bool put_packet(struct pcap_input *p, const struct pcap_pkthdr *h,
		       const uint8_t *packet)
{
	uint64_t time_ns = (uint64_t)h->ts.tv_sec * 1000000000 +
			   (uint64_t)h->ts.tv_usec;
	struct mad_capture cap;
	struct erf_note note;

	enum erf_kind kind = p->decode(packet, h->caplen, h->len, time_ns,
				       &cap, &note);

	p->in.stats.packets++;
	p->lost += note.lost;
	switch (kind) {
	case ERF_MAD:
		cap.thread = MAD_THREAD_UNKNOWN;
		cap.lost = note.lost = p->lost;
		p->lost = 0;
		return input_put(&p->in, &cap, &note);
	case ERF_OTHER:
		p->in.stats.others++;
		break;
	case ERF_BROKEN:
		p->in.stats.broken++;
		break;
	}
	return true;
}

/* Why there is no next packet. True: it is the end. */
static bool say_end(struct pcap_input *p, int result,
		    char error[INPUT_ERROR_MAX])
{
	if (*p->in.stop || p->ended)
		return true;
	if (p->error)
		input_fail(error, "%s: %s", p->name, strerror(p->error));
	else if (result == PCAP_ERROR_BREAK)
		return true;
	else if (p->at_end)
		input_fail(error, "%s: it is cut in its last packet, after %llu whole ones",
			   p->name,
			   (unsigned long long)p->in.stats.packets);
	else
		input_fail(error, "%s: packet %llu cannot be read: %s", p->name,
			   (unsigned long long)p->in.stats.packets + 1,
			   pcap_geterr(p->pcap));
	return false;
}

static bool pcap_read(struct input *in, char error[INPUT_ERROR_MAX])
{
	struct pcap_input *p = (struct pcap_input *)in;
	struct pcap_pkthdr *h;
	const u_char *packet;
	int result;

	p->last_ns = 0;
	while (!*in->stop && !p->ended) {
		result = pcap_next_ex(p->pcap, &h, &packet);
		if (result != 1)
			return say_end(p, result, error);
		if (!put_packet(p, h, packet))
			p->ended = true;
	}
	return true;
}

static void pcap_input_close(struct input *in)
{
	struct pcap_input *p = (struct pcap_input *)in;

	if (p->pcap)
		pcap_close(p->pcap);
	if (p->fd > STDIN_FILENO)
		close(p->fd);
	free(p->name);
	free(p);
}

static const struct input_kind kind = { pcap_read, pcap_input_close };

/*
 * Opening
 */

static decode_fn *decoder_of(pcap_t *pcap)
{
	switch (pcap_datalink(pcap)) {
	case DLT_ERF:
		return erf_decode;
	case LINKTYPE_INFINIBAND:
		return erf_decode_bare;
	default:
		return NULL;
	}
}

static struct input *refuse_linktype(struct pcap_input *p,
				     char error[INPUT_ERROR_MAX])
{
	int type = pcap_datalink(p->pcap);
	const char *name = pcap_datalink_val_to_name(type);

	return input_fail(error, "%s: a capture of link type %d (%s); accepted are ERF (197), as osmsnoop and ibdump write it, and InfiniBand (247)",
			  p->name, type, name ? name : "without a name");
}

/* `file` is taken. */
static struct input *open_pcap(struct pcap_input *p, FILE *file,
			       char error[INPUT_ERROR_MAX])
{
	char why[PCAP_ERRBUF_SIZE] = "";

	p->pcap = pcap_fopen_offline_with_tstamp_precision(
		file, PCAP_TSTAMP_PRECISION_NANO, why);
	if (p->pcap) {
		p->decode = decoder_of(p->pcap);
		return p->decode ? &p->in : refuse_linktype(p, error);
	}
	fclose(file);
	if (*p->in.stop)
		return input_fail(error, "%s: interrupted before anything came",
				  p->name);
	if (p->error)
		return input_fail(error, "%s: %s", p->name,
				  strerror(p->error));
	if (p->at_end && !p->in.stats.bytes)
		return input_fail(error, "%s: nothing is in it, not even the header of a capture file",
				  p->name);
	return input_fail(error, "%s: no capture file: %s", p->name, why);
}

static struct pcap_input *new_input(int fd, const char *name,
				    const volatile sig_atomic_t *stop,
				    char error[INPUT_ERROR_MAX])
{
	struct pcap_input *p = calloc(1, sizeof(*p));

	if (!p || !(p->name = strdup(name))) {
		free(p);
		input_fail(error, "%s: %s", name, strerror(ENOMEM));
		return NULL;
	}
	p->in = (struct input){ .kind = &kind, .stop = stop };
	p->fd = fd;
	return p;
}

struct input *input_open_fd(int fd, const char *name,
			    const volatile sig_atomic_t *stop,
			    char error[INPUT_ERROR_MAX])
{
	return input_open_begun(fd, name, NULL, 0, stop, error);
}

struct input *input_open_begun(int fd, const char *name, const void *head,
			       size_t head_len,
			       const volatile sig_atomic_t *stop,
			       char error[INPUT_ERROR_MAX])
{
	struct pcap_input *p = new_input(fd, name, stop, error);
	struct stat st;
	FILE *file;

	if (!p) {
		close(fd);
		return NULL;
	}
	p->head_len = head_len < INPUT_HEAD_MAX ? head_len : INPUT_HEAD_MAX;
	if (head_len)
		memcpy(p->head, head, p->head_len);
	if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode))
		p->in.stats.size = (uint64_t)st.st_size;
	else
		p->in.live = true;
	file = open_stream(p);
	if (!file)
		input_fail(error, "%s: %s", name, strerror(errno));
	else if (open_pcap(p, file, error))
		return &p->in;
	pcap_input_close(&p->in);
	return NULL;
}

struct input *input_open_file(const char *path,
			      const volatile sig_atomic_t *stop,
			      char error[INPUT_ERROR_MAX])
{
	int fd;

	if (!strcmp(path, "-"))
		return input_open_fd(STDIN_FILENO, "standard input", stop,
				     error);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return input_fail(error, "%s: %s%s", path, strerror(errno),
				  errno == ENXIO ? " (a socket is read with -i)" :
						   "");
	return input_open_fd(fd, path, stop, error);
}

static struct input *refuse_socket(const char *path,
				   char error[INPUT_ERROR_MAX])
{
	const char *hint = "";

	switch (errno) {
	case EACCES:
	case EPERM:
		hint = "; root may read it, and the group that the plugin's option listen_group names";
		break;
	case ENOENT:
		hint = "; does OpenSM run with the plugin osmsnoop, and its option listen say this path? (-r reads a file)";
		break;
	case ECONNREFUSED:
		hint = "; nobody listens there, or it is no socket (-r reads a file)";
		break;
	}
	return input_fail(error, "%s: %s%s", path, strerror(errno), hint);
}

struct input *input_open_socket(const char *path,
				const volatile sig_atomic_t *stop,
				char error[INPUT_ERROR_MAX])
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	int fd;

	if (strlen(path) >= sizeof(address.sun_path))
		return input_fail(error, "%s: %s", path,
				  strerror(ENAMETOOLONG));
	strcpy(address.sun_path, path);
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return refuse_socket(path, error);
	if (connect(fd, (struct sockaddr *)&address, sizeof(address))) {
		refuse_socket(path, error);
		close(fd);
		return NULL;
	}
	return input_open_fd(fd, path, stop, error);
}
