/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * The columns of `osmsnoop top`, each in one table: what it is called, how it
 * sorts, what a cell says. And which of them stand side by side in a width.
 */
#ifndef OSMSNOOP_TOP_COLUMNS_H
#define OSMSNOOP_TOP_COLUMNS_H

#include <stdbool.h>
#include <stddef.h>

#include "fit.h"
#include "top_table.h"

/* In their order from left to right. */
enum top_column {
	TOP_LID,
	TOP_NAME,
	TOP_RATE,
	TOP_REQUESTS,
	TOP_SHARE,
	TOP_ANSWERED,
	TOP_UNANSWERED,
	TOP_FAILED,
	TOP_ERRORS,
	TOP_DUPLICATES,
	TOP_P50,
	TOP_P99,
	TOP_ATTRIBUTE_LIST,
	TOP_COLUMNS,
};

/* What a cell is to look like. */
enum top_mood { TOP_USUAL, TOP_NOTHING, TOP_ODD, TOP_BAD };

/* Those that are shown, and how wide; 0 = not shown. */
struct top_layout {
	unsigned width[TOP_COLUMNS];
};

/* The name that an option takes: "requests". */
const char *top_column_name(enum top_column column);
/* TOP_COLUMNS when there is none; the beginning of a name will do. */
enum top_column top_column_find(const char *name);
/* For a help page. */
const char *top_column_help(enum top_column column);
/* The title that fits. */
const char *top_column_title(enum top_column column, unsigned width);
/* Sorted with the least first, unless reversed. */
bool top_column_rises(enum top_column column);
/* Text, which begins at the left; numbers end at the right. */
bool top_column_is_text(enum top_column column);

/*
 * Below 0: `a` comes first. What is the most comes first, names and LIDs in
 * their own order; what is equal there is in order of requests, then of LIDs.
 */
int top_compare(enum top_column column, bool reverse, const struct top_row *a,
		const struct top_row *b);

/*
 * The most important columns that fit, and `always` anyhow. `name_width`: that
 * of the longest name; longer ones than are sane get cut.
 */
void top_arrange(struct top_layout *layout, unsigned width,
		 enum top_column always, unsigned name_width);

/* The text of a cell, not filled up. Returns how many columns it takes. */
unsigned top_cell(char buf[FIT_MAX], enum top_column column,
		  const struct top_row *row, unsigned width, bool utf8);
enum top_mood top_cell_mood(enum top_column column,
			    const struct top_row *row);

#endif /* OSMSNOOP_TOP_COLUMNS_H */
