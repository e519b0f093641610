/* SPDX-License-Identifier: MIT */
/*
 * Semaphore: acquiring without a wait.  sem_word.h describes the state word.
 * sem_wait.c waits.  sem_release.c releases.  sem_lock.c, sem_grant.c and
 * sem_queue.c have the lock and the queue.  sem_admin.c and sem_resize.c have
 * the rare calls.
 */
#include "base/atomic.h"
#include "base/panic.h"
#include "base/site.h"
#include "core/ctx_wait.h"
#include "core/sem_wait.h"
#include "core/sem_watched.h"
#include "core/sem_word.h"
#include "weir/ctx.h"
#include "weir/sem.h"

/*
 * Code that inlines the fast paths refers to this symbol, so code that was
 * compiled for another layout does not link: weir/inline.h.
 */
const uint8_t weir_layout_1_ = 1;

_Static_assert(sizeof(weir_sem) <= 64, "one cache line");
_Static_assert(sizeof(void *) != 8 || sizeof(weir_sem) == 64, "public layout");

/*
 * The functions *_long are called after the fast path of weir/inline.h has
 * failed.  They are not inlined, so that the fast paths need no stack frame, and
 * their parameters fit into registers: WEIR_SITE_.
 */
__attribute__((noinline))
static weir_err acquire_long(weir_sem *sem, int64_t min, int64_t max,
			     struct weir_ctx *ctx, int64_t *got,
			     const char *call)
{
	uint64_t site = WEIR_SITE_;
	int64_t taken;
	weir_err err;

	if (!weir_request_ok_(sem, min, max))
		return WEIR_EINVAL;
	taken = weir_take_watched_(sem, min, max);
	if (taken < 0 && weir_sem_is_barging_(sem))
		taken = weir_sem_spin_acquire_(sem, min, max);
	if (taken < 0)
		return weir_sem_wait_(sem, min, max, ctx, WEIR_FOREVER, got,
				      call, site);
	/* C13: a cancel that came meanwhile wins over the permits. */
	err = ctx ? weir_ctx_cancelled_(ctx) : WEIR_OK;
	if (err) {
		weir_sem_put_(sem, taken);
		return err;
	}
	if (got)
		*got = taken;
	weir_sem_record_took_(sem, taken, site);
	return WEIR_OK;
}

/*
 * Always inlined, so that acquire_within needs one count instead of min and
 * max.
 */
__attribute__((always_inline))
static inline weir_err acquire(weir_sem *sem, int64_t min, int64_t max,
			       struct weir_ctx *ctx, int64_t *got,
			       const char *call)
{
	weir_err err;
	int64_t taken;

	if (!weir_request_ok_(sem, min, max))
		return WEIR_EINVAL;
	err = ctx ? weir_ctx_err(ctx) : WEIR_OK;
	if (err)
		return err;
	taken = weir_take_fast_(sem, min, max);
	if (taken < 0)
		return acquire_long(sem, min, max, ctx, got, call);
	/* C13: as in acquire_long. */
	err = ctx ? weir_ctx_cancelled_(ctx) : WEIR_OK;
	if (err)
		weir_sem_put_(sem, taken);
	else if (got)
		*got = taken;
	return err;
}

static const char acquire_call[] = "weir_sem_acquire";

__attribute__((noinline))
static weir_err acquire_within(weir_sem *sem, int64_t n, struct weir_ctx *ctx)
{
	return acquire(sem, n, n, ctx, NULL, acquire_call);
}

__attribute__((noinline))
static weir_err acquire_one_long(weir_sem *sem, int64_t n, struct weir_ctx *ctx)
{
	if (ctx)
		return acquire_within(sem, n, ctx);
	if (!weir_request_ok_(sem, n, n) || !weir_take_marked_(sem, n))
		return acquire_long(sem, n, n, NULL, NULL, acquire_call);
	weir_sem_record_took_(sem, n, WEIR_SITE_);
	return WEIR_OK;
}

/*
 * Repeated acquires of a watched semaphore at one call site.  This function
 * needs no stack frame.  weir_sem_acquire calls only this function, with the
 * same arguments, so the arguments stay in their registers.
 */
__attribute__((noinline))
static weir_err acquire_again(weir_sem *sem, int64_t n, struct weir_ctx *ctx)
{
	struct weir_ready_ ready;

	if (!ctx && sem &&
	    weir_record_ready_to_take_(sem, WEIR_SITE_GUESS_, &ready) &&
	    weir_take_marked_(sem, n))
		return weir_record_took_in_(&ready, n);
	return acquire_one_long(sem, n, ctx);
}

/* An alias: calls in the library avoid the procedure linkage table. */
weir_err weir_sem_acquire_long_(weir_sem *sem, int64_t n, struct weir_ctx *ctx)
	__attribute__((alias("acquire_again")));

WEIR_HOT_
weir_err weir_sem_acquire(weir_sem *sem, int64_t n, struct weir_ctx *ctx)
{
	if (!ctx && weir_take_fast_(sem, n, n) >= 0)
		return WEIR_OK;
	return acquire_again(sem, n, ctx);
}

/* The limit is a deadline, or a timeout if `is_timeout`. */
__attribute__((noinline))
static weir_err acquire_limited_long(weir_sem *sem, int64_t n,
				     int64_t limit_ns, bool is_timeout)
{
	uint64_t site = WEIR_SITE_;
	int64_t taken;

	if (!weir_request_ok_(sem, n, n))
		return WEIR_EINVAL;
	if (weir_take_recorded_(sem, n, site, true))
		return WEIR_OK;
	/* A request with the timeout 0 does not wait, nor does it spin. */
	taken = is_timeout && limit_ns <= 0 ? -1 :
					      weir_sem_spin_acquire_(sem, n, n);
	if (taken < 0)
		return weir_sem_wait_(sem, n, n, NULL, is_timeout ?
				      weir_deadline_after(limit_ns) : limit_ns,
				      NULL, is_timeout ? "weir_sem_acquire_for" :
				      "weir_sem_acquire_until", site);
	weir_sem_record_took_(sem, taken, site);
	return WEIR_OK;
}

weir_err weir_sem_acquire_until(weir_sem *sem, int64_t n, int64_t deadline_ns)
{
	if (weir_take_fast_(sem, n, n) >= 0)
		return WEIR_OK;
	return acquire_limited_long(sem, n, deadline_ns, false);
}

weir_err weir_sem_acquire_for(weir_sem *sem, int64_t n, int64_t timeout_ns)
{
	if (weir_take_fast_(sem, n, n) >= 0)
		return WEIR_OK;
	return acquire_limited_long(sem, n, timeout_ns, true);
}

WEIR_HOT_
weir_err weir_sem_try_acquire(weir_sem *sem, int64_t n)
{
	weir_err err = weir_try_fast_(sem, n);

	return err == WEIR_EINVAL ? weir_sem_try_wait_(sem, n) : err;
}

weir_err weir_sem_acquire_upto(weir_sem *sem, int64_t min, int64_t max,
			       struct weir_ctx *ctx, int64_t *got)
{
	if (!got)
		return WEIR_EINVAL;
	*got = 0;
	return acquire(sem, min, max, ctx, got, "weir_sem_acquire_upto");
}

weir_err weir_sem_drain(weir_sem *sem, int64_t *got)
{
	if (!got)
		return WEIR_EINVAL;
	*got = 0;
	return acquire(sem, 0, WEIR_SEM_MAX, NULL, got, "weir_sem_drain");
}

int64_t weir_sem_available(const weir_sem *sem)
{
	int64_t value;

	if (weir_sem_is_misplaced_(sem)) {
		weir_panic_("weir_sem_available: %p is not a semaphore", sem);
		return 0;
	}
	/* relaxed: for display; the value may change at any time. */
	value = weir_value_(at_load_relaxed(&sem->word_));
	return value > 0 ? value : 0;
}
