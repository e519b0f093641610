/* SPDX-License-Identifier: MIT */
#include "cmd/lib/list.h"
