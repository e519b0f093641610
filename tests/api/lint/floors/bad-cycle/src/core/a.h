/* SPDX-License-Identifier: MIT */
#include "core/b.h"
