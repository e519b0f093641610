/* SPDX-License-Identifier: MIT */
void fence(void)
{
	__atomic_thread_fence(5);
}
