/* SPDX-License-Identifier: MIT */
/*
 * Permit objects: calls that pass permits to another object, or out of all
 * objects.
 */
#include "core/permit_state.h"
#include "weir/permit.h"
#include "weir/sem.h"

weir_err weir_permit_split(weir_permit *from, int64_t n, weir_permit *to)
{
	weir_err err = weir_permit_check_(from, "weir_permit_split");

	if (err == WEIR_OK)
		err = weir_permit_check_empty_(to, "weir_permit_split");
	if (err != WEIR_OK)
		return err;
	if (n < 0 || n > from->n_)
		return WEIR_EINVAL;
	weir_permit_take_over_(from);
	if (n == from->n_) {
		*to = weir_permit_take_(from);
		return WEIR_OK;
	}
	if (n == 0)
		return WEIR_OK;
	/* Two owned permits hold two references. */
	if (from->owned_ && !weir_sem_ref(from->sem_))
		return WEIR_EINVAL;	/* weir_sem_ref panicked */
	*to = *from;
	to->n_ = n;
	from->n_ -= n;
	return WEIR_OK;
}

weir_err weir_permit_merge(weir_permit *to, weir_permit *from)
{
	weir_err err = weir_permit_check_(to, "weir_permit_merge");
	weir_permit held;

	if (err == WEIR_OK)
		err = weir_permit_check_(from, "weir_permit_merge");
	if (err != WEIR_OK)
		return err;
	/* Merging a permit with itself would double or lose its count. */
	if (to == from)
		return WEIR_EINVAL;
	if (!from->sem_)
		return WEIR_OK;
	if (!to->sem_) {
		*to = weir_permit_take_(from);
		return WEIR_OK;
	}
	/* Both counts are at most 2^60, so the sum does not overflow. */
	if (to->sem_ != from->sem_ || to->n_ + from->n_ > WEIR_SEM_MAX)
		return WEIR_EINVAL;
	weir_permit_take_over_(to);
	held = weir_permit_take_(from);
	weir_permit_take_over_(&held);
	if (to->slot_ != held.slot_)
		weir_record_join_(weir_record_of_(to->sem_), to->slot_,
				  held.slot_, held.n_);
	to->n_ += held.n_;
	if (to->owned_ && held.owned_)
		weir_sem_unref(held.sem_);	/* *to keeps a reference */
	else
		to->owned_ |= held.owned_;
	return WEIR_OK;
}

weir_permit weir_permit_move(weir_permit *permit)
{
	weir_permit empty = WEIR_PERMIT_INIT;

	if (!weir_permit_is_usable_(permit, "weir_permit_move"))
		return empty;
	weir_permit_take_over_(permit);
	if (permit->sem_ && weir_state_(permit->sem_) & WEIR_STATE_TRACKED_)
		permit->slot_ = weir_record_move_(
			weir_record_of_(permit->sem_), permit->slot_);
	return weir_permit_take_(permit);
}

weir_err weir_permit_forget(weir_permit *permit)
{
	weir_err err = weir_permit_check_(permit, "weir_permit_forget");
	weir_permit held;

	if (err != WEIR_OK || !permit->sem_)
		return err;
	weir_permit_take_over_(permit);
	err = weir_sem_forget(permit->sem_, permit->n_);
	if (err != WEIR_OK)
		return err;
	held = weir_permit_take_(permit);
	/* This comes last, because it may free the semaphore. */
	if (held.owned_)
		weir_sem_unref(held.sem_);
	return WEIR_OK;
}

int64_t weir_permit_disown(weir_permit *permit)
{
	if (!weir_permit_is_usable_(permit, "weir_permit_disown"))
		return 0;
	weir_permit_take_over_(permit);
	return weir_permit_take_(permit).n_;
}
