/* SPDX-License-Identifier: MIT */
/* The list of a semaphore's waiters, for people and for tests. */
#include "core/sem_grant.h"
#include "core/sem_lock.h"
#include "core/sem_queue.h"
#include "core/sem_word.h"
#include "weir/sem.h"

static void describe(struct weir_waiter_ *w, int64_t now_ns,
		     weir_sem_waiter *out)
{
	int64_t waited_ns = weir_waiter_waited_ns_(w, now_ns);

	*out = (weir_sem_waiter){
		.permits = w->min,
		/* The clock of some machines goes back. */
		.waited_ns = waited_ns > 0 ? waited_ns : 0,
		.waits = w->wants == WEIR_WANTS_IDLE_ ? WEIR_WAITS_IDLE :
			 w->place == WEIR_OVERSIZED_  ? WEIR_WAITS_OVERSIZED :
							WEIR_WAITS_QUEUED,
		.is_op = w->kind != WEIR_THREAD_,
		.op = w->kind >= WEIR_OPERATION_ ? w : NULL,
		.ctx = w->ctx,
	};
}

/* Append the waiters of one list; *n counts all of them. */
static void list_ring(struct weir_ring_ *ring, int64_t now_ns,
		      weir_sem_waiter *list, size_t max, size_t *n)
{
	RING_EACH(link, next, end, ring) {
		if (*n < max)
			describe(weir_waiter_of_(link), now_ns, &list[*n]);
		++*n;
	}
}

weir_err weir_sem_waiters(weir_sem *sem, weir_sem_waiter *list, size_t max,
			  size_t *n)
{
	size_t count = 0;
	int64_t now_ns;
	weir_err err;

	if (weir_sem_is_misplaced_(sem) || !n || (max && !list))
		return WEIR_EINVAL;
	err = weir_sem_lock_(sem, "weir_sem_waiters");
	if (err)
		return err;
	now_ns = weir_now_ns();
	list_ring(sem->queue_, now_ns, list, max, &count);
	list_ring(sem->oversized_, now_ns, list, max, &count);
	weir_sem_unlock_(sem, 0);
	*n = count;
	return WEIR_OK;
}
