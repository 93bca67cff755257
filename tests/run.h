/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* How the main() of each unit test ends. */
#ifndef OSMSNOOP_TEST_RUN_H
#define OSMSNOOP_TEST_RUN_H

#include <check.h>
#include <stdlib.h>

/* What the environment of Check says (CK_RUN_CASE, ...) holds. */
static inline int run_suite(Suite *suite)
{
	SRunner *runner = srunner_create(suite);
	int failed;

	srunner_run_all(runner, CK_ENV);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}

#endif /* OSMSNOOP_TEST_RUN_H */
