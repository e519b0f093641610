/* SPDX-License-Identifier: MIT */
/*
 * Operations that wait for the end of a context.  docs/design/async.md.
 *
 * Such an operation is a waiter of the context, as a thread in weir_ctx_wait
 * is.  The thread that claims it decides it (waiter.h): a cancel claims it
 * under the lock of the tree, its loop at the deadline under the lock of the
 * loop.  No thread needs both locks; a cancel may take the lock of a runner
 * while it holds that of the tree.  The operation stays registered with the
 * context until its callback is about to run, so the context cannot be
 * destroyed before that.
 */
#include "async/end.h"

#include "base/atomic.h"
#include "core/ctx_wait.h"

bool weir_op_end_late_(struct weir_waiter_ *w,
		       struct weir_to_notify_ *to_notify)
{
	/* relaxed: if w joins meanwhile, its timer fires again at once. */
	if (at_load_relaxed(&w->end_claim) == WEIR_END_JOINS_)
		return false;
	if (weir_waiter_claim_end_(w))
		weir_waiter_decide_(w, WEIR_ETIMEDOUT, to_notify);
	return true;
}

weir_err weir_op_end_finish_(struct weir_waiter_ *w, weir_err outcome)
{
	return weir_ctx_leave_(w->ctx, w, outcome == WEIR_ETIMEDOUT);
}
