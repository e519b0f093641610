/* SPDX-License-Identifier: MIT */
/*
 * Private copies of the file.
 *
 * The copy is consistent if the lock was free before it was made, and the lock
 * word, which counts critical sections, had the same value after it.  The file
 * may belong to a hostile user: every read is bounded, indices are limited by
 * the sizes of the tables, and the number of attempts, the bytes that they read,
 * and the number of queries of file locks are limited.
 */
#include <errno.h>
#include <stddef.h>
#include <string.h>
#include <unistd.h>

#include "named/image.h"
#include "named/table.h"

#define ATTEMPTS 16
/* No further attempt is made after this number of bytes has been read. */
#define BYTES_MAX 262144
/* After this number of attempts a participant pauses between attempts. */
#define SPINS 4
#define PAUSE_NS 500000
#define QUERIES 64
#define CHUNK 16384

#define SLOTS_SIZE (NM_SLOTS * sizeof(struct nm_slot))
#define RECORDS_SIZE (NM_RECORDS * sizeof(struct nm_record))
#define IMAGE_SIZE                                                             \
	(SLOTS_SIZE + RECORDS_SIZE + NM_RECORDS * sizeof(struct nm_place) +    \
	 (NM_SLOTS + NM_RECORDS) * sizeof(uint32_t))

/* Returns false with errno.  A file that has become shorter is damaged. */
static bool read_at(int fd, void *to, size_t size, size_t from)
{
	ssize_t got;

	do
		got = pread(fd, to, size, (off_t)from);
	while (got < 0 && errno == EINTR);
	if (got >= 0 && (size_t)got < size)
		errno = EBADMSG;
	return got == (ssize_t)size;
}

static bool read_lock(int fd, uint64_t *lock)
{
	return read_at(fd, lock, sizeof(*lock),
		       offsetof(struct nm_header, lock));
}

static uint32_t state_at(const char *element, size_t offset)
{
	uint32_t state;

	memcpy(&state, element + offset, sizeof(state));
	return state;
}

/* A table of the file. */
struct table {
	size_t from;		/* offset in the file */
	size_t size;		/* size of an element */
	size_t state;		/* offset of its state */
	uint32_t mask, used;	/* in use if (state & mask) >= used */
};

/*
 * Returns the first element from i on that has storage; an element without
 * storage is not in use.  The tables of a hostile file may seem large, but
 * storage costs its owner memory.
 */
static uint32_t skip_hole(int fd, const struct table *table, uint32_t i,
			  uint32_t high)
{
	off_t from = (off_t)(table->from + i * table->size);
	off_t end = (off_t)(table->from + high * table->size);
	off_t data = lseek(fd, from, SEEK_DATA);

	if (data < 0)
		return errno == ENXIO ? high : i;
	/* A file that has grown may have data far behind the table. */
	if (data >= end)
		return high;
	return i + (uint32_t)((size_t)(data - from) / table->size);
}

/*
 * Copy the elements in use among the first `high` elements of a table, and list
 * their indices.  The pages of other elements are not touched: a copy of an
 * empty table needs no memory.
 */
static bool read_table(int fd, const struct table *table, uint32_t high,
		       char *to, uint32_t *list, uint32_t *count)
{
	uint32_t at_once = (uint32_t)(CHUNK / table->size);
	char chunk[CHUNK];

	*count = 0;
	for (uint32_t i = skip_hole(fd, table, 0, high); i < high;
	     i = skip_hole(fd, table, i + at_once, high)) {
		uint32_t n = high - i < at_once ? high - i : at_once;

		if (!read_at(fd, chunk, n * table->size,
			     table->from + i * table->size))
			return false;
		for (uint32_t j = 0; j < n; j++) {
			const char *element = chunk + j * table->size;

			if ((state_at(element, table->state) & table->mask) <
			    table->used)
				continue;
			memcpy(to + (i + j) * table->size, element,
			       table->size);
			list[(*count)++] = i + j;
		}
	}
	return true;
}

static uint32_t least(uint32_t a, uint32_t b)
{
	return a < b ? a : b;
}

/* Returns the size of the part of the file that is read. */
static size_t size_of(const struct nm_image *image)
{
	return sizeof(image->head) +
	       least(image->head.slots_high, NM_SLOTS) *
		       sizeof(struct nm_slot) +
	       least(image->head.records_high, NM_RECORDS) *
		       sizeof(struct nm_record);
}

static bool read_tables(int fd, struct nm_image *image)
{
	static const struct table slots = {
		.from = sizeof(struct nm_header),
		.size = sizeof(struct nm_slot),
		.state = offsetof(struct nm_slot, state),
		.mask = NM_SLOT_MASK, .used = NM_SLOT_LIVE,
	}, records = {
		.from = sizeof(struct nm_header) + SLOTS_SIZE,
		.size = sizeof(struct nm_record),
		.state = offsetof(struct nm_record, state),
		.mask = NM_REC_MASK, .used = NM_REC_FREE + 1,
	};

	return read_table(fd, &slots, least(image->head.slots_high, NM_SLOTS),
			  (char *)image->slots, image->used_slots,
			  &image->slot_count) &&
	       read_table(fd, &records,
			  least(image->head.records_high, NM_RECORDS),
			  (char *)image->records, image->used_records,
			  &image->record_count);
}

/* Make one copy.  *before and *after are the lock word before and after it. */
static bool read_once(const weir_named *h, struct nm_image *image,
		      uint64_t *before, uint64_t *after)
{
	if (!read_lock(h->fd, before) ||
	    !read_at(h->fd, &image->head, sizeof(image->head), 0))
		return false;
	if (weir_nm_check_constants_(&image->head)) {
		errno = EBADMSG;
		return false;
	}
	return read_tables(h->fd, image) && read_lock(h->fd, after);
}

/*
 * Called if the boot id differs or is unknown: the liveness words may be those
 * of an earlier boot, and only the file locks show which participants are
 * alive.
 */
static void mark_dead(const weir_named *h, struct nm_image *image)
{
	bool any = weir_nm_bytes_are_locked_(h->fd, NM_BYTE_ALIVE(0),
					     NM_BYTE_ALIVE(NM_SLOTS));

	for (uint32_t i = 0; i < image->slot_count; i++) {
		uint32_t index = image->used_slots[i];

		if (any && !image->queries)
			break;
		image->queries -= any;
		if (!any ||
		    !weir_nm_byte_is_locked_(h->fd, NM_BYTE_ALIVE(index)))
			weir_nm_mark_dead_(&image->slots[index]);
	}
}

/* Get zeroed memory for one copy. */
static bool get_memory(struct nm_image *image)
{
	char *memory = weir_map_zero_(IMAGE_SIZE);

	image->slots = (struct nm_slot *)(void *)memory;
	if (!memory)
		return false;
	image->records = (struct nm_record *)(void *)(memory + SLOTS_SIZE);
	image->places = (struct nm_place *)(void *)(memory + SLOTS_SIZE +
						    RECORDS_SIZE);
	image->used_slots = (uint32_t *)(void *)(image->places + NM_RECORDS);
	image->used_records = image->used_slots + NM_SLOTS;
	return true;
}

/* Make one copy in new memory.  *before: the lock word before it. */
static weir_err read_new(const weir_named *h, struct nm_image *image,
			  uint64_t *before)
{
	int saved;

	weir_nm_image_free_(image);
	if (!get_memory(image))
		return WEIR_ENOMEM;
	if (read_once(h, image, before, &image->lock))
		return WEIR_OK;
	saved = errno;
	weir_nm_image_free_(image);
	errno = saved;
	return WEIR_ESYSTEM;
}

/*
 * Compare the lock words of one copy, `before` and image->lock.  `first` is the
 * lock word before the first copy: the lock holder is stuck if no attempt has
 * seen another value.
 */
static void compare_locks(struct nm_image *image, uint64_t before,
			  uint64_t first)
{
	image->consistent = !(uint32_t)before && image->lock == before;
	image->stuck = image->stuck && (uint32_t)before && before == first &&
		       image->lock == first;
}

weir_err weir_nm_image_read_(const weir_named *h, struct nm_image *image)
{
	uint64_t before = 0, first = 0;

	image->slots = NULL;
	image->head.slots_high = image->head.records_high = 0;
	image->queries = QUERIES;
	image->consistent = false;
	image->stuck = true;
	for (unsigned i = 0; i < ATTEMPTS && !image->consistent &&
			     i * size_of(image) < BYTES_MAX; i++) {
		weir_err err = read_new(h, image, &before);

		if (err)
			return err;
		first = i ? first : before;
		compare_locks(image, before, first);
		/* The lock holder may have been preempted: let it run. */
		if (h->head && !image->consistent && i >= SPINS)
			weir_futex_nap_(PAUSE_NS);
	}
	/* A participant has marked the dead slots in the file itself. */
	if (h->other_boot && !h->head)
		mark_dead(h, image);
	return WEIR_OK;
}

void weir_nm_image_free_(struct nm_image *image)
{
	if (image->slots)
		weir_unmap_(image->slots, IMAGE_SIZE);
	image->slots = NULL;
}

bool weir_nm_image_is_held_on_(const weir_named *h, struct nm_image *image,
			       uint32_t index)
{
	uint64_t lent = image->slots[index].lent;

	if (!image->queries)
		return true;
	image->queries--;
	return weir_nm_byte_is_locked_(h->fd, NM_BYTE_ALIVE(index)) ||
	       (lent && weir_nm_is_lent_(h, lent));
}
