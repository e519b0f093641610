/* SPDX-License-Identifier: MIT */
#ifndef WEIR_BASE_ATOMIC_H
#define WEIR_BASE_ATOMIC_H

/*
 * The accesses of src/base/atomic.h.  Before each one a test can run code:
 * between.h.
 */
#include <stddef.h>

void between_access(const char *function);

/* The address for a CAS, and its result. */
void *between_cas(const char *function, void *word, size_t size);
int between_answer(int done);

#define at_now_(access) (between_access(__func__), access)

#define at_load_relaxed(p) at_now_(__atomic_load_n((p), __ATOMIC_RELAXED))
#define at_load_acquire(p) at_now_(__atomic_load_n((p), __ATOMIC_ACQUIRE))
#define at_store_relaxed(p, v)                                                 \
	at_now_(__atomic_store_n((p), (v), __ATOMIC_RELAXED))
#define at_store_release(p, v)                                                 \
	at_now_(__atomic_store_n((p), (v), __ATOMIC_RELEASE))

#define at_swap_acquire(p, v)                                                  \
	at_now_(__atomic_exchange_n((p), (v), __ATOMIC_ACQUIRE))
#define at_swap_release(p, v)                                                  \
	at_now_(__atomic_exchange_n((p), (v), __ATOMIC_RELEASE))

#define at_add_relaxed(p, v)                                                   \
	at_now_(__atomic_fetch_add((p), (v), __ATOMIC_RELAXED))
#define at_add_release(p, v)                                                   \
	at_now_(__atomic_fetch_add((p), (v), __ATOMIC_RELEASE))
#define at_add_acq_rel(p, v)                                                   \
	at_now_(__atomic_fetch_add((p), (v), __ATOMIC_ACQ_REL))
#define at_sub_relaxed(p, v)                                                   \
	at_now_(__atomic_fetch_sub((p), (v), __ATOMIC_RELAXED))
#define at_sub_release(p, v)                                                   \
	at_now_(__atomic_fetch_sub((p), (v), __ATOMIC_RELEASE))
#define at_sub_acq_rel(p, v)                                                   \
	at_now_(__atomic_fetch_sub((p), (v), __ATOMIC_ACQ_REL))

/*
 * Not weak: the CAS fails spuriously only where a test requests it.  Then it is
 * made on a copy of the word and reported as failed.  There is no branch in the
 * macro, so that the code around it is compiled as usual.
 */
#define at_cas_(p, old, v, order)                                              \
	between_answer(__atomic_compare_exchange_n(                            \
		(__typeof__(p))between_cas(__func__, (p), sizeof(*(p))),       \
		(old), (v), 0, order, __ATOMIC_RELAXED))
#define at_cas_weak_relaxed(p, old, v) at_cas_(p, old, v, __ATOMIC_RELAXED)
#define at_cas_weak_acquire(p, old, v) at_cas_(p, old, v, __ATOMIC_ACQUIRE)
#define at_cas_weak_release(p, old, v) at_cas_(p, old, v, __ATOMIC_RELEASE)
#define at_cas_weak_acq_rel(p, old, v) at_cas_(p, old, v, __ATOMIC_ACQ_REL)

#endif /* WEIR_BASE_ATOMIC_H */
