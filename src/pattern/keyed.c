/* SPDX-License-Identifier: MIT */
/*
 * One rate limit for each key: weir/rate.h.
 *
 * A hash table of entries, each with its key and a weir_rate, and a list of them
 * from the longest unused to the latest.  A short lock protects both; it is not
 * held while somebody waits or takes: an entry in use is counted (users), and one
 * that is counted stays.  So what tenants have in common is the time to find an
 * entry.
 *
 * An entry is forgotten only when its bucket is full and nobody uses it: then a
 * new one would be the same.  Looking for one to forget ends after LOOKS entries,
 * so that a flood of new keys costs the others no more than that; those that were
 * looked at go to the end of the list, so that it is others the next time, and a few
 * busy tenants do not keep new ones out.
 */
#include "weir/rate.h"

#include <string.h>

#include "base/lock.h"
#include "base/mem.h"
#include "base/panic.h"
#include "base/ring.h"
#include "pattern/bucket.h"
#include "weir/ctx.h"

#define LOOKS 16

struct weir_keyed_entry_ {
	struct weir_ring_ used;			/* under the lock */
	struct weir_keyed_entry_ *next;		/* in its row, or free */
	uint32_t users;				/* under the lock */
	uint32_t length;
	unsigned char key[WEIR_KEY_MAX];
	weir_rate limit;
};

/* The table has at most two rows for each key. */
_Static_assert(sizeof(struct weir_keyed_entry_) + 2 * sizeof(void *) <=
	       WEIR_KEYED_BYTES(1), "WEIR_KEYED_BYTES is too small");

static bool is_misplaced(const weir_keyed *keyed)
{
	return !keyed || (uintptr_t)keyed % sizeof(uint64_t) || !keyed->max_;
}

static struct weir_keyed_entry_ **row_of(const weir_keyed *keyed,
					 const void *key, size_t length)
{
	const unsigned char *bytes = key;
	uint64_t h = keyed->seed_;

	for (size_t i = 0; i < length; i++)
		h = (h ^ bytes[i]) * UINT64_C(0x100000001b3);
	/* Let every bit matter for the row. */
	h = (h ^ h >> 31) * UINT64_C(0x9e3779b97f4a7c15);
	h ^= h >> 29;
	return &keyed->table_[h & (keyed->buckets_ - 1)];
}

/* Where a row refers to it. */
static struct weir_keyed_entry_ **find(struct weir_keyed_entry_ **row,
				       const void *key, size_t length)
{
	while (*row && ((*row)->length != length ||
			memcmp((*row)->key, key, length)))
		row = &(*row)->next;
	return row;
}

static bool is_as_new(const struct weir_keyed_entry_ *e, int64_t now_ns)
{
	return !e->users && weir_bucket_time_ok_(&e->limit.bucket_, now_ns) &&
	       weir_bucket_is_full_(&e->limit.bucket_, now_ns);
}

static bool forget_one(weir_keyed *keyed, int64_t now_ns)
{
	for (int64_t i = 0; i < LOOKS && i < keyed->count_; i++) {
		struct weir_keyed_entry_ *e = ring_entry(
			keyed->used_, struct weir_keyed_entry_, used);
		struct weir_keyed_entry_ **at;

		if (!is_as_new(e, now_ns)) {
			/* To the end: the next look is at others. */
			keyed->used_ = e->used.next_;
			continue;
		}
		at = find(row_of(keyed, e->key, e->length), e->key, e->length);
		*at = e->next;
		ring_remove(&keyed->used_, &e->used);
		(void)!weir_rate_destroy(&e->limit);
		e->next = keyed->free_;
		keyed->free_ = e;
		keyed->count_--;
		keyed->evicted_++;
		return true;
	}
	return false;
}

/* Null: there is no room. */
static struct weir_keyed_entry_ *add(weir_keyed *keyed, const void *key,
				     size_t length, int64_t now_ns)
{
	struct weir_keyed_entry_ *e;

	if (!keyed->free_ && !forget_one(keyed, now_ns))
		return NULL;
	e = keyed->free_;
	keyed->free_ = e->next;
	keyed->count_++;
	e->next = NULL;
	e->users = 0;
	e->length = (uint32_t)length;
	memcpy(e->key, key, length);
	(void)!weir_rate_init(&e->limit, &keyed->each_);
	*find(row_of(keyed, key, length), key, length) = e;
	return e;
}

/* What its limit will say, whether there is room for it or not: C2. */
static weir_err check_new(const weir_keyed *keyed, int64_t n)
{
	int64_t burst = keyed->each_.burst ? keyed->each_.burst : 1;

	if (keyed->closed_)
		return WEIR_ECLOSED;
	if (!n)
		return WEIR_OK;
	return n > burst ? WEIR_ETOOBIG : WEIR_EQUEUED;
}

/*
 * The key's entry, counted.  Null: what is returned is the answer; WEIR_EBUSY if
 * there is no room.
 */
static weir_err enter(weir_keyed *keyed, const void *key, size_t length,
		      int64_t n, int64_t now_ns, struct weir_ctx *ctx,
		      struct weir_keyed_entry_ **entry)
{
	struct weir_keyed_entry_ *e;
	weir_err err;

	*entry = NULL;
	/* All this before anything is forgotten for it. */
	if (is_misplaced(keyed) || !key || !length || length > WEIR_KEY_MAX ||
	    n < 0 || n > WEIR_SEM_MAX)
		return WEIR_EINVAL;
	err = ctx ? weir_ctx_err(ctx) : WEIR_OK;
	if (err)
		return err;
	weir_lock_(&keyed->lock_);
	e = *find(row_of(keyed, key, length), key, length);
	if (e)
		ring_remove(&keyed->used_, &e->used);
	else
		err = check_new(keyed, n);
	if (err == WEIR_EQUEUED) {
		e = add(keyed, key, length, now_ns);
		err = e ? WEIR_OK : WEIR_EBUSY;
	}
	if (e) {
		ring_append(&keyed->used_, &e->used);
		e->users++;
		keyed->calls_++;
	}
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
	weir_err err = enter(keyed, key, length, n, weir_now_ns(), ctx, &e);

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
	weir_err err = enter(keyed, key, length, n, now_ns, NULL, &e);

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
 * Once in a while.
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
	/* More than a small machine can count. */
	if (owned && (uint64_t)max_keys <= SIZE_MAX / 2 / WEIR_KEYED_BYTES(1))
		memory = weir_mem_alloc_(WEIR_KEYED_BYTES(max_keys));
	if (!memory)
		return WEIR_ENOMEM;
	*keyed = (weir_keyed){
		.entries_ = memory,
		.each_ = *each,
		.buckets_ = 1,
		.max_ = max_keys,
		.owned_ = owned,
	};
	while (keyed->buckets_ < (uint64_t)max_keys)
		keyed->buckets_ *= 2;
	/* The rows are behind the entries. */
	keyed->table_ = (void *)(keyed->entries_ + max_keys);
	memset(keyed->table_, 0,
	       (size_t)keyed->buckets_ * sizeof(*keyed->table_));
	/* So that nobody can choose keys that fall into one row. */
	keyed->seed_ = ((uint64_t)weir_now_ns() ^ (uint64_t)(uintptr_t)keyed) *
		       UINT64_C(0x9e3779b97f4a7c15);
	for (int64_t i = max_keys; i--;) {
		keyed->entries_[i].next = keyed->free_;
		keyed->free_ = &keyed->entries_[i];
	}
	return WEIR_OK;
}

weir_err weir_keyed_destroy(weir_keyed *keyed)
{
	int64_t calls;

	if (is_misplaced(keyed))
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
	keyed->max_ = 0;
	return WEIR_OK;
}

void weir_keyed_close(weir_keyed *keyed)
{
	if (is_misplaced(keyed)) {
		weir_panic_("weir_keyed_close: %p is not set up", keyed);
		return;
	}
	weir_lock_(&keyed->lock_);
	keyed->closed_ = 1;
	RING_EACH(node, next, end, keyed->used_)
		weir_rate_close(
			&ring_entry(node, struct weir_keyed_entry_, used)->limit);
	weir_unlock_(&keyed->lock_);
}

weir_err weir_keyed_stat(weir_keyed *keyed, weir_keyed_info *info)
{
	if (is_misplaced(keyed) || !info)
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
