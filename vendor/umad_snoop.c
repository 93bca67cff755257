/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* libibumad's snoop call, compiled where libibumad does not have it. */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <infiniband/umad.h>
#include <infiniband/umad_snoop.h>

#include "layout.h"
#include "umad_request.h"

_Static_assert(sizeof(umad_filter_t) == 8, "filter_length says which filter");

/*
 * libibumad has two kinds of lines, of what is begun and of how it went. It
 * prints both at every level but 0, to stderr, in this form. errno stays: the
 * caller reads it after us.
 */
static void debug(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

static void debug(const char *fmt, ...)
{
	int error = errno;
	char text[256];
	va_list args;

	if (umad_debug(-1)) {	/* a negative level only asks */
		va_start(args, fmt);
		vsnprintf(text, sizeof(text), fmt, args);
		va_end(args);
		fprintf(stderr, "ibwarn: [%d] umad_register_snoop: %s\n",
			getpid(), text);
	}
	errno = error;
}

int umad_register_snoop(int portid, umad_filter_t *filter, size_t filter_length)
{
	struct ib_user_mad_reg_req req;

	if (!filter || filter_length != sizeof(*filter)) {
		debug("portid %d filter %p of %zu bytes, %zu are expected",
		      portid, (void *)filter, filter_length, sizeof(*filter));
		errno = EINVAL;
		return -EINVAL;
	}
	debug("portid %d class 0x%02x version %u attribute 0x%04x errors %u oui 0x%02x%02x%02x",
	      portid, filter->mgmt_class, filter->mgmt_version,
	      filter->attr_id, filter->errors, filter->oui[0], filter->oui[1],
	      filter->oui[2]);

	/* the byte behind the last member, too */
	memset(&req, 0, sizeof(req));
	req.qpn = UMAD_SNOOP_QP | !mad_is_smp(filter->mgmt_class);
	req.mgmt_class = filter->mgmt_class;
	req.mgmt_class_version = filter->mgmt_version;
	memcpy(req.oui, filter->oui, sizeof(req.oui));
	req.filter.attr_id = filter->attr_id;
	req.filter.errors = filter->errors;

	if (ioctl(portid, IB_USER_MAD_REGISTER_AGENT, &req)) {
		debug("portid %d qp %d class 0x%02x refused: %s", portid,
		      req.qpn & ~UMAD_SNOOP_QP, req.mgmt_class,
		      strerror(errno));
		/* not open, or open and something else than umad */
		return errno == EBADF || errno == ENOTTY ? -EINVAL : -EPERM;
	}
	debug("portid %d qp %d class 0x%02x is snooped by agent %u", portid,
	      req.qpn & ~UMAD_SNOOP_QP, req.mgmt_class, req.id);
	return (int)req.id;
}
