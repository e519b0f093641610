/* SPDX-License-Identifier: MIT */
int look(int *gate)
{
	return at_load_relaxed(gate);
}
