/* SPDX-License-Identifier: MIT */
/*
 * The functions of the C library that src/named calls, as the linker's --wrap
 * option redirects them: threads and mutexes of a process, descriptors.
 */
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <sys/stat.h>

#include "base/thread.h"
#include "world.h"

int __wrap_pthread_create(pthread_t *id, const pthread_attr_t *attr,
			  void *(*fn)(void *), void *arg);
int __wrap_pthread_join(pthread_t id, void **result);
int __wrap_pthread_mutex_lock(pthread_mutex_t *mutex);
int __wrap_pthread_mutex_unlock(pthread_mutex_t *mutex);
int __wrap_pthread_setcancelstate(int state, int *before);
int __wrap_pthread_sigmask(int how, const sigset_t *set, sigset_t *before);
int __wrap_pthread_atfork(void (*before)(void), void (*parent)(void),
			  void (*child)(void));
int __wrap_close(int fd);
int __wrap_stat(const char *path, struct stat *info);
pid_t __wrap_getpid(void);
ssize_t __wrap_pread(int fd, void *to, size_t size, off_t from);
ssize_t __wrap_pread64(int fd, void *to, size_t size, off_t from);

size_t weir_thread_local_size_(void)
{
	return 0;
}

int __wrap_pthread_create(pthread_t *id, const pthread_attr_t *attr,
			  void *(*fn)(void *), void *arg)
{
	(void)attr;
	*id = (pthread_t)proc_thread(fn, arg);
	proc_set_keeper((int)*id);
	return 0;
}

int __wrap_pthread_join(pthread_t id, void **result)
{
	(void)result;
	while (ex->threads[id].status != EX_DONE)
		ex_yield();
	ex_races_see_ends();
	return 0;
}

/* One mutex in each process: `opens`. */
static uint8_t locked[EX_PROCS];

static void order(void)
{
	if (ex->races)
		ex_races_atomic(&locked[proc_self()], 1, true, true, EX_ACQ_REL);
}

int __wrap_pthread_mutex_lock(pthread_mutex_t *mutex)
{
	(void)mutex;
	while (locked[proc_self()])
		ex_yield();
	locked[proc_self()] = 1;
	order();
	return 0;
}

int __wrap_pthread_mutex_unlock(pthread_mutex_t *mutex)
{
	(void)mutex;
	ex_drain(NULL);
	order();
	locked[proc_self()] = 0;
	ex->writes++;
	return 0;
}

int __wrap_pthread_setcancelstate(int state, int *before)
{
	(void)state;
	if (before)
		*before = 0;
	return 0;
}

int __wrap_pthread_sigmask(int how, const sigset_t *set, sigset_t *before)
{
	(void)how;
	(void)set;
	(void)before;
	return 0;
}

int __wrap_pthread_atfork(void (*before)(void), void (*parent)(void),
			  void (*child)(void))
{
	(void)before;
	(void)parent;
	(void)child;
	return 0;
}

int __wrap_close(int fd)
{
	world_close(fd);
	return 0;
}

int __wrap_stat(const char *path, struct stat *info)
{
	(void)path;
	(void)info;
	errno = ENOENT;
	return -1;
}

ssize_t __wrap_pread(int fd, void *to, size_t size, off_t from)
{
	(void)fd;
	return world_read(to, size, from);
}

ssize_t __wrap_pread64(int fd, void *to, size_t size, off_t from)
{
	return __wrap_pread(fd, to, size, from);
}

pid_t __wrap_getpid(void)
{
	return (pid_t)(1000 + proc_self());
}
