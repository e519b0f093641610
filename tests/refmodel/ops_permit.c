/* SPDX-License-Identifier: MIT */
/* Operations on permits: C34. */
#include "ops.h"

#include <inttypes.h>

static hold *some_hold(world *w)
{
	return &w->scene->hold[draw(w, HOLDS)];
}

static int number(world *w, const hold *h)
{
	return (int)(h - w->scene->hold);
}

static void set(hold *h, world *of, int64_t n, bool owned)
{
	h->of = n ? of : NULL;
	h->n = n;
	h->owned = n && owned;
}

/* Usually part of the permits held; sometimes more, or an invalid count. */
static int64_t some_part(world *w, const hold *h)
{
	return h->n && draw(w, 8) ? draw(w, h->n < 16 ? h->n + 1 : 16) :
				    ops_count(w);
}

static bool bad(int64_t n)
{
	return n < 0 || n > WEIR_SEM_MAX;
}

void ops_permit_acquire(world *w)
{
	hold *h = some_hold(w);
	int how = (int)draw(w, 3);
	model_call call = { .id = -1, .min = ops_count(w) };
	weir_err want = WEIR_EINVAL;
	int64_t got;

	call.max = call.min;
	if (how == 2)
		call.ctx = ops_pick_ctx(w);
	if (how == 2 && ops_would_wait(w, call)) {
		how = 1;
		call.ctx = 0;
	}
	world_log(w, "permit %d: acquire %" PRId64 " way %d ctx %d",
		  number(w, h), call.min, how, call.ctx);
	if (!h->of)
		want = how == 0 ? model_try(&w->m, call.min) :
				  model_acquire(&w->m, call,
					tree_err(&w->scene->tree, call.ctx),
					how == 1, &got);
	if (how == 0)
		EXPECT(w, weir_permit_try_acquire(&h->permit, w->sem, call.min),
		       want);
	else if (how == 1)
		EXPECT(w, weir_permit_acquire_until(&h->permit, w->sem,
						    call.min, 0), want);
	else
		EXPECT(w, weir_permit_acquire(&h->permit, w->sem, call.min,
				tree_ctx(&w->scene->tree, call.ctx)), want);
	if (!want)
		set(h, w, call.min, false);
	world_settle(w, true);
}

/* Adopting more than is held is allowed; the counts are checked on release. */
void ops_permit_adopt(world *w)
{
	hold *h = some_hold(w);
	int64_t n = ops_count(w);
	weir_err want = h->of || bad(n) ? WEIR_EINVAL : WEIR_OK;

	world_log(w, "permit %d: adopt %" PRId64, number(w, h), n);
	EXPECT(w, weir_permit_adopt(&h->permit, w->sem, n), want);
	if (!want)
		set(h, w, n, false);
	world_settle(w, true);
}

void ops_permit_own(world *w)
{
	hold *h = some_hold(w);
	bool can = h->of && !h->owned;
	bool panics = can && h->of->sem == &h->of->own;

	world_log(w, "permit %d: own", number(w, h));
	world_expect_panics(panics);
	EXPECT(w, weir_permit_own(&h->permit),
	       can && !panics ? WEIR_OK : WEIR_EINVAL);
	world_check_panics(w);
	if (can && !panics)
		h->owned = true;
	world_settle(w, true);
}

void ops_hold_release(world *w, hold *h)
{
	world *of = h->of ? h->of : w;
	weir_err want = h->of ? model_release(&of->m, h->n) : WEIR_OK;

	world_log(of, "permit %d: release %" PRId64, number(w, h), h->n);
	world_expect_panics(want != WEIR_OK);
	weir_permit_release(&h->permit);
	world_check_panics(of);
	set(h, NULL, 0, false);
	world_settle(of, !of->m.barging);
}

void ops_permit_release(world *w)
{
	ops_hold_release(w, some_hold(w));
}

void ops_permit_split(world *w)
{
	hold *from = some_hold(w), *to = some_hold(w);
	int64_t n = some_part(w, from);
	weir_err want = to->of || n < 0 || n > from->n ? WEIR_EINVAL : WEIR_OK;

	world_log(w, "permit %d: split %" PRId64 " to %d", number(w, from), n,
		  number(w, to));
	EXPECT(w, weir_permit_split(&from->permit, n, &to->permit), want);
	if (!want && from != to) {
		set(to, from->of, n, from->owned);
		set(from, from->of, from->n - n, from->owned);
	}
	world_settle(w, true);
}

void ops_permit_merge(world *w)
{
	hold *to = some_hold(w), *from = some_hold(w);
	weir_err want = WEIR_OK;

	if (to == from)
		want = WEIR_EINVAL;
	else if (from->of && to->of &&
		 (from->of != to->of || to->n + from->n > WEIR_SEM_MAX))
		want = WEIR_EINVAL;
	world_log(w, "permit %d: merge %d", number(w, to), number(w, from));
	EXPECT(w, weir_permit_merge(&to->permit, &from->permit), want);
	if (!want) {
		set(to, to->of ? to->of : from->of, to->n + from->n,
		    to->owned || from->owned);
		set(from, NULL, 0, false);
	}
	world_settle(w, true);
}

void ops_permit_move(world *w)
{
	hold *from = some_hold(w), *to = some_hold(w);
	hold was = *from;

	if (to->of)
		to = from;
	world_log(w, "permit %d: move to %d", number(w, from), number(w, to));
	/*
	 * The source is empty before the target is set, also if both are the
	 * same.
	 */
	was.permit = weir_permit_move(&from->permit);
	set(from, NULL, 0, false);
	EXPECT(w, weir_permit_count(&from->permit), 0);
	to->permit = was.permit;
	set(to, was.of, was.n, was.owned);
	world_settle(w, true);
}

void ops_permit_forget(world *w)
{
	hold *h = some_hold(w);
	world *of = h->of ? h->of : w;
	weir_err want = h->of ? model_forget(&of->m, h->n) : WEIR_OK;

	world_log(of, "permit %d: forget %" PRId64, number(w, h), h->n);
	EXPECT(of, weir_permit_forget(&h->permit), want);
	if (!want)
		set(h, NULL, 0, false);
	world_settle(of, !of->m.barging);
}

void ops_permit_disown(world *w)
{
	hold *h = some_hold(w);

	world_log(w, "permit %d: disown", number(w, h));
	EXPECT(w, weir_permit_disown(&h->permit), h->n);
	if (h->owned)
		weir_sem_unref(h->of->sem);
	set(h, NULL, 0, false);
	world_settle(w, true);
}
