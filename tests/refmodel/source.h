/* SPDX-License-Identifier: MIT */
/* The source of random choices: a generator, or a fuzzer's input bytes. */
#ifndef TESTS_REFMODEL_SOURCE_H
#define TESTS_REFMODEL_SOURCE_H

#include <stdint.h>

#include "check.h"

typedef struct source {
	uint64_t random;		/* used if there are no input bytes */
	const uint8_t *next, *end;	/* null: no input bytes */
} source;

/* A number in 0 .. limit - 1.  Missing input bytes count as zero. */
static inline int64_t source_draw(source *s, int64_t limit)
{
	int64_t value = 0;

	if (!s->end)
		return random_below(&s->random, limit);
	for (int64_t reach = 1; reach < limit && s->next < s->end; reach *= 256)
		value = value * 256 + *s->next++;
	return value % limit;
}

#endif /* TESTS_REFMODEL_SOURCE_H */
