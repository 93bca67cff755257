/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * What `osmsnoop top` shows of a snapshot, in lines of so many columns: on a
 * terminal, or as text. It knows neither: a canvas takes what is put on it.
 */
#ifndef OSMSNOOP_TOP_VIEW_H
#define OSMSNOOP_TOP_VIEW_H

#include <stdbool.h>
#include <stddef.h>

#include "top_columns.h"
#include "top_feed.h"
#include "top_table.h"

enum top_style {
	TOP_PLAIN,
	TOP_FAINT,
	TOP_STRONG,
	TOP_HEADER,
	TOP_HEADER_SORTED,
	TOP_GRAPH,
	TOP_YELLOW,
	TOP_RED,
	TOP_STYLES,
};

struct top_canvas {
	/* Line by line, from left to right; `width` is what the text takes. */
	void (*put)(struct top_canvas *c, unsigned y, unsigned x,
		    enum top_style style, const char *text, unsigned width);
};

enum {
	TOP_FILTER_MAX = 64,
	TOP_LEAST_WIDTH = 40,
	TOP_LEAST_HEIGHT = 6,
};

struct top_view {
	unsigned width, height;	/* height 0: as many lines as there are rows */
	bool utf8;
	enum top_column sort;
	bool reverse;
	char filter[TOP_FILTER_MAX];	/* a part of the name; "" = all */
	bool typing;		/* the filter */
	bool paused;
	bool help;		/* instead of the table */
	size_t first;		/* the row at the top */

	unsigned name_width;	/* of the longest one that was shown */
	const struct top_row **rows;	/* those of the filter, in order */
	size_t n, room;
};

/*
 * Choose and sort the snapshot's rows. False: no memory, and there are none.
 * Anything that changes the snapshot, sort or filter wants it again.
 */
bool top_view_arrange(struct top_view *v, const struct top_snapshot *s);
void top_view_free(struct top_view *v);

/* How many rows of the table are in its height. */
size_t top_view_page(const struct top_view *v, const struct top_snapshot *s,
		     const struct top_status *status);
/* Move by so many rows, and not beyond either end. */
void top_view_scroll(struct top_view *v, size_t page, long rows);
/* To the next column on the right, or left of that which is sorted by. */
void top_view_turn(struct top_view *v, int columns);

void top_view_draw(struct top_view *v, const struct top_snapshot *s,
		   const struct top_status *status, struct top_canvas *c);

#endif /* OSMSNOOP_TOP_VIEW_H */
