/* SPDX-License-Identifier: MIT */
/*
 * Passing decided operations to their runners, and running their callbacks.
 * docs/design/async.md.
 *
 * Pairs
 *
 *   [A2] notified  release: weir_run_notify_, weir_inbox_empty_
 *                  acquire: weir_run_take_, weir_op_poll, take_decided,
 *                  weir_acquire_any
 *                  A thread that finds an operation NOTIFIED sees its runner
 *                  and its outcome.
 *   [A4] free      release: weir_run_callback_, set_free,
 *                  weir_op_set_free_
 *                  acquire: weir_run_take_, weir_op_cancel, weir_any_cancel
 *                  A canceller that finds the operation FREE may free its
 *                  memory: the library does not access the operation any more.
 */
#include "async/run.h"

#include <pthread.h>

#include "async/count.h"
#include "async/end.h"
#include "async/inbox.h"
#include "async/timers.h"
#include "base/atomic.h"
#include "base/cpu.h"
#include "base/frame.h"
#include "base/futex.h"
#include "base/lock.h"
#include "base/panic.h"
#include "base/thread.h"
#include "core/sem_wait.h"

#define LOCKS 16

static struct {
	uint32_t lock;
	char apart[60];
} locks[LOCKS];

static uint32_t *lock_of(const void *runner)
{
	uintptr_t at = (uintptr_t)runner >> 6;

	return &locks[(at ^ at >> 4 ^ at >> 10) % LOCKS].lock;
}

/*
 * Runs in the child of a fork.  The operations of the parent and the threads
 * that held a lock do not exist in the child, which may create operations of
 * its own.
 */
static void reset_in_child(void)
{
	for (int i = 0; i < LOCKS; i++)
		/* relaxed: the child has one thread at this moment. */
		at_store_relaxed(&locks[i].lock, 0);
	weir_thread_to_run_()->ready = NULL;
}

__attribute__((constructor)) static void register_fork_handler(void)
{
	(void)!pthread_atfork(NULL, NULL, reset_in_child);
}

void weir_run_lock_(const void *runner)
{
	weir_lock_(lock_of(runner));
}

void weir_run_unlock_(const void *runner)
{
	weir_unlock_(lock_of(runner));
}

static void run_all(void);

/* A callback that runs on the thread that decided its operation. */
struct on_thread {
	const struct weir_waiter_ *w;
	int cancel;			/* the thread's cancel state before */
};

/*
 * The call that runs the callback may be any call, and may be half done: an
 * acquire runs callbacks while its own waiter is queued.  So the callback must
 * return.  If the panic hook returns, the other callbacks of this thread run
 * now: the thread may be ending.
 */
static void left_on_thread(void *arg)
{
	const struct on_thread *on = arg;

	weir_thread_to_run_()->running = false;
	weir_thread_cancel_reset_(on->cancel);
	(void)weir_panic_("operation %p: its callback did not return: it threw "
			  "an exception or called pthread_exit, which is "
			  "allowed only on a loop", on->w);
	run_all();
}

static void run_on_thread(struct weir_waiter_ *w, int cancel)
{
	struct on_thread on = { w, cancel };
	struct weir_frame_ frame WEIR_FRAME_;

	weir_frame_enter_(&frame, "operation", w, left_on_thread, &on);
	weir_run_callback_(w);
	weir_frame_leave_(&frame);
}

/* Run this thread's callbacks, unless a caller further up the stack does. */
static void run_all(void)
{
	struct weir_to_run_ *mine = weir_thread_to_run_();
	bool first = true;
	int cancel;

	if (mine->running && !weir_frame_check_("weir_op"))
		return;
	mine->running = true;
	cancel = weir_thread_cancel_off_();
	for (;;) {
		struct weir_waiter_ *w = NULL;

		weir_run_lock_(mine);
		if (mine->ready) {
			w = ring_entry(mine->ready, struct weir_waiter_, link);
			ring_remove(&mine->ready, &w->link);
			/* relaxed: other threads read it under the lock. */
			at_store_relaxed(&w->state, WEIR_OP_RUNNING_);
		}
		weir_run_unlock_(mine);
		if (!w)
			break;
		/* A callback may have enabled cancellation. */
		if (!first)
			(void)weir_thread_cancel_off_();
		first = false;
		run_on_thread(w, cancel);
	}
	mine->running = false;
	weir_thread_cancel_reset_(cancel);
}

bool weir_run_notify_(struct weir_waiter_ *w)
{
	struct weir_to_run_ *mine;

	if (!w) {
		run_all();
	} else if (w->kind == WEIR_OP_WAKES_) {
		uint32_t *state = &w->state;

		/* [A2] release.  This is the last access to *w. */
		(void)at_swap_release(state, WEIR_OP_NOTIFIED_);
		weir_futex_wake_(state);
	} else if (w->kind == WEIR_OP_ON_LOOP_) {
		weir_inbox_push_(w->runner, w);
	} else if (w->kind == WEIR_OP_POLLED_) {
		/* [A2] release.  This is the last access to *w. */
		at_store_release(&w->state, WEIR_OP_NOTIFIED_);
	} else {
		mine = weir_thread_to_run_();
		weir_run_lock_(mine);
		w->runner = mine;
		ring_append(&mine->ready, &w->link);
		/* [A2] release */
		at_store_release(&w->state, WEIR_OP_NOTIFIED_);
		weir_run_unlock_(mine);
		return true;
	}
	return false;
}

/* Requires: the runner's lock is held and w is NOTIFIED. */
static void take_off(struct weir_waiter_ *w)
{
	weir_loop *loop;
	struct weir_to_run_ *thread;

	if (w->kind == WEIR_OP_ON_LOOP_) {
		loop = w->runner;
		ring_remove(&loop->ready_, &w->link);
		loop->ready_count_--;
		weir_timers_remove_(loop, w);
	} else {
		thread = w->runner;
		ring_remove(&thread->ready, &w->link);
	}
}

bool weir_run_take_(struct weir_waiter_ *w)
{
	struct weir_backoff_ backoff = { 0 };

	for (;;) {
		uint32_t state;

		weir_backoff_recheck_(&backoff);
		/* [A2] acquire, [A4] acquire */
		state = at_load_acquire(&w->state);
		if (state == WEIR_OP_FREE_)
			return false;
		if (w->kind == WEIR_OP_ON_LOOP_ || state == WEIR_OP_NOTIFIED_) {
			const void *runner = w->runner;

			weir_run_lock_(runner);
			if (w->kind == WEIR_OP_ON_LOOP_)
				weir_inbox_empty_(w->runner);
			/* relaxed: changed only under the lock. */
			state = at_load_relaxed(&w->state);
			if (state == WEIR_OP_NOTIFIED_) {
				take_off(w);
				/* relaxed: as above. */
				at_store_relaxed(&w->state, WEIR_OP_RUNNING_);
			}
			weir_run_unlock_(runner);
			if (state == WEIR_OP_NOTIFIED_)
				return true;
		}
		/* w is about to be notified, or about to be free. */
		weir_backoff_wait_(&backoff);
	}
}

struct weir_waiter_ *weir_run_next_(weir_loop *loop)
{
	struct weir_waiter_ *w = NULL;

	weir_run_lock_(loop);
	if (loop->ready_) {
		w = ring_entry(loop->ready_, struct weir_waiter_, link);
		take_off(w);
		/* relaxed: other threads read it under the lock. */
		at_store_relaxed(&w->state, WEIR_OP_RUNNING_);
	}
	weir_run_unlock_(loop);
	return w;
}

void weir_run_callback_(struct weir_waiter_ *w)
{
	weir_op_fn *fn;
	void *user;
	weir_err err;

	if (!w->sem && !weir_op_awaits_end_(w)) {
		w->complete(w);
		return;
	}
	fn = (weir_op_fn *)w->fn;
	user = w->user;
	err = (weir_err)w->outcome;
	err = w->sem ? weir_sem_finish_(w, w->sem->name_, err) :
		       weir_op_end_finish_(w, err);
	weir_op_uncount_(w);
	/* [A4] release.  The last access to *w: the callback may reuse it. */
	at_store_release(&w->state, WEIR_OP_FREE_);
	fn((weir_op *)(void *)w, err, user);
}
