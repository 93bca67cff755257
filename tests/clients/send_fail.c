/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * send_fail.so, preloaded into OpenSM: a double of a port that takes no SA
 * response. It stands for a umad_send() that fails because the kernel is out
 * of memory or of address handles, or the port has gone. It does not stand
 * for a response that is sent and lost on its way, which nobody is told of.
 *
 * As long as the file named by SEND_FAIL exists, umad_send() of an SA
 * response fails; everything else goes through.
 */
#include <dlfcn.h>
#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include <infiniband/umad.h>

#include "umad_client.h"

static int is_sa_response(void *umad)
{
	const uint8_t *mad = umad_get_mad(umad);

	return mad[MAD_CLASS] == CLASS_SA && mad[MAD_METHOD] & METHOD_RESPONSE;
}

int umad_send(int portid, int agentid, void *umad, int length, int timeout_ms,
	      int retries)
{
	int (*next)(int, int, void *, int, int, int) =
		(int (*)(int, int, void *, int, int, int))
			dlsym(RTLD_NEXT, "umad_send");
	const char *file = getenv("SEND_FAIL");

	if (file && is_sa_response(umad) && !access(file, F_OK)) {
		errno = ENOMEM;
		return -EIO;
	}
	return next(portid, agentid, umad, length, timeout_ms, retries);
}
