/* SPDX-License-Identifier: MIT */
/*
 * The functions of <semaphore.h> on weir that do not wait, and pthread_cancel.
 * object.h describes the semaphores; wait.c has the functions that wait.
 */
#include "weir/posix/semaphore.h"

#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <stddef.h>

#include "core/sem_watched.h"
#include "core/sem_word.h"
#include "posix/call.h"
#include "posix/cancel.h"
#include "posix/real.h"
#include "posix/sem.h"
#include "record/record.h"

typedef struct weir_object_posix_ object;

int weir_posix_init_at(sem_t *s, int pshared, unsigned value,
		       const void *caller)
{
	if (!s || value > SEM_VALUE_MAX)
		return weir_posix_fail_(EINVAL);
	if (pshared) {
		weir_posix_forget_(s);
		return weir_real_()->init(s, pshared, value);
	}
	return weir_posix_make_(s, value, caller) ? 0 : weir_posix_fail_(ENOSPC);
}

int weir_posix_init(sem_t *s, int pshared, unsigned value)
{
	return weir_posix_init_at(s, pshared, value,
				  __builtin_return_address(0));
}

int weir_posix_destroy(sem_t *s)
{
	bool foreign;
	object *o;

	if (weir_posix_is_ours_(s, &o, &foreign))
		return weir_posix_result_(weir_posix_retire_(s, o));
	return foreign ? weir_real_()->destroy(s) : -1;
}

int weir_posix_post(sem_t *s)
{
	struct rg_slot *slot;
	bool foreign;
	object *o;

	if (!weir_posix_is_ours_(s, &o, &foreign))
		return foreign ? weir_real_()->post(s) : -1;
	/* As weir_sem_release, which panics if the value would overflow. */
	if (weir_record_ready_to_give_(&o->sem, &slot) &&
	    weir_put_watched_(&o->sem, 1)) {
		weir_record_gave_in_(slot, 1);
		return 0;
	}
	return weir_posix_result_(weir_sem_try_release(&o->sem, 1));
}

int weir_posix_trywait_at_(sem_t *s, const void *caller)
{
	bool foreign, watched;
	weir_err err;
	object *o;

	if (s && weir_posix_is_zeroed_(s))
		return weir_posix_fail_(EAGAIN);
	if (!weir_posix_is_ours_(s, &o, &foreign))
		return foreign ? weir_real_()->trywait(s) : -1;
	if (weir_take_recorded_(&o->sem, 1, (uintptr_t)caller, false))
		return 0;
	/* weir_sem_try_acquire would record a call site of this library. */
	watched = weir_state_(&o->sem) & WEIR_STATE_TRACKED_;
	if (watched)
		weir_record_begin_((uintptr_t)caller);
	err = weir_sem_try_acquire(&o->sem, 1);
	if (watched)
		weir_record_end_();
	return weir_posix_result_(err);
}

int weir_posix_trywait(sem_t *s)
{
	return weir_posix_trywait_at_(s, __builtin_return_address(0));
}

int weir_posix_getvalue(sem_t *s, int *value)
{
	bool foreign;
	object *o;

	if (s && weir_posix_is_zeroed_(s)) {
		*value = 0;
		return 0;
	}
	if (weir_posix_is_ours_(s, &o, &foreign)) {
		*value = (int)weir_sem_available(&o->sem);
		return 0;
	}
	return foreign ? weir_real_()->getvalue(s, value) : -1;
}

const char *weir_posix_name(sem_t *s)
{
	bool foreign;
	object *o;

	return weir_posix_is_ours_(s, &o, &foreign) ? o->name : NULL;
}

int weir_posix_cancel(pthread_t thread)
{
	int err = weir_real_()->cancel(thread);

	if (!err)
		weir_posix_cancelled_(thread);
	return err;
}
