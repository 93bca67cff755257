/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Writes a capture file of captures.h to standard output.
 *
 *	make_capture FORMAT	the story, in format 0 to 6
 *	make_capture many N [HOSTS]	N PathRecord queries and their answers
 *	make_capture port LEN	a PortInfo of a port that is down, cut there
 */
#include <stdio.h>

#include "captures.h"

static void flush(struct captures *c)
{
	if (fwrite(c->bytes, 1, c->len, stdout) != c->len)
		exit(1);
	c->len = 0;
}

/* A million requests in 8 s, from so many hosts. */
static void make_many(struct captures *c, unsigned long n, unsigned long hosts)
{
	uint8_t mad[MAD_SIZE];
	struct mad_capture cap;
	unsigned long i;

	for (i = 0; i < n; i++) {
		cap = captures_mad(c, mad, sizeof(mad), CLASS_SUBN_ADM,
				   METHOD_GET, ATTR_PATH_RECORD,
				   (uint16_t)(i % hosts + 2), 0);
		memcpy(mad + MAD_TID, &i, sizeof(i));
		mad[SA_COMPONENT_MASK + 7] = 0x30;
		captures_set16(mad + SA_DATA + 40, 4);
		captures_set16(mad + SA_DATA + 42, 7);
		captures_encode(c, &cap, NULL);
		cap.time_ns += 20000 + i % 1000;
		mad[MAD_METHOD] |= METHOD_RESPONSE;
		cap.sent = true;
		captures_encode(c, &cap, NULL);
		c->now_ns -= 2 * 77000 - 8000;
		if (c->len > 1 << 20)
			flush(c);
	}
}

static void make_port(struct captures *c, size_t len)
{
	uint8_t mad[MAD_SIZE];
	struct mad_capture cap = captures_mad(c, mad, sizeof(mad),
					      CLASS_SUBN_LID, 0x81, 0x15, 7,
					      1);

	mad[SMP_DATA + 34] = 4;		/* MTU capability */
	cap.len = len;
	captures_encode(c, &cap, NULL);
}

int main(int argc, char **argv)
{
	struct captures c;

	if ((argc == 3 || argc == 4) && !strcmp(argv[1], "many")) {
		captures_begin(&c, FORMAT_OURS);
		make_many(&c, strtoul(argv[2], NULL, 10),
			  argc == 4 ? strtoul(argv[3], NULL, 10) : 1000);
	} else if (argc == 3 && !strcmp(argv[1], "port")) {
		captures_begin(&c, FORMAT_OURS);
		make_port(&c, strtoul(argv[2], NULL, 10));
	} else if (argc == 2 && argv[1][0] >= '0' &&
		   argv[1][0] < '0' + FORMATS && !argv[1][1]) {
		captures_begin(&c, (enum captures_format)(argv[1][0] - '0'));
		captures_story(&c);
	} else {
		fputs("usage: make_capture FORMAT | many N [HOSTS] | port LEN\n", stderr);
		return 2;
	}
	flush(&c);
	free(c.bytes);
	return fflush(stdout) != 0;
}
