/* SPDX-License-Identifier: MIT */
#ifndef WEIR_NAMED_IMAGE_H
#define WEIR_NAMED_IMAGE_H

/*
 * A private copy of the file, for stat.  It is read with pread(2): a process
 * that maps a file is killed if another process truncates the file.
 */
#include "named/handle.h"

struct nm_image {
	struct nm_header head;
	struct nm_slot *slots;		/* filled in if LIVE, else zero */
	struct nm_record *records;	/* filled in if not FREE, else zero */
	uint32_t *used_slots;		/* indices of the LIVE slots, */
	uint32_t *used_records;		/* of the records not FREE */
	uint32_t slot_count, record_count;	/* their numbers */
	struct nm_place *places;	/* room for all records */
	uint64_t lock;			/* the lock word after the last read */
	uint32_t queries;		/* queries of file locks that are left */
	bool consistent;		/* no process changed it meanwhile */
	bool stuck;			/* one process had the lock throughout */
};

/*
 * Read the file.  Tries a bounded number of times to read it while no process
 * changes it.  WEIR_ESYSTEM with EBADMSG: the file is not a semaphore any more.
 */
weir_err weir_nm_image_read_(const weir_named *h, struct nm_image *image);
void weir_nm_image_free_(struct nm_image *image);

/*
 * Returns true if the slot's dead owner still has a thread, or has lent its
 * permits to a process that lives.  Makes at most image->queries queries: the
 * tables of a hostile file may be full of dead owners.
 */
bool weir_nm_image_is_held_on_(const weir_named *h, struct nm_image *image,
			       uint32_t index);

/*
 * Returns the index of the slot that owns a record, or NM_SLOTS if the record
 * has no owner any more.
 */
static inline uint32_t nm_image_owner(const struct nm_image *image,
				      const struct nm_record *record)
{
	uint32_t index = nm_index(&record->owner, NM_SLOTS);

	return index < NM_SLOTS &&
	       image->slots[index].state == record->owner_state ?
		       index : NM_SLOTS;
}

static inline uint32_t nm_image_state(const struct nm_image *image,
				      uint32_t index)
{
	return image->records[index].state & NM_REC_MASK;
}

#endif /* WEIR_NAMED_IMAGE_H */
