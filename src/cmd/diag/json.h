/* SPDX-License-Identifier: MIT */
#ifndef WEIR_CMD_DIAG_JSON_H
#define WEIR_CMD_DIAG_JSON_H

#include <stdio.h>

#include "cmd/diag/source.h"

/*
 * Write the model as one JSON object on one line.  If `only` is not null, only
 * objects with this name.  Returns their number.
 */
uint32_t diag_json(FILE *out, struct diag *diag, const char *only);
/* As diag_json, but as a member of another object, with this key. */
uint32_t diag_json_object(FILE *out, const char *key, struct diag *diag,
			  const char *only);

#endif /* WEIR_CMD_DIAG_JSON_H */
