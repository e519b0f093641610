/* SPDX-License-Identifier: MIT */
/*
 * Parking a thread and telling it.
 *
 * The word `state` of a waiter
 *
 *   WAITING   set by the waiter: it runs.       -> SLEEPING by the waiter
 *   SLEEPING  set by the waiter: wake it.       -> told by the teller
 *   told      set by the teller, its last       -> WAITING by the waiter, under
 *             access to the waiter.                its guard, if told to retry
 *
 * Pairs
 *
 *   [W1] tell  release: weir_tells_send_   acquire: heard
 *              The told waiter sees its outcome, and through the teller's
 *              unlock everything that was done before the permits came free.
 */
#include "core/waiter.h"

#include "base/atomic.h"
#include "base/cpu.h"
#include "base/futex.h"

/* About one wake-up latency; shorter is useless, longer brings nothing. */
#define SPIN_NS 3000
#define PAUSES_PER_LOOK 8
#define LOOKS_MAX 100		/* for when the clock goes back, or not at all */

void weir_tells_add_(struct weir_tells_ *tells, struct weir_waiter_ *w,
		     enum weir_told_ told)
{
	if (w->tell)
		return;
	w->tell = (uint8_t)told;
	w->tell_next = NULL;
	if (tells->last)
		*tells->last = w;
	else
		tells->first = w;
	tells->last = &w->tell_next;
}

void weir_waiter_decide_(struct weir_waiter_ *w, weir_err outcome,
			 struct weir_tells_ *tells)
{
	w->outcome = (int32_t)outcome;
	w->place = WEIR_NOWHERE_;
	weir_tells_add_(tells, w, WEIR_TOLD_FINAL_);
}

void weir_tells_send_(struct weir_tells_ *tells)
{
	struct weir_waiter_ *w = tells->first;

	while (w) {
		struct weir_waiter_ *next = w->tell_next;
		uint32_t *state = &w->state;

		/* [W1] release.  The last access to *w. */
		if (at_swap_release(state, w->tell) == WEIR_SLEEPING_)
			weir_futex_wake_(state);
		w = next;
	}
}

static bool heard(struct weir_waiter_ *w, enum weir_parked_ *parked)
{
	/* [W1] acquire */
	uint32_t state = at_load_acquire(&w->state);

	if (state < WEIR_TOLD_RETRY_)
		return false;
	*parked = state == WEIR_TOLD_FINAL_ ? WEIR_PARKED_FINAL_ :
					      WEIR_PARKED_RETRY_;
	return true;
}

/*
 * C26: if the library comes by dlopen, glibc allocates a thread's share at the
 * thread's first access, unless told to keep it ready.  musl allocates at dlopen
 * and refuses to be told.
 */
#ifdef __GLIBC__
#define WEIR_TLS_READY_ __attribute__((tls_model("initial-exec")))
#else
#define WEIR_TLS_READY_
#endif

/*
 * Whether to spin this time.  A thread on which spinning has failed k times in
 * a row sits out the next 2^k - 1 chances, up to 63.
 */
static _Thread_local struct {
	uint8_t failures, sitting_out;
} spin_luck WEIR_TLS_READY_;

static bool spin_may_pay(void)
{
	if (!weir_cpu_has_others_())
		return false;
	if (spin_luck.sitting_out) {
		spin_luck.sitting_out--;
		return false;
	}
	return true;
}

static bool spin(struct weir_waiter_ *w, enum weir_parked_ *parked)
{
	int64_t until = weir_deadline_after(SPIN_NS);
	int looks = 0;

	do {
		for (int i = 0; i < PAUSES_PER_LOOK; i++) {
			if (heard(w, parked)) {
				spin_luck.failures = 0;
				return true;
			}
			weir_cpu_pause_();
		}
	} while (++looks < LOOKS_MAX && weir_now_ns() < until);
	if (spin_luck.failures < 6)
		spin_luck.failures++;
	spin_luck.sitting_out = (uint8_t)((1u << spin_luck.failures) - 1);
	return false;
}

enum weir_parked_ weir_waiter_park_(struct weir_waiter_ *w,
				    int64_t deadline_ns)
{
	enum weir_parked_ parked = WEIR_PARKED_FINAL_;
	uint32_t state = WEIR_WAITING_;

	if (w->spins && spin_may_pay() && spin(w, &parked))
		return parked;
	/* relaxed: says only that we sleep.  Fails if told, or set before. */
	while (!at_cas_weak_relaxed(&w->state, &state, WEIR_SLEEPING_) &&
	       state == WEIR_WAITING_)
		;
	for (;;) {
		enum weir_woke_ woke;

		if (heard(w, &parked))
			return parked;
		woke = weir_futex_wait_(&w->state, WEIR_SLEEPING_, deadline_ns);
		/* Being told wins over whatever else ended the sleep. */
		if (heard(w, &parked))
			return parked;
		if (woke == WEIR_WOKE_LATE_)
			return WEIR_PARKED_LATE_;
		if (woke == WEIR_WOKE_SIGNAL_)
			return WEIR_PARKED_SIGNAL_;
	}
}

void weir_waiter_await_tell_(struct weir_waiter_ *w)
{
	while (weir_waiter_park_(w, WEIR_FOREVER) == WEIR_PARKED_SIGNAL_)
		;
}
