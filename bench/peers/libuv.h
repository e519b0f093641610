/* SPDX-License-Identifier: MIT */
/* libuv's uv_sem_t. */
#include <uv.h>

typedef uv_sem_t peer_sem;

static inline void peer_init(peer_sem *sem, int64_t permits, int64_t capacity,
			     const char *kind)
{
	(void)capacity;
	(void)kind;
	must(uv_sem_init(sem, (unsigned)permits) == 0, "uv_sem_init");
}

static inline void peer_acquire(peer_sem *sem)
{
	uv_sem_wait(sem);
}

static inline void peer_release(peer_sem *sem)
{
	uv_sem_post(sem);
}

#define PEER_TRY
static inline bool peer_try(peer_sem *sem)
{
	return uv_sem_trywait(sem) == 0;
}
