/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* make_audit FILE MAX_BYTES RECORDS: an audit, gone on with where there is one. */
#include "audits.h"

int main(int argc, char **argv)
{
	if (argc != 4) {
		fputs("usage: make_audit FILE MAX_BYTES RECORDS\n", stderr);
		return 2;
	}
	return !audit_make(argv[1], strtoull(argv[2], NULL, 10), 0,
			   (unsigned)strtoul(argv[3], NULL, 10));
}
