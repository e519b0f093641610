/* SPDX-License-Identifier: MIT */
#ifndef WEIR_CMD_EXPORT_FORMAT_H
#define WEIR_CMD_EXPORT_FORMAT_H

/* The model as text. */
#include <stdio.h>

#include "cmd/export/metrics.h"

enum format { FORMAT_PROMETHEUS, FORMAT_OPENMETRICS };

/* Returns the media type of a format, for the header Content-Type. */
const char *format_type(enum format format);
/* Write the model.  Requires: metrics_merge was called. */
void format_write(FILE *out, const struct metrics *m, enum format format);

#endif /* WEIR_CMD_EXPORT_FORMAT_H */
