/* SPDX-License-Identifier: MIT */
#include "posix/real.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

static struct weir_real_ real;

static void *next(const char *name)
{
	void *found = dlsym(RTLD_NEXT, name);

	if (!found) {
		fprintf(stderr, "weir: libweir-posix: the C library has no "
			"%s\n", name);
		abort();
	}
	return found;
}

/*
 * This constructor runs before every constructor without a priority: a
 * constructor of the program may use semaphores.
 */
__attribute__((constructor(101))) static void find_all(void)
{
	/* The standard has no conversion between void * and functions. */
	*(void **)&real.init = next("sem_init");
	*(void **)&real.destroy = next("sem_destroy");
	*(void **)&real.wait = next("sem_wait");
	*(void **)&real.trywait = next("sem_trywait");
	*(void **)&real.timedwait = next("sem_timedwait");
	*(void **)&real.clockwait = next("sem_clockwait");
	*(void **)&real.post = next("sem_post");
	*(void **)&real.getvalue = next("sem_getvalue");
	*(void **)&real.register_atfork = next("__register_atfork");
	*(void **)&real.cancel = next("pthread_cancel");
}

const struct weir_real_ *weir_real_(void)
{
	if (!real.cancel)
		find_all();
	return &real;
}
