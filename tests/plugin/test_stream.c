/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * plugin/stream.c and sink_stream.c: what every reader of the socket gets, and
 * was told that it did not get, is what was put since it came, whatever other
 * readers do. Packets are numbered by TID, so that a loss is seen where it is
 * told. Real sockets; tests/fabric/stream.sh has a real OpenSM.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>

#include "clock.h"
#include "erf.h"
#include "opensm_log.h"
#include "sink.h"
#include "stream.h"
#include "../run.h"

/* Check tells its parent of each assertion passed: too slow in long loops. */
#define check(condition) do { if (!(condition)) \
	ck_abort_msg("%s", #condition); } while (0)

static struct stream *stream;
static uint64_t number;		/* of the last packet */

/* Who puts */

static bool pass_on(const uint8_t *packet, size_t len, void *context)
{
	stream_put(stream, packet, len, *(const uint64_t *)context);
	return true;
}

/* `lost` of what would have been put before it. */
static void put_after(uint64_t lost)
{
	uint8_t mad[MAD_SIZE] = {
		[MAD_BASE_VERSION] = 1, [MAD_CLASS] = CLASS_SUBN_ADM,
		[MAD_CLASS_VERSION] = 2, [MAD_METHOD] = METHOD_GET,
	};
	struct mad_capture cap = {
		.data = mad, .len = MAD_SIZE, .size = MAD_SIZE,
		.time_ns = SECOND, .above_rmpp = true, .lost = lost,
	};
	int i;

	number += lost + 1;
	for (i = 0; i < 8; i++)
		mad[MAD_TID + i] = (uint8_t)(number >> (56 - 8 * i));
	erf_encode(&cap, NULL, false, pass_on, &lost);
}

static void put(unsigned n)
{
	while (n--)
		put_after(0);
}

/* Who reads */

struct reader {
	int fd;
	uint64_t next;		/* the number that is to come */
	uint64_t got, lost;
	uint64_t named;		/* packets with a name */
	unsigned wait_us;	/* after each read */
	size_t len;
	uint8_t buffer[8192];
	pthread_t thread;
};

static int connect_once(void)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	strcpy(address.sun_path, path);
	if (!connect(fd, (struct sockaddr *)&address, sizeof(address)))
		return fd;
	close(fd);
	return -1;
}

static int connect_soon(void)
{
	int fd, tries = 0;

	while ((fd = connect_once()) < 0 && tries++ < 5000)
		usleep(1000);
	ck_assert_int_ge(fd, 0);
	return fd;
}

static void wait_for_readers(bool some)
{
	int tries = 0;

	while (!stream_readers(stream) == some && tries++ < 5000)
		usleep(1000);
	ck_assert_int_eq(stream_readers(stream) != 0, some);
}

/* From the next packet on, for the header was sent when it was counted in. */
static void reader_begin(struct reader *r)
{
	uint8_t header[ERF_FILE_HEADER], got[ERF_FILE_HEADER];

	memset(r, 0, sizeof(*r));
	r->fd = connect_soon();
	r->next = number + 1;
	erf_file_header(header);
	ck_assert_int_eq(recv(r->fd, got, sizeof(got), MSG_WAITALL),
			 sizeof(got));
	ck_assert_mem_eq(got, header, sizeof(header));
}

static void take_packet(struct reader *r, const uint8_t *packet, size_t len)
{
	struct mad_capture cap;
	struct erf_note note;

	check(erf_decode(packet + ERF_RECORD_HEADER, len - ERF_RECORD_HEADER,
			 len - ERF_RECORD_HEADER, 0, &cap, &note) == ERF_MAD);
	check(mad_get64(cap.data + MAD_TID) == r->next + note.lost);
	r->next += note.lost + 1;
	r->got++;
	r->lost += note.lost;
	r->named += note.has_name;
}

/* False at the end of file. */
static bool reader_read(struct reader *r)
{
	ssize_t n = read(r->fd, r->buffer + r->len, sizeof(r->buffer) - r->len);
	size_t at = 0, len;

	check(n >= 0);
	r->len += (size_t)n;
	for (; (len = erf_packet_len(r->buffer + at, r->len - at)); at += len) {
		check(len != SIZE_MAX);
		if (len > r->len - at)
			break;
		take_packet(r, r->buffer + at, len);
	}
	memmove(r->buffer, r->buffer + at, r->len - at);
	r->len -= at;
	return n > 0;
}

static void *read_all(void *context)
{
	struct reader *r = context;

	while (reader_read(r))
		if (r->wait_us)
			usleep(r->wait_us);
	check(!r->len);
	return NULL;
}

/* All that was put since it came, or a count of it. */
static void reader_end(struct reader *r)
{
	read_all(r);
	close(r->fd);
	ck_assert_uint_eq(r->next, number + 1);
}

static void setup(void)
{
	log_setup();
	stream = stream_open(path, (gid_t)-1, &log_object);
	ck_assert_ptr_nonnull(stream);
}

static uint64_t close_within(uint64_t ns)
{
	uint64_t before = clock_ns(CLOCK_MONOTONIC);

	stream_close(stream, before + ns);
	return clock_ns(CLOCK_MONOTONIC) - before;
}

START_TEST(test_nobody)
{
	ck_assert_uint_eq(stream_readers(stream), 0);
	put(10);
	close(connect_soon());
	wait_for_readers(false);
	ck_assert_uint_lt(close_within(10 * SECOND), SECOND);
	ck_assert_int_eq(access(path, F_OK), -1);
	ck_assert_uint_eq(logged("ERR"), 0);
}
END_TEST

START_TEST(test_one)
{
	struct reader r;

	put(5);
	reader_begin(&r);
	put(1000);
	while (r.got < 1000)
		reader_read(&r);
	/* it waits, and is woken */
	usleep(50000);
	put(1);
	while (r.got < 1001)
		reader_read(&r);
	/* as many as the kernel keeps for it */
	put(200);
	close_within(10 * SECOND);
	reader_end(&r);
	ck_assert_uint_eq(r.got, 1201);
	ck_assert_uint_eq(r.lost, 0);
}
END_TEST

/* Each at a pace of its own, and stuck ones among them. */
START_TEST(test_many)
{
	static struct reader r[STREAM_CLIENTS_MAX];
	unsigned i, n = STREAM_CLIENTS_MAX, stuck = 10;

	for (i = 0; i < n; i++) {
		reader_begin(&r[i]);
		r[i].wait_us = i % 4 * 100;
		if (i >= stuck)
			pthread_create(&r[i].thread, NULL, read_all, &r[i]);
	}
	for (i = 0; i < 100; i++) {
		put(1000);
		usleep(1000);
	}
	ck_assert_uint_lt(close_within(2 * SECOND), 4 * SECOND);
	for (i = 0; i < n; i++) {
		if (i >= stuck)
			pthread_join(r[i].thread, NULL);
		reader_end(&r[i]);
		ck_assert_uint_eq(r[i].got + r[i].lost, 100000);
	}
	ck_assert_uint_gt(r[0].lost, 60000);
}
END_TEST

/* It is told at the end what it did not get, although it never read. */
START_TEST(test_stuck)
{
	struct reader r;

	reader_begin(&r);
	put(STREAM_PACKETS + 20000);
	ck_assert_uint_lt(close_within(10 * SECOND), SECOND);
	reader_end(&r);
	ck_assert_uint_gt(r.lost, 20000);
}
END_TEST

START_TEST(test_stuck_without_time)
{
	struct reader r;

	reader_begin(&r);
	put(5000);
	stream_close(stream, 0);
	reader_end(&r);
	ck_assert_uint_eq(r.got + r.lost, 5000);
}
END_TEST

/* Behind, overrun, behind again; with losses that its lost packets told of. */
START_TEST(test_falls_behind)
{
	struct reader r;
	unsigned i;

	reader_begin(&r);
	put_after(3);
	for (i = 0; i < STREAM_PACKETS; i++)
		put_after(i % 100 ? 0 : 2);
	put_after(70000);
	put(STREAM_PACKETS / 2);
	put_after(70000);
	put(STREAM_PACKETS / 2);
	while (r.next < number)
		reader_read(&r);
	ck_assert_uint_gt(r.lost, 140000);
	put(10);
	put_after(0xffff);
	close_within(10 * SECOND);
	reader_end(&r);
}
END_TEST

static void wait_for_log(const char *what)
{
	int tries = 0;

	while (!logged(what) && tries++ < 1500)
		usleep(10000);
	ck_assert_uint_eq(logged(what), 1);
}

/* Readers that leave are noticed, although nothing is put. */

START_TEST(test_closes)
{
	struct reader r;

	reader_begin(&r);
	wait_for_readers(true);
	close(r.fd);
	wait_for_readers(false);
	close_within(10 * SECOND);
}
END_TEST

START_TEST(test_killed_in_a_record)
{
	uint8_t some[ERF_FILE_HEADER + 50];
	struct reader r;
	int status;
	pid_t pid;

	reader_begin(&r);
	pid = fork();
	if (!pid) {
		int fd = connect_soon();

		recv(fd, some, sizeof(some), MSG_WAITALL);
		raise(SIGKILL);
	}
	while (waitpid(pid, &status, WNOHANG) != pid) {
		put(100);
		usleep(1000);
	}
	put(1000);
	close_within(10 * SECOND);
	reader_end(&r);
	ck_assert_int_eq(WTERMSIG(status), SIGKILL);
}
END_TEST

START_TEST(test_shuts_down)
{
	struct reader r;

	reader_begin(&r);
	/* who does not write may read: socat </dev/null */
	shutdown(r.fd, SHUT_WR);
	usleep(20000);
	wait_for_readers(true);
	put(100);
	while (r.got < 100)
		reader_read(&r);
	shutdown(r.fd, SHUT_RD);
	wait_for_readers(false);
	close(r.fd);
	close_within(10 * SECOND);
}
END_TEST

START_TEST(test_sends)
{
	char text[1000] = "GET / HTTP/1.0\r\n\r\n";
	struct reader r;

	reader_begin(&r);
	while (send(r.fd, text, sizeof(text), MSG_DONTWAIT) > 0)
		;
	put(200);
	close_within(10 * SECOND);
	/* what it sent and nobody took makes its end an error */
	while (r.got < 200)
		reader_read(&r);
	close(r.fd);
}
END_TEST

START_TEST(test_too_many)
{
	static struct reader r[STREAM_CLIENTS_MAX];
	struct reader one;
	char byte;
	unsigned i;
	int fd;

	for (i = 0; i < STREAM_CLIENTS_MAX; i++)
		reader_begin(&r[i]);
	for (i = 0; i < 3; i++) {
		fd = connect_soon();
		ck_assert_int_eq(read(fd, &byte, 1), 0);
		close(fd);
	}
	ck_assert_uint_eq(stream_refused(stream), 3);
	wait_for_log("ERR 5D32: ");
	close(r[7].fd);
	usleep(50000);
	reader_begin(&one);
	put(10);
	close_within(10 * SECOND);
	reader_end(&one);
	ck_assert_uint_eq(one.got, 10);
}
END_TEST

/* The socket */

static mode_t mode_of(gid_t *gid)
{
	struct stat st;

	ck_assert_int_eq(stat(path, &st), 0);
	ck_assert(S_ISSOCK(st.st_mode));
	*gid = st.st_gid;
	return st.st_mode & 07777;
}

START_TEST(test_mode)
{
	gid_t gid;

	close_within(SECOND);
	umask(0);
	stream = stream_open(path, (gid_t)-1, &log_object);
	close(connect_soon());
	ck_assert_uint_eq(mode_of(&gid), 0600);
	close_within(SECOND);
}
END_TEST

START_TEST(test_group)
{
	gid_t gid, group = getuid() ? getgid() : 1;

	close_within(SECOND);
	umask(077);
	stream = stream_open(path, group, &log_object);
	close(connect_soon());
	ck_assert_uint_eq(mode_of(&gid), 0660);
	ck_assert_uint_eq(gid, group);
	close_within(SECOND);
}
END_TEST

static int listen_there(int type)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, type, 0);

	strcpy(address.sun_path, path);
	ck_assert_int_eq(bind(fd, (struct sockaddr *)&address,
			      sizeof(address)), 0);
	if (type == SOCK_STREAM)
		listen(fd, 0);
	return fd;
}

static ino_t inode_of(const char *name)
{
	struct stat st;

	ck_assert_int_eq(lstat(name, &st), 0);
	return st.st_ino;
}

START_TEST(test_stale)
{
	struct reader r;

	close_within(SECOND);
	close(listen_there(SOCK_STREAM));
	stream = stream_open(path, (gid_t)-1, &log_object);
	reader_begin(&r);
	close_within(SECOND);
	reader_end(&r);
	ck_assert_uint_eq(logged("ERR"), 0);
	ck_assert_int_eq(access(path, F_OK), -1);
}
END_TEST

/* Whoever may read the folder may lock it, for as long as it likes. */
START_TEST(test_locked_folder)
{
	int fd = open(dir, O_RDONLY | O_DIRECTORY);

	close_within(SECOND);
	ck_assert_int_eq(flock(fd, LOCK_EX), 0);
	stream = stream_open(path, (gid_t)-1, &log_object);
	close(connect_soon());
	close_within(SECOND);
	close(fd);
	ck_assert_uint_eq(logged("ERR"), 0);
}
END_TEST

/* Of a living process, also one that accepts nobody or speaks otherwise. */
START_TEST(test_living)
{
	static const int types[] = { SOCK_STREAM, SOCK_DGRAM };
	char text[128];
	ino_t inode;
	int fd;

	close_within(SECOND);
	fd = listen_there(types[_i]);
	inode = inode_of(path);
	stream = stream_open(path, (gid_t)-1, &log_object);
	wait_for_log("ERR 5D30: ");
	if (types[_i] == SOCK_STREAM) {
		snprintf(text, sizeof(text), "process %d listens there",
			 (int)getpid());
		ck_assert_uint_eq(logged(text), 1);
	}
	sleep(2);
	ck_assert_uint_eq(logged("ERR"), 1);
	ck_assert_uint_eq(inode_of(path), inode);
	/* who listens there is not called each time that it is tried */
	if (types[_i] == SOCK_STREAM) {
		ck_assert_int_eq(fcntl(fd, F_SETFL, O_NONBLOCK), 0);
		close(accept(fd, NULL, NULL));
		ck_assert_int_eq(accept(fd, NULL, NULL), -1);
		ck_assert_int_eq(errno, EAGAIN);
		unlink(path);	/* it ends well */
	}
	close(fd);
	wait_for_log("ERR 5D31: ");
	close(connect_soon());
	close_within(SECOND);
	ck_assert_int_eq(access(path, F_OK), -1);
}
END_TEST

START_TEST(test_living_at_the_end)
{
	ino_t inode;
	int fd;

	close_within(SECOND);
	fd = listen_there(SOCK_STREAM);
	inode = inode_of(path);
	stream = stream_open(path, (gid_t)-1, &log_object);
	wait_for_log("ERR 5D30: ");
	close_within(SECOND);
	ck_assert_uint_eq(inode_of(path), inode);
	close(fd);
}
END_TEST

START_TEST(test_no_socket)
{
	close_within(SECOND);
	write_file(path, "precious");
	stream = stream_open(path, (gid_t)-1, &log_object);
	wait_for_log("ERR 5D30: ");
	ck_assert_uint_eq(logged("there is a file that is no socket"), 1);
	close_within(SECOND);
	ck_assert_str_eq(content(path), "precious");

	unlink(path);
	ck_assert_int_eq(symlink(beside(".none"), path), 0);
	stream = stream_open(path, (gid_t)-1, &log_object);
	while (logged("ERR 5D30: ") < 2)
		usleep(1000);
	close_within(SECOND);
	ck_assert_int_eq(unlink(path), 0);
	ck_assert_int_eq(access(beside(".none"), F_OK), -1);
}
END_TEST

START_TEST(test_no_folder)
{
	char name[80];

	close_within(SECOND);
	snprintf(name, sizeof(name), "%s/new", dir);
	snprintf(path, sizeof(path), "%s/s", name);
	stream = stream_open(path, (gid_t)-1, &log_object);
	wait_for_log("ERR 5D30: ");
	ck_assert_uint_eq(logged("No such file or directory"), 1);
	mkdir(name, 0700);
	wait_for_log("ERR 5D31: ");
	close(connect_soon());
	close_within(SECOND);
	ck_assert_uint_eq(logged("ERR"), 2);
	rmdir(name);
}
END_TEST

START_TEST(test_taken_away)
{
	struct reader before, after;
	ino_t inode;
	int fd;

	reader_begin(&before);
	unlink(path);
	reader_begin(&after);
	put(100);
	/* what is another's at the end stays */
	unlink(path);
	fd = listen_there(SOCK_STREAM);
	inode = inode_of(path);
	close_within(SECOND);
	ck_assert_uint_eq(inode_of(path), inode);
	close(fd);
	reader_end(&before);
	reader_end(&after);
	ck_assert_uint_eq(before.got, 100);
	ck_assert_uint_eq(after.got, 100);
}
END_TEST

/* Two that find the same stale socket: one has it, and the other says so. */
START_TEST(test_two)
{
	struct stream *two[2];
	int i, round;

	close_within(SECOND);
	for (round = 1; round <= 5; round++) {
		close(listen_there(SOCK_STREAM));
		for (i = 0; i < 2; i++)
			two[i] = stream_open(path, (gid_t)-1, &log_object);
		close(connect_soon());
		while (logged("ERR 5D30: ") < (unsigned)round)
			usleep(1000);
		for (i = 0; i < 2; i++)
			stream_close(two[i], 0);
		ck_assert_int_eq(access(path, F_OK), -1);
	}
}
END_TEST

/* The sink: names */

static struct sinks *sinks;

static void sink_setup(void)
{
	struct options *options = calloc(1, sizeof(*options));

	log_setup();
	options_default(options);
	options->log = LOG_NONE;
	strcpy(options->listen, path);
	sinks = sinks_open(options, &log_object);
	ck_assert_ptr_nonnull(sinks);
	ck_assert(sinks_take_captures(sinks));
	free(options);
}

static void capture(uint16_t lid, const char *name, uint64_t mono_ns)
{
	uint8_t mad[MAD_SIZE] = {
		[MAD_BASE_VERSION] = 1, [MAD_CLASS] = CLASS_SUBN_ADM,
		[MAD_CLASS_VERSION] = 2, [MAD_METHOD] = METHOD_GET,
	};
	const struct mad_capture cap = {
		.data = mad, .len = MAD_SIZE, .size = MAD_SIZE,
		.time_ns = SECOND, .mono_ns = mono_ns, .above_rmpp = true,
		.peer = { .lid = lid, .qpn = 1 },
	};
	const struct requester peer = {
		.addr = cap.peer, .port_guid = lid, .name = name,
	};
	int i;

	number++;
	for (i = 0; i < 8; i++)
		mad[MAD_TID + i] = (uint8_t)(number >> (56 - 8 * i));
	sinks_capture(sinks, &cap, &peer);
}

static void read_until(struct reader *r, uint64_t got, uint64_t named)
{
	while (r->got < got)
		reader_read(r);
	ck_assert_uint_eq(r->got, got);
	ck_assert_uint_eq(r->named, named);
}

START_TEST(test_names)
{
	const uint64_t start = 100 * SECOND;
	struct reader a, b;

	reader_begin(&a);
	capture(7, "node7", start);
	capture(8, "node8", start);
	capture(9, NULL, start);	/* a GUID is told, too */
	capture(7, "node7", start);
	read_until(&a, 4, 3);
	capture(7, "another", start + 1);
	capture(7, "another", start + 2);
	capture(9, "node9", start + 3);
	read_until(&a, 7, 5);
	capture(7, "another", start + 10 * SECOND);
	capture(7, "another", start + 10 * SECOND + 1);
	capture(7, "another", start + 10 * SECOND + 2);
	read_until(&a, 10, 6);
	reader_begin(&b);
	capture(7, "another", start + 10 * SECOND + 3);
	capture(7, "another", start + 10 * SECOND + 4);
	read_until(&b, 2, 1);
	sinks_close(sinks, clock_ns(CLOCK_MONOTONIC) + SECOND);
	reader_end(&a);
	reader_end(&b);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("stream");
	TCase *tcase = tcase_create("stream"), *sink = tcase_create("sink");

	tcase_add_checked_fixture(tcase, setup, log_teardown);
	tcase_add_test(tcase, test_nobody);
	tcase_add_test(tcase, test_one);
	tcase_add_test(tcase, test_many);
	tcase_add_test(tcase, test_stuck);
	tcase_add_test(tcase, test_stuck_without_time);
	tcase_add_test(tcase, test_falls_behind);
	tcase_add_test(tcase, test_closes);
	tcase_add_test(tcase, test_killed_in_a_record);
	tcase_add_test(tcase, test_shuts_down);
	tcase_add_test(tcase, test_sends);
	tcase_add_test(tcase, test_too_many);
	tcase_add_test(tcase, test_mode);
	tcase_add_test(tcase, test_group);
	tcase_add_test(tcase, test_stale);
	tcase_add_test(tcase, test_locked_folder);
	tcase_add_loop_test(tcase, test_living, 0, 2);
	tcase_add_test(tcase, test_living_at_the_end);
	tcase_add_test(tcase, test_no_socket);
	tcase_add_test(tcase, test_no_folder);
	tcase_add_test(tcase, test_taken_away);
	tcase_add_test(tcase, test_two);
	tcase_set_timeout(tcase, 120);
	suite_add_tcase(suite, tcase);
	tcase_add_checked_fixture(sink, sink_setup, log_teardown);
	tcase_add_test(sink, test_names);
	tcase_set_timeout(sink, 120);
	suite_add_tcase(suite, sink);
	return run_suite(suite);
}
