/* SPDX-License-Identifier: MIT */
/*
 * Acquiring into a permit and releasing it, C34: acquire, acquire_until,
 * try_acquire and release, their errors, and the state after each.
 */
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "check.h"
#include "holds.h"
#include "weir/ctx.h"
#include "weir/permit.h"

/* C34: a permit remembers its semaphore and its count. */
TEST(c34_acquire_remembers_semaphore_and_count)
{
	weir_sem sem = WEIR_SEM_INIT(5);
	weir_permit p = WEIR_PERMIT_INIT;

	CHECK(is_empty(&p));
	CHECK_OK(weir_permit_acquire(&p, &sem, 3, NULL));
	CHECK_HOLDS(&p, &sem, 3);
	CHECK(!weir_permit_is_owned(&p));
	CHECK_EQ(weir_sem_available(&sem), 2);
	CHECK_IDENTITY(&sem);
	weir_permit_release(&p);
	CHECK(is_empty(&p));
	CHECK_EQ(weir_sem_available(&sem), 5);
	CHECK_OK(weir_sem_destroy(&sem));
}

TEST(c34_acquire_until_and_try_acquire_fill_a_permit)
{
	weir_sem sem = WEIR_SEM_INIT(5);
	weir_permit p = WEIR_PERMIT_INIT, q = WEIR_PERMIT_INIT;

	/* C14: free permits win over a passed deadline. */
	CHECK_OK(weir_permit_acquire_until(&p, &sem, 2, 0));
	CHECK_HOLDS(&p, &sem, 2);
	CHECK_OK(weir_permit_try_acquire(&q, &sem, 3));
	CHECK_HOLDS(&q, &sem, 3);
	CHECK_EQ(weir_sem_available(&sem), 0);
	weir_permit_release(&p);
	weir_permit_release(&q);
	CHECK_EQ(weir_sem_available(&sem), 5);
	CHECK_OK(weir_sem_destroy(&sem));
}

TEST(c34_releasing_twice_does_nothing)
{
	weir_sem sem = WEIR_SEM_INIT(3);
	weir_permit p = WEIR_PERMIT_INIT;

	/* One stays held: otherwise a second release would be refused. */
	CHECK_OK(weir_sem_acquire(&sem, 1, NULL));
	CHECK_OK(weir_permit_acquire(&p, &sem, 1, NULL));
	weir_permit_release(&p);
	CHECK_EQ(weir_sem_available(&sem), 2);
	weir_permit_release(&p);
	weir_permit_release(&p);
	CHECK_EQ(weir_sem_available(&sem), 2);
	weir_sem_release(&sem, 1);
	CHECK_OK(weir_sem_destroy(&sem));
	/* An empty permit does not refer to the semaphore. */
	memset(&sem, 0xff, sizeof(sem));
	weir_permit_release(&p);
}

TEST(c34_a_released_permit_can_be_filled_again)
{
	weir_sem a = WEIR_SEM_INIT(1), b = WEIR_SEM_INIT(1);
	weir_permit p = WEIR_PERMIT_INIT;

	for (int i = 0; i < 10; i++) {
		weir_sem *sem = i % 2 ? &a : &b;

		CHECK_OK(weir_permit_try_acquire(&p, sem, 1));
		CHECK_HOLDS(&p, sem, 1);
		weir_permit_release(&p);
	}
	CHECK_EQ(weir_sem_available(&a), 1);
	CHECK_EQ(weir_sem_available(&b), 1);
}

/* C16, C34: after any failed acquire the release has no effect. */
TEST(c34_release_after_a_failed_acquire_does_nothing)
{
	weir_sem sem = WEIR_SEM_INIT(2);
	weir_permit p = WEIR_PERMIT_INIT;
	weir_ctx ctx;

	CHECK_OK(weir_sem_acquire(&sem, 1, NULL));
	CHECK_OK(weir_ctx_init(&ctx, NULL, WEIR_FOREVER));
	weir_ctx_cancel(&ctx);
#define FAILS(call, want)                                                      \
	do {                                                                   \
		CHECK_ERR(call, want);                                         \
		CHECK(is_empty(&p));                                           \
		weir_permit_release(&p);                                       \
		CHECK_EQ(weir_sem_available(&sem), 1);                         \
		CHECK_EQ(stat_of(&sem).held, 1);                               \
		CHECK_IDENTITY(&sem);                                          \
	} while (0)
	FAILS(weir_permit_acquire(&p, &sem, 1, &ctx), WEIR_ECANCELED);
	FAILS(weir_permit_acquire(&p, &sem, 0, &ctx), WEIR_ECANCELED);
	FAILS(weir_permit_acquire(&p, &sem, 3, NULL), WEIR_ETOOBIG);
	FAILS(weir_permit_acquire(&p, &sem, -1, NULL), WEIR_EINVAL);
	FAILS(weir_permit_acquire(&p, &sem, WEIR_SEM_MAX + 1, NULL),
	      WEIR_EINVAL);
	FAILS(weir_permit_acquire(&p, &sem, INT64_MIN, NULL), WEIR_EINVAL);
	FAILS(weir_permit_acquire_until(&p, &sem, 2, 1), WEIR_ETIMEDOUT);
	FAILS(weir_permit_acquire_until(&p, &sem, -1, WEIR_FOREVER),
	      WEIR_EINVAL);
	FAILS(weir_permit_try_acquire(&p, &sem, 2), WEIR_EAGAIN);
	FAILS(weir_permit_try_acquire(&p, &sem, -1), WEIR_EINVAL);
	FAILS(weir_permit_acquire(&p, NULL, 1, NULL), WEIR_EINVAL);
	FAILS(weir_permit_acquire_until(&p, NULL, 1, 0), WEIR_EINVAL);
	FAILS(weir_permit_try_acquire(&p, NULL, 1), WEIR_EINVAL);
	weir_sem_close(&sem, WEIR_CLOSE_NOW);
	FAILS(weir_permit_acquire(&p, &sem, 1, NULL), WEIR_ECLOSED);
	FAILS(weir_permit_acquire(&p, &sem, 0, NULL), WEIR_ECLOSED);
	FAILS(weir_permit_acquire_until(&p, &sem, 1, 1), WEIR_ECLOSED);
	FAILS(weir_permit_try_acquire(&p, &sem, 1), WEIR_ECLOSED);
#undef FAILS
	weir_sem_release(&sem, 1);
	CHECK_OK(weir_ctx_destroy(&ctx));
	CHECK_OK(weir_sem_destroy(&sem));
}

struct blocked {
	weir_sem *sem;
	weir_ctx *ctx;
	weir_permit permit;
	weir_err err;
};

static void *acquire_into_permit(void *arg)
{
	struct blocked *b = arg;

	b->err = weir_permit_acquire(&b->permit, b->sem, 2, b->ctx);
	/* The second release has no effect; after a failure neither has. */
	weir_permit_release(&b->permit);
	weir_permit_release(&b->permit);
	return NULL;
}

/* C34 and C16: the same when the acquire failed after waiting in the queue. */
TEST(c34_release_after_a_wait_that_failed_does_nothing)
{
	weir_sem sem = WEIR_SEM_INIT(2);
	weir_ctx ctx;
	struct blocked b = { &sem, &ctx, WEIR_PERMIT_INIT, WEIR_OK };
	check_thread thread;

	CHECK_OK(weir_ctx_init(&ctx, NULL, WEIR_FOREVER));
	CHECK_OK(weir_sem_acquire(&sem, 1, NULL));
	thread = start(acquire_into_permit, &b);
	AWAIT(waiters_of(&sem) == 1);
	weir_ctx_cancel(&ctx);
	finish(thread);
	CHECK_ERR(b.err, WEIR_ECANCELED);
	CHECK(is_empty(&b.permit));
	CHECK_EQ(weir_sem_available(&sem), 1);
	CHECK_IDENTITY(&sem);
	weir_sem_release(&sem, 1);
	CHECK_OK(weir_ctx_destroy(&ctx));
	CHECK_OK(weir_sem_destroy(&sem));
}

/* C34, C6: the release of a permit grants to the waiting thread. */
TEST(c34_release_of_a_permit_grants_the_next_waiter)
{
	weir_sem sem = WEIR_SEM_INIT(2);
	struct blocked b = { &sem, NULL, WEIR_PERMIT_INIT, WEIR_EINVAL };
	weir_permit p = WEIR_PERMIT_INIT;
	check_thread thread;

	CHECK_OK(weir_permit_acquire(&p, &sem, 1, NULL));
	thread = start(acquire_into_permit, &b);
	AWAIT(waiters_of(&sem) == 1);
	weir_permit_release(&p);
	finish(thread);
	CHECK_OK(b.err);
	CHECK_EQ(weir_sem_available(&sem), 2);
	CHECK_OK(weir_sem_destroy(&sem));
}

/* C2, C13: an ended context comes before free permits, and before a close. */
static void check_the_context_first(const char *name)
{
	weir_sem_opts opts = { .permits = 1, .name = name };
	weir_permit p = WEIR_PERMIT_INIT;
	weir_sem sem;
	weir_ctx late;

	CHECK_OK(weir_sem_init_opts(&sem, &opts));
	CHECK_OK(weir_ctx_init(&late, NULL, 1));
	CHECK_OK(weir_permit_acquire(&p, &sem, 1, NULL));
	weir_permit_release(&p);
	CHECK_ERR(weir_permit_acquire(&p, &sem, 1, &late), WEIR_ETIMEDOUT);
	CHECK(is_empty(&p));
	weir_sem_close(&sem, WEIR_CLOSE_NOW);
	CHECK_ERR(weir_permit_acquire(&p, &sem, 1, &late), WEIR_ETIMEDOUT);
	CHECK(is_empty(&p));
	CHECK_EQ(weir_sem_available(&sem), 1);
	CHECK_OK(weir_ctx_destroy(&late));
	CHECK_OK(weir_sem_destroy(&sem));
}

TEST(c2_c34_an_ended_context_and_a_closed_semaphore)
{
	check_the_context_first(NULL);
	check_the_context_first("watched");
}

/* C34, C19: a permit that is held at the close stays valid. */
TEST(c34_release_after_close_gives_back)
{
	weir_sem sem = WEIR_SEM_INIT(4);
	weir_permit p = WEIR_PERMIT_INIT, q = WEIR_PERMIT_INIT;

	CHECK_OK(weir_permit_acquire(&p, &sem, 4, NULL));
	weir_sem_close(&sem, WEIR_CLOSE_NOW);
	CHECK_OK(weir_permit_split(&p, 1, &q));
	weir_permit_release(&q);
	CHECK_EQ(stat_of(&sem).held, 3);
	weir_permit_release(&p);
	CHECK_EQ(stat_of(&sem).held, 0);
	CHECK_OK(weir_sem_destroy(&sem));
}

TEST(c34_a_full_permit_refuses_another_acquire)
{
	weir_sem sem = WEIR_SEM_INIT(9), other = WEIR_SEM_INIT(9);
	weir_permit p = WEIR_PERMIT_INIT;

	CHECK_OK(weir_permit_acquire(&p, &sem, 2, NULL));
	CHECK_ERR(weir_permit_acquire(&p, &sem, 1, NULL), WEIR_EINVAL);
	CHECK_ERR(weir_permit_acquire(&p, &other, 1, NULL), WEIR_EINVAL);
	CHECK_ERR(weir_permit_acquire(&p, &other, 0, NULL), WEIR_EINVAL);
	CHECK_ERR(weir_permit_acquire_until(&p, &sem, 1, 0), WEIR_EINVAL);
	CHECK_ERR(weir_permit_try_acquire(&p, &sem, 1), WEIR_EINVAL);
	CHECK_ERR(weir_permit_adopt(&p, &other, 1), WEIR_EINVAL);
	CHECK_HOLDS(&p, &sem, 2);
	CHECK_EQ(weir_sem_available(&sem), 7);
	CHECK_EQ(weir_sem_available(&other), 9);
	weir_permit_release(&p);
	CHECK_EQ(weir_sem_available(&sem), 9);
}

/* C34, C2: an acquire of 0 succeeds and leaves the permit empty. */
TEST(c34_an_acquire_of_none_leaves_an_empty_permit)
{
	weir_sem sem = WEIR_SEM_INIT(0);
	weir_permit p = WEIR_PERMIT_INIT;

	CHECK_OK(weir_permit_acquire(&p, &sem, 0, NULL));
	CHECK(is_empty(&p));
	CHECK_OK(weir_permit_acquire_until(&p, &sem, 0, 0));
	CHECK(is_empty(&p));
	CHECK_OK(weir_permit_try_acquire(&p, &sem, 0));
	CHECK(is_empty(&p));
	CHECK_OK(weir_permit_adopt(&p, &sem, 0));
	CHECK(is_empty(&p));
	weir_permit_release(&p);
	CHECK_EQ(weir_sem_available(&sem), 0);
}

static weir_permit given_back_by_a_handler = WEIR_PERMIT_INIT;

/* qemu-x86_64 7.2 runs signal handlers on a misaligned stack. */
#ifdef __x86_64__
__attribute__((force_align_arg_pointer))
#endif
static void release_it(int signal)
{
	(void)signal;
	weir_permit_release(&given_back_by_a_handler);
	weir_permit_release(&given_back_by_a_handler);
}

/*
 * C25: a signal handler releases a permit while it interrupts an acquire on the
 * same semaphore.  The acquire is granted.
 */
TEST(c34_c25_release_in_a_signal_handler)
{
	weir_sem sem = WEIR_SEM_INIT(2);
	struct blocked b = { &sem, NULL, WEIR_PERMIT_INIT, WEIR_EINVAL };
	struct sigaction action, before;
	check_thread thread;

	memset(&action, 0, sizeof(action));
	action.sa_handler = release_it;
	CHECK_EQ(sigaction(SIGUSR1, &action, &before), 0);
	CHECK_OK(weir_permit_acquire(&given_back_by_a_handler, &sem, 1, NULL));
	thread = start(acquire_into_permit, &b);
	AWAIT(waiters_of(&sem) == 1);
	/* Repeat the signal: a sanitizer may delay a handler. */
	AWAIT(!waiters_of(&sem) || pthread_kill(thread.id, SIGUSR1));
	finish(thread);
	CHECK_OK(b.err);
	CHECK(is_empty(&given_back_by_a_handler));
	CHECK_EQ(weir_sem_available(&sem), 2);
	CHECK_EQ(sigaction(SIGUSR1, &before, NULL), 0);
	CHECK_OK(weir_sem_destroy(&sem));
}

/* The child's part of the next test; does not return. */
static void use_in_child(weir_permit *p)
{
	weir_permit q = WEIR_PERMIT_INIT;

	CHECK_OK(weir_permit_split(p, 1, &q));
	CHECK_PANICS("fork", weir_permit_release(&q));
	/* A disowned permit is empty, so its release does not panic. */
	CHECK_EQ(weir_permit_disown(p), 1);
	weir_permit_release(p);
	_exit(0);
}

/*
 * C29: the child of a fork holds no permits.  If the semaphore had waiters, the
 * release of a copied permit panics in the child; disown does not access the
 * semaphore.
 */
TEST(c34_c29_permits_in_the_child_of_a_fork)
{
	weir_sem sem = WEIR_SEM_INIT(2);
	struct blocked b = { &sem, NULL, WEIR_PERMIT_INIT, WEIR_EINVAL };
	weir_permit p = WEIR_PERMIT_INIT;
	check_thread thread;
	int status = -1;
	pid_t child;

	CHECK_OK(weir_permit_acquire(&p, &sem, 2, NULL));
	thread = start(acquire_into_permit, &b);
	/* Wait for SHUT: while the waiter spins a release takes no lock. */
	AWAIT(waiters_of(&sem) == 1 &&
	      (__atomic_load_n(&sem.word_, __ATOMIC_SEQ_CST) & 3) == 2);
	child = fork();
	CHECK(child >= 0);
	if (child == 0)
		use_in_child(&p);
	CHECK_EQ(waitpid(child, &status, 0), child);
	CHECK_EQ(status, 0);
	CHECK_HOLDS(&p, &sem, 2);
	weir_permit_release(&p);
	finish(thread);
	CHECK_OK(b.err);
	CHECK_OK(weir_sem_destroy(&sem));
}
