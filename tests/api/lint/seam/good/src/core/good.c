/* SPDX-License-Identifier: MIT */
/* Remarks may speak of malloc(), syscall(SYS_futex) and atomic_load(). */
#include "base/atomic.h"

void asks_base(struct table *table)
{
	const char *text = "free(malloc(1)); // \" atomic_int";
	int64_t time = weir_now_ns(), free = 0;

	if (time > free)	// not free(time)
		weir_mem_free_(table);
	at_store_relaxed(&table->free, 1); weir_futex_wake_(&table->word);
	table->free(text);	/* a member, whatever it does */
}
