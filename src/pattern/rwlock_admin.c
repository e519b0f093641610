/* SPDX-License-Identifier: MIT */
/* The reader-writer lock: init, destroy, close and stat. */
#include "core/sem_watched.h"
#include "pattern/rwlock.h"

weir_err weir_rwlock_unready_(weir_rwlock *rw, const char *call,
			      enum weir_refusal_ refusal)
{
	struct weir_object_ o = { .kind = "rwlock", .object = rw };

	if (!weir_is_misaligned_(rw)) {
		o.name = rw->name_;
		o.ready = &rw->ready_;
		o.lock = &rw->lock_;
		o.sems[0] = &rw->inside_;
		o.sems[1] = &rw->recall_;
	}
	return weir_unready_(&o, call, refusal);
}

static bool opts_ok(const weir_rwlock_opts *o)
{
	return !o->flags && !o->reserved_[0] && !o->reserved_[1] &&
	       !o->reserved_[2] && (unsigned)o->prefer <= WEIR_RW_WRITERS &&
	       (!o->barge_us || o->prefer == WEIR_RW_BARGING);
}

weir_err weir_rwlock_init(weir_rwlock *rw, const weir_rwlock_opts *opts)
{
	static const weir_rwlock_opts defaults;
	const weir_rwlock_opts *o = opts ? opts : &defaults;
	bool two_queues = o->prefer == WEIR_RW_WRITERS;
	weir_sem_opts inside = {
		.permits = ALL,
		.name = o->name,
		.policy = o->prefer == WEIR_RW_BARGING ? WEIR_BARGING :
							 WEIR_FIFO,
		.max_waiters = two_queues ? 0 : o->max_waiters,
		.barge_us = o->barge_us,
		.flags = WEIR_SEM_UNWATCHED,
	};
	const weir_sem_opts recall = {
		.name = o->name,
		.flags = WEIR_SEM_UNBOUNDED | WEIR_SEM_UNWATCHED,
	};
	weir_rwlock made = {
		.prefer_ = (uint32_t)o->prefer,
		.ready_ = weir_generation_,
		.name_ = o->name,
		.max_waiters_ = two_queues ? o->max_waiters : 0,
	};

	if (!rw || (uintptr_t)rw % sizeof(uint64_t) || !opts_ok(o) ||
	    weir_sem_init_opts(&made.inside_, &inside) ||
	    weir_sem_init_opts(&made.recall_, &recall))
		return WEIR_EINVAL;
	*rw = made;
	weir_sem_watch_both_(&rw->inside_, &rw->recall_, RG_RWLOCK);
	return WEIR_OK;
}

weir_err weir_rwlock_destroy(weir_rwlock *rw)
{
	weir_rwlock_info info;
	weir_err err = weir_rwlock_check_(rw, "weir_rwlock_destroy",
					  WEIR_BY_ERROR_);

	if (!err)
		err = weir_rwlock_stat(rw, &info);
	if (err)
		return err;
	if (info.readers || info.writing || info.waiters)
		return WEIR_EBUSY;
	err = weir_sem_destroy(&rw->inside_);
	if (!err)
		err = weir_sem_destroy(&rw->recall_);
	if (!err)
		rw->ready_ = WEIR_DESTROYED_;
	return err;
}

void weir_rwlock_close(weir_rwlock *rw)
{
	if (weir_rwlock_check_(rw, "weir_rwlock_close", WEIR_BY_PANIC_))
		return;
	weir_sem_close(&rw->inside_, WEIR_CLOSE_NOW);
	weir_sem_close(&rw->recall_, WEIR_CLOSE_NOW);
}

weir_err weir_rwlock_stat(weir_rwlock *rw, weir_rwlock_info *info)
{
	weir_sem_info inside, recall;
	weir_err err;

	err = info ? weir_rwlock_check_(rw, "weir_rwlock_stat",
					WEIR_BY_ERROR_) : WEIR_EINVAL;
	if (!err)
		err = weir_sem_stat(&rw->inside_, &inside);
	if (!err)
		err = weir_sem_stat(&rw->recall_, &recall);
	if (err)
		return err;
	*info = (weir_rwlock_info){
		.name = rw->name_,
		.writing = !inside.free,
		.readers = inside.free ? ALL - inside.free : 0,
		.waiters = inside.waiters + recall.waiters,
		.closed = inside.closed,
		.prefer = (weir_rw_prefer)rw->prefer_,
	};
	return WEIR_OK;
}
