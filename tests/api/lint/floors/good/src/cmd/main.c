/* SPDX-License-Identifier: MIT */
#include "cmd/options.h"
#include "weir/sem.h"
