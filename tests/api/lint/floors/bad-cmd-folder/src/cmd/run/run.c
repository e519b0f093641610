/* SPDX-License-Identifier: MIT */
#include "cmd/lib/options.h"
#include "cmd/run/job.h"
#include "cmd/hold/hold.h"
