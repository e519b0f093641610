/* SPDX-License-Identifier: MIT */
/*
 * The table of semaphores of libweir-posix (src/posix/table.c): the cost of a
 * call does not grow with the number of semaphores.  The cost is the number of
 * objects that a search compares, not a time.
 */
#include "posix/table.h"

#include "check.h"

/* Addresses as those of an array of sem_t; the table does not read them. */
static uintptr_t home_of(uintptr_t i)
{
	return 0x100000 + i * 32;
}

/*
 * The objects from this one to the end of its bucket: what a search for the last
 * one of them compares.
 */
static unsigned rest_of(const struct weir_object_posix_ *o)
{
	unsigned count = 0;

	for (; o; o = o->next)
		count++;
	return count;
}

/* Add one more, as sem_init does. */
static void add(uintptr_t i)
{
	weir_table_refill_(1);
	weir_table_grow_();
	CHECK(weir_table_take_(home_of(i)));
}

/* The average of rest_of, times 100. */
static unsigned cost_of(uintptr_t n)
{
	uint64_t sum = 0;

	for (uintptr_t i = 0; i < n; i++) {
		const struct weir_object_posix_ *o =
			weir_table_find_(home_of(i));

		CHECK(o);
		sum += rest_of(o);
	}
	return (unsigned)(sum * 100 / n);
}

/*
 * There are at least as many buckets as objects, so a bucket has few: 6.3 at most
 * with these addresses.  With 1024 buckets for all of them it would have 49.
 */
TEST(a_search_does_not_grow_with_the_number_of_semaphores)
{
	enum { N = 100000, PART = 10000 };

	for (uintptr_t i = 0; i < N; i++) {
		add(i);
		if ((i + 1) % PART == 0)
			CHECK(cost_of(i + 1) < 1000);
	}
	for (uintptr_t i = 0; i < N; i++) {
		struct weir_object_posix_ *o = weir_table_find_(home_of(i));

		CHECK(o);
		weir_table_drop_(o, true);
		CHECK(!weir_table_find_(home_of(i)));
	}
}
