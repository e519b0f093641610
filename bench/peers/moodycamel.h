/* SPDX-License-Identifier: MIT */
/* moodycamel's LightweightSemaphore, from Debian's libconcurrentqueue-dev. */
#define NDEBUG	/* measure without assertions */
#include <cassert>
#include <new>

/* Must be first: lightweightsemaphore.h uses its definitions. */
#include <concurrentqueue/concurrentqueue.h>

#include <concurrentqueue/lightweightsemaphore.h>

typedef moodycamel::LightweightSemaphore peer_moodycamel;

/* Raw memory until peer_init constructs the object: the harness is C. */
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

/* The timeout is in microseconds. */
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
