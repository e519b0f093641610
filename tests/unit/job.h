/* SPDX-License-Identifier: MIT */
/*
 * A job is one blocking call on a thread of its own, so that a test can look at
 * the semaphore while the call waits.
 *
 *     job a;
 *     queue_up(&a, &sem, 2, NULL);        now it is in the queue
 *     weir_sem_release(&sem, 2);
 *     CHECK_OK(job_end(&a));              joins the thread
 *
 * A job can be frozen: its thread is held in a signal handler, wherever the
 * call is, and goes on when thawed.  That makes "granted, and not yet returned"
 * a state that lasts, so the moments when a grant meets a cancellation or a
 * deadline can be tested without luck.
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
	int64_t deadline;	/* used when has_deadline */
	bool has_deadline;
	bool idle;		/* wait_idle instead of an acquire */
	bool pass_on;		/* release what was got, at once */
	int64_t got;
	weir_err err;
	int turn;		/* how many jobs of this test ended before */
	int done;
	int tid;
	check_thread thread;
} job;

/* Start counting turns from 0. */
void turns_from_zero(void);

/* Start a call and wait until it sleeps in the queue. */
void queue_up(job *j, weir_sem *sem, int64_t n, weir_ctx *ctx);
void queue_up_until(job *j, weir_sem *sem, int64_t n, int64_t deadline);
void queue_up_upto(job *j, weir_sem *sem, int64_t min, int64_t max,
		   weir_ctx *ctx);
void queue_up_passing_on(job *j, weir_sem *sem, int64_t n);

/* Start a call and wait until it sleeps outside the queue. */
void wait_oversized(job *j, weir_sem *sem, int64_t n, weir_ctx *ctx);
void watch_idle(job *j, weir_sem *sem, weir_ctx *ctx);

/* Start a call and wait for nothing. */
void job_start(job *j);

bool job_done(job *j);

/* In the kernel, so with all preparations made. */
bool job_asleep(job *j);
weir_err job_end(job *j);

/* Hold the thread of j; false: its call had already returned. */
bool job_freeze(job *j);
void jobs_thaw(void);

/* The whole picture but for the one number that time alone changes. */
bool same_stat(weir_sem_info a, weir_sem_info b);

/*
 * Run fn in a child process.  What it wrote to standard error is in text; the
 * result is as from waitpid.  A child whose fn returns exits with 0.
 */
int in_child(void (*fn)(void), char *text, size_t size);

#endif /* TESTS_UNIT_JOB_H */
