/* SPDX-License-Identifier: MIT */
#include <sys/syscall.h>

void wake(int *word)
{
	syscall(SYS_futex, word, FUTEX_WAKE, 1);
	__asm__ volatile("");
}
