/* SPDX-License-Identifier: MIT */
#ifndef WEIR_BASE_PRINT_H
#define WEIR_BASE_PRINT_H

#include <stddef.h>

/*
 * Write a text for people to the descriptor.  If that fails, then the rest of the
 * text is lost.  If the descriptor is a pipe or a socket without a reader, then
 * the thread gets no SIGPIPE: a diagnostic must not end the program.  A SIGPIPE
 * that was pending before remains.
 *
 *   Signals   Async-signal-safe.  Changes errno.
 */
void weir_print_(int fd, const char *text, size_t size);

#endif /* WEIR_BASE_PRINT_H */
