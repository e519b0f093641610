/* SPDX-License-Identifier: MIT */
#ifndef WEIR_BASE_SHARED_H
#define WEIR_BASE_SHARED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/futex.h"

/*
 * Words in a file that several processes map: sleeping on them, waking their
 * sleepers, and having the kernel mark them when a thread dies.  As in
 * base/futex.h, these functions preserve errno and are no thread-cancellation
 * points.
 */

/* Sleep while *word == value, until deadline_ns at the latest. */
enum weir_woke_ weir_shared_wait_(uint32_t *word, uint32_t value,
				  int64_t deadline_ns);

/* Wake one sleeper on word; wake all of them. */
void weir_shared_wake_(uint32_t *word);
void weir_shared_wake_all_(uint32_t *word);

/*
 * Returns true if a thread sleeps on word, also with other words
 * (weir_shared_wait_any_).  Returns false too if another thread changes the
 * word meanwhile.  The sleepers keep their order and do not wake.
 */
bool weir_shared_sleepers_(uint32_t *word);

/*
 * Move one sleeper from one word to another: a wake-up of `to` wakes it.
 * Returns false if no thread sleeps on `from`, or another thread changes it
 * meanwhile.  If the sleep of the moved thread begins again, because its process
 * was stopped and continues, it sleeps on `from`.
 */
bool weir_shared_move_(uint32_t *from, uint32_t *to);

/* One of several words to sleep on, and its expected value. */
struct weir_watch_ {
	uint32_t *word;
	uint32_t value;
};

/* The limit of futex_waitv(2) on the words of one sleep. */
#define WEIR_WATCH_MAX_ 128

/* Returns true if this kernel has futex_waitv(2): Linux 5.16 or later. */
bool weir_shared_can_wait_any_(void);

/* Sleep while every word has its expected value, until deadline_ns. */
enum weir_woke_ weir_shared_wait_any_(const struct weir_watch_ *watches,
				      unsigned count, int64_t deadline_ns);

/*
 * Liveness words.  A thread puts some words on its robust list.  When the
 * thread ends for any reason, the kernel sets WEIR_DIED_ in each word and wakes
 * one sleeper.
 *
 * The kernel finds the word of a list node at a fixed offset, which is the same
 * for the whole list.  So nodes and words are arrays of the same stride.  The
 * list head and the nodes are private memory: the kernel never follows a
 * pointer that is stored in the file.
 */
#define WEIR_ALIVE_WORDS_ 4	/* at most */
#define WEIR_DIED_ UINT32_C(0x40000000)

struct weir_alive_word_ {
	uint32_t word;
	uint32_t unused;
};

struct weir_robust_ {
	void *next;		/* read by the kernel: the list head, */
	long distance;		/* the offset, and a pending entry */
	void *pending;
	union {
		void *next;
		uint64_t stride;
	} nodes[WEIR_ALIVE_WORDS_];
};

/* The value of this thread's liveness words; never 0. */
uint32_t weir_alive_value_(void);

/*
 * weir_robust_enter_ puts words[0 .. count - 1] on this thread's robust list;
 * each word has the value weir_alive_value_().  It returns false with errno on
 * failure.  weir_robust_leave_ empties the list.
 *
 * `obituary`, if not null, is a word that several threads share.  Its owner
 * bits (all but the highest two) are 0.  When the thread ends, the kernel first
 * marks the words of the list, then wakes one sleeper on the obituary word,
 * whose value it does not change.  The obituary word is the pending entry of
 * the robust list: its owner bits are 0, so the kernel takes it for a lock that
 * the thread released without waking a waiter.  This needs Linux 5.5, or a
 * stable release of 2019 or later.
 */
bool weir_robust_enter_(struct weir_robust_ *robust,
			struct weir_alive_word_ *words, unsigned count,
			uint32_t *obituary);
void weir_robust_leave_(struct weir_robust_ *robust);

static inline bool weir_is_alive_(uint32_t word)
{
	return (word & ~UINT32_C(0xc0000000)) && !(word & WEIR_DIED_);
}

/*
 * Asymmetric fences.  Two threads each store to one word and then load the
 * other's; at least one of the loads must see the other thread's store.  One
 * thread uses the light fence between the store and the load, the other the
 * heavy fence.  The light fence costs nothing; it works only in processes that
 * have called weir_fence_ask_.  The heavy fence runs a barrier on the CPUs of
 * all those processes.  Both functions return false if the kernel does not
 * support this.
 */
bool weir_fence_ask_(void);
bool weir_fence_heavy_(void);

static inline void weir_fence_light_(void)
{
	__asm__ volatile("" ::: "memory");
}

/*
 * Map size bytes of fd, shared and writable.  Returns null with errno on
 * failure.
 */
void *weir_map_(int fd, size_t size);
void weir_unmap_(void *memory, size_t size);

/*
 * Returns private memory that is zero; null on failure.  Pages that are not
 * used cost nothing.  weir_unmap_ frees the memory.
 */
void *weir_map_zero_(size_t size);

/*
 * Rename a file.  Fails with EEXIST if `to` exists.  Returns false with errno on
 * failure.
 */
bool weir_rename_new_(const char *from, const char *to);

#endif /* WEIR_BASE_SHARED_H */
