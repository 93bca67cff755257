/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
#include "source.h"

/* AUTO tries them from the first to the last. */
const struct source *const source_table[] = {
	&source_kernel,
	&source_tap,
	&source_stream,
	NULL,
};
