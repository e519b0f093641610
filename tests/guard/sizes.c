/* SPDX-License-Identifier: MIT */
/* Prints the sizes of objects for tools/guard, one per line. */
#include <stdio.h>

#include "core/waiter.h"
#include "weir/ctx.h"
#include "weir/permit.h"
#include "weir/sem.h"

int main(void)
{
	printf("weir_sem %zu\n", sizeof(weir_sem));
	printf("weir_ctx %zu\n", sizeof(weir_ctx));
	printf("weir_permit %zu\n", sizeof(weir_permit));
	printf("waiter %zu\n", sizeof(struct weir_waiter_));
	return 0;
}
