/* SPDX-License-Identifier: MIT */
#ifndef TESTS_MODEL_NAMED_WORLD_H
#define TESTS_MODEL_NAMED_WORLD_H

/*
 * The machine of the scenarios: the kernel (kernel.c), one file (files.c), and
 * what the C library does for src/named (libc.c).
 */
#include <sys/types.h>

#include "named/handle.h"
#include "process.h"

/* The file: its tables have few entries (seam/weir/named.h). */
struct world_file {
	struct nm_header head;
	struct nm_slot slots[NM_SLOTS];
	struct nm_record records[NM_RECORDS];
};
extern struct world_file world_file;

/* Descriptors of the file, of the current process; reading the file. */
int world_open(void);
void world_close(int fd);
ssize_t world_read(void *to, size_t size, off_t from);

/* Returns true if the lent file with this number has a name. */
bool world_has_lent(uint64_t number);

/* For setup: the kernel has no futex_waitv. */
void world_be_old(void);

/*
 * For setup: waiting threads watch the deaths of others (src/named/wait.c).  In
 * the other scenarios only keepers notice a death, as in a large table.
 */
void world_watch_deaths(void);
bool world_watches_deaths(void);

/* The kernel refuses membarrier(2) to this process, as a sandbox does. */
void world_refuse_fences(int proc);

/* Call this function once, when a thread asks whether a byte is locked. */
void world_at_query(void (*fn)(void));
bool world_is_old(void);

/* Returns true if the thread sleeps on shared words, or will when it continues. */
bool kernel_is_asleep(int t);
/* Another word on which the thread sleeps; null: none. */
const uint32_t *kernel_other_word(int t, const uint32_t *word);
bool kernel_has_sleeper(const uint32_t *word);

#endif /* TESTS_MODEL_NAMED_WORLD_H */
