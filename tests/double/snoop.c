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

#include "umad_double.h"

unsigned int snoop_agents;

static bool has_oui(const struct agent *a)
{
	return a->mgmt_class >= 0x30 && a->mgmt_class <= 0x4f &&
	       (a->oui[0] || a->oui[1] || a->oui[2]);
}

/* The man page of umad_register_snoop(), sentence by sentence. */
static bool passes(const struct agent *a, const uint8_t *mad, bool sent,
		   unsigned int wc_status)
{
	uint16_t status = get16(mad + MAD_STATUS);

	if (!a->mgmt_class) {
		if (a->qpn != 1)
			return false;
	} else {
		if (mad[MAD_CLASS] != a->mgmt_class)
			return false;
		if (a->version && mad[MAD_CLASS_VERSION] != a->version)
			return false;
		if (a->attr && get16(mad + MAD_ATTR) != a->attr)
			return false;
		if (has_oui(a) && memcmp(mad + MAD_VENDOR_OUI, a->oui, 3))
			return false;
	}
	if (!a->errors)
		return true;
	if (sent)
		return wc_status != WC_SUCCESS && wc_status != WC_WR_FLUSH_ERR;
	/* the highest bit of a directed route SMP is its direction */
	if (mad[MAD_CLASS] == CLASS_SM_DR)
		status &= 0x7fff;
	return status != 0;
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

	if (!a->snoops || a->qpn != mad_qpn(s->mad) ||
	    !passes(a, s->mad, s->sent, s->wc_status))
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
