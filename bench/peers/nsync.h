/* SPDX-License-Identifier: MIT */
/*
 * A semaphore of nsync's mutex and condition variable, with nsync's notes for
 * cancellation.
 */
#include <nsync.h>

typedef struct peer_sem {
	nsync_mu mu;
	nsync_cv cv;
	int64_t free;
} peer_sem;

static inline void peer_init(peer_sem *sem, int64_t permits, int64_t capacity,
			     const char *kind)
{
	(void)capacity;
	(void)kind;
	nsync_mu_init(&sem->mu);
	nsync_cv_init(&sem->cv);
	sem->free = permits;
}

#define PEER_WEIGHT
static inline void peer_acquire_n(peer_sem *sem, int64_t n)
{
	nsync_mu_lock(&sem->mu);
	while (sem->free < n)
		nsync_cv_wait(&sem->cv, &sem->mu);
	sem->free -= n;
	nsync_mu_unlock(&sem->mu);
}

#define PEER_RELEASE_N
static inline void peer_release_n(peer_sem *sem, int64_t n)
{
	nsync_mu_lock(&sem->mu);
	sem->free += n;
	if (n == 1)
		nsync_cv_signal(&sem->cv);
	else
		nsync_cv_broadcast(&sem->cv);
	nsync_mu_unlock(&sem->mu);
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

	nsync_mu_lock(&sem->mu);
	got = sem->free > 0;
	sem->free -= got;
	nsync_mu_unlock(&sem->mu);
	return got;
}

static inline bool nsync_acquire(peer_sem *sem, nsync_time until,
				 nsync_note note)
{
	bool got = true;

	nsync_mu_lock(&sem->mu);
	while (sem->free < 1 && got)
		got = nsync_cv_wait_with_deadline(&sem->cv, &sem->mu, until,
						  note) == 0;
	got = sem->free > 0;
	sem->free -= got;
	nsync_mu_unlock(&sem->mu);
	return got;
}

/* Deadlines are absolute: the caller reads the clock. */
#define PEER_TIMED
static inline bool peer_acquire_for(peer_sem *sem, int64_t ns)
{
	nsync_time until = nsync_time_add(
		nsync_time_now(),
		nsync_time_s_ns((time_t)(ns / 1000000000),
				(unsigned)(ns % 1000000000)));

	return nsync_acquire(sem, until, NULL);
}

#define PEER_CANCEL
typedef nsync_note peer_token;

static inline void peer_token_init(peer_token *token)
{
	*token = nsync_note_new(NULL, nsync_time_no_deadline);
	must(*token != NULL, "nsync_note_new");
}

static inline void peer_token_destroy(peer_token *token)
{
	nsync_note_free(*token);
}

static inline void peer_token_cancel(peer_token *token)
{
	nsync_note_notify(*token);
}

static inline bool peer_acquire_token(peer_sem *sem, peer_token *token)
{
	return nsync_acquire(sem, nsync_time_no_deadline, *token);
}
