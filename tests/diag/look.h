/* SPDX-License-Identifier: MIT */
/* Reading the registry of this process, for tests. */
#ifndef TESTS_DIAG_LOOK_H
#define TESTS_DIAG_LOOK_H

#include <stdint.h>

#include "record/record.h"
#include "record/registry.h"

/*
 * The recorded site of an acquire is in its caller.  Without tail calls it is in the
 * library: core/sem_watched.h.  meson.build knows how the library was compiled.
 */
#ifdef LIBRARY_HAS_TAIL_CALLS
#define SITES_ARE_EXACT 1
#else
#define SITES_ARE_EXACT 0
#endif

/* A watched semaphore with a name. */
void watch(weir_sem *sem, int64_t permits, const char *name);

struct rg_object *object_of(const weir_sem *sem);

/* The sum over the slots of all contexts, and what the slots of `tid` hold. */
int64_t sum_of_slots(const weir_sem *sem);
int64_t held_by(const weir_sem *sem, uint32_t tid);

/* The sum over the holders, as a reader computes it (C48). */
int64_t recorded(const weir_sem *sem);

/* The permits that are out. */
int64_t out_of(weir_sem *sem);

/* Check that both are equal. */
#define CHECK_ADDS_UP(sem) CHECK_EQ(recorded(sem), out_of(sem))

/* The number of waits on the semaphore; the last one found. */
unsigned waits_on(const weir_sem *sem, struct rg_wait *found);

/* The wait of the thread `tid`. */
void wait_of(const weir_sem *sem, uint32_t tid, struct rg_wait *found);

/* The number of slots with permits of the semaphore; the last of them. */
unsigned slots_with(const weir_sem *sem);
struct rg_slot *slot_with(const weir_sem *sem);

/* Acquires that did not wait, and releases: of the slots and of the object. */
uint64_t acquires_of(const weir_sem *sem);
uint64_t releases_of(const weir_sem *sem);

/* As if this thread were changing its slots. */
void mark_busy(bool busy);

/* The next call of this thread takes the fast path of a watched semaphore. */
bool is_last(const weir_sem *sem);

/* The context with this id; null: none. */
struct rg_context *context_of(uint64_t id);

/* The number of contexts in this state. */
unsigned contexts_in(enum rg_state state);

struct rg_header *header(void);

#endif /* TESTS_DIAG_LOOK_H */
