/* SPDX-License-Identifier: MIT */
/*
 * C49: hostile registries.  Random bytes, random damage to a valid registry, and
 * a registry that changes while it is read give an error or a report: no crash,
 * no endless loop, no control characters.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "check.h"
#include "diag/text.h"
#include "fake.h"

/* The part of each table that is damaged. */
#define DAMAGED 4096

static uint64_t rng;
static char *base;
static bool changing;
static void *memory;
static size_t memory_size;

static void damage(void)
{
	static const uint64_t tables[] = { 0, RG_OBJECTS_AT, RG_CONTEXTS_AT,
					   RG_WAITS_AT, RG_ORDERS_AT };
	static const uint64_t values[] = {
		0, 1, 2, 3, 0x10000, 0x20001, UINT32_MAX, INT64_MAX,
		(uint64_t)INT64_MIN, UINT64_MAX, 0x1b5b324a1b5b324a,
		0x7fffffff, 16384, 4096, 0x1000000000000000
	};
	uint64_t at = tables[random_below(&rng, 5)] +
		      (uint64_t)random_below(&rng, DAMAGED / 8) * 8;
	uint64_t value = random_below(&rng, 3) ?
			 values[random_below(&rng, sizeof(values) /
						       sizeof(values[0]))] :
			 next_random(&rng);

	/* Most damage leaves the registry readable. */
	if (at < 72 && random_below(&rng, 64))
		return;
	memcpy(base + at, &value, random_below(&rng, 2) ? 8 : 4);
}

static bool read_bytes(void *user, uint64_t at, void *to, size_t size)
{
	(void)user;
	if (at > RG_SIZE || size > RG_SIZE - at)
		return false;
	if (changing && !random_below(&rng, 50))
		damage();
	memcpy(to, base + at, size);
	return true;
}

static void check_clean(const char *text, size_t size)
{
	for (size_t i = 0; i < size; i++) {
		unsigned char c = (unsigned char)text[i];

		if ((c < 0x20 && c != '\n') || c == 0x7f)
			check_fail(__FILE__, __LINE__, "control character %u",
				   c);
	}
}

static void clean_flush(struct dg_text *text)
{
	check_clean(text->to, text->used);
	text->used = 0;
}

/* Returns true if there is a report. */
static bool look(void)
{
	struct dg_source source = { read_bytes, NULL,
				    fake_header(base)->start_ns, NULL, NULL };
	char room[512];
	struct dg_text text = { .to = room, .size = sizeof(room),
				.flush = clean_flush };
	struct dg_limits limits;
	struct rg_header header;
	struct dg_model model;
	size_t size;

	if (weir_diag_header_(&source, &header))
		return false;
	weir_diag_limits_(&header, &limits);
	size = weir_diag_model_size_(&limits);
	/* Exactly as large as it must be, so that a sanitizer sees overruns. */
	free(memory);
	memory = malloc(size);
	memory_size = size;
	CHECK(memory);
	weir_diag_model_init_(&model, &limits, memory);
	if (weir_diag_snapshot_(&source, &header, &model))
		return false;
	weir_diag_judge_(&model);
	(void)weir_diag_report_(&text, &model, NULL);
	clean_flush(&text);
	return true;
}

static const char *const scenarios[] = { "deadlock", "leaked", "nested",
					 "signal", "handed", "slow" };

static void begin(int round)
{
	if (!rng)
		rng = seed_of(0);
	base = fake_registry(0);
	CHECK(fake_scenario(base, scenarios[round % 6]));
}

TEST(c49_damaged_registries)
{
	int reports = 0;

	for (int i = 0; i < 3000 * check_scale(); i++) {
		int64_t n = 1 + random_below(&rng, i % 3 ? 6 : 300);

		begin(i);
		while (n--)
			damage();
		reports += look();
		fake_free(base);
	}
	printf("%d reports\n", reports);
	CHECK(reports > 100);
}

TEST(c49_changing_registries)
{
	int reports = 0;

	for (int i = 0; i < 1000 * check_scale(); i++) {
		begin(i);
		changing = true;
		reports += look();
		changing = false;
		fake_free(base);
	}
	printf("%d reports\n", reports);
	CHECK(reports > 100);
}

/* All tables are in use, with random references between them. */
TEST(c49_full_tables_of_random_records)
{
	begin(0);
	fake_header(base)->objects_high = RG_OBJECTS;
	fake_header(base)->contexts_high = RG_CONTEXTS;
	fake_header(base)->waits_high = RG_WAITS;
	fake_header(base)->orders_high = RG_ORDERS;
	for (uint32_t i = 0; i < RG_OBJECTS; i++) {
		struct rg_object *object = fake_object(base, i);

		object->state = RG_LIVE;
		object->id = 0x10000 | i;
		object->capacity = random_below(&rng, 40);
		object->flags = (uint32_t)random_below(&rng, 64);
		object->type = (uint32_t)random_below(&rng, 12);
	}
	for (uint32_t i = 0; i < RG_CONTEXTS; i++) {
		struct rg_context *context = fake_context(base, i);

		context->state = random_below(&rng, 20) ? RG_LIVE : RG_ENDED;
		context->id = 0x10000 | i;
		context->first = random_below(&rng, 4) ? 0 :
				 (uint32_t)random_below(&rng, 17000);
		for (uint32_t k = 0; k < RG_SLOTS; k++) {
			context->slots[k].object = 0x10000 |
				(uint64_t)random_below(&rng, RG_OBJECTS);
			context->slots[k].taken =
				(uint64_t)random_below(&rng, 4);
		}
	}
	for (uint32_t i = 0; i < RG_WAITS; i++) {
		struct rg_wait *wait = fake_wait(base, i);

		wait->state = RG_LIVE;
		wait->context = 0x10000 |
				(uint64_t)random_below(&rng, RG_CONTEXTS);
		wait->object = 0x10000 |
			       (uint64_t)random_below(&rng, i % 2 ? 3 :
						      RG_OBJECTS);
		wait->min = random_below(&rng, 50);
		wait->flags = (uint32_t)random_below(&rng, 32);
		wait->ticket = next_random(&rng);
	}
	CHECK(look());
	fake_free(base);
}

/* The CPU time of this process, in ms. */
static int64_t cpu_ms(void)
{
	return (int64_t)clock() * 1000 / CLOCKS_PER_SEC;
}

/*
 * All holds and all waits are those of one object.  The time of a reduction is linear
 * in the number of records: the limit is far above it, and far below the time for
 * each hold and each wait.
 */
TEST(c49_the_time_for_one_object_with_all_records)
{
	static const uint32_t types[] = { RG_SEM, RG_GROUP };
	/* The last two have no place in the queue, and no holds. */
	static const uint32_t flags[] = { 0, 0, RG_ROOM, RG_ROOM, RG_IDLE,
					  RG_IDLE };
	int64_t began, first = 0;

	for (int i = 0; i < 6; i++) {
		uint64_t object, context;

		base = fake_registry(0);
		object = fake_add_object(base, "busy", 1 << 20);
		fake_object(base, 0)->type = types[i % 2];
		for (uint32_t k = 0; k < RG_CONTEXTS; k++) {
			context = fake_add_thread(base, 1000 + k, "thread");
			/* The others have no holds, but waits for room. */
			for (uint32_t h = 0; h < RG_SLOTS && i < 2; h++)
				fake_hold(base, context, object, 1, 0x10, 0);
			fake_add_wait(base, context, object, i < 2, 0x20, 0)
				->flags = flags[i];
		}
		began = cpu_ms();
		CHECK(look());
		printf("%lld ms\n", (long long)(cpu_ms() - began));
		CHECK(cpu_ms() - began < 10000 * check_scale());
		/* The first registry has 16 times as many records. */
		if (!i)
			first = cpu_ms() - began;
		CHECK(cpu_ms() - began <= 4 * first + 50);
		fake_free(base);
	}
}
