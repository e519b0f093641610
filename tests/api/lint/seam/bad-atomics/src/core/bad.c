/* SPDX-License-Identifier: MIT */
#include <stdatomic.h>

static _Atomic int count;

void bump(void)
{
	atomic_fetch_add(&count, 1);
	/* a remark */ __atomic_add_fetch(&plain, 1, __ATOMIC_RELAXED);
	__sync_fetch_and_add(&plain, 1);
}
