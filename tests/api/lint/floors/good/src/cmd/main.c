/* SPDX-License-Identifier: MIT */
#include "cmd/lib/options.h"
#include "cmd/run/run.h"
#include "weir/sem.h"
