/* SPDX-License-Identifier: MIT */
/*
 * The macros of the public headers, as a program in C99 or C++11 expands them.
 * headers.sh compiles this file with warnings that a program may have.
 */
#include <stddef.h>

#include <weir/chan.h>
#include <weir/ctx.h>
#include <weir/group.h>
#include <weir/multi.h>
#include <weir/permit.h>
#include <weir/pool.h>
#include <weir/rate.h>
#include <weir/rwlock.h>
#include <weir/sem.h>

#ifndef NO_NAME
#define NO_NAME WEIR_NULL_
#endif

weir_sem files = WEIR_SEM_INIT(64);
weir_sem barging = WEIR_SEM_INIT_BARGING(4);
weir_sem ready = WEIR_SEM_INIT_UNBOUNDED(0);
weir_sem slots = WEIR_SEM_INIT_OPTS(0, 8, "slots", WEIR_FIFO,
				    WEIR_SEM_INTERRUPTIBLE);
weir_sem nameless = WEIR_SEM_INIT_OPTS(2, 8, NO_NAME, WEIR_BARGING,
				       WEIR_SEM_TRACKED);
weir_ctx stop = WEIR_CTX_INIT;
weir_rwlock table = WEIR_RWLOCK_INIT;
uint64_t chan_slots[WEIR_CHAN_BYTES(64, sizeof(int)) / 8];
uint64_t pool_items[WEIR_POOL_BYTES(20) / 8];
uint64_t keys[WEIR_KEYED_BYTES(100) / 8];

int use_scopes(weir_ctx *ctx, weir_pool *pool, const weir_group_opts *opts);

int use_scopes(weir_ctx *ctx, weir_pool *pool, const weir_group_opts *opts)
{
	weir_pool_item *item;
	weir_err err, inner;

	WEIR_SCOPED weir_permit permit = WEIR_PERMIT_INIT;
	WEIR_SCOPED_SET weir_set set = WEIR_SET_INIT;
	WEIR_SCOPED_CTX weir_ctx own = WEIR_CTX_INIT;

	WEIR_WITH_PERMIT(err, &files, 1, ctx) {
		WEIR_WITH_PERMIT(inner, &barging, 1, &own)
			err = inner;
	}
	WEIR_WITH_READ(err, &table, ctx) {
		WEIR_WITH_CTX(err, request, &stop, weir_deadline_after(1000))
			err = weir_permit_acquire(&permit, &files, 1, &request);
	}
	WEIR_WITH_WRITE(err, &table, ctx)
		weir_set_release(&set);
	WEIR_WITH_LOAN(err, item, pool, __func__, ctx)
		weir_pool_discard(pool, item);
	WEIR_WITH_GROUP(err, group, opts)
		weir_group_close(&group);
	return err == WEIR_OK;
}
