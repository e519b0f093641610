/* SPDX-License-Identifier: MIT */
#ifndef WEIR_SPIN_H
#define WEIR_SPIN_H

/*
 * weir_spin: a counting semaphore that waits by spinning.
 *
 * It is for code that cannot sleep: boot code, bare metal, interrupt handlers.
 * It consists of this header only.  It needs no libc, no operating system and
 * no library to link, only a compiler with the __atomic builtins and a machine
 * with compare-and-swap on a long.
 *
 *     static weir_spin arrived = WEIR_SPIN_INIT_UNBOUNDED(0);
 *
 *     void uart_interrupt(void)
 *     {
 *             ...
 *             if (weir_spin_release(&arrived, 1))
 *                     overrun++;
 *     }
 *
 *     err = weir_spin_acquire(&arrived, 1);       in the main program
 *
 * The following holds for every function below unless its comment differs.
 *
 *   Threads   Every function may be called from any thread, core or handler
 *             after init.  There is no destroy.  If a thread has acquired the
 *             permits of a release, then it may reuse the memory, even if that
 *             release is still running.
 *   Memory    No function allocates.  A semaphore is two longs.
 *   Orders    If an acquire succeeds after a release, then the release happens
 *             before it.  If a call fails, then it orders nothing.
 *   Handlers  weir_spin_try_acquire, weir_spin_release and weir_spin_available
 *             never wait.  An interrupt or signal handler may call them, also
 *             if it interrupted a call on the same semaphore.  If a handler
 *             calls weir_spin_acquire while the interrupted code holds the
 *             permits, then it spins for ever.  The same happens if a task
 *             spins whose priority keeps the holder from running.
 *   Counts    Counts are long: 64 bits, or 32 bits on a machine such as
 *             Cortex-M3, which has no 64-bit atomics.
 *   Misuse    If a semaphore is null or misaligned, or a count is negative,
 *             then the result is WEIR_EINVAL.  If a call returns an error, then
 *             it has changed nothing.
 *
 * weir_spin keeps these clauses of weir(7): the order of checks, and n == 0
 * (C2), a try that never fails spuriously (C5), release by any thread (C6),
 * over-release detected (C8), unbounded semaphores (C9), all or nothing (C10),
 * an impossible request fails at once (C11), a failure changes nothing (C16),
 * reusable memory (C22), static initialisers (C23), memory order (C24), release
 * in a handler (C25), no heap and no cost while unused (C26, C28).
 *
 * weir_spin cannot keep these clauses:
 *
 *   C1             Counts have 32 bits if long has 32.
 *   C3 C4 C7 C30   There is no queue: a thread that arrives while enough
 *                  permits are free takes them.  A waiter can be overtaken any
 *                  number of times, and a request for many permits can starve.
 *   C8             There is no output and no panic hook: weir_spin_release
 *                  returns WEIR_EOVERFLOW.
 *   C12 C19..C21   A semaphore cannot be drained, closed or resized.
 *   C13..C15       There is no clock and no ctx: a wait ends only when enough
 *                  permits are free.
 *   C17 C18        As for C13..C15.
 *   C31 C34        The number of waiters is not bounded, and there are no
 *                  permit objects.
 *   C29            The holders are not known: a fork or a death is not noticed.
 *
 * Pairs
 *
 *   [SP1] permit  release: weir_spin_release
 *                 acquire: weir_spin_try_acquire
 *                 A holder sees what earlier holders did under the permit.
 *                 Both accesses are read-modify-writes of free_, so
 *                 intermediate ones of other threads continue the release
 *                 sequence.
 */
#include <stdint.h>

#include "weir/base.h"

#if !defined(__GCC_ATOMIC_LONG_LOCK_FREE) || __GCC_ATOMIC_LONG_LOCK_FREE != 2
#error "weir/spin.h needs lock-free compare-and-swap on long"
#endif

WEIR_DECLS_BEGIN

typedef struct weir_spin {
	/* Free permits, 0 .. capacity_.  Changed by compare-and-swap only. */
	long free_ __attribute__((aligned(sizeof(long))));
	/* Constant after init; capacity_ - free_ permits are out. */
	long capacity_;
} weir_spin;

/* The most permits a semaphore can hold: LONG_MAX. */
#define WEIR_SPIN_MAX __LONG_MAX__

/*
 * Static initialisers, for permits in 0 .. WEIR_SPIN_MAX.  The first makes a
 * bounded semaphore: a release of more permits than are out fails.  The second
 * makes an unbounded semaphore: it may start at 0, and threads that never
 * acquired may release it.
 *
 * Zeroed memory is a semaphore of capacity 0; weir_spin_init gives it a
 * capacity.
 */
#define WEIR_SPIN_INIT(permits) { (permits), (permits) }
#define WEIR_SPIN_INIT_UNBOUNDED(permits) { (permits), WEIR_SPIN_MAX }

/*
 * WEIR_SPIN_PAUSE(): executed by a waiter between two polls of the semaphore.
 * Define it before including this header to replace it, for instance by wfe on
 * one core where only interrupt handlers release, or by a call that yields.
 *
 * The default is the machine's hint for a spin loop.  On AArch64 that is isb:
 * yield does nothing on most cores.  The clobber keeps the compiler from
 * merging polls.
 */
#ifndef WEIR_SPIN_PAUSE
#if defined(__aarch64__)
#define WEIR_SPIN_PAUSE() __asm__ __volatile__("isb" ::: "memory")
#elif defined(__arm__) && __ARM_ARCH >= 7
#define WEIR_SPIN_PAUSE() __asm__ __volatile__("yield" ::: "memory")
#elif defined(__x86_64__) || defined(__i386__)
#define WEIR_SPIN_PAUSE() __asm__ __volatile__("pause" ::: "memory")
#elif defined(__riscv)
/* pause, encoded so that an assembler without Zihintpause accepts it. */
#define WEIR_SPIN_PAUSE()                                                      \
	__asm__ __volatile__(".insn i 0x0F, 0, x0, x0, 0x010" ::: "memory")
#else
#define WEIR_SPIN_PAUSE() __asm__ __volatile__("" ::: "memory")
#endif
#endif

/*
 * Returns nonzero if an argument is invalid.  Every function calls this first.
 */
static inline int weir_spin_invalid_(const weir_spin *spin, long n)
{
	/* A misaligned exclusive access faults on Arm. */
	return !spin || (uintptr_t)spin % sizeof(long) || n < 0;
}

/*
 * Set up *spin with `permits` free permits and that capacity.
 * Requires: no other thread or handler can reach *spin yet.
 */
static inline WEIR_MUST_USE weir_err
weir_spin_init(weir_spin *spin, long permits)
{
	if (weir_spin_invalid_(spin, permits))
		return WEIR_EINVAL;
	spin->free_ = permits;
	spin->capacity_ = permits;
	return WEIR_OK;
}

/* Set up *spin as an unbounded semaphore.  Requires: as weir_spin_init. */
static inline WEIR_MUST_USE weir_err
weir_spin_init_unbounded(weir_spin *spin, long permits)
{
	if (weir_spin_invalid_(spin, permits))
		return WEIR_EINVAL;
	spin->free_ = permits;
	spin->capacity_ = WEIR_SPIN_MAX;
	return WEIR_OK;
}

/*
 * Returns the number of free permits.  The result is for display: it may be
 * outdated already.  It is WEIR_EINVAL, which is negative, if the semaphore is
 * null or misaligned.
 */
static inline long weir_spin_available(const weir_spin *spin)
{
	if (weir_spin_invalid_(spin, 0))
		return WEIR_EINVAL;
	/* relaxed: orders nothing, like a failed call. */
	return __atomic_load_n(&spin->free_, __ATOMIC_RELAXED);
}

/*
 * Take n permits if that needs no waiting.  WEIR_EAGAIN: fewer permits are
 * free; this error is never spurious.  n == 0 succeeds at once.
 */
static inline WEIR_MUST_USE weir_err
weir_spin_try_acquire(weir_spin *spin, long n)
{
	long seen;

	if (weir_spin_invalid_(spin, n))
		return WEIR_EINVAL;
	/* relaxed: a first guess; the CAS checks and reloads it. */
	seen = __atomic_load_n(&spin->free_, __ATOMIC_RELAXED);
	do {
		if (n > seen)
			return WEIR_EAGAIN;
		/*
		 * [SP1] acquire.  The CAS is also needed for n == 0: the call
		 * must see the work that precedes earlier releases.  relaxed: a
		 * failed CAS only reloads the guess.
		 */
	} while (!__atomic_compare_exchange_n(&spin->free_, &seen, seen - n, 1,
					      __ATOMIC_ACQUIRE,
					      __ATOMIC_RELAXED));
	return WEIR_OK;
}

/*
 * Take n permits, spinning until they are free.
 *
 *   WEIR_OK       The caller holds n permits.
 *   WEIR_ETOOBIG  n > capacity: the wait would never end.
 *   WEIR_EINVAL   The semaphore is invalid, or n is negative.
 */
static inline WEIR_MUST_USE weir_err
weir_spin_acquire(weir_spin *spin, long n)
{
	weir_err err;

	while ((err = weir_spin_try_acquire(spin, n)) == WEIR_EAGAIN) {
		if (n > spin->capacity_)
			return WEIR_ETOOBIG;
		/*
		 * Poll without writing, so that the waiters share the cache
		 * line and do not take it from the releasing thread.  relaxed:
		 * the CAS of the next try checks and orders.
		 */
		do
			WEIR_SPIN_PAUSE();
		while (__atomic_load_n(&spin->free_, __ATOMIC_RELAXED) < n);
	}
	return err;
}

/*
 * Return n permits.  Never waits.
 * WEIR_EOVERFLOW: fewer than n are out, or (unbounded) more than WEIR_SPIN_MAX
 * would be free.
 */
static inline WEIR_MUST_USE weir_err
weir_spin_release(weir_spin *spin, long n)
{
	long seen;

	if (weir_spin_invalid_(spin, n))
		return WEIR_EINVAL;
	/* relaxed: as in weir_spin_try_acquire. */
	seen = __atomic_load_n(&spin->free_, __ATOMIC_RELAXED);
	do {
		/* Subtract: the sum could overflow, the difference cannot. */
		if (n > spin->capacity_ - seen)
			return WEIR_EOVERFLOW;
		/*
		 * [SP1] release.  A thread that acquires these permits may
		 * reuse the memory: this is the last access.  relaxed: a failed
		 * CAS only reloads the guess.
		 */
	} while (!__atomic_compare_exchange_n(&spin->free_, &seen, seen + n, 1,
					      __ATOMIC_RELEASE,
					      __ATOMIC_RELAXED));
	return WEIR_OK;
}

WEIR_DECLS_END

#endif /* WEIR_SPIN_H */
