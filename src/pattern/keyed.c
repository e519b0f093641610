/* SPDX-License-Identifier: MIT */
/*
 * One rate limit for each key: the functions weir_keyed_* of weir/rate.h.
 *
 * Each key has an entry with a separate weir_rate in a table (keyed_table.c).
 * lock_ protects the table.  It is not held while a call takes tokens or waits
 * for them: such a call is counted in its entry (users), and an entry in use is
 * not forgotten.  Calls for different keys therefore contend only while they
 * search the table.
 */
#include "pattern/keyed.h"

#include "base/lock.h"
#include "base/mem.h"
#include "pattern/ready.h"
#include "weir/ctx.h"

/* The check at the beginning of every call: ready.h. */
static weir_err check(weir_keyed *keyed, const char *call,
		      enum weir_refusal_ refusal)
{
	struct weir_object_ o = { .kind = "keyed limit", .object = keyed };

	if (weir_is_ready_(keyed))
		return WEIR_OK;
	if (!weir_is_misaligned_(keyed)) {
		o.name = keyed->each_.name;
		o.ready = &keyed->ready_;
		o.lock = &keyed->lock_;
		o.waited = keyed->calls_;
	}
	return weir_unready_(&o, call, refusal);
}

/*
 * Returns the result of a call for a key without an entry, if the result is the
 * same whether or not an entry can be added (C2); otherwise WEIR_EQUEUED, and
 * the caller adds an entry.
 */
static weir_err check_new(const weir_keyed *keyed, int64_t n)
{
	int64_t burst = keyed->each_.burst ? keyed->each_.burst : 1;

	if (keyed->closed_)
		return WEIR_ECLOSED;
	if (!n)
		return WEIR_OK;
	return n > burst ? WEIR_ETOOBIG : WEIR_EQUEUED;
}

/* Count a call in the entry, which becomes the newest one. */
static void enter_entry(weir_keyed *keyed, struct weir_keyed_entry_ *e)
{
	ring_append(&keyed->used_, &e->used);
	e->users++;
	keyed->calls_++;
}

/*
 * Find or add the entry of the key, and count the call in it.  If *entry is
 * null, the call ends with the returned result, which is WEIR_EFULL if no entry
 * can be added.
 */
static weir_err enter(weir_keyed *keyed, const void *key, size_t length,
		      int64_t n, int64_t now_ns, struct weir_ctx *ctx,
		      struct weir_keyed_entry_ **entry, const char *call)
{
	struct weir_keyed_entry_ *e;
	weir_err err;

	*entry = NULL;
	/* Check everything before another entry is forgotten for the key. */
	if (check(keyed, call, WEIR_BY_ERROR_) || !key || !length ||
	    length > WEIR_KEY_MAX || n < 0 || n > WEIR_SEM_MAX)
		return WEIR_EINVAL;
	err = ctx ? weir_ctx_err(ctx) : WEIR_OK;
	if (err)
		return err;
	weir_lock_(&keyed->lock_);
	e = weir_keyed_find_(keyed, key, length);
	if (e)
		ring_remove(&keyed->used_, &e->used);
	else
		err = check_new(keyed, n);
	if (err == WEIR_EQUEUED) {
		e = weir_keyed_add_(keyed, key, length, now_ns);
		err = e ? WEIR_OK : WEIR_EFULL;
	}
	if (e)
		enter_entry(keyed, e);
	weir_unlock_(&keyed->lock_);
	*entry = e;
	return err;
}

static void leave(weir_keyed *keyed, struct weir_keyed_entry_ *e)
{
	weir_lock_(&keyed->lock_);
	e->users--;
	keyed->calls_--;
	weir_unlock_(&keyed->lock_);
}

weir_err weir_keyed_acquire(weir_keyed *keyed, const void *key, size_t length,
			    int64_t n, struct weir_ctx *ctx)
{
	struct weir_keyed_entry_ *e;
	weir_err err = enter(keyed, key, length, n, weir_now_ns(), ctx, &e,
			     __func__);

	if (!e)
		return err;
	err = weir_rate_acquire(&e->limit, n, ctx);
	leave(keyed, e);
	return err;
}

weir_err weir_keyed_try_acquire_at(weir_keyed *keyed, const void *key,
				   size_t length, int64_t n, int64_t now_ns)
{
	struct weir_keyed_entry_ *e;
	weir_err err = enter(keyed, key, length, n, now_ns, NULL, &e,
			     "weir_keyed_try_acquire");

	if (!e)
		return err;
	err = weir_rate_try_acquire_at(&e->limit, n, now_ns);
	leave(keyed, e);
	return err;
}

weir_err weir_keyed_try_acquire(weir_keyed *keyed, const void *key,
				size_t length, int64_t n)
{
	return weir_keyed_try_acquire_at(keyed, key, length, n, weir_now_ns());
}

/*
 * Init, destroy, close and stat.
 */
weir_err weir_keyed_init(weir_keyed *keyed, void *memory, int64_t max_keys,
			 const weir_rate_opts *each)
{
	weir_rate trial;
	bool owned = !memory;
	weir_err err;

	if (!keyed || (uintptr_t)keyed % sizeof(uint64_t) ||
	    (uintptr_t)memory % sizeof(uint64_t) || max_keys < 1 ||
	    max_keys > WEIR_KEYED_MAX)
		return WEIR_EINVAL;
	err = weir_rate_init(&trial, each);
	if (err)
		return err;
	(void)!weir_rate_destroy(&trial);
	/* On 32 bits the size may be more than a size_t can hold. */
	if (owned && (uint64_t)max_keys <= SIZE_MAX / 2 / WEIR_KEYED_BYTES(1))
		memory = weir_mem_alloc_(WEIR_KEYED_BYTES(max_keys));
	if (!memory)
		return WEIR_ENOMEM;
	*keyed = (weir_keyed){
		.each_ = *each,
		.max_ = max_keys,
		.full_ns_ = INT64_MIN,
		.owned_ = owned,
		.ready_ = weir_generation_,
	};
	/* The seed makes it hard to choose keys that fall into one row. */
	keyed->seed_ = ((uint64_t)weir_now_ns() ^ (uint64_t)(uintptr_t)keyed) *
		       UINT64_C(0x9e3779b97f4a7c15);
	weir_keyed_table_init_(keyed, memory);
	return WEIR_OK;
}

weir_err weir_keyed_destroy(weir_keyed *keyed)
{
	int64_t calls;

	if (check(keyed, __func__, WEIR_BY_ERROR_))
		return WEIR_EINVAL;
	weir_lock_(&keyed->lock_);
	calls = keyed->calls_;
	weir_unlock_(&keyed->lock_);
	if (calls)
		return WEIR_EBUSY;
	RING_EACH(node, next, end, keyed->used_)
		(void)!weir_rate_destroy(
			&ring_entry(node, struct weir_keyed_entry_, used)->limit);
	if (keyed->owned_)
		weir_mem_free_(keyed->entries_);
	keyed->ready_ = WEIR_DESTROYED_;
	return WEIR_OK;
}

/*
 * Enter an entry whose limit is open, and mark the keyed limit as closed.  Returns
 * null if there is none.  No entries are added any more.  The entry becomes the
 * newest one, so that the next search seldom meets closed ones before an open one.
 */
static struct weir_keyed_entry_ *enter_open(weir_keyed *keyed)
{
	struct weir_keyed_entry_ *e, *open = NULL;

	weir_lock_(&keyed->lock_);
	keyed->closed_ = 1;
	RING_EACH(node, next, end, keyed->used_) {
		e = ring_entry(node, struct weir_keyed_entry_, used);
		if (weir_sem_is_closed(&e->limit.wake_))
			continue;
		ring_remove(&keyed->used_, node);
		enter_entry(keyed, e);
		open = e;
		break;
	}
	weir_unlock_(&keyed->lock_);
	return open;
}

/* A close calls the event hook, so it runs without lock_. */
void weir_keyed_close(weir_keyed *keyed)
{
	struct weir_keyed_entry_ *e;

	if (check(keyed, __func__, WEIR_BY_PANIC_))
		return;
	while ((e = enter_open(keyed))) {
		weir_rate_close(&e->limit);
		leave(keyed, e);
	}
}

weir_err weir_keyed_stat(weir_keyed *keyed, weir_keyed_info *info)
{
	if (check(keyed, __func__, WEIR_BY_ERROR_) || !info)
		return WEIR_EINVAL;
	weir_lock_(&keyed->lock_);
	*info = (weir_keyed_info){
		.max_keys = keyed->max_,
		.keys = keyed->count_,
		.forgotten = keyed->evicted_,
		.calls = keyed->calls_,
		.closed = keyed->closed_,
	};
	weir_unlock_(&keyed->lock_);
	return WEIR_OK;
}
