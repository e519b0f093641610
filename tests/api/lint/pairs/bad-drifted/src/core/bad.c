/* SPDX-License-Identifier: MIT */
/*
 * Pairs
 *
 *   [B5] gate  release: open_gate, close_gate   acquire: pass_gate, removed
 *              The code has moved and the table has not.
 */
void open_gate(int *gate)
{
	/* [B5] release */
	at_store_release(gate, 1);
}

void close_gate(int *gate)
{
	*gate = 0;
}

int look_through_gate(int *gate)
{
	/* [B5] acquire */
	return at_load_acquire(gate);
}

int pass_gate(int *gate)
{
	/* [B5] acquire */
	return at_load_acquire(gate);
}
