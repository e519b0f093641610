/* SPDX-License-Identifier: MIT */
/*
 * Contexts and deadlines: C13, C14.
 */
#include "program.h"

THREAD(cancel_y)
{
	y = 1;
	weir_ctx_cancel(&ctx);
	return unused;
}

THREAD(cancel_ctx)
{
	weir_ctx_cancel(&ctx);
	return unused;
}

THREAD(rest_or_cancelled)
{
	weir_err err = rest(&w1, WEIR_FOREVER);

	if (err == WEIR_OK) {
		assert(x == 1);
		weir_sem_release(&s, 1);
	} else {
		assert(err == WEIR_ECANCELED && y == 1);
	}
	return unused;
}

THREAD(rest_cancelled)
{
	assert(rest(&w1, WEIR_FOREVER) == WEIR_ECANCELED);
	return unused;
}

THREAD(take_cancelled)
{
	assert(weir_sem_acquire(&s, 1, &ctx) == WEIR_ECANCELED);
	return unused;
}

PROGRAM(cancel_meets_release)
{
	start_with(0, 1, WEIR_FIFO, 0);
	queue_up(&w1, 1, &ctx);
	RUN3(rest_or_cancelled, put_x, cancel_y);
	quiet(1);
	OK(weir_ctx_destroy(&ctx));
}

PROGRAM(two_cancels)
{
	start_with(0, 1, WEIR_FIFO, 0);
	queue_up(&w1, 1, &ctx);
	RUN3(rest_cancelled, cancel_ctx, cancel_ctx);
	quiet(0);
}

THREAD(rest_and_note)
{
	x = rest(&w1, WEIR_FOREVER) == WEIR_OK;
	return unused;
}

THREAD(put_cancel_try)
{
	weir_sem_release(&s, 1);
	weir_ctx_cancel(&ctx);
	z = weir_sem_try_acquire(&s, 1) == WEIR_OK;
	return unused;
}

PROGRAM(cancel_takes_back)
{
	start_with(0, 1, WEIR_FIFO, 0);
	queue_up(&w1, 1, &ctx);
	RUN2(rest_and_note, put_cancel_try);
	assert(x + z == 1);
	quiet(0);
}

THREAD(cancel_and_put)
{
	weir_ctx_cancel(&ctx);
	weir_sem_release(&s, 1);
	return unused;
}

PROGRAM(release_after_cancel)
{
	start_with(0, 1, WEIR_FIFO, 0);
	RUN2(take_cancelled, cancel_and_put);
	quiet(1);
}

THREAD(cancel_and_try)
{
	weir_ctx_cancel(&ctx);
	OK(weir_sem_try_acquire(&s, 1));
	return unused;
}

PROGRAM(cancel_empties_queue)
{
	start_with(1, 2, WEIR_FIFO, 0);
	queue_up(&w1, 2, &ctx);
	RUN2(rest_cancelled, cancel_and_try);
}

static weir_ctx *c;

THREAD(take_and_free_ctx)
{
	assert(weir_sem_acquire(&s, 1, c) == WEIR_ECANCELED);
	assert(y == 1);
	OK(weir_ctx_destroy(c));
	free(c);
	return unused;
}

THREAD(cancel_c)
{
	y = 1;
	weir_ctx_cancel(c);
	return unused;
}

PROGRAM(ctx_freed_after_wait)
{
	start_with(0, 1, WEIR_FIFO, 0);
	c = malloc(sizeof(*c));
	OK(weir_ctx_init(c, NULL, WEIR_FOREVER));
	RUN2(take_and_free_ctx, cancel_c);
	quiet(0);
}

static weir_ctx child;

THREAD(take_in_child)
{
	OK(weir_ctx_init(&child, &ctx, WEIR_FOREVER));
	assert(weir_sem_acquire(&s, 1, &child) == WEIR_ECANCELED);
	assert(y == 1);
	OK(weir_ctx_destroy(&child));
	return unused;
}

PROGRAM(child_meets_cancel)
{
	start_with(0, 1, WEIR_FIFO, 0);
	RUN2(take_in_child, cancel_y);
	OK(weir_ctx_destroy(&ctx));
}

THREAD(wait_ctx)
{
	assert(weir_ctx_wait(&ctx, WEIR_FOREVER) == WEIR_ECANCELED);
	assert(y == 1);
	OK(weir_ctx_destroy(&ctx));
	return unused;
}

THREAD(err_sees_y)
{
	if (weir_ctx_err(&ctx))
		assert(y == 1);
	return unused;
}

PROGRAM(ctx_wait_sees_cancel)
{
	start_with(0, 1, WEIR_FIFO, 0);
	RUN2(wait_ctx, cancel_y);
}

PROGRAM(ctx_err_sees_cancel)
{
	start_with(0, 1, WEIR_FIFO, 0);
	RUN2(err_sees_y, cancel_y);
}

THREAD(idle_cancelled)
{
	assert(weir_sem_wait_idle(&s, &ctx) == WEIR_ECANCELED);
	assert(y == 1);
	return unused;
}

PROGRAM(idle_meets_cancel)
{
	start_with(1, 2, WEIR_FIFO, 0);
	RUN2(idle_cancelled, cancel_y);
	quiet(1);
}

THREAD(rest_until_2000)
{
	weir_err err = rest(&w1, 2000);

	if (err == WEIR_OK) {
		assert(x == 1);
		weir_sem_release(&s, 1);
	} else {
		assert(err == WEIR_ETIMEDOUT);
	}
	return unused;
}

THREAD(let_time_pass)
{
	at_store_relaxed(&now_ns, 3000);
	return unused;
}

PROGRAM(timeout_meets_release)
{
	start_with(0, 1, WEIR_FIFO, 0);
	queue_up(&w1, 1, NULL);
	RUN3(rest_until_2000, put_x, let_time_pass);
	quiet(1);
}
