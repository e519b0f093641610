/* SPDX-License-Identifier: MIT */
/*
 * Pairs
 *
 *   [B4] gate  release: both   acquire: both
 */
void both(int *gate)
{
	/* [B4] acquire, [B4] release */
	at_add_acq_rel(gate, 1);
}
