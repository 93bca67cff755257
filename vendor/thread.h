/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
#ifndef OSMSNOOP_THREAD_H
#define OSMSNOOP_THREAD_H

#include <pthread.h>
#include <signal.h>

/*
 * A thread of ours: signals are the program's business, so it blocks all of
 * them; `name` (15 bytes at most) is what ps -T shows. Returns 0 or an errno.
 */
static inline int thread_start(pthread_t *thread, const char *name,
			       void *(*run)(void *), void *context)
{
	sigset_t all, before;
	int error;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	error = pthread_create(thread, NULL, run, context);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	if (!error)
		pthread_setname_np(*thread, name);
	return error;
}

#endif /* OSMSNOOP_THREAD_H */
