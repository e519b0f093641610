/* SPDX-License-Identifier: MIT */
/*
 * Bytes choose operations on two semaphores, contexts, permits and waiting
 * threads.  tests/refmodel executes them and compares each result with its
 * model.  C1 to C16, C19 to C21, C23, C30, C31 and C34.
 *
 * The first byte of an operation chooses the operation and its semaphore; the
 * other bytes are its arguments.
 */
#include "sequence.h"

#include "../refmodel/ops.h"

static world first, second;
static scene play = { .world = { &first, &second }, .worlds = 2 };
static int64_t steps;

/*
 * The pairs of operation and kind of state that were reached.  libFuzzer treats
 * these counters like code coverage: it keeps an input that reaches a new pair
 * even if all its branches were reached before.
 */
#define OPS_MAX 64
#define STATES (4 * 3 * 2 * 3 * 2 * 2)
__attribute__((section("__libfuzzer_extra_counters"), used))
static uint8_t reached[OPS_MAX][STATES];

static int kind_of(const world *w)
{
	if (w->m.unbounded)
		return 0;
	return w->policy == WEIR_FIFO ? 1 : 2 + w->overdue;
}

static int state_of(const world *w)
{
	const model *m = &w->m;
	int queued = m->queue.count < 2 ? m->queue.count : 2;
	int closed = m->closed ? 1 + m->drain : 0;
	int state = kind_of(w);

	state = state * 3 + queued;
	state = state * 2 + (m->oversized.count != 0);
	state = state * 3 + closed;
	state = state * 2 + (m->free != 0);
	return state * 2 + (m->debt != 0);
}

void sequence_start(int64_t patience_ns)
{
	play.patience_ns = patience_ns;
	ops_open(&play);
}

void sequence_stop(void)
{
	ops_shut(&play);
}

/* Use the next `count` bytes for decisions. */
static void decide_by(const uint8_t **bytes, size_t *size, size_t count)
{
	count = *size < count ? *size : count;
	play.from.next = *bytes;
	play.from.end = *bytes + count;
	*bytes += count;
	*size -= count;
}

static void begin(world *w)
{
	int64_t k = draw(w, 8);

	/* Mostly FIFO and bounded, the common case. */
	ops_begin(w, k < 5 ? WEIR_FIFO : WEIR_BARGING, k == 7,
		  k == 0 || k == 5);
}

static void step(void)
{
	int64_t k = source_draw(&play.from, 256);
	world *w = k % 4 ? &first : &second;
	/*
	 * A remainder, not the limit of the draw: otherwise a new entry of the
	 * table would change the meaning of every byte of the corpus.
	 */
	int64_t op = k / 4 % ops_table_size;

	reached[op][state_of(w)] = 1;
	ops_table[op].fn(w);
}

void sequence_run(const uint8_t *bytes, size_t size)
{
	static const uint8_t none[1];

	/* With null bytes the source would be a random generator. */
	if (!size)
		bytes = none;
	play.step = 0;
	CHECK(ops_table_size <= OPS_MAX);
	decide_by(&bytes, &size, SEQUENCE_HEAD / 2);
	begin(&first);
	decide_by(&bytes, &size, SEQUENCE_HEAD / 2);
	begin(&second);
	/* A chain of contexts without a deadline, to be cancelled. */
	for (int i = 1; i <= 2; i++) {
		CHECK_OK(weir_ctx_init(tree_ctx(&play.tree, i),
				       tree_ctx(&play.tree, i - 1),
				       WEIR_FOREVER));
		tree_make(&play.tree, i, i - 1, WEIR_FOREVER);
	}
	while (size) {
		decide_by(&bytes, &size, SEQUENCE_OP);
		step();
	}
	ops_end(&second);
	ops_end(&first);
	steps += play.step;
}

int64_t sequence_steps(void)
{
	return steps;
}
