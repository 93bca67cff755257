/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Where MADs come from: a capture file, a stream, this host's ports. Whoever
 * reads them is called for each, and need not know which it is.
 *
 * The direction of SA MADs is by their method: what is captured elsewhere than
 * in OpenSM does not know that OpenSM received the request, and sent the
 * answer. So the peer is always the one who asks.
 */
#ifndef OSMSNOOP_INPUT_H
#define OSMSNOOP_INPUT_H

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "erf.h"

#define INPUT_DEFAULT_SOCKET "/run/osmsnoop.sock"

enum { INPUT_ERROR_MAX = 1024 };

struct input;

struct input_stats {
	uint64_t packets;
	uint64_t mads;
	uint64_t others;	/* packets that are no MADs */
	uint64_t broken;	/* packets that say of themselves what cannot be */
	uint64_t lost;		/* captures that the source had to leave out */
	uint64_t bytes;		/* read, of `size` */
	uint64_t size;		/* of a file; 0 = not known */
};

/* One thread at a time calls these. */
struct input_reader {
	/* A MAD; both are valid until it returns. False ends the reading. */
	bool (*mad)(const struct mad_capture *cap, const struct erf_note *note,
		    void *context);
	/*
	 * Nothing more is there: at once, and then every 100 ms. `quiet_ns` is
	 * for how long. Not for files. False ends the reading. May be NULL.
	 */
	bool (*idle)(uint64_t quiet_ns, void *context);
	void *context;
	/* After each piece of a file or stream; may be NULL. */
	void (*progress)(const struct input_stats *stats, void *context);
};

/*
 * All return NULL when it cannot be opened; `error` says why. `stop` is set
 * by a signal handler and ends all waiting; it has to outlive the input.
 */
struct input *input_open_file(const char *path,	/* "-" = standard input */
			      const volatile sig_atomic_t *stop,
			      char error[INPUT_ERROR_MAX]);
/* A socket path, kernel:DEV[:PORT] or bpf[:DEV]. */
struct input *input_open_source(const char *source,
				const volatile sig_atomic_t *stop,
				char error[INPUT_ERROR_MAX]);
/* Of a descriptor, which is taken. */
struct input *input_open_fd(int fd, const char *name,
			    const volatile sig_atomic_t *stop,
			    char error[INPUT_ERROR_MAX]);
/* The same where the first bytes have been read, to see what it is. */
enum { INPUT_HEAD_MAX = 16 };
struct input *input_open_begun(int fd, const char *name, const void *head,
			       size_t head_len,
			       const volatile sig_atomic_t *stop,
			       char error[INPUT_ERROR_MAX]);
void input_close(struct input *in);		/* NULL is well */

/* More may come at any time: no file that has an end. */
bool input_is_live(const struct input *in);

/*
 * Read until the end, until `reader` or `stop` ends it. False: it broke off,
 * and `error` says why; what was there until then was read.
 */
bool input_read(struct input *in, const struct input_reader *reader,
		char error[INPUT_ERROR_MAX]);

/* Also while it reads, from its calls. */
void input_get_stats(const struct input *in, struct input_stats *stats);

#endif /* OSMSNOOP_INPUT_H */
