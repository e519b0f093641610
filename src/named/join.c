/* SPDX-License-Identifier: MIT */
/*
 * Become a participant, and cease to be one.  Neither waits for another process
 * for more than some milliseconds.
 */
#include <errno.h>

#include "named/keeper.h"
#include "named/lock.h"

weir_err weir_nm_join_(weir_named *h, const weir_named_opts *opts)
{
	struct nm_limit brief = { .brief = true };
	struct nm_slot *slot;
	weir_err err;
	int saved;

	/*
	 * This call is cheap in a process with one thread, and costs nothing if
	 * it is repeated.
	 */
	h->has_fences = weir_fence_ask_();
	slot = weir_nm_claim_(h);
	if (!slot && !errno)
		return weir_nm_say_(opts, WEIR_EBUSY,
				    "%s is open in %u processes, the maximum",
				    h->path, NM_SLOTS);
	if (!slot)
		return weir_nm_say_(opts, WEIR_ESYSTEM, errno == EBADMSG ?
				    "%s is locked by another process" :
				    "cannot extend %s", h->path);
	h->mine = slot;
	h->me = nm_slot_ref(h, slot);
	h->finished = h->calls = h->wakes.due = 0;
	h->owed = 0;
	err = weir_nm_keeper_start_(h);
	if (err) {
		saved = errno;
		weir_nm_byte_unlock_(h->fd, NM_BYTE_ALIVE(h->me - 1));
		errno = saved;
		/* set_robust_list(2) is missing in some emulators. */
		return weir_nm_say_(opts, err, errno == ENOSYS ?
				    "the system has no robust lists" :
				    "cannot start a thread");
	}
	/* The fast path relies on this critical section: see enter_fast. */
	if (!nm_lock(h, &brief)) {
		if (weir_nm_any_dead_(h))
			weir_nm_sweep_(h);
		nm_unlock(h);
	}
	return WEIR_OK;
}

void weir_nm_leave_(weir_named *h)
{
	struct nm_limit brief = { .brief = true };
	bool locked = !nm_lock(h, &brief);

	if (locked) {
		weir_nm_fold_(h);
		if (h->mine->held)
			weir_nm_give_(h, h->mine->held);
		nm_unlock(h);
	}
	weir_nm_unlend_(h, h->mine);
	weir_nm_keeper_stop_(h);
	/* Without the lock, the slot seems dead now: other processes bury it. */
	if (locked)
		weir_nm_free_slot_(h->mine, h->state);
	else
		weir_shared_wake_(&h->head->obituary);
}
