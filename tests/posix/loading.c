/* SPDX-License-Identifier: MIT */
/*
 * Constructors and fork handlers of libraries that use <semaphore.h>: early.c is
 * linked, plugin.c is loaded.  As sem.c, it runs with libweir-posix preloaded, and
 * without it.
 */
#include <dlfcn.h>
#include <semaphore.h>
#include <sys/wait.h>
#include <unistd.h>

#include "check.h"

extern sem_t early_lock;

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

static int late_tid;

static void *late(void *unused)
{
	__atomic_store_n(&late_tid, gettid(), __ATOMIC_RELEASE);
	CHECK_EQ(sem_wait(&early_lock), 0);
	CHECK_EQ(sem_post(&early_lock), 0);
	return unused;
}

/* The holder of the semaphore: another thread waits for it in its fork. */
static void *hold_during_a_fork(void *unused)
{
	check_thread thread;

	AWAIT(check_asleep(getpid()));
	thread = start(late, NULL);
	AWAIT(__atomic_load_n(&late_tid, __ATOMIC_ACQUIRE));
	AWAIT(check_asleep(late_tid));
	CHECK_EQ(sem_post(&early_lock), 0);
	finish(thread);
	return unused;
}

/*
 * A fork handler that was registered before the constructor of libweir-posix waits
 * for a semaphore, and posts it in the child, where the other waiter does not exist.
 */
TEST(fork_handlers_use_a_semaphore)
{
	int status, value;
	check_thread thread;
	pid_t pid;

	CHECK_EQ(sem_wait(&early_lock), 0);
	thread = start(hold_during_a_fork, NULL);
	pid = fork();
	CHECK(pid >= 0);
	if (!pid)
		_exit(sem_getvalue(&early_lock, &value) || value != 1 ||
		      sem_wait(&early_lock));
	finish(thread);
	CHECK_EQ(waitpid(pid, &status, 0), pid);
	CHECK_EQ(status, 0);
	CHECK_EQ(sem_wait(&early_lock), 0);
	CHECK_EQ(sem_post(&early_lock), 0);
}
