/* SPDX-License-Identifier: MIT */
/*
 * Lent files: they exist while their owner has a handle, and no longer.
 */
#include "roles.h"

static void join_strict(void)
{
	join_as(1, WEIR_NAMED_STRICT, WEIR_NAMED_CREATE);
}

static void leave_strict(void)
{
	join_strict();
	proc_settle();
	leave_handle();
}

/* Lends before its first critical section. */
static void open_and_lend(void)
{
	int fd;

	proc_settle();
	join_strict();
	EX_ASSERT(lend(&fd) == WEIR_OK);
	proc_pause();
}

/* A critical section that buries the dead. */
static void sweep_once(void)
{
	join_strict();
	proc_settle();
	EX_ASSERT(resize(1) == WEIR_OK);
}

static void lender_has_its_file(void)
{
	if (is_well(1))
		EX_ASSERT(world_has_lent(handle_of(1)->mine->lent));
}

/*
 * A process buries the slot of a handle that is being closed.  It is stopped, and
 * meanwhile the slot gets a new owner, which lends.
 */
PROCESSES(slot_of_a_lender_is_buried, 2, NONE, P(2), lender_has_its_file,
	  leave_strict, open_and_lend, sweep_once)

/*
 * The same in fewer steps.  The burying process has found the state of the former
 * owner.  It reads the number of the new owner's file, and may then read the
 * state that the slot had before (--stale).
 */
static void leave_return_and_lend(void)
{
	int fd;

	join_strict();
	proc_settle();
	leave_handle();
	join_strict();
	EX_ASSERT(lend(&fd) == WEIR_OK);
	proc_pause();
}

static void remove_lent_of_former_owner(void)
{
	const struct nm_slot *slot;
	uint32_t state;

	join_strict();
	slot = handle_of(0)->mine;
	state = handle_of(0)->state;
	proc_settle();
	weir_nm_remove_lent_(handle_of(1), slot, state);
}

static void first_has_its_file(void)
{
	EX_ASSERT(world_has_lent(handle_of(0)->mine->lent));
}

PROCESSES(number_of_a_new_lender, 2, NONE, NONE, first_has_its_file,
	  leave_return_and_lend, remove_lent_of_former_owner)
