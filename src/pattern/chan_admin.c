/* SPDX-License-Identifier: MIT */
/* The channel: init, destroy, close and statistics. */
#include "weir/chan.h"

#include "base/atomic.h"
#include "base/mem.h"
#include "base/panic.h"
#include "core/sem_watched.h"
#include "pattern/chan.h"
#include "pattern/unused.h"

weir_err weir_chan_unready_(const weir_chan *chan, const char *call,
			    enum weir_refusal_ refusal)
{
	/* The caller's object is not const: weir_chan_init has written it. */
	weir_chan *c = (weir_chan *)(uintptr_t)chan;
	struct weir_object_ o = { .kind = "channel", .object = c };

	if (!weir_is_misaligned_(c)) {
		o.ready = &c->ready_;
		o.sems[0] = &c->space_;
		o.sems[1] = &c->items_;
	}
	return weir_unready_(&o, call, refusal);
}

weir_err weir_chan_begin_(weir_chan *chan, const char *call, uint64_t site)
{
	weir_err err = weir_chan_unready_(chan, call, WEIR_BY_ERROR_);

	if (err)
		return WEIR_EINVAL;
	weir_record_begin_(site);
	return WEIR_OK;
}

void weir_chan_record_(const weir_chan *chan, bool sends, weir_err err,
		       int64_t n, bool waited)
{
	uint64_t object = weir_record_numbered_(chan->watched_, chan);

	if (n && sends)
		weir_record_sent_(object, n, waited);
	else if (n)
		weir_record_received_(object, n);
	if (err)
		weir_record_failed_(object, err);
}

/* Watch the channel if it has a name and WEIR_DIAG allows it. */
static void watch(weir_chan *chan, const char *name, uint64_t site)
{
	const struct weir_watched_ what = {
		.address = chan,
		.inner = { &chan->space_, &chan->items_ },
		.type = RG_CHAN,
		.flags = RG_PATTERN | RG_BARGING,
		.name = name,
		.capacity = (int64_t)chan->capacity_,
		.site = site,
	};

	chan->watched_ = weir_sem_watch_inner_(&what, &chan->space_,
					       &chan->items_);
	if (chan->watched_)
		chan->ready_ |= WEIR_WATCHED_;
}

static bool opts_ok(const weir_chan_opts *o)
{
	return o && (uintptr_t)o->slots % sizeof(uint64_t) == 0 &&
	       o->capacity >= 1 && o->capacity <= WEIR_CHAN_MAX &&
	       o->item_size && o->item_size <= WEIR_CHAN_ITEM_MAX &&
	       !o->flags && !o->reserved_[0] && !o->reserved_[1] &&
	       !o->reserved_[2];
}

static weir_err init(weir_chan *chan, const weir_chan_opts *opts, uint64_t site)
{
	weir_sem_opts space = { .name = "weir_chan", .policy = WEIR_BARGING,
				.flags = WEIR_SEM_UNWATCHED };
	weir_sem_opts items = space;
	size_t item_size, stride;
	bool owned;
	void *slots;
	uint64_t n;

	if (!chan || (uintptr_t)chan % sizeof(uint64_t) || !opts_ok(opts))
		return WEIR_EINVAL;
	space.permits = items.capacity = opts->capacity;
	n = (uint64_t)opts->capacity;
	item_size = opts->item_size;
	stride = WEIR_CHAN_BYTES(1, item_size);
	slots = opts->slots;
	owned = !slots;
	if (owned && n <= SIZE_MAX / 2 / stride)
		slots = weir_mem_alloc_((size_t)n * stride);
	if (!slots)
		return WEIR_ENOMEM;
	*chan = (weir_chan){
		.slots_ = slots,
		.capacity_ = n,
		.mask_ = n & (n - 1) ? 0 : n - 1,
		.item_size_ = item_size,
		.stride_ = stride,
		.owned_ = owned,
		.space_limit_ = n,
		.ready_ = weir_generation_,
	};
	(void)!weir_sem_init_opts(&chan->space_, &space);
	(void)!weir_sem_init_opts(&chan->items_, &items);
	for (uint64_t i = 0; i < n; i++)
		/* relaxed: no other thread can reach it yet. */
		at_store_relaxed(weir_chan_turn_(chan, i), 2 * i);
	watch(chan, opts->name, site);
	return WEIR_OK;
}

weir_err weir_chan_init_opts(weir_chan *chan, const weir_chan_opts *opts)
{
	return init(chan, opts, WEIR_SITE_);
}

weir_err weir_chan_init(weir_chan *chan, void *slots, int64_t capacity,
			size_t item_size)
{
	const weir_chan_opts opts = { .capacity = capacity,
				      .item_size = item_size, .slots = slots };

	return init(chan, &opts, WEIR_SITE_);
}

weir_err weir_chan_destroy(weir_chan *chan)
{
	weir_err err;

	if (weir_chan_check_(chan, __func__, WEIR_BY_ERROR_))
		return WEIR_EINVAL;
	/*
	 * [CH9] acquire.  No other call is running, but a loop may be copying the
	 * item of an operation.
	 */
	if (at_load_acquire(&chan->senders_) ||
	    at_load_acquire(&chan->receivers_))
		return WEIR_EBUSY;
	/* Check items_ first, so that both are destroyed or none. */
	err = weir_sem_check_unused_(&chan->items_);
	if (!err)
		err = weir_sem_destroy(&chan->space_);
	if (!err)
		err = weir_sem_destroy(&chan->items_);
	if (err)
		return err;
	weir_record_remove_(weir_record_numbered_(chan->watched_, chan));
	if (chan->owned_)
		weir_mem_free_(chan->slots_);
	chan->ready_ = WEIR_DESTROYED_;
	return WEIR_OK;
}

void weir_chan_close(weir_chan *chan)
{
	uint64_t seen;

	if (weir_chan_check_(chan, __func__, WEIR_BY_PANIC_))
		return;
	/* relaxed: a first guess; the CAS checks it. */
	seen = at_load_relaxed(&chan->tail_);
	/* [CH3] release */
	while (!(seen & WEIR_CHAN_CLOSED_) &&
	       !at_cas_weak_release(&chan->tail_, &seen, seen | WEIR_CHAN_CLOSED_))
		;
	weir_record_closed_(weir_record_numbered_(chan->watched_, chan));
	weir_sem_close(&chan->space_, WEIR_CLOSE_NOW);
	weir_sem_close(&chan->items_, WEIR_CLOSE_NOW);
}

bool weir_chan_is_closed(const weir_chan *chan)
{
	uint64_t tail;

	if (weir_chan_check_(chan, __func__, WEIR_BY_PANIC_))
		return true;
	return weir_chan_closed_tail_(chan, &tail);
}

int64_t weir_chan_length(const weir_chan *chan)
{
	uint64_t head, tail;

	if (weir_chan_check_(chan, __func__, WEIR_BY_PANIC_))
		return 0;
	/*
	 * relaxed: for display.  head_ is read before tail_, so that it is not
	 * ahead of tail_.
	 */
	head = at_load_relaxed(&chan->head_) >> WEIR_CHAN_TICKET_;
	(void)weir_chan_closed_tail_(chan, &tail);
	if (head >= tail)
		return 0;
	return tail - head > chan->capacity_ ? (int64_t)chan->capacity_ :
					       (int64_t)(tail - head);
}

/*
 * Returns the number of free slots, given the free permits of space_: it adds
 * the slots that have not been counted.
 */
static int64_t free_slots(const weir_chan *chan, int64_t permits)
{
	/* relaxed: for display. */
	uint64_t limit = at_load_relaxed(&chan->space_limit_);
	uint64_t end = (at_load_relaxed(&chan->head_) >> WEIR_CHAN_TICKET_) +
		       chan->capacity_;
	int64_t n = permits + (end > limit ? (int64_t)(end - limit) : 0);

	return n > (int64_t)chan->capacity_ ? (int64_t)chan->capacity_ : n;
}

weir_err weir_chan_stat(weir_chan *chan, weir_chan_info *info)
{
	weir_sem_info space, items;
	weir_err err;

	if (weir_chan_check_(chan, __func__, WEIR_BY_ERROR_) || !info)
		return WEIR_EINVAL;
	err = weir_sem_stat(&chan->space_, &space);
	if (!err)
		err = weir_sem_stat(&chan->items_, &items);
	if (err)
		return err;
	*info = (weir_chan_info){
		.capacity = (int64_t)chan->capacity_,
		.length = weir_chan_length(chan),
		.space = free_slots(chan, space.free),
		.item_size = (size_t)chan->item_size_,
		.senders = space.waiters,
		.receivers = items.waiters,
		.closed = weir_chan_is_closed(chan),
	};
	return WEIR_OK;
}
