/* SPDX-License-Identifier: MIT */
#ifndef WEIR_BASE_ATOMIC_H
#define WEIR_BASE_ATOMIC_H

/*
 * The explorer's atomics: each access is a point at which somebody else may go
 * first.  Threads take turns on one real thread, so the access itself is
 * plain, and orders are not explored here.
 */
#include "explore.h"

#define at_point_(op, p) ex_point(op, (p), sizeof(*(p)), __FILE__, __LINE__)
#define at_load_(p) (at_point_(EX_LOAD, p), *(p))
#define at_load_relaxed(p) at_load_(p)
#define at_load_acquire(p) at_load_(p)

#define at_store_(p, v) (at_point_(EX_STORE, p), (void)(*(p) = (v)))
#define at_store_relaxed(p, v) at_store_(p, v)
#define at_store_release(p, v) at_store_(p, v)

#define at_swap_(p, v)                                                         \
	(at_point_(EX_RMW, p), __atomic_exchange_n((p), (v), __ATOMIC_RELAXED))
#define at_swap_acquire(p, v) at_swap_(p, v)
#define at_swap_release(p, v) at_swap_(p, v)

#define at_add_(p, v)                                                          \
	(at_point_(EX_RMW, p), __atomic_fetch_add((p), (v), __ATOMIC_RELAXED))
#define at_add_relaxed(p, v) at_add_(p, v)
#define at_add_acq_rel(p, v) at_add_(p, v)
#define at_sub_(p, v)                                                          \
	(at_point_(EX_RMW, p), __atomic_fetch_sub((p), (v), __ATOMIC_RELAXED))
#define at_sub_relaxed(p, v) at_sub_(p, v)
#define at_sub_acq_rel(p, v) at_sub_(p, v)

#define at_cas_(p, old, v)                                                     \
	(at_point_(EX_CAS, p),                                                 \
	 ex_cas_fails() ?                                                      \
		 (*(old) = *(p), 0) :                                          \
		 __atomic_compare_exchange_n((p), (old), (v), 0,               \
					     __ATOMIC_RELAXED,                 \
					     __ATOMIC_RELAXED))
#define at_cas_weak_relaxed(p, old, v) at_cas_(p, old, v)
#define at_cas_weak_acquire(p, old, v) at_cas_(p, old, v)
#define at_cas_weak_release(p, old, v) at_cas_(p, old, v)
#define at_cas_weak_acq_rel(p, old, v) at_cas_(p, old, v)

#endif /* WEIR_BASE_ATOMIC_H */
