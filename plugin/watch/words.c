/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
#include <stdio.h>

#include "layout.h"
#include "names.h"
#include "words.h"

static const char *name_or_number(char text[WORD_MAX], const char *name,
				  unsigned digits, unsigned number)
{
	if (name)
		return name;
	snprintf(text, WORD_MAX, "0x%0*x", (int)digits, number);
	return text;
}

const char *word_attribute(char text[WORD_MAX], uint16_t attr_id)
{
	return name_or_number(text, attribute_name(CLASS_SUBN_ADM, attr_id), 4,
			      attr_id);
}

const char *word_method(char text[WORD_MAX], uint8_t method)
{
	return name_or_number(text, method_name(CLASS_SUBN_ADM, method), 2,
			      method);
}

const char *word_status(char text[WORD_MAX], const struct sa_record *sa)
{
	if (!sa->has_response)
		return sa_outcome_name(sa->outcome);
	return name_or_number(text, sa_status_name(sa->status), 4, sa->status);
}

void who_at(struct requester *who, const struct watch_host *host, uint16_t lid,
	    uint32_t qpn)
{
	*who = (struct requester){ .addr = { .lid = lid, .qpn = qpn } };
	if (host->resolve)
		host->resolve(who, host->context);
}
