/* SPDX-License-Identifier: MIT */
/*
 * The registry and the true holders, for any-of requests: their members wait in
 * two queues, with one context.
 */
#include <string.h>

#include "explore.h"
#include "weir/ctx.h"
#include "weir/multi.h"
#include "weir/sem.h"

#include "holders.h"

static weir_sem s, t;
static weir_ctx ctx;
static weir_any any;
static weir_op places[2];
static const weir_req both[] = { { &s, 1 }, { &t, 1 } };
static const weir_req reversed[] = { { &t, 1 }, { &s, 1 } };
static int ran;

static void make(weir_sem *sem)
{
	weir_sem_opts opts = { .permits = 1, .capacity = 1, .name = "explored" };

	EX_ASSERT(weir_sem_init_opts(sem, &opts) == WEIR_OK);
}

static void reset(void)
{
	make(&s);
	make(&t);
	EX_ASSERT(weir_ctx_init(&ctx, NULL, WEIR_FOREVER) == WEIR_OK);
}

static void all_back(void)
{
	holders_check();
	EX_ASSERT(weir_sem_available(&s) == 1 && weir_sem_available(&t) == 1);
}

static void take(weir_sem *sem)
{
	EX_ASSERT(weir_sem_acquire(sem, 1, NULL) == WEIR_OK);
}

/* Both are taken for a while: the request waits in both queues. */
static void take_both(void)
{
	take(&s);
	take(&t);
	weir_sem_release(&s, 1);
	weir_sem_release(&t, 1);
}

static void take_any_of(const weir_req *reqs)
{
	size_t which;

	EX_ASSERT(weir_acquire_any(reqs, 2, NULL, &which) == WEIR_OK);
	weir_sem_release(reqs[which].sem, 1);
}

static void take_any(void)
{
	take_any_of(both);
}

static void take_any_reversed(void)
{
	take_any_of(reversed);
}

SCENARIO(registry_of_any, 1, reset, all_back, take_both, take_any)
SCENARIO(registry_of_two_any, 1, reset, all_back, take_both, take_any,
	 take_any_reversed)
SCENARIO(registry_is_read_with_any, 2, reset, all_back, take_both, take_any,
	 holders_read)

/* Requests that end without permits. */
static void take_any_in_ctx(void)
{
	size_t which;
	weir_err err = weir_acquire_any(both, 2, &ctx, &which);

	EX_ASSERT(err == WEIR_OK || err == WEIR_ECANCELED);
	if (!err)
		weir_sem_release(both[which].sem, 1);
}

static void cancel(void)
{
	weir_ctx_cancel(&ctx);
}

SCENARIO(registry_of_cancelled_any, 1, reset, all_back, take_both,
	 take_any_in_ctx, cancel)

/* A request as an operation has a context of its own while it waits. */
static void over(weir_any *op, weir_err err, size_t which, void *user)
{
	(void)user;
	EX_ASSERT(op == &any && ran++ == 0);
	if (err)
		return;
	holders_took(both[which].sem, 1);
	weir_sem_release(both[which].sem, 1);
}

static weir_err submit_in(weir_ctx *within)
{
	size_t which = 0;
	weir_err err;

	weir_any_init(&any, NULL, over, NULL);
	holders_enter();
	err = weir_any_submit(&any, both, places, 2, within, &which);
	if (!err)
		over(&any, err, which, NULL);
	else if (err != WEIR_EQUEUED)
		ran++;
	holders_leave();
	return err;
}

static void submit(void)
{
	weir_err err = submit_in(NULL);

	EX_ASSERT(err == WEIR_OK || err == WEIR_EQUEUED);
}

static void submit_in_ctx(void)
{
	weir_err err = submit_in(&ctx);

	EX_ASSERT(err == WEIR_OK || err == WEIR_EQUEUED ||
		  err == WEIR_ECANCELED);
}

static void submit_and_cancel(void)
{
	if (submit_in(NULL) != WEIR_EQUEUED)
		return;
	holders_enter();
	if (!weir_any_cancel(&any))
		ran++;
	holders_leave();
}

static void cancel_in_call(void)
{
	/* It may run the callback. */
	holders_enter();
	weir_ctx_cancel(&ctx);
	holders_leave();
}

static void ended_once(void)
{
	EX_ASSERT(ran == 1);
	all_back();
}

SCENARIO(registry_of_any_operation, 1, reset, ended_once, take_both, submit)
SCENARIO(registry_of_any_operation_in_ctx, 1, reset, ended_once, take_both,
	 submit_in_ctx, cancel_in_call)
SCENARIO(registry_of_any_operation_cancelled, 1, reset, ended_once, take_both,
	 submit_and_cancel)
SCENARIO(registry_is_read_with_any_operation, 1, reset, ended_once, take_both,
	 submit, holders_read)
