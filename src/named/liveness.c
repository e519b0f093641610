/* SPDX-License-Identifier: MIT */
/*
 * Deaths: the rounds of the keeper, and arming it.  keeper.c has its thread.
 * See docs/design/named.md, "The central idea" and "Arm, then check".
 *
 * `round` counts the keeper's rounds.  It is odd while the keeper sleeps or is
 * about to sleep, and even while it is awake; a keeper that polls counts as
 * awake.  The keeper makes it odd inside the critical section of its round, and
 * then wakes the waiting threads of its handle.  `checked` is the last round in
 * which a waiting thread has found that the keeper sleeps on the obituary word,
 * and then that no participant is dead.  `listens` is set if the keeper sleeps
 * on the obituary word at all; it changes together with `round`.
 *
 * Pairs
 *
 *   [NV1] kick   release: weir_nm_kick_   acquire: weir_nm_keep_watch_
 *                A keeper that sleeps on the kicked value of the word has seen
 *                the reason for the kick.
 *   [NV2] round  release: run_round, weir_nm_keep_watch_
 *                acquire: weir_nm_arm_, try_arm
 *                A thread that sees an odd round sees `listens` of that round.
 */
#include "base/cpu.h"
#include "named/keeper.h"
#include "named/lock.h"
#include "named/record.h"
#include "named/table.h"

/*
 * The interval at which the keeper checks whether a dead process has ended
 * completely (STRICT): a lock on a byte of the file shows that, and no futex
 * sleep can wait for it.  The longest interval is multiplied by the number of
 * waiting calls, because the keepers of all of them poll.
 */
#define POLL_MIN_NS 50000
#define POLL_MAX_NS 2000000
#define POLL_CALLS_MAX 500

/*
 * The number of attempts of weir_nm_arm_, whose pauses take about 4 ms together.
 * In the explorer any attempt may be the last one.
 */
#ifndef WEIR_ARM_ENDS_
#define WEIR_ARM_ENDS_(tries) ((tries) >= 20)
#endif

void weir_nm_kick_(weir_named *h)
{
	/* [NV1] release */
	at_add_release(&h->mine->kick, 1);
	weir_shared_wake_(&h->mine->kick);
	/* Without futex_waitv the keeper may have been moved: see arm_moved. */
	if (!h->can_wait_any)
		weir_shared_wake_all_(&h->head->obituary);
}

static void sleep_on(weir_named *h, uint32_t kick, int64_t until)
{
	uint32_t *obituary = &h->head->obituary;

	/* relaxed: this thread has stored it. */
	if (at_load_relaxed(&h->listens) && h->can_wait_any) {
		/* relaxed: the word is constant, unless the file is damaged. */
		uint32_t value = at_load_relaxed(obituary);
		/*
		 * The obituary word is first, so the kernel enqueues this
		 * thread on it first: a thread that is found on the kick word
		 * is on both.
		 */
		struct weir_watch_ watches[2] = { { obituary, value },
						  { &h->mine->kick, kick } };

		weir_shared_wait_any_(watches, 2, until);
	} else {
		weir_shared_wait_(&h->mine->kick, kick, until);
	}
}

/*
 * Wake the waiting threads of this handle: they arm the keeper, or find that
 * the slot is lost.  The state word changes, so a thread that has read it and
 * does not sleep yet will not sleep.
 */
void weir_nm_wake_ours_(weir_named *h)
{
	uint32_t high = nm_records_high(h);

	for (uint32_t i = 0; i < high; i++) {
		struct nm_record *record = &h->records[i];
		uint32_t seen = weir_nm_word_of_(record);

		/* relaxed: the lock orders our own records. */
		if (at_load_relaxed(&record->owner) != h->me)
			continue;
		while (nm_is_undecided(seen)) {
			uint32_t next = (seen & ~NM_REC_CHECKS) |
				((seen + NM_REC_CHECK) & NM_REC_CHECKS);

			/* [NQ1] release */
			if (at_cas_weak_release(&record->state, &seen, next))
				break;
		}
		/*
		 * Wake the thread of a decided record too: the process that
		 * decided it may have died before its wake-up.
		 */
		weir_shared_wake_all_(&record->state);
	}
}

/* Returns the time of the next poll; WEIR_FOREVER: the keeper does not poll. */
static int64_t next_poll(const weir_named *h, uint32_t calls, int64_t *pause_ns)
{
	int64_t most = POLL_MAX_NS;

	if (!h->polls) {
		*pause_ns = POLL_MIN_NS;
		return WEIR_FOREVER;
	}
	most *= calls < 1 ? 1 : calls < POLL_CALLS_MAX ? calls : POLL_CALLS_MAX;
	*pause_ns = 2 * *pause_ns < most ? 2 * *pause_ns : most;
	return weir_deadline_after(*pause_ns);
}

/*
 * Bury the dead and grant.  Stores the time until which the keeper may sleep.
 * Returns false if the keeper must end: it was stopped, or its slot is lost.
 */
static bool run_round(weir_named *h, int64_t *pause_ns, int64_t *until)
{
	struct nm_limit limit = { .deadline_ns = WEIR_FOREVER,
				  .stop = &h->stop };
	bool listens, pass;
	uint32_t calls;

	if (nm_lock(h, &limit))
		return false;
	weir_nm_fold_(h);
	weir_nm_sweep_(h);
	/* relaxed: waiting threads add to it under the lock. */
	listens = at_load_relaxed(&h->calls);
	calls = h->head->in_use;
	/* The keepers of other waiting processes must poll too. */
	pass = h->lingers && !h->polls;
	h->polls = h->lingers && listens;
	/* relaxed: published by `round`. */
	at_store_relaxed(&h->listens, listens);
	if (!h->polls)
		/* [NV2] release */
		at_store_release(&h->round, h->round + 1);
	nm_unlock(h);
	/*
	 * An open may have taken over the slot of a dead participant before the
	 * sweep came to it, and after the sweep had read `stale`.  The opening
	 * process may die before it has a keeper, so run another round.
	 */
	/* relaxed: ordered by the sweep's loads of the slots. */
	if (at_load_relaxed(&h->head->stale))
		weir_nm_kick_(h);
	*until = next_poll(h, calls, pause_ns);
	if (pass)
		weir_shared_wake_(&h->head->obituary);
	if (listens && !h->polls)
		weir_nm_wake_ours_(h);
	return true;
}

void weir_nm_keep_watch_(weir_named *h, uint32_t kick)
{
	int64_t until = WEIR_FOREVER, pause_ns = POLL_MIN_NS;

	do {
		sleep_on(h, kick, until);
		if (h->round & 1)
			/* [NV2] release */
			at_store_release(&h->round, h->round + 1);
		/* [NV1] acquire */
		kick = at_load_acquire(&h->mine->kick);
		/* relaxed: the kick orders it. */
	} while (!at_load_relaxed(&h->stop) &&
		 run_round(h, &pause_ns, &until));
}

/*
 * Without futex_waitv the keeper sleeps on its kick word alone.  Move it to the
 * obituary word.
 */
static bool arm_moved(weir_named *h)
{
	return h->can_wait_any ||
	       weir_shared_move_(&h->mine->kick, &h->head->obituary);
}

/*
 * Called while the keeper is about to sleep.  Returns false if the caller must
 * try again.
 */
static bool try_arm(weir_named *h, uint32_t round)
{
	if (!weir_shared_sleepers_(&h->mine->kick))
		return false;
	/*
	 * Change the word without a wake-up: if the process is stopped and
	 * continued, the kernel compares the word again, and the keeper wakes.
	 */
	/* relaxed: a stop of the process orders it. */
	at_add_relaxed(&h->mine->kick, 1);
	if (!arm_moved(h))
		return false;
	/* [NV2] acquire */
	if (at_load_acquire(&h->round) != round || weir_nm_any_dead_(h))
		weir_nm_kick_(h);
	else
		/* relaxed: threads of this handle compare it with `round`. */
		at_store_relaxed(&h->checked, round);
	return true;
}

bool weir_nm_is_armed_(const weir_named *h)
{
	/* relaxed: as above. */
	return at_load_relaxed(&h->checked) == at_load_relaxed(&h->round);
}

/*
 * The attempts fail while the keeper does not get from its round to its sleep:
 * it has no CPU, or a debugger has stopped this thread alone.  They also fail if
 * a process that damages the file changes the kick word each time.  The call may
 * have a limit, or be granted meanwhile, so it does not wait for these.
 *
 * After the last attempt the caller kicks the keeper and sleeps on its record.
 * This is as safe as a keeper that is awake: wherever the keeper is, it finds
 * another kick word before it sleeps, or is woken, and runs a round that begins
 * after the kick.  The round buries the participants that have died until then;
 * after it the keeper wakes the caller, which arms the keeper for the later ones.
 */
void weir_nm_arm_(weir_named *h)
{
	struct weir_backoff_ backoff = { 0 };

	for (int tries = 1;; tries++) {
		/* [NV2] acquire */
		uint32_t round = at_load_acquire(&h->round);

		/* relaxed: threads of this handle store it. */
		if (!(round & 1) || at_load_relaxed(&h->checked) == round)
			return;
		/* relaxed: published by `round`. */
		if (!at_load_relaxed(&h->listens))
			break;
		if (try_arm(h, round))
			return;
		if (WEIR_ARM_ENDS_(tries))
			break;
		weir_backoff_wait_(&backoff);
	}
	weir_nm_kick_(h);
}
