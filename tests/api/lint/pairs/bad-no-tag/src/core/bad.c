/* SPDX-License-Identifier: MIT */
void open_gate(int *gate)
{
	at_store_release(gate, 1);
}
