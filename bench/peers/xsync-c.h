/* SPDX-License-Identifier: MIT */
/*
 * The algorithm of Go's x/sync semaphore in C: a mutex, a queue, and a
 * condition variable for each waiter.  The releasing thread grants permits to
 * the head of the queue; no request overtakes another.
 */
#include <time.h>

struct xsync_waiter {
	struct xsync_waiter *prev, *next;
	pthread_cond_t ready;
	int64_t n;
	bool granted;
};

typedef struct peer_sem {
	pthread_mutex_t mutex;
	int64_t free;
	struct xsync_waiter queue;	/* head of a circular list */
} peer_sem;

static inline void peer_init(peer_sem *sem, int64_t permits, int64_t capacity,
			     const char *kind)
{
	(void)capacity;
	(void)kind;
	must(!pthread_mutex_init(&sem->mutex, NULL), "init");
	sem->free = permits;
	sem->queue.prev = sem->queue.next = &sem->queue;
}

static inline void xsync_leave(struct xsync_waiter *waiter)
{
	waiter->prev->next = waiter->next;
	waiter->next->prev = waiter->prev;
}

/* Requires: the mutex is held. */
static inline void xsync_grant(peer_sem *sem)
{
	struct xsync_waiter *head;

	while ((head = sem->queue.next) != &sem->queue &&
	       head->n <= sem->free) {
		sem->free -= head->n;
		xsync_leave(head);
		head->granted = true;
		must(!pthread_cond_signal(&head->ready), "signal");
	}
}

/* A null `until` means no deadline. */
static inline bool xsync_acquire(peer_sem *sem, int64_t n,
				 const struct timespec *until)
{
	struct xsync_waiter me;
	int late = 0;

	must(!pthread_mutex_lock(&sem->mutex), "lock");
	if (n <= sem->free && sem->queue.next == &sem->queue) {
		sem->free -= n;
		must(!pthread_mutex_unlock(&sem->mutex), "unlock");
		return true;
	}
	me.n = n;
	me.granted = false;
	must(!pthread_cond_init(&me.ready, NULL), "init");
	me.prev = sem->queue.prev;
	me.next = &sem->queue;
	me.prev->next = me.next->prev = &me;
	while (!me.granted && !late)
		late = until ? pthread_cond_clockwait(&me.ready, &sem->mutex,
						      CLOCK_MONOTONIC, until)
			     : pthread_cond_wait(&me.ready, &sem->mutex);
	if (!me.granted) {
		xsync_leave(&me);
		xsync_grant(sem);
	}
	must(!pthread_mutex_unlock(&sem->mutex), "unlock");
	must(!pthread_cond_destroy(&me.ready), "destroy");
	return me.granted;
}

#define PEER_WEIGHT
static inline void peer_acquire_n(peer_sem *sem, int64_t n)
{
	must(xsync_acquire(sem, n, NULL), "acquire");
}

#define PEER_RELEASE_N
static inline void peer_release_n(peer_sem *sem, int64_t n)
{
	must(!pthread_mutex_lock(&sem->mutex), "lock");
	sem->free += n;
	xsync_grant(sem);
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
	got = sem->free > 0 && sem->queue.next == &sem->queue;
	sem->free -= got;
	must(!pthread_mutex_unlock(&sem->mutex), "unlock");
	return got;
}

/* As in Go, the caller computes the deadline before the call. */
#define PEER_TIMED
static inline bool peer_acquire_for(peer_sem *sem, int64_t ns)
{
	struct timespec until;

	must(!clock_gettime(CLOCK_MONOTONIC, &until), "clock");
	until.tv_sec += (time_t)((until.tv_nsec + ns) / 1000000000);
	until.tv_nsec = (long)((until.tv_nsec + ns) % 1000000000);
	return xsync_acquire(sem, 1, &until);
}
