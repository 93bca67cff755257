/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
#include <err.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <infiniband/umad.h>

#include "umad_client.h"

volatile bool umad_client_stop;

static void on_signal(int sig)
{
	(void)sig;
	umad_client_stop = true;
}

uint64_t now_us(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * 1000000ull + ts.tv_nsec / 1000;
}

/*
 * libumad2sim.so writes the agent id into bits 32-47 of a request's TID, as
 * the kernel writes its own upper half, and ibsim writes the number of the
 * client into bits 48-63: that is how both find whom an answer is for. The
 * client's number is nowhere else to be read, so a directed route query of
 * no hops asks for it.
 */
static unsigned int learn_id(struct umad_client *c)
{
	uint8_t mad[MAD_LEN] = { 1, CLASS_SM_DR, 1, METHOD_GET };
	struct umad_packet p;
	uint64_t end;

	put32(mad + MAD_TID + 4, 1);
	put16(mad + MAD_ATTR, 0x11);	/* NodeInfo */
	put16(mad + 32, 0xffff);	/* permissive source and destination */
	put16(mad + 34, 0xffff);
	if (umad_client_send(c, mad, MAD_LEN, 0xffff) < 0)
		err(1, "cannot send");
	for (end = now_us() + 2000000; now_us() < end;)
		if (umad_client_recv(c, &p, 100) &&
		    p.mad[MAD_CLASS] == CLASS_SM_DR &&
		    p.mad[MAD_METHOD] == METHOD_GET_RESP)
			return get16(p.mad + MAD_TID);
	errx(1, "the own port does not answer");
}

void umad_client_open(struct umad_client *c)
{
	struct sigaction sa = { .sa_handler = on_signal };
	umad_port_t port;

	memset(c, 0, sizeof(*c));
	sigaction(SIGINT, &sa, NULL);
	sigaction(SIGTERM, &sa, NULL);

	if (umad_init() < 0 || umad_get_port(NULL, 0, &port) < 0)
		errx(1, "no umad port");
	c->lid = port.base_lid;
	c->sm_lid = port.sm_lid;
	memcpy(c->gid, &port.gid_prefix, 8);
	memcpy(c->gid + 8, &port.port_guid, 8);
	c->port = umad_open_port(port.ca_name, port.portnum);
	umad_release_port(&port);
	if (c->port < 0)
		errx(1, "cannot open the umad port");
	c->sa = umad_register(c->port, CLASS_SA, 2, 0, NULL);
	c->sm = umad_register(c->port, CLASS_SM, 1, 0, NULL);
	c->sm_dr = umad_register(c->port, CLASS_SM_DR, 1, 0, NULL);
	if (c->sa < 0 || c->sm < 0 || c->sm_dr < 0)
		errx(1, "cannot register with the umad port");
	c->id = learn_id(c);
}

/*
 * Now and then libumad2sim.so deadlocks when a program ends: it joins its
 * receiver, which waits for a mutex. Everything is done by then.
 */
static void on_alarm(int sig)
{
	(void)sig;
	_exit(0);
}

void umad_client_close(struct umad_client *c)
{
	struct sigaction sa = { .sa_handler = on_alarm };

	sigaction(SIGALRM, &sa, NULL);
	alarm(10);
	umad_close_port(c->port);
	umad_done();
}

uint64_t umad_client_tid(const struct umad_client *c, uint8_t mgmt_class,
			 uint32_t tid)
{
	uint16_t agent = mgmt_class == CLASS_SM_DR ? c->sm_dr :
			 mgmt_class == CLASS_SM ? c->sm : c->sa;

	return (uint64_t)c->id << 48 | (uint64_t)agent << 32 | tid;
}

int umad_client_send(struct umad_client *c, const uint8_t *mad, int len,
		     uint16_t lid)
{
	static char buf[sizeof(ib_user_mad_t) + 4096];
	uint8_t class = mad[MAD_CLASS];
	int agent = class == CLASS_SM_DR ? c->sm_dr :
		    class == CLASS_SM ? c->sm : c->sa;

	if (len < 0 || len > 4096)
		return -1;
	memset(buf, 0, umad_size());
	memcpy(umad_get_mad(buf), mad, len);
	/* libumad2sim.so sends 256 bytes whatever the length is */
	if (len < MAD_LEN)
		memset((char *)umad_get_mad(buf) + len, 0, MAD_LEN - len);
	umad_set_addr(buf, lid, agent == c->sa ? 1 : 0, 0, 0x80010000);
	return umad_send(c->port, agent, buf, len, 0, 0) < 0 ? -1 : 0;
}

int umad_client_recv(struct umad_client *c, struct umad_packet *p,
		     int timeout_ms)
{
	static char buf[sizeof(ib_user_mad_t) + MAD_LEN];
	int len = MAD_LEN;

	/*
	 * Polling first: libumad2sim.so's read of an empty queue returns a
	 * number that libibumad takes for an agent. Its poll fails on a
	 * spurious wake-up, which is a time-out as well.
	 */
	if (umad_poll(c->port, timeout_ms) < 0 ||
	    umad_recv(c->port, buf, &len, timeout_ms) < 0)
		return 0;
	p->umad = buf;
	p->mad = umad_get_mad(buf);
	p->len = len;
	p->status = umad_status(buf);
	p->lid = be16toh(umad_get_mad_addr(buf)->lid);
	return 1;
}
