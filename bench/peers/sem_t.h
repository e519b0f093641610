/* SPDX-License-Identifier: MIT */
/* glibc's sem_t. */
#include <errno.h>
#include <semaphore.h>
#include <time.h>

typedef sem_t peer_sem;

static inline void peer_init(peer_sem *sem, int64_t permits, int64_t capacity,
			     const char *kind)
{
	(void)capacity;
	(void)kind;
	must(sem_init(sem, 0, (unsigned)permits) == 0, "sem_init");
}

static inline void peer_acquire(peer_sem *sem)
{
	while (sem_wait(sem) != 0)
		must(errno == EINTR, "sem_wait");
}

static inline void peer_release(peer_sem *sem)
{
	must(sem_post(sem) == 0, "sem_post");
}

#define PEER_TRY
static inline bool peer_try(peer_sem *sem)
{
	return sem_trywait(sem) == 0;
}

/* Deadlines are absolute: the caller reads the clock. */
#define PEER_TIMED
static inline bool peer_acquire_for(peer_sem *sem, int64_t ns)
{
	struct timespec at;

	must(clock_gettime(CLOCK_MONOTONIC, &at) == 0, "clock_gettime");
	at.tv_sec += (time_t)((at.tv_nsec + ns) / 1000000000);
	at.tv_nsec = (long)((at.tv_nsec + ns) % 1000000000);
	while (sem_clockwait(sem, CLOCK_MONOTONIC, &at) != 0) {
		if (errno == ETIMEDOUT)
			return false;
		must(errno == EINTR, "sem_clockwait");
	}
	return true;
}
