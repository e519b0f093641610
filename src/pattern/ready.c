/* SPDX-License-Identifier: MIT */
/* Calls on objects that are not usable: ready.h. */
#include "pattern/ready.h"

#include <stddef.h>

#include "base/atomic.h"
#include "base/panic.h"
#include "core/sem_word.h"

/* Returns true if a thread held a lock of the object. */
static bool is_locked(const struct weir_object_ *o)
{
	/* relaxed: all loads; the child has just begun to use the object. */
	if (o->lock && at_load_relaxed(o->lock))
		return true;
	for (int i = 0; i < 2; i++)
		if (o->sems[i] && weir_door_(at_load_relaxed(
					  &o->sems[i]->word_)) == WEIR_LOCKED_)
			return true;
	return false;
}

static bool has_waiters(const struct weir_object_ *o)
{
	for (int i = 0; i < 2; i++) {
		const weir_sem *sem = o->sems[i];

		if (sem && (sem->queue_ || sem->oversized_))
			return true;
	}
	return o->waited;
}

/* The reason why the child of a fork cannot use the object; null: it can. */
static const char *problem_of(const struct weir_object_ *o)
{
	if (o->has_threads)
		return "does not exist in the child of a fork";
	if (has_waiters(o))
		return "had waiters at a fork and is used in the child";
	if (is_locked(o))
		return "was in use at a fork and is used in the child";
	return NULL;
}

static weir_err enter_child(const struct weir_object_ *o, const char *call)
{
	const char *problem = problem_of(o);

	/*
	 * relaxed: another thread of the child may have made the check, and may
	 * wait or hold the lock by now: then the object is usable.
	 */
	if (problem && at_load_relaxed(o->ready) != weir_generation_)
		return weir_panic_("%s: %s %o %s", call, o->kind, o->name,
				   o->object, problem);
	/* relaxed: every thread that makes the check writes the same value. */
	at_store_relaxed(o->ready, weir_generation_);
	return WEIR_OK;
}

weir_err weir_unready_(const struct weir_object_ *o, const char *call,
		       enum weir_refusal_ refusal)
{
	/* relaxed: misuse, or the first calls in the child of a fork. */
	uint32_t ready = weir_is_misaligned_(o->object) ?
				 0 : at_load_relaxed(o->ready) & ~WEIR_WATCHED_;

	if (ready == weir_generation_)
		return WEIR_OK;
	if (!ready && refusal == WEIR_BY_ERROR_)
		return WEIR_EINVAL;
	if (ready == WEIR_DESTROYED_)
		return weir_panic_("%s: %s %p is destroyed", call, o->kind,
				   o->object);
	if (!ready || ready > weir_generation_)
		return weir_panic_("%s: %p is not a valid %s", call, o->object,
				   o->kind);
	return enter_child(o, call);
}
