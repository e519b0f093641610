/* SPDX-License-Identifier: MIT */
#ifndef WEIR_PATTERN_UNUSED_H
#define WEIR_PATTERN_UNUSED_H

#include "weir/sem.h"

/*
 * WEIR_EBUSY: somebody waits, or was given his permits and has not come for them,
 * as an operation whose callback has still to run.  Before anything is changed.
 */
static inline weir_err weir_sem_is_unused_(weir_sem *sem)
{
	weir_sem_info info;
	weir_err err = weir_sem_stat(sem, &info);

	if (err)
		return err;
	return info.waiters || info.granted ? WEIR_EBUSY : WEIR_OK;
}

#endif /* WEIR_PATTERN_UNUSED_H */
