/* SPDX-License-Identifier: MIT */
/*
 * Records of finished calls.
 *
 * A call finishes without the lock.  It puts its record on a private list of
 * the handle, and the next critical section of the handle folds the list:
 * permits that the calls have taken count as held by the slot, and the records
 * are free again.  If a call has left or was revoked, other calls may be
 * grantable now (C7), so leave() in wait.c unlinks the record and grants at
 * once.  If the lock is not available within a short time, the keeper folds the
 * record instead.
 *
 * Pairs
 *
 *   [NW1] finished  release: weir_nm_finish_   acquire: weir_nm_fold_
 *                   The folding thread sees the list up to the record.
 */
#include "named/keeper.h"
#include "named/lock.h"
#include "named/record.h"

void weir_nm_finish_(weir_named *h, const struct nm_record *record)
{
	uint32_t ref = nm_record_ref(h, record);
	/* relaxed: the CAS validates it. */
	uint32_t first = at_load_relaxed(&h->finished);

	do
		/* relaxed: published by the CAS. */
		at_store_relaxed(&h->scratch->finished_next[ref - 1], first);
	/* [NW1] release */
	while (!at_cas_weak_release(&h->finished, &first, ref));
}

void weir_nm_fold_(weir_named *h)
{
	/* [NW1] acquire */
	uint32_t ref = at_swap_acquire(&h->finished, 0);
	/*
	 * relaxed: a call owes permits after it has taken them under the lock.
	 * A swap that finds them belongs to a later critical section, which
	 * sees that they are held.
	 */
	int64_t owed = at_swap_relaxed(&h->owed, 0);
	bool grant = false;

	/*
	 * In a damaged file two calls may get the same record.  Then the list
	 * has a cycle.
	 */
	for (uint32_t i = 0; ref && i < NM_RECORDS; i++) {
		struct nm_record *record = &h->records[ref - 1];
		uint32_t state = weir_nm_word_of_(record) & NM_REC_MASK;

		/* relaxed: ordered by the swap. */
		ref = at_load_relaxed(&h->scratch->finished_next[ref - 1]);
		/* The file is damaged, and the record is not ours any more. */
		if (record->owner != h->me)
			continue;
		if (state == NM_REC_TAKEN) {
			if (!h->mine->held)
				h->mine->since_ticks = record->since;
			h->mine->held = nm_plus(h->mine->held, record->got);
		}
		grant = grant || record->linked || state == NM_REC_REVOKED;
		weir_nm_record_clean_(h, record);
		weir_nm_record_free_(h, record);
	}
	if (owed)
		weir_nm_give_(h, owed);
	if (grant)
		weir_nm_grant_all_(h);
}

void weir_nm_fold_soon_(weir_named *h)
{
	struct nm_limit brief = { .brief = true };

	if (nm_lock(h, &brief)) {
		weir_nm_kick_(h);
		return;
	}
	weir_nm_fold_(h);
	nm_unlock(h);
}

void weir_nm_give_back_(weir_named *h, int64_t n)
{
	/* relaxed: see weir_nm_fold_. */
	at_add_relaxed(&h->owed, n);
	weir_nm_fold_soon_(h);
}
