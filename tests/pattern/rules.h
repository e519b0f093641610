/* SPDX-License-Identifier: MIT */
#ifndef TESTS_PATTERN_RULES_H
#define TESTS_PATTERN_RULES_H

/*
 * The objects of the library, for the tests of the rules that hold for all of
 * them.  In most objects a call can wait: enter() waits while the object is
 * occupied.  The context `stop` ends the wait.
 */
#include <stdbool.h>
#include <stddef.h>

#include "weir/ctx.h"

extern weir_ctx stop;

struct object {
	const char *call;	/* prefix of its calls */
	const char *kind;	/* in messages */
	void (*init)(void);
	void (*occupy)(void);	/* calls of enter wait from now on */
	weir_err (*enter)(void);	/* null: no call waits */
	void (*vacate)(void);	/* undo occupy */
	weir_err (*use)(void);	/* a call that never waits */
	void (*close)(void);	/* null: there is none */
	weir_err (*destroy)(void);	/* null: there is none */
	weir_err destroyed_occupied;	/* result of a destroy then */
	bool forks;		/* the child may use it if no call waited */
	bool closes_waits;	/* a close ends the wait of enter */
};

extern const struct object objects[];
extern const size_t object_count;

#define EACH(o)                                                                \
	for (const struct object *o = objects; o < objects + object_count; o++)

#endif /* TESTS_PATTERN_RULES_H */
