/* SPDX-License-Identifier: MIT */
#ifndef WEIR_RECORD_HOLDS_H
#define WEIR_RECORD_HOLDS_H

/*
 * The holds of the calling thread: functions that record.c, release.c and permit.c
 * share.
 */
#include <stdbool.h>
#include <stdint.h>

#include "base/atomic.h"
#include "record/layout.h"
#include "record/registry.h"

/* Returns the registry of this process; null: none. */
static inline char *weir_holds_base_(void)
{
	/* relaxed: as in weir_record_object_. */
	return at_load_relaxed(&weir_registry_->base);
}

/*
 * Add n permits to a slot of this thread.  `immediate`: count an acquire that did
 * not wait.
 */
void weir_holds_add_(char *base, uint64_t id, int64_t n, uint64_t site,
		     uint64_t since, bool immediate);

/*
 * Returns the slot of this thread with the newest hold of the object; null: there
 * is none.  `holding`: only a slot that contains permits.
 */
struct rg_slot *weir_holds_newest_(char *base, uint64_t id, bool holding);

/*
 * Record in the object that n permits were returned (n < 0: that -n were
 * taken), because no slot can record this.  Requires: the record of the object
 * is not reused.
 */
void weir_holds_hand_over_(struct rg_object *object, int64_t n, uint32_t flag);

#endif /* WEIR_RECORD_HOLDS_H */
