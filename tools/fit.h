/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * What fits in a number of columns of a terminal: texts, cut, and numbers,
 * rounded rather than cut. Each leaves a string that ends in a NUL, and returns
 * how many columns it takes.
 */
#ifndef OSMSNOOP_FIT_H
#define OSMSNOOP_FIT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { FIT_MAX = 1024 };	/* bytes; no text has more columns than that */

/*
 * Text that may come from the wire: what is no plain text is escaped, as in
 * lines (mad/text.h), and so is what is not ASCII unless `utf8`. The locale has
 * to be one of UTF-8 then. What was cut ends in a mark.
 */
unsigned fit_text(char buf[FIT_MAX], const char *text, unsigned width,
		  bool utf8);

/* "12345", "123k", "1.2M": `width` is 4 at least. */
unsigned fit_count(char buf[FIT_MAX], uint64_t n, unsigned width);

/* "0.2", "812", "12k" */
unsigned fit_rate(char buf[FIT_MAX], double rate, unsigned width);

/* Four columns at most: "0.3%", "12%"; "-" for a share of nothing (NAN). */
unsigned fit_share(char buf[FIT_MAX], double share);

/* Five at most: "41us", "1.2ms", "12s" */
unsigned fit_latency(char buf[FIT_MAX], uint64_t us);

#endif /* OSMSNOOP_FIT_H */
