/* SPDX-License-Identifier: MIT */
/*
 * Become a participant, and cease to be one.
 *
 * Joining processes exclude each other by a lock on the join byte of the file,
 * which the kernel drops when a process dies.  A slot that is being set up is
 * CLAIMED.  If the joining process dies, the next one reuses the slot.  The
 * slot counts as a participant once it is LIVE.
 */
#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "named/handle.h"
#include "named/lock.h"

/*
 * Returns true if the slot is now ours: it is free, or a joining process died
 * while setting it up, and all threads of its former owner have ended.  In that
 * case this handle has locked its byte.
 */
static bool claim(weir_named *h, const struct nm_slot *slot)
{
	/* [NT1] acquire */
	return (at_load_acquire(&slot->state) & NM_SLOT_MASK) != NM_SLOT_LIVE &&
	       weir_nm_byte_lock_(h->fd, NM_BYTE_ALIVE(slot - h->slots), false);
}

static struct nm_slot *find_slot(weir_named *h)
{
	uint32_t high = nm_slots_high(h);

	for (uint32_t i = 0; i < high; i++)
		if (claim(h, &h->slots[i]))
			return &h->slots[i];
	for (; high < NM_SLOTS; high++) {
		size_t from = (size_t)((char *)&h->slots[high] -
				       (char *)h->head);

		if (!weir_nm_reserve_(h->fd, from, sizeof(struct nm_slot)))
			return NULL;
		/* relaxed: under the join lock; readers use it as a bound. */
		at_store_relaxed(&h->head->slots_high, high + 1);
		if (claim(h, &h->slots[high]))
			return &h->slots[high];
	}
	return NULL;
}

static uint64_t pid_namespace(void)
{
	struct stat info;

	return stat("/proc/self/ns/pid", &info) ? 0 : (uint64_t)info.st_ino;
}

static void fill_slot(weir_named *h, struct nm_slot *slot)
{
	uint32_t generation = ++h->head->generations;
	uint32_t state = generation * (NM_SLOT_MASK + 1) + NM_SLOT_CLAIMED;

	/* relaxed: a slot that is not live is not read. */
	at_store_relaxed(&slot->state, state);
	slot->held = 0;
	slot->since_ns = 0;
	slot->listed = slot->holder_next = slot->holder_prev = 0;
	slot->in_use = slot->chain_next = slot->chain_prev = 0;
	slot->role = slot->armed_pred = slot->helped = 0;
	slot->lent = 0;
	slot->pid = (uint32_t)getpid();
	slot->pid_namespace = pid_namespace();
	slot->id = (uint64_t)generation << 16 | (uint64_t)(slot - h->slots);
	memcpy(slot->label, h->label, sizeof(slot->label));
	h->mine = slot;
	h->state = state - NM_SLOT_CLAIMED + NM_SLOT_LIVE;
	h->lock_id = nm_lock_id(nm_slot_ref(h, slot), h->state);
}

/* Called with the join byte locked. */
static weir_err join_locked(weir_named *h, const weir_named_opts *opts)
{
	struct nm_slot *slot = find_slot(h);
	weir_err err;

	h->me = 0;
	if (!slot && nm_slots_high(h) == NM_SLOTS) {
		weir_nm_lock_joining_(h);
		weir_nm_sweep_all_(h);
		weir_nm_grant_all_(h);
		nm_unlock(h);
		slot = find_slot(h);
		if (!slot)
			return weir_nm_say_(opts, WEIR_EBUSY,
				      "%s is open in %u processes, the maximum",
				      h->path, NM_SLOTS);
	}
	if (!slot)
		return weir_nm_say_(opts, WEIR_ESYSTEM, "cannot extend %s",
				    h->path);
	fill_slot(h, slot);
	err = weir_nm_keeper_start_(h);
	if (err)
		/* set_robust_list(2) is missing in some emulators. */
		return weir_nm_say_(opts, err, errno == ENOSYS ?
				    "the system has no robust lists" :
				    "cannot start a thread");
	h->me = nm_slot_ref(h, slot);
	/* [NT1] release */
	at_store_release(&slot->state, h->state);
	weir_nm_keeper_go_(h);
	return WEIR_OK;
}

weir_err weir_nm_join_(weir_named *h, const weir_named_opts *opts)
{
	weir_err err;
	int saved;

	/*
	 * This call is cheap in a process with one thread, and costs nothing if
	 * it is repeated.
	 */
	h->has_fences = weir_fence_ask_();
	if (!weir_nm_byte_lock_(h->fd, NM_BYTE_JOIN, true))
		return weir_nm_say_(opts, WEIR_ESYSTEM, "cannot lock %s",
				    h->path);
	err = join_locked(h, opts);
	saved = errno;
	weir_nm_byte_unlock_(h->fd, NM_BYTE_JOIN);
	errno = saved;
	if (err)
		return err;
	if (nm_lock(h)) {
		weir_nm_sweep_all_(h);
		weir_nm_grant_all_(h);
		nm_unlock(h);
	}
	return WEIR_OK;
}

void weir_nm_leave_(weir_named *h)
{
	uint32_t state = h->state;

	if (nm_lock(h)) {
		int64_t held = h->mine->held;

		if (held)
			weir_nm_give_(h, held);
		weir_nm_unlist_holder_(h, h->mine);
		weir_nm_chain_remove_(h, h->mine);
		weir_nm_forget_arms_(h, h->mine);
		nm_unlock(h);
	}
	weir_nm_unlend_(h, h->mine);
	weir_nm_keeper_stop_(h);
	/*
	 * [NT1] release.  The CAS fails if another process has buried our slot.
	 */
	while (!at_cas_weak_release(&h->mine->state, &state,
				    h->state - NM_SLOT_LIVE + NM_SLOT_FREE))
		if (state != h->state)
			break;
}
