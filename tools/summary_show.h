/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* A summary for people and for programs. */
#ifndef OSMSNOOP_SUMMARY_SHOW_H
#define OSMSNOOP_SUMMARY_SHOW_H

#include <stdio.h>

#include "records.h"
#include "summary.h"

struct summary_view {
	const struct summary *summary;
	const struct records_stats *stats;
	size_t requesters;	/* the busiest, so many */
	FILE *out;
};

void summary_show_text(const struct summary_view *v);

/* One object; osmsnoop(1) has its keys. */
void summary_show_json(const struct summary_view *v);

#endif /* OSMSNOOP_SUMMARY_SHOW_H */
