/* SPDX-License-Identifier: MIT */
#ifndef WEIR_LIMITS_H
#define WEIR_LIMITS_H

#include <stddef.h>
#include <stdint.h>

#include "weir/base.h"
#include "weir/sem.h"

WEIR_DECLS_BEGIN

/*
 * weir_limits: the limits of a program by name, read from a small file.  If the
 * program loads the file again, then their capacities change while it runs.
 *
 *     # limits.conf
 *     [db_writes]
 *     capacity = 20
 *     max_waiters = 500
 *
 *     [decode]
 *     capacity = 4
 *     policy = barging
 *     barge_us = 200
 *
 *     err = weir_limits_init(&limits, 32);
 *     err = weir_limits_load(&limits, "limits.conf", &problem);
 *     sem = weir_limits_find(&limits, "db_writes");
 *
 * Format.  Each limit has a section, whose name consists of up to 47 letters,
 * digits, '_' and '-'.  A section has these keys, each at most once: capacity
 * (required; 0 .. WEIR_SEM_MAX), policy (fifo or barging), barge_us (only with
 * policy = barging), max_waiters.  Blank lines are ignored, and so are
 * comments, from '#' to the end of the line.  Everything else is an error,
 * which is reported with its line.
 *
 * Environment.  If WEIR_LIMIT_DB_WRITES is set, then its value replaces the
 * capacity of db_writes in the file.  The name is in capitals, with '_' for
 * '-'.  The variables are ignored in a program that runs with more privileges
 * than its user.
 *
 * Loading again.  The whole file is checked before anything changes.  Then each
 * capacity is set with weir_sem_resize (which never waits), and new limits are
 * made.  policy, barge_us and max_waiters cannot change: a different value is
 * an error.  If a limit is no longer in the file, then its semaphore stays as
 * it is.
 *
 * The following holds for every function below unless its comment differs.
 *
 *   Threads   Every function may be called from any thread between init and
 *             destroy.
 *   Memory    init and load allocate.  A semaphore does not move.
 *   Signals   No function is async-signal-safe.
 *   Fork      As in weir/sem.h.
 *   Misuse    As in weir/sem.h.
 */
typedef struct weir_limits {
	struct weir_limits_entry_ *entries_;
	uint32_t max_;
	uint32_t count_;	/* under lock_ */
	uint32_t lock_;		/* protects the entries */
	uint32_t ready_;	/* src/pattern/ready.h */
	uint64_t reserved_[4];	/* zero, for later versions */
} weir_limits;

#define WEIR_LIMITS_MAX 4096
#define WEIR_LIMITS_NAME_MAX 47		/* bytes of a name */
#define WEIR_LIMITS_FILE_MAX 65536	/* bytes of a file */

/* The description of an error in a file or a text. */
typedef struct weir_limits_problem {
	int64_t line;		/* from 1; 0: none, or the environment */
	char text[120];
	uint64_t reserved_[2];
} weir_limits_problem;

/* Set up *limits with room for max limits, 1 .. WEIR_LIMITS_MAX. */
WEIR_API WEIR_MUST_USE weir_err
weir_limits_init(weir_limits *limits, int64_t max);

/*
 * Retire *limits and its semaphores.  WEIR_EBUSY: permits are out, or a waiter
 * exists; nothing has changed.
 * Requires: no other call on *limits or a semaphore of it is running or
 * follows.
 */
WEIR_API WEIR_MUST_USE weir_err weir_limits_destroy(weir_limits *limits);

/*
 * Load a file or a text.  If problem is not null, then *problem is set to the
 * description of the error.
 *
 *   WEIR_EINVAL   The text is invalid.                 \
 *   WEIR_ETOOBIG  The file is too long, or it has more  |
 *                 limits than there is room for.        | Nothing has changed.
 *   WEIR_ESYSTEM  The file cannot be read (errno).      |
 *   WEIR_ENOMEM   Memory is exhausted.                 /
 */
WEIR_API WEIR_MUST_USE weir_err
weir_limits_load(weir_limits *limits, const char *path,
		 weir_limits_problem *problem);
WEIR_API WEIR_MUST_USE weir_err
weir_limits_load_text(weir_limits *limits, const char *text, size_t length,
		      weir_limits_problem *problem);

/* Returns the semaphore of that name, or null if it does not exist. */
WEIR_API weir_sem *weir_limits_find(weir_limits *limits, const char *name);

/*
 * Returns the i-th semaphore, in order of creation, and its name; null if it
 * does not exist.
 */
WEIR_API weir_sem *weir_limits_at(weir_limits *limits, int64_t i,
				  const char **name);

WEIR_DECLS_END

#endif /* WEIR_LIMITS_H */
