/* SPDX-License-Identifier: MIT */
/* C++20's std::counting_semaphore. */
#include <chrono>
#include <new>
#include <semaphore>

typedef std::counting_semaphore<> peer_std;

/* Raw memory until peer_init constructs the object: the harness is C. */
struct peer_sem {
	alignas(peer_std) unsigned char memory[sizeof(peer_std)];

	peer_std *operator->()
	{
		return std::launder(reinterpret_cast<peer_std *>(memory));
	}
};

static inline void peer_init(peer_sem *sem, int64_t permits, int64_t capacity,
			     const char *kind)
{
	(void)capacity;
	(void)kind;
	new (sem->memory) peer_std(permits);
}

static inline void peer_acquire(peer_sem *sem)
{
	(*sem)->acquire();
}

static inline void peer_release(peer_sem *sem)
{
	(*sem)->release();
}

#define PEER_TRY
static inline bool peer_try(peer_sem *sem)
{
	return (*sem)->try_acquire();
}

#define PEER_TIMED
static inline bool peer_acquire_for(peer_sem *sem, int64_t ns)
{
	return (*sem)->try_acquire_for(std::chrono::nanoseconds(ns));
}

#define PEER_RELEASE_N
static inline void peer_release_n(peer_sem *sem, int64_t n)
{
	(*sem)->release(n);
}
