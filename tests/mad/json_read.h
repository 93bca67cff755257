/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * A strict reader of JSON (RFC 8259) for the tests of what mad/ writes. It
 * shares no code with mad/json.c. Stricter than the RFC: keys are unique in
 * their object, text is UTF-8 without control characters, as CONTRACT 4 says.
 */
#ifndef OSMSNOOP_TEST_JSON_READ_H
#define OSMSNOOP_TEST_JSON_READ_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

enum { JSON_READ_MEMBERS = 256 };

/*
 * Is it UTF-8 without C0 (a NUL too), DEL and C1, ends of lines and what
 * changes the direction of writing?
 */
static inline bool text_is_printable(const char *text, size_t len)
{
	const uint8_t *p = (const uint8_t *)text, *end = p + len;

	while (p < end) {
		uint32_t code = *p++;
		int more = 0;

		if (code >= 0xf0)
			more = 3;
		else if (code >= 0xe0)
			more = 2;
		else if (code >= 0xc0)
			more = 1;
		else if (code >= 0x80)
			return false;
		if (more) {
			static const uint32_t least[] = {
				0, 0x80, 0x800, 0x10000,
			};
			int n = more;

			code &= 0x3fu >> more;
			while (n--) {
				if (p == end || (*p & 0xc0) != 0x80)
					return false;
				code = code << 6 | (*p++ & 0x3f);
			}
			if (code < least[more] || code > 0x10ffff ||
			    (code >= 0xd800 && code <= 0xdfff))
				return false;
		}
		if (code < 0x20 || (code >= 0x7f && code < 0xa0) ||
		    code == 0x061c || code == 0x200e || code == 0x200f ||
		    (code >= 0x2028 && code <= 0x202e) ||
		    (code >= 0x2066 && code <= 0x2069))
			return false;
	}
	return true;
}

/* Each returns what follows, or NULL when there is none of its kind at `p`. */
static inline const char *json_read_value(const char *p);

static inline const char *json_read_string(const char *p)
{
	const char *start = p;

	if (*p++ != '"')
		return NULL;
	while (*p != '"') {
		if (*p == '\0')
			return NULL;
		if (*p++ != '\\')
			continue;
		if (*p == 'u') {
			if (strspn(p + 1, "0123456789abcdefABCDEF") < 4)
				return NULL;
			p += 5;
		} else if (*p != '\0' && strchr("\"\\/bfnrt", *p)) {
			p++;
		} else {
			return NULL;
		}
	}
	p++;
	return text_is_printable(start, (size_t)(p - start)) ? p : NULL;
}

static inline const char *json_read_number(const char *p)
{
	size_t n;

	if (*p == '-')
		p++;
	n = strspn(p, "0123456789");
	if (n == 0 || (n > 1 && *p == '0'))
		return NULL;
	p += n;
	return strchr(".eE", *p) && *p ? NULL : p;	/* integers only */
}

static inline const char *json_read_array(const char *p)
{
	if (*p++ != '[')
		return NULL;
	if (*p == ']')
		return p + 1;
	for (;;) {
		p = json_read_value(p);
		if (!p)
			return NULL;
		if (*p == ']')
			return p + 1;
		if (*p++ != ',')
			return NULL;
	}
}

/*
 * The members of the object at `p`; where `key` is not NULL its value's
 * bounds go to `value` and `value_end`, NULL when it has none.
 */
static inline const char *json_read_object(const char *p, const char *key,
					   const char **value,
					   const char **value_end,
					   size_t *members)
{
	const char *keys[JSON_READ_MEMBERS];
	size_t lens[JSON_READ_MEMBERS], n = 0;

	*value = NULL;
	*value_end = NULL;
	*members = 0;
	if (*p++ != '{')
		return NULL;
	if (*p == '}')
		return p + 1;
	for (;;) {
		const char *start = p, *end;

		p = json_read_string(p);
		if (!p || n == JSON_READ_MEMBERS)
			return NULL;
		keys[n] = start + 1;
		lens[n] = (size_t)(p - start) - 2;
		for (size_t i = 0; i < n; i++)
			if (lens[i] == lens[n] &&
			    memcmp(keys[i], keys[n], lens[n]) == 0)
				return NULL;
		if (*p++ != ':')
			return NULL;
		end = json_read_value(p);
		if (!end)
			return NULL;
		if (key && strlen(key) == lens[n] &&
		    memcmp(key, keys[n], lens[n]) == 0) {
			*value = p;
			*value_end = end;
		}
		*members = ++n;
		p = end;
		if (*p == '}')
			return p + 1;
		if (*p++ != ',')
			return NULL;
	}
}

static inline const char *json_read_value(const char *p)
{
	static const char *const words[] = { "null", "true", "false" };
	const char *value, *value_end;
	size_t members;

	switch (*p) {
	case '{':
		return json_read_object(p, NULL, &value, &value_end,
					&members);
	case '[':
		return json_read_array(p);
	case '"':
		return json_read_string(p);
	default:
		for (size_t i = 0; i < 3; i++)
			if (strncmp(p, words[i], strlen(words[i])) == 0)
				return p + strlen(words[i]);
		return json_read_number(p);
	}
}

/* Is the text one JSON value and nothing else? */
static inline bool json_read_valid(const char *text)
{
	const char *end = json_read_value(text);

	return end && *end == '\0';
}

/*
 * The value of an object's member as it is written, "" when there is none.
 * A call overwrites what the one before returned.
 */
static inline const char *json_read_member(const char *object,
					   const char *key)
{
	static char buf[32768];
	const char *value, *end;
	size_t members, len;

	buf[0] = '\0';
	if (!json_read_object(object, key, &value, &end, &members) || !value)
		return buf;
	len = (size_t)(end - value);
	if (len >= sizeof(buf))
		return buf;
	memcpy(buf, value, len);
	buf[len] = '\0';
	return buf;
}

static inline size_t json_read_count(const char *object)
{
	const char *value, *end;
	size_t members;

	json_read_object(object, NULL, &value, &end, &members);
	return members;
}

#endif /* OSMSNOOP_TEST_JSON_READ_H */
