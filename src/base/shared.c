/* SPDX-License-Identifier: MIT */
/*
 * Shared words, implemented with futex(2), futex_waitv(2) and
 * set_robust_list(2).
 */
#include "base/shared.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/atomic.h"
#include "base/timespec.h"
#include "weir/base.h"

/*
 * These values are those of <linux/futex.h>, which some C libraries do not
 * ship.
 */
#define WAKE 1
#define CMP_REQUEUE 4
#define WAIT_BITSET 9
#define MATCH_ANY UINT32_MAX
#define SIZE_32 2
#define WAITERS UINT32_C(0x80000000)

/* As in <linux/membarrier.h>. */
#define GLOBAL_EXPEDITED 2
#define REGISTER_GLOBAL_EXPEDITED 4

#if !defined(SYS_futex) ||                                                     \
	(defined(SYS_futex_time64) && defined(__USE_TIME_BITS64))
#define FUTEX_CALL SYS_futex_time64
#else
#define FUTEX_CALL SYS_futex
#endif

/* The number is the same on all architectures. */
#ifdef SYS_futex_waitv
#define WAITV_CALL SYS_futex_waitv
#else
#define WAITV_CALL 449
#endif

/* The kernel's struct futex_waitv, and its 64-bit timespec. */
struct waitv {
	uint64_t value;
	uint64_t word;
	uint32_t flags;
	uint32_t reserved;
};

struct time64 {
	int64_t s, ns;
};

/* Classify the end of a sleep; the clock decides if the deadline passed. */
static enum weir_woke_ woke_by(int failed, int64_t deadline_ns)
{
	enum weir_woke_ woke = WEIR_WOKEN_;

	if (failed && errno == EINTR)
		woke = WEIR_WOKE_SIGNAL_;
	else if (failed && errno != EAGAIN && errno != ETIMEDOUT)
		/* If a sandbox blocks futex(2): let other threads run. */
		sched_yield();
	if (deadline_ns != WEIR_FOREVER && weir_now_ns() >= deadline_ns)
		woke = WEIR_WOKE_LATE_;
	return woke;
}

enum weir_woke_ weir_shared_wait_(uint32_t *word, uint32_t value,
				  int64_t deadline_ns)
{
	struct timespec at = weir_timespec_(deadline_ns);
	int saved = errno;
	enum weir_woke_ woke;

	woke = woke_by(syscall(FUTEX_CALL, word, WAIT_BITSET, value,
			       deadline_ns == WEIR_FOREVER ? NULL : &at, NULL,
			       MATCH_ANY) < 0, deadline_ns);
	errno = saved;
	return woke;
}

static void wake(uint32_t *word, int count)
{
	int saved = errno;

	(void)syscall(FUTEX_CALL, word, WAKE, count, NULL, NULL, 0);
	errno = saved;
}

void weir_shared_wake_(uint32_t *word)
{
	wake(word, 1);
}

void weir_shared_wake_all_(uint32_t *word)
{
	wake(word, INT_MAX);
}

bool weir_shared_move_(uint32_t *from, uint32_t *to)
{
	/* relaxed: the kernel compares the word again. */
	uint32_t value = at_load_relaxed(from);
	int saved = errno;
	bool moved;

	/* Wake 0 threads and move at most 1; the result counts both. */
	moved = syscall(FUTEX_CALL, from, CMP_REQUEUE, 0, 1L, to, value) > 0;
	errno = saved;
	return moved;
}

bool weir_shared_sleepers_(uint32_t *word)
{
	/* Moving a thread to the word on which it sleeps changes nothing. */
	return weir_shared_move_(word, word);
}

bool weir_shared_can_wait_any_(void)
{
	int saved = errno;
	bool can;

	/* With 0 words, futex_waitv(2) fails with EINVAL, if it exists. */
	(void)syscall(WAITV_CALL, NULL, 0, 0, NULL, CLOCK_MONOTONIC);
	can = errno == EINVAL;
	errno = saved;
	return can;
}

enum weir_woke_ weir_shared_wait_any_(const struct weir_watch_ *watches,
				      unsigned count, int64_t deadline_ns)
{
	struct waitv list[WEIR_WATCH_MAX_];
	struct time64 at = { deadline_ns / 1000000000,
			     deadline_ns % 1000000000 };
	int saved = errno;
	enum weir_woke_ woke;

	if (count > WEIR_WATCH_MAX_)
		count = WEIR_WATCH_MAX_;
	for (unsigned i = 0; i < count; i++)
		list[i] = (struct waitv){
			.value = watches[i].value,
			.word = (uintptr_t)watches[i].word,
			.flags = SIZE_32,
		};
	woke = woke_by(syscall(WAITV_CALL, list, count, 0,
			       deadline_ns == WEIR_FOREVER ? NULL : &at,
			       CLOCK_MONOTONIC) < 0, deadline_ns);
	errno = saved;
	return woke;
}

uint32_t weir_alive_value_(void)
{
	/* Without WAITERS the kernel marks the word and wakes no sleeper. */
	return (uint32_t)syscall(SYS_gettid) | WAITERS;
}

bool weir_robust_enter_(struct weir_robust_ *robust,
			struct weir_alive_word_ *words, unsigned count,
			uint32_t *obituary)
{
	_Static_assert(sizeof(robust->nodes[0]) == sizeof(words[0]),
		       "one distance for all nodes");
	int saved = errno;
	bool done;

	robust->distance = (long)((uintptr_t)words - (uintptr_t)robust->nodes);
	/* The kernel adds the distance to this pointer too. */
	robust->pending = obituary ? (void *)((uintptr_t)obituary -
					      (uintptr_t)robust->distance) :
				     NULL;
	for (unsigned i = 0; i < count; i++)
		robust->nodes[i].next = i + 1 < count ?
						(void *)&robust->nodes[i + 1] :
						robust;
	robust->next = count ? (void *)&robust->nodes[0] : robust;
	done = syscall(SYS_set_robust_list, robust, 3 * sizeof(void *)) == 0;
	if (done)
		errno = saved;
	return done;
}

void weir_robust_leave_(struct weir_robust_ *robust)
{
	/* The kernel reads the list only when the thread exits. */
	robust->next = robust;
	robust->pending = NULL;
}

static bool membarrier(int command)
{
	int saved = errno;
	bool done = syscall(SYS_membarrier, command, 0, 0) == 0;

	errno = saved;
	return done;
}

bool weir_fence_ask_(void)
{
	return membarrier(REGISTER_GLOBAL_EXPEDITED);
}

bool weir_fence_heavy_(void)
{
	return membarrier(GLOBAL_EXPEDITED);
}

void *weir_map_(int fd, size_t size)
{
	void *memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd,
			    0);

	return memory == MAP_FAILED ? NULL : memory;
}

void weir_unmap_(void *memory, size_t size)
{
	(void)munmap(memory, size);
}

void *weir_map_zero_(size_t size)
{
	void *memory = mmap(NULL, size, PROT_READ | PROT_WRITE,
			    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	return memory == MAP_FAILED ? NULL : memory;
}

/*
 * RENAME_NOREPLACE.  Some C libraries have neither this name nor renameat2().
 */
#define NO_REPLACE 1

bool weir_rename_new_(const char *from, const char *to)
{
	return !syscall(SYS_renameat2, AT_FDCWD, from, AT_FDCWD, to,
			NO_REPLACE);
}
