/* SPDX-License-Identifier: MIT */
/*
 * A job is one blocking call on its own thread, so that a test can inspect the
 * semaphore while the call waits.
 *
 *     job a;
 *     queue_up(&a, &sem, 2, NULL);        it is in the queue now
 *     weir_sem_release(&sem, 2);
 *     CHECK_OK(job_end(&a));              joins the thread
 *
 * A job can be frozen: its thread is held in a signal handler, wherever the
 * call is, until it is thawed.  The state "granted but not yet returned" then
 * lasts as long as needed, so that races of a grant with a cancellation or a
 * deadline can be tested deterministically.
 */
#ifndef TESTS_UNIT_JOB_H
#define TESTS_UNIT_JOB_H

#include <stddef.h>

#include "check.h"
#include "weir/ctx.h"

typedef struct job {
	weir_sem *sem;
	weir_ctx *ctx;
	int64_t n, max;		/* max < 0: a plain acquire */
	int64_t deadline;	/* used if has_deadline */
	bool has_deadline;
	bool idle;		/* wait_idle instead of an acquire */
	bool release_at_once;	/* release the permits at once */
	int64_t got;
	weir_err err;
	int turn;		/* number of jobs that ended before */
	int done;
	int tid;
	check_thread thread;
} job;

/* Reset the counter of turns. */
void turns_from_zero(void);

/* Start a call and wait until it is parked in the queue. */
void queue_up(job *j, weir_sem *sem, int64_t n, weir_ctx *ctx);
void queue_up_until(job *j, weir_sem *sem, int64_t n, int64_t deadline);
void queue_up_upto(job *j, weir_sem *sem, int64_t min, int64_t max,
		   weir_ctx *ctx);
void queue_up_releasing(job *j, weir_sem *sem, int64_t n);

/* Start a call and wait until it is parked on the oversized list. */
void wait_oversized(job *j, weir_sem *sem, int64_t n, weir_ctx *ctx);
void wait_for_idle(job *j, weir_sem *sem, weir_ctx *ctx);

/* Start a call without waiting for its progress. */
void job_start(job *j);

bool job_done(job *j);

/* Returns true if the call is parked in the kernel. */
bool job_asleep(job *j);
weir_err job_end(job *j);

/*
 * Freeze the thread of j, which is parked.  Returns false if its call has returned:
 * a call whose deadline has passed is not frozen.
 */
bool job_freeze(job *j);
void jobs_thaw(void);

/* Returns true if all fields except oldest_wait_ns are equal. */
bool same_stat(weir_sem_info a, weir_sem_info b);

/*
 * Run fn in a child process. text gets its standard error; the result is that
 * of waitpid.  A child whose fn returns exits with 0.
 */
int in_child(void (*fn)(void), char *text, size_t size);

#endif /* TESTS_UNIT_JOB_H */
