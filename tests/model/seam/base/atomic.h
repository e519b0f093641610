/* SPDX-License-Identifier: MIT */
#ifndef WEIR_BASE_ATOMIC_H
#define WEIR_BASE_ATOMIC_H

/* The core's atomics for the explorer: each access calls its engine. */
#include "explore.h"

#define at_here_ (&(const struct ex_place){ __FILE__, __LINE__ })
#define at_bits_(v) ((uint64_t)(uintptr_t)(v))
#define at_typed_(p, bits) ((__typeof__(*(p)))(uintptr_t)(bits))

#define at_load_(p, order)                                                     \
	at_typed_(p, ex_load((p), sizeof(*(p)), order, at_here_))
#define at_load_relaxed(p) at_load_(p, EX_RELAXED)
#define at_load_acquire(p) at_load_(p, EX_ACQUIRE)
#define at_load_seq_cst(p) at_load_(p, EX_SEQ_CST)

#define at_store_(p, v, order)                                                 \
	ex_store((p), sizeof(*(p)), at_bits_(v), order, at_here_)
#define at_store_relaxed(p, v) at_store_(p, v, EX_RELAXED)
#define at_store_release(p, v) at_store_(p, v, EX_RELEASE)

#define at_rmw_(p, op, v, order)                                               \
	at_typed_(p, ex_rmw((p), sizeof(*(p)), op, at_bits_(v), order, at_here_))
#define at_swap_relaxed(p, v) at_rmw_(p, EX_SWAP, v, EX_RELAXED)
#define at_swap_acquire(p, v) at_rmw_(p, EX_SWAP, v, EX_ACQUIRE)
#define at_swap_release(p, v) at_rmw_(p, EX_SWAP, v, EX_RELEASE)
#define at_add_relaxed(p, v) at_rmw_(p, EX_ADD, v, EX_RELAXED)
#define at_add_acquire(p, v) at_rmw_(p, EX_ADD, v, EX_ACQUIRE)
#define at_add_release(p, v) at_rmw_(p, EX_ADD, v, EX_RELEASE)
#define at_add_acq_rel(p, v) at_rmw_(p, EX_ADD, v, EX_ACQ_REL)
/* A read-modify-write reads the newest value, also with EX_ACQ_REL. */
#define at_add_seq_cst(p, v) at_rmw_(p, EX_ADD, v, EX_ACQ_REL)
#define at_sub_relaxed(p, v) at_rmw_(p, EX_SUB, v, EX_RELAXED)
#define at_sub_acquire(p, v) at_rmw_(p, EX_SUB, v, EX_ACQUIRE)
#define at_sub_release(p, v) at_rmw_(p, EX_SUB, v, EX_RELEASE)
#define at_sub_acq_rel(p, v) at_rmw_(p, EX_SUB, v, EX_ACQ_REL)

#define at_cas_(p, old, v, order)                                              \
	ex_cas((p), sizeof(*(p)), (old), at_bits_(v), order, at_here_)
#define at_cas_weak_relaxed(p, old, v) at_cas_(p, old, v, EX_RELAXED)
#define at_cas_weak_acquire(p, old, v) at_cas_(p, old, v, EX_ACQUIRE)
#define at_cas_weak_release(p, old, v) at_cas_(p, old, v, EX_RELEASE)
#define at_cas_weak_acq_rel(p, old, v) at_cas_(p, old, v, EX_ACQ_REL)
#define at_cas_weak_seq_cst(p, old, v) at_cas_(p, old, v, EX_ACQ_REL)

#endif /* WEIR_BASE_ATOMIC_H */
