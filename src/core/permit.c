/* SPDX-License-Identifier: MIT */
/*
 * Permit objects: a semaphore, a count, and optionally a reference that keeps
 * the semaphore alive.  They are implemented with the public calls of
 * weir/sem.h.  permit_state.h describes their states.  permit_pass.c has the
 * calls that pass permits from one object to another.
 */
#include "weir/permit.h"

#include <stddef.h>

#include "core/ctx_wait.h"
#include "core/permit_state.h"
#include "core/sem_wait.h"
#include "core/sem_watched.h"
#include "core/sem_word.h"
#include "record/record.h"
#include "weir/ctx.h"

_Static_assert(sizeof(void *) != 8 || sizeof(weir_permit) == 24,
	       "public layout");

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
	else if (!ctx && weir_take_marked_(sem, n))
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
	weir_err err = weir_permit_check_empty_(permit, "weir_permit_acquire");

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
	weir_err err = weir_permit_check_empty_(permit,
						"weir_permit_acquire_until");

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
	if (weir_take_marked_(sem, n))
		weir_sem_record_tried_(sem, n, site);
	else
		err = weir_sem_try_wait_(sem, n);
	if (err == WEIR_OK)
		fill_recorded(permit, sem, n);
	return err;
}

weir_err weir_permit_try_acquire(weir_permit *permit, weir_sem *sem, int64_t n)
{
	weir_err err = weir_permit_check_empty_(permit,
						"weir_permit_try_acquire");

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
	weir_err err = weir_permit_check_empty_(permit, "weir_permit_adopt");

	if (err != WEIR_OK)
		return err;
	if (weir_sem_is_misplaced_(sem) || !weir_count_ok_(n))
		return WEIR_EINVAL;
	fill_recorded(permit, sem, n);
	return WEIR_OK;
}

weir_err weir_permit_own(weir_permit *permit)
{
	weir_err err = weir_permit_check_(permit, "weir_permit_own");

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

	if (!weir_permit_is_usable_(permit, "weir_permit_release"))
		return;
	/*
	 * Empty *permit before the release.  A waiter that is granted these
	 * permits may free the memory of *permit, as it may free the semaphore
	 * (C22).
	 */
	held = weir_permit_take_(permit);
	if (!held.sem_)
		return;
	if (held.slot_)
		weir_permit_take_over_(&held);
	weir_sem_release(held.sem_, held.n_);
	/* This comes last, because it may free the semaphore. */
	if (held.owned_)
		weir_sem_unref(held.sem_);
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
