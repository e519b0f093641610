/* SPDX-License-Identifier: MIT */
/* On this seam nothing is watched. */
#define WEIR_NO_RECORD 1
#include "../../../../src/record/record.h"
