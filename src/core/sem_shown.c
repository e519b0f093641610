/* SPDX-License-Identifier: MIT */
/*
 * The table of published numbers: see sem_shown.h.
 *
 * An entry is a sequence lock.  `round` is odd while a thread writes the entry;
 * a second thread that finds it odd publishes nothing.  `sem` is the semaphore
 * whose numbers are published; null: none.  Its lock holder withdraws them by
 * storing null.
 *
 * A stat reads the entry, then the state word, and at the end the word and the
 * entry again.  The numbers belong to the word that it read:
 *
 *   - They were stored under the lock, so the word is not older than the
 *     critical section that published them ([S8]).  It is not LOCKED, so it is
 *     as of the unlock of that section, or newer.
 *   - If the lists have changed between that unlock and the word, then the
 *     numbers were withdrawn before the unlock that stored the word ([S2]), and
 *     the stat finds them withdrawn, or another round.
 *
 * A fork during a write leaves an odd round in the child: stats there take the
 * lock.  Numbers of the parent are not valid in the child, which must notice
 * that the waiters do not exist (C29).
 *
 * Pairs
 *
 *   [S8] shown   release: weir_sem_show_
 *                acquire: claim, weir_sem_read_shown_,
 *                weir_sem_still_shown_
 *                A thread that reads a number sees the lock under which it was
 *                published, and the round of the thread that wrote it.
 */
#include "core/sem_shown.h"

#include "base/atomic.h"
#include "base/fork.h"
#include "core/sem_contend.h"

struct entry {
	uint32_t round;
	uint32_t forks;			/* fork count of the publishing thread */
	const weir_sem *sem;
	uint32_t waiters;
	uint32_t oversized;
	int64_t permits;
	int64_t since_ns;
	int64_t until_ns;
} __attribute__((aligned(64)));

static struct entry entries[WEIR_CONTENDED_];

static struct entry *entry_of(const weir_sem *sem)
{
	return &entries[weir_contended_of_(sem) - weir_contended_];
}

/* Make the round odd, or return false. */
static bool claim(struct entry *entry, uint32_t *round)
{
	/* relaxed: the CAS checks it. */
	*round = at_load_relaxed(&entry->round);
	/* [S8] acquire: the stores that follow replace those of that round. */
	return !(*round & 1) &&
	       at_cas_weak_acquire(&entry->round, round, *round + 1);
}

void weir_sem_show_(const weir_sem *sem, struct weir_waiter_ *first,
		    const struct weir_shown_ *shown)
{
	struct entry *entry = entry_of(sem);
	uint32_t round;

	if (!claim(entry, &round))
		return;
	first->shown = true;
	/* [S8] release: these stores. */
	at_store_release(&entry->forks, weir_forks_());
	at_store_release(&entry->waiters, shown->waiters);
	at_store_release(&entry->oversized, shown->oversized);
	at_store_release(&entry->permits, shown->permits);
	/* [S8] release: these stores, too. */
	at_store_release(&entry->since_ns, shown->since_ns);
	at_store_release(&entry->until_ns, shown->until_ns);
	at_store_release(&entry->sem, sem);
	at_store_release(&entry->round, round + 2);
}

bool weir_sem_read_shown_(const weir_sem *sem, struct weir_shown_ *shown)
{
	const struct entry *entry = entry_of(sem);

	/* [S8] acquire */
	shown->round = at_load_acquire(&entry->round);
	/* relaxed: weir_sem_still_shown_ loads it again, with acquire. */
	if (shown->round & 1 || at_load_relaxed(&entry->sem) != sem)
		return false;
	/* [S8] acquire */
	if (at_load_acquire(&entry->forks) != weir_forks_())
		return false;
	/* [S8] acquire: these loads. */
	shown->waiters = at_load_acquire(&entry->waiters);
	shown->oversized = at_load_acquire(&entry->oversized);
	shown->permits = at_load_acquire(&entry->permits);
	shown->since_ns = at_load_acquire(&entry->since_ns);
	shown->until_ns = at_load_acquire(&entry->until_ns);
	return true;
}

bool weir_sem_still_shown_(const weir_sem *sem,
			   const struct weir_shown_ *shown)
{
	const struct entry *entry = entry_of(sem);

	/*
	 * [S8] acquire: if a later stat has published the semaphore again, then
	 * its round is seen.
	 */
	if (at_load_acquire(&entry->sem) != sem)
		return false;
	/* relaxed: ordered behind the acquire load. */
	return at_load_relaxed(&entry->round) == shown->round;
}

void weir_sem_withdraw_shown_(const weir_sem *sem, struct weir_waiter_ *first)
{
	struct entry *entry = entry_of(sem);

	first->shown = false;
	/*
	 * relaxed: both.  The entry is of *sem if it was published under this
	 * lock and not replaced since; otherwise another thread may have
	 * replaced it meanwhile, and its numbers are lost.
	 */
	if (at_load_relaxed(&entry->sem) == sem)
		at_store_relaxed(&entry->sem, NULL);
}
