/* SPDX-License-Identifier: MIT */
/*
 * The model of bytes.c, create.c, file.c, place.c and lent.c in src/named: one
 * file, which exists from the first open on, locks on its bytes, and lent files.
 * A lock belongs to an open file description; the kernel drops it when the
 * process has ended.
 */
#include <errno.h>
#include <string.h>
#include <sys/types.h>

#include "base/mem.h"
#include "named/table.h"
#include "world.h"

#define FILES 12
#define FIRST 100		/* the lowest descriptor */
#define LOCKS 16
#define LENT 4

struct world_file world_file;

static struct {
	bool open;
	uint8_t proc;
	uint8_t lent;		/* number of the lent file; 0: the semaphore */
} files[FILES];

/* The lent files that have a name, by their number; the last number. */
static bool lent[LENT + 1];
static uint8_t last_lent;

static struct lock {
	int64_t byte;		/* 0: none */
	int32_t file;
	bool shared;
} locks[LOCKS];

static bool old;
static void (*at_query)(void);
static const struct ex_place here = { "files", 0 };

void world_be_old(void)
{
	old = true;
}

static bool watches_deaths;

void world_watch_deaths(void)
{
	watches_deaths = true;
}

bool world_watches_deaths(void)
{
	return watches_deaths;
}

bool world_is_old(void)
{
	return old;
}

bool kernel_is_shared(const void *p)
{
	return (const char *)p >= (const char *)&world_file &&
	       (const char *)p < (const char *)(&world_file + 1);
}

/*
 * Descriptors.
 */
int world_open(void)
{
	for (int i = 0; i < FILES; i++) {
		if (files[i].open)
			continue;
		files[i].open = true;
		files[i].proc = (uint8_t)proc_self();
		return FIRST + i;
	}
	ex_fail("too many files");
}

static void drop(int file)
{
	files[file].open = false;
	files[file].lent = 0;
	for (int i = 0; i < LOCKS; i++)
		if (locks[i].file == file && locks[i].byte)
			memset(&locks[i], 0, sizeof(locks[i]));
	ex->writes++;
}

void world_close(int fd)
{
	if (fd < FIRST || fd >= FIRST + FILES || !files[fd - FIRST].open)
		ex_fail("close of descriptor %d", fd);
	if (ex->self >= 0)
		ex_point(EX_CALL, NULL, 0, true, &here);
	drop(fd - FIRST);
}

void kernel_close(int proc)
{
	for (int i = 0; i < FILES; i++)
		if (files[i].open && files[i].proc == proc)
			drop(i);
}

/*
 * Locks on bytes.
 */
static struct lock *lock_of(int file, int64_t byte)
{
	for (int i = 0; i < LOCKS; i++)
		if (locks[i].byte == byte && locks[i].file == file)
			return &locks[i];
	return NULL;
}

static bool conflicts(int file, int64_t byte, bool shared)
{
	for (int i = 0; i < LOCKS; i++)
		if (locks[i].byte == byte && locks[i].file != file &&
		    !(locks[i].shared && shared))
			return true;
	return false;
}

/*
 * Changes of a lock, and opens of the file, are in one order: each happens before
 * the next.
 */
static void order(void)
{
	if (ex->races && ex->self >= 0)
		ex_races_atomic(locks, sizeof(locks[0].byte), true, true,
				EX_ACQ_REL);
}

static bool try_lock(int file, int64_t byte, bool shared)
{
	struct lock *lock;

	if (conflicts(file, byte, shared))
		return false;
	lock = lock_of(file, byte);
	for (int i = 0; !lock && i < LOCKS; i++)
		if (!locks[i].byte)
			lock = &locks[i];
	if (!lock)
		ex_fail("too many locks");
	*lock = (struct lock){ byte, file, shared };
	ex->writes++;
	order();
	return true;
}

static void enter(int64_t byte)
{
	(void)byte;
	ex_drain(NULL);
	if (ex->self >= 0)
		ex_point(EX_CALL, NULL, 0, true, &here);
	ex_races_see_ends();
}

bool weir_nm_byte_lock_(int fd, int64_t byte)
{
	enter(byte);
	if (try_lock(fd - FIRST, byte, false))
		return true;
	errno = EAGAIN;
	return false;
}

void weir_nm_byte_unlock_(int fd, int64_t byte)
{
	struct lock *lock;

	enter(byte);
	lock = lock_of(fd - FIRST, byte);
	if (lock)
		memset(lock, 0, sizeof(*lock));
	ex->writes++;
	order();
}

void world_at_query(void (*fn)(void))
{
	at_query = fn;
}

bool weir_nm_byte_is_locked_(int fd, int64_t byte)
{
	void (*fn)(void) = at_query;

	enter(byte);
	at_query = NULL;
	if (fn)
		fn();
	return conflicts(fd - FIRST, byte, false);
}

bool weir_nm_reserve_(int fd, size_t from, size_t size)
{
	(void)fd;
	(void)from;
	(void)size;
	return true;
}

/*
 * Names and files.
 */
weir_err weir_nm_find_place_(const char *name, bool make,
			     const weir_named_opts *opts, char **path)
{
	(void)make;
	(void)opts;
	*path = weir_mem_alloc_(strlen(name) + 1);
	if (!*path)
		return WEIR_ENOMEM;
	memcpy(*path, name, strlen(name) + 1);
	return WEIR_OK;
}

void weir_nm_absolute_(char **path)
{
	(void)path;
}

weir_err weir_nm_say_(const weir_named_opts *opts, weir_err err,
		      const char *format, ...)
{
	(void)opts;
	(void)format;
	return err;
}

weir_err weir_nm_open_file_(weir_named *h, const weir_named_opts *opts)
{
	struct nm_header *head = &world_file.head, fresh;

	order();
	/* In one step: a file has its name when its header is complete. */
	if (!head->version) {
		weir_nm_header_init_(&fresh, opts);
		*head = fresh;
	}
	h->fd = world_open();
	h->head = head;
	h->slots = world_file.slots;
	h->records = world_file.records;
	h->strict = head->policy == WEIR_NAMED_STRICT;
	order();
	return WEIR_OK;
}

bool weir_nm_is_current_(const weir_named *h)
{
	(void)h;
	return true;
}

int weir_nm_reopen_(const weir_named *h, int access)
{
	(void)h;
	(void)access;
	return world_open();
}

bool weir_nm_bytes_are_locked_(int fd, int64_t first, int64_t end)
{
	enter(first);
	for (int i = 0; i < LOCKS; i++)
		if (locks[i].byte && locks[i].byte >= first &&
		    locks[i].byte < end && locks[i].file != fd - FIRST)
			return true;
	return false;
}

bool weir_nm_byte_is_foreign_(int fd, int64_t byte)
{
	(void)fd;
	(void)byte;
	return false;
}

bool weir_nm_unlink_current_(const weir_named *h)
{
	(void)h;
	return true;
}

/*
 * Lent files.
 */
uint64_t weir_nm_lent_number_(void)
{
	if (last_lent == LENT)
		ex_fail("too many lent files");
	return ++last_lent;
}

int weir_nm_lent_open_(const weir_named *h, uint64_t number, bool create)
{
	int fd;

	(void)h;
	enter(0);
	if (create)
		lent[number] = true;
	errno = ENOENT;
	if (!lent[number])
		return -1;
	fd = world_open();
	files[fd - FIRST].lent = (uint8_t)number;
	ex->writes++;
	return fd;
}

bool weir_nm_is_lent_(const weir_named *h, uint64_t number)
{
	(void)h;
	enter(0);
	for (int i = 0; i < FILES; i++)
		if (files[i].open && files[i].lent == number)
			return lent[number];
	return false;
}

void weir_nm_lent_remove_(const weir_named *h, uint64_t number)
{
	(void)h;
	enter(0);
	lent[number] = false;
	ex->writes++;
}

bool world_has_lent(uint64_t number)
{
	return lent[number];
}

/* A read is one step. */
ssize_t world_read(void *to, size_t size, off_t from)
{
	enter(0);
	if ((size_t)from >= sizeof(world_file))
		return 0;
	if (size > sizeof(world_file) - (size_t)from)
		size = sizeof(world_file) - (size_t)from;
	memcpy(to, (char *)&world_file + from, size);
	return (ssize_t)size;
}

void *weir_map_(int fd, size_t size)
{
	(void)fd;
	(void)size;
	return &world_file;
}

void weir_unmap_(void *memory, size_t size)
{
	(void)size;
	if (memory != &world_file)
		weir_mem_free_(memory);
}

void *weir_map_zero_(size_t size)
{
	return weir_mem_alloc_(size);
}
