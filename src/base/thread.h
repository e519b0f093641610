/* SPDX-License-Identifier: MIT */
#ifndef WEIR_BASE_THREAD_H
#define WEIR_BASE_THREAD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "weir/base.h"

struct weir_held_event_;

/*
 * The callbacks that a thread has to run: their nodes, oldest first.  `running`
 * is true while a function further up the stack of the thread runs them.  `held`
 * takes an event for the hook (hook.h); null: the hook is called at once.
 */
struct weir_to_run_ {
	struct weir_ring_ *ready;
	bool running;
	struct weir_held_event_ *held;
};

/* Returns the calling thread's list. */
struct weir_to_run_ *weir_thread_to_run_(void);

/*
 * Hold back a pthread_cancel of this thread; returns the state to restore.  A
 * callback may contain a thread-cancellation point, although the call that runs
 * it is none.
 */
int weir_thread_cancel_off_(void);
void weir_thread_cancel_reset_(int before);

/*
 * Returns the size of all thread-local storage, which glibc allocates on the
 * stack of a new thread.  Takes the lock of the loader, which may be held in the
 * child of a fork by a thread that does not exist there.
 */
size_t weir_thread_local_size_(void);

/*
 * Call getdents64(2) for an open folder.  opendir(3) cannot be used: it allocates on
 * the heap.
 */
long weir_thread_list_(int fd, void *room, size_t size);

/*
 * Returns false if the process has no such thread.  A zombie exists.  Preserves
 * errno.
 */
bool weir_thread_exists_(uint32_t pid, uint32_t tid);

/*
 * Returns true if the thread of this process is a zombie; false also without
 * /proc.  Async-signal-safe; preserves errno.
 */
bool weir_thread_is_zombie_(uint32_t tid);

/* The calling thread's id and name, for people.  Both preserve errno. */
uint32_t weir_thread_id_(void);
void weir_thread_name_(char name[16]);

#endif /* WEIR_BASE_THREAD_H */
