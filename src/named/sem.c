/* SPDX-License-Identifier: MIT */
/*
 * Acquire and release without waiting.
 *
 * Taking and dropping the lock are the only atomic operations.  The number of
 * permits taken is stored in two places: `held` of our slot, which is a source
 * of truth, and `value`, which can be computed from all slots.  The order of
 * the two stores does not matter: if this process dies between them, its
 * permits no longer count, and the next lock holder repairs `value`.
 */

#include "base/panic.h"
#include "core/ctx_wait.h"
#include "named/handle.h"
#include "named/lock.h"

static bool count_ok(int64_t n)
{
	return n >= 0 && n <= WEIR_SEM_MAX;
}

int64_t weir_nm_takeable_(const weir_named *h, int64_t min, int64_t max)
{
	int64_t value = h->head->value;

	if (h->head->queue_first || nm_is_paused(h) || value < min ||
	    value < 0)
		return min ? -1 : 0;
	return value < max ? value : max;
}

void weir_nm_take_(weir_named *h, int64_t n)
{
	struct nm_slot *mine = h->mine;

	if (!mine->held)
		mine->since_ns = weir_rough_now_ns_();
	mine->held = nm_plus(mine->held, n);
	h->head->value = nm_minus(h->head->value, n);
	if (!mine->listed)
		weir_nm_list_holder_(h, mine);
	if (h->head->in_use)
		weir_nm_watch_holder_(h, mine);
}

void weir_nm_give_(weir_named *h, int64_t n)
{
	h->mine->held = nm_minus(h->mine->held, n);
	h->head->value = nm_plus(h->head->value, n);
	if (h->head->in_use)
		weir_nm_grant_all_(h);
}

/*
 * Take the lock if the call can finish right away: this process has joined, the
 * lock is free, no call waits, and the semaphore is open and not paused.  False:
 * no effect.
 */
static bool enter_fast(weir_named *h)
{
	uint32_t seen = 0, ticket;

	/*
	 * relaxed: the ticket is 0, or our id in the lock word.  The ticket is
	 * stored after this handle has taken and dropped the lock under that
	 * id.  So the acquire below, which depends on the ticket, sees
	 * everything done before.
	 */
	ticket = at_load_relaxed(&h->ticket);
	/* [NL1] acquire */
	if (!ticket || !at_cas_weak_acquire(&h->head->lock, &seen, ticket))
		return false;
	if (nm_is_ours(h) && !h->head->in_use && !h->head->closed)
		return true;
	nm_unlock(h);
	return false;
}

static bool take_fast(weir_named *h, int64_t n)
{
	struct nm_slot *mine;
	bool fits;

	if (!h || n < 1 || n > WEIR_SEM_MAX || !enter_fast(h))
		return false;
	mine = h->mine;
	fits = mine->listed && n <= h->head->value;
	if (fits) {
		if (!mine->held)
			mine->since_ns = weir_rough_now_ns_();
		mine->held = nm_plus(mine->held, n);
		h->head->value = nm_minus(h->head->value, n);
	}
	nm_unlock(h);
	return fits;
}

static bool give_fast(weir_named *h, int64_t n)
{
	bool fits;

	if (!h || n < 1 || n > WEIR_SEM_MAX || !enter_fast(h))
		return false;
	fits = n <= h->mine->held && h->head->value <= WEIR_SEM_MAX - n;
	if (fits) {
		h->mine->held = nm_minus(h->mine->held, n);
		h->head->value = nm_plus(h->head->value, n);
	}
	nm_unlock(h);
	return fits;
}

/*
 * Take permits without waiting.  Returns WEIR_EAGAIN if too few are free.  A
 * dead process may hold the missing permits, so callers sweep before they give
 * up.
 */
static weir_err take_now(weir_named *h, int64_t min, int64_t max, int64_t *got)
{
	int64_t taken;

	if (h->head->closed == NM_CLOSED)
		return WEIR_ECLOSED;
	if (!max)
		return WEIR_OK;
	taken = weir_nm_takeable_(h, min, max);
	if (taken < 0)
		return WEIR_EAGAIN;
	if (taken)
		weir_nm_take_(h, taken);
	*got = taken;
	return WEIR_OK;
}

static weir_err acquire(weir_named *h, int64_t min, int64_t max,
			struct weir_ctx *ctx, int64_t deadline_ns, int64_t *got)
{
	weir_err err;

	*got = 0;
	if (!h || !count_ok(min) || !count_ok(max) || min > max)
		return WEIR_EINVAL;
	err = ctx ? weir_ctx_err(ctx) : WEIR_OK;
	if (!err)
		err = weir_nm_enter_(h);
	if (err)
		return err;
	err = take_now(h, min, max, got);
	nm_unlock(h);
	if (err == WEIR_EAGAIN)
		return weir_nm_wait_(h, min, max, ctx, deadline_ns, got);
	/* C13: a cancel since the first check wins over the permits. */
	if (!err && ctx && weir_ctx_cancelled_(ctx)) {
		err = weir_ctx_cancelled_(ctx);
		if (!weir_nm_enter_(h)) {
			weir_nm_give_(h, *got);
			nm_unlock(h);
		}
		*got = 0;
	}
	return err;
}

weir_err weir_named_acquire(weir_named *sem, int64_t n, struct weir_ctx *ctx)
{
	int64_t got;

	if (!ctx && take_fast(sem, n))
		return WEIR_OK;
	return acquire(sem, n, n, ctx, WEIR_FOREVER, &got);
}

weir_err
weir_named_acquire_until(weir_named *sem, int64_t n, int64_t deadline_ns)
{
	int64_t got;

	if (take_fast(sem, n))
		return WEIR_OK;
	return acquire(sem, n, n, NULL, deadline_ns, &got);
}

weir_err weir_named_acquire_for(weir_named *sem, int64_t n, int64_t timeout_ns)
{
	weir_err err = weir_named_try_acquire(sem, n);

	/* Only a call that waits reads the clock. */
	if (err != WEIR_EAGAIN)
		return err;
	return weir_named_acquire_until(sem, n,
					weir_deadline_after(timeout_ns));
}

weir_err weir_named_acquire_upto(weir_named *sem, int64_t min, int64_t max,
				 struct weir_ctx *ctx, int64_t *got)
{
	return got ? acquire(sem, min, max, ctx, WEIR_FOREVER, got) :
		     WEIR_EINVAL;
}

weir_err weir_named_try_acquire(weir_named *sem, int64_t n)
{
	int64_t got;
	weir_err err;

	if (take_fast(sem, n))
		return WEIR_OK;
	if (!sem || !count_ok(n))
		return WEIR_EINVAL;
	err = weir_nm_enter_(sem);
	if (err)
		return err;
	err = take_now(sem, n, n, &got);
	if (err == WEIR_EAGAIN) {
		/* C5: permits of a dead process must not make this fail. */
		weir_nm_sweep_(sem);
		weir_nm_grant_all_(sem);
		err = take_now(sem, n, n, &got);
		if (err == WEIR_EAGAIN && nm_is_closed(sem))
			err = WEIR_ECLOSED;
	}
	nm_unlock(sem);
	return err;
}

weir_err weir_named_drain(weir_named *sem, int64_t *got)
{
	weir_err err;

	if (!sem || !got)
		return WEIR_EINVAL;
	*got = 0;
	err = weir_nm_enter_(sem);
	if (err)
		return err;
	weir_nm_sweep_(sem);
	weir_nm_grant_all_(sem);
	err = take_now(sem, 0, WEIR_SEM_MAX, got);
	nm_unlock(sem);
	return err;
}

/* Counts for the message about a release that is too large. */
struct counts {
	int64_t held, capacity, value;
};

static weir_err give(weir_named *h, int64_t n, struct counts *counts)
{
	weir_err err = weir_nm_enter_(h);

	if (err)
		return err;
	if (n > h->mine->held) {
		*counts = (struct counts){ h->mine->held, h->head->capacity,
					   h->head->value };
		err = WEIR_EOVERFLOW;
	} else {
		weir_nm_give_(h, n);
	}
	nm_unlock(h);
	return err;
}

weir_err weir_named_try_release(weir_named *sem, int64_t n)
{
	struct counts counts = { 0, 0, 0 };

	return sem && count_ok(n) ? give(sem, n, &counts) : WEIR_EINVAL;
}

void weir_named_release(weir_named *sem, int64_t n)
{
	static const char call[] = "weir_named_release";
	struct counts counts = { 0, 0, 0 };
	weir_err err;

	if (give_fast(sem, n))
		return;
	if (!sem) {
		weir_panic_("%s: %p is not a semaphore", call, sem);
		return;
	}
	if (!count_ok(n)) {
		weir_panic_("%s: semaphore \"%s\": invalid count %d", call,
			    sem->name, n);
		return;
	}
	err = give(sem, n, &counts);
	if (err == WEIR_EOVERFLOW)
		weir_panic_("%s: semaphore \"%s\": %d permits released, "
			    "%d held by this handle (capacity %d, free %d)",
			    call, sem->name, n, counts.held, counts.capacity,
			    counts.value > 0 ? counts.value : 0);
	else if (err)
		weir_panic_("%s: semaphore \"%s\": %s", call, sem->name,
			    err == WEIR_EINVAL ? "the handle is an observer" :
						 "its file is damaged");
}
