/* SPDX-License-Identifier: MIT */
#ifndef WEIR_RWLOCK_H
#define WEIR_RWLOCK_H

#include <stdbool.h>
#include <stdint.h>

#include "weir/base.h"
#include "weir/sem.h"

WEIR_DECLS_BEGIN

struct weir_ctx;	/* cancellation and deadlines, weir/ctx.h */

/*
 * weir_rwlock: a reader-writer lock: many readers or one writer.
 *
 *     static weir_rwlock table = WEIR_RWLOCK_INIT;
 *
 *     err = weir_rwlock_read(&table, ctx);
 *     ...
 *     weir_rwlock_read_done(&table);
 *
 * The order of readers and writers is chosen at init:
 *
 *   WEIR_RW_BARGING  A reader or writer that can enter at once may pass waiting
 *                    threads: for example, readers join other readers although
 *                    a writer waits.  If a thread has waited for barge_us
 *                    microseconds, then no thread passes it, unless it was
 *                    woken to retry and has not run yet (weir/sem.h).  No
 *                    thread starves.  This is the default, and the fastest.
 *   WEIR_RW_FIFO     The order of arrival: a reader that arrives after a writer
 *                    waits behind it.  No thread starves.
 *   WEIR_RW_WRITERS  While a writer waits or is inside, new readers wait.  A
 *                    steady stream of writers starves readers.
 *
 * The following holds for every function below unless its comment differs.
 *
 *   Threads   Every function may be called from any thread between init and
 *             destroy.  The lock has no owner: a thread may leave on behalf of
 *             another thread.  The lock is not recursive: if a thread inside
 *             calls write, then it waits for itself; if it calls read, then it
 *             may wait for itself.
 *   Memory    No function allocates.  A waiter lives on its caller's stack.
 *   Orders    If one of two critical sections is a writer's, then the earlier
 *             one happens before the later one.
 *   Signals   No function is async-signal-safe.  If a signal handler runs
 *             during a wait, then the wait continues.  No function is a
 *             thread-cancellation point.
 *   Fork      As in weir/sem.h.
 *   Misuse    As in weir/sem.h.  If a thread leaves or changes its role, and no
 *             thread is inside in that role, then the call panics.  One misuse
 *             cannot be detected: a reader that leaves twice while other
 *             readers are inside.
 */
typedef struct weir_rwlock {
	weir_sem inside_;	/* a reader takes 1, a writer all */
	weir_sem recall_;	/* readers wait here for the last writer */
	uint32_t lock_;		/* protects the next two, and waiting_ */
	uint32_t writers_;	/* waiting or inside; only RW_WRITERS */
	uint64_t readers_;	/* waiting at recall_ */
	uint32_t prefer_;
	uint32_t ready_;	/* initialised and not destroyed */
	const char *name_;
	uint32_t waiting_;	/* readers and writers; if max_waiters_ */
	uint32_t max_waiters_;	/* RW_WRITERS; else inside_ has the bound */
	uint64_t reserved_[3];	/* zero, for later versions */
} weir_rwlock;

typedef enum weir_rw_prefer {
	WEIR_RW_BARGING = 0,
	WEIR_RW_FIFO = 1,
	WEIR_RW_WRITERS = 2
} weir_rw_prefer;

/* There must be fewer concurrent readers than this. */
#define WEIR_RW_READERS_MAX (INT64_C(1) << 30)

/* A static initialiser, with the default options. */
#define WEIR_RWLOCK_INIT                                                       \
	{ WEIR_SEM_INIT_BARGING(WEIR_RW_READERS_MAX),                          \
	  WEIR_SEM_INIT_UNBOUNDED(0),                                          \
	  0, 0, 0, 0, 1, WEIR_NULL_, 0, 0, { 0, 0, 0 } }

/*
 * Options for weir_rwlock_init.  Zero in a field means its default.
 * max_waiters bounds readers and writers together (C31).  With RW_WRITERS a
 * thread that has just entered may count as waiting until its call has
 * returned.  barge_us must be 0 unless prefer is RW_BARGING.
 */
typedef struct weir_rwlock_opts {
	weir_rw_prefer prefer;
	uint32_t barge_us;	/* RW_BARGING; 0: WEIR_BARGE_US */
	const char *name;	/* for messages; not copied; may be null */
	uint32_t max_waiters;	/* 0: no limit; beyond it WEIR_EBUSY */
	uint32_t flags;		/* 0 */
	uint64_t reserved_[3];	/* zero, for later versions */
} weir_rwlock_opts;

/*
 * Set up *rw; null options are the defaults.
 * Requires: no other thread can reach *rw yet.
 */
WEIR_API WEIR_MUST_USE weir_err
weir_rwlock_init(weir_rwlock *rw, const weir_rwlock_opts *opts);

/*
 * Retire *rw.  WEIR_EBUSY: a thread waits or is inside; nothing has changed.
 * Requires: no other call on *rw is running or follows.
 */
WEIR_API WEIR_MUST_USE weir_err weir_rwlock_destroy(weir_rwlock *rw);

/*
 * Enter as a reader or as the writer, waiting until ctx ends.  A null ctx never
 * ends.  The results are those of weir_sem_acquire.  After an error the caller
 * is not inside, and the lock is as it would be without this call.
 */
WEIR_API WEIR_MUST_USE weir_err
weir_rwlock_read(weir_rwlock *rw, struct weir_ctx *ctx);
WEIR_API WEIR_MUST_USE weir_err
weir_rwlock_write(weir_rwlock *rw, struct weir_ctx *ctx);

/* Enter with a deadline that limits the wait only. */
WEIR_API WEIR_MUST_USE weir_err
weir_rwlock_read_until(weir_rwlock *rw, int64_t deadline_ns);
WEIR_API WEIR_MUST_USE weir_err
weir_rwlock_write_until(weir_rwlock *rw, int64_t deadline_ns);

/*
 * Enter if that needs no waiting.  WEIR_EAGAIN: the lock is taken, or other
 * threads wait (WEIR_RW_BARGING: one that has waited for barge_us).
 */
WEIR_API WEIR_MUST_USE weir_err weir_rwlock_try_read(weir_rwlock *rw);
WEIR_API WEIR_MUST_USE weir_err weir_rwlock_try_write(weir_rwlock *rw);

/* Leave.  Never waits. */
WEIR_API void weir_rwlock_read_done(weir_rwlock *rw);
WEIR_API void weir_rwlock_write_done(weir_rwlock *rw);

/*
 * Turn the calling reader into the writer without leaving, if it is the only
 * reader and no thread waits (WEIR_RW_BARGING: none that has waited for
 * barge_us).  WEIR_EAGAIN: this is not possible now, and the caller is still a
 * reader.  Panics if no reader is inside.  There is no form
 * that waits: two readers that both waited to become the writer would deadlock.
 * To wait, leave, call weir_rwlock_write, and check again the data that was
 * read.
 */
WEIR_API WEIR_MUST_USE weir_err weir_rwlock_try_upgrade(weir_rwlock *rw);

/*
 * Turn the calling writer into a reader without leaving; other readers may
 * enter.
 */
WEIR_API void weir_rwlock_downgrade(weir_rwlock *rw);

/*
 * Close the lock: every waiter and every later call gets WEIR_ECLOSED; threads
 * inside leave as usual.  Closing twice is harmless.
 */
WEIR_API void weir_rwlock_close(weir_rwlock *rw);

typedef struct weir_rwlock_info {
	const char *name;
	int64_t readers;	/* inside, or granted */
	uint32_t waiters;	/* readers and writers */
	bool writing;		/* a writer is inside */
	bool closed;
	weir_rw_prefer prefer;
	uint64_t reserved_[4];
} weir_rwlock_info;

WEIR_API WEIR_MUST_USE weir_err
weir_rwlock_stat(weir_rwlock *rw, weir_rwlock_info *info);

static inline void weir_rwlock_read_end_(weir_rwlock **rw)
{
	if (*rw)
		weir_rwlock_read_done(*rw);
}

static inline void weir_rwlock_write_end_(weir_rwlock **rw)
{
	if (*rw)
		weir_rwlock_write_done(*rw);
}

/*
 * The block forms run the statement inside the lock, as a reader or as the
 * writer, and leave on every path out of the statement (weir/permit.h says
 * which).  If the lock cannot be entered, then the statement is skipped.  err,
 * an lvalue of type weir_err, is set to the result.  break and continue leave
 * the statement, not an enclosing loop.  The statement must not change its role
 * (upgrade, downgrade).
 *
 *     WEIR_WITH_READ(err, &table, ctx) {
 *             ...
 *     }
 */
#define WEIR_WITH_READ(err, rw, ctx)                                           \
	WEIR_WITH_RW_(WEIR_AT_LINE_(weir_lock_, __LINE__),                     \
		      WEIR_AT_LINE_(weir_held_, __LINE__),                     \
		      WEIR_AT_LINE_(weir_once_, __LINE__), weir_rwlock_read,   \
		      weir_rwlock_read_end_, err, rw, ctx)
#define WEIR_WITH_WRITE(err, rw, ctx)                                          \
	WEIR_WITH_RW_(WEIR_AT_LINE_(weir_lock_, __LINE__),                     \
		      WEIR_AT_LINE_(weir_held_, __LINE__),                     \
		      WEIR_AT_LINE_(weir_once_, __LINE__), weir_rwlock_write,  \
		      weir_rwlock_write_end_, err, rw, ctx)
#define WEIR_WITH_RW_(lock, held, once, enter, end, err, rw, ctx)              \
	for (weir_rwlock *lock = (rw),                                         \
	     *held WEIR_CLEANUP_(end) =                                        \
		     ((err) = enter(lock, (ctx))) == WEIR_OK ? lock :          \
						       WEIR_NULL_,             \
	     *once = held;                                                     \
	     once; once = WEIR_NULL_)

WEIR_DECLS_END

#endif /* WEIR_RWLOCK_H */
