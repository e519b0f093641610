/* SPDX-License-Identifier: MIT */
/*
 * The reader-writer lock of weir/rwlock.h: entering.  rwlock_leave.c has the
 * calls of threads that are inside.
 *
 * inside_ is a semaphore with WEIR_RW_READERS_MAX permits.  A reader takes one
 * permit, a writer takes all of them.  The order of the semaphore is the order
 * of the lock:
 *
 *   BARGING  BARGING.  A reader may take a free permit before a waiting writer,
 *            until the writer has waited for the starvation bound.
 *   FIFO     FIFO.  A writer in the queue keeps all later readers behind it.
 *   WRITERS  FIFO.  In addition, readers do not enter the queue while a writer
 *            waits or is inside: rwlock_recall.c.
 *
 * max_waiters.  With BARGING and FIFO there is one queue, and inside_ enforces
 * the bound.  With WRITERS there are two queues.  The bound is for both together,
 * so this file enforces it.  A call that cannot enter at once
 * is counted (waiting_) or refused.  It stays counted while it moves from one
 * queue to the other, so a call that was allowed to wait is not refused later.
 */
#include "pattern/rwlock.h"

#include <stddef.h>

#include "base/lock.h"
#include "core/sem_word.h"
#include "core/site.h"
#include "weir/ctx.h"

/*
 * The fast path: the caller enters by one compare-and-swap of inside_.  If that
 * is not possible, then nothing has changed, and the functions below make the
 * whole call.  There is no fast path with WEIR_RW_WRITERS, which counts
 * writers.
 */
static inline bool enter_fast(weir_rwlock *rw, int64_t n)
{
	return weir_is_ready_(rw) && rw->prefer_ != WEIR_RW_WRITERS &&
	       weir_take_fast_(&rw->inside_, n, n) >= 0;
}

/*
 * The bound for both queues together.
 */

/* Returns true if one more call may wait.  Requires: lock_ is held. */
static bool has_room(weir_rwlock *rw)
{
	weir_sem_info inside;
	int64_t granted;

	if (rw->waiting_ < rw->max_waiters_)
		return true;
	if (weir_sem_stat(&rw->inside_, &inside))
		return false;
	/* Granted calls have left the queue, but have not returned yet. */
	granted = inside.granted == ALL ? 1 : inside.granted;
	return (int64_t)rw->waiting_ - granted < (int64_t)rw->max_waiters_;
}

/* Returns false if the call must be refused. */
static bool add_waiter(weir_rwlock *rw)
{
	bool room;

	weir_lock_(&rw->lock_);
	room = has_room(rw);
	rw->waiting_ += room;
	weir_unlock_(&rw->lock_);
	return room;
}

static void remove_waiter(weir_rwlock *rw)
{
	weir_lock_(&rw->lock_);
	rw->waiting_--;
	weir_unlock_(&rw->lock_);
}

/*
 * Entering.
 */
static weir_err wait_to_read(weir_rwlock *rw, struct weir_ctx *ctx,
			     int64_t deadline_ns)
{
	if (weir_rwlock_writers_are_first_(rw)) {
		weir_err err = weir_rwlock_await_recall_(rw, ctx, deadline_ns);

		if (err)
			return err;
	}
	return weir_rwlock_acquire_(&rw->inside_, 1, ctx, deadline_ns);
}

static weir_err wait_to_write(weir_rwlock *rw, struct weir_ctx *ctx,
			      int64_t deadline_ns)
{
	weir_err err;

	weir_rwlock_add_writer_(rw);
	err = weir_rwlock_acquire_(&rw->inside_, ALL, ctx, deadline_ns);
	if (err)
		weir_rwlock_remove_writer_(rw);
	return err;
}

static weir_err try_to_read(weir_rwlock *rw)
{
	if (weir_rwlock_writers_are_first_(rw) &&
	    !weir_sem_is_closed(&rw->inside_))
		return WEIR_EAGAIN;
	return weir_sem_try_acquire(&rw->inside_, 1);
}

static weir_err try_to_write(weir_rwlock *rw)
{
	weir_err err = weir_sem_try_acquire(&rw->inside_, ALL);

	/*
	 * Count the writer only now: before the acquire, readers would wait for
	 * a writer that may never enter.
	 */
	if (!err)
		weir_rwlock_add_writer_(rw);
	return err;
}

/* The functions by which a reader, or a writer, enters. */
struct role {
	weir_err (*wait)(weir_rwlock *rw, struct weir_ctx *ctx,
			 int64_t deadline_ns);
	weir_err (*try)(weir_rwlock *rw);
	void (*leave)(weir_rwlock *rw);
};

static const struct role reader = { wait_to_read, try_to_read,
				    weir_rwlock_read_done };
static const struct role writer = { wait_to_write, try_to_write,
				    weir_rwlock_write_done };

static weir_err wait_counted(weir_rwlock *rw, const struct role *role,
			     struct weir_ctx *ctx, int64_t deadline_ns)
{
	weir_err err;

	if (!add_waiter(rw))
		return WEIR_EBUSY;
	err = role->wait(rw, ctx, deadline_ns);
	remove_waiter(rw);
	return err;
}

static weir_err enter_ready(weir_rwlock *rw, const struct role *role,
			    struct weir_ctx *ctx, int64_t deadline_ns)
{
	weir_err err;

	if (!rw->max_waiters_)
		return role->wait(rw, ctx, deadline_ns);
	err = ctx ? weir_ctx_err(ctx) : WEIR_OK;
	if (!err)
		err = role->try(rw);
	if (err == WEIR_EAGAIN)
		err = wait_counted(rw, role, ctx, deadline_ns);
	if (err || !ctx)
		return err;
	/* C13: the ctx may have ended since it was checked above. */
	err = weir_ctx_err(ctx);
	if (err)
		role->leave(rw);
	return err;
}

/*
 * Not inlined, and called last: core/sem_watched.h, "WEIR_SITE_".
 */
__attribute__((noinline))
static weir_err enter(weir_rwlock *rw, const struct role *role,
		      struct weir_ctx *ctx, int64_t deadline_ns,
		      const char *call)
{
	weir_err err = weir_rwlock_check_(rw, call, WEIR_BY_ERROR_);
	bool watched;

	if (err)
		return err;
	watched = weir_site_begin_(&rw->inside_, WEIR_SITE_);
	err = enter_ready(rw, role, ctx, deadline_ns);
	weir_site_end_(watched);
	return err;
}

weir_err weir_rwlock_read(weir_rwlock *rw, struct weir_ctx *ctx)
{
	if (!ctx && enter_fast(rw, 1))
		return WEIR_OK;
	return enter(rw, &reader, ctx, WEIR_FOREVER, "weir_rwlock_read");
}

weir_err weir_rwlock_write(weir_rwlock *rw, struct weir_ctx *ctx)
{
	if (!ctx && enter_fast(rw, ALL))
		return WEIR_OK;
	return enter(rw, &writer, ctx, WEIR_FOREVER, "weir_rwlock_write");
}

weir_err weir_rwlock_read_until(weir_rwlock *rw, int64_t deadline_ns)
{
	if (enter_fast(rw, 1))
		return WEIR_OK;
	return enter(rw, &reader, NULL, deadline_ns,
		     "weir_rwlock_read_until");
}

weir_err weir_rwlock_write_until(weir_rwlock *rw, int64_t deadline_ns)
{
	if (enter_fast(rw, ALL))
		return WEIR_OK;
	return enter(rw, &writer, NULL, deadline_ns,
		     "weir_rwlock_write_until");
}

weir_err weir_rwlock_try_read(weir_rwlock *rw)
{
	weir_err err = weir_rwlock_check_(rw, "weir_rwlock_try_read",
					  WEIR_BY_ERROR_);
	bool watched;

	if (err)
		return err;
	watched = weir_site_begin_(&rw->inside_, WEIR_SITE_);
	err = try_to_read(rw);
	weir_site_end_(watched);
	return err;
}

weir_err weir_rwlock_try_write(weir_rwlock *rw)
{
	weir_err err = weir_rwlock_check_(rw, "weir_rwlock_try_write",
					  WEIR_BY_ERROR_);
	bool watched;

	if (err)
		return err;
	watched = weir_site_begin_(&rw->inside_, WEIR_SITE_);
	err = try_to_write(rw);
	weir_site_end_(watched);
	return err;
}
