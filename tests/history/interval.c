/* SPDX-License-Identifier: MIT */
/*
 * Necessary conditions of every correct history, from the certain and the
 * possible counts between any two stamps.  This checker has no model of the
 * queue and does not use spec.h.  It is fast and always gives a verdict: a
 * second opinion on histories that linear.c accepts, and the only one on those
 * that linear.c leaves undecided.
 *
 * The conditions:
 *
 *   C1..  every result is one that the call may return
 *   C10   a granted call: at some moment of the call, the permits certainly
 *         held plus its own did not exceed the capacity; and the permits
 *         certainly held never exceed the largest capacity so far
 *   C5    a refused call: at some moment of the call, too many permits may
 *   C14   have been held, or another call may have been waiting
 *   C11   ETOOBIG: at some moment the capacity may have been too small
 *   C19   no ECLOSED before a close began; no other result after one returned
 *   C13   no ECANCELED before a cancel began; no success after it returned
 *   N8    stat: `granted` is not more than the waiting calls in progress got
 *   C16   in the end all acquired permits have been released
 *   C4    one permit, FIFO: a call seen waiting before another call began is
 *         granted before it.  With one permit the order of grants is visible:
 *         each call holds the permit from before it returns until after its
 *         release begins.
 */
#include "interval.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#define OPS_MAX 16384

struct edge {
	uint64_t stamp;
	int32_t op;
	bool ends;
};

/* The counts between one stamp and the next. */
struct gap {
	int32_t surely_out, maybe_out;
	int32_t least_capacity, most_capacity;
	int32_t ever_capacity;		/* the largest so far */
	int32_t waiting;		/* calls in progress that waited */
	int32_t granted;		/* permits that these may have */
};

static struct edge edges[OPS_MAX * 2];
static struct gap gaps[OPS_MAX * 2];
static int32_t first_gap[OPS_MAX], last_gap[OPS_MAX];
static ctx_end ends[OPS_MAX];

static bool fail(verdict *v, const op *o, const char *what)
{
	char text[300];

	v->judgement = BAD;
	op_show(o, text, sizeof(text));
	snprintf(v->why, sizeof(v->why), "%s:\n  %s\n", what, text);
	return false;
}

static bool takes(const op *o)
{
	return o->kind == OP_ACQUIRE || o->kind == OP_TRY ||
	       o->kind == OP_DRAIN;
}

/* Permits that o may have held for a moment although it failed. */
static int lent(const op *o)
{
	return op_hands_back(o) ? o->max : 0;
}

static int by_stamp(const void *left, const void *right)
{
	const struct edge *a = left, *b = right;

	return a->stamp < b->stamp ? -1 : a->stamp > b->stamp;
}

/*
 * Find the possible capacities after edge `at`: the capacity of a resize in
 * progress, or of a finished one that no other resize certainly followed.
 */
static void find_capacities(const history *h, int at, struct gap *gap)
{
	uint64_t latest = 0;

	for (int i = 0; i <= at; i++) {
		const op *o = &h->ops[edges[i].op];

		if (o->kind == OP_RESIZE && edges[i].ends && o->begun > latest)
			latest = o->begun;
	}
	gap->least_capacity = latest ? INT32_MAX : h->permits;
	gap->most_capacity = latest ? 0 : h->permits;
	for (int i = 0; i <= at; i++) {
		const op *o = &h->ops[edges[i].op];

		if (o->kind != OP_RESIZE || edges[i].ends || o->ended < latest)
			continue;
		if (o->min < gap->least_capacity)
			gap->least_capacity = o->min;
		if (o->min > gap->most_capacity)
			gap->most_capacity = o->min;
	}
	if (gap->most_capacity > gap->ever_capacity)
		gap->ever_capacity = gap->most_capacity;
}

static void pass(const history *h, int at, struct gap *gap)
{
	const op *o = &h->ops[edges[at].op];
	bool over = edges[at].ends;

	if (takes(o) && !o->err) {
		if (over)
			gap->surely_out += o->got;
		else
			gap->maybe_out += o->got;
	}
	if (o->kind == OP_RELEASE) {
		if (over)
			gap->maybe_out -= o->min;
		else
			gap->surely_out -= o->min;
	}
	gap->maybe_out += over ? -lent(o) : lent(o);
	if (o->queued) {
		gap->waiting += over ? -1 : 1;
		gap->granted += (over ? -1 : 1) * (o->err ? lent(o) : o->got);
	}
	if (o->kind == OP_RESIZE)
		find_capacities(h, at, gap);
}

static void find_gaps(const history *h)
{
	struct gap gap = { .least_capacity = h->permits,
			   .most_capacity = h->permits,
			   .ever_capacity = h->permits };

	for (int i = 0; i < h->count; i++) {
		edges[2 * i] = (struct edge){ h->ops[i].begun, i, false };
		edges[2 * i + 1] = (struct edge){ h->ops[i].ended, i, true };
	}
	qsort(edges, (size_t)h->count * 2, sizeof(edges[0]), by_stamp);
	for (int i = 0; i < h->count * 2; i++) {
		if (edges[i].ends)
			last_gap[edges[i].op] = i - 1;
		else
			first_gap[edges[i].op] = i;
		pass(h, i, &gap);
		gaps[i] = gap;
	}
}

static bool can_answer(const op *o)
{
	bool given = !o->err && o->got >= o->min && o->got <= o->max;
	bool nothing = o->err && !o->got;

	switch (o->kind) {
	case OP_ACQUIRE:
		if (o->err == WEIR_ETIMEDOUT && !o->deadline)
			return false;
		if (o->err == WEIR_ECANCELED || o->err == WEIR_ETOOBIG)
			return nothing && (o->ctx == NO_CTX) ==
				(o->err == WEIR_ETOOBIG);
		return given || (nothing && (o->err == WEIR_ETIMEDOUT ||
					     o->err == WEIR_ECLOSED));
	case OP_TRY:
		return given || (nothing && (o->err == WEIR_EAGAIN ||
					     o->err == WEIR_ECLOSED));
	case OP_DRAIN:
		return o->err ? nothing && o->err == WEIR_ECLOSED : o->got >= 0;
	default:
		return !o->err;
	}
}

/* Returns true if o was refused permits and had no ctx that could end. */
static bool was_refused(const op *o)
{
	return o->err == WEIR_EAGAIN ||
	       (o->err == WEIR_ETIMEDOUT && o->ctx == NO_CTX);
}

static bool check_amounts(const history *h, int i, verdict *v)
{
	const op *o = &h->ops[i];
	bool queue_refuses = h->policy == WEIR_FIFO || h->overdue;
	bool served = false, refused = false, too_big = false, granted = false;

	for (int k = first_gap[i]; k <= last_gap[i]; k++) {
		const struct gap *gap = &gaps[k];
		int waiting = gap->waiting - (o->queued != 0);

		served |= gap->surely_out + o->got <= gap->most_capacity;
		refused |= gap->maybe_out + o->min > gap->least_capacity ||
			   (queue_refuses && waiting > 0);
		too_big |= o->min > gap->least_capacity;
		granted |= o->granted <= gap->granted;
	}
	if (takes(o) && gaps[last_gap[i] + 1].surely_out >
				gaps[last_gap[i] + 1].ever_capacity)
		return fail(v, o, "C10: more held than the capacity");
	if (takes(o) && !o->err && o->got && !served)
		return fail(v, o, "C10: more would be held than the capacity");
	if (takes(o) && was_refused(o) && !refused)
		return fail(v, o, "C5, C14: refused with enough permits free "
			    "and no call waiting");
	if (o->kind == OP_STAT && !granted)
		return fail(v, o, "N8: more granted than all waiters got");
	if (o->err == WEIR_ETOOBIG && !too_big)
		return fail(v, o, "C11: never larger than the capacity");
	return true;
}

static bool check_ctx(const op *o, const ctx_end *end, verdict *v)
{
	if (o->kind != OP_ACQUIRE)
		return true;
	if (o->err == WEIR_ECANCELED && end->from > o->ended)
		return fail(v, o, "C13: no cancel had begun");
	if (!o->err && end->by < o->begun)
		return fail(v, o, "C13: the ctx had ended before the call");
	return true;
}

/* Not closed before `from`; certainly closed after `shut`. */
struct closing {
	uint64_t from, shut;
};

static struct closing find_closing(const history *h)
{
	struct closing closing = { UINT64_MAX, UINT64_MAX };

	for (int i = 0; i < h->count; i++) {
		const op *o = &h->ops[i];

		if (o->kind != OP_CLOSE)
			continue;
		if (o->begun < closing.from)
			closing.from = o->begun;
		if (o->how == WEIR_CLOSE_NOW && o->ended < closing.shut)
			closing.shut = o->ended;
	}
	return closing;
}

static bool check_close(const op *o, struct closing closing, verdict *v)
{
	/* C2: the end of a ctx is checked before closed. */
	bool by_ctx = op_hands_back(o);

	if (!takes(o))
		return true;
	if (o->err == WEIR_ECLOSED && o->ended < closing.from)
		return fail(v, o, "C19: no close had begun");
	if (o->err != WEIR_ECLOSED && !by_ctx && o->begun > closing.shut)
		return fail(v, o, "C19: closed before the call began");
	return true;
}

static bool check_one_permit_order(const history *h, verdict *v)
{
	uint64_t newest = 0;	/* latest `begun` among the granted calls */

	for (int i = 0; i < h->count; i++)
		if (h->ops[i].kind == OP_RESIZE)
			return true;
	if (h->permits != 1 || h->policy != WEIR_FIFO)
		return true;
	for (int i = 0; i < h->count * 2; i++) {
		const op *o = &h->ops[edges[i].op];

		if (!edges[i].ends || !takes(o) || o->err || !o->got)
			continue;
		if (o->queued && newest > o->queued)
			return fail(v, o, "C4: waited before a later call that "
				    "was granted earlier");
		if (o->begun > newest)
			newest = o->begun;
	}
	return true;
}

static bool check_conserved(const history *h, verdict *v)
{
	int64_t out = 0;

	for (int i = 0; i < h->count; i++) {
		const op *o = &h->ops[i];

		if (takes(o) && !o->err)
			out += o->got;
		if (o->kind == OP_RELEASE)
			out -= o->min;
	}
	if (!out)
		return true;
	v->judgement = BAD;
	snprintf(v->why, sizeof(v->why), "C16: %" PRId64
		 " permits were acquired and never released\n", out);
	return false;
}

void interval_check(const history *h, verdict *v)
{
	struct closing closing = find_closing(h);

	*v = (verdict){ .judgement = GOOD };
	if (h->count > OPS_MAX) {
		v->judgement = BAD;
		snprintf(v->why, sizeof(v->why), "%d operations are too many\n",
			 h->count);
		return;
	}
	find_gaps(h);
	history_ctx_ends(h, ends);
	for (int i = 0; i < h->count; i++) {
		const op *o = &h->ops[i];

		if (!can_answer(o)) {
			fail(v, o, "not a possible result of this call");
			return;
		}
		if (!check_amounts(h, i, v) || !check_ctx(o, &ends[i], v) ||
		    !check_close(o, closing, v))
			return;
	}
	if (check_one_permit_order(h, v))
		check_conserved(h, v);
}
