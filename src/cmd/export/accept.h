/* SPDX-License-Identifier: MIT */
#ifndef WEIR_CMD_EXPORT_ACCEPT_H
#define WEIR_CMD_EXPORT_ACCEPT_H

/* Content negotiation. */
#include "cmd/export/format.h"

/*
 * Returns the format for the value of a request's Accept header, which may be
 * null.  OpenMetrics is chosen only if the client names it in a version that
 * format.c writes, and does not prefer text.  A client that accepts neither gets
 * text.
 */
enum format accept_format(const char *header);

#endif /* WEIR_CMD_EXPORT_ACCEPT_H */
