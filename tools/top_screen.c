/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
#include <config.h>

#include <curses.h>
#include <errno.h>
#include <langinfo.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli.h"
#include "clock.h"
#include "top_screen.h"

enum {
	KEY_WAIT_MS = 200,	/* in which a signal is noticed, too */
	ESCAPE_MS = 50,		/* between the bytes of a function key */
	KEY_ESCAPE = 27,
	KEY_RUBOUT = 127,
};

struct screen {
	struct top_canvas canvas;
	struct top_feed *feed;
	struct top_view *view;
	FILE *keys;
	SCREEN *terminal;
	attr_t styles[TOP_STYLES];
	struct top_snapshot snapshot;
	struct top_status status;
	bool looked;		/* there is a snapshot */
	bool quit;
};

/*
 * The terminal
 */

static void set_styles(struct screen *s)
{
	static const attr_t plain[TOP_STYLES] = {
		[TOP_FAINT] = A_DIM,
		[TOP_STRONG] = A_BOLD,
		[TOP_HEADER] = A_REVERSE,
		[TOP_HEADER_SORTED] = A_REVERSE | A_BOLD | A_UNDERLINE,
		[TOP_YELLOW] = A_BOLD,
		[TOP_RED] = A_BOLD,
	};
	static const struct {
		enum top_style style;
		short colour;
	} colours[] = {
		{ TOP_HEADER_SORTED, COLOR_CYAN },
		{ TOP_GRAPH, COLOR_CYAN },
		{ TOP_YELLOW, COLOR_YELLOW },
		{ TOP_RED, COLOR_RED },
	};
	const char *no = getenv("NO_COLOR");
	size_t i;

	memcpy(s->styles, plain, sizeof(plain));
	if ((no && *no) || !has_colors() || start_color() == ERR)
		return;
	use_default_colors();
	for (i = 0; i < sizeof(colours) / sizeof(colours[0]); i++) {
		init_pair((short)(i + 1), colours[i].colour, -1);
		s->styles[colours[i].style] |= COLOR_PAIR(i + 1);
	}
}

/* Whoever calls exit() leaves the terminal as it was. */
static void restore(void)
{
	if (!isendwin())
		endwin();
}

static bool open_terminal(struct screen *s)
{
	s->keys = isatty(STDIN_FILENO) ? stdin : fopen("/dev/tty", "re");
	if (!s->keys) {
		cli_complain("/dev/tty: %s; -b needs no terminal",
			     strerror(errno));
		return false;
	}
	s->terminal = newterm(NULL, stdout, s->keys);
	if (!s->terminal) {
		cli_complain("a terminal of this kind is not known (TERM); -b needs none");
		return false;
	}
	atexit(restore);
	set_escdelay(ESCAPE_MS);
	cbreak();
	noecho();
	keypad(stdscr, true);
	curs_set(0);
	set_styles(s);
	return true;
}

static void close_terminal(struct screen *s)
{
	if (s->terminal) {
		endwin();
		delscreen(s->terminal);
	}
	if (s->keys && s->keys != stdin)
		fclose(s->keys);
}

/* It was closed: there will be no key, and nobody looks. */
static bool is_gone(const struct screen *s)
{
	struct pollfd pfd = { .fd = fileno(s->keys) };

	return poll(&pfd, 1, 0) > 0 && pfd.revents & (POLLHUP | POLLERR);
}

/*
 * Drawing
 */

static void put(struct top_canvas *c, unsigned y, unsigned x,
		enum top_style style, const char *text, unsigned width)
{
	const struct screen *s = (const struct screen *)c;

	(void)width;
	attrset(s->styles[style]);
	mvaddstr((int)y, (int)x, text);
}

static void look(struct screen *s)
{
	if (s->view->paused && s->looked)
		return;
	if (top_feed_look(s->feed, &s->snapshot, &s->status))
		s->looked = true;
}

static void draw(struct screen *s)
{
	struct top_view *v = s->view;

	getmaxyx(stdscr, v->height, v->width);
	top_view_arrange(v, &s->snapshot);
	top_view_scroll(v, top_view_page(v, &s->snapshot, &s->status), 0);
	erase();
	top_view_draw(v, &s->snapshot, &s->status, &s->canvas);
	refresh();
}

/*
 * Keys
 */

static void type(struct top_view *v, int key)
{
	size_t len = strlen(v->filter);

	switch (key) {
	case KEY_ESCAPE:
		*v->filter = '\0';
		v->typing = false;
		break;
	case '\r':
	case '\n':
	case KEY_ENTER:
		v->typing = false;
		break;
	case '\b':
	case KEY_BACKSPACE:
	case KEY_RUBOUT:
		/* with what continues a character of UTF-8 */
		while (len && (v->filter[--len] & 0xc0) == 0x80)
			;
		v->filter[len] = '\0';
		break;
	default:
		if (key < ' ' || key > 0xff || len + 1 >= TOP_FILTER_MAX)
			break;
		v->filter[len] = (char)key;
		v->filter[len + 1] = '\0';
	}
}

static void scroll_by_key(struct screen *s, int key)
{
	struct top_view *v = s->view;
	const size_t page = top_view_page(v, &s->snapshot, &s->status);
	const long all = TOP_LIDS;

	switch (key) {
	case KEY_UP:
		top_view_scroll(v, page, -1);
		break;
	case KEY_DOWN:
		top_view_scroll(v, page, 1);
		break;
	case KEY_PPAGE:
		top_view_scroll(v, page, -(long)page);
		break;
	case KEY_NPAGE:
		top_view_scroll(v, page, (long)page);
		break;
	case KEY_HOME:
		top_view_scroll(v, page, -all);
		break;
	case KEY_END:
		top_view_scroll(v, page, all);
		break;
	}
}

static void clear_counts(struct screen *s)
{
	top_feed_clear(s->feed);
	s->looked = false;	/* a pause shows that, too */
	look(s);
}

static void press(struct screen *s, int key)
{
	struct top_view *v = s->view;

	if (v->typing) {
		type(v, key);
		return;
	}
	if (v->help && key != 'q' && key != KEY_RESIZE) {
		v->help = false;
		return;
	}
	switch (key) {
	case 'q':
	case 'Q':
		s->quit = true;
		break;
	case '<':
	case KEY_LEFT:
		top_view_turn(v, -1);
		break;
	case '>':
	case KEY_RIGHT:
		top_view_turn(v, 1);
		break;
	case 'r':
		v->reverse = !v->reverse;
		break;
	case '/':
		v->typing = true;
		*v->filter = '\0';
		break;
	case 'p':
		v->paused = !v->paused;
		look(s);
		break;
	case 'c':
		clear_counts(s);
		break;
	case '?':
	case 'h':
		v->help = true;
		break;
	default:
		scroll_by_key(s, key);
	}
}

/* What was pressed until now, or false when nothing was in `ms`. */
static bool take_keys(struct screen *s, uint64_t ms)
{
	int key;

	timeout((int)ms);
	key = getch();
	if (key == ERR) {
		s->quit = s->quit || is_gone(s);
		return false;
	}
	timeout(0);
	for (; key != ERR && !s->quit; key = getch())
		press(s, key);
	return true;
}

static void wait_until(struct screen *s, uint64_t next_ns,
		       const volatile sig_atomic_t *stop)
{
	uint64_t now_ns, ms;

	while (!s->quit && !*stop &&
	       (now_ns = clock_ns(CLOCK_MONOTONIC)) < next_ns) {
		ms = (next_ns - now_ns) / 1000000 + 1;
		if (take_keys(s, ms < KEY_WAIT_MS ? ms : KEY_WAIT_MS))
			draw(s);
	}
}

bool top_screen_is_utf8(void)
{
#ifdef NCURSES_IS_WIDE
	return !strcmp(nl_langinfo(CODESET), "UTF-8");
#else
	return false;
#endif
}

bool top_screen(struct top_feed *feed, struct top_view *view,
		uint64_t delay_ns, const volatile sig_atomic_t *stop)
{
	struct screen s = {
		.canvas = { put },
		.feed = feed,
		.view = view,
	};
	bool well = open_terminal(&s);

	while (well && !s.quit && !*stop) {
		look(&s);
		draw(&s);
		wait_until(&s, clock_ns(CLOCK_MONOTONIC) + delay_ns, stop);
	}
	close_terminal(&s);
	top_snapshot_free(&s.snapshot);
	return well;
}
