/* SPDX-License-Identifier: MIT */
#ifndef WEIR_CMD_LIB_DURATION_H
#define WEIR_CMD_LIB_DURATION_H

/* Durations as text. */
#include <stdbool.h>
#include <stdint.h>

/*
 * Parse a duration as timeout(1) does: 250ms, 10s, 1.5m, 2h, 1d.  A number
 * without a unit is in seconds.  Saturates at WEIR_FOREVER.  Returns false if
 * text is not a duration.
 */
bool duration_parse(const char *text, int64_t *ns);
/* Write a duration: "340ms", "12s", "3m 20s", "2h 5m", "3d 4h". */
#define DURATION_ROOM 32
const char *duration_text(int64_t ns, char room[DURATION_ROOM]);

#endif /* WEIR_CMD_LIB_DURATION_H */
