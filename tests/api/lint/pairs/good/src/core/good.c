/* SPDX-License-Identifier: MIT */
/*
 * Two pairs, each with both sides, one of them through an acq_rel.
 *
 * Pairs
 *
 *   [G1] gate  release: open_gate   acquire: pass_gate
 *              A passing thread sees what the opening thread did.  This sentence
 *              mentions [G2], which is declared below.
 *   [G2] seat  release: move, stand_up
 *              acquire: move,
 *              sit_down (a macro)
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
	 * [G1] acquire.  A remark may span several lines before the access that
	 * it describes.
	 */
	return at_load_acquire(gate);
}

void move(int *seat)
{
	/* [G2] release, and [G2] acquire for the thread that sat here before. */
	at_add_acq_rel(seat, 1);
}

__attribute__((noinline))
static void stand_up(int *seat)
{
	/* [G2] release */
	at_store_release(seat, 0);
}

#define sit_down(seat) \
	at_load_acquire(seat)	/* [G2] acquire */
