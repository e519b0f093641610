/* SPDX-License-Identifier: MIT */
#ifndef WEIR_CMD_DIAG_IO_H
#define WEIR_CMD_DIAG_IO_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* As pread, for all of the bytes.  Returns false if there are fewer. */
bool diag_pread(int fd, void *to, size_t size, uint64_t at);

#endif /* WEIR_CMD_DIAG_IO_H */
