/* SPDX-License-Identifier: MIT */
/*
 * Spinning on the state word for a short time before parking.  FIFO: the head
 * of the queue spins and takes released permits itself.  BARGING: a new request
 * spins before it joins the queue, and so does the head before it sleeps, and
 * again before it retries.  docs/design/sem.md.
 */
#include "base/atomic.h"
#include "base/cpu.h"
#include "base/spin.h"
#include "core/ctx_wait.h"
#include "core/last_cpu.h"
#include "core/sem_grant.h"
#include "core/sem_lock.h"
#include "core/sem_queue.h"
#include "core/sem_wait.h"
#include "core/sem_watched.h"
#include "core/sem_word.h"

/*
 * This number of pauses takes about as long as moving a cache line to another
 * CPU and back.
 */
#define YIELD_PAUSES 16

/*
 * The backoff of the head of a BARGING queue before it retries: with this
 * value, its first pause takes about a microsecond.  If critical sections are
 * empty, the permit is free half of the time.  A head that polled sooner would
 * take the permit, and the cache line of the word, from a thread that could
 * otherwise acquire it about fifty times.
 */
#define RETRY_APART 256

/*
 * Returns true if a waiter that joins the queue now will be its head, once the
 * unlock has granted to the waiters that fit.
 */
static bool will_be_first(const weir_sem *sem)
{
	/* relaxed: under the lock the value only grows, so true stays true. */
	int64_t value = weir_value_(at_load_relaxed(&sem->word_));

	return !sem->queue_ || (sem->waiters_ == 1 &&
				weir_waiter_of_(sem->queue_)->min <= value);
}

/*
 * Returns true if spinning may pay.  It does not pay if the next release is
 * expected on this CPU, where the releasing thread cannot run while this thread
 * spins.
 */
static bool may_pay(const weir_sem *sem, uint8_t cpu)
{
	return weir_sem_releaser_may_be_remote_(sem, cpu) &&
	       weir_spin_wait_may_pay_();
}

bool weir_sem_spin_pays_(const weir_sem *sem, const struct weir_waiter_ *w)
{
	/*
	 * A waiter with min < max must not spin: it could take permits that a
	 * later release added.
	 */
	return w->min == weir_waiter_max_(w) && !weir_sem_is_barging_(sem) &&
	       will_be_first(sem) && may_pay(sem, w->cpu);
}

/* Returns true if enough permits have been released for w, the spinner. */
static bool is_available(const struct weir_waiter_ *w)
{
	/* relaxed: a hint; take() checks it under the lock. */
	uint64_t word = at_load_relaxed(&w->sem->word_);

	return !(word & WEIR_SHUT_) && weir_value_(word) >= w->min;
}

/*
 * Take w's permits under the lock, if they are still free.  Returns true if w
 * is decided.  If `last`, w stops spinning: the unlock shuts the door, and
 * releases grant to w from then on.
 */
static bool take(struct weir_waiter_ *w, bool last)
{
	weir_err err = weir_sem_panic_(w->sem, w->call,
					  weir_sem_lock_no_panic_(w->sem));
	int64_t taken;

	/*
	 * The lock fails only if this thread has forked since it joined the
	 * queue: C29.
	 */
	if (err) {
		w->outcome = (int8_t)err;
		return true;
	}
	taken = weir_sem_take_first_(w->sem, w);
	if (last)
		w->spinning = false;
	weir_sem_unlock_(w->sem, taken < 0 ? 0 : taken);
	return taken >= 0;
}

bool weir_sem_spin_(struct weir_waiter_ *w)
{
	struct weir_spin_wait_ spin = weir_spin_wait_begin_(WEIR_SPIN_WAKE_NS_);

	do {
		bool notified = weir_waiter_is_notified_(w);

		if (notified || (is_available(w) && take(w, false))) {
			weir_spin_wait_end_(true);
			return !notified;
		}
	} while (weir_spin_wait_continue_(&spin));
	weir_spin_wait_end_(false);
	return take(w, true);
}

void weir_sem_yield_to_spinner_(const weir_sem *sem)
{
	for (int i = 0; i < YIELD_PAUSES; i++) {
		/* relaxed: decides only how long to pause. */
		uint64_t word = at_load_relaxed(&sem->word_);

		if (weir_door_(word) != WEIR_SPINNING_ ||
		    weir_value_(word) <= 0)
			return;
		weir_cpu_pause_();
	}
}

bool weir_sem_spin_notified_(const struct weir_waiter_ *w)
{
	struct weir_spin_wait_ spin;
	bool notified;

	/*
	 * If the last release came from this CPU, then the next release may
	 * come from it, too, and this spin would delay it.
	 */
	if (!weir_sem_is_barging_(w->sem) ||
	    !weir_sem_released_elsewhere_(w->sem, weir_cpu_()) ||
	    !weir_spin_wait_may_pay_())
		return false;
	spin = weir_spin_wait_begin_(WEIR_SPIN_SLEEP_NS_);
	do
		notified = weir_waiter_is_notified_(w);
	while (!notified && weir_spin_wait_continue_(&spin));
	weir_spin_wait_end_(notified);
	return notified;
}

void weir_sem_spin_retry_(const struct weir_waiter_ *w, int64_t until_ns)
{
	struct weir_spin_wait_ spin = weir_spin_wait_begin_(WEIR_SPIN_RETRY_NS_);

	if (until_ns < spin.until_ns)
		spin.until_ns = until_ns;
	spin.apart = RETRY_APART;
	while (weir_spin_wait_back_off_(&spin)) {
		/* relaxed: a hint; the caller checks it under the lock. */
		uint64_t word = at_load_relaxed(&w->sem->word_);

		if (weir_door_(word) != WEIR_OPEN_ ||
		    weir_value_(word) >= w->min ||
		    (w->ctx && weir_ctx_cancelled_(w->ctx)))
			break;
	}
}

int64_t weir_sem_spin_acquire_(weir_sem *sem, int64_t min, int64_t max)
{
	struct weir_spin_wait_ spin;
	int64_t taken;

	/* relaxed: hints; weir_sem_enqueue_ checks again under the lock. */
	if (!weir_request_ok_(sem, min, max) || !weir_sem_is_barging_(sem) ||
	    at_load_relaxed(&sem->waiters_) ||
	    min > at_load_relaxed(&sem->capacity_) ||
	    !may_pay(sem, weir_cpu_()))
		return -1;
	spin = weir_spin_wait_begin_(WEIR_SPIN_WAKE_NS_);
	do {
		taken = weir_take_fast_(sem, min, max);
		if (taken < 0)
			taken = weir_take_watched_(sem, min, max);
	/* relaxed: checked again under the lock. */
	} while (taken < 0 &&
	       weir_door_(at_load_relaxed(&sem->word_)) == WEIR_OPEN_ &&
	       weir_spin_wait_back_off_(&spin));
	weir_spin_wait_end_(taken >= 0);
	return taken;
}
