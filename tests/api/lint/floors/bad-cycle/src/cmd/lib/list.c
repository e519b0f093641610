/* SPDX-License-Identifier: MIT */
#include "cmd/lib/list.h"
#include "cmd/lib/stat.h"
