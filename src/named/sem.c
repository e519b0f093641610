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
#include "base/ticks.h"
#include "core/ctx_wait.h"
#include "named/lock.h"
#include "named/record.h"
#include "named/table.h"

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

/* Take n permits at the time `now`, which is in ticks. */
static inline void take(weir_named *h, int64_t n, int64_t now)
{
	struct nm_slot *mine = h->mine;

	if (!mine->held)
		mine->since_ticks = now;
	mine->held = nm_plus(mine->held, n);
	h->head->value = nm_minus(h->head->value, n);
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
 * lock is free, no call waits, no record must be folded, and the semaphore is
 * open and not paused.  Returns the lock word, or 0, without an effect.
 */
__attribute__((always_inline))
static inline uint64_t enter_fast(weir_named *h)
{
	/*
	 * relaxed: the ticket is 0, or our id in the lock word.  The ticket is
	 * stored after this handle has taken and dropped the lock under that
	 * id.  So the acquire of the lock, which depends on the ticket, sees
	 * everything done before.
	 */
	uint32_t ticket = at_load_relaxed(&h->ticket);
	uint64_t lock;

	/* relaxed: a record that must be folded was pushed before this call. */
	if (!ticket || at_load_relaxed(&h->finished))
		return 0;
	lock = nm_try_lock(h, ticket);
	if (!lock || (nm_is_ours(h) && !h->head->in_use && !h->head->closed))
		return lock;
	nm_unlock_word(h, lock);
	return 0;
}

/*
 * The fast paths are inlined into their callers, and what follows if they fail is in
 * functions that are not, so that few registers are saved.  The clock is read before
 * the lock is taken: reading it may be a call.
 */
__attribute__((always_inline))
static inline bool take_fast(weir_named *h, int64_t n)
{
	uint64_t lock;
	int64_t now;
	bool fits;

	if (!h || n < 1 || n > WEIR_SEM_MAX)
		return false;
	now = weir_ticks_();
	lock = enter_fast(h);
	if (!lock)
		return false;
	fits = n <= h->head->value;
	if (fits)
		take(h, n, now);
	nm_unlock_word(h, lock);
	return fits;
}

__attribute__((always_inline))
static inline bool give_fast(weir_named *h, int64_t n)
{
	uint64_t lock;
	bool fits;

	if (!h || n < 1 || n > WEIR_SEM_MAX)
		return false;
	lock = enter_fast(h);
	if (!lock)
		return false;
	fits = n <= h->mine->held && h->head->value <= WEIR_SEM_MAX - n;
	if (fits) {
		h->mine->held = nm_minus(h->mine->held, n);
		h->head->value = nm_plus(h->head->value, n);
	}
	nm_unlock_word(h, lock);
	return fits;
}

weir_err weir_nm_take_now_(weir_named *h, int64_t min, int64_t max,
			   int64_t *got)
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
		take(h, taken, weir_ticks_());
	*got = taken;
	return WEIR_OK;
}

/* Acquire without waiting.  The call is not registered with its context. */
static weir_err acquire_at_once(weir_named *h, int64_t min, int64_t max,
				struct weir_ctx *ctx, int64_t *got)
{
	struct nm_limit limit = {
		.deadline_ns = weir_ctx_deadline(ctx),
		.ctx = ctx,
		.interruptible = h->flags & WEIR_NAMED_INTERRUPTIBLE,
	};
	weir_err err = weir_nm_enter_(h, &limit);

	if (err)
		return err == WEIR_ETIMEDOUT ? weir_ctx_err(ctx) : err;
	err = weir_nm_take_now_(h, min, max, got);
	nm_unlock(h);
	/* C13: a cancel since the first check wins over the permits. */
	if (!err && weir_ctx_cancelled_(ctx)) {
		err = weir_ctx_cancelled_(ctx);
		weir_nm_give_back_(h, *got);
		*got = 0;
	}
	return err;
}

static weir_err acquire(weir_named *h, int64_t min, int64_t max,
			struct weir_ctx *ctx, int64_t deadline_ns, int64_t *got)
{
	weir_err err = WEIR_EAGAIN;

	*got = 0;
	if (!h || !count_ok(min) || !count_ok(max) || min > max)
		return WEIR_EINVAL;
	if (ctx) {
		err = weir_ctx_err(ctx);
		if (!err)
			err = acquire_at_once(h, min, max, ctx, got);
	}
	return err == WEIR_EAGAIN ?
		       weir_nm_wait_(h, min, max, ctx, deadline_ns, got) : err;
}

__attribute__((noinline))
static weir_err acquire_slow(weir_named *h, int64_t n, struct weir_ctx *ctx,
			     int64_t deadline_ns)
{
	int64_t got;

	return acquire(h, n, n, ctx, deadline_ns, &got);
}

weir_err weir_named_acquire(weir_named *sem, int64_t n, struct weir_ctx *ctx)
{
	if (!ctx && take_fast(sem, n))
		return WEIR_OK;
	return acquire_slow(sem, n, ctx, WEIR_FOREVER);
}

weir_err
weir_named_acquire_until(weir_named *sem, int64_t n, int64_t deadline_ns)
{
	if (take_fast(sem, n))
		return WEIR_OK;
	return acquire_slow(sem, n, NULL, deadline_ns);
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
	struct nm_limit brief = { .brief = true };
	int64_t got;
	weir_err err;

	if (take_fast(sem, n))
		return WEIR_OK;
	if (!sem || !count_ok(n))
		return WEIR_EINVAL;
	err = weir_nm_enter_(sem, &brief);
	if (err)
		return err;
	err = weir_nm_take_now_(sem, n, n, &got);
	if (err == WEIR_EAGAIN && weir_nm_any_dead_(sem)) {
		/* C5: this call must get the permits of a dead process. */
		weir_nm_sweep_(sem);
		err = weir_nm_take_now_(sem, n, n, &got);
	}
	if (err == WEIR_EAGAIN && nm_is_closed(sem))
		err = WEIR_ECLOSED;
	nm_unlock(sem);
	return err;
}

weir_err weir_named_drain(weir_named *sem, int64_t *got)
{
	struct nm_limit brief = { .brief = true };
	weir_err err;

	if (!sem || !got)
		return WEIR_EINVAL;
	*got = 0;
	err = weir_nm_enter_(sem, &brief);
	if (err)
		return err;
	weir_nm_sweep_(sem);
	err = weir_nm_take_now_(sem, 0, WEIR_SEM_MAX, got);
	nm_unlock(sem);
	return err;
}

/* Counts for the message about a release that is too large. */
struct counts {
	int64_t held, capacity, value;
};

static weir_err give(weir_named *h, int64_t n, struct counts *counts)
{
	weir_err err = weir_nm_enter_(h, NULL);

	if (err)
		return err;
	if (n > h->mine->held) {
		*counts = (struct counts){ h->mine->held, h->head->capacity,
					   h->head->value };
		h->head->misuses++;
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

__attribute__((noinline))
static void release_slow(weir_named *sem, int64_t n)
{
	static const char call[] = "weir_named_release";
	struct counts counts = { 0, 0, 0 };
	weir_err err;

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

void weir_named_release(weir_named *sem, int64_t n)
{
	if (!give_fast(sem, n))
		release_slow(sem, n);
}
