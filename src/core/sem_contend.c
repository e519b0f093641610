/* SPDX-License-Identifier: MIT */
/*
 * Waiting for the lock of a semaphore: spin, then sleep on the low half of the
 * state word.  docs/design/sem.md, "Waiting for the lock".
 *
 * Pairs
 *
 *   [S7] sleeper  release: sleep_once   acquire: grant_batch, unlock_untouched
 *                 An unlock that follows the last check of a thread before it
 *                 sleeps sees that thread in `sleepers`.  Both are
 *                 read-modify-writes of the state word: if the check comes
 *                 first, the unlock reads from it; otherwise the check finds
 *                 the word unlocked.
 */
#include "core/sem_contend.h"

#include <pthread.h>

#include "base/cpu.h"
#include "base/fork.h"
#include "base/futex.h"
#include "base/spin.h"
#include "core/sem_word.h"

/*
 * The longest sleep.  If the kernel refuses a wake-up, the thread sleeps this
 * long.
 */
#define SLEEP_NS 10000000

struct weir_contended_ weir_contended_[WEIR_CONTENDED_];

/*
 * Runs in the child of a fork: the threads that slept in the parent do not
 * exist in the child.
 */
static void reset_in_child(void)
{
	for (uint32_t i = 0; i < WEIR_CONTENDED_; i++) {
		/* relaxed: both; the child has one thread at this moment. */
		at_store_relaxed(&weir_contended_[i].sleepers, 0);
		at_store_relaxed(&weir_contended_[i].starved, NULL);
	}
}

/* If this fails, entries of the parent cause needless wake-ups in the child. */
__attribute__((constructor)) static void register_fork_handler(void)
{
	(void)!pthread_atfork(NULL, NULL, reset_in_child);
}

/* The half of the state word that contains the door. */
static uint32_t *door_half_of(weir_sem *sem)
{
	uint32_t *halves = (uint32_t *)(void *)&sem->word_;

	return &halves[__BYTE_ORDER__ == __ORDER_BIG_ENDIAN__];
}

static bool is_locked(const weir_sem *sem)
{
	/* relaxed: a hint; the caller tries to lock. */
	return weir_door_(at_load_relaxed(&sem->word_)) == WEIR_LOCKED_;
}

/*
 * Spin until the lock is dropped.  The time is limited for all calls of a
 * contender together, because a contender may see the lock dropped many times,
 * and be overtaken each time.
 */
static bool spin_until_unlocked(const weir_sem *sem,
				struct weir_contender_ *contender)
{
	if (contender->sleeps || !weir_cpu_has_others_())
		return false;
	if (!contender->spins)
		contender->spin = weir_spin_wait_begin_(WEIR_SPIN_LOCK_NS_);
	contender->spins = true;
	do
		if (!weir_spin_wait_continue_(&contender->spin))
			return false;
	while (is_locked(sem));
	return true;
}

static void sleep_once(weir_sem *sem)
{
	struct weir_contended_ *entry = weir_contended_of_(sem);
	uint32_t forks = weir_forks_();
	uint64_t word;

	/* relaxed: published by the read-modify-write of the word. */
	at_add_relaxed(&entry->sleepers, 1);
	/* [S7] release: adds nothing, but follows or precedes every unlock. */
	word = at_add_acq_rel(&sem->word_, 0);
	if (weir_door_(word) == WEIR_LOCKED_)
		weir_futex_doze_(door_half_of(sem), (uint32_t)word, SLEEP_NS);
	/* A signal handler may have forked: the child has reset the entry. */
	if (forks == weir_forks_())
		/* relaxed: this thread needs no wake-up any more. */
		at_sub_relaxed(&entry->sleepers, 1);
}

static void become_starved(const weir_sem *sem,
			   struct weir_contender_ *contender)
{
	const weir_sem **starved = &weir_contended_of_(sem)->starved;
	const weir_sem *none = NULL;

	/*
	 * If another thread has set `starved`, that thread gets its lock first.
	 * relaxed: both; a hint, no outcome depends on it.
	 */
	if (!contender->starved && !at_load_relaxed(starved))
		contender->starved = at_cas_weak_relaxed(starved, &none, sem);
}

void weir_sem_await_unlock_(weir_sem *sem, struct weir_contender_ *contender)
{
	if (contender->sleeps >= WEIR_SLEEPS_)
		become_starved(sem, contender);
	if (spin_until_unlocked(sem, contender))
		return;
	sleep_once(sem);
	contender->sleeps++;
}

void weir_sem_end_contention_(const weir_sem *sem,
			      const struct weir_contender_ *contender)
{
	/* relaxed: as in become_starved. */
	if (contender->starved)
		at_store_relaxed(&weir_contended_of_(sem)->starved, NULL);
}

void weir_sem_yield_to_starved_(const weir_sem *sem)
{
	struct weir_spin_wait_ spin;

	if (weir_cpu_has_others_()) {
		spin = weir_spin_wait_begin_(WEIR_SPIN_WAKE_NS_);
		while (weir_sem_is_awaited_(sem))
			if (!weir_spin_wait_continue_(&spin))
				break;
	}
	/* The starved thread may be queued on this CPU. */
	if (weir_sem_is_awaited_(sem))
		weir_cpu_yield_();
}

void weir_sem_wake_contender_(weir_sem *sem)
{
	weir_futex_wake_(door_half_of(sem));
}
