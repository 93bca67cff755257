/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <jansson.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "audit_check.h"
#include "file.h"
#include "memory.h"

enum {
	/* no record of ours is longer, with all that a line has beside it */
	LINE_MAX_BYTES = FILE_RECORD_MAX + 1024,
	BUFFER = 4 * LINE_MAX_BYTES,
	ROTATED_MAX = 1000,
};

static const uint8_t zeroes[CHAIN_SIZE];

static bool same(const uint8_t a[CHAIN_SIZE], const uint8_t b[CHAIN_SIZE])
{
	return !memcmp(a, b, CHAIN_SIZE);
}

static char *text_of(const char *fmt, ...)
	__attribute__((format(printf, 1, 2)));

static char *text_of(const char *fmt, ...)
{
	va_list args;
	char *text;

	va_start(args, fmt);
	if (vasprintf(&text, fmt, args) < 0)
		text = NULL;
	va_end(args);
	if (text)
		return text;
	fputs("osmsnoop: no memory\n", stderr);
	exit(1);
}

/*
 * Faults
 */

static void fault_in(struct audit_file *f, uint64_t line, uint64_t seq,
		     const char *fmt, ...)
	__attribute__((format(printf, 4, 5)));

/* The first of a file: what follows may be because of it. */
static void fault_in(struct audit_file *f, uint64_t line, uint64_t seq,
		     const char *fmt, ...)
{
	va_list args;

	if (f->fault.what[0])
		return;
	f->fault = (struct audit_fault){
		.path = f->path, .line = line, .seq = seq,
	};
	va_start(args, fmt);
	vsnprintf(f->fault.what, sizeof(f->fault.what), fmt, args);
	va_end(args);
}

static struct audit_fault *fault_new(struct audit *a)
{
	struct audit_fault *faults =
		memory_get(a->n_faults + 1, sizeof(*faults));

	if (a->n_faults)
		memcpy(faults, a->faults, a->n_faults * sizeof(*faults));
	free(a->faults);
	a->faults = faults;
	return &faults[a->n_faults++];
}

static void fault(struct audit *a, const char *path, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

static void fault(struct audit *a, const char *path, const char *fmt, ...)
{
	struct audit_fault *fault = fault_new(a);
	va_list args;

	fault->path = path;
	va_start(args, fmt);
	vsnprintf(fault->what, sizeof(fault->what), fmt, args);
	va_end(args);
}

/*
 * Opening
 */

/* The path without the number of a rotated file: as many bytes of it. */
static size_t base_of(const char *path)
{
	size_t len = strlen(path), digits = len;

	while (digits && path[digits - 1] >= '0' && path[digits - 1] <= '9')
		digits--;
	return digits && digits < len && path[digits - 1] == '.' ?
		       digits - 1 : len;
}

static void read_side(struct audit *a, int fd)
{
	char text[CHAIN_MARK + 1];
	ssize_t n = read(fd, text, sizeof(text));

	a->side_there = true;
	a->side_well = n > 0 && chain_read_mark(text, (size_t)n, &a->mark);
	close(fd);
}

/* Beside the file, or the one that it was before it was rotated. */
static void open_side(struct audit *a, char **paths)
{
	size_t i;
	int fd;

	for (i = 0; paths[i]; i++) {
		free(a->side);
		a->side = text_of("%.*s.chain", (int)base_of(paths[i]),
				  paths[i]);
		fd = open(a->side, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
		if (fd >= 0) {
			read_side(a, fd);
			return;
		}
	}
}

static bool is_open(const struct audit *a, const struct stat *st)
{
	size_t i;

	for (i = 0; i < a->n; i++)
		if (a->files[i].dev == st->st_dev &&
		    a->files[i].ino == st->st_ino)
			return true;
	return false;
}

static void add_file(struct audit *a, const char *path, int fd,
		     const struct stat *st)
{
	struct audit_file *files = memory_get(a->n + 1, sizeof(*files));

	if (a->n)
		memcpy(files, a->files, a->n * sizeof(*files));
	free(a->files);
	a->files = files;
	files[a->n++] = (struct audit_file){
		.path = text_of("%s", path), .fd = fd, .dev = st->st_dev,
		.ino = st->st_ino, .size = (uint64_t)st->st_size,
	};
}

/* What may be missing is one that nobody named. */
static void open_file(struct audit *a, const char *path, bool named)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	struct stat st;

	if (fd < 0 && errno == ENOENT && !named)
		return;
	if (fd < 0 || fstat(fd, &st)) {
		fault(a, NULL, "%s: %s", path, strerror(errno));
	} else if (!S_ISREG(st.st_mode)) {
		fault(a, NULL, "%s: is no regular file", path);
	} else if (!is_open(a, &st)) {
		add_file(a, path, fd, &st);
		return;
	}
	if (fd >= 0)
		close(fd);
}

void audit_open(struct audit *a, char **paths)
{
	char *path;
	size_t i;

	memset(a, 0, sizeof(*a));
	open_side(a, paths);
	for (i = 0; paths[i]; i++)
		open_file(a, paths[i], true);
	if (i > 1)
		return;
	/* upwards: what is renamed meanwhile is met again, not missed */
	for (i = 1; i <= ROTATED_MAX; i++) {
		path = text_of("%s.%zu", paths[0], i);
		open_file(a, path, false);
		free(path);
	}
}

void audit_close(struct audit *a)
{
	size_t i;

	for (i = 0; i < a->n; i++) {
		close(a->files[i].fd);
		free(a->files[i].path);
	}
	free(a->files);
	free(a->faults);
	free(a->side);
}

/*
 * One line
 */

static void note_time(struct audit_file *f, const json_t *root)
{
	const char *time = json_string_value(json_object_get(root, "time"));

	snprintf(f->last_time, sizeof(f->last_time), "%s", time ? time : "");
	if (f->records == 1)
		memcpy(f->first_time, f->last_time, sizeof(f->first_time));
}

static void note_loss(struct audit_file *f, const json_t *root)
{
	const char *type = json_string_value(json_object_get(root, "type"));
	const char *where = json_string_value(json_object_get(root, "where"));
	const json_int_t lost = json_integer_value(json_object_get(root,
								   "lost"));

	if (type && where && !strcmp(type, "loss") && !strcmp(where, "file"))
		f->lost += lost > 0 ? (uint64_t)lost : 0;
}

static void check_json(struct audit_file *f, const char *line, size_t len,
		       const struct chain_line *read)
{
	json_error_t error;
	json_t *root = json_loadb(line, len,
				  JSON_REJECT_DUPLICATES | JSON_ALLOW_NUL,
				  &error);

	if (root) {
		note_time(f, root);
		note_loss(f, root);
		json_decref(root);
	} else {
		fault_in(f, f->records, read->seq, "is no JSON: %.100s",
			 error.text);
	}
}

static void begin_chain(struct audit_file *f, const struct chain_line *read)
{
	if (!read->begins)
		fault_in(f, f->records, read->seq,
			 "is the first one that is chained, and has no chain_from: those before it are missing, or were changed");
	f->chained_from = read->seq;
	memcpy(f->from, read->from, sizeof(f->from));
	memcpy(f->last, read->from, sizeof(f->last));
}

static void check_chain(struct audit_file *f, const char *line,
			const struct chain_line *read)
{
	if (!read->chained) {
		if (f->chained_from)
			fault_in(f, f->records, read->seq,
				 "has no chain value, or none that is well-formed");
		return;
	}
	if (!f->chained_from)
		begin_chain(f, read);
	else if (read->begins)
		fault_in(f, f->records, read->seq,
			 "begins a chain anew in the middle of a file");
	chain_step(f->last, line, read->body);
	if (!same(f->last, read->value))
		fault_in(f, f->records, read->seq,
			 "its chain value is another: it was changed, or what was before it");
	/* one that was found is enough of it */
	memcpy(f->last, read->value, sizeof(f->last));
}

static void check_line(struct audit_file *f, const char *line, size_t len,
		       const struct audit *a)
{
	struct chain_line read;

	f->records++;
	if (!chain_read(line, len, &read)) {
		fault_in(f, f->records, 0, "is no record of osmsnoop");
		return;
	}
	if (read.seq != f->seq + 1)
		fault_in(f, f->records, read.seq,
			 "stands where record %" PRIu64 " should: %s",
			 f->seq + 1, read.seq > f->seq + 1 ?
				 "records are missing before it" :
				 "records are not in their order");
	f->seq = read.seq;
	check_json(f, line, len, &read);
	check_chain(f, line, &read);
	if (a->side_well && read.chained && read.seq == a->mark.seq &&
	    same(read.value, a->mark.value))
		f->marked = true;
}

/*
 * One file
 */

struct reader {
	size_t used;
	uint64_t bytes;
	char buffer[BUFFER];
};

size_t audit_check_lines(const struct audit *a, struct audit_file *f,
			 const char *bytes, size_t len)
{
	const char *line = bytes, *end = bytes + len, *newline;

	while ((newline = memchr(line, '\n', (size_t)(end - line)))) {
		check_line(f, line, (size_t)(newline - line), a);
		line = newline + 1;
	}
	return (size_t)(line - bytes);
}

/* False: it is no line of ours, however it goes on. */
static bool fits(struct audit_file *f, const struct reader *r)
{
	if (r->used <= LINE_MAX_BYTES)
		return true;
	fault_in(f, f->records + 1, 0, "is longer than any record");
	return false;
}

static bool check_file(const struct audit *a, struct audit_file *f,
		       struct reader *r,
		       bool (*progress)(const struct audit_file *file,
					uint64_t bytes, void *context),
		       void *context)
{
	size_t done;
	ssize_t n;

	r->used = 0;
	r->bytes = 0;
	while ((n = read(f->fd, r->buffer + r->used,
			 sizeof(r->buffer) - r->used)) > 0) {
		r->used += (size_t)n;
		r->bytes += (uint64_t)n;
		done = audit_check_lines(a, f, r->buffer, r->used);
		r->used -= done;
		memmove(r->buffer, r->buffer + done, r->used);
		if (!fits(f, r))
			return true;
		if (progress && !progress(f, r->bytes, context))
			return false;
	}
	if (n < 0)
		fault_in(f, 0, 0, "cannot be read: %s", strerror(errno));
	f->torn = r->used;
	return true;
}

/*
 * All files: which follows which, by their values
 */

static bool is_head(const struct audit *a, size_t i)
{
	size_t j;

	if (same(a->files[i].from, zeroes))
		return true;
	for (j = 0; j < a->n; j++)
		if (j != i && a->files[j].chained_from &&
		    same(a->files[j].last, a->files[i].from))
			return false;
	return true;
}

static struct audit_file *next_of(struct audit *a, const struct audit_file *f)
{
	size_t i;

	for (i = 0; i < a->n; i++)
		if (!a->files[i].placed && a->files[i].chained_from &&
		    same(a->files[i].from, f->last) &&
		    !same(f->last, zeroes))
			return &a->files[i];
	return NULL;
}

/* What has no chain is older than what has; what has no record is newer. */
static int rank(const struct audit_file *f)
{
	return f->chained_from ? 1 : f->records ? 0 : 2;
}

static bool is_before(const struct audit_file *a, const struct audit_file *b)
{
	if (rank(a) != rank(b))
		return rank(a) < rank(b);
	return strcmp(a->first_time, b->first_time) < 0;
}

/* The first that is left, of those that follow none or of all. */
static struct audit_file *first_left(struct audit *a, bool heads)
{
	struct audit_file *first = NULL;
	size_t i;

	for (i = 0; i < a->n; i++)
		if (!a->files[i].placed && (!heads || is_head(a, i)) &&
		    (!first || is_before(&a->files[i], first)))
			first = &a->files[i];
	return first;
}

static void order(struct audit *a)
{
	struct audit_file *files = memory_get(a->n + 1, sizeof(*files));
	struct audit_file *f;
	size_t n = 0;
	bool follows;

	while ((f = first_left(a, true)) || (f = first_left(a, false)))
		for (follows = false; f; follows = true) {
			f->placed = true;
			f->follows = follows;
			files[n++] = *f;
			f = f->chained_from ? next_of(a, f) : NULL;
		}
	free(a->files);
	a->files = files;
}

static void check_joint(struct audit *a, const struct audit_file *before,
			const struct audit_file *f)
{
	if (f->follows || !f->chained_from)
		return;
	if (!same(f->from, zeroes))
		fault(a, f->path,
		      "does not go on from the end of %s: a file between them, or the end of that one, is missing",
		      before->path);
	else if (before->chained_from)
		fault(a, f->path,
		      "begins a chain of its own, and not from the end of %s",
		      before->path);
}

static void check_order(struct audit *a)
{
	struct audit_file *f;
	size_t i;

	for (i = 0; i < a->n; i++) {
		f = &a->files[i];
		if (f->fault.what[0])
			*fault_new(a) = f->fault;
		if (i)
			check_joint(a, &a->files[i - 1], f);
		if (f->torn && i + 1 < a->n)
			fault(a, f->path, "ends with half a line");
	}
}

/*
 * The end
 */

static const struct audit_file *last_chained(const struct audit *a)
{
	size_t i;

	for (i = a->n; i; i--)
		if (a->files[i - 1].chained_from)
			return &a->files[i - 1];
	return NULL;
}

/* Of this file, or it is the one that it goes on from. */
static bool is_marked(const struct audit *a, const struct audit_file *last)
{
	return last->marked || same(last->from, a->mark.value) ||
	       (!a->mark.seq && same(last->last, a->mark.value));
}

/* The sidecar may be behind, by what is written while this reads. */
static void check_mark(struct audit *a)
{
	const struct audit_file *last = last_chained(a);

	if (!last && !a->mark.seq)
		return;
	if (last && last->follows && last[-1].marked)
		a->behind = last[-1].seq - a->mark.seq + last->seq;
	else if (!last || !is_marked(a, last))
		fault(a, last ? last->path : NULL,
		      "its end is missing: record %" PRIu64 ", which %s names, is not there",
		      a->mark.seq, a->side);
	else
		a->behind = !last->marked ? last->seq :
			    last->seq > a->mark.seq ? last->seq - a->mark.seq :
						      0;
}

/* The file that is written, which the sidecar belongs to. */
static void check_current(struct audit *a)
{
	size_t len = strlen(a->side) - strlen(".chain"), i;

	for (i = 0; i < a->n; i++)
		if (strlen(a->files[i].path) == len &&
		    !memcmp(a->files[i].path, a->side, len))
			return;
	fault(a, NULL, "%.*s is missing, or was not named", (int)len, a->side);
}

static void check_end(struct audit *a)
{
	if (!a->side_there) {
		fault(a, NULL,
		      "%s is missing: whether the end was cut off cannot be told",
		      a->side);
	} else if (!a->side_well) {
		fault(a, NULL, "%s: is damaged, or no file of osmsnoop",
		      a->side);
	} else {
		check_current(a);
		check_mark(a);
	}
	if (!last_chained(a) && a->n && !a->n_faults)
		fault(a, NULL, "no record is chained");
}

bool audit_check(struct audit *a,
		 bool (*progress)(const struct audit_file *file, uint64_t bytes,
				  void *context),
		 void *context)
{
	struct reader *r = memory_get(1, sizeof(*r));
	bool whole = true;
	size_t i;

	for (i = 0; i < a->n && whole; i++)
		whole = check_file(a, &a->files[i], r, progress, context);
	free(r);
	if (!whole)
		return false;
	order(a);
	check_order(a);
	check_end(a);
	return true;
}
