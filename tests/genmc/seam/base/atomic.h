/* SPDX-License-Identifier: MIT */
#ifndef WEIR_BASE_ATOMIC_H
#define WEIR_BASE_ATOMIC_H

/*
 * The core's atomics for GenMC: the compiler's builtins, without the choice of
 * instructions of src/base/atomic.h, and with every order, so that orders can be
 * weakened.  A CAS is strong: GenMC does not model spurious failures.
 */
#include <stdbool.h>
#include <stdint.h>

#define at_load_relaxed(p) __atomic_load_n((p), __ATOMIC_RELAXED)
#define at_load_acquire(p) __atomic_load_n((p), __ATOMIC_ACQUIRE)
#define at_store_relaxed(p, v) __atomic_store_n((p), (v), __ATOMIC_RELAXED)
#define at_store_release(p, v) __atomic_store_n((p), (v), __ATOMIC_RELEASE)

#define at_swap_relaxed(p, v) __atomic_exchange_n((p), (v), __ATOMIC_RELAXED)
#define at_swap_acquire(p, v) __atomic_exchange_n((p), (v), __ATOMIC_ACQUIRE)
#define at_swap_release(p, v) __atomic_exchange_n((p), (v), __ATOMIC_RELEASE)

#define at_add_relaxed(p, v) __atomic_fetch_add((p), (v), __ATOMIC_RELAXED)
#define at_add_acquire(p, v) __atomic_fetch_add((p), (v), __ATOMIC_ACQUIRE)
#define at_add_release(p, v) __atomic_fetch_add((p), (v), __ATOMIC_RELEASE)
#define at_add_acq_rel(p, v) __atomic_fetch_add((p), (v), __ATOMIC_ACQ_REL)
#define at_sub_relaxed(p, v) __atomic_fetch_sub((p), (v), __ATOMIC_RELAXED)
#define at_sub_acquire(p, v) __atomic_fetch_sub((p), (v), __ATOMIC_ACQUIRE)
#define at_sub_release(p, v) __atomic_fetch_sub((p), (v), __ATOMIC_RELEASE)
#define at_sub_acq_rel(p, v) __atomic_fetch_sub((p), (v), __ATOMIC_ACQ_REL)

#define at_cas_(p, old, v, order)                                              \
	__atomic_compare_exchange_n((p), (old), (v), 0, (order),               \
				    __ATOMIC_RELAXED)
#define at_cas_weak_relaxed(p, old, v) at_cas_(p, old, v, __ATOMIC_RELAXED)
#define at_cas_weak_acquire(p, old, v) at_cas_(p, old, v, __ATOMIC_ACQUIRE)
#define at_cas_weak_release(p, old, v) at_cas_(p, old, v, __ATOMIC_RELEASE)
#define at_cas_weak_acq_rel(p, old, v) at_cas_(p, old, v, __ATOMIC_ACQ_REL)

#endif /* WEIR_BASE_ATOMIC_H */
