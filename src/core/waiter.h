/* SPDX-License-Identifier: MIT */
#ifndef WEIR_CORE_WAITER_H
#define WEIR_CORE_WAITER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/ring.h"
#include "weir/base.h"
#include "weir/sem.h"

/*
 * One thread that waits, on its own stack: for permits, for a semaphore to be
 * idle, or for a context to end.  docs/design/sem.md, "A waiter's life".
 *
 * The guard is the lock of its semaphore, or of the context tree for a waiter
 * without semaphore.  Locking key: (g) under the guard, (t) under the tree's
 * lock, (c) constant while it waits, (a) atomic.
 */
enum weir_wants_ { WEIR_WANTS_PERMITS_, WEIR_WANTS_IDLE_, WEIR_WANTS_END_ };

/* On which list; decided once it is on none. */
enum weir_place_ { WEIR_NOWHERE_, WEIR_IN_QUEUE_, WEIR_ASIDE_ };

/* Values of `state`, and what a tell says. */
enum weir_told_ {
	WEIR_WAITING_,		/* awake, nothing said yet */
	WEIR_SLEEPING_,		/* asleep or about to be: wake it */
	WEIR_TOLD_RETRY_,	/* take the lock and look */
	WEIR_TOLD_FINAL_	/* outcome and got are final */
};

struct weir_waiter_ {
	struct weir_ring_ link;		/* g  in the queue or aside */
	struct weir_ring_ ctx_link;	/* t  in its context */
	struct weir_waiter_ *tell_next;	/*    the decider's, until told */
	weir_sem *sem;			/* c  null: waits for a context */
	struct weir_ctx *ctx;		/* c  null: none */
	const char *call;		/* c  the user's call, for messages */
	int64_t min, max;		/* c  permits wanted */
	int64_t got;			/* g  permits granted */
	int64_t since_ns;		/* c  when it began to wait */
	uint32_t state;			/* a  enum weir_told_; slept on */
	uint32_t forks;			/* c  of which process */
	int32_t outcome;		/* g  weir_err, once decided */
	uint8_t wants;			/* c  enum weir_wants_ */
	uint8_t place;			/* g  enum weir_place_ */
	uint8_t tell;			/* g  enum weir_told_ owed; 0: none */
	bool called;			/* g  (barging) on its way to look */
	bool counted;			/* g  got is part of sem->granted_ */
	bool watches;			/* g  awake, takes for itself */
	uint8_t cpu;			/* c  where it began to wait */
	bool spins;			/* c  begins by watching */
	bool leads;			/* c  nobody was ahead of it, ever */
};

_Static_assert(sizeof(struct weir_waiter_) <= 128, "C26");

/* Waiters decided under a lock, to be told after it. */
struct weir_tells_ {
	struct weir_waiter_ *first;
	struct weir_waiter_ **last;	/* null: the list is empty */
};

/* Record what to tell w, under its guard.  One tell in flight is enough. */
void weir_tells_add_(struct weir_tells_ *tells, struct weir_waiter_ *w,
		     enum weir_told_ told);

/* Decide w, which its caller has taken off its list, under its guard. */
void weir_waiter_decide_(struct weir_waiter_ *w, weir_err outcome,
			 struct weir_tells_ *tells);

/* Tell everybody, with no lock held.  Touches waiters' memory only. */
void weir_tells_send_(struct weir_tells_ *tells);

/* How a park ended. */
enum weir_parked_ {
	WEIR_PARKED_RETRY_,	/* told to look */
	WEIR_PARKED_FINAL_,	/* told the outcome */
	WEIR_PARKED_LATE_,	/* the deadline passed; nothing told */
	WEIR_PARKED_SIGNAL_	/* a signal was handled; nothing told */
};

/* Whether a park would return at once. */
bool weir_waiter_is_told_(const struct weir_waiter_ *w);

enum weir_parked_ weir_waiter_park_(struct weir_waiter_ *w,
				    int64_t deadline_ns);

/* Wait for a tell that is on its way. */
void weir_waiter_await_tell_(struct weir_waiter_ *w);

#endif /* WEIR_CORE_WAITER_H */
