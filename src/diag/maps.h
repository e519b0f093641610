/* SPDX-License-Identifier: MIT */
#ifndef WEIR_DIAG_MAPS_H
#define WEIR_DIAG_MAPS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Write a call site of this process as "module+0x1234" (a dg_site_fn).  Reads
 * /proc/self/maps.  Unlike dladdr, it takes no lock, so that it works while a
 * thread waits in a constructor of a library that is being loaded.
 */
bool weir_diag_map_site_(void *user, uint64_t site, char *to, size_t size);

/* Append "+0x1234" to the text, if it fits. */
void weir_diag_put_offset_(char *to, size_t size, uint64_t offset);

#endif /* WEIR_DIAG_MAPS_H */
