/* SPDX-License-Identifier: MIT */
/* Contexts under every schedule of a few threads. */
#include "scenario.h"

static weir_ctx root, child;
static weir_sem s;
static weir_err result;

static void tree(void)
{
	result = WEIR_OK;
	EX_ASSERT(weir_ctx_init(&root, NULL, WEIR_FOREVER) == WEIR_OK);
	EX_ASSERT(weir_ctx_init(&child, &root, WEIR_FOREVER) == WEIR_OK);
	EX_ASSERT(weir_sem_init_opts(&s, &(weir_sem_opts){ .capacity = 1 }) ==
		  WEIR_OK);
}

static void cancel_root(void)
{
	weir_ctx_cancel(&root);
}

static void cancel_child(void)
{
	weir_ctx_cancel(&child);
}

static void wait_child(void)
{
	EX_ASSERT(weir_ctx_wait(&child, WEIR_FOREVER) == WEIR_ECANCELED);
}

static void wait_and_free(void)
{
	wait_child();
	EX_ASSERT(weir_ctx_destroy(&child) == WEIR_OK);
	EX_ASSERT(weir_ctx_destroy(&root) == WEIR_OK);
	ex_free(&child, sizeof(child));
	ex_free(&root, sizeof(root));
}

/* C13: a cancel of the parent reaches a waiter of the child. */
SCENARIO(ctx_parent_ends, 3, tree, NULL, wait_child, cancel_root)
SCENARIO(ctx_both_cancelled, 3, tree, NULL, wait_child, cancel_root,
	 cancel_child)

static void wait_timed(void)
{
	weir_err err = weir_ctx_wait(&child, weir_deadline_after(1000));

	EX_ASSERT(err == WEIR_ECANCELED || err == WEIR_EAGAIN);
}

SCENARIO(ctx_wait_times_out, 3, tree, NULL, wait_timed, cancel_root)

static void cancel_when_awaited(void)
{
	while (!child.waiters_)
		ex_yield();
	cancel_root();
}

/* The waiter frees the tree while the other thread is inside cancel. */
SCENARIO(ctx_freed_by_waiter, 3, tree, NULL, wait_and_free, cancel_when_awaited)

static void create_and_destroy(void)
{
	weir_ctx mine;
	weir_err err;

	EX_ASSERT(weir_ctx_init(&mine, &child, WEIR_FOREVER) == WEIR_OK);
	err = weir_sem_acquire(&s, 1, &mine);
	EX_ASSERT(err == WEIR_OK || err == WEIR_ECANCELED);
	if (!err)
		weir_sem_release(&s, 1);
	EX_ASSERT(weir_ctx_destroy(&mine) == WEIR_OK);
}

static void put(void)
{
	weir_sem_release(&s, 1);
}

static void permit_is_back(void)
{
	check_quiet(&s);
	EX_ASSERT(weir_sem_available(&s) == 1);
	EX_ASSERT(weir_ctx_err(&child) == WEIR_ECANCELED);
	EX_ASSERT(!child.children_ && !child.waiters_);
}

/* The root is cancelled while children are created, wait and are destroyed. */
SCENARIO(ctx_cancelled_while_made, 2, tree, permit_is_back, create_and_destroy,
	 put, cancel_root)
SCENARIO(ctx_two_made, 2, tree, permit_is_back, create_and_destroy,
	 create_and_destroy, put, cancel_root)

static void with_deadline(void)
{
	weir_ctx mine;

	EX_ASSERT(weir_ctx_init(&mine, &child, weir_deadline_after(1000)) ==
		  WEIR_OK);
	result = weir_sem_acquire(&s, 1, &mine);
	EX_ASSERT(weir_ctx_destroy(&mine) == WEIR_OK);
}

static void deadline_adds_up(void)
{
	check_quiet(&s);
	EX_ASSERT(result == WEIR_OK || result == WEIR_ETIMEDOUT ||
		  result == WEIR_ECANCELED);
	EX_ASSERT(weir_sem_available(&s) == (result == WEIR_OK ? 0 : 1));
}

/* A deadline, a cancel and a grant meet. */
SCENARIO(ctx_deadline_cancel_grant, 2, tree, deadline_adds_up, with_deadline,
	 put, cancel_root)

static void wait_in_child(void)
{
	weir_ctx mine;

	EX_ASSERT(weir_ctx_init(&mine, &child, WEIR_FOREVER) == WEIR_OK);
	EX_ASSERT(weir_ctx_wait(&mine, WEIR_FOREVER) == WEIR_ECANCELED);
	EX_ASSERT(weir_ctx_destroy(&mine) == WEIR_OK);
}

/* A context that is created while its parent is cancelled ends too. */
SCENARIO(ctx_made_meets_cancel, 2, tree, NULL, wait_in_child, cancel_root)

static void acquire_is_cancelled(void)
{
	EX_ASSERT(weir_sem_acquire(&s, 1, &child) == WEIR_ECANCELED);
}

static void cancel_and_free(void)
{
	weir_err err;

	cancel_when_awaited();
	err = weir_ctx_destroy(&child);
	if (err == WEIR_EBUSY) {
		while (child.waiters_)
			ex_yield();
		err = weir_ctx_destroy(&child);
	}
	EX_ASSERT(err == WEIR_OK);
	EX_ASSERT(weir_ctx_destroy(&root) == WEIR_OK);
	ex_free(&child, sizeof(child));
	ex_free(&root, sizeof(root));
}

/* Destroy is refused until the last call with the context has left it. */
SCENARIO(ctx_freed_by_canceller, 2, tree, NULL, acquire_is_cancelled,
	 cancel_and_free)

/* C13: a cancel reaches every child. */
SCENARIO(ctx_two_children_wait, 2, tree, NULL, wait_in_child, wait_in_child,
	 cancel_root)

static int fds[2];

static void get_fd(void)
{
	EX_ASSERT(weir_ctx_fd(&child, &fds[ex_self()]) == WEIR_OK);
}

static void both_got_the_same(void)
{
	EX_ASSERT(fds[0] == fds[1]);
	EX_ASSERT(weir_ctx_destroy(&child) == WEIR_OK);
}

/* C13: a context has one descriptor, also if two threads get it at once. */
SCENARIO(ctx_two_threads_get_fd, 3, tree, both_got_the_same,
	 get_fd, get_fd)
