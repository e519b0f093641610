/* SPDX-License-Identifier: MIT */
#include "cli/options.h"
#include "weir/sem.h"
