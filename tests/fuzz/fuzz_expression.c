/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * libFuzzer on expressions: any text is taken or refused with a message, and
 * what is taken can be asked. scripts/fuzz builds and runs it.
 *
 * build: tools/expression.c made/expression_parser.c made/expression_words.c
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "expression.h"
#include "layout.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static char error[EXPRESSION_ERROR_MAX];
	static uint8_t mad[MAD_SIZE] = { 1, CLASS_SUBN_ADM, 2, 0x12 };
	struct mad_capture cap = { .data = mad, .len = sizeof(mad),
				   .size = sizeof(mad) };
	struct record sa = { .type = RECORD_SA }, one = { .type = RECORD_MAD };
	struct expression *e;
	char *text = malloc(size + 1);

	if (!text)
		abort();
	memcpy(text, data, size);
	text[size] = '\0';
	e = expression_new(text, error);
	if (!e && !*error)
		abort();
	if (e) {
		sa.sa.mad = mad;
		sa.sa.len = sizeof(mad);
		sa.sa.requester.name = "node";
		one.mad.capture = &cap;
		expression_matches(e, &one);
		expression_matches(e, &sa);
		expression_may_match(e, &cap, &sa.sa.requester);
	}
	expression_free(e);
	free(text);
	return 0;
}
