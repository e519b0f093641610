/* SPDX-License-Identifier: MIT */
/*
 * The functions of weir/loop.h.  docs/design/async.md describes the design.
 *
 * Pairs
 *
 *   [A8] dispatch  release: end_dispatch   acquire: is_used
 *                  A destroy sees that the last dispatch has finished with
 *                  the loop.
 *   [A9] ended     release: weir_op_uncount_   acquire: is_used
 *                  A destroy sees that a cancelling thread has finished with
 *                  the loop, and that a dispatch which runs a callback has
 *                  begun.
 */
#include "weir/loop.h"

#include <limits.h>

#include "async/any.h"
#include "async/end.h"
#include "async/inbox.h"
#include "async/run.h"
#include "async/timers.h"
#include "base/atomic.h"
#include "base/cpu.h"
#include "base/event.h"
#include "base/frame.h"
#include "base/panic.h"
#include "core/sem_grant.h"
#include "core/sem_lock.h"
#include "core/sem_queue.h"

#define MADE UINT32_C(0x6c6f6f70)

_Static_assert(sizeof(void *) != 8 || sizeof(weir_loop) == 512,
	       "public layout");

static bool is_misplaced(const weir_loop *loop)
{
	return !loop || (uintptr_t)loop % _Alignof(weir_loop);
}

static weir_err check(const weir_loop *loop, const char *call)
{
	if (is_misplaced(loop) || loop->state_ != MADE)
		return weir_panic_("%s: %p is not a loop", call, loop);
	return WEIR_OK;
}

weir_err weir_loop_init(weir_loop *loop)
{
	int fd;

	if (is_misplaced(loop))
		return WEIR_EINVAL;
	fd = weir_event_open_();
	if (fd < 0)
		return WEIR_ESYSTEM;
	*loop = (weir_loop){
		.fd_ = fd,
		.state_ = MADE,
		.passed_ = weir_now_ns() >> WEIR_TICK_SHIFT_,
	};
	return WEIR_OK;
}

/*
 * ops_ is read first: a dispatch sets dispatching_ before it subtracts the
 * operation whose callback it runs.
 */
static bool is_used(const weir_loop *loop)
{
	/* [A9] acquire, [A8] acquire */
	return at_load_acquire(&loop->ops_) ||
	       at_load_acquire(&loop->dispatching_);
}

weir_err weir_loop_destroy(weir_loop *loop)
{
	struct weir_backoff_ backoff = { 0 };
	weir_err err = check(loop, "weir_loop_destroy");

	if (err)
		return err;
	if (is_used(loop))
		return WEIR_EBUSY;
	/* [A3] acquire.  A notifying thread may still raise the descriptor. */
	while (at_load_acquire(&loop->inbox_))
		weir_backoff_wait_(&backoff);
	loop->state_ = 0;
	weir_event_close_(loop->fd_);
	return WEIR_OK;
}

int weir_loop_fd(const weir_loop *loop)
{
	return check(loop, "weir_loop_fd") ? -1 : loop->fd_;
}

int64_t weir_loop_deadline(weir_loop *loop)
{
	int64_t soonest;

	if (check(loop, "weir_loop_deadline"))
		return WEIR_FOREVER;
	weir_run_lock_(loop);
	soonest = loop->ready_ ? 0 : weir_timers_soonest_(loop);
	weir_run_unlock_(loop);
	return soonest;
}

int weir_loop_timeout_ms(weir_loop *loop)
{
	int64_t deadline_ns = weir_loop_deadline(loop), now_ns, left;

	if (deadline_ns == WEIR_FOREVER)
		return -1;
	now_ns = weir_now_ns();
	if (deadline_ns <= now_ns)
		return 0;
	left = (deadline_ns - now_ns - 1) / 1000000 + 1;
	return left < INT_MAX ? (int)left : INT_MAX;
}

/*
 * w's deadline has passed: take w off its queue, unless it has been decided.
 * Requires: the loop's lock is held, which keeps *w valid.
 */
static void time_out(weir_loop *loop, struct weir_waiter_ *w,
		     struct weir_to_notify_ *to_notify)
{
	/* relaxed: *w stays valid under the loop's lock. */
	if (at_load_relaxed(&w->state) != WEIR_OP_QUEUED_)
		return;
	if (weir_op_awaits_end_(w)) {
		/* The clock may go back: see below. */
		if (!weir_op_end_late_(w, to_notify))
			(void)weir_timers_add_(loop, w);
		return;
	}
	if (!w->sem) {
		if (weir_any_late_(w))
			weir_to_notify_add_(to_notify, w, WEIR_NOTIFIED_FINAL_);
		return;
	}
	if (weir_sem_lock_no_panic_(w->sem))
		return;
	if (w->place != WEIR_NOWHERE_) {
		weir_sem_evict_(w->sem, w, WEIR_ETIMEDOUT, to_notify);
	} else if (!w->notify) {
		/*
		 * The submit has not queued w yet.  It will find that the
		 * deadline has passed.  But if the clock goes back, the submit
		 * will queue w, which then needs its timer.
		 */
		(void)weir_timers_add_(loop, w);
	}
	(void)weir_sem_grant_and_unlock_(w->sem, 0, to_notify);
}

static void time_out_all(weir_loop *loop)
{
	int64_t now_ns = weir_now_ns();
	bool more;

	weir_run_lock_(loop);
	weir_timers_advance_(loop, now_ns);
	more = loop->due_;
	weir_run_unlock_(loop);
	while (more) {
		struct weir_to_notify_ to_notify = { .first = NULL };
		struct weir_waiter_ *w;

		weir_run_lock_(loop);
		w = weir_timers_next_(loop);
		if (w)
			time_out(loop, w, &to_notify);
		more = w;
		weir_run_unlock_(loop);
		weir_notify_all_(&to_notify);
	}
}

static void end_dispatch(weir_loop *loop)
{
	bool more;

	weir_run_lock_(loop);
	more = loop->ready_;
	weir_run_unlock_(loop);
	if (more)
		weir_inbox_raise_(loop);
	/* [A8] release.  The last access to *loop. */
	at_store_release(&loop->dispatching_, 0);
}

/* A callback that runs in a dispatch. */
struct on_loop {
	weir_loop *loop;
	bool outer;			/* of weir_callbacks_hold_ */
};

/*
 * The callback did not return.  Operations that are ready stay ready, and the
 * descriptor is readable if there are any.
 */
static void left_on_loop(void *arg)
{
	const struct on_loop *on = arg;

	end_dispatch(on->loop);
	weir_callbacks_resume_(on->outer);
}

static void run_on_loop(weir_loop *loop, struct weir_waiter_ *w)
{
	struct on_loop on = { loop, weir_callbacks_hold_() };
	struct weir_frame_ frame WEIR_FRAME_;

	weir_frame_enter_(&frame, "weir_loop_dispatch", loop, left_on_loop,
			  &on);
	weir_run_callback_(w);
	weir_frame_leave_(&frame);
	weir_callbacks_resume_(on.outer);
}

uint64_t weir_loop_dispatch(weir_loop *loop)
{
	static const char call[] = "weir_loop_dispatch";
	uint64_t there, ran = 0;
	struct weir_waiter_ *w;

	if (check(loop, call) || weir_frame_check_(call))
		return 0;
	if (loop->dispatching_) {
		weir_panic_("%s: loop %p: called from one of its own "
			    "callbacks, or an earlier callback did not return",
			    call, loop);
		return 0;
	}
	/* relaxed: set by the dispatching thread; destroy only checks it. */
	at_store_relaxed(&loop->dispatching_, 1);
	/*
	 * Clear the descriptor first: a later notification makes it readable
	 * again.
	 */
	weir_event_clear_(loop->fd_);
	time_out_all(loop);
	weir_run_lock_(loop);
	weir_inbox_empty_(loop);
	there = loop->ready_count_;
	weir_run_unlock_(loop);
	while (ran < there && (w = weir_run_next_(loop))) {
		run_on_loop(loop, w);
		ran++;
	}
	end_dispatch(loop);
	return ran;
}
