/* SPDX-License-Identifier: MIT */
/*
 * What must hold in every right history, by adding up what is certain and what
 * is possible between any two stamps.  It knows nothing of the queue and of
 * spec.h, takes little time, and always answers: a second opinion on what
 * linear.c accepts, and the only one on what that leaves undecided.
 *
 * Each is a necessary condition:
 *
 *   C1..  every answer is one that the call can give
 *   C10   whoever was served: at some moment of the call, what was surely out
 *         and what it got were together no more than the capacity; and never is
 *         surely more out than the capacity has been up to then
 *   C5    whoever was refused: at some moment of the call, too many may have
 *   C14   been out, or somebody may have been waiting
 *   C11   ETOOBIG: at some moment the capacity may have been too small
 *   C19   ECLOSED not before a close began; nothing else once one has returned
 *   C13   ECANCELED not before a cancel began; no success once it has returned
 *   N8    stat: no more is granted than the calls in progress that waited got
 *   C16   in the end everything that was got has been given back
 *   C4    one permit, FIFO: who was seen waiting before another came is served
 *         before it.  With one permit the order of service can be seen: each
 *         holds it from before it returns until after it begins to release.
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

/* Between one stamp and the next. */
struct gap {
	int32_t surely_out, maybe_out;
	int32_t least_capacity, most_capacity;
	int32_t ever_capacity;		/* the most so far */
	int32_t waiting;		/* calls in progress that waited */
	int32_t granted;		/* what these may have */
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

/* Permits that o may have had out for a moment although it failed. */
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
 * What the capacity can be behind edge `at`: what a resize in progress makes
 * it, or one that has returned and that no other has followed for certain.
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

/* Whether o was refused permits without having had a ctx to end. */
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
		return fail(v, o, "C10: more than the capacity is out");
	if (takes(o) && !o->err && o->got && !served)
		return fail(v, o, "C10: more than the capacity would be out");
	if (takes(o) && was_refused(o) && !refused)
		return fail(v, o, "C5, C14: refused, with enough free and "
			    "nobody waiting");
	if (o->kind == OP_STAT && !granted)
		return fail(v, o, "N8: more is granted than anybody can have");
	if (o->err == WEIR_ETOOBIG && !too_big)
		return fail(v, o, "C11: it was never more than the capacity");
	return true;
}

static bool check_ctx(const op *o, const ctx_end *end, verdict *v)
{
	if (o->kind != OP_ACQUIRE)
		return true;
	if (o->err == WEIR_ECANCELED && end->from > o->ended)
		return fail(v, o, "C13: nobody had cancelled it");
	if (!o->err && end->by < o->begun)
		return fail(v, o, "C13: its ctx had ended before it began");
	return true;
}

/* Not closed before `from`, and surely closed to all after `shut`. */
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
	/* C2: a ctx that has ended comes first. */
	bool by_ctx = op_hands_back(o);

	if (!takes(o))
		return true;
	if (o->err == WEIR_ECLOSED && o->ended < closing.from)
		return fail(v, o, "C19: nobody had closed it");
	if (o->err != WEIR_ECLOSED && !by_ctx && o->begun > closing.shut)
		return fail(v, o, "C19: it was closed before this began");
	return true;
}

static bool check_one_permit_order(const history *h, verdict *v)
{
	uint64_t newest = 0;	/* begun, of those that have been served */

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
			return fail(v, o, "C4: it waited before one that was "
				    "served before it had come");
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
		 " permits were got and not given back\n", out);
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
			fail(v, o, "not an answer to this call");
			return;
		}
		if (!check_amounts(h, i, v) || !check_ctx(o, &ends[i], v) ||
		    !check_close(o, closing, v))
			return;
	}
	if (check_one_permit_order(h, v))
		check_conserved(h, v);
}
