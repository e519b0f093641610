/* SPDX-License-Identifier: MIT */
/*
 * The preference of writers in the reader-writer lock (WEIR_RW_WRITERS).
 *
 * writers_ counts the writers that wait or are inside.  While it is above 0,
 * readers do not enter the queue of inside_.  They wait at recall_, a semaphore
 * that starts without permits.  The last writer to leave releases one permit of
 * recall_ for each of them.  A recalled reader enters the queue of
 * inside_ like any other reader, behind the writers that have arrived in the
 * meantime.
 *
 * readers_ counts the readers at recall_ for which no permit has been released
 * yet.  Under lock_ this equation holds:
 *
 *     readers counted and not returned = readers_ + permits of recall_
 *
 * Each of these readers leaves with one permit, or by decrementing readers_.
 * (After a close the equation has no meaning.)  A reader whose wait failed
 * (ctx, deadline) and that finds readers_ == 0 has been recalled at the same
 * time.  Each other reader takes at most one permit, so one permit is left for
 * it.  It takes this permit under lock_, before a reader that waits for the
 * next writer can take it.
 */
#include "pattern/rwlock.h"

#include "base/hook.h"
#include "base/lock.h"

weir_err weir_rwlock_await_recall_(weir_rwlock *rw, struct weir_ctx *ctx,
				   int64_t deadline_ns)
{
	struct weir_held_event_ held;
	bool recalled = false;
	weir_err err;

	weir_lock_(&rw->lock_);
	/* relaxed: writers_ is written only under the lock. */
	if (!at_load_relaxed(&rw->writers_))
		recalled = true;
	else
		rw->readers_++;
	weir_unlock_(&rw->lock_);
	if (recalled)
		return WEIR_OK;

	err = weir_rwlock_acquire_(&rw->recall_, 1, ctx, deadline_ns);
	if (!err || err == WEIR_ECLOSED)
		return err;
	weir_hook_hold_(&held);
	weir_lock_(&rw->lock_);
	if (rw->readers_)
		rw->readers_--;
	else
		(void)!weir_sem_try_acquire(&rw->recall_, 1);
	weir_unlock_(&rw->lock_);
	weir_hook_deliver_(&held);
	return err;
}

void weir_rwlock_add_writer_(weir_rwlock *rw)
{
	if (rw->prefer_ != WEIR_RW_WRITERS)
		return;
	weir_lock_(&rw->lock_);
	/* relaxed: writers_ is written only under the lock. */
	at_store_relaxed(&rw->writers_, at_load_relaxed(&rw->writers_) + 1);
	weir_unlock_(&rw->lock_);
}

void weir_rwlock_remove_writer_(weir_rwlock *rw)
{
	struct weir_held_event_ held;
	uint32_t writers;

	if (rw->prefer_ != WEIR_RW_WRITERS)
		return;
	weir_hook_hold_(&held);
	weir_lock_(&rw->lock_);
	/* relaxed: writers_ is written only under the lock. */
	writers = at_load_relaxed(&rw->writers_) - 1;
	at_store_relaxed(&rw->writers_, writers);
	if (!writers && rw->readers_) {
		weir_sem_release(&rw->recall_, (int64_t)rw->readers_);
		rw->readers_ = 0;
	}
	weir_unlock_(&rw->lock_);
	weir_hook_deliver_(&held);
}
