/* SPDX-License-Identifier: MIT */
#ifndef WEIR_PATTERN_LIMITS_H
#define WEIR_PATTERN_LIMITS_H

/* The interface between limits.c and its parser, limits_text.c. */
#include <stdbool.h>

#include "weir/limits.h"

/* The limit that a section describes. */
struct weir_limits_spec_ {
	char name[WEIR_LIMITS_NAME_MAX + 1];
	int64_t line;			/* of the section's head */
	int64_t capacity;
	int64_t max_waiters, barge_us;
	weir_policy policy;
	uint32_t given;			/* keys present: 1 << enum key */
};

struct weir_limits_specs_ {
	struct weir_limits_spec_ *specs;
	uint32_t count, max;
};

/* Parse all sections of a text and apply the environment to them. */
weir_err weir_limits_parse_(struct weir_limits_specs_ *specs, const char *text,
			    size_t length, weir_limits_problem *problem);

/* Describe an error: `what`, followed by `which`.  Returns WEIR_EINVAL. */
weir_err weir_limits_wrong_(weir_limits_problem *problem, int64_t line,
			    const char *what, const char *which);

#endif /* WEIR_PATTERN_LIMITS_H */
