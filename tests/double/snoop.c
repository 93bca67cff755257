/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Snooping agents. What the kernel of 2004 to 2020 called
 * IB_MAD_SNOOP_SEND_COMPLETIONS and IB_MAD_SNOOP_RECVS, on one QP: each
 * segment that was sent, when its send completed, and each MAD that came,
 * before an agent is looked for and before RMPP takes it.
 *
 * A transmission completes with status 0. A send that fails later (no
 * response, no ACK, an ABORT, or its agent goes away) completes a second
 * time with that status, because the filter's "errors" speaks of sends that
 * "complete in error": nothing on a fabric makes the transmission itself
 * fail.
 */
#include <string.h>

#include "snoop_filter.h"
#include "umad_double.h"

unsigned int snoop_agents;

static bool wants(const struct agent *a, const uint8_t *mad, bool sent,
		  unsigned int wc_status)
{
	struct snoop_filter filter = {
		.qpn = a->qpn,
		.mgmt_class = a->mgmt_class,
		.version = a->version,
		.attr = a->attr,
		.errors = a->errors,
	};

	memcpy(filter.oui, a->oui, sizeof(filter.oui));
	return snoop_passes(&filter, mad, sent, wc_status);
}

struct snooped {
	const struct ib_user_mad_hdr *hdr;
	const uint8_t *mad;
	bool sent;
	unsigned int wc_status;
};

static bool snoop_one(struct agent *a, void *arg)
{
	const struct snooped *s = arg;
	struct packet *p;

	if (!a->snoops || !wants(a, s->mad, s->sent, s->wc_status))
		return false;
	p = packet_new(MAD_SIZE);
	p->hdr = *s->hdr;
	memset(p->hdr.reserved, 0, sizeof(p->hdr.reserved));
	p->hdr.status = s->wc_status;
	if (s->sent)
		p->hdr.reserved[0] = SNOOPED_SEND;
	memcpy(p->data, s->mad, MAD_SIZE);
	agent_queue(a, p, true);
	return false;
}

void snoop(const struct ib_user_mad_hdr *hdr, const uint8_t *mad, bool sent,
	   unsigned int wc_status)
{
	struct snooped s = { hdr, mad, sent, wc_status };

	if (snoop_agents)
		file_each_agent(snoop_one, &s);
}
