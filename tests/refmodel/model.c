/* SPDX-License-Identifier: MIT */
#include "model.h"

static bool bad(int64_t n)
{
	return n < 0 || n > WEIR_SEM_MAX;
}

static int64_t least(int64_t a, int64_t b)
{
	return a < b ? a : b;
}

static void append(model_list *list, model_call call)
{
	list->call[list->count++] = call;
}

static model_call take_out(model_list *list, int at)
{
	model_call call = list->call[at];

	list->count--;
	for (int i = at; i < list->count; i++)
		list->call[i] = list->call[i + 1];
	return call;
}

void model_end_call(model *m, int id, weir_err err, int64_t got)
{
	m->ended[m->ends++] = (model_end){ id, err, got };
}

static void end_call(model *m, model_call call, weir_err err, int64_t got)
{
	model_end_call(m, call.id, err, got);
}

static void take(model *m, int64_t n)
{
	m->free -= n;
	if (!m->unbounded)
		m->held += n;
}

/* C20 */
static void serve_idle(model *m)
{
	for (int i = 0; i < m->oversized.count && !m->held;)
		if (m->oversized.call[i].idle)
			end_call(m, take_out(&m->oversized, i), WEIR_OK, 0);
		else
			i++;
}

/*
 * C30: returns true if the head of the queue is woken to retry, so that it
 * takes its permits a moment later.  Permits are handed to the head directly if
 * the waiter behind it, or the head itself if it is alone, was moved into the
 * queue by a resize: such a waiter does not wake by itself at its bound.
 */
static bool head_retries(const model *m)
{
	return m->barging && !(m->queue.count &&
			       m->queue.call[m->queue.count > 1].moved);
}

/* C4, C6, C7: grant to the heads that fit, in order. */
static void grant_heads(model *m)
{
	/* All permits may be free until the woken head has taken its own. */
	if (head_retries(m))
		serve_idle(m);
	while (m->queue.count && m->queue.call[0].min <= m->free) {
		model_call call = take_out(&m->queue, 0);
		int64_t got = least(m->free, call.max);

		take(m, got);
		end_call(m, call, WEIR_OK, got);
	}
	serve_idle(m);
}

/* C4, C30: the number of permits that a new request may take. */
static int64_t free_for_new_requests(const model *m)
{
	return m->queue.count && !m->barging ? 0 : m->free;
}

/* C2, with C11 C12 C14 C19 C31. */
weir_err model_acquire(model *m, model_call call, weir_err ctx, bool late,
		       int64_t *got)
{
	int64_t open = free_for_new_requests(m);

	m->ends = 0;
	*got = 0;
	if (bad(call.min) || bad(call.max) || call.min > call.max)
		return WEIR_EINVAL;
	if (ctx)
		return ctx;
	if (m->closed && !m->drain)
		return WEIR_ECLOSED;
	if (call.min <= open) {
		*got = least(open, call.max);
		take(m, *got);
		return WEIR_OK;
	}
	if (m->closed)
		return WEIR_ECLOSED;
	if (call.min > m->capacity) {
		if (!call.ctx)
			return WEIR_ETOOBIG;
		append(&m->oversized, call);
		return MODEL_WAITS;
	}
	if (m->max_waiters && m->queue.count >= m->max_waiters)
		return WEIR_EBUSY;
	if (late)
		return WEIR_ETIMEDOUT;
	append(&m->queue, call);
	return MODEL_WAITS;
}

/* C5 */
weir_err model_try(model *m, int64_t n)
{
	m->ends = 0;
	if (bad(n))
		return WEIR_EINVAL;
	if (m->closed && !m->drain)
		return WEIR_ECLOSED;
	if (n > free_for_new_requests(m))
		return m->closed ? WEIR_ECLOSED : WEIR_EAGAIN;
	take(m, n);
	return WEIR_OK;
}

/* C6, C8, C9, C21: released permits pay the debt first. */
weir_err model_release(model *m, int64_t n)
{
	int64_t paid = least(n, m->debt);

	m->ends = 0;
	if (bad(n))
		return WEIR_EINVAL;
	if (n > (m->unbounded ? WEIR_SEM_MAX - m->free : m->held))
		return WEIR_EOVERFLOW;
	m->debt -= paid;
	m->free += n - paid;
	if (!m->unbounded)
		m->held -= n;
	grant_heads(m);
	return WEIR_OK;
}

/*
 * C11: waiters above the capacity leave the queue; oversized waiters that fit
 * now join it.
 */
static void sort_waiters(model *m)
{
	for (int i = 0; i < m->queue.count;) {
		model_call call = m->queue.call[i];

		if (call.min <= m->capacity) {
			i++;
			continue;
		}
		take_out(&m->queue, i);
		if (call.ctx)
			append(&m->oversized, call);
		else
			end_call(m, call, WEIR_ETOOBIG, 0);
	}
	for (int i = 0; i < m->oversized.count;) {
		m->oversized.call[i].moved = true;
		if (!m->oversized.call[i].idle &&
		    m->oversized.call[i].min <= m->capacity)
			append(&m->queue, take_out(&m->oversized, i));
		else
			i++;
	}
}

/* C21 */
weir_err model_resize(model *m, int64_t n, int64_t *debt)
{
	int64_t value;

	m->ends = 0;
	if (bad(n) || m->unbounded)
		return WEIR_EINVAL;
	value = m->free - m->debt + (n - m->capacity);
	m->capacity = n;
	m->free = value > 0 ? value : 0;
	m->debt = value < 0 ? -value : 0;
	*debt = m->debt;
	sort_waiters(m);
	grant_heads(m);
	return WEIR_OK;
}

weir_err model_forget(model *m, int64_t n)
{
	int64_t paid = least(n, m->debt);

	m->ends = 0;
	if (bad(n))
		return WEIR_EINVAL;
	if (m->unbounded)
		return WEIR_OK;
	if (n > m->held)
		return WEIR_EOVERFLOW;
	m->debt -= paid;
	m->capacity -= n - paid;
	m->held -= n;
	sort_waiters(m);
	grant_heads(m);
	return WEIR_OK;
}

/* C20 */
weir_err model_wait_idle(model *m, model_call call, weir_err ctx)
{
	m->ends = 0;
	if (m->unbounded)
		return WEIR_EINVAL;
	if (ctx)
		return ctx;
	if (!m->held)
		return WEIR_OK;
	append(&m->oversized, call);
	return MODEL_WAITS;
}

/* C19 */
void model_close(model *m, weir_close how)
{
	m->ends = 0;
	m->drain = how == WEIR_CLOSE_DRAIN && (m->drain || !m->closed);
	m->closed = true;
	while (m->queue.count) {
		model_call call = take_out(&m->queue, 0);
		bool fits = m->drain && call.min <= m->free;
		int64_t got = fits ? least(m->free, call.max) : 0;

		take(m, got);
		end_call(m, call, fits ? WEIR_OK : WEIR_ECLOSED, got);
	}
	for (int i = 0; i < m->oversized.count;)
		if (m->oversized.call[i].idle)
			i++;
		else
			end_call(m, take_out(&m->oversized, i), WEIR_ECLOSED, 0);
	grant_heads(m);
}

static void cancel_in(model *m, model_list *list, uint32_t ctxs)
{
	for (int i = 0; i < list->count;)
		if (list->call[i].ctx && ctxs >> list->call[i].ctx & 1)
			end_call(m, take_out(list, i), WEIR_ECANCELED, 0);
		else
			i++;
}

/* C13 */
void model_cancel(model *m, uint32_t ctxs)
{
	m->ends = 0;
	cancel_in(m, &m->queue, ctxs);
	cancel_in(m, &m->oversized, ctxs);
	grant_heads(m);
}

int64_t model_waiting_permits(const model *m)
{
	int64_t sum = 0;

	for (int i = 0; i < m->queue.count; i++)
		sum += least(m->queue.call[i].min, INT64_MAX - sum);
	return sum;
}
