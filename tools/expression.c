/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
#include <arpa/inet.h>
#include <errno.h>
#include <fnmatch.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "expression_code.h"
#include "expression_parser.h"
#include "expression_words.h"
#include "field.h"
#include "names.h"

/* What is known of whether something matches; `and` is the least of two. */
enum answer { NO, MAYBE, YES };

/*
 * Compiling
 */

/* Some bytes of the text, on one line; returns how many columns they take. */
static size_t quote(char *out, size_t size, const char *text, size_t len)
{
	size_t i, columns = 0;

	for (i = 0; i < len && i + 1 < size; i++) {
		out[i] = (unsigned char)text[i] < ' ' ? ' ' : text[i];
		/* of UTF-8, the first byte of each character */
		columns += (text[i] & 0xc0) != 0x80;
	}
	out[i] = '\0';
	return columns;
}

static void add(char *error, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

static void add(char *error, const char *format, ...)
{
	size_t len = strlen(error);
	va_list args;

	va_start(args, format);
	vsnprintf(error + len, EXPRESSION_ERROR_MAX - len, format, args);
	va_end(args);
}

void code_error(struct parsing *p, const struct place *place,
		const char *accepted, const char *format, ...)
{
	char line[EXPRESSION_ERROR_MAX / 8];
	size_t before, width, i;
	va_list args;

	if (*p->error)
		return;
	va_start(args, format);
	vsnprintf(p->error, EXPRESSION_ERROR_MAX, format, args);
	va_end(args);
	before = quote(line, sizeof(line), p->text, place->from);
	width = quote(line, sizeof(line), p->text + place->from,
		      place->to - place->from);
	quote(line, sizeof(line), p->text, strlen(p->text));
	add(p->error, "\n  %s\n  %*s^", line, (int)before, "");
	for (i = 1; i < width && i < sizeof(line); i++)
		add(p->error, "~");
	if (accepted)
		add(p->error, "\naccepted here: %s", accepted);
}

static size_t depth_after(const struct expression *e, enum test test)
{
	switch (test) {
	case TEST_AND:
	case TEST_OR:
		return e->depth - 1;
	case TEST_NOT:
		return e->depth;
	default:
		return e->depth + 1;
	}
}

bool code_step(struct parsing *p, const struct place *place,
	       const struct step *step)
{
	struct expression *e = p->e;
	size_t max = e->max ? 2 * e->max : 16;
	struct step *steps;

	if (depth_after(e, step->test) > EXPRESSION_DEPTH_MAX) {
		code_error(p, place, NULL, "too many parentheses");
		return false;
	}
	if (e->n == e->max) {
		steps = realloc(e->steps, max * sizeof(*steps));
		if (!steps) {
			code_error(p, place, NULL, "%s", strerror(errno));
			return false;
		}
		e->steps = steps;
		e->max = max;
	}
	e->steps[e->n++] = *step;
	e->depth = depth_after(e, step->test);
	return true;
}

/* Decimal, or hexadecimal behind 0x. */
static bool read_number(const struct word *word, uint64_t max, uint64_t *number)
{
	char text[32], *end;
	int base = word->len > 2 && !strncasecmp(word->text, "0x", 2) ? 16 : 10;

	if (!word->len || word->len >= sizeof(text) || word->text[0] == '-' ||
	    word->text[0] == '+')
		return false;
	memcpy(text, word->text, word->len);
	text[word->len] = '\0';
	errno = 0;
	*number = strtoull(text, &end, base);
	return !errno && !*end && *number <= max;
}

static bool is_word(const struct word *word, const char *text)
{
	return word->len == strlen(text) &&
	       !strncasecmp(word->text, text, word->len);
}

static bool refuse(struct parsing *p, const struct place *place,
		   const struct word *word, const char *what,
		   const char *accepted)
{
	code_error(p, place, accepted, "'%.*s' is no %s", (int)word->len,
		   word->text, what);
	return false;
}

/* `smp` is both classes of SMPs, as in the plugin's option `filter`. */
static bool code_class(struct parsing *p, const struct place *place,
		       const struct word *word)
{
	struct step step = { .test = TEST_CLASS };
	char accepted[NAMES_LIST_MAX];
	uint8_t number;

	if (is_word(word, "smp")) {
		step.number = CLASS_SUBN_LID;
		if (!code_step(p, place, &step))
			return false;
		step.number = CLASS_SUBN_DIR;
		return code_step(p, place, &step) &&
		       code_step(p, place, &(struct step){ .test = TEST_OR });
	}
	if (class_number(word->text, word->len, &number)) {
		step.number = number;
	} else if (!read_number(word, UINT8_MAX, &step.number)) {
		snprintf(accepted, sizeof(accepted), "%s, or a number",
			 class_names_accepted());
		return refuse(p, place, word, "class", accepted);
	}
	return code_step(p, place, &step);
}

static bool code_method(struct parsing *p, const struct place *place,
			const struct word *word)
{
	struct step step = { .test = TEST_METHOD };
	char list[NAMES_LIST_MAX], accepted[NAMES_LIST_MAX + 32];
	uint8_t number;

	if (method_number(word->text, word->len, &number)) {
		step.number = number;
	} else if (!read_number(word, UINT8_MAX, &step.number)) {
		method_names_accepted(list);
		snprintf(accepted, sizeof(accepted), "%s, or a number", list);
		return refuse(p, place, word, "method", accepted);
	}
	return code_step(p, place, &step);
}

/* A name has a number in each class that has the attribute. */
static bool code_attribute(struct parsing *p, const struct place *place,
			   const struct word *word)
{
	struct step step = { .test = TEST_ATTRIBUTE };
	char list[NAMES_LIST_MAX], accepted[NAMES_LIST_MAX + 128];
	uint64_t number;
	bool is_number = read_number(word, UINT16_MAX, &number);
	bool found = is_number;
	uint16_t id;
	int i;

	step.attributes = malloc((UINT8_MAX + 1) * sizeof(*step.attributes));
	if (!step.attributes) {
		code_error(p, place, NULL, "%s", strerror(errno));
		return false;
	}
	for (i = 0; i <= UINT8_MAX; i++) {
		step.attributes[i] = is_number ? (int32_t)number : -1;
		if (is_number ||
		    !attribute_number((uint8_t)i, word->text, word->len, &id))
			continue;
		step.attributes[i] = id;
		found = true;
	}
	if (!found) {
		attribute_names_accepted(CLASS_SUBN_ADM, list);
		snprintf(accepted, sizeof(accepted), "%s, an attribute of another class (PortInfo, PortCounters, ...), or a number",
			 list);
		free(step.attributes);
		return refuse(p, place, word, "attribute", accepted);
	}
	if (code_step(p, place, &step))
		return true;
	free(step.attributes);
	return false;
}

static bool code_number(struct parsing *p, const struct place *place,
			enum test test, enum end end, const struct word *word)
{
	struct step step = { .test = test, .end = end };

	if (!read_number(word, test == TEST_LID ? UINT16_MAX : UINT64_MAX,
			 &step.number))
		return refuse(p, place, word, test == TEST_LID ? "LID" :
			      test == TEST_GUID ? "GUID" : "TID",
			      test == TEST_LID ? "a number up to 65535" :
			      "a number, such as 0x0002c903000e0b72");
	return code_step(p, place, &step);
}

static bool code_gid(struct parsing *p, const struct place *place,
		     const struct word *word)
{
	struct step step = { .test = TEST_GID };
	char text[INET6_ADDRSTRLEN] = "";

	if (word->len < sizeof(text))
		memcpy(text, word->text, word->len);
	if (inet_pton(AF_INET6, text, step.gid) != 1)
		return refuse(p, place, word, "GID",
			      "a GID, such as fe80::2:c903:e:b72");
	return code_step(p, place, &step);
}

static bool code_name(struct parsing *p, const struct place *place,
		      const struct word *word)
{
	struct step step = { .test = TEST_NAME };

	step.pattern = strndup(word->text, word->len);
	if (step.pattern && code_step(p, place, &step))
		return true;
	if (!step.pattern)
		code_error(p, place, NULL, "%s", strerror(errno));
	free(step.pattern);
	return false;
}

bool code_word(struct parsing *p, const struct place *place, enum test test,
	       enum end end, const struct word *word)
{
	switch (test) {
	case TEST_CLASS:
		return code_class(p, place, word);
	case TEST_METHOD:
		return code_method(p, place, word);
	case TEST_ATTRIBUTE:
		return code_attribute(p, place, word);
	case TEST_GID:
		return code_gid(p, place, word);
	case TEST_NAME:
		return code_name(p, place, word);
	default:
		return code_number(p, place, test, end, word);
	}
}

bool code_status(struct parsing *p, const struct place *place,
		 const struct word *word)
{
	struct step step = { .test = TEST_STATUS_NAME };
	char list[NAMES_LIST_MAX], accepted[NAMES_LIST_MAX + 32];

	step.status = sa_status_find(word->text, word->len);
	if (step.status)
		return code_step(p, place, &step);
	step.test = TEST_STATUS_ERROR;
	if (is_word(word, "error"))
		return code_step(p, place, &step);
	step.test = TEST_STATUS_CODE;
	if (read_number(word, UINT16_MAX, &step.number))
		return code_step(p, place, &step);
	sa_status_names_accepted(list);
	snprintf(accepted, sizeof(accepted), "error, %s, or a number", list);
	return refuse(p, place, word, "status", accepted);
}

/* 5 is 5-5, and so is > 4 without an end. */
static bool read_range(const struct word *word, uint64_t *first, uint64_t *last)
{
	const char *dash = memchr(word->text, '-', word->len);
	struct word from = *word, to = *word;

	if (dash) {
		from.len = (size_t)(dash - word->text);
		to.text = dash + 1;
		to.len = word->len - from.len - 1;
	}
	return read_number(&from, UINT32_MAX, first) &&
	       read_number(&to, UINT32_MAX, last);
}

bool code_records(struct parsing *p, const struct place *place,
		  const struct word *how, const struct word *number)
{
	struct step step = { .test = TEST_RECORDS };
	uint64_t first, last;

	if (!read_range(number, &first, &last) || (how && first != last) ||
	    first > last)
		return refuse(p, place, number, "number of records", how ?
			      "a number" : "a number, a range such as 2-10, or <, <=, =, >= or > and a number");
	step.range.first = first;
	step.range.last = last;
	if (how && how->text[0] == '<') {
		step.range.first = 0;
		/* less than none: nothing is in 1-0 */
		if (how->len == 1 && !last)
			step.range.first = 1;
		step.range.last = how->len == 1 && last ? last - 1 : last;
	} else if (how && how->text[0] == '>') {
		step.range.first = how->len == 1 ? first + 1 : first;
		step.range.last = UINT64_MAX;
	}
	return code_step(p, place, &step);
}

struct expression *expression_new(const char *text,
				  char error[EXPRESSION_ERROR_MAX])
{
	struct expression *e = calloc(1, sizeof(*e));
	struct parsing p = { .text = text, .e = e, .error = error };
	void *scanner;
	int failed;

	*error = '\0';
	if (!e || expression_yylex_init_extra(&p, &scanner)) {
		snprintf(error, EXPRESSION_ERROR_MAX, "%s", strerror(errno));
		free(e);
		return NULL;
	}
	failed = !expression_yy_scan_string(text, scanner) ||
		 expression_yyparse(scanner, &p);
	expression_yylex_destroy(scanner);
	if (!failed)
		return e;
	if (!*error)
		snprintf(error, EXPRESSION_ERROR_MAX, "%s", strerror(ENOMEM));
	expression_free(e);
	return NULL;
}

void expression_free(struct expression *e)
{
	size_t i;

	if (!e)
		return;
	for (i = 0; i < e->n; i++) {
		if (e->steps[i].test == TEST_NAME)
			free(e->steps[i].pattern);
		else if (e->steps[i].test == TEST_ATTRIBUTE)
			free(e->steps[i].attributes);
	}
	free(e->steps);
	free(e);
}

/*
 * Matching
 */

/* What an expression is asked about. */
struct subject {
	const uint8_t *mad;
	size_t len;
	const struct requester *who;	/* the end that is not OpenSM's */
	uint16_t local_lid;
	bool sent;			/* OpenSM asks */
	bool open;			/* a packet, whose rest is elsewhere */
	bool response;			/* and it is the answer, */
	bool failed;			/* which could not be sent */
	bool has_status;
	bool has_records;
	bool error;
	uint16_t status;
	uint32_t records;
};

static bool is_response(const uint8_t *mad)
{
	return mad[MAD_METHOD] & METHOD_RESPONSE;
}

/* A MAD that stands for itself. A request has no status. */
static void set_mad(struct subject *s, const struct mad_capture *cap,
		    const struct requester *peer)
{
	s->mad = cap->data;
	s->len = cap->len;
	s->who = peer;
	s->local_lid = cap->route.local_lid;
	s->sent = cap->sent;
	s->response = is_response(cap->data);
	s->has_status = s->response;
	s->status = s->has_status ? mad_status(cap->data) : 0;
	s->error = s->status || cap->completion != MAD_OK;
}

static void set_sa(struct subject *s, const struct sa_record *sa)
{
	s->mad = sa->mad;
	s->len = sa->len;
	s->who = &sa->requester;
	s->local_lid = sa->local_lid;
	s->sent = sa->sent;
	s->has_status = s->has_records = sa->has_response;
	s->status = sa->status;
	s->records = sa->records;
	s->error = sa->outcome != SA_ANSWERED || sa->status;
}

/* A part of an SA transaction: its direction is that of the request. */
static void set_packet(struct subject *s, const struct mad_capture *cap,
		       const struct requester *peer)
{
	set_mad(s, cap, peer);
	if (cap->data[MAD_CLASS] != CLASS_SUBN_ADM)
		return;
	s->open = true;
	if (!s->response)
		return;
	s->sent = !cap->sent;
	s->failed = cap->completion != MAD_OK;
	s->has_records = s->status ||
			 !mad_is_table_method(cap->data[MAD_METHOD]);
	s->records = !s->status && mad_has_record(cap->data[MAD_METHOD]);
}

/*
 * An answer whose request is not there is judged as its packet is, and not
 * shown for what it may have been the answer to.
 */
static void set_mad_record(struct subject *s, const struct mad_record *m)
{
	if (is_response(m->capture->data))
		set_packet(s, m->capture, &m->peer);
	else
		set_mad(s, m->capture, &m->peer);
}

static bool set_record(struct subject *s, const struct record *r)
{
	switch (r->type) {
	case RECORD_SA:
		set_sa(s, &r->sa);
		return true;
	case RECORD_MAD:
	case RECORD_SEND_ERROR:
		set_mad_record(s, &r->mad);
		return true;
	case RECORD_TRAP:
		s->mad = r->trap.mad;
		s->len = r->trap.mad_len;
		s->who = &r->trap.from;
		s->local_lid = r->trap.local_lid;
		return s->mad != NULL;
	default:
		return false;
	}
}

static enum answer yes(bool condition)
{
	return condition ? YES : NO;
}

/* Of an answer; a transaction whose answer could not be sent has none. */
static enum answer yes_if_sent(const struct subject *s, bool condition)
{
	return condition && s->open && s->failed ? MAYBE : yes(condition);
}

/*
 * A transaction has the method of its request and that of its answer. One
 * answer may belong to requests of two methods.
 */
static enum answer match_method(const struct subject *s, uint64_t method)
{
	uint8_t own = s->mad[MAD_METHOD];

	if (own == method)
		return YES;
	if (mad_response_method(own) == method && !s->response) {
		if (s->open)
			return MAYBE;
		return yes(s->has_status &&
			   s->mad[MAD_CLASS] == CLASS_SUBN_ADM);
	}
	if (s->open && s->response &&
	    mad_response_method((uint8_t)method) == own &&
	    !(method & METHOD_RESPONSE))
		return own == (METHOD_GET | METHOD_RESPONSE) ? MAYBE : YES;
	return NO;
}

/* A MultiPathRecord is answered with PathRecords. */
static enum answer match_attribute(const struct subject *s,
				   const int32_t *attributes)
{
	uint8_t mgmt_class = s->mad[MAD_CLASS];
	uint16_t id = mad_get16(s->mad + MAD_ATTR_ID);

	if (s->open && id == ATTR_PATH_RECORD &&
	    s->mad[MAD_METHOD] == (METHOD_GET_MULTI | METHOD_RESPONSE) &&
	    (attributes[mgmt_class] == ATTR_MULTIPATH_RECORD ||
	     attributes[mgmt_class] == ATTR_PATH_RECORD))
		return MAYBE;
	return yes(attributes[mgmt_class] == id);
}

static enum answer match_lid(const struct subject *s, const struct step *step)
{
	bool who = s->who->addr.lid == step->number;
	bool local = s->local_lid == step->number;

	if (step->end == END_ANY)
		return yes(who || local);
	return yes((step->end == END_SOURCE) == s->sent ? local : who);
}

/*
 * Does the request name the value, as a component of that kind? Records of an
 * answer have all components; of tables nobody looks through them.
 */
static enum answer match_component(const struct subject *s, uint8_t kind,
				   const uint8_t *value, size_t size)
{
	const struct sa_attribute *attr;
	uint64_t mask = UINT64_MAX;
	const struct sa_field *f;
	size_t i, end;

	if (s->mad[MAD_CLASS] != CLASS_SUBN_ADM || s->len < SA_DATA)
		return NO;
	if (s->response && mad_is_table_method(s->mad[MAD_METHOD]))
		return s->open ? MAYBE : NO;
	if (!s->response)
		mask = mad_get64(s->mad + SA_COMPONENT_MASK);
	attr = sa_attribute_find(mad_get16(s->mad + MAD_ATTR_ID));
	for (i = 0; attr && i < attr->n_fields; i++) {
		f = &attr->fields[i];
		end = SA_DATA + f->offset / 8u + size;
		if (f->kind == kind && mask >> f->component & 1 &&
		    end <= s->len && !memcmp(s->mad + end - size, value, size))
			return YES;
	}
	return NO;
}

static enum answer match_guid(const struct subject *s, uint64_t guid)
{
	const struct mad_peer *addr = &s->who->addr;
	uint8_t value[8];
	size_t i;

	if (s->who->port_guid == guid ||
	    (addr->has_gid && mad_get64(addr->gid + 8) == guid))
		return YES;
	for (i = 0; i < 8; i++)
		value[i] = (uint8_t)(guid >> (56 - 8 * i));
	return match_component(s, FIELD_GUID, value, sizeof(value));
}

static enum answer match_gid(const struct subject *s, const uint8_t gid[16])
{
	if (s->who->addr.has_gid && !memcmp(s->who->addr.gid, gid, 16))
		return YES;
	return match_component(s, FIELD_GID, gid, 16);
}

static enum answer match_name(const struct subject *s, const char *pattern)
{
	return yes(s->who->name &&
		   !fnmatch(pattern, s->who->name, FNM_CASEFOLD));
}

/* What of a request only its answer says is not known. */
static bool is_open_request(const struct subject *s)
{
	return s->open && !s->response;
}

/* The names of SA's own codes are not those of other classes. */
static bool has_status_name(const struct subject *s, const char *name)
{
	if (s->status >> 8 && s->mad[MAD_CLASS] != CLASS_SUBN_ADM)
		return false;
	return sa_status_name(s->status) == name;
}

static enum answer match_status(const struct subject *s,
				const struct step *step)
{
	if (is_open_request(s))
		return MAYBE;
	if (!s->has_status)
		return NO;
	switch (step->test) {
	case TEST_STATUS_ERROR:
		return yes_if_sent(s, s->status != 0);
	case TEST_STATUS_NAME:
		return yes_if_sent(s, has_status_name(s, step->status));
	default:
		return yes_if_sent(s, s->status == step->number);
	}
}

static enum answer match_records(const struct subject *s,
				 const struct step *step)
{
	if (s->open && !s->has_records)
		return MAYBE;
	return yes_if_sent(s, s->has_records &&
			   s->records >= step->range.first &&
			   s->records <= step->range.last);
}

static enum answer match_error(const struct subject *s)
{
	if (is_open_request(s) && !s->error)
		return MAYBE;
	return yes(s->error);
}

static enum answer match(const struct subject *s, const struct step *step)
{
	switch (step->test) {
	case TEST_CLASS:
		return yes(s->mad[MAD_CLASS] == step->number);
	case TEST_METHOD:
		return match_method(s, step->number);
	case TEST_ATTRIBUTE:
		return match_attribute(s, step->attributes);
	case TEST_LID:
		return match_lid(s, step);
	case TEST_GUID:
		return match_guid(s, step->number);
	case TEST_GID:
		return match_gid(s, step->gid);
	case TEST_NAME:
		return match_name(s, step->pattern);
	case TEST_TID:
		return yes(mad_get64(s->mad + MAD_TID) == step->number);
	case TEST_SENT:
		return yes(s->sent);
	case TEST_RECEIVED:
		return yes(!s->sent);
	case TEST_ERROR:
		return match_error(s);
	case TEST_RECORDS:
		return match_records(s, step);
	default:
		return match_status(s, step);
	}
}

static enum answer run(const struct expression *e, const struct subject *s)
{
	enum answer stack[EXPRESSION_DEPTH_MAX + 1] = { YES };
	size_t i, n = 0;

	for (i = 0; i < e->n; i++) {
		switch (e->steps[i].test) {
		case TEST_AND:
			n--;
			if (stack[n] < stack[n - 1])
				stack[n - 1] = stack[n];
			break;
		case TEST_OR:
			n--;
			if (stack[n] > stack[n - 1])
				stack[n - 1] = stack[n];
			break;
		case TEST_NOT:
			stack[n - 1] = YES - stack[n - 1];
			break;
		default:
			stack[n++] = match(s, &e->steps[i]);
			break;
		}
	}
	return stack[0];
}

/* What a pattern that is one argument wants around it; it may have them. */
static const char *quotes_for(const char *pattern)
{
	size_t len = strlen(pattern);

	if (!strpbrk(pattern, " \t\r\n()<>=!\"'") ||
	    (len > 1 && strchr("\"'", pattern[0]) &&
	     strchr(pattern + 1, pattern[0]) == pattern + len - 1))
		return "";
	return strchr(pattern, '"') ? "'" : "\"";
}

static char *join(char **words)
{
	size_t i, size = 1;
	const char *quote;
	char *text, *end;

	for (i = 0; words[i]; i++)
		size += strlen(words[i]) + sizeof(" ''");
	text = end = calloc(1, size);
	for (i = 0; text && words[i]; i++) {
		quote = i && !strcmp(words[i - 1], "name") ?
			quotes_for(words[i]) : "";
		end += sprintf(end, "%s%s%s%s", i ? " " : "", quote, words[i],
			       quote);
	}
	return text;
}

struct expression *expression_of_words(char **words,
				       char error[EXPRESSION_ERROR_MAX])
{
	struct expression *e = NULL;
	char *text = join(words);

	if (text)
		e = expression_new(text, error);
	else
		strcpy(error, strerror(errno));
	free(text);
	return e;
}

bool expression_matches(const struct expression *e, const struct record *r)
{
	struct subject s = { 0 };

	return !e->n || r->type == RECORD_LOSS ||
	       (set_record(&s, r) && run(e, &s) == YES);
}

bool expression_may_match(const struct expression *e,
			  const struct mad_capture *cap,
			  const struct requester *peer)
{
	struct subject s = { 0 };

	if (!e->n)
		return true;
	set_packet(&s, cap, peer);
	return run(e, &s) != NO;
}
