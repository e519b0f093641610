/* SPDX-License-Identifier: MIT */
/*
 * The sharded semaphore of weir/sharded.h.
 *
 * rest is a semaphore with the policy BARGING and the capacity of the limit.
 * The credit of a shard consists of permits of rest that no caller holds.  So
 *
 *     permits that callers hold + credit of all shards
 *             + permits that calls are moving = permits of rest that are out
 *
 * and never more permits of rest are out than its capacity.  So the limit holds
 * if each step below only moves permits and creates none.
 *
 *   acquire(1)  take one credit of the own shard; else take a batch from rest,
 *               keep one permit and deposit the others; else steal one credit
 *               of another shard; else wait.
 *   wait        count the call in state, move the credit of all shards
 *               to rest (gather), acquire from rest, uncount the call.  A
 *               request for several permits always takes this path.
 *   release     SHARDED: deposit, unless the shard is full.  CENTRAL: release
 *               to rest.
 *   deposit     add credit to the own shard, then load state.  If the mode is
 *               CENTRAL, move the credit of the shard to rest.
 *
 * sharded_central.c has the reason for the mode, and the calls that wait.
 *
 * Pairs
 *
 *   [SH1] credit   release: deposit   acquire: take, weir_sharded_empty_
 *                  Work done under a permit is visible to its next holder.
 *                  Read-modify-writes in between continue the release sequence.
 *   [SH2] mode     release: weir_sharded_begin_wait_, set_flags
 *                  acquire: deposit
 *   [SH3] deposit  release: deposit   acquire: weir_sharded_gather_
 *                  Both pairs are seq_cst: sharded_central.c has the argument.
 *   [SH4] resize   release: set_flags   acquire: weir_sharded_settle_
 *                  A thread that clears DEBT has seen the permits of rest after
 *                  the last resize that it sees.
 */
#include "pattern/sharded.h"

#include <stddef.h>

#include "base/atomic.h"
#include "base/cpu.h"
#include "base/panic.h"
#include "core/sem_watched.h"
#include "core/sem_word.h"
#include "weir/ctx.h"

typedef struct weir_sharded_body_ body;
typedef struct weir_shard_ shard;

/*
 * The steps.
 */
static inline uint32_t own_shard(const body *b)
{
	return weir_cpu_number_() & b->mask;
}

/* Returns the mode; 0 is SHARDED. */
static inline uint32_t mode_of(const body *b)
{
	/*
	 * relaxed: a hint.  A thread that makes a deposit loads state again; a
	 * call after a close sees CLOSED.
	 */
	return (uint32_t)at_load_relaxed(&b->state);
}

/* Take one credit of the shard.  Returns false if it has none. */
static inline bool take(shard *from)
{
	/* relaxed: the CAS checks the value. */
	int64_t credit = at_load_relaxed(&from->credit);

	while (credit > 0)
		/* [SH1] acquire */
		if (at_cas_weak_acquire(&from->credit, &credit, credit - 1))
			return true;
	return false;
}

/* Add n credit to the shard, or to rest if the mode has become CENTRAL. */
static void deposit(weir_sharded *s, shard *to, int64_t n, const char *call)
{
	/* [SH1] release, [SH3] release */
	(void)at_add_seq_cst(&to->credit, n);
	/* [SH2] acquire */
	if ((uint32_t)at_load_seq_cst(&s->body_->state))
		weir_sharded_put_rest_(s, weir_sharded_empty_(to), call);
}

/*
 * Acquire.
 */

/* Take one permit of rest, and a batch for the shard if no call waits. */
static bool refill(weir_sharded *s, shard *own, const char *call)
{
	body *b = s->body_;
	/* relaxed: any value of batch is correct. */
	int64_t batch = mode_of(b) ? 1 : at_load_relaxed(&b->batch), got;

	if (weir_sem_available(&b->rest) <= 0)
		return false;
	if (batch == 1)
		return !weir_sem_try_acquire(&b->rest, 1);
	if (weir_sem_acquire_upto(&b->rest, 0, batch, NULL, &got) || !got)
		return false;
	if (got > 1)
		deposit(s, own, got - 1, call);
	return true;
}

static bool steal(body *b, uint32_t own)
{
	for (uint32_t i = 1; i <= b->mask; i++)
		if (take(&b->shards[(own + i) & b->mask]))
			return true;
	return false;
}

/* Take one permit without waiting. */
static bool take_one(weir_sharded *s, const char *call)
{
	body *b = s->body_;
	uint32_t own = own_shard(b), mode = mode_of(b);

	if (mode & WEIR_SHARDED_CLOSED_)
		return false;
	if (take(&b->shards[own]) || refill(s, &b->shards[own], call))
		return true;
	return !mode && steal(b, own);
}

static void put(weir_sharded *s, int64_t n, const char *call)
{
	body *b = s->body_;
	shard *own = &b->shards[own_shard(b)];
	/* relaxed: all three; the bound of a shard is not exact. */
	int64_t room = 2 * at_load_relaxed(&b->batch) -
		       at_load_relaxed(&own->credit);

	if (n <= room && !mode_of(b)) {
		deposit(s, own, n, call);
		return;
	}
	weir_sharded_put_rest_(s, n, call);
	if (mode_of(b) & WEIR_SHARDED_DEBT_)
		weir_sharded_settle_(b);
}

/*
 * Acquire n permits of rest: until ctx ends, or without a ctx until
 * deadline_ns.
 */
static weir_err wait_rest(body *b, int64_t n, struct weir_ctx *ctx,
			  int64_t deadline_ns)
{
	return ctx ? weir_sem_acquire(&b->rest, n, ctx) :
	       deadline_ns == WEIR_FOREVER ?
		     weir_sem_acquire(&b->rest, n, NULL) :
		     weir_sem_acquire_until(&b->rest, n, deadline_ns);
}

static weir_err acquire(weir_sharded *s, int64_t n, struct weir_ctx *ctx,
			int64_t deadline_ns, const char *call)
{
	weir_err err;

	if (!weir_count_ok_(n))
		return WEIR_EINVAL;
	err = ctx ? weir_ctx_err(ctx) : WEIR_OK;
	if (err)
		return err;
	if (n == 1 && take_one(s, call)) {
		/* C13: a cancel that came meanwhile wins over the permit. */
		err = ctx ? weir_ctx_err(ctx) : WEIR_OK;
		if (err)
			put(s, 1, call);
		return err;
	}
	if (!n)
		return wait_rest(s->body_, 0, ctx, deadline_ns);
	weir_sharded_begin_wait_(s, call);
	err = wait_rest(s->body_, n, ctx, deadline_ns);
	weir_sharded_end_wait_(s);
	return err;
}

static weir_err try_acquire(weir_sharded *s, int64_t n, const char *call)
{
	weir_err err;

	if (n == 1 && !(mode_of(s->body_) & WEIR_SHARDED_CLOSED_))
		return take_one(s, call) ? WEIR_OK : WEIR_EAGAIN;
	if (!n || !weir_count_ok_(n))
		return weir_sem_try_acquire(&s->body_->rest, n);
	weir_sharded_begin_wait_(s, call);
	err = weir_sem_try_acquire(&s->body_->rest, n);
	weir_sharded_end_wait_(s);
	return err;
}

static void release(weir_sharded *s, int64_t n, const char *call)
{
	if (!weir_count_ok_(n))
		(void)weir_panic_("%s: sharded semaphore %o: the count %d is "
				  "invalid", call, s->name_, s, n);
	else if (n)
		put(s, n, call);
}

/*
 * The calls on an object that is watched or must not be used.  They are not
 * inlined, and called last: core/sem_watched.h, "WEIR_SITE_".
 */
static const char acquire_call[] = "weir_sharded_acquire";
static const char until_call[] = "weir_sharded_acquire_until";
static const char try_call[] = "weir_sharded_try_acquire";
static const char release_call[] = "weir_sharded_release";

__attribute__((noinline))
static weir_err acquire_watched(weir_sharded *s, int64_t n,
				struct weir_ctx *ctx, int64_t deadline_ns,
				const char *call)
{
	uint64_t site = WEIR_SITE_;
	weir_err err = weir_sharded_unready_(s, call, WEIR_BY_ERROR_);

	if (err)
		return err;
	weir_record_begin_(site);
	err = call == try_call ? try_acquire(s, n, call) :
				 acquire(s, n, ctx, deadline_ns, call);
	weir_record_acquired_(weir_sharded_object_(s), err, n, site,
			      call != try_call);
	weir_record_end_();
	return err;
}

__attribute__((noinline))
static void release_watched(weir_sharded *s, int64_t n)
{
	uint64_t site = WEIR_SITE_;

	if (weir_sharded_unready_(s, release_call, WEIR_BY_PANIC_))
		return;
	release(s, n, release_call);
	weir_record_gave_(weir_sharded_object_(s), n, site);
}

weir_err weir_sharded_acquire(weir_sharded *s, int64_t n, struct weir_ctx *ctx)
{
	return weir_is_ready_(s) ?
		       acquire(s, n, ctx, WEIR_FOREVER, acquire_call) :
		       acquire_watched(s, n, ctx, WEIR_FOREVER, acquire_call);
}

weir_err weir_sharded_acquire_until(weir_sharded *s, int64_t n,
				    int64_t deadline_ns)
{
	return weir_is_ready_(s) ?
		       acquire(s, n, NULL, deadline_ns, until_call) :
		       acquire_watched(s, n, NULL, deadline_ns, until_call);
}

weir_err weir_sharded_try_acquire(weir_sharded *s, int64_t n)
{
	return weir_is_ready_(s) ? try_acquire(s, n, try_call) :
				   acquire_watched(s, n, NULL, 0, try_call);
}

void weir_sharded_release(weir_sharded *s, int64_t n)
{
	if (weir_is_ready_(s))
		release(s, n, release_call);
	else
		release_watched(s, n);
}
