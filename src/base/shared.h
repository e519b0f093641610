/* SPDX-License-Identifier: MIT */
#ifndef WEIR_BASE_SHARED_H
#define WEIR_BASE_SHARED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/futex.h"

/*
 * Words in a file that several processes have mapped: sleeping on them, waking
 * their sleepers, and having the kernel mark them when a thread dies.  As in
 * base/futex.h, errno stays and nothing is a thread-cancellation point.
 */

/* Sleep while *word == value, until deadline_ns. */
enum weir_woke_ weir_shared_wait_(uint32_t *word, uint32_t value,
				  int64_t deadline_ns);

/* Wake one sleeper on word, or all of them. */
void weir_shared_wake_(uint32_t *word);
void weir_shared_wake_all_(uint32_t *word);

/* One of several words to sleep on. */
struct weir_watch_ {
	uint32_t *word;
	uint32_t value;
};

/* The most words of one sleep: futex_waitv(2) takes no more. */
#define WEIR_WATCH_MAX_ 128

/* Whether this kernel can sleep on several words at once (Linux 5.16). */
bool weir_shared_can_wait_any_(void);

/* Sleep while every word has its value. */
enum weir_woke_ weir_shared_wait_any_(const struct weir_watch_ *watches,
				      unsigned count, int64_t deadline_ns);

/*
 * Alive words.  A thread enters some; when it ends, however it ends, the kernel
 * sets WEIR_DIED_ in each and wakes one sleeper.
 *
 * The kernel finds a word by the place of its node, at one distance for a whole
 * list, so nodes and words stand in arrays of the same stride.  Head and nodes
 * are private memory: nothing in the file makes the kernel follow a pointer.
 */
#define WEIR_ALIVE_WORDS_ 4
#define WEIR_DIED_ UINT32_C(0x40000000)

struct weir_alive_word_ {
	uint32_t word;
	uint32_t unused;
};

struct weir_robust_ {
	void *next;		/* what the kernel reads: head, distance, */
	long distance;		/* and an entry that is being made */
	void *pending;
	union {
		void *next;
		uint64_t stride;
	} nodes[WEIR_ALIVE_WORDS_];
};

/* The value of an alive word of this thread; never 0. */
uint32_t weir_alive_value_(void);

/* Enter words[], which have that value, for this thread; and take them out. */
bool weir_robust_enter_(struct weir_robust_ *robust,
			struct weir_alive_word_ *words);
void weir_robust_leave_(struct weir_robust_ *robust);

static inline bool weir_is_alive_(uint32_t word)
{
	return (word & ~UINT32_C(0xc0000000)) && !(word & WEIR_DIED_);
}

/*
 * Two fences that make one together, for a store and a load of another word on
 * either side, of which one must see the other's store.  The light one costs
 * nothing, in a process that has asked for it; the heavy one reaches all those
 * processes' CPUs.  False: there is no such thing here.
 */
bool weir_fence_ask_(void);
bool weir_fence_heavy_(void);

static inline void weir_fence_light_(void)
{
	__asm__ volatile("" ::: "memory");
}

/* The clock to within some milliseconds, for a few nanoseconds. */
int64_t weir_rough_now_ns_(void);

/* Map size bytes of fd, shared, to read and write; null with errno. */
void *weir_map_(int fd, size_t size);
void weir_unmap_(void *memory, size_t size);

#endif /* WEIR_BASE_SHARED_H */
