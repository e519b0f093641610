/* SPDX-License-Identifier: MIT */
/*
 * The two halves of a wait, for threads and operations: putting a waiter on a
 * list, and turning its outcome into the result of the call.  See
 * docs/design/sem.md, "A waiter's life" and "Cancelling".
 */
#include "base/atomic.h"
#include "base/clock.h"
#include "base/cpu.h"
#include "base/hook.h"
#include "core/ctx_wait.h"
#include "core/sem_grant.h"
#include "core/sem_lock.h"
#include "core/sem_queue.h"
#include "core/sem_wait.h"
#include "core/sem_word.h"
#include "record/record.h"

/*
 * Choose the list for a request that cannot be granted now, or return an error.
 */
static weir_err find_place(weir_sem *sem, const struct weir_waiter_ *w,
			   bool late, enum weir_place_ *place)
{
	*place = WEIR_IN_QUEUE_;
	if (weir_state_(sem) & WEIR_STATE_CLOSED_)
		return WEIR_ECLOSED;
	/* relaxed: changed only under the lock, which this thread holds. */
	if (w->min > at_load_relaxed(&sem->capacity_)) {
		*place = WEIR_OVERSIZED_;
		return w->ctx ? WEIR_OK : WEIR_ETOOBIG;
	}
	if (sem->max_waiters_ && sem->waiters_ >= sem->max_waiters_)
		return WEIR_EBUSY;
	return late ? WEIR_ETIMEDOUT : WEIR_OK;
}

/*
 * Store the number of w's wait.  A wait that is not recorded has the number 0.
 */
static void set_record(struct weir_waiter_ *w, uint32_t number)
{
	if (!w->kind)
		w->record = number;
	else if (w->kind == WEIR_MEMBER_)
		w->member_record = number;
}

/* record_wait for a watched semaphore. */
__attribute__((noinline))
static void record_wait_of(uint64_t object, const weir_sem *sem,
			   struct weir_waiter_ *w, enum weir_place_ place,
			   int64_t now_ns, int64_t deadline_ns)
{
	struct weir_request_ request = {
		.op = w->kind >= WEIR_OPERATION_ ? w : NULL,
		.sem = sem,
		.min = w->min,
		.max = weir_waiter_max_(w),
		.now_ns = now_ns,
		.deadline_ns = deadline_ns,
		.flags = (w->wants == WEIR_WANTS_IDLE_ ? RG_IDLE :
			  place == WEIR_OVERSIZED_ ? RG_OVERSIZED : 0) |
			 (w->ctx ? RG_HAS_CTX : 0),
	};

	if (w->kind == WEIR_MEMBER_) {
		request.any = w->any;
		request.context = w->context;
		request.deadline_ns = w->any_deadline_ns;
		request.flags |= w->any_has_ctx ? RG_HAS_CTX : 0;
	}
	set_record(w, weir_record_wait_(object, &request));
}

/* Record that w is about to wait, from now_ns on. */
static void record_wait(const weir_sem *sem, struct weir_waiter_ *w,
			enum weir_place_ place, int64_t now_ns,
			int64_t deadline_ns)
{
	uint64_t object = weir_record_waits_of_(sem);

	if (object)
		record_wait_of(object, sem, w, place, now_ns, deadline_ns);
	else
		set_record(w, 0);
}

/*
 * Put w on its list and unlock.  After the unlock an operation may be decided,
 * notified and freed: *w is not accessed any more.
 */
static void join(weir_sem *sem, struct weir_waiter_ *w, enum weir_place_ place,
		 int64_t now_ns, int64_t deadline_ns)
{
	record_wait(sem, w, place, now_ns, deadline_ns);
	/* The CPU is a hint for threads that spin; operations do not. */
	if (w->kind < WEIR_OPERATION_)
		w->cpu = weir_cpu_();
	if (!w->kind) {
		w->may_spin = place == WEIR_IN_QUEUE_ &&
			      weir_sem_spin_pays_(sem, w);
		w->leads = !sem->queue_;
		w->spinning = w->may_spin;
	}
	weir_sem_join_(sem, w, place);
	weir_sem_unlock_(sem, 0);
}

/*
 * Returns the time at which w begins to wait.  The wait of an operation is known
 * in milliseconds only (WEIR_TICK_SHIFT_), so a recent time suffices, unless it is
 * compared with a deadline.  It is up to a tick of the kernel too early.
 */
static int64_t begins_ns(const struct weir_waiter_ *w, int64_t deadline_ns)
{
	return w->kind >= WEIR_OPERATION_ && deadline_ns == WEIR_FOREVER ?
		       weir_recent_ns_() : weir_now_ns();
}

/*
 * Take permits, join a list or fail; then unlock.  Called with the semaphore
 * locked.  Returns true if w has joined a list.
 */
static bool take_or_join(weir_sem *sem, struct weir_waiter_ *w,
			 int64_t deadline_ns, weir_err *err)
{
	enum weir_place_ place;
	int64_t taken = 0;

	*err = weir_state_is_shut_(weir_state_(sem)) ? WEIR_ECLOSED : WEIR_OK;
	if (!*err)
		taken = weir_sem_takeable_(sem, w->min, weir_waiter_max_(w));
	if (taken >= 0 && !*err && !weir_waiter_claim_(w)) {
		*err = WEIR_EAGAIN;
		taken = 0;
	}
	if (taken < 0) {
		int64_t now_ns = begins_ns(w, deadline_ns);

		taken = 0;
		weir_waiter_set_since_(w, now_ns);
		*err = find_place(sem, w, now_ns >= deadline_ns, &place);
		if (!*err) {
			join(sem, w, place, now_ns, deadline_ns);
			return true;
		}
	}
	if (w->kind && !*err) {
		/* [S5] release. weir_sem_finish_ subtracts `taken`. */
		at_add_release(&sem->granted_, taken);
		w->counted = true;
	}
	weir_waiter_set_got_(w, taken);
	weir_sem_unlock_(sem, taken);
	return false;
}

bool weir_sem_enqueue_(struct weir_waiter_ *w, int64_t deadline_ns,
		       weir_err *err)
{
	weir_sem_yield_to_spinner_(w->sem);
	*err = weir_sem_lock_until_(w->sem, weir_waiter_call_(w), deadline_ns,
				    w->ctx);
	if (*err)
		return false;
	/*
	 * A cancel marks the context first and locks the semaphore afterwards.
	 * So either the cancel finds w on a list, or this check finds the mark.
	 */
	*err = w->ctx ? weir_ctx_cancelled_(w->ctx) : WEIR_OK;
	if (*err) {
		weir_sem_unlock_(w->sem, 0);
		return false;
	}
	if (w->wants == WEIR_WANTS_IDLE_) {
		w->since_ns = weir_now_ns();
		record_wait(w->sem, w, WEIR_OVERSIZED_, w->since_ns,
			    deadline_ns);
		/* If the semaphore is idle already, the unlock decides w. */
		weir_sem_join_(w->sem, w, WEIR_OVERSIZED_);
		weir_sem_unlock_(w->sem, 0);
		return true;
	}
	return take_or_join(w->sem, w, deadline_ns, err);
}

/*
 * Return the permits of w, whose context has ended or whose operation was
 * cancelled, unless the canceller has returned them. granted_ changes under the
 * same lock, so that the semaphore cannot be destroyed between the two changes.
 */
static void give_back(struct weir_waiter_ *w, struct weir_to_notify_ *to_notify)
{
	/* The lock fails only after a fork: see give_up in sem_wait.c. */
	if (!weir_waiter_got_(w) ||
	    weir_sem_lock_(w->sem, weir_waiter_call_(w)))
		return;
	(void)weir_sem_grant_and_unlock_(
		w->sem, -weir_sem_take_back_(w->sem, w), to_notify);
}

/* Record the outcome.  The semaphore may not exist any more. */
static void record_end(struct weir_waiter_ *w, uint64_t object, weir_err err,
		       int64_t got)
{
	const void *op = w->kind >= WEIR_OPERATION_ ? w : NULL;
	uint32_t record = w->kind == WEIR_MEMBER_ ? w->member_record :
			  !w->kind ? w->record : 0;

	if (object)
		weir_record_end_wait_(object, op, record, err, got);
}

weir_err weir_sem_finish_(struct weir_waiter_ *w, const char *name,
			  weir_err err)
{
	struct weir_to_notify_ to_notify = { .first = NULL };
	uint64_t object = weir_record_named_(name, w->sem);
	bool revoked = false;
	int64_t got;

	if (w->ctx)
		err = weir_ctx_finish_(w->ctx, w, err, &revoked);
	got = weir_waiter_got_(w);
	if (revoked)
		give_back(w, &to_notify);
	/* [S5] release.  This is the last access to the semaphore. */
	else if (w->counted)
		at_sub_release(&w->sem->granted_, got);
	record_end(w, object, err, got);
	weir_hook_emit_(err ? WEIR_EVENT_LEFT_ : WEIR_EVENT_ACQUIRED_, w->sem,
			name, err ? w->min : got, err);
	if (revoked)
		weir_notify_all_(&to_notify);
	return err;
}

void weir_sem_cancel_(struct weir_waiter_ *w, struct weir_to_notify_ *to_notify)
{
	const char *name = w->sem->name_;
	uint64_t object = weir_record_named_(name, w->sem);

	if (w->ctx)
		(void)weir_ctx_leave_(w->ctx, w, false);
	give_back(w, to_notify);
	record_end(w, object, WEIR_ECANCELED, 0);
	weir_hook_emit_(WEIR_EVENT_LEFT_, w->sem, name, w->min, WEIR_ECANCELED);
}
