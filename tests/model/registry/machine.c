/* SPDX-License-Identifier: MIT */
/*
 * The machine of the explorer, as far as src/record uses it: memory, the clock,
 * the end of a thread.  Events, the order of acquires and reports are off.
 */
#include <pthread.h>
#include <stdlib.h>

#include "base/memfd.h"
#include "base/thread.h"
#include "base/ticks.h"
#include "engine.h"
#include "holders.h"
#include "record/event.h"
#include "record/lockorder.h"
#include "record/mine.h"
#include "record/registry.h"
#include "record/timeout.h"
#include "record/watchdog.h"
#include "record/words.h"

struct weir_self_ ex_mine[EX_THREADS + 1];

/* The constructors of src/record run before main makes the engine. */
__attribute__((constructor(101))) static void make_first_engine(void)
{
	ex = calloc(1, sizeof(*ex));
	if (!ex)
		abort();
	ex->self = -1;
}

static _Alignas(64) char registry[RG_SIZE];

void *weir_memfd_map_(const char *name, size_t size)
{
	(void)name;
	if (size > sizeof(registry))
		ex_fail("the registry has %zu bytes", size);
	return registry;
}

bool weir_memfd_populate_(void *memory, size_t size)
{
	return memory && size;
}

void weir_memfd_close_(void)
{
}

bool weir_memfd_wipe_on_fork_(void *memory, size_t size)
{
	return memory && size;
}

int64_t weir_ticks_(void)
{
	return ex->now_ns;
}

int weir_ticks_store_(uint64_t words[2])
{
	/* relaxed: both; the kernel orders nothing. */
	at_store_relaxed(&words[0], (uint64_t)ex->now_ns / 1000000000);
	at_store_relaxed(&words[1], (uint64_t)ex->now_ns % 1000000000);
	return 0;
}

uint64_t weir_ticks_per_s_(void)
{
	return 1000000000;
}

int64_t weir_wall_ns_(void)
{
	return 0;
}

uint32_t weir_thread_id_(void)
{
	return (uint32_t)ex_self() + 1;
}

void weir_thread_name_(char name[16])
{
	name[0] = (char)('0' + ex_self());
}

/*
 * The key of threads.  meson.build renames the functions of libc.
 */
static void (*destructor)(void *value);
static void *values[EX_THREADS + 1];

int ex_key_create(pthread_key_t *key, void (*end)(void *value))
{
	*key = 0;
	destructor = end;
	return 0;
}

int ex_key_delete(pthread_key_t key)
{
	(void)key;
	return 0;
}

int ex_key_set(pthread_key_t key, const void *value)
{
	(void)key;
	values[ex_self() + 1] = (void *)(uintptr_t)value;
	return 0;
}

void ex_end_thread(void)
{
	void *value = values[ex_self() + 1];

	values[ex_self() + 1] = NULL;
	if (value)
		destructor(value);
}

/*
 * Off.
 */
const struct weir_diag_words_ *weir_diag_words_(void)
{
	static const struct weir_diag_words_ none;

	return &none;
}

void weir_order_begin_(void)
{
}

uint64_t weir_order_class_(const char *name, uint64_t made_at)
{
	(void)name;
	return made_at;
}

void weir_order_request_(char *base, uint64_t id, int64_t n, uint64_t site,
			 bool granted)
{
	(void)base, (void)id, (void)n, (void)site, (void)granted;
}

void weir_record_event_(uint64_t id, uint32_t kind, int64_t n, weir_err err)
{
	(void)id, (void)kind, (void)n, (void)err;
}

void weir_record_heard_(const struct weir_event_ *event)
{
	(void)event;
}

void weir_diag_timed_out_(uint64_t object, uint32_t wait)
{
	(void)object, (void)wait;
}

void weir_diag_watch_(void)
{
}
