/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "clock.h"
#include "erf.h"
#include "file_format.h"
#include "journal.h"
#include "record.h"

enum { RETRY_NS = 1000000000, WELL_NS = 1000000000 };

static void say(struct journal *j, const char *code, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

static void say(struct journal *j, const char *code, const char *fmt, ...)
{
	char text[1024];
	va_list args;

	va_start(args, fmt);
	vsnprintf(text, sizeof(text), fmt, args);
	va_end(args);
	j->say(j->context, code, text);
}

static void say_note(struct journal *j)
{
	if (j->file.note.code)
		j->say(j->context, j->file.note.code, j->file.note.text);
	j->file.note.code = NULL;
}

static void failed(struct journal *j)
{
	say_note(j);
	if (!j->said)
		say(j, "5D20",
		    "%s -- records are counted and writing is tried again every second",
		    j->file.reason);
	j->said = true;
	j->failing = true;
	j->retry_at = j->now_ns + RETRY_NS;
}

/* Records are written again, and this was not said yet. */
static bool is_well(const struct journal *j)
{
	return j->said && !j->failing && !j->lost;
}

/*
 * Not before they have been for a while: on a disk that is nearly full there
 * is room for a loss record now and then.
 */
static void say_well(struct journal *j)
{
	say(j, "5D21", "%s is written again; %" PRIu64 " records are missing",
	    j->file.path, j->said_lost);
	j->said = false;
	j->said_lost = 0;
}

static bool put(struct journal *j, const char *record, size_t len)
{
	bool well = file_put(&j->file, record, len, &j->lost);

	if (j->file.not_turned)
		say(j, "5D23", "%s", j->file.reason);
	j->file.not_turned = false;
	return well;
}

static void note_told(struct journal *j, uint64_t lost)
{
	j->total += lost;
	j->said_lost += lost;
	j->well_ns = j->now_ns;
}

/* Nothing else is in the buffer. */
static bool put_loss_record(struct journal *j)
{
	char json[RECORD_JSON_MAX];
	uint64_t lost = j->lost;
	struct record r = {
		.type = RECORD_LOSS,
		.time_ns = clock_ns(CLOCK_REALTIME),
		.loss = { .where = "file", .lost = lost,
			  .total = j->total + lost },
	};
	size_t len = record_json(&r, json, sizeof(json));

	if (!put(j, json, len))
		return false;
	/* through to the disk, or the failure would come later */
	if (!file_flush(&j->file, &j->lost)) {
		j->lost--;	/* the loss record itself is no loss */
		return false;
	}
	j->lost -= lost;
	note_told(j, lost);
	return true;
}

/* Say in the file what is missing, unless the next packet is to say it. */
static bool tell_lost(struct journal *j)
{
	return !j->lost || j->file.format->add_lost || put_loss_record(j);
}

/* The packet that says what is missing before it. */
static bool put_with_lost(struct journal *j, const char *packet, size_t len)
{
	uint64_t lost = j->lost;
	char more[ERF_PACKET_MAX];

	memcpy(more, packet, len);
	len = j->file.format->add_lost(more, len, lost);
	/* with the packet they are lost again */
	j->lost = 0;
	if (!put(j, more, len)) {
		j->lost += file_loss(j->file.format, more, len);
		return false;
	}
	if (!file_flush(&j->file, &j->lost))
		return false;
	note_told(j, lost);
	return true;
}

/* Begin again: the first thing said is what is missing. */
static bool resume(struct journal *j)
{
	if (!file_open(&j->file))
		return false;
	say_note(j);
	j->lost += j->file.missing;
	if (!tell_lost(j)) {
		file_close(&j->file);
		return false;
	}
	j->failing = false;
	j->well_ns = j->now_ns;
	return true;
}

void journal_init(struct journal *j, const struct file_format *format,
		  const char *path, uint64_t max_bytes, uint32_t max_files,
		  void (*say_line)(void *context, const char *code,
				   const char *text),
		  void *context)
{
	j->say = say_line;
	j->context = context;
	j->failing = j->said = false;
	j->now_ns = j->retry_at = j->well_ns = 0;
	j->lost = j->total = j->said_lost = 0;
	file_init(&j->file, format, path, max_bytes, max_files);
}

void journal_open(struct journal *j, uint64_t mono_ns)
{
	j->now_ns = mono_ns;
	if (!resume(j))
		failed(j);
}

void journal_put(struct journal *j, const char *record, size_t len)
{
	const struct file_format *format = j->file.format;

	if (j->failing) {
		j->lost += file_loss(format, record, len);
	} else if (j->lost && format->add_lost) {
		if (!put_with_lost(j, record, len))
			failed(j);
	} else if (!put(j, record, len)) {
		j->lost += file_loss(format, record, len);
		failed(j);
	}
}

void journal_lose(struct journal *j, uint64_t lost)
{
	/* what came before is to stand before */
	if (!j->failing && !file_flush(&j->file, &j->lost))
		failed(j);
	j->lost += lost;
	if (!j->failing && !tell_lost(j))
		failed(j);
}

static bool flush(struct journal *j)
{
	if (!file_flush(&j->file, &j->lost) ||
	    !file_follow(&j->file, &j->lost))
		return false;
	if (j->file.emptied)
		say(j, "5D26",
		    "%s was emptied while it was written; what was written just before may be missing in every copy of it",
		    j->file.path);
	j->file.emptied = false;
	say_note(j);
	return tell_lost(j);
}

void journal_flush(struct journal *j, uint64_t mono_ns)
{
	j->now_ns = mono_ns;
	if (!j->failing) {
		if (!flush(j))
			failed(j);
		else if (is_well(j) && mono_ns - j->well_ns >= WELL_NS)
			say_well(j);
		return;
	}
	if (mono_ns < j->retry_at)
		return;
	j->retry_at = mono_ns + RETRY_NS;
	resume(j);
}

void journal_close(struct journal *j)
{
	if (j->failing)
		resume(j);
	else if (!flush(j))
		failed(j);
	if (is_well(j))
		say_well(j);
	if (j->lost)
		say(j, "5D22", "%s ends without %" PRIu64 " records",
		    j->file.path, j->lost);
	file_close(&j->file);
}
