/* SPDX-License-Identifier: MIT */
/*
 * Contexts: the tree, its ends, its file descriptors.  Cancellation (C13) is in
 * cancel.c.
 */
#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include "core/ctx_tree.h"
#include "job.h"

static bool readable(int fd)
{
	struct pollfd p = { .fd = fd, .events = POLLIN };

	return poll(&p, 1, 0) == 1 && (p.revents & POLLIN);
}

TEST(a_ctx_lasts_until_cancelled)
{
	weir_ctx ctx;

	CHECK_OK(weir_ctx_init(&ctx, NULL, WEIR_FOREVER));
	CHECK_OK(weir_ctx_err(&ctx));
	CHECK_EQ(weir_ctx_deadline(&ctx), WEIR_FOREVER);
	CHECK_ERR(weir_ctx_wait(&ctx, 0), WEIR_EAGAIN);
	weir_ctx_cancel(&ctx);
	CHECK_ERR(weir_ctx_err(&ctx), WEIR_ECANCELED);
	weir_ctx_cancel(&ctx);
	CHECK_ERR(weir_ctx_err(&ctx), WEIR_ECANCELED);
	CHECK_ERR(weir_ctx_wait(&ctx, 0), WEIR_ECANCELED);
	CHECK_OK(weir_ctx_destroy(&ctx));
}

/* C23 for contexts: the static initialiser, and zeroed memory. */
TEST(c23_a_zeroed_ctx_works)
{
	static weir_ctx fixed = WEIR_CTX_INIT;
	weir_ctx zeroed;

	memset(&zeroed, 0, sizeof(zeroed));
	CHECK_OK(weir_ctx_err(&fixed));
	CHECK_OK(weir_ctx_err(&zeroed));
	CHECK_EQ(weir_ctx_deadline(&zeroed), WEIR_FOREVER);
	weir_ctx_cancel(&zeroed);
	CHECK_ERR(weir_ctx_err(&zeroed), WEIR_ECANCELED);
	CHECK_OK(weir_ctx_err(&fixed));
	CHECK_OK(weir_ctx_destroy(&zeroed));
	CHECK_OK(weir_ctx_destroy(&fixed));
}

/* C13: an end reaches all descendants, and no sibling or ancestor. */
TEST(c13_a_cancel_reaches_the_children)
{
	weir_ctx root = WEIR_CTX_INIT, left, right, leaf;

	CHECK_OK(weir_ctx_init(&left, &root, WEIR_FOREVER));
	CHECK_OK(weir_ctx_init(&right, &root, WEIR_FOREVER));
	CHECK_OK(weir_ctx_init(&leaf, &left, WEIR_FOREVER));
	weir_ctx_cancel(&left);
	CHECK_ERR(weir_ctx_err(&left), WEIR_ECANCELED);
	CHECK_ERR(weir_ctx_err(&leaf), WEIR_ECANCELED);
	CHECK_OK(weir_ctx_err(&right));
	CHECK_OK(weir_ctx_err(&root));
	weir_ctx_cancel(&root);
	CHECK_ERR(weir_ctx_err(&right), WEIR_ECANCELED);
	CHECK_OK(weir_ctx_destroy(&leaf));
	CHECK_OK(weir_ctx_destroy(&left));
	CHECK_OK(weir_ctx_destroy(&right));
	CHECK_OK(weir_ctx_destroy(&root));
}

TEST(a_child_of_an_ended_parent_begins_ended)
{
	weir_ctx root = WEIR_CTX_INIT, child, late, below;

	weir_ctx_cancel(&root);
	CHECK_OK(weir_ctx_init(&child, &root, WEIR_FOREVER));
	CHECK_ERR(weir_ctx_err(&child), WEIR_ECANCELED);
	CHECK_OK(weir_ctx_init(&late, NULL, 1));
	CHECK_OK(weir_ctx_init(&below, &late, WEIR_FOREVER));
	CHECK_ERR(weir_ctx_err(&below), WEIR_ETIMEDOUT);
	CHECK_OK(weir_ctx_destroy(&below));
	CHECK_OK(weir_ctx_destroy(&late));
	CHECK_OK(weir_ctx_destroy(&child));
	CHECK_OK(weir_ctx_destroy(&root));
}

TEST(the_earliest_deadline_applies)
{
	const int64_t soon = weir_deadline_after(INT64_C(1) << 50);
	weir_ctx root, child, leaf;

	CHECK_OK(weir_ctx_init(&root, NULL, soon));
	CHECK_OK(weir_ctx_init(&child, &root, soon + 1));
	CHECK_OK(weir_ctx_init(&leaf, &child, soon - 1));
	CHECK_EQ(weir_ctx_deadline(&root), soon);
	CHECK_EQ(weir_ctx_deadline(&child), soon);
	CHECK_EQ(weir_ctx_deadline(&leaf), soon - 1);
	CHECK_OK(weir_ctx_destroy(&leaf));
	CHECK_OK(weir_ctx_destroy(&child));
	CHECK_OK(weir_ctx_destroy(&root));
}

TEST(a_deadline_ends_it_and_the_error_sticks)
{
	weir_ctx ctx, child, past[3];

	CHECK_OK(weir_ctx_init(&ctx, NULL, weir_deadline_after(1000000)));
	CHECK_OK(weir_ctx_init(&child, &ctx, WEIR_FOREVER));
	CHECK_ERR(weir_ctx_wait(&child, WEIR_FOREVER), WEIR_ETIMEDOUT);
	CHECK_ERR(weir_ctx_err(&ctx), WEIR_ETIMEDOUT);
	/* The reason of the end is decided once. */
	weir_ctx_cancel(&ctx);
	CHECK_ERR(weir_ctx_err(&ctx), WEIR_ETIMEDOUT);
	CHECK_ERR(weir_ctx_err(&child), WEIR_ETIMEDOUT);
	CHECK_OK(weir_ctx_destroy(&child));
	CHECK_OK(weir_ctx_destroy(&ctx));
	/* Every early deadline is valid. */
	CHECK_OK(weir_ctx_init(&past[0], NULL, 0));
	CHECK_OK(weir_ctx_init(&past[1], NULL, -1));
	CHECK_OK(weir_ctx_init(&past[2], NULL, INT64_MIN));
	for (int i = 0; i < 3; i++) {
		CHECK_ERR(weir_ctx_err(&past[i]), WEIR_ETIMEDOUT);
		CHECK_OK(weir_ctx_destroy(&past[i]));
	}
}

TEST(a_cancel_before_the_deadline_sticks)
{
	const int64_t deadline = weir_deadline_after(2000000);
	weir_ctx ctx;

	CHECK_OK(weir_ctx_init(&ctx, NULL, deadline));
	weir_ctx_cancel(&ctx);
	if (weir_now_ns() < deadline)
		CHECK_ERR(weir_ctx_err(&ctx), WEIR_ECANCELED);
	else
		CHECK(weir_ctx_err(&ctx) != WEIR_OK);
	{
		weir_err why = weir_ctx_err(&ctx);

		AWAIT(weir_now_ns() > deadline);
		CHECK_ERR(weir_ctx_err(&ctx), why);
	}
	CHECK_OK(weir_ctx_destroy(&ctx));
}

TEST(destroy_is_refused_with_children)
{
	weir_ctx root = WEIR_CTX_INIT, child;

	CHECK_OK(weir_ctx_init(&child, &root, WEIR_FOREVER));
	CHECK_ERR(weir_ctx_destroy(&root), WEIR_EBUSY);
	weir_ctx_cancel(&root);
	CHECK_ERR(weir_ctx_destroy(&root), WEIR_EBUSY);
	CHECK_ERR(weir_ctx_err(&child), WEIR_ECANCELED);
	CHECK_OK(weir_ctx_destroy(&child));
	CHECK_OK(weir_ctx_destroy(&root));
}

TEST(destroy_is_refused_with_waiters)
{
	weir_sem sem = WEIR_SEM_INIT(1);
	weir_ctx ctx = WEIR_CTX_INIT;
	job a;

	CHECK_OK(weir_sem_acquire(&sem, 1, NULL));
	queue_up(&a, &sem, 1, &ctx);
	CHECK_ERR(weir_ctx_destroy(&ctx), WEIR_EBUSY);
	CHECK_EQ(waiters_of(&sem), 1);
	weir_ctx_cancel(&ctx);
	CHECK_ERR(job_end(&a), WEIR_ECANCELED);
	CHECK_OK(weir_ctx_destroy(&ctx));
}

static void *wait_for_end(void *arg)
{
	CHECK_ERR(weir_ctx_wait(arg, WEIR_FOREVER), WEIR_ECANCELED);
	return NULL;
}

TEST(wait_ends_with_the_ctx_or_its_parent)
{
	weir_ctx root = WEIR_CTX_INIT, child;
	check_thread a, b;

	CHECK_OK(weir_ctx_init(&child, &root, WEIR_FOREVER));
	CHECK_ERR(weir_ctx_wait(&child, weir_deadline_after(1000000)),
		  WEIR_EAGAIN);
	a = start(wait_for_end, &root);
	b = start(wait_for_end, &child);
	weir_ctx_cancel(&root);
	finish(a);
	finish(b);
	CHECK_OK(weir_ctx_destroy(&child));
	CHECK_OK(weir_ctx_destroy(&root));
}

TEST(the_fd_polls_readable_from_the_end_on)
{
	weir_ctx root = WEIR_CTX_INIT, child;
	int fd = -1, again = -1, before = -1;

	CHECK_OK(weir_ctx_fd(&root, &before));
	CHECK_OK(weir_ctx_init(&child, &root, WEIR_FOREVER));
	CHECK_OK(weir_ctx_fd(&child, &fd));
	CHECK_OK(weir_ctx_fd(&child, &again));
	CHECK_EQ(fd, again);
	CHECK(fd != before);
	CHECK(fcntl(fd, F_GETFD) & FD_CLOEXEC);
	CHECK(fcntl(fd, F_GETFL) & O_NONBLOCK);
	CHECK(!readable(fd) && !readable(before));
	weir_ctx_cancel(&root);
	CHECK(readable(fd) && readable(before));
	CHECK(readable(fd));	/* stays readable */
	CHECK_OK(weir_ctx_destroy(&child));
	CHECK_OK(weir_ctx_destroy(&root));
}

TEST(the_fd_of_an_ended_ctx_is_readable)
{
	weir_ctx ctx = WEIR_CTX_INIT, late;
	int fd = -1;

	weir_ctx_cancel(&ctx);
	CHECK_OK(weir_ctx_fd(&ctx, &fd));
	CHECK(readable(fd));
	CHECK_OK(weir_ctx_destroy(&ctx));
	CHECK_OK(weir_ctx_init(&late, NULL, 1));
	CHECK_OK(weir_ctx_fd(&late, &fd));
	AWAIT(readable(fd));	/* the timer may need a moment */
	CHECK_OK(weir_ctx_destroy(&late));
}

TEST(the_fd_polls_readable_at_the_deadline)
{
	weir_ctx ctx, child;
	struct pollfd p = { .events = POLLIN };

	CHECK_OK(weir_ctx_init(&ctx, NULL, weir_deadline_after(5000000)));
	CHECK_OK(weir_ctx_init(&child, &ctx, WEIR_FOREVER));
	CHECK_OK(weir_ctx_fd(&child, &p.fd));
	CHECK_EQ(poll(&p, 1, 60000), 1);
	CHECK_ERR(weir_ctx_err(&child), WEIR_ETIMEDOUT);
	CHECK_OK(weir_ctx_destroy(&child));
	CHECK_OK(weir_ctx_destroy(&ctx));
}

static void without_stdin(void)
{
	weir_ctx ctx;
	int fd = -1;

	close(0);
	CHECK_OK(weir_ctx_init(&ctx, NULL, WEIR_FOREVER));
	CHECK_OK(weir_ctx_fd(&ctx, &fd));
	CHECK_EQ(fd, 0);
	CHECK(fcntl(0, F_GETFD) >= 0);
	CHECK_OK(weir_ctx_fd(&ctx, &fd));
	CHECK_EQ(fd, 0);
	CHECK_OK(weir_ctx_destroy(&ctx));
	CHECK_EQ(fcntl(0, F_GETFD), -1);
	CHECK_OK(weir_ctx_init(&ctx, NULL, weir_deadline_after(1000000)));
	CHECK_OK(weir_ctx_fd(&ctx, &fd));
	CHECK_EQ(fd, 0);
	AWAIT(readable(fd));
	CHECK_OK(weir_ctx_destroy(&ctx));
}

/* Descriptor 0 is valid. */
TEST(the_fd_may_be_zero)
{
	char text[512];

	CHECK_EQ(in_child(without_stdin, text, sizeof(text)), 0);
}

/*
 * C13: the wait and the context have the same deadline: the context has ended.
 */
TEST(a_wait_until_the_deadline_of_its_ctx)
{
	int64_t deadline = weir_deadline_after(1000000);
	weir_ctx ctx;

	CHECK_OK(weir_ctx_init(&ctx, NULL, deadline));
	CHECK_ERR(weir_ctx_wait(&ctx, deadline), WEIR_ETIMEDOUT);
	CHECK_OK(weir_ctx_destroy(&ctx));
}

/* C13: the first cancel fixes the cause, for the contexts that it ends. */
TEST(c13_cause)
{
	weir_ctx root = WEIR_CTX_INIT, child, late, born;
	static const char first[] = "first", second[] = "second";

	CHECK_OK(weir_ctx_init(&child, &root, WEIR_FOREVER));
	CHECK_OK(weir_ctx_init(&late, &root, 1));
	CHECK(!weir_ctx_cause(&root));
	weir_ctx_cancel_with(&child, first);
	CHECK(weir_ctx_cause(&child) == first);
	CHECK_ERR(weir_ctx_err(&child), WEIR_ECANCELED);
	CHECK(!weir_ctx_cause(&root));
	weir_ctx_cancel_with(&root, second);
	weir_ctx_cancel_with(&root, first);
	CHECK(weir_ctx_cause(&root) == second);
	CHECK(weir_ctx_cause(&child) == first);
	/* A deadline has no cause, and a later cancel does not add one. */
	CHECK_ERR(weir_ctx_err(&late), WEIR_ETIMEDOUT);
	CHECK(!weir_ctx_cause(&late));
	/* A context that starts as ended has the cause of its parent. */
	CHECK_OK(weir_ctx_init(&born, &root, WEIR_FOREVER));
	CHECK(weir_ctx_cause(&born) == second);
	CHECK_OK(weir_ctx_destroy(&born));
	CHECK_OK(weir_ctx_destroy(&late));
	CHECK_OK(weir_ctx_destroy(&child));
	CHECK_OK(weir_ctx_destroy(&root));
	CHECK_OK(weir_ctx_init(&root, NULL, WEIR_FOREVER));
	weir_ctx_cancel(&root);
	CHECK(!weir_ctx_cause(&root));
	CHECK_OK(weir_ctx_destroy(&root));
	CHECK_PANICS("weir_ctx_cause: context",
		     CHECK(!weir_ctx_cause(&root)));
	CHECK_PANICS("weir_ctx_cause: ", CHECK(!weir_ctx_cause(NULL)));
}

/* A scoped context is cancelled and retired on every path out of its block. */
TEST(c34_scoped_ctx)
{
	weir_ctx root = WEIR_CTX_INIT;
	weir_sem sem = WEIR_SEM_INIT(0);
	weir_err err, inside = WEIR_OK;

	for (int i = 0; i < 3; i++) {
		WEIR_SCOPED_CTX weir_ctx c = WEIR_CTX_INIT;

		CHECK_OK(weir_ctx_init(&c, &root, WEIR_FOREVER));
		CHECK_ERR(weir_ctx_destroy(&root), WEIR_EBUSY);
		if (i == 1)
			continue;
	}
	WEIR_WITH_CTX(err, c, &root, weir_deadline_after(1000)) {
		CHECK_OK(err);
		inside = weir_sem_acquire(&sem, 1, &c);
		break;
	}
	CHECK_OK(err);
	CHECK_ERR(inside, WEIR_ETIMEDOUT);
	WEIR_WITH_CTX(err, d, (weir_ctx *)1, WEIR_FOREVER)
		CHECK(false);
	CHECK_ERR(err, WEIR_EINVAL);
	CHECK_OK(weir_ctx_destroy(&root));
}

/* A context that is still in use at the end of its block is reported. */
TEST(ctx_end_in_use)
{
	weir_ctx root = WEIR_CTX_INIT, child;

	CHECK_OK(weir_ctx_init(&child, &root, WEIR_FOREVER));
	CHECK_PANICS("weir_ctx_end: context", weir_ctx_end(&root));
	CHECK_ERR(weir_ctx_err(&child), WEIR_ECANCELED);
	weir_ctx_end(&child);
	weir_ctx_end(&root);
}

/* C13: a tree has one lock, so that a cancel meets every change of the tree. */
TEST(c13_a_tree_has_one_lock)
{
	weir_ctx root = WEIR_CTX_INIT, child, grandchild;

	CHECK_OK(weir_ctx_init(&child, &root, WEIR_FOREVER));
	CHECK_OK(weir_ctx_init(&grandchild, &child, WEIR_FOREVER));
	CHECK(weir_ctx_lock_of_(&root) == &root.lock_);
	CHECK(weir_ctx_lock_of_(&child) == &root.lock_);
	CHECK(weir_ctx_lock_of_(&grandchild) == &root.lock_);
	CHECK_OK(weir_ctx_destroy(&grandchild));
	CHECK_OK(weir_ctx_destroy(&child));
	CHECK_OK(weir_ctx_destroy(&root));
}
