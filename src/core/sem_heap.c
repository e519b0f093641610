/* SPDX-License-Identifier: MIT */
/*
 * Semaphores on the heap, with a reference count.
 *
 * The count is in a separate cache line, after the semaphore: changing the
 * count does not slow down acquire and release.
 *
 *   refs   0      The semaphore has ended.  Only a misuse finds this value.
 *          1      The caller has the only reference.  A new reference is made
 *                 from an existing one, so no other thread can make one.  An
 *                 unref ends the semaphore.
 *          2..    An unref decrements.
 *
 * The last unref does not decrement to 0.  It leaves 1 in place while it calls
 * weir_sem_destroy, so that a refusal (a waiter is queued) changes nothing.
 *
 * Pairs
 *
 *   [H1] end   release: weir_sem_unref   acquire: weir_sem_unref
 *              An unref that finds the count 1 happens after the unrefs of all
 *              other references, and so after every use of the semaphore
 *              through them.  A ref in between is an RMW and continues the
 *              release sequence.
 */
#include <stddef.h>

#include "base/atomic.h"
#include "base/mem.h"
#include "base/panic.h"
#include "core/sem_lock.h"
#include "core/sem_word.h"
#include "weir/sem.h"

/*
 * This is far below UINT32_MAX, because several threads may pass the check at
 * once.
 */
#define REFS_MAX ((uint32_t)INT32_MAX)

struct heap_sem {
	weir_sem sem;		/* first: a weir_sem * is a heap_sem * */
	uint32_t refs __attribute__((aligned(64)));
};

_Static_assert(offsetof(struct heap_sem, sem) == 0, "casts to and fro");

/* Returns the heap_sem that contains sem; null after a panic. */
static struct heap_sem *heap_of(weir_sem *sem, const char *call)
{
	if (weir_sem_is_misplaced_(sem)) {
		weir_panic_("%s: %p is not a semaphore", call, (void *)sem);
		return NULL;
	}
	/* relaxed: set before sem is shared, and never changed. */
	if (!(at_load_relaxed(&sem->state_) & WEIR_STATE_HEAP_)) {
		weir_panic_("%s: semaphore \"%s\" (%p) was not made by "
			    "weir_sem_new", call, weir_sem_name_(sem), (void *)sem);
		return NULL;
	}
	return (struct heap_sem *)(void *)sem;
}

weir_sem *weir_sem_new(const weir_sem_opts *opts)
{
	struct heap_sem *heap = weir_mem_alloc_(sizeof(*heap));

	if (!heap)
		return NULL;
	if (weir_sem_init_opts(&heap->sem, opts) != WEIR_OK) {
		weir_mem_free_(heap);
		return NULL;
	}
	/* No other thread has a reference yet. */
	heap->sem.state_ |= WEIR_STATE_HEAP_;
	heap->refs = 1;
	return &heap->sem;
}

weir_sem *weir_sem_ref(weir_sem *sem)
{
	struct heap_sem *heap = heap_of(sem, "weir_sem_ref");
	uint32_t refs;

	if (!heap)
		return NULL;
	/*
	 * relaxed: the caller has a reference, so the count cannot fall to 0
	 * between this load and the addition.
	 */
	refs = at_load_relaxed(&heap->refs);
	if (refs == 0 || refs > REFS_MAX) {
		weir_panic_("weir_sem_ref: semaphore \"%s\" (%p) has %s",
			    weir_sem_name_(sem), (void *)sem,
			    refs ? "too many references" : "no reference left");
		return NULL;
	}
	/* relaxed: the caller orders the transfer of sem to another thread. */
	at_add_relaxed(&heap->refs, 1);
	return sem;
}

/* The caller has the only reference: destroy and free the semaphore. */
static void end(struct heap_sem *heap)
{
	weir_err err = weir_sem_destroy(&heap->sem);

	/* WEIR_EBUSY: nothing has changed; the caller keeps its reference. */
	if (err == WEIR_EBUSY)
		weir_panic_("weir_sem_unref: semaphore \"%s\" (%p): the last "
			    "reference, but there are waiters",
			    weir_sem_name_(&heap->sem), (void *)heap);
	if (err != WEIR_OK)
		return;
	/*
	 * relaxed: a correct program does not read the count any more.  The 0
	 * lets a late ref or unref panic, until the memory is reused.
	 */
	at_store_relaxed(&heap->refs, 0);
	weir_mem_free_(heap);
}

void weir_sem_unref(weir_sem *sem)
{
	struct heap_sem *heap = heap_of(sem, "weir_sem_unref");
	uint32_t refs;

	if (!heap)
		return;
	do {
		/* [H1] acquire, needed if the count is 1. */
		refs = at_load_acquire(&heap->refs);
		if (refs == 0) {
			weir_panic_("weir_sem_unref: semaphore \"%s\" (%p) has "
				    "no reference left", weir_sem_name_(sem),
				    (void *)sem);
			return;
		}
		if (refs == 1) {
			end(heap);
			return;
		}
		/*
		 * [H1] release.  This CAS is the last access: another thread
		 * may free the semaphore after it.
		 */
	} while (!at_cas_weak_release(&heap->refs, &refs, refs - 1));
}
