/* SPDX-License-Identifier: MIT */
/*
 * Permit objects: a semaphore, a count, and optionally a reference that keeps
 * the semaphore alive.  They are implemented with the public calls of
 * weir/sem.h.
 *
 *            sem_   n_     owned_
 *   empty    null   0      0
 *   held     set    1..    0       n_ permits of sem_ are held
 *   owned    set    1..    1       as held, with a reference (weir_sem_ref)
 *
 * slot_ is 0, or the slot in which the permits of a watched semaphore are
 * recorded.  A thread that uses a permit object of another thread takes over the
 * record first (record/record.h).
 *
 * No other combination is valid: a permit without permits has no semaphore, so
 * an empty permit needs no release.  A permit in another state was not
 * initialised, or was overwritten, and panics.
 *
 * A permit is used by one thread at a time, so there are no atomics here.
 */
#include "weir/permit.h"

#include <stddef.h>

#include "base/panic.h"
#include "core/ctx_wait.h"
#include "core/sem_wait.h"
#include "core/sem_watched.h"
#include "core/sem_word.h"
#include "record/record.h"
#include "weir/ctx.h"

_Static_assert(sizeof(void *) != 8 || sizeof(weir_permit) == 24,
	       "public layout");

static bool aligned(const weir_permit *permit)
{
	return permit && (uintptr_t)permit % _Alignof(weir_permit) == 0;
}

static bool sound(const weir_permit *permit)
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
static weir_err check(const weir_permit *permit, const char *call)
{
	if (!aligned(permit))
		return WEIR_EINVAL;
	if (!sound(permit))
		return weir_panic_("%s: permit %p was not initialised, or has "
				   "been overwritten", call,
				   (const void *)permit);
	return WEIR_OK;
}

/*
 * As check(), for a call that cannot return an error: it panics instead.
 * Returns true if *permit may be read.
 */
static bool usable(const weir_permit *permit, const char *call)
{
	if (!aligned(permit)) {
		weir_panic_("%s: %p is not a permit", call,
			    (const void *)permit);
		return false;
	}
	return check(permit, call) == WEIR_OK;
}

/* Returns WEIR_OK if *permit may be filled. */
static weir_err check_empty(const weir_permit *permit, const char *call)
{
	weir_err err = check(permit, call);

	return err == WEIR_OK && permit->sem_ ? WEIR_EINVAL : err;
}

static void fill(weir_permit *permit, weir_sem *sem, int64_t n)
{
	/* For n == 0 nothing was taken, and the permit stays empty. */
	if (n) {
		permit->sem_ = sem;
		permit->n_ = n;
	}
}

/* fill() for permits that this thread has just acquired. */
static void fill_recorded(weir_permit *permit, weir_sem *sem, int64_t n)
{
	fill(permit, sem, n);
	if (n)
		permit->slot_ = weir_record_slot_(weir_record_of_(sem));
}

/* Record this thread as the holder, if it was another one. */
static void take_over(weir_permit *permit)
{
	if (permit->slot_)
		permit->slot_ = weir_record_take_over_(
			weir_record_of_(permit->sem_), permit->slot_,
			permit->n_);
}

static weir_permit take(weir_permit *permit)
{
	weir_permit held = *permit;
	weir_permit empty = WEIR_PERMIT_INIT;

	*permit = empty;
	return held;
}

/*
 * Acquire on the slow path of the semaphore.  These functions are not inlined,
 * and called last: core/sem_watched.h, "WEIR_SITE_".
 */
__attribute__((noinline))
static weir_err acquire_long(weir_permit *permit, weir_sem *sem, int64_t n,
			     struct weir_ctx *ctx, int64_t deadline_ns,
			     const char *call)
{
	uint64_t site = WEIR_SITE_;
	weir_err err = WEIR_OK;

	if (!weir_request_ok_(sem, n, n))
		return WEIR_EINVAL;
	if (!(weir_state_(sem) & WEIR_STATE_TRACKED_))
		err = deadline_ns == WEIR_FOREVER ?
			      weir_sem_acquire(sem, n, ctx) :
			      weir_sem_acquire_until(sem, n, deadline_ns);
	else if (!ctx && weir_take_watched_(sem, n, n) >= 0)
		weir_sem_record_took_(sem, n, site);
	else
		err = weir_sem_wait_(sem, n, n, ctx, deadline_ns, NULL, call,
				     site);
	if (err == WEIR_OK)
		fill_recorded(permit, sem, n);
	return err;
}

weir_err weir_permit_acquire(weir_permit *permit, weir_sem *sem, int64_t n,
			     struct weir_ctx *ctx)
{
	weir_err err = check_empty(permit, "weir_permit_acquire");

	if (err != WEIR_OK)
		return err;
	if (!ctx && weir_take_fast_(sem, n, n) >= 0) {
		fill(permit, sem, n);
		return WEIR_OK;
	}
	return acquire_long(permit, sem, n, ctx, WEIR_FOREVER,
			    "weir_sem_acquire");
}

weir_err weir_permit_acquire_until(weir_permit *permit, weir_sem *sem,
				   int64_t n, int64_t deadline_ns)
{
	weir_err err = check_empty(permit, "weir_permit_acquire_until");

	if (err != WEIR_OK)
		return err;
	if (weir_take_fast_(sem, n, n) >= 0) {
		fill(permit, sem, n);
		return WEIR_OK;
	}
	return acquire_long(permit, sem, n, NULL, deadline_ns,
			    "weir_sem_acquire_until");
}

__attribute__((noinline))
static weir_err try_long(weir_permit *permit, weir_sem *sem, int64_t n)
{
	uint64_t site = WEIR_SITE_;
	weir_err err = WEIR_OK;

	if (!weir_request_ok_(sem, n, n))
		return WEIR_EINVAL;
	if (weir_take_watched_(sem, n, n) >= 0)
		weir_sem_record_tried_(sem, n, site);
	else
		err = weir_sem_try_wait_(sem, n);
	if (err == WEIR_OK)
		fill_recorded(permit, sem, n);
	return err;
}

weir_err weir_permit_try_acquire(weir_permit *permit, weir_sem *sem, int64_t n)
{
	weir_err err = check_empty(permit, "weir_permit_try_acquire");

	if (err != WEIR_OK)
		return err;
	err = weir_try_fast_(sem, n);
	if (err == WEIR_EINVAL)
		return try_long(permit, sem, n);
	if (err == WEIR_OK)
		fill(permit, sem, n);
	return err;
}

weir_err weir_permit_adopt(weir_permit *permit, weir_sem *sem, int64_t n)
{
	weir_err err = check_empty(permit, "weir_permit_adopt");

	if (err != WEIR_OK)
		return err;
	if (weir_sem_is_misplaced_(sem) || !weir_count_ok_(n))
		return WEIR_EINVAL;
	fill_recorded(permit, sem, n);
	return WEIR_OK;
}

weir_err weir_permit_own(weir_permit *permit)
{
	weir_err err = check(permit, "weir_permit_own");

	if (err != WEIR_OK)
		return err;
	if (!permit->sem_ || permit->owned_)
		return WEIR_EINVAL;
	if (!weir_sem_ref(permit->sem_))
		return WEIR_EINVAL;	/* weir_sem_ref panicked */
	permit->owned_ = 1;
	return WEIR_OK;
}

void weir_permit_release(weir_permit *permit)
{
	weir_permit held;

	if (!usable(permit, "weir_permit_release"))
		return;
	/*
	 * Empty *permit before the release.  A waiter that is granted these
	 * permits may free the memory of *permit, as it may free the semaphore
	 * (C22).
	 */
	held = take(permit);
	if (!held.sem_)
		return;
	if (held.slot_)
		take_over(&held);
	weir_sem_release(held.sem_, held.n_);
	/* This comes last, because it may free the semaphore. */
	if (held.owned_)
		weir_sem_unref(held.sem_);
}

weir_err weir_permit_split(weir_permit *from, int64_t n, weir_permit *to)
{
	weir_err err = check(from, "weir_permit_split");

	if (err == WEIR_OK)
		err = check_empty(to, "weir_permit_split");
	if (err != WEIR_OK)
		return err;
	if (n < 0 || n > from->n_)
		return WEIR_EINVAL;
	take_over(from);
	if (n == from->n_) {
		*to = take(from);
		return WEIR_OK;
	}
	if (n == 0)
		return WEIR_OK;
	/* Two owned permits hold two references. */
	if (from->owned_ && !weir_sem_ref(from->sem_))
		return WEIR_EINVAL;	/* weir_sem_ref panicked */
	*to = *from;
	to->n_ = n;
	from->n_ -= n;
	return WEIR_OK;
}

weir_err weir_permit_merge(weir_permit *to, weir_permit *from)
{
	weir_err err = check(to, "weir_permit_merge");
	weir_permit held;

	if (err == WEIR_OK)
		err = check(from, "weir_permit_merge");
	if (err != WEIR_OK)
		return err;
	/* A permit that is merged with itself would double or vanish. */
	if (to == from)
		return WEIR_EINVAL;
	if (!from->sem_)
		return WEIR_OK;
	if (!to->sem_) {
		*to = take(from);
		return WEIR_OK;
	}
	/* Both counts are at most 2^60, so the sum does not overflow. */
	if (to->sem_ != from->sem_ || to->n_ + from->n_ > WEIR_SEM_MAX)
		return WEIR_EINVAL;
	take_over(to);
	held = take(from);
	take_over(&held);
	to->n_ += held.n_;
	if (to->owned_ && held.owned_)
		weir_sem_unref(held.sem_);	/* *to keeps a reference */
	else
		to->owned_ |= held.owned_;
	return WEIR_OK;
}

weir_permit weir_permit_move(weir_permit *permit)
{
	weir_permit empty = WEIR_PERMIT_INIT;

	if (!usable(permit, "weir_permit_move"))
		return empty;
	take_over(permit);
	if (permit->slot_)
		weir_record_moved_(weir_record_of_(permit->sem_));
	return take(permit);
}

weir_err weir_permit_forget(weir_permit *permit)
{
	weir_err err = check(permit, "weir_permit_forget");
	weir_permit held;

	if (err != WEIR_OK || !permit->sem_)
		return err;
	take_over(permit);
	err = weir_sem_forget(permit->sem_, permit->n_);
	if (err != WEIR_OK)
		return err;
	held = take(permit);
	/* This comes last, because it may free the semaphore. */
	if (held.owned_)
		weir_sem_unref(held.sem_);
	return WEIR_OK;
}

int64_t weir_permit_disown(weir_permit *permit)
{
	if (!usable(permit, "weir_permit_disown"))
		return 0;
	take_over(permit);
	return take(permit).n_;
}

int64_t weir_permit_count(const weir_permit *permit)
{
	return permit->n_;
}

weir_sem *weir_permit_sem(const weir_permit *permit)
{
	return permit->sem_;
}

bool weir_permit_is_owned(const weir_permit *permit)
{
	return permit->owned_ != 0;
}
