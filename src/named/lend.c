/* SPDX-License-Identifier: MIT */
/*
 * Lending: permits that stay held after the death of their owner, while another
 * process has the lent descriptor.  lent.c has the lent files.
 *
 * The owner of a slot stores the number of a new file in the `lent` field of its
 * slot, and then creates the file.  So a process that buries a dead slot knows
 * the file and removes it.
 *
 * Neither the owner nor a joining process takes the lock of the semaphore to
 * change the field.  So a process that buries the former owner of a slot, which
 * was closing its handle, may read the number of the new owner.  The burying
 * process compares the state of the slot after it has read the number: the
 * state has a generation, and if the state is still that of the former owner,
 * then so is the number.  The burying process does not change the field: the
 * new owner of a slot clears it before it is a participant, and no process
 * reads the field of a free slot.
 *
 * Pairs
 *
 *   [NT3] lent  release: lend   acquire: weir_nm_remove_lent_
 *               A process that reads the number of a new owner sees that the
 *               state of the slot is not that of the former owner.
 */
#include "named/table.h"

void weir_nm_remove_lent_(const weir_named *h, const struct nm_slot *slot,
			  uint32_t state)
{
	/* [NT3] acquire */
	uint64_t number = at_load_acquire(&slot->lent);

	/* relaxed: ordered by the load of the number. */
	if (number && at_load_relaxed(&slot->state) == state)
		weir_nm_lent_remove_(h, number);
}

void weir_nm_unlend_(weir_named *h)
{
	/* relaxed: only the owner changes it. */
	uint64_t number = at_load_relaxed(&h->mine->lent);

	if (!number)
		return;
	weir_nm_lent_remove_(h, number);
	/* relaxed: as above. */
	at_store_relaxed(&h->mine->lent, 0);
}

/* Requires: `opens` is held. */
static weir_err lend(weir_named *h, int *fd)
{
	/* relaxed: changed under opens, which is held. */
	uint64_t number = at_load_relaxed(&h->mine->lent);
	bool create = !number;

	if (create) {
		number = weir_nm_lent_number_();
		if (!number)
			return WEIR_ESYSTEM;
		/* [NT3] release */
		at_store_release(&h->mine->lent, number);
	}
	*fd = weir_nm_lent_open_(h, number, create);
	if (*fd >= 0)
		return WEIR_OK;
	if (create)
		weir_nm_unlend_(h);
	return WEIR_ESYSTEM;
}

weir_err weir_named_lend(weir_named *sem, int *fd)
{
	weir_err err;

	if (!sem || !fd || !sem->strict)
		return WEIR_EINVAL;
	err = weir_nm_join_once_(sem);
	if (err)
		return err;
	weir_nm_lock_opens_();
	err = lend(sem, fd);
	weir_nm_unlock_opens_();
	return err;
}
