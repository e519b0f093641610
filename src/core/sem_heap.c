/* SPDX-License-Identifier: MIT */
/*
 * A semaphore on the heap that lives as long as somebody refers to it.
 *
 * The count has a cache line of its own, after the semaphore's: references come
 * and go without disturbing those who acquire and release.
 *
 *   refs   0      Never seen by a caller that keeps the rules.
 *          1      The caller has the only reference, and a new one is made from
 *                 one that exists: nobody can come near.  An unref ends it.
 *          2..    An unref counts down.
 *
 * The last unref never counts down to 0.  It leaves its 1 in place while it
 * asks weir_sem_destroy, so that a refusal (somebody waits) changes nothing.
 *
 * Pairs
 *
 *   [H1] end   release: weir_sem_unref that leaves others
 *              acquire: weir_sem_unref that finds itself the last
 *              What the others did to the semaphore, their last release
 *              included, is over before it is destroyed and freed.  A ref in
 *              between is an RMW and continues the release sequence.
 */
#include <stddef.h>

#include "base/atomic.h"
#include "base/mem.h"
#include "base/panic.h"
#include "core/sem_word.h"
#include "weir/sem.h"

/* Far from wrapping, however many threads pass the test at one moment. */
#define REFS_MAX ((uint32_t)INT32_MAX)

struct heap_sem {
	weir_sem sem;		/* first: a weir_sem * is a heap_sem * */
	uint32_t refs __attribute__((aligned(64)));
};

_Static_assert(offsetof(struct heap_sem, sem) == 0, "casts to and fro");

/* The whole of which sem is a part, or null after a panic. */
static struct heap_sem *heap_of(weir_sem *sem, const char *call)
{
	if (weir_sem_is_misplaced_(sem)) {
		weir_panic_("%s: %p is not a semaphore", call, (void *)sem);
		return NULL;
	}
	/* relaxed: HEAP is set before anybody can refer to it, and stays. */
	if (!(at_load_relaxed(&sem->state_) & WEIR_STATE_HEAP_)) {
		weir_panic_("%s: semaphore \"%s\" (%p) is not from "
			    "weir_sem_new", call, sem->name_, (void *)sem);
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
	/* Nobody else can reach it yet. */
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
	 * between this and the addition.
	 */
	refs = at_load_relaxed(&heap->refs);
	if (refs == 0 || refs > REFS_MAX) {
		weir_panic_("weir_sem_ref: semaphore \"%s\" (%p) has %s",
			    sem->name_, (void *)sem,
			    refs ? "too many references" : "no reference left");
		return NULL;
	}
	/* relaxed: handing sem to another thread is what orders this. */
	at_add_relaxed(&heap->refs, 1);
	return sem;
}

/* The caller's reference is the only one: end it with the semaphore. */
static void end(struct heap_sem *heap)
{
	weir_err err = weir_sem_destroy(&heap->sem);

	/* Refused, it has not changed, and the caller keeps its reference. */
	if (err == WEIR_EBUSY)
		weir_panic_("weir_sem_unref: semaphore \"%s\" (%p): somebody "
			    "waits, and this is the last reference",
			    heap->sem.name_, (void *)heap);
	if (err != WEIR_OK)
		return;
	/*
	 * relaxed: nobody may look.  Who does all the same, before the memory
	 * is used again, is told.
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
		/* [H1] acquire, for when it is 1 and we are alone. */
		refs = at_load_acquire(&heap->refs);
		if (refs == 0) {
			weir_panic_("weir_sem_unref: semaphore \"%s\" (%p) has "
				    "no reference left", sem->name_,
				    (void *)sem);
			return;
		}
		if (refs == 1) {
			end(heap);
			return;
		}
		/* [H1] release.  Our last access: others may end it now. */
	} while (!at_cas_weak_release(&heap->refs, &refs, refs - 1));
}
