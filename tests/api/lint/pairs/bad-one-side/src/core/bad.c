/* SPDX-License-Identifier: MIT */
/*
 * Pairs
 *
 *   [B1] gate  release: open_gate   acquire: forgotten
 */
void open_gate(int *gate)
{
	/* [B1] release */
	at_store_release(gate, 1);
}
