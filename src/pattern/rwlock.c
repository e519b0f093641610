/* SPDX-License-Identifier: MIT */
/*
 * The reader-writer lock: weir/rwlock.h.
 *
 * One semaphore with a permit for every reader there could be (inside_): a reader
 * takes one, a writer takes all.  Its order is the lock's order:
 *
 *   FAIR     FIFO.  A writer in the queue lets nobody pass: the turnstile.
 *   READERS  BARGING.  A reader takes a free permit past a writer that waits,
 *            until that has waited for the bound.
 *   WRITERS  FIFO, and readers do not even join the queue while a writer is
 *            counted (writers_), waiting or inside.  They wait at recall_, a
 *            signal, and the last writer to leave recalls them all.
 *
 * A recalled reader joins the queue of inside_ as any other; writers that have
 * come meanwhile are before it.
 *
 * Recalling.  Under the lock: readers_ is how many wait at recall_ and have no
 * permit there yet, and the last writer turns all of them into permits.  So
 *
 *     readers at recall_, or on their way in or out = readers_ + its permits
 *
 * and each of them leaves with one permit, or by taking itself off readers_.  One
 * that gave up (ctx, deadline) and finds readers_ at 0 has been recalled in the
 * same moment: the others have at most one permit each, so its own is there.  It
 * takes that under the lock, before one that comes for the next writer can.
 *
 * max_waiters.  WRITERS has two queues that do not know of each other, and both are
 * without a bound: it is kept here.  Who does not get in at once is counted
 * (waiting_) or refused, and stays counted on the way from one queue to the other: so
 * one that may wait is not refused later.
 */
#include "pattern/rwlock.h"

#include <stddef.h>

#include "base/atomic.h"
#include "base/lock.h"
#include "base/panic.h"
#include "weir/ctx.h"

/* With a ctx, or with a plain deadline. */
static weir_err acquire(weir_sem *sem, int64_t n, struct weir_ctx *ctx,
			int64_t deadline_ns)
{
	return ctx ? weir_sem_acquire(sem, n, ctx) :
		     weir_sem_acquire_until(sem, n, deadline_ns);
}

/*
 * Readers that writers come before.
 */
static bool writers_are_first(weir_rwlock *rw)
{
	/* relaxed: who reads 0 came before the writer. */
	return rw->prefer_ == WEIR_RW_WRITERS &&
	       at_load_relaxed(&rw->writers_) > 0;
}

static weir_err await_recall(weir_rwlock *rw, struct weir_ctx *ctx,
			     int64_t deadline_ns)
{
	bool recalled = false;
	weir_err err;

	weir_lock_(&rw->lock_);
	/* relaxed: written under the lock alone. */
	if (!at_load_relaxed(&rw->writers_))
		recalled = true;
	else
		rw->readers_++;
	weir_unlock_(&rw->lock_);
	if (recalled)
		return WEIR_OK;

	err = acquire(&rw->recall_, 1, ctx, deadline_ns);
	if (!err || err == WEIR_ECLOSED)
		return err;
	weir_lock_(&rw->lock_);
	if (rw->readers_)
		rw->readers_--;
	else
		(void)!weir_sem_try_acquire(&rw->recall_, 1);
	weir_unlock_(&rw->lock_);
	return err;
}

static void count_writer(weir_rwlock *rw)
{
	if (rw->prefer_ != WEIR_RW_WRITERS)
		return;
	weir_lock_(&rw->lock_);
	/* relaxed: written under the lock alone. */
	at_store_relaxed(&rw->writers_, at_load_relaxed(&rw->writers_) + 1);
	weir_unlock_(&rw->lock_);
}

static void discount_writer(weir_rwlock *rw)
{
	uint32_t writers;

	if (rw->prefer_ != WEIR_RW_WRITERS)
		return;
	weir_lock_(&rw->lock_);
	/* relaxed: written under the lock alone. */
	writers = at_load_relaxed(&rw->writers_) - 1;
	at_store_relaxed(&rw->writers_, writers);
	if (!writers && rw->readers_) {
		weir_sem_release(&rw->recall_, (int64_t)rw->readers_);
		rw->readers_ = 0;
	}
	weir_unlock_(&rw->lock_);
}

/*
 * A bound for both queues.
 */
static bool has_room(weir_rwlock *rw)
{
	weir_sem_info inside;
	int64_t granted;

	if (rw->waiting_ < rw->max_waiters_)
		return true;
	if (weir_sem_stat(&rw->inside_, &inside))
		return false;
	/* They are in no queue; they only have not returned yet. */
	granted = inside.granted == ALL ? 1 : inside.granted;
	return (int64_t)rw->waiting_ - granted < (int64_t)rw->max_waiters_;
}

static bool count_waiter(weir_rwlock *rw)
{
	bool room;

	weir_lock_(&rw->lock_);
	room = has_room(rw);
	rw->waiting_ += room;
	weir_unlock_(&rw->lock_);
	return room;
}

static void discount_waiter(weir_rwlock *rw)
{
	weir_lock_(&rw->lock_);
	rw->waiting_--;
	weir_unlock_(&rw->lock_);
}

/*
 * Coming in.
 */
static weir_err read_in(weir_rwlock *rw, struct weir_ctx *ctx,
			int64_t deadline_ns)
{
	if (writers_are_first(rw)) {
		weir_err err = await_recall(rw, ctx, deadline_ns);

		if (err)
			return err;
	}
	return acquire(&rw->inside_, 1, ctx, deadline_ns);
}

static weir_err write_in(weir_rwlock *rw, struct weir_ctx *ctx,
			 int64_t deadline_ns)
{
	weir_err err;

	count_writer(rw);
	err = acquire(&rw->inside_, ALL, ctx, deadline_ns);
	if (err)
		discount_writer(rw);
	return err;
}

struct way_in {
	weir_err (*wait)(weir_rwlock *rw, struct weir_ctx *ctx,
			 int64_t deadline_ns);
	weir_err (*try)(weir_rwlock *rw);
	void (*leave)(weir_rwlock *rw);
};

static const struct way_in reading = { read_in, weir_rwlock_try_read,
				       weir_rwlock_read_done };
static const struct way_in writing = { write_in, weir_rwlock_try_write,
				       weir_rwlock_write_done };

static weir_err wait_counted(weir_rwlock *rw, const struct way_in *in,
			     struct weir_ctx *ctx, int64_t deadline_ns)
{
	weir_err err;

	if (!count_waiter(rw))
		return WEIR_EBUSY;
	err = in->wait(rw, ctx, deadline_ns);
	discount_waiter(rw);
	return err;
}

static weir_err come_in(weir_rwlock *rw, const struct way_in *in,
			struct weir_ctx *ctx, int64_t deadline_ns)
{
	weir_err err;

	if (weir_rwlock_is_misplaced_(rw))
		return WEIR_EINVAL;
	if (!rw->max_waiters_)
		return in->wait(rw, ctx, deadline_ns);
	err = ctx ? weir_ctx_err(ctx) : WEIR_OK;
	if (!err)
		err = in->try(rw);
	if (err == WEIR_EAGAIN)
		err = wait_counted(rw, in, ctx, deadline_ns);
	if (err || !ctx)
		return err;
	/* C13: it may have ended since it was looked at. */
	err = weir_ctx_err(ctx);
	if (err)
		in->leave(rw);
	return err;
}

weir_err weir_rwlock_read(weir_rwlock *rw, struct weir_ctx *ctx)
{
	return come_in(rw, &reading, ctx, WEIR_FOREVER);
}

weir_err weir_rwlock_write(weir_rwlock *rw, struct weir_ctx *ctx)
{
	return come_in(rw, &writing, ctx, WEIR_FOREVER);
}

weir_err weir_rwlock_read_until(weir_rwlock *rw, int64_t deadline_ns)
{
	return come_in(rw, &reading, NULL, deadline_ns);
}

weir_err weir_rwlock_write_until(weir_rwlock *rw, int64_t deadline_ns)
{
	return come_in(rw, &writing, NULL, deadline_ns);
}

weir_err weir_rwlock_try_read(weir_rwlock *rw)
{
	if (weir_rwlock_is_misplaced_(rw))
		return WEIR_EINVAL;
	if (writers_are_first(rw) && !weir_sem_is_closed(&rw->inside_))
		return WEIR_EAGAIN;
	return weir_sem_try_acquire(&rw->inside_, 1);
}

weir_err weir_rwlock_try_write(weir_rwlock *rw)
{
	weir_err err;

	if (weir_rwlock_is_misplaced_(rw))
		return WEIR_EINVAL;
	err = weir_sem_try_acquire(&rw->inside_, ALL);
	/* Not before: others would wait for one that comes to nothing. */
	if (!err)
		count_writer(rw);
	return err;
}

/*
 * Leaving.
 */
void weir_rwlock_read_done(weir_rwlock *rw)
{
	if (weir_rwlock_is_misplaced_(rw)) {
		weir_panic_("weir_rwlock_read_done: %p is not a lock", rw);
		return;
	}
	weir_sem_release(&rw->inside_, 1);
}

void weir_rwlock_write_done(weir_rwlock *rw)
{
	if (weir_rwlock_is_misplaced_(rw)) {
		weir_panic_("weir_rwlock_write_done: %p is not a lock", rw);
		return;
	}
	if (weir_sem_try_release(&rw->inside_, ALL)) {
		weir_panic_("weir_rwlock_write_done: nobody writes in %s",
			    rw->name_);
		return;
	}
	discount_writer(rw);
}

weir_err weir_rwlock_try_upgrade(weir_rwlock *rw)
{
	weir_err err;

	if (weir_rwlock_is_misplaced_(rw))
		return WEIR_EINVAL;
	err = weir_sem_try_acquire(&rw->inside_, ALL - 1);
	if (err)
		return err;
	/* The caller's own is the last one; else it was no reader. */
	if (weir_sem_available(&rw->inside_)) {
		weir_sem_release(&rw->inside_, ALL - 1);
		return weir_panic_("weir_rwlock_try_upgrade: nobody reads in %s",
				   rw->name_);
	}
	count_writer(rw);
	return WEIR_OK;
}

void weir_rwlock_downgrade(weir_rwlock *rw)
{
	if (weir_rwlock_is_misplaced_(rw)) {
		weir_panic_("weir_rwlock_downgrade: %p is not a lock", rw);
		return;
	}
	if (weir_sem_try_release(&rw->inside_, ALL - 1)) {
		weir_panic_("weir_rwlock_downgrade: nobody writes in %s",
			    rw->name_);
		return;
	}
	discount_writer(rw);
}
