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
 * weir_rwlock: many readers, or one writer.
 *
 *     static weir_rwlock table = WEIR_RWLOCK_INIT;
 *
 *     err = weir_rwlock_read(&table, ctx);
 *     ...
 *     weir_rwlock_read_done(&table);
 *
 * Who goes first is a choice, made once:
 *
 *   WEIR_RW_FAIR     In order of arrival: a reader that comes after a writer
 *                    waits behind it.  Nobody starves.  The default.
 *   WEIR_RW_READERS  While readers are inside, more may join them although a
 *                    writer waits, but not once it has waited for barge_us
 *                    microseconds: then it is next, so it does not starve either.
 *   WEIR_RW_WRITERS  While a writer waits or is inside, new readers wait.  A
 *                    steady stream of writers starves readers.
 *
 * The following holds for every function below unless its comment differs.
 *
 *   Threads   Callable from any thread between init and destroy.  It has no
 *             owner: any thread may end what another began.  It is not
 *             re-entrant: a thread that reads and calls write waits for itself,
 *             and so may one that reads twice.
 *   Memory    Allocates nothing.  A waiter lives on its caller's stack.
 *   Orders    As a mutex: what was done inside is seen by those that come in
 *             later, if one of the two writes.
 *   Signals   Not async-signal-safe.  A signal during a wait is handled and the
 *             wait goes on.  No function is a thread-cancellation point.
 *   Fork      As in weir/sem.h.
 *   Misuse    As in weir/sem.h.  Ending what nobody began panics when it is
 *             noticed.
 */
typedef struct weir_rwlock {
	weir_sem inside_;	/* a reader takes 1, a writer all */
	weir_sem recall_;	/* readers that wait for writers to be through */
	uint32_t lock_;		/* protects the next two, and waiting_ */
	uint32_t writers_;	/* waiting or inside; only RW_WRITERS counts */
	uint64_t readers_;	/* that wait at recall_ */
	uint32_t prefer_;
	uint32_t ready_;	/* set up, and not destroyed */
	const char *name_;
	uint32_t waiting_;	/* of both kinds; only with max_waiters_ */
	uint32_t max_waiters_;	/* RW_WRITERS; the others' is in inside_ */
	uint64_t reserved_[3];	/* zero, for later versions */
} weir_rwlock;

typedef enum weir_rw_prefer {
	WEIR_RW_FAIR = 0,
	WEIR_RW_READERS = 1,
	WEIR_RW_WRITERS = 2
} weir_rw_prefer;

/* The most readers at a time. */
#define WEIR_RW_READERS_MAX (INT64_C(1) << 30)

/* A fair one, in static memory. */
#define WEIR_RWLOCK_INIT                                                       \
	{ WEIR_SEM_INIT(WEIR_RW_READERS_MAX), WEIR_SEM_INIT_UNBOUNDED(0),      \
	  0, 0, 0, 0, 1, 0, 0, 0, { 0, 0, 0 } }

/*
 * Zero means the default throughout.  max_waiters is for readers and writers
 * together (C31).  With RW_WRITERS one that has just been let in may count as waiting
 * until its call has returned.
 */
typedef struct weir_rwlock_opts {
	weir_rw_prefer prefer;
	uint32_t barge_us;	/* RW_READERS; 0: WEIR_BARGE_US */
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
 * Retire *rw.  WEIR_EBUSY: somebody waits or is inside.
 * Requires: no other call on *rw is running or follows.
 */
WEIR_API WEIR_MUST_USE weir_err weir_rwlock_destroy(weir_rwlock *rw);

/*
 * Come in as a reader, or as the writer, waiting until ctx ends (null: never).
 * Results as of weir_sem_acquire; after an error the caller is not inside and
 * everything is as if it had not called.
 */
WEIR_API WEIR_MUST_USE weir_err
weir_rwlock_read(weir_rwlock *rw, struct weir_ctx *ctx);
WEIR_API WEIR_MUST_USE weir_err
weir_rwlock_write(weir_rwlock *rw, struct weir_ctx *ctx);

/* The same with a plain deadline: it limits waiting only. */
WEIR_API WEIR_MUST_USE weir_err
weir_rwlock_read_until(weir_rwlock *rw, int64_t deadline_ns);
WEIR_API WEIR_MUST_USE weir_err
weir_rwlock_write_until(weir_rwlock *rw, int64_t deadline_ns);

/*
 * The same if no waiting is needed; else WEIR_EAGAIN, also if others wait (with
 * WEIR_RW_READERS: if the one that waits is not to be passed any more).
 */
WEIR_API WEIR_MUST_USE weir_err weir_rwlock_try_read(weir_rwlock *rw);
WEIR_API WEIR_MUST_USE weir_err weir_rwlock_try_write(weir_rwlock *rw);

/* Leave.  Never waits. */
WEIR_API void weir_rwlock_read_done(weir_rwlock *rw);
WEIR_API void weir_rwlock_write_done(weir_rwlock *rw);

/*
 * Become the writer without leaving, if the caller is the only one inside and
 * nobody waits, as with try; else WEIR_EAGAIN, and it is a reader still.  If nobody
 * is inside at all it panics.  There is no form that waits: two readers that both
 * waited to become the writer would wait for each other for ever.  Leave, call
 * write, and look again at what was read.
 */
WEIR_API WEIR_MUST_USE weir_err weir_rwlock_try_upgrade(weir_rwlock *rw);

/* Become a reader without leaving; other readers may come in. */
WEIR_API void weir_rwlock_downgrade(weir_rwlock *rw);

/*
 * Let nobody in any more: every waiter and every later call gets WEIR_ECLOSED;
 * those inside leave as usual.  Twice is harmless.
 */
WEIR_API void weir_rwlock_close(weir_rwlock *rw);

typedef struct weir_rwlock_info {
	const char *name;
	int64_t readers;	/* inside; granted ones too */
	uint32_t waiters;	/* of both kinds */
	bool writing;		/* a writer is inside */
	bool closed;
	weir_rw_prefer prefer;
	uint64_t reserved_[4];
} weir_rwlock_info;

WEIR_API WEIR_MUST_USE weir_err
weir_rwlock_stat(weir_rwlock *rw, weir_rwlock_info *info);

WEIR_DECLS_END

#endif /* WEIR_RWLOCK_H */
