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
 * No other combination is valid: a permit without permits has no semaphore, so
 * an empty permit needs no release.  A permit in another state was not
 * initialised, or was overwritten, and panics.
 *
 * A permit is used by one thread at a time, so there are no atomics here.
 */
#include "weir/permit.h"

#include <stddef.h>

#include "base/panic.h"
#include "core/sem_word.h"

_Static_assert(sizeof(void *) != 8 || sizeof(weir_permit) == 24,
	       "public layout");

static bool aligned(const weir_permit *permit)
{
	return permit && (uintptr_t)permit % _Alignof(weir_permit) == 0;
}

static bool sound(const weir_permit *permit)
{
	if (permit->reserved_ || permit->owned_ > 1)
		return false;
	if (!permit->sem_)
		return !permit->n_ && !permit->owned_;
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

static weir_permit take(weir_permit *permit)
{
	weir_permit held = *permit;
	weir_permit empty = WEIR_PERMIT_INIT;

	*permit = empty;
	return held;
}

weir_err weir_permit_acquire(weir_permit *permit, weir_sem *sem, int64_t n,
			     struct weir_ctx *ctx)
{
	weir_err err = check_empty(permit, "weir_permit_acquire");

	if (err == WEIR_OK)
		err = weir_sem_acquire(sem, n, ctx);
	if (err == WEIR_OK)
		fill(permit, sem, n);
	return err;
}

weir_err weir_permit_acquire_until(weir_permit *permit, weir_sem *sem,
				   int64_t n, int64_t deadline_ns)
{
	weir_err err = check_empty(permit, "weir_permit_acquire_until");

	if (err == WEIR_OK)
		err = weir_sem_acquire_until(sem, n, deadline_ns);
	if (err == WEIR_OK)
		fill(permit, sem, n);
	return err;
}

weir_err weir_permit_try_acquire(weir_permit *permit, weir_sem *sem, int64_t n)
{
	weir_err err = check_empty(permit, "weir_permit_try_acquire");

	if (err == WEIR_OK)
		err = weir_sem_try_acquire(sem, n);
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
	fill(permit, sem, n);
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
	held = take(from);
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

	return usable(permit, "weir_permit_move") ? take(permit) : empty;
}

weir_err weir_permit_forget(weir_permit *permit)
{
	weir_err err = check(permit, "weir_permit_forget");
	weir_permit held;

	if (err != WEIR_OK || !permit->sem_)
		return err;
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
	return usable(permit, "weir_permit_disown") ? take(permit).n_ : 0;
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
