/* SPDX-License-Identifier: MIT */
/* The other operations, and which comes next. */
#include "ops.h"

#include <inttypes.h>

void ops_no_panic(const char *message)
{
	check_fail(__FILE__, __LINE__, "panic: %s", message);
}

static int panics;

static void count_panic(const char *message)
{
	(void)message;
	panics++;
}

void ops_release(world *w, int64_t n)
{
	bool ask = draw(w, 2);
	weir_err want = model_release(&w->m, n);

	world_log(w, "%srelease %" PRId64, ask ? "try_" : "", n);
	if (ask) {
		EXPECT(w, weir_sem_try_release(&w->sem, n), want);
	} else {
		panics = 0;
		weir_set_panic_hook(want ? count_panic : ops_no_panic);
		weir_sem_release(&w->sem, n);
		weir_set_panic_hook(ops_no_panic);
		EXPECT(w, panics, want != WEIR_OK);
	}
	/* Who barges takes what it was told of by itself. */
	world_settle(w, !w->m.barging);
}

static void do_resize(world *w)
{
	int64_t n = ops_count(w), debt = 0, model_debt = 0;

	/* Large ones change little; go back to where much happens. */
	if (n > 100 && draw(w, 4))
		n = draw(w, 12);
	world_log(w, "resize %" PRId64, n);
	EXPECT(w, weir_sem_resize(&w->sem, n, &debt),
	       model_resize(&w->m, n, &model_debt));
	EXPECT(w, debt, model_debt);
	world_settle(w, !w->m.barging);
}

static void do_forget(world *w)
{
	int64_t n = ops_count(w);

	world_log(w, "forget %" PRId64, n);
	EXPECT(w, weir_sem_forget(&w->sem, n), model_forget(&w->m, n));
	world_settle(w, !w->m.barging);
}

static void do_cancel(world *w)
{
	int id = (int)draw(w, POOL_SIZE), tries = POOL_SIZE;

	while (tries && !(w->pool[id].busy && w->pool[id].has_ctx)) {
		id = (id + 1) % POOL_SIZE;
		tries--;
	}
	if (!tries)
		return;
	world_log(w, "cancel thread %d", id);
	weir_ctx_cancel(&w->pool[id].ctx);
	model_cancel(&w->m, id);
	world_settle(w, !w->m.barging);
}

void ops_cancel_all(world *w)
{
	world_log(w, "cancel all");
	weir_ctx_cancel(&w->root);
	model_cancel(&w->m, -1);
	world_settle(w, !w->m.barging);
	CHECK_OK(weir_ctx_destroy(&w->root));
	CHECK_OK(weir_ctx_init(&w->root, NULL, WEIR_FOREVER));
}

static void do_destroy_refused(world *w)
{
	if (!w->m.queue.count && !w->m.aside.count)
		return;
	world_log(w, "destroy");
	EXPECT(w, weir_sem_destroy(&w->sem), WEIR_EBUSY);
	world_settle(w, true);
}

void ops_close(world *w, weir_close how)
{
	world_log(w, "close %d", (int)how);
	weir_sem_close(&w->sem, how);
	model_close(&w->m, how);
	world_settle(w, true);
}

void ops_step(world *w)
{
	int64_t k = draw(w, 1000);

	if (k < 300)
		ops_acquire(w);
	else if (k < 450)
		ops_try(w);
	else if (k < 850)
		ops_release(w, ops_count(w));
	else if (k < 880)
		ops_drain(w);
	else if (k < 920)
		do_resize(w);
	else if (k < 940)
		do_forget(w);
	else if (k < 960)
		ops_ended_ctx(w);
	else if (k < 966)
		ops_idle(w);
	else if (k < 968)
		ops_timed_wait(w);
	else if (k < 990)
		do_cancel(w);
	else if (k < 992)
		ops_cancel_all(w);
	else if (k < 999)
		do_destroy_refused(w);
	else
		ops_close(w, draw(w, 4) ? WEIR_CLOSE_DRAIN :
					  WEIR_CLOSE_NOW);
}
