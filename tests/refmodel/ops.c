/* SPDX-License-Identifier: MIT */
/*
 * Operations on a semaphore that do not wait, and the choice of the next one.
 */
#include "ops.h"

#include <inttypes.h>

void ops_release(world *w, int64_t n)
{
	bool try = draw(w, 2);
	weir_err want = model_release(&w->m, n);

	world_log(w, "%srelease %" PRId64, try ? "try_" : "", n);
	if (try) {
		EXPECT(w, weir_sem_try_release(w->sem, n), want);
	} else {
		world_expect_panics(want != WEIR_OK);
		weir_sem_release(w->sem, n);
		world_check_panics(w);
	}
	/*
	 * With BARGING the woken head takes its permits later, on its own
	 * thread.
	 */
	world_settle(w, !w->m.barging);
}

static void release_some(world *w)
{
	ops_release(w, ops_count(w));
}

static void do_resize(world *w)
{
	int64_t n = ops_count(w), debt = 0, model_debt = 0;

	/* Little happens at a large capacity, so usually choose a small one. */
	if (n > 100 && draw(w, 4))
		n = draw(w, 12);
	world_log(w, "resize %" PRId64, n);
	EXPECT(w, weir_sem_resize(w->sem, n, &debt),
	       model_resize(&w->m, n, &model_debt));
	EXPECT(w, debt, model_debt);
	world_settle(w, !w->m.barging);
}

static void do_forget(world *w)
{
	int64_t n = ops_count(w);

	world_log(w, "forget %" PRId64, n);
	EXPECT(w, weir_sem_forget(w->sem, n), model_forget(&w->m, n));
	world_settle(w, !w->m.barging);
}

static void do_destroy_refused(world *w)
{
	if (!w->m.queue.count && !w->m.oversized.count)
		return;
	world_log(w, "destroy");
	EXPECT(w, weir_sem_destroy(w->sem), WEIR_EBUSY);
	world_settle(w, true);
}

void ops_close(world *w, weir_close how)
{
	world_log(w, "close %d", (int)how);
	weir_sem_close(w->sem, how);
	model_close(&w->m, how);
	world_settle(w, true);
}

static void do_close(world *w)
{
	ops_close(w, draw(w, 4) ? WEIR_CLOSE_DRAIN : WEIR_CLOSE_NOW);
}

/* Closing ends most activity, so its weight is small. */
const ops_entry ops_table[] = {
	{ ops_acquire, 300 },
	{ ops_try, 130 },
	{ release_some, 350 },
	{ ops_drain, 20 },
	{ do_resize, 35 },
	{ do_forget, 15 },
	{ ops_ended_ctx, 12 },
	{ ops_idle, 6 },
	{ ops_timed_wait, 2 },
	{ ops_ctx_make, 30 },
	{ ops_ctx_drop, 12 },
	{ ops_ctx_look, 6 },
	{ ops_ctx_wait, 2 },
	{ ops_ctx_cancel, 14 },
	{ ops_ctx_clear, 2 },
	{ do_destroy_refused, 6 },
	{ do_close, 1 },
	{ ops_permit_acquire, 20 },
	{ ops_permit_adopt, 3 },
	{ ops_permit_own, 5 },
	{ ops_permit_release, 15 },
	{ ops_permit_split, 6 },
	{ ops_permit_merge, 6 },
	{ ops_permit_move, 3 },
	{ ops_permit_forget, 3 },
	{ ops_permit_disown, 3 },
	{ ops_misuse, 4 },
	{ ops_late_head, 1 },
};
const int ops_table_size = sizeof(ops_table) / sizeof(ops_table[0]);

void ops_step(world *w)
{
	int64_t total = 0, k;
	int i = 0;

	for (int j = 0; j < ops_table_size; j++)
		total += ops_table[j].weight;
	for (k = draw(w, total); k >= ops_table[i].weight; i++)
		k -= ops_table[i].weight;
	ops_table[i].fn(w);
}
