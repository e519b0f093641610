/* SPDX-License-Identifier: MIT */
/*
 * Pairs
 *
 *   [B3] gate  release: open_gate   acquire: pass_gate
 */
void open_gate(int *gate)
{
	/* [B3] acquire */
	at_store_release(gate, 1);
}

int pass_gate(int *gate)
{
	/* [B3] acquire */
	return at_load_acquire(gate);
}
