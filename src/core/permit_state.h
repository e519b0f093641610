/* SPDX-License-Identifier: MIT */
#ifndef WEIR_CORE_PERMIT_STATE_H
#define WEIR_CORE_PERMIT_STATE_H

/*
 * The states of a permit object.
 *
 *            sem_   n_     owned_
 *   empty    null   0      0
 *   held     set    1..    0       n_ permits of sem_ are held
 *   owned    set    1..    1       as held, with a reference (weir_sem_ref)
 *
 * slot_ is 0, or the slot in which the permits of a watched semaphore are
 * recorded.  A thread that uses a permit object of another thread takes over
 * the record first (record/record.h).  A move adds a bit to slot_, and the next
 * use removes it.
 *
 * No other combination is valid: a permit object without permits has no
 * semaphore, so an empty object needs no release.  A permit object in another
 * state was not initialised, or was overwritten; a call that finds it panics.
 *
 * A permit is used by one thread at a time, so there are no atomics here.
 */
#include "base/panic.h"
#include "core/sem_watched.h"
#include "record/record.h"
#include "weir/permit.h"

static inline bool weir_permit_is_aligned_(const weir_permit *permit)
{
	return permit && (uintptr_t)permit % _Alignof(weir_permit) == 0;
}

static inline bool weir_permit_is_sound_(const weir_permit *permit)
{
	if ((permit->owned_ | permit->slot_) &&
	    (permit->owned_ > 1 || !permit->sem_ ||
	     (permit->slot_ && permit->slot_ < WEIR_RECORD_SLOT_MIN_)))
		return false;
	if (!permit->sem_)
		return !permit->n_;
	return permit->n_ > 0 && permit->n_ <= WEIR_SEM_MAX;
}

/* Returns WEIR_OK if *permit may be read. */
static inline weir_err weir_permit_check_(const weir_permit *permit,
					  const char *call)
{
	if (!weir_permit_is_aligned_(permit))
		return WEIR_EINVAL;
	if (!weir_permit_is_sound_(permit))
		return weir_panic_("%s: permit %p was not initialised, or has "
				   "been overwritten", call,
				   (const void *)permit);
	return WEIR_OK;
}

/*
 * As weir_permit_check_, for a call that cannot return an error: it panics
 * instead.  Returns true if *permit may be read.
 */
static inline bool weir_permit_is_usable_(const weir_permit *permit,
					  const char *call)
{
	if (!weir_permit_is_aligned_(permit)) {
		weir_panic_("%s: %p is not a permit", call,
			    (const void *)permit);
		return false;
	}
	return weir_permit_check_(permit, call) == WEIR_OK;
}

/* Returns WEIR_OK if *permit may be filled. */
static inline weir_err weir_permit_check_empty_(const weir_permit *permit,
						const char *call)
{
	weir_err err = weir_permit_check_(permit, call);

	return err == WEIR_OK && permit->sem_ ? WEIR_EINVAL : err;
}

/* Record this thread as the holder, if another thread is recorded. */
static inline void weir_permit_take_over_(weir_permit *permit)
{
	if (permit->slot_)
		permit->slot_ = weir_record_take_over_(
			weir_record_of_(permit->sem_), permit->slot_,
			permit->n_);
}

/* Empty *permit and return its previous contents. */
static inline weir_permit weir_permit_take_(weir_permit *permit)
{
	weir_permit held = *permit;
	weir_permit empty = WEIR_PERMIT_INIT;

	*permit = empty;
	return held;
}

#endif /* WEIR_CORE_PERMIT_STATE_H */
