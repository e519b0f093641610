/* SPDX-License-Identifier: MIT */
/*
 * The table of the rate limits by key.
 *
 * It is a hash table of entries with separate chaining (a chain is a row), and
 * a list of the used entries from the least to the most recently used.
 *
 * An entry is forgotten only if its bucket is full and no call uses it: a new
 * entry for the same key would be identical.  But the key may be used again
 * with an older time, at which its bucket was not full: another thread has read
 * the clock earlier, or the caller passes times in any order.  So the bucket of
 * a new entry is full only from the latest time at which a forgotten bucket was
 * full (full_ns_).  For calls in order of time, that time has passed.
 *
 * The search for an entry to forget examines at most EXAMINED_MAX entries, so
 * that a flood of new keys costs the other keys no more than that.  Examined
 * entries move to the end of the list.  The next search therefore examines
 * other entries, and a few busy keys do not keep new keys out.
 */
#include "pattern/keyed.h"

#include <string.h>

#include "pattern/bucket.h"

#define EXAMINED_MAX 16

/* The table has at most two rows for each key. */
_Static_assert(sizeof(struct weir_keyed_entry_) + 2 * sizeof(void *) <=
	       WEIR_KEYED_BYTES(1), "WEIR_KEYED_BYTES is too small");

void weir_keyed_table_init_(weir_keyed *keyed, void *memory)
{
	keyed->entries_ = memory;
	keyed->buckets_ = 1;
	while (keyed->buckets_ < (uint64_t)keyed->max_)
		keyed->buckets_ *= 2;
	/* The rows are behind the entries. */
	keyed->table_ = (void *)(keyed->entries_ + keyed->max_);
	memset(keyed->table_, 0,
	       (size_t)keyed->buckets_ * sizeof(*keyed->table_));
	for (int64_t i = keyed->max_; i--;) {
		keyed->entries_[i].next = keyed->free_;
		keyed->free_ = &keyed->entries_[i];
	}
}

static struct weir_keyed_entry_ **row_of(const weir_keyed *keyed,
					 const void *key, size_t length)
{
	const unsigned char *bytes = key;
	uint64_t h = keyed->seed_;

	for (size_t i = 0; i < length; i++)
		h = (h ^ bytes[i]) * UINT64_C(0x100000001b3);
	/* Mix the bits, so that every bit of the hash influences the row. */
	h = (h ^ h >> 31) * UINT64_C(0x9e3779b97f4a7c15);
	h ^= h >> 29;
	return &keyed->table_[h & (keyed->buckets_ - 1)];
}

/*
 * Returns the link to the entry of the key, or the null link at the row's end.
 */
static struct weir_keyed_entry_ **link_to(const weir_keyed *keyed,
					  const void *key, size_t length)
{
	struct weir_keyed_entry_ **link = row_of(keyed, key, length);

	while (*link && ((*link)->length != length ||
			 memcmp((*link)->key, key, length)))
		link = &(*link)->next;
	return link;
}

struct weir_keyed_entry_ *weir_keyed_find_(const weir_keyed *keyed,
					   const void *key, size_t length)
{
	return *link_to(keyed, key, length);
}

/* Returns true if the entry is unused and equal to a new one. */
static bool is_as_new(const struct weir_keyed_entry_ *e, int64_t now_ns)
{
	return !e->users && weir_bucket_time_ok_(&e->limit.bucket_, now_ns) &&
	       weir_bucket_is_full_(&e->limit.bucket_, now_ns);
}

/* The bucket is full now, so its time is not rounded up beyond now. */
static void keep_full_time(weir_keyed *keyed, const struct weir_bucket_ *b)
{
	int64_t full_ns = b->full_ns_ + (b->full_part_ > 0);

	if (full_ns > keyed->full_ns_)
		keyed->full_ns_ = full_ns;
}

/* Returns true if an entry has been freed. */
static bool forget_one(weir_keyed *keyed, int64_t now_ns)
{
	for (int64_t i = 0; i < EXAMINED_MAX && i < keyed->count_; i++) {
		struct weir_keyed_entry_ *e = ring_entry(
			keyed->used_, struct weir_keyed_entry_, used);

		if (!is_as_new(e, now_ns)) {
			/* Move the entry to the end of the list. */
			keyed->used_ = e->used.next_;
			continue;
		}
		keep_full_time(keyed, &e->limit.bucket_);
		*link_to(keyed, e->key, e->length) = e->next;
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

struct weir_keyed_entry_ *weir_keyed_add_(weir_keyed *keyed, const void *key,
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
	e->limit.bucket_.full_ns_ = keyed->full_ns_;
	*link_to(keyed, key, length) = e;
	return e;
}
