/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* What records say, in words for alerts: a name, or the number without one. */
#ifndef OSMSNOOP_WATCH_WORDS_H
#define OSMSNOOP_WATCH_WORDS_H

#include <stdint.h>

#include "watch.h"

enum { WORD_MAX = 40 };

/* "PathRecord"; "0x00f1" */
const char *word_attribute(char text[WORD_MAX], uint16_t attr_id);
/* "GetTable"; "0x7f" */
const char *word_method(char text[WORD_MAX], uint8_t method);
/* "OK", "ERR_NO_RECORDS", "0x0700"; without a response "unanswered", "failed" */
const char *word_status(char text[WORD_MAX], const struct sa_record *sa);

/* Fill in what the subnet database says of this LID. */
void who_at(struct requester *who, const struct watch_host *host, uint16_t lid,
	    uint32_t qpn);

#endif /* OSMSNOOP_WATCH_WORDS_H */
