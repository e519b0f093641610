/* SPDX-License-Identifier: MIT */
/*
 * The public header, with tables of a few entries: they are part of the state.  And
 * the controller decides when a thread stops its attempts to arm its keeper, and
 * the scenario whether waiting threads watch deaths.
 */
#pragma GCC system_header	/* #include_next is an extension */
#include_next "weir/named.h"

#ifndef TESTS_MODEL_NAMED_SMALL
#define TESTS_MODEL_NAMED_SMALL
#undef WEIR_NAMED_PARTICIPANTS_MAX
#undef WEIR_NAMED_WAITERS_MAX
#ifndef MODEL_SLOTS
#define MODEL_SLOTS 6
#endif
#define WEIR_NAMED_PARTICIPANTS_MAX MODEL_SLOTS
#define WEIR_NAMED_WAITERS_MAX 8

_Bool world_ends_attempts(void);
#define WEIR_ARM_ENDS_(tries) ((void)(tries), world_ends_attempts())

_Bool world_watches_deaths(void);
#define WEIR_WATCHES_(high) ((high) <= WATCHED_MAX && world_watches_deaths())
#endif
