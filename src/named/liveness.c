/* SPDX-License-Identifier: MIT */
/*
 * The slots that each keeper watches.  See docs/design/named.md, "Watching".
 *
 * Participants with a waiting call form the chain, in the order in which they
 * began to wait.  The keepers of the first two participants have the roles 1
 * and 2.  Each of these keepers watches every holder, the other one of the
 * first two, and the last participant of the chain, on which an earlier
 * participant may depend.  Every later keeper watches its predecessor in the
 * chain.  Each kind of watcher has its own liveness word in the watched slot.
 * So every word has at most one sleeper, and the single wake-up that the kernel
 * sends per word and death reaches that sleeper.
 *
 * armed_by, armed and armed_pred record the words on which keepers sleep, so
 * that a keeper is kicked only if its set of words must change.
 *
 * A keeper that has lost its role continues to sleep on the role's words until
 * it wakes for another reason.  A death may wake this former keeper while its
 * own process is being killed, and then the wake-up is lost.  So the keeper
 * that has the role now also watches the former keeper; the death of the former
 * keeper wakes it.  The set `asleep` records the keepers that may sleep on a
 * role's words.
 */
#include <string.h>

#include "named/handle.h"

void weir_nm_kick_(struct nm_slot *slot)
{
	/* [NK2] release */
	at_add_acq_rel(&slot->kick, 1);
	weir_shared_wake_(&slot->kick);
}

void weir_nm_kick_first_(weir_named *h)
{
	struct nm_slot *first = nm_slot_at(h, &h->head->chain_first);
	struct nm_slot *second = first ? nm_slot_at(h, &first->chain_next) :
					 NULL;

	if (first)
		weir_nm_kick_(first);
	if (second)
		weir_nm_kick_(second);
}

/*
 * Returns the role of slot, counted from 0; NM_ROLES if the slot has no role.
 */
static uint32_t role_of(const struct nm_slot *slot)
{
	return nm_index(&slot->role, NM_ROLES);
}

static bool has_role(const struct nm_slot *slot)
{
	return role_of(slot) < NM_ROLES;
}

/* Returns true if watcher has a role and sleeps on slot's word. */
static bool is_armed(weir_named *h, const struct nm_slot *watcher,
		     const struct nm_slot *slot)
{
	uint32_t r = role_of(watcher), index = (uint32_t)(slot - h->slots);

	return r < NM_ROLES &&
	       h->head->armed_by[r] == nm_slot_ref(h, watcher) &&
	       h->head->armed[r][index / 64] >> index % 64 & 1;
}

/*
 * Returns the partner of slot: the other one of the first two slots of the
 * chain; null if slot is alone.
 */
static struct nm_slot *partner(weir_named *h, const struct nm_slot *slot)
{
	struct nm_slot *first = nm_slot_at(h, &h->head->chain_first);
	struct nm_slot *second = first ? nm_slot_at(h, &first->chain_next) :
					 NULL;

	return slot == first ? second : first;
}

/* Returns true if slot, with its role, watches its partner and all holders. */
static bool covers(weir_named *h, const struct nm_slot *slot)
{
	struct nm_slot *other = partner(h, slot);
	uint32_t count = 0, r = role_of(slot);

	if (other && !is_armed(h, slot, other))
		return false;
	for (other = nm_slot_at(h, &h->head->holders); other;
	     other = nm_slot_at(h, &other->holder_next))
		if (++count > NM_SLOTS || (other != slot && other->held > 0 &&
					   !is_armed(h, slot, other)))
			return false;
	return r < NM_ROLES && h->head->armed_by[r] == nm_slot_ref(h, slot);
}

/*
 * Give a role to slot, one of the first two of the chain.  The slot and its
 * partner then watch each other.
 */
static void promote(weir_named *h, struct nm_slot *slot)
{
	struct nm_slot *other = partner(h, slot);
	uint32_t ref = nm_slot_ref(h, slot), taken;

	taken = other && has_role(other) ? role_of(other) + 1 : 0;
	if (!taken)
		slot->role = h->head->armed_by[1] == ref ? 2 : 1;
	else
		slot->role = taken == 1 ? 2 : 1;
	if (!covers(h, slot))
		weir_nm_kick_(slot);
	if (taken && !is_armed(h, other, slot))
		weir_nm_kick_(other);
}

void weir_nm_chain_add_(weir_named *h, struct nm_slot *slot)
{
	struct nm_slot *last = nm_slot_at(h, &h->head->chain_last);
	uint32_t ref = nm_slot_ref(h, slot);

	slot->role = 0;
	slot->chain_next = 0;
	slot->chain_prev = h->head->chain_last;
	if (last)
		last->chain_next = ref;
	else
		h->head->chain_first = ref;
	h->head->chain_last = ref;
	if (!last || !last->chain_prev)
		promote(h, slot);
	else if (slot->armed_pred != slot->chain_prev)
		weir_nm_kick_(slot);
}

void weir_nm_chain_remove_(weir_named *h, struct nm_slot *slot)
{
	struct nm_slot *prev = nm_slot_at(h, &slot->chain_prev);
	struct nm_slot *next = nm_slot_at(h, &slot->chain_next);
	struct nm_slot *second;

	if (!prev && h->head->chain_first != nm_slot_ref(h, slot))
		return;
	if (prev)
		prev->chain_next = slot->chain_next;
	else
		h->head->chain_first = slot->chain_next;
	if (next)
		next->chain_prev = slot->chain_prev;
	else
		h->head->chain_last = slot->chain_prev;
	slot->chain_next = slot->chain_prev = 0;
	if (has_role(slot)) {
		slot->role = 0;
		second = nm_slot_at(h, &h->head->chain_first);
		second = second ? nm_slot_at(h, &second->chain_next) : NULL;
		if (second && !has_role(second))
			promote(h, second);
	} else {
		/* Kick the keeper off the word that its successor will use. */
		if (slot->armed_pred)
			weir_nm_kick_(slot);
		if (next && next->armed_pred != next->chain_prev)
			weir_nm_kick_(next);
	}
	weir_nm_watch_last_(h);
}

void weir_nm_watch_holder_(weir_named *h, struct nm_slot *slot)
{
	struct nm_slot *watcher = nm_slot_at(h, &h->head->chain_first);

	for (int i = 0; i < 2 && watcher; i++) {
		if (watcher != slot && has_role(watcher) &&
		    !is_armed(h, watcher, slot))
			weir_nm_kick_(watcher);
		watcher = nm_slot_at(h, &watcher->chain_next);
	}
}

/*
 * Returns true if an earlier participant may depend on the last one of the
 * chain: because the earlier one waits for idle, or is behind the last one in
 * the queue.  Usually the result is false: the last participant has a single
 * call, at the end of the queue.
 */
static bool is_awaited(weir_named *h, const struct nm_slot *last)
{
	struct nm_record *end = nm_record_at(h, &h->head->queue_last);

	if (h->head->idlers)
		return true;
	return end && (last->in_use != 1 || nm_slot_at(h, &end->owner) != last);
}

void weir_nm_watch_last_(weir_named *h)
{
	struct nm_slot *last = nm_slot_at(h, &h->head->chain_last);

	/* A slot with a role is watched by its partner anyway. */
	if (last && !has_role(last) && is_awaited(h, last))
		weir_nm_watch_holder_(h, last);
}

/*
 * Append one of slot's liveness words to the list.  Words 0 and 1 are those of
 * the roles.  If the owner has died since the sweep, the keeper must sweep
 * again.
 */
static unsigned add(weir_named *h, struct nm_slot *slot, unsigned which,
		    struct weir_watch_ *watches, unsigned count)
{
	uint32_t *word = &slot->alive[which].word, value, index;

	if (slot == h->mine || count >= NM_SLOTS)
		return count;
	/* relaxed: the kernel compares the value when the sleep begins. */
	value = at_load_relaxed(word);
	if (!weir_is_alive_(value)) {
		h->lingers = true;
		return count;
	}
	watches[count].word = word;
	watches[count].value = value;
	index = (uint32_t)(slot - h->slots);
	if (which < NM_ROLES)
		h->head->armed[which][index / 64] |= UINT64_C(1) << index % 64;
	return count + 1;
}

/*
 * Returns true if threads of slot's owner may sleep on liveness words.  Helpers
 * have no liveness word.  They end shortly before or after the keeper, and all
 * of them end before the files of the process are closed.
 */
static bool can_be_asleep(weir_named *h, const struct nm_slot *slot)
{
	if (weir_nm_is_live_(slot))
		return true;
	if (!slot->helped ||
	    !weir_nm_byte_is_locked_(h->fd, NM_BYTE_ALIVE(slot - h->slots)))
		return false;
	h->lingers = true;
	return true;
}

/*
 * Append the former keepers of role r, which may still sleep on its words.
 * Kick the former keepers that neither hold nor wait: no other event would wake
 * them soon.
 */
static unsigned add_former(weir_named *h, uint32_t r,
			   struct weir_watch_ *watches, unsigned count)
{
	uint64_t *asleep = h->head->asleep[r];

	for (uint32_t i = 0; i < NM_SLOTS; i++) {
		struct nm_slot *slot = &h->slots[i];

		if (!asleep[i / 64]) {
			i |= 63;
			continue;
		}
		if (!(asleep[i / 64] >> i % 64 & 1) || slot == h->mine)
			continue;
		if (!can_be_asleep(h, slot)) {
			asleep[i / 64] &= ~(UINT64_C(1) << i % 64);
			continue;
		}
		if (!weir_nm_is_live_(slot))
			continue;
		if (!is_armed(h, h->mine, slot))
			count = add(h, slot, r, watches, count);
		if (!slot->in_use && slot->held <= 0)
			weir_nm_kick_(slot);
	}
	return count;
}

static unsigned arm_role(weir_named *h, uint32_t r,
			 struct weir_watch_ *watches)
{
	unsigned count = 0, rounds = 0;
	struct nm_slot *other;
	uint32_t last;

	memset(h->head->armed[r], 0, sizeof(h->head->armed[r]));
	h->head->armed_by[r] = h->me;
	for (other = nm_slot_at(h, &h->head->holders);
	     other && rounds++ < NM_SLOTS;
	     other = nm_slot_at(h, &other->holder_next))
		if (other->held > 0)
			count = add(h, other, r, watches, count);
	other = partner(h, h->mine);
	/* Do not add the partner twice: it may be a holder as well. */
	if (other && !is_armed(h, h->mine, other))
		count = add(h, other, r, watches, count);
	last = nm_index(&h->head->chain_last, NM_SLOTS);
	if (last < NM_SLOTS && !is_armed(h, h->mine, &h->slots[last]))
		count = add(h, &h->slots[last], r, watches, count);
	return add_former(h, r, watches, count);
}

/* Record that our keeper sleeps on words of role r and of no other role. */
static void note_asleep(weir_named *h, uint32_t r)
{
	uint32_t index = (uint32_t)(h->mine - h->slots);
	uint64_t bit = UINT64_C(1) << index % 64;

	for (uint32_t i = 0; i < NM_ROLES; i++)
		if (i == r)
			h->head->asleep[i][index / 64] |= bit;
		/* If helpers still have words, the next call clears the bit. */
		else if (weir_nm_helpers_are_idle_(h))
			h->head->asleep[i][index / 64] &= ~bit;
}

unsigned weir_nm_arm_(weir_named *h, struct weir_watch_ *watches)
{
	struct nm_slot *prev = nm_slot_at(h, &h->mine->chain_prev);
	uint32_t role = role_of(h->mine);
	unsigned count;

	for (uint32_t r = 0; r < NM_ROLES; r++)
		if (h->head->armed_by[r] == h->me)
			h->head->armed_by[r] = 0;
	note_asleep(h, role);
	if (role < NM_ROLES) {
		h->mine->armed_pred = 0;
		count = arm_role(h, role, watches);
	} else {
		h->mine->armed_pred = h->mine->chain_prev;
		count = prev ? add(h, prev, NM_ALIVE_CHAIN, watches, 0) : 0;
	}
	h->mine->helped = count > nm_own_watches(h) ||
			  !weir_nm_helpers_are_idle_(h);
	return count;
}
