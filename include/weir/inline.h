/* SPDX-License-Identifier: MIT */
#ifndef WEIR_INLINE_H
#define WEIR_INLINE_H

/*
 * The fast paths of weir/sem.h: an acquire or a release that needs no lock.
 * The library contains the same code.  A program that contains
 *
 *     #define WEIR_INLINE
 *     #include <weir/sem.h>
 *
 * compiles the fast paths into its own code.  Its calls of weir_sem_acquire,
 * _acquire_until, _acquire_for, _try_acquire, _release and _try_release then
 * take and return permits inline, and call the library if the fast path does
 * not apply.  The results are the same.
 *
 * Such a program depends on the layout of weir_sem.  If the library has another
 * layout, then the program does not link or does not start, because the symbol
 * weir_layout_1_ is missing.
 *
 * src/core/sem_word.h describes the state word.
 */
#include <stdbool.h>
#include <stdint.h>

#include "weir/atomic.h"
#include "weir/sem.h"

/* The library defines its own accessors (src/core/sem_word.h). */
#ifndef weir_at_load_relaxed_
#define weir_at_load_relaxed_(p) __atomic_load_n((p), __ATOMIC_RELAXED)
#define weir_at_load_acquire_(p) __atomic_load_n((p), __ATOMIC_ACQUIRE)
#define weir_at_cas_weak_acquire_(p, old, v)                                   \
	weir_cas_(p, old, v, __ATOMIC_ACQUIRE)
#define weir_at_cas_weak_release_(p, old, v)                                   \
	weir_cas_(p, old, v, __ATOMIC_RELEASE)
#endif

static inline bool weir_sem_is_misplaced_(const weir_sem *sem)
{
	return !sem || (uintptr_t)sem % sizeof(uint64_t);
}

static inline bool weir_count_ok_(int64_t n)
{
	return (uint64_t)n <= (uint64_t)WEIR_SEM_MAX;
}

/* Returns true if sem, min and max are valid arguments of a request. */
static inline bool weir_request_ok_(const weir_sem *sem, int64_t min,
				    int64_t max)
{
	return !weir_sem_is_misplaced_(sem) && weir_count_ok_(min) &&
	       weir_count_ok_(max) && min <= max;
}

/*
 * Take as many permits as are free, in min..max, if the door is OPEN and at
 * least min are free.  Returns the number taken, or -1 if nothing was done.
 */
static inline int64_t weir_take_fast_(weir_sem *sem, int64_t min, int64_t max)
{
	uint64_t word;

	if (!weir_request_ok_(sem, min, max))
		return -1;
	/* relaxed: a first guess; the CAS checks it. */
	word = weir_at_load_relaxed_(&sem->word_);
	/*
	 * If the door is OPEN, then the word is the value, shifted left by two.
	 */
	while (!(word & 3) && (int64_t)word >= (int64_t)((uint64_t)min << 2)) {
		int64_t value = (int64_t)word >> 2;
		/* With min == max, value >= max: the comparison is left out. */
		int64_t taken = min == max || value >= max ? max : value;
		uint64_t left = word - ((uint64_t)taken << 2);

		/* [S1] acquire */
		if (weir_at_cas_weak_acquire_(&sem->word_, &word, left))
			return taken;
	}
	return -1;
}

/*
 * Take n permits.  Returns WEIR_OK; WEIR_EAGAIN if the door is OPEN and fewer
 * than n are free; otherwise WEIR_EINVAL: nothing was done, and the caller must
 * take the slow path.
 */
static inline weir_err weir_try_fast_(weir_sem *sem, int64_t n)
{
	uint64_t word, units = (uint64_t)n << 2;

	if (weir_sem_is_misplaced_(sem))
		return WEIR_EINVAL;
	/*
	 * relaxed: a first guess; the CAS checks it.  A failure orders nothing.
	 */
	word = weir_at_load_relaxed_(&sem->word_);
	/*
	 * A thread that polls fails most of the time: that is the straight path.
	 * If n is valid, then a word below `units` is not negative.
	 */
	if (__builtin_expect(word < units, 1))
		return word & 3 || !weir_count_ok_(n) ? WEIR_EINVAL :
							WEIR_EAGAIN;
	if (!weir_count_ok_(n))
		return WEIR_EINVAL;
	while (!(word & 3) && (int64_t)word >= 0) {
		uint64_t left = word - units;

		if (word < units)
			return WEIR_EAGAIN;
		/* [S1] acquire */
		if (weir_at_cas_weak_acquire_(&sem->word_, &word, left))
			return WEIR_OK;
	}
	return WEIR_EINVAL;
}

/*
 * Return n permits if the door is OPEN or SPINNING and n are out.  Returns
 * false if nothing was done; then *seen is the word that was examined, or 0 if an
 * argument is invalid.
 */
static inline bool weir_put_fast_(weir_sem *sem, int64_t n, uint64_t *seen)
{
	*seen = 0;
	if (weir_sem_is_misplaced_(sem) || !weir_count_ok_(n))
		return false;
	for (;;) {
		/*
		 * [S2] acquire: capacity_ is as of the unlock that wrote this
		 * word, or newer.  A failed CAS does not acquire: load again.
		 */
		uint64_t word = weir_at_load_acquire_(&sem->word_);
		int64_t value = (int64_t)word >> 2;
		uint64_t more = word + ((uint64_t)n << 2);

		*seen = word;
		if (word & 2)
			return false;
		/*
		 * relaxed: if a resize has begun meanwhile, capacity_ may be
		 * newer than the word.  If it reads too small, put() checks
		 * again with acquire loads.  If it reads too large, the CAS
		 * fails, unless other calls have restored this very word.
		 */
		if (n > weir_at_load_relaxed_(&sem->capacity_) - value)
			return false;
		/*
		 * [S1] release.  This is the last access to *sem, as in put().
		 */
		if (weir_at_cas_weak_release_(&sem->word_, &word, more))
			return true;
	}
}

WEIR_DECLS_BEGIN
extern WEIR_API const uint8_t weir_layout_1_;

/*
 * weir_sem_acquire and weir_sem_release after the fast path has failed.  `word`
 * is the value that weir_put_fast_ has stored in *seen.
 */
WEIR_API WEIR_MUST_USE weir_err weir_sem_acquire_long_(weir_sem *sem, int64_t n,
						       struct weir_ctx *ctx);
WEIR_API void weir_sem_release_long_(weir_sem *sem, int64_t n, uint64_t word);
WEIR_DECLS_END

#ifdef WEIR_INLINE

static const uint8_t *const weir_layout_used_
	__attribute__((used, unused)) = &weir_layout_1_;

/*
 * __builtin_expect keeps the code for a watched semaphore out of the path of an
 * unwatched one.
 */
static inline WEIR_MUST_USE weir_err
weir_sem_acquire_inline_(weir_sem *sem, int64_t n, struct weir_ctx *ctx)
{
	if (__builtin_expect(!ctx && weir_take_fast_(sem, n, n) >= 0, 1))
		return WEIR_OK;
	return weir_sem_acquire_long_(sem, n, ctx);
}

static inline WEIR_MUST_USE weir_err
weir_sem_acquire_until_inline_(weir_sem *sem, int64_t n, int64_t deadline_ns)
{
	if (weir_take_fast_(sem, n, n) >= 0)
		return WEIR_OK;
	return weir_sem_acquire_until(sem, n, deadline_ns);
}

static inline WEIR_MUST_USE weir_err
weir_sem_acquire_for_inline_(weir_sem *sem, int64_t n, int64_t timeout_ns)
{
	if (weir_take_fast_(sem, n, n) >= 0)
		return WEIR_OK;
	return weir_sem_acquire_for(sem, n, timeout_ns);
}

static inline WEIR_MUST_USE weir_err
weir_sem_try_acquire_inline_(weir_sem *sem, int64_t n)
{
	weir_err err = weir_try_fast_(sem, n);

	return err == WEIR_EINVAL ? weir_sem_try_acquire(sem, n) : err;
}

static inline void weir_sem_release_inline_(weir_sem *sem, int64_t n)
{
	uint64_t word;

	if (__builtin_expect(!weir_put_fast_(sem, n, &word), 0))
		weir_sem_release_long_(sem, n, word);
}

static inline WEIR_MUST_USE weir_err
weir_sem_try_release_inline_(weir_sem *sem, int64_t n)
{
	uint64_t word;

	if (weir_put_fast_(sem, n, &word))
		return WEIR_OK;
	return weir_sem_try_release(sem, n);
}

#define weir_sem_acquire(sem, n, ctx) weir_sem_acquire_inline_(sem, n, ctx)
#define weir_sem_acquire_until(sem, n, deadline_ns)                            \
	weir_sem_acquire_until_inline_(sem, n, deadline_ns)
#define weir_sem_acquire_for(sem, n, timeout_ns)                               \
	weir_sem_acquire_for_inline_(sem, n, timeout_ns)
#define weir_sem_try_acquire(sem, n) weir_sem_try_acquire_inline_(sem, n)
#define weir_sem_release(sem, n) weir_sem_release_inline_(sem, n)
#define weir_sem_try_release(sem, n) weir_sem_try_release_inline_(sem, n)

#endif /* WEIR_INLINE */

#endif /* WEIR_INLINE_H */
