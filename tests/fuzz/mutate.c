/* SPDX-License-Identifier: MIT */
/*
 * Mutations of whole operations (sequence.h): insert, remove, copy and exchange
 * operations, and change one byte.  libFuzzer's own mutations would shift all
 * bytes behind the place and so change every later operation.
 */
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "sequence.h"

size_t LLVMFuzzerCustomMutator(uint8_t *bytes, size_t size, size_t most,
			       unsigned seed);
size_t LLVMFuzzerCustomCrossOver(const uint8_t *a, size_t a_size,
				 const uint8_t *b, size_t b_size, uint8_t *out,
				 size_t most, unsigned seed);

/* Counts are numbers of operations. */
struct sequence {
	uint8_t *ops;
	size_t count, most;
	uint64_t random;
};

static size_t below(struct sequence *s, size_t limit)
{
	/* A linear congruential generator; adjacent seeds must differ. */
	s->random = s->random * UINT64_C(6364136223846793005) +
		    UINT64_C(1442695040888963407);
	return limit ? (size_t)(s->random >> 33) % limit : 0;
}

static uint8_t *op(struct sequence *s, size_t at)
{
	return s->ops + at * SEQUENCE_OP;
}

static void fill(struct sequence *s, uint8_t *bytes, size_t size)
{
	while (size--)
		bytes[size] = (uint8_t)below(s, 256);
}

/* Make room for n operations at `at`; returns the number that fit. */
static size_t make_room(struct sequence *s, size_t at, size_t n)
{
	if (n > s->most - s->count)
		n = s->most - s->count;
	memmove(op(s, at + n), op(s, at), (s->count - at) * SEQUENCE_OP);
	s->count += n;
	return n;
}

static void insert(struct sequence *s)
{
	size_t at = below(s, s->count + 1);
	size_t n = make_room(s, at, 1 + below(s, 3));

	fill(s, op(s, at), n * SEQUENCE_OP);
}

static void remove_some(struct sequence *s)
{
	size_t at = below(s, s->count), n = 1 + below(s, 4);

	if (n > s->count - at)
		n = s->count - at;
	memmove(op(s, at), op(s, at + n),
		(s->count - at - n) * SEQUENCE_OP);
	s->count -= n;
}

/* Copy a part of the sequence to another place. */
static void repeat(struct sequence *s)
{
	uint8_t copy[8 * SEQUENCE_OP];
	size_t n = 1 + below(s, 8), from, at;

	if (n > s->count)
		return;
	from = below(s, s->count - n + 1);
	memcpy(copy, op(s, from), n * SEQUENCE_OP);
	at = below(s, s->count + 1);
	n = make_room(s, at, n);
	memcpy(op(s, at), copy, n * SEQUENCE_OP);
}

static void exchange(struct sequence *s)
{
	uint8_t copy[SEQUENCE_OP];
	uint8_t *a = op(s, below(s, s->count)), *b = op(s, below(s, s->count));

	memcpy(copy, a, sizeof(copy));
	memmove(a, b, sizeof(copy));
	memcpy(b, copy, sizeof(copy));
}

static void change(struct sequence *s)
{
	uint8_t *byte = op(s, below(s, s->count)) + below(s, SEQUENCE_OP);

	/* Another value, or one that differs by at most 1. */
	if (below(s, 2))
		fill(s, byte, 1);
	else
		*byte = (uint8_t)(*byte + 255 + below(s, 3));
}

size_t LLVMFuzzerCustomMutator(uint8_t *bytes, size_t size, size_t most,
			       unsigned seed)
{
	static void (*const kinds[])(struct sequence *) = {
		insert, insert, remove_some, repeat, exchange, change, change,
	};
	struct sequence s = { .ops = bytes + SEQUENCE_HEAD, .random = seed };

	if (most < SEQUENCE_HEAD + SEQUENCE_OP)
		return size;
	if (size < SEQUENCE_HEAD) {
		fill(&s, bytes + size, SEQUENCE_HEAD - size);
		size = SEQUENCE_HEAD;
	}
	s.count = (size - SEQUENCE_HEAD) / SEQUENCE_OP;
	s.most = (most - SEQUENCE_HEAD) / SEQUENCE_OP;
	if (!below(&s, 12))
		fill(&s, bytes + below(&s, SEQUENCE_HEAD), 1);
	for (size_t n = 1 + below(&s, 4); n; n--)
		if (s.count)
			kinds[below(&s, sizeof(kinds) / sizeof(kinds[0]))](&s);
		else
			insert(&s);
	return SEQUENCE_HEAD + s.count * SEQUENCE_OP;
}

/* Joins the beginning of a and the end of b. */
size_t LLVMFuzzerCustomCrossOver(const uint8_t *a, size_t a_size,
				 const uint8_t *b, size_t b_size, uint8_t *out,
				 size_t most, unsigned seed)
{
	struct sequence s = { .random = seed };
	size_t first, rest;

	if (a_size < SEQUENCE_HEAD || b_size < SEQUENCE_HEAD)
		return 0;
	first = SEQUENCE_HEAD + SEQUENCE_OP *
		below(&s, (a_size - SEQUENCE_HEAD) / SEQUENCE_OP + 1);
	rest = SEQUENCE_OP *
		below(&s, (b_size - SEQUENCE_HEAD) / SEQUENCE_OP + 1);
	if (first + rest > most)
		return 0;
	memcpy(out, a, first);
	memcpy(out + first, b + b_size - rest, rest);
	return first + rest;
}
