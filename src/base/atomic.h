/* SPDX-License-Identifier: MIT */
#ifndef WEIR_BASE_ATOMIC_H
#define WEIR_BASE_ATOMIC_H

/*
 * Atomic access to plain integers and pointers, the order in the name.
 *
 * Public structs hold plain integers, so these are the compiler's builtins and
 * not <stdatomic.h>.  There are no stand-alone fences: sanitizers do not
 * understand them.  A CAS that fails loads relaxed: every caller loops.
 *
 * This is the seam: a build that puts another base/atomic.h ahead in the include
 * path gets the same core with its own accesses (a schedule explorer's).  One
 * with WEIR_HELGRIND tells valgrind's helgrind what the orders promise.
 */
#ifdef WEIR_HELGRIND
#include "base/helgrind.h"
#endif
#include "weir/atomic.h"

#define at_load_relaxed(p) __atomic_load_n((p), __ATOMIC_RELAXED)
#define at_load_acquire(p) __atomic_load_n((p), __ATOMIC_ACQUIRE)
#define at_store_relaxed(p, v) __atomic_store_n((p), (v), __ATOMIC_RELAXED)
#define at_store_release(p, v) __atomic_store_n((p), (v), __ATOMIC_RELEASE)

/* Replace and return the value before. */
#define at_swap_acquire(p, v) __atomic_exchange_n((p), (v), __ATOMIC_ACQUIRE)
#define at_swap_release(p, v) __atomic_exchange_n((p), (v), __ATOMIC_RELEASE)

/* Add or subtract and return the value before. */
#define at_add_relaxed(p, v) __atomic_fetch_add((p), (v), __ATOMIC_RELAXED)
#define at_add_acq_rel(p, v) __atomic_fetch_add((p), (v), __ATOMIC_ACQ_REL)
#define at_sub_relaxed(p, v) __atomic_fetch_sub((p), (v), __ATOMIC_RELAXED)
#define at_sub_acq_rel(p, v) __atomic_fetch_sub((p), (v), __ATOMIC_ACQ_REL)

/* If *p == *old make it v; else *old = *p.  Weak: may fail for no reason. */
#define at_cas_(p, old, v, order) weir_cas_(p, old, v, order)
#define at_cas_weak_relaxed(p, old, v) at_cas_(p, old, v, __ATOMIC_RELAXED)
#define at_cas_weak_acquire(p, old, v) at_cas_(p, old, v, __ATOMIC_ACQUIRE)
#define at_cas_weak_release(p, old, v) at_cas_(p, old, v, __ATOMIC_RELEASE)
#define at_cas_weak_acq_rel(p, old, v) at_cas_(p, old, v, __ATOMIC_ACQ_REL)

#endif /* WEIR_BASE_ATOMIC_H */
