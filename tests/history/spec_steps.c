/* SPDX-License-Identifier: MIT */
/* The possible steps, and the order in which to try them: spec.h. */
#include "spec.h"

struct list {
	spec *s;
	step *steps;
	int count;
};

static void add(struct list *list, int kind, int thread, int holder, int choice)
{
	if (list->count == STEPS_MAX) {
		list->s->left_out = true;
		return;
	}
	list->steps[list->count++] = (step){ (uint8_t)kind, (uint8_t)thread,
					     (int8_t)holder, (uint8_t)choice };
}

/* Add the steps that t can make if it holds the lock or the lock is free. */
static void add_steps_of(struct list *list, const config *c, int t, bool forced)
{
	const spec *s = list->s;
	const op *o = spec_op(s, c, t);
	bool head = c->queue_count && c->queue[0] == t;

	switch (c->phase[t]) {
	case BEGUN:
		if (op_hands_back(o) && !o->queued) {
			if (forced)
				add(list, STEP_SKIP, t, NO_THREAD, 0);
			add(list, STEP_TAKE, t, NO_THREAD, 0);
		} else if (o->kind == OP_CLOSE && o->how == WEIR_CLOSE_DRAIN) {
			for (int i = 0; i < 1 << SPEC_CHOICES; i++)
				add(list, STEP_ACT, t, NO_THREAD, i);
		} else {
			add(list, STEP_ACT, t, NO_THREAD, 0);
		}
		break;
	case QUEUED:
		if (head && !spec_fifo(s))
			for (int i = 0; i <= SPEC_CHOICES; i++)
				add(list, STEP_GRANT, t, NO_THREAD, i);
		/* A waiter that is not the head blocks no other waiter (C7). */
		if (head || forced)
			add(list, STEP_LEAVE, t, NO_THREAD, 0);
		break;
	case OVERSIZED:
		if (forced)
			add(list, STEP_LEAVE, t, NO_THREAD, 0);
		break;
	case TOOK:
		add(list, STEP_BACK, t, NO_THREAD, 0);
		break;
	default:
		break;
	}
}

/* Returns true if st is possible while the holder has the lock. */
static bool passes_lock(const spec *s, const config *c, step st)
{
	if (spec_unlocked(c, st.thread) || spec_adds(s, c, st) ||
	    st.kind == STEP_SKIP)
		return true;
	/* A cancel dequeues its waiters. */
	return st.kind == STEP_LEAVE &&
	       spec_op(s, c, c->holder)->kind == OP_CANCEL &&
	       spec_op(s, c, st.thread)->err == WEIR_ECANCELED;
}

/* Add the same steps with the grants left for later. */
static void add_held(struct list *list, const config *c)
{
	int made = list->count;

	for (int i = 0; i < made; i++) {
		step st = list->steps[i];

		if (st.kind == STEP_TAKE || st.kind == STEP_SKIP ||
		    st.kind == STEP_GRANT_ALL ||
		    (c->holder != NO_THREAD && c->holder != st.thread))
			continue;
		add(list, st.kind, st.thread, st.thread, st.choice);
		if (!spec_adds(list->s, c, st) || c->holder != NO_THREAD)
			continue;
		for (int h = 0; h < HISTORY_THREADS; h++)
			if (h != st.thread && spec_may_hold(list->s, c, h))
				add(list, st.kind, st.thread, h, st.choice);
	}
}

/* Releases first, then in the order in which the calls returned. */
static int order_threads(const spec *s, const config *c, int first, int *order)
{
	uint64_t rank[HISTORY_THREADS];
	int count = 0;

	for (int t = 0; t < HISTORY_THREADS; t++) {
		const op *o = spec_op(s, c, t);
		int at = count;

		if (c->phase[t] == IDLE || c->phase[t] == OVER)
			continue;
		rank[t] = t == first ? 0 : o->ended;
		if (t != first && o->kind != OP_RELEASE)
			rank[t] += UINT64_MAX / 2;
		for (; at > 0 && rank[order[at - 1]] > rank[t]; at--)
			order[at] = order[at - 1];
		order[at] = t;
		count++;
	}
	return count;
}

int spec_steps(spec *s, const config *c, int first, step *steps)
{
	struct list list = { s, steps, 0 };
	int order[HISTORY_THREADS];
	int threads = order_threads(s, c, first, order);
	int kept = 0;

	if (c->holder != NO_THREAD)
		for (int i = 0; i <= 1 + SPEC_CHOICES; i++)
			add(&list, STEP_GRANT_ALL, c->holder, NO_THREAD, i);
	for (int i = 0; i < threads; i++)
		add_steps_of(&list, c, order[i], order[i] == first);
	for (int i = 0; i < list.count; i++)
		if (passes_lock(s, c, steps[i]))
			steps[kept++] = steps[i];
	list.count = kept;
	if (spec_fifo(s) && (c->queue_count || c->oversized_count))
		add_held(&list, c);
	return list.count;
}
