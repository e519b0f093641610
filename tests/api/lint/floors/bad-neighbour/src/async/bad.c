/* SPDX-License-Identifier: MIT */
#include "named/file.h"
