/* SPDX-License-Identifier: MIT */
#ifndef WEIR_BASE_MEMFD_H
#define WEIR_BASE_MEMFD_H

#include <stdbool.h>
#include <stddef.h>

/*
 * Memory that other processes of the same user can read: a file without a path,
 * mapped for the rest of the life of the process.  All functions
 * preserve errno.
 */

/*
 * Make the file and map `size` zeroed bytes.  Its size cannot change any more,
 * and no other process can map it for writing, if the kernel supports that.
 * The descriptor is closed at exec and has a high number, out of the way of
 * programs that count descriptors from 0.  Returns null on failure.
 */
void *weir_memfd_map_(const char *name, size_t size);

/*
 * Close the descriptor, unless the program has closed it.  The mapping remains.  Called in
 * the child of a fork, and when the library is unloaded.
 */
void weir_memfd_close_(void);

/*
 * Allocate the pages of `size` bytes at `memory`.  Returns false if the kernel
 * has no memory for them: an access would raise SIGBUS.
 */
bool weir_memfd_populate_(void *memory, size_t size);

/*
 * Let the child of a fork find this memory zeroed, however it is forked.  Returns false
 * on failure, and if the memory does not consist of whole pages.  Requires: it is private,
 * and not of a file.
 */
bool weir_memfd_wipe_on_fork_(void *memory, size_t size);

#endif /* WEIR_BASE_MEMFD_H */
