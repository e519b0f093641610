/* SPDX-License-Identifier: MIT */
/*
 * A job is one call of the library on a thread of its own, the only kind of
 * thread that faults befall.
 *
 *     struct job a = { .call = do_acquire, .sem = &sem, .n = 1 };
 *     job_queue(&a);                      now it waits, or has returned
 *     run(do_release, &sem, 1);
 *     job_ends(&a, WEIR_OK);
 */
#ifndef TESTS_FAULT_JOB_H
#define TESTS_FAULT_JOB_H

#include "check.h"
#include "weir/ctx.h"
#include "weir/permit.h"

struct job {
	weir_err (*call)(struct job *j);
	weir_sem *sem;
	weir_ctx *ctx, *parent;
	weir_permit *permit;
	int64_t n, max;		/* permits; or a timeout in ns */
	int64_t deadline, ctx_deadline;
	int64_t got;
	int fd;
	int saved_errno;
	weir_err err;
	int waits;		/* sleeps begun, */
	int naps;		/* and naps, for a lock */
	int turn;		/* of those that passed permits on */
	bool done, leave;
	int tid;
	check_thread thread;
};

/* Whether faults befall this thread; it has come to a futex wait. */
bool job_is_armed(void);
void job_counts_a_wait(void);
void job_counts_a_nap(void);

/* If set, every job's thread runs it first. */
extern void (*job_prologue)(void);

void job_start(struct job *j);
bool job_is_done(const struct job *j);

/* Begun to sleep, or done without. */
bool job_has_slept(const struct job *j);

/* Start it and wait until it is on a list of j->sem, and sleeps. */
void job_queue(struct job *j);

/* Join it. */
void job_join(struct job *j);

/*
 * Join it and check what it returned.  By a clock that leaps it may be too late
 * instead; never before the deadline has come by that clock (C15).
 */
#define job_ends(j, want) job_ends_at(__FILE__, __LINE__, j, want)
void job_ends_at(const char *file, int line, struct job *j, weir_err want);

/* A whole job, for calls that do not wait. */
weir_err run(weir_err (*call)(struct job *j), weir_sem *sem, int64_t n);
weir_err run_ctx(weir_err (*call)(struct job *j), weir_ctx *ctx);

weir_err do_acquire(struct job *j);
weir_err do_acquire_until(struct job *j);	/* deadline */
weir_err do_acquire_for(struct job *j);		/* max: the timeout */
weir_err do_acquire_upto(struct job *j);
weir_err do_drain(struct job *j);
weir_err do_try_acquire(struct job *j);
weir_err do_acquire_and_release(struct job *j);
weir_err do_acquire_and_destroy(struct job *j);
weir_err do_release(struct job *j);
weir_err do_try_release(struct job *j);
weir_err do_close(struct job *j);		/* n: how */
weir_err do_resize(struct job *j);
weir_err do_forget(struct job *j);
weir_err do_destroy(struct job *j);
weir_err do_stat(struct job *j);
weir_err do_wait_idle(struct job *j);
weir_err do_new(struct job *j);			/* n permits, into sem */
weir_err do_unref(struct job *j);
weir_err do_permit_acquire(struct job *j);
weir_err do_permit_release(struct job *j);
weir_err do_cancel(struct job *j);
weir_err do_ctx_err(struct job *j);
weir_err do_ctx_wait(struct job *j);		/* deadline */
weir_err do_ctx_init(struct job *j);		/* parent, deadline */
weir_err do_ctx_destroy(struct job *j);
weir_err do_ctx_fd(struct job *j);		/* into fd */
weir_err do_ctx_come_and_go(struct job *j);	/* below parent */

/* Turns are counted from here. */
void turns_from_zero(void);

/*
 * Wait for something that has no event of its own, by the real clock.  Says
 * which fault it was that brought things to a halt.
 */
void until_pause(const char *file, int line, const char *what,
		 int64_t *started_ns);
#define UNTIL(condition)                                                       \
	do {                                                                   \
		int64_t until_started_ = 0;                                    \
		while (!(condition))                                           \
			until_pause(__FILE__, __LINE__, #condition,            \
				    &until_started_);                          \
	} while (0)

#endif /* TESTS_FAULT_JOB_H */
