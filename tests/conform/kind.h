/* SPDX-License-Identifier: MIT */
/*
 * The same promises at every scale: scenarios written once, over a table of
 * functions, and run against every semaphore that has one.
 *
 *     EVERY(c5_try_takes_or_says_no)
 *     {
 *             void *sem = k->make(2);
 *             ...
 *             CHECK_ERR(k->try_acquire(sem, 3), WEIR_EAGAIN);
 *             drop(k, sem);
 *     }
 *
 * A kind is a semaphore in one of its forms:
 *
 *     fifo     weir_sem, in order of arrival
 *     barging  weir_sem with WEIR_BARGING
 *     named    weir_named, one handle that all threads share
 *     apart    weir_named, a handle for every call that waits, as if each were
 *              another process
 *     strict   the same with WEIR_NAMED_STRICT
 *
 * Permits belong to the handle that acquired them, so whoever releases what a
 * job got does so at the job's own place: job.sem.
 */
#ifndef TESTS_CONFORM_KIND_H
#define TESTS_CONFORM_KIND_H

#include "check.h"
#include "weir/ctx.h"

/* What a stat of any kind tells. */
struct picture {
	int64_t capacity, free, held, granted, debt, waiting_permits;
	uint32_t waiters, oversized;
	bool closed;
};

struct kind {
	/* A semaphore; another place at it (its own, or the same). */
	void *(*make)(int64_t capacity);
	void *(*another)(void *sem);
	/* The last place takes the semaphore with it. */
	weir_err (*destroy)(void *sem);

	weir_err (*acquire)(void *sem, int64_t n, weir_ctx *ctx);
	weir_err (*acquire_until)(void *sem, int64_t n, int64_t deadline_ns);
	weir_err (*acquire_for)(void *sem, int64_t n, int64_t timeout_ns);
	weir_err (*try_acquire)(void *sem, int64_t n);
	weir_err (*acquire_upto)(void *sem, int64_t min, int64_t max,
				 weir_ctx *ctx, int64_t *got);
	weir_err (*drain)(void *sem, int64_t *got);
	void (*release)(void *sem, int64_t n);
	weir_err (*try_release)(void *sem, int64_t n);
	void (*close)(void *sem, weir_close how);
	bool (*is_closed)(void *sem);
	weir_err (*resize)(void *sem, int64_t n, int64_t *debt);
	weir_err (*forget)(void *sem, int64_t n);
	weir_err (*wait_idle)(void *sem, weir_ctx *ctx);
	int64_t (*available)(void *sem);
	struct picture (*stat)(void *sem);
};

extern const struct kind kind_fifo, kind_barging, kind_named, kind_apart,
	kind_strict;

#define AT_(name, kind)                                                        \
	TEST(name##_##kind)                                                    \
	{                                                                      \
		scenario_##name(&kind_##kind);                                 \
	}
#ifdef BETWEEN_THREADS_ALONE
#define AT_NAMED_(name)
#else
#define AT_NAMED_(name)                                                        \
	AT_(name, named)                                                       \
	AT_(name, apart)                                                       \
	AT_(name, strict)
#endif

/* For every kind; and for those where nobody overtakes. */
#define STRICT(name)                                                           \
	static void scenario_##name(const struct kind *k);                     \
	AT_(name, fifo)                                                        \
	AT_NAMED_(name)                                                        \
	static void scenario_##name(const struct kind *k)
#define EVERY(name)                                                            \
	static void scenario_##name(const struct kind *k);                     \
	AT_(name, fifo)                                                        \
	AT_(name, barging)                                                     \
	AT_NAMED_(name)                                                        \
	static void scenario_##name(const struct kind *k)

/* Destroy it, which must work; when nothing is out and nobody waits. */
void drop(const struct kind *k, void *sem);

/* capacity == free + held + granted - debt, and nothing is negative. */
#define CHECK_PICTURE(k, sem) check_picture(__FILE__, __LINE__, k, sem)
struct picture check_picture(const char *file, int line, const struct kind *k,
			     void *sem);

/* A call that waits, on a thread of its own. */
enum verb { ACQUIRE, UNTIL, UPTO, IDLE };

struct job {
	const struct kind *k;
	void *sem;		/* its place */
	weir_ctx *ctx;
	enum verb verb;
	int64_t n, max, deadline;
	int64_t got;
	weir_err err;
	int done;
	check_thread thread;
};

/* Start it, and return when it stands in the queue, or beside it. */
void begin(struct job *job, const struct kind *k, void *sem, int64_t n,
	   weir_ctx *ctx);
void begin_until(struct job *job, const struct kind *k, void *sem, int64_t n,
		 int64_t deadline);
void begin_upto(struct job *job, const struct kind *k, void *sem, int64_t min,
		int64_t max);
void begin_idle(struct job *job, const struct kind *k, void *sem,
		weir_ctx *ctx);

/* Whether the call has returned. */
bool is_done(const struct job *job);

/* Wait for the call's end; it keeps its place, and what it got. */
weir_err outcome(struct job *job);

/* Give back what it got, if anything, and its place. */
void leave(struct job *job, const void *sem);

#endif /* TESTS_CONFORM_KIND_H */
