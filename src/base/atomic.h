/* SPDX-License-Identifier: MIT */
#ifndef WEIR_BASE_ATOMIC_H
#define WEIR_BASE_ATOMIC_H

/*
 * Atomic access to plain integers and pointers.  The memory order is part of
 * the name.
 *
 * Members of public structs have plain integer types, so these macros use the
 * compiler's builtins and not <stdatomic.h>.  There are no stand-alone fences
 * between threads: sanitizers do not model them.  A CAS that fails loads with
 * relaxed order: every caller retries.
 *
 * This header is part of the seam.  The schedule explorer puts its own
 * base/atomic.h first in the include path and compiles the same core with it.
 * A build with WEIR_HELGRIND annotates every access for valgrind's helgrind.
 */
#ifdef WEIR_HELGRIND
#include "base/helgrind.h"
#endif
#include "weir/atomic.h"

#define at_load_relaxed(p) __atomic_load_n((p), __ATOMIC_RELAXED)
#define at_load_acquire(p) __atomic_load_n((p), __ATOMIC_ACQUIRE)
#define at_load_seq_cst(p) __atomic_load_n((p), __ATOMIC_SEQ_CST)
#define at_store_relaxed(p, v) __atomic_store_n((p), (v), __ATOMIC_RELAXED)
#define at_store_release(p, v) __atomic_store_n((p), (v), __ATOMIC_RELEASE)

/*
 * Store v to *p and w to *q, in any order.  Both have 64 bits, and *q follows
 * *p in memory.  On aarch64 this is one instruction.
 */
#if defined(__aarch64__) && !defined(WEIR_ATOMICS_SEEN_)
#define at_store_pair_relaxed(p, v, q, w)                                      \
	__asm__ volatile("stp %2, %3, [%4]"                                    \
			 : "=m"(*(p)), "=m"(*(q))                              \
			 : "r"(v), "r"(w), "r"(p))
#else
#define at_store_pair_relaxed(p, v, q, w)                                      \
	(at_store_relaxed((q), (w)), at_store_relaxed((p), (v)))
#endif

/* Store v; return the previous value. */
#define at_swap_relaxed(p, v) __atomic_exchange_n((p), (v), __ATOMIC_RELAXED)
#define at_swap_acquire(p, v) __atomic_exchange_n((p), (v), __ATOMIC_ACQUIRE)
#define at_swap_release(p, v) __atomic_exchange_n((p), (v), __ATOMIC_RELEASE)

/* Add or subtract v; return the previous value. */
#define at_add_relaxed(p, v) __atomic_fetch_add((p), (v), __ATOMIC_RELAXED)
#define at_add_release(p, v) __atomic_fetch_add((p), (v), __ATOMIC_RELEASE)
#define at_add_acq_rel(p, v) __atomic_fetch_add((p), (v), __ATOMIC_ACQ_REL)
#define at_add_seq_cst(p, v) __atomic_fetch_add((p), (v), __ATOMIC_SEQ_CST)
#define at_sub_relaxed(p, v) __atomic_fetch_sub((p), (v), __ATOMIC_RELAXED)
#define at_sub_release(p, v) __atomic_fetch_sub((p), (v), __ATOMIC_RELEASE)
#define at_sub_acq_rel(p, v) __atomic_fetch_sub((p), (v), __ATOMIC_ACQ_REL)

/*
 * If *p == *old, store v and return true.  Otherwise load *p into *old and
 * return false.  Weak: may fail spuriously.
 */
#define at_cas_(p, old, v, order) weir_cas_(p, old, v, order)
#define at_cas_weak_relaxed(p, old, v) at_cas_(p, old, v, __ATOMIC_RELAXED)
#define at_cas_weak_acquire(p, old, v) at_cas_(p, old, v, __ATOMIC_ACQUIRE)
#define at_cas_weak_release(p, old, v) at_cas_(p, old, v, __ATOMIC_RELEASE)
#define at_cas_weak_acq_rel(p, old, v) at_cas_(p, old, v, __ATOMIC_ACQ_REL)
#define at_cas_weak_seq_cst(p, old, v) at_cas_(p, old, v, __ATOMIC_SEQ_CST)

/*
 * The compiler moves no access across this fence.  It orders the accesses of a
 * thread and of a signal handler that interrupts the thread.
 */
#define at_signal_fence() __atomic_signal_fence(__ATOMIC_SEQ_CST)

#endif /* WEIR_BASE_ATOMIC_H */
