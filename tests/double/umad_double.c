/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * The libc calls that the double takes the place of. Everything that has
 * nothing to do with a umad file goes on to libumad2sim.so, and from there
 * to libc. Nothing happens before the first call: LD_PRELOAD enters env,
 * timeout and sh as well.
 */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "umad_double.h"

#define EXPORT __attribute__((visibility("default")))

enum {
	/* the file descriptors that libumad2sim.so makes up */
	SIM_FD_FIRST = 1024,
	SIM_FD_LAST = 2047,
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
/* by file descriptor; those below 1024 are real ones */
static _Atomic(struct umad_file *) by_fd[SIM_FD_FIRST];

void double_lock(int *cancel_state)
{
	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, cancel_state);
	pthread_mutex_lock(&lock);
}

void double_unlock(int cancel_state)
{
	pthread_mutex_unlock(&lock);
	pthread_setcancelstate(cancel_state, NULL);
}

static void *next(const char *name, _Atomic(void *) *cache)
{
	void *sym = atomic_load_explicit(cache, memory_order_relaxed);

	if (sym)
		return sym;
	sym = dlsym(RTLD_NEXT, name);
	if (!sym)
		abort();
	atomic_store_explicit(cache, sym, memory_order_relaxed);
	return sym;
}

#define NEXT(name)							\
	({								\
		static _Atomic(void *) cache;				\
		(__typeof__(&name))next(#name, &cache);			\
	})

int next_open(const char *path, int flags, mode_t mode)
{
	return NEXT(open)(path, flags, mode);
}

ssize_t next_read(int fd, void *buf, size_t count)
{
	return NEXT(read)(fd, buf, count);
}

ssize_t next_write(int fd, const void *buf, size_t count)
{
	return NEXT(write)(fd, buf, count);
}

int next_ioctl(int fd, unsigned long request, void *arg)
{
	return NEXT(ioctl)(fd, request, arg);
}

int next_close(int fd)
{
	return NEXT(close)(fd);
}

static struct umad_file *find_file(int fd)
{
	struct umad_file *f;

	if (fd < 0 || fd >= SIM_FD_FIRST)
		return NULL;
	f = atomic_load_explicit(&by_fd[fd], memory_order_relaxed);
	return f && wire_taken() ? f : NULL;
}

static ssize_t result(ssize_t rc)
{
	if (rc >= 0)
		return rc;
	errno = (int)-rc;
	return -1;
}

/*
 * The data socket of ibsim is the one that is connected to "NAME:outN", N
 * being this client's number, which it got from "NAME:ctl".
 */
static void look_at_connection(int fd, const struct sockaddr *addr,
			       socklen_t len)
{
	const char *name = getenv("IBSIM_SOCKNAME");
	char path[sizeof(((struct sockaddr_un *)0)->sun_path) + 1] = "";
	size_t start = offsetof(struct sockaddr_un, sun_path) + 1, n;

	if (addr->sa_family != AF_UNIX || len <= start ||
	    len > sizeof(struct sockaddr_un) ||
	    ((const struct sockaddr_un *)addr)->sun_path[0])
		return;
	memcpy(path, (const char *)addr + start, len - start);
	if (!name)
		name = "sim";
	n = strlen(name);
	if (strncmp(path, name, n))
		return;
	/* before ibsim has given it a place, in case it ends here */
	if (!strcmp(path + n, ":ctl"))
		options_read();
	if (strncmp(path + n, ":out", 4) || !path[n + 4])
		return;
	wire_take(fd, (unsigned int)strtoul(path + n + 4, NULL, 10));
}

EXPORT int connect(int fd, __CONST_SOCKADDR_ARG addr, socklen_t len)
{
	int rc = NEXT(connect)(fd, addr, len);

	if (!rc)
		look_at_connection(fd, addr.__sockaddr__, len);
	return rc;
}

/*
 * The program gets an eventfd for its umad file; what libumad2sim.so made up
 * has told that there is such a device, and is not needed any more.
 */
static int open_umad(int sim_fd, int flags)
{
	struct umad_file *f = NULL;
	int fd, state;

	next_close(sim_fd);
	wire_read_gid();
	fd = eventfd(0, (flags & O_CLOEXEC ? EFD_CLOEXEC : 0) |
		     (flags & O_NONBLOCK ? EFD_NONBLOCK : 0));
	if (fd < 0)
		return -1;
	if (fd < SIM_FD_FIRST) {
		double_lock(&state);
		f = file_open(fd);
		if (f)
			atomic_store(&by_fd[fd], f);
		double_unlock(state);
	}
	if (f)
		return fd;
	next_close(fd);
	errno = EMFILE;
	return -1;
}

EXPORT int open(const char *path, int flags, ...)
{
	mode_t mode = 0;
	va_list args;
	int fd;

	if (flags & (O_CREAT | (O_TMPFILE & ~O_DIRECTORY))) {
		va_start(args, flags);
		mode = va_arg(args, mode_t);
		va_end(args);
	}
	fd = next_open(path, flags, mode);
	if (fd >= SIM_FD_FIRST && fd <= SIM_FD_LAST && wire_taken())
		return open_umad(fd, flags);
	return fd;
}

EXPORT int close(int fd)
{
	struct umad_file *f = find_file(fd);
	int state;

	if (!f)
		return next_close(fd);
	double_lock(&state);
	f = atomic_exchange(&by_fd[fd], NULL);
	if (f)
		file_close(f);
	double_unlock(state);
	wire_drain();
	return next_close(fd);
}

static bool is_blocking(int fd)
{
	return !(fcntl(fd, F_GETFL) & O_NONBLOCK);
}

EXPORT ssize_t read(int fd, void *buf, size_t count)
{
	struct pollfd p = { .fd = fd, .events = POLLIN };
	struct umad_file *f;
	int state;
	ssize_t rc;

	if (!find_file(fd))
		return next_read(fd, buf, count);
	for (;;) {
		double_lock(&state);
		f = find_file(fd);
		rc = f ? file_read(f, buf, count) : -EBADF;
		double_unlock(state);
		if (rc != -EAGAIN || !is_blocking(fd))
			return result(rc);
		if (ppoll(&p, 1, NULL, NULL) < 0)
			return -1;
	}
}

EXPORT ssize_t write(int fd, const void *buf, size_t count)
{
	struct umad_file *f;
	int state;
	ssize_t rc;

	if (!find_file(fd))
		return next_write(fd, buf, count);
	double_lock(&state);
	f = find_file(fd);
	rc = f ? file_write(f, buf, count) : -EBADF;
	double_unlock(state);
	return result(rc);
}

static int umad_ioctl(struct umad_file *f, unsigned long request, void *arg)
{
	uint32_t id;

	switch (request) {
	case IB_USER_MAD_REGISTER_AGENT:
		return file_register(f, arg);
	case IB_USER_MAD_REGISTER_AGENT2:
		return file_register2(f, arg);
	case IB_USER_MAD_UNREGISTER_AGENT:
		memcpy(&id, arg, sizeof(id));
		return file_unregister(f, id);
	case IB_USER_MAD_ENABLE_PKEY:
		return file_enable_pkey(f);
	default:
		return -ENOTTY;
	}
}

EXPORT int ioctl(int fd, unsigned long request, ...)
{
	struct umad_file *f;
	va_list args;
	int rc, state;
	void *arg;

	va_start(args, request);
	arg = va_arg(args, void *);
	va_end(args);
	if (!find_file(fd))
		return next_ioctl(fd, request, arg);
	double_lock(&state);
	f = find_file(fd);
	rc = f ? umad_ioctl(f, request, arg) : -EBADF;
	double_unlock(state);
	return (int)result(rc);
}
