/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * umad_register_snoop: its errors, the request byte by byte, what it prints.
 * ioctl() is the test's: it stands for a kernel that takes the request, or
 * refuses it, and does nothing else; or it is the real one.
 */
#include <check.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <infiniband/umad.h>
#include <infiniband/umad_snoop.h>

#include "../run.h"

enum { REQUEST = 28, ID = 4 };

int __real_ioctl(int fd, unsigned long request, void *arg);
int __wrap_ioctl(int fd, unsigned long request, void *arg);

static struct {
	bool real;
	int error;		/* refuse with this errno */
	uint32_t id;
	unsigned calls;
	int fd;
	unsigned long request;
	uint8_t bytes[REQUEST];
} kernel;

int __wrap_ioctl(int fd, unsigned long request, void *arg)
{
	kernel.calls++;
	if (kernel.real)
		return __real_ioctl(fd, request, arg);
	kernel.fd = fd;
	kernel.request = request;
	memcpy(kernel.bytes, arg, REQUEST);
	if (kernel.error) {
		errno = kernel.error;
		return -1;
	}
	memcpy(arg, &kernel.id, sizeof(kernel.id));
	return 0;
}

static int call(umad_filter_t filter)
{
	return umad_register_snoop(7, &filter, sizeof(filter));
}

/* All that is wrong before the kernel is asked. */
START_TEST(no_filter)
{
	umad_filter_t filter = { .mgmt_class = 3 };
	static const size_t sizes[] = { 0, 1, 7, 9, 16, SIZE_MAX };
	size_t i;

	errno = 0;
	ck_assert_int_eq(umad_register_snoop(7, NULL, sizeof(filter)), -EINVAL);
	ck_assert_int_eq(errno, EINVAL);
	for (i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++)
		ck_assert_int_eq(umad_register_snoop(7, &filter, sizes[i]),
				 -EINVAL);
	ck_assert_uint_eq(kernel.calls, 0);
}
END_TEST

/* Asked of the kernel that runs here. */
START_TEST(no_port)
{
	umad_filter_t filter = { .mgmt_class = 3 };
	int null = open("/dev/null", O_RDWR), pipes[2], fd;

	ck_assert_int_ge(null, 0);
	ck_assert_int_eq(pipe(pipes), 0);
	fd = dup(null);
	close(fd);
	kernel.real = true;
	ck_assert_int_eq(umad_register_snoop(-1, &filter, sizeof(filter)),
			 -EINVAL);
	ck_assert_int_eq(errno, EBADF);
	ck_assert_int_eq(umad_register_snoop(INT32_MIN, &filter,
					     sizeof(filter)), -EINVAL);
	ck_assert_int_eq(umad_register_snoop(INT32_MAX, &filter,
					     sizeof(filter)), -EINVAL);
	ck_assert_int_eq(umad_register_snoop(fd, &filter, sizeof(filter)),
			 -EINVAL);
	ck_assert_int_eq(umad_register_snoop(null, &filter, sizeof(filter)),
			 -EINVAL);
	ck_assert_int_eq(errno, ENOTTY);
	ck_assert_int_eq(umad_register_snoop(pipes[0], &filter,
					     sizeof(filter)), -EINVAL);
	kernel.real = false;
	close(null);
	close(pipes[0]);
	close(pipes[1]);
}
END_TEST

/* Mainline's answer, no agent left, a device that was removed, no right. */
START_TEST(refused)
{
	static const int errors[] = { EINVAL, ENOMEM, EPIPE, EPERM, EIO };
	size_t i;

	for (i = 0; i < sizeof(errors) / sizeof(errors[0]); i++) {
		kernel.error = errors[i];
		errno = 0;
		ck_assert_int_eq(call((umad_filter_t){ .mgmt_class = 3 }),
				 -EPERM);
		ck_assert_int_eq(errno, errors[i]);
	}
	kernel.error = 0;
}
END_TEST

/*
 * 0 id, 4 attribute (host order), 6 errors, 7 reserved, 20 qpn, 21 class,
 * 22 version, 23 oui, 26 rmpp version, 27 nothing
 */
static const struct {
	umad_filter_t filter;
	uint16_t attr_id;
	uint8_t errors;
	uint8_t tail[8];
} requests[] = {
	/* all wildcards: every class of QP1 */
	{ { .mgmt_class = 0 }, 0, 0, { 0x81 } },
	/* QP0 */
	{ { .mgmt_class = 0x01 }, 0, 0, { 0x80, 0x01 } },
	{ { .mgmt_class = 0x81 }, 0, 0, { 0x80, 0x81 } },
	{ { .mgmt_class = 0x81, .mgmt_version = 1, .attr_id = 0x0015,
	    .errors = 1 }, 0x0015, 1, { 0x80, 0x81, 1 } },
	/* QP1: SA PathRecord; a class that differs from QP0's by a bit */
	{ { .mgmt_class = 0x03, .mgmt_version = 2, .attr_id = 0x0035 },
	  0x0035, 0, { 0x81, 0x03, 2 } },
	{ { .mgmt_class = 0x83 }, 0, 0, { 0x81, 0x83 } },
	{ { .mgmt_class = 0x80 }, 0, 0, { 0x81, 0x80 } },
	/* vendor range 2 with OUI; an attribute of two different bytes */
	{ { .mgmt_class = 0x32, .mgmt_version = 1, .attr_id = 0x1234,
	    .oui = { 0x00, 0x14, 0x05 } },
	  0x1234, 0, { 0x81, 0x32, 1, 0x00, 0x14, 0x05 } },
	/* everything as it was given: who ignores what is the kernel */
	{ { .mgmt_class = 0, .mgmt_version = 0xff, .attr_id = 0xffff,
	    .errors = 0xff, .oui = { 0xff, 0xfe, 0xfd } },
	  0xffff, 0xff, { 0x81, 0, 0xff, 0xff, 0xfe, 0xfd } },
};

START_TEST(bytes)
{
	uint8_t expected[REQUEST] = { 0 };
	uint32_t id;

	memcpy(expected + ID, &requests[_i].attr_id, 2);
	expected[6] = requests[_i].errors;
	memcpy(expected + 20, requests[_i].tail, sizeof(requests[_i].tail));
	kernel.id = 17;
	ck_assert_int_eq(call(requests[_i].filter), 17);
	ck_assert_int_eq(kernel.fd, 7);
	ck_assert_mem_eq(kernel.bytes, expected, REQUEST);
	/* _IOWR(0x1b, 1, 28 bytes) */
	ck_assert_uint_eq(kernel.request, 0xc01c1b01);
	memcpy(&id, kernel.bytes, sizeof(id));
	ck_assert_uint_eq(id, 0);
}
END_TEST

START_TEST(filter_is_left_alone)
{
	umad_filter_t filter = requests[7].filter;

	kernel.id = 0;
	ck_assert_int_eq(umad_register_snoop(7, &filter, sizeof(filter)), 0);
	ck_assert_mem_eq(&filter, &requests[7].filter, sizeof(filter));
}
END_TEST

/* Lines on stderr of one call at a level, its text in `text`. */
static unsigned lines_at(int level, int error, char text[2048])
{
	FILE *file = tmpfile();
	int saved = dup(STDERR_FILENO);
	unsigned n = 0;
	size_t len;
	char *c;

	ck_assert_ptr_nonnull(file);
	fflush(stderr);
	dup2(fileno(file), STDERR_FILENO);
	umad_debug(level);
	kernel.error = error;
	kernel.id = 5;
	errno = 0;
	call((umad_filter_t){ .mgmt_class = 0x32, .attr_id = 0x12,
			      .oui = { 0, 0x14, 5 } });
	ck_assert_int_eq(errno, error);
	umad_debug(0);
	kernel.error = 0;
	fflush(stderr);
	dup2(saved, STDERR_FILENO);
	close(saved);
	rewind(file);
	len = fread(text, 1, 2047, file);
	text[len] = '\0';
	fclose(file);
	for (c = text; (c = strchr(c, '\n')); c++)
		n++;
	return n;
}

/* As libibumad: nothing at 0, all at any other level, in its form. */
START_TEST(debug_levels)
{
	char text[2048], start[64];

	snprintf(start, sizeof(start), "ibwarn: [%d] umad_register_snoop: ",
		 getpid());
	ck_assert_uint_eq(lines_at(0, 0, text), 0);
	ck_assert_uint_eq(lines_at(0, EINVAL, text), 0);
	ck_assert_str_eq(text, "");
	ck_assert_uint_eq(lines_at(1, 0, text), 2);
	ck_assert_int_eq(strncmp(text, start, strlen(start)), 0);
	ck_assert_ptr_nonnull(strstr(text, "portid 7 class 0x32 version 0 attribute 0x0012 errors 0 oui 0x001405\n"));
	ck_assert_ptr_nonnull(strstr(text, "qp 1 class 0x32 is snooped by agent 5\n"));
	ck_assert_uint_eq(lines_at(2, EINVAL, text), 2);
	ck_assert_ptr_nonnull(strstr(text, "refused: Invalid argument\n"));
	/* asking for the level does not change it */
	ck_assert_int_eq(umad_debug(-1), 0);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("register_snoop");
	TCase *tc = tcase_create("register_snoop");

	tcase_add_test(tc, no_filter);
	tcase_add_test(tc, no_port);
	tcase_add_test(tc, refused);
	tcase_add_loop_test(tc, bytes, 0,
			    sizeof(requests) / sizeof(requests[0]));
	tcase_add_test(tc, filter_is_left_alone);
	tcase_add_test(tc, debug_levels);
	suite_add_tcase(suite, tc);
	return run_suite(suite);
}
