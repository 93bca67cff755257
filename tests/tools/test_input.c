/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Captures from files of many kinds, whole, cut and corrupt, and sockets. */
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <check.h>

#include "captures.h"
#include "input.h"
#include "../run.h"

enum { MADS_MAX = 256, ROUNDS = 1000 };

static volatile sig_atomic_t stop;
static char error[INPUT_ERROR_MAX];

/* What came, as far as it is compared. */
static struct seen {
	struct mad_capture cap;
	uint8_t data[MAD_SIZE];
} seen[MADS_MAX];
static size_t n_seen, end_at;
static unsigned idle_calls;

static bool on_mad(const struct mad_capture *cap, const struct erf_note *note,
		   void *context)
{
	struct seen *s = &seen[n_seen % MADS_MAX];

	ck_assert_ptr_eq(context, seen);
	ck_assert_uint_ge(cap->len, MAD_HDR_SIZE);
	ck_assert_uint_le(cap->len, MAD_SIZE);
	ck_assert_uint_le(note->name.len, ERF_NAME_MAX);
	s->cap = *cap;
	memcpy(s->data, cap->data, cap->len);
	return ++n_seen != end_at;
}

static bool on_idle(uint64_t quiet_ns, void *context)
{
	ck_assert_ptr_eq(context, seen);
	ck_assert_uint_lt(quiet_ns, UINT64_C(60000000000));
	idle_calls++;
	return true;
}

static const struct input_reader reader = {
	.mad = on_mad, .idle = on_idle, .context = seen,
};

static void set_up(void)
{
	n_seen = end_at = idle_calls = 0;
	stop = 0;
	*error = '\0';
}

static struct input *open_bytes(const void *bytes, size_t len)
{
	int fd = memfd_create("capture", MFD_CLOEXEC);

	ck_assert_int_ge(fd, 0);
	ck_assert_int_eq(write(fd, bytes, len), (ssize_t)len);
	ck_assert_int_eq(lseek(fd, 0, SEEK_SET), 0);
	return input_open_fd(fd, "a file", &stop, error);
}

/* Whether it was read to its end; -1: it is no capture file at all. */
static int read_bytes(const void *bytes, size_t len, struct input_stats *stats)
{
	struct input *in = open_bytes(bytes, len);
	bool whole;

	n_seen = 0;
	if (!in) {
		ck_assert(*error);
		return -1;
	}
	whole = input_read(in, &reader, error);
	input_get_stats(in, stats);
	input_close(in);
	ck_assert(whole || *error);
	ck_assert_uint_eq(stats->packets,
			  stats->mads + stats->others + stats->broken);
	ck_assert_uint_eq(stats->mads, n_seen);
	return whole;
}

static struct captures story(enum captures_format format)
{
	struct captures c;

	captures_begin(&c, format);
	captures_story(&c);
	return c;
}

START_TEST(empty_ones_are_refused)
{
	ck_assert_ptr_null(open_bytes("", 0));
	ck_assert_str_eq(error, "a file: nothing is in it, not even the header of a capture file");
	ck_assert_ptr_null(input_open_file("/nowhere/file", &stop, error));
	ck_assert_str_eq(error, "/nowhere/file: No such file or directory");
	ck_assert_ptr_null(input_open_file("/", &stop, error));
	ck_assert_str_eq(error, "/: Is a directory");
	ck_assert_ptr_null(open_bytes("{\"seq\":1,\"time\":\"2026\"}\n", 24));
	ck_assert_ptr_nonnull(strstr(error, "a file: no capture file: "));
}
END_TEST

START_TEST(a_file_of_nothing_is_well)
{
	struct input_stats stats;
	struct captures c;

	captures_begin(&c, (enum captures_format)_i);
	ck_assert_int_eq(read_bytes(c.bytes, c.len, &stats), 1);
	ck_assert_uint_eq(stats.packets, 0);
	ck_assert_uint_eq(stats.size, c.len);
	ck_assert_uint_eq(stats.bytes, c.len);
	free(c.bytes);
}
END_TEST

START_TEST(other_link_types_are_named)
{
	struct captures c = story(FORMAT_OURS);

	c.bytes[20] = 1;
	ck_assert_ptr_null(open_bytes(c.bytes, c.len));
	ck_assert_str_eq(error, "a file: a capture of link type 1 (EN10MB); accepted are ERF (197), as osmsnoop and ibdump write it, and InfiniBand (247)");
	free(c.bytes);
}
END_TEST

/* Whatever the format, the same MADs at the same time. */
START_TEST(formats_of_others)
{
	static struct seen ours[MADS_MAX];
	struct captures c = story(FORMAT_OURS);
	struct input_stats stats;
	uint64_t step = 1;
	size_t i, n;

	ck_assert_int_eq(read_bytes(c.bytes, c.len, &stats), 1);
	n = n_seen;
	ck_assert_uint_eq(n, c.packets);
	ck_assert_uint_eq(stats.lost, STORY_LOST);
	memcpy(ours, seen, sizeof(ours));
	free(c.bytes);

	c = story((enum captures_format)_i);
	ck_assert_int_eq(read_bytes(c.bytes, c.len, &stats), 1);
	ck_assert_uint_eq(n_seen, n);
	if (_i == FORMAT_MICROSECONDS || _i == FORMAT_SWAPPED_MICROSECONDS)
		step = 1000;
	for (i = 0; i < n; i++) {
		ck_assert_uint_eq(seen[i].cap.time_ns,
				  ours[i].cap.time_ns / step * step);
		ck_assert_uint_eq(seen[i].cap.len, ours[i].cap.len);
		ck_assert_mem_eq(seen[i].data, ours[i].data, ours[i].cap.len);
		/* without ERF's header only the SA's direction is known */
		if (_i == FORMAT_BARE &&
		    ours[i].data[MAD_CLASS] != CLASS_SUBN_ADM)
			continue;
		ck_assert_int_eq(seen[i].cap.sent, ours[i].cap.sent);
		ck_assert_uint_eq(seen[i].cap.peer.lid, ours[i].cap.peer.lid);
		ck_assert_uint_eq(seen[i].cap.peer.qpn, ours[i].cap.peer.qpn);
		ck_assert_mem_eq(seen[i].cap.peer.gid, ours[i].cap.peer.gid,
				 16);
		ck_assert_uint_eq(seen[i].cap.route.local_lid,
				  ours[i].cap.route.local_lid);
	}
	if (_i == FORMAT_MIXED) {
		ck_assert_uint_gt(stats.others, 0);
		ck_assert_uint_eq(stats.others * MIXED_BROKEN,
				  stats.broken * MIXED_OTHERS);
	} else {
		ck_assert_uint_eq(stats.others + stats.broken, 0);
	}
	free(c.bytes);
}
END_TEST

/* Cut anywhere: all whole packets are there, and it is told. */
START_TEST(files_that_are_cut)
{
	struct captures c = story((enum captures_format)_i);
	size_t len, whole = 0, was = 0;
	struct input_stats stats;
	int result;

	for (len = 0; len < c.len; len++) {
		result = read_bytes(c.bytes, len, &stats);
		if (result < 0)
			continue;
		ck_assert_uint_ge(n_seen, was);
		was = n_seen;
		if (result)
			whole++;
		else
			ck_assert_msg(strstr(error, "it is cut in its last packet, after ") != NULL,
				      "%s", error);
	}
	/* between two packets nobody can tell */
	ck_assert_uint_ge(whole, c.packets - 1);
	ck_assert_uint_lt(whole, 7 * c.packets + 2);
	ck_assert_uint_eq(was, c.packets - 1);
	free(c.bytes);
}
END_TEST

START_TEST(files_that_are_corrupt)
{
	struct captures c = story((enum captures_format)_i);
	uint8_t *bytes = malloc(c.len);
	struct input_stats stats;
	int round, i;

	srand(1);
	for (round = 0; round < ROUNDS; round++) {
		memcpy(bytes, c.bytes, c.len);
		for (i = rand() % 8; i >= 0; i--)
			bytes[(size_t)rand() % c.len] = (uint8_t)rand();
		read_bytes(bytes, c.len, &stats);
	}
	free(bytes);
	free(c.bytes);
}
END_TEST

static unsigned progress_calls;
static struct input_stats progress_last;

static void on_progress(const struct input_stats *stats, void *context)
{
	ck_assert_ptr_eq(context, seen);
	ck_assert_uint_gt(stats->bytes, progress_last.bytes);
	progress_last = *stats;
	progress_calls++;
}

/* Who has looked at the first bytes hands them over; they count. */
START_TEST(reading_can_have_begun)
{
	const struct input_reader with_progress = {
		.mad = on_mad, .context = seen, .progress = on_progress,
	};
	struct captures c = story(FORMAT_OURS);
	struct input_stats stats;
	struct input *in;
	int fd = memfd_create("capture", MFD_CLOEXEC);

	ck_assert_int_eq(write(fd, c.bytes, c.len), (ssize_t)c.len);
	ck_assert_int_eq(lseek(fd, _i, SEEK_SET), _i);
	in = input_open_begun(fd, "a file", c.bytes, (size_t)_i, &stop, error);
	ck_assert_msg(in != NULL, "%s", error);
	ck_assert(input_read(in, &with_progress, error));
	input_get_stats(in, &stats);
	input_close(in);
	ck_assert_uint_eq(n_seen, c.packets);
	ck_assert_uint_eq(stats.bytes, c.len);
	/* what it takes to open it is before that */
	ck_assert_uint_le(progress_calls, 1);
	free(c.bytes);
}
END_TEST

START_TEST(reading_can_end)
{
	struct captures c = story(FORMAT_OURS);
	struct input *in = open_bytes(c.bytes, c.len);

	end_at = 3;
	ck_assert(input_read(in, &reader, error));
	ck_assert_uint_eq(n_seen, 3);
	/* and go on */
	stop = 1;
	ck_assert(input_read(in, &reader, error));
	ck_assert_uint_eq(n_seen, 3);
	input_close(in);
	free(c.bytes);
}
END_TEST

/* Captured where the request was sent, it is seen from the SA all the same. */
START_TEST(directions_are_by_the_method)
{
	struct captures c;
	struct mad_capture cap;
	uint8_t mad[MAD_SIZE];
	struct input_stats stats;

	captures_begin(&c, FORMAT_OURS);
	cap = captures_mad(&c, mad, sizeof(mad), CLASS_SUBN_ADM, METHOD_GET,
			   ATTR_PATH_RECORD, 1, 1);
	cap.sent = true;
	cap.route.local_lid = 7;
	cap.peer.has_gid = true;
	cap.peer.gid[15] = 9;
	captures_encode(&c, &cap, NULL);
	cap.sent = false;
	mad[MAD_METHOD] |= METHOD_RESPONSE;
	captures_encode(&c, &cap, NULL);
	ck_assert_int_eq(read_bytes(c.bytes, c.len, &stats), 1);
	ck_assert(!seen[0].cap.sent && seen[1].cap.sent);
	ck_assert_uint_eq(seen[0].cap.peer.lid, 7);
	ck_assert_uint_eq(seen[1].cap.peer.lid, 7);
	ck_assert_uint_eq(seen[0].cap.route.local_lid, 1);
	/* its own GID, of which the port GUID was known */
	ck_assert_uint_eq(mad_get64(seen[0].cap.peer.gid + 8), 0x100001);
	ck_assert_uint_eq(seen[0].cap.route.port_guid, 9);
	free(c.bytes);
}
END_TEST

/*
 * Sockets
 */

struct server {
	pthread_t thread;
	struct sockaddr_un address;
	int fd;
	const struct captures *c;
	size_t len;		/* of it, and then the connection ends */
};

static void *serve(void *context)
{
	struct server *s = context;
	int fd = accept(s->fd, NULL, NULL);
	size_t half = s->len / 2 + 5, at = write(fd, s->c->bytes, half);

	/* long enough that the reader has nothing to do */
	usleep(250000);
	while (at < s->len)
		at += (size_t)write(fd, s->c->bytes + at, s->len - at);
	close(fd);
	return NULL;
}

static void start(struct server *s, const struct captures *c, size_t len)
{
	*s = (struct server){ .c = c, .len = len };
	s->address.sun_family = AF_UNIX;
	snprintf(s->address.sun_path, sizeof(s->address.sun_path),
		 "/tmp/osmsnoop-input-%d.sock", getpid());
	unlink(s->address.sun_path);
	s->fd = socket(AF_UNIX, SOCK_STREAM, 0);
	ck_assert_int_eq(bind(s->fd, (struct sockaddr *)&s->address,
			      sizeof(s->address)), 0);
	ck_assert_int_eq(listen(s->fd, 1), 0);
	pthread_create(&s->thread, NULL, serve, s);
}

static void end(struct server *s)
{
	pthread_join(s->thread, NULL);
	close(s->fd);
	unlink(s->address.sun_path);
}

START_TEST(a_socket_is_read_to_its_end)
{
	struct captures c = story(FORMAT_OURS);
	struct server s;
	struct input *in;

	start(&s, &c, c.len - (_i ? 7 : 0));
	in = input_open_source(s.address.sun_path, &stop, error);
	ck_assert_msg(in != NULL, "%s", error);
	ck_assert(input_is_live(in));
	ck_assert_int_eq(input_read(in, &reader, error), !_i);
	ck_assert_uint_eq(n_seen, c.packets - (_i ? 1 : 0));
	/* at once, and twice in 250 ms */
	ck_assert_uint_ge(idle_calls, 2);
	ck_assert_uint_le(idle_calls, 8);
	input_close(in);
	end(&s);
	free(c.bytes);
}
END_TEST

START_TEST(sources_that_do_not_open)
{
	static const struct {
		const char *source, *error;
	} sources[] = {
		{ "/nowhere/socket", "No such file or directory; does OpenSM run" },
		{ "/etc/passwd", "Connection refused; nobody listens" },
		{ "mlx5_0", "'mlx5_0' is not known; accepted are" },
		{ "kernels", "is not known" },
		{ "bpf", "source bpf is not built in" },
		{ "bpf:mlx5_0", "source bpf is not built in" },
	};
	char path[200];
	size_t i;

	for (i = 0; i < sizeof(sources) / sizeof(sources[0]); i++) {
		ck_assert_ptr_null(input_open_source(sources[i].source, &stop,
						     error));
		ck_assert_msg(strstr(error, sources[i].error) != NULL, "%s",
			      error);
	}
	memset(path, '/', sizeof(path));
	path[sizeof(path) - 1] = '\0';
	ck_assert_ptr_null(input_open_source(path, &stop, error));
	ck_assert_ptr_nonnull(strstr(error, "File name too long"));
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("input");
	TCase *tc = tcase_create("input");

	tcase_add_checked_fixture(tc, set_up, NULL);
	tcase_add_test(tc, empty_ones_are_refused);
	tcase_add_loop_test(tc, a_file_of_nothing_is_well, 0, FORMATS);
	tcase_add_test(tc, other_link_types_are_named);
	tcase_add_loop_test(tc, formats_of_others, 0, FORMATS);
	tcase_add_loop_test(tc, files_that_are_cut, 0, FORMAT_MIXED);
	tcase_add_loop_test(tc, files_that_are_corrupt, 0, FORMATS);
	tcase_add_loop_test(tc, reading_can_have_begun, 0, INPUT_HEAD_MAX + 1);
	tcase_add_test(tc, reading_can_end);
	tcase_add_test(tc, directions_are_by_the_method);
	tcase_add_loop_test(tc, a_socket_is_read_to_its_end, 0, 2);
	tcase_add_test(tc, sources_that_do_not_open);
	suite_add_tcase(suite, tc);
	return run_suite(suite);
}
