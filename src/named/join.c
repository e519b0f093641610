/* SPDX-License-Identifier: MIT */
/*
 * Become a participant, and cease to be one.  Neither waits for another process
 * for more than some milliseconds.
 *
 * A joining process locks the byte of a slot, without waiting, and keeps it
 * locked until it closes the handle or all its threads have ended.  So two
 * processes never claim one slot, and no thread of the former owner uses the
 * slot any more.  A slot that is being set up is CLAIMED.  If the joining
 * process dies, the next one reuses the slot.  The slot counts as a participant
 * once its keeper has made it LIVE.
 */
#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fork.h"
#include "named/keeper.h"
#include "named/lock.h"
#include "named/table.h"

static bool lock_byte(weir_named *h, const struct nm_slot *slot)
{
	return weir_nm_byte_lock_(h->fd, NM_BYTE_ALIVE(slot - h->slots));
}

static void unlock_byte(weir_named *h, const struct nm_slot *slot)
{
	weir_nm_byte_unlock_(h->fd, NM_BYTE_ALIVE(slot - h->slots));
}

/*
 * Returns true if the slot is now ours: it is free, or a joining process died
 * while setting it up.  In that case this handle has locked its byte.
 */
static bool claim(weir_named *h, struct nm_slot *slot)
{
	if (weir_nm_is_taken_(slot) || !lock_byte(h, slot))
		return false;
	/* Another process may have joined and died before we had the byte. */
	if (!weir_nm_is_taken_(slot))
		return true;
	unlock_byte(h, slot);
	return false;
}

static uint32_t next_generation(weir_named *h)
{
	/* relaxed: only the number matters. */
	return at_add_relaxed(&h->head->generations, 1) + 1;
}

static uint32_t claimed_state(weir_named *h)
{
	return next_generation(h) * (NM_SLOT_MASK + 1) + NM_SLOT_CLAIMED;
}

/*
 * Take over the slot of a dead participant, without burying it: the permits and
 * records of the dead owner do not count any more, and a repair must compute
 * the free permits again.
 */
static bool take_over(weir_named *h, struct nm_slot *slot)
{
	/* relaxed: the CAS validates it, and weir_nm_is_dead_ acquires. */
	uint32_t seen = at_load_relaxed(&slot->state), state = seen;
	uint64_t lent;

	if (!weir_nm_is_dead_(slot) || !lock_byte(h, slot))
		return false;
	/* relaxed: the owner is dead; a new owner would need the lock on the byte. */
	lent = at_load_relaxed(&slot->lent);
	if (weir_nm_is_dead_(slot) && !(lent && weir_nm_is_lent_(h, lent))) {
		/*
		 * Remove the lent file before the slot changes: if this process
		 * dies in between, the slot still has the number of the file.
		 */
		weir_nm_remove_lent_(h, slot, state);
		/* [NT2] release */
		(void)at_swap_release(&h->head->stale, 1);
		while (seen == state)
			/* [NT1] release */
			if (at_cas_weak_release(&slot->state, &seen,
						claimed_state(h)))
				return true;
	}
	unlock_byte(h, slot);
	return false;
}

/* Make the table larger.  Returns false with errno if there is no storage. */
static bool add_slot(weir_named *h, uint32_t high)
{
	size_t from = (size_t)((char *)&h->slots[high] - (char *)h->head);
	/* relaxed: readers use it as a bound. */
	uint32_t seen = at_load_relaxed(&h->head->slots_high);

	if (!weir_nm_reserve_(h->fd, from, sizeof(struct nm_slot)))
		return false;
	while (seen <= high)
		if (at_cas_weak_relaxed(&h->head->slots_high, &seen, high + 1))
			break;
	return true;
}

static struct nm_slot *find_slot(weir_named *h)
{
	uint32_t high = nm_slots_high(h);

	for (uint32_t i = 0; i < NM_SLOTS; i++) {
		if (i >= high && !add_slot(h, i))
			return NULL;
		if (claim(h, &h->slots[i]))
			return &h->slots[i];
		if (!weir_nm_is_taken_(&h->slots[i]) &&
		    weir_nm_byte_is_foreign_(h->fd, NM_BYTE_ALIVE(i))) {
			errno = EBADMSG;
			return NULL;
		}
	}
	/* A slot is free now if its dead owner was buried meanwhile. */
	for (uint32_t i = 0; i < NM_SLOTS; i++)
		if (take_over(h, &h->slots[i]) || claim(h, &h->slots[i]))
			return &h->slots[i];
	errno = 0;
	return NULL;
}

/*
 * Returns the inode of this process's PID namespace; 0 if it is unknown.  The
 * namespace of a process never changes, and stat takes a tenth of an open, so
 * each process calls it once.  Requires: opens is held.
 */
static uint64_t pid_namespace(uint32_t pid)
{
	static uint64_t known;
	static uint32_t known_pid, known_forks;
	uint32_t forks = weir_forks_();
	struct stat info;

	/* A child may be in another namespace than its parent. */
	if (known && known_pid == pid && known_forks == forks)
		return known;
	known = stat("/proc/self/ns/pid", &info) ? 0 : (uint64_t)info.st_ino;
	known_pid = pid;
	known_forks = forks;
	return known;
}

/*
 * Claim a slot for this handle.  Returns null with errno if storage is exhausted,
 * or with errno 0 if all slots are in use.
 */
static struct nm_slot *claim_any(weir_named *h)
{
	struct nm_slot *slot = find_slot(h);
	uint32_t state;

	if (!slot)
		return NULL;
	state = claimed_state(h);
	/* [NT1] release.  A sweep that sees this also sees `stale`. */
	at_store_release(&slot->state, state);
	/*
	 * relaxed: weir_nm_bury_ may be burying the former owner of the slot.
	 * An owner that has left holds nothing; one that has died is counted
	 * here.
	 */
	weir_nm_reclaimed_(h, at_swap_relaxed(&slot->held, 0));
	slot->since_ticks = 0;
	/* relaxed: as above. */
	at_store_relaxed(&slot->lingers, 0);
	at_store_relaxed(&slot->lent, 0);
	slot->pid = (uint32_t)getpid();
	slot->pid_namespace = pid_namespace(slot->pid);
	slot->id = (uint64_t)(state / (NM_SLOT_MASK + 1)) << 16 |
		   (uint64_t)(slot - h->slots);
	memcpy(slot->label, h->label, sizeof(slot->label));
	h->state = state - NM_SLOT_CLAIMED + NM_SLOT_LIVE;
	h->lock_id = nm_lock_id(nm_slot_ref(h, slot), h->state);
	return slot;
}

weir_err weir_nm_join_(weir_named *h, const weir_named_opts *opts)
{
	struct nm_limit brief = { .brief = true };
	struct nm_slot *slot;
	weir_err err;

	/*
	 * This call is cheap in a process with one thread, and costs nothing if
	 * it is repeated.
	 */
	h->has_fences = weir_fence_ask_();
	slot = claim_any(h);
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
		int saved = errno;

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
	weir_nm_unlend_(h);
	/* A slot that is not freed here seems dead: other processes bury it. */
	weir_nm_keeper_stop_(h, locked ? NM_STOP : NM_ABANDON);
	if (locked)
		(void)weir_nm_free_slot_(h->mine, h->state);
}
