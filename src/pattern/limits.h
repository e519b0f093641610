/* SPDX-License-Identifier: MIT */
#ifndef WEIR_PATTERN_LIMITS_H
#define WEIR_PATTERN_LIMITS_H

/* Between the text of limits and the limits. */
#include <stdbool.h>

#include "weir/limits.h"

/* What a section asks for. */
struct weir_wish_ {
	char name[WEIR_LIMITS_NAME_MAX + 1];
	int64_t line;			/* where it begins */
	int64_t capacity;
	int64_t max_waiters, barge_us;
	weir_policy policy;
	uint32_t given;			/* which keys were */
};

struct weir_wishes_ {
	struct weir_wish_ *wishes;
	uint32_t count, max;
};

/* All sections of a text, with the environment in it. */
weir_err weir_limits_parse_(struct weir_wishes_ *wishes, const char *text,
			    size_t length, weir_limits_problem *problem);

/* Note what is wrong; returns WEIR_EINVAL. */
weir_err weir_limits_wrong_(weir_limits_problem *problem, int64_t line,
			    const char *what, const char *which);

#endif /* WEIR_PATTERN_LIMITS_H */
