/* SPDX-License-Identifier: MIT */
/*
 * The allocator under heap semaphores, counted and made to fail.  A program
 * that uses it links memory.c with --wrap (meson.build).
 */
#ifndef TESTS_PERMIT_MEMORY_H
#define TESTS_PERMIT_MEMORY_H

#include <stdbool.h>
#include <stdint.h>

#include "weir/sem.h"

/* While true there is no memory. */
extern bool out_of_memory;

/* How many heap semaphores have been allocated and not freed. */
int64_t alive(void);

/* A heap semaphore called "heap". */
weir_sem *new_sem(int64_t permits);

/* Its count of references.  src/core/sem_heap.c: in the next cache line. */
static inline uint32_t *count_of(weir_sem *sem)
{
	return (uint32_t *)(void *)((char *)(void *)sem + 64);
}

static inline uint32_t refs_of(weir_sem *sem)
{
	return __atomic_load_n(count_of(sem), __ATOMIC_RELAXED);
}

#endif /* TESTS_PERMIT_MEMORY_H */
