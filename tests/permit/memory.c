/* SPDX-License-Identifier: MIT */
/* The counting allocator: memory.h. */
#include "memory.h"

#include "base/mem.h"
#include "check.h"

bool out_of_memory;
static int64_t allocated, freed;

/* The linker redirects calls of weir_mem_alloc_ to __wrap_weir_mem_alloc_, */
void *__wrap_weir_mem_alloc_(size_t size);
void __wrap_weir_mem_free_(void *memory);

/* and calls of these to the real functions. */
void *__real_weir_mem_alloc_(size_t size);
void __real_weir_mem_free_(void *memory);

void *__wrap_weir_mem_alloc_(size_t size)
{
	if (out_of_memory)
		return NULL;
	__atomic_add_fetch(&allocated, 1, __ATOMIC_RELAXED);
	return __real_weir_mem_alloc_(size);
}

void __wrap_weir_mem_free_(void *memory)
{
	__atomic_add_fetch(&freed, 1, __ATOMIC_RELAXED);
	__real_weir_mem_free_(memory);
}

int64_t alive(void)
{
	return __atomic_load_n(&allocated, __ATOMIC_RELAXED) -
	       __atomic_load_n(&freed, __ATOMIC_RELAXED);
}

weir_sem *new_sem(int64_t permits)
{
	weir_sem_opts opts = { .permits = permits, .name = "heap" };
	weir_sem *sem = weir_sem_new(&opts);

	CHECK(sem);
	CHECK_EQ(refs_of(sem), 1);
	return sem;
}
