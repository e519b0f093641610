/* SPDX-License-Identifier: MIT */
#include "posix/table.h"

#include "base/mem.h"

typedef struct weir_object_posix_ object;

#define BUCKETS_MIN 1024u	/* a power of two, as each later number */
#define CHUNK 64

struct chunk {
	struct chunk *next;
	object objects[CHUNK];
};

static object *first_buckets[BUCKETS_MIN];
static object **buckets = first_buckets;
static size_t bucket_count = BUCKETS_MIN;
static size_t used_count;
static object *retired;
static object *unused;
static unsigned unused_count;
static struct chunk first_chunk;
static struct chunk *chunks;		/* all of them */

static object **bucket_of(uintptr_t home)
{
	uint64_t hash = (uint64_t)(home >> 3) * UINT64_C(0x9e3779b97f4a7c15);

	return &buckets[hash >> 32 & (bucket_count - 1)];
}

object *weir_table_find_(uintptr_t home)
{
	object *o = *bucket_of(home);

	while (o && o->home != home)
		o = o->next;
	return o;
}

/*
 * Double the number of buckets if there are more objects than buckets, so that
 * the cost of a call does not grow with the number of semaphores.  If memory is
 * exhausted, the buckets remain as they are.
 */
void weir_table_grow_(void)
{
	object **old = buckets, **more;
	size_t n = bucket_count;

	if (used_count <= n || n > UINT32_MAX / 2)
		return;
	more = weir_mem_alloc_(2 * n * sizeof(*more));
	if (!more)
		return;
	buckets = more;
	bucket_count = 2 * n;
	for (size_t i = 0; i < n; i++)
		for (object *o = old[i], *next; o; o = next) {
			next = o->next;
			o->next = *bucket_of(o->home);
			*bucket_of(o->home) = o;
		}
	if (old != first_buckets)
		weir_mem_free_(old);
}

static void make_unused(object *o)
{
	o->home = 0;
	o->next = unused;
	unused = o;
	unused_count++;
}

static void give(struct chunk *chunk)
{
	chunk->next = chunks;
	chunks = chunk;
	for (int i = 0; i < CHUNK; i++)
		make_unused(&chunk->objects[i]);
}

void weir_table_collect_(void)
{
	object **at = &retired, *o;

	while (unused_count < CHUNK && (o = *at))
		if (weir_sem_destroy(&o->sem) == WEIR_EBUSY) {
			at = &o->next;
		} else {
			*at = o->next;
			make_unused(o);
		}
}

void weir_table_refill_(unsigned least)
{
	if (!chunks)
		give(&first_chunk);
	if (unused_count < least) {
		struct chunk *chunk = weir_mem_alloc_(sizeof(*chunk));

		if (chunk)
			give(chunk);
	}
}

object *weir_table_take_(uintptr_t home)
{
	object *o = unused;

	if (!o)
		return NULL;
	unused = o->next;
	unused_count--;
	used_count++;
	o->home = home;
	o->next = *bucket_of(home);
	*bucket_of(home) = o;
	return o;
}

void weir_table_drop_(object *o, bool destroyed)
{
	object **at = bucket_of(o->home);

	while (*at != o)
		at = &(*at)->next;
	*at = o->next;
	used_count--;
	if (destroyed) {
		make_unused(o);
	} else {
		o->home = 0;
		o->next = retired;
		retired = o;
	}
}

void weir_table_in_child_(void (*reset)(object *o))
{
	object *next;

	/*
	 * Visit the objects in the order of memory, because there may be many.
	 */
	for (struct chunk *chunk = chunks; chunk; chunk = chunk->next)
		for (int i = 0; i < CHUNK; i++)
			if (chunk->objects[i].home)
				reset(&chunk->objects[i]);
	for (object *o = retired; o; o = next) {
		next = o->next;
		make_unused(o);
	}
	retired = NULL;
}
