/* SPDX-License-Identifier: MIT */
#ifndef WEIR_NAMED_ENTRIES_H
#define WEIR_NAMED_ENTRIES_H

#include "named/image.h"

/* The caller's array; entries beyond max are only counted. */
struct nm_list {
	weir_named_entry *entries;
	uint32_t count, max;
};

/*
 * Add a count of the file without overflow.  A negative count counts as 0; a
 * negative sum, of a damaged file, remains as it is.
 */
static inline int64_t nm_sum(int64_t a, int64_t b)
{
	if (a < 0 || b < 0)
		return a;
	return b > INT64_MAX - a ? INT64_MAX : a + b;
}

/* Add an entry for the process that had the lock during all reads, if any. */
void weir_nm_add_lock_holder_(const weir_named *h, struct nm_list *list,
			      const struct nm_image *image);

/* Add the holders, and count them and their permits in *info. */
void weir_nm_add_holders_(const weir_named *h, struct nm_list *list,
			  const struct nm_image *image, weir_named_info *info);

/* Add the records in this state.  Returns their number. */
uint32_t weir_nm_add_state_(const weir_named *h, struct nm_list *list,
			    const struct nm_image *image, uint32_t state,
			    weir_named_role role);

/* Add the queue, sorted by ticket, and count it in *info. */
void weir_nm_add_queue_(const weir_named *h, struct nm_list *list,
			struct nm_image *image, weir_named_info *info);

#endif /* WEIR_NAMED_ENTRIES_H */
