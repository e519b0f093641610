/* SPDX-License-Identifier: MIT */
/*
 * Participants: claiming slots, and burying dead participants.
 *
 * A joining process claims a slot without waiting.  It locks the byte of the
 * slot, which it keeps until it ends: so two processes never claim one slot,
 * and the threads of its former owner have ended.  A slot that is being set up
 * is CLAIMED.  If the joining process dies, the next one reuses the slot.  The
 * slot counts as a participant once it is LIVE.
 *
 * A slot's state changes from LIVE by CAS, because an owner that leaves does so
 * without the lock, and a joining process takes over a dead slot without it.
 *
 * Pairs
 *
 *   [NT1] slot   release: weir_nm_free_slot_, take_over, keep
 *                acquire: is_taken, weir_nm_bury_, take_over
 *                A process that finds a slot free sees that its former owner
 *                has finished with it; a process that finds a slot live sees
 *                its fields set.
 *   [NT2] stale  release: take_over   acquire: weir_nm_sweep_, weir_nm_repair_
 *                A process that repairs sees that the dead slot is gone.
 */
#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "named/handle.h"
#include "named/lock.h"

static bool has_died(const struct nm_slot *slot)
{
	/* relaxed: the lock orders the owner's writes. */
	return !weir_is_alive_(at_load_relaxed(&slot->alive.word));
}

static bool is_taken(const struct nm_slot *slot)
{
	/* [NT1] acquire */
	return (at_load_acquire(&slot->state) & NM_SLOT_MASK) == NM_SLOT_LIVE;
}

bool weir_nm_is_live_(const struct nm_slot *slot)
{
	return is_taken(slot) && !has_died(slot);
}

bool weir_nm_is_dead_(const struct nm_slot *slot)
{
	return is_taken(slot) && has_died(slot);
}

void weir_nm_mark_dead_(struct nm_slot *slot)
{
	/* relaxed: the owner is dead and changes it no more. */
	at_store_relaxed(&slot->alive.word, WEIR_DIED_);
}

bool weir_nm_any_dead_(const weir_named *h)
{
	uint32_t high = nm_slots_high(h);

	for (uint32_t i = 0; i < high; i++)
		if (&h->slots[i] != h->mine && weir_nm_is_dead_(&h->slots[i]))
			return true;
	/* relaxed: a hint; the sweep reads it again. */
	return at_load_relaxed(&h->head->stale);
}

/* --- Claiming a slot --- */

static bool lock_byte(weir_named *h, const struct nm_slot *slot)
{
	return weir_nm_byte_lock_(h->fd, NM_BYTE_ALIVE(slot - h->slots), false);
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
	if (is_taken(slot) || !lock_byte(h, slot))
		return false;
	/* Another process may have joined and died before we had the byte. */
	if (!is_taken(slot))
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
	/* [NT1] acquire */
	uint32_t seen = at_load_acquire(&slot->state), state = seen;

	if (!weir_nm_is_dead_(slot) || !lock_byte(h, slot))
		return false;
	if (weir_nm_is_dead_(slot) &&
	    !(slot->lent && weir_nm_is_lent_(h, slot->lent))) {
		/* [NT2] release */
		at_store_release(&h->head->stale, 1);
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
		if (!is_taken(&h->slots[i]) &&
		    weir_nm_byte_is_foreign_(h->fd, NM_BYTE_ALIVE(i))) {
			errno = EBADMSG;
			return NULL;
		}
	}
	errno = 0;
	for (uint32_t i = 0; i < NM_SLOTS; i++)
		if (take_over(h, &h->slots[i]))
			return &h->slots[i];
	errno = 0;
	return NULL;
}

static uint64_t pid_namespace(void)
{
	struct stat info;

	return stat("/proc/self/ns/pid", &info) ? 0 : (uint64_t)info.st_ino;
}

struct nm_slot *weir_nm_claim_(weir_named *h)
{
	struct nm_slot *slot = find_slot(h);
	uint32_t state;

	if (!slot)
		return NULL;
	state = claimed_state(h);
	/* relaxed: a slot that is not live is not read. */
	at_store_relaxed(&slot->state, state);
	slot->held = 0;
	slot->since_ns = 0;
	slot->lingers = 0;
	slot->lent = 0;
	slot->pid = (uint32_t)getpid();
	slot->pid_namespace = pid_namespace();
	slot->id = (uint64_t)(state / (NM_SLOT_MASK + 1)) << 16 |
		   (uint64_t)(slot - h->slots);
	memcpy(slot->label, h->label, sizeof(slot->label));
	h->state = state - NM_SLOT_CLAIMED + NM_SLOT_LIVE;
	h->lock_id = nm_lock_id(nm_slot_ref(h, slot), h->state);
	return slot;
}

/* --- Burying --- */

void weir_nm_free_slot_(struct nm_slot *slot, uint32_t state)
{
	/* relaxed: the CAS validates it. */
	uint32_t seen = at_load_relaxed(&slot->state);

	/* [NT1] release */
	while (seen == state &&
	       !at_cas_weak_release(&slot->state, &seen,
				    state - NM_SLOT_LIVE + NM_SLOT_FREE))
		;
}

static bool is_of(const struct nm_record *record, uint32_t ref)
{
	return (weir_nm_word_of_(record) & NM_REC_MASK) != NM_REC_FREE &&
	       record->owner == ref;
}

static bool holds_permits(weir_named *h, const struct nm_slot *slot)
{
	uint32_t high = nm_records_high(h), ref = nm_slot_ref(h, slot);

	if (slot->held > 0)
		return true;
	for (uint32_t i = 0; i < high; i++)
		if (is_of(&h->records[i], ref) &&
		    nm_has_permits(weir_nm_word_of_(&h->records[i])))
			return true;
	return false;
}

/*
 * Free the records of a dead participant.  If it lingers, its records with
 * permits stay.
 */
static void drop_records(weir_named *h, const struct nm_slot *slot, bool lingers)
{
	uint32_t high = nm_records_high(h), ref = nm_slot_ref(h, slot);

	for (uint32_t i = 0; i < high; i++) {
		struct nm_record *record = &h->records[i];
		bool permits = nm_has_permits(weir_nm_word_of_(record));

		if (!is_of(record, ref) || (permits && lingers))
			continue;
		if (permits)
			h->head->value = nm_plus(h->head->value, record->got);
		weir_nm_record_free_(h, record);
	}
}

/*
 * Returns true if a thread of the dead owner is still running, or a process to
 * which the owner has lent its permits.
 */
static bool is_held_on(const weir_named *h, const struct nm_slot *slot)
{
	return weir_nm_byte_is_locked_(h->fd, NM_BYTE_ALIVE(slot - h->slots)) ||
	       (slot->lent && weir_nm_is_lent_(h, slot->lent));
}

bool weir_nm_bury_(weir_named *h, struct nm_slot *slot)
{
	/*
	 * Read the state first.  A handle that is being closed also seems dead,
	 * and frees its slot itself; the slot may have a new owner before this
	 * function has finished.
	 */
	/* [NT1] acquire */
	uint32_t state = at_load_acquire(&slot->state);
	bool lingers;

	if ((state & NM_SLOT_MASK) != NM_SLOT_LIVE || !has_died(slot))
		return false;
	/* The dead process may owe wake-ups. */
	weir_nm_wake_all_later_(h);
	lingers = h->strict && holds_permits(h, slot) && is_held_on(h, slot);
	drop_records(h, slot, lingers);
	if (lingers) {
		slot->lingers = 1;
		h->lingers = true;
		return false;
	}
	h->head->value = nm_plus(h->head->value, slot->held);
	slot->held = 0;
	weir_nm_unlend_(h, slot);
	weir_nm_free_slot_(slot, state);
	return true;
}

void weir_nm_sweep_(weir_named *h)
{
	uint32_t high = nm_slots_high(h);

	h->lingers = false;
	/* [NT2] acquire */
	if (at_load_acquire(&h->head->stale))
		weir_nm_repair_(h);
	for (uint32_t i = 0; i < high; i++)
		if (&h->slots[i] != h->mine && weir_nm_is_dead_(&h->slots[i]))
			weir_nm_bury_(h, &h->slots[i]);
	weir_nm_grant_all_(h);
}
