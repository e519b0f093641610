/* SPDX-License-Identifier: MIT */
#ifndef TESTS_GENMC_PROGRAM_H
#define TESTS_GENMC_PROGRAM_H

/*
 * Small programs for GenMC (tools/genmc): two to four threads each.  GenMC fails
 * a program on a failed assertion, a panic, a data race of plain accesses, and an
 * access to freed memory.  x, y and z are plain: if the core does not order their
 * accesses, that is a race.
 *
 * A waiter that is queued from the start (queue_up, then rest) saves the steps
 * before the queue, which other programs explore.
 */
#include "core.h"

#define PROGRAM(name) static void name(void)
#define THREAD(name) static void *name(void *unused)
#define OK(call) assert((call) == WEIR_OK)
#define RUN2(f, g)                                                             \
	do {                                                                   \
		pthread_t f_, g_;                                              \
		pthread_create(&f_, NULL, f, NULL);                            \
		pthread_create(&g_, NULL, g, NULL);                            \
		pthread_join(f_, NULL);                                        \
		pthread_join(g_, NULL);                                        \
	} while (0)
#define RUN3(f, g, h)                                                          \
	do {                                                                   \
		pthread_t h_;                                                  \
		pthread_create(&h_, NULL, h, NULL);                            \
		RUN2(f, g);                                                    \
		pthread_join(h_, NULL);                                        \
	} while (0)

static weir_sem s;
static weir_ctx ctx;
static struct weir_waiter_ w1, w2;
static int x, y, z;
static weir_err first, second;

static void start_with(int64_t permits, int64_t capacity, weir_policy policy,
		 uint32_t flags)
{
	weir_sem_opts opts = { .permits = permits, .capacity = capacity,
			       .policy = policy, .flags = flags };

	OK(weir_sem_init_opts(&s, &opts));
	OK(weir_ctx_init(&ctx, NULL, WEIR_FOREVER));
}

static void queue_up_at(weir_sem *sem, struct weir_waiter_ *w, int64_t n,
			weir_ctx *in)
{
	weir_err err;

	prepare(w, sem, WEIR_WANTS_PERMITS_, in, "queue_up");
	w->min = w->max = n;
	if (in)
		OK(weir_ctx_join_(in, w));
	assert(weir_sem_enqueue_(w, WEIR_FOREVER, &err));
}

static void queue_up(struct weir_waiter_ *w, int64_t n, weir_ctx *in)
{
	queue_up_at(&s, w, n, in);
}

static weir_err rest(struct weir_waiter_ *w, int64_t deadline_ns)
{
	return weir_sem_finish_(w, "rest", wait_listed(w, deadline_ns));
}

/* No waiter, no grant in progress; `available` permits are free. */
static void quiet(int64_t available)
{
	weir_sem_info info;

	OK(weir_sem_stat(&s, &info));
	assert(info.waiters == 0 && info.oversized == 0 && info.granted == 0);
	assert(info.held >= 0 && info.free == available);
	assert(info.closed || weir_door_(s.word_) == WEIR_OPEN_);
}

THREAD(put_one)
{
	weir_sem_release(&s, 1);
	return unused;
}

THREAD(put_x)
{
	x++;
	weir_sem_release(&s, 1);
	return unused;
}

/* The program that runs; tools/genmc defines MAIN. */
static void MAIN(void);

int main(void)
{
	MAIN();
	return 0;
}

#endif /* TESTS_GENMC_PROGRAM_H */
