/* SPDX-License-Identifier: MIT */
/*
 * Close, pause, resume, resize and forget.
 *
 * Each call changes the source of truth by one store; a forget also changes
 * `held` of the caller's own slot, which does not count after its death.  If
 * the caller dies between the store and the end of the call, its death wakes a
 * keeper, which finds a dead lock holder, and repair completes the change.
 */
#include "base/panic.h"
#include "named/lock.h"
#include "named/record.h"
#include "named/table.h"

void weir_named_close(weir_named *sem, weir_close how)
{
	static const char call[] = "weir_named_close";
	uint32_t closed = how == WEIR_CLOSE_DRAIN ? NM_DRAIN : NM_CLOSED;

	if (!sem) {
		weir_panic_("%s: %p is not a semaphore", call, sem);
		return;
	}
	if (how != WEIR_CLOSE_NOW && how != WEIR_CLOSE_DRAIN) {
		weir_panic_("%s: semaphore \"%s\": invalid close mode %d", call,
			    sem->name, (int64_t)how);
		return;
	}
	if (sem->flags & WEIR_NAMED_OBSERVER) {
		weir_panic_("%s: semaphore \"%s\": the handle is an observer",
			    call, sem->name);
		return;
	}
	if (weir_nm_enter_(sem, NULL))
		return;
	if (!nm_is_closed(sem) || sem->head->closed < closed)
		sem->head->closed = closed;
	weir_nm_sweep_(sem);
	nm_unlock(sem);
}

/*
 * Store NM_PAUSED or NM_OPEN.  If this process dies after it has stored
 * NM_OPEN, the repair grants to the waiters.
 */
static weir_err set_paused(weir_named *sem, uint32_t closed)
{
	weir_err err;

	if (!sem)
		return WEIR_EINVAL;
	err = weir_nm_enter_(sem, NULL);
	if (err)
		return err;
	weir_nm_sweep_(sem);
	if (nm_is_closed(sem)) {
		err = WEIR_ECLOSED;
	} else {
		sem->head->closed = closed;
		weir_nm_grant_all_(sem);
	}
	nm_unlock(sem);
	return err;
}

weir_err weir_named_pause(weir_named *sem)
{
	return set_paused(sem, NM_PAUSED);
}

weir_err weir_named_resume(weir_named *sem)
{
	return set_paused(sem, NM_OPEN);
}

weir_err weir_named_resize(weir_named *sem, int64_t n, int64_t *debt)
{
	weir_err err;

	if (!sem || n < 0 || n > WEIR_SEM_MAX)
		return WEIR_EINVAL;
	err = weir_nm_enter_(sem, NULL);
	if (err)
		return err;
	weir_nm_sweep_(sem);
	sem->head->value = nm_plus(sem->head->value,
				 nm_minus(n, sem->head->capacity));
	sem->head->capacity = n;
	weir_nm_regrant_all_(sem);
	if (debt)
		*debt = sem->head->value < 0 ?
				nm_minus(0, sem->head->value) : 0;
	nm_unlock(sem);
	return WEIR_OK;
}

weir_err weir_named_forget(weir_named *sem, int64_t n)
{
	int64_t debt, lost;
	weir_err err;

	if (!sem || n < 0 || n > WEIR_SEM_MAX)
		return WEIR_EINVAL;
	err = weir_nm_enter_(sem, NULL);
	if (err)
		return err;
	if (n > sem->mine->held) {
		nm_unlock(sem);
		return WEIR_EOVERFLOW;
	}
	debt = sem->head->value < 0 ? nm_minus(0, sem->head->value) : 0;
	lost = n > debt ? nm_minus(n, debt) : 0;
	sem->mine->held = nm_minus(sem->mine->held, n);
	sem->head->capacity = nm_minus(sem->head->capacity, lost);
	sem->head->value = nm_plus(sem->head->value, nm_minus(n, lost));
	weir_nm_regrant_all_(sem);
	nm_unlock(sem);
	return WEIR_OK;
}
