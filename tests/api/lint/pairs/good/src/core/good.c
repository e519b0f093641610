/* SPDX-License-Identifier: MIT */
/*
 * Two pairs, each with both sides, one of them through an acq_rel.
 *
 * Pairs
 *
 *   [G1] gate  release: open_gate   acquire: pass_gate
 *              Who passes sees what the opener did; not to be mixed up with
 *              [G2], which is declared below.
 *   [G2] seat  release: stand_up    acquire: sit_down
 */
#include "base/atomic.h"

/* A remark about at_store_release() is not an access. */
static const char text[] = "at_load_acquire(";

void open_gate(int *gate)
{
	at_store_release(gate, text[0]);	/* [G1] release */
}

int pass_gate(int *gate)
{
	/* relaxed: a first guess. */
	if (!at_load_relaxed(gate))
		return 0;
	/*
	 * [G1] acquire.  A remark may run on for a while before the access that
	 * it speaks of.
	 */
	return at_load_acquire(gate);
}

void move(int *seat)
{
	/* [G2] release, and [G2] acquire for the one who sat here before. */
	at_add_acq_rel(seat, 1);
}
