/* SPDX-License-Identifier: MIT */
#ifndef WEIR_ATOMIC_H
#define WEIR_ATOMIC_H

/*
 * Compare-and-swap for the library, and for the fast paths that WEIR_INLINE
 * compiles into a program (weir/inline.h).
 *
 * A compiler that targets the first aarch64 CPUs (ARMv8.0) calls a helper,
 * which selects the instruction at run time.  The call costs more than the
 * selection.  Here the selection is inline and nothing is called.
 */
#include <stdbool.h>
#include <stdint.h>

#include "weir/base.h"

/* A race detector must see the accesses, so it gets the compiler's builtins. */
#if defined(__SANITIZE_THREAD__) || defined(WEIR_HELGRIND)
#define WEIR_ATOMICS_SEEN_ 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define WEIR_ATOMICS_SEEN_ 1
#endif
#endif

/*
 * If *p == *old, then set *p to v; otherwise set *old to *p.  This CAS is weak:
 * it may fail spuriously.
 */
#define weir_cas_plain_(p, old, v, order)                                      \
	__atomic_compare_exchange_n((p), (old), (v), 1, (order),               \
				    __ATOMIC_RELAXED)

#if defined(__aarch64__) && !defined(__ARM_FEATURE_ATOMICS) &&                 \
	!defined(WEIR_ATOMICS_SEEN_)

WEIR_DECLS_BEGIN
/* Nonzero if the CPU has the LSE instructions (ARMv8.1). */
extern WEIR_API uint8_t weir_has_lse_;
WEIR_DECLS_END

#define WEIR_LSE_CAS_(instruction)                                             \
	__asm__ volatile(".arch_extension lse\n\t" instruction " %0, %2, %1"   \
			 : "+r"(seen), "+Q"(*word)                             \
			 : "r"(v)                                              \
			 : "memory")

/* One attempt.  If another CPU writes the word in between, failed is 1. */
#define WEIR_LLSC_CAS_(load, store)                                            \
	__asm__ volatile(load " %0, %2\n\t"                                    \
			 "cmp %0, %3\n\t"                                      \
			 "b.ne 1f\n\t" store " %w1, %4, %2\n"                  \
			 "1:"                                                  \
			 : "=&r"(seen), "+&r"(failed), "+Q"(*word)             \
			 : "r"(expected), "r"(v)                               \
			 : "memory", "cc")

static inline __attribute__((always_inline)) bool
weir_cas_inline_(void *p, void *old, uint64_t v, int order)
{
	uint64_t *word = (uint64_t *)p;
	uint64_t expected = *(uint64_t *)old, seen = expected;
	uint32_t failed = 0;

	if (__builtin_expect(weir_has_lse_, 1)) {
		if (order == __ATOMIC_RELAXED)
			WEIR_LSE_CAS_("cas");
		else if (order == __ATOMIC_ACQUIRE)
			WEIR_LSE_CAS_("casa");
		else if (order == __ATOMIC_RELEASE)
			WEIR_LSE_CAS_("casl");
		else
			WEIR_LSE_CAS_("casal");
	} else {
		if (order == __ATOMIC_RELAXED)
			WEIR_LLSC_CAS_("ldxr", "stxr");
		else if (order == __ATOMIC_ACQUIRE)
			WEIR_LLSC_CAS_("ldaxr", "stxr");
		else if (order == __ATOMIC_RELEASE)
			WEIR_LLSC_CAS_("ldxr", "stlxr");
		else
			WEIR_LLSC_CAS_("ldaxr", "stlxr");
	}
	*(uint64_t *)old = seen;
	/* The assembly writes its "+" operands, which cppcheck does not see. */
	/* cppcheck-suppress knownConditionTrueFalse */
	return seen == expected && !failed;
}

#define weir_cas_(p, old, v, order)                                            \
	(sizeof(*(p)) == 8 ?                                                   \
		 weir_cas_inline_((p), (old), (uint64_t)(v), (order)) :        \
		 weir_cas_plain_(p, old, v, order))

#else
#define weir_cas_(p, old, v, order) weir_cas_plain_(p, old, v, order)
#endif

#endif /* WEIR_ATOMIC_H */
