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
 *   [A10] list      release: unlock_list   acquire: lock_list
 *                  Writes under the lock of a thread's list are visible to its
 *                  next holder.
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

struct lock {
	uint32_t word;
	char apart[60];
};

/* The locks of loops, and of the threads' lists. */
static struct lock locks[LOCKS], list_locks[LOCKS];

static uint32_t *lock_of(struct lock *all, const void *runner)
{
	uintptr_t at = (uintptr_t)runner >> 6;

	/* The stacks of threads lie 2^23 bytes apart, or a page more. */
	return &all[(at ^ at >> 4 ^ at >> 10 ^ at >> 17) % LOCKS].word;
}

/*
 * Runs in the child of a fork.  The operations of the parent and the threads
 * that held a lock do not exist in the child, which may create operations of
 * its own.
 */
static void reset_in_child(void)
{
	for (int i = 0; i < LOCKS; i++) {
		/* relaxed: the child has one thread at this moment. */
		at_store_relaxed(&locks[i].word, 0);
		at_store_relaxed(&list_locks[i].word, 0);
	}
	weir_thread_to_run_()->ready = NULL;
}

__attribute__((constructor)) static void register_fork_handler(void)
{
	(void)!pthread_atfork(NULL, NULL, reset_in_child);
}

void weir_run_lock_(const void *runner)
{
	weir_lock_(lock_of(locks, runner));
}

void weir_run_unlock_(const void *runner)
{
	weir_unlock_(lock_of(locks, runner));
}

/*
 * The lock of a thread's list.  Its thread, threads that cancel, and the few
 * threads whose lists share the lock take it for some instructions, so it is hardly
 * ever contended.  No thread sleeps until it is woken: the unlock is a store, where
 * that of weir_lock_ is a read-modify-write.
 */
static void lock_list(const void *thread)
{
	uint32_t *lock = lock_of(list_locks, thread), seen = 0;
	struct weir_backoff_ backoff = { 0 };

	/* [A10] acquire */
	while (!at_cas_weak_acquire(lock, &seen, 1)) {
		if (seen)
			weir_backoff_wait_(&backoff);
		seen = 0;
	}
}

static void unlock_list(const void *thread)
{
	/* [A10] release */
	at_store_release(lock_of(list_locks, thread), 0);
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

/*
 * Take the first operation off this thread's list and set it to RUNNING.
 * Returns null if the list is empty.
 */
static struct weir_waiter_ *next_of(struct weir_to_run_ *mine)
{
	struct weir_waiter_ *w = NULL;

	lock_list(mine);
	if (mine->ready) {
		w = ring_entry(mine->ready, struct weir_waiter_, link);
		ring_remove(&mine->ready, &w->link);
		/* relaxed: other threads read it under the lock. */
		at_store_relaxed(&w->state, WEIR_OP_RUNNING_);
	}
	unlock_list(mine);
	return w;
}

/*
 * Run the callback of w, and those that become ready meanwhile, in one frame.
 */
__attribute__((noinline))
static void run_each(struct weir_to_run_ *mine, struct weir_waiter_ *w,
		     int cancel)
{
	struct on_thread on = { w, cancel };
	struct weir_frame_ frame WEIR_FRAME_;

	weir_frame_enter_(&frame, "operation", w, left_on_thread, &on);
	for (;;) {
		weir_run_callback_(w);
		w = next_of(mine);
		if (!w)
			break;
		/* The callback may have enabled cancellation. */
		(void)weir_thread_cancel_off_();
		on.w = w;
		weir_frame_set_object_(&frame, w);
	}
	weir_frame_leave_(&frame);
}

/* Run this thread's callbacks, unless a caller further up the stack does. */
static void run_all(void)
{
	struct weir_to_run_ *mine = weir_thread_to_run_();
	struct weir_waiter_ *w;
	int cancel;

	if (mine->running && !weir_frame_check_("weir_op"))
		return;
	w = next_of(mine);
	if (!w)
		return;
	mine->running = true;
	cancel = weir_thread_cancel_off_();
	run_each(mine, w, cancel);
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
		lock_list(mine);
		w->runner = mine;
		ring_append(&mine->ready, &w->link);
		/* [A2] release */
		at_store_release(&w->state, WEIR_OP_NOTIFIED_);
		unlock_list(mine);
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
	bool on_loop = w->kind == WEIR_OP_ON_LOOP_;
	struct weir_backoff_ backoff = { 0 };

	for (;;) {
		uint32_t state;

		weir_backoff_recheck_(&backoff);
		/* [A2] acquire, [A4] acquire */
		state = at_load_acquire(&w->state);
		if (state == WEIR_OP_FREE_)
			return false;
		if (on_loop || state == WEIR_OP_NOTIFIED_) {
			const void *runner = w->runner;

			(on_loop ? weir_run_lock_ : lock_list)(runner);
			if (on_loop)
				weir_inbox_empty_(w->runner);
			/* [A4] acquire: the callback may have begun. */
			state = at_load_acquire(&w->state);
			if (state == WEIR_OP_NOTIFIED_) {
				take_off(w);
				/* relaxed: changed only under the lock. */
				at_store_relaxed(&w->state, WEIR_OP_RUNNING_);
			}
			(on_loop ? weir_run_unlock_ : unlock_list)(runner);
			if (state == WEIR_OP_NOTIFIED_)
				return true;
			if (state == WEIR_OP_FREE_)
				return false;
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
