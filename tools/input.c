/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "input_kind.h"

struct input *input_fail(char error[INPUT_ERROR_MAX], const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vsnprintf(error, INPUT_ERROR_MAX, format, args);
	va_end(args);
	return NULL;
}

/*
 * Does the SA send such a MAD? Responses, Report and TrapRepress; it receives
 * requests, Trap and ReportResp. An ACK of RMPP has the method of the other
 * direction and is right so.
 */
static bool is_sent_by_sa(uint8_t method)
{
	switch (method) {
	case METHOD_REPORT:
	case METHOD_TRAP_REPRESS:
		return true;
	case METHOD_REPORT | METHOD_RESPONSE:
		return false;
	default:
		return method & METHOD_RESPONSE;
	}
}

/* See it from the other end. */
static void turn(struct mad_capture *cap, struct erf_note *note)
{
	const struct mad_peer peer = cap->peer;

	cap->sent = !cap->sent;
	cap->peer = note->local;
	note->local = peer;
	note->has_name = false;
	cap->route.local_lid = peer.lid;
	cap->route.local_qpn = peer.qpn;
	memcpy(cap->route.local_gid, peer.gid, sizeof(peer.gid));
	cap->route.port_guid = peer.has_gid ? mad_get64(peer.gid + 8) : 0;
}

bool input_put(struct input *in, struct mad_capture *cap,
	       struct erf_note *note)
{
	if (cap->data[MAD_CLASS] == CLASS_SUBN_ADM &&
	    cap->sent != is_sent_by_sa(cap->data[MAD_METHOD]))
		turn(cap, note);
	in->stats.mads++;
	in->stats.lost += cap->lost;
	return in->reader->mad(cap, note, in->reader->context);
}

bool input_read(struct input *in, const struct input_reader *reader,
		char error[INPUT_ERROR_MAX])
{
	in->reader = reader;
	return in->kind->read(in, error);
}

void input_close(struct input *in)
{
	if (in)
		in->kind->close(in);
}

bool input_is_live(const struct input *in)
{
	return in->live;
}

void input_get_stats(const struct input *in, struct input_stats *stats)
{
	*stats = in->stats;
}
