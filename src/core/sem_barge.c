/* SPDX-License-Identifier: MIT */
/*
 * Taking free permits although waiters are queued: weir_sem_try_acquire_barging
 * and weir_sem_remove.
 *
 * Both take the lock.  Releases that came earlier have been granted to the
 * heads that fit: weir_sem_lock_ grants to a spinner, and the previous unlock
 * has granted to all other heads.  So the value is the number of permits that
 * these heads have left over.  A release that adds permits while the lock is
 * held is concurrent with this call; this call may take these permits.
 */
#include "base/hook.h"
#include "core/sem_grant.h"
#include "core/sem_lock.h"
#include "core/sem_watched.h"
#include "core/sem_word.h"
#include "record/record.h"
#include "weir/sem.h"

/* Requires: the semaphore is locked. */
static int64_t free_of(const weir_sem *sem)
{
	/*
	 * relaxed: the CAS that unlocks takes the permits and is the acquire.
	 */
	int64_t value = weir_value_(at_load_relaxed(&sem->word_));

	return value > 0 ? value : 0;
}

/* Not inlined, for the fast path and for WEIR_SITE_. */
__attribute__((noinline))
static weir_err try_long(weir_sem *sem, int64_t n)
{
	static const char call[] = "weir_sem_try_acquire_barging";
	uint64_t site = WEIR_SITE_, object;
	const char *name;
	uint32_t state;
	bool taken;
	weir_err err;

	if (weir_take_recorded_(sem, n, site, false))
		return WEIR_OK;
	err = weir_sem_panic_(sem, call, weir_sem_problem_(sem));
	if (err)
		return err;
	weir_sem_register_fresh_(sem, site);
	err = weir_sem_lock_(sem, call);
	if (err)
		return err;
	name = sem->name_;
	object = weir_record_of_(sem);
	state = weir_state_(sem);
	taken = !weir_state_is_shut_(state) && free_of(sem) >= n;
	weir_sem_unlock_(sem, taken ? n : 0);
	if (!taken) {
		err = state & WEIR_STATE_CLOSED_ ? WEIR_ECLOSED : WEIR_EAGAIN;
		weir_record_failed_(object, err);
		return err;
	}
	weir_hook_emit_(WEIR_EVENT_ACQUIRED_, sem, name, n, WEIR_OK);
	weir_record_tried_(object, n, site);
	return WEIR_OK;
}

weir_err weir_sem_try_acquire_barging(weir_sem *sem, int64_t n)
{
	weir_err err;

	if (weir_sem_is_misplaced_(sem) || !weir_count_ok_(n))
		return WEIR_EINVAL;
	/* The policy never changes. */
	if (weir_state_(sem) & WEIR_STATE_BARGING_)
		return weir_sem_try_acquire(sem, n);
	err = weir_try_fast_(sem, n);
	return err == WEIR_EINVAL ? try_long(sem, n) : err;
}

weir_err weir_sem_remove(weir_sem *sem, int64_t max, int64_t *removed)
{
	int64_t n;
	weir_err err;

	if (removed)
		*removed = 0;
	if (weir_sem_is_misplaced_(sem) || !weir_count_ok_(max) ||
	    !(weir_state_(sem) & WEIR_STATE_UNBOUNDED_))
		return WEIR_EINVAL;
	err = weir_sem_lock_(sem, "weir_sem_remove");
	if (err)
		return err;
	n = free_of(sem);
	if (n > max)
		n = max;
	weir_sem_unlock_(sem, n);
	if (removed)
		*removed = n;
	return WEIR_OK;
}
