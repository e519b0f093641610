/* SPDX-License-Identifier: MIT */
/* The sharded semaphore: init, destroy, close, resize and stat. */
#include <stddef.h>

#include "base/cpu.h"
#include "base/mem.h"
#include "core/sem_watched.h"
#include "core/sem_word.h"
#include "pattern/sharded.h"

typedef struct weir_sharded_body_ body;

#define BATCH_MAX 64		/* of the default */

weir_err weir_sharded_unready_(weir_sharded *s, const char *call,
			       enum weir_refusal_ refusal)
{
	struct weir_object_ o = { .kind = "sharded semaphore", .object = s };
	uint32_t ready = 0;

	if (!weir_is_misaligned_(s)) {
		o.name = s->name_;
		o.ready = &s->ready_;
		ready = s->ready_ & ~WEIR_WATCHED_;
	}
	/* Only an object that was set up has a body. */
	if (ready && ready < weir_generation_) {
		o.sems[0] = &s->body_->rest;
		/* relaxed: the child has just begun to use the object. */
		o.waited = (uint32_t)at_load_relaxed(&s->body_->state) >=
			   WEIR_SHARDED_WAITING_;
	}
	return weir_unready_(&o, call, refusal);
}

/* Set flags in state, and add `more`. */
static void set_flags(body *b, uint64_t flags, uint64_t more)
{
	/* relaxed: the CAS checks the value. */
	uint64_t state = at_load_relaxed(&b->state);

	/* [SH2] release, [SH4] release */
	while (!at_cas_weak_seq_cst(&b->state, &state, (state | flags) + more))
		;
}

static int64_t batch_for(const body *b, int64_t capacity)
{
	int64_t batch = capacity / (4 * ((int64_t)b->mask + 1));

	if (b->given_batch)
		return b->given_batch;
	return batch < 1 ? 1 : batch > BATCH_MAX ? BATCH_MAX : batch;
}

static bool opts_ok(const weir_sharded_opts *o)
{
	return o && !o->flags && !o->unused_ && !o->reserved_[0] &&
	       !o->reserved_[1] && !o->reserved_[2] &&
	       weir_count_ok_(o->capacity) && o->shards <= WEIR_SHARDS_MAX &&
	       !(o->shards & (o->shards - 1)) &&
	       o->batch <= WEIR_SHARDED_BATCH_MAX;
}

/* The smallest power of two that is enough for every CPU. */
static uint32_t shards_for_cpus(void)
{
	uint32_t shards = 1;

	while (shards < weir_cpu_span_() && shards < WEIR_SHARDS_MAX)
		shards *= 2;
	return shards;
}

/* Watch *s if it has a name and WEIR_DIAG allows it. */
static void watch(weir_sharded *s, const weir_sharded_opts *opts, uint64_t site)
{
	const struct weir_watched_ what = {
		.address = s,
		.inner = { &s->body_->rest, NULL },
		.type = RG_SHARDED,
		.flags = RG_PATTERN | RG_BARGING,
		.name = opts->name,
		.capacity = opts->capacity,
		.site = site,
	};

	s->watched_ = weir_sem_watch_inner_(&what, &s->body_->rest, NULL);
	if (s->watched_)
		s->ready_ |= WEIR_WATCHED_;
}

weir_err weir_sharded_init(weir_sharded *s, const weir_sharded_opts *opts)
{
	weir_sem_opts rest;
	uint32_t shards;
	weir_err err;
	body *b;

	if (weir_is_misaligned_(s) || !opts_ok(opts))
		return WEIR_EINVAL;
	rest = (weir_sem_opts){
		.permits = opts->capacity,
		.name = opts->name,
		.policy = WEIR_BARGING,
		.max_waiters = opts->max_waiters,
		.barge_us = opts->barge_us,
		.flags = WEIR_SEM_UNWATCHED,
	};
	shards = opts->shards ? opts->shards : shards_for_cpus();
	b = weir_mem_alloc_(sizeof(*b) + shards * sizeof(*b->shards));
	if (!b)
		return WEIR_ENOMEM;
	err = weir_sem_init_opts(&b->rest, &rest);
	if (err) {
		weir_mem_free_(b);
		return err;
	}
	b->mask = shards - 1;
	b->given_batch = opts->batch;
	b->batch = batch_for(b, opts->capacity);
	*s = (weir_sharded){
		.body_ = b,
		.name_ = opts->name,
		.ready_ = weir_generation_,
	};
	watch(s, opts, WEIR_SITE_);
	return WEIR_OK;
}

weir_err weir_sharded_destroy(weir_sharded *s)
{
	static const char call[] = "weir_sharded_destroy";
	weir_sem_info info;
	weir_err err = weir_sharded_check_(s, call, WEIR_BY_ERROR_);

	if (err)
		return err;
	weir_sharded_begin_wait_(s, call);
	weir_sharded_end_wait_(s);
	err = weir_sem_stat(&s->body_->rest, &info);
	if (!err && (info.held || info.granted || info.waiters))
		err = WEIR_EBUSY;
	if (!err)
		err = weir_sem_destroy(&s->body_->rest);
	if (err)
		return err;
	weir_record_remove_(weir_sharded_object_(s));
	weir_mem_free_(s->body_);
	s->body_ = NULL;
	s->ready_ = WEIR_DESTROYED_;
	return WEIR_OK;
}

void weir_sharded_close(weir_sharded *s, weir_close how)
{
	static const char call[] = "weir_sharded_close";

	if (weir_sharded_check_(s, call, WEIR_BY_PANIC_))
		return;
	set_flags(s->body_, WEIR_SHARDED_CLOSED_, 0);
	/*
	 * Gather before the close: in drain mode, waiters may still take the
	 * permits.
	 */
	weir_sharded_gather_(s, call);
	weir_sem_close(&s->body_->rest, how);
	weir_record_closed_(weir_sharded_object_(s));
}

weir_err weir_sharded_resize(weir_sharded *s, int64_t n, int64_t *debt)
{
	static const char call[] = "weir_sharded_resize";
	weir_err err = weir_sharded_check_(s, call, WEIR_BY_ERROR_);
	int64_t owed = 0;
	body *b;

	if (err)
		return err;
	b = s->body_;
	weir_sharded_begin_wait_(s, call);
	err = weir_sem_resize(&b->rest, n, &owed);
	if (!err) {
		/* relaxed: any value of batch is correct. */
		at_store_relaxed(&b->batch, batch_for(b, n));
		weir_record_capacity_(weir_sharded_object_(s), n);
		set_flags(b, owed ? WEIR_SHARDED_DEBT_ : 0,
			  WEIR_SHARDED_RESIZE_);
	}
	weir_sharded_end_wait_(s);
	weir_sharded_settle_(b);
	if (debt)
		*debt = owed;
	return err;
}

weir_err weir_sharded_stat(weir_sharded *s, weir_sharded_info *info)
{
	weir_err err = info ? weir_sharded_check_(s, "weir_sharded_stat", WEIR_BY_ERROR_) :
			      WEIR_EINVAL;
	weir_sem_info rest;
	int64_t credit = 0;

	if (!err)
		err = weir_sem_stat(&s->body_->rest, &rest);
	if (err)
		return err;
	for (uint32_t i = 0; i <= s->body_->mask; i++)
		/* relaxed: the numbers need not be of one instant. */
		credit += at_load_relaxed(&s->body_->shards[i].credit);
	*info = (weir_sharded_info){
		.name = s->name_,
		.capacity = rest.capacity,
		.free = rest.free + credit,
		.held = rest.held > credit ? rest.held - credit : 0,
		.granted = rest.granted,
		.debt = rest.debt,
		.in_shards = credit,
		.shards = s->body_->mask + 1,
		.waiters = rest.waiters + rest.oversized,
		.closed = rest.closed,
	};
	return WEIR_OK;
}
