/* SPDX-License-Identifier: MIT */
/*
 * How a semaphore begins to be watched: by its init, by its first acquire if it
 * was initialised statically, and as a part of a pattern.
 */
#include <string.h>

#include "check.h"
#include "core/sem_watched.h"
#include "core/sem_word.h"
#include "look.h"
#include "weir/async.h"
#include "weir/multi.h"

/* A function that ends with a call would jump to it. */
#define HERE __attribute__((noinline)) static void
#define END __asm__ volatile("")

/* More than the size of a function below. */
#define REACH 1024u

static bool is_in(uint64_t site, void (*function)(void))
{
	return site - (uintptr_t)function < REACH;
}

static weir_sem a, b;

HERE init_barging(void)
{
	weir_sem_opts opts = { .permits = 1, .capacity = 3, .name = "a",
			       .policy = WEIR_BARGING };

	CHECK_OK(weir_sem_init_opts(&a, &opts));
	END;
}

HERE init_signal(void)
{
	weir_sem_opts opts = { .permits = 1, .name = "a",
			       .flags = WEIR_SEM_UNBOUNDED };

	CHECK_OK(weir_sem_init_opts(&a, &opts));
	END;
}

TEST(c48_an_init_is_recorded_with_its_options)
{
	init_barging();
	CHECK_EQ(object_of(&a)->type, RG_SEM);
	CHECK_EQ(object_of(&a)->flags, RG_BARGING | RG_HANDED_OVER);
	CHECK_EQ(object_of(&a)->capacity, 3);
	CHECK_EQ(object_of(&a)->handed_over, -2);
	CHECK(is_in(object_of(&a)->site, init_barging));
	CHECK_OK(weir_sem_destroy(&a));
	init_signal();
	CHECK_EQ(object_of(&a)->flags, RG_UNBOUNDED);
	CHECK_EQ(object_of(&a)->capacity, WEIR_SEM_MAX);
	CHECK_EQ(object_of(&a)->handed_over, 0);
	CHECK(is_in(object_of(&a)->site, init_signal));
	CHECK_OK(weir_sem_destroy(&a));
}

/* C47: the fast path of a watched semaphore begins with the first unlock. */
TEST(c47_a_watched_semaphore_has_a_mark)
{
	watch(&a, 2, "a");
	CHECK_OK(weir_sem_acquire(&a, 1, NULL));
	CHECK(weir_is_marked_(a.word_));
	CHECK_OK(weir_sem_acquire(&a, 1, NULL));
	CHECK(weir_is_marked_(a.word_));
	weir_sem_release(&a, 2);
	CHECK(weir_is_marked_(a.word_));
	CHECK_EQ(acquires_of(&a), 2);
	CHECK_EQ(releases_of(&a), 1);
	CHECK_OK(weir_sem_destroy(&a));
}

/* Static initialisers. */

static const weir_sem fixed_begin =
	WEIR_SEM_INIT_OPTS(2, 3, "fixed", WEIR_BARGING, 0);
static const weir_sem signals_begin =
	WEIR_SEM_INIT_OPTS(1, 0, "signals", WEIR_FIFO, WEIR_SEM_UNBOUNDED);

static const weir_sem nameless_begin =
	WEIR_SEM_INIT_OPTS(1, 0, NULL, WEIR_FIFO, WEIR_SEM_TRACKED);

static weir_sem fixed;
static weir_op op;
static size_t which;

HERE by_acquire(void)
{
	CHECK_OK(weir_sem_acquire(&fixed, 1, NULL));
	END;
}

HERE by_try(void)
{
	CHECK_OK(weir_sem_try_acquire(&fixed, 1));
	END;
}

HERE by_submit(void)
{
	weir_op_init(&op, NULL, NULL, NULL);
	CHECK_OK(weir_op_submit(&op, &fixed, 1, NULL));
	END;
}

HERE by_any(void)
{
	const weir_req req = { &fixed, 1 };

	CHECK_OK(weir_acquire_any(&req, 1, NULL, &which));
	END;
}

TEST(c48_the_first_acquire_registers_a_static_semaphore)
{
	static void (*const calls[])(void) = { by_acquire, by_try, by_submit,
					       by_any };

	for (size_t i = 0; i < sizeof(calls) / sizeof(*calls); i++) {
		fixed = fixed_begin;
		CHECK_EQ(weir_record_of_(&fixed), 0);
		calls[i]();
		CHECK(!strcmp(object_of(&fixed)->name, "fixed"));
		CHECK_EQ(object_of(&fixed)->flags & RG_BARGING, RG_BARGING);
		CHECK_EQ(object_of(&fixed)->capacity, 3);
		CHECK(!weir_state_is_fresh_(weir_state_(&fixed)));
		/* One permit was out at the start. */
		CHECK_EQ(object_of(&fixed)->handed_over, -1);
		CHECK_EQ(sum_of_slots(&fixed), 1);
		CHECK_ADDS_UP(&fixed);
		weir_sem_release(&fixed, 2);
		CHECK_EQ(recorded(&fixed), 0);
		CHECK(weir_is_marked_(fixed.word_));
		CHECK_OK(weir_sem_destroy(&fixed));
	}
}

TEST(c48_the_first_call_that_fails_registers_as_well)
{
	static const char *name = "fixed";
	uint64_t id;

	fixed = fixed_begin;
	CHECK_ERR(weir_sem_try_acquire(&fixed, 3), WEIR_EAGAIN);
	CHECK_EQ(object_of(&fixed)->acquires[RG_WOULD_BLOCK], 1);
	id = weir_record_of_(&fixed);
	CHECK_OK(weir_sem_acquire(&fixed, 2, NULL));
	CHECK_EQ(weir_record_of_(&fixed), id);
	CHECK(!strcmp(object_of(&fixed)->name, name));
	weir_sem_release(&fixed, 3);
	CHECK_OK(weir_sem_destroy(&fixed));
}

TEST(c48_a_try_that_may_overtake_is_recorded_as_well)
{
	static weir_sem line =
		WEIR_SEM_INIT_OPTS(2, 0, "line", WEIR_FIFO, 0);

	CHECK_ERR(weir_sem_try_acquire_barging(&line, 3), WEIR_EAGAIN);
	CHECK(!strcmp(object_of(&line)->name, "line"));
	CHECK_EQ(object_of(&line)->acquires[RG_WOULD_BLOCK], 1);
	CHECK_OK(weir_sem_try_acquire_barging(&line, 2));
	CHECK_EQ(sum_of_slots(&line), 2);
	CHECK_ADDS_UP(&line);
	CHECK_ERR(weir_sem_try_acquire_barging(&line, 1), WEIR_EAGAIN);
	CHECK_EQ(object_of(&line)->acquires[RG_WOULD_BLOCK], 2);
	weir_sem_close(&line, WEIR_CLOSE_NOW);
	CHECK_ERR(weir_sem_try_acquire_barging(&line, 1), WEIR_ECLOSED);
	CHECK_EQ(object_of(&line)->acquires[RG_CLOSED], 1);
	weir_sem_release(&line, 2);
	CHECK_OK(weir_sem_destroy(&line));
}

TEST(c48_a_static_signal)
{
	fixed = signals_begin;
	weir_sem_release(&fixed, 1);
	CHECK_EQ(weir_record_of_(&fixed), 0);
	CHECK_OK(weir_sem_acquire(&fixed, 1, NULL));
	CHECK_EQ(object_of(&fixed)->flags, RG_UNBOUNDED);
	CHECK_EQ(object_of(&fixed)->handed_over, 0);
	CHECK_OK(weir_sem_destroy(&fixed));
}

TEST(c48_a_static_semaphore_that_is_tracked_needs_no_name)
{
	fixed = nameless_begin;
	by_acquire();
	CHECK(!*object_of(&fixed)->name);
	CHECK_EQ(sum_of_slots(&fixed), 1);
	weir_sem_release(&fixed, 1);
	CHECK_OK(weir_sem_destroy(&fixed));
}

/* No record is free: the semaphore is used as one that is not watched. */
TEST(c47_a_static_semaphore_that_cannot_be_registered)
{
	static weir_sem many[RG_OBJECTS];
	uint32_t lost = header()->lost;

	for (unsigned i = 0; i < RG_OBJECTS; i++)
		watch(&many[i], 1, "many");
	fixed = fixed_begin;
	by_acquire();
	CHECK_EQ(weir_record_of_(&fixed), 0);
	CHECK_EQ(header()->lost, lost + 1);
	CHECK_EQ(weir_door_(fixed.word_), WEIR_OPEN_);
	CHECK(!weir_is_marked_(fixed.word_));
	by_try();
	weir_sem_release(&fixed, 2);
	/* It does not try again. */
	CHECK_EQ(header()->lost, lost + 1);
	CHECK_EQ(weir_sem_available(&fixed), 2);
	CHECK_OK(weir_sem_destroy(&fixed));
	for (unsigned i = 0; i < RG_OBJECTS; i++)
		CHECK_OK(weir_sem_destroy(&many[i]));
}

/* Semaphores of patterns. */

static void init_unwatched(weir_sem *sem, const char *name)
{
	weir_sem_opts opts = { .permits = 2, .name = name,
			       .flags = WEIR_SEM_UNWATCHED };

	CHECK_OK(weir_sem_init_opts(sem, &opts));
	CHECK_EQ(weir_record_waits_of_(sem), 0);
}

TEST(c48_the_semaphore_of_a_pattern_has_its_type)
{
	init_unwatched(&a, "pool");
	weir_sem_watch_(&a, RG_POOL);
	CHECK_EQ(object_of(&a)->type, RG_POOL);
	CHECK_EQ(object_of(&a)->site, 0);
	CHECK(!strcmp(object_of(&a)->name, "pool"));
	CHECK_OK(weir_sem_acquire(&a, 1, NULL));
	CHECK_ADDS_UP(&a);
	weir_sem_release(&a, 1);
	CHECK_OK(weir_sem_destroy(&a));
	/* Only if it has a name. */
	init_unwatched(&a, NULL);
	weir_sem_watch_(&a, RG_POOL);
	CHECK_EQ(weir_record_of_(&a), 0);
	CHECK_OK(weir_sem_destroy(&a));
}

static uint32_t watch_inner(const char *name, weir_sem *second)
{
	const struct weir_watched_ what = {
		.address = &which,
		.inner = { &a, second },
		.type = RG_CHAN,
		.flags = RG_PATTERN,
		.name = name,
	};

	init_unwatched(&a, NULL);
	init_unwatched(&b, NULL);
	return weir_sem_watch_inner_(&what, &a, second);
}

/* The waits on both semaphores are those of the pattern. */
TEST(c48_the_semaphores_of_a_pattern_are_one_object)
{
	uint32_t number = watch_inner("chan", &b);
	uint64_t id = weir_record_numbered_(number, &which);

	CHECK(number && id);
	CHECK_EQ(weir_record_waits_of_(&a), id);
	CHECK_EQ(weir_record_waits_of_(&b), id);
	CHECK_EQ(weir_record_of_(&a), 0);
	CHECK_EQ(weir_rg_object_(weir_registry_->base, id)->type, RG_CHAN);
	weir_record_remove_(id);
	number = watch_inner("sharded", NULL);
	id = weir_record_numbered_(number, &which);
	CHECK(number && id);
	CHECK_EQ(weir_record_waits_of_(&a), id);
	CHECK_EQ(weir_record_waits_of_(&b), 0);
	weir_record_remove_(id);
	CHECK_EQ(watch_inner(NULL, &b), 0);
	CHECK_EQ(weir_record_waits_of_(&a), 0);
	CHECK(!a.name_ && !b.name_);
	CHECK_OK(weir_sem_destroy(&a));
	CHECK_OK(weir_sem_destroy(&b));
}
