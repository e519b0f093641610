/* SPDX-License-Identifier: MIT */
#include "base/futex.h"
#include "weir/base.h"
