/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * What the tap costs the thread that it sits on, per 256-byte MAD.
 *
 * A client's receive callback is called through the tap and does nothing, so
 * what is measured is the tap alone: no vendor layer, no umad. Producers run
 * in bursts that fit into the ring; between bursts the ring is drained by
 * another thread, as in life, so its memory comes from another core's cache.
 * Rows take turns within each round, and the medians over the rounds are
 * printed, so that a slow moment hits all rows alike.
 *
 * The floor is what any tap has to do: one clock_gettime and one memcpy of
 * the same bytes, to memory that the other thread wiped, too.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

/* its callback is static, and is to be called without a vendor layer */
#include "tap.c"

enum { BURST = 8192, ROUNDS_DEFAULT = 51, RING_BYTES = 16 << 20, WORKERS = 2 };

enum mode { NONE, PASS, FILTER, FLOOR, MODES };

static const char *const mode_names[MODES] = {
	"no bind", "one bind, passing", "one bind, filtered out", "floor",
};

struct worker {
	pthread_t thread;
	double ns;		/* a MAD, in this burst */
	uint8_t *area;		/* the floor's memory */
	osm_madw_t madw;
	uint8_t mad[MAD_SIZE];
};

static struct worker workers[WORKERS];
static pthread_barrier_t begin, end;
static unsigned active;
static enum mode mode;
static bool finished;
static osm_vendor_t vendor;
static osm_vendor_t *p_vendor = &vendor;
static struct ring rings[WORKERS];

static void do_nothing(osm_madw_t *p_madw, void *context, osm_madw_t *p_req)
{
	(void)p_madw;
	(void)context;
	(void)p_req;
}

static struct client nobody = { .recv = do_nothing };

static void burst(struct worker *w)
{
	uint64_t from = clock_ns(CLOCK_MONOTONIC);
	unsigned i;

	if (mode == FLOOR) {
		for (i = 0; i < BURST; i++) {
			*(uint64_t *)(w->mad + MAD_TID) = clock_ns(CLOCK_MONOTONIC);
			memcpy(w->area + (size_t)i * MAD_SIZE, w->mad,
			       MAD_SIZE);
			__asm__ volatile("" ::: "memory");
		}
	} else {
		for (i = 0; i < BURST; i++)
			tap_recv(&w->madw, &nobody, NULL);
	}
	w->ns = (double)(clock_ns(CLOCK_MONOTONIC) - from) / BURST;
}

static void *work(void *context)
{
	struct worker *w = context;

	for (;;) {
		pthread_barrier_wait(&begin);
		if (finished)
			return NULL;
		if ((unsigned)(w - workers) < active)
			burst(w);
		pthread_barrier_wait(&end);
	}
}

/* Drain as the delivery thread does; on the main thread, between bursts. */
static void drain(void)
{
	void *record;
	uint32_t len;
	unsigned i;

	for (i = 0; i < WORKERS; i++) {
		while ((record = ring_peek(&rings[i], &len)))
			ring_release(&rings[i], record);
		memset(workers[i].area, 0, (size_t)BURST * MAD_SIZE);
	}
}

static double run(enum mode m, unsigned producers)
{
	struct tap_config config = {
		.flags = OSM_SNOOP_SENDS | OSM_SNOOP_RECEIVES,
		.filter_count = 1,
		.ring_count = WORKERS,
	};
	struct tap_stats stats;
	double ns = 0;
	int slot = -1;
	unsigned i;

	drain();
	config.filters[0].mgmt_class = m == PASS ? CLASS_SUBN_ADM :
						   CLASS_SUBN_DIR;
	if (m == PASS || m == FILTER)
		slot = tap_open(&config, rings);
	mode = m;
	active = producers;
	pthread_barrier_wait(&begin);
	pthread_barrier_wait(&end);
	if (slot >= 0) {
		tap_get_stats(slot, &stats);
		tap_close(slot);
		if (stats.lost || stats.seen != (uint64_t)BURST * producers ||
		    stats.passed != (m == PASS ? stats.seen : 0)) {
			fprintf(stderr, "bench_tap: %" PRIu64 " seen, %" PRIu64
				" lost\n", stats.seen, stats.lost);
			exit(EXIT_FAILURE);
		}
	}
	for (i = 0; i < producers; i++)
		ns += workers[i].ns / producers;
	return ns;
}

static int compare(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static double median(double *values, size_t n)
{
	qsort(values, n, sizeof(*values), compare);
	return values[n / 2];
}

static void measure(unsigned producers, size_t rounds)
{
	double *ns[MODES], medians[MODES];
	size_t r;
	int m;

	for (m = 0; m < MODES; m++)
		ns[m] = calloc(rounds, sizeof(double));
	for (r = 0; r < rounds; r++)
		for (m = 0; m < MODES; m++)
			ns[m][r] = run((enum mode)m, producers);
	for (m = 0; m < MODES; m++)
		medians[m] = median(ns[m], rounds);
	for (m = 0; m < MODES; m++)
		printf("%-24s %u producer%s %8.1f ns  (%.1f to %.1f)  %5.2f x floor  %+6.1f ns over no bind\n",
		       mode_names[m], producers, producers > 1 ? "s" : " ",
		       medians[m], ns[m][rounds / 10],
		       ns[m][rounds - 1 - rounds / 10],
		       medians[m] / medians[FLOOR],
		       medians[m] - medians[NONE]);
	for (m = 0; m < MODES; m++)
		free(ns[m]);
}

int main(int argc, char **argv)
{
	size_t rounds = ROUNDS_DEFAULT;
	unsigned i;

	if (argc > 1)
		rounds = strtoul(argv[1], NULL, 10);
	if (argc > 2 || !rounds) {
		fprintf(stderr, "usage: bench_tap [ROUNDS]\n");
		return 2;
	}
	for (i = 0; i < WORKERS; i++) {
		if (ring_init(&rings[i], RING_BYTES / WORKERS)) {
			fprintf(stderr, "bench_tap: no memory\n");
			return 1;
		}
	}
	pthread_barrier_init(&begin, NULL, WORKERS + 1);
	pthread_barrier_init(&end, NULL, WORKERS + 1);
	for (i = 0; i < WORKERS; i++) {
		workers[i].area = malloc((size_t)BURST * MAD_SIZE);
		workers[i].mad[MAD_CLASS] = CLASS_SUBN_ADM;
		workers[i].mad[MAD_METHOD] = METHOD_GET;
		workers[i].madw.h_bind = &p_vendor;
		workers[i].madw.p_mad = (const ib_mad_t *)workers[i].mad;
		workers[i].madw.mad_size = MAD_SIZE;
		pthread_create(&workers[i].thread, NULL, work, &workers[i]);
	}
	printf("the tap on the calling thread, per 256-byte MAD; medians of %zu rounds of %d MADs (10th to 90th percentile)\n",
	       rounds, BURST);
	measure(1, rounds);
	measure(2, rounds);
	finished = true;
	pthread_barrier_wait(&begin);
	for (i = 0; i < WORKERS; i++)
		pthread_join(workers[i].thread, NULL);
	return 0;
}
