/* SPDX-License-Identifier: MIT */
/* Operations on contexts: C13. */
#include "ops.h"

#include <inttypes.h>
#include <poll.h>

int ops_pick_ctx(world *w)
{
	return tree_live(&w->scene->tree, 1 + (int)draw(w, TREE_SIZE));
}

static int64_t some_deadline(world *w)
{
	int64_t k = draw(w, 16);

	if (k < 2)
		return WEIR_FOREVER - 1 - k;	/* never passes */
	return k < 5 ? k - 3 : WEIR_FOREVER;	/* already passed, or none */
}

void ops_ctx_make(world *w)
{
	tree *t = &w->scene->tree;
	int at = tree_dead(t), parent = draw(w, 4) ? ops_pick_ctx(w) : 0;
	int64_t deadline_ns = some_deadline(w);

	if (!at)
		return;
	world_log(w, "ctx %d below %d, deadline %" PRId64, at, parent,
		  deadline_ns);
	EXPECT(w, weir_ctx_init(tree_ctx(t, at), tree_ctx(t, parent),
				deadline_ns), WEIR_OK);
	tree_make(t, at, parent, deadline_ns);
	world_settle(w, true);
}

/* Returns true if a busy thread with a kind in from..to uses the context. */
static bool in_use(const scene *s, int at, pool_kind from, pool_kind to)
{
	for (int i = 0; i < s->worlds; i++)
		for (int j = 0; j < POOL_SIZE; j++) {
			const pool_worker *p = &s->world[i]->pool[j];

			if (p->busy && p->ctx_number == at && p->kind >= from &&
			    p->kind <= to)
				return true;
		}
	return false;
}

void ops_ctx_drop(world *w)
{
	tree *t = &w->scene->tree;
	int at = ops_pick_ctx(w);
	bool busy;

	/*
	 * The model cannot tell whether a thread has reached weir_ctx_wait yet.
	 * The other kinds of waits are visible, and have been compared.
	 */
	if (!at || in_use(w->scene, at, POOL_END, POOL_END))
		return;
	busy = tree_below(t, at) != UINT32_C(1) << at ||
	       in_use(w->scene, at, POOL_ACQUIRE, POOL_IDLE);
	world_log(w, "destroy ctx %d", at);
	EXPECT(w, weir_ctx_destroy(tree_ctx(t, at)),
	       busy ? WEIR_EBUSY : WEIR_OK);
	t->node[at].live = busy;
	world_settle(w, true);
}

/* Query everything that a context reports. */
void ops_ctx_look(world *w)
{
	tree *t = &w->scene->tree;
	int at = ops_pick_ctx(w);
	weir_ctx *ctx = tree_ctx(t, at);
	weir_err why = tree_err(t, at);
	struct pollfd ready = { .events = POLLIN };

	if (!at)
		return;
	world_log(w, "query ctx %d", at);
	EXPECT(w, weir_ctx_deadline(ctx), t->node[at].deadline_ns);
	if (draw(w, 2)) {
		EXPECT(w, weir_ctx_fd(ctx, &ready.fd), WEIR_OK);
		EXPECT(w, poll(&ready, 1, 0), why != WEIR_OK);
	}
	EXPECT(w, weir_ctx_wait(ctx, draw(w, 2)), why ? why : WEIR_EAGAIN);
	EXPECT(w, weir_ctx_err(ctx), why);
	world_settle(w, true);
}

void ops_ctx_wait(world *w)
{
	tree *t = &w->scene->tree;
	model_call call = { .id = -1, .ctx = ops_pick_ctx(w) };
	pool_worker *p = world_idle_worker(w);
	weir_err why = tree_err(t, call.ctx);

	if (!call.ctx)
		return;
	if (why) {
		world_log(w, "wait for ctx %d", call.ctx);
		EXPECT(w, weir_ctx_wait(tree_ctx(t, call.ctx), WEIR_FOREVER),
		       why);
		world_settle(w, true);
	} else if (p) {
		ops_block(w, p, POOL_END, call);
	}
}

/* Apply a cancel to the models and to threads in weir_ctx_wait. */
static void cancel_models(scene *s, uint32_t ended)
{
	for (int i = 0; i < s->worlds; i++) {
		world *w = s->world[i];

		model_cancel(&w->m, ended);
		for (int j = 0; j < POOL_SIZE; j++) {
			const pool_worker *p = &w->pool[j];

			if (p->busy && p->kind == POOL_END &&
			    ended >> p->ctx_number & 1)
				model_end_call(&w->m, j, WEIR_ECANCELED, 0);
		}
	}
}

/*
 * A waiter past its bound may take the semaphore's lock at any time.  Its unlock
 * can grant to a waiter of a context that a cancel of a parent has not reached
 * yet.  That waiter returns the permits, but a waiter behind it with a range has
 * got fewer than the model says.  The end of one context is atomic, so such a
 * world cancels one at a time, children first.
 */
static bool is_one_at_a_time(const scene *s)
{
	for (int i = 0; i < s->worlds; i++)
		if (s->world[i]->overdue)
			return true;
	return false;
}

static int first_to_cancel(const tree *t, int at)
{
	for (int i = 1; i <= TREE_SIZE; i++)
		if (t->node[i].live && t->node[i].parent == at &&
		    !t->node[i].ended)
			return first_to_cancel(t, i);
	return at;
}

static void cancel_one(world *w, int at)
{
	scene *s = w->scene;

	world_log(w, "cancel ctx %d", at);
	weir_ctx_cancel(tree_ctx(&s->tree, at));
	cancel_models(s, tree_below(&s->tree, at));
	tree_cancel(&s->tree, at);
	for (int i = 0; i < s->worlds; i++)
		world_settle(s->world[i], !s->world[i]->m.barging);
}

static void cancel(world *w, int at)
{
	const scene *s = w->scene;

	while (is_one_at_a_time(s) && first_to_cancel(&s->tree, at) != at)
		cancel_one(w, first_to_cancel(&s->tree, at));
	cancel_one(w, at);
}

void ops_ctx_cancel(world *w)
{
	int at = ops_pick_ctx(w);

	if (at)
		cancel(w, at);
}

void ops_ctx_clear(world *w)
{
	tree *t = &w->scene->tree;

	for (int i = 1; i <= TREE_SIZE; i++)
		if (t->node[i].live && !t->node[i].parent)
			cancel(w, i);
	/* Destroy children before their parents. */
	for (int i = 1; tree_live(t, 1); i = i % TREE_SIZE + 1)
		if (t->node[i].live &&
		    tree_below(t, i) == UINT32_C(1) << i) {
			world_log(w, "destroy ctx %d", i);
			EXPECT(w, weir_ctx_destroy(tree_ctx(t, i)), WEIR_OK);
			t->node[i].live = false;
		}
	world_settle(w, true);
}
