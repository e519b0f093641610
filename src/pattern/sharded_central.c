/* SPDX-License-Identifier: MIT */
/*
 * The central mode of the sharded semaphore (sharded.c): the credit that goes
 * back to rest because a call waits.
 *
 * No call waits while its permits lie in a shard.  The waiting call writes
 * state and then loads each credit; the depositing call writes credit and then
 * loads state; all four accesses are seq_cst.  In their total order, either the
 * deposit precedes the load of the credit, and gather moves it; or the load of
 * the credit precedes the deposit.  Then the write of state precedes the
 * deposit, too, and the depositing call finds CENTRAL and moves the credit
 * itself.  The other permits of a batch reach a shard by the same deposit.
 *
 * The mode is CENTRAL as well after a close, and while rest has a debt: a
 * release that made a deposit instead would leave the debt unpaid, and the next
 * acquire would take the permit although too many are out.
 *
 * While a call waits, an acquire takes one permit of rest at a time and no
 * batch, and it does not steal: the shards are empty but for deposits in
 * progress.  A release that began before the call was counted may still deposit
 * its permits in a shard, from which another call may take them.  All later
 * releases go to rest, whose starvation bound then holds for the waiting call.
 */
#include "pattern/sharded.h"

#include "base/panic.h"

void weir_sharded_put_rest_(weir_sharded *s, int64_t n, const char *call)
{
	struct weir_sharded_body_ *b = s->body_;
	weir_sem_info info;

	if (!n || !weir_sem_try_release(&b->rest, n))
		return;
	if (!weir_sem_stat(&b->rest, &info))
		(void)weir_panic_("%s: sharded semaphore %o has %d permits "
				  "out and %d were returned", call, s->name_, s,
				  info.held + info.granted, n);
}

void weir_sharded_gather_(weir_sharded *s, const char *call)
{
	struct weir_sharded_body_ *b = s->body_;
	int64_t n = 0;

	for (uint32_t i = 0; i <= b->mask; i++)
		/* [SH3] acquire.  A load: empty lines stay shared. */
		if (at_load_seq_cst(&b->shards[i].credit))
			n += weir_sharded_empty_(&b->shards[i]);
	weir_sharded_put_rest_(s, n, call);
}

void weir_sharded_settle_(struct weir_sharded_body_ *b)
{
	/* [SH4] acquire: the permits of rest are as of that resize, or newer. */
	uint64_t state = at_load_acquire(&b->state);

	if (!(state & WEIR_SHARDED_DEBT_) || weir_sem_available(&b->rest) <= 0)
		return;
	/* relaxed: if it fails, then a later release or resize clears DEBT. */
	(void)at_cas_weak_relaxed(&b->state, &state,
				  state & ~WEIR_SHARDED_DEBT_);
}
