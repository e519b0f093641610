/* SPDX-License-Identifier: MIT */
/*
 * The inbox of a loop, and raising its descriptor.  See docs/design/async.md.
 *
 *    63                                            2 1 0
 *   +-----------------------------------------------+-+-+
 *   |  newest operation in the inbox, or null       |a|r|
 *   +-----------------------------------------------+-+-+
 *
 *   r  RAISING: a thread is making the descriptor readable; the loop must not
 *      be destroyed until that thread clears the bit.  While the inbox holds an
 *      operation for which the descriptor has not been raised, RAISING must be
 *      set, or have been set since that operation was pushed.  The thread that
 *      empties the inbox is exempt.
 *   a  AGAIN, only with r: another thread relies on the raising thread to raise
 *      the descriptor again.  The raising thread clears AGAIN and raises; it
 *      clears RAISING only when AGAIN is clear.  It is not enough to compare
 *      the inbox before and after the raise: the inbox may have been emptied,
 *      the descriptor cleared, and the same operation pushed again.
 *
 * Pairs
 *
 *   [A1] inbox   release: weir_inbox_push_   acquire: weir_inbox_empty_
 *                The thread that runs a callback sees what the deciding thread
 *                did.
 *   [A3] raised  release: raise_claimed   acquire: weir_loop_destroy
 *                The raising thread does not access the loop any more.
 */
#include "async/inbox.h"

#include "async/state.h"
#include "base/atomic.h"
#include "base/event.h"

#define RAISING UINT64_C(1)
#define AGAIN UINT64_C(2)
#define FLAGS (RAISING | AGAIN)

/*
 * Requires: this thread has set RAISING.  The CAS that clears it is the last
 * access to *loop.
 */
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

void weir_inbox_raise_(weir_loop *loop)
{
	/* relaxed: a first guess, the CAS checks it. */
	uint64_t seen = at_load_relaxed(&loop->inbox_);

	/* relaxed: only claims the raise, or requests another one. */
	while (!at_cas_weak_relaxed(&loop->inbox_, &seen,
				    seen | (seen & RAISING ? AGAIN : RAISING)))
		;
	if (!(seen & RAISING))
		raise_claimed(loop);
}

void weir_inbox_push_(weir_loop *loop, struct weir_waiter_ *w)
{
	/* relaxed: a first guess, the CAS checks it. */
	uint64_t seen = at_load_relaxed(&loop->inbox_);
	uint64_t flags;

	do {
		w->notify_next = (void *)(uintptr_t)(seen & ~FLAGS);
		/* The push into an empty inbox raises the descriptor. */
		flags = seen & RAISING ? FLAGS : seen ? 0 : RAISING;
		/* [A1] release */
	} while (!at_cas_weak_release(&loop->inbox_, &seen,
				      (uint64_t)(uintptr_t)w | flags));
	if (!seen)
		raise_claimed(loop);
}

void weir_inbox_empty_(weir_loop *loop)
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
