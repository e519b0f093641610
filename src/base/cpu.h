/* SPDX-License-Identifier: MIT */
#ifndef WEIR_BASE_CPU_H
#define WEIR_BASE_CPU_H

#include <stdbool.h>
#include <stdint.h>

/*
 * Returns the CPU that the calling thread runs on, folded into 1 .. 15; 0 if it
 * is unknown.  The result is a hint: several CPUs share a number.
 */
uint8_t weir_cpu_(void);

/*
 * Returns the number of the CPU that the calling thread runs on; 0 if it is
 * unknown.  The result is a hint: the thread may move to another CPU.
 */
uint32_t weir_cpu_number_(void);

/* Returns a number above that of every CPU that this process may run on. */
uint32_t weir_cpu_span_(void);

/*
 * Returns true if this process has more than one CPU.  Otherwise spinning is
 * useless: the awaited thread cannot run meanwhile.
 */
bool weir_cpu_has_others_(void);

/* Let another thread run on this CPU, if one is ready.  Preserves errno. */
void weir_cpu_yield_(void);

/* Hint to the CPU that this is a spin loop. */
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
 * Wait for a condition that another running thread makes true very soon: spin,
 * yield once, then nap for longer and longer, up to a millisecond.
 *
 *     struct weir_backoff_ backoff = { 0 };
 *     while (!done)
 *             weir_backoff_wait_(&backoff);
 *
 * If evaluating the condition takes more than one load, call
 * weir_backoff_recheck_ before the first of them: the next wait then also ends
 * because of a change since that call.
 */
struct weir_backoff_ {
	uint32_t rounds;
};

void weir_backoff_wait_(struct weir_backoff_ *backoff);
void weir_backoff_recheck_(struct weir_backoff_ *backoff);

#endif /* WEIR_BASE_CPU_H */
