/* SPDX-License-Identifier: MIT */
#ifndef WEIR_DIAG_H
#define WEIR_DIAG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "weir/base.h"

WEIR_DECLS_BEGIN

/*
 * Diagnostics: the holders and the waiters of watched semaphores.
 *
 * A semaphore is watched if it was given a name.  WEIR_SEM_UNWATCHED turns this
 * off; WEIR_SEM_TRACKED turns it on without a name.  A semaphore that was
 * initialised statically is watched from its first acquire on.  The environment
 * variable WEIR_DIAG changes this for the process.  With "off" nothing is
 * watched; with "all", semaphores without a name are watched as well, if a call
 * initialises them.  "watchdog" starts a thread that reports waits that hang,
 * "order" predicts deadlocks: weir_diag(3).
 *
 * Objects that are made of semaphores are watched under their own name and
 * type, if they have a name: groups, pools, rate limits, reader-writer locks,
 * limits by name, channels and sharded semaphores.  An adaptive limit is
 * watched if its semaphore is.  A breaker has neither permits nor waiters and
 * is not watched: weir_breaker_stat.
 *
 * A channel has no holders: any thread may receive an item.  It shows its items
 * as `held`, its free slots as `free`, the sends as acquires, the receives as
 * releases, and the waiters of both sides.  The counts of calls that failed
 * include sends and receives.
 *
 * The process records the holders and waiters in memory that other processes of
 * the same user can read.  A semaphore that is not watched has no additional
 * cost; a watched one costs a few nanoseconds for each acquire and release.
 *
 * The following holds for every function below unless its comment differs.
 *
 *   Threads   Every function may be called from any thread.
 *   Memory    weir_diag_each allocates; the others do not.  The first watched
 *             semaphore of a process makes a file in memory, which stays open.
 *             If the kernel refuses it, then nothing is watched, and everything
 *             else works.
 *   Orders    No function orders anything.
 *   Signals   No function is async-signal-safe.
 *   Fork      The child watches nothing until it initialises a semaphore with a
 *             name.  Then it also starts a watchdog thread of its own, if
 *             WEIR_DIAG asks for one.  Semaphores of the parent are not watched
 *             in the child.
 *   Misuse    If a function pointer is null, then the result is WEIR_EINVAL.
 */
typedef enum weir_diag_type {
	WEIR_DIAG_SEM = 0,
	WEIR_DIAG_GROUP, WEIR_DIAG_POOL, WEIR_DIAG_CHAN, WEIR_DIAG_RATE,
	WEIR_DIAG_RWLOCK, WEIR_DIAG_LIMITS, WEIR_DIAG_ADAPTIVE,
	WEIR_DIAG_BREAKER, WEIR_DIAG_POSIX, WEIR_DIAG_SHARDED
} weir_diag_type;

/* The histograms count times below 1, 3, 10 us, and so on up to 100 s, and above. */
#define WEIR_DIAG_BUCKETS 18

/* A watched object.  Counts may lag behind its calls by a moment. */
typedef struct weir_diag_object {
	const char *name;	/* up to 47 bytes, valid during the callback;
				   null: none */
	const void *address;
	weir_diag_type type;
	bool unbounded;
	bool barging;
	bool closed;
	bool handed_over;	/* permits were released by a thread that did
				   not hold them */
	bool incomplete;	/* the registry was full: some are missing */
	int64_t capacity;
	int64_t held;		/* the sum over its holders; 0 if unbounded */
	int64_t free;		/* capacity - held, at least 0; 0 if unbounded */
	int64_t waiting_permits;
	uint64_t holders;	/* threads that hold its permits */
	uint64_t waiters;
	uint64_t immediate;	/* acquires that did not wait */
	uint64_t queued;	/* acquires that waited and succeeded */
	uint64_t timed_out, cancelled, refused, would_block;
	uint64_t releases;
	int64_t waited_ns;	/* sum of all waits that have ended */
	int64_t held_ns;	/* sum of all holds that have ended */
	int64_t oldest_hold_ns;	/* 0: none */
	int64_t oldest_wait_ns;	/* 0: none */
	uint64_t waits[WEIR_DIAG_BUCKETS];	/* of waits that have ended */
	uint64_t holds[WEIR_DIAG_BUCKETS];	/* of holds that have ended;
						   those below 10 us are in
						   holds[2] */
	uint64_t reserved_[8];
} weir_diag_object;

typedef void weir_diag_fn(const weir_diag_object *object, void *user);

/*
 * Call fn for every watched object of this process.  WEIR_ENOMEM: nothing was
 * called.  fn may call every function of weir.
 */
WEIR_API WEIR_MUST_USE weir_err weir_diag_each(weir_diag_fn *fn, void *user);

/* Events of the slow paths, of every semaphore of the process. */
typedef enum weir_diag_kind {
	WEIR_DIAG_QUEUED = 0,	/* began to wait for n permits */
	WEIR_DIAG_ACQUIRED = 1,	/* took n permits; the call will return */
	WEIR_DIAG_LEFT = 2,	/* failed to take n permits: err */
	WEIR_DIAG_RELEASED = 3,	/* n permits will be released */
	WEIR_DIAG_RESIZED = 4,	/* the capacity is now n */
	WEIR_DIAG_CLOSED = 5,
	WEIR_DIAG_FOUND = 6	/* the watchdog reports: n is the verdict, or
				   WEIR_DIAG_FINE for a hold above its limit */
} weir_diag_kind;

typedef struct weir_diag_event {
	weir_diag_kind kind;
	weir_err err;
	const void *object;	/* the semaphore; it may not exist any more */
	const char *name;	/* valid during the call; null: none */
	int64_t n;
	uint64_t reserved_[2];
} weir_diag_event;

typedef void weir_diag_hook_fn(const weir_diag_event *event);

/*
 * Set the event hook; null: none.  Returns the previous hook.  The hook runs on
 * the thread of the call, without any lock of weir; for WEIR_DIAG_RELEASED
 * possibly in a signal handler; for WEIR_DIAG_FOUND on the watchdog thread.  A
 * call that takes or returns permits without the slow path reports nothing.  A
 * channel that counts slots or items for its waiters reports no
 * WEIR_DIAG_RELEASED: the calls that end their waits report WEIR_DIAG_ACQUIRED.
 * One exception to "without any lock": a weir_all reports under its own lock, and the
 * thread that submits or cancels it runs no callbacks meanwhile.  The hook must not
 * call weir_all_cancel for it, nor wait for a thread that does, or for a callback.
 *
 * The hook must return, because the call that reports the event is half done.  If
 * it throws an exception or calls pthread_exit, then that panics.  A pthread_cancel
 * of the thread takes effect after the hook has returned.  longjmp: as in
 * weir/async.h.
 */
WEIR_API weir_diag_hook_fn *weir_diag_set_hook(weir_diag_hook_fn *hook);

/*
 * The state of the watched objects of this process, from harmless to grave.
 * weir(1) has a command that prints the same from outside: weir explain PID.
 */
typedef enum weir_diag_verdict {
	WEIR_DIAG_FINE = 0,	/* no context waits */
	WEIR_DIAG_SLOW = 1,	/* waits that can end */
	WEIR_DIAG_STALLED = 2,	/* no release for far longer than usual */
	WEIR_DIAG_STARVED = 3,	/* a waiter is overtaken again and again */
	WEIR_DIAG_STRANDED = 4,	/* granted, and not picked up */
	WEIR_DIAG_NO_RELEASER = 5,	/* only a release by a context that holds
					   nothing could end a wait */
	WEIR_DIAG_UNSATISFIABLE = 6,	/* asks for more than the capacity */
	WEIR_DIAG_LEAKED = 7,	/* a thread has ended that held permits */
	WEIR_DIAG_SELF_NESTED = 8,	/* a thread waits for its own permits */
	WEIR_DIAG_DEADLOCK = 9	/* no order of releases ends the waits */
} weir_diag_verdict;

/*
 * Write a report on all watched objects to fd: holders and waiters with their
 * call sites, and the verdict.  The call does not stop other threads, so the
 * report on objects that are in use may be approximate; it says so.  The
 * verdict LEAKED, and every graver one, is exact.
 *
 *   Memory    Maps memory for the time of the call.
 *   Signals   Async-signal-safe.  If fd is a pipe without a reader, then the
 *             text is lost, and the thread gets no SIGPIPE.
 *
 * WEIR_EAGAIN: the process watches nothing.  WEIR_ENOMEM: no memory; nothing
 * was written.
 */
WEIR_API WEIR_MUST_USE weir_err weir_report(int fd);

/*
 * Write the same report to text, a buffer of size bytes; it is cut if it does
 * not fit.  Sets *verdict to the gravest verdict.  A size of 0 and a null
 * verdict are allowed.  The results are those of weir_report.
 */
WEIR_API WEIR_MUST_USE weir_err
weir_explain(char *text, size_t size, weir_diag_verdict *verdict);

/*
 * Set the function that gets a report for each wait on a watched object that
 * times out; null: none.  Returns the previous function.  fn runs on the thread
 * of the call, without any lock of weir.  The report names the holders of the
 * object as of one instant, or says that this was not possible.  Without such a
 * function WEIR_DIAG=report prints the reports to standard error, at most 6 a
 * minute; WEIR_DIAG=report=N, at most N.
 *
 * The function also gets the reports of predicted deadlocks, and those of the
 * watchdog thread, which calls it.  If the function itself waits and times out,
 * then that is not reported.
 */
typedef void weir_diag_report_fn(const char *text);
WEIR_API weir_diag_report_fn *weir_diag_set_report(weir_diag_report_fn *fn);

WEIR_DECLS_END

#endif /* WEIR_DIAG_H */
