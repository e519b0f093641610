/* SPDX-License-Identifier: MIT */
/*
 * C27, C36: callbacks that do not return, by pthread_exit, pthread_cancel and
 * longjmp.  throws.cpp has exceptions.
 */
#include <setjmp.h>
#include <unistd.h>

#include "calls.h"
#include "weir/diag.h"
#include "weir/pool.h"
#include "weir/pool_async.h"

static weir_sem sem;
static weir_loop loop;
static weir_pool pool;
static struct call second;
static int went_on;

static void begin(void)
{
	calls_from_zero();
	went_on = 0;
	CHECK_OK(weir_sem_init_opts(&sem, &(weir_sem_opts){ .capacity = 1 }));
	CHECK_OK(weir_loop_init(&loop));
}

static void end(void)
{
	CHECK_IDENTITY(&sem);
	CHECK_OK(weir_sem_destroy(&sem));
	CHECK_OK(weir_loop_destroy(&loop));
}

/* Two operations; the callback of the first one does not return. */
static weir_op first;

static void queue_two(weir_loop *on, weir_op_fn *fn)
{
	weir_op_init(&first, on, fn, NULL);
	CHECK_ERR(weir_op_submit(&first, &sem, 1, NULL), WEIR_EQUEUED);
	call_queue(&second, on, &sem, 1, NULL);
}

static void exits(weir_op *op, weir_err err, void *user)
{
	(void)op;
	(void)user;
	CHECK_OK(err);
	weir_sem_release(&sem, 1);
	pthread_exit(NULL);
}

static void *dispatches(void *arg)
{
	(void)arg;
	(void)weir_loop_dispatch(&loop);
	went_on = 1;
	return NULL;
}

/* C36: the loop goes on in another thread, and loses no operation. */
TEST(c36_loop_callback_exits)
{
	begin();
	queue_two(&loop, exits);
	weir_sem_release(&sem, 1);
	finish(start(dispatches, NULL));
	CHECK_EQ(went_on, 0);
	CHECK(is_readable(&loop));
	CHECK_ERR(weir_loop_destroy(&loop), WEIR_EBUSY);
	CHECK_EQ(weir_loop_dispatch(&loop), 1);
	CALL_WAS(&second, WEIR_OK);
	weir_sem_release(&sem, 1);
	end();
}

static void is_cancelled(weir_op *op, weir_err err, void *user)
{
	(void)op;
	(void)user;
	CHECK_OK(err);
	weir_sem_release(&sem, 1);
	pthread_cancel(pthread_self());
	pthread_testcancel();
	went_on++;
}

TEST(c36_loop_callback_is_cancelled)
{
	begin();
	queue_two(&loop, is_cancelled);
	weir_sem_release(&sem, 1);
	finish(start(dispatches, NULL));
	CHECK_EQ(went_on, 0);
	CHECK_EQ(weir_loop_dispatch(&loop), 1);
	CALL_WAS(&second, WEIR_OK);
	weir_sem_release(&sem, 1);
	end();
}

static void *releases(void *arg)
{
	(void)arg;
	weir_sem_release(&sem, 1);
	went_on++;
	pthread_testcancel();
	went_on++;
	return NULL;
}

/* C27: without a loop the thread is cancelled after the callbacks. */
TEST(c27_cancel_waits_for_callbacks)
{
	begin();
	queue_two(NULL, is_cancelled);
	finish(start(releases, NULL));
	CALL_WAS(&second, WEIR_OK);
	CHECK_EQ(went_on, 2);
	weir_sem_release(&sem, 1);
	end();
}

static void enables(weir_op *op, weir_err err, void *user)
{
	(void)op;
	(void)user;
	CHECK_OK(err);
	pthread_testcancel();
	went_on++;
	weir_sem_release(&sem, 1);
	pthread_cancel(pthread_self());
	pthread_setcancelstate(PTHREAD_CANCEL_ENABLE, NULL);
}

/* C27: the same if a callback enables cancellation and does not disable it. */
TEST(c27_cancel_waits_for_callbacks_after_one_that_enables_it)
{
	weir_op other;

	begin();
	weir_op_init(&first, NULL, enables, NULL);
	weir_op_init(&other, NULL, enables, NULL);
	CHECK_ERR(weir_op_submit(&first, &sem, 1, NULL), WEIR_EQUEUED);
	CHECK_ERR(weir_op_submit(&other, &sem, 1, NULL), WEIR_EQUEUED);
	finish(start(releases, NULL));
	/* Each callback, and the call that ran them. */
	CHECK_EQ(went_on, 3);
	end();
}

/* C27: without a loop a callback must return. */
TEST(c27_callback_exits)
{
	begin();
	queue_two(NULL, exits);
	CHECK_PANICS("its callback did not return",
		     finish(start(releases, NULL)));
	CHECK_EQ(went_on, 0);
	/* The hook has returned: the other callback has run. */
	CALL_WAS(&second, WEIR_OK);
	weir_sem_release(&sem, 1);
	end();
}

static jmp_buf back;

static void jumps(weir_op *op, weir_err err, void *user)
{
	(void)op;
	(void)user;
	CHECK_OK(err);
	weir_sem_release(&sem, 1);
	longjmp(back, 1);
}

/* C27: the next wait of the thread panics instead of waiting for ever. */
TEST(c27_callback_jumps)
{
	begin();
	queue_two(NULL, jumps);
	if (!setjmp(back))
		weir_sem_release(&sem, 1);
	CHECK_PANICS("weir_sem_acquire_for: an earlier callback of operation",
		     CHECK_ERR(weir_sem_acquire_for(&sem, 1, 1),
			       WEIR_EINVAL));
	CHECK_OK(weir_op_cancel(&second.op));
	end();
}

/* C27: the next callback of the thread panics; it runs if the hook returns. */
TEST(c27_callback_after_a_jump)
{
	struct call third;

	begin();
	weir_op_init(&first, NULL, jumps, NULL);
	CHECK_ERR(weir_op_submit(&first, &sem, 1, NULL), WEIR_EQUEUED);
	if (!setjmp(back))
		weir_sem_release(&sem, 1);
	CHECK_OK(weir_sem_try_acquire(&sem, 1));
	call_queue(&third, NULL, &sem, 1, NULL);
	CHECK_PANICS("did not return", weir_sem_release(&sem, 1));
	CALL_WAS(&third, WEIR_OK);
	weir_sem_release(&sem, 1);
	end();
}

/* C36: the next dispatch of the thread panics. */
TEST(c36_loop_callback_jumps)
{
	begin();
	queue_two(&loop, jumps);
	weir_sem_release(&sem, 1);
	if (!setjmp(back))
		(void)weir_loop_dispatch(&loop);
	CHECK_PANICS("did not return",
		     CHECK_EQ(weir_loop_dispatch(&loop), 0));
	CHECK_OK(weir_op_cancel(&second.op));
	/* The dispatch has not ended, and never will. */
	CHECK_ERR(weir_loop_destroy(&loop), WEIR_EBUSY);
	close(weir_loop_fd(&loop));
}

/*
 * The pool: a function that does not return costs no place.
 */
enum { CREATE, VALIDATE, DESTROY, NONE };
static int leaves;
static bool by_jump;

static void leave(int in)
{
	if (leaves != in)
		return;
	leaves = NONE;
	if (by_jump)
		longjmp(back, 1);
	pthread_cancel(pthread_self());
	pthread_testcancel();
}

static weir_err create(void *user, struct weir_ctx *ctx, void **resource)
{
	(void)user;
	(void)ctx;
	*resource = &pool;
	leave(CREATE);
	return WEIR_OK;
}

static bool validate(void *user, void *resource)
{
	(void)user;
	(void)resource;
	leave(VALIDATE);
	return true;
}

static void destroy(void *user, void *resource)
{
	(void)user;
	(void)resource;
	leave(DESTROY);
}

static void begin_pool(int in)
{
	const weir_pool_opts opts = { .max = 1, .create = create,
		.validate = validate, .destroy = destroy };

	by_jump = false;
	leaves = NONE;
	went_on = 0;
	CHECK_OK(weir_pool_init(&pool, NULL, &opts));
	if (in == VALIDATE) {
		weir_pool_item *item;

		CHECK_OK(weir_pool_try_borrow(&pool, "before", &item));
		weir_pool_give_back(&pool, item);
	}
	leaves = in;
}

static void *borrows(void *arg)
{
	weir_pool_item *item;

	(void)arg;
	CHECK_OK(weir_pool_try_borrow(&pool, "it", &item));
	weir_pool_discard(&pool, item);
	went_on = 1;
	return NULL;
}

static void check_whole(int in)
{
	weir_pool_item *item;
	weir_pool_info info;

	CHECK_EQ(went_on, 0);
	CHECK_OK(weir_pool_stat(&pool, &info));
	CHECK_EQ(info.lent, 0);
	CHECK_EQ(info.failed, in == CREATE);
	CHECK_EQ(info.idle, in == VALIDATE);
	CHECK_EQ(info.destroyed, in == DESTROY);
	CHECK_OK(weir_pool_try_borrow(&pool, "after", &item));
	weir_pool_give_back(&pool, item);
	CHECK_OK(weir_pool_destroy(&pool));
}

TEST(c10_pool_function_is_cancelled)
{
	for (int in = CREATE; in <= DESTROY; in++) {
		begin_pool(in);
		finish(start(borrows, NULL));
		check_whole(in);
	}
}

static void *closes(void *arg)
{
	(void)arg;
	weir_pool_close(&pool);
	went_on = 1;
	return NULL;
}

/* C10: a close that was left is completed by the next one. */
TEST(c10_pool_close_is_cancelled)
{
	weir_pool_item *item;
	weir_pool_info info;

	begin_pool(NONE);
	CHECK_OK(weir_pool_try_borrow(&pool, "it", &item));
	weir_pool_give_back(&pool, item);
	leaves = DESTROY;
	finish(start(closes, NULL));
	CHECK_EQ(went_on, 0);
	CHECK_OK(weir_pool_stat(&pool, &info));
	CHECK_EQ(info.idle, 0);
	CHECK_EQ(info.destroyed, 1);
	CHECK_OK(weir_pool_destroy(&pool));
}

TEST(c10_pool_function_jumps)
{
	weir_pool_item *item = NULL;

	begin_pool(CREATE);
	by_jump = true;
	if (!setjmp(back))
		CHECK_OK(weir_pool_try_borrow(&pool, "it", &item));
	CHECK_PANICS("weir_pool_try_borrow: an earlier callback of create of "
		     "pool",
		     CHECK_ERR(weir_pool_try_borrow(&pool, "me", &item),
			       WEIR_EINVAL));
}

/* An asynchronous borrow whose create does not return gets its callback. */
static weir_err borrowed_with;

static void borrowed(weir_pool_op *op, weir_err err, weir_pool_item *item,
		     void *user)
{
	(void)op;
	(void)user;
	CHECK(!item);
	borrowed_with = err;
}

TEST(c35_async_create_is_cancelled)
{
	weir_pool_item *item, *mine;
	weir_pool_op op;

	begin();
	begin_pool(NONE);
	weir_pool_op_init(&op, &loop, borrowed, NULL);
	CHECK_OK(weir_pool_try_borrow(&pool, "me", &mine));
	CHECK_ERR(weir_pool_op_borrow(&op, &pool, "it", NULL, &item),
		  WEIR_EQUEUED);
	weir_pool_discard(&pool, mine);
	leaves = CREATE;
	borrowed_with = WEIR_OK;
	finish(start(dispatches, NULL));
	CHECK_ERR(borrowed_with, WEIR_ECANCELED);
	CHECK_OK(weir_pool_op_borrow(&op, &pool, "it", NULL, &item));
	weir_pool_give_back(&pool, item);
	CHECK_OK(weir_pool_destroy(&pool));
	CHECK_OK(weir_loop_destroy(&loop));
}

static void *is_too_big(void *unused)
{
	(void)unused;
	CHECK_ERR(weir_sem_acquire_for(&sem, 2, 1), WEIR_ETOOBIG);
	went_on++;
	pthread_testcancel();
	went_on++;
	return NULL;
}

static void hook_is_cancelled(const weir_diag_event *event)
{
	CHECK_EQ(event->kind, WEIR_DIAG_LEFT);
	pthread_cancel(pthread_self());
	pthread_testcancel();
	went_on++;
}

/* C27: a cancel of the thread waits for the event hook. */
TEST(c27_cancel_waits_for_the_event_hook)
{
	begin();
	CHECK(!weir_diag_set_hook(hook_is_cancelled));
	finish(start(is_too_big, NULL));
	CHECK(weir_diag_set_hook(NULL) == hook_is_cancelled);
	/* The hook, and the call that reported the event. */
	CHECK_EQ(went_on, 2);
	end();
}

static void hook_exits(const weir_diag_event *event)
{
	CHECK_EQ(event->kind, WEIR_DIAG_LEFT);
	pthread_exit(NULL);
}

/* C27: the event hook must return. */
TEST(c27_event_hook_exits)
{
	begin();
	CHECK(!weir_diag_set_hook(hook_exits));
	CHECK_PANICS("the event hook (weir_diag_set_hook) did not return",
		     finish(start(is_too_big, NULL)));
	CHECK(weir_diag_set_hook(NULL) == hook_exits);
	CHECK_EQ(went_on, 0);
	end();
}

static void hook_jumps(const weir_diag_event *event)
{
	CHECK_EQ(event->kind, WEIR_DIAG_LEFT);
	longjmp(back, 1);
}

/* C27: the next wait of the thread panics. */
TEST(c27_event_hook_jumps)
{
	begin();
	CHECK(!weir_diag_set_hook(hook_jumps));
	if (!setjmp(back))
		CHECK_ERR(weir_sem_acquire_for(&sem, 2, 1), WEIR_ETOOBIG);
	CHECK(weir_diag_set_hook(NULL) == hook_jumps);
	CHECK_PANICS("an earlier callback of the event hook",
		     CHECK_ERR(weir_sem_acquire_for(&sem, 1, 1), WEIR_EINVAL));
	end();
}
