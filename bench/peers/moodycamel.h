/* SPDX-License-Identifier: MIT */
/* moodycamel's LightweightSemaphore, as Debian's libconcurrentqueue-dev has it. */
#define NDEBUG	/* its assertions are not its speed */
#include <cassert>
#include <new>

/* Comes first: the other needs what it defines. */
#include <concurrentqueue/concurrentqueue.h>

#include <concurrentqueue/lightweightsemaphore.h>

typedef moodycamel::LightweightSemaphore peer_moodycamel;

/* Zeroed until peer_init makes it: the harness is C. */
struct peer_sem {
	alignas(peer_moodycamel) unsigned char memory[sizeof(peer_moodycamel)];

	peer_moodycamel *operator->()
	{
		return std::launder(
			reinterpret_cast<peer_moodycamel *>(memory));
	}
};

static inline void peer_init(peer_sem *sem, int64_t permits, int64_t capacity,
			     const char *kind)
{
	(void)capacity;
	(void)kind;
	new (sem->memory) peer_moodycamel(permits);
}

static inline void peer_acquire(peer_sem *sem)
{
	must((*sem)->wait(), "wait");
}

static inline void peer_release(peer_sem *sem)
{
	(*sem)->signal();
}

#define PEER_TRY
static inline bool peer_try(peer_sem *sem)
{
	return (*sem)->tryWait();
}

/* It counts in microseconds. */
#define PEER_TIMED
static inline bool peer_acquire_for(peer_sem *sem, int64_t ns)
{
	return (*sem)->wait(ns / 1000);
}

#define PEER_RELEASE_N
static inline void peer_release_n(peer_sem *sem, int64_t n)
{
	(*sem)->signal(n);
}
