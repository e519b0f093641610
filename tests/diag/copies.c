/* SPDX-License-Identifier: MIT */
/*
 * Two copies of the library in a process, each with a watchdog thread: the process
 * ends when the program's last thread has ended.  The argument is the module of
 * plugin.c, which contains the second copy.
 */
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "weir/sem.h"

int main(int argc, char **argv)
{
	static weir_sem sem;
	weir_sem_opts opts = { .permits = 1, .name = "program" };
	void *module = argc == 2 ? dlopen(argv[1], RTLD_NOW) : NULL, *found;
	weir_err (*use_semaphore)(void);

	found = module ? dlsym(module, "use_semaphore") : NULL;
	if (!found) {
		fprintf(stderr, "%s\n", dlerror());
		return 1;
	}
	memcpy(&use_semaphore, &found, sizeof(found));
	if (weir_sem_init_opts(&sem, &opts) || use_semaphore())
		return 1;
	pthread_exit(NULL);
}
