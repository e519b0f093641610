/* SPDX-License-Identifier: MIT */
/*
 * Scopes, C34: a scoped permit and the block form are released once, at the end
 * of their block, on every path out of it.  unwind.c and raii.cpp test the
 * paths that unwind the stack.
 */
#include <setjmp.h>
#include <sys/mman.h>

#include "check.h"
#include "weir/ctx.h"
#include "weir/permit.h"

#define N 8

/* All permits are free at the end of each test. */
static weir_sem sem = WEIR_SEM_INIT(N);

#define CHECK_HELD(n) CHECK_EQ(weir_sem_available(&sem), N - (n))

TEST(c34_scoped_until_the_end_of_the_block)
{
	{
		WEIR_SCOPED weir_permit p = WEIR_PERMIT_INIT;

		CHECK_OK(weir_permit_acquire(&p, &sem, 3, NULL));
		CHECK_HELD(3);
	}
	CHECK_HELD(0);
	{
		/* Two in one declaration: both are released. */
		WEIR_SCOPED weir_permit p = WEIR_PERMIT_INIT,
					q = WEIR_PERMIT_INIT;

		CHECK_OK(weir_permit_acquire(&p, &sem, 3, NULL));
		CHECK_OK(weir_permit_acquire(&q, &sem, 2, NULL));
		CHECK_HELD(5);
		/* After an early release the end of the block has no effect. */
		weir_permit_release(&p);
		CHECK_HELD(2);
	}
	CHECK_HELD(0);
}

static int64_t leave(int how)
{
	WEIR_SCOPED weir_permit p = WEIR_PERMIT_INIT;
	WEIR_SCOPED weir_permit q = WEIR_PERMIT_INIT;

	if (how == 0)
		return -1;
	CHECK_OK(weir_permit_acquire(&p, &sem, 1, NULL));
	if (how == 1)
		return weir_sem_available(&sem);
	CHECK_OK(weir_permit_acquire(&q, &sem, 2, NULL));
	/* The value is computed before the permits are released. */
	return weir_sem_available(&sem);
}

TEST(c34_scoped_return)
{
	CHECK_EQ(leave(0), -1);
	CHECK_HELD(0);
	CHECK_EQ(leave(1), N - 1);
	CHECK_HELD(0);
	CHECK_EQ(leave(2), N - 3);
	CHECK_HELD(0);
}

TEST(c34_scoped_break_and_continue)
{
	int rounds = 0;

	for (int i = 0; i < 10; i++) {
		WEIR_SCOPED weir_permit p = WEIR_PERMIT_INIT;

		CHECK_HELD(0);
		CHECK_OK(weir_permit_acquire(&p, &sem, 1 + i, NULL));
		CHECK_HELD(1 + i);
		rounds++;
		if (i % 2 == 0)
			continue;
		if (i == 5)
			break;
	}
	CHECK_EQ(rounds, 6);
	CHECK_HELD(0);

	switch (rounds) {
	case 6: {
		WEIR_SCOPED weir_permit p = WEIR_PERMIT_INIT;

		CHECK_OK(weir_permit_acquire(&p, &sem, 2, NULL));
		CHECK_HELD(2);
		break;
	}
	default:
		CHECK(false);
	}
	CHECK_HELD(0);
}

TEST(c34_scoped_goto)
{
	int tries = 0;

again:
	{
		WEIR_SCOPED weir_permit outer = WEIR_PERMIT_INIT;

		CHECK_OK(weir_permit_acquire(&outer, &sem, 1, NULL));
		{
			WEIR_SCOPED weir_permit inner = WEIR_PERMIT_INIT;

			CHECK_OK(weir_permit_acquire(&inner, &sem, 2, NULL));
			CHECK_HELD(3);
			if (tries++ == 0)
				goto again;	/* backwards, out of both */
			if (tries == 2)
				goto within;	/* out of the inner alone */
			goto out;		/* forwards, out of both */
		}
within:
		CHECK_HELD(1);
		goto again;
	}
out:
	CHECK_EQ(tries, 3);
	CHECK_HELD(0);
}

TEST(c34_scoped_after_a_failed_acquire)
{
	{
		WEIR_SCOPED weir_permit p = WEIR_PERMIT_INIT;

		CHECK_ERR(weir_permit_acquire(&p, &sem, N + 1, NULL),
			  WEIR_ETOOBIG);
	}
	CHECK_HELD(0);
}

TEST(c34_block_form)
{
	weir_err err = WEIR_EINVAL;
	int ran = 0;

	WEIR_WITH_PERMIT(err, &sem, 3, NULL) {
		CHECK_HELD(3);
		ran++;
	}
	CHECK_OK(err);
	CHECK_EQ(ran, 1);
	CHECK_HELD(0);

	/* A statement without braces. */
	WEIR_WITH_PERMIT(err, &sem, 1, NULL)
		ran++;
	CHECK_EQ(ran, 2);
	CHECK_HELD(0);

	/* 0 permits: the block runs. */
	WEIR_WITH_PERMIT(err, &sem, 0, NULL)
		ran++;
	CHECK_OK(err);
	CHECK_EQ(ran, 3);

	/* Between if and else: the macro is one statement. */
	if (ran == 3)
		WEIR_WITH_PERMIT(err, &sem, 1, NULL)
			ran++;
	else
		CHECK(false);
	CHECK_EQ(ran, 4);
	CHECK_HELD(0);
}

/* C34, C16: the block is skipped and err is the reason. */
TEST(c34_block_form_of_a_failed_acquire)
{
	weir_sem closed = WEIR_SEM_INIT(1);
	weir_err err = WEIR_OK;
	weir_ctx ctx;

	CHECK_OK(weir_ctx_init(&ctx, NULL, WEIR_FOREVER));
	weir_ctx_cancel(&ctx);
	WEIR_WITH_PERMIT(err, &sem, 1, &ctx)
		CHECK(false);
	CHECK_ERR(err, WEIR_ECANCELED);
	WEIR_WITH_PERMIT(err, &sem, N + 1, NULL)
		CHECK(false);
	CHECK_ERR(err, WEIR_ETOOBIG);
	WEIR_WITH_PERMIT(err, &sem, -1, NULL)
		CHECK(false);
	CHECK_ERR(err, WEIR_EINVAL);
	weir_sem_close(&closed, WEIR_CLOSE_NOW);
	WEIR_WITH_PERMIT(err, &closed, 1, NULL)
		CHECK(false);
	CHECK_ERR(err, WEIR_ECLOSED);
	CHECK_HELD(0);
	CHECK_OK(weir_ctx_destroy(&ctx));
}

TEST(c34_block_form_keeps_err_set_in_the_block)
{
	weir_err err;

	WEIR_WITH_PERMIT(err, &sem, 1, NULL)
		err = WEIR_ESYSTEM;
	CHECK_ERR(err, WEIR_ESYSTEM);
	CHECK_HELD(0);
}

/* Each argument is evaluated once. */
TEST(c34_block_form_evaluates_once)
{
	weir_sem *sems[] = { &sem, NULL };
	weir_ctx *contexts[] = { NULL, NULL };
	weir_err errs[] = { WEIR_EINVAL, WEIR_EINVAL };
	int64_t n = 1;
	int e = 0, s = 0, c = 0;

	WEIR_WITH_PERMIT(errs[e++], sems[s++], n++, contexts[c++])
		CHECK_HELD(1);
	CHECK_EQ(e, 1);
	CHECK_EQ(s, 1);
	CHECK_EQ(n, 2);
	CHECK_EQ(c, 1);
	CHECK_OK(errs[0]);
	CHECK_HELD(0);
}

/* break and continue leave the block, not the loop around it. */
TEST(c34_block_form_break_and_continue)
{
	weir_err err;
	int rounds = 0;

	for (int i = 0; i < 4; i++) {
		WEIR_WITH_PERMIT(err, &sem, 2, NULL) {
			CHECK_HELD(2);
			if (i % 2)
				break;
			if (i == 2)
				continue;
			rounds++;
		}
		CHECK_OK(err);
		CHECK_HELD(0);
		rounds++;
	}
	CHECK_EQ(rounds, 5);
}

static int64_t return_from_block(void)
{
	weir_err err;

	WEIR_WITH_PERMIT(err, &sem, 2, NULL)
		return weir_sem_available(&sem);
	return err;
}

TEST(c34_block_form_return_and_goto)
{
	weir_err err;

	CHECK_EQ(return_from_block(), N - 2);
	CHECK_HELD(0);
	WEIR_WITH_PERMIT(err, &sem, 1, NULL) {
		WEIR_WITH_PERMIT(err, &sem, 2, NULL) {
			CHECK_HELD(3);
			goto out;
		}
	}
	CHECK(false);
out:
	CHECK_OK(err);
	CHECK_HELD(0);
}

TEST(c34_block_form_nested)
{
	weir_sem other = WEIR_SEM_INIT(1);
	weir_err outer, inner = WEIR_EINVAL, third = WEIR_EINVAL;

	WEIR_WITH_PERMIT(outer, &sem, 1, NULL) {
		WEIR_WITH_PERMIT(inner, &other, 1, NULL) {
			CHECK_HELD(1);
			CHECK_EQ(weir_sem_available(&other), 0);
			WEIR_WITH_PERMIT(third, &sem, N + 1, NULL)
				CHECK(false);
			break;
		}
		CHECK_HELD(1);
		CHECK_EQ(weir_sem_available(&other), 1);
	}
	CHECK_OK(outer);
	CHECK_OK(inner);
	CHECK_ERR(third, WEIR_ETOOBIG);
	CHECK_HELD(0);
}

static jmp_buf before;

__attribute__((noinline)) static void acquire_and_jump(void)
{
	WEIR_SCOPED weir_permit p = WEIR_PERMIT_INIT;

	CHECK_OK(weir_permit_acquire(&p, &sem, 2, NULL));
	longjmp(before, 1);
}

/* C34: a longjmp out of the block skips the release, as documented. */
TEST(c34_longjmp_skips_a_scope)
{
	if (!setjmp(before)) {
		acquire_and_jump();
		CHECK(false);
	}
	CHECK_HELD(2);
	weir_sem_release(&sem, 2);
	CHECK_HELD(0);
}

/* A semaphore and a permit of it, in memory that the test unmaps. */
struct shared_page {
	weir_sem sem;
	weir_permit permit;
};

static void *release_it(void *arg)
{
	struct shared_page *page = arg;

	weir_permit_release(&page->permit);
	return NULL;
}

/*
 * C22: the thread that is granted the permits may unmap the semaphore while the
 * release is still running.  The permit object may be in the same memory, so
 * the release must not access it again.
 */
TEST(c34_c22_release_does_not_touch_the_permit_afterwards)
{
	int rounds = 500 * check_scale();

	for (int i = 0; i < rounds; i++) {
		struct shared_page *page =
			mmap(NULL, sizeof(*page), PROT_READ | PROT_WRITE,
			     MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		check_thread thread;

		CHECK(page != MAP_FAILED);
		CHECK_OK(weir_sem_init(&page->sem, 1));
		CHECK_OK(weir_permit_acquire(&page->permit, &page->sem, 1,
					     NULL));
		thread = start(release_it, page);
		CHECK_OK(weir_sem_acquire(&page->sem, 1, NULL));
		CHECK_EQ(munmap(page, sizeof(*page)), 0);
		finish(thread);
	}
}
