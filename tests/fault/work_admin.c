/* SPDX-License-Identifier: MIT */
/* Works: close, resize, destroy, fork, the heap. */
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "work.h"

/* C11, C19, C20: close refuses waiters for permits, not waiters for idle. */
void work_close(void)
{
	weir_sem sem = WEIR_SEM_INIT(1);
	weir_ctx ctx = WEIR_CTX_INIT;
	struct job a = { .call = do_acquire, .sem = &sem, .n = 1 };
	struct job b = { .call = do_acquire, .sem = &sem, .n = 2, .ctx = &ctx };
	struct job idle = { .call = do_wait_idle, .sem = &sem };

	CHECK_OK(weir_sem_acquire(&sem, 1, NULL));
	job_queue(&a);
	job_queue(&b);
	job_queue(&idle);
	CHECK_OK(run(do_close, &sem, WEIR_CLOSE_NOW));
	job_ends(&a, WEIR_ECLOSED);
	job_ends(&b, WEIR_ECLOSED);
	CHECK(!job_is_done(&idle));
	CHECK_ERR(run(do_acquire, &sem, 1), WEIR_ECLOSED);
	CHECK_OK(run(do_release, &sem, 1));
	job_ends(&idle, WEIR_OK);
	check_rest(&sem, 1);
	CHECK_OK(weir_ctx_destroy(&ctx));
	CHECK_OK(weir_sem_destroy(&sem));
}

/* C19: a drain close grants to waiters that fit and refuses the others. */
void work_close_drain(void)
{
	weir_sem sem = WEIR_SEM_INIT(2);
	struct job a = { .call = do_acquire, .sem = &sem, .n = 2 };
	struct job b = { .call = do_acquire, .sem = &sem, .n = 1 };

	CHECK_OK(weir_sem_acquire(&sem, 1, NULL));
	job_queue(&a);
	job_queue(&b);
	CHECK_OK(run(do_close, &sem, WEIR_CLOSE_DRAIN));
	job_ends(&a, WEIR_ECLOSED);
	job_ends(&b, WEIR_OK);
	CHECK_OK(run(do_release, &sem, 2));
	check_rest(&sem, 2);
	CHECK_OK(weir_sem_destroy(&sem));
}

/* C11, C21: growth grants; a shrink creates a debt that releases pay. */
void work_resize(void)
{
	weir_sem sem = WEIR_SEM_INIT(1);
	weir_ctx ctx = WEIR_CTX_INIT;
	struct job a = { .call = do_acquire, .sem = &sem, .n = 1 };
	struct job b = { .call = do_acquire, .sem = &sem, .n = 3, .ctx = &ctx };
	struct job shrink = { .call = do_resize, .sem = &sem, .n = 1 };

	CHECK_OK(weir_sem_acquire(&sem, 1, NULL));
	job_queue(&a);
	job_queue(&b);
	CHECK_EQ(oversized_of(&sem), 1);
	CHECK_OK(run(do_resize, &sem, 4));
	job_ends(&a, WEIR_OK);
	CHECK_EQ(waiters_of(&sem), 1);
	CHECK_OK(run(do_release, &sem, 1));
	job_ends(&b, WEIR_OK);
	job_start(&shrink);
	job_ends(&shrink, WEIR_OK);
	CHECK_EQ(shrink.got, 3);
	CHECK_IDENTITY(&sem);
	CHECK_OK(run(do_forget, &sem, 1));
	CHECK_EQ(stat_of(&sem).debt, 2);
	CHECK_OK(run(do_release, &sem, 3));
	check_rest(&sem, 1);
	CHECK_OK(weir_ctx_destroy(&ctx));
	CHECK_OK(weir_sem_destroy(&sem));
}

/* C13, C20: wait until all permits are free, or the context has ended. */
void work_idle(void)
{
	weir_sem sem = WEIR_SEM_INIT(2);
	weir_ctx ctx = WEIR_CTX_INIT;
	struct job a = { .call = do_wait_idle, .sem = &sem };
	struct job b = { .call = do_wait_idle, .sem = &sem, .ctx = &ctx };

	CHECK_OK(weir_sem_acquire(&sem, 1, NULL));
	job_queue(&a);
	job_queue(&b);
	CHECK_OK(run_ctx(do_cancel, &ctx));
	job_ends(&b, WEIR_ECANCELED);
	CHECK(!job_is_done(&a));
	CHECK_OK(run(do_release, &sem, 1));
	job_ends(&a, WEIR_OK);
	check_rest(&sem, 2);
	CHECK_OK(weir_ctx_destroy(&ctx));
	CHECK_OK(weir_sem_destroy(&sem));
}

/* C22: destroy is refused while a call waits; a granted caller may destroy. */
void work_destroy(void)
{
	weir_sem sem = WEIR_SEM_INIT(1);
	struct job a = { .call = do_acquire_and_destroy, .sem = &sem, .n = 1 };

	CHECK_OK(weir_sem_acquire(&sem, 1, NULL));
	job_queue(&a);
	CHECK_ERR(run(do_destroy, &sem, 0), WEIR_EBUSY);
	CHECK_OK(run(do_release, &sem, 1));
	job_ends(&a, WEIR_OK);
	CHECK_OK(weir_sem_init(&sem, 1));
	check_rest(&sem, 1);
	CHECK_OK(weir_sem_destroy(&sem));
}

/* C8: releasing too many permits calls the panic hook and has no effect. */
void work_panic(void)
{
	weir_sem sem = WEIR_SEM_INIT(1);
	struct job a = { .call = do_acquire, .sem = &sem, .n = 1 };

	CHECK_OK(weir_sem_acquire(&sem, 1, NULL));
	job_queue(&a);
	CHECK_PANICS("2 permits released, 1 held",
		     (void)run(do_release, &sem, 2));
	CHECK_ERR(run(do_try_release, &sem, 2), WEIR_EOVERFLOW);
	CHECK(!job_is_done(&a));
	CHECK_OK(run(do_release, &sem, 1));
	job_ends(&a, WEIR_OK);
	CHECK_OK(run(do_release, &sem, 1));
	check_rest(&sem, 1);
	CHECK_OK(weir_sem_destroy(&sem));
}

static void exit_detected(const char *message)
{
	_exit(strstr(message, "fork") ? 42 : 43);
}

/*
 * C29: use in the child after a fork with waiters is detected; the parent's
 * semaphore still works.
 */
void work_fork(void)
{
	weir_sem sem = WEIR_SEM_INIT(1);
	struct job a = { .call = do_acquire, .sem = &sem, .n = 1 };
	weir_sem_info info;
	int status;
	pid_t pid;

	CHECK_OK(weir_sem_acquire(&sem, 1, NULL));
	job_queue(&a);
	pid = fork();
	CHECK(pid >= 0);
	if (!pid) {
		signal(SIGALRM, SIG_DFL);
		alarm(60);
		weir_set_panic_hook(exit_detected);
		/*
		 * Not a release: it may take the fast path while the waiter
		 * spins.
		 */
		(void)!weir_sem_stat(&sem, &info);
		_exit(0);
	}
	CHECK_EQ(waitpid(pid, &status, 0), pid);
	CHECK(WIFEXITED(status));
	CHECK_EQ(WEXITSTATUS(status), 42);
	CHECK_OK(run(do_release, &sem, 1));
	job_ends(&a, WEIR_OK);
	CHECK_OK(run(do_release, &sem, 1));
	check_rest(&sem, 1);
	CHECK_OK(weir_sem_destroy(&sem));
}

/* C34: owned permits keep a semaphore on the heap alive. */
void work_heap(void)
{
	struct job make = { .call = do_new, .n = 2 };
	weir_permit p = WEIR_PERMIT_INIT, part = WEIR_PERMIT_INIT;
	struct job a = { .call = do_permit_acquire, .n = 2, .permit = &p };
	struct job b = { .call = do_permit_release, .permit = &part };
	struct job c = { .call = do_permit_release, .permit = &p };

	job_start(&make);
	job_join(&make);
	/* Out of memory: no effect, and the next call succeeds. */
	if (!make.sem) {
		CHECK(fault_now() && fault_now()->place == AT_MEMORY);
		CHECK_EQ(fault_live_blocks(), 0);
		CHECK_OK(do_new(&make));
	}
	CHECK_EQ(fault_live_blocks(), 1);
	a.sem = make.sem;
	CHECK_OK(weir_sem_acquire(a.sem, 1, NULL));
	job_queue(&a);
	CHECK_OK(run(do_release, a.sem, 1));
	job_ends(&a, WEIR_OK);
	CHECK_OK(weir_permit_split(&p, 1, &part));
	job_start(&b);
	job_ends(&b, WEIR_OK);
	CHECK_EQ(weir_permit_count(&part), 0);
	CHECK_EQ(stat_of(a.sem).held, 1);
	CHECK_EQ(fault_live_blocks(), 1);
	CHECK_OK(weir_sem_ref(a.sem) ? WEIR_OK : WEIR_EINVAL);
	job_start(&c);
	job_ends(&c, WEIR_OK);
	CHECK_OK(run(do_unref, a.sem, 0));
	check_rest(a.sem, 2);
	CHECK_OK(run(do_unref, a.sem, 0));
	CHECK_EQ(fault_live_blocks(), 0);
}
