/* SPDX-License-Identifier: MIT */
/*
 * Constructors of libraries that use <semaphore.h>.  As sem.c, it runs with
 * libweir-posix preloaded, and without it.
 */
#include <dlfcn.h>

#include "check.h"

/*
 * The thread that loads the library holds a lock of the dynamic linker, and waits
 * for a thread that calls sem_init: the call must not wait for that lock.
 */
TEST(sem_init_while_a_library_is_loaded)
{
	void *library = dlopen(PLUGIN, RTLD_NOW);

	CHECK(library);
	CHECK_EQ(dlclose(library), 0);
}
