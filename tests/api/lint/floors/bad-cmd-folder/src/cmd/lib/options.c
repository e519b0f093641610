/* SPDX-License-Identifier: MIT */
#include "cmd/lib/options.h"
#include "cmd/run/state.h"
