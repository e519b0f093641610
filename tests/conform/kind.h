/* SPDX-License-Identifier: MIT */
/*
 * The same clauses for all semaphores: scenarios are written once, over a table
 * of functions, and run against every kind of semaphore that has such a table.
 *
 *     EVERY(c5_try_is_exact)
 *     {
 *             void *sem = k->make(2);
 *             ...
 *             CHECK_ERR(k->try_acquire(sem, 3), WEIR_EAGAIN);
 *             drop(k, sem);
 *     }
 *
 * The kinds are:
 *
 *     fifo     weir_sem with the policy FIFO
 *     barging  weir_sem with WEIR_BARGING
 *     named    weir_named, one handle that all threads share
 *     apart    weir_named, a separate handle for every waiting call, as if each
 *              call were made by another process
 *     strict   the same with WEIR_NAMED_STRICT
 *
 *     one      weir_cluster, one handle that all threads share
 *     many     weir_cluster, a separate handle for every waiting call
 *
 * The last two need a server: tests/cluster compiles the scenarios for them,
 * with CONFORM_CLUSTER.  LOCAL scenarios are not run there, because a clause
 * does not hold between machines; weir(7) says so.
 *
 * Permits belong to the handle that acquired them, so the permits of a job must
 * be released through the job's own handle: job.sem.
 */
#ifndef TESTS_CONFORM_KIND_H
#define TESTS_CONFORM_KIND_H

#include "check.h"
#include "weir/ctx.h"

/* The result of stat, the same for all kinds. */
struct picture {
	int64_t capacity, free, held, granted, debt, waiting_permits;
	uint32_t waiters, oversized;
	bool closed;
};

struct kind {
	/* Make a semaphore; get another handle for it (new or the same). */
	void *(*make)(int64_t capacity);
	void *(*another)(void *sem);
	/* Close a handle; the last one destroys the semaphore. */
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
	bool remote;	/* a cancelled call leaves the queue a moment later */
};

extern const struct kind kind_fifo, kind_barging, kind_named, kind_apart,
	kind_strict, kind_one, kind_many;

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

/*
 * Run for every kind (EVERY); for the kinds that forbid overtaking (STRICT);
 * for the kinds on one machine (LOCAL).
 */
#ifdef CONFORM_CLUSTER
#define EVERY(name)                                                            \
	static void scenario_##name(const struct kind *k);                     \
	AT_(name, one)                                                         \
	AT_(name, many)                                                        \
	static void scenario_##name(const struct kind *k)
#define STRICT(name) EVERY(name)
#define LOCAL(name)                                                            \
	__attribute__((unused)) static void scenario_##name(const struct kind *k)
#else
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
#define LOCAL(name) EVERY(name)
#endif

/* Wait until a remote call that has been cancelled has left the queue. */
#define SETTLE(k, sem, left)                                                   \
	AWAIT(!(k)->remote || (k)->stat(sem).waiters == (left))

/* Destroy it.  Checks that no permit is held and no call waits. */
void drop(const struct kind *k, void *sem);

/* Checks capacity == free + held + granted - debt, and nothing is negative. */
#define CHECK_PICTURE(k, sem) check_picture(__FILE__, __LINE__, k, sem)
struct picture check_picture(const char *file, int line, const struct kind *k,
			     void *sem);

/* A waiting call, on its own thread. */
enum verb { ACQUIRE, UNTIL, UPTO, IDLE };

struct job {
	const struct kind *k;
	void *sem;		/* its handle */
	weir_ctx *ctx;
	enum verb verb;
	int64_t n, max, deadline;
	int64_t got;
	weir_err err;
	int done;
	check_thread thread;
};

/* Start the call; return when it is queued or on the oversized list. */
void begin(struct job *job, const struct kind *k, void *sem, int64_t n,
	   weir_ctx *ctx);
void begin_until(struct job *job, const struct kind *k, void *sem, int64_t n,
		 int64_t deadline);
void begin_upto(struct job *job, const struct kind *k, void *sem, int64_t min,
		int64_t max);
void begin_idle(struct job *job, const struct kind *k, void *sem,
		weir_ctx *ctx);

/* Returns true if the call has returned. */
bool is_done(const struct job *job);

/* Wait until the call has returned.  The job keeps its handle and permits. */
weir_err outcome(struct job *job);

/* Release the job's permits, if any, and close its handle. */
void leave(struct job *job, const void *sem);

#endif /* TESTS_CONFORM_KIND_H */
