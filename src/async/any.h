/* SPDX-License-Identifier: MIT */
#ifndef WEIR_ASYNC_ANY_H
#define WEIR_ASYNC_ANY_H

#include <stdbool.h>

#include "async/run.h"
#include "core/waiter.h"
#include "weir/multi.h"

/*
 * The decision of an any-of request (any_decide.c).
 *
 * winner_  0 while undecided; then the number of the granted member, from 1, or one
 *          of the reasons below.  A decision does not change any more.
 * left_    events until the outcome can be delivered.  There are two: submit has
 *          enqueued its members, and winner_ is decided.  The thread that counts the
 *          last event notifies the head.
 *
 * The state of a member: FREE; QUEUED while it is on a list or about to be notified;
 * NOTIFIED, set by the notifying thread as its last access to the request.
 */
enum {
	WEIR_ANY_UNDECIDED_ = 0,
	/*
	 * The reasons why no member is granted; numbers of members are lower.
	 */
	WEIR_ANY_REFUSED_ = 0x7ffffffc,
	WEIR_ANY_LATE_,
	WEIR_ANY_CTX_ENDED_,
	WEIR_ANY_CANCELLED_
};

static inline struct weir_waiter_ *weir_any_head_(weir_any *any)
{
	return weir_op_inside_of_(&any->head_);
}

/* The waiter that is registered with the context. */
static inline struct weir_waiter_ *weir_any_end_(weir_any *any)
{
	return weir_op_inside_of_(&any->end_);
}

static inline struct weir_waiter_ *weir_any_member_(weir_any *any, size_t i)
{
	return weir_op_inside_of_(&any->places_[i]);
}

static inline weir_any *weir_any_of_(struct weir_waiter_ *head)
{
	return ring_entry(head, weir_any, head_);
}

/* Decide the request.  Returns false if it has been decided before. */
bool weir_any_decide_(weir_any *any, uint32_t how);

/* Count an event.  Returns true if it was the last one. */
bool weir_any_event_(weir_any *any);

/*
 * Called when a member has failed and cannot be granted any more; its `outcome`
 * is the error.  Returns true if the outcome of the request can be delivered:
 * every member has failed, and no event is left.
 */
bool weir_any_refused_(weir_any *any);

/*
 * Called when the deadline has passed.  Returns true if the outcome can be
 * delivered.
 */
bool weir_any_late_(struct weir_waiter_ *head);

/* The weir_member_fn_ of the members: called when a member has been decided. */
bool weir_any_notified_(struct weir_waiter_ *w);

/*
 * The weir_end_fn_ of the request: called when its context has been cancelled.
 */
void weir_any_ctx_ended_(struct weir_waiter_ *w, weir_err why);

/*
 * Finish a decided request (any_finish.c): leave the other queues and the
 * context.  `wanted` is false if the caller cancels the request: a granted
 * member then returns its permits.  Returns the result of the request; *which
 * is the granted member.
 */
weir_err weir_any_finish_(weir_any *any, bool wanted, size_t *which);

#endif /* WEIR_ASYNC_ANY_H */
