/* SPDX-License-Identifier: MIT */
/* A registry that a test fills in by hand. */
#ifndef TESTS_DIAG_FAKE_H
#define TESTS_DIAG_FAKE_H

#include <stdint.h>

#include "record/layout.h"

#define FAKE_SECOND INT64_C(1000000000)

/*
 * Map a new registry: in a memfd with the name "weir-diag", or in private
 * memory.  Its clock is in nanoseconds.
 */
char *fake_registry(int in_memfd);
void fake_free(char *base);

struct rg_header *fake_header(char *base);
struct rg_object *fake_object(char *base, uint32_t i);
struct rg_context *fake_context(char *base, uint32_t i);
struct rg_wait *fake_wait(char *base, uint32_t i);

/* Each returns the ID of a new record. */
uint64_t fake_add_object(char *base, const char *name, int64_t capacity);
uint64_t fake_add_thread(char *base, uint32_t tid, const char *name);
/* The context holds n permits, from a call site, for some time. */
void fake_hold(char *base, uint64_t context, uint64_t object, int64_t n,
	       uint64_t site, int64_t age_ns);
struct rg_wait *fake_add_wait(char *base, uint64_t context, uint64_t object,
			      int64_t n, uint64_t site, int64_t age_ns);

/* The order of two classes, or with `to` 0 a predicted cycle, was seen then. */
void fake_add_order(char *base, uint64_t from, uint64_t to, int64_t age_ns);

/*
 * Fill in a scenario: "deadlock", "beside" (a deadlock, and another object), "leaked",
 * "nested", "unsatisfiable", "signal", "handed", "slow", "full", "empty".  Returns 0 if
 * there is no such scenario.
 */
int fake_scenario(char *base, const char *name);

#endif /* TESTS_DIAG_FAKE_H */
