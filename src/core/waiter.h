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
 * A waiter is a thread or an operation.  A thread waits for permits, for a
 * semaphore to be idle, or for a context to end; its waiter is on its stack.
 * An operation waits for permits or for a context to end; its waiter is in the
 * memory of its owner.  See docs/design/sem.md, "A waiter's life", and
 * docs/design/async.md.
 *
 * The guard of a waiter is the lock of its semaphore; a waiter without a
 * semaphore is guarded by the lock of its context tree.  Locking key of the
 * fields: (g) under the guard, (t) under the lock of the context tree, (c)
 * constant during the wait, (a) atomic, (r) under the lock of its runner.
 */
enum weir_wants_ {
	WEIR_WANTS_PERMITS_,
	WEIR_WANTS_IDLE_,
	WEIR_WANTS_END_,
	WEIR_WANTS_OTHER_,	/* an event above the core: see `end` */
	WEIR_WANTS_NOTHING_	/* a canceller's mark in a context: ctx_cancel.c */
};

/* The list that the waiter is on.  A waiter on no list has been decided. */
enum weir_place_ { WEIR_NOWHERE_, WEIR_IN_QUEUE_, WEIR_OVERSIZED_ };

/* Values of `state`; the last two are also the kinds of notification. */
enum weir_wait_state_ {
	WEIR_WAITING_,		/* the thread runs; not notified */
	WEIR_SLEEPING_,		/* the thread sleeps or is about to: wake it */
	WEIR_ROUSED_,		/* as SLEEPING, and another thread wakes it */
	WEIR_NOTIFIED_RETRY_,	/* take the lock and retry */
	WEIR_NOTIFIED_FINAL_	/* outcome and got are final */
};

/*
 * An operation that waits for the end of a context is decided by the thread
 * that claims it: a cancel, its loop at the deadline, or weir_op_cancel.
 */
enum weir_end_claim_ {
	WEIR_END_WAITS_,	/* registered with its context */
	WEIR_END_JOINS_,	/* about to be registered */
	WEIR_END_CLAIMED_
};

struct weir_waiter_;

/*
 * Called when a cancel reaches w and w->wants is WEIR_WANTS_OTHER_: remove w
 * from the object that it waits for.  Runs on the cancelling thread, which
 * holds the lock of the context tree.
 */
typedef void weir_end_fn_(struct weir_waiter_ *w, weir_err why);

/*
 * Called when a member of an any-of request is notified.  Returns true if the
 * calling thread now has callbacks to run.  The call is the last access of the
 * core to *w.
 */
typedef bool weir_member_fn_(struct weir_waiter_ *w);

/* Called to finish an any-of request, which belongs to no single semaphore. */
typedef void weir_complete_fn_(struct weir_waiter_ *w);

/* The kind of waiter determines how it is notified. */
enum weir_kind_ {
	WEIR_THREAD_,		/* woken */
	WEIR_MEMBER_,		/* of an any-of request: its `notified` is called */
	WEIR_OPERATION_		/* and above: passed to the notifier */
};

struct weir_waiter_ {
	struct weir_ring_ link;		/* g  in the queue or oversized list */
	struct weir_ring_ ctx_link;	/* t  in its context */
	struct weir_waiter_ *notify_next; /*  in a list of waiters to notify */
	weir_sem *sem;			/* c  null: waits for a context */
	struct weir_ctx *ctx;		/* c  null: none */
	int64_t min;			/* c  permits wanted */
	uint32_t state;			/* a  enum weir_wait_state_; futex word */
	union {				/*    of an operation */
		uint32_t since_tick;	/* c  WEIR_TICK_SHIFT_ */
		uint32_t end_claim;	/* a  (WANTS_END_) enum weir_end_claim_ */
	};
	uint8_t forks;			/* c  fork count of its process */
	int8_t outcome;			/* g  weir_err, once decided */
	uint8_t kind;			/* c  enum weir_kind_ */
	uint8_t wants;			/* c  enum weir_wants_ */
	uint8_t place;			/* g  enum weir_place_ */
	uint8_t notify;			/* g  notification due; 0: none */
	uint8_t cpu;			/* c  (a thread) CPU on which the wait began */
	bool woken_to_retry : 1;	/* g  (barging) woken, has not retried */
	bool counted : 1;		/* g  granted, part of sem->granted_ */
	bool spinning : 1;		/* g  spins, takes permits itself */
	bool roused : 1;		/* g  woken ahead of its grant */
	bool moved : 1;			/* g  queued by a resize */
	bool any_has_ctx : 1;		/* c  (member) its request has a ctx */
	bool mixed : 1;			/* g  (head) weights may differ */
	bool shown : 1;			/* g  (first) see core/sem_shown.h */
	union {
		struct {			/* a thread */
			int64_t max;		/* c  permits wanted at most */
			int64_t got;		/* g  permits granted */
			int64_t since_ns;	/* c  start of the wait */
			const char *call;	/* c  for messages */
			union {
				weir_end_fn_ *end; /* c  of WANTS_OTHER_ */
				int64_t recheck_ns; /* g  lock again then; */
						/*    0: no such time */
			};
			bool may_spin;		/* c  spins before it parks */
			bool leads;		/* c  joined an empty queue */
			uint32_t record;	/* c  of this wait; 0: none */
		};
		struct {			/* an operation */
			union {			/* c */
				void (*fn)(void); /* callback; null: polled */
				weir_complete_fn_ *complete; /* sem is null */
			};
			void *user;		/* c  for the callback */
			void *runner;		/*    runs the callback */
			int64_t deadline_ns;	/* c */
			struct weir_ring_ timer; /* r  in its loop */
		};
		struct {			/* a member */
			weir_member_fn_ *notified; /* c */
			void *any;		/* c  the any-of request */
			uint32_t *winner;	/* a  number of its member that */
						/*    is granted; 0: none yet */
			uint32_t number;	/* c  of this member, from 1 */
			uint32_t member_record;	/* c  of this wait; 0: none */
			uint32_t *context;	/* c  record of the request's */
						/*    context; null: a thread */
			int64_t any_deadline_ns; /* c  of the request */
		};
	};
};

_Static_assert(sizeof(struct weir_waiter_) <= 128, "C26");

/*
 * The start of an operation's wait is stored in units of about a millisecond.
 */
#define WEIR_TICK_SHIFT_ 20

static inline int64_t weir_waiter_max_(const struct weir_waiter_ *w)
{
	return w->kind ? w->min : w->max;
}

/*
 * Returns the number of permits that w was granted and that its call or
 * callback does not hold yet.
 */
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
 * Returns how long w has waited.  For an operation, the ticks wrap after 52
 * days, so the result is correct for waits of up to 26 days.
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

/*
 * C7: returns the deadline of w if w is an operation, or a member of one.
 * Otherwise WEIR_FOREVER: the thread of w wakes at its deadline and gives up.
 */
static inline int64_t weir_waiter_evicted_at_ns_(const struct weir_waiter_ *w)
{
	if (w->kind >= WEIR_OPERATION_)
		return w->deadline_ns;
	return w->kind == WEIR_MEMBER_ && w->context ? w->any_deadline_ns :
						       WEIR_FOREVER;
}

/* C7: returns true if that deadline has passed. */
static inline bool weir_waiter_is_late_(const struct weir_waiter_ *w)
{
	int64_t at_ns = weir_waiter_evicted_at_ns_(w);

	return at_ns != WEIR_FOREVER && weir_now_ns() >= at_ns;
}

static inline const char *weir_waiter_call_(const struct weir_waiter_ *w)
{
	return w->kind ? "weir_op_submit" : w->call;
}

/* How a park ended. */
enum weir_parked_ {
	WEIR_PARKED_RETRY_,	/* notified: retry */
	WEIR_PARKED_FINAL_,	/* notified: the outcome is final */
	WEIR_PARKED_LATE_,	/* the deadline passed; not notified */
	WEIR_PARKED_SIGNAL_	/* a signal was handled; not notified */
};

/* Returns true if a park would return at once. */
bool weir_waiter_is_notified_(const struct weir_waiter_ *w);

/* Returns true if w, which was roused and has spun, sleeps again. */
bool weir_waiter_sleeps_again_(const struct weir_waiter_ *w);

enum weir_parked_ weir_waiter_park_(struct weir_waiter_ *w,
				    int64_t deadline_ns);

/* Wait for a notification that is due. */
void weir_waiter_await_notification_(struct weir_waiter_ *w);

#endif /* WEIR_CORE_WAITER_H */
