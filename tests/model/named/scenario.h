/* SPDX-License-Identifier: MIT */
#ifndef TESTS_MODEL_NAMED_SCENARIO_H
#define TESTS_MODEL_NAMED_SCENARIO_H

/*
 * For the scenarios of src/named.  Each function of a scenario is the first
 * thread of a process.
 *
 *     PROCESSES(name, bound, mortal, stoppable, check, function, ...)
 *
 * `mortal` and `stoppable` have a bit for each process that the controller may
 * kill or stop; ALL and NONE are all and none.  The calls below book the permits
 * that each process holds, for the audit (audit.c).
 */
#include <string.h>

#include "audit.h"
#include "weir/ctx.h"
#include "world.h"

#define ALL 0xffu
#define NONE 0u
#define P(number) (1u << (number))

#define PROCESSES(id, preemptions, deaths, stops, after, ...)                  \
	PROCESSES_ON(audit_begin, id, preemptions, deaths, stops, after,       \
		     __VA_ARGS__)

/* The same on a kernel without futex_waitv. */
#define OLD_PROCESSES(id, preemptions, deaths, stops, after, ...)              \
	PROCESSES_ON(world_be_old, id, preemptions, deaths, stops, after,      \
		     __VA_ARGS__)

/* The same with waiting threads that watch deaths. */
#define WATCHING_PROCESSES(id, preemptions, deaths, stops, after, ...)         \
	PROCESSES_ON(world_watch_deaths, id, preemptions, deaths, stops, after, \
		     __VA_ARGS__)

#define PROCESSES_ON(before, id, preemptions, deaths, stops, after, ...)       \
	__attribute__((constructor)) static void register_##id(void)           \
	{                                                                      \
		static const struct ex_scenario this_one = {                   \
			.name = #id,                                           \
			.setup = before,                                       \
			.threads = { __VA_ARGS__ },                            \
			.check = after,                                        \
			.bound = preemptions,                                  \
			.mortal = deaths,                                      \
			.stoppable = stops,                                    \
		};                                                             \
		ex_register(&this_one);                                        \
	}

#endif /* TESTS_MODEL_NAMED_SCENARIO_H */
