/* SPDX-License-Identifier: MIT */
#ifndef WEIR_BASE_CPU_H
#define WEIR_BASE_CPU_H

#include <stdbool.h>
#include <stdint.h>

/*
 * Which CPU this thread runs on, folded into 1 .. 15; 0 if that cannot be
 * told.  A hint: two CPUs may fold into one.
 */
uint8_t weir_cpu_(void);

/* Whether another CPU could run the thread that we wait for. */
bool weir_cpu_has_others_(void);

/* Tell the CPU that this is a spin loop. */
static inline void weir_cpu_pause_(void)
{
#if defined(__aarch64__)
	__asm__ volatile("isb" ::: "memory");
#elif defined(__x86_64__) || defined(__i386__)
	__builtin_ia32_pause();
#elif defined(__riscv)
	__asm__ volatile(".insn i 0x0F, 0, x0, x0, 0x010" ::: "memory");
#elif defined(__arm__)
	__asm__ volatile("yield" ::: "memory");
#else
	__asm__ volatile("" ::: "memory");
#endif
}

/*
 * Waiting for something that another running thread finishes in a moment: spin,
 * let another run, then nap for longer and longer, up to a millisecond.
 *
 *     struct weir_backoff_ backoff = { 0 };
 *     while (!done)
 *             weir_backoff_wait_(&backoff);
 *
 * Where to find out takes more than one load, weir_backoff_recheck_ goes before: the
 * wait then ends also for what happened since.
 */
struct weir_backoff_ {
	uint32_t rounds;
};

void weir_backoff_wait_(struct weir_backoff_ *backoff);
void weir_backoff_recheck_(struct weir_backoff_ *backoff);

/* Whether ten seconds have gone by. */
static inline bool weir_backoff_is_long_(const struct weir_backoff_ *backoff)
{
	return backoff->rounds > 10000;
}

#endif /* WEIR_BASE_CPU_H */
