/* SPDX-License-Identifier: MIT */
#include <stdatomic.h>
#include <time.h>

void all_of_it(void)
{
	__atomic_store_n(&word, 1, __ATOMIC_RELEASE);
	syscall(SYS_futex, &word, FUTEX_WAKE, 1);
	free(malloc(1));
	clock_gettime(CLOCK_MONOTONIC, &now);
}
