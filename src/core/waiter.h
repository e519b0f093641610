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
 * One that waits: a thread, on its own stack, for permits, for a semaphore to be
 * idle, or for a context to end; or an operation, in its owner's memory, for
 * permits.  docs/design/sem.md, "A waiter's life"; docs/design/async.md.
 *
 * The guard is the lock of its semaphore, or of the context tree for a waiter
 * without semaphore.  Locking key: (g) under the guard, (t) under the tree's
 * lock, (c) constant while it waits, (a) atomic, (r) under its runner's lock.
 */
enum weir_wants_ {
	WEIR_WANTS_PERMITS_,
	WEIR_WANTS_IDLE_,
	WEIR_WANTS_END_,
	WEIR_WANTS_OTHER_,	/* not the core's: its `end` is called */
	WEIR_WANTS_NOTHING_	/* a cancel's mark in its context: ctx.c */
};

/* On which list; decided once it is on none. */
enum weir_place_ { WEIR_NOWHERE_, WEIR_IN_QUEUE_, WEIR_OVERSIZED_ };

/* Values of `state`, and what a tell says. */
enum weir_wait_state_ {
	WEIR_WAITING_,		/* awake, nothing said yet */
	WEIR_SLEEPING_,		/* asleep or about to be: wake it */
	WEIR_NOTIFIED_RETRY_,	/* take the lock and look */
	WEIR_NOTIFIED_FINAL_	/* outcome and got are final */
};

struct weir_waiter_;

/*
 * A cancel has reached w, which waits for something above the core: take it
 * out of that.  Runs under the tree's lock, on the canceller's thread.
 */
typedef void weir_end_fn_(struct weir_waiter_ *w, weir_err why);

/* Who waits, and so how it is told. */
enum weir_kind_ {
	WEIR_THREAD_,		/* woken */
	WEIR_MEMBER_,		/* one of several, of which one is granted */
	WEIR_OPERATION_		/* and above: handed to the teller, as a member */
};

struct weir_waiter_ {
	struct weir_ring_ link;		/* g  in the queue or aside */
	struct weir_ring_ ctx_link;	/* t  in its context */
	struct weir_waiter_ *notify_next;	/*    the decider's, until told */
	weir_sem *sem;			/* c  null: waits for a context */
	struct weir_ctx *ctx;		/* c  null: none */
	int64_t min;			/* c  permits wanted */
	uint32_t state;			/* a  enum weir_wait_state_; slept on */
	uint32_t since_tick;		/* c  (operation) WEIR_TICK_SHIFT_ */
	uint8_t forks;			/* c  of which process */
	int8_t outcome;			/* g  weir_err, once decided */
	uint8_t kind;			/* c  enum weir_kind_ */
	uint8_t wants;			/* c  enum weir_wants_ */
	uint8_t place;			/* g  enum weir_place_ */
	uint8_t notify;			/* g  enum weir_wait_state_ owed; 0: none */
	uint8_t cpu;			/* c  where it began to wait */
	bool woken_to_retry : 1;		/* g  (barging) on its way to look */
	bool counted : 1;		/* g  granted, part of sem->granted_ */
	bool spinning : 1;		/* g  awake, takes for itself */
	bool moved : 1;			/* g  into the queue by a resize */
	union {
		struct {			/* a thread */
			int64_t max;		/* c  permits wanted at most */
			int64_t got;		/* g  permits granted */
			int64_t since_ns;	/* c  when it began to wait */
			const char *call;	/* c  for messages */
			weir_end_fn_ *end;	/* c  of WEIR_WANTS_OTHER_ */
			bool may_spin;		/* c  begins by watching */
			bool leads;		/* c  nobody was ahead, ever */
		};
		struct {			/* an operation */
			void (*fn)(void);	/* c  the callback; null: polled */
			void *user;		/* c  for the callback */
			void *runner;		/*    who runs the callback */
						/* c  (member) uint32_t: taken */
			int64_t deadline_ns;	/* c  (member) its number */
			struct weir_ring_ timer; /* r  in its loop */
		};
	};
};

_Static_assert(sizeof(struct weir_waiter_) <= 128, "C26");

/* An operation's beginning is kept in units of about a millisecond. */
#define WEIR_TICK_SHIFT_ 20

static inline int64_t weir_waiter_max_(const struct weir_waiter_ *w)
{
	return w->kind ? w->min : w->max;
}

/* What it was granted and has not returned with, or been called with. */
static inline int64_t weir_waiter_got_(const struct weir_waiter_ *w)
{
	return !w->kind ? w->got : w->counted ? w->min : 0;
}

static inline void weir_waiter_set_got_(struct weir_waiter_ *w, int64_t got)
{
	if (!w->kind)
		w->got = got;
}

/*
 * How long it has waited.  The ticks wrap after 52 days of uptime; a wait of up
 * to half of that is told right.
 */
static inline int64_t weir_waiter_waited_ns_(const struct weir_waiter_ *w,
					     int64_t now_ns)
{
	int64_t tick_ns = INT64_C(1) << WEIR_TICK_SHIFT_;
	uint32_t ticks = (uint32_t)(now_ns >> WEIR_TICK_SHIFT_) - w->since_tick;

	return w->kind ? (int32_t)ticks * tick_ns + now_ns % tick_ns :
			 now_ns - w->since_ns;
}

static inline void weir_waiter_set_since_(struct weir_waiter_ *w, int64_t ns)
{
	if (w->kind)
		w->since_tick = (uint32_t)(ns >> WEIR_TICK_SHIFT_);
	else
		w->since_ns = ns;
}

static inline const char *weir_waiter_call_(const struct weir_waiter_ *w)
{
	return w->kind ? "weir_op_submit" : w->call;
}

/* How many waiters are decided at most before a lock is dropped. */
#ifndef WEIR_BATCH_
#define WEIR_BATCH_ 64
#endif

/* Waiters decided under a lock, to be told after it. */
struct weir_to_notify_ {
	struct weir_waiter_ *first;
	struct weir_waiter_ **last;	/* null: the list is empty */
};

/* Record what to tell w, under its guard.  One tell in flight is enough. */
void weir_to_notify_add_(struct weir_to_notify_ *to_notify, struct weir_waiter_ *w,
		     enum weir_wait_state_ notified);

/* Decide w, which its caller has taken off its list, under its guard. */
void weir_waiter_decide_(struct weir_waiter_ *w, weir_err outcome,
			 struct weir_to_notify_ *to_notify);

/* Tell everybody, with no lock held.  Touches waiters' memory only. */
void weir_notify_all_(struct weir_to_notify_ *to_notify);

/*
 * Before a member is granted: make it the one of its group.  False: another is,
 * or the group is over.
 */
bool weir_waiter_claim_(struct weir_waiter_ *w);

/*
 * Whoever tells operations: called once for each, and, if one of these answered
 * true, once more with null when all on a list have been told: then there are
 * callbacks that this thread has to run.  Not otherwise: a signal handler that
 * releases has none, though the thread it interrupted may be about to run some.
 * The last access of the core to *w.
 */
typedef bool weir_notifier_fn_(struct weir_waiter_ *w);
void weir_waiter_set_notifier_(weir_notifier_fn_ *notifier);

/*
 * The same in two steps, for where callbacks must not run yet, or were told of
 * under a lock: tell, and empty the list; then let them run.
 */
void weir_notify_without_callbacks_(struct weir_to_notify_ *to_notify);
void weir_callbacks_run_(void);

/*
 * Between these two this thread runs no callbacks, whatever it calls; let_go does,
 * unless somebody further out holds them: `outer` is what hold returned.
 */
bool weir_callbacks_hold_(void);
void weir_callbacks_resume_(bool outer);

/* How a park ended. */
enum weir_parked_ {
	WEIR_PARKED_RETRY_,	/* told to look */
	WEIR_PARKED_FINAL_,	/* told the outcome */
	WEIR_PARKED_LATE_,	/* the deadline passed; nothing told */
	WEIR_PARKED_SIGNAL_	/* a signal was handled; nothing told */
};

/* Whether a park would return at once. */
bool weir_waiter_is_notified_(const struct weir_waiter_ *w);

enum weir_parked_ weir_waiter_park_(struct weir_waiter_ *w,
				    int64_t deadline_ns);

/* Wait for a tell that is on its way. */
void weir_waiter_await_notification_(struct weir_waiter_ *w);

#endif /* WEIR_CORE_WAITER_H */
