/* SPDX-License-Identifier: MIT */
/* Creation and destruction of semaphores. */
#include "ops.h"

static weir_panic_fn *hook_before;

void ops_open(scene *s)
{
	hook_before = weir_set_panic_hook(world_no_panic);
	for (int i = 0; i < s->worlds; i++) {
		s->world[i]->scene = s;
		pool_start(s->world[i]->pool);
	}
	if (!s->patience_ns)
		s->patience_ns = INT64_C(60000000000);
}

void ops_shut(scene *s)
{
	for (int i = 0; i < s->worlds; i++)
		pool_finish(s->world[i]->pool);
	weir_set_panic_hook(hook_before);
}

static weir_sem_opts some_opts(world *w)
{
	weir_sem_opts opts = { .permits = draw(w, 9), .name = "refmodel" };
	int64_t k = draw(w, 20);

	if (!k)
		opts.permits = WEIR_SEM_MAX - draw(w, 3);
	else if (k < 6)
		opts.capacity = opts.permits + draw(w, 4);
	if (!draw(w, 3))
		opts.max_waiters = 1 + (uint32_t)draw(w, 5);
	/* TRACKED changes the implementation, not the visible behaviour. */
	if (!draw(w, 8))
		opts.flags |= WEIR_SEM_TRACKED;
	return opts;
}

/*
 * C23: the static initialisers.  With 0 permits the first equals zeroed memory.
 */
static void init_static(world *w, weir_sem_opts *opts)
{
	weir_sem bounded = WEIR_SEM_INIT(opts->permits);
	weir_sem unbounded = WEIR_SEM_INIT_UNBOUNDED(opts->permits);

	w->own = opts->flags & WEIR_SEM_UNBOUNDED ? unbounded : bounded;
	opts->capacity = 0;
	opts->max_waiters = 0;
}

/* Create a semaphore and its model. */
void ops_begin(world *w, weir_policy policy, bool overdue, bool unbounded)
{
	weir_sem_opts opts = some_opts(w);
	int64_t form = draw(w, 4);

	opts.policy = policy;
	/* WEIR_BARGE_US_MAX is longer than any sequence. */
	if (policy == WEIR_BARGING)
		opts.barge_us = overdue ? 1 : WEIR_BARGE_US_MAX;
	if (unbounded)
		opts.flags |= WEIR_SEM_UNBOUNDED;
	w->sem = &w->own;
	if (form == 0) {
		w->sem = weir_sem_new(&opts);
		CHECK(w->sem);
	} else if (form == 1 && policy == WEIR_FIFO) {
		init_static(w, &opts);
	} else {
		CHECK_OK(weir_sem_init_opts(w->sem, &opts));
	}
	w->policy = policy;
	w->overdue = overdue;
	w->m = (model){
		.capacity = opts.capacity ? opts.capacity : opts.permits,
		.free = opts.permits,
		.unbounded = unbounded,
		/*
		 * With a bound that has always passed, BARGING behaves like
		 * FIFO.
		 */
		.barging = policy == WEIR_BARGING && !overdue,
		.max_waiters = (int)opts.max_waiters,
	};
	if (unbounded)
		w->m.capacity = WEIR_SEM_MAX;
	else
		w->m.held = w->m.capacity - w->m.free;
	world_log(w, "init");
	world_settle(w, true);
}

/*
 * Release all permits that are not owned.  Returns the number of owned permits,
 * whose release ends a semaphore on the heap.
 */
static int64_t release_permits(world *w)
{
	int64_t kept = 0;

	for (int i = 0; i < HOLDS; i++) {
		hold *h = &w->scene->hold[i];

		if (h->of == w && !h->owned)
			ops_hold_release(w, h);
		else if (h->of == w)
			kept += h->n < w->m.held ? h->n : w->m.held;
	}
	return kept;
}

/*
 * Drop the last reference: the semaphore lives until the last owned permit is
 * released.
 */
static void end_on_heap(world *w)
{
	world_log(w, "unref");
	weir_sem_unref(w->sem);
	for (int i = 0; i < HOLDS; i++) {
		hold *h = &w->scene->hold[i];

		if (h->of != w)
			continue;
		world_log(w, "permit %d: release", i);
		world_expect_panics(model_release(&w->m, h->n) != WEIR_OK);
		weir_permit_release(&h->permit);
		world_check_panics(w);
		*h = (hold){ .n = 0 };
	}
}

/*
 * End the semaphore from any state: make all waiters return, then destroy it.
 */
void ops_end(world *w)
{
	int64_t kept;

	ops_ctx_clear(w);
	ops_close(w, WEIR_CLOSE_NOW);
	kept = release_permits(w);
	if (w->m.held > kept)
		ops_release(w, w->m.held - kept);
	/* Release the rest if a thread still waits for idle. */
	for (int i = 0; i < HOLDS; i++)
		if (w->scene->hold[i].of == w && w->m.oversized.count)
			ops_hold_release(w, &w->scene->hold[i]);
	if (w->m.held && w->m.oversized.count)
		ops_release(w, w->m.held);
	for (int i = 0; i < POOL_SIZE; i++)
		EXPECT(w, w->pool[i].busy, false);
	if (w->sem == &w->own)
		EXPECT(w, weir_sem_destroy(w->sem), WEIR_OK);
	else
		end_on_heap(w);
}
