/* SPDX-License-Identifier: MIT */
#ifndef WEIR_RECORD_FAST_H
#define WEIR_RECORD_FAST_H

/*
 * Recording on the fast paths of a watched semaphore (C47).  The slot that a thread
 * used last serves most of its calls.  These functions find it and write it; the
 * functions of record.h do the same for any slot.
 *
 *     acquire                               release
 *
 *     is = weir_record_ready_to_take_       is = weir_record_ready_to_give_
 *     CAS                                   CAS
 *     if is: weir_record_took_in_           if is: weir_record_gave_in_
 *     else: weir_record_took_               else: weir_record_gave_
 *
 * The order of the accesses matters more than the number of instructions.  On aarch64,
 * loads after the CAS of an acquire wait for it, so the slot is read before that CAS.
 * The CAS of a release waits for the loads before it, so the slot is read after that
 * CAS.  Each CAS waits for the stores before it, so there are few stores, and adjacent
 * words are stored in pairs.
 *
 * Where reading the clock is a call (WEIR_TICKS_CALL_), the slot is read after the CAS of
 * an acquire, and the clock stores into the slot.  The call is the last statement: the
 * acquire jumps to it, and needs no stack frame.
 *
 * A signal handler that releases may interrupt any of these functions.  An acquire
 * writes `taken`, `since` and `acquires` of the slot, a release the other words.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "record/record.h"

#ifndef WEIR_NO_RECORD

#include "base/atomic.h"
#include "base/ticks.h"
#include "record/mine.h"
#include "record/registry.h"

/* The pairs of words that are stored together. */
_Static_assert(offsetof(struct rg_slot, since) ==
		       offsetof(struct rg_slot, taken) + 8, "taken, since[0]");
_Static_assert(offsetof(struct rg_slot, given) ==
		       offsetof(struct rg_slot, releases) + 8, "releases, given");

/*
 * Returns true if the slot that this thread used last is of *sem.  The epoch
 * changes whenever an object begins, ends or gets a flag; it differs in the
 * child of a fork.  Requires: sem is not null.
 */
static inline bool weir_record_is_last_(const weir_sem *sem)
{
	/* relaxed: a thread that may use *sem has seen its registration. */
	return weir_mine_.sem == sem &&
	       weir_mine_.epoch == at_load_relaxed(&weir_registry_->epoch);
}

#ifdef WEIR_TICKS_CALL_
/* A slot, which is read after the CAS. */
struct weir_ready_ {
	struct rg_slot *slot;
};

static inline void weir_ready_read_(struct weir_ready_ *ready,
				    struct rg_slot *slot)
{
	ready->slot = slot;
}

/*
 * Record that this thread has taken n permits.  Returns WEIR_OK.
 *
 * A store costs more than the other instructions, because the CAS of the next release
 * waits for it.  So nothing marks the time as old before the clock has stored: until
 * then, some nanoseconds unless the thread is preempted or stopped, the hold has the
 * time of the one before.
 */
static inline weir_err weir_record_took_in_(const struct weir_ready_ *ready,
					    int64_t n)
{
	struct rg_slot *slot = ready->slot;
	/* Plain loads: only this thread writes these words. */
	uint64_t taken = slot->taken, acquires = slot->acquires;
	/* relaxed: `returned` may lag. */
	bool holds = taken - slot->given != at_load_relaxed(&slot->returned);

	/* relaxed: both; readers read it twice. */
	at_store_relaxed(&slot->taken, taken + (uint64_t)n);
	at_store_relaxed(&slot->acquires, acquires + 1);
	return holds ? WEIR_OK : weir_ticks_store_(slot->since);
}
#else
/* A slot and its contents. */
struct weir_ready_ {
	struct rg_slot *slot;
	uint64_t taken, acquires;
	uint64_t now;
	bool holds;
};

/* Read the clock and the slot. */
static inline void weir_ready_read_(struct weir_ready_ *ready,
				    struct rg_slot *slot)
{
	ready->slot = slot;
	ready->now = (uint64_t)weir_ticks_();
	/* Plain loads: only this thread writes these words. */
	ready->taken = slot->taken;
	ready->acquires = slot->acquires;
	/* relaxed: `returned` may lag. */
	ready->holds = slot->taken - slot->given !=
		       at_load_relaxed(&slot->returned);
}

/* Record that this thread has taken n permits.  Returns WEIR_OK. */
static inline weir_err weir_record_took_in_(const struct weir_ready_ *ready,
					    int64_t n)
{
	struct rg_slot *slot = ready->slot;

	/* relaxed: all; readers read it twice. */
	if (__builtin_expect(!ready->holds, 1))
		at_store_pair_relaxed(&slot->taken, ready->taken + (uint64_t)n,
				      &slot->since[0], ready->now);
	else
		at_store_relaxed(&slot->taken, ready->taken + (uint64_t)n);
	at_store_relaxed(&slot->acquires, ready->acquires + 1);
	return WEIR_OK;
}
#endif

/*
 * Called before the CAS.  Returns false if the functions of record.h must be used.
 * Requires: sem is not null.
 *
 * A signal handler may change all of weir_mine_.  The slot is read first, so that
 * the checks are not older than it.
 */
static inline bool weir_record_ready_to_take_(const weir_sem *sem, uint64_t site,
					      struct weir_ready_ *ready)
{
	struct rg_slot *slot = weir_mine_.last;

	at_signal_fence();
	if (!weir_record_is_last_(sem) ||
	    (weir_mine_.last_site != site &&
	     (!weir_mine_.outer || weir_mine_.last_site != weir_mine_.outer))) {
		/*
		 * The caller does not use it; some compilers warn if it is not
		 * set.
		 */
		*ready = (struct weir_ready_){ .slot = NULL };
		return false;
	}
	weir_ready_read_(ready, slot);
	return true;
}

/* As weir_record_ready_to_take_, for a release. */
static inline bool weir_record_ready_to_give_(const weir_sem *sem,
					      struct rg_slot **slot)
{
	*slot = weir_mine_.last;
	at_signal_fence();
	return weir_record_is_last_(sem);
}

/*
 * Reading the clock costs as much as the rest of a release.  So the hold times
 * are measured only of the first EXACT releases of a slot, and then of every
 * SAMPLE-th release, which counts SAMPLE times.
 */
#define WEIR_RECORD_EXACT_ 64u
#define WEIR_RECORD_SAMPLE_ 64u

void weir_record_measure_(struct rg_slot *slot, uint64_t releases);

/* As weir_record_gave_ with the object of the slot. */
void weir_record_gave_other_(const struct rg_slot *slot, int64_t n);

/*
 * Record that this thread has returned n permits.  The calls of other functions
 * are the last statements, so that the caller needs no stack frame.
 */
__attribute__((always_inline))
static inline void weir_record_gave_in_(struct rg_slot *slot, int64_t n)
{
	struct weir_self_ *my = &weir_mine_;
	uint64_t given, calls;

	/*
	 * relaxed: all; this thread writes the slot, readers read it twice.  A
	 * signal handler finds the thread busy, or has finished.
	 */
	if (at_load_relaxed(&my->busy)) {
		weir_record_gave_other_(slot, n);
		return;
	}
	/* relaxed: as above. */
	at_store_relaxed(&my->busy, true);
	at_signal_fence();
	/* A plain load: only this thread writes `given`. */
	given = slot->given;
	/* relaxed: `returned` may lag. */
	if (slot->taken - given - at_load_relaxed(&slot->returned) <
	    (uint64_t)n) {
		/* relaxed: as above. */
		at_store_relaxed(&my->busy, false);
		weir_record_gave_other_(slot, n);
		return;
	}
	calls = slot->releases;
	/* relaxed: as above. */
	at_store_pair_relaxed(&slot->releases, calls + 1,
			      &slot->given, given + (uint64_t)n);
	at_signal_fence();
	/* relaxed: as above. */
	at_store_relaxed(&my->busy, false);
	if (calls < WEIR_RECORD_EXACT_ || calls % WEIR_RECORD_SAMPLE_ == 0)
		weir_record_measure_(slot, calls);
}

#else /* WEIR_NO_RECORD */

struct weir_ready_ {
	char none;
};
#define weir_record_ready_to_take_(sem, site, ready)                           \
	((void)(sem), (void)(site), (void)(ready), false)
#define weir_record_took_in_(ready, n) ((void)(ready), (void)(n), WEIR_OK)
#define weir_record_ready_to_give_(sem, slot)                                  \
	((void)(sem), *(slot) = (struct rg_slot *)0, false)
#define weir_record_gave_in_(slot, n) ((void)(slot), (void)(n))

#endif /* WEIR_NO_RECORD */

#endif /* WEIR_RECORD_FAST_H */
