/* SPDX-License-Identifier: MIT */
/*
 * Sizes and layouts that users compile into their programs.
 *
 * C26: a semaphore is at most 64 bytes, one cache line; a waiter at most 128.
 * C23: the static initialisers list the first fields and zero the rest, so they
 * must match the layout of the struct.
 */
#include <stddef.h>

#include "check.h"
#include "core/waiter.h"
#include "weir/adaptive.h"
#include "weir/breaker.h"
#include "weir/chan.h"
#include "weir/chan_async.h"
#include "weir/ctx.h"
#include "weir/group.h"
#include "weir/rate.h"
#include "weir/limits.h"
#include "weir/permit.h"
#include "weir/pool.h"
#include "weir/pool_async.h"
#include "weir/rwlock.h"
#include "weir/sharded.h"

TEST(c26_semaphore_is_at_most_one_cache_line)
{
	CHECK(sizeof(weir_sem) <= 64);
}

TEST(c26_waiter_is_at_most_128_bytes)
{
	CHECK(sizeof(struct weir_waiter_) <= 128);
}

/*
 * Programs compiled with these headers rely on these values.  A change breaks
 * them and needs a new soname.
 */
TEST(layout_of_public_structs_is_unchanged)
{
	CHECK_EQ(offsetof(weir_sem, word_), 0);
	CHECK_EQ(_Alignof(weir_sem), 8);
	CHECK_EQ(sizeof(weir_err), 4);
	if (sizeof(void *) == 8) {
		CHECK_EQ(sizeof(weir_sem), 64);
		CHECK_EQ(sizeof(weir_ctx), 96);
		CHECK_EQ(sizeof(weir_permit), 24);
		CHECK_EQ(sizeof(weir_adaptive), 200);
		CHECK_EQ(sizeof(weir_breaker), 120);
		CHECK_EQ(sizeof(weir_breaker_opts), 48);
		CHECK_EQ(sizeof(weir_chan), 320);
		CHECK_EQ(sizeof(weir_chan_op), 192);
		CHECK_EQ(sizeof(weir_group), 736);
		CHECK_EQ(sizeof(weir_group_opts), 104);
		CHECK_EQ(sizeof(weir_rate), 240);
		CHECK_EQ(sizeof(weir_rate_opts), 64);
		CHECK_EQ(sizeof(weir_rate_info), 88);
		CHECK_EQ(sizeof(weir_keyed), 176);
		CHECK_EQ(sizeof(weir_pool), 272);
		CHECK_EQ(sizeof(weir_pool_item), 64);
		CHECK_EQ(sizeof(weir_pool_op), 192);
		CHECK_EQ(sizeof(weir_pool_opts), 104);
		CHECK_EQ(sizeof(weir_limits), 56);
		CHECK_EQ(sizeof(weir_rwlock), 192);
		CHECK_EQ(sizeof(weir_rwlock_opts), 48);
		CHECK_EQ(sizeof(weir_sharded), 64);
		CHECK_EQ(sizeof(weir_sharded_opts), 64);
		CHECK_EQ(sizeof(weir_sharded_info), 104);
		CHECK_EQ(sizeof(weir_chan_info), 80);
		CHECK_EQ(sizeof(weir_sem_opts), 64);
		CHECK_EQ(sizeof(weir_sem_info), 112);
	}
}

TEST(c23_static_initialisers_equal_init)
{
	static const weir_sem zeroed;
	static const weir_sem empty = WEIR_SEM_INIT(0);
	static const weir_ctx zeroed_ctx;
	static const weir_ctx ctx = WEIR_CTX_INIT;
	static const weir_sem three = WEIR_SEM_INIT(3);
	weir_sem made;

	CHECK(!memcmp(&zeroed, &empty, sizeof(weir_sem)));
	CHECK(!memcmp(&zeroed_ctx, &ctx, sizeof(weir_ctx)));
	memset(&made, 0, sizeof(made));
	CHECK_OK(weir_sem_init(&made, 3));
	CHECK(!memcmp(&made, &three, sizeof(weir_sem)));
	CHECK_OK(weir_sem_destroy(&made));
}
