/* SPDX-License-Identifier: MIT */
/*
 * C13: a context that ends after the grant and before the call returns.  The call gives
 * the permits back.
 *
 * This program is linked with --wrap of the functions below, so that a release comes just
 * before the call is queued, or just before it sleeps, and the end of the context after
 * the grant.
 */
#include "core/ctx_tree.h"
#include "core/ctx_wait.h"
#include "named/handle.h"
#include "named/keeper.h"
#include "puppet.h"
#include "weir/ctx.h"

static weir_named *sem;

/* Released by the next call of the function; 0: nothing. */
static int64_t before_wait, before_sleep;

static void release(int64_t *n)
{
	int64_t permits = *n;

	*n = 0;
	if (permits)
		weir_named_release(sem, permits);
}

weir_err __real_weir_ctx_join_(weir_ctx *ctx, struct weir_waiter_ *w);
weir_err __wrap_weir_ctx_join_(weir_ctx *ctx, struct weir_waiter_ *w);
weir_err __wrap_weir_ctx_join_(weir_ctx *ctx, struct weir_waiter_ *w)
{
	release(&before_wait);
	return __real_weir_ctx_join_(ctx, w);
}

void __real_weir_nm_arm_(weir_named *h);
void __wrap_weir_nm_arm_(weir_named *h);
void __wrap_weir_nm_arm_(weir_named *h)
{
	release(&before_sleep);
	__real_weir_nm_arm_(h);
}

/* Ends the context; null: nothing. */
static void (*before_finish)(weir_ctx *ctx);

weir_err __real_weir_ctx_finish_(weir_ctx *ctx, struct weir_waiter_ *w, weir_err err,
				 bool *revoked);
weir_err __wrap_weir_ctx_finish_(weir_ctx *ctx, struct weir_waiter_ *w, weir_err err,
				 bool *revoked);
weir_err __wrap_weir_ctx_finish_(weir_ctx *ctx, struct weir_waiter_ *w, weir_err err,
				 bool *revoked)
{
	if (before_finish) {
		CHECK_OK(err);
		before_finish(ctx);
	}
	return __real_weir_ctx_finish_(ctx, w, err, revoked);
}

static void cancel(weir_ctx *ctx)
{
	weir_ctx_cancel(ctx);
}

/* As a call that finds the deadline passed: it ends the context, but no wait in it. */
static void be_late(weir_ctx *ctx)
{
	CHECK_ERR(weir_ctx_end_with_(ctx, WEIR_ETIMEDOUT), WEIR_ETIMEDOUT);
}

/* The call gets permits from the release, and the context ends then. */
static void check_given_back(int64_t *release_at, void (*end)(weir_ctx *ctx), weir_err why)
{
	weir_ctx ctx = WEIR_CTX_INIT;
	int64_t got = 1;

	sem = open_named(fresh_name(), 3);
	CHECK_OK(weir_named_acquire(sem, 3, NULL));
	*release_at = 3;
	before_finish = end;
	CHECK_ERR(weir_named_acquire_upto(sem, 1, 2, &ctx, &got), why);
	CHECK_EQ(got, 0);
	CHECK_EQ(before_wait + before_sleep, 0);
	CHECK_EQ(look_at(sem).free, 3);
	CHECK_EQ(look_at(sem).held, 0);
	CHECK_NAMED(sem);
	before_finish = NULL;
	/* All of them can be taken. */
	CHECK_OK(weir_named_try_acquire(sem, 3));
	weir_named_release(sem, 3);
	CHECK_OK(weir_ctx_destroy(&ctx));
	close_named(sem);
}

TEST(c13_the_end_of_a_context_wins_over_a_grant_at_once)
{
	check_given_back(&before_wait, cancel, WEIR_ECANCELED);
	check_given_back(&before_wait, be_late, WEIR_ETIMEDOUT);
}

TEST(c13_the_end_of_a_context_wins_over_a_grant_in_the_queue)
{
	check_given_back(&before_sleep, cancel, WEIR_ECANCELED);
	check_given_back(&before_sleep, be_late, WEIR_ETIMEDOUT);
}
