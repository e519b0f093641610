/* SPDX-License-Identifier: MIT */
#ifndef WEIR_CORE_CTX_WAIT_H
#define WEIR_CORE_CTX_WAIT_H

#include "core/waiter.h"
#include "weir/ctx.h"

/*
 * Returns the recorded reason why ctx has ended, or WEIR_OK.  A cancel records
 * it, or a thread that finds that the deadline has passed.  This function reads
 * no clock.
 */
weir_err weir_ctx_cancelled_(const weir_ctx *ctx);

/*
 * Register w with ctx, so that a cancel reaches w.  Returns an error if ctx has
 * ended; w is not registered then.  Otherwise weir_ctx_leave_ or
 * weir_ctx_finish_ must follow before w's call returns.
 */
weir_err weir_ctx_join_(weir_ctx *ctx, struct weir_waiter_ *w);

/*
 * Unregister w.  If a cancel is ending the wait of w, wait for it to finish.
 * Returns why ctx has ended, or WEIR_OK.  `late`: the caller has found that the
 * deadline has passed.
 */
weir_err weir_ctx_leave_(weir_ctx *ctx, struct weir_waiter_ *w, bool late);

/*
 * C13: the end of a context wins over a grant.  Unregister w, whose wait had
 * the outcome `err`, and return the result of the call: if ctx has ended, its
 * reason replaces a grant, a timeout and a cancellation.  *revoked is set to
 * true if ctx has ended; the caller must then return permits that w was
 * granted, unless the canceller has taken them back.
 */
weir_err weir_ctx_finish_(weir_ctx *ctx, struct weir_waiter_ *w, weir_err err,
			  bool *revoked);

#endif /* WEIR_CORE_CTX_WAIT_H */
