/* SPDX-License-Identifier: MIT */
#ifndef WEIR_PATTERN_UNUSED_H
#define WEIR_PATTERN_UNUSED_H

#include "weir/sem.h"

/*
 * Returns WEIR_EBUSY if a waiter is queued, is oversized or waits for idle, or
 * has been granted permits and its call has not returned yet: for example an
 * operation whose callback has still to run.  With this check, a destroy fails
 * before it has changed anything.
 */
static inline weir_err weir_sem_check_unused_(weir_sem *sem)
{
	weir_sem_info info;
	weir_err err = weir_sem_stat(sem, &info);

	if (err)
		return err;
	return info.waiters || info.oversized || info.granted ? WEIR_EBUSY :
								WEIR_OK;
}

#endif /* WEIR_PATTERN_UNUSED_H */
