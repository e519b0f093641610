/* SPDX-License-Identifier: MIT */
/* Threads that faults affect: job.h. */
#include "job.h"

#include <errno.h>
#include <inttypes.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "inject.h"
#include "real.h"

static _Thread_local struct job *self;
static _Thread_local bool armed;

void (*job_prologue)(void);

bool job_is_armed(void)
{
	return armed;
}

void job_counts_a_wait(void)
{
	if (self)
		__atomic_add_fetch(&self->waits, 1, __ATOMIC_SEQ_CST);
}

void job_counts_a_nap(void)
{
	if (self)
		__atomic_add_fetch(&self->naps, 1, __ATOMIC_SEQ_CST);
}

static void *run_job(void *arg)
{
	struct job *j = arg;

	self = j;
	j->tid = (int)__real_syscall(SYS_gettid);
	if (job_prologue)
		job_prologue();
	armed = true;
	errno = 0;
	j->err = j->call(j);
	j->saved_errno = errno;
	armed = false;
	self = NULL;
	__atomic_store_n(&j->done, true, __ATOMIC_SEQ_CST);
	/*
	 * A thread without futexes must not contend with another while it
	 * exits.
	 */
	while (job_prologue && !__atomic_load_n(&j->leave, __ATOMIC_SEQ_CST))
		__real_sched_yield();
	return NULL;
}

void job_start(struct job *j)
{
	if (j->ctx && j->call != do_ctx_init)
		j->ctx_deadline = weir_ctx_deadline(j->ctx);
	j->thread = start(run_job, j);
}

bool job_is_done(const struct job *j)
{
	return __atomic_load_n(&j->done, __ATOMIC_SEQ_CST);
}

bool job_has_slept(const struct job *j)
{
	return job_is_done(j) || __atomic_load_n(&j->waits, __ATOMIC_SEQ_CST) ||
	       __atomic_load_n(&j->naps, __ATOMIC_SEQ_CST);
}

static uint32_t listed(weir_sem *sem)
{
	weir_sem_info info = stat_of(sem);

	return info.waiters + info.oversized;
}

void job_queue(struct job *j)
{
	uint32_t before = listed(j->sem);

	job_start(j);
	UNTIL(job_is_done(j) || listed(j->sem) > before ||
	      /* Other waiters may time out and leave while this one arrives. */
	      (clock_is_changed() &&
	       __atomic_load_n(&j->waits, __ATOMIC_SEQ_CST)));
	UNTIL(job_has_slept(j));
}

static bool is_gone(int tid)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/self/task/%d", tid);
	return access(path, F_OK) != 0;
}

void job_join(struct job *j)
{
	UNTIL(job_is_done(j));
	__atomic_store_n(&j->leave, true, __ATOMIC_SEQ_CST);
	/* A thread without futexes cannot wake the thread that joins it. */
	if (job_prologue)
		UNTIL(is_gone(j->tid));
	finish(j->thread);
	/*
	 * The library preserves errno (base/futex.h), except with these errors.
	 */
	if (j->err != WEIR_ESYSTEM && j->err != WEIR_ENOMEM && j->saved_errno)
		check_fail(__FILE__, __LINE__, "errno is %d",
			   j->saved_errno);
}

static bool is_late(const struct job *j)
{
	return j->err == WEIR_ETIMEDOUT ||
	       (j->call == do_ctx_wait && j->err == WEIR_EAGAIN);
}

/* The deadline that the error refers to; WEIR_FOREVER: the error is wrong. */
static int64_t deadline_of(const struct job *j)
{
	if (j->ctx && j->err == WEIR_ETIMEDOUT)
		return j->ctx_deadline;
	/* With a changed clock only the library knows the deadline. */
	if (j->call == do_acquire_for && clock_is_changed())
		return INT64_MIN;
	return j->deadline ? j->deadline : WEIR_FOREVER;
}

void job_ends_at(const char *file, int line, struct job *j, weir_err want)
{
	int64_t latest;

	job_join(j);
	latest = clock_latest();
	if (is_late(j) && deadline_of(j) == WEIR_FOREVER)
		check_fail(file, line, "%s without a deadline",
			   weir_err_name(j->err));
	if (is_late(j) && latest < deadline_of(j))
		check_fail(file, line, "%s %" PRId64 " ns before the deadline",
			   weir_err_name(j->err), deadline_of(j) - latest);
	if (j->err == want || (is_late(j) && clock_is_changed()))
		return;
	check_fail(file, line, "%s, not %s", weir_err_name(j->err),
		   weir_err_name(want));
}

weir_err run(weir_err (*call)(struct job *j), weir_sem *sem, int64_t n)
{
	struct job j = { .call = call, .sem = sem, .n = n };

	job_start(&j);
	job_join(&j);
	return j.err;
}

weir_err run_ctx(weir_err (*call)(struct job *j), weir_ctx *ctx)
{
	struct job j = { .call = call, .ctx = ctx };

	job_start(&j);
	job_join(&j);
	return j.err;
}

int64_t job_limit_ns(void)
{
	const char *limit = getenv("WEIR_TEST_LIMIT");
	int64_t seconds = limit && atoi(limit) > 0 ? atoi(limit) : 120;

	return seconds * 1000000000 / 6;
}

void until_pause(const char *file, int line, const char *what,
		 int64_t *started_ns)
{
	struct timespec nap = { 0, 20000 };
	int64_t now = clock_real();

	fault_repeat_lost_wakes();
	if (!*started_ns)
		*started_ns = now;
	if (now - *started_ns > job_limit_ns())
		check_fail(file, line, "hangs, waiting for: %s", what);
	if (now - *started_ns < 200000)
		__real_sched_yield();
	else
		nanosleep(&nap, NULL);
}
