/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * OSMSNOOP_DOUBLE: words, "," between them.
 *
 *	snoop=on|refuse	refuse: EINVAL, as every mainline kernel (on)
 *	queue=N		packets that wait in a file; more are lost
 *			(200000: MAX_UMAD_RECV_LIST_SIZE of user_mad.c)
 *	drop=PERCENT	of RMPP DATA segments are sent and lost (0)
 *	drop_ack=PERCENT of RMPP ACKs (0)
 *	repeat=PERCENT	of RMPP DATA segments come twice (0)
 *	window=N	segments that a receiver lets come (64: an eighth of
 *			the 512 receives that ib_core posts)
 *	ack_ms=N	a sender's time-out for an ACK (2000); a shorter
 *			time-out of the send itself comes first
 *	recv_ms=N	a receiver's for the whole message (40000)
 *	max=BYTES	a receiver stops longer messages with STOP, as IBA
 *			13.6 lets it and Linux does not do (0: none)
 *	abort=on|off	a sender that gives up sends ABORT, as IBA 13.6
 *			asks and Linux does not do (on)
 *	seed=N		another choice of what is lost (1)
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "umad_double.h"

struct options options = {
	.queue = 200000,
	.window = 64,
	.ack_ms = 2000,
	.recv_ms = 40000,
	.abort = 1,
	.seed = 1,
};

static const struct {
	const char *name;
	unsigned int *value;
	unsigned int min, max;
	const char *zero, *one;		/* words instead of numbers */
} words[] = {
	{ "snoop", &options.refuse, 0, 1, "on", "refuse" },
	{ "queue", &options.queue, 1, 1u << 30, NULL, NULL },
	{ "drop", &options.drop, 0, 100, NULL, NULL },
	{ "drop_ack", &options.drop_ack, 0, 100, NULL, NULL },
	{ "repeat", &options.repeat, 0, 100, NULL, NULL },
	{ "window", &options.window, 1, 1u << 20, NULL, NULL },
	{ "ack_ms", &options.ack_ms, 1, 1u << 30, NULL, NULL },
	{ "recv_ms", &options.recv_ms, 1, 1u << 30, NULL, NULL },
	{ "max", &options.max, 0, 1u << 30, NULL, NULL },
	{ "abort", &options.abort, 0, 1, "off", "on" },
	{ "seed", &options.seed, 0, 1u << 30, NULL, NULL },
};

static bool read_word(size_t i, const char *text)
{
	unsigned long n;
	char *end;

	if (words[i].zero) {
		*words[i].value = !strcmp(text, words[i].one);
		return *words[i].value || !strcmp(text, words[i].zero);
	}
	n = strtoul(text, &end, 10);
	if (*text < '0' || *text > '9' || *end || n < words[i].min ||
	    n > words[i].max)
		return false;
	*words[i].value = (unsigned int)n;
	return true;
}

static bool read_words(char *text)
{
	char *save, *word, *value;
	size_t i;

	for (word = strtok_r(text, ",", &save); word;
	     word = strtok_r(NULL, ",", &save)) {
		value = strchr(word, '=');
		if (!value)
			return false;
		*value++ = '\0';
		for (i = 0; i < ARRAY_LEN(words); i++)
			if (!strcmp(word, words[i].name))
				break;
		if (i == ARRAY_LEN(words) || !read_word(i, value))
			return false;
	}
	return true;
}

void options_read(void)
{
	const char *env = getenv("OSMSNOOP_DOUBLE");
	char *text = env ? strdup(env) : NULL;

	if (!text)
		return;
	if (!read_words(text)) {
		/* a test that goes on would test something else */
		fprintf(stderr, "libumad_double: bad OSMSNOOP_DOUBLE=%s\n",
			env);
		_exit(2);
	}
	free(text);
}
