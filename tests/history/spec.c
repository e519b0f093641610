/* SPDX-License-Identifier: MIT */
/* Apply steps: spec.h. */
#include "spec.h"

#include <string.h>

void spec_start(const spec *s, config *c)
{
	memset(c, 0, sizeof(*c));
	c->value = c->capacity = (int16_t)s->h->permits;
	c->holder = c->last = NO_THREAD;
}

void spec_begin(const spec *s, config *c, int number)
{
	int t = s->h->ops[number].thread;

	c->op[t] = (uint16_t)number;
	c->phase[t] = BEGUN;
	spec_observe(s, c);
}

void spec_end(config *c, int thread)
{
	c->phase[thread] = IDLE;
	if (c->last == thread)
		c->last = NO_THREAD;
}

/*
 * Returns true if t may have given up before a stamp: a deadline may have
 * passed at any time, a cancel must have begun.
 */
static bool gave_up_by(const spec *s, const config *c, int t, uint64_t stamp)
{
	const op *o = spec_op(s, c, t);

	if (!op_gave_up(o))
		return false;
	if (o->err == WEIR_ETIMEDOUT)
		return o->deadline;
	return s->ends[c->op[t]].from < stamp;
}

static bool can_leave(const spec *s, const config *c, int t)
{
	return gave_up_by(s, c, t, s->now);
}

bool spec_can_end(const config *c, int thread)
{
	return c->phase[thread] == OVER && c->holder != thread;
}

static void append(uint8_t *list, uint8_t *count, int t)
{
	list[(*count)++] = (uint8_t)t;
}

static void take_out(uint8_t *list, uint8_t *count, int t)
{
	int at = 0;

	while (list[at] != t)
		at++;
	memmove(list + at, list + at + 1, (size_t)(*count - at - 1));
	list[--*count] = 0;
}

/*
 * Returns true if t may hold the lock: it has not yet done what it needs the
 * lock for, it took the lock last, or it may take the lock once more without
 * effect, as a waiter does at its deadline.
 */
bool spec_may_hold(const spec *s, const config *c, int t)
{
	const op *o = spec_op(s, c, t);

	if (c->phase[t] == IDLE)
		return false;
	if (c->last == t)
		return true;
	switch (o->kind) {
	case OP_CANCEL:
	case OP_STAT:
		return true;
	case OP_RELEASE:
		return false;
	case OP_RESIZE:
	case OP_CLOSE:
		return c->phase[t] == BEGUN;
	case OP_ACQUIRE:
		if (c->phase[t] == BEGUN || o->err)
			return true;
		return c->phase[t] == OVER &&
		       (o->deadline || o->ctx != NO_CTX);
	default:
		return c->phase[t] == BEGUN || !o->got;
	}
}

/*
 * Take permits out of `room`.  Returns true if the amount agrees with the
 * call's result. `less` fewer permits are taken than possible.
 */
static bool take_less(const spec *s, config *c, int t, int room, int less)
{
	const op *o = spec_op(s, c, t);
	int got = room < o->max || o->kind == OP_DRAIN ? room : o->max;

	got -= less;
	if (got < o->min)
		return false;
	c->value = (int16_t)(c->value - got);
	if (op_hands_back(o)) {
		c->phase[t] = TOOK;
		c->took[t] = (uint8_t)got;
		return true;
	}
	c->phase[t] = OVER;
	return !o->err && o->got == got;
}

static bool take(const spec *s, config *c, int t, int room)
{
	return take_less(s, c, t, room, 0);
}

/*
 * How many permits fewer than are free a waiter for min..max may have been
 * granted.  The granting call may have read the value earlier than the queue.
 * Only if another call is in progress.
 */
static int grants_less(const spec *s, const config *c, int t, int granter)
{
	const op *o = spec_op(s, c, t);
	int got = c->value < o->max ? c->value : o->max;

	if (o->err || o->got >= got)
		return 0;
	for (int h = 0; h < HISTORY_THREADS; h++)
		if (h != granter && h != t && spec_may_hold(s, c, h))
			return got - o->got;
	return 0;
}

static bool head_fits(const spec *s, const config *c)
{
	return spec_fifo(s) && c->queue_count &&
	       spec_op(s, c, c->queue[0])->min <= c->value;
}

/*
 * FIFO: grant to the heads that fit.  A head that gives up must have left
 * before, unless it has a ctx: then it may have been granted (a choice), and
 * the remaining grants are another step.
 */
static bool grant_heads(const spec *s, config *c, int granter, int choice)
{
	while (head_fits(s, c)) {
		int t = c->queue[0];
		bool leaves = can_leave(s, c, t);
		bool hands_back = op_hands_back(spec_op(s, c, t));

		take_out(c->queue, &c->queue_count, t);
		if (hands_back && choice)
			return take_less(s, c, t, c->value, choice - 1);
		if (leaves)
			c->phase[t] = OVER;
		else if (hands_back ||
			 !take_less(s, c, t, c->value,
				    grants_less(s, c, t, granter)))
			return false;
	}
	return true;
}

/* C2, C3, C4, C11, C12 */
static bool arrive(const spec *s, config *c, int t)
{
	const op *o = spec_op(s, c, t);
	bool fits = spec_room(s, c) >= o->min;

	if (c->closed == SHUT)
		return false;
	if (!o->queued)
		return fits && take(s, c, t, spec_room(s, c));
	if ((fits && !spec_refuses(s, c)) || c->closed)
		return false;
	/* C13: a ctx whose cancel has returned prevents enqueueing. */
	if (o->ctx != NO_CTX && s->ends[c->op[t]].by < s->now)
		return false;
	if (o->min <= c->capacity) {
		append(c->queue, &c->queue_count, t);
		c->phase[t] = QUEUED;
		return true;
	}
	append(c->oversized, &c->oversized_count, t);
	c->phase[t] = OVERSIZED;
	return o->ctx != NO_CTX;
}

/* Refuse a waiter with err, unless it had left before `stamp`. */
static bool refuse(const spec *s, config *c, int t, weir_err err,
		   uint64_t stamp)
{
	c->phase[t] = OVER;
	return spec_op(s, c, t)->err == err || gave_up_by(s, c, t, stamp);
}

/* C11, C21 */
static bool resize(const spec *s, config *c, int t)
{
	const op *o = spec_op(s, c, t);

	c->value = (int16_t)(c->value + o->min - c->capacity);
	c->capacity = (int16_t)o->min;
	c->phase[t] = REPORTS;
	for (int i = 0; i < c->queue_count;) {
		int w = c->queue[i];
		const op *waits = spec_op(s, c, w);

		if (waits->min <= c->capacity) {
			i++;
			continue;
		}
		take_out(c->queue, &c->queue_count, w);
		if (waits->ctx == NO_CTX) {
			if (!refuse(s, c, w, WEIR_ETOOBIG, s->now))
				return false;
			continue;
		}
		append(c->oversized, &c->oversized_count, w);
		c->phase[w] = OVERSIZED;
	}
	for (int i = 0; i < c->oversized_count;) {
		int w = c->oversized[i];

		if (spec_op(s, c, w)->min > c->capacity) {
			i++;
			continue;
		}
		take_out(c->oversized, &c->oversized_count, w);
		append(c->queue, &c->queue_count, w);
		c->phase[w] = QUEUED;
	}
	return true;
}

/*
 * DRAIN: one waiter, in order. `granted` counts the waiters that hand their
 * permits back.
 *
 * A ctx may end while a close works on the queue.  This affects the result of a
 * waiter, and which waiters a draining close skips.
 */
static bool drain_one(spec *s, config *c, int t, const op *closer, int choice,
		      int *granted)
{
	const op *o = spec_op(s, c, t);

	if (c->value < o->min)
		return refuse(s, c, t, WEIR_ECLOSED, closer->ended);
	if (op_hands_back(o)) {
		int bit = (*granted)++;

		if (bit >= SPEC_CHOICES)
			s->left_out = true;
		else if (choice >> bit & 1)
			return take(s, c, t, c->value);
	}
	if (gave_up_by(s, c, t, closer->ended)) {
		c->phase[t] = OVER;
		return true;
	}
	return take(s, c, t, c->value);
}

static bool refuse_all(const spec *s, config *c, uint8_t *list, uint8_t *count,
		       const op *closer)
{
	while (*count) {
		int t = list[0];

		take_out(list, count, t);
		if (!refuse(s, c, t, WEIR_ECLOSED, closer->ended))
			return false;
	}
	return true;
}

/* C19 */
static bool close_it(spec *s, config *c, int t, int choice)
{
	const op *o = spec_op(s, c, t);
	bool drains = o->how == WEIR_CLOSE_DRAIN && c->closed != SHUT;
	int granted = 0;

	if (drains && c->closed == OPEN) {
		while (c->queue_count) {
			int w = c->queue[0];

			take_out(c->queue, &c->queue_count, w);
			if (!drain_one(s, c, w, o, choice, &granted))
				return false;
		}
	}
	/* Higher choice bits would only repeat the same choices. */
	if (choice >> granted)
		return false;
	c->closed = drains ? DRAINING : SHUT;
	c->phase[t] = OVER;
	return refuse_all(s, c, c->queue, &c->queue_count, o) &&
	       refuse_all(s, c, c->oversized, &c->oversized_count, o);
}

static bool act(spec *s, config *c, int t, int choice)
{
	const op *o = spec_op(s, c, t);

	switch (o->kind) {
	case OP_ACQUIRE:
		return arrive(s, c, t);
	case OP_TRY:
		return !o->err && c->closed != SHUT &&
		       spec_room(s, c) >= o->min &&
		       take(s, c, t, spec_room(s, c));
	case OP_DRAIN:
		return !o->err && c->closed != SHUT && spec_room(s, c) > 0 &&
		       take(s, c, t, spec_room(s, c));
	case OP_RELEASE:
		c->phase[t] = OVER;
		c->value = (int16_t)(c->value + o->min);
		return c->value <= c->capacity;
	case OP_RESIZE:
		return resize(s, c, t);
	case OP_CLOSE:
		return close_it(s, c, t, choice);
	default:
		return false;
	}
}

static bool leave(const spec *s, config *c, int t)
{
	if (!can_leave(s, c, t))
		return false;
	if (c->phase[t] == QUEUED)
		take_out(c->queue, &c->queue_count, t);
	else
		take_out(c->oversized, &c->oversized_count, t);
	c->phase[t] = OVER;
	return true;
}

static bool hand_back(const spec *s, config *c, int t)
{
	if (!can_leave(s, c, t))
		return false;
	c->value = (int16_t)(c->value + c->took[t]);
	c->took[t] = 0;
	c->phase[t] = OVER;
	return true;
}

static bool grant_head(const spec *s, config *c, int t, int choice)
{
	int less = grants_less(s, c, t, t);

	if (c->value < spec_op(s, c, t)->min)
		return false;
	if (op_hands_back(spec_op(s, c, t)))
		less = choice;
	else if (choice)
		return false;
	take_out(c->queue, &c->queue_count, t);
	return take_less(s, c, t, c->value, less);
}

static bool change(spec *s, config *c, step st)
{
	int t = st.thread;

	switch (st.kind) {
	case STEP_ACT:
		return act(s, c, t, st.choice);
	case STEP_LEAVE:
		return leave(s, c, t);
	case STEP_SKIP:
		c->phase[t] = OVER;
		return can_leave(s, c, t);
	case STEP_TAKE:
		return c->closed != SHUT &&
		       spec_room(s, c) >= spec_op(s, c, t)->min &&
		       take(s, c, t, spec_room(s, c));
	case STEP_BACK:
		return hand_back(s, c, t);
	case STEP_GRANT:
		return grant_head(s, c, t, st.choice);
	default:
		return true;
	}
}

bool spec_do(spec *s, config *c, step st)
{
	bool added = spec_adds(s, c, st);

	if (!change(s, c, st))
		return false;
	/* Permits added while a call holds the lock are left to that call. */
	if (st.kind != STEP_SKIP && (!added || c->holder == NO_THREAD)) {
		c->last = c->holder == NO_THREAD ? (int8_t)st.thread :
						c->holder;
		if (st.holder != NO_THREAD) {
			if (!head_fits(s, c))
				return false;
			c->holder = st.holder;
		} else {
			if (!grant_heads(s, c, c->last,
					 st.kind == STEP_GRANT_ALL ?
					 st.choice : 0))
				return false;
			c->holder = head_fits(s, c) ? c->last : NO_THREAD;
		}
	}
	spec_observe(s, c);
	return true;
}
