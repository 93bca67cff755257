/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * plugin/forward.c, and what of the audit goes there: to a syslog of the test,
 * and to what journald's library is given. Nobody waits for either.
 */
#include <config.h>

#include <poll.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <syslog.h>

#include "clock.h"
#include "forward.h"
#include "opensm_log.h"
#include "sink.h"
#include "../run.h"

static struct forward *forward;
static int syslog_fd;
static char socket_path[128];

/* /dev/log is here. */
int __real_connect(int fd, const struct sockaddr *address, socklen_t len);
int __wrap_connect(int fd, const struct sockaddr *address, socklen_t len);

int __wrap_connect(int fd, const struct sockaddr *address, socklen_t len)
{
	struct sockaddr_un here = { .sun_family = AF_UNIX };

	if (strcmp(((const struct sockaddr_un *)address)->sun_path,
		   "/dev/log"))
		return __real_connect(fd, address, len);
	strcpy(here.sun_path, socket_path);
	return __real_connect(fd, (struct sockaddr *)&here, sizeof(here));
}

static void listen_there(void)
{
	struct sockaddr_un here = { .sun_family = AF_UNIX };

	strcpy(here.sun_path, socket_path);
	syslog_fd = socket(AF_UNIX, SOCK_DGRAM, 0);
	ck_assert_int_eq(bind(syslog_fd, (struct sockaddr *)&here,
			      sizeof(here)), 0);
}

static void stop_listening(void)
{
	close(syslog_fd);
	unlink(socket_path);
}

static void setup(void)
{
	log_setup();
	snprintf(socket_path, sizeof(socket_path), "%s/log", dir);
	forward = NULL;
}

static void begin(size_t queue)
{
	forward = forward_open(FORWARD_SYSLOG, queue, &log_object);
	ck_assert_ptr_nonnull(forward);
}

static void end(void)
{
	forward_close(forward, clock_ns(CLOCK_MONOTONIC) + 10 * SECOND);
}

/* The next line within ten seconds, or "". */
static const char *received(void)
{
	struct pollfd ready = { .fd = syslog_fd, .events = POLLIN };
	static char line[4096];
	ssize_t n = 0;

	if (poll(&ready, 1, 10000) == 1)
		n = recv(syslog_fd, line, sizeof(line) - 1, 0);
	line[n > 0 ? n : 0] = '\0';
	return line;
}

static void check_received(const char *start, const char *text)
{
	const char *line = received();

	ck_assert_msg(!strncmp(line, start, strlen(start)) &&
		      strstr(line, text), "'%s' in '%s'", text, line);
}

START_TEST(test_line)
{
	char start[64];

	listen_there();
	begin(65536);
	forward_say(forward, LOG_CRIT, "a line of %d", 7);
	check_received("<26>", ": a line of 7");
	snprintf(start, sizeof(start), " osmsnoop[%d]: ", (int)getpid());
	forward_say(forward, LOG_INFO, "another");
	check_received("<30>", start);
	end();
	ck_assert_uint_eq(logged("ERR"), 0);
	stop_listening();
}
END_TEST

/* Nobody there: counted, said once, and again when it is over. */
START_TEST(test_nobody)
{
	int i;

	begin(65536);
	for (i = 0; i < 3; i++)
		forward_say(forward, LOG_INFO, "lost");
	while (!logged("ERR 5D2B: ")) {
		usleep(1000);
		forward_flush(forward, SECOND);
	}
	usleep(50000);
	forward_flush(forward, SECOND);
	ck_assert_uint_eq(logged("No such file"), 1);
	listen_there();
	forward_say(forward, LOG_INFO, "there");
	check_received("<28>", "3 messages before this one are missing");
	check_received("<30>", "there");
	/* another one listens there */
	stop_listening();
	listen_there();
	forward_say(forward, LOG_INFO, "again");
	check_received("<30>", "again");
	while (!logged("ERR 5D2C: ")) {
		usleep(1000);
		forward_flush(forward, 3 * SECOND);
	}
	ck_assert_uint_eq(logged("syslog: 3 messages were not taken"), 1);
	end();
	ck_assert_uint_eq(logged("ERR"), 2);
	stop_listening();
}
END_TEST

/* It does not read: who puts goes on, and all is counted. */
START_TEST(test_hangs)
{
	uint64_t began = clock_ns(CLOCK_MONOTONIC), took;
	unsigned i, refused = 0, there = 0;
	struct forward_message m = { .text = "a message" };

	listen_there();
	begin(65536);
	for (i = 0; i < 20000; i++)
		refused += !forward_put(forward, &m);
	ck_assert_uint_gt(refused, 0);
	ck_assert_uint_lt(clock_ns(CLOCK_MONOTONIC) - began, SECOND);
	forward_flush(forward, SECOND);
	ck_assert_uint_eq(logged("there is no room for more"), 1);
	/* nor does the end wait longer than it is told to */
	began = clock_ns(CLOCK_MONOTONIC);
	forward_close(forward, began + SECOND / 5);
	took = clock_ns(CLOCK_MONOTONIC) - began;
	ck_assert_uint_lt(took, SECOND);
	ck_assert_uint_eq(logged("messages were not taken"), 1);
	/* the thread ends by itself */
	usleep(200000);
	while (recv(syslog_fd, socket_path, 0, MSG_DONTWAIT) >= 0)
		there++;
	ck_assert_uint_gt(there, 0);
	snprintf(socket_path, sizeof(socket_path), "%s/log", dir);
	stop_listening();
}
END_TEST

/*
 * What of the audit goes there
 */

static struct options options;
static struct sinks *sinks;

static void sinks_begin(void)
{
	options_default(&options);
	options.listen[0] = '\0';
	options.log = LOG_NONE;
}

static void put_alert(const char *severity)
{
	const struct requester who = { .addr = { .lid = 7 } };
	const struct record r = {
		.type = RECORD_ALERT,
		.alert = { .alert = "sa_storm", .severity = severity,
			   .subject = "LID 7", .text = "too many",
			   .who = &who },
	};

	sinks_put(sinks, &r);
}

static void put_records(void)
{
	const struct record state = {
		.type = RECORD_STATE,
		.state = { .state = "sweep_done", .sm_state = "master" },
	};
	uint8_t mad[MAD_SIZE] = { [MAD_CLASS] = 4, [MAD_METHOD] = 1 };
	struct mad_capture capture = { .data = mad, .len = MAD_SIZE,
				       .size = MAD_SIZE };
	const struct record other = { .type = RECORD_MAD,
				      .mad = { .capture = &capture } };

	sinks_put(sinks, &other);
	sinks_put(sinks, &state);
	put_alert("critical");
	put_alert("warning");
	put_alert("info");
}

START_TEST(test_records_to_syslog)
{
	listen_there();
	sinks_begin();
	options.forward = FORWARD_SYSLOG;
	sinks = sinks_open(&options, &log_object);
	put_records();
	check_received("<30>", "sweep_done");
	check_received("<26>", "too many");
	check_received("<28>", "too many");
	check_received("<29>", "too many");
	sinks_close(sinks, clock_ns(CLOCK_MONOTONIC) + SECOND);
	ck_assert_int_lt(recv(syslog_fd, socket_path, 0, MSG_DONTWAIT), 0);
	stop_listening();
}
END_TEST

/* The audit cannot be written; then it can. */
START_TEST(test_failure)
{
	struct sink_moment moment = { .mono_ns = SECOND };
	int i;

	listen_there();
	sinks_begin();
	options.failure = FAILURE_SYSLOG;
	strcpy(options.audit, path);
	ck_assert_int_eq(mkdir(path, 0700), 0);
	sinks = sinks_open(&options, &log_object);
	put_records();
	check_received("<26>", "ERR 5D20: audit: ");
	rmdir(path);
	for (i = 0; i < 60; i++) {
		sinks_flush(sinks, &moment);
		moment.mono_ns += SECOND / 10;
		usleep(50000);
	}
	check_received("<26>", "is written again; 4 records are missing");
	sinks_close(sinks, clock_ns(CLOCK_MONOTONIC) + SECOND);
	ck_assert_int_lt(recv(syslog_fd, socket_path, 0, MSG_DONTWAIT), 0);
	ck_assert_uint_eq(logged("ERR 5D20"), 1);
	stop_listening();
}
END_TEST

#ifdef HAVE_SYSTEMD
/* Stands in for libsystemd's, and takes what it is given. */
static char journal[16384];
static int journal_result;
int sd_journal_sendv(const struct iovec *iov, int n);

int sd_journal_sendv(const struct iovec *iov, int n)
{
	size_t len = strlen(journal);
	int i;

	for (i = 0; !journal_result && i < n; i++)
		len += (size_t)snprintf(journal + len, sizeof(journal) - len,
					"%.*s\n", (int)iov[i].iov_len,
					(const char *)iov[i].iov_base);
	return journal_result;
}

/* There is a journald. */
int __real_access(const char *name, int mode);
int __wrap_access(const char *name, int mode);

int __wrap_access(const char *name, int mode)
{
	return strcmp(name, "/run/systemd/journal/socket") ?
		       __real_access(name, mode) : 0;
}

START_TEST(test_records_to_journald)
{
	sinks_begin();
	options.forward = FORWARD_JOURNALD;
	sinks = sinks_open(&options, &log_object);
	put_records();
	sinks_close(sinks, clock_ns(CLOCK_MONOTONIC) + 10 * SECOND);
	ck_assert_uint_eq(count(journal, "MESSAGE="), 4);
	ck_assert_uint_eq(count(journal, "SYSLOG_IDENTIFIER=osmsnoop\n"), 4);
	ck_assert_uint_eq(count(journal, "OSMSNOOP_TYPE=alert\n"), 3);
	ck_assert_uint_eq(count(journal, "OSMSNOOP_TYPE=state\n"), 1);
	ck_assert_uint_eq(count(journal, "OSMSNOOP_ALERT=sa_storm\n"), 3);
	ck_assert_uint_eq(count(journal, "OSMSNOOP_LID=7\n"), 3);
	ck_assert_uint_eq(count(journal, "PRIORITY=2\n"), 1);
	ck_assert_uint_eq(count(journal, "OSMSNOOP_JSON={\"time\":"), 4);
	ck_assert_uint_eq(logged("ERR"), 0);
}
END_TEST

START_TEST(test_journald_refuses)
{
	journal_result = -EPERM;
	sinks_begin();
	options.forward = FORWARD_JOURNALD;
	sinks = sinks_open(&options, &log_object);
	put_records();
	sinks_close(sinks, clock_ns(CLOCK_MONOTONIC) + 10 * SECOND);
	ck_assert_uint_eq(logged("journald: 4 messages were not taken"), 1);
}
END_TEST
#endif

int main(void)
{
	Suite *suite = suite_create("forward");
	TCase *tcase = tcase_create("forward");

	tcase_add_checked_fixture(tcase, setup, log_teardown);
	tcase_add_test(tcase, test_line);
	tcase_add_test(tcase, test_nobody);
	tcase_add_test(tcase, test_hangs);
	tcase_add_test(tcase, test_records_to_syslog);
	tcase_add_test(tcase, test_failure);
#ifdef HAVE_SYSTEMD
	tcase_add_test(tcase, test_records_to_journald);
	tcase_add_test(tcase, test_journald_refuses);
#endif
	suite_add_tcase(suite, tcase);
	return run_suite(suite);
}
