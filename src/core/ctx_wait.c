/* SPDX-License-Identifier: MIT */
/*
 * Waiting in a context: registering a waiter with it, and waiting for its end.
 * docs/design/ctx.md.
 */
#include "core/ctx_wait.h"

#include "base/lock.h"
#include "core/ctx_tree.h"

weir_err weir_ctx_join_(weir_ctx *ctx, struct weir_waiter_ *w)
{
	uint32_t *lock = weir_ctx_lock_of_(ctx);
	weir_err why;

	weir_lock_(lock);
	why = weir_ctx_cancelled_(ctx);
	if (!why)
		ring_append(&ctx->waiters_, &w->ctx_link);
	weir_unlock_(lock);
	return why;
}

weir_err weir_ctx_leave_(weir_ctx *ctx, struct weir_waiter_ *w, bool late)
{
	uint32_t *lock = weir_ctx_lock_of_(ctx);
	weir_err why;

	weir_lock_(lock);
	/* A context that was found to be late has ended, even if the clock steps
	   back. */
	why = late ? weir_ctx_end_with_(ctx, WEIR_ETIMEDOUT) :
		     weir_ctx_ended_(ctx);
	ring_remove(&ctx->waiters_, &w->ctx_link);
	/* This is the last access to the tree. */
	weir_unlock_(lock);
	return why;
}

weir_err weir_ctx_finish_(weir_ctx *ctx, struct weir_waiter_ *w, weir_err err,
			  bool *revoked)
{
	weir_err why = weir_ctx_leave_(ctx, w, err == WEIR_ETIMEDOUT);

	*revoked = why;
	if (why && (!err || err == WEIR_ETIMEDOUT || err == WEIR_ECANCELED))
		return why;
	return err;
}

weir_err weir_ctx_wait(weir_ctx *ctx, int64_t deadline_ns)
{
	struct weir_waiter_ w = { .wants = WEIR_WANTS_END_,
				  .place = WEIR_OVERSIZED_,
				  .outcome = WEIR_EAGAIN };
	enum weir_parked_ parked;
	weir_err err = weir_ctx_err(ctx);
	bool decided, ends_first;

	if (!err)
		err = weir_ctx_join_(ctx, &w);
	if (err)
		return err;
	ends_first = ctx->deadline_ && ctx->deadline_ <= deadline_ns;
	if (ends_first)
		deadline_ns = ctx->deadline_;
	do
		parked = weir_waiter_park_(&w, deadline_ns);
	while (parked == WEIR_PARKED_SIGNAL_);
	err = weir_ctx_leave_(ctx, &w, ends_first &&
					       parked == WEIR_PARKED_LATE_);
	/*
	 * The canceller does not access the tree any more, but its notification
	 * of w may be due.
	 */
	decided = w.place == WEIR_NOWHERE_;
	if (decided)
		weir_waiter_await_notification_(&w);
	return err ? err : WEIR_EAGAIN;
}
