/* SPDX-License-Identifier: MIT */
#ifndef WEIR_SPIN_H
#define WEIR_SPIN_H

/*
 * weir_spin: a counting semaphore that waits by spinning.
 *
 * For where there is nothing to sleep on: boot code, bare metal, an interrupt
 * handler.  This header is all of it: it needs no libc, no operating system and
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
 *   Threads   Callable from any thread, core or handler once set up.  There is
 *             nothing to destroy: whoever has acquired what a release returned
 *             may reuse the memory, even if that release is still running.
 *   Memory    Allocates nothing; two longs.
 *   Orders    A release happens before every acquire that succeeds after it.
 *             A call that fails orders nothing.
 *   Handlers  weir_spin_try_acquire, weir_spin_release and weir_spin_available
 *             never wait and may be called in an interrupt or signal handler,
 *             also one that interrupted a call on the same semaphore.
 *             weir_spin_acquire in a handler spins for ever if the permits are
 *             held by what it interrupted; the same goes for a task that keeps
 *             the holder from running by its priority.
 *   Counts    long: 64 bits where long has 64, and 32 bits on a machine such as
 *             Cortex-M3, which has no 64-bit atomics.
 *   Misuse    A null or misaligned semaphore and a negative count are
 *             WEIR_EINVAL.  A call that returns an error has changed nothing.
 *
 * What it keeps of weir(7), by clause: arguments first and nothing for nothing
 * (C2), a try that never fails spuriously (C5), who may release and how much
 * (C6, C8, C9), all or nothing (C10), no waiting for the impossible (C11),
 * failures that leave no trace (C16), memory that can be reused (C22), static
 * initialisers (C23), order (C24), release in a handler (C25), no heap and no
 * cost while nobody calls (C26, C28).
 *
 * What it cannot keep:
 *
 *   C1             Counts have 32 bits where long has 32.
 *   C3 C4 C7 C30   There is no queue: whoever comes when enough are free takes
 *                  them, so a waiter can be passed any number of times and one
 *                  that wants many can starve.
 *   C8             There is nowhere to print to and no panic hook:
 *                  weir_spin_release answers WEIR_EOVERFLOW.
 *   C13..C15 C17   There is no clock and no ctx: a wait ends with the permits
 *   C18            alone.
 *   C12 C19..C21   It cannot be drained, closed or resized,
 *   C31 C34        does not bound who waits, and has no permit objects.
 *   C29            Nothing knows who holds a permit: a process that forks or
 *                  dies is not noticed.
 *
 * Pairs
 *
 *   [SP1] permit  release: weir_spin_release
 *                 acquire: weir_spin_try_acquire
 *                 What was done under a permit is seen by its next holders.
 *                 Both are read-modify-writes of free_, so others' in between
 *                 continue the release sequence and the pair holds however
 *                 many come and go.
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
	/* Written at the start, then only read; out are capacity_ - free_. */
	long capacity_;
} weir_spin;

/* The most permits a semaphore can hold: LONG_MAX. */
#define WEIR_SPIN_MAX __LONG_MAX__

/*
 * Static initialisers, for permits in 0 .. WEIR_SPIN_MAX.  The first has that
 * capacity and refuses to take back more than is out.  The second is a signal:
 * it may start at 0 and be released by those who never acquired.
 *
 * Zeroed memory is a semaphore of capacity 0; weir_spin_init brings it to life.
 */
#define WEIR_SPIN_INIT(permits) { (permits), (permits) }
#define WEIR_SPIN_INIT_UNBOUNDED(permits) { (permits), WEIR_SPIN_MAX }

/*
 * WEIR_SPIN_PAUSE(): what a waiter does between two looks at the semaphore.
 * Define it before including this header to do something else, such as wfe on
 * one core where only interrupt handlers release, or a call that yields.
 *
 * The default tells the core that this is a spin loop.  On AArch64 that is isb:
 * yield does nothing on most cores there.  The clobber keeps the compiler
 * from merging looks.
 */
#ifndef WEIR_SPIN_PAUSE
#if defined(__aarch64__)
#define WEIR_SPIN_PAUSE() __asm__ __volatile__("isb" ::: "memory")
#elif defined(__arm__) && __ARM_ARCH >= 7
#define WEIR_SPIN_PAUSE() __asm__ __volatile__("yield" ::: "memory")
#elif defined(__x86_64__) || defined(__i386__)
#define WEIR_SPIN_PAUSE() __asm__ __volatile__("pause" ::: "memory")
#elif defined(__riscv)
/* pause, spelled so that an assembler without Zihintpause takes it. */
#define WEIR_SPIN_PAUSE()                                                      \
	__asm__ __volatile__(".insn i 0x0F, 0, x0, x0, 0x010" ::: "memory")
#else
#define WEIR_SPIN_PAUSE() __asm__ __volatile__("" ::: "memory")
#endif
#endif

/* Whether a call cannot be meant: the checks every function makes first. */
static inline int weir_spin_invalid_(const weir_spin *spin, long n)
{
	/* A misaligned exclusive access is a fault on Arm, even a hard one. */
	return !spin || (uintptr_t)spin % sizeof(long) || n < 0;
}

/*
 * Set up *spin with `permits` free permits and that capacity.
 * Requires: nobody else can reach *spin yet.
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

/* The same as a signal, without a capacity. */
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
 * Free permits at this moment, for display: it may have changed already.
 * WEIR_EINVAL, which is negative, for a null or misaligned semaphore.
 */
static inline long weir_spin_available(const weir_spin *spin)
{
	if (weir_spin_invalid_(spin, 0))
		return WEIR_EINVAL;
	/* relaxed: orders nothing, like a failed call. */
	return __atomic_load_n(&spin->free_, __ATOMIC_RELAXED);
}

/*
 * Take n permits if that needs no waiting.  WEIR_EAGAIN when fewer are free,
 * never spuriously.  n == 0 succeeds at once.
 */
static inline WEIR_MUST_USE weir_err
weir_spin_try_acquire(weir_spin *spin, long n)
{
	long seen;

	if (weir_spin_invalid_(spin, n))
		return WEIR_EINVAL;
	/* relaxed: a first guess.  The CAS checks it and reloads. */
	seen = __atomic_load_n(&spin->free_, __ATOMIC_RELAXED);
	do {
		if (n > seen)
			return WEIR_EAGAIN;
		/*
		 * [SP1] acquire.  Also for n == 0: it too sees what was done
		 * before the releases it follows.
		 * relaxed: a failed CAS only reloads the guess.
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
 *   WEIR_ETOOBIG  n > capacity: waiting would never end.
 *   WEIR_EINVAL   A bad semaphore, or n is negative.
 */
static inline WEIR_MUST_USE weir_err
weir_spin_acquire(weir_spin *spin, long n)
{
	weir_err err;

	while ((err = weir_spin_try_acquire(spin, n)) == WEIR_EAGAIN) {
		if (n > spin->capacity_)
			return WEIR_ETOOBIG;
		/*
		 * Look without writing, so that waiters share the cache line
		 * and leave the releaser its turn.
		 * relaxed: the CAS of the next try checks and orders.
		 */
		do
			WEIR_SPIN_PAUSE();
		while (__atomic_load_n(&spin->free_, __ATOMIC_RELAXED) < n);
	}
	return err;
}

/*
 * Give n permits back.  Never waits.
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
		/* The difference cannot overflow; the sum could. */
		if (n > spin->capacity_ - seen)
			return WEIR_EOVERFLOW;
		/*
		 * [SP1] release.  Whoever acquires what this returns may reuse
		 * the memory: this is our last access.
		 * relaxed: a failed CAS only reloads the guess.
		 */
	} while (!__atomic_compare_exchange_n(&spin->free_, &seen, seen + n, 1,
					      __ATOMIC_RELEASE,
					      __ATOMIC_RELAXED));
	return WEIR_OK;
}

WEIR_DECLS_END

#endif /* WEIR_SPIN_H */
