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
 * It keeps the contract of weir_sem across processes, and it survives deaths.
 * If a process is killed, then its permits go to the next waiter at once and
 * its waiters leave the queue.  If it is killed at any instruction in this
 * library, then no permit is lost or created.  There is no daemon.  While all
 * participants wait, no process polls or wakes up (for an exception see
 * WEIR_NAMED_STRICT).
 *
 * If a process is stopped (SIGSTOP, a debugger, a frozen cgroup), then it keeps
 * the permits that it holds.  If it is stopped inside one of these functions,
 * then it may also have the internal lock of the semaphore.  Even then open,
 * stat, try_acquire, drain, cancelled contexts and close_handle return after
 * some milliseconds, and calls with a deadline return at their deadline or some
 * milliseconds later; other calls wait until the process continues or dies.
 * weir_named_stat names the process.
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
 *   Threads   The threads of a process may share one handle.
 *   Owner     Permits belong to the handle that acquired them.  Any thread of
 *             its process may release them through that handle.  If another
 *             handle or another process releases them, then the call is treated
 *             as an over-release.
 *   Memory    A wait allocates nothing.
 *   Orders    As in weir/sem.h, also between processes.
 *   Signals   No function is async-signal-safe.  If a signal handler runs
 *             during a wait, then the wait continues (except with
 *             WEIR_NAMED_INTERRUPTIBLE).  No function is a thread-cancellation
 *             point.
 *   Fork      The child holds no permits.  It may use the handle; its first
 *             call makes it a participant.  If a process calls exec, then its
 *             permits are released, also if a descriptor stays open.
 *   Clock     If an acquire does not wait, then it makes no system call, and no
 *             decision depends on a clock.  If it takes the first permit of the
 *             handle, then it reads the coarse clock, for since_ns of
 *             weir_named_stat.
 *   Counts    If a count is not in 0 .. WEIR_SEM_MAX, then the result is
 *             WEIR_EINVAL.
 *   Misuse    As in weir/sem.h.
 *
 * Unbounded semaphores, WEIR_BARGING, and a release in a signal handler are not
 * available between processes.
 */
typedef struct weir_named weir_named;

/*
 * The most open handles and the most waiting calls, in all processes together.
 * A call that waited and was granted counts until the next call of its handle.
 */
#define WEIR_NAMED_PARTICIPANTS_MAX 4096
#define WEIR_NAMED_WAITERS_MAX 8192

/* The longest name and label, in bytes. */
#define WEIR_NAMED_NAME_MAX 128
#define WEIR_NAMED_LABEL_MAX 63

/* Flags of weir_named_opts. */
#define WEIR_NAMED_CREATE 1u		/* create it if it does not exist */
#define WEIR_NAMED_EXCLUSIVE 2u		/* ... and fail (EEXIST) if it does */
#define WEIR_NAMED_SHARED 4u		/* accept a file that another user owns
					   or may write */
#define WEIR_NAMED_INTERRUPTIBLE 8u	/* if a signal handler runs that was
					   installed without SA_RESTART, then a
					   wait returns WEIR_EINTR; if the wait
					   has a deadline, then any handler
					   ends it with WEIR_EINTR, unless a
					   stopped process has the lock */

#define WEIR_NAMED_OBSERVER 16u		/* the handle is no participant and is
					   not counted: only stat, is_closed,
					   available, unlink_handle and
					   close_handle can be used; close
					   and release panic, and other calls
					   return WEIR_EINVAL; not with
					   CREATE */

/* When the permits of a dead process are free again. */
typedef enum weir_named_policy {
	/*
	 * The permits are free as soon as the kernel begins to end the process,
	 * whatever its size.  Another thread of the process may still be inside
	 * a system call.
	 */
	WEIR_NAMED_FAST = 0,
	/*
	 * The permits are free when the last thread and the memory of the
	 * process are gone.  Until then the waiting processes poll; all of them
	 * together about every 2 ms.
	 */
	WEIR_NAMED_STRICT = 1
} weir_named_policy;

/* Options for weir_named_open; zero means the default in every field. */
typedef struct weir_named_opts {
	int64_t capacity;	/* used if it is created */
	weir_named_policy policy;	/* used if it is created */
	uint32_t mode;		/* of the file if it is created; 0: 0600 */
	uint32_t flags;
	const char *label;	/* name of this process; copied */
	char *why;		/* buffer for a one-line error message */
	size_t why_size;	/* size of the buffer */
	uint64_t reserved_[4];	/* zero, for later versions */
} weir_named_opts;

/*
 * Open or create the semaphore `name`.  If the name has no '/', then its file
 * is in $WEIR_DIR; if that is not set, in /run/weir; if that does not exist, in
 * a folder of this user in /dev/shm.  If the name has a '/', then it is the
 * path of the file.  Null opts have the same meaning as options that are all
 * zero.
 *
 *   WEIR_ESYSTEM  errno has the reason:
 *                 ENOENT   it does not exist;
 *                 EEXIST   it exists, and EXCLUSIVE was given;
 *                 EACCES, EPERM, ELOOP, ENOTDIR, EISDIR   the file is not
 *                          acceptable;
 *                 EBADMSG  the file is damaged;
 *                 EPROTO   another version or another kind of machine made it;
 *                 EFBIG    RLIMIT_FSIZE (ulimit -f) is too low to create it;
 *                 ENOSYS   the system does not report deaths;
 *                 others   from the system.
 *   WEIR_EBUSY    WEIR_NAMED_PARTICIPANTS_MAX handles are open.
 *   WEIR_EINVAL   A name, a label or an option is invalid.
 *   WEIR_ENOMEM   Memory is exhausted.
 *
 * The call starts the keeper thread of the handle, which sleeps until
 * weir_named_close_handle.
 */
WEIR_API WEIR_MUST_USE weir_err
weir_named_open(const char *name, const weir_named_opts *opts,
		weir_named **out);

/*
 * Release all permits of the handle, as a death would, and free it.
 * WEIR_EBUSY: calls wait with it; nothing has changed.
 * Requires: no other call on the handle is running or follows.
 */
WEIR_API WEIR_MUST_USE weir_err weir_named_close_handle(weir_named *sem);

/*
 * Remove the name.  Processes that have the semaphore open keep using it; the
 * next open with CREATE makes another one.  WEIR_ESYSTEM: errno has the reason.
 */
WEIR_API WEIR_MUST_USE weir_err weir_named_unlink(const char *name);

/*
 * Remove the name if it still refers to this semaphore.  WEIR_ESYSTEM with
 * errno ESTALE: the name is gone or refers to another semaphore, and is
 * unchanged.  If several processes call this for semaphores of one name, then
 * each removes at most its own.
 * EBUSY: another process has kept the name locked for a second.
 */
WEIR_API WEIR_MUST_USE weir_err weir_named_unlink_handle(weir_named *sem);

/*
 * Write the path of the file of `name` to path, a buffer of size bytes.  If
 * name is null, then write the folder of names.  The file need not exist.
 * WEIR_EINVAL: the name is invalid, or the buffer is too small.
 * WEIR_ESYSTEM: no folder is usable; errno has the reason.
 */
WEIR_API WEIR_MUST_USE weir_err
weir_named_path(const char *name, char *path, size_t size);

/*
 * Set *fd to a descriptor that can be passed to other processes.  If the
 * process of this handle dies, then its permits stay held while any process has
 * the descriptor open.  So a process can keep its permits held until the last
 * child that works under them has ended.  The descriptor is closed on exec,
 * unless the caller changes that.  The descriptor does not affect release and
 * close_handle.
 *
 * The descriptor is that of an empty file, which is beside the file of the
 * semaphore until the permits are released.  It is read-only, and a process
 * that has it can do nothing to the semaphore.  But it can remove the lock that
 * the descriptor carries, with fcntl(2), for all processes that have the
 * descriptor: then they keep no permits held after the death of the owner.
 *
 * WEIR_EINVAL: the semaphore is not WEIR_NAMED_STRICT.  WEIR_ESYSTEM: the file
 * cannot be created; errno has the reason.
 */
WEIR_API WEIR_MUST_USE weir_err weir_named_lend(weir_named *sem, int *fd);

/*
 * These functions work as the functions of the same name in weir/sem.h.
 * WEIR_EBUSY: WEIR_NAMED_WAITERS_MAX calls wait.  WEIR_ESYSTEM: no room on the
 * file system; or, in the child of a fork, as weir_named_open.  try_acquire and
 * drain return WEIR_EAGAIN also if a process that does not run has the internal
 * lock for some milliseconds.
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
 * Release n permits.  Requires: this handle holds n.  Otherwise release panics,
 * and try_release returns WEIR_EOVERFLOW.
 */
WEIR_API void weir_named_release(weir_named *sem, int64_t n);
WEIR_API WEIR_MUST_USE weir_err
weir_named_try_release(weir_named *sem, int64_t n);

/* As in weir/sem.h, with effect for all processes. */
WEIR_API void weir_named_close(weir_named *sem, weir_close how);
WEIR_API bool weir_named_is_closed(weir_named *sem);
WEIR_API WEIR_MUST_USE weir_err
weir_named_resize(weir_named *sem, int64_t n, int64_t *debt);

/*
 * Pause: grant no permits until a resume.  Waiters stay in the queue, and new
 * ones join it; their deadlines and cancellations work.  try_acquire returns
 * WEIR_EAGAIN, and drain gets 0.  Releases, resizes, stat and wait_idle work as
 * usual.  The pause is a state of the semaphore: it outlives the process that
 * paused it.  If the semaphore is paused already, then pause has no effect; if
 * it is not paused, then resume has no effect.  A close ends the pause.
 * WEIR_ECLOSED: the semaphore is closed.
 */
WEIR_API WEIR_MUST_USE weir_err weir_named_pause(weir_named *sem);
WEIR_API WEIR_MUST_USE weir_err weir_named_resume(weir_named *sem);

/* As in weir/sem.h. */
WEIR_API WEIR_MUST_USE weir_err weir_named_forget(weir_named *sem, int64_t n);
WEIR_API WEIR_MUST_USE weir_err
weir_named_wait_idle(weir_named *sem, struct weir_ctx *ctx);

/*
 * Returns the number of free permits.  The result is for display: it may be
 * outdated already.
 */
WEIR_API int64_t weir_named_available(weir_named *sem);

/*
 * Returns the capacity, for display, as above; -1 if the file cannot be read.
 * This is cheaper than weir_named_stat, which copies the file and checks it.
 */
WEIR_API int64_t weir_named_capacity(weir_named *sem);

typedef enum weir_named_role {
	WEIR_NAMED_HOLDS = 0,	/* a process; all permits of its handle */
	WEIR_NAMED_GRANTED = 1,	/* a granted call that has not returned */
	WEIR_NAMED_WAITS = 2,	/* a call in the queue */
	WEIR_NAMED_OVERSIZED = 3,	/* a call outside the queue */
	WEIR_NAMED_IDLE = 4,	/* a call of weir_named_wait_idle */
	WEIR_NAMED_LOCKS = 5	/* the process that is inside the internal lock
				   of the semaphore and keeps others out */
} weir_named_role;

/* A holder or a waiter. */
typedef struct weir_named_entry {
	weir_named_role role;
	int32_t pid;		/* in its own PID namespace; another
				   namespace may use the same number */
	uint64_t pid_namespace;	/* inode of its PID namespace; 0: unknown */
	uint64_t id;		/* of the handle; never used again */
	int64_t weight;		/* permits held, granted or requested */
	int64_t since_ns;	/* start of the hold or of the wait; of a
				   hold with an error of milliseconds */
	uint32_t place;		/* in the queue, from 1; 0: not in it */
	bool mine;		/* belongs to this handle */
	bool dead;		/* killed, not completely gone (STRICT) */
	char label[WEIR_NAMED_LABEL_MAX + 1];
} weir_named_entry;

/* A snapshot: capacity == free + held + granted - debt. */
typedef struct weir_named_info {
	int64_t capacity;
	int64_t free;
	int64_t held;
	int64_t granted;
	int64_t debt;
	int64_t waiting_permits;	/* sum of the queued weights */
	uint32_t participants;		/* open handles */
	uint32_t waiters;		/* in the queue */
	uint32_t oversized;		/* outside the queue, also for idle */
	weir_named_policy policy;
	bool closed;
	bool renamed;	/* the name is gone or has been reused */
	bool paused;	/* weir_named_pause */
	bool inconsistent;	/* other processes changed it meanwhile */
	uint32_t entries;		/* number of existing entries */
	uint64_t reclaimed;	/* permits that came back so far because their
				   holder died or called exec */
	uint64_t misuses;	/* releases so far of more permits than the
				   handle held; modulo 2^32 */
	uint64_t reserved_[2];
} weir_named_info;

/*
 * Fill in *info, and up to max entries (entries may be null): first the
 * holders, then the queue in order, then the rest.  Dead processes whose
 * permits are free again do not count.
 *
 * The call takes no lock and does not wait.  It reads the file until it has a
 * copy that no process has changed meanwhile, but only a limited number of
 * times.  If none of the copies is consistent, then info->inconsistent is true,
 * and the entries may be of different moments.  If one process was inside the
 * internal lock all the time, because it is stopped or has lost its CPU, then
 * the first entry is that process, as WEIR_NAMED_LOCKS.
 *
 * WEIR_ESYSTEM with EBADMSG: the file is damaged.
 */
WEIR_API WEIR_MUST_USE weir_err
weir_named_stat(weir_named *sem, weir_named_info *info,
		weir_named_entry *entries, uint32_t max);

WEIR_DECLS_END

#endif /* WEIR_NAMED_H */
