/* SPDX-License-Identifier: MIT */
#ifndef WEIR_CORE_SEM_WATCHED_H
#define WEIR_CORE_SEM_WATCHED_H

/*
 * The fast paths of a watched semaphore: an acquire or a release that needs no
 * lock.  They are called after the fast paths of weir/inline.h have failed.
 * sem_word.h describes the marked word.
 */
#include <stdbool.h>
#include <stdint.h>

#include "base/atomic.h"
#include "core/sem_word.h"
#include "record/fast.h"
#include "record/record.h"
#include "weir/sem.h"

/*
 * The return address of the current function: the call site that is recorded.
 *
 * The public functions must not use it: that would add a stack frame to their
 * fast paths.  They call a function that uses it, and this call is a jump (it
 * is the last statement, and the arguments fit into registers), so that the
 * return address is in the code of the user.  In a build without such jumps
 * (without optimisation, or with ThreadSanitizer) it is in the public function
 * instead.
 */
#define WEIR_SITE_ ((uint64_t)(uintptr_t)__builtin_return_address(0))

/*
 * Take n permits if the word is marked and n are free.  Returns false if nothing was
 * done.  Requires: sem is not misplaced.  An invalid n is more than any value.
 */
static inline bool weir_take_marked_(weir_sem *sem, int64_t n)
{
	/* relaxed: a first guess; the CAS checks it. */
	uint64_t word = at_load_relaxed(&sem->word_);

	while (weir_may_take_(word, n))
		/* [S1] acquire */
		if (at_cas_weak_acquire(&sem->word_, &word,
					word - weir_units_(n)))
			return true;
	return false;
}

/*
 * Take as many permits as are free, in min..max, if the word is marked and at
 * least min are free.  Returns the number taken, or -1 if nothing was done.
 * Requires: weir_request_ok_(sem, min, max).
 */
static inline int64_t weir_take_watched_(weir_sem *sem, int64_t min,
					 int64_t max)
{
	/* relaxed: a first guess; the CAS checks it. */
	uint64_t word = at_load_relaxed(&sem->word_);

	while (weir_is_marked_(word) && weir_value_(word) >= min) {
		int64_t value = weir_value_(word);
		int64_t taken = value < max ? value : max;

		/* [S1] acquire */
		if (at_cas_weak_acquire(&sem->word_, &word,
					word - weir_units_(taken)))
			return taken;
	}
	return -1;
}

/*
 * Returns true if a release of n permits may be added to the word: the word is
 * marked and stays marked, and n permits are out.  Requires: n is a valid count, or
 * the word is not marked.
 */
static inline bool weir_may_put_(const weir_sem *sem, uint64_t word, int64_t n)
{
	uint64_t value = weir_marked_value_(word);

	/* relaxed: as in weir_put_fast_. */
	return weir_fits_mark_(value) && weir_fits_mark_(value + (uint64_t)n) &&
	       n <= at_load_relaxed(&sem->capacity_) - (int64_t)value;
}

/*
 * Return n permits if weir_may_put_ allows it and the word still is `word`, which
 * was loaded with [S2] acquire.  Returns false if nothing was done.
 * Requires: the word is not marked, or sem is not misplaced and n is a valid count.
 */
static inline bool weir_put_marked_(weir_sem *sem, uint64_t word, int64_t n)
{
	/*
	 * [S1] release.  This is the last access to *sem, as in put().
	 */
	return weir_may_put_(sem, word, n) &&
	       at_cas_weak_release(&sem->word_, &word, word + weir_units_(n));
}

/*
 * As weir_put_marked_, with the current word.  Returns false if nothing was
 * done.  Requires: sem is not misplaced, and n is a valid count.
 */
static inline bool weir_put_watched_(weir_sem *sem, int64_t n)
{
	for (;;) {
		/* [S2] acquire: as in weir_put_fast_. */
		uint64_t word = at_load_acquire(&sem->word_);

		if (weir_put_marked_(sem, word, n))
			return true;
		if (!weir_may_put_(sem, word, n))
			return false;
	}
}

/*
 * Watch *sem as an object of this type, if it has a name and WEIR_DIAG allows
 * it.  Patterns use this for their semaphores, which they initialise with
 * WEIR_SEM_UNWATCHED.  Requires: no other thread can reach *sem yet.
 */
void weir_sem_watch_(weir_sem *sem, enum rg_type type);

/*
 * As weir_sem_watch_.  The waits on *second are recorded as waits on *sem; those
 * of a reader-writer lock get RG_RECALL.
 */
void weir_sem_watch_both_(weir_sem *sem, weir_sem *second, enum rg_type type);

/*
 * As weir_sem_watch_, for an object of a pattern that consists of one or two
 * semaphores (RG_PATTERN).  Returns the number of its record; 0: not watched.
 */
uint32_t weir_sem_watch_inner_(const struct weir_watched_ *what,
			       weir_sem *first, weir_sem *second);

/*
 * Called by an acquire after its fast paths have failed: register a semaphore that
 * was initialised statically.  A release does not do this: it may be in a signal
 * handler.
 */
void weir_sem_register_(weir_sem *sem, uint64_t site);

static inline void weir_sem_register_fresh_(weir_sem *sem, uint64_t site)
{
	if (weir_state_is_fresh_(weir_state_(sem)))
		weir_sem_register_(sem, site);
}

/*
 * Record that this thread has taken n permits. weir_sem_record_took_ is for a
 * call that may wait, weir_sem_record_tried_ for a call that never waits.
 * Requires: *sem exists.
 */
static inline void weir_sem_record_took_(const weir_sem *sem, int64_t n,
					 uint64_t site)
{
	weir_record_took_(weir_record_of_(sem), n, site);
}

static inline void weir_sem_record_tried_(const weir_sem *sem, int64_t n,
					  uint64_t site)
{
	weir_record_tried_(weir_record_of_(sem), n, site);
}

/*
 * weir_take_marked_ with the recording.  Returns false if nothing was done.
 * `may_wait`: the call is one that may wait.
 */
static inline bool weir_take_recorded_(weir_sem *sem, int64_t n, uint64_t site,
				       bool may_wait)
{
	struct weir_ready_ ready;
	bool is_ready = weir_record_ready_to_take_(sem, site, &ready);

	if (!weir_take_marked_(sem, n))
		return false;
	if (is_ready)
		(void)weir_record_took_in_(&ready, n);
	else if (may_wait)
		weir_sem_record_took_(sem, n, site);
	else
		weir_sem_record_tried_(sem, n, site);
	return true;
}

#endif /* WEIR_CORE_SEM_WATCHED_H */
