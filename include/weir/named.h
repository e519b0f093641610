/* SPDX-License-Identifier: MIT */
#ifndef WEIR_NAMED_H
#define WEIR_NAMED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "weir/base.h"
#include "weir/sem.h"

WEIR_DECLS_BEGIN

/*
 * weir_named: a counting semaphore between processes that share a name.
 *
 * It is weir_sem's contract across processes, and it survives any death: what a
 * killed process held goes to the next waiter at once, its place in the queue
 * closes, and a process killed at any instruction in here leaves nothing lost.
 * There is no daemon, nothing polls, and nothing wakes up while all wait.
 *
 * Deaths are watched for by two of those who wait.  If both are stopped (SIGSTOP,
 * a debugger, a frozen cgroup), those behind them learn of a death only when
 * somebody comes to the semaphore: an open, a stat, an acquire that waits.
 *
 *     weir_named_opts opts = { .capacity = 3, .flags = WEIR_NAMED_CREATE };
 *     weir_named *builds;
 *     err = weir_named_open("builds", &opts, &builds);
 *     ...
 *     err = weir_named_acquire(builds, 1, NULL);
 *     if (!err) {
 *             ...
 *             weir_named_release(builds, 1);
 *     }
 *     err = weir_named_close_handle(builds);
 *
 * The following holds for every function below unless its comment differs.
 *
 *   Threads   The threads of a process share one handle.
 *   Owner     Permits belong to the handle that acquired them.  Any thread of
 *             its process may release them; another process, or another handle,
 *             may not: it is told apart from an over-release by nothing.
 *   Memory    A wait allocates nothing.
 *   Orders    As in weir/sem.h, also between processes.
 *   Signals   Not async-signal-safe.  A signal during a wait is handled and the
 *             wait goes on, unless the handle is INTERRUPTIBLE.  No function is
 *             a thread-cancellation point.
 *   Fork      The child holds no permits.  It may use the handle: its first
 *             call makes it a participant of its own.  exec ends a process as
 *             far as permits go, also one without O_CLOEXEC descriptors.
 *   Clock     An acquire that does not wait makes no system call and decides
 *             nothing by the clock, but looks at the coarse one when it comes
 *             to hold its first permit, for weir_named_stat's since_ns.
 *   Counts    Permits are 0 .. WEIR_SEM_MAX; others are WEIR_EINVAL.
 *   Misuse    As in weir/sem.h.
 *
 * Not offered between processes: unbounded semaphores, WEIR_BARGING, and
 * release in a signal handler.
 */
typedef struct weir_named weir_named;

/* The most processes with an open handle, and the most calls that wait. */
#define WEIR_NAMED_PARTICIPANTS_MAX 4096
#define WEIR_NAMED_WAITERS_MAX 8192

/* The longest name and label, in bytes. */
#define WEIR_NAMED_NAME_MAX 128
#define WEIR_NAMED_LABEL_MAX 63

/* Flags of weir_named_opts. */
#define WEIR_NAMED_CREATE 1u		/* make it if it is not there */
#define WEIR_NAMED_EXCLUSIVE 2u		/* ... and fail (EEXIST) if it is */
#define WEIR_NAMED_SHARED 4u		/* accept a file that another user owns,
					   or that others may write */
#define WEIR_NAMED_INTERRUPTIBLE 8u	/* a signal handler that was installed
					   without SA_RESTART ends a wait, and
					   one with a deadline any handler:
					   WEIR_EINTR */

/* When a dead process's permits are free again. */
typedef enum weir_named_policy {
	/*
	 * As soon as the kernel begins to take it apart, whatever its size.
	 * Another of its threads may be inside a system call still.
	 */
	WEIR_NAMED_FAST = 0,
	/* When its last thread and its memory are gone. */
	WEIR_NAMED_STRICT = 1
} weir_named_policy;

/* Options for weir_named_open; zero means the default throughout. */
typedef struct weir_named_opts {
	int64_t capacity;	/* if it is made now */
	weir_named_policy policy;	/* if it is made now */
	uint32_t mode;		/* of the file if it is made now; 0: 0600 */
	uint32_t flags;
	const char *label;	/* what this process calls itself; copied */
	char *why;		/* a line that says what was wrong goes here; */
	size_t why_size;	/* its room */
	uint64_t reserved_[4];	/* zero, for later versions */
} weir_named_opts;

/*
 * Open the semaphore `name`, or make it.  A name without '/' stands in
 * $WEIR_DIR, else in /run/weir if that is there, else in a folder of this user
 * in /dev/shm; one with '/' is a path.  Null opts: all zero.
 *
 *   WEIR_ESYSTEM  errno says why: ENOENT it is not there; EEXIST it is; EACCES,
 *                 EPERM, ELOOP, ENOTDIR this file will not do; EBADMSG it is
 *                 damaged; EPROTO another version or machine made it; ESTALE
 *                 it is from before the last start and CREATE was not given
 *                 (with CREATE it is made anew); others from the system.
 *   WEIR_EBUSY    WEIR_NAMED_PARTICIPANTS_MAX processes have it open.
 *   WEIR_EINVAL   A name or label that is too long or impossible, ...
 *   WEIR_ENOMEM
 *
 * Starts a thread, which sleeps until close_handle.
 */
WEIR_API WEIR_MUST_USE weir_err
weir_named_open(const char *name, const weir_named_opts *opts,
		weir_named **out);

/*
 * Give back what the handle holds, as a death would, and free it.  WEIR_EBUSY,
 * with nothing changed: calls wait with it.
 * Requires: no other call on it is running or follows.
 */
WEIR_API WEIR_MUST_USE weir_err weir_named_close_handle(weir_named *sem);

/*
 * Take the name away.  Those who have it open go on among themselves; the next
 * open makes another.  WEIR_ESYSTEM: errno says why.
 */
WEIR_API WEIR_MUST_USE weir_err weir_named_unlink(const char *name);

/*
 * The same, if the name is still this semaphore's.  WEIR_ESYSTEM, errno ESTALE:
 * it is gone or another's, and stays so.  Of all who call this for semaphores by
 * one name, each takes away its own at most.
 */
WEIR_API WEIR_MUST_USE weir_err weir_named_unlink_handle(weir_named *sem);

/*
 * The path of the file that `name` means, into path, which has room for size
 * bytes.  Null name: the folder in which names stand.  Whether it is there is
 * not asked.  WEIR_EINVAL: no name of a semaphore, or too little room.
 * WEIR_ESYSTEM: there is no place for semaphores; errno says why.
 */
WEIR_API WEIR_MUST_USE weir_err
weir_named_path(const char *name, char *path, size_t size);

/*
 * A descriptor, to be passed on: as long as some process has it open, permits
 * that this handle holds when its process dies count as held.  So a process
 * whose children do the work under its permits can make sure that these stay
 * out until the last child is gone, too.  It closes on exec, unless the caller
 * changes that.  A release, and close_handle, give permits back as ever.
 * WEIR_EINVAL: the semaphore is not WEIR_NAMED_STRICT.
 */
WEIR_API WEIR_MUST_USE weir_err weir_named_lend(weir_named *sem, int *fd);

/*
 * Each as the call of the same name in weir/sem.h.  WEIR_EBUSY: as many calls
 * wait as there is room for.  WEIR_ESYSTEM: no room on the file system, or (in
 * the child of a fork) as weir_named_open.
 */
WEIR_API WEIR_MUST_USE weir_err
weir_named_acquire(weir_named *sem, int64_t n, struct weir_ctx *ctx);
WEIR_API WEIR_MUST_USE weir_err
weir_named_acquire_until(weir_named *sem, int64_t n, int64_t deadline_ns);
WEIR_API WEIR_MUST_USE weir_err
weir_named_acquire_for(weir_named *sem, int64_t n, int64_t timeout_ns);
WEIR_API WEIR_MUST_USE weir_err
weir_named_try_acquire(weir_named *sem, int64_t n);
WEIR_API WEIR_MUST_USE weir_err
weir_named_acquire_upto(weir_named *sem, int64_t min, int64_t max,
			struct weir_ctx *ctx, int64_t *got);
WEIR_API WEIR_MUST_USE weir_err
weir_named_drain(weir_named *sem, int64_t *got);

/*
 * Give n permits back.  Requires: this handle holds n; else it panics, or
 * answers WEIR_EOVERFLOW.
 */
WEIR_API void weir_named_release(weir_named *sem, int64_t n);
WEIR_API WEIR_MUST_USE weir_err
weir_named_try_release(weir_named *sem, int64_t n);

/* For all processes.  As in weir/sem.h. */
WEIR_API void weir_named_close(weir_named *sem, weir_close how);
WEIR_API bool weir_named_is_closed(weir_named *sem);
WEIR_API WEIR_MUST_USE weir_err
weir_named_resize(weir_named *sem, int64_t n, int64_t *debt);
WEIR_API WEIR_MUST_USE weir_err weir_named_forget(weir_named *sem, int64_t n);
WEIR_API WEIR_MUST_USE weir_err
weir_named_wait_idle(weir_named *sem, struct weir_ctx *ctx);

/* Free permits at this moment.  For display. */
WEIR_API int64_t weir_named_available(weir_named *sem);

typedef enum weir_named_role {
	WEIR_NAMED_HOLDS = 0,	/* a process: all that its handle holds */
	WEIR_NAMED_GRANTED = 1,	/* a call that was granted and not returned */
	WEIR_NAMED_WAITS = 2,	/* a call in the queue */
	WEIR_NAMED_OVERSIZED = 3,	/* a call outside it: more than the capacity */
	WEIR_NAMED_IDLE = 4	/* a call of weir_named_wait_idle */
} weir_named_role;

/* One holder or waiter. */
typedef struct weir_named_entry {
	weir_named_role role;
	int32_t pid;		/* as the process itself sees it: another PID
				   namespace may have another by that number */
	uint64_t pid_namespace;	/* inode of its PID namespace; 0: unknown */
	uint64_t id;		/* of the handle; no other ever has it */
	int64_t weight;		/* permits held, granted or asked for */
	int64_t since_ns;	/* when that began; a holder's is some
				   milliseconds rough */
	uint32_t place;		/* in the queue, from 1; 0: not in it */
	bool mine;		/* of this handle */
	bool dead;		/* killed, and not all of it gone (STRICT) */
	char label[WEIR_NAMED_LABEL_MAX + 1];
} weir_named_entry;

/*
 * One consistent picture: capacity == free + held + granted - debt.
 */
typedef struct weir_named_info {
	int64_t capacity;
	int64_t free;
	int64_t held;
	int64_t granted;
	int64_t debt;
	int64_t waiting_permits;	/* what the queue asks for */
	uint32_t participants;		/* open handles */
	uint32_t waiters;		/* in the queue */
	uint32_t oversized;			/* outside: impossible, or idle */
	weir_named_policy policy;
	bool closed;
	bool renamed;	/* the name is gone, or is another semaphore's now */
	uint32_t entries;		/* how many there are for entries[] */
	uint64_t reserved_[4];
} weir_named_info;

/*
 * Look.  entries (may be null) has room for max; holders come first, then the
 * queue in order, then the rest.  Dead processes are swept out first.
 */
WEIR_API WEIR_MUST_USE weir_err
weir_named_stat(weir_named *sem, weir_named_info *info,
		weir_named_entry *entries, uint32_t max);

WEIR_DECLS_END

#endif /* WEIR_NAMED_H */
