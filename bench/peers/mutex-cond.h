/* SPDX-License-Identifier: MIT */
/* The textbook semaphore: a mutex, a condition variable and a count. */
#include <time.h>

typedef struct peer_sem {
	pthread_mutex_t mutex;
	pthread_cond_t cond;
	int64_t free;
} peer_sem;

static inline void peer_init(peer_sem *sem, int64_t permits, int64_t capacity,
			     const char *kind)
{
	(void)capacity;
	(void)kind;
	must(!pthread_mutex_init(&sem->mutex, NULL) &&
	     !pthread_cond_init(&sem->cond, NULL), "init");
	sem->free = permits;
}

#define PEER_WEIGHT
static inline void peer_acquire_n(peer_sem *sem, int64_t n)
{
	must(!pthread_mutex_lock(&sem->mutex), "lock");
	while (sem->free < n)
		must(!pthread_cond_wait(&sem->cond, &sem->mutex), "wait");
	sem->free -= n;
	must(!pthread_mutex_unlock(&sem->mutex), "unlock");
}

#define PEER_RELEASE_N
static inline void peer_release_n(peer_sem *sem, int64_t n)
{
	must(!pthread_mutex_lock(&sem->mutex), "lock");
	sem->free += n;
	if (n == 1)
		must(!pthread_cond_signal(&sem->cond), "signal");
	else
		must(!pthread_cond_broadcast(&sem->cond), "broadcast");
	must(!pthread_mutex_unlock(&sem->mutex), "unlock");
}

static inline void peer_acquire(peer_sem *sem)
{
	peer_acquire_n(sem, 1);
}

static inline void peer_release(peer_sem *sem)
{
	peer_release_n(sem, 1);
}

#define PEER_TRY
static inline bool peer_try(peer_sem *sem)
{
	bool got;

	must(!pthread_mutex_lock(&sem->mutex), "lock");
	got = sem->free > 0;
	sem->free -= got;
	must(!pthread_mutex_unlock(&sem->mutex), "unlock");
	return got;
}

/* A call that takes the mutex, and fails: the least that a call can do. */
#define PEER_POLL
static inline void peer_poll(peer_sem *sem)
{
	must(!peer_try(sem), "try");
}

#define PEER_TIMED
static inline bool peer_acquire_for(peer_sem *sem, int64_t ns)
{
	struct timespec at;
	bool got;

	must(!pthread_mutex_lock(&sem->mutex), "lock");
	/* Read the clock only if the call has to wait. */
	if (sem->free < 1) {
		must(!clock_gettime(CLOCK_MONOTONIC, &at), "clock");
		at.tv_sec += (time_t)((at.tv_nsec + ns) / 1000000000);
		at.tv_nsec = (long)((at.tv_nsec + ns) % 1000000000);
	}
	while (sem->free < 1 &&
	       !pthread_cond_clockwait(&sem->cond, &sem->mutex,
				       CLOCK_MONOTONIC, &at))
		;
	got = sem->free > 0;
	sem->free -= got;
	must(!pthread_mutex_unlock(&sem->mutex), "unlock");
	return got;
}
