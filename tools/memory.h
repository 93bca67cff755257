/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* For commands that can do nothing without memory. */
#ifndef OSMSNOOP_MEMORY_H
#define OSMSNOOP_MEMORY_H

#include <stdio.h>
#include <stdlib.h>

_Noreturn static inline void memory_gone(void)
{
	fputs("osmsnoop: no memory\n", stderr);
	exit(1);
}

/* Zeroes; ends the process, with a message, when there are none. */
static inline void *memory_get(size_t n, size_t size)
{
	void *memory = calloc(n, size);

	if (!memory)
		memory_gone();
	return memory;
}

#endif /* OSMSNOOP_MEMORY_H */
