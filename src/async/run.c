/* SPDX-License-Identifier: MIT */
/*
 * Who runs callbacks, and how an operation gets there.  docs/design/async.md.
 *
 * The inbox of a loop
 *
 *    63                                            2 1 0
 *   +-----------------------------------------------+-+-+
 *   |  newest operation told, or null               |a|r|
 *   +-----------------------------------------------+-+-+
 *
 *   r  RAISING: somebody is making the descriptor readable, and the loop is not
 *      destroyed meanwhile.  Legal to leave set for no longer than that; illegal to
 *      leave clear over an operation of which nobody has told the descriptor,
 *      except by whoever empties the inbox.
 *   a  AGAIN, with r: somebody relies on him.  He clears this and makes it readable
 *      once more; only where it is clear does he clear r.  (That the inbox is what
 *      it was says nothing: it may have been emptied, the descriptor cleared, and
 *      the same operation told anew.)
 *
 * Pairs
 *
 *   [A1] inbox   release: push           acquire: weir_run_empty_inbox_
 *                Who runs a callback sees what its decider did.
 *   [A2] told    release: weir_run_notify_, weir_run_empty_inbox_
 *                acquire: weir_run_take_, weir_op_poll
 *                Who finds an operation told finds its runner and its outcome.
 *   [A3] raised  release: raise_claimed   acquire: weir_loop_destroy
 *                Whoever makes it readable is done with the loop.
 *   [A4] free    release: weir_run_callback_   acquire: weir_run_take_
 *                Who is told that it was too late finds the operation left.
 */
#include "async/run.h"

#include <pthread.h>

#include "async/any.h"
#include "async/timers.h"
#include "base/atomic.h"
#include "base/cpu.h"
#include "base/event.h"
#include "base/futex.h"
#include "base/lock.h"
#include "base/thread.h"
#include "core/sem_wait.h"

#define RAISING UINT64_C(1)
#define AGAIN UINT64_C(2)
#define FLAGS (RAISING | AGAIN)
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
 * In the child of a fork: operations of the parent do not exist, nor do the threads
 * that held a lock; but it may have operations of its own.
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

/* RAISING is ours.  The last access to *loop is the one that clears it. */
static void raise_claimed(weir_loop *loop)
{
	uint64_t seen, next;

	do {
		weir_event_raise_(loop->fd_);
		/* relaxed: a first guess, the CAS checks it. */
		seen = at_load_relaxed(&loop->inbox_);
		do
			next = seen & AGAIN ? seen & ~AGAIN : seen & ~RAISING;
		/* [A3] release */
		while (!at_cas_weak_release(&loop->inbox_, &seen, next));
	} while (next & RAISING);
}

void weir_run_raise_(weir_loop *loop)
{
	/* relaxed: a first guess, the CAS checks it. */
	uint64_t seen = at_load_relaxed(&loop->inbox_);

	/* relaxed: only claims the work, or asks for it. */
	while (!at_cas_weak_relaxed(&loop->inbox_, &seen,
				    seen | (seen & RAISING ? AGAIN : RAISING)))
		;
	if (!(seen & RAISING))
		raise_claimed(loop);
}

/* Async-signal-safe.  Nothing of *w is touched once it is in the inbox. */
static void push(weir_loop *loop, struct weir_waiter_ *w)
{
	/* relaxed: a first guess, the CAS checks it. */
	uint64_t seen = at_load_relaxed(&loop->inbox_);
	uint64_t flags;

	do {
		w->notify_next = (void *)(uintptr_t)(seen & ~FLAGS);
		/* The first one tells the descriptor. */
		flags = seen & RAISING ? FLAGS : seen ? 0 : RAISING;
		/* [A1] release */
	} while (!at_cas_weak_release(&loop->inbox_, &seen,
				      (uint64_t)(uintptr_t)w | flags));
	if (!seen)
		raise_claimed(loop);
}

void weir_run_empty_inbox_(weir_loop *loop)
{
	/* relaxed: a first guess, the CAS checks it. */
	uint64_t seen = at_load_relaxed(&loop->inbox_);
	struct weir_waiter_ *w, *oldest = NULL;

	if (!(seen & ~FLAGS))
		return;
	/* [A1] acquire */
	while (!at_cas_weak_acquire(&loop->inbox_, &seen, seen & FLAGS))
		;
	w = (void *)(uintptr_t)(seen & ~FLAGS);
	while (w) {
		struct weir_waiter_ *older = w->notify_next;

		w->notify_next = oldest;
		oldest = w;
		w = older;
	}
	for (w = oldest; w; w = w->notify_next) {
		ring_append(&loop->ready_, &w->link);
		loop->ready_count_++;
		/* [A2] release */
		at_store_release(&w->state, WEIR_OP_NOTIFIED_);
	}
}

/* Run what this thread has to run, unless somebody further out does. */
static void run_all(void)
{
	struct weir_to_run_ *mine = weir_thread_to_run_();

	if (mine->running)
		return;
	mine->running = true;
	for (;;) {
		struct weir_waiter_ *w = NULL;

		weir_run_lock_(mine);
		if (mine->ready) {
			w = ring_entry(mine->ready, struct weir_waiter_, link);
			ring_remove(&mine->ready, &w->link);
			/* relaxed: others look under the lock. */
			at_store_relaxed(&w->state, WEIR_OP_RUNNING_);
		}
		weir_run_unlock_(mine);
		if (!w)
			break;
		weir_run_callback_(w);
	}
	mine->running = false;
}

/* True: this thread has something to run; never from a signal handler. */
bool weir_run_notify_(struct weir_waiter_ *w)
{
	struct weir_to_run_ *mine;

	if (!w) {
		run_all();
	} else if (w->kind == WEIR_MEMBER_) {
		return weir_any_notified_(w);
	} else if (w->kind == WEIR_OP_WAKES_) {
		uint32_t *state = &w->state;

		/* [A2] release.  The last access to *w. */
		(void)at_swap_release(state, WEIR_OP_NOTIFIED_);
		weir_futex_wake_(state);
	} else if (w->kind == WEIR_OP_ON_LOOP_) {
		push(w->runner, w);
	} else if (w->kind == WEIR_OP_POLLED_) {
		/* [A2] release.  The last access to *w. */
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

/* Under the lock, TOLD. */
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
				weir_run_empty_inbox_(w->runner);
			/* relaxed: under the lock. */
			state = at_load_relaxed(&w->state);
			if (state == WEIR_OP_NOTIFIED_) {
				take_off(w);
				/* relaxed: the same. */
				at_store_relaxed(&w->state, WEIR_OP_RUNNING_);
			}
			weir_run_unlock_(runner);
			if (state == WEIR_OP_NOTIFIED_)
				return true;
		}
		/* About to be told, or to be free. */
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
		/* relaxed: others look under the lock. */
		at_store_relaxed(&w->state, WEIR_OP_RUNNING_);
	}
	weir_run_unlock_(loop);
	return w;
}

void weir_run_callback_(struct weir_waiter_ *w)
{
	weir_op_fn *fn = (weir_op_fn *)w->fn;
	void *user = w->user;
	weir_err err;

	if (!w->sem) {
		weir_any_callback_(w);
		return;
	}
	err = weir_sem_finish_(w, w->sem->name_, (weir_err)w->outcome);

	/* [A4] release.  The last access to *w: it is the callback's. */
	at_store_release(&w->state, WEIR_OP_FREE_);
	fn((weir_op *)(void *)w, err, user);
}
