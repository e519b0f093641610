/* SPDX-License-Identifier: MIT */
#include "job.h"

#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

static int turns;
static int frozen;
static int thawed;
static int missed;	/* signals that did not freeze a job */
static _Thread_local weir_sem *sem_here;
static _Thread_local int64_t ends_ns;	/* when the call may begin to leave */

void turns_from_zero(void)
{
	__atomic_store_n(&turns, 0, __ATOMIC_SEQ_CST);
}

static weir_err call(job *j)
{
	weir_err err;

	if (j->idle)
		return weir_sem_wait_idle(j->sem, j->ctx);
	if (j->max >= 0)
		return weir_sem_acquire_upto(j->sem, j->n, j->max, j->ctx,
					     &j->got);
	if (j->has_deadline)
		err = weir_sem_acquire_until(j->sem, j->n, j->deadline);
	else
		err = weir_sem_acquire(j->sem, j->n, j->ctx);
	j->got = err ? 0 : j->n;
	return err;
}

static void *run(void *arg)
{
	job *j = arg;

	sem_here = j->sem;
	ends_ns = j->has_deadline ? j->deadline :
		  j->ctx ? weir_ctx_deadline(j->ctx) : WEIR_FOREVER;
	__atomic_store_n(&j->tid, (int)syscall(SYS_gettid), __ATOMIC_SEQ_CST);
	j->err = call(j);
	j->turn = __atomic_fetch_add(&turns, 1, __ATOMIC_SEQ_CST);
	if (j->release_at_once && !j->err)
		weir_sem_release(j->sem, j->got);
	__atomic_store_n(&j->done, 1, __ATOMIC_SEQ_CST);
	return NULL;
}

void job_start(job *j)
{
	j->got = -1;
	j->done = 0;
	j->tid = 0;
	j->thread = start(run, j);
}

bool job_asleep(job *j)
{
	return check_asleep(__atomic_load_n(&j->tid, __ATOMIC_SEQ_CST));
}

static void start_queued(job *j)
{
	uint32_t before = waiters_of(j->sem);

	job_start(j);
	AWAIT(waiters_of(j->sem) == before + 1);
	AWAIT(job_asleep(j));
}

void queue_up(job *j, weir_sem *sem, int64_t n, weir_ctx *ctx)
{
	*j = (job){ .sem = sem, .n = n, .max = -1, .ctx = ctx };
	start_queued(j);
}

void queue_up_until(job *j, weir_sem *sem, int64_t n, int64_t deadline)
{
	*j = (job){ .sem = sem, .n = n, .max = -1, .deadline = deadline,
		    .has_deadline = true };
	start_queued(j);
}

void queue_up_upto(job *j, weir_sem *sem, int64_t min, int64_t max,
		   weir_ctx *ctx)
{
	*j = (job){ .sem = sem, .n = min, .max = max, .ctx = ctx };
	start_queued(j);
}

void queue_up_releasing(job *j, weir_sem *sem, int64_t n)
{
	*j = (job){ .sem = sem, .n = n, .max = -1, .release_at_once = true };
	start_queued(j);
}

static void start_oversized(job *j)
{
	uint32_t before = oversized_of(j->sem);

	job_start(j);
	AWAIT(oversized_of(j->sem) == before + 1);
	AWAIT(job_asleep(j));
}

void wait_oversized(job *j, weir_sem *sem, int64_t n, weir_ctx *ctx)
{
	*j = (job){ .sem = sem, .n = n, .max = -1, .ctx = ctx };
	start_oversized(j);
}

void wait_for_idle(job *j, weir_sem *sem, weir_ctx *ctx)
{
	*j = (job){ .sem = sem, .max = -1, .ctx = ctx, .idle = true };
	start_oversized(j);
}

bool job_done(job *j)
{
	return __atomic_load_n(&j->done, __ATOMIC_SEQ_CST);
}

weir_err job_end(job *j)
{
	finish(j->thread);
	return j->err;
}

/*
 * A thread that may have the lock is not stopped.  If its deadline has passed, its call
 * returns.  A barging waiter takes the lock once when it reaches the starvation bound, and
 * parks again.
 */
static void hold(int signal)
{
	(void)signal;
	if ((ends_ns != WEIR_FOREVER && weir_now_ns() >= ends_ns) ||
	    (__atomic_load_n(&sem_here->word_, __ATOMIC_RELAXED) & 3) == 3) {
		__atomic_add_fetch(&missed, 1, __ATOMIC_SEQ_CST);
		return;
	}
	__atomic_add_fetch(&frozen, 1, __ATOMIC_SEQ_CST);
	while (!__atomic_load_n(&thawed, __ATOMIC_SEQ_CST))
		poll(NULL, 0, 1);
	__atomic_sub_fetch(&frozen, 1, __ATOMIC_SEQ_CST);
}

bool job_freeze(job *j)
{
	struct sigaction action;
	int before = __atomic_load_n(&frozen, __ATOMIC_SEQ_CST);

	memset(&action, 0, sizeof(action));
	action.sa_handler = hold;
	CHECK_EQ(sigaction(SIGUSR2, &action, NULL), 0);
	__atomic_store_n(&thawed, 0, __ATOMIC_SEQ_CST);
	while (!job_done(j)) {
		int misses = __atomic_load_n(&missed, __ATOMIC_SEQ_CST);

		CHECK_EQ(pthread_kill(j->thread.id, SIGUSR2), 0);
		AWAIT(__atomic_load_n(&frozen, __ATOMIC_SEQ_CST) == before + 1 ||
		      __atomic_load_n(&missed, __ATOMIC_SEQ_CST) != misses ||
		      job_done(j));
		if (__atomic_load_n(&frozen, __ATOMIC_SEQ_CST) == before + 1)
			return true;
		AWAIT(job_done(j) || job_asleep(j));
	}
	return false;
}

void jobs_thaw(void)
{
	__atomic_store_n(&thawed, 1, __ATOMIC_SEQ_CST);
	AWAIT(__atomic_load_n(&frozen, __ATOMIC_SEQ_CST) == 0);
}

bool same_stat(weir_sem_info a, weir_sem_info b)
{
	return a.name == b.name && a.capacity == b.capacity &&
	       a.free == b.free && a.held == b.held &&
	       a.granted == b.granted && a.debt == b.debt &&
	       a.waiting_permits == b.waiting_permits &&
	       a.waiters == b.waiters && a.oversized == b.oversized &&
	       a.policy == b.policy && a.unbounded == b.unbounded &&
	       a.closed == b.closed;
}

int in_child(void (*fn)(void), char *text, size_t size)
{
	int ends[2], status = 0;
	size_t used = 0;
	ssize_t got;
	pid_t pid;

	CHECK_EQ(pipe(ends), 0);
	pid = fork();
	CHECK(pid >= 0);
	if (!pid) {
		/*
		 * A child that hangs ends by itself; one that aborts leaves no
		 * core file.
		 */
		alarm(60);
		setrlimit(RLIMIT_CORE, &(struct rlimit){ 0, 0 });
		dup2(ends[1], 2);
		close(ends[0]);
		close(ends[1]);
		fn();
		_exit(0);
	}
	close(ends[1]);
	while (used + 1 < size &&
	       (got = read(ends[0], text + used, size - 1 - used)) > 0)
		used += (size_t)got;
	text[used] = '\0';
	/* An emulator prints its own message on abort. */
	if (strstr(text, "qemu: "))
		*strstr(text, "qemu: ") = '\0';
	close(ends[0]);
	CHECK_EQ(waitpid(pid, &status, 0), pid);
	return status;
}
