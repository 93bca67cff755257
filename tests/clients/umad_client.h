/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * What the test clients share: an open umad port with agents for the SA and
 * both SM classes, MADs addressed by byte offset, and the transaction id as
 * its receiver sees it.
 *
 * The programs take record layouts from the IBA specification by offset
 * and not from OpenSM's headers, so that they agree with the code that they
 * test only where both are right.
 */
#ifndef UMAD_CLIENT_H
#define UMAD_CLIENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define MAD_LEN		256
#define CLASS_SM	0x01
#define CLASS_SM_DR	0x81
#define CLASS_SA	0x03

/* offsets in a MAD: common header, then the SA's (IBA 13.4.3, 15.2.1.1) */
#define MAD_BASE_VERSION	0
#define MAD_CLASS		1
#define MAD_CLASS_VERSION	2
#define MAD_METHOD		3
#define MAD_STATUS		4
#define MAD_TID			8
#define MAD_ATTR		16
#define MAD_ATTR_MOD		20
#define MAD_RMPP		24
#define MAD_SM_KEY		36
#define MAD_ATTR_OFFSET		44
#define MAD_COMP_MASK		48
#define MAD_SA_DATA		56
#define MAD_SMP_DATA		64

#define METHOD_GET		0x01
#define METHOD_SET		0x02
#define METHOD_TRAP		0x05
#define METHOD_REPORT		0x06
#define METHOD_GET_TABLE	0x12
#define METHOD_GET_TRACE	0x13
#define METHOD_GET_MULTI	0x14
#define METHOD_DELETE		0x15
#define METHOD_RESPONSE		0x80
#define METHOD_GET_RESP		0x81
#define METHOD_REPORT_RESP	0x86

struct umad_client {
	int port;		/* libibumad's handle */
	int sa, sm, sm_dr;	/* agent ids */
	uint16_t lid, sm_lid;
	uint8_t gid[16];
	unsigned int id;	/* this client's number in ibsim */
};

struct umad_packet {
	void *umad;
	uint8_t *mad;
	int len;		/* of the MAD */
	int status;		/* 0, or why a request comes back (ETIMEDOUT) */
	uint16_t lid;		/* the sender */
};

/* Ends the program when there is no usable port. */
void umad_client_open(struct umad_client *c);
void umad_client_close(struct umad_client *c);

/*
 * Sends len bytes of mad to a port's QP1 (SA) or QP0 (SM). The upper half
 * of a request's transaction id is not the sender's to choose: see
 * umad_client_tid(). Returns 0 or -1.
 */
int umad_client_send(struct umad_client *c, const uint8_t *mad, int len,
		     uint16_t lid);

/* Returns 1 with a packet, or 0 when none came for so long. */
int umad_client_recv(struct umad_client *c, struct umad_packet *p,
		     int timeout_ms);

/* The transaction id that the SA or SM gets to see for these 32 bits. */
uint64_t umad_client_tid(const struct umad_client *c, uint8_t mgmt_class,
			 uint32_t tid);

uint64_t now_us(void);
/* SIGINT and SIGTERM set it; ibsim keeps the place of one that just dies */
extern volatile bool umad_client_stop;

static inline void put8(uint8_t *p, uint8_t v)
{
	*p = v;
}

static inline void put16(uint8_t *p, uint16_t v)
{
	p[0] = v >> 8;
	p[1] = v;
}

static inline void put32(uint8_t *p, uint32_t v)
{
	put16(p, v >> 16);
	put16(p + 2, v);
}

static inline void put64(uint8_t *p, uint64_t v)
{
	put32(p, v >> 32);
	put32(p + 4, v);
}

static inline uint16_t get16(const uint8_t *p)
{
	return p[0] << 8 | p[1];
}

static inline uint32_t get32(const uint8_t *p)
{
	return (uint32_t)get16(p) << 16 | get16(p + 2);
}

static inline uint64_t get64(const uint8_t *p)
{
	return (uint64_t)get32(p) << 32 | get32(p + 4);
}

#endif
