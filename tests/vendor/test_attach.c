/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * osm_vendor_snoop_attach() in a process where the real libosmvendor comes
 * first and libosmvendor_snoop is loaded later, as OpenSM's plugin does it.
 * This source is built several times (tests/Makefile.am), so that the
 * program's own calls are lazily bound, read-only, without a PLT, and at a
 * fixed address. Where the calls are is asked of readelf. Each test wants a
 * process of its own.
 */
#include <check.h>
#include <dlfcn.h>
#include <limits.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <link.h>
#include <pthread.h>
#include <stddef.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <vendor/osm_vendor_snoop.h>

#include "caller.h"
#include "../run.h"

enum { MAX_SLOTS = 64, MAX_MAPS = 4096 };

/* What readelf calls a pointer to a symbol. */
#ifdef __x86_64__
#define POINTER "R_X86_64_64"
#else
#define POINTER "ABS64"
#endif

static bool started_by_test;	/* not a test, but what one has started */

/* Check can be told of a failure in a test only. */
#define give_up(...) do { \
	if (!started_by_test) \
		ck_abort_msg(__VA_ARGS__); \
	printf(__VA_ARGS__); \
	exit(EXIT_FAILURE); } while (0)

#define check(condition) do { if (!(condition)) \
	give_up("line %d: %s", __LINE__, #condition); } while (0)

/* Referred to and not called: a call, and a pointer. */
volatile caller_send_fn program_send = osm_vendor_send;
volatile caller_bind_fn program_bind = osm_vendor_bind;

void *program_calls(void);
void *program_calls(void)
{
	return osm_vendor_send(NULL, NULL, TRUE) ?
		       osm_vendor_bind(NULL, NULL, NULL, NULL, NULL, NULL) :
		       NULL;
}

static __typeof__(osm_vendor_snoop_attach) *attach;
static __typeof__(osm_vendor_snoop_detach) *detach;
static __typeof__(osm_vendor_snoop_strerror) *why;
static __typeof__(osm_vendor_snoop_bind) *snoop_bind;
static void *tap_send, *tap_bind;

static const char *build_dir(void)
{
	const char *dir = getenv("top_builddir");

	return dir ? dir : "..";
}

/* The path of a library, under the build directory. */
static const char *lib(const char *dir, const char *name)
{
	static char paths[4][PATH_MAX];
	static unsigned n;
	char *path = paths[n++ % 4];

	snprintf(path, PATH_MAX, "%s/%s/.libs/%s", build_dir(), dir, name);
	return path;
}

static const char *tap_lib(void)
{
	return lib("vendor", "libosmvendor_snoop.so.1");
}

static const char *caller_lib(const char *name)
{
	return lib("tests/vendor", name);
}

static void *load(const char *path)
{
	void *handle = dlopen(path, RTLD_LAZY);

	if (!handle)
		give_up("%s", dlerror());
	return handle;
}

static void load_tap(void)
{
	void *tap = load(tap_lib());

	attach = dlsym(tap, "osm_vendor_snoop_attach");
	detach = dlsym(tap, "osm_vendor_snoop_detach");
	why = dlsym(tap, "osm_vendor_snoop_strerror");
	snoop_bind = dlsym(tap, "osm_vendor_snoop_bind");
	tap_send = dlsym(tap, "osm_vendor_send");
	tap_bind = dlsym(tap, "osm_vendor_bind");
	check(attach && detach && why && snoop_bind);
	check(tap_send && tap_bind);
}

/* What readelf says of the two names. */
struct slot {
	char object[64];
	char type[32];
	void **p;
	void *before;
	void *tap;
};

struct slots {
	struct slot list[MAX_SLOTS];
	unsigned n;
};

static void slots_read(struct slots *slots, const char *path, ElfW(Addr) base)
{
	const char *readelf = getenv("READELF"), *name = strrchr(path, '/');
	char command[PATH_MAX + 64], line[512], type[32];
	unsigned long offset, info, value;
	struct slot *s;
	FILE *file;
	char *at;

	snprintf(command, sizeof(command), "%s -rW '%s'",
		 readelf && *readelf ? readelf : "readelf", path);
	file = popen(command, "r");
	check(file);
	while (fgets(line, sizeof(line), file)) {
		at = strstr(line, " osm_vendor_");
		if (!at || sscanf(line, "%lx %lx %31s %lx", &offset, &info,
				  type, &value) != 4)
			continue;
		at += strlen(" osm_vendor_");
		if (strncmp(at, "send@", 5) && strncmp(at, "bind@", 5))
			continue;
		if (strstr(line, " + 1"))
			continue;
		check(slots->n < MAX_SLOTS);
		s = &slots->list[slots->n++];
		snprintf(s->object, sizeof(s->object), "%.63s",
			 name ? name + 1 : path);
		strcpy(s->type, type);
		s->p = (void **)(base + offset);
		s->before = *s->p;
		s->tap = *at == 's' ? tap_send : tap_bind;
	}
	check(!pclose(file));
}

static int slots_object(struct dl_phdr_info *info, size_t size, void *context)
{
	(void)size;
	if (!*info->dlpi_name) {
		char exe[PATH_MAX];
		ssize_t n = readlink("/proc/self/exe", exe, sizeof(exe) - 1);

		check(n > 0);
		exe[n] = 0;
		slots_read(context, exe, info->dlpi_addr);
	} else if (strstr(info->dlpi_name, "/libosmvendor.so") ||
		   strstr(info->dlpi_name, "/libcaller")) {
		slots_read(context, info->dlpi_name, info->dlpi_addr);
	}
	return 0;
}

static void slots_find(struct slots *slots)
{
	slots->n = 0;
	dl_iterate_phdr(slots_object, slots);
	check(slots->n >= 4);
}

static void check_tapped(const struct slots *slots)
{
	unsigned i;

	for (i = 0; i < slots->n; i++)
		if (*slots->list[i].p != slots->list[i].tap)
			give_up("%s in %s is not tapped", slots->list[i].type,
			     slots->list[i].object);
}

static void check_untouched(const struct slots *slots)
{
	unsigned i;

	for (i = 0; i < slots->n; i++)
		if (*slots->list[i].p != slots->list[i].before)
			give_up("%s in %s has changed", slots->list[i].type,
			     slots->list[i].object);
}

static unsigned count(const struct slots *slots, const char *object,
		      const char *type)
{
	unsigned i, n = 0;

	for (i = 0; i < slots->n; i++)
		if (strstr(slots->list[i].object, object) &&
		    strstr(slots->list[i].type, type))
			n++;
	return n;
}

static struct slot *slot_in(struct slots *slots, const char *object)
{
	unsigned i;

	for (i = 0; i < slots->n; i++)
		if (strstr(slots->list[i].object, object))
			return &slots->list[i];
	ck_abort_msg("no slot in %s", object);
	return NULL;
}

/*
 * The protections of what files are mapped, neighbours of the same kind put
 * together: the kernel may split an area and join it again.
 */
struct map {
	unsigned long from, to;
	char flags[5];
};

struct maps {
	struct map list[MAX_MAPS];
	unsigned n;
};

static void maps_read(struct maps *maps)
{
	FILE *file = fopen("/proc/self/maps", "r");
	struct map *last, m;
	char line[PATH_MAX + 128], path[PATH_MAX];

	check(file);
	maps->n = 0;
	while (fgets(line, sizeof(line), file)) {
		*path = 0;
		check(sscanf(line, "%lx-%lx %4s %*s %*s %*s %4095s", &m.from,
			     &m.to, m.flags, path) >= 3);
		if (*path != '/')
			continue;
		last = maps->n ? &maps->list[maps->n - 1] : NULL;
		if (last && last->to == m.from &&
		    !strcmp(last->flags, m.flags)) {
			last->to = m.to;
			continue;
		}
		check(maps->n < MAX_MAPS);
		maps->list[maps->n++] = m;
	}
	fclose(file);
}

static struct slots slots;
static struct maps maps;

static bool writable(const void *p)
{
	unsigned i;

	for (i = 0; i < maps.n; i++)
		if (maps.list[i].from <= (unsigned long)p &&
		    (unsigned long)p < maps.list[i].to)
			return maps.list[i].flags[1] == 'w';
	return true;
}

static void check_maps(const struct maps *before)
{
	static struct maps now;
	unsigned i;

	maps_read(&now);
	check(now.n == before->n);
	for (i = 0; i < now.n; i++) {
		check(now.list[i].from == before->list[i].from);
		check(now.list[i].to == before->list[i].to);
		check(!strcmp(now.list[i].flags, before->list[i].flags));
	}
}

static void load_callers(void)
{
	load_tap();
	load(caller_lib("libcaller_lazy.so"));
	load(caller_lib("libcaller_now.so"));
	load(caller_lib("libcaller_got.so"));
	load(caller_lib("libcaller_data.so"));
	slots_find(&slots);
	maps_read(&maps);
}

static void elsewhere(void)
{
}

START_TEST(not_attached)
{
	osm_snoop_bind_info_t info = { .size = sizeof(info) };
	osm_vendor_t vendor = { 0 };
	osm_log_t log = { 0 };
	int dummy;

	load_tap();
	osm_log_construct(&log);
	check(osm_log_init(&log, TRUE, OSM_LOG_NONE, "/dev/null", FALSE) ==
	      IB_SUCCESS);
	vendor.p_log = &log;
	ck_assert_ptr_null(snoop_bind(&vendor, &info, (osm_mad_pool_t *)&dummy,
				      (osm_vend_snoop_callback_t)elsewhere,
				      NULL));
	ck_assert_ptr_nonnull(strstr(why(), "this process is not tapped"));
	ck_assert_int_eq(detach(), IB_SUCCESS);
	osm_log_destroy(&log);
}
END_TEST

/* Somebody stands between a call and the vendor layer. */
START_TEST(leads_elsewhere)
{
	static const char *const objects[] = {
		"libcaller_lazy", "libcaller_got", "libcaller_now",
	};
	struct slot *s;
	long page = sysconf(_SC_PAGESIZE);
	unsigned i;

	load_callers();
	for (i = 0; i < 3; i++) {
		s = slot_in(&slots, objects[i]);
		check(!mprotect((void *)((uintptr_t)s->p & -(uintptr_t)page),
				(size_t)page, PROT_READ | PROT_WRITE));
		*s->p = (void *)elsewhere;
		ck_assert_int_eq(attach(), IB_INVALID_STATE);
		ck_assert_ptr_nonnull(strstr(why(), objects[i]));
		ck_assert_ptr_nonnull(strstr(why(), "osm_vendor_"));
		ck_assert_ptr_eq(*s->p, (void *)elsewhere);
		*s->p = s->before;
		check_untouched(&slots);
	}
	ck_assert_int_eq(attach(), IB_SUCCESS);
	check_tapped(&slots);
}
END_TEST

/* A pointer that the program has set otherwise is the program's. */
START_TEST(pointer_of_the_program)
{
	caller_send_fn *pointer, changed = (caller_send_fn)(void *)elsewhere;
	void *data;

	load_tap();
	data = load(caller_lib("libcaller_data.so"));
	pointer = dlsym(data, "caller_pointer");
	check(pointer);
	*pointer = changed;
	ck_assert_int_eq(attach(), IB_SUCCESS);
	ck_assert(*pointer == changed);
	ck_assert(*(void **)dlsym(data, "caller_const_pointer") == tap_send);
	ck_assert_int_eq(detach(), IB_SUCCESS);
	ck_assert(*pointer == changed);
}
END_TEST

/* mprotect() with PROT_WRITE is refused from here on. */
static void refuse_mprotect(void)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS,
			 offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, __NR_mprotect, 0, 3),
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS,
			 offsetof(struct seccomp_data, args[2])),
		BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, PROT_WRITE, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | 1 /* EPERM */),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog program = { sizeof(code) / sizeof(code[0]), code };

	check(!prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0));
	check(!prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program));
}

START_TEST(mprotect_refused)
{
	load_callers();
	refuse_mprotect();
	ck_assert_int_eq(attach(), IB_INVALID_PERMISSION);
	ck_assert_ptr_nonnull(strstr(why(), "cannot be made writable: "));
	check_untouched(&slots);
	check_maps(&maps);
	ck_assert_int_eq(detach(), IB_SUCCESS);
}
END_TEST

/* What cannot be written back stays, and is not forgotten. */
START_TEST(mprotect_refused_for_detach)
{
	const struct slot *s;
	unsigned i, stay = 0;

	load_callers();
	ck_assert_int_eq(attach(), IB_SUCCESS);
	refuse_mprotect();
	ck_assert_int_eq(detach(), IB_INVALID_PERMISSION);
	for (i = 0; i < slots.n; i++) {
		s = &slots.list[i];
		check(*s->p == (writable(s->p) ? s->before : s->tap));
		stay += *s->p == s->tap;
	}
	ck_assert_uint_ge(stay, 2 + 2);	/* libosmvendor, libcaller_now */
	ck_assert_int_eq(detach(), IB_INVALID_PERMISSION);
	check_maps(&maps);
}
END_TEST

START_TEST(every_slot)
{
	void *data, *got;
	unsigned round;

	load_callers();
	/* the kinds are what the build made them for */
	ck_assert_uint_eq(count(&slots, "libosmvendor.so", "JUMP_SLO"), 2);
	ck_assert_uint_eq(count(&slots, "libcaller_lazy", "JUMP_SLO"), 2);
	ck_assert_uint_eq(count(&slots, "libcaller_now", "JUMP_SLO"), 2);
	ck_assert_uint_eq(count(&slots, "libcaller_got", "GLOB_DAT"), 2);
	ck_assert_uint_eq(count(&slots, "libcaller_got", "JUMP_SLO"), 0);
	ck_assert_uint_eq(count(&slots, "libcaller_data", POINTER), 2);
	ck_assert_uint_ge(count(&slots, "test_attach", "R_"), 2);
	data = load(caller_lib("libcaller_data.so"));
	got = *(void **)dlsym(data, "caller_inside");

	for (round = 0; round < 3; round++) {
		ck_assert_int_eq(attach(), IB_SUCCESS);
		check_tapped(&slots);
		check_maps(&maps);
		/* again: nothing to do */
		ck_assert_int_eq(attach(), IB_SUCCESS);
		check_tapped(&slots);
		check_maps(&maps);
		ck_assert_ptr_eq(*(void **)dlsym(data, "caller_inside"), got);
		ck_assert_int_eq(detach(), IB_SUCCESS);
		check_untouched(&slots);
		check_maps(&maps);
		ck_assert_int_eq(detach(), IB_SUCCESS);
		check_untouched(&slots);
	}
}
END_TEST

static void *attach_cancelled(void *context)
{
	ib_api_status_t *status = context;

	pthread_cancel(pthread_self());
	status[0] = attach();
	status[1] = detach();
	return NULL;
}

/* Who is cancelled meanwhile leaves neither a lock nor half of the calls. */
START_TEST(cancelled)
{
	ib_api_status_t status[2] = { IB_ERROR, IB_ERROR };
	pthread_t thread;
	void *result;

	load_callers();
	check(!pthread_create(&thread, NULL, attach_cancelled, status));
	pthread_join(thread, &result);
	ck_assert_ptr_null(result);
	ck_assert_int_eq(status[0], IB_SUCCESS);
	ck_assert_int_eq(status[1], IB_SUCCESS);
	check_untouched(&slots);
	ck_assert_int_eq(attach(), IB_SUCCESS);
	check_tapped(&slots);
}
END_TEST

START_TEST(loaded_later)
{
	struct slots all;
	void *later;

	load_tap();
	slots_find(&slots);
	ck_assert_int_eq(attach(), IB_SUCCESS);
	check_tapped(&slots);
	later = load(caller_lib("libcaller_now.so"));
	slots_find(&all);
	ck_assert_uint_eq(all.n, slots.n + 2);
	ck_assert_ptr_ne(*slot_in(&all, "libcaller_now")->p,
			 slot_in(&all, "libcaller_now")->tap);
	ck_assert_int_eq(attach(), IB_SUCCESS);
	check_tapped(&all);
	ck_assert_int_eq(detach(), IB_SUCCESS);
	check_untouched(&slots);
	ck_assert_ptr_eq(*slot_in(&all, "libcaller_now")->p,
			 slot_in(&all, "libcaller_now")->before);
	dlclose(later);
}
END_TEST

START_TEST(unloaded_before_detach)
{
	void *handle;
	int round;

	load_tap();
	slots_find(&slots);
	for (round = 0; round < 5; round++) {
		handle = load(caller_lib(round & 1 ? "libcaller_now.so" :
						     "libcaller_lazy.so"));
		ck_assert_int_eq(attach(), IB_SUCCESS);
		check(!dlclose(handle));
		/* gone; or at the same address again, and not ours */
		if (round & 2)
			load(caller_lib("libcaller_got.so"));
		ck_assert_int_eq(detach(), IB_SUCCESS);
		check_untouched(&slots);
	}
}
END_TEST

/* A sanitizer's run-time library, where it is one. */
static int find_runtime(struct dl_phdr_info *info, size_t size, void *context)
{
	const char **runtime = context;

	(void)size;
	if (strstr(info->dlpi_name, "/libasan.") ||
	    strstr(info->dlpi_name, "/libtsan.") ||
	    strstr(info->dlpi_name, "/libclang_rt."))
		*runtime = info->dlpi_name;
	return *runtime != NULL;
}

/* Runs a program; what it prints is why it failed. */
static void run(const char *preload, const char *const argv[])
{
	const char *runtime = NULL;
	char value[2 * PATH_MAX], text[1024] = "";
	int fds[2], status;
	size_t n = 0;
	ssize_t got;
	pid_t child;

	dl_iterate_phdr(find_runtime, &runtime);
	check(!pipe(fds));
	child = fork();
	check(child >= 0);
	if (!child) {
		dup2(fds[1], 1);
		close(fds[0]);
		close(fds[1]);
		if (preload) {
			/* a sanitizer's runtime insists on being the first */
			snprintf(value, sizeof(value), "%s%s%s",
				 runtime ? runtime : "", runtime ? ":" : "",
				 preload);
			setenv("LD_PRELOAD", value, 1);
		}
		execv(argv[0], (char *const *)argv);
		_exit(127);
	}
	close(fds[1]);
	while (n < sizeof(text) - 1 &&
	       (got = read(fds[0], text + n, sizeof(text) - 1 - n)) > 0)
		n += (size_t)got;
	close(fds[0]);
	check(waitpid(child, &status, 0) == child);
	if (status)
		ck_abort_msg("status 0x%x: %s", status, text);
}

/* With the tap preloaded as well there is nothing left to rewrite. */
static int child_preloaded(void)
{
	load_callers();
	check(dlsym(RTLD_DEFAULT, "osm_vendor_send") == tap_send);
	check(attach() == IB_SUCCESS);
	check_untouched(&slots);
	check(detach() == IB_SUCCESS);
	check_untouched(&slots);
	check_maps(&maps);
	return 0;
}

/* Somebody else's osm_vendor_send was preloaded; calls go there. */
static int child_interposed(void)
{
	load_callers();
	check(attach() == IB_INVALID_STATE);
	check(strstr(why(), "osm_vendor_"));
	check_untouched(&slots);
	check_maps(&maps);
	return 0;
}

START_TEST(preloaded_and_attached)
{
	run(tap_lib(), (const char *[]){ "/proc/self/exe", "preloaded", NULL });
}
END_TEST

START_TEST(interposed_and_attached)
{
	run(caller_lib("libvendor_double.so"),
	    (const char *[]){ "/proc/self/exe", "interposed", NULL });
}
END_TEST

static const char *alone(void)
{
	static char path[PATH_MAX];

	snprintf(path, sizeof(path), "%s/tests/vendor/attach_alone",
		 build_dir());
	return path;
}

START_TEST(nobody_calls)
{
	run(NULL, (const char *[]){
		alone(), _i ? "nobody_local" : "nobody",
		lib("tests/vendor/silent", "libosmvendor.so.5"), tap_lib(),
		caller_lib("libcaller_lazy.so"), NULL });
}
END_TEST

START_TEST(tapped_by_link_order)
{
	run(NULL, (const char *[]){ alone(), "in_place",
				    caller_lib("libcaller_tapped.so"),
				    tap_lib(), NULL });
}
END_TEST

int main(int argc, char **argv)
{
	Suite *suite = suite_create("attach");
	TCase *tc = tcase_create("attach");

	if (argc == 2) {
		started_by_test = true;
		unsetenv("LD_PRELOAD");	/* not into readelf */
	}
	if (argc == 2 && !strcmp(argv[1], "preloaded"))
		return child_preloaded();
	if (argc == 2 && !strcmp(argv[1], "interposed"))
		return child_interposed();
	tcase_set_timeout(tc, 240);
	tcase_add_test(tc, not_attached);
	tcase_add_test(tc, leads_elsewhere);
	tcase_add_test(tc, pointer_of_the_program);
	tcase_add_test(tc, mprotect_refused);
	tcase_add_test(tc, mprotect_refused_for_detach);
	tcase_add_test(tc, every_slot);
	tcase_add_test(tc, cancelled);
	tcase_add_test(tc, loaded_later);
	tcase_add_test(tc, unloaded_before_detach);
	tcase_add_test(tc, preloaded_and_attached);
	tcase_add_test(tc, interposed_and_attached);
	tcase_add_loop_test(tc, nobody_calls, 0, 2);
	tcase_add_test(tc, tapped_by_link_order);
	suite_add_tcase(suite, tc);
	return run_suite(suite);
}
