/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
#include <fnmatch.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "top_view.h"

enum { HELP_INDENT = 11 };

/* One line that is being drawn. */
struct line {
	struct top_canvas *canvas;
	const struct top_view *view;
	unsigned y, x;
};

/*
 * Putting text on a line
 */

static unsigned left_of(const struct line *l)
{
	return l->view->width - l->x;
}

/* What is left of the line, at most. */
static void put(struct line *l, enum top_style style, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

static void put(struct line *l, enum top_style style, const char *format, ...)
{
	char text[FIT_MAX], fitting[FIT_MAX];
	unsigned width;
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	width = fit_text(fitting, text, left_of(l), l->view->utf8);
	if (width)
		l->canvas->put(l->canvas, l->y, l->x, style, fitting, width);
	l->x += width;
}

/* All of it or nothing, and so are those that follow. */
static void put_whole(struct line *l, enum top_style style,
		      const char *format, ...)
	__attribute__((format(printf, 3, 4)));

static void put_whole(struct line *l, enum top_style style,
		      const char *format, ...)
{
	char text[FIT_MAX];
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	if (strlen(text) > left_of(l))
		l->x = l->view->width;
	else
		put(l, style, "%s", text);
}

static struct line next_line(const struct line *l)
{
	return (struct line){ l->canvas, l->view, l->y + 1, 0 };
}

/*
 * Above the table
 */

static void clock_text(char text[sizeof("00:00:00")], uint64_t time_ns)
{
	const time_t second = (time_t)(time_ns / 1000000000);
	struct tm tm;

	if (!time_ns || !localtime_r(&second, &tm) ||
	    !strftime(text, sizeof("00:00:00"), "%T", &tm))
		strcpy(text, "--:--:--");
}

static void put_state(struct line *l, const struct top_status *status)
{
	switch (status->state) {
	case TOP_READING:
		if (status->percent)
			put_whole(l, TOP_FAINT, "  reading, %u%%",
				  status->percent);
		break;
	case TOP_WAITING:
		put_whole(l, TOP_RED, "  NOT CONNECTED");
		break;
	case TOP_ENDED:
		put_whole(l, TOP_FAINT, "  all read");
		break;
	case TOP_BROKEN:
		put_whole(l, TOP_RED, "  BROKEN OFF");
		break;
	}
}

static void draw_title(struct line *l, const struct top_snapshot *s,
		       const struct top_status *status)
{
	char from[sizeof("00:00:00")], to[sizeof("00:00:00")];

	clock_text(from, status->from_ns);
	clock_text(to, status->to_ns);
	put(l, TOP_STRONG, "osmsnoop top");
	put_whole(l, TOP_PLAIN, "  %s to %s", from, to);
	put_whole(l, TOP_PLAIN, "  %zu requester%s", s->n,
		  s->n == 1 ? "" : "s");
	if (l->view->paused)
		put_whole(l, TOP_YELLOW, "  PAUSED");
	put_state(l, status);
	put_whole(l, TOP_FAINT, "  %s", status->source);
}

static const char *bar(uint64_t n, uint64_t most, bool utf8)
{
	static const char *const blocks[] = {
		" ", "\xe2\x96\x81", "\xe2\x96\x82", "\xe2\x96\x83",
		"\xe2\x96\x84", "\xe2\x96\x85", "\xe2\x96\x86", "\xe2\x96\x87",
		"\xe2\x96\x88",
	};
	static const char *const signs[] = {
		" ", ".", ":", "-", "=", "+", "*", "%", "#",
	};
	/* what is anything at all is seen */
	size_t level = n ? 1 + (size_t)(7.0 * (double)n / (double)most + 0.5) :
			   0;

	return utf8 ? blocks[level] : signs[level];
}

/* The last minute, or as much of it as there is room for; the last is now. */
static void draw_graph(struct line *l, const struct top_snapshot *s)
{
	const unsigned others = (unsigned)strlen("60s  max 12345/s");
	unsigned seconds = TOP_SECONDS, i;
	char rate[FIT_MAX], text[FIT_MAX] = "";
	uint64_t most = 0;

	if (seconds + others > left_of(l))
		seconds = left_of(l) - others;
	else if (seconds + others + strlen("last ") <= left_of(l))
		put(l, TOP_FAINT, "last ");
	put(l, TOP_FAINT, "%us ", seconds);
	for (i = TOP_SECONDS - seconds; i < TOP_SECONDS; i++)
		if (s->seconds[i] > most)
			most = s->seconds[i];
	for (i = TOP_SECONDS - seconds; i < TOP_SECONDS; i++)
		strcat(text, bar(s->seconds[i], most, l->view->utf8));
	l->canvas->put(l->canvas, l->y, l->x, TOP_GRAPH, text, seconds);
	l->x += seconds;
	fit_count(rate, most, 5);
	put(l, TOP_FAINT, " max %s/s", rate);
}

static bool has_notice(const struct top_snapshot *s,
		       const struct top_status *status)
{
	return s->lost || status->reconnects ||
	       status->state == TOP_WAITING || status->state == TOP_BROKEN;
}

/* What makes the numbers less than the truth. */
static void draw_notice(struct line *l, const struct top_snapshot *s,
			const struct top_status *status)
{
	char at[sizeof("00:00:00")];

	if (status->state == TOP_WAITING || status->state == TOP_BROKEN) {
		put(l, TOP_RED, "%s", status->error);
		return;
	}
	if (s->lost)
		put(l, TOP_RED, "%" PRIu64 " captures lost: requests are missing, or their answers. ",
		    s->lost);
	if (status->reconnects) {
		clock_text(at, status->reconnect_ns);
		put(l, TOP_YELLOW, "Connected again at %s; what was before is missing.",
		    at);
	}
}

/*
 * The table
 */

/* Filled up to the column's width, which numbers end at. */
static void put_cell(struct line *l, enum top_column column,
		     enum top_style style, const char *text, unsigned taken,
		     unsigned width)
{
	char cell[2 * FIT_MAX];
	int blanks = (int)(width - taken);

	if (top_column_is_text(column))
		snprintf(cell, sizeof(cell), "%s%*s", text, blanks, "");
	else
		snprintf(cell, sizeof(cell), "%*s%s", blanks, "", text);
	l->canvas->put(l->canvas, l->y, l->x, style, cell, width);
	l->x += width;
}

/* Which way it is sorted. */
static const char *arrow(const struct top_view *v)
{
	const bool rises = top_column_rises(v->sort) != v->reverse;

	if (v->utf8)
		return rises ? "\xe2\x96\xb2" : "\xe2\x96\xbc";
	return rises ? "^" : "v";
}

/* With the blank before it, in which an arrow may stand. */
static void draw_heading(struct line *l, enum top_column column,
			 unsigned width)
{
	const struct top_view *v = l->view;
	const bool sorted = column == v->sort;
	const char *title = top_column_title(column, width);
	char text[FIT_MAX];

	if (column != TOP_LID)
		width++;
	snprintf(text, sizeof(text), "%s%s", sorted ? arrow(v) :
		 top_column_is_text(column) ? " " : "", title);
	put_cell(l, column, sorted ? TOP_HEADER_SORTED : TOP_HEADER, text,
		 (unsigned)strlen(title) +
		 (sorted || top_column_is_text(column)), width);
}

static void draw_header(struct line *l, const struct top_layout *layout)
{
	unsigned i;

	for (i = 0; i < TOP_COLUMNS; i++)
		if (layout->width[i])
			draw_heading(l, (enum top_column)i, layout->width[i]);
}

static enum top_style style_of(enum top_column column,
			       const struct top_row *row, bool total)
{
	switch (top_cell_mood(column, row)) {
	case TOP_NOTHING:
		return TOP_FAINT;
	case TOP_ODD:
		return TOP_YELLOW;
	case TOP_BAD:
		return TOP_RED;
	default:
		return total ? TOP_STRONG : TOP_PLAIN;
	}
}

static void draw_row(struct line *l, const struct top_layout *layout,
		     const struct top_row *row, bool total)
{
	unsigned width, taken, i;
	char cell[FIT_MAX];

	for (i = 0; i < TOP_COLUMNS; i++) {
		const enum top_column c = (enum top_column)i;

		width = layout->width[i];
		if (!width)
			continue;
		if (l->x)
			l->x++;
		if (total && c == TOP_LID)
			taken = fit_text(cell, "all", width, false);
		else if (total && c == TOP_NAME)
			taken = fit_text(cell, "", width, false);
		else
			taken = top_cell(cell, c, row, width, l->view->utf8);
		put_cell(l, c, style_of(c, row, total), cell, taken, width);
	}
}

/* It never gets less, so that columns do not jump about. */
static void measure_names(struct top_view *v, size_t n)
{
	char name[FIT_MAX];
	unsigned width;
	size_t i;

	for (i = v->first; i < v->n && i < v->first + n; i++) {
		width = fit_text(name, v->rows[i]->name, v->width, v->utf8);
		if (width > v->name_width)
			v->name_width = width;
	}
}

static void draw_table(struct line *l, struct top_view *v,
		       const struct top_snapshot *s, size_t page)
{
	struct top_layout layout;
	size_t i;

	measure_names(v, page);
	top_arrange(&layout, v->width, v->sort, v->name_width);
	draw_header(l, &layout);
	*l = next_line(l);
	draw_row(l, &layout, &s->total, true);
	*l = next_line(l);
	for (i = v->first; i < v->n && i < v->first + page; i++) {
		draw_row(l, &layout, v->rows[i], false);
		*l = next_line(l);
	}
}

/*
 * Below the table
 */

static void put_key(struct line *l, const char *key, const char *what)
{
	put_whole(l, TOP_STRONG, "%s", key);
	put_whole(l, TOP_FAINT, " %s  ", what);
}

static void draw_foot(struct line *l)
{
	const struct top_view *v = l->view;

	if (v->typing) {
		put(l, TOP_STRONG, "name: ");
		put(l, TOP_PLAIN, "%s_", v->filter);
		put_whole(l, TOP_FAINT, "   Enter keeps it, Esc shows all");
		return;
	}
	if (*v->filter) {
		put(l, TOP_YELLOW, "only names with \"%s\": %zu  ", v->filter,
		    v->n);
		put_whole(l, TOP_FAINT, "  / Enter shows all");
		return;
	}
	put_key(l, "q", "quit");
	put_key(l, "?", "help");
	put_key(l, "< >", "sort by");
	put_key(l, "r", "reverse");
	put_key(l, "/", "names");
	put_key(l, "p", v->paused ? "go on" : "pause");
	put_key(l, "c", "clear");
}

/* A line, as long as there is one. */
static void put_help(struct line *l, const char *what, const char *text)
{
	if (l->y >= l->view->height)
		return;
	put(l, TOP_STRONG, "%-*s", HELP_INDENT, what);
	put(l, TOP_PLAIN, "%s", text);
	*l = next_line(l);
}

static void draw_help(struct line *l)
{
	static const struct {
		const char *key, *what;
	} keys[] = {
		{ "< >", "or left and right: the column to sort by" },
		{ "r", "the other way round" },
		{ "/", "show only names with this in them; * and ? as in a shell" },
		{ "up, down", "also Page Up, Page Down, Home, End: other rows" },
		{ "p", "pause: the numbers stand still, and count on unseen" },
		{ "c", "clear: count from now on" },
		{ "q", "quit" },
	};
	size_t i;

	for (i = 0; i < sizeof(keys) / sizeof(keys[0]); i++)
		put_help(l, keys[i].key, keys[i].what);
	put_help(l, "", "");
	for (i = 0; i < TOP_COLUMNS; i++)
		put_help(l, top_column_title((enum top_column)i, HELP_INDENT),
			 top_column_help((enum top_column)i));
}

/*
 * All of it
 */

static bool is_too_small(const struct top_view *v)
{
	return v->width < TOP_LEAST_WIDTH ||
	       (v->height && v->height < TOP_LEAST_HEIGHT);
}

static void draw_too_small(struct line *l)
{
	const struct top_view *v = l->view;

	put(l, TOP_PLAIN, "%ux%u is too small: %dx%d", v->width, v->height,
	    TOP_LEAST_WIDTH, TOP_LEAST_HEIGHT);
}

/* Beside the table's rows: title, graph, header, totals, keys. */
static size_t other_lines(const struct top_snapshot *s,
			  const struct top_status *status)
{
	return 5 + has_notice(s, status);
}

size_t top_view_page(const struct top_view *v, const struct top_snapshot *s,
		     const struct top_status *status)
{
	size_t others = other_lines(s, status);

	if (!v->height)
		return v->n;
	return v->height > others ? v->height - others : 0;
}

void top_view_draw(struct top_view *v, const struct top_snapshot *s,
		   const struct top_status *status, struct top_canvas *c)
{
	struct line l = { c, v, 0, 0 };

	if (is_too_small(v)) {
		draw_too_small(&l);
		return;
	}
	draw_title(&l, s, status);
	l = next_line(&l);
	if (v->help) {
		draw_help(&l);
		return;
	}
	draw_graph(&l, s);
	l = next_line(&l);
	if (has_notice(s, status)) {
		draw_notice(&l, s, status);
		l = next_line(&l);
	}
	draw_table(&l, v, s, top_view_page(v, s, status));
	if (v->height) {
		l = (struct line){ c, v, v->height - 1, 0 };
		draw_foot(&l);
	}
}

/*
 * Choosing
 */

static int by_column(const void *a, const void *b, void *context)
{
	const struct top_row *const *x = a, *const *y = b;
	const struct top_view *v = context;

	return top_compare(v->sort, v->reverse, *x, *y);
}

bool top_view_arrange(struct top_view *v, const struct top_snapshot *s)
{
	char pattern[TOP_FILTER_MAX + 2];
	const struct top_row **rows;
	size_t i;

	v->n = 0;
	if (s->n > v->room) {
		rows = realloc(v->rows, s->room * sizeof(*rows));
		if (!rows)
			return false;
		v->rows = rows;
		v->room = s->room;
	}
	snprintf(pattern, sizeof(pattern), "*%s*", v->filter);
	for (i = 0; i < s->n; i++)
		if (!*v->filter ||
		    !fnmatch(pattern, s->rows[i].name, FNM_CASEFOLD))
			v->rows[v->n++] = &s->rows[i];
	if (v->n)
		qsort_r(v->rows, v->n, sizeof(*v->rows), by_column, v);
	return true;
}

void top_view_scroll(struct top_view *v, size_t page, long rows)
{
	const long last = v->n > page ? (long)(v->n - page) : 0;
	long first = (long)v->first + rows;

	v->first = (size_t)(first < 0 ? 0 : first > last ? last : first);
}

void top_view_turn(struct top_view *v, int columns)
{
	v->sort = (enum top_column)((v->sort + TOP_COLUMNS + columns) %
				    TOP_COLUMNS);
	v->reverse = false;
}

void top_view_free(struct top_view *v)
{
	free(v->rows);
	v->rows = NULL;
	v->n = v->room = 0;
}
