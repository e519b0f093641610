/* SPDX-License-Identifier: MIT */
/*
 * An allocator for heap semaphores that counts and can fail.  A program that
 * uses it links memory.c with --wrap (meson.build).
 */
#ifndef TESTS_PERMIT_MEMORY_H
#define TESTS_PERMIT_MEMORY_H

#include <stdbool.h>
#include <stdint.h>

#include "weir/sem.h"

/* While true every allocation fails. */
extern bool out_of_memory;

/* The number of heap semaphores that are allocated and not freed. */
int64_t alive(void);

/* Create a heap semaphore with the name "heap". */
weir_sem *new_sem(int64_t permits);

/* Its reference count, in the next cache line: src/core/sem_heap.c. */
static inline uint32_t *count_of(weir_sem *sem)
{
	return (uint32_t *)(void *)((char *)(void *)sem + 64);
}

static inline uint32_t refs_of(weir_sem *sem)
{
	return __atomic_load_n(count_of(sem), __ATOMIC_RELAXED);
}

#endif /* TESTS_PERMIT_MEMORY_H */
