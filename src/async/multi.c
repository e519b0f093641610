/* SPDX-License-Identifier: MIT */
/* Acquiring several semaphores together: weir/multi.h. */
#include "weir/multi.h"

#include "async/all.h"
#include "base/atomic.h"
#include "base/panic.h"
#include "core/sem_watched.h"
#include "core/site.h"
#include "weir/ctx.h"

bool weir_reqs_ok_(const weir_req *reqs, size_t k)
{
	if (!reqs && k)
		return false;
	for (size_t i = 0; i < k; i++)
		if (!weir_request_ok_(reqs[i].sem, reqs[i].n, reqs[i].n))
			return false;
	return true;
}

/*
 * This function needs no memory for sorting: each call searches for the lowest
 * address above the previous one.  Lists are short.
 */
weir_sem *weir_reqs_above_(const weir_req *reqs, size_t k, const weir_sem *last,
			   int64_t *n)
{
	weir_sem *next = NULL;

	*n = 0;
	for (size_t i = 0; i < k; i++)
		if ((uintptr_t)reqs[i].sem > (uintptr_t)last &&
		    (!next || (uintptr_t)reqs[i].sem < (uintptr_t)next))
			next = reqs[i].sem;
	for (size_t i = 0; i < k; i++)
		if (reqs[i].sem == next)
			*n = *n > WEIR_SEM_MAX ? *n : *n + reqs[i].n;
	return next;
}

bool weir_reqs_sums_ok_(const weir_req *reqs, size_t k)
{
	const weir_sem *sem = NULL;
	int64_t n;

	while ((sem = weir_reqs_above_(reqs, k, sem, &n)))
		if (n > WEIR_SEM_MAX)
			return false;
	return true;
}

/*
 * Returns true if n is above the capacity (C11): the call then fails before it
 * waits for any semaphore.  C2: a closed semaphore reports WEIR_ECLOSED when it
 * is acquired.
 */
static bool is_impossible(const weir_sem *sem, int64_t n)
{
	/* relaxed: a snapshot; the acquire checks again under the lock. */
	return n > at_load_relaxed(&sem->capacity_) && !weir_sem_is_closed(sem);
}

weir_err weir_reqs_check_(const weir_req *reqs, size_t k, struct weir_ctx *ctx)
{
	weir_sem *sem = NULL;
	weir_err err = WEIR_OK;
	int64_t n;

	if (!weir_reqs_ok_(reqs, k) || !weir_reqs_sums_ok_(reqs, k))
		return WEIR_EINVAL;
	/* C2: if there are requests, the first acquire checks the context. */
	if (ctx)
		return k ? WEIR_OK : weir_ctx_err(ctx);
	while (!err && (sem = weir_reqs_above_(reqs, k, sem, &n)))
		err = is_impossible(sem, n) ? WEIR_ETOOBIG : WEIR_OK;
	return err;
}

void weir_reqs_release_below_(const weir_req *reqs, size_t k,
			      const weir_sem *end)
{
	for (;;) {
		weir_sem *top = NULL;
		int64_t n = 0;

		for (size_t i = 0; i < k; i++)
			if ((!end || (uintptr_t)reqs[i].sem < (uintptr_t)end) &&
			    (uintptr_t)reqs[i].sem > (uintptr_t)top)
				top = reqs[i].sem;
		if (!top)
			return;
		for (size_t i = 0; i < k; i++)
			n += reqs[i].sem == top ? reqs[i].n : 0;
		weir_sem_release(top, n);
		end = top;
	}
}

/* site: the call in the program, which is recorded. */
static weir_err acquire_all(const weir_req *reqs, size_t k,
			    struct weir_ctx *ctx, uint64_t site)
{
	weir_err err = weir_reqs_check_(reqs, k, ctx);
	weir_sem *sem = NULL;
	int64_t n;

	while (!err && (sem = weir_reqs_above_(reqs, k, sem, &n))) {
		bool watched = weir_site_begin_(sem, site);

		err = weir_sem_acquire(sem, n, ctx);
		weir_site_end_(watched);
		if (err)
			weir_reqs_release_below_(reqs, k, sem);
	}
	return err;
}

weir_err weir_acquire_all(const weir_req *reqs, size_t k, struct weir_ctx *ctx)
{
	return acquire_all(reqs, k, ctx, WEIR_SITE_);
}

void weir_release_all(const weir_req *reqs, size_t k)
{
	if (!weir_reqs_ok_(reqs, k) || !weir_reqs_sums_ok_(reqs, k)) {
		weir_panic_("weir_release_all: %p is not a valid list of "
			    "requests", reqs);
		return;
	}
	weir_reqs_release_below_(reqs, k, NULL);
}

weir_err weir_set_acquire(weir_set *set, const weir_req *reqs, size_t k,
			  struct weir_ctx *ctx)
{
	weir_err err;

	if (!set || set->reqs_)
		return WEIR_EINVAL;
	err = acquire_all(reqs, k, ctx, WEIR_SITE_);
	if (!err)
		*set = (weir_set){ reqs, k };
	return err;
}

void weir_set_release(weir_set *set)
{
	weir_set held;

	if (!set) {
		weir_panic_("weir_set_release: %p is not a set", set);
		return;
	}
	held = *set;
	*set = (weir_set)WEIR_SET_INIT;
	if (held.reqs_)
		weir_release_all(held.reqs_, held.k_);
}
