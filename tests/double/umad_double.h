/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * libumad_double.so stands for what the kernel's ib_core and ib_umad do and
 * libumad2sim.so does not, so that programs under ibsim find
 *
 *  - the snoop registration of libibumad's snoop API (linux-rdma, October
 *    2010), which no mainline kernel has: qpn 0x80 and 0x81, a filter in
 *    place of the method mask, copies of all agents' MADs;
 *  - RMPP in both directions, as mad_rmpp.c does it;
 *  - time-outs, retries and the read() of user_mad.c.
 *
 * It is preloaded before libumad2sim.so and never installed:
 *
 *	LD_PRELOAD=libumad_double.so:.../libumad2sim.so
 *	OSMSNOOP_DOUBLE=word,word...	(options.c)
 *
 * Files, one way down: umad_double.c (the libc calls), file.c (umad files,
 * agents, sends), rmpp.c, snoop.c, wire.c (ibsim's socket and the thread).
 *
 * What it does not stand for: several ports, P_Keys, partitions, the SMI's
 * checks, OPA, ibsim on another machine, a process that forks after it has
 * opened a umad file, a port that several processes share: one that snoops sees
 * what its own process sends and receives, so it has to do that. A response that nobody waits for is dropped, as in
 * ib_core, but for agents that send requests without a time-out, as clients
 * of libumad2sim.so may. A MAD that ibsim cannot deliver fails at once and
 * not after its time-outs.
 */
#ifndef UMAD_DOUBLE_H
#define UMAD_DOUBLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/queue.h>
#include <sys/types.h>

#include <rdma/ib_user_mad.h>

#define ARRAY_LEN(a) (sizeof(a) / sizeof((a)[0]))
#define NEVER UINT64_MAX

enum {
	MAD_SIZE = 256,
	MAD_HDR_SIZE = 24,
	RMPP_HDR_SIZE = 36,

	MAD_CLASS = 1,
	MAD_CLASS_VERSION = 2,
	MAD_METHOD = 3,
	MAD_STATUS = 4,
	MAD_TID = 8,
	MAD_ATTR = 16,
	MAD_RMPP_VERSION = 24,
	MAD_RMPP_TYPE = 25,
	MAD_RMPP_FLAGS = 26,
	MAD_RMPP_STATUS = 27,
	MAD_RMPP_SEG = 28,
	MAD_RMPP_PAYLEN = 32,	/* of an ACK: NewWindowLast */
	MAD_VENDOR_OUI = 37,

	CLASS_SM = 0x01,
	CLASS_SM_DR = 0x81,
	CLASS_SA = 0x03,
	METHOD_RESP = 0x80,
	METHOD_TRAP_REPRESS = 0x07,

	RMPP_DATA = 1,
	RMPP_ACK = 2,
	RMPP_STOP = 3,
	RMPP_ABORT = 4,
	RMPP_ACTIVE = 1,
	RMPP_FIRST = 2,
	RMPP_LAST = 4,

	MAX_AGENTS = 32,	/* of a file, IB_UMAD_MAX_AGENTS */
	MAX_FILES = 64,
};

/* enum ib_wc_status, as far as sends complete with it */
enum {
	WC_SUCCESS = 0,
	WC_WR_FLUSH_ERR = 5,	/* cancelled */
	WC_REM_ABORT_ERR = 16,
	WC_RESP_TIMEOUT_ERR = 20,
};

/*
 * How a reader tells a snooped send completion from a snooped receive. The
 * RFC says nothing of it, and a send may well complete with status 0: the
 * first reserved byte of the umad header is this project's assumption of
 * what a kernel with the patch would have to do. It is 1 for a MAD that was
 * sent and 0 for one that was received.
 */
#define SNOOPED_SEND 1

struct options {
	unsigned int refuse;	/* snoop registrations */
	unsigned int queue;	/* packets that wait in one file */
	unsigned int drop;	/* percent of DATA segments lost on the way */
	unsigned int drop_ack;	/* percent of ACKs */
	unsigned int repeat;	/* percent of DATA segments sent twice */
	unsigned int window;	/* segments a receiver lets come */
	unsigned int ack_ms;	/* how long a sender waits for an ACK */
	unsigned int recv_ms;	/* how long a message may take to come */
	unsigned int max;	/* bytes of it; 0: any */
	unsigned int abort;	/* a sender that gives up says so */
	unsigned int seed;	/* of what is dropped and repeated */
};
extern struct options options;
/* Reads OSMSNOOP_DOUBLE. Ends the process when it cannot be understood. */
void options_read(void);

/* A packet as it waits to be read: its header and a MAD or a message. */
struct packet {
	TAILQ_ENTRY(packet) link;
	struct ib_user_mad_hdr hdr;
	size_t size;
	uint8_t data[];
};

/* A MAD that came, the header as user_mad.c fills it but for the agent */
struct rx {
	struct ib_user_mad_hdr hdr;
	uint8_t mad[MAD_SIZE];
};

/* A send that waits: for a response, an ACK, or both */
struct send {
	LIST_ENTRY(send) link;
	struct ib_user_mad_hdr hdr;	/* as the sender gave it */
	uint64_t deadline;
	unsigned int retries_left;
	/* RMPP; seg_count is 0 for a plain MAD */
	uint32_t seg_count;
	uint32_t seg_num;		/* last sent */
	uint32_t last_ack;
	uint32_t newwin;
	unsigned int hdr_len;		/* repeated in every segment */
	unsigned int pad;
	uint8_t data[];			/* padded to whole segments */
};

struct rmpp_recv;

struct agent {
	struct umad_file *file;
	unsigned int id;
	uint16_t hi;			/* bits 32-47 of its TIDs */
	uint8_t qpn;
	uint8_t mgmt_class;
	uint8_t version;
	uint8_t oui[3];
	bool rmpp;
	bool loose;			/* sent a request without time-out */
	uint64_t age;
	uint32_t methods[4];
	/* the filter of an agent that snoops */
	bool snoops;
	bool errors;
	uint16_t attr;
	LIST_HEAD(, send) sends;
	LIST_HEAD(, rmpp_recv) recvs;
};

struct umad_file {
	int fd;
	bool use_pkey_index;
	bool already_used;
	struct agent *agents[MAX_AGENTS];
	TAILQ_HEAD(, packet) queue;
	unsigned int queued;
};

/*
 * One lock for all: what the double does under it never blocks. A thread that
 * holds it cannot be cancelled. Every function below is called with it.
 */
void double_lock(int *cancel_state);
void double_unlock(int cancel_state);

/* file.c; what a system call would do: a negative errno, or its result */
struct umad_file *file_open(int fd);
void file_close(struct umad_file *f);
ssize_t file_read(struct umad_file *f, void *buf, size_t count);
ssize_t file_write(struct umad_file *f, const void *buf, size_t count);
int file_register(struct umad_file *f, struct ib_user_mad_reg_req *req);
int file_register2(struct umad_file *f, struct ib_user_mad_reg_req2 *req);
int file_unregister(struct umad_file *f, uint32_t id);
int file_enable_pkey(struct umad_file *f);

/* for each agent of every file: loops until cb has returned true */
typedef bool (*agent_cb)(struct agent *a, void *arg);
void file_each_agent(agent_cb cb, void *arg);
struct packet *packet_new(size_t size);
/* gives p to the reader of a's file as a's; received: the limit holds */
void agent_queue(struct agent *a, struct packet *p, bool received);
/* the waiting send that a MAD of this direction answers */
struct send *agent_find_send(struct agent *a, const uint8_t *mad);
/* the send has come to its end; frees it */
void send_complete(struct agent *a, struct send *s, unsigned int wc_status);
void send_wait(struct send *s, unsigned int ms);
/* what comes from the wire, and what comes back because it went nowhere */
void file_receive(struct rx *rx);
void file_undeliverable(const uint8_t *mad);
/* whatever is due; returns when to come again */
uint64_t file_timers(uint64_t now);

/* rmpp.c */
unsigned int mad_data_offset(uint8_t mgmt_class);
bool class_has_rmpp(uint8_t mgmt_class);
struct send *rmpp_send_new(const uint8_t *mad, size_t size);
void rmpp_send_start(struct agent *a, struct send *s);
/* false when the message is given up, or is only waiting for a response */
bool rmpp_send_retry(struct agent *a, struct send *s);
void rmpp_send_abort(struct agent *a, struct send *s);
void rmpp_segment(const struct send *s, uint32_t num, uint8_t *mad);
/*
 * Returns true when rx was RMPP's; then *done is the message that it made
 * whole, or NULL.
 */
bool rmpp_receive(struct agent *a, const struct rx *rx, struct packet **done);
uint64_t rmpp_timers(struct agent *a, uint64_t now);
void rmpp_free(struct agent *a);

/* snoop.c */
extern unsigned int snoop_agents;
void snoop(const struct ib_user_mad_hdr *hdr, const uint8_t *mad, bool sent,
	   unsigned int wc_status);

/* wire.c */
/* Takes over ibsim's data socket; at most one in a process. */
void wire_take(int fd, unsigned int client);
bool wire_taken(void);
/* without the lock, when a device is opened: for the GRH of what is sent */
void wire_read_gid(void);
uint64_t wire_tid(uint64_t tid, uint16_t hi);
/* Sends one MAD, and tells the snooping agents of it. */
void wire_send(const struct ib_user_mad_hdr *hdr, const uint8_t *mad);
/* The thread shall look at the timers at that time, or before. */
void wire_wake_at(uint64_t deadline);
uint64_t wire_now(void);
/* without the lock: until ibsim has everything, or a second is over */
void wire_drain(void);

/* umad_double.c: what stands after the double, libumad2sim.so or libc */
int next_open(const char *path, int flags, mode_t mode);
ssize_t next_read(int fd, void *buf, size_t count);
ssize_t next_write(int fd, const void *buf, size_t count);
int next_ioctl(int fd, unsigned long request, void *arg);
int next_close(int fd);

static inline uint16_t get16(const uint8_t *p)
{
	return (uint16_t)(p[0] << 8 | p[1]);
}

static inline uint32_t get32(const uint8_t *p)
{
	return (uint32_t)get16(p) << 16 | get16(p + 2);
}

static inline uint64_t get64(const uint8_t *p)
{
	return (uint64_t)get32(p) << 32 | get32(p + 4);
}

static inline void put32(uint8_t *p, uint32_t v)
{
	p[0] = (uint8_t)(v >> 24);
	p[1] = (uint8_t)(v >> 16);
	p[2] = (uint8_t)(v >> 8);
	p[3] = (uint8_t)v;
}

static inline void put64(uint8_t *p, uint64_t v)
{
	put32(p, (uint32_t)(v >> 32));
	put32(p + 4, (uint32_t)v);
}

static inline bool mad_is_response(const uint8_t *mad)
{
	return (mad[MAD_METHOD] & METHOD_RESP) ||
	       mad[MAD_METHOD] == METHOD_TRAP_REPRESS;
}

static inline uint8_t mad_qpn(const uint8_t *mad)
{
	return mad[MAD_CLASS] != CLASS_SM && mad[MAD_CLASS] != CLASS_SM_DR;
}

#endif
