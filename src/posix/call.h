/* SPDX-License-Identifier: MIT */
#ifndef WEIR_POSIX_CALL_H
#define WEIR_POSIX_CALL_H

/* The begin and the end of each call: find the object of *s, and set errno. */
#include <errno.h>
#include <semaphore.h>
#include <stdbool.h>

#include "posix/object.h"
#include "weir/base.h"

/* Returns -1 with errno set. */
static inline int weir_posix_fail_(int why)
{
	errno = why;
	return -1;
}

/* Returns 0, or -1 with errno set. */
static inline int weir_posix_result_(weir_err err)
{
	switch (err) {
	case WEIR_OK:
		return 0;
	case WEIR_EAGAIN:
		return weir_posix_fail_(EAGAIN);
	case WEIR_ETIMEDOUT:
		return weir_posix_fail_(ETIMEDOUT);
	case WEIR_EINTR:
		return weir_posix_fail_(EINTR);
	case WEIR_EOVERFLOW:
		return weir_posix_fail_(EOVERFLOW);
	case WEIR_EBUSY:
		return weir_posix_fail_(EBUSY);
	default:
		return weir_posix_fail_(EINVAL);
	}
}

/* Returns true if *s is weir's; otherwise sets *foreign or errno. */
static inline bool weir_posix_is_ours_(sem_t *s,
				       struct weir_object_posix_ **o,
				       bool *foreign)
{
	enum weir_found_ found = s ? weir_posix_find_(s, o) : WEIR_FOUND_DEAD_;

	*foreign = found == WEIR_FOUND_FOREIGN_;
	if (found == WEIR_FOUND_DEAD_)
		errno = EINVAL;
	if (found == WEIR_FOUND_NO_MEMORY_)
		errno = ENOMEM;
	return found == WEIR_FOUND_;
}

#endif /* WEIR_POSIX_CALL_H */
