/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* What kinds of input have in common. */
#ifndef OSMSNOOP_INPUT_KIND_H
#define OSMSNOOP_INPUT_KIND_H

#include "input.h"

enum { INPUT_IDLE_MS = 100 };

struct input_kind {
	bool (*read)(struct input *in, char error[INPUT_ERROR_MAX]);
	void (*close)(struct input *in);
};

/* The first member of each kind's own structure. */
struct input {
	const struct input_kind *kind;
	const volatile sig_atomic_t *stop;
	const struct input_reader *reader;
	struct input_stats stats;
	bool live;
};

/* Always NULL. */
struct input *input_fail(char error[INPUT_ERROR_MAX], const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/* Hand over a MAD. False ends the reading. */
bool input_put(struct input *in, struct mad_capture *cap,
	       struct erf_note *note);

/* Open a bind of osm_vendor_snoop_bind(). `argument` may be NULL. */
struct input *input_open_snoop(int source, const char *argument,
			       const volatile sig_atomic_t *stop,
			       char error[INPUT_ERROR_MAX]);
struct input *input_open_socket(const char *path,
				const volatile sig_atomic_t *stop,
				char error[INPUT_ERROR_MAX]);

#endif /* OSMSNOOP_INPUT_KIND_H */
