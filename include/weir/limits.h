/* SPDX-License-Identifier: MIT */
#ifndef WEIR_LIMITS_H
#define WEIR_LIMITS_H

#include <stddef.h>
#include <stdint.h>

#include "weir/base.h"
#include "weir/sem.h"

WEIR_DECLS_BEGIN

/*
 * weir_limits: the limits of a program in one place, by name, from a small file;
 * their capacities change while it runs by loading the file again.
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
 * The format.  A section for each limit: a name of letters, digits and '_' or
 * '-', up to 47 of them.  In it, each at most once: capacity (needed; 0 ..
 * WEIR_SEM_MAX), policy (fifo or barging), barge_us, max_waiters.  Blank lines, and
 * comments from '#' to the end of the line.  Everything else is an error, with its
 * line.
 *
 * The environment.  WEIR_LIMIT_DB_WRITES=30 goes before the capacity of db_writes in
 * the file; the name in capitals, '-' as '_'.
 *
 * Loading again.  Everything in the file is checked before anything changes.
 * Then capacities become what it says (weir_sem_resize: growth grants, shrinking
 * waits for nobody), and limits that are new are made.  What cannot change while
 * it runs (policy, barge_us, max_waiters) is an error.  A limit that is no longer in
 * the file stays as it is.
 *
 * The following holds for every function below unless its comment differs.
 *
 *   Threads   Callable from any thread between init and destroy.
 *   Memory    init and load allocate.  A semaphore stays where it is.
 *   Signals   Not async-signal-safe.
 *   Fork      As in weir/sem.h.
 *   Misuse    As in weir/sem.h.
 */
typedef struct weir_limits {
	struct weir_limits_entry_ *entries_;
	uint32_t max_;
	uint32_t count_;	/* under lock_ */
	uint32_t lock_;		/* one load at a time, and finding */
	uint32_t unused_;
	uint64_t reserved_[4];	/* zero, for later versions */
} weir_limits;

#define WEIR_LIMITS_MAX 4096
#define WEIR_LIMITS_NAME_MAX 47		/* letters of a name */
#define WEIR_LIMITS_FILE_MAX 65536	/* bytes of a file */

/* What is wrong, and where. */
typedef struct weir_limits_problem {
	int64_t line;		/* from 1; 0: no line, or the environment */
	char text[120];
	uint64_t reserved_[2];
} weir_limits_problem;

/* Room for up to max limits; none yet. */
WEIR_API WEIR_MUST_USE weir_err
weir_limits_init(weir_limits *limits, int64_t max);

/*
 * Retire *limits and its semaphores.  WEIR_EBUSY, with nothing changed: permits are
 * out, or somebody waits.
 * Requires: no other call on *limits or a semaphore of it is running or follows.
 */
WEIR_API WEIR_MUST_USE weir_err weir_limits_destroy(weir_limits *limits);

/*
 * Load a file, or a text.  *problem (may be null) tells what is wrong.
 *
 *   WEIR_EINVAL   The text is wrong.                  \
 *   WEIR_ETOOBIG  The file is, or there are too many.  | Nothing has changed.
 *   WEIR_ESYSTEM  The file cannot be read (errno).     |
 *   WEIR_ENOMEM   No memory.                          /
 */
WEIR_API WEIR_MUST_USE weir_err
weir_limits_load(weir_limits *limits, const char *path,
		 weir_limits_problem *problem);
WEIR_API WEIR_MUST_USE weir_err
weir_limits_load_text(weir_limits *limits, const char *text, size_t length,
		      weir_limits_problem *problem);

/* The semaphore of that name; null: there is none. */
WEIR_API weir_sem *weir_limits_find(weir_limits *limits, const char *name);

/* The i-th, and its name, in the order they were made; null: there is none. */
WEIR_API weir_sem *weir_limits_at(weir_limits *limits, int64_t i,
				  const char **name);

WEIR_DECLS_END

#endif /* WEIR_LIMITS_H */
