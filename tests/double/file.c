/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * umad files, their agents and what these send: user_mad.c, and of mad.c the
 * matching of responses, time-outs and retries.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "umad_double.h"

static struct umad_file *files[MAX_FILES];
static uint64_t ages;

static size_t hdr_size(const struct umad_file *f)
{
	return f->use_pkey_index ? sizeof(struct ib_user_mad_hdr) :
				   sizeof(struct ib_user_mad_hdr_old);
}

void file_each_agent(agent_cb cb, void *arg)
{
	unsigned int i, id;
	struct agent *a;

	for (i = 0; i < MAX_FILES; i++)
		for (id = 0; files[i] && id < MAX_AGENTS; id++) {
			a = files[i]->agents[id];
			if (a && cb(a, arg))
				return;
		}
}

/*
 * The queue. The file descriptor that the program has is an eventfd, which
 * is readable whenever something waits: poll, select and epoll just work.
 */
static void set_ready(struct umad_file *f, bool ready)
{
	uint64_t n = 1;
	ssize_t rc;

	rc = ready ? next_write(f->fd, &n, sizeof(n)) :
		     next_read(f->fd, &n, sizeof(n));
	if (rc != sizeof(n))
		abort();
}

struct packet *packet_new(size_t size)
{
	struct packet *p = calloc(1, sizeof(*p) + size);

	if (!p)
		abort();
	p->size = size;
	return p;
}

void agent_queue(struct agent *a, struct packet *p, bool received)
{
	struct umad_file *f = a->file;

	if (received && f->queued >= options.queue) {
		free(p);
		return;
	}
	p->hdr.id = a->id;
	if (received)
		p->hdr.length = (uint32_t)(hdr_size(f) + p->size);
	TAILQ_INSERT_TAIL(&f->queue, p, link);
	if (!f->queued++)
		set_ready(f, true);
}

static void dequeue(struct umad_file *f, struct packet *p)
{
	TAILQ_REMOVE(&f->queue, p, link);
	if (!--f->queued)
		set_ready(f, false);
	free(p);
}

/*
 * As ib_umad_read(): EINVAL when not even a first MAD has room, ENOSPC with
 * the header and the first MAD copied when a message has not; the packet
 * stays in both cases.
 */
ssize_t file_read(struct umad_file *f, void *buf, size_t count)
{
	struct packet *p = TAILQ_FIRST(&f->queue);
	size_t hdr = hdr_size(f), size, first;

	if (count < hdr)
		return -EINVAL;
	if (!p)
		return -EAGAIN;
	size = p->size;
	first = size < MAD_SIZE ? size : MAD_SIZE;
	if (count < hdr + first)
		return -EINVAL;
	memcpy(buf, &p->hdr, hdr);
	memcpy((char *)buf + hdr, p->data, first);
	if (count < hdr + size)
		return -ENOSPC;
	memcpy((char *)buf + hdr + first, p->data + first, size - first);
	dequeue(f, p);
	return (ssize_t)(hdr + size);
}

/*
 * Sends
 */
void send_wait(struct send *s, unsigned int ms)
{
	s->deadline = wire_now() + ms;
	wire_wake_at(s->deadline);
}

struct send *agent_find_send(struct agent *a, const uint8_t *mad)
{
	struct send *s;

	LIST_FOREACH(s, &a->sends, link)
		if (get64(s->data + MAD_TID) == get64(mad + MAD_TID) &&
		    s->data[MAD_CLASS] == mad[MAD_CLASS] &&
		    mad_is_response(s->data) != mad_is_response(mad))
			return s;
	return NULL;
}

/* Only time-outs come back to the program (send_handler() of user_mad.c). */
void send_complete(struct agent *a, struct send *s, unsigned int wc_status)
{
	uint8_t mad[MAD_SIZE];
	struct packet *p;

	LIST_REMOVE(s, link);
	if (wc_status != WC_SUCCESS) {
		/* of a message the first segment without an ACK, or the last */
		if (!s->seg_count)
			memcpy(mad, s->data, MAD_SIZE);
		else
			rmpp_segment(s, s->last_ack < s->seg_count ?
				     s->last_ack + 1 : s->seg_count, mad);
		snoop(&s->hdr, mad, true, wc_status);
	}
	if (wc_status == WC_RESP_TIMEOUT_ERR) {
		p = packet_new(MAD_HDR_SIZE);
		p->hdr = s->hdr;
		p->hdr.status = ETIMEDOUT;
		memcpy(p->data, s->data, MAD_HDR_SIZE);
		agent_queue(a, p, false);
	}
	free(s);
}

static bool same_destination(const struct ib_user_mad_hdr *a,
			     const struct ib_user_mad_hdr *b)
{
	if (!a->grh_present && !b->grh_present)
		return a->lid == b->lid;
	return a->grh_present && b->grh_present &&
	       !memcmp(a->gid, b->gid, sizeof(a->gid));
}

/* is_duplicate() of user_mad.c: what still waits must have its own TID */
static bool is_duplicate(const struct umad_file *f, const struct send *new)
{
	bool response = mad_is_response(new->data);
	unsigned int id;
	struct send *s;

	for (id = 0; id < MAX_AGENTS; id++) {
		if (!f->agents[id])
			continue;
		LIST_FOREACH(s, &f->agents[id]->sends, link) {
			if (get64(s->data + MAD_TID) !=
			    get64(new->data + MAD_TID) ||
			    s->data[MAD_CLASS] != new->data[MAD_CLASS] ||
			    mad_is_response(s->data) != response)
				continue;
			if (!response || same_destination(&s->hdr, &new->hdr))
				return true;
		}
	}
	return false;
}

static struct send *plain_send_new(const uint8_t *mad, size_t size)
{
	struct send *s = calloc(1, sizeof(*s) + MAD_SIZE);

	if (!s)
		abort();
	memcpy(s->data, mad, size);
	return s;
}

static void post(struct agent *a, struct send *s)
{
	bool response = mad_is_response(s->data);

	s->retries_left = s->hdr.retries;
	s->deadline = NEVER;
	if (s->seg_count) {
		LIST_INSERT_HEAD(&a->sends, s, link);
		rmpp_send_start(a, s);
		return;
	}
	if (!s->hdr.timeout_ms) {
		if (!response)
			a->loose = true;
		wire_send(&s->hdr, s->data);
		free(s);
		return;
	}
	LIST_INSERT_HEAD(&a->sends, s, link);
	send_wait(s, s->hdr.timeout_ms);
	wire_send(&s->hdr, s->data);
}

ssize_t file_write(struct umad_file *f, const void *buf, size_t count)
{
	struct ib_user_mad_hdr hdr = { 0 };
	size_t size, hdr_len = hdr_size(f);
	const uint8_t *mad = (const uint8_t *)buf + hdr_len;
	struct agent *a;
	struct send *s;
	bool has_rmpp, active;

	if (count < hdr_len + RMPP_HDR_SIZE)
		return -EINVAL;
	size = count - hdr_len;
	memcpy(&hdr, buf, hdr_len);
	if (hdr.id >= MAX_AGENTS)
		return -EINVAL;
	a = f->agents[hdr.id];
	if (!a)
		return -EIO;
	has_rmpp = class_has_rmpp(mad[MAD_CLASS]);
	active = has_rmpp && a->rmpp && (mad[MAD_RMPP_FLAGS] & RMPP_ACTIVE);
	if (a->snoops || size < mad_data_offset(mad[MAD_CLASS]) ||
	    (!active && size > MAD_SIZE) || (!has_rmpp && a->rmpp))
		return -EINVAL;

	s = active ? rmpp_send_new(mad, size) : plain_send_new(mad, size);
	s->hdr = hdr;
	if (!mad_is_response(s->data))
		put64(s->data + MAD_TID,
		      wire_tid(get64(s->data + MAD_TID), a->hi));
	if (is_duplicate(f, s)) {
		free(s);
		return -EINVAL;
	}
	post(a, s);
	return (ssize_t)count;
}

/* timeout_sends() and retry_send() of mad.c */
static void send_timed_out(struct agent *a, struct send *s)
{
	bool again = s->retries_left > 0;

	if (again) {
		s->retries_left--;
		if (s->seg_count) {
			again = rmpp_send_retry(a, s);
		} else {
			send_wait(s, s->hdr.timeout_ms);
			wire_send(&s->hdr, s->data);
		}
	}
	if (again)
		return;
	if (s->last_ack < s->seg_count && options.abort)
		rmpp_send_abort(a, s);
	send_complete(a, s, WC_RESP_TIMEOUT_ERR);
}

struct timers {
	uint64_t now, next;
};

static bool agent_timers(struct agent *a, void *arg)
{
	struct timers *t = arg;
	struct send *s, *next;
	uint64_t at;

	for (s = LIST_FIRST(&a->sends); s; s = next) {
		next = LIST_NEXT(s, link);
		if (s->deadline > t->now) {
			if (s->deadline < t->next)
				t->next = s->deadline;
			continue;
		}
		/* tells wire_wake_at() itself when it waits again */
		send_timed_out(a, s);
	}
	at = rmpp_timers(a, t->now);
	if (at < t->next)
		t->next = at;
	return false;
}

uint64_t file_timers(uint64_t now)
{
	struct timers t = { now, NEVER };

	file_each_agent(agent_timers, &t);
	return t.next;
}

/*
 * Receives
 */
static bool takes_method(const struct agent *a, uint8_t method)
{
	method &= 0x7f;
	return a->methods[method / 32] >> (method % 32) & 1;
}

struct search {
	const uint8_t *mad;
	struct agent *registered;	/* as the kernel would */
	struct agent *newest;		/* as libumad2sim.so does */
};

static bool search_agent(struct agent *a, void *arg)
{
	struct search *s = arg;
	const uint8_t *mad = s->mad;

	if (a->snoops || a->mgmt_class != mad[MAD_CLASS])
		return false;
	if (a->version == mad[MAD_CLASS_VERSION] &&
	    takes_method(a, mad[MAD_METHOD]))
		s->registered = a;
	if (!s->newest || s->newest->age < a->age)
		s->newest = a;
	return false;
}

/*
 * A response goes to the agent whose number is in its TID; a request to the
 * agent that registered for its method. Clients of libumad2sim.so may count
 * on getting the requests of a class that they did not register for, so the
 * newest agent of the class takes what is left.
 */
static struct agent *find_agent(const uint8_t *mad)
{
	struct search s = { .mad = mad };
	struct agent *a = NULL;
	uint16_t hi;

	if (!mad_is_response(mad)) {
		file_each_agent(search_agent, &s);
		return s.registered ? s.registered : s.newest;
	}
	hi = get16(mad + MAD_TID + 2);
	if (hi / MAX_AGENTS < MAX_FILES && files[hi / MAX_AGENTS])
		a = files[hi / MAX_AGENTS]->agents[hi % MAX_AGENTS];
	return a && !a->snoops ? a : NULL;
}

/* ib_mad_complete_recv() of mad.c */
static void deliver(struct agent *a, struct packet *p)
{
	struct send *s;

	if (mad_is_response(p->data)) {
		s = agent_find_send(a, p->data);
		if (s)
			send_complete(a, s, WC_SUCCESS);
		else if (!a->loose) {
			free(p);
			return;
		}
	}
	agent_queue(a, p, true);
}

void file_receive(struct rx *rx)
{
	struct packet *p = NULL;
	struct agent *a;

	snoop(&rx->hdr, rx->mad, false, WC_SUCCESS);
	a = find_agent(rx->mad);
	if (!a)
		return;
	if (!a->rmpp || !rmpp_receive(a, rx, &p)) {
		p = packet_new(MAD_SIZE);
		p->hdr = rx->hdr;
		memcpy(p->data, rx->mad, MAD_SIZE);
	}
	if (p)
		deliver(a, p);
}

struct returned {
	const uint8_t *mad;
	struct agent *a;
	struct send *s;
};

static bool search_returned(struct agent *a, void *arg)
{
	struct returned *r = arg;
	struct send *s;

	LIST_FOREACH(s, &a->sends, link)
		if (get64(s->data + MAD_TID) == get64(r->mad + MAD_TID) &&
		    s->data[MAD_CLASS] == r->mad[MAD_CLASS] &&
		    s->data[MAD_METHOD] == r->mad[MAD_METHOD]) {
			r->a = a;
			r->s = s;
			return true;
		}
	return false;
}

/*
 * ibsim sends back what it cannot deliver. A fabric does not: there, the
 * time-outs run out, and so it looks to the program.
 */
void file_undeliverable(const uint8_t *mad)
{
	struct returned r = { .mad = mad };
	struct packet *p;
	uint16_t hi;

	if (class_has_rmpp(mad[MAD_CLASS]) &&
	    (mad[MAD_RMPP_FLAGS] & RMPP_ACTIVE) &&
	    mad[MAD_RMPP_TYPE] != RMPP_DATA)
		return;
	file_each_agent(search_returned, &r);
	if (r.s) {
		send_complete(r.a, r.s, WC_RESP_TIMEOUT_ERR);
		return;
	}
	/* what libumad2sim.so tells those who do not wait */
	hi = get16(mad + MAD_TID + 2);
	if (mad_is_response(mad) || hi / MAX_AGENTS >= MAX_FILES ||
	    !files[hi / MAX_AGENTS])
		return;
	r.a = files[hi / MAX_AGENTS]->agents[hi % MAX_AGENTS];
	if (!r.a || !r.a->loose)
		return;
	p = packet_new(MAD_SIZE);
	p->hdr.status = ETIMEDOUT;
	memcpy(p->data, mad, MAD_SIZE);
	agent_queue(r.a, p, true);
}

/*
 * Agents
 */
int file_enable_pkey(struct umad_file *f)
{
	if (f->already_used)
		return -EINVAL;
	f->use_pkey_index = true;
	return 0;
}

/* Returns an agent with the lowest number that the file has free. */
static struct agent *agent_new(struct umad_file *f)
{
	unsigned int id, slot;
	struct agent *a;

	for (id = 0; f->agents[id]; )
		if (++id == MAX_AGENTS)
			return NULL;
	a = calloc(1, sizeof(*a));
	if (!a)
		return NULL;
	for (slot = 0; files[slot] != f; )
		slot++;
	a->file = f;
	a->id = id;
	a->hi = (uint16_t)(slot * MAX_AGENTS + id);
	a->age = ++ages;
	f->agents[id] = a;
	f->already_used = true;
	return a;
}

/*
 * The request of a snooping agent has 0x80 in its qpn, and where the method
 * mask lies: attr_id (16 bit, host order), errors (8 bit), 13 bytes unused.
 */
static void take_filter(struct agent *a, const void *mask)
{
	struct {
		uint16_t attr_id;
		uint8_t errors;
		uint8_t reserved[13];
	} filter;

	_Static_assert(sizeof(filter) == 16, "size of the method mask");
	memcpy(&filter, mask, sizeof(filter));
	a->snoops = true;
	a->attr = filter.attr_id;
	a->errors = filter.errors;
	snoop_agents++;
}

int file_register(struct umad_file *f, struct ib_user_mad_reg_req *req)
{
	bool snoops = req->qpn == 0x80 || req->qpn == 0x81;
	struct agent *a;

	_Static_assert(sizeof(*req) == 28, "size of the request");
	if ((snoops && options.refuse) || (!snoops && req->qpn > 1))
		return -EINVAL;
	a = agent_new(f);
	if (!a)
		return -ENOMEM;
	a->qpn = req->qpn & 1;
	a->mgmt_class = req->mgmt_class;
	a->version = req->mgmt_class_version;
	memcpy(a->oui, req->oui, sizeof(a->oui));
	if (snoops) {
		take_filter(a, req->method_mask);
	} else {
		a->rmpp = req->rmpp_version != 0;
		memcpy(a->methods, req->method_mask, sizeof(a->methods));
	}
	req->id = a->id;
	return 0;
}

/* The newer form of the request, which knows nothing of snooping */
int file_register2(struct umad_file *f, struct ib_user_mad_reg_req2 *req)
{
	struct agent *a;

	if (req->qpn > 1)
		return -EINVAL;
	if (req->flags & ~(uint32_t)IB_USER_MAD_REG_FLAGS_CAP) {
		req->flags = IB_USER_MAD_REG_FLAGS_CAP;
		return -EINVAL;
	}
	if (!f->already_used)
		f->use_pkey_index = true;
	a = agent_new(f);
	if (!a)
		return -ENOMEM;
	a->qpn = (uint8_t)req->qpn;
	a->mgmt_class = req->mgmt_class;
	a->version = req->mgmt_class_version;
	a->oui[0] = (uint8_t)(req->oui >> 16);
	a->oui[1] = (uint8_t)(req->oui >> 8);
	a->oui[2] = (uint8_t)req->oui;
	a->rmpp = req->rmpp_version && !(req->flags & IB_USER_MAD_USER_RMPP);
	memcpy(a->methods, req->method_mask, sizeof(a->methods));
	req->id = a->id;
	return 0;
}

/* What it sent is cancelled; what it has not read is lost. */
static void agent_free(struct agent *a)
{
	struct umad_file *f = a->file;
	struct packet *p, *next;
	struct send *s;

	f->agents[a->id] = NULL;
	if (a->snoops)
		snoop_agents--;
	while ((s = LIST_FIRST(&a->sends)))
		send_complete(a, s, WC_WR_FLUSH_ERR);
	rmpp_free(a);
	for (p = TAILQ_FIRST(&f->queue); p; p = next) {
		next = TAILQ_NEXT(p, link);
		if (p->hdr.id == a->id)
			dequeue(f, p);
	}
	free(a);
}

int file_unregister(struct umad_file *f, uint32_t id)
{
	if (id >= MAX_AGENTS || !f->agents[id])
		return -EINVAL;
	agent_free(f->agents[id]);
	return 0;
}

struct umad_file *file_open(int fd)
{
	struct umad_file *f;
	unsigned int slot;

	for (slot = 0; files[slot]; )
		if (++slot == MAX_FILES)
			return NULL;
	f = calloc(1, sizeof(*f));
	if (!f)
		return NULL;
	f->fd = fd;
	TAILQ_INIT(&f->queue);
	files[slot] = f;
	return f;
}

void file_close(struct umad_file *f)
{
	unsigned int id, slot;

	for (id = 0; id < MAX_AGENTS; id++)
		if (f->agents[id])
			agent_free(f->agents[id]);
	for (slot = 0; files[slot] != f; )
		slot++;
	files[slot] = NULL;
	free(f);
}
