/* SPDX-License-Identifier: MIT */
#ifndef WEIR_RECORD_MINE_H
#define WEIR_RECORD_MINE_H

/*
 * The recorder's memory of the calling thread.  This header is part of the seam:
 * the threads of the schedule explorer are no threads of the C library.
 */
#include <stdint.h>

#include "base/tls.h"
#include "record/layout.h"

struct weir_self_ {
	char *base;		/* the registry of `context`; null: none */
	struct rg_context *context;
	struct rg_slot *last;	/* slot that an acquire used last */
	const void *sem;	/* of `last`; null: not for the fast paths */
	uint64_t last_site;	/* of `last` */
	uint64_t epoch;		/* when `sem` was set */
	uint64_t site;		/* of the call that is about to wait */
	uint64_t outer;		/* of the call of a pattern; 0: none */
	uint32_t busy;
	uint32_t waited;	/* a wait has ended since weir_record_begin_ */
};

extern _Thread_local struct weir_self_ weir_mine_
	__attribute__((visibility("hidden"))) WEIR_TLS_READY_;

#endif /* WEIR_RECORD_MINE_H */
