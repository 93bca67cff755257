/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * JSON text, one object a line, written straight into a caller's buffer:
 * no allocation, no tree. It only writes; nothing here parses.
 */
#ifndef OSMSNOOP_JSON_H
#define OSMSNOOP_JSON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * A writer over a fixed buffer. What does not fit sets `full` and writes
 * nothing more, so a caller checks once, at the end.
 */
struct json {
	char *buf;
	size_t size;
	size_t len;
	bool comma;		/* the next key or value needs one before it */
	bool full;
};

void jw_init(struct json *j, char *buf, size_t size);

/*
 * `key` is NULL inside an array. Keys are literals of ours and are
 * written as they are. Every value goes through the functions below.
 */
void jw_object(struct json *j, const char *key);
void jw_object_end(struct json *j);
void jw_array(struct json *j, const char *key);
void jw_array_end(struct json *j);

void jw_null(struct json *j, const char *key);
void jw_bool(struct json *j, const char *key, bool value);
void jw_uint(struct json *j, const char *key, uint64_t value);
void jw_thousandths(struct json *j, const char *key, uint64_t value);	/* 1.234 */

/* A string of ours, escaped all the same. NULL gives null. */
void jw_string(struct json *j, const char *key, const char *value);

/*
 * Text from the wire: at most `len` bytes, ended early by a NUL. Control
 * characters (text.h) are escaped as \uxxxx, bytes that are not UTF-8 become
 * U+FFFD.
 */
void jw_text(struct json *j, const char *key, const void *text, size_t len);

/* "0x" and exactly `digits` hexadecimal digits (1 to 16), lower case. */
void jw_hex(struct json *j, const char *key, uint64_t value, int digits);

/* 16 bytes in network byte order as RFC 4291 text (RFC 5952 form). */
void jw_gid(struct json *j, const char *key, const uint8_t gid[16]);

/* CLOCK_REALTIME nanoseconds as "2026-11-29T23:15:28.187258123Z". */
void jw_time(struct json *j, const char *key, uint64_t time_ns);

#endif /* OSMSNOOP_JSON_H */
