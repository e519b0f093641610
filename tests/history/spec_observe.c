/* SPDX-License-Identifier: MIT */
/* Calls that change nothing: the states that explain their results. spec.h. */
#include "spec.h"

/* C19: returns true if an acquire or a try of o->min finds it closed. */
static bool sees_closed(const spec *s, const config *c, const op *o)
{
	return c->closed == SHUT ||
	       (c->closed == DRAINING && spec_room(s, c) < o->min);
}

/* An acquire that fails without waiting: C2, C11, C14, C16. */
static bool acquire_failed(const spec *s, const config *c, int t)
{
	const op *o = spec_op(s, c, t);
	bool too_few = spec_room(s, c) < o->min;

	if (o->queued || !spec_unlocked(c, t))
		return false;
	switch (o->err) {
	case WEIR_ECLOSED:
		return sees_closed(s, c, o);
	case WEIR_ETOOBIG:
		return !c->closed && o->ctx == NO_CTX && too_few &&
		       o->min > c->capacity;
	case WEIR_ETIMEDOUT:
		return !c->closed && o->ctx == NO_CTX && o->deadline &&
		       o->min <= c->capacity && (too_few || spec_refuses(s, c));
	default:
		return false;
	}
}

/* C5: no spurious failure. */
static bool try_failed(const spec *s, const config *c, int t)
{
	const op *o = spec_op(s, c, t);

	if (o->err == WEIR_ECLOSED)
		return sees_closed(s, c, o);
	if (o->err != WEIR_EAGAIN || c->closed)
		return false;
	/* Too few free permits are visible without the lock. */
	if (c->value < o->min)
		return true;
	return spec_unlocked(c, t) && c->queue_count &&
	       (spec_fifo(s) || s->h->overdue);
}

/* C12 */
static bool drained_nothing(const spec *s, const config *c, int t)
{
	const op *o = spec_op(s, c, t);

	if (!spec_unlocked(c, t))
		return false;
	if (o->err == WEIR_ECLOSED)
		return c->closed == SHUT;
	return !o->err && !o->got && c->closed != SHUT &&
	       (!spec_room(s, c) || spec_refuses(s, c));
}

/*
 * Waiters that give up stay in the model's queue as long as possible, so the
 * length of the model's queue is an upper bound for the observed one.
 */
static bool stat_matches(const spec *s, const config *c, int t)
{
	const op *o = spec_op(s, c, t);
	int surely = 0;

	for (int i = 0; i < c->queue_count; i++)
		surely += !op_gave_up(spec_op(s, c, c->queue[i]));
	return spec_unlocked(c, t) && o->free - o->debt == c->value &&
	       (!o->free || !o->debt) && o->capacity == c->capacity &&
	       o->waiters >= surely && o->waiters <= c->queue_count &&
	       o->closed == (c->closed != OPEN);
}

static bool explained(const spec *s, const config *c, int t)
{
	const op *o = spec_op(s, c, t);

	/* C21: the remaining debt may have been read a little later. */
	if (c->phase[t] == REPORTS)
		return o->got == (c->value < 0 ? -c->value : 0);
	if (c->phase[t] != BEGUN)
		return false;
	switch (o->kind) {
	case OP_ACQUIRE:
		return acquire_failed(s, c, t);
	case OP_TRY:
		return try_failed(s, c, t);
	case OP_DRAIN:
		return drained_nothing(s, c, t);
	case OP_STAT:
		return stat_matches(s, c, t);
	case OP_CANCEL:
		return true;
	default:
		return false;
	}
}

void spec_observe(const spec *s, config *c)
{
	for (int t = 0; t < HISTORY_THREADS; t++)
		if ((c->phase[t] == BEGUN || c->phase[t] == REPORTS) &&
		    explained(s, c, t))
			c->phase[t] = OVER;
}
