/* SPDX-License-Identifier: MIT */
#include "core/a.h"
