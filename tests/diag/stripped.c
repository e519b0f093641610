/* SPDX-License-Identifier: MIT */
/* A wait that times out, with a report: see stripped.sh. */
#include "weir/sem.h"

int main(void)
{
	weir_sem_opts opts = { .permits = 1, .name = "limit" };
	weir_sem sem;
	weir_err err = weir_sem_init_opts(&sem, &opts);

	while (!err)
		err = weir_sem_acquire_for(&sem, 1, 10000000);
	return err != WEIR_ETIMEDOUT;
}
