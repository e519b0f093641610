/* SPDX-License-Identifier: MIT */
#include "cmd/lib/names.h"
#include "cmd/lib/stat.h"
