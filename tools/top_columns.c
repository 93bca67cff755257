/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "field.h"
#include "layout.h"
#include "names.h"
#include "top_columns.h"

enum {
	NAME_MAX_WIDTH = 32,
	LIST_WIDTH = 30,	/* two attributes */
};

typedef unsigned cell_fn(char buf[FIT_MAX], const struct top_row *row,
			 unsigned width, bool utf8);
typedef double value_fn(const struct top_row *row);

/*
 * Cells
 */

static unsigned lid_cell(char buf[FIT_MAX], const struct top_row *row,
			 unsigned width, bool utf8)
{
	(void)utf8;
	return fit_count(buf, row->lid, width);
}

static unsigned name_cell(char buf[FIT_MAX], const struct top_row *row,
			  unsigned width, bool utf8)
{
	return fit_text(buf, *row->name ? row->name : "-", width, utf8);
}

static unsigned rate_cell(char buf[FIT_MAX], const struct top_row *row,
			  unsigned width, bool utf8)
{
	(void)utf8;
	return fit_rate(buf, row->rate, width);
}

static unsigned share_cell(char buf[FIT_MAX], const struct top_row *row,
			   unsigned width, bool utf8)
{
	(void)width;
	(void)utf8;
	return fit_share(buf, row->share);
}

static unsigned latency_cell(char buf[FIT_MAX], const struct top_row *row,
			     uint64_t us)
{
	return row->timed ? fit_latency(buf, us) :
			    (unsigned)sprintf(buf, "-");
}

static unsigned p50_cell(char buf[FIT_MAX], const struct top_row *row,
			 unsigned width, bool utf8)
{
	(void)width;
	(void)utf8;
	return latency_cell(buf, row, row->p50_us);
}

static unsigned p99_cell(char buf[FIT_MAX], const struct top_row *row,
			 unsigned width, bool utf8)
{
	(void)width;
	(void)utf8;
	return latency_cell(buf, row, row->p99_us);
}

static void attribute_text(char *text, size_t size, uint16_t id)
{
	const char *name = attribute_name(CLASS_SUBN_ADM, id);

	if (name)
		snprintf(text, size, "%s", name);
	else
		snprintf(text, size, "0x%04x", id);
}

/* "PathRecord 82%, NodeRecord 12%": the first one, and those that fit whole. */
static unsigned list_cell(char buf[FIT_MAX], const struct top_row *row,
			  unsigned width, bool utf8)
{
	const struct top_attribute *a = row->attributes;
	char list[FIT_MAX], word[64], share[FIT_MAX];
	struct words w;
	size_t i;

	words_init(&w, list, sizeof(list));
	for (i = 0; i < TOP_ATTRIBUTES && a[i].count; i++) {
		attribute_text(word, sizeof(word), a[i].id);
		if (w.len && w.len + strlen(", ") + strlen(word) > width)
			break;
		words_add(&w, "%s%s", i ? ", " : "", word);
		/* of one that is all there is, it says nothing */
		if (a[i].count >= row->requests)
			break;
		fit_share(share, (double)a[i].count / (double)row->requests);
		if (w.len + strlen(" ") + strlen(share) <= width)
			words_add(&w, " %s", share);
	}
	return fit_text(buf, *list ? list : "-", width, utf8);
}

/*
 * Counts, whose cells are all alike
 */

static double lid_of(const struct top_row *row)
{
	return row->lid;
}

static double rate_of(const struct top_row *row)
{
	return row->rate;
}

static double requests_of(const struct top_row *row)
{
	return (double)row->requests;
}

static double answered_of(const struct top_row *row)
{
	return (double)row->answered;
}

static double unanswered_of(const struct top_row *row)
{
	return (double)row->unanswered;
}

static double failed_of(const struct top_row *row)
{
	return (double)row->failed;
}

static double errors_of(const struct top_row *row)
{
	return (double)row->errors;
}

static double duplicates_of(const struct top_row *row)
{
	return (double)row->duplicates;
}

static double p50_of(const struct top_row *row)
{
	return (double)row->p50_us;
}

static double p99_of(const struct top_row *row)
{
	return (double)row->p99_us;
}

/*
 * `least` is the width without which a column is not shown, `wanted` what it
 * takes where there is room. The rank is by importance. `mood`: of a number
 * that is not 0.
 */
static const struct column {
	const char *name;
	const char *title, *brief;
	unsigned least, wanted;
	unsigned rank;
	cell_fn *cell;		/* NULL: the count that `value` tells */
	value_fn *value;	/* NULL: a text */
	enum top_mood mood;
	bool rises;		/* the least comes first */
	const char *help;
} columns[TOP_COLUMNS] = {
	[TOP_LID] = {
		"lid", "LID", "LID", 5, 5, 0, lid_cell, lid_of, TOP_USUAL,
		true, "who asks: the LID",
	},
	[TOP_NAME] = {
		"name", "NAME", "NAME", 13, 13, 1, name_cell, NULL, TOP_USUAL,
		true, "the node's name",
	},
	[TOP_RATE] = {
		"rate", "REQ/S", "REQ/S", 5, 7, 2, rate_cell, rate_of,
		TOP_USUAL, false, "requests a second now, those sent again too",
	},
	[TOP_REQUESTS] = {
		"requests", "REQUESTS", "REQS", 5, 9, 3, NULL, requests_of,
		TOP_USUAL, false, "requests since the beginning or key c",
	},
	[TOP_SHARE] = {
		"share", "SHARE", "%", 4, 5, 10, share_cell, requests_of,
		TOP_USUAL, false, "of all requests, in percent",
	},
	[TOP_ANSWERED] = {
		"answered", "ANSWERED", "ANSW", 5, 9, 12, NULL, answered_of,
		TOP_USUAL, false, "requests that were answered",
	},
	[TOP_UNANSWERED] = {
		"unanswered", "UNANSWERED", "UNANS", 5, 10, 5, NULL,
		unanswered_of, TOP_BAD, false,
		"requests that got no answer within 5 s",
	},
	[TOP_FAILED] = {
		"failed", "FAILED", "FAIL", 4, 7, 6, NULL, failed_of, TOP_BAD,
		false, "answers that could not be sent",
	},
	[TOP_ERRORS] = {
		"errors", "ERRORS", "ERRS", 4, 7, 7, NULL, errors_of, TOP_ODD,
		false, "answers with a status that is not OK",
	},
	[TOP_DUPLICATES] = {
		"duplicates", "DUPLICATES", "DUPS", 4, 10, 11, NULL,
		duplicates_of, TOP_ODD, false,
		"requests that were sent again before the answer",
	},
	[TOP_P50] = {
		"p50", "P50", "P50", 5, 6, 9, p50_cell, p50_of, TOP_USUAL,
		false, "half of the answers were faster than this",
	},
	[TOP_P99] = {
		"p99", "P99", "P99", 5, 6, 8, p99_cell, p99_of, TOP_USUAL,
		false, "all but one in a hundred were faster than this",
	},
	[TOP_ATTRIBUTE_LIST] = {
		"attributes", "ATTRIBUTES", "ATTRIBUTES", 10, LIST_WIDTH, 4,
		list_cell, NULL, TOP_USUAL, true,
		"what is asked for most often",
	},
};

/*
 * Names
 */

const char *top_column_name(enum top_column column)
{
	return columns[column].name;
}

enum top_column top_column_find(const char *name)
{
	size_t i, len = strlen(name);

	for (i = 0; len && i < TOP_COLUMNS; i++)
		if (!strncasecmp(columns[i].name, name, len))
			return (enum top_column)i;
	return TOP_COLUMNS;
}

const char *top_column_help(enum top_column column)
{
	return columns[column].help;
}

const char *top_column_title(enum top_column column, unsigned width)
{
	const struct column *c = &columns[column];

	return strlen(c->title) <= width ? c->title : c->brief;
}

bool top_column_rises(enum top_column column)
{
	return columns[column].rises;
}

bool top_column_is_text(enum top_column column)
{
	return !columns[column].value;
}

/*
 * Order
 */

static int compare_numbers(double a, double b)
{
	return (a > b) - (a < b);
}

static int compare_names(const struct top_row *a, const struct top_row *b)
{
	/* who has none comes last */
	if (!*a->name || !*b->name)
		return !*a->name - !*b->name;
	return strverscmp(a->name, b->name);
}

static int compare_lists(const struct top_row *a, const struct top_row *b)
{
	char x[64], y[64];

	attribute_text(x, sizeof(x), a->attributes[0].id);
	attribute_text(y, sizeof(y), b->attributes[0].id);
	return strcmp(x, y);
}

static int compare(enum top_column column, const struct top_row *a,
		   const struct top_row *b)
{
	const struct column *c = &columns[column];

	if (column == TOP_NAME)
		return compare_names(a, b);
	if (column == TOP_ATTRIBUTE_LIST)
		return compare_lists(a, b);
	return c->rises ? compare_numbers(c->value(a), c->value(b)) :
			  compare_numbers(c->value(b), c->value(a));
}

int top_compare(enum top_column column, bool reverse, const struct top_row *a,
		const struct top_row *b)
{
	int n = compare(column, a, b);

	if (n)
		return reverse ? -n : n;
	n = compare_numbers(requests_of(b), requests_of(a));
	return n ? n : compare_numbers(a->lid, b->lid);
}

/*
 * Widths
 */

/* The most important one that is not shown yet. */
static enum top_column next_column(const struct top_layout *layout,
				   enum top_column always)
{
	enum top_column best = TOP_COLUMNS;
	size_t i;

	if (!layout->width[always])
		return always;
	for (i = 0; i < TOP_COLUMNS; i++)
		if (!layout->width[i] && (best == TOP_COLUMNS ||
					  columns[i].rank < columns[best].rank))
			best = (enum top_column)i;
	return best;
}

/* Give a column up to `wanted`, of what is `left`. */
static void widen(struct top_layout *layout, enum top_column column,
		  unsigned wanted, unsigned *left)
{
	unsigned *width = &layout->width[column], more;

	if (!*width || *width >= wanted)
		return;
	more = wanted - *width;
	if (more > *left)
		more = *left;
	*width += more;
	*left -= more;
}

void top_arrange(struct top_layout *layout, unsigned width,
		 enum top_column always, unsigned name_width)
{
	unsigned left = width + 1;	/* a blank before all but the first */
	enum top_column c;
	size_t i;

	*layout = (struct top_layout){ .width = { 0 } };
	while ((c = next_column(layout, always)) != TOP_COLUMNS &&
	       columns[c].least + 1 <= left) {
		layout->width[c] = columns[c].least;
		left -= columns[c].least + 1;
	}
	widen(layout, TOP_NAME, name_width < NAME_MAX_WIDTH ?
	      name_width : NAME_MAX_WIDTH, &left);
	for (i = 0; i < TOP_COLUMNS; i++)
		widen(layout, (enum top_column)i, columns[i].wanted, &left);
	widen(layout, TOP_ATTRIBUTE_LIST, width, &left);
}

/*
 * What is in a cell
 */

unsigned top_cell(char buf[FIT_MAX], enum top_column column,
		  const struct top_row *row, unsigned width, bool utf8)
{
	const struct column *c = &columns[column];

	if (c->cell)
		return c->cell(buf, row, width, utf8);
	return fit_count(buf, (uint64_t)c->value(row), width);
}

enum top_mood top_cell_mood(enum top_column column, const struct top_row *row)
{
	const struct column *c = &columns[column];

	if (!c->value || column == TOP_LID)
		return TOP_USUAL;
	return c->value(row) > 0 ? c->mood : TOP_NOTHING;
}
