/* SPDX-License-Identifier: MIT */
/*
 * Changing the capacity: resize and forget.  docs/design/sem.md, "Changing the
 * capacity".
 */
#include "base/atomic.h"
#include "base/hook.h"
#include "base/panic.h"
#include "core/sem_grant.h"
#include "core/sem_lock.h"
#include "core/sem_queue.h"
#include "core/sem_word.h"
#include "record/record.h"
#include "weir/sem.h"

/*
 * Change the capacity and the value, in the order in which the intermediate
 * state allows a larger release, not a smaller one.  resizes_ changes first:
 * see overflows() in sem_release.c.
 *
 * A release of too many permits may succeed in the intermediate state.  Then
 * more permits are free than the capacity allows, and the unlock subtracts
 * them.
 */
static void set_capacity(weir_sem *sem, int64_t capacity, int64_t value_change)
{
	/* [S4] release */
	at_store_release(&sem->resizes_, (uint16_t)(sem->resizes_ + 1));
	if (value_change > 0) {
		/* [S4] release: both. */
		at_store_release(&sem->capacity_, capacity);
		at_add_acq_rel(&sem->word_, weir_units_(value_change));
	} else {
		/* [S4] release: both. */
		at_sub_acq_rel(&sem->word_, weir_units_(-value_change));
		at_store_release(&sem->capacity_, capacity);
	}
}

/* *sem may have been destroyed: only its address is used. */
static void report_excess(const weir_sem *sem, const char *name,
			  const char *call, int64_t excess)
{
	if (excess)
		weir_panic_("%s: semaphore %o: %d more permits released than "
			    "held", call, weir_record_user_name_(name), sem,
			    excess);
}

/*
 * Move w to the end of the other list.  It is a thread or an operation: a member of
 * an any-of request has no context, so it is never oversized.
 */
static void move(weir_sem *sem, struct weir_waiter_ *w, enum weir_place_ place)
{
	bool oversized = place == WEIR_OVERSIZED_;
	uint64_t object = weir_record_waits_of_(sem);

	weir_sem_leave_(sem, w);
	weir_sem_join_(sem, w, place);
	if (!w->kind)
		weir_record_rejoined_(NULL, w->record, oversized);
	else if (object)
		weir_record_rejoined_(w, 0, oversized);
}

/*
 * C11: move waiters that fit the new capacity into the queue, and waiters that
 * do not fit any more to the oversized list, or refuse them.
 */
static void sort_waiters(weir_sem *sem, int64_t capacity,
			 struct weir_to_notify_ *to_notify)
{
	RING_EACH(link, next, end, sem->queue_) {
		struct weir_waiter_ *w = weir_waiter_of_(link);

		if (w->min <= capacity)
			continue;
		if (!w->ctx) {
			weir_sem_evict_(sem, w, WEIR_ETOOBIG, to_notify);
			continue;
		}
		move(sem, w, WEIR_OVERSIZED_);
	}
	RING_EACH(link, next, end, sem->oversized_) {
		struct weir_waiter_ *w = weir_waiter_of_(link);

		if (w->wants != WEIR_WANTS_PERMITS_ || w->min > capacity)
			continue;
		w->moved = true;
		move(sem, w, WEIR_IN_QUEUE_);
	}
}

static int64_t debt_of(const weir_sem *sem)
{
	/* relaxed: locked, but releases may pay debt at any moment. */
	int64_t value = weir_value_(at_load_relaxed(&sem->word_));

	return value < 0 ? -value : 0;
}

/* Set the capacity to n, or to n more than it is if `by` is true. */
static weir_err resize(weir_sem *sem, int64_t n, bool by, int64_t *debt,
		       const char *call)
{
	struct weir_to_notify_ to_notify = { .first = NULL };
	const char *name;
	int64_t left, excess;
	weir_err err;

	if (weir_state_(sem) & WEIR_STATE_UNBOUNDED_)
		return WEIR_EINVAL;
	err = weir_sem_lock_(sem, call);
	if (err)
		return err;
	name = sem->name_;
	/* Both are at most 2^60 and one is not negative: no overflow. */
	if (by)
		n += sem->capacity_;
	if (!weir_count_ok_(n)) {
		weir_sem_unlock_(sem, 0);
		return WEIR_EINVAL;
	}
	set_capacity(sem, n, n - sem->capacity_);
	weir_record_capacity_(weir_record_of_(sem), n);
	sort_waiters(sem, n, &to_notify);
	left = debt_of(sem);
	excess = weir_sem_grant_and_unlock_(sem, 0, &to_notify);
	weir_notify_all_(&to_notify);
	if (debt)
		*debt = left;
	weir_hook_emit_(WEIR_EVENT_RESIZED_, sem, name, n, WEIR_OK);
	report_excess(sem, name, call, excess);
	return WEIR_OK;
}

weir_err weir_sem_resize(weir_sem *sem, int64_t n, int64_t *debt)
{
	if (weir_sem_is_misplaced_(sem) || !weir_count_ok_(n))
		return WEIR_EINVAL;
	return resize(sem, n, false, debt, "weir_sem_resize");
}

weir_err weir_sem_resize_by(weir_sem *sem, int64_t change, int64_t *debt)
{
	if (weir_sem_is_misplaced_(sem) || change > WEIR_SEM_MAX)
		return WEIR_EINVAL;
	return resize(sem, change, true, debt, "weir_sem_resize_by");
}

weir_err weir_sem_forget(weir_sem *sem, int64_t n)
{
	static const char call[] = "weir_sem_forget";
	struct weir_to_notify_ to_notify = { .first = NULL };
	int64_t out, paid, excess;
	const char *name;
	uint64_t object;
	weir_err err;

	if (weir_sem_is_misplaced_(sem) || !weir_count_ok_(n))
		return WEIR_EINVAL;
	err = weir_sem_lock_(sem, call);
	if (err)
		return err;
	if (weir_state_(sem) & WEIR_STATE_UNBOUNDED_) {
		weir_sem_unlock_(sem, 0);
		return WEIR_OK;
	}
	name = sem->name_;
	/* relaxed: locked; the caller's own n permits stay out meanwhile. */
	out = sem->capacity_ - weir_value_(at_load_relaxed(&sem->word_));
	if (n > out) {
		weir_record_misused_(weir_record_of_(sem), RG_OVER_RELEASE);
		weir_sem_unlock_(sem, 0);
		return WEIR_EOVERFLOW;
	}
	/*
	 * value = capacity - permits that are out.  n fewer permits are out,
	 * and the capacity decreases by n, except for the permits that pay
	 * debt.
	 */
	paid = debt_of(sem) < n ? debt_of(sem) : n;
	set_capacity(sem, sem->capacity_ - (n - paid), paid);
	object = weir_record_of_(sem);
	weir_record_capacity_(object, sem->capacity_);
	sort_waiters(sem, sem->capacity_, &to_notify);
	excess = weir_sem_grant_and_unlock_(sem, 0, &to_notify);
	weir_record_forgot_(object, n);
	weir_notify_all_(&to_notify);
	report_excess(sem, name, call, excess);
	return WEIR_OK;
}
