/* SPDX-License-Identifier: MIT */
/* A module that contains the library, for unload.c. */
#include "weir/sem.h"

weir_err use_semaphore(void);

/* Called by one thread. */
weir_err use_semaphore(void)
{
	weir_sem_opts opts = { .permits = 1, .name = "plugin" };
	weir_sem sem;
	weir_err err = weir_sem_init_opts(&sem, &opts);

	if (!err)
		err = weir_sem_acquire(&sem, 1, NULL);
	if (!err) {
		weir_sem_release(&sem, 1);
		err = weir_sem_destroy(&sem);
	}
	return err;
}
