/* SPDX-License-Identifier: MIT */
void open_gate(int *gate)
{
	/* [B2] release */
	at_store_release(gate, 1);
}

int pass_gate(int *gate)
{
	/* [B2] acquire */
	return at_load_acquire(gate);
}
