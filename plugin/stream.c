/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "clock.h"
#include "erf.h"
#include "sink.h"
#include "stream.h"
#include "thread.h"

enum {
	/* what the server copies with the mutex held, and sends without */
	CHUNK_BYTES = 64 * 1024,
	/* in the kernel for one reader; at the end, so that the rest of a
	 * chunk and the last packet find room behind that */
	SEND_BYTES = 128 * 1024,
	LAST_BYTES = 1024 * 1024,
	/* of one reader, before it is another's turn */
	TURN_CHUNKS = 8,
	BACKLOG = 64,

	NAP_NS = 10000000,	/* between a packet and its sending */
	SECOND_NS = 1000000000,	/* between looks at the socket's file */
	PATIENCE_NS = 100000000,
	CLOSE_NS = 50000000,	/* for the socket's file, at the end */
	MS_NS = 1000000,

	/* epoll's tags; those of readers are their places */
	TAG_LISTENER = STREAM_CLIENTS_MAX,
	TAG_KICK,
	EVENTS_MAX,
};

#define SAY_AGAIN_NS UINT64_C(60000000000)
/* To another process that listens there, connecting is a reader that comes. */
#define ASK_AGAIN_NS UINT64_C(10000000000)

/*
 * What has been put is counted in packets and in the captures that they tell
 * of as lost: a packet is what lies from `from` to `to` in that count, its
 * losses first.
 */
struct slot {
	uint64_t from, to;
	size_t len;
	uint8_t packet[ERF_PACKET_MAX];
};

struct client {
	int fd;			/* -1: the place is free */
	bool blocked;		/* its socket is full; epoll tells when not */
	uint64_t next;		/* the number of the packet to take next */
	uint64_t had;		/* of the count: what it got or was told */
	uint64_t moved_ns;	/* when it took something, at the end */
	size_t len, sent;	/* of the chunk */
	uint8_t *chunk;
};

/* A file, as long as it is the same. */
struct file_id {
	dev_t dev;
	ino_t inode;
};

struct stream {
	struct sockaddr_un address;
	gid_t group;
	pthread_t thread;
	sem_t done;
	int epoll, kick;
	_Atomic bool closing;
	uint64_t deadline_ns;		/* set before `closing` */
	_Atomic uint64_t readers;	/* see stream_readers() */
	_Atomic uint64_t refused;

	pthread_mutex_t mutex;		/* of these */
	osm_log_t *p_log;		/* NULL: left behind */
	bool finished, left_behind;
	struct slot *slots;
	uint64_t head;			/* packets ever put */
	uint64_t total;			/* of the count */
	bool asleep;			/* the server waits for a packet */

	/* the server's */
	int listener;			/* -1: not yet, or no more */
	struct file_id file;		/* the listener's */
	struct file_id alive;		/* another process's, who was asked */
	uint64_t asked_ns;		/* then; 0 = never */
	bool failed;			/* which was said */
	bool locked_out;		/* of its folder, at the last look */
	uint64_t full_ns;		/* when that was said; 0 = never */
	uint64_t look_ns;		/* when to look at it, or try again */
	uint64_t turn_ns;		/* when the readers are to be served */
	uint64_t arrivals;
	unsigned n_clients;
	struct client clients[STREAM_CLIENTS_MAX];
};

/* Who puts */

uint64_t stream_readers(const struct stream *s)
{
	return atomic_load(&s->readers);
}

uint64_t stream_refused(const struct stream *s)
{
	return atomic_load(&s->refused);
}

static void kick(struct stream *s)
{
	const uint64_t one = 1;

	/* a counter at its limit has kicked already */
	if (write(s->kick, &one, sizeof(one)) < 0)
		return;
}

void stream_put(struct stream *s, const uint8_t *packet, size_t len,
		uint64_t lost)
{
	struct slot *slot;
	bool asleep;

	pthread_mutex_lock(&s->mutex);
	slot = &s->slots[s->head++ % STREAM_PACKETS];
	slot->from = s->total;
	s->total += lost + 1;
	slot->to = s->total;
	slot->len = len;
	memcpy(slot->packet, packet, len);
	asleep = s->asleep;
	s->asleep = false;
	pthread_mutex_unlock(&s->mutex);
	if (asleep)
		kick(s);
}

/* What the server says, unless OpenSM has ended without it. */
#define say(s, number, ...) do { \
	pthread_mutex_lock(&(s)->mutex); \
	if ((s)->p_log) \
		sink_error((s)->p_log, number, __VA_ARGS__); \
	pthread_mutex_unlock(&(s)->mutex); \
} while (0)

/* The socket's file */

/* Said once, until the socket is there. */
static void cannot_listen(struct stream *s, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

static void cannot_listen(struct stream *s, const char *fmt, ...)
{
	char why[256];
	va_list args;

	if (s->failed)
		return;
	s->failed = true;
	va_start(args, fmt);
	vsnprintf(why, sizeof(why), fmt, args);
	va_end(args);
	say(s, "5D30",
	    "%s: %s -- nobody can read the stream, and it is tried again",
	    s->address.sun_path, why);
}

/*
 * Does a process listen there? It does unless connecting is refused: one whose
 * queue is full, or who does not let us in, is alive.
 */
static bool is_alive(const struct stream *s, pid_t *pid)
{
	const struct sockaddr *address = (const struct sockaddr *)&s->address;
	struct ucred peer = { .pid = 0 };
	socklen_t len = sizeof(peer);
	bool alive;
	int fd;

	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0)
		return true;
	alive = !connect(fd, address, sizeof(s->address)) ||
		(errno != ECONNREFUSED && errno != ENOENT);
	if (alive)
		getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &len);
	*pid = peer.pid;
	close(fd);
	return alive;
}

static bool is_same(const struct file_id *id, const struct stat *st)
{
	return id->dev == st->st_dev && id->inode == st->st_ino;
}

/* The same who was alive when it was asked, which is not long ago? */
static bool was_alive(const struct stream *s, const struct stat *st)
{
	return s->asked_ns && is_same(&s->alive, st) &&
	       clock_ns(CLOCK_MONOTONIC) - s->asked_ns < ASK_AGAIN_NS;
}

/* Make room for the socket: only what is one, and nobody's, is removed. */
static bool make_way(struct stream *s)
{
	const char *path = s->address.sun_path;
	struct stat st;
	pid_t pid = 0;

	if (lstat(path, &st))
		return true;
	if (!S_ISSOCK(st.st_mode)) {
		cannot_listen(s, "there is a file that is no socket");
		return false;
	}
	if (was_alive(s, &st))
		return false;
	if (is_alive(s, &pid)) {
		s->alive = (struct file_id){ st.st_dev, st.st_ino };
		s->asked_ns = clock_ns(CLOCK_MONOTONIC);
		if (pid)
			cannot_listen(s, "process %d listens there", (int)pid);
		else
			cannot_listen(s, "another process listens there");
		return false;
	}
	if (!unlink(path) || errno == ENOENT)
		return true;
	cannot_listen(s, "what is left of a socket cannot be removed: %s",
		      strerror(errno));
	return false;
}

/*
 * Two that find a stale socket at the same time would each remove the other's:
 * so one at a time looks, of those who may read the folder. -1: not now.
 */
static int lock_folder(const struct stream *s, bool *locked)
{
	char path[sizeof(s->address.sun_path)];
	int fd;

	strcpy(path, s->address.sun_path);
	strrchr(path, '/')[1] = '\0';
	fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	*locked = fd < 0 || !flock(fd, LOCK_EX | LOCK_NB);
	return fd;
}

/* Nobody finds a socket whose file is gone, or is another's. */
static bool is_still_there(const struct stream *s)
{
	struct stat st;

	return !lstat(s->address.sun_path, &st) && is_same(&s->file, &st);
}

static void remove_file(const struct stream *s)
{
	if (is_still_there(s))
		unlink(s->address.sun_path);
}

/*
 * The group, then the mode: nobody who must not can connect in between. By the
 * file that is ours, whatever is found at the path by now.
 */
static bool give_to_group(const struct stream *s, int file)
{
	char self[32];

	if (s->group == (gid_t)-1)
		return true;
	snprintf(self, sizeof(self), "/proc/self/fd/%d", file);
	return !fchownat(file, "", (uid_t)-1, s->group, AT_EMPTY_PATH) &&
	       !chmod(self, 0660);
}

/* It may be another's already, who found nobody who listens there. */
static bool take_file(struct stream *s)
{
	int file = open(s->address.sun_path, O_PATH | O_NOFOLLOW | O_CLOEXEC);
	struct stat st;
	bool taken;

	if (file < 0)
		return false;
	taken = !fstat(file, &st);
	if (taken && !S_ISSOCK(st.st_mode)) {
		errno = EEXIST;
		taken = false;
	}
	if (taken) {
		s->file = (struct file_id){ st.st_dev, st.st_ino };
		taken = give_to_group(s, file);
	}
	close(file);
	return taken;
}

/*
 * Linux makes the file with the mode that the socket has, so that it is never
 * there with more; umask() is the whole process's, and OpenSM writes files.
 */
static bool bind_and_listen(struct stream *s, int fd)
{
	const struct sockaddr *address = (const struct sockaddr *)&s->address;
	struct epoll_event event = { .events = EPOLLIN | EPOLLET,
				     .data.u32 = TAG_LISTENER };

	if (fchmod(fd, 0600) || bind(fd, address, sizeof(s->address)))
		return false;
	s->file = (struct file_id){ 0 };
	if (take_file(s) && !listen(fd, BACKLOG) &&
	    !epoll_ctl(s->epoll, EPOLL_CTL_ADD, fd, &event))
		return true;
	remove_file(s);
	return false;
}

static void listen_now(struct stream *s)
{
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	if (fd < 0 || !bind_and_listen(s, fd)) {
		cannot_listen(s, "%s", strerror(errno));
		if (fd >= 0)
			close(fd);
		return;
	}
	s->listener = fd;
	if (s->failed)
		say(s, "5D31", "%s: the stream can be read now",
		    s->address.sun_path);
	s->failed = false;
}

static void try_to_listen(struct stream *s)
{
	bool locked;
	int folder = lock_folder(s, &locked);

	/* who makes a socket is done within a second; others lock it, too */
	if ((locked || s->locked_out) && make_way(s))
		listen_now(s);
	s->locked_out = !locked;
	if (folder >= 0)
		close(folder);
}

static void stop_listening(struct stream *s)
{
	if (s->listener < 0)
		return;
	remove_file(s);
	close(s->listener);
	s->listener = -1;
}

/* Readers */

static void count_readers(struct stream *s)
{
	atomic_store(&s->readers, s->n_clients ? s->arrivals : 0);
}

static void drop(struct stream *s, struct client *c)
{
	close(c->fd);
	free(c->chunk);
	c->fd = -1;
	c->chunk = NULL;
	s->n_clients--;
	count_readers(s);
}

static struct client *free_place(struct stream *s)
{
	struct client *c;

	for (c = s->clients; c < s->clients + STREAM_CLIENTS_MAX; c++)
		if (c->fd < 0)
			return c;
	return NULL;
}

static void refuse(struct stream *s, int fd)
{
	uint64_t now = clock_ns(CLOCK_MONOTONIC);
	uint64_t refused = atomic_fetch_add(&s->refused, 1) + 1;

	close(fd);
	if (s->full_ns && now - s->full_ns < SAY_AGAIN_NS)
		return;
	s->full_ns = now;
	say(s, "5D32",
	    "%s: a reader is turned away: %d read already, or there is no memory for more; %" PRIu64 " were so far",
	    s->address.sun_path, (int)s->n_clients, refused);
}

/* From here on it gets everything, or is told what it does not get. */
static void welcome(struct stream *s, int fd)
{
	struct client *c = free_place(s);
	struct epoll_event event = {
		.events = EPOLLIN | EPOLLOUT | EPOLLRDHUP | EPOLLET,
	};
	const int room = SEND_BYTES;

	if (c)
		c->chunk = malloc(CHUNK_BYTES);
	if (!c || !c->chunk) {
		refuse(s, fd);
		return;
	}
	setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &room, sizeof(room));
	event.data.u32 = (uint32_t)(c - s->clients);
	if (epoll_ctl(s->epoll, EPOLL_CTL_ADD, fd, &event)) {
		free(c->chunk);
		refuse(s, fd);
		return;
	}
	c->fd = fd;
	c->blocked = false;
	c->sent = 0;
	c->len = ERF_FILE_HEADER;
	erf_file_header(c->chunk);
	s->n_clients++;
	s->arrivals++;
	pthread_mutex_lock(&s->mutex);
	c->next = s->head;
	c->had = s->total;
	count_readers(s);
	pthread_mutex_unlock(&s->mutex);
}

/* Not for ever, however many come; those that are left wait a second at most. */
static void accept_all(struct stream *s)
{
	int fd, n;

	if (s->listener < 0)
		return;
	for (n = 0; n < BACKLOG; n++) {
		fd = accept4(s->listener, NULL, NULL,
			     SOCK_CLOEXEC | SOCK_NONBLOCK);
		if (fd >= 0)
			welcome(s, fd);
		else if (errno != EINTR && errno != ECONNABORTED)
			break;	/* of what there is no descriptor for: later */
	}
}

/* With the mutex: the next packet that the reader gets goes into its chunk. */
static void take_packet(struct stream *s, struct client *c)
{
	const struct slot *slot = &s->slots[c->next++ % STREAM_PACKETS];
	uint8_t *packet = c->chunk + c->len;
	size_t len = slot->len;

	memcpy(packet, slot->packet, len);
	if (slot->from != c->had)
		len = erf_add_lost(packet, len, slot->from - c->had);
	c->had = slot->to;
	c->len += len;
}

static void fill(struct stream *s, struct client *c)
{
	c->len = c->sent = 0;
	pthread_mutex_lock(&s->mutex);
	if (s->head - c->next > STREAM_PACKETS)
		c->next = s->head - STREAM_PACKETS;
	while (c->next != s->head && c->len + ERF_PACKET_MAX <= CHUNK_BYTES)
		take_packet(s, c);
	pthread_mutex_unlock(&s->mutex);
}

/* False: it is gone. Else it has the chunk, or is blocked. */
static bool send_chunk(struct client *c)
{
	ssize_t n;

	do {
		n = send(c->fd, c->chunk + c->sent, c->len - c->sent,
			 MSG_DONTWAIT | MSG_NOSIGNAL);
		if (n > 0) {
			c->sent += (size_t)n;
			c->moved_ns = clock_ns(CLOCK_MONOTONIC);
		}
	} while (c->sent < c->len && (n > 0 || (n < 0 && errno == EINTR)));
	c->blocked = n < 0 && errno == EAGAIN;
	return n >= 0 || c->blocked;
}

/*
 * Give a reader what there is, as long as it takes it, but not for ever. False:
 * it is gone. The first send may be of nothing, and tells whether it is.
 */
static bool serve(struct stream *s, struct client *c)
{
	unsigned n;

	for (n = 0; n < TURN_CHUNKS; n++) {
		if (!send_chunk(c))
			return false;
		if (c->blocked)
			break;
		fill(s, c);
		if (!c->len)
			break;
	}
	return true;
}

static bool is_behind(const struct stream *s, const struct client *c)
{
	return c->sent < c->len || c->next != s->head;
}

/*
 * Who reads and has everything waits for the next packet: only then is it a
 * system call to put one. Those that are blocked epoll watches.
 */
static void sleep_or_go_on(struct stream *s)
{
	const struct client *c;
	bool waiting = false, behind = false;

	pthread_mutex_lock(&s->mutex);
	for (c = s->clients; c < s->clients + STREAM_CLIENTS_MAX; c++) {
		if (c->fd < 0 || c->blocked)
			continue;
		waiting = true;
		behind |= is_behind(s, c);
	}
	s->asleep = waiting && !behind;
	pthread_mutex_unlock(&s->mutex);
	s->turn_ns = behind ? clock_ns(CLOCK_MONOTONIC) : UINT64_MAX;
}

static void serve_all(struct stream *s)
{
	struct client *c;

	for (c = s->clients; c < s->clients + STREAM_CLIENTS_MAX; c++)
		if (c->fd >= 0 && !c->blocked && !serve(s, c))
			drop(s, c);
	sleep_or_go_on(s);
}

/*
 * Something happened to a reader: there is room for more, or it left. What it
 * sends is not read; one that will send nothing more may still read.
 */
static void look_after(struct stream *s, struct client *c, uint32_t events)
{
	if (c->fd < 0)
		return;
	if (events & EPOLLOUT)
		c->blocked = false;
	if (events & (EPOLLHUP | EPOLLERR) || !serve(s, c))
		drop(s, c);
	/* who it was that waited for a packet may have changed */
	s->turn_ns = clock_ns(CLOCK_MONOTONIC);
}

/* The thread */

static void take_kick(struct stream *s)
{
	uint64_t count;

	if (read(s->kick, &count, sizeof(count)) < 0)
		return;
	s->turn_ns = clock_ns(CLOCK_MONOTONIC) + NAP_NS;
}

static void handle(struct stream *s, const struct epoll_event *event)
{
	switch (event->data.u32) {
	case TAG_LISTENER:
		accept_all(s);
		s->turn_ns = clock_ns(CLOCK_MONOTONIC);
		break;
	case TAG_KICK:
		take_kick(s);
		break;
	default:
		look_after(s, &s->clients[event->data.u32], event->events);
		break;
	}
}

static void wait_until(struct stream *s, uint64_t until_ns)
{
	struct epoll_event events[EVENTS_MAX];
	uint64_t now = clock_ns(CLOCK_MONOTONIC);
	int i, n, ms = 0;

	if (until_ns > now)
		ms = (int)((until_ns - now + MS_NS - 1) / MS_NS);
	n = epoll_wait(s->epoll, events, EVENTS_MAX, ms);
	for (i = 0; i < n; i++)
		handle(s, &events[i]);
}

/* Once a second: is the socket there, and does somebody wait for it? */
static void look_at_socket(struct stream *s)
{
	s->look_ns = clock_ns(CLOCK_MONOTONIC) + SECOND_NS;
	if (s->listener >= 0 && !is_still_there(s))
		stop_listening(s);
	if (s->listener < 0)
		try_to_listen(s);
	else
		accept_all(s);
}

static uint64_t earlier(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

/*
 * A reader that has not taken all by now: there is room for the rest of its
 * chunk, and for the newest packet, which tells it what it does not get.
 */
static void part_from(struct stream *s, struct client *c)
{
	const int room = LAST_BYTES;

	if (setsockopt(c->fd, SOL_SOCKET, SO_SNDBUFFORCE, &room, sizeof(room)))
		setsockopt(c->fd, SOL_SOCKET, SO_SNDBUF, &room, sizeof(room));
	if (send_chunk(c) && !c->blocked && c->next != s->head) {
		c->next = s->head - 1;
		fill(s, c);
		send_chunk(c);
	}
	drop(s, c);
}

/* Has it got everything, or waited long enough to take something? */
static bool is_done(const struct stream *s, const struct client *c,
		    uint64_t now_ns)
{
	return !is_behind(s, c) ||
	       (c->blocked && now_ns - c->moved_ns >= PATIENCE_NS);
}

/* Nothing is put any more: `head` stays. */
static void end(struct stream *s)
{
	uint64_t now = clock_ns(CLOCK_MONOTONIC);
	struct client *c;

	accept_all(s);
	stop_listening(s);
	for (c = s->clients; c < s->clients + STREAM_CLIENTS_MAX; c++)
		c->moved_ns = now;
	while (s->n_clients) {
		serve_all(s);
		now = clock_ns(CLOCK_MONOTONIC);
		for (c = s->clients; c < s->clients + STREAM_CLIENTS_MAX; c++)
			if (c->fd >= 0 && (now >= s->deadline_ns ||
					   is_done(s, c, now)))
				part_from(s, c);
		if (s->n_clients)
			wait_until(s, earlier(s->turn_ns, now + NAP_NS));
	}
}

static void stream_free(struct stream *s)
{
	if (s->epoll >= 0)
		close(s->epoll);
	if (s->kick >= 0)
		close(s->kick);
	sem_destroy(&s->done);
	pthread_mutex_destroy(&s->mutex);
	free(s->slots);
	free(s);
}

/* Who closes the stream frees it, unless it is gone. */
static void finish(struct stream *s)
{
	bool left_behind;

	pthread_mutex_lock(&s->mutex);
	s->finished = true;
	left_behind = s->left_behind;
	pthread_mutex_unlock(&s->mutex);
	if (left_behind)
		stream_free(s);
	else
		sem_post(&s->done);
}

static void *stream_main(void *context)
{
	struct stream *s = context;

	while (!atomic_load(&s->closing)) {
		if (clock_ns(CLOCK_MONOTONIC) >= s->look_ns)
			look_at_socket(s);
		if (clock_ns(CLOCK_MONOTONIC) >= s->turn_ns)
			serve_all(s);
		wait_until(s, earlier(s->look_ns, s->turn_ns));
	}
	end(s);
	finish(s);
	return NULL;
}

struct stream *stream_open(const char *path, gid_t group, osm_log_t *p_log)
{
	struct epoll_event event = { .events = EPOLLIN, .data.u32 = TAG_KICK };
	struct stream *s = calloc(1, sizeof(*s));
	size_t i;

	if (!s)
		return NULL;
	s->p_log = p_log;
	s->address.sun_family = AF_UNIX;
	strcpy(s->address.sun_path, path);
	s->group = group;
	s->listener = -1;
	s->turn_ns = UINT64_MAX;
	for (i = 0; i < STREAM_CLIENTS_MAX; i++)
		s->clients[i].fd = -1;
	pthread_mutex_init(&s->mutex, NULL);
	sem_init(&s->done, 0, 0);
	/* memory that nobody reads for is not touched */
	s->slots = calloc(STREAM_PACKETS, sizeof(*s->slots));
	s->epoll = epoll_create1(EPOLL_CLOEXEC);
	s->kick = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (s->slots && s->epoll >= 0 && s->kick >= 0 &&
	    !epoll_ctl(s->epoll, EPOLL_CTL_ADD, s->kick, &event) &&
	    !thread_start(&s->thread, "osmsnoop-listen", stream_main, s))
		return s;
	stream_free(s);
	return NULL;
}

/* The path may lie on a file system that hangs. */
static bool is_left_behind(struct stream *s)
{
	pthread_mutex_lock(&s->mutex);
	s->left_behind = !s->finished;
	if (s->left_behind) {
		sink_error(s->p_log, "5D33",
			   "%s: its file system hangs; OpenSM ends without waiting for it",
			   s->address.sun_path);
		s->p_log = NULL;
		pthread_detach(s->thread);
	}
	pthread_mutex_unlock(&s->mutex);
	return s->left_behind;
}

void stream_close(struct stream *s, uint64_t deadline_ns)
{
	uint64_t now = clock_ns(CLOCK_MONOTONIC);
	struct timespec until;

	s->deadline_ns = deadline_ns;
	atomic_store(&s->closing, true);
	kick(s);
	until = clock_timespec((deadline_ns > now ? deadline_ns : now) +
			       CLOSE_NS);
	while (sem_clockwait(&s->done, CLOCK_MONOTONIC, &until) &&
	       errno == EINTR)
		;
	if (is_left_behind(s))
		return;
	pthread_join(s->thread, NULL);
	stream_free(s);
}
