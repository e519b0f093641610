/* SPDX-License-Identifier: MIT */
/*
 * A job is one library call on its own thread.  Faults affect only the threads
 * of jobs.
 *
 *     struct job a = { .call = do_acquire, .sem = &sem, .n = 1 };
 *     job_queue(&a);                      it waits now, or has returned
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
	int waits;		/* waits begun */
	int naps;		/* naps begun, for a lock */
	int turn;		/* order of release, from 0 */
	bool done, leave;
	int tid;
	check_thread thread;
};

/*
 * Returns true if faults affect this thread.  The other two count its futex
 * waits and naps.
 */
bool job_is_armed(void);
void job_counts_a_wait(void);
void job_counts_a_nap(void);

/* If set, the thread of every job calls it first. */
extern void (*job_prologue)(void);

void job_start(struct job *j);
bool job_is_done(const struct job *j);

/* Returns true if the job has begun to sleep, or is done. */
bool job_has_slept(const struct job *j);

/* Start the job and wait until it is on a list of j->sem and sleeps. */
void job_queue(struct job *j);

/* Join the job. */
void job_join(struct job *j);

/*
 * Join the job and check its result.  With a changed clock the result may be a
 * timeout instead, but never before the deadline has passed on that clock
 * (C15).
 */
#define job_ends(j, want) job_ends_at(__FILE__, __LINE__, j, want)
void job_ends_at(const char *file, int line, struct job *j, weir_err want);

/* Run a complete job, for calls that do not wait. */
weir_err run(weir_err (*call)(struct job *j), weir_sem *sem, int64_t n);
weir_err run_ctx(weir_err (*call)(struct job *j), weir_ctx *ctx);

weir_err do_acquire(struct job *j);
weir_err do_acquire_until(struct job *j);	/* deadline */
weir_err do_acquire_for(struct job *j);		/* timeout: max */
weir_err do_acquire_upto(struct job *j);
weir_err do_drain(struct job *j);
weir_err do_try_acquire(struct job *j);
weir_err do_acquire_and_release(struct job *j);
weir_err do_acquire_and_destroy(struct job *j);
weir_err do_release(struct job *j);
weir_err do_try_release(struct job *j);
weir_err do_close(struct job *j);		/* n: the weir_close */
weir_err do_resize(struct job *j);
weir_err do_forget(struct job *j);
weir_err do_destroy(struct job *j);
weir_err do_stat(struct job *j);
weir_err do_wait_idle(struct job *j);
weir_err do_new(struct job *j);			/* n permits, sets sem */
weir_err do_unref(struct job *j);
weir_err do_permit_acquire(struct job *j);
weir_err do_permit_release(struct job *j);
weir_err do_cancel(struct job *j);
weir_err do_ctx_err(struct job *j);
weir_err do_ctx_wait(struct job *j);		/* deadline */
weir_err do_ctx_init(struct job *j);		/* parent, deadline */
weir_err do_ctx_destroy(struct job *j);
weir_err do_ctx_fd(struct job *j);		/* sets fd */
weir_err do_ctx_come_and_go(struct job *j);	/* a child of parent */

/* Reset the counter of `turn`. */
void turns_from_zero(void);

/* A sixth of the program's time limit: a job that takes longer hangs. */
int64_t job_limit_ns(void);

/*
 * Wait, by the real clock, for a condition that signals no event.  On timeout
 * the message names the active fault.
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
