/* SPDX-License-Identifier: MIT */
#ifndef WEIR_RECORD_FAST_H
#define WEIR_RECORD_FAST_H

/*
 * Recording on the fast paths of a watched semaphore.  The slot that a thread used
 * last serves most of its calls.  It is looked for before the CAS that takes or
 * returns the permits: loads that follow a CAS with acquire order wait for it.
 *
 *     ready = weir_record_ready_to_take_(sem, site);
 *     ... CAS ...
 *     if (ready.slot)
 *             weir_record_took_in_(ready, n, now);
 *     else
 *             weir_record_took_(object, n, site);
 */
#include <stdbool.h>
#include <stdint.h>

#include "record/record.h"

#ifndef WEIR_NO_RECORD

#include "base/atomic.h"
#include "base/shared.h"
#include "record/mine.h"
#include "record/registry.h"

/*
 * Returns true if the slot that this thread used last is of *sem.  The epoch
 * changes whenever an object begins, ends or gets a flag; it is another one in
 * the child of a fork.
 */
static inline bool weir_record_is_last_(const weir_sem *sem)
{
	/* relaxed: a thread that may use *sem has seen its registration. */
	return sem && weir_mine_.sem == sem &&
	       weir_mine_.epoch == at_load_relaxed(&weir_registry_->epoch);
}

/* A slot before an acquire, read in advance; slot null: use the slow path. */
struct weir_ready_ {
	struct rg_slot *slot;
	uint64_t permits, calls;	/* taken and acquires */
	bool holds;
};

static inline struct weir_ready_ weir_record_ready_to_take_(const weir_sem *sem,
							    uint64_t site)
{
	struct weir_ready_ ready = { NULL, 0, 0, false };
	struct rg_slot *slot = weir_mine_.last;

	/*
	 * A signal handler may change all of weir_mine_.  The slot is read
	 * first, so that the checks are not older than it.
	 */
	at_signal_fence();
	if (!weir_record_is_last_(sem) ||
	    (weir_mine_.last_site != site &&
	     (!weir_mine_.outer || weir_mine_.last_site != weir_mine_.outer)))
		return ready;
	ready.slot = slot;
	/* Plain: this thread writes them. */
	ready.permits = slot->taken;
	ready.calls = slot->acquires;
	/* relaxed: it may lag. */
	ready.holds = slot->taken - slot->given !=
		      at_load_relaxed(&slot->returned);
	return ready;
}

/* The time of an acquire; read before the CAS, which hides its cost. */
static inline uint64_t weir_record_now_(void)
{
	return (uint64_t)weir_ticks_();
}

/*
 * A signal handler may release meanwhile: it changes other words of the slot.
 */
static inline void weir_record_took_in_(struct weir_ready_ ready, int64_t n,
					uint64_t now)
{
	/* relaxed: all; readers read it twice. */
	if (!ready.holds)
		at_store_relaxed(&ready.slot->since, now);
	at_store_relaxed(&ready.slot->taken, ready.permits + (uint64_t)n);
	at_store_relaxed(&ready.slot->acquires, ready.calls + 1);
}

/*
 * Reading the clock costs as much as the rest.  The hold times of the first
 * EXACT releases of a slot are measured, and later every SAMPLE-th, which then
 * counts SAMPLE times.
 */
#define WEIR_RECORD_EXACT_ 64u
#define WEIR_RECORD_SAMPLE_ 64u

void weir_record_measure_(struct rg_slot *slot, uint64_t releases);

/*
 * As weir_record_ready_to_take_, for a release.  It reads little and stores
 * nothing: a CAS with release order waits for earlier accesses, and later loads
 * do not wait for it.
 */
static inline struct rg_slot *weir_record_ready_to_give_(const weir_sem *sem)
{
	struct rg_slot *slot = weir_mine_.last;

	/* As in weir_record_ready_to_take_. */
	at_signal_fence();
	return weir_record_is_last_(sem) ? slot : NULL;
}

static inline void weir_record_gave_in_(struct rg_slot *slot, int64_t n)
{
	struct weir_self_ *my = &weir_mine_;
	uint64_t given, calls;

	/*
	 * relaxed: all; this thread writes the slot, readers read it twice.  A
	 * signal handler finds the thread busy, or has finished.
	 */
	if (at_load_relaxed(&my->busy)) {
		weir_record_gave_(at_load_relaxed(&slot->object), n, 0);
		return;
	}
	/* relaxed: as above. */
	at_store_relaxed(&my->busy, true);
	at_signal_fence();
	given = at_load_relaxed(&slot->given);
	/* relaxed: as above. */
	if (at_load_relaxed(&slot->taken) - given -
		    at_load_relaxed(&slot->returned) < (uint64_t)n) {
		/* relaxed: as above. */
		at_store_relaxed(&my->busy, false);
		weir_record_gave_(at_load_relaxed(&slot->object), n, 0);
		return;
	}
	/* relaxed: as above. */
	calls = at_load_relaxed(&slot->releases);
	at_store_relaxed(&slot->given, given + (uint64_t)n);
	at_store_relaxed(&slot->releases, calls + 1);
	at_signal_fence();
	/* relaxed: as above. */
	at_store_relaxed(&my->busy, false);
	/* Last, so that the caller needs no stack frame. */
	if (calls < WEIR_RECORD_EXACT_ || calls % WEIR_RECORD_SAMPLE_ == 0)
		weir_record_measure_(slot, calls);
}

#else /* WEIR_NO_RECORD */

struct weir_ready_ {
	void *slot;
};
#define weir_record_ready_to_take_(sem, site)                                  \
	((void)(sem), (void)(site), (struct weir_ready_){ 0 })
#define weir_record_now_() UINT64_C(0)
#define weir_record_took_in_(ready, n, now)                                    \
	((void)(ready), (void)(n), (void)(now))
#define weir_record_ready_to_give_(sem) ((void)(sem), (struct rg_slot *)0)
#define weir_record_gave_in_(slot, n) ((void)(slot), (void)(n))

#endif /* WEIR_NO_RECORD */

#endif /* WEIR_RECORD_FAST_H */
