/* SPDX-License-Identifier: MIT */
/*
 * The linker replaces a call of syscall by one of __wrap_syscall, and a call of
 * __real_syscall by one of syscall (meson.build); the same holds for the
 * others.
 */
#ifndef TESTS_FAULT_REAL_H
#define TESTS_FAULT_REAL_H

#include <sched.h>
#include <stddef.h>
#include <sys/timerfd.h>
#include <time.h>

long __wrap_syscall(long number, ...);
long __real_syscall(long number, ...);
int __wrap_clock_gettime(clockid_t clock, struct timespec *now);
int __real_clock_gettime(clockid_t clock, struct timespec *now);
int __wrap_posix_memalign(void **memory, size_t alignment, size_t size);
int __real_posix_memalign(void **memory, size_t alignment, size_t size);
void __wrap_free(void *memory);
void __real_free(void *memory);
int __wrap_timerfd_create(int clock, int flags);
int __real_timerfd_create(int clock, int flags);
int __wrap_timerfd_settime(int fd, int flags, const struct itimerspec *at,
			   struct itimerspec *before);
int __real_timerfd_settime(int fd, int flags, const struct itimerspec *at,
			   struct itimerspec *before);
int __wrap_sched_getcpu(void);
int __real_sched_getcpu(void);
int __wrap_sched_yield(void);
int __real_sched_yield(void);
int __wrap_sched_getaffinity(pid_t pid, size_t size, cpu_set_t *set);
int __real_sched_getaffinity(pid_t pid, size_t size, cpu_set_t *set);
int __wrap_pthread_atfork(void (*prepare)(void), void (*parent)(void),
			  void (*child)(void));
int __real_pthread_atfork(void (*prepare)(void), void (*parent)(void),
			  void (*child)(void));
pid_t __wrap_getpid(void);
pid_t __real_getpid(void);

#endif /* TESTS_FAULT_REAL_H */
