/* SPDX-License-Identifier: MIT */
#include "sem_impl.h"
#include "../base/atomic.h"
#include "attic/old.h"
#include HEADER
