/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "metrics.h"
#include "names.h"
#include "text.h"
#include "trap.h"

enum { LIDS = 0xc000, SHARE = 16 };

#define COUNT(table) (sizeof(table) / sizeof((table)[0]))
#define SECOND_NS UINT64_C(1000000000)

struct metrics {
	struct metrics_counts counts;
	unsigned n_seen;
	uint16_t seen[LIDS];	/* LIDs of requesters, as they came */
	struct metrics_requester *requesters;
};

/* Up to so many ns, and as Prometheus writes it in seconds. */
static const struct {
	uint64_t ns;
	const char *le;
} buckets[METRICS_BUCKETS] = {
	{ 10000, "1e-05" },
	{ 25000, "2.5e-05" },
	{ 50000, "5e-05" },
	{ 100000, "0.0001" },
	{ 250000, "0.00025" },
	{ 500000, "0.0005" },
	{ 1000000, "0.001" },
	{ 2500000, "0.0025" },
	{ 5000000, "0.005" },
	{ 10000000, "0.01" },
	{ 25000000, "0.025" },
	{ 50000000, "0.05" },
	{ 100000000, "0.1" },
	{ 250000000, "0.25" },
	{ 500000000, "0.5" },
	{ 1000000000, "1" },
	{ 2500000000, "2.5" },
	{ 5000000000, "5" },
	{ 10000000000, "10" },
	{ UINT64_MAX, "+Inf" },
};

/* As in struct loss_record. */
static const char *const losses[METRICS_LOSSES] = {
	"ring", "memory", "shutdown", "short", "port", "rmpp", "kernel",
	"events", "other",
};

/* Counting */

static bool is_class(uint16_t number)
{
	return class_name((uint8_t)number) != NULL;
}

static bool is_method(uint16_t number)
{
	return method_name(CLASS_SUBN_ADM, (uint8_t)number) != NULL;
}

static bool is_attribute(uint16_t number)
{
	return attribute_name(CLASS_SUBN_ADM, number) != NULL;
}

static bool is_trap(uint16_t number)
{
	return trap_name(number) != NULL;
}

static unsigned place_of(struct metrics_numbers *numbers, uint16_t number,
			 bool (*is_known)(uint16_t number))
{
	unsigned i;

	for (i = 0; i < numbers->n; i++)
		if (numbers->number[i] == number)
			return i;
	if (i == METRICS_NUMBERS)
		return METRICS_OTHER;
	if (!is_known(number)) {
		if (numbers->unknown == METRICS_UNKNOWN)
			return METRICS_OTHER;
		numbers->unknown++;
	}
	numbers->number[numbers->n++] = number;
	return i;
}

struct metrics *metrics_new(void)
{
	struct metrics *m = calloc(1, sizeof(*m));

	if (!m)
		return NULL;
	m->requesters = mmap(NULL, LIDS * sizeof(*m->requesters),
			     PROT_READ | PROT_WRITE,
			     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1,
			     0);
	if (m->requesters == MAP_FAILED) {
		free(m);
		return NULL;
	}
	m->counts.up = true;
	/* these are there from the start: a rate needs a value before */
	place_of(&m->counts.classes, CLASS_SUBN_DIR, is_class);
	place_of(&m->counts.classes, CLASS_SUBN_LID, is_class);
	place_of(&m->counts.classes, CLASS_SUBN_ADM, is_class);
	return m;
}

void metrics_free(struct metrics *m)
{
	if (!m)
		return;
	munmap(m->requesters, LIDS * sizeof(*m->requesters));
	free(m);
}

/* With the tap, one that completes in error was captured before. */
void metrics_capture(struct metrics *m, const struct mad_capture *cap)
{
	struct metrics_counts *c = &m->counts;
	unsigned place = place_of(&c->classes, cap->data[MAD_CLASS], is_class);

	if (cap->completion == MAD_OK)
		c->mads[place][cap->sent]++;
	else if (cap->completion != MAD_CANCELED)
		c->send_errors[place]++;
}

static void count_requester(struct metrics *m, const struct requester *who)
{
	struct metrics_requester *r;

	if (who->addr.lid >= LIDS)
		return;
	r = &m->requesters[who->addr.lid];
	if (!r->requests++)
		m->seen[m->n_seen++] = who->addr.lid;
	if (r->recent < UINT32_MAX)
		r->recent++;
	if (who->name && strncmp(r->name, who->name, METRICS_NAME_MAX - 1)) {
		memset(r->name, 0, METRICS_NAME_MAX);
		memcpy(r->name, who->name,
		       strnlen(who->name, METRICS_NAME_MAX - 1));
	}
}

static void count_latency(struct metrics_counts *c, uint64_t ns)
{
	unsigned i = 0;

	while (ns > buckets[i].ns)
		i++;
	c->latencies[i]++;
	c->latency_ns += ns;
}

static void count_sa(struct metrics *m, const struct sa_record *sa)
{
	struct metrics_counts *c = &m->counts;
	unsigned method, attribute;

	method = place_of(&c->methods, sa->mad[MAD_METHOD], is_method);
	attribute = place_of(&c->attributes, mad_get16(sa->mad + MAD_ATTR_ID),
			     is_attribute);
	c->requests[method][attribute][sa->outcome]++;
	/* what OpenSM asks says nothing of how fast it answers */
	if (sa->sent)
		return;
	count_requester(m, &sa->requester);
	if (sa->has_response)
		count_latency(c, sa->latency_ns);
}

static void count_trap(struct metrics_counts *c, const struct trap_record *t)
{
	int number = trap_number(t->notice, t->len);

	if (number < 0)
		c->vendor_traps++;
	else
		c->trap[place_of(&c->traps, (uint16_t)number, is_trap)]++;
}

/* What goes on or is over has been counted when it began. */
static bool is_begin(const struct alert_record *a)
{
	size_t i;

	for (i = 0; i < a->n_evidence; i++)
		if (!strcmp(a->evidence[i].key, "phase") && a->evidence[i].text)
			return !strcmp(a->evidence[i].text, "begin") ||
			       !strcmp(a->evidence[i].text, "once");
	return true;
}

static void count_alert(struct metrics_counts *c, const struct alert_record *a)
{
	size_t i;

	if (!is_begin(a))
		return;
	for (i = 0; i < METRICS_ALERTS && c->alerts[i]; i++)
		if (!strcmp(c->alert_names[i], a->alert))
			break;
	if (strlen(a->alert) >= METRICS_ALERT_MAX)
		i = METRICS_ALERTS;
	if (i < METRICS_ALERTS && !c->alerts[i])
		strcpy(c->alert_names[i], a->alert);
	c->alerts[i]++;
}

static void count_loss(struct metrics_counts *c, const struct loss_record *l)
{
	size_t i;

	for (i = 0; i < METRICS_LOSSES - 1; i++)
		if (!strcmp(losses[i], l->where))
			break;
	c->lost[i] += l->lost;
}

void metrics_record(struct metrics *m, const struct record *r)
{
	switch (r->type) {
	case RECORD_SA:
		count_sa(m, &r->sa);
		break;
	case RECORD_TRAP:
		count_trap(&m->counts, &r->trap);
		break;
	case RECORD_ALERT:
		count_alert(&m->counts, &r->alert);
		break;
	case RECORD_LOSS:
		count_loss(&m->counts, &r->loss);
		break;
	default:
		break;
	}
}

void metrics_now(struct metrics *m, bool up, uint64_t outstanding,
		 uint64_t ring_bytes)
{
	m->counts.up = up;
	m->counts.outstanding = outstanding;
	m->counts.ring_bytes = ring_bytes;
}

static bool is_busier(const struct metrics_requester *a,
		      const struct metrics_requester *b)
{
	return a->recent != b->recent ? a->recent > b->recent :
					a->requests > b->requests;
}

/* Keeps the list in order; the last one of a full list makes room. */
static void put_into_top(struct metrics_sample *s, uint16_t lid,
			 const struct metrics_requester *who)
{
	unsigned i = s->n_top;

	if (i == METRICS_TOP && !is_busier(who, &s->top[i - 1].who))
		return;
	if (i == METRICS_TOP)
		i--;
	else
		s->n_top++;
	for (; i > 0 && is_busier(who, &s->top[i - 1].who); i--)
		s->top[i] = s->top[i - 1];
	s->top[i].lid = lid;
	s->top[i].who = *who;
}

void metrics_take(struct metrics *m, struct metrics_sample *sample)
{
	struct metrics_requester *who;
	unsigned i;

	sample->counts = m->counts;
	sample->n_top = 0;
	for (i = 0; i < m->n_seen; i++) {
		who = &m->requesters[m->seen[i]];
		put_into_top(sample, m->seen[i], who);
		who->recent -= who->recent / SHARE + !!(who->recent % SHARE);
	}
}

/* Text */

struct out {
	char *text;
	size_t size, len;
	bool full;
};

static void put(struct out *out, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

static void put(struct out *out, const char *format, ...)
{
	size_t left = out->size - out->len;
	va_list args;
	int n;

	va_start(args, format);
	n = vsnprintf(out->text + out->len, left, format, args);
	va_end(args);
	if (n < 0 || (size_t)n >= left)
		out->full = true;
	else
		out->len += (size_t)n;
}

static void put_char(struct out *out, const uint8_t *p,
		     const struct text_char *c)
{
	if (c->kind != TEXT_PRINTABLE)
		put(out, "\xef\xbf\xbd");	/* U+FFFD */
	else if (*p == '"' || *p == '\\')
		put(out, "\\%c", *p);
	else
		put(out, "%.*s", (int)c->len, (const char *)p);
}

/* A label's value. No newline gets through: it is a control character. */
static void put_text(struct out *out, const char *text)
{
	const uint8_t *p = (const uint8_t *)text;
	size_t left = strlen(text);
	struct text_char c;

	for (; left; p += c.len, left -= c.len) {
		c = text_next(p, left);
		put_char(out, p, &c);
	}
}

/* A number's name; without one, itself in so many digits. */
static void put_name(struct out *out, const char *label,
		     const struct metrics_numbers *numbers, unsigned place,
		     const char *name, int digits)
{
	if (place == METRICS_OTHER)
		name = "other";
	if (name)
		put(out, "%s=\"%s\"", label, name);
	else
		put(out, "%s=\"0x%0*x\"", label, digits,
		    numbers->number[place]);
}

static void put_class(struct out *out, const struct metrics_counts *c,
		      unsigned place)
{
	const uint8_t number = place == METRICS_OTHER ? 0 :
		(uint8_t)c->classes.number[place];

	put_name(out, "class", &c->classes, place, class_name(number), 2);
}

/* Places that are in use; that of all others only when it counts something. */
static bool is_used(const struct metrics_numbers *numbers, unsigned place,
		    uint64_t count)
{
	return place < numbers->n || (place == METRICS_OTHER && count);
}

static void put_mads(struct out *out, const char *name,
		     const struct metrics_sample *s)
{
	static const char *const directions[2] = { "received", "sent" };
	const struct metrics_counts *c = &s->counts;
	unsigned i, sent;

	for (i = 0; i < METRICS_PLACES; i++)
		for (sent = 0; sent < 2; sent++) {
			if (!is_used(&c->classes, i, c->mads[i][sent]))
				continue;
			put(out, "%s{", name);
			put_class(out, c, i);
			put(out, ",direction=\"%s\"} %" PRIu64 "\n",
			    directions[sent], c->mads[i][sent]);
		}
}

static void put_request(struct out *out, const char *name,
			const struct metrics_counts *c, unsigned method,
			unsigned attribute, enum sa_outcome outcome)
{
	uint16_t m = 0, a = 0;

	if (method != METRICS_OTHER)
		m = c->methods.number[method];
	if (attribute != METRICS_OTHER)
		a = c->attributes.number[attribute];
	put(out, "%s{", name);
	put_name(out, "method", &c->methods, method,
		 method_name(CLASS_SUBN_ADM, (uint8_t)m), 2);
	put_name(out, ",attribute", &c->attributes, attribute,
		 attribute_name(CLASS_SUBN_ADM, a), 4);
	put(out, ",outcome=\"%s\"} %" PRIu64 "\n", sa_outcome_name(outcome),
	    c->requests[method][attribute][outcome]);
}

/* Of a kind that came all outcomes are there: a rate needs a value before. */
static void put_requests(struct out *out, const char *name,
			 const struct metrics_sample *s)
{
	const struct metrics_counts *c = &s->counts;
	unsigned method, attribute;
	const uint64_t *n;

	for (method = 0; method < METRICS_PLACES; method++)
		for (attribute = 0; attribute < METRICS_PLACES; attribute++) {
			n = c->requests[method][attribute];
			if (!n[SA_ANSWERED] && !n[SA_UNANSWERED] &&
			    !n[SA_FAILED])
				continue;
			put_request(out, name, c, method, attribute,
				    SA_ANSWERED);
			put_request(out, name, c, method, attribute,
				    SA_UNANSWERED);
			put_request(out, name, c, method, attribute,
				    SA_FAILED);
		}
}

static void put_latency(struct out *out, const char *name,
			const struct metrics_sample *s)
{
	const struct metrics_counts *c = &s->counts;
	uint64_t n = 0;
	unsigned i;

	for (i = 0; i < METRICS_BUCKETS; i++) {
		n += c->latencies[i];
		put(out, "%s_bucket{le=\"%s\"} %" PRIu64 "\n", name,
		    buckets[i].le, n);
	}
	put(out, "%s_sum %" PRIu64 ".%09" PRIu64 "\n", name,
	    c->latency_ns / SECOND_NS, c->latency_ns % SECOND_NS);
	put(out, "%s_count %" PRIu64 "\n", name, n);
}

static void put_outstanding(struct out *out, const char *name,
			    const struct metrics_sample *s)
{
	put(out, "%s %" PRIu64 "\n", name, s->counts.outstanding);
}

static void put_send_errors(struct out *out, const char *name,
			    const struct metrics_sample *s)
{
	const struct metrics_counts *c = &s->counts;
	unsigned i;

	for (i = 0; i < METRICS_PLACES; i++) {
		if (!is_used(&c->classes, i, c->send_errors[i]))
			continue;
		put(out, "%s{", name);
		put_class(out, c, i);
		put(out, "} %" PRIu64 "\n", c->send_errors[i]);
	}
}

static void put_traps(struct out *out, const char *name,
		      const struct metrics_sample *s)
{
	const struct metrics_counts *c = &s->counts;
	unsigned i;

	for (i = 0; i < c->traps.n; i++)
		put(out, "%s{number=\"%u\"} %" PRIu64 "\n", name,
		    c->traps.number[i], c->trap[i]);
	if (c->trap[METRICS_OTHER])
		put(out, "%s{number=\"other\"} %" PRIu64 "\n", name,
		    c->trap[METRICS_OTHER]);
	put(out, "%s{number=\"vendor\"} %" PRIu64 "\n", name,
	    c->vendor_traps);
}

static void put_alerts(struct out *out, const char *name,
		       const struct metrics_sample *s)
{
	const struct metrics_counts *c = &s->counts;
	unsigned i;

	for (i = 0; i <= METRICS_ALERTS; i++) {
		if (!c->alerts[i])
			continue;
		put(out, "%s{alert=\"", name);
		put_text(out, i < METRICS_ALERTS ? c->alert_names[i] :
						   "other");
		put(out, "\"} %" PRIu64 "\n", c->alerts[i]);
	}
}

static void put_lost(struct out *out, const char *name,
		     const struct metrics_sample *s)
{
	unsigned i;

	for (i = 0; i < METRICS_LOSSES; i++)
		put(out, "%s{where=\"%s\"} %" PRIu64 "\n", name, losses[i],
		    s->counts.lost[i]);
}

static void put_ring(struct out *out, const char *name,
		     const struct metrics_sample *s)
{
	put(out, "%s %" PRIu64 "\n", name, s->counts.ring_bytes);
}

static void put_top(struct out *out, const char *name,
		    const struct metrics_sample *s)
{
	unsigned i;

	for (i = 0; i < s->n_top; i++) {
		put(out, "%s{lid=\"%u\",name=\"", name, s->top[i].lid);
		put_text(out, s->top[i].who.name);
		put(out, "\"} %" PRIu64 "\n", s->top[i].who.requests);
	}
}

static void put_up(struct out *out, const char *name,
		   const struct metrics_sample *s)
{
	put(out, "%s %d\n", name, s->counts.up);
}

/* All there are; tests/build/rules.sh reads their names here. */
static const struct {
	const char *name, *type, *help;
	void (*put)(struct out *out, const char *name,
		    const struct metrics_sample *s);
} table[] = {
	{ "osmsnoop_up", "gauge",
	  "1 while OpenSM runs with the plugin, 0 after it ended.", put_up },
	{ "osmsnoop_mads_total", "counter",
	  "MADs that OpenSM received and gave to be sent.", put_mads },
	{ "osmsnoop_sa_requests_total", "counter",
	  "SA requests by what became of them; a Report is what OpenSM sent to a subscriber.",
	  put_requests },
	{ "osmsnoop_sa_latency_seconds", "histogram",
	  "From the receipt of an SA request to the sending of its answer.",
	  put_latency },
	{ "osmsnoop_sa_outstanding", "gauge",
	  "SA requests that wait for their answer now.", put_outstanding },
	{ "osmsnoop_send_errors_total", "counter",
	  "Sent MADs that completed in error or got no response in time.",
	  put_send_errors },
	{ "osmsnoop_traps_total", "counter",
	  "Traps by number, those that OpenSM issues itself included.",
	  put_traps },
	{ "osmsnoop_alerts_total", "counter", "Alerts that began.",
	  put_alerts },
	{ "osmsnoop_lost_total", "counter",
	  "Captures, or events, that were lost, by where.", put_lost },
	{ "osmsnoop_ring_bytes", "gauge",
	  "Bytes of captures that wait in the ring now.", put_ring },
	{ "osmsnoop_sa_requester_requests", "gauge",
	  "SA requests since the start of the 20 requesters that were busiest in the last minutes.",
	  put_top },
};

size_t metrics_text(const struct metrics_sample *sample, char *text,
		    size_t size)
{
	struct out out = { .text = text, .size = size };
	size_t i;

	for (i = 0; i < COUNT(table); i++) {
		put(&out, "# HELP %s %s\n# TYPE %s %s\n", table[i].name,
		    table[i].help, table[i].name, table[i].type);
		table[i].put(&out, table[i].name, sample);
	}
	return out.full ? 0 : out.len;
}
