/* SPDX-License-Identifier: MIT */
/*
 * The contended paths of the lock inside the file.  lock.h has the uncontended
 * paths and the diagram.
 *
 * The word `awaited` must be set while a thread sleeps for the lock.  It may be
 * set without a sleeper, which costs one wake-up.  A contender sets `awaited`
 * and then reads the lock again; an unlocking thread clears the lock and then
 * reads `awaited`.  One of the two must see the other's store, so both need a
 * fence between store and load.  The unlocking thread uses the light fence,
 * because every unlock needs it.
 *
 * Contenders sleep on `awaited` itself, while it is 1.  The unlocking thread
 * clears `awaited` before its wake-up.  Between its load of `awaited` and this
 * store another thread may take the lock, and a contender may set `awaited`:
 * the store of 0 undoes that.  Then either the contender sleeps already, and
 * the wake-up that follows the store finds a sleeper, or the contender finds 0
 * and does not sleep.  If contenders slept on the lock word instead, the
 * contender would find the lock word unchanged and sleep, and the next unlock
 * would find `awaited` clear and wake no thread.  A woken thread sets `awaited`
 * again when it has the lock or sleeps once more, for the threads that sleep
 * behind it.
 *
 * A wake-up can be lost without asymmetric fences, or if a contender dies after
 * it was woken and before it wakes the next one.  So sleepers wake up by
 * themselves: first after RECHECK_MIN_NS, then after longer times, up to
 * RECHECK_MAX_NS.  They also examine their limits then.
 */
#include <errno.h>

#include "base/atomic.h"
#include "base/cpu.h"
#include "core/ctx_wait.h"
#include "named/lock.h"
#include "named/record.h"
#include "named/table.h"

#define SPINS 200

/*
 * A thread that is about to sleep does not if the lock word has changed.  After so
 * many changes it sleeps anyway, because its limits are examined only then: a
 * process that damages the file may change the word each time.
 */
#define TRIES 100

/*
 * A thread that sleeps for the lock examines the lock holder again after this
 * time.  Normally the lock is held for microseconds.
 */
#define RECHECK_MIN_NS 4000000
#define RECHECK_MAX_NS 50000000

/*
 * The time for which a brief call waits for a lock holder that does not run.
 * Calls with an earlier deadline wait that long too: by C14 they succeed if
 * permits are free.
 */
#define BRIEF_NS 10000000

/* The time for which threads of a dead owner may continue to run: see grace. */
#define GRACE_NS 100000
#define GRACES 20

static bool is_gone(weir_named *h, uint64_t lock)
{
	struct nm_slot *slot = nm_lock_owner(h, lock);
	uint32_t state;

	if (!slot)
		return true;
	/* relaxed: the slot of a dead owner does not change any more. */
	state = at_load_relaxed(&slot->state);
	return nm_lock_id(nm_slot_ref(h, slot), state) != (uint32_t)lock ||
	       !weir_nm_is_live_(slot);
}

/*
 * Let the threads of a dead owner end.  A killed process counts as dead when
 * its keeper thread ends.  Its other threads end at about the same time, each
 * when the signal reaches its CPU, so one of them may still be about to write
 * to the file.  Wait until the open files of the process are closed, which
 * happens last, or for longer than any CPU takes to be interrupted.
 */
static void grace(weir_named *h, uint64_t lock)
{
	struct nm_slot *slot = nm_lock_owner(h, lock);

	for (int i = 0; slot && i < GRACES; i++) {
		if (!weir_nm_byte_is_locked_(h->fd,
				       NM_BYTE_ALIVE(slot - h->slots)))
			return;
		weir_futex_nap_(GRACE_NS);
	}
}

/* Sleep until an unlock wakes this thread, the owner dies, or `until`. */
static enum weir_woke_ sleep_for(weir_named *h, uint64_t lock, int64_t until)
{
	struct weir_watch_ watches[2] = { { &h->head->awaited, 1 } };
	struct nm_slot *slot = nm_lock_owner(h, lock);

	if (!slot || !h->can_wait_any)
		return weir_shared_wait_(watches[0].word, watches[0].value,
					 until);
	watches[1].word = &slot->alive.word;
	/* relaxed: only a change of the value matters. */
	watches[1].value = at_load_relaxed(watches[1].word);
	if (!weir_is_alive_(watches[1].value))
		return WEIR_WOKEN_;
	return weir_shared_wait_any_(watches, 2, until);
}

/* Announce that this thread will sleep.  Returns false if the lock changed. */
static bool announce(weir_named *h, uint64_t seen)
{
	/* relaxed: the fence orders the store. */
	at_store_relaxed(&h->head->awaited, 1);
	(void)weir_fence_heavy_();
	/* relaxed: the fence orders the load. */
	return at_load_relaxed(&h->head->lock) == seen;
}

/*
 * Called if the owner has had the lock for long.  Note the time, for stat.  If
 * no process has the owner's slot, mark the owner as dead: then the next check
 * in contend() takes the lock.
 */
static void examine_owner(weir_named *h, uint64_t seen)
{
	struct nm_slot *slot = nm_lock_owner(h, seen);

	/* relaxed: for display. */
	if (at_load_relaxed(&h->head->stuck) != seen) {
		at_store_relaxed(&h->head->stuck_ns, weir_now_ns());
		at_store_relaxed(&h->head->stuck, seen);
	}
	if (slot)
		weir_nm_mark_gone_(h, slot);
}

/* A wait for the lock. */
struct wait {
	const struct nm_limit *limit;
	int64_t deadline_ns;	/* 0: not computed yet */
	int64_t pause_ns;	/* until the next examination */
	int spins;
	int tries;		/* left, without a sleep if the lock changes */
	bool slept;
};

static void begin_sleeping(struct wait *wait)
{
	const struct nm_limit *limit = wait->limit;
	int64_t brief_ns = weir_deadline_after(BRIEF_NS);

	wait->slept = true;
	wait->pause_ns = RECHECK_MIN_NS;
	wait->deadline_ns = !limit ? WEIR_FOREVER :
			    limit->brief || limit->deadline_ns < brief_ns ?
				     brief_ns : limit->deadline_ns;
}

/* Returns the error of a wait that was cancelled, or WEIR_OK. */
static weir_err find_cancel(const struct nm_limit *limit)
{
	weir_err err;

	if (!limit)
		return WEIR_OK;
	err = limit->ctx ? weir_ctx_cancelled_(limit->ctx) : WEIR_OK;
	if (err)
		return err;
	/* relaxed: only the value matters. */
	if (limit->stop && at_load_relaxed(limit->stop))
		return WEIR_ECANCELED;
	return WEIR_OK;
}

/*
 * Sleep until a wake-up or the next examination.  Returns the error that ends
 * the wait, or WEIR_OK if it goes on.
 */
static weir_err sleep_once(weir_named *h, uint64_t seen, struct wait *wait)
{
	const struct nm_limit *limit = wait->limit;
	enum weir_woke_ woke;
	weir_err err;
	int64_t until;

	if (!wait->slept)
		begin_sleeping(wait);
	err = find_cancel(limit);
	if (err)
		return err;
	until = weir_deadline_after(wait->pause_ns);
	if (until > wait->deadline_ns)
		until = wait->deadline_ns;
	woke = sleep_for(h, seen, until);
	if (woke == WEIR_WOKE_LATE_ && until == wait->deadline_ns)
		return limit->brief ? WEIR_EAGAIN : WEIR_ETIMEDOUT;
	if (woke == WEIR_WOKE_SIGNAL_ && limit && limit->interruptible)
		return WEIR_EINTR;
	if (woke == WEIR_WOKE_LATE_) {
		examine_owner(h, seen);
		wait->pause_ns = wait->pause_ns < RECHECK_MAX_NS / 2 ?
					 2 * wait->pause_ns : RECHECK_MAX_NS;
	}
	return WEIR_OK;
}

/*
 * Take a lock that is free or whose owner is dead.  Returns false if the lock is
 * not taken, which may happen spuriously.
 */
static bool take(weir_named *h, uint64_t seen, bool *stolen)
{
	*stolen = (uint32_t)seen;
	if (*stolen)
		grace(h, seen);
	/* The relaxed loads may have been outdated. */
	if (*stolen && !is_gone(h, seen))
		return false;
	/* [NL1] acquire.  This thread also sees the writes of a dead owner. */
	return at_cas_weak_acquire(&h->head->lock, &seen,
				   seen - (uint32_t)seen + h->lock_id);
}

/* Take the lock.  *stolen: it was taken from a dead owner. */
static weir_err contend(weir_named *h, const struct nm_limit *limit,
			bool *stolen)
{
	struct wait wait = { .limit = limit, .tries = TRIES,
			     .spins = weir_cpu_has_others_() ? SPINS : 0 };
	weir_err err = WEIR_OK;

	while (!err) {
		/* relaxed: the CAS in take validates it. */
		uint64_t seen = at_load_relaxed(&h->head->lock);
		bool gone = (uint32_t)seen && is_gone(h, seen);

		if (gone && (uint32_t)seen == h->lock_id) {
			/*
			 * Another thread of this process was the owner, and the
			 * process is being killed (or the file is damaged).
			 * Leave the lock to another process: the owner may have
			 * ended in a repair, which weir_nm_repair_ would not
			 * repeat in this process.
			 */
			errno = EBADMSG;
			err = WEIR_ESYSTEM;
		} else if (gone || !(uint32_t)seen) {
			if (take(h, seen, stolen))
				break;
		} else if (wait.spins > 0) {
			wait.spins--;
			weir_cpu_pause_();
		} else if (!announce(h, seen) && wait.tries > 0) {
			wait.tries--;
		} else {
			err = sleep_once(h, seen, &wait);
		}
	}
	/*
	 * More threads may sleep: the wake-up cleared `awaited` and woke only
	 * one thread.
	 */
	if (!err && (wait.slept || *stolen))
		/* relaxed: this thread reads it when it unlocks. */
		at_store_relaxed(&h->head->awaited, 1);
	/* This thread may have used up a wake-up for the lock. */
	if (err)
		weir_shared_wake_(&h->head->awaited);
	return err;
}

void weir_nm_wake_lock_(weir_named *h)
{
	/* relaxed: the kernel orders it before the wake-up. */
	at_store_relaxed(&h->head->awaited, 0);
	weir_shared_wake_(&h->head->awaited);
}

void weir_nm_unlock_waking_(weir_named *h)
{
	struct nm_wakes wakes = h->wakes;
	bool awaited;

	h->wakes.due = 0;
	/* relaxed: no other thread changes it while we hold the lock. */
	awaited = nm_release(h, at_load_relaxed(&h->head->lock));
	weir_nm_wake_now_(h, &wakes);
	if (awaited)
		weir_nm_wake_lock_(h);
}

weir_err weir_nm_lock_lost_(weir_named *h)
{
	nm_unlock(h);
	errno = EBADMSG;
	return WEIR_ESYSTEM;
}

weir_err weir_nm_lock_slow_(weir_named *h, const struct nm_limit *limit)
{
	bool stolen = false;
	weir_err err = contend(h, limit, &stolen);

	if (err)
		return err;
	if (stolen)
		weir_nm_repair_(h);
	return nm_is_ours(h) ? WEIR_OK : weir_nm_lock_lost_(h);
}
