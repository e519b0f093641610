/* SPDX-License-Identifier: MIT */
#ifndef WEIR_BASE_HELGRIND_H
#define WEIR_BASE_HELGRIND_H

/*
 * Atomics that valgrind's helgrind understands, for builds with WEIR_HELGRIND
 * (tools/helgrind).
 *
 * Helgrind models the mutexes of pthreads, and treats an atomic access as a
 * plain one.  So these macros disable helgrind's checks for every word that
 * they access, and annotate exactly the ordering that the memory order
 * guarantees:
 *
 *   acquire load     happens after the events that the word carries
 *   release store    the word carries the events before it, and no others
 *   relaxed store    the word carries no events
 *   release RMW      the word carries the events before it, in addition to
 *                    its earlier ones: an RMW continues a release sequence
 *   relaxed RMW      the word carries the same events as before
 *   relaxed load, CAS that fails: no annotation
 *
 * A memory order that is too weak then shows as a race on the data that it
 * should have ordered.  Helgrind does not see a race on one of these words by a
 * plain access, nor the difference between acq_rel and seq_cst.
 *
 * The macros have the names of the compiler's builtins.  So this header works
 * for all code that is compiled after it, and base/atomic.h is unchanged.
 */
#include <pthread.h>
#include <sched.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <valgrind/helgrind.h>

/*
 * An access and its annotation form one critical section.  Otherwise helgrind
 * could see the annotations of two accesses in another order than the accesses.
 * A signal handler that interrupts its own thread inside the section proceeds
 * without waiting.
 *
 * weir_hg_owner_ is the thread inside the section, or 0; weir_hg_waiting_
 * counts the threads that wait to enter it.
 */
__attribute__((weak)) uintptr_t weir_hg_owner_;
__attribute__((weak)) uint32_t weir_hg_waiting_;

static inline bool weir_hg_enter_(const volatile void *word, size_t size)
{
	uintptr_t me = (uintptr_t)pthread_self(), nobody = 0;

	VALGRIND_HG_DISABLE_CHECKING((void *)(uintptr_t)word, size);
	if (__atomic_load_n(&weir_hg_owner_, __ATOMIC_RELAXED) == me)
		return false;
	if (__atomic_compare_exchange_n(&weir_hg_owner_, &nobody, me, 0,
					__ATOMIC_ACQUIRE, __ATOMIC_RELAXED))
		return true;
	__atomic_fetch_add(&weir_hg_waiting_, 1, __ATOMIC_RELAXED);
	do {
		nobody = 0;
		sched_yield();
	} while (!__atomic_compare_exchange_n(&weir_hg_owner_, &nobody, me, 0,
					      __ATOMIC_ACQUIRE,
					      __ATOMIC_RELAXED));
	__atomic_fetch_sub(&weir_hg_waiting_, 1, __ATOMIC_RELAXED);
	return true;
}

static inline void weir_hg_leave_(bool entered)
{
	if (!entered)
		return;
	__atomic_store_n(&weir_hg_owner_, 0, __ATOMIC_RELEASE);
	/*
	 * Let a waiting thread enter.  Without this, a thread that loops over
	 * accesses may be preempted inside the section again and again.
	 */
	if (__atomic_load_n(&weir_hg_waiting_, __ATOMIC_RELAXED))
		sched_yield();
}

/* The child of a fork has one thread, which is not inside the section. */
static inline void weir_hg_forked_(void)
{
	__atomic_store_n(&weir_hg_owner_, 0, __ATOMIC_RELAXED);
	__atomic_store_n(&weir_hg_waiting_, 0, __ATOMIC_RELAXED);
}

__attribute__((constructor)) static void weir_hg_start_(void)
{
	VALGRIND_HG_DISABLE_CHECKING(&weir_hg_owner_, sizeof(weir_hg_owner_));
	VALGRIND_HG_DISABLE_CHECKING(&weir_hg_waiting_,
				     sizeof(weir_hg_waiting_));
	(void)pthread_atfork(NULL, NULL, weir_hg_forked_);
}

/* Annotate a load, or the load of an RMW. */
static inline void weir_hg_loaded_(const volatile void *word, int order)
{
	if (order != __ATOMIC_RELAXED && order != __ATOMIC_RELEASE)
		ANNOTATE_HAPPENS_AFTER((void *)(uintptr_t)word);
}

static inline void weir_hg_changed_(const volatile void *word, int order)
{
	if (order == __ATOMIC_RELEASE || order == __ATOMIC_ACQ_REL ||
	    order == __ATOMIC_SEQ_CST)
		ANNOTATE_HAPPENS_BEFORE((void *)(uintptr_t)word);
}

static inline void weir_hg_stored_(const volatile void *word, int order)
{
	ANNOTATE_HAPPENS_BEFORE_FORGET_ALL((void *)(uintptr_t)word);
	weir_hg_changed_(word, order);
}

static inline void weir_hg_did_rmw_(const volatile void *word, int order)
{
	weir_hg_loaded_(word, order);
	weir_hg_changed_(word, order);
}

/*
 * Helgrind treats a futex wake as a read of the word.  But a wake reads
 * nothing: the notified waiter may have returned already, and the memory of the
 * word may be in use for another purpose.
 */
#define WEIR_ADDRESS_ONLY_(p) VALGRIND_HG_DISABLE_CHECKING((p), sizeof(*(p)))

/* An access that has a value, and its annotation.  p is evaluated once. */
#define WEIR_HG_DO_(p, access, ...)                                            \
	__extension__({                                                        \
		__typeof__(p) weir_hg_at_ = (p);                               \
		bool weir_hg_in_ =                                             \
			weir_hg_enter_(weir_hg_at_, sizeof(*weir_hg_at_));     \
		__typeof__(access) weir_hg_value_ = (access);                  \
		__VA_ARGS__;                                                   \
		weir_hg_leave_(weir_hg_in_);                                   \
		weir_hg_value_;                                                \
	})
#define WEIR_HG_RMW_(p, access, order)                                         \
	WEIR_HG_DO_(p, access, weir_hg_did_rmw_(weir_hg_at_, (order)))

/* A macro's name is not expanded again inside it: these are the builtins. */
#define __atomic_load_n(p, order)                                              \
	WEIR_HG_DO_(p, __atomic_load_n(weir_hg_at_, (order)),                  \
		    weir_hg_loaded_(weir_hg_at_, (order)))
#define __atomic_store_n(p, v, order)                                          \
	((void)WEIR_HG_DO_(p,                                                  \
			   (__atomic_store_n(weir_hg_at_, (v), (order)), 0),   \
			   weir_hg_stored_(weir_hg_at_, (order))))
#define __atomic_exchange_n(p, v, order)                                       \
	WEIR_HG_RMW_(p, __atomic_exchange_n(weir_hg_at_, (v), (order)), order)
#define __atomic_fetch_add(p, v, order)                                        \
	WEIR_HG_RMW_(p, __atomic_fetch_add(weir_hg_at_, (v), (order)), order)
#define __atomic_fetch_sub(p, v, order)                                        \
	WEIR_HG_RMW_(p, __atomic_fetch_sub(weir_hg_at_, (v), (order)), order)
#define __atomic_add_fetch(p, v, order)                                        \
	WEIR_HG_RMW_(p, __atomic_add_fetch(weir_hg_at_, (v), (order)), order)
#define __atomic_sub_fetch(p, v, order)                                        \
	WEIR_HG_RMW_(p, __atomic_sub_fetch(weir_hg_at_, (v), (order)), order)
#define __atomic_compare_exchange_n(p, old, v, weak, order, failed)            \
	WEIR_HG_DO_(p,                                                         \
		    __atomic_compare_exchange_n(weir_hg_at_, (old), (v),       \
						(weak), (order), (failed)),    \
		    weir_hg_value_ ?                                           \
			    weir_hg_did_rmw_(weir_hg_at_, (order)) :           \
			    weir_hg_loaded_(weir_hg_at_, (failed)))

#endif /* WEIR_BASE_HELGRIND_H */
